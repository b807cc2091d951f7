//! A document: its claims and what it leaves unsaid out of `papers/*.toml`, joined with what our
//! experiments measured.

use crate::values::{Measured, Value, Values, What};
use crate::{Accept, Effort, Gate, Published, Row};
use firstflight_lab::Error;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// A claim: what was published, and what it is worth.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Number of the claim in the list of experiments.
    pub id: &'static str,
    /// Letters of its gates.
    pub gates: &'static str,
    /// Published claim, in short.
    pub published: &'static str,
    /// Why it is only quoted, where it is.
    #[serde(default, skip_serializing)]
    pub(crate) quoted: Option<&'static str>,
    /// Names of the assumptions of its rows, where a row has none of its own.
    #[serde(default, skip_serializing)]
    assumes: Vec<&'static str>,
    /// What is measured for it.
    #[serde(default, skip_serializing)]
    rows: Vec<Spec>,
}

/// What is measured for a claim, and what it is held against.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    /// Name of the value; `value` of several cases gives a row for each.
    value: &'static str,
    /// In words; `{name}` stands for a detail of the value.
    measure: &'static str,
    /// As it follows a number.
    #[serde(default)]
    unit: &'static str,
    /// Accepted as a consequence of the algebra, as a direction, as a band.
    #[serde(rename = "U")]
    unit_gate: Option<Bound>,
    #[serde(rename = "G")]
    direction: Option<Bound>,
    #[serde(rename = "B")]
    band: Option<Bound>,
    /// Measured, but no more than quoted.
    #[serde(default)]
    only_quoted: bool,
    /// The text leaves out what decides it.
    #[serde(default)]
    not_reproducible: bool,
    /// Published: a change against nothing, its best cell, one arm over another, a level.
    change: Option<Stated>,
    up_to: Option<Stated>,
    ratio: Option<Stated>,
    level: Option<Stated>,
    /// Published: a range that a change lies in.
    range: Option<[f64; 2]>,
    /// What the last printed digit of the published number is worth.
    #[serde(default)]
    resolution: f64,
    /// Assumptions of this row instead of those of the claim.
    assumes: Option<Vec<&'static str>>,
    /// There need not be such a value in every run: it depends on what was found.
    #[serde(default)]
    sometimes: bool,
}

/// What is accepted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Bound {
    /// As the document or our list of experiments says.
    One(Accept),
    /// All of these.
    All(Vec<Accept>),
    /// A band that follows from the algebra of the value's own case; the value brings it. Written
    /// `"computed"`.
    Computed(Computed),
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
enum Computed {
    #[serde(rename = "computed")]
    ByTheValue,
}

/// A published number, or two that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Stated {
    One(f64),
    /// A change: the first less the second; a ratio or level: the first over the second.
    Two([f64; 2]),
}

impl Stated {
    fn less(self) -> f64 {
        match self {
            Stated::One(value) => value,
            Stated::Two([a, b]) => a - b,
        }
    }

    fn over(self) -> f64 {
        match self {
            Stated::One(value) => value,
            Stated::Two([a, b]) => a / b,
        }
    }
}

impl Spec {
    fn published(&self) -> Option<Published> {
        let change = self.change.map(|stated| Published::change(stated.less()));
        let up_to = self.up_to.map(|stated| Published::up_to(stated.less()));
        let ratio = self.ratio.map(|stated| Published::ratio(stated.over()));
        let level = self.level.map(|stated| Published::level(stated.over()));
        let range = self.range.map(Published::within);
        let stated = change.or(up_to).or(ratio).or(level).or(range);
        stated.map(|published| published.printed_to(self.resolution))
    }

    /// The row of a value.
    fn row(&self, item: &Item, value: &Value) -> Row {
        let measure = value.fill(self.measure);
        let mut row = match &value.what {
            _ if self.not_reproducible => Row::not_reproducible(item.id, measure, ""),
            What::Number(ours) => {
                let gates = [
                    (Gate::Unit, &self.unit_gate),
                    (Gate::Direction, &self.direction),
                    (Gate::Band, &self.band),
                ];
                let checks = gates.into_iter().flat_map(|(gate, bound)| {
                    let accepted = match bound {
                        None => Vec::new(),
                        Some(Bound::One(accept)) => vec![*accept],
                        Some(Bound::All(all)) => all.clone(),
                        Some(Bound::Computed(Computed::ByTheValue)) => {
                            vec![Accept::Within(value.band.0, value.band.1)]
                        }
                    };
                    accepted.into_iter().map(move |accept| (gate, accept))
                });
                Row::held(item.id, measure, *ours, self.unit, checks, self.published())
            }
            What::Words(words) => Row::told(item.id, measure, words.clone()),
            What::Exact { ours, due, holds } => {
                Row::exact(item.id, "", measure, ours.clone(), due.clone(), *holds)
            }
        };
        if self.only_quoted {
            row = row.with_gate(Gate::Quoted);
        }
        let assumes = self.assumes.as_ref().unwrap_or(&item.assumes);
        row.case.clone_from(&value.case);
        row.note.clone_from(&value.note);
        row.sweep.clone_from(&value.sweep);
        row.assuming(assumes).assuming(&value.assumes)
    }
}

/// Something that the document does not say and that we had to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// The name that rows refer to.
    pub name: &'static str,
    /// Our choice.
    pub value: &'static str,
}

