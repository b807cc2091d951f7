//! Which arm to deploy, in sentences that somebody can act on who reads nothing else.
//!
//! Nothing is recommended if the test is not complete, if its check against itself failed, if no
//! difference in time is beyond chance and [`SMALLEST_TIME_PCT`], or if sign or size of what the
//! fastest arm does hang on what nobody measured. Otherwise the fastest arm is named; if another
//! one loses noticeably less, both sides of the trade-off are. Then where the fastest arm does not
//! help, what comes next, and which arms cannot be told apart because they did the same on every
//! connection.

use super::analysis::{Analysis, Entry, Part};
use super::contrast::LEAST_FLOWS;
use super::sensitivity::{Depends, SMALLEST_LOSS_POINTS, SMALLEST_TIME_PCT};
use crate::stats::Interval;
use std::fmt::Write as _;

/// What an answer comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is recommended, for this reason.
    Nothing(String),
    /// The baseline: every other arm is slower.
    Keep,
    /// This arm: no other is faster or loses noticeably less.
    Deploy(String),
    /// One arm is fastest, and another loses noticeably less.
    Trade {
        /// The fastest arm.
        fast: String,
        /// The one that loses least.
        gentle: String,
    },
}

/// The ends of the front over all connections: the fastest arm and the one that loses least.
pub(super) fn ends(analysis: &Analysis) -> Option<(&Entry, &Entry)> {
    let front = || analysis.of(Part::All).filter(|entry| entry.front);
    let fast = front().min_by(|a, b| a.ttlb_ms.mean.total_cmp(&b.ttlb_ms.mean))?;
    let gentle = front().min_by(|a, b| a.loss_pct.mean.total_cmp(&b.loss_pct.mean))?;
    Some((fast, gentle))
}

/// The fastest arm loses noticeably more than the one that loses least.
fn priced(fast: &Entry, gentle: &Entry) -> bool {
    fast.loss_pct.mean - gentle.loss_pct.mean >= SMALLEST_LOSS_POINTS
}

/// What the answer of this test comes to.
pub(super) fn decide(analysis: &Analysis) -> Decision {
    if let Some(reason) = unusable(analysis) {
        return Decision::Nothing(reason);
    }
    let all: Vec<&Entry> = analysis.of(Part::All).collect();
    let (Some(baseline), Some((fast, gentle))) = (all.first().copied(), ends(analysis)) else {
        return Decision::Nothing("there is no result".to_owned());
    };
    if fast.arm != baseline.arm && counts(fast) {
        return match unmeasured(analysis, fast, &baseline.arm) {
            Some(reason) => Decision::Nothing(reason),
            None if priced(fast, gentle) => {
                Decision::Trade { fast: fast.arm.clone(), gentle: gentle.arm.clone() }
            }
            None => Decision::Deploy(fast.arm.clone()),
        };
    }
    let slower = |entry: &&Entry| {
        counts(entry)
            && entry
                .versus_baseline
                .as_ref()
                .is_some_and(|versus| versus.reduction_pct.mean.value < 0.0)
    };
    if let Some(reason) = signs(analysis, &all) {
        Decision::Nothing(reason)
    } else if all[1..].iter().all(slower) {
        Decision::Keep
    } else {
        Decision::Nothing(format!(
            "no arm is faster than {} by more than chance and {SMALLEST_TIME_PCT:.0} % of the completion time",
            baseline.arm
        ))
    }
}

pub(super) fn sentences(analysis: &Analysis) -> Vec<String> {
    let all: Vec<&Entry> = analysis.of(Part::All).collect();
    let (Some(baseline), decision) = (all.first().copied(), decide(analysis)) else {
        return Vec::new();
    };
    if unusable(analysis).is_some() {
        return first(&decision, &baseline.arm).into_iter().collect();
    }
    let Some((fast, gentle)) = ends(analysis) else { return Vec::new() };
    let mut lines: Vec<String> = first(&decision, &baseline.arm).into_iter().collect();
    if fast.arm == baseline.arm || !counts(fast) {
        lines.extend(twins(&all));
        return lines;
    }
    let more = fast.loss_pct.mean - gentle.loss_pct.mean;
    let trade = format!("Trade-off: {} is fastest, {} loses least.", fast.arm, gentle.arm);
    let gain = gain(fast, &baseline.arm);
    match &decision {
        Decision::Trade { .. } => {
            let (ms, of) = (gentle.ttlb_ms.mean - fast.ttlb_ms.mean, gentle.ttlb_ms.mean);
            lines.push(format!(
                "{trade} {gain}; against {} {ms:.0} ms of {of:.0} ms on average for {more:.2} percentage points more loss.",
                gentle.arm
            ));
        }
        Decision::Deploy(arm) => lines.push(format!(
            "Deploy {arm}: no other arm of this test is faster or loses noticeably less. {gain}."
        )),
        _ if priced(fast, gentle) => lines.push(format!("{trade} As assumed: {gain}.")),
        _ => {}
    }
    lines.extend(waiting(fast, baseline));
    lines.extend(by_size(analysis, &fast.arm));
    lines.extend(exceptions(analysis, &fast.arm));
    lines.extend(next(&all, fast));
    lines.extend(twins(&all));
    lines
}

