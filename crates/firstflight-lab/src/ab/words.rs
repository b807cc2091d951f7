//! Warnings about the numbers, and the arms worth considering in each group.

use super::analysis::{Analysis, Entry, FEW_FLOWS, Part};
use super::contrast::LEAST_FLOWS;
use super::{Experiment, Tallies};

impl Analysis {
    /// Analyses the sums of a test; `warnings` are those of the population.
    pub fn new(experiment: &Experiment, tallies: &Tallies, warnings: &[String]) -> Analysis {
        let mut analysis = Analysis::numbers(experiment, tallies, warnings);
        analysis.advice = advice(&analysis);
        let own = self::warnings(&analysis);
        // Warnings about this test come before those about its population.
        analysis.warnings.splice(0..0, own);
        analysis
    }
}

/// One sentence per group: which arms are Pareto-optimal, and the two ends of the front.
fn advice(analysis: &Analysis) -> Vec<String> {
    let part = if analysis.of(Part::Group).next().is_some() { Part::Group } else { Part::All };
    let entries: Vec<&Entry> = analysis.of(part).collect();
    entries
        .chunk_by(|a, b| a.name == b.name)
        .map(|arms| {
            let front: Vec<&&Entry> = arms.iter().filter(|entry| entry.front).collect();
            let least = |read: fn(&Entry) -> f64| {
                front.iter().min_by(|a, b| read(a).total_cmp(&read(b))).copied()
            };
            let (fast, gentle) =
                (least(|entry| entry.ttlb_ms.mean), least(|entry| entry.loss_pct.mean));
            let describe = |entry: &Entry| {
                format!(
                    "{} ({:.0} ms, {:.2} % loss)",
                    entry.arm, entry.ttlb_ms.mean, entry.loss_pct.mean
                )
            };
            match (fast, gentle) {
                (Some(fast), Some(gentle)) if fast.arm == gentle.arm && front.len() == 1 => {
                    // The other arms are significantly slower; they may still lose less, but not
                    // significantly so.
                    let least = arms.iter().all(|other| other.loss_pct.mean >= fast.loss_pct.mean);
                    let loss = if least {
                        "and loses least"
                    } else {
                        "its loss does not differ significantly from the others'"
                    };
                    format!(
                        "{}: {} is fastest{} {loss}",
                        fast.name,
                        describe(fast),
                        if least { "" } else { ";" }
                    )
                }
                (Some(fast), Some(gentle)) => {
                    let between: Vec<&str> = front
                        .iter()
                        .filter(|entry| entry.arm != fast.arm && entry.arm != gentle.arm)
                        .map(|entry| entry.arm.as_str())
                        .collect();
                    let between = if between.is_empty() {
                        String::new()
                    } else {
                        format!("; between them {}", between.join(", "))
                    };
                    let gentle = if fast.arm == gentle.arm {
                        "the same arm".into()
                    } else {
                        describe(gentle)
                    };
                    format!(
                        "{}: fastest {}, least loss {gentle}{between}",
                        fast.name,
                        describe(fast)
                    )
                }
                _ => String::new(),
            }
        })
        .filter(|line| !line.is_empty())
        .collect()
}

fn warnings(analysis: &Analysis) -> Vec<String> {
    let mut warnings = Vec::new();
    let experiment = &analysis.experiment;
    if !analysis.complete {
        warnings.push(format!(
            "incomplete: {} of {} connections; the numbers below are those of what ran",
            analysis.flows, experiment.flows
        ));
    }
    let check = &analysis.decision.check;
    if check.differed > 0 {
        warnings.push(format!(
            "{} of {} trials that ran again with the same seed came out differently: do not trust this result",
            check.differed, check.repeated
        ));
    }
    if check.time_pct.is_none() {
        warnings.push(format!(
            "no A/A check: {} pairs are too few, {LEAST_FLOWS} are needed",
            check.pairs
        ));
    }
    if analysis.flows < FEW_FLOWS {
        let tail = (analysis.flows as f64 / 100.0).ceil();
        warnings.push(format!(
            "{} connections: p99 rests on {tail:.0} of them; at least {FEW_FLOWS} are needed for a reliable one",
            analysis.flows
        ));
    }
    let same = |entry: &&Entry| {
        entry.versus_baseline.as_ref().is_some_and(|versus| versus.paired.same_pct >= 100.0)
    };
    let twins: Vec<&str> =
        analysis.of(Part::All).filter(same).map(|entry| entry.arm.as_str()).collect();
    if !twins.is_empty() {
        warnings.push(format!(
            "{} behaved like the baseline on every single connection: identical results",
            twins.join(", ")
        ));
    }
    let unfinished: Vec<String> = analysis
        .of(Part::All)
        .filter(|entry| entry.incomplete > 0)
        .map(|entry| format!("{} {}", entry.arm, entry.incomplete))
        .collect();
    if !unfinished.is_empty() {
        warnings.push(format!(
            "of {} transfers each, some did not finish within {} s of simulated time and count with that time: {}",
            analysis.flows,
            experiment.limit_s,
            unfinished.join(", ")
        ));
    }
    for (bound, share) in &analysis.clipped {
        if *share > 0.01 {
            warnings.push(format!(
                "the bound `{bound}` limited a value of {:.1} % of the connections",
                share * 100.0
            ));
        }
    }
    warnings
}
