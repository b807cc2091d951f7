//! HyStart in gVisor: the upload from Abu Dhabi to Helsinki, and the benchmarks at microseconds.

mod near;
mod upload;

use super::{Assumption, Effort, Item, Measured, Row, Source};
use firstflight_lab::error::Bad;

/// The pull request.
pub const SOURCE: Source = Source {
    name: "gvisor",
    document: "google/gvisor pull request 10287, merged 30 April 2024",
    stated: "one upload over a tunnel of 140 ms RTT with gVisor's CUBIC, with and without HyStart (Linux style), runs of 3 and 10 s; iperf benchmarks on loopback, 3 and 10 repeats",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: measured,
};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    Item { id: "4.1.1", gates: "GB", published: "total 70.37 Mbit/s on, 40.99 off: ratio 1.72" },
    Item { id: "4.1.2", gates: "GB", published: "off: dip near 2 s from losses; 44.1 / 49.0 / 22.0 Mbit/s, total 41.0" },
    Item { id: "4.1.3", gates: "GB", published: "on: leaves just before the path's rate, no loss; 44.7 / 84.7 / 85.5 Mbit/s, total 70.4" },
    Item { id: "4.1.4", gates: "G", published: "first interval equal (44.1 / 44.7 Mbit/s)" },
    Item { id: "4.1.5", gates: "GB", published: "long upload: little difference, both reach the right rate within a few seconds" },
    Item { id: "4.2.1", gates: "G", published: "no significant difference: geometric means +0.14 %, -3.81 %, -0.52 % (n = 10)" },
    Item { id: "4.2.2", gates: "B", published: "single-flow rows within about +-5 %" },
    Item { id: "4.2.3", gates: "GQ", published: "one bad row: upload 1024K x 16 flows, +13.22 % s/op, -52.08 % bytes/s" },
    Item { id: "4.2.4", gates: "B", published: "below 5 ms CUBIC no better than Reno" },
    Item { id: "4.2.5", gates: "U", published: "fixed-point arithmetic suggested instead of floats" },
];

#[rustfmt::skip]
const ASSUMPTIONS: &[Assumption] = &[
    Assumption { name: "rate", value: "bottleneck of 85.5 Mbit/s, the plateau of the plot; BDP 1.495 MB" },
    Assumption { name: "blocks", value: "blocks of 2 MiB; an interval closes with the first block that is taken a second or later after its begin, the run with the first one taken after 3 s; counted are bytes that the socket took" },
    Assumption { name: "send-buffer", value: "3 MB, 3 MiB, 4 MiB or 6 MB of payload; fitted with the queue on the off run" },
    Assumption { name: "queue-swept", value: "0.25, 0.5, 1, 1.5, 2 BDP; fitted: the smallest squared relative error of the off run alone, the on run is then a prediction" },
    Assumption { name: "repair-swept", value: "in the fit: RACK, or RFC 6675 with a timeout of at least 200 or 300 ms; tried besides for rows that do not come out: Linux 2.6 with rate halving, no SACK, PRR, a smaller MSS" },
    Assumption { name: "stack", value: "MSS 1448, IW 10, unpaced, RFC 6675 recovery with cwnd = ssthresh + 3, integer CUBIC, gVisor's profile of HyStart" },
    Assumption { name: "jitter", value: "seeds differ by U(0, 0.5 ms) of RTT" },
    Assumption { name: "rig", value: "link 10 Gbit/s, RTT 10 to 500 us, buffer 256 kB and 1 MB, ACK clock quantised to 0, 20 and 60 us, receive offload of 64 kB where quantised; CPU cost of the stack is not simulated" },
    Assumption { name: "one-second", value: "1 s of virtual time per run of the benchmarks (a quick run: 0.2 s), 10 seeds; write sizes of 4K, 64K and 1024K are one, because nothing of ours depends on them" },
];

fn measured(effort: &Effort<'_>) -> Result<Measured, Bad> {
    let mut measured = upload::measured(effort)?;
    measured.rows.extend(near::rows(effort)?);
    Ok(measured)
}

/// Row 4.2.5: what must hold.
///
/// # Errors
/// If the rig's path is refused.
pub fn unit_rows() -> Result<Vec<Row>, Bad> {
    Ok(vec![near::integers()?])
}
