//! Results of experiments: numbers with names, cases and intervals. The conditions that they must meet are in
//! `papers/*.toml`.

use crate::{Figure, Interval, Point, Try};

/// The content of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// A number with its interval.
    Number(Interval),
    /// Text.
    Words(String),
    /// A condition that must hold exactly.
    Exact {
        /// The result.
        ours: String,
        /// The required result.
        due: String,
        /// Whether they match.
        holds: bool,
    },
}

/// One measured value.
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
    /// Sets the case: arm, size or path.
    pub fn case(&mut self, case: impl Into<String>) -> &mut Value {
        self.case = case.into();
        self
    }

    /// Appends a remark.
    pub fn note(&mut self, note: impl AsRef<str>) -> &mut Value {
        if !self.note.is_empty() && !note.as_ref().is_empty() {
            self.note += "; ";
        }
        self.note += note.as_ref();
        self
    }

    /// Adds results under other settings.
    pub fn sweep(&mut self, points: impl IntoIterator<Item = (String, String)>) -> &mut Value {
        self.sweep.extend(points.into_iter().map(|(setting, ours)| Point { setting, ours }));
        self
    }

    /// Adds other set-ups that were tried, and a remark that states which of them show the effect.
    pub fn tried(&mut self, tries: &[Try]) -> &mut Value {
        let Some(told) = Try::told(tries) else { return self };
        self.note(told).sweep(tries.iter().map(|one| (one.setting.clone(), one.ours.clone())))
    }

    /// Adds assumptions of this case to those of the claim.
    pub fn assuming(&mut self, names: &[&'static str]) -> &mut Value {
        self.assumes.extend_from_slice(names);
        self
    }

    /// Sets the band that the algebra gives for this case.
    pub fn within(&mut self, low: f64, high: f64) -> &mut Value {
        self.band = (low, high);
        self
    }

    /// Adds a detail that replaces `{name}` in the measure.
    pub fn detail(&mut self, name: &'static str, words: &dyn ToString) -> &mut Value {
        self.details.push((name, words.to_string()));
        self
    }

    /// The measure with the details of this value filled in.
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

    /// Adds a number, with its interval if something varies.
    pub fn number(&mut self, name: impl Into<String>, ours: impl Into<Interval>) -> &mut Value {
        self.push(name, What::Number(ours.into()))
    }

    /// Adds a text.
    pub fn words(&mut self, name: impl Into<String>, ours: impl Into<String>) -> &mut Value {
        self.push(name, What::Words(ours.into()))
    }

    /// Adds a condition that must hold exactly.
    pub fn exact(
        &mut self,
        name: impl Into<String>,
        ours: impl Into<String>,
        due: impl Into<String>,
        holds: bool,
    ) -> &mut Value {
        self.push(name, What::Exact { ours: ours.into(), due: due.into(), holds })
    }

    /// Appends other values.
    pub fn extend(&mut self, other: Values) {
        self.0.extend(other.0);
    }

    /// Sets the case of all values.
    #[must_use]
    pub fn of_case(mut self, case: &str) -> Values {
        for value in &mut self.0 {
            value.case(case);
        }
        self
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = &Value> {
        self.0.iter()
    }

    /// Mutable access to the values with this name.
    pub fn named_mut<'a>(&'a mut self, name: &'a str) -> impl Iterator<Item = &'a mut Value> {
        self.0.iter_mut().filter(move |value| value.name == name)
    }

    /// Mutable access to all values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.iter_mut()
    }
}

/// Measurements for a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Values for the claims.
    pub values: Values,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Joint findings, as text computed from the numbers.
    pub findings: Vec<String>,
}

impl Measured {
    /// Appends the measurements of another part of the document.
    pub fn extend(&mut self, other: Measured) {
        self.values.extend(other.values);
        self.figures.extend(other.figures);
        self.findings.extend(other.findings);
    }
}

impl From<Values> for Measured {
    /// Values without figures.
    fn from(values: Values) -> Measured {
        Measured { values, ..Measured::default() }
    }
}
