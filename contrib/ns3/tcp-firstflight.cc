#include "tcp-firstflight.h"

#include "ns3/log.h"
#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/object-vector.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-option-sack.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>
#include <firstflight.h>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("TcpFirstflight");
NS_OBJECT_ENSURE_REGISTERED(TcpFirstflight);

namespace
{

// A congestion control receives no pointer to its socket. This finds the socket that owns it.
struct Peek : public TcpSocketBase
{
    static const TcpCongestionOps* Control(const TcpSocketBase* socket)
    {
        return PeekPointer(socket->*(&Peek::m_congestionControl));
    }

    static Ptr<TcpSocketState> State(const TcpSocketBase* socket)
    {
        return socket->*(&Peek::m_tcb);
    }
};

ff_time
Clock()
{
    return static_cast<ff_time>(Simulator::Now().GetNanoSeconds());
}

} // namespace

TypeId
TcpFirstflight::GetTypeId()
{
    static TypeId tid = TypeId("ns3::TcpFirstflight")
                            .SetParent<TcpCongestionOps>()
                            .AddConstructor<TcpFirstflight>()
                            .SetGroupName("Internet")
                            .AddAttribute("Arm",
                                          "Startup, avoidance and recovery, such as rapid or hystart++/cubic/prr@(iw=10).",
                                          StringValue("hystart++"),
                                          MakeStringAccessor(&TcpFirstflight::m_arm),
                                          MakeStringChecker());
    return tid;
}

TcpFirstflight::TcpFirstflight() = default;

// A fork is the controller of another connection: it takes over the arm and nothing else.
TcpFirstflight::TcpFirstflight(const TcpFirstflight& other)
    : TcpCongestionOps(other),
      m_arm(other.m_arm)
{
}

Ptr<TcpCongestionOps>
TcpFirstflight::Fork()
{
    Ptr<TcpFirstflight> copy = CopyObject<TcpFirstflight>(this);
    Simulator::ScheduleNow(&TcpFirstflight::Attach, copy);
    return copy;
}

std::string
TcpFirstflight::GetName() const
{
    return "TcpFirstflight";
}

bool
TcpFirstflight::HasCongControl() const
{
    return true;
}

void
TcpFirstflight::Init(Ptr<TcpSocketState>)
{
    // The socket enters the list of its node right after this call.
    Simulator::ScheduleNow(&TcpFirstflight::Attach, Ptr<TcpFirstflight>(this));
}

void
TcpFirstflight::Attach()
{
    for (auto node = NodeList::Begin(); !m_socket && node != NodeList::End(); ++node)
    {
        Ptr<TcpL4Protocol> tcp = (*node)->GetObject<TcpL4Protocol>();
        if (!tcp)
        {
            continue;
        }
        ObjectVectorValue sockets;
        tcp->GetAttribute("SocketList", sockets);
        for (auto entry = sockets.Begin(); entry != sockets.End(); ++entry)
        {
            Ptr<TcpSocketBase> socket = DynamicCast<TcpSocketBase>(entry->second);
            if (socket && Peek::Control(PeekPointer(socket)) == this)
            {
                m_socket = PeekPointer(socket);
                m_tcb = Peek::State(m_socket);
                socket->TraceConnectWithoutContext("Tx", MakeCallback(&TcpFirstflight::Sent, this));
                socket->TraceConnectWithoutContext("Rx", MakeCallback(&TcpFirstflight::Received, this));
                return;
            }
        }
    }
}

ff_sender*
TcpFirstflight::Sender() const
{
    return m_memory.empty() ? nullptr : reinterpret_cast<ff_sender*>(const_cast<uint64_t*>(m_memory.data()));
}

