//! The result of an evaluation.

use crate::schema::Rule;
use firstflight_path::Error;
use serde::{Deserialize, Serialize};

/// Verdict on a criterion, or on a rule in one cell. No verdict means that an algorithm is
/// compliant: the RFC is not a checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// No rule found a problem, and every relative rule excludes its margin.
    #[serde(rename = "pass")]
    Pass,
    /// A rule found something to explain.
    #[serde(rename = "concern")]
    Concern,
    /// Neither pass nor concern: the intervals are too wide.
    #[serde(rename = "undecided")]
    Undecided,
    /// Values without a judgement.
    #[serde(rename = "report")]
    Report,
    /// The RFC asks for an explanation by the author.
    #[serde(rename = "author")]
    Author,
    /// Excluded, or not applicable to this kind of algorithm.
    #[serde(rename = "n/a")]
    NotApplicable,
    /// Not run, with a reason.
    #[serde(rename = "not run")]
    NotRun,
}

impl Verdict {
    /// The name in output and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Concern => "concern",
            Verdict::Undecided => "undecided",
            Verdict::Report => "report",
            Verdict::Author => "author",
            Verdict::NotApplicable => "n/a",
            Verdict::NotRun => "not run",
        }
    }

    /// Severity, used to find what has become worse.
    pub const fn rank(self) -> u8 {
        match self {
            Verdict::Concern => 2,
            Verdict::Undecided | Verdict::NotRun => 1,
            _ => 0,
        }
    }

    /// All verdicts.
    pub const ALL: [Verdict; 7] = [
        Verdict::Concern,
        Verdict::Undecided,
        Verdict::Pass,
        Verdict::Report,
        Verdict::Author,
        Verdict::NotApplicable,
        Verdict::NotRun,
    ];
}

/// A rule's name in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleName {
    /// See [`Rule::NotMoreThanBaseline`].
    NotMoreThanBaseline,
    /// See [`Rule::Below`].
    Below,
    /// See [`Rule::Above`].
    Above,
    /// See [`Rule::NotMoreOftenThanBaseline`].
    NotMoreOftenThanBaseline,
    /// See [`Rule::NotRising`].
    NotRising,
    /// See [`Rule::Report`].
    Report,
}

impl From<Rule> for RuleName {
    fn from(rule: Rule) -> RuleName {
        match rule {
            Rule::NotMoreThanBaseline => RuleName::NotMoreThanBaseline,
            Rule::Below => RuleName::Below,
            Rule::Above => RuleName::Above,
            Rule::NotMoreOftenThanBaseline => RuleName::NotMoreOftenThanBaseline,
            Rule::NotRising => RuleName::NotRising,
            Rule::Report => RuleName::Report,
        }
    }
}

/// Basis of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The comparison with the baseline, or with the previous cell.
    Comparison,
    /// The limit, regardless of the comparison.
    Limit,
    /// The share of seeds.
    Seeds,
}

impl Basis {
    /// The name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Basis::Comparison => "comparison",
            Basis::Limit => "limit",
            Basis::Seeds => "seeds",
        }
    }
}

/// One rule in one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellRow {
    /// The cell's name.
    pub cell: String,
    /// Path, flows and scenario of the cell, in words.
    pub place: String,
    /// Measure.
    pub metric: String,
    /// Role of the flows.
    pub of: String,
    /// Horizon.
    pub window: &'static str,
    /// Unit of the values; empty for a share, an index or a ratio.
    pub unit: &'static str,
    /// Whether lower values are worse.
    pub high_is_good: bool,
    /// Whether difference, interval and margin are natural logarithms.
    pub logarithm: bool,
    /// The rule.
    pub rule: RuleName,
    /// Number of seeds that were run.
    pub seeds: u32,
    /// The algorithm's mean; null if unknown in all seeds.
    pub value: Option<f64>,
    /// The baseline's mean in the same role.
    pub baseline: Option<f64>,
    /// Mean of the paired differences, with the sign chosen so that more is worse. For `not-rising`, the difference
    /// from the previous cell; for `not-more-often-than-baseline`, the difference of the shares of seeds at or beyond
    /// the limit.
    pub difference: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Upper end of the one-sided 95 % interval.
    pub upper: Option<f64>,
    /// Margin of relative rules: a smaller deterioration is tolerated.
    pub margin: Option<f64>,
    /// The limit, for rules that have one.
    pub limit: Option<f64>,
    /// Share of the seeds at or beyond the limit.
    pub beyond: Option<f64>,
    /// One-sided p-value: the probability of such a difference if the true one were the margin. For
    /// `not-more-often-than-baseline`, an upper bound, if both were beyond the limit equally often.
    pub chance: Option<f64>,
    /// Whether the p-value is below 0.05, before the correction for multiple tests.
    pub marked: bool,
    /// The worst seed.
    pub worst_seed: Option<u64>,
    /// Verdict.
    pub verdict: Verdict,
    /// Basis of the verdict; null for a reported value.
    pub basis: Option<Basis>,
}

