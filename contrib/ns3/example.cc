// A download through one bottleneck with any arm: its time, its drops and the end of its startup, as one line of key=value pairs.
//
//   sender - 10 Gbit/s - router - bottleneck - receiver
#include "tcp-firstflight.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string arm = "rapid";
    double rateMbps = 100;
    double rttMs = 30;
    double queueMs = 30;
    uint64_t bytes = 10000000;
    CommandLine command;
    command.AddValue("arm", "startup/avoidance/recovery@(sender options)", arm);
    command.AddValue("rate", "bottleneck, Mbit/s", rateMbps);
    command.AddValue("rtt", "idle round trip, ms", rttMs);
    command.AddValue("queue", "bottleneck buffer, ms at its rate", queueMs);
    command.AddValue("bytes", "size of the object", bytes);
    command.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpFirstflight"));
    Config::SetDefault("ns3::TcpFirstflight::Arm", StringValue(arm));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));

    NodeContainer nodes;
    nodes.Create(3);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetChannelAttribute("Delay", TimeValue(MicroSeconds(1)));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    PointToPointHelper bottleneck;
    const auto queue = static_cast<uint64_t>(rateMbps * queueMs * 125);
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rateMbps * 1e6))));
    bottleneck.SetChannelAttribute("Delay", TimeValue(MicroSeconds(rttMs * 500 - 1)));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "B"));
    NetDeviceContainer left = access.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer right = bottleneck.Install(nodes.Get(1), nodes.Get(2));
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper address;
    address.SetBase("10.1.1.0", "255.255.255.0");
    address.Assign(left);
    address.SetBase("10.1.2.0", "255.255.255.0");
    Ipv4InterfaceContainer far = address.Assign(right);
    // Otherwise drops happen in two places.
    TrafficControlHelper layer;
    layer.Uninstall(left);
    layer.Uninstall(right);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    sink.Install(nodes.Get(2));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), 5000));
    source.SetAttribute("MaxBytes", UintegerValue(bytes));
    Ptr<BulkSendApplication> sender = DynamicCast<BulkSendApplication>(source.Install(nodes.Get(0)).Get(0));

    uint64_t received = 0;
    uint64_t drops = 0;
    uint64_t segments = 0;
    Time first;
    Time last;
    std::string exitReason = "-";
    Time exitAt;
    uint64_t exitWindow = 0;
    // The application closes its socket when everything is handed over: what the arm knows is read while data arrives.
    Ptr<TcpFirstflight> control;
    const std::function<void(Ptr<const Packet>, const Address&)> arrived = [&](Ptr<const Packet> packet, const Address&) {
        received += packet->GetSize();
        last = Simulator::Now();
        if (received >= bytes)
        {
            Simulator::Stop();
        }
    };
    const std::function<void(Ptr<const Packet>)> dropped = [&](Ptr<const Packet>) { ++drops; };
    const std::function<void(Ptr<const Packet>, const TcpHeader&, Ptr<const TcpSocketBase>)> left_ =
        [&](Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>) {
            if (packet->GetSize() > 0 && segments++ == 0)
            {
                first = Simulator::Now();
            }
        };
    nodes.Get(2)->GetApplication(0)->TraceConnectWithoutContext("Rx", Callback<void, Ptr<const Packet>, const Address&>(arrived));
    nodes.Get(1)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop", Callback<void, Ptr<const Packet>>(dropped));
    Simulator::Schedule(NanoSeconds(1), [&]() {
        Ptr<TcpSocketBase> socket = DynamicCast<TcpSocketBase>(sender->GetSocket());
        socket->TraceConnectWithoutContext("Tx",
                                           Callback<void, Ptr<const Packet>, const TcpHeader&, Ptr<const TcpSocketBase>>(left_));
        control = TcpFirstflight::Of(socket);
    });
    Simulator::Stop(Seconds(120));
    Simulator::Run();
    control->GetExit(exitReason, exitAt, exitWindow);
    const std::string misfed = control->GetMisfed();
    std::cout << "arm=" << arm << " complete=" << (received >= bytes) << " ms=" << (last - first).GetSeconds() * 1e3
              << " loss_percent=" << (segments ? 100.0 * drops / segments : 0) << " timeouts=" << control->GetTimeouts() << " exit=" << exitReason
              << " exit_ms=" << exitAt.GetSeconds() * 1e3 << " exit_cwnd=" << exitWindow << " misfed=" << (misfed.empty() ? "-" : misfed)
              << std::endl;
    Simulator::Destroy();
    return received >= bytes ? 0 : 1;
}
