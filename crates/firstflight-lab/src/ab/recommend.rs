//! Which arm to deploy, in sentences that somebody can act on who reads nothing else.
//!
//! The fastest arm is named; if another one loses noticeably less, the choice is a price and both are named. Then where the fastest arm
//! does not help, what comes next, and which arms cannot be told apart because they did the same on every connection.

use super::analysis::{Analysis, Entry, LEAST_FLOWS, Part};
use crate::stats::Interval;
use std::fmt::Write as _;

/// Less loss than this many percentage points is no argument.
const NOTICEABLE: f64 = 0.01;

pub(super) fn sentences(analysis: &Analysis) -> Vec<String> {
    let all: Vec<&Entry> = analysis.of(Part::All).collect();
    let Some(baseline) = all.first().copied().filter(|entry| entry.flows >= LEAST_FLOWS) else { return Vec::new() };
    let front: Vec<&Entry> = all.iter().copied().filter(|entry| entry.front).collect();
    let fast = front.iter().copied().min_by(|a, b| a.ttlb_ms.mean.total_cmp(&b.ttlb_ms.mean));
    let gentle = front.iter().copied().min_by(|a, b| a.loss_pct.mean.total_cmp(&b.loss_pct.mean));
    let (Some(fast), Some(gentle)) = (fast, gentle) else {
        return Vec::new();
    };
    let priced = fast.loss_pct.mean - gentle.loss_pct.mean >= NOTICEABLE;
    let sure = |entry: &Entry| entry.versus_baseline.as_ref().is_some_and(|versus| !versus.reduction_pct.mean.covers(0.0));
    let mut lines = Vec::new();
    lines.push(if fast.arm == baseline.arm || !sure(fast) {
        if all[1..].iter().any(|entry| sure(entry)) {
            format!("Stay with {}: no arm of this test is faster.", baseline.arm)
        } else {
            format!("Nothing to deploy instead of {}: the sample shows no difference in download time.", baseline.arm)
        }
    } else if priced {
        format!(
            "A price to agree on: {} is the fastest, {} the gentlest. {}, {:.0} ms of {:.0} ms saved on average for {:.2} percentage points more loss.",
            fast.arm,
            gentle.arm,
            gain(fast, &baseline.arm),
            gentle.ttlb_ms.mean - fast.ttlb_ms.mean,
            gentle.ttlb_ms.mean,
            fast.loss_pct.mean - gentle.loss_pct.mean
        )
    } else {
        format!("Deploy {}: no other arm of this test is faster or loses noticeably less. {}.", fast.arm, gain(fast, &baseline.arm))
    });
    if fast.arm != baseline.arm && sure(fast) {
        lines.extend(waiting(fast, baseline));
        lines.extend(by_size(analysis, &fast.arm));
        lines.extend(exceptions(analysis, &fast.arm));
        lines.extend(next(&all, fast));
    }
    lines.extend(twins(&all));
    lines
}

/// `Downloads take 21.5 % less time than with hystart [19.8, 23.2], with the same loss; 0.5 % of them take over 5 % longer`.
fn gain(entry: &Entry, baseline: &str) -> String {
    let Some(versus) = &entry.versus_baseline else { return String::new() };
    let Interval { value, low, high } = versus.reduction_pct.mean;
    let loss = versus.loss_points;
    let loss = if loss.covers(0.0) || loss.value.abs() < NOTICEABLE {
        "with the same loss".to_owned()
    } else {
        format!("with {:.2} points {} loss", loss.value.abs(), if loss.value > 0.0 { "more" } else { "less" })
    };
    format!(
        "Downloads take {value:.1} % less time than with {baseline} [{low:.1}, {high:.1}], {loss}; {:.1} % of them take over 5 % longer",
        versus.paired.worse_pct
    )
}

/// What the fastest arm does to whoever shares the bottleneck, where it differs by what anybody could notice.
fn waiting(fast: &Entry, baseline: &Entry) -> Option<String> {
    let difference = fast.versus_baseline.as_ref()?.queue_p99_ms;
    (difference.value.abs() >= 1.0 && !difference.covers(0.0)).then(|| {
        let (own, other) = (fast.queue_p99_ms, baseline.queue_p99_ms);
        format!(
            "Whoever shares the bottleneck waits for it {own:.0} ms at p99 of a connection on average, {other:.0} ms with {}.",
            baseline.arm
        )
    })
}

fn gains<'a>(analysis: &'a Analysis, part: Part, arm: &'a str) -> impl Iterator<Item = (&'a Entry, Interval)> {
    let of = analysis.of(part).filter(move |entry| entry.arm == arm && entry.flows >= LEAST_FLOWS);
    of.filter_map(|entry| entry.versus_baseline.as_ref().map(|versus| (entry, versus.reduction_pct.mean)))
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
        "By object: most for {} ({:.1} % less time), least for {} ({:.1} %).",
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
                let better = better.map_or(String::new(), |other| format!(", {} is ahead", other.arm));
                told.push(format!("{}{better}", entry.name));
            }
        }
    }
    (!told.is_empty()).then(|| format!("Not there: {}.", told.join("; ")))
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
        [entry.ttlb_ms.mean, entry.loss_pct.mean, entry.retransmitted_pct, entry.queue_p99_ms, entry.recoveries].map(f64::to_bits)
    };
    bits(a) == bits(b)
}

fn twins(all: &[&Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, entry) in all.iter().enumerate() {
        if all[..index].iter().any(|before| same(before, entry)) {
            continue;
        }
        let alike: Vec<&str> = all[index..].iter().filter(|other| same(other, entry)).map(|other| other.arm.as_str()).collect();
        if let [.., last] = alike[..]
            && alike.len() > 1
        {
            let others = alike[..alike.len() - 1].join(", ");
            lines.push(format!("{others} and {last} did the same on every connection: nothing here tells them apart."));
        }
    }
    lines
}
