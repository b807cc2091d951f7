//! What the numbers say, in sentences; and what they do not.

use super::analysis::{Analysis, Entry, FEW_FLOWS, Part};
use super::contrast::LEAST_FLOWS;
use super::recommend::{self, Decision};
use super::{Experiment, Tallies};
use crate::stats::Interval;

impl Analysis {
    /// Of what was kept: the numbers, and what they say; `warnings` are those of the population.
    pub fn new(experiment: &Experiment, tallies: &Tallies, warnings: &[String]) -> Analysis {
        let mut analysis = Analysis::numbers(experiment, tallies, warnings);
        fill(&mut analysis);
        analysis
    }

    /// What the answer comes to.
    pub fn decision(&self) -> Decision {
        recommend::decide(self)
    }
}

/// Fills in sentences, advice and warnings.
fn fill(analysis: &mut Analysis) {
    let depends = |entry: &Entry| {
        let told = analysis
            .sensitivity
            .iter()
            .filter_map(|one| Some(format!("; {}", one.effect(&entry.arm)?.sentence(&one.value))));
        told.collect::<String>()
    };
    let sentences = analysis.of(Part::All).filter_map(|entry| {
        let same =
            entry.versus_baseline.as_ref().is_some_and(|versus| versus.paired.same_pct >= 100.0);
        sentence(entry).map(|line| if same { line } else { line + &depends(entry) })
    });
    analysis.sentences = sentences.collect();
    analysis.recommendation = recommend::sentences(analysis);
    analysis.advice = advice(analysis);
    let own = warnings(analysis);
    // What concerns this very test goes before what concerns its population.
    analysis.warnings.splice(0..0, own);
}

/// `12.9 [12.1, 13.6]` without a sign; the reader has the direction in words.
fn range(interval: Interval, digits: usize) -> String {
    let Interval { value, low, high } =
        if interval.value < 0.0 { interval.map(|x| -x) } else { interval };
    format!("{value:.digits$} % {{}} [{low:.digits$}, {high:.digits$}]")
}

/// One arm beside the baseline, as a sentence.
pub fn sentence(entry: &Entry) -> Option<String> {
    let versus = entry.versus_baseline.as_ref()?;
    if versus.paired.same_pct >= 100.0 {
        return Some(format!("{}: exactly as the baseline on every connection", entry.arm));
    }
    let time = versus.reduction_pct.mean;
    let unknown = !(time.low.is_finite() && time.high.is_finite());
    let first = if unknown || time.covers(0.0) {
        let range = if unknown {
            String::new()
        } else {
            format!(" [{:.1}, {:.1} % shorter]", time.low, time.high)
        };
        format!("no difference in completion time beyond chance{range}")
    } else {
        let direction = if time.value > 0.0 { "shorter downloads" } else { "longer downloads" };
        range(time, 1).replace("{}", direction)
    };
    let loss = versus.loss_points;
    // Less than anybody prints.
    let nothing = loss.low.abs().max(loss.high.abs()) < 0.005;
    let second = if nothing {
        "the same loss".into()
    } else if loss.covers(0.0) || unknown {
        format!(
            "no difference in loss beyond chance ({:+.2} points [{:+.2}, {:+.2}])",
            loss.value, loss.low, loss.high
        )
    } else {
        let direction = if loss.value > 0.0 { "more" } else { "less" };
        format!("{} points {direction} loss", two(loss.value.abs()))
    };
    let tail = versus.paired.worse_pct;
    let third = if tail < 0.05 {
        "less than 0.1 % of connections take over 5 % longer".into()
    } else {
        format!("{tail:.1} % of connections take over 5 % longer")
    };
    Some(format!("{}: {first}, {second}; {third}", entry.arm))
}

/// As many digits as tell something.
fn two(value: f64) -> String {
    if value >= 0.1 {
        format!("{value:.1}")
    } else if value >= 0.01 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
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
                    // The others are slower beyond chance; they may still lose less, by no more
                    // than chance.
                    let least = arms.iter().all(|other| other.loss_pct.mean >= fast.loss_pct.mean);
                    let loss = if least {
                        "and loses least"
                    } else {
                        "its loss differs from the others' by no more than chance"
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
    let aa = &analysis.aa;
    if aa.differed > 0 {
        warnings.push(format!(
            "{} of {} trials that ran again with the same seed came out differently: do not trust this result",
            aa.differed, aa.repeated
        ));
    }
    if !aa.covers_zero {
        warnings.push(
            "A/A check failed: the baseline differs from itself beyond its 99 % interval; do not trust differences of that size".into(),
        );
    } else if aa.reduction_pct.is_none() {
        warnings.push(format!(
            "no A/A check: {} pairs are too few, {LEAST_FLOWS} are needed",
            aa.pairs
        ));
    }
    if analysis.flows < FEW_FLOWS {
        let tail = (analysis.flows as f64 / 100.0).ceil();
        warnings.push(format!(
            "{} connections: p99 rests on {tail:.0} of them; at least {FEW_FLOWS} are needed for a reliable one",
            analysis.flows
        ));
    }
    let (mut twins, mut even) = (Vec::new(), Vec::new());
    for entry in analysis.of(Part::All) {
        match &entry.versus_baseline {
            Some(versus) if versus.paired.same_pct >= 100.0 => twins.push(entry.arm.as_str()),
            Some(versus) if versus.reduction_pct.mean.covers(0.0) => even.push(entry.arm.as_str()),
            _ => {}
        }
    }
    if !twins.is_empty() {
        warnings.push(format!(
            "{} behaved like the baseline on every single connection: identical results",
            twins.join(", ")
        ));
    }
    if !even.is_empty() {
        warnings.push(format!(
            "{}: the mean completion time does not differ from the baseline's beyond chance",
            even.join(", ")
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
                "the bound `{bound}` held back a value of {:.1} % of the connections",
                share * 100.0
            ));
        }
    }
    let thin: Vec<&str> = analysis
        .of(Part::Group)
        .chain(analysis.of(Part::Size))
        .filter(|entry| entry.versus_baseline.is_none() && entry.flows < FEW_FLOWS)
        .map(|entry| entry.name.as_str())
        .collect();
    if !thin.is_empty() && analysis.flows >= FEW_FLOWS {
        warnings.push(format!(
            "Fewer than {FEW_FLOWS} connections: p99 and small differences are not reliable: {}",
            thin.join(", ")
        ));
    }
    warnings
}