/// The sentence of a decision that needs no numbers.
pub(super) fn first(decision: &Decision, baseline: &str) -> Option<String> {
    match decision {
        Decision::Nothing(reason) => Some(format!("No recommendation: {reason}.")),
        Decision::Keep => Some(format!("Keep {baseline}: every other arm of this test is slower.")),
        Decision::Deploy(_) | Decision::Trade { .. } => None,
    }
}

/// Why nothing can be said at all.
pub(super) fn unusable(analysis: &Analysis) -> Option<String> {
    let (flows, wanted) = (analysis.flows, analysis.experiment.flows);
    if !analysis.complete {
        return Some(format!("the test is not complete, {flows} of {wanted} connections ran"));
    }
    if flows < LEAST_FLOWS {
        return Some(format!("{flows} connections are too few"));
    }
    let failed = analysis.aa.differed > 0 || !analysis.aa.covers_zero;
    failed.then(|| "the check of the baseline against itself failed".to_owned())
}

/// Beyond chance, and beyond the smallest effect that counts.
pub(super) fn counts(entry: &Entry) -> bool {
    let reduction = entry.versus_baseline.as_ref().map(|versus| versus.reduction_pct.mean);
    reduction.is_some_and(|reduction| {
        !reduction.covers(0.0) && reduction.value.abs() >= SMALLEST_TIME_PCT
    })
}

/// What of the fastest arm's effects hangs on what nobody measured.
fn unmeasured(analysis: &Analysis, fast: &Entry, baseline: &str) -> Option<String> {
    analysis.sensitivity.iter().find_map(|one| {
        let effect = one.effect(&fast.arm)?;
        if let Some(other) = one.overtaken(&fast.arm, baseline) {
            return Some(format!(
                "whether {} or {other} is faster depends on {} nobody measured",
                fast.arm, one.value
            ));
        }
        let depends = [
            ("completion time", effect.reduction_pct.depends),
            ("loss", effect.loss_points.depends),
        ];
        let (what, how) = depends.into_iter().find(|(_, depends)| *depends != Depends::Nothing)?;
        let how = if how == Depends::Sign { "the sign" } else { "the size" };
        Some(format!(
            "{how} of the effect on {what} is not known; {}: {}",
            fast.arm,
            effect.sentence(&one.value)
        ))
    })
}

/// An arm that is faster than the baseline or slower, depending on what nobody measured.
fn signs(analysis: &Analysis, all: &[&Entry]) -> Option<String> {
    analysis.sensitivity.iter().find_map(|one| {
        let effect = all[1..]
            .iter()
            .filter_map(|entry| one.effect(&entry.arm))
            .find(|effect| effect.reduction_pct.depends == Depends::Sign)?;
        Some(format!("{}: {}", effect.arm, effect.sentence(&one.value)))
    })
}

/// `Downloads take 21.5 % less time than with hystart [19.8, 23.2], with the same loss; 0.5 % of
/// them take over 5 % longer`.
fn gain(entry: &Entry, baseline: &str) -> String {
    let Some(versus) = &entry.versus_baseline else { return String::new() };
    let Interval { value, low, high } = versus.reduction_pct.mean;
    let loss = versus.loss_points;
    let loss = if loss.low.abs().max(loss.high.abs()) < SMALLEST_LOSS_POINTS {
        "with the same loss".to_owned()
    } else if loss.covers(0.0) {
        format!(
            "with no difference in loss beyond chance ({:+.2} points [{:+.2}, {:+.2}])",
            loss.value, loss.low, loss.high
        )
    } else {
        format!(
            "with {:.2} points {} loss",
            loss.value.abs(),
            if loss.value > 0.0 { "more" } else { "less" }
        )
    };
    format!(
        "Downloads take {value:.1} % less time than with {baseline} [{low:.1}, {high:.1}], {loss}; {:.1} % of them take over 5 % longer",
        versus.paired.worse_pct
    )
}

