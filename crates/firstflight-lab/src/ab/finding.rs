//! What a test comes to, in one sentence: what to deploy, and the completion times behind it.

use super::Analysis;
use super::analysis::{Entry, Part};
use super::recommend::{Decision, counts, ends, first, unusable};
use crate::table::time;

impl Analysis {
    /// The finding, for the top of a page and of the terminal: which arm to deploy, with p50, p95
    /// and p99 of its completion time beside the baseline's; or why none is recommended.
    pub fn finding(&self) -> String {
        let Some(baseline) = self.of(Part::All).next() else { return String::new() };
        let decision = self.decision();
        let told = first(&decision, &baseline.arm);
        let fast = ends(self)
            .map(|(fast, _)| fast)
            .filter(|fast| unusable(self).is_none() && fast.arm != baseline.arm && counts(fast));
        let Some(fast) = fast else { return told.unwrap_or_default() };
        let times = times(fast, baseline);
        match decision {
            Decision::Deploy(arm) => {
                format!("Deploy {arm}: {times}, without noticeably more loss.")
            }
            Decision::Trade { fast: arm, gentle } if gentle == baseline.arm => {
                format!("{arm} is fastest: {times}{}.", price(fast))
            }
            Decision::Trade { fast: arm, gentle } => {
                format!("{arm} is fastest, {gentle} loses least: {times}{}.", price(fast))
            }
            Decision::Keep | Decision::Nothing(_) => {
                format!("{} As assumed, {}: {times}.", told.unwrap_or_default(), fast.arm)
            }
        }
    }
}

/// `completion time p50 158 ms instead of 231 ms with slowstart, p95 2.17 s instead of 3.80 s, ..`.
fn times(arm: &Entry, baseline: &Entry) -> String {
    let pair = |name, read: fn(&Entry) -> f64, with: &str| {
        format!("{name} {} instead of {}{with}", time(read(arm)), time(read(baseline)))
    };
    let with = format!(" with {}", baseline.arm);
    [
        pair("completion time p50", |entry| entry.ttlb_ms.p50.value, &with),
        pair("p95", |entry| entry.ttlb_ms.p95.value, ""),
        pair("p99", |entry| entry.ttlb_ms.p99.value, ""),
    ]
    .join(", ")
}

/// What the fastest arm loses more than the baseline.
fn price(fast: &Entry) -> String {
    let points = fast.versus_baseline.as_ref().map_or(0.0, |versus| versus.loss_points.value);
    let more = if points < 0.0 { "less" } else { "more" };
    format!("; it loses {:.2} percentage points {more}", points.abs())
}