// The sender begins with the first segment: the handshake has then settled the size of segments.
void
TcpFirstflight::Begin(Ptr<const TcpSocketState> tcb)
{
    m_memory.assign((ff_sender_size() + 15) / 8, 0);
    NS_ABORT_MSG_IF(ff_sender_align() > 8, "libfirstflight needs an alignment of " << ff_sender_align());
    ff_config config{};
    config.size = sizeof config;
    config.transport = FF_TCP;
    config.mss = tcb->m_segmentSize;
    config.initial_window = uint64_t{tcb->m_initialCWnd} * tcb->m_segmentSize;
    config.nxt = m_high;
    // ns-3 sends segment by segment.
    config.burst = tcb->m_segmentSize;
    config.max_burst = tcb->m_segmentSize;
    void* memory = m_memory.data();
    NS_ABORT_MSG_IF(ff_sender_init(memory, m_arm.c_str(), &config, Clock()) != FF_OK,
                    "ns3::TcpFirstflight::Arm: " << ff_last_error(memory));
    // The estimate that ns-3 made of the handshake: a jump is spread over it.
    if (tcb->m_lastRtt.Get().IsStrictlyPositive())
    {
        m_srtt = tcb->m_lastRtt.Get().GetNanoSeconds();
        m_rttvar = m_srtt / 2;
        ff_on_handshake_rtt(Sender(), Clock(), m_srtt);
    }
    NS_LOG_LOGIC("handshake RTT " << m_srtt);
}

uint64_t
TcpFirstflight::Unwrap(SequenceNumber32 sequence) const
{
    const int32_t apart = sequence - SequenceNumber32(static_cast<uint32_t>(m_high));
    return m_high + apart;
}

// Bytes in the network by RFC 6675: neither acknowledged nor SACKed nor lost, and repeats.
uint64_t
TcpFirstflight::Pipe() const
{
    return m_socket->GetTxBuffer()->BytesInFlight();
}

uint64_t
TcpFirstflight::Backlog() const
{
    return m_socket->GetTxBuffer()->SizeFromSequence(SequenceNumber32(static_cast<uint32_t>(m_high)));
}

// The trace comes before ns-3 counts the segment as in flight.
void
TcpFirstflight::Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    const uint64_t bytes = packet->GetSize();
    if (bytes == 0)
    {
        return;
    }
    if (!Sender())
    {
        m_high = m_una = header.GetSequenceNumber().GetValue();
        Begin(m_tcb);
    }
    const uint64_t begin = Unwrap(header.GetSequenceNumber());
    const uint64_t end = begin + bytes;
    const uint64_t flight = Pipe();
    ff_ready ready{};
    ready.size = sizeof ready;
    ready.now = Clock();
    ready.nxt = m_high;
    ready.inflight = flight;
    ready.backlog = Backlog() + (begin >= m_high ? bytes : 0);
    ready.srtt = m_srtt;
    ready.idle = flight == 0 && m_sent > 0 ? (Simulator::Now() - m_idleSince).GetNanoSeconds() : 0;
    ready.timeout = std::max<int64_t>(m_srtt + 4 * m_rttvar, 1000000000);
    ff_before_send(Sender(), &ready);
    for (auto at = m_segments.lower_bound(begin); at != m_segments.end() && at->first < end; ++at)
    {
        at->second.repeated = true;
        at->second.ordinal = m_ordinal;
        at->second.sent = Simulator::Now();
    }
    if (end > m_high)
    {
        Segment fresh;
        fresh.end = end;
        fresh.sent = Simulator::Now();
        fresh.ordinal = m_ordinal;
        m_segments.emplace(std::max(begin, m_high), fresh);
        m_high = end;
    }
    ++m_ordinal;
    m_sent += bytes;
    ff_sent sent{};
    sent.size = sizeof sent;
    sent.now = Clock();
    sent.bytes = bytes;
    sent.nxt = m_high;
    sent.inflight = flight + bytes;
    sent.srtt = m_srtt;
    ff_on_sent(Sender(), &sent);
    m_limited = Backlog() > 0;
    Apply(bytes);
}

// Runs before ns-3 processes the segment.
void
TcpFirstflight::Received(Ptr<const Packet>, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    if (!Sender() || !(header.GetFlags() & TcpHeader::ACK))
    {
        return;
    }
    m_pending = true;
    m_before = Pipe();
    m_marked = header.GetFlags() & TcpHeader::ECE;
    m_sacks.clear();
    if (auto option = DynamicCast<const TcpOptionSack>(header.GetOption(TcpOption::SACK)))
    {
        for (const auto& block : option->GetSackList())
        {
            m_sacks.emplace_back(Unwrap(block.first), Unwrap(block.second));
        }
    }
}