/// What the fastest arm does to whoever shares the bottleneck, where it differs by what anybody
/// could notice.
fn waiting(fast: &Entry, baseline: &Entry) -> Option<String> {
    let difference = fast.versus_baseline.as_ref()?.queue_p99_ms;
    (difference.value.abs() >= 1.0 && !difference.covers(0.0)).then(|| {
        let (own, other) = (fast.queue_p99_ms, baseline.queue_p99_ms);
        format!("Queueing delay at the bottleneck (mean of per-connection p99): {own:.0} ms, {other:.0} ms with {}.", baseline.arm)
    })
}

fn gains<'a>(
    analysis: &'a Analysis,
    part: Part,
    arm: &'a str,
) -> impl Iterator<Item = (&'a Entry, Interval)> {
    let of = analysis.of(part).filter(move |entry| entry.arm == arm && entry.flows >= LEAST_FLOWS);
    of.filter_map(|entry| {
        entry.versus_baseline.as_ref().map(|versus| (entry, versus.reduction_pct.mean))
    })
}

/// Where the gain is largest and where it is smallest.
fn by_size(analysis: &Analysis, arm: &str) -> Option<String> {
    let mut sizes: Vec<(&Entry, Interval)> = gains(analysis, Part::Size, arm).collect();
    sizes.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (least, most) = (sizes.first()?, sizes.last()?);
    if sizes.len() < 2 {
        return None;
    }
    Some(format!(
        "Gain by object size: largest for {} ({:.1} % less time), smallest for {} ({:.1} %).",
        most.0.name, most.1.value, least.0.name, least.1.value
    ))
}

/// Groups and sizes in which the arm is slower than the baseline, or another arm beats it.
fn exceptions(analysis: &Analysis, arm: &str) -> Option<String> {
    let mut told = Vec::new();
    for part in [Part::Group, Part::Size] {
        for (entry, gain) in gains(analysis, part, arm) {
            if gain.high < 0.0 {
                told.push(format!("{} ({:.1} % longer)", entry.name, -gain.value));
            } else if !entry.front {
                let better = analysis
                    .of(part)
                    .filter(|other| other.name == entry.name && other.front)
                    .min_by(|a, b| a.ttlb_ms.mean.total_cmp(&b.ttlb_ms.mean));
                let better =
                    better.map_or(String::new(), |other| format!(", {} is ahead", other.arm));
                told.push(format!("{}{better}", entry.name));
            }
        }
    }
    (!told.is_empty()).then(|| format!("No gain over the other arms there: {}.", told.join("; ")))
}

/// The next best arm that did something else.
fn next(all: &[&Entry], fast: &Entry) -> Option<String> {
    let others = all.iter().copied().filter(|entry| entry.arm != fast.arm && !same(entry, fast));
    let second = others.min_by(|a, b| a.ttlb_ms.mean.total_cmp(&b.ttlb_ms.mean))?;
    let mut line = format!("Next comes {}", second.arm);
    match &second.versus_baseline {
        Some(versus) => _ = write!(line, " with {:.1} %", versus.reduction_pct.mean.value),
        None => line += ", the baseline",
    }
    Some(line + ".")
}

/// Sums of a test that are equal to the last digit come from arms that did the same.
fn same(a: &Entry, b: &Entry) -> bool {
    let bits = |entry: &Entry| {
        [
            entry.ttlb_ms.mean,
            entry.loss_pct.mean,
            entry.retransmitted_pct,
            entry.queue_p99_ms,
            entry.recoveries,
        ]
        .map(f64::to_bits)
    };
    bits(a) == bits(b)
}

fn twins(all: &[&Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, entry) in all.iter().enumerate() {
        if all[..index].iter().any(|before| same(before, entry)) {
            continue;
        }
        let alike: Vec<&str> = all[index..]
            .iter()
            .filter(|other| same(other, entry))
            .map(|other| other.arm.as_str())
            .collect();
        if let [.., last] = alike[..]
            && alike.len() > 1
        {
            let others = alike[..alike.len() - 1].join(", ");
            lines.push(format!("{others} and {last} did the same on every connection: nothing here tells them apart."));
        }
    }
    lines
}
