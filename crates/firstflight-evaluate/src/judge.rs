//! Derives a verdict per cell from the values of its seeds, and a verdict per criterion from its cells.

use crate::metrics::{MetricDoc, metric_named};
use crate::report::{Basis, CellRow, RuleName, Verdict};
use crate::schema::{Judge, Rule};
use crate::student::{Paired, more_often};
use firstflight_lab::stats::holm::holm;

/// Values of one rule in one cell: per seed, the algorithm's and the baseline's.
#[derive(Clone, Debug)]
pub(crate) struct Readings<'a> {
    pub(crate) cell: &'a str,
    pub(crate) place: String,
    pub(crate) judge: &'a Judge,
    pub(crate) seeds: Vec<u64>,
    pub(crate) ours: Vec<Option<f64>>,
    pub(crate) theirs: Vec<Option<f64>>,
    /// The algorithm's values in the previous cell, for `not-rising`.
    pub(crate) before: Vec<Option<f64>>,
    /// Queue size, ms.
    pub(crate) queue_ms: Option<f64>,
    /// Idle round trip, s.
    pub(crate) rtt_s: f64,
}

/// The family-wise error rate of all relative rules in a report.
pub(crate) const LEVEL: f64 = 0.05;

/// Share of the seeds from which a rule that counts seeds is a concern.
const SHARE_OF_SEEDS: f64 = 0.1;

/// Result of a comparison.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    difference: Option<f64>,
    interval: Option<[f64; 2]>,
    upper: Option<f64>,
    chance: Option<f64>,
}

fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The value on the scale of differences, with its sign chosen so that more is worse.
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

    /// Whether a value is at or beyond the limit. For rules that compare with the baseline, beyond means the metric's
    /// bad side. An unknown value is not beyond it.
    fn is_beyond(&self, value: Option<f64>, metric: &MetricDoc) -> bool {
        let (Some(limit), Some(value)) = (self.limit(), value) else { return false };
        match self.judge.rule {
            Rule::Above => value <= limit,
            Rule::NotMoreOftenThanBaseline if metric.high_is_good => value <= limit,
            Rule::Below | Rule::NotMoreOftenThanBaseline => value >= limit,
            _ if metric.high_is_good => value < limit,
            _ => value > limit,
        }
    }

    fn share(&self, is: impl Fn(usize) -> bool) -> f64 {
        let count = (0..self.seeds.len()).filter(|seed| is(*seed)).count();
        count as f64 / self.seeds.len().max(1) as f64
    }

    /// The number of seeds in which both values are known, and the number in which the algorithm is beyond the limit
    /// minus the number in which the baseline is.
    fn more_often(&self, metric: &MetricDoc) -> (u32, i32) {
        let known = self.ours.iter().zip(&self.theirs).filter(|(a, b)| a.is_some() && b.is_some());
        known.fold((0, 0), |(seeds, more), (ours, theirs)| {
            let is = |value: &Option<f64>| i32::from(self.is_beyond(*value, metric));
            (seeds + 1, more + is(ours) - is(theirs))
        })
    }

    /// Compares with the baseline, or with the previous cell.
    fn compared(&self, metric: &MetricDoc, differences: &[(u64, f64)]) -> Compared {
        if self.judge.rule == Rule::NotMoreOftenThanBaseline {
            return match self.more_often(metric) {
                (0, _) => Compared::default(),
                (seeds, more) => Compared {
                    difference: Some(f64::from(more) / f64::from(seeds)),
                    chance: Some(more_often(seeds, more)),
                    ..Compared::default()
                },
            };
        }
        let values: Vec<f64> = differences.iter().map(|(_, difference)| *difference).collect();
        let Some(paired) = Paired::of(&values, self.margin()) else { return Compared::default() };
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let interval = || Some([finite(paired.low)?, finite(paired.high)?]);
        Compared {
            difference: Some(paired.mean),
            interval: interval(),
            upper: finite(paired.upper),
            chance: Some(paired.chance),
        }
    }

    /// The row, before all rows are settled together; relative rules are still undecided.
    pub(crate) fn row(&self) -> CellRow {
        let metric = metric_named(&self.judge.metric).expect("the battery was checked");
        let judge = self.judge;
        let differences = self.differences(metric);
        let compared = self.compared(metric, &differences);
        let worst = differences.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let first = differences.first().map(|(seed, _)| *seed).or(self.seeds.first().copied());
        let beyond = self.share(|seed| self.is_beyond(self.ours[seed], metric));
        let known = self.ours.iter().any(Option::is_some);
        let verdict = match judge.rule {
            _ if !known => Verdict::Report,
            Rule::Report => Verdict::Report,
            Rule::Below | Rule::Above if beyond >= SHARE_OF_SEEDS => Verdict::Concern,
            Rule::Below | Rule::Above => Verdict::Pass,
            Rule::NotRising if self.before.is_empty() => Verdict::Report,
            _ if compared.chance.is_none() => Verdict::Report,
            _ => Verdict::Undecided,
        };
        let relative = verdict == Verdict::Undecided;
        let chance = compared.chance.filter(|_| relative);
        CellRow {
            cell: self.cell.to_owned(),
            place: self.place.clone(),
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
            difference: compared.difference,
            interval: compared.interval,
            upper: compared.upper,
            margin: matches!(judge.rule, Rule::NotMoreThanBaseline | Rule::NotRising)
                .then(|| self.margin()),
            limit: self.limit(),
            beyond: self.limit().map(|_| beyond),
            chance,
            marked: chance.is_some_and(|chance| chance < LEVEL),
            worst_seed: worst.map(|(seed, _)| *seed).or(first),
            verdict,
            basis: match verdict {
                Verdict::Report => None,
                Verdict::Undecided => Some(Basis::Comparison),
                _ => Some(Basis::Limit),
            },
        }
    }
}

