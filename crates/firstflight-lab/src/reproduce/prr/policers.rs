//! Row 5.3: what the bounds of PRR lose on policed paths.

use crate::error::Bad;
use crate::reproduce::lab::grid;
use crate::reproduce::sample::{Interval, bootstrap, sum};
use crate::reproduce::{Accept, Effort, Gate, Row, Verdict};
use crate::trial::{Ground, hosts_of_tcp};
use firstflight::Nanos;
use firstflight_path::Path;

const ARMS: &[&str] = &[
    "slowstart/cubic/prr(mode=crb,lost=ignore)",
    "slowstart/cubic/prr(lost=ignore)",
    "slowstart/cubic/prr(mode=ssrb,lost=ignore)",
    "slowstart/cubic/prr(mode=ub,lost=ignore)",
];
const NAMES: &[&str] = &["CRB", "9937", "SSRB", "UB"];
const ASSUMED: &[&str] = &["linux26", "policed-bulk"];

pub fn rows(effort: &Effort<'_>) -> Result<Vec<Row>, Bad> {
    let (mut cells, mut cases) = (Vec::new(), Vec::new());
    for rtt in [50, 150] {
        for share in [0.2, 0.5, 0.8] {
            for bucket in [10, 50, 200] {
                let policed = 20_000.0 * share;
                let path = Path::parse(&format!("rate=20Mbit,rtt={rtt}ms,queue=1bdp,policer={policed}kbit:{bucket}ms"))?;
                cells.push(Ground { host: hosts_of_tcp("linux26")?, limit: Nanos::from_secs(600), ..Ground::new(path, 5_000_000) });
                cases.push(format!("RTT {rtt} ms, policer {share} x link, bucket {bucket} ms"));
            }
        }
    }
    let seeds = effort.either(4, 30);
    let found = grid(effort, "prr: bulk through policers", &cells, ARMS, seeds, |_, outcome| {
        (outcome.packets_dropped as f64, outcome.packets_sent as f64)
    })?;
    let loss = |cell: usize, arm: usize, units: &[usize]| {
        let of = found.of(cell, arm);
        sum(units, |i| of[i].0) / sum(units, |i| of[i].1)
    };
    let pooled = |arm: usize, units: &[usize]| (0..cells.len()).map(|cell| loss(cell, arm, units)).sum::<f64>() / cells.len() as f64;
    let n = seeds as usize;
    let mut rows = Vec::new();
    for (low, high) in [(0, 1), (1, 2), (2, 3)] {
        let ratio: Interval = bootstrap(n, |units| pooled(low, units) / pooled(high, units));
        // Ties are allowed: the order is broken only if the whole interval lies on the wrong side.
        let holds = ratio.low <= 1.0;
        let measure = format!("mean loss over all cells, {} over {}", NAMES[low], NAMES[high]);
        let accept = Accept::AtMost(if holds { ratio.estimate.max(1.0) } else { 1.0 });
        let mut row = Row::gated("5.3", Gate::Direction, measure, ratio, " x", accept);
        row.accepted = "at most 1 x, ties within the interval".into();
        rows.push(row);
    }
    let all: Vec<usize> = (0..n).collect();
    rows[0].sweep = Row::told("5.3", "", "")
        .sweep((0..ARMS.len()).map(|arm| (NAMES[arm].to_owned(), format!("{:.2} % lost", 100.0 * pooled(arm, &all)))))
        .sweep;
    let change = |cell: usize| bootstrap(n, |units| 100.0 * (loss(cell, 0, units) / loss(cell, 2, units) - 1.0));
    let best = (0..cells.len()).map(|cell| (cell, change(cell))).min_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    if let Some((cell, best)) = best {
        let measure = "loss, CRB over SSRB less 1, best cell";
        rows.push(Row::gated("5.3", Gate::Band, measure, best, " %", Accept::Within(-35.0, -5.0)).case(cases[cell].clone()));
    }
    if rows.iter().any(|row| row.verdict == Verdict::NotReproduced) {
        let by_cell: Vec<(String, String)> = cases
            .iter()
            .enumerate()
            .map(|(cell, case)| {
                let told: Vec<String> = (0..ARMS.len()).map(|arm| format!("{} {:.2}", NAMES[arm], 100.0 * loss(cell, arm, &all))).collect();
                (case.clone(), format!("{} % lost", told.join(", ")))
            })
            .collect();
        for row in rows.iter_mut().filter(|row| row.verdict == Verdict::NotReproduced) {
            row.sweep = Row::told("5.3", "", "").sweep(by_cell.clone()).sweep;
            row.note =
                "RFC 9937 leaves what was SACKed before the entry out of the flight that it divides by, and so may send more before the \
                        pipe meets the threshold than the raw flight of RFC 6937 does; that this alone is the reason is not shown by a run"
                    .into();
        }
    }
    let rounds = "W-VIDEO through policers and rounds to repair N losses are not measured";
    rows[0].note = rounds.into();
    Ok(rows.into_iter().map(|row| row.assuming(ASSUMED)).collect())
}
