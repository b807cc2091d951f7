//! PRR: web and video servers of 2011, and policers.

use super::{Assumption, Effort, Item, Row, Source};
use crate::error::Bad;

/// The slides.
pub const SOURCE: Source = Source {
    name: "prr",
    document: "Proportional Rate Reduction slides and RFC 6937; Linux 4.3 for policers",
    stated: "Linux 2.6, FACK, CUBIC; servers in three groups: Standard (RFC 3517), Linux (rate halving), PRR; > 96 % of connections use SACK, 6.1 % of HTTP responses see losses",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: rows,
};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    Item { id: "5.1.1", gates: "B", published: "45 % of PRR recoveries start with pipe <= ssthresh (32 % below, 13 % equal)" },
    Item { id: "5.1.2", gates: "GB", published: "mean TCP latency 3 to 10 % less than Linux" },
    Item { id: "5.1.3", gates: "B", published: "RFC 6937: lost repeats +29 % with RFC 3517" },
    Item { id: "5.1.4", gates: "B", published: "RFC 6937: timeouts +2.6 % with RFC 3517, +5 % with rate halving" },
    Item { id: "5.1.5", gates: "B", published: "UB tracks RFC 3517, CRB tracks rate halving, SSRB needs least time in recovery" },
    Item { id: "5.1.6", gates: "UB", published: "PRR converges to ssthresh irrespective of extra loss and stalls; fewer timeouts" },
    Item { id: "5.1.7", gates: "U", published: "Standard: half an RTT of silence under light loss; PRR smoother" },
    Item { id: "5.2 M5", gates: "GB", published: "retransmission rate 5.0 % Linux, 6.6 % Standard, 5.6 % PRR" },
    Item { id: "5.2 M6", gates: "GB", published: "retransmissions lost 2.4 % Linux, 16.4 % Standard, 4.8 % PRR" },
    Item { id: "5.2 M7", gates: "GB", published: "slow start after recovery 56 % Linux, 1 % Standard, 0 % PRR" },
    Item { id: "5.2 control", gates: "G", published: "our negative control: independent loss, no shallow queue, no policer" },
    Item { id: "5.3", gates: "GB", published: "CRB instead of SSRB: total loss up to 20 % lower on policed paths" },
    Item { id: "5.5", gates: "Q", published: "15.2 % of US retransmissions belong to connections that never recover" },
];

const ASSUMPTIONS: &[Assumption] = &[];

fn rows(_effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    Ok(vec![Row::quoted("5.5", "an input, not a result; the breakdown by cause is a chart without values")])
}
