// One bottleneck, N bulk TCP flows, in csg-htsim: the other side of benches/htsim.sh.
//
// htsim's TCP is NewReno with an ACK for each packet, without SACK and without pacing. Its queue is drop-tail, one BDP in bytes. One line of
// key=value pairs goes to standard output; what the library prints while it sets up goes to standard error.

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include "tcp.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <string>
#include <sys/resource.h>
#include <vector>

static uint64_t word(int argc, char** argv, const char* key, uint64_t otherwise)
{
    const std::string start = std::string(key) + "=";
    for (int i = 1; i < argc; ++i)
    {
        if (strncmp(argv[i], start.c_str(), start.size()) == 0)
        {
            return strtoull(argv[i] + start.size(), nullptr, 10);
        }
    }
    return otherwise;
}

int main(int argc, char** argv)
{
    const uint64_t rate = word(argc, argv, "rate", 100), rtt = word(argc, argv, "rtt", 30);
    const uint64_t seconds = word(argc, argv, "seconds", 10), flows = word(argc, argv, "flows", 1);
    std::streambuf* out = std::cout.rdbuf(std::cerr.rdbuf());

    const clock_t before = clock();
    EventList events;
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(1500);
    const mem_b bdp = static_cast<mem_b>(rate * rtt * 1000 / 8);
    Queue queue(speedFromMbps(rate), bdp, events, nullptr);
    Pipe there(timeFromMs(static_cast<double>(rtt) / 2), events), back(timeFromMs(static_cast<double>(rtt) / 2), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<TcpSrc*> senders;
    std::vector<TcpSink*> sinks;
    for (uint64_t flow = 0; flow < flows; ++flow)
    {
        TcpSrc* sender = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        timers.registerTcp(*sender);
        Route* routes[] = {new Route(), new Route()};
        routes[0]->push_back(&queue);
        routes[0]->push_back(&there);
        routes[0]->push_back(sink);
        routes[1]->push_back(&back);
        routes[1]->push_back(sender);
        sender->connect(*routes[0], *routes[1], *sink, timeFromMs(static_cast<double>(flow)));
        senders.push_back(sender);
        sinks.push_back(sink);
    }
    while (events.doNextEvent())
    {
    }
    uint64_t packets = 0, delivered = 0;
    for (uint64_t flow = 0; flow < flows; ++flow)
    {
        packets += senders[flow]->_packets_sent / senders[flow]->_mss;
        delivered += senders[flow]->_last_acked;
    }
    const double cpu = static_cast<double>(clock() - before) / CLOCKS_PER_SEC;
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::cout.rdbuf(out);
    std::cout << "data_packets=" << packets << " delivered_bytes=" << delivered << " cpu_s=" << cpu << " rss_kib=" << usage.ru_maxrss
              << std::endl;
    return 0;
}
