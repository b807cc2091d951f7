//! What an analysis comes to, as data: the JSON of `trial analyse`.

use super::columns::{Names, Question};
use crate::stats::Interval;
use firstflight_path::Error;
use serde::Serialize;

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Version of the program.
    pub firstflight: String,
    /// The request.
    pub experiment: Experiment,
    /// Result in a sentence.
    pub finding: String,
    /// Why no verdict is given; `None` if one is.
    pub withheld: Option<String>,
    /// Caveats to read first.
    pub warnings: Vec<String>,
    /// Each arm by itself; the baseline first.
    pub arms: Vec<ArmRow>,
    /// Each arm against the baseline.
    pub results: Vec<EffectRow>,
    /// Quantiles of the time.
    pub quantiles: Vec<QuantileRow>,
    /// Ratios of totals.
    pub totals: Vec<TotalsRow>,
    /// Effects by size, round trip and columns of words.
    pub parts: Vec<PartRow>,
    /// Whether the arms got what was planned; `None` without planned shares.
    pub sample_ratio: Option<SampleRatio>,
    /// Whether sizes are spread alike over the arms.
    pub balance: Balance,
    /// The baseline against itself, split in two by chance; `None` with too few units.
    pub aa: Option<EffectRow>,
    /// Number of units required for an effect.
    pub needs: Vec<NeedRow>,
    /// Trials made from these rows; `None` if none were asked for.
    pub rehearsal: Option<RehearsalRow>,
}

/// The request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    /// The files.
    pub files: Vec<String>,
    /// The columns.
    pub columns: Names,
    /// Rows of the same clients from before the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
    /// The arm that others are compared with.
    pub baseline: String,
    /// The effect one hopes for, in percent.
    pub hoped_for_pct: f64,
    /// Seed of the bootstrap and of splits.
    pub seed: u64,
}

impl Experiment {
    pub(super) fn of(question: &Question, baseline: &str) -> Experiment {
        Experiment {
            files: Vec::new(),
            columns: question.names.clone(),
            earlier: question.earlier.as_ref().map(|asked| asked.file.to_string()),
            baseline: baseline.to_owned(),
            hoped_for_pct: (100.0 * libm::expm1(question.tau) * 1e6).round() / 1e6,
            seed: question.seed,
        }
    }
}

/// An arm by itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmRow {
    /// Its name.
    pub arm: String,
    /// Rows.
    pub rows: u64,
    /// Units with rows.
    pub units: u64,
    /// Equally large units that would know as much.
    pub effective_units: f64,
    /// Part of the arm's bytes that its largest unit has, in percent.
    pub largest_unit_pct: Option<f64>,
    /// Bytes.
    pub bytes: f64,
    /// Rows whose time or size is not known, or 0; they count for ratios only.
    pub rows_without_time: u64,
    /// Rows that are not complete, in percent; `None` without such a column.
    pub incomplete_pct: Option<f64>,
}

/// An arm against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectRow {
    /// The arm.
    pub arm: String,
    /// By how many percent its times are shorter at equal size, with the 95 % interval for an end
    /// that was fixed before.
    pub reduction_pct: Option<Interval>,
    /// The same with an interval that holds at every look; `None` with fewer than 100 effective
    /// units of either arm.
    pub always_valid_pct: Option<Interval>,
    /// Probability of such a difference by chance, two-sided.
    pub p: Option<f64>,
    /// It stands when all arms are judged together (Holm, 5 %).
    pub stands: bool,
    /// Rows of the two arms that count.
    pub rows: u64,
    /// Units of them.
    pub units: u64,
    /// Degrees of freedom.
    pub degrees: Option<f64>,
    /// Strata with both arms.
    pub strata: u64,
    /// Rows of the two in strata that lack one of them.
    pub rows_left_out: u64,
    /// Share of the variance left after adjustment for earlier knowledge.
    pub variance_left: Option<f64>,
    /// The first stop rule that it breaks, as typed.
    pub stopped_by: Option<String>,
}

