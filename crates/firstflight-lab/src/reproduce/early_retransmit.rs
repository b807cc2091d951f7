//! Early Retransmit: RFC 5827 with its two mitigations on web servers.

use super::{Assumption, Effort, Item, Row, Source};
use crate::error::Bad;

/// The slides.
pub const SOURCE: Source = Source {
    name: "early-retransmit",
    document: "Early Retransmit slides and RFC 5827",
    stated: "web servers, Linux 2.6; naive, stop after reordering (A), delay by RTT/4 (B)",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: rows,
};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    Item { id: "5.4.1", gates: "U", published: "duplicate-ACK threshold 1 or 2 at flight 2 or 3" },
    Item { id: "5.4.2", gates: "GB", published: "fast retransmits +13 %" },
    Item { id: "5.4.3", gates: "GB", published: "24 % spurious (naive), 6 % with both mitigations" },
    Item { id: "5.4.4", gates: "GB", published: "latency of responses with losses: p10 -5.6 %, p50 -8.0 %, p90 -3.3 %" },
    Item { id: "5.4.5", gates: "Q", published: "PRR and Early Retransmit deployed on all servers" },
];

const ASSUMPTIONS: &[Assumption] = &[];

fn rows(_effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    Ok(vec![Row::quoted("5.4.5", "a statement about deployment")])
}