/// One criterion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionRow {
    /// Section of the RFC.
    pub section: String,
    /// Name.
    pub title: String,
    /// The RFC's requirement level, in its words.
    pub strength: String,
    /// Sections and documents it is taken from.
    pub source: String,
    /// Description of the procedure.
    pub about: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Reason for the verdict, if no row decides it.
    pub reason: Option<String>,
    /// Conventions of the battery.
    pub ours: Vec<String>,
    /// Questions for the author.
    pub author: Vec<String>,
    /// Parts that were not run.
    pub missing: Vec<String>,
    /// Index of the row that decided.
    pub deciding: Option<usize>,
    /// The rows: every rule in every cell.
    pub judges: Vec<CellRow>,
}

impl CriterionRow {
    /// The row that decided.
    pub fn deciding_row(&self) -> Option<&CellRow> {
        self.judges.get(self.deciding?)
    }
}

/// An evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of the program.
    pub firstflight: &'static str,
    /// Name of the battery.
    pub battery: &'static str,
    /// Version.
    pub version: String,
    /// Hash.
    pub sha256: String,
    /// The evaluated algorithm, as requested.
    pub algorithm: String,
    /// The algorithm's full name.
    pub algorithm_full: String,
    /// Baseline that ran in the same scenarios.
    pub baseline: String,
    /// The baseline's full name.
    pub baseline_full: String,
    /// Testbed.
    pub testbed: &'static str,
    /// `quick`, `standard` or `full`.
    pub effort: &'static str,
    /// The first seed.
    pub seed: u64,
    /// Number of cells.
    pub cells: u32,
    /// Number of runs, including those of the baseline and of flows alone.
    pub runs: u64,
    /// Number of relative rules tested together.
    pub tests: u32,
    /// Number of comparisons with p < 0.05 individually.
    pub marked: u32,
    /// Caveats.
    pub notes: Vec<String>,
    /// Reason why the report is incomplete, if it is.
    pub partial: Option<String>,
    /// Failures of the algorithm itself.
    pub broken: Vec<String>,
    /// In the order of the RFC.
    pub criteria: Vec<CriterionRow>,
}

impl Report {
    /// Number of criteria with this verdict.
    pub fn number(&self, verdict: Verdict) -> usize {
        self.criteria.iter().filter(|row| row.verdict == verdict).count()
    }

    /// The report as one JSON object; the same evaluation gives the same bytes.
    ///
    /// # Errors
    /// Never: it contains only numbers and strings.
    pub fn to_json(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Error::new(error.to_string()))
    }
}

/// Maximum number of cells of a criterion that are plotted over time.
const MOST_DRAWN: usize = 3;

impl CriterionRow {
    /// Cells to plot, each with its worst seed: the deciding cell, and the cells of concerns.
    pub(crate) fn drawn(&self, seed: u64) -> Vec<(&str, u64)> {
        let mut cells: Vec<(&str, u64)> = Vec::new();
        for row in self.deciding_row().into_iter().chain(self.concerns()) {
            if cells.iter().all(|(cell, _)| *cell != row.cell) && cells.len() < MOST_DRAWN {
                cells.push((&row.cell, row.worst_seed.unwrap_or(seed)));
            }
        }
        cells
    }
}

/// Index of the row that decides a criterion with this verdict: the most certain concern, otherwise the row whose upper
/// bound is largest relative to its margin.
pub(crate) fn deciding(rows: &[CellRow], verdict: Verdict) -> Option<usize> {
    let of = |wanted: Verdict| (0..rows.len()).filter(move |place| rows[*place].verdict == wanted);
    let least = |place: &usize| {
        let row = &rows[*place];
        (row.chance.unwrap_or(1.0 - row.beyond.unwrap_or(0.0)), -excess(row))
    };
    let by = |a: &usize, b: &usize| {
        let (a, b) = (least(a), least(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let nearest = |a: &usize, b: &usize| excess(&rows[*a]).total_cmp(&excess(&rows[*b]));
    match verdict {
        Verdict::Concern => of(Verdict::Concern).min_by(by),
        Verdict::Undecided => of(Verdict::Undecided).max_by(nearest),
        Verdict::Pass | Verdict::Author => of(Verdict::Pass).max_by(nearest),
        _ => None,
    }
    .or_else(|| (0..rows.len()).find(|place| rows[*place].value.is_some()))
}

/// Distance of a relative row above its margin, in margins.
fn excess(row: &CellRow) -> f64 {
    let upper = row.upper.or(row.difference);
    let margin = row.margin.unwrap_or(1.0).max(1e-9);
    upper.map_or(f64::MIN, |upper| (upper - margin) / margin)
}
