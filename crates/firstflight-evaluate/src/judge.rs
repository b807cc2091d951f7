//! From values per seed to a verdict per cell, and from those to one per criterion.

use crate::metric::{MetricDoc, metric_named};
use crate::report::{CellRow, Verdict};
use crate::schema::{Judge, Rule};
use crate::student::Paired;
use firstflight_lab::stats::holm::holm;

/// What one rule read in one cell: a pair per seed, the algorithm's and the baseline's.
#[derive(Clone, Debug)]
pub(crate) struct Readings<'a> {
    pub(crate) cell: &'a str,
    pub(crate) judge: &'a Judge,
    pub(crate) seeds: Vec<u64>,
    pub(crate) ours: Vec<Option<f64>>,
    pub(crate) theirs: Vec<Option<f64>>,
    /// What the algorithm's run of the cell before read, for `not-rising`.
    pub(crate) before: Vec<Option<f64>>,
    /// What the queue holds, ms.
    pub(crate) queue_ms: Option<f64>,
    /// Idle round trip, s.
    pub(crate) rtt_s: f64,
}

/// The error rate of all relative rules of a report together.
pub(crate) const LEVEL: f64 = 0.05;

/// Rules that count seeds take this share of them.
const SHARE_OF_SEEDS: f64 = 0.1;

fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// On the scale of differences, turned so that more is worse.
fn turned(metric: &MetricDoc, value: f64) -> f64 {
    let value = if metric.logarithm { libm::log(value.max(1e-12)) } else { value };
    if metric.high_is_good { -value } else { value }
}

impl Readings<'_> {
    fn differences(&self, metric: &MetricDoc) -> Vec<(u64, f64)> {
        let others = if self.judge.rule == Rule::NotRising { &self.before } else { &self.theirs };
        let pairs = self.ours.iter().zip(others).zip(&self.seeds);
        pairs
            .filter_map(|((ours, theirs), seed)| {
                Some((*seed, turned(metric, (*ours)?) - turned(metric, (*theirs)?)))
            })
            .collect()
    }

    fn margin(&self) -> f64 {
        let of_queue = self.queue_ms.map_or(0.0, |ms| ms * self.judge.margin_of_queue);
        self.judge.margin.max(of_queue)
    }

    fn limit(&self) -> Option<f64> {
        Some(self.judge.limit? + self.judge.limit_per_rtt_s * self.rtt_s)
    }

    /// A value at or beyond the limit; for a relative rule beyond is the metric's bad side. A value
    /// that is not known is not beyond, but where the baseline's is known it is missed.
    fn is_beyond(&self, value: Option<f64>, metric: &MetricDoc) -> bool {
        let (Some(limit), Some(value)) = (self.limit(), value) else { return false };
        match self.judge.rule {
            Rule::Below => value >= limit,
            Rule::Above => value <= limit,
            _ if metric.high_is_good => value < limit,
            _ => value > limit,
        }
    }

    fn share(&self, is: impl Fn(usize) -> bool) -> f64 {
        let count = (0..self.seeds.len()).filter(|seed| is(*seed)).count();
        count as f64 / self.seeds.len().max(1) as f64
    }

    /// In so many seeds it is known of the baseline and not of the algorithm, which did not get
    /// there.
    fn missed(&self) -> f64 {
        self.share(|seed| self.ours[seed].is_none() && self.theirs[seed].is_some())
    }

    /// The row, as far as it needs no other row; a relative rule is undecided.
    pub(crate) fn row(&self) -> CellRow {
        let metric = metric_named(&self.judge.metric).expect("the battery was checked");
        let (judge, margin) = (self.judge, self.margin());
        let differences = self.differences(metric);
        let values: Vec<f64> = differences.iter().map(|(_, difference)| *difference).collect();
        let paired = Paired::of(&values, margin);
        let worst = differences.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let first = differences.first().map(|(seed, _)| *seed).or(self.seeds.first().copied());
        let missed = self.missed();
        let beyond = self.share(|seed| {
            let [ours, theirs] = [self.ours[seed], self.theirs[seed]];
            let excused = judge.unless_baseline && self.is_beyond(theirs, metric);
            self.is_beyond(ours, metric) && !excused
        });
        let known = self.ours.iter().any(Option::is_some);
        let verdict = match judge.rule {
            _ if !known && missed < SHARE_OF_SEEDS => Verdict::Report,
            Rule::Report => Verdict::Report,
            Rule::Below | Rule::Above if beyond.max(missed) >= SHARE_OF_SEEDS => Verdict::Concern,
            Rule::Below | Rule::Above => Verdict::Pass,
            Rule::NotRising if self.before.is_empty() => Verdict::Report,
            Rule::NotMoreThanBaseline if missed >= SHARE_OF_SEEDS => Verdict::Concern,
            Rule::NotMoreThanBaseline | Rule::NotRising if paired.is_none() => Verdict::Report,
            Rule::NotMoreThanBaseline if judge.and_beyond && beyond < SHARE_OF_SEEDS => {
                Verdict::Pass
            }
            Rule::NotMoreThanBaseline | Rule::NotRising => Verdict::Undecided,
        };
        let relative = verdict == Verdict::Undecided;
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        CellRow {
            cell: self.cell.to_owned(),
            metric: judge.metric.clone(),
            of: judge.of.clone(),
            window: judge.window.name(),
            unit: metric.unit,
            high_is_good: metric.high_is_good,
            logarithm: metric.logarithm,
            rule: judge.rule.into(),
            seeds: self.seeds.len() as u32,
            value: mean(&self.ours),
            baseline: mean(&self.theirs),
            difference: paired.map(|paired| paired.mean),
            interval: paired.and_then(|paired| Some([finite(paired.low)?, finite(paired.high)?])),
            upper: paired.and_then(|paired| finite(paired.upper)),
            margin: matches!(judge.rule, Rule::NotMoreThanBaseline | Rule::NotRising)
                .then_some(margin),
            limit: self.limit(),
            beyond: self.limit().map(|_| beyond),
            missed,
            chance: paired.filter(|_| relative).map(|paired| paired.chance),
            marked: relative && paired.is_some_and(|paired| paired.chance < LEVEL),
            worst_seed: worst.map(|(seed, _)| *seed).or(first),
            verdict,
        }
    }
}

