// Every startup, congestion avoidance and loss recovery of firstflight as a congestion control of ns-3.
//
//   Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpFirstflight"));
//   Config::SetDefault("ns3::TcpFirstflight::Arm", StringValue("rapid"));
//
// The arm controls window, recovery and pacing (HasCongControl). ns-3 keeps its loss detection and its retransmission timer. See README.md.
#ifndef TCP_FIRSTFLIGHT_H
#define TCP_FIRSTFLIGHT_H

#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct ff_sender;

namespace ns3
{

class TcpFirstflight : public TcpCongestionOps
{
  public:
    static TypeId GetTypeId();
    TcpFirstflight();
    TcpFirstflight(const TcpFirstflight& other);

    std::string GetName() const override;
    void Init(Ptr<TcpSocketState> tcb) override;
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override;
    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked) override;
    void CongestionStateSet(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCongState_t newState) override;
    bool HasCongControl() const override;
    void CongControl(Ptr<TcpSocketState> tcb, const TcpRateOps::TcpRateConnection& rc, const TcpRateOps::TcpRateSample& rs) override;
    Ptr<TcpCongestionOps> Fork() override;

    /// The arm's controller of a socket; null if the socket has another one.
    static Ptr<TcpFirstflight> Of(Ptr<const TcpSocketBase> socket);
    /// Whether startup has ended; then reason, time since the first byte was sent and the window before the exit, in bytes.
    bool GetExit(std::string& reason, Time& since, uint64_t& window) const;
    /// The number of timeouts.
    uint32_t GetTimeouts() const;
    /// The rule that a report of ns-3 broke first, "" if none did.
    std::string GetMisfed() const;

  private:
    /// A segment that was sent and is not acknowledged cumulatively.
    struct Segment
    {
        uint64_t end;
        Time sent;
        uint64_t ordinal; // of its latest transmission
        bool repeated{false};
        bool sacked{false};
        bool lost{false};
    };

    void Attach();
    void Begin(Ptr<const TcpSocketState> tcb);
    void Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase> socket);
    void Received(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase> socket);
    void Report(Ptr<const TcpSocketState> tcb);
    void Apply(uint64_t bytes);
    uint64_t Pipe() const;
    uint64_t Backlog() const;
    uint64_t Unwrap(SequenceNumber32 sequence) const;
    ff_sender* Sender() const;

    std::string m_arm{"hystart++"};
    Ptr<TcpSocketState> m_tcb;
    TcpSocketBase* m_socket{nullptr};
    std::vector<uint64_t> m_memory; // of the sender
    std::map<uint64_t, Segment> m_segments;
    std::vector<std::pair<uint64_t, uint64_t>> m_sacks; // of the ACK that is being processed
    uint64_t m_una{0};
    uint64_t m_high{0};
    uint64_t m_sent{0};
    uint64_t m_ordinal{0};
    uint64_t m_lost{0};   // bytes flagged lost
    uint64_t m_sacked{0}; // bytes sacked
    uint64_t m_before{0}; // bytes in flight before the ACK
    int64_t m_srtt{0};
    int64_t m_rttvar{0};
    Time m_idleSince;
    bool m_pending{false}; // an ACK has arrived and is not reported
    bool m_marked{false};
    bool m_limited{true};  // the window was the limit since the last ACK
    uint32_t m_timeouts{0}; // since una moved
    uint32_t m_allTimeouts{0};
};

} // namespace ns3

#endif
