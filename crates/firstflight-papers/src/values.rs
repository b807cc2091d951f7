//! What experiments return: numbers with names and intervals, told apart by case. What they are
//! held against stands in `papers/*.toml`.

use crate::{Figure, Interval, Point, Try};

/// What came out under one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// A number with its interval.
    Number(Interval),
    /// Words for the reader.
    Words(String),
    /// Something that must be exactly so.
    Exact {
        /// What came out.
        ours: String,
        /// What has to.
        due: String,
        /// It did.
        holds: bool,
    },
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub(crate) name: String,
    pub(crate) what: What,
    pub(crate) case: String,
    pub(crate) note: String,
    pub(crate) sweep: Vec<Point>,
    pub(crate) assumes: Vec<&'static str>,
    pub(crate) band: (f64, f64),
    details: Vec<(&'static str, String)>,
}

impl Value {
    /// Of this arm, size or path.
    pub fn case(&mut self, case: impl Into<String>) -> &mut Value {
        self.case = case.into();
        self
    }

    /// With a remark that was computed, after those it has.
    pub fn note(&mut self, note: impl AsRef<str>) -> &mut Value {
        if !self.note.is_empty() && !note.as_ref().is_empty() {
            self.note += "; ";
        }
        self.note += note.as_ref();
        self
    }

    /// With what other settings give.
    pub fn sweep(&mut self, points: impl IntoIterator<Item = (String, String)>) -> &mut Value {
        self.sweep.extend(points.into_iter().map(|(setting, ours)| Point { setting, ours }));
        self
    }

    /// With other set-ups, and which of them show what this value does not: computed, so that no
    /// number can contradict it.
    pub fn tried(&mut self, tries: &[Try]) -> &mut Value {
        let Some(told) = Try::told(tries) else { return self };
        self.note(told).sweep(tries.iter().map(|one| (one.setting.clone(), one.ours.clone())))
    }

    /// Resting on these assumptions of its case besides those of the claim.
    pub fn assuming(&mut self, names: &[&'static str]) -> &mut Value {
        self.assumes.extend_from_slice(names);
        self
    }

    /// With the band that the algebra of its case gives.
    pub fn within(&mut self, low: f64, high: f64) -> &mut Value {
        self.band = (low, high);
        self
    }

    /// With a detail that the measure names as `{name}`.
    pub fn detail(&mut self, name: &'static str, words: &dyn ToString) -> &mut Value {
        self.details.push((name, words.to_string()));
        self
    }

    /// A measure with the details of this value.
    pub(crate) fn fill(&self, measure: &str) -> String {
        self.details.iter().fold(measure.to_owned(), |text, (name, words)| {
            text.replace(&format!("{{{name}}}"), words)
        })
    }
}

/// Values in the order in which their rows are printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Vec<Value>);

impl Values {
    fn push(&mut self, name: impl Into<String>, what: What) -> &mut Value {
        let at = self.0.len();
        self.0.push(Value {
            name: name.into(),
            what,
            case: String::new(),
            note: String::new(),
            sweep: Vec::new(),
            assumes: Vec::new(),
            band: (f64::NAN, f64::NAN),
            details: Vec::new(),
        });
        &mut self.0[at]
    }

    /// A number, with its interval where something varies.
    pub fn number(&mut self, name: impl Into<String>, ours: impl Into<Interval>) -> &mut Value {
        self.push(name, What::Number(ours.into()))
    }

    /// Words.
    pub fn words(&mut self, name: impl Into<String>, ours: impl Into<String>) -> &mut Value {
        self.push(name, What::Words(ours.into()))
    }

    /// Something that must be exactly so.
    pub fn exact(
        &mut self,
        name: impl Into<String>,
        ours: impl Into<String>,
        due: impl Into<String>,
        holds: bool,
    ) -> &mut Value {
        self.push(name, What::Exact { ours: ours.into(), due: due.into(), holds })
    }

    /// Those of another part behind these.
    pub fn extend(&mut self, other: Values) {
        self.0.extend(other.0);
    }

    /// All of them of this arm, size or path.
    #[must_use]
    pub fn of_case(mut self, case: &str) -> Values {
        for value in &mut self.0 {
            value.case(case);
        }
        self
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.0.iter()
    }

    /// Those of that name, to be completed.
    pub fn named_mut<'a>(&'a mut self, name: &'a str) -> impl Iterator<Item = &'a mut Value> {
        self.0.iter_mut().filter(move |value| value.name == name)
    }

    /// All, to be completed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.iter_mut()
    }
}

/// Measurements for a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Values that the claims ask for.
    pub values: Values,
    /// Pictures.
    pub figures: Vec<Figure>,
    /// Joint finding of the rows, in words made from their numbers.
    pub findings: Vec<String>,
}

impl Measured {
    /// Adds what another part of the document measured.
    pub fn extend(&mut self, other: Measured) {
        self.values.extend(other.values);
        self.figures.extend(other.figures);
        self.findings.extend(other.findings);
    }
}

impl From<Values> for Measured {
    /// Values without pictures.
    fn from(values: Values) -> Measured {
        Measured { values, ..Measured::default() }
    }
}