/// Settles all relative rules of a report together (Holm), and what is within its margin.
pub(crate) fn settle(rows: &mut [&mut CellRow]) {
    let mut open: Vec<&mut CellRow> = rows
        .iter_mut()
        .filter(|row| row.verdict == Verdict::Undecided && row.chance.is_some())
        .map(|row| &mut **row)
        .collect();
    let chances: Vec<f64> = open.iter().filter_map(|row| row.chance).collect();
    for (row, rejected) in open.iter_mut().zip(holm(&chances, LEVEL)) {
        let within = row.upper.zip(row.margin).is_some_and(|(upper, margin)| {
            // Of equal differences the interval is a point, which may be the margin itself.
            upper < margin || row.interval.is_some_and(|[low, high]| low >= high && high <= margin)
        });
        row.verdict = match (rejected, within) {
            (true, _) => Verdict::Concern,
            (_, true) => Verdict::Pass,
            _ => Verdict::Undecided,
        };
    }
}

/// The verdict of a criterion with these rows.
pub(crate) fn together<'a>(rows: impl Iterator<Item = &'a CellRow>) -> Verdict {
    let mut all = Verdict::Report;
    for row in rows {
        all = match (all, row.verdict) {
            (Verdict::Concern, _) | (_, Verdict::Concern) => Verdict::Concern,
            (Verdict::Undecided, _) | (_, Verdict::Undecided) => Verdict::Undecided,
            (Verdict::Pass, _) | (_, Verdict::Pass) => Verdict::Pass,
            (before, _) => before,
        };
    }
    all
}
