//! The result of an analysis as data: the JSON of `trial analyse`.

use super::columns::{Names, Question};
use crate::stats::{Interval, or_nan};
use firstflight_path::Error;
use serde::{Deserialize, Serialize};

/// The result of an analysis.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Answer {
    /// Version of the program.
    pub firstflight: String,
    /// The request.
    pub experiment: Experiment,
    /// Result in a sentence.
    pub finding: String,
    /// Why there is no verdict; `None` if there is one.
    pub withheld: Option<String>,
    /// Caveats to read first.
    pub warnings: Vec<String>,
    /// The data of each arm alone; the baseline comes first.
    pub arms: Vec<ArmRow>,
    /// Each arm against the baseline.
    pub results: Vec<EffectRow>,
    /// Quantiles of the time.
    pub quantiles: Vec<QuantileRow>,
    /// Ratios of totals.
    pub totals: Vec<TotalsRow>,
    /// Effects by size, round trip and text columns.
    pub parts: Vec<PartRow>,
    /// Whether the arms got the planned numbers of units; `None` without planned shares.
    pub sample_ratio: Option<SampleRatio>,
    /// Whether sizes have the same distribution in all arms.
    pub balance: Balance,
    /// The baseline compared with itself, split in two at random; `None` with too few units.
    pub aa: Option<EffectRow>,
    /// Number of units required for an effect.
    pub needs: Vec<NeedRow>,
    /// Trials simulated from these rows; `None` if none were requested.
    pub rehearsal: Option<RehearsalRow>,
}

/// The request.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Experiment {
    /// The files.
    pub files: Vec<String>,
    /// The columns.
    pub columns: Names,
    /// Rows of the same clients from before the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
    /// The arm that the others are compared with.
    pub baseline: String,
    /// The expected effect, in percent.
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

/// Data about one arm.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ArmRow {
    /// Name of the arm.
    pub arm: String,
    /// Rows.
    pub rows: u64,
    /// Units with rows.
    pub units: u64,
    /// Number of equally large units that would carry the same information.
    pub effective_units: f64,
    /// Share of the arm's bytes in its largest unit, in percent.
    pub largest_unit_pct: Option<f64>,
    /// Bytes.
    pub bytes: f64,
    /// Rows whose time or size is unknown or 0; they count only for ratios.
    pub rows_without_time: u64,
    /// Incomplete rows, in percent; `None` without such a column.
    pub incomplete_pct: Option<f64>,
}

/// An arm against the baseline.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct EffectRow {
    /// The arm.
    pub arm: String,
    /// Reduction of its times in percent, at equal size, with the 95 % interval for an end date
    /// that was fixed in advance.
    pub reduction_pct: Option<Interval>,
    /// The same reduction with its always-valid interval; `None` if either arm has fewer than 100
    /// effective units.
    pub always_valid_pct: Option<Interval>,
    /// Two-sided p-value.
    pub p: Option<f64>,
    /// Whether the effect is significant when all arms are tested together (Holm, 5 %).
    pub stands: bool,
    /// Rows of the two arms that count.
    pub rows: u64,
    /// Units with these rows.
    pub units: u64,
    /// Degrees of freedom.
    pub degrees: Option<f64>,
    /// Strata with both arms.
    pub strata: u64,
    /// Rows of the two arms in strata that lack one of the arms.
    pub rows_left_out: u64,
    /// Share of the variance left after adjustment for earlier knowledge.
    pub variance_left: Option<f64>,
    /// The first stop rule that the arm breaks, as typed.
    pub stopped_by: Option<String>,
}

/// A quantile of an arm compared with the baseline's.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct QuantileRow {
    /// The arm.
    pub arm: String,
    /// `p50`, `p90`, `p99`.
    pub quantile: String,
    /// Value of the arm, in the unit of the column.
    #[serde(deserialize_with = "or_nan")]
    pub time: f64,
    /// Value of the baseline.
    #[serde(deserialize_with = "or_nan")]
    pub baseline_time: f64,
    /// Reduction in percent; `None` if there are too few units for an interval.
    pub reduction_pct: Option<Interval>,
}

/// A ratio of totals of an arm compared with the baseline's.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct TotalsRow {
    /// The arm.
    pub arm: String,
    /// `retransmitted/segments`.
    pub ratio: String,
    /// Value of the arm.
    pub value: Option<f64>,
    /// Value of the baseline.
    pub baseline_value: Option<f64>,
    /// The arm's value over the baseline's; `None` if either has fewer than 50 events.
    pub times: Option<Interval>,
    /// The same ratio with its always-valid interval.
    pub always_valid_times: Option<Interval>,
}

/// The effect in a part of the rows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct PartRow {
    /// `size`, `rtt`, or a column.
    pub part: String,
    /// Name of the part, as text.
    pub name: String,
    /// The arm.
    pub arm: String,
    /// Rows of the two arms that count.
    pub rows: u64,
    /// Reduction of times in percent.
    pub reduction_pct: Interval,
    /// P-value.
    pub p: f64,
    /// Whether the effect is significant when all parts and arms are tested together (Holm, 5 %).
    pub stands: bool,
}

/// Whether the arms got the planned numbers of units.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct SampleRatio {
    /// The counted items: units; rows if rows were assigned, slots if arms took turns.
    pub counted: String,
    /// Observed counts by arm.
    pub counts: Vec<u64>,
    /// Planned shares by arm, in percent.
    pub planned_pct: Vec<f64>,
    /// Decimal logarithm of the Bayes factor against the plan; above 3 the verdict is withheld.
    pub log10_bayes_factor: f64,
    /// Whether it is above 3.
    pub mismatch: bool,
}

/// Whether sizes have the same distribution in all arms.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Balance {
    /// Largest decimal logarithm of the Bayes factor over the size classes.
    pub log10_bayes_factor: f64,
    /// Whether it is above 3 plus an allowance for the number of classes, so that arms appear to
    /// change what is transferred.
    pub unbalanced: bool,
}

/// Sample size for an effect.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct NeedRow {
    /// The effect, in percent.
    pub effect_pct: f64,
    /// Units of two equal arms at which the interval that holds at every look is that narrow.
    #[serde(deserialize_with = "or_nan")]
    pub units: f64,
    /// Units for a 95 % interval at an end date that was fixed in advance.
    #[serde(deserialize_with = "or_nan")]
    pub units_fixed: f64,
    /// Hours at the rate of units in this table; `None` without a column of starts.
    pub hours: Option<f64>,
}

/// Coverage of the intervals in trials simulated from these rows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RehearsalRow {
    /// The effect that was inserted, in percent.
    pub effect_pct: f64,
    /// Number of trials.
    pub trials: u64,
    /// Final 95 % intervals that covered it, in percent of trials.
    pub covered_pct: f64,
    /// Trials in which the always-valid interval covered it at every look, in percent.
    pub always_covered_pct: f64,
    /// Trials in which a plain 95 % interval covered it at every look, in percent.
    pub plain_covered_pct: f64,
    /// Looks per trial, one per 100 rows, starting at 100 effective units.
    pub looks: f64,
}

impl Answer {
    /// Returns the answer as JSON.
    ///
    /// # Errors
    /// A one-line message; never for our own values.
    pub fn to_json(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Error::new(error.to_string()))
    }

    /// Withdraws the verdict, because of knowledge about these rows that the rows do not contain.
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