/// A quantile of an arm beside the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantileRow {
    /// The arm.
    pub arm: String,
    /// `p50`, `p90`, `p99`.
    pub quantile: String,
    /// Of the arm, in the unit of the column.
    pub time: f64,
    /// Of the baseline.
    pub baseline_time: f64,
    /// By how many percent it is shorter; `None` for the interval of too few units.
    pub reduction_pct: Option<Interval>,
}

/// A ratio of totals of an arm beside the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TotalsRow {
    /// The arm.
    pub arm: String,
    /// `retransmitted/segments`.
    pub ratio: String,
    /// Of the arm.
    pub value: Option<f64>,
    /// Of the baseline.
    pub baseline_value: Option<f64>,
    /// The arm's over the baseline's; `None` with fewer than 50 events of either.
    pub times: Option<Interval>,
    /// The same with an interval that holds at every look.
    pub always_valid_times: Option<Interval>,
}

/// The effect in a part of the rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartRow {
    /// `size`, `rtt`, or a column.
    pub part: String,
    /// Which, in words.
    pub name: String,
    /// The arm.
    pub arm: String,
    /// Rows of the two arms that count.
    pub rows: u64,
    /// By how many percent times are shorter.
    pub reduction_pct: Interval,
    /// Probability by chance.
    pub p: f64,
    /// It stands when all parts and arms are judged together (Holm, 5 %).
    pub stands: bool,
}

/// Whether the arms got the units that were planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleRatio {
    /// Unit of the counts: units; rows where rows were assigned, slots where arms took turns.
    pub counted: String,
    /// By arm: what came.
    pub counts: Vec<u64>,
    /// By arm: planned shares in percent.
    pub planned_pct: Vec<f64>,
    /// Decimal logarithm of the Bayes factor against the plan; above 3 the verdict is withheld.
    pub log10_bayes_factor: f64,
    /// It is above.
    pub mismatch: bool,
}

/// Whether sizes are spread alike over the arms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// Largest decimal logarithm of the Bayes factor over the classes of size.
    pub log10_bayes_factor: f64,
    /// It is above 3 and what the number of classes adds: arms change what is transferred.
    pub unbalanced: bool,
}

/// Sample size for an effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NeedRow {
    /// The effect, in percent.
    pub effect_pct: f64,
    /// Units of two equal arms until the interval that holds at every look is as narrow.
    pub units: f64,
    /// Units for a 95 % interval at an end that was fixed before.
    pub units_fixed: f64,
    /// Hours at the rate of units of this table; `None` without a column of starts.
    pub hours: Option<f64>,
}

/// Coverage of the intervals in trials simulated from these rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RehearsalRow {
    /// The effect that was put in, in percent.
    pub effect_pct: f64,
    /// Trials.
    pub trials: u64,
    /// Final 95 % intervals that covered it, in percent of trials.
    pub covered_pct: f64,
    /// Trials in which the always-valid interval covered it at every look, in percent.
    pub always_covered_pct: f64,
    /// The same of a plain 95 % interval.
    pub plain_covered_pct: f64,
    /// Looks per trial, one after each 100 rows from 100 effective units on.
    pub looks: f64,
}

impl Answer {
    /// As JSON.
    ///
    /// # Errors
    /// One line; never with values of ours.
    pub fn to_json(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Error::new(error.to_string()))
    }

    /// Takes the verdict back: somebody knows of these rows what the rows do not tell.
    pub fn withhold(&mut self, why: String) {
        self.finding = no_verdict(&why);
        self.withheld = Some(why);
    }

    /// The first stop rule that an arm breaks: the arm and the rule.
    pub fn stopped(&self) -> Option<(&str, &str)> {
        self.results.iter().find_map(|row| Some((row.arm.as_str(), row.stopped_by.as_deref()?)))
    }
}

/// The finding of an answer without a verdict.
pub(super) fn no_verdict(why: &str) -> String {
    format!("No verdict: {why}.")
}
