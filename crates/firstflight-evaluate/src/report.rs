//! What an evaluation answers with.

use crate::schema::Rule;
use firstflight_path::Error;
use serde::{Deserialize, Serialize};

/// Verdict on a criterion, or on a rule in one cell. None of them says that an algorithm is
/// compliant: the RFC is no checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// No rule found anything, and every relative one can exclude its margin.
    #[serde(rename = "pass")]
    Pass,
    /// A rule found something.
    #[serde(rename = "concern")]
    Concern,
    /// Neither: the intervals are too wide.
    #[serde(rename = "undecided")]
    Undecided,
    /// Numbers for the reader.
    #[serde(rename = "report")]
    Report,
    /// The RFC asks for the author's prose.
    #[serde(rename = "author")]
    Author,
    /// Excluded, or for other kinds of algorithms.
    #[serde(rename = "n/a")]
    NotApplicable,
    /// Not run, with a reason.
    #[serde(rename = "not run")]
    NotRun,
}

impl Verdict {
    /// As people and programs see it.
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

    /// All of them.
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

/// A rule as reports name it.
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
    /// The comparison with the baseline, or with the cell before.
    Comparison,
    /// The limit, whatever the comparison says.
    Limit,
    /// The share of seeds.
    Seeds,
}

impl Basis {
    /// In JSON and in tables.
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
    /// Flows of which role.
    pub of: String,
    /// Which horizon.
    pub window: &'static str,
    /// Unit of the values; empty for a share, an index or a ratio.
    pub unit: &'static str,
    /// Less is worse.
    pub high_is_good: bool,
    /// Difference, interval and margin are of natural logarithms.
    pub logarithm: bool,
    /// Rule that judged it.
    pub rule: RuleName,
    /// Seeds that were run.
    pub seeds: u32,
    /// Mean with the algorithm; null if no seed knows it.
    pub value: Option<f64>,
    /// Mean with the baseline in its seat.
    pub baseline: Option<f64>,
    /// Mean of the paired differences, turned so that more is worse. Of `not-rising`, from the cell
    /// before; of `not-more-often-than-baseline`, of the shares of seeds at or beyond the limit.
    pub difference: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Upper end of the one-sided 95 % interval.
    pub upper: Option<f64>,
    /// Margin of relative rules: a smaller deterioration does not count.
    pub margin: Option<f64>,
    /// The limit, for rules with one.
    pub limit: Option<f64>,
    /// Share of the seeds at or beyond it.
    pub beyond: Option<f64>,
    /// One-sided probability of such a difference if the true one were the margin; of
    /// `not-more-often-than-baseline` at most, if both were as often beyond the limit.
    pub chance: Option<f64>,
    /// The same below 0.05, before it is judged together with all others.
    pub marked: bool,
    /// The seed that was worst.
    pub worst_seed: Option<u64>,
    /// Verdict.
    pub verdict: Verdict,
    /// Basis of the verdict; null for a number without one.
    pub basis: Option<Basis>,
}

/// One criterion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionRow {
    /// Section of the RFC.
    pub section: String,
    /// Name.
    pub title: String,
    /// The RFC's own word.
    pub strength: String,
    /// Where it says so.
    pub source: String,
    /// Description of the procedure.
    pub about: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Why, where no number says so.
    pub reason: Option<String>,
    /// Conventions of the battery.
    pub ours: Vec<String>,
    /// Questions for the author.
    pub author: Vec<String>,
    /// Parts that were not run.
    pub missing: Vec<String>,
    /// The row that decided.
    pub deciding: Option<usize>,
    /// Every rule in every cell.
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
    /// Its version.
    pub version: String,
    /// Its hash.
    pub sha256: String,
    /// The evaluated algorithm, as requested.
    pub algorithm: String,
    /// In full.
    pub algorithm_full: String,
    /// Baseline that ran in the same scenarios.
    pub baseline: String,
    /// In full.
    pub baseline_full: String,
    /// Where it ran.
    pub testbed: &'static str,
    /// `quick`, `standard` or `full`.
    pub effort: &'static str,
    /// The first seed.
    pub seed: u64,
    /// Cells, and runs of them.
    pub cells: u32,
    /// Runs, those of the baseline and of flows alone included.
    pub runs: u64,
    /// Relative rules that were judged together.
    pub tests: u32,
    /// Of these, with a probability below 0.05 before they were.
    pub marked: u32,
    /// Caveats.
    pub notes: Vec<String>,
    /// Why it is not the whole, if it is not.
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

    /// All of it as JSON, one object, the same bytes for the same evaluation.
    ///
    /// # Errors
    /// Never: it holds numbers and strings.
    pub fn to_json(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|error| Error::new(error.to_string()))
    }
}

/// Cells of a criterion that are drawn over time.
const MOST_DRAWN: usize = 3;

impl CriterionRow {
    /// Cells worth a look, each with its worst seed: the one that decides, and those of concerns.
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

/// The row that decides a criterion: of its verdict the most certain concern, the widest doubt, or
/// the value nearest to its margin.
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

/// How far a relative row is above its margin, in margins.
fn excess(row: &CellRow) -> f64 {
    let upper = row.upper.or(row.difference);
    let margin = row.margin.unwrap_or(1.0).max(1e-9);
    upper.map_or(f64::MIN, |upper| (upper - margin) / margin)
}