/// Points that the document gives beside its claims.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// The name that experiments ask for.
    pub name: &'static str,
    /// Meaning and unit.
    pub what: &'static str,
    /// Where each lies; 0, 1, 2, ... where nothing is said.
    at: Option<Vec<f64>>,
    /// Each.
    pub values: Vec<f64>,
}

impl Points {
    /// Where each lies, and its value.
    pub fn points(&self) -> Vec<[f64; 2]> {
        let at = |i: usize| self.at.as_ref().map_or(i as f64, |at| at[i]);
        self.values.iter().enumerate().map(|(i, value)| [at(i), *value]).collect()
    }
}

/// A document as it stands in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paper {
    pub(crate) name: &'static str,
    document: &'static str,
    stated: &'static str,
    #[serde(rename = "assumption")]
    assumptions: Vec<Assumption>,
    #[serde(default)]
    points: Vec<Points>,
    #[serde(rename = "claim")]
    claims: Vec<Item>,
}

/// Every file, in the order of the list of experiments.
pub(crate) static PAPERS: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let files = [
        include_str!("../papers/hystart-plus-plus.toml"),
        include_str!("../papers/rapid-start.toml"),
        include_str!("../papers/best.toml"),
        include_str!("../papers/gvisor.toml"),
        include_str!("../papers/prr.toml"),
        include_str!("../papers/early-retransmit.toml"),
        include_str!("../papers/neqo.toml"),
        include_str!("../papers/cuback.toml"),
        include_str!("../papers/abba.toml"),
        include_str!("../papers/browser.toml"),
        include_str!("../papers/careful.toml"),
        include_str!("../papers/leo.toml"),
    ];
    let read = |text| toml::from_str(text).expect("every file in papers/ can be read");
    files.into_iter().map(read).collect()
});

/// The points of that name in a document.
pub(crate) fn published(document: &str, name: &str) -> &'static Points {
    let paper = PAPERS.iter().find(|paper| paper.name == document);
    paper
        .and_then(|paper| paper.points.iter().find(|points| points.name == name))
        .unwrap_or_else(|| panic!("papers/ has no points `{name}` of {document}"))
}

/// Measures a document.
pub(crate) type Measure = fn(&Effort<'_>, &Source) -> Result<Measured, Error>;

/// A document with published numbers.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name on the command line.
    pub name: &'static str,
    /// Document and version.
    pub document: &'static str,
    /// Statements about its experiments.
    pub stated: &'static str,
    /// Its claims.
    pub items: Vec<Item>,
    /// Assumptions that it does not state.
    pub assumptions: Vec<Assumption>,
    /// Published points.
    pub points: Vec<Points>,
    /// Arms that our experiments compare.
    pub arms: &'static [&'static str],
    /// Number of measurements that a run announces to the [`Effort`].
    pub steps: u64,
    pub(crate) measure: Measure,
}

impl Source {
    /// The document of that file, and who measures it.
    pub(crate) fn of(
        paper: &Paper,
        measure: Measure,
        arms: &'static [&'static str],
        steps: u64,
    ) -> Source {
        Source {
            name: paper.name,
            document: paper.document,
            stated: paper.stated,
            items: paper.claims.clone(),
            assumptions: paper.assumptions.clone(),
            points: paper.points.clone(),
            arms,
            steps,
            measure,
        }
    }

    /// The claim of that number.
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    /// The rows of a value, one for each claim that asks for it.
    pub(crate) fn rows_of<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = Row> + 'a {
        let specs =
            self.items.iter().flat_map(|item| item.rows.iter().map(move |spec| (item, spec)));
        specs.filter(|(_, spec)| spec.value == value.name).map(|(item, spec)| spec.row(item, value))
    }

    /// Everything that these values are held against is met.
    pub(crate) fn holds(&self, value: &Value) -> bool {
        self.rows_of(value).all(|row| row.holds())
    }

    /// Number of the first claim that asks for this value.
    pub(crate) fn claim_of(&self, value: &Value) -> Option<&'static str> {
        self.items
            .iter()
            .find(|item| item.rows.iter().any(|spec| spec.value == value.name))
            .map(|item| item.id)
    }

    /// The direction that is claimed of this value is seen.
    pub(crate) fn shows(&self, value: &Value) -> bool {
        self.rows_of(value).all(|row| row.meets(Gate::Direction))
    }

    /// The rows of these values, in their order.
    pub fn rows_of_all(&self, values: &Values) -> Vec<Row> {
        values.iter().flat_map(|value| self.rows_of(value)).collect()
    }

    /// What does not fit: claims that ask for a value that was not measured, values that nothing
    /// asks for.
    pub(crate) fn unmatched(&self, values: &Values) -> Vec<String> {
        let specs = || self.items.iter().flat_map(|item| &item.rows);
        let missing = specs()
            .filter(|spec| !spec.sometimes && !values.iter().any(|value| value.name == spec.value));
        let missing = missing.map(|spec| format!("no experiment measured `{}`", spec.value));
        let unclaimed = values.iter().filter(|value| !specs().any(|spec| spec.value == value.name));
        missing
            .chain(unclaimed.map(|value| format!("no claim asks for `{}`", value.name)))
            .collect()
    }
}
