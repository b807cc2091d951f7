//! A document: its claims and our assumptions from `papers/*.toml`, joined with the measurements of our
//! experiments.

use crate::values::{Measured, Value, Values, What};
use crate::{Accept, Effort, Gate, Published, Row};
use firstflight_lab::Error;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// A claim: the published statement, and the rows that check it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Number of the claim in the list of experiments.
    pub id: &'static str,
    /// Letters of its gates.
    pub gates: &'static str,
    /// Published claim, abridged.
    pub published: &'static str,
    /// Reason why it is only quoted, if it is.
    #[serde(default, skip_serializing)]
    pub(crate) quoted: Option<&'static str>,
    /// Names of the assumptions of rows without their own.
    #[serde(default, skip_serializing)]
    assumes: Vec<&'static str>,
    /// Rows that are measured for it.
    #[serde(default, skip_serializing)]
    rows: Vec<Spec>,
}

/// A measurement for a claim, and the conditions that it must meet.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    /// Name of the value; each of its cases gives a row.
    value: &'static str,
    /// Description; `{name}` is replaced by a detail of the value.
    measure: &'static str,
    /// Unit, as it follows a number.
    #[serde(default)]
    unit: &'static str,
    /// Accepted values as a consequence of the algebra.
    #[serde(rename = "U")]
    unit_gate: Option<Bound>,
    #[serde(rename = "G")]
    direction: Option<Bound>,
    #[serde(rename = "B")]
    band: Option<Bound>,
    /// Measured, but without a gate because the claim is only quoted.
    #[serde(default)]
    only_quoted: bool,
    /// The document omits a decisive parameter.
    #[serde(default)]
    not_reproducible: bool,
    /// Published value: a change, the change of the best cell, a ratio of two arms, or a level.
    change: Option<Stated>,
    up_to: Option<Stated>,
    ratio: Option<Stated>,
    level: Option<Stated>,
    /// Published range of a change.
    range: Option<[f64; 2]>,
    /// Size of the last printed digit of the published number.
    #[serde(default)]
    resolution: f64,
    /// Assumptions of this row, replacing those of the claim.
    assumes: Option<Vec<&'static str>>,
    /// The value is not present in every run, because it depends on the results.
    #[serde(default)]
    sometimes: bool,
}

/// Accepted values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Bound {
    /// From the document or our list of experiments.
    One(Accept),
    /// All of these.
    All(Vec<Accept>),
    /// A band computed from the algebra of the value's own case, given with the value. Written
    /// `"computed"`.
    Computed(Computed),
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
enum Computed {
    #[serde(rename = "computed")]
    ByTheValue,
}

/// A published number, or a pair.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Stated {
    One(f64),
    /// For a change, the first minus the second; for a ratio or level, the first over the second.
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

/// An assumption of ours where the document is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// The name that rows refer to.
    pub name: &'static str,
    /// Our choice.
    pub value: &'static str,
}

/// Published points, in addition to the claims.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    /// The name that experiments use.
    pub name: &'static str,
    /// Meaning and unit.
    pub what: &'static str,
    /// Position of each point [default: 0, 1, 2, ...].
    at: Option<Vec<f64>>,
    /// Value of each point.
    pub values: Vec<f64>,
}

impl Points {
    /// Position and value of each point.
    pub fn points(&self) -> Vec<[f64; 2]> {
        let at = |i: usize| self.at.as_ref().map_or(i as f64, |at| at[i]);
        self.values.iter().enumerate().map(|(i, value)| [at(i), *value]).collect()
    }
}

/// A document, as in its file.
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
        include_str!("../papers/suss.toml"),
        include_str!("../papers/chirping.toml"),
        include_str!("../papers/rwnd.toml"),
        include_str!("../papers/scone.toml"),
        include_str!("../papers/idle-trap.toml"),
    ];
    let read = |text| toml::from_str(text).expect("every file in papers/ can be read");
    files.into_iter().map(read).collect()
});

/// The points with this name in a document.
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
    /// Claims.
    pub items: Vec<Item>,
    /// Our assumptions where the document is silent.
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
    /// Joins a document with its experiments.
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

    /// The claim with this number.
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.id == id)
    }

    /// The rows of a value, one for each claim that uses it.
    pub(crate) fn rows_of<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = Row> + 'a {
        let specs =
            self.items.iter().flat_map(|item| item.rows.iter().map(move |spec| (item, spec)));
        specs.filter(|(_, spec)| spec.value == value.name).map(|(item, spec)| spec.row(item, value))
    }

    /// Whether the value meets all its conditions.
    pub(crate) fn holds(&self, value: &Value) -> bool {
        self.rows_of(value).all(|row| row.holds())
    }

    /// Number of the first claim that uses this value.
    pub(crate) fn claim_of(&self, value: &Value) -> Option<&'static str> {
        self.items
            .iter()
            .find(|item| item.rows.iter().any(|spec| spec.value == value.name))
            .map(|item| item.id)
    }

    /// Whether the value has the claimed direction.
    pub(crate) fn shows(&self, value: &Value) -> bool {
        self.rows_of(value).all(|row| row.meets(Gate::Direction))
    }

    /// The rows of these values, in their order.
    pub fn rows_of_all(&self, values: &Values) -> Vec<Row> {
        values.iter().flat_map(|value| self.rows_of(value)).collect()
    }

    /// Claims whose value was not measured, and values that no claim uses.
    pub(crate) fn unmatched(&self, values: &Values) -> Vec<String> {
        let specs = || self.items.iter().flat_map(|item| &item.rows);
        let missing = specs()
            .filter(|spec| !spec.sometimes && !values.iter().any(|value| value.name == spec.value));
        let missing = missing.map(|spec| format!("no experiment measured `{}`", spec.value));
        let unclaimed = values.iter().filter(|value| !specs().any(|spec| spec.value == value.name));
        missing.chain(unclaimed.map(|value| format!("no claim uses `{}`", value.name))).collect()
    }
}
