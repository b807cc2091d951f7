//! BEST: when to leave slow start on satellite and cellular links, by the median ACK spacing of a round.

mod buffers;
mod estimates;
mod exits;
mod returns;

use super::lab::{arm, watch};
use super::{Assumption, Effort, Item, Measured, Source};
use firstflight::Nanos;
use firstflight_lab::error::Bad;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_sim::tcp;

/// The slides.
pub const SOURCE: Source = Source {
    name: "best",
    document: "BEST slides, NetDev 0x16, October 2022",
    stated: "GEO 150 Mbit/s 600 ms, LEO 100/30, 5G 3000/10, 4G 200/20; queues of 100, 50, 25 % of the BDP; default and recommended socket buffers; bulk downloads on a GEO service and a LEO testbed with HyStart on, off and BEST",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: measured,
};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    Item { id: "3.1", gates: "GB", published: "default buffers keep GEO and 5G below capacity; LEO and 4G are not named" },
    Item { id: "3.2", gates: "GB", published: "GEO, 1 MB: 50 % longer with HyStart" },
    Item { id: "3.3", gates: "B", published: "GEO, average website of 5 MB: twice as long" },
    Item { id: "3.4", gates: "G", published: "RTT rises though the link is not saturated: ACKs need channel grants" },
    Item { id: "3.5", gates: "GB", published: "HyStart leaves too early on GEO and LEO; off: at a much larger window" },
    Item { id: "3.6", gates: "GB", published: "HyStart on leaves early, off late; BEST at the best point with the lowest time" },
    Item { id: "3.7", gates: "GB", published: "BEST near the optimal exit for each queue size" },
    Item { id: "3.8", gates: "G", published: "estimates of rounds 1 to 5 converge" },
    Item { id: "3.9", gates: "QG", published: "the same on the satellite uplink" },
    Item { id: "3.10", gates: "-", published: "open: rounds, percentile, memory, running median, outlier filter, data centre" },
];

#[rustfmt::skip]
const ASSUMPTIONS: &[Assumption] = &[
    Assumption { name: "host", value: "TCP, MSS 1448, IW 10, SACK, RACK, ACK every 2nd segment or after 40 ms, unpaced; CUBIC, PRR of RFC 9937" },
    Assumption { name: "payload-half", value: "half of a buffer holds payload: usable window = maximum / 2" },
    Assumption { name: "no-buffers", value: "socket buffers never limit (recommended ones would end the overshoot at 13.1 MB)" },
    Assumption { name: "queue", value: "stated share of the BDP in bytes, drop-tail; `11, 5.5, 2.75 Mb` on the slides are megabytes" },
    Assumption { name: "published-mode", value: "BEST as published: decides once at the end of rounds 4 to 7, lower median, whole Mbit/s, one RTT sample" },
    Assumption { name: "A0", value: "return path of plain delay, 10 x the forward rate, no loss" },
    Assumption { name: "A1", value: "return path `geo_warm`: slots of 40 ms, 11 ACKs each" },
    Assumption { name: "A2", value: "return path `geo_cold`: slots of 40 ms, capacity granted on demand, 1 ACK per slot at the start, at most 1.7 x more per second" },
    Assumption { name: "A3", value: "return path `leo`: delays and rates change every 15 s" },
    Assumption { name: "recommended-buffers", value: "tcp_rmem and tcp_wmem up to 26214400 bytes" },
    Assumption { name: "optimal", value: "the threshold that minimises the download time, on a grid of 5 % steps from 0.1 to 2 BDP" },
    Assumption { name: "download-time", value: "one handshake RTT, then first byte sent to last byte acknowledged" },
    Assumption { name: "jitter", value: "seeds differ by U(0, 0.5 ms) of RTT" },
];

/// The links of the slides.
struct LinkCase {
    name: &'static str,
    path: &'static str,
}

const LINKS: [LinkCase; 4] = [
    LinkCase { name: "GEO", path: "rate=150Mbit,rtt=600ms" },
    LinkCase { name: "LEO", path: "rate=100Mbit,rtt=30ms" },
    LinkCase { name: "5G", path: "rate=3Gbit,rtt=10ms" },
    LinkCase { name: "4G", path: "rate=200Mbit,rtt=20ms" },
];

/// A ground of TCP hosts on a link with this queue.
fn ground(path: &str, queue: &str, bytes: u64) -> Result<Scenario, Bad> {
    let path = Path::parse(&format!("{path},queue={queue}"))?;
    Ok(Scenario { host: Hosts::from(tcp::Host::default()), limit: Nanos::from_secs(900), ..Scenario::new(path, bytes) })
}

fn measured(effort: &Effort<'_>) -> Result<Measured, Bad> {
    let mut measured = Measured::from(buffers::rows(effort)?);
    measured.rows.extend(returns::rows(effort)?);
    measured.extend(exits::measured(effort)?);
    measured.extend(estimates::measured(effort)?);
    Ok(measured)
}