// Reports the ACK that ns-3 has processed: its scoreboard has the new losses.
void
TcpFirstflight::Report(Ptr<const TcpSocketState>)
{
    if (!m_pending || !Sender())
    {
        return;
    }
    m_pending = false;
    Ptr<TcpTxBuffer> board = m_socket->GetTxBuffer();
    ff_ack ack{};
    ack.size = sizeof ack;
    ack.now = Clock();
    ack.inflight_before = m_before;
    int64_t sampled = -1;
    uint64_t newest = 0;
    const uint64_t una = std::min(Unwrap(board->HeadSequence()), m_high);
    auto deliver = [&](Segment& segment, uint64_t bytes) {
        ack.acked += bytes;
        ack.tx_acked_end = std::max(ack.tx_acked_end, segment.ordinal + 1);
        if (!segment.repeated && segment.ordinal + 1 > newest)
        {
            newest = segment.ordinal + 1;
            sampled = (Simulator::Now() - segment.sent).GetNanoSeconds();
        }
        if (segment.lost)
        {
            segment.lost = false;
            m_lost -= bytes;
        }
    };
    while (!m_segments.empty() && m_segments.begin()->first < una)
    {
        auto first = m_segments.begin();
        Segment segment = first->second;
        const uint64_t covered = std::min(segment.end, una) - first->first;
        ack.repeat_acked |= segment.repeated;
        if (segment.sacked)
        {
            m_sacked -= covered;
        }
        else
        {
            // A segment that is acknowledged in part keeps its flag for the rest.
            const bool lost = segment.lost;
            deliver(segment, covered);
            segment.lost = lost;
        }
        m_segments.erase(first);
        if (segment.end > una)
        {
            m_segments.emplace(una, segment);
        }
    }
    for (const auto& [begin, end] : m_sacks)
    {
        for (auto at = m_segments.lower_bound(begin); at != m_segments.end() && at->second.end <= end; ++at)
        {
            if (!at->second.sacked)
            {
                at->second.sacked = true;
                deliver(at->second, at->second.end - at->first);
                m_sacked += at->second.end - at->first;
            }
        }
    }
    // ns-3 declares the lowest segments lost first. Those that it declared lost before keep their flags until they are delivered.
    const uint64_t lost = board->GetLost();
    for (auto at = m_segments.begin(); m_lost < lost && at != m_segments.end(); ++at)
    {
        Segment& segment = at->second;
        if (segment.sacked || segment.lost)
        {
            continue;
        }
        segment.lost = true;
        m_lost += segment.end - at->first;
        ack.lost += segment.end - at->first;
        ack.tx_lost_end = std::max(ack.tx_lost_end, segment.ordinal + 1);
    }
    if (una > m_una)
    {
        m_una = una;
        m_timeouts = 0;
    }
    if (sampled > 0)
    {
        ack.rtt = sampled;
        m_rttvar = m_srtt ? (3 * m_rttvar + std::abs(m_srtt - sampled)) / 4 : sampled / 2;
        m_srtt = m_srtt ? (7 * m_srtt + sampled) / 8 : sampled;
    }
    ack.acked_fresh = ack.acked;
    ack.srtt = m_srtt;
    ack.una = m_una;
    ack.nxt = m_high;
    ack.flight = m_high - m_una;
    ack.sacked = m_sacked;
    ack.inflight = Pipe();
    ack.sent = m_sent;
    ack.tx_next = m_ordinal;
    ack.ce = m_marked;
    ack.cwnd_limited = m_limited;
    ack.app_limited = !m_limited;
    ack.unrepaired = m_lost > 0;
    if (ack.inflight == 0)
    {
        m_idleSince = Simulator::Now();
    }
    if (ack.acked || ack.lost || ack.ce)
    {
        ff_on_ack(Sender(), &ack);
    }
    Apply(0);
}

