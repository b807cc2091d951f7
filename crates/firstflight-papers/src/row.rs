//! One measured claim: what was asked, what came out, what was accepted, and the verdict.

use super::gate::{Accept, Gate, short};
use super::sample::Interval;
use super::verdict::{self, Check, Published, Verdict};
use serde::Serialize;
use std::fmt;

/// One setting of a sweep and what came out under it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The setting.
    pub setting: String,
    /// Result.
    pub ours: String,
}

/// Another set-up that was tried for a row that did not come out.
#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    /// The set-up.
    pub setting: String,
    /// Result.
    pub ours: String,
    /// The row's condition is met under it.
    pub flips: bool,
}

impl Try {
    /// Which of these show it; nothing if there are none.
    pub(crate) fn told(tries: &[Try]) -> Option<String> {
        let flips: Vec<&str> =
            tries.iter().filter(|one| one.flips).map(|one| one.setting.as_str()).collect();
        match (flips.as_slice(), tries.len()) {
            (_, 0) => None,
            ([], number) => {
                Some(format!("nothing we tried shows it ({number} other set-ups, in the sweep)"))
            }
            (flips, number) => {
                Some(format!("of {number} other set-ups tried, shown by: {}", flips.join("; ")))
            }
        }
    }
}

/// One measured claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Number in the list of experiments; several cases share one.
    pub id: &'static str,
    /// The number, and which of its rows this is: unique in a document, given when the document is
    /// whole.
    pub key: String,
    /// Evidential weight: the letters of its gates.
    pub gates: String,
    /// Arm, size or path, where a number has several.
    pub case: String,
    /// Published claim, in words; filled in from the list.
    pub claim: &'static str,
    /// Published value, in this row's unit; null where only a direction or nothing was published.
    pub published: Option<Published>,
    /// Measure.
    pub measure: String,
    /// Measured value in words.
    pub ours: String,
    /// Measured value as a number.
    pub measured: Option<f64>,
    /// Unit of the number.
    pub unit: &'static str,
    /// 95 % interval over seeds or connections; null where nothing varies.
    pub interval: Option<[f64; 2]>,
    /// The measured effect over the published one (a level: one over the other).
    pub ratio: Option<f64>,
    /// Range that the list of experiments accepts.
    pub accepted: String,
    /// Verdict.
    pub verdict: Verdict,
    /// The same in words, with the sizes.
    pub says: String,
    /// Names of the assumptions it rests on.
    pub assumptions: Vec<&'static str>,
    /// Caveats: why it was not run, which assumption breaks it.
    pub note: String,
    /// Values under other settings.
    pub sweep: Vec<Point>,
    /// The gate that counts most.
    #[serde(skip)]
    pub gate: Gate,
    /// What it is held against.
    #[serde(skip)]
    checks: Vec<Check>,
    /// The number with its interval.
    #[serde(skip)]
    interval_of: Option<Interval>,
    /// The unit as it follows a number.
    #[serde(skip)]
    suffix: &'static str,
}

impl Row {
    fn bare(id: &'static str, gate: Gate, measure: impl Into<String>, verdict: Verdict) -> Row {
        Row {
            id,
            key: String::new(),
            gates: gate.letter().to_owned(),
            case: String::new(),
            claim: "",
            published: None,
            measure: measure.into(),
            ours: String::new(),
            measured: None,
            unit: "",
            interval: None,
            ratio: None,
            accepted: String::new(),
            verdict,
            says: verdict::words(verdict, f64::NAN.into(), "", &[], None),
            assumptions: Vec::new(),
            note: String::new(),
            sweep: Vec::new(),
            gate,
            checks: Vec::new(),
            interval_of: None,
            suffix: "",
        }
    }

    /// A number with its interval, held against all of these and against what was published.
    pub(crate) fn held(
        id: &'static str,
        measure: String,
        ours: Interval,
        unit: &'static str,
        checks: impl Iterator<Item = (Gate, Accept)>,
        published: Option<Published>,
    ) -> Row {
        let checks = checks.map(|(gate, accept)| Check { gate, accept }).collect();
        Row { published, checks, ..Row::seen(id, measure, ours, unit) }.judged()
    }

