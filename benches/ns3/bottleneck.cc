// One bottleneck, N bulk TCP flows, in ns-3: the other side of benches/ns3.sh.
//
//   sender - 10 Gbit/s, 10 us - router - bottleneck - receiver
//
// The bottleneck is a point-to-point device with a drop-tail queue of one BDP in bytes; the traffic control layers are taken out, or
// drops would happen in two places. Data packets are counted leaving the bottleneck. One line of key=value pairs goes to standard output.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <iostream>
#include <sys/resource.h>

using namespace ns3;

namespace
{

struct Count
{
    uint64_t dataPackets = 0;
    uint64_t ackPackets = 0;
    uint64_t drops = 0;
    uint64_t delivered = 0;
    double firstDrop = -1;
    uint32_t cwnd = 0;
    uint32_t cwndAtFirstDrop = 0;
    uint32_t cwndMaxBeforeDrop = 0;
};

Count g_count;

void
DataLeft(Ptr<const Packet> packet)
{
    if (packet->GetSize() > 200)
    {
        ++g_count.dataPackets;
    }
}

void
AckLeft(Ptr<const Packet>)
{
    ++g_count.ackPackets;
}

void
Dropped(Ptr<const Packet>)
{
    if (g_count.drops++ == 0)
    {
        g_count.firstDrop = Simulator::Now().GetSeconds();
        g_count.cwndAtFirstDrop = g_count.cwnd;
    }
}

void
Window(uint32_t, uint32_t now)
{
    g_count.cwnd = now;
    if (g_count.drops == 0)
    {
        g_count.cwndMaxBeforeDrop = std::max(g_count.cwndMaxBeforeDrop, now);
    }
}

void
Received(Ptr<const Packet> packet, const Address&)
{
    g_count.delivered += packet->GetSize();
}

void
WatchWindow(Ptr<Node> sender)
{
    Config::ConnectWithoutContext("/NodeList/" + std::to_string(sender->GetId()) + "/$ns3::TcpL4Protocol/SocketList/0/CongestionWindow",
                                  MakeCallback(&Window));
}

double
CpuSeconds()
{
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](timeval t) { return t.tv_sec + t.tv_usec / 1e6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace

int
main(int argc, char* argv[])
{
    double rateMbps = 100;
    double rttMs = 30;
    double seconds = 10;
    uint32_t flows = 1;
    std::string control = "cubic";
    bool hystart = true;
    double hystartDelayMaxMs = 0;
    uint32_t ackEvery = 2;
    CommandLine command;
    command.AddValue("rate", "bottleneck, Mbit/s", rateMbps);
    command.AddValue("rtt", "idle round trip, ms", rttMs);
    command.AddValue("seconds", "simulated time", seconds);
    command.AddValue("flows", "number of flows, starts 1 ms apart", flows);
    command.AddValue("cc", "cubic or newreno", control);
    command.AddValue("hystart", "HyStart in CUBIC", hystart);
    command.AddValue("hystartDelayMax", "upper bound of HyStart's delay threshold, ms; 0 keeps ns-3's own", hystartDelayMaxMs);
    command.AddValue("ackEvery", "segments per acknowledgement", ackEvery);
    command.Parse(argc, argv);

    constexpr uint32_t mss = 1448;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(control == "cubic" ? "ns3::TcpCubic" : "ns3::TcpNewReno"));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpPrrRecovery"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(16 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ackEvery));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
    if (hystartDelayMaxMs > 0)
    {
        Config::SetDefault("ns3::TcpCubic::HyStartDelayMax", TimeValue(MicroSeconds(hystartDelayMaxMs * 1000)));
    }

    NodeContainer nodes;
    nodes.Create(3);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetChannelAttribute("Delay", TimeValue(MicroSeconds(10)));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    const auto queueBytes = static_cast<uint64_t>(std::max(rateMbps * 1e6 / 8 * rttMs / 1e3, 4 * 1502.0));
    PointToPointHelper bottleneck;
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rateMbps * 1e6))));
    bottleneck.SetChannelAttribute("Delay", TimeValue(MicroSeconds(rttMs * 500 - 10)));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queueBytes) + "B"));
    NetDeviceContainer left = access.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer right = bottleneck.Install(nodes.Get(1), nodes.Get(2));

    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper address;
    address.SetBase("10.1.1.0", "255.255.255.0");
    address.Assign(left);
    address.SetBase("10.1.2.0", "255.255.255.0");
    Ipv4InterfaceContainer far = address.Assign(right);
    TrafficControlHelper control_layer;
    control_layer.Uninstall(left);
    control_layer.Uninstall(right);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const uint16_t port = 5000 + flow;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer receiver = sink.Install(nodes.Get(2));
        receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), port));
        source.SetAttribute("MaxBytes", UintegerValue(0));
        source.Install(nodes.Get(0)).Start(MilliSeconds(flow));
    }
    right.Get(0)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&DataLeft));
    right.Get(1)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&AckLeft));
    // Without a queue discipline a full device queue shows as a drop of the layer above it, not of the device.
    nodes.Get(1)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", MakeCallback(&Dropped));
    // The socket appears when the application starts.
    Simulator::Schedule(MicroSeconds(1), &WatchWindow, nodes.Get(0));

    const double setUp = CpuSeconds();
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    const double cpu = CpuSeconds();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::cout << "data_packets=" << g_count.dataPackets << " ack_packets=" << g_count.ackPackets << " drops=" << g_count.drops
              << " first_drop_s=" << g_count.firstDrop << " cwnd_at_first_drop=" << g_count.cwndAtFirstDrop
              << " delivered_bytes=" << g_count.delivered << " cpu_s=" << cpu << " set_up_s=" << setUp << " rss_kib=" << usage.ru_maxrss
              << " events=" << Simulator::GetEventCount() << std::endl;
    Simulator::Destroy();
    return 0;
}