// Gives ns-3 the window that admits what the arm admits, and the time of the next segment. `bytes` have just been sent; ns-3 does not
// count them as in flight yet.
void
TcpFirstflight::Apply(uint64_t bytes)
{
    const uint64_t flight = Pipe() + bytes;
    const uint64_t mss = m_tcb->m_segmentSize;
    uint64_t window = ff_cwnd(Sender());
    if (ff_in_recovery(Sender()))
    {
        // A recovery counts what it admits: one segment more, or none.
        window = ff_can_send(Sender(), mss, flight) ? std::max(window, flight + mss) : std::min(window, flight);
    }
    const auto held = static_cast<uint32_t>(std::min<uint64_t>(window, UINT32_MAX));
    m_tcb->m_cWnd = held;
    m_tcb->m_cWndInfl = held;
    const uint64_t threshold = ff_ssthresh(Sender());
    m_tcb->m_ssThresh = static_cast<uint32_t>(std::min<uint64_t>(threshold, UINT32_MAX));
    m_tcb->m_pacing = ff_pacing_rate(Sender()) > 0;
    m_tcb->m_paceInitialWindow = true;
    if (m_tcb->m_pacing)
    {
        // ns-3 starts its timer after each segment, by this rate: the time until our pacer releases the next.
        const uint64_t wait = ff_next_send_time(Sender(), Clock(), mss, flight) - Clock();
        const uint64_t size = bytes ? bytes : mss;
        m_tcb->m_pacingRate = DataRate(wait ? std::max<uint64_t>(size * 8000000000ULL / wait, 1) : 1000000000000ULL);
    }
}

// ns-3 asks when it enters a recovery, before the first retransmission: the arm has to know the losses by then.
uint32_t
TcpFirstflight::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
    Report(tcb);
    return Sender() ? static_cast<uint32_t>(std::min<uint64_t>(ff_ssthresh(Sender()), UINT32_MAX)) : tcb->m_ssThresh.Get();
}

void
TcpFirstflight::IncreaseWindow(Ptr<TcpSocketState>, uint32_t)
{
    // CongControl sets the window.
}

void
TcpFirstflight::CongestionStateSet(Ptr<TcpSocketState>, const TcpSocketState::TcpCongState_t state)
{
    if (state != TcpSocketState::CA_LOSS || !Sender())
    {
        return;
    }
    // The retransmission timer has expired: everything that is not SACKed counts as lost.
    ff_congestion timeout{};
    timeout.size = sizeof timeout;
    timeout.now = Clock();
    timeout.nxt = m_high;
    timeout.inflight_before = Pipe();
    ++m_allTimeouts;
    timeout.timeout = m_timeouts++ ? FF_RTO_AGAIN : FF_RTO;
    for (auto& [begin, segment] : m_segments)
    {
        if (!segment.sacked && !segment.lost)
        {
            segment.lost = true;
            m_lost += segment.end - begin;
        }
    }
    ff_on_congestion(Sender(), &timeout);
}

void
TcpFirstflight::CongControl(Ptr<TcpSocketState> tcb, const TcpRateOps::TcpRateConnection&, const TcpRateOps::TcpRateSample&)
{
    Report(tcb);
}

Ptr<TcpFirstflight>
TcpFirstflight::Of(Ptr<const TcpSocketBase> socket)
{
    auto control = const_cast<TcpCongestionOps*>(Peek::Control(PeekPointer(socket)));
    return Ptr<TcpFirstflight>(dynamic_cast<TcpFirstflight*>(control));
}

bool
TcpFirstflight::GetExit(std::string& reason, Time& since, uint64_t& window) const
{
    ff_exit_info exit{};
    exit.size = sizeof exit;
    if (!Sender() || ff_exit(Sender(), &exit) != 1)
    {
        return false;
    }
    reason = exit.reason;
    since = NanoSeconds(exit.since_first_send);
    window = exit.detect_cwnd;
    return true;
}

uint32_t
TcpFirstflight::GetTimeouts() const
{
    return m_allTimeouts;
}

std::string
TcpFirstflight::GetMisfed() const
{
    ff_misfed_info misfed{};
    misfed.size = sizeof misfed;
    return Sender() && ff_misfed(Sender(), &misfed) == 1 ? misfed.rule : "";
}

} // namespace ns3