/// Settles all relative rules of a report together (Holm). The set of tested rules does not depend on the results:
/// limits that excuse a row are applied afterwards.
pub(crate) fn settle(rows: &mut [&mut CellRow]) {
    let mut open: Vec<&mut CellRow> = rows
        .iter_mut()
        .filter(|row| row.verdict == Verdict::Undecided && row.chance.is_some())
        .map(|row| &mut **row)
        .collect();
    let chances: Vec<f64> = open.iter().filter_map(|row| row.chance).collect();
    for (row, rejected) in open.iter_mut().zip(holm(&chances, LEVEL)) {
        (row.verdict, row.basis) = match (passes_by(row), rejected) {
            (Some(basis), _) => (Verdict::Pass, Some(basis)),
            (None, true) => (Verdict::Concern, Some(Basis::Comparison)),
            (None, false) => (Verdict::Undecided, Some(Basis::Comparison)),
        };
    }
}

/// The basis on which a relative rule passes, if it does: the interval excludes the margin, the value is within the
/// limit, or less than a tenth of the seeds differ.
fn passes_by(row: &CellRow) -> Option<Basis> {
    if row.rule == RuleName::NotMoreOftenThanBaseline {
        return row.difference.filter(|more| *more < SHARE_OF_SEEDS).map(|_| Basis::Seeds);
    }
    let compared = row.upper.zip(row.margin).is_some_and(|(upper, margin)| {
        // If all differences are equal, the interval is a point, which may equal the margin.
        upper < margin || row.interval.is_some_and(|[low, high]| low >= high && high <= margin)
    });
    let excused = row.rule == RuleName::NotMoreThanBaseline
        && row.beyond.is_some_and(|beyond| beyond < SHARE_OF_SEEDS);
    match (compared, excused) {
        (true, _) => Some(Basis::Comparison),
        (false, true) => Some(Basis::Limit),
        (false, false) => None,
    }
}