    /// With the verdict that its number, its checks and what was published give.
    fn judged(mut self) -> Row {
        let Some(ours) = self.interval_of else { return self };
        self.ratio = verdict::ratio(ours, self.published);
        if self.checks.is_empty() {
            return self;
        }
        let order = |check: &Check| Gate::ALL.iter().position(|gate| *gate == check.gate);
        self.checks.sort_by_key(order);
        self.gate = self.checks[0].gate;
        let mut letters: Vec<&str> = self.checks.iter().map(|check| check.gate.letter()).collect();
        letters.dedup();
        self.gates = letters.concat();
        let mut accepted: Vec<String> =
            self.checks.iter().map(|check| check.accept.words(self.suffix)).collect();
        accepted.dedup();
        self.accepted = accepted.join("; ");
        self.verdict = verdict::judge(ours, &self.checks, self.published);
        self.says = verdict::words(self.verdict, ours, self.suffix, &self.checks, self.published);
        self
    }

    /// Something that must be exactly so.
    pub fn exact(
        id: &'static str,
        case: &str,
        measure: impl Into<String>,
        ours: String,
        expected: String,
        holds: bool,
    ) -> Row {
        let verdict = if holds { Verdict::Exact } else { Verdict::Fails };
        Row {
            case: case.to_owned(),
            ours,
            accepted: expected,
            ..Row::bare(id, Gate::Unit, measure, verdict)
        }
    }

    /// A number for the reader.
    pub fn seen(
        id: &'static str,
        measure: impl Into<String>,
        ours: impl Into<Interval>,
        unit: &'static str,
    ) -> Row {
        let ours = ours.into();
        let known = ours.estimate.is_finite();
        let varies = known && !ours.is_point() && ours.low.is_finite() && ours.high.is_finite();
        let bounds = if varies {
            format!(" [{}, {}]", short(ours.low), short(ours.high))
        } else {
            String::new()
        };
        Row {
            ours: if known {
                format!("{}{unit}{bounds}", short(ours.estimate))
            } else {
                "not measured".into()
            },
            measured: known.then_some(ours.estimate),
            unit: unit.trim(),
            interval: varies.then_some([ours.low, ours.high]),
            accepted: "reported".into(),
            interval_of: Some(ours),
            suffix: unit,
            ..Row::bare(id, Gate::Seen, measure, Verdict::Reported)
        }
    }

    /// Words for the reader.
    pub fn told(id: &'static str, measure: impl Into<String>, ours: impl Into<String>) -> Row {
        Row {
            ours: ours.into(),
            accepted: "reported".into(),
            ..Row::bare(id, Gate::Seen, measure, Verdict::Reported)
        }
    }

    /// Quoted only.
    pub fn quoted(id: &'static str, why: &str) -> Row {
        Row { note: why.to_owned(), ..Row::bare(id, Gate::Quoted, "", Verdict::QuotedOnly) }
    }

    /// Something whose text leaves out what decides it; the sweep says what that does.
    pub fn not_reproducible(
        id: &'static str,
        measure: impl Into<String>,
        why: impl Into<String>,
    ) -> Row {
        Row { note: why.into(), ..Row::bare(id, Gate::Quoted, measure, Verdict::NotReproducible) }
    }

    /// Not run, and why.
    pub fn not_run(id: &'static str, why: &str) -> Row {
        Row { note: format!("not run: {why}"), ..Row::bare(id, Gate::Seen, "", Verdict::NotRun) }
    }

    /// With this gate.
    #[must_use]
    pub fn with_gate(self, gate: Gate) -> Row {
        Row { gate, gates: gate.letter().to_owned(), ..self }
    }

    /// Resting on these assumptions.
    #[must_use]
    pub fn assuming(mut self, names: &[&'static str]) -> Row {
        self.assumptions.extend_from_slice(names);
        self
    }

    /// Every condition of that gate is met.
    pub(crate) fn meets(&self, gate: Gate) -> bool {
        let Some(ours) = self.interval_of else { return true };
        self.checks.iter().filter(|check| check.gate == gate).all(|check| check.accept.holds(ours))
    }

    /// Every condition of the list is met.
    pub fn holds(&self) -> bool {
        match self.interval_of {
            Some(ours) => self.checks.iter().all(|check| check.accept.holds(ours)),
            None => self.verdict != Verdict::Fails,
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "| {} | {} | {} | {} | {} | {} | {} |",
            self.id, self.gates, self.case, self.measure, self.ours, self.accepted, self.says
        )
    }
}
