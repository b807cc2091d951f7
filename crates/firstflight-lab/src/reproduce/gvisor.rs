//! HyStart in gVisor: the upload from Abu Dhabi to Helsinki, and the benchmarks at microseconds.

use super::{Assumption, Effort, Item, Row, Source};
use crate::error::Bad;

/// The pull request.
pub const SOURCE: Source = Source {
    name: "gvisor",
    document: "google/gvisor pull request 10287, merged 30 April 2024",
    stated: "one upload over a tunnel of 140 ms RTT with gVisor's CUBIC, with and without HyStart (Linux style), runs of 3 and 10 s; iperf benchmarks on loopback, 3 and 10 repeats",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: rows,
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

const ASSUMPTIONS: &[Assumption] = &[];

fn rows(_effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    Ok(Vec::new())
}