/// The verdict of a criterion that has these rows.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(text: &str) -> Judge {
        toml::from_str(&format!("window = \"whole\"\n{text}")).expect("a rule")
    }

    /// Ten seeds.
    fn row(judge: &Judge, ours: [f64; 10], theirs: [f64; 10]) -> CellRow {
        let all = |values: [f64; 10]| values.map(Some).to_vec();
        let readings = Readings {
            cell: "a",
            place: String::new(),
            judge,
            seeds: (1..=10).collect(),
            ours: all(ours),
            theirs: all(theirs),
            before: Vec::new(),
            queue_ms: None,
            rtt_s: 0.1,
        };
        readings.row()
    }

    /// The verdict on `first` when settled together with this many rows in which nothing differs.
    fn settled(first: &CellRow, others: usize) -> Verdict {
        let idle = judge("metric = \"util\"\nrule = \"not-more-than-baseline\"");
        let idle = row(&idle, [0.9; 10], [0.9; 10]);
        let mut rows: Vec<CellRow> = vec![first.clone()];
        rows.extend(vec![idle; others]);
        settle(&mut rows.iter_mut().collect::<Vec<_>>());
        rows[0].verdict
    }

    fn ones(number: usize) -> [f64; 10] {
        std::array::from_fn(|seed| if seed < number { 1.0 } else { 0.0 })
    }

    #[test]
    fn more_often_than_the_baseline_is_judged_with_all_others() {
        let rule =
            judge("metric = \"starved\"\nrule = \"not-more-often-than-baseline\"\nlimit = 1");
        for (ours, theirs, others, verdict) in [
            (10, 0, 2_000, Verdict::Concern),
            (9, 0, 2_000, Verdict::Concern),
            (8, 0, 2_000, Verdict::Undecided),
            (8, 0, 100, Verdict::Concern),
            (10, 5, 2_000, Verdict::Undecided),
            (1, 0, 0, Verdict::Undecided),
            (5, 5, 0, Verdict::Pass),
            (0, 10, 0, Verdict::Pass),
        ] {
            let found = row(&rule, ones(ours), ones(theirs));
            assert_eq!(settled(&found, others), verdict, "{ours}, {theirs} beside {others}");
        }
    }

    #[test]
    fn good_metrics_are_beyond_a_limit_at_its_other_side() {
        let rule = judge("metric = \"closed\"\nrule = \"not-more-often-than-baseline\"\nlimit = 0");
        let blind = row(&rule, [0.0; 10], [1.0; 10]);
        assert_eq!((blind.beyond, blind.difference), (Some(1.0), Some(1.0)));
        assert_eq!(row(&rule, [1.0; 10], [0.0; 10]).difference, Some(-1.0));
    }

    #[test]
    fn within_its_limit_worse_is_no_concern_and_counts_among_the_rules_all_the_same() {
        let rule = judge(
            "metric = \"util\"\nrule = \"not-more-than-baseline\"\nlimit = 0.8\nand_beyond = true",
        );
        let within = row(&rule, [0.85; 10], [0.95; 10]);
        assert_eq!((within.verdict, within.chance), (Verdict::Undecided, Some(0.0)));
        assert_eq!(settled(&within, 0), Verdict::Pass);
        assert_eq!(passes_by(&within), Some(Basis::Limit), "the row says so");
        assert_eq!(settled(&row(&rule, [0.7; 10], [0.95; 10]), 0), Verdict::Concern);
    }

    #[test]
    fn what_is_not_known_is_neither_beyond_nor_compared() {
        for text in [
            "metric = \"starved\"\nrule = \"not-more-often-than-baseline\"\nlimit = 1",
            "metric = \"util\"\nrule = \"not-more-than-baseline\"",
            "metric = \"util\"\nrule = \"above\"\nlimit = 0.5",
        ] {
            let rule = judge(text);
            let readings = Readings {
                cell: "a",
                place: String::new(),
                judge: &rule,
                seeds: vec![1, 2],
                ours: vec![None; 2],
                theirs: vec![Some(1.0); 2],
                before: Vec::new(),
                queue_ms: None,
                rtt_s: 0.1,
            };
            assert_eq!(readings.row().verdict, Verdict::Report, "{text}");
        }
    }
}
