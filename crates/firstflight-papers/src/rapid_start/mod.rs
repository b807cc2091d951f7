//! Rapid Start: the claims of the slides about their plots (2.1) and about the production experiment (2.2).

mod figures;
mod plots;
mod production;
mod runs;

use super::{Assumption, Effort, Item, Measured, Row, Source};
use firstflight_lab::error::Bad;
use runs::Runs;

/// The slides.
pub const SOURCE: Source = Source {
    name: "rapid-start",
    document: "Rapid Start slides, IETF 125 ccwg (draft-kazuho-ccwg-rapid-start-02)",
    stated: "plots: 100 Mbit/s, RTT 30 ms, queue 30 ms, IW 30, jump 60; production: paced slow start, jump start, Rapid Start without and with jump, HTTP/3 first requests of cached objects of at least 200 kB, 7 POPs, a week",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: measured,
};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    Item { id: "2.1.1", gates: "GU", published: "slow start idles half of the first RTT; full-RTT pacing has no idle moment" },
    Item { id: "2.1.2", gates: "U", published: "twice the window over a full RTT gives a comparable rate" },
    Item { id: "2.1.3", gates: "U", published: "growth 2x; 3x until rtt_floor > min(rtt_min + 4 ms, 1.1 rtt_min), then 2x" },
    Item { id: "2.1.4", gates: "G", published: "first loss seen at 2F (slow start), up to 3F (Rapid Start)" },
    Item { id: "2.1.5", gates: "UG", published: "slow start is cut to about F, the second recovery comes too soon" },
    Item { id: "2.1.6", gates: "UG", published: "Rapid Start lands at beta F after one recovery" },
    Item { id: "2.1.7", gates: "U", published: "silent for no longer than (1-beta) full RTT" },
    Item { id: "2.1.8", gates: "G", published: "no excessive draining or bursts; the baseline drains, then fills" },
    Item { id: "2.1.9", gates: "UG", published: "repair takes longer: 2x overshoot 1 RT, 3x 2 RT" },
    Item { id: "2.1.10", gates: "G", published: "more packets lost than slow start" },
    Item { id: "2.1.11", gates: "U", published: "plain beta/2 cut at 2x: idle 3/4 of a full RTT, then a 2x burst; at 3x: 5/6, 3x" },
    Item { id: "2.1.12", gates: "U", published: "factors 5/6, 1/3, 5/6 (.5) and 9/10, 1/5, 9/10 (.7); floor pre beta/3; may stop at beta IW" },
    Item { id: "2.1.13", gates: "UGB", published: "ECN: no loss, cwnd stays at beta x previous, second episode at once, benefit reliable" },
    Item { id: "2.2.1", gates: "GB", published: "TTLB -14.7 %, all POPs, objects >= 200 kB" },
    Item { id: "2.2.2", gates: "GB", published: "by POP 10.8 to 21.5 %" },
    Item { id: "2.2.3", gates: "B", published: "by size 14.9 % (200-400 kB) to 10.6 % (1.6-3.2 MB)" },
    Item { id: "2.2.4", gates: "GB", published: "full-RTT pacing and threefold growth together are best" },
    Item { id: "2.2.5", gates: "G", published: "mean loss 1.52 < 1.61 < 1.92 < 1.98 %" },
    Item { id: "2.2.6", gates: "B", published: "loss ratios to slow start 1.30 / 1.37 / 1.16 / 1.13 (avg, P50, P90, P99)" },
    Item { id: "2.2.7", gates: "QB", published: "worst POP P99 19.60 to 21.65 %" },
];

#[rustfmt::skip]
const ASSUMPTIONS: &[Assumption] = &[
    Assumption { name: "host", value: "QUIC, 1472-byte datagrams, ACK every 2nd packet or after 25 ms, pacer burst 2 packets" },
    Assumption { name: "beta", value: "0.7, also 0.5; Reno-like growth after recovery, also CUBIC; K = 2/3" },
    Assumption { name: "threshold", value: "min(rtt_min + 4 ms, 1.1 rtt_min) = 33 ms on the plotted path" },
    Assumption { name: "gains", value: "pacing gain 2 in slow start and in the first recovery of every arm, 3 while tripling, 1 in the jump" },
    Assumption { name: "first-cut", value: "the baseline's first cut is 0.5, and in a second variant beta" },
    Assumption { name: "three-seconds", value: "a plotted run lasts 3 s" },
    Assumption { name: "W-CDN", value: "first request of a connection, size Pareto(200 kB, 1.2) cut at 10 MB; initial window 30, jump 60" },
    Assumption { name: "P-POP", value: "the seven groups of the population `cdn`, as many connections from each" },
    Assumption { name: "fit-cdn", value: "buffers (q) and random loss (k, s) fitted on four columns of loss of paced slow start and on the mean loss of rapidstart over it; everything else is held out" },
    Assumption { name: "ecn-step", value: "marks from 15 ms of queue on, queue 150 ms" },
];

fn measured(effort: &Effort<'_>) -> Result<Measured, Bad> {
    effort.tell("rapid-start: the plotted path");
    let all = Runs::all();
    let mut measured = Measured { rows: rows_of(&all), figures: figures::plotted(&all), ..Measured::default() };
    let (rows, found) = production::measured(effort)?;
    measured.extend(Measured { rows, figures: figures::production(&found), ..Measured::default() });
    Ok(measured)
}

/// Rows 2.1.1 to 2.1.13 alone: nothing in them is random, so a quick run measures the same.
pub fn plot_rows(effort: &Effort<'_>) -> Vec<Row> {
    effort.tell("rapid-start: the plotted path");
    rows_of(&Runs::all())
}

fn rows_of(all: &Runs) -> Vec<Row> {
    let parts: [Vec<Row>; 13] = [
        plots::idle_share_of_first_round(all),
        plots::jump_rate(all),
        plots::growth_per_acked_byte(all),
        plots::window_at_first_loss(all),
        plots::baseline_cut_and_second_recovery(all),
        plots::landing(all),
        plots::silence(all),
        plots::draining_and_bursts(all),
        plots::repair_time(all),
        plots::losses(all),
        plots::forced_cuts(),
        plots::factors(),
        plots::marks(),
    ];
    let mut rows: Vec<Row> = parts.into_iter().flatten().collect();
    for row in &mut rows {
        row.assumptions = match row.id {
            "2.1.3" => vec!["host", "threshold"],
            "2.1.5" => vec!["host", "beta", "first-cut", "gains"],
            "2.1.13" => vec!["host", "beta", "ecn-step"],
            "2.1.11" | "2.1.12" => vec!["beta"],
            _ => vec!["host", "beta", "gains", "three-seconds"],
        };
    }
    rows
}
