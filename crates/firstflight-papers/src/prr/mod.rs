//! PRR: web and video servers of 2011, and policers.

mod policers;
mod vectors;
mod video;
mod web;

use super::{Assumption, Effort, Item, Measured, Row, Source};
use firstflight_lab::error::Bad;

/// The slides.
pub const SOURCE: Source = Source {
    name: "prr",
    document: "Proportional Rate Reduction slides and RFC 6937; Linux 4.3 for policers",
    stated: "Linux 2.6, FACK, CUBIC; servers in three groups: Standard (RFC 3517), Linux (rate halving), PRR; > 96 % of connections use SACK, 6.1 % of HTTP responses see losses; web: US data centre, 5 days; video: India data centre, 3 days, mean response 2.3 MB",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: measured,
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
    Item { id: "5.2 control", gates: "G", published: "our negative control: independent loss, queues of two BDP, no policer" },
    Item { id: "5.3", gates: "GB", published: "CRB instead of SSRB: total loss up to 20 % lower on policed paths" },
    Item { id: "5.5", gates: "Q", published: "15.2 % of US retransmissions belong to connections that never recover" },
];

#[rustfmt::skip]
const ASSUMPTIONS: &[Assumption] = &[
    Assumption { name: "linux26", value: "FACK detection of Linux 2.6 and its timer in every arm, 4 % of connections without SACK; MSS 1448, IW 10, unpaced, CUBIC (0.7), plain slow start" },
    Assumption { name: "arms", value: "Standard: RFC 6675 filling on the same detection; Linux: rate halving, moderation 3; PRR: SSRB with raw F; no arm cuts again for a lost repeat; IW 10, second run 3" },
    Assumption { name: "W-WEB", value: "1 + Geometric(3) responses, at most 20, gaps LN(2 s, 1); 97 % LN(4 kB, 1.2), 3 % Pareto(30 kB, 1.3) up to 5 MB" },
    Assumption { name: "P-US", value: "RTT LN(70 ms, 0.6), rate LN(5 Mbit/s, 0.9), queue U(0.25, 2) BDP, at least 20 packets; bursts of 3 with loss 0.8" },
    Assumption { name: "fit-web", value: "probability of a burst fitted on the Linux arm to 6.1 % of responses hit; drops in the own queue count" },
    Assumption { name: "W-VIDEO", value: "size LN(1.4 MB, 1); U(10, 40) s of playback at once, then 64 kB writes at 1.25 x LN(350 kbit/s, 0.4)" },
    Assumption { name: "P-IN", value: "RTT LN(220 ms, 0.45), rate LN(1 Mbit/s, 0.8), queue LN(150 ms, 0.7), at least 6 packets; bursts of 6 with loss 0.7; policers U(0.3, 0.9) x link, bucket U(10, 200) ms" },
    Assumption { name: "fit-video", value: "burst probability and share of policed paths fitted on the Standard arm to its 6.6 % retransmitted and 12 to 20 % lost again; the other cells are predictions" },
    Assumption { name: "policed-bulk", value: "5 MB on 20 Mbit/s, RTT 50 and 150 ms, policer 0.2, 0.5, 0.8 x link, bucket 10, 50, 200 ms" },
];

fn measured(effort: &Effort<'_>) -> Result<Measured, Bad> {
    let mut measured = web::measured(effort)?;
    measured.rows.extend(unit_rows());
    measured.extend(video::measured(effort)?);
    measured.extend(policers::measured(effort)?);
    measured.rows.push(Row::quoted("5.5", "an input, not a result; the breakdown by cause is a chart without values"));
    Ok(measured)
}

/// Row 5.1.7, on the rules themselves: what must hold.
pub fn unit_rows() -> Vec<Row> {
    vectors::rows()
}
