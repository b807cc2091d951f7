//! One measured claim: its condition, the result, and the verdict.

use super::gate::{Accept, Gate, short};
use super::sample::Interval;
use super::verdict::{self, Check, Published, Verdict};
use serde::Serialize;
use std::fmt;

/// One setting of a sweep and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the setting, such as a path or a rig.
    pub setting: String,
    /// Result.
    pub ours: String,
}

/// Another set-up that was tried for a row that was not reproduced.
#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    /// The set-up.
    pub setting: String,
    /// Result.
    pub ours: String,
    /// Whether the row's condition is met with it.
    pub flips: bool,
}

impl Try {
    /// Describes which set-ups show the effect; `None` if none was tried.
    pub(crate) fn told(tries: &[Try]) -> Option<String> {
        let flips: Vec<&str> =
            tries.iter().filter(|one| one.flips).map(|one| one.setting.as_str()).collect();
        match (flips.as_slice(), tries.len()) {
            (_, 0) => None,
            ([], number) => {
                Some(format!("none of the {number} other set-ups tried shows it (see the sweep)"))
            }
            (flips, number) => Some(format!(
                "of {number} other set-ups tried, these show it: {}",
                flips.join("; ")
            )),
        }
    }
}

/// One measured claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Number in the list of experiments, shared by all cases.
    pub id: &'static str,
    /// The number and the index of this row: unique in a document, set when the document is complete.
    pub key: String,
    /// Letters of its gates (evidential weight).
    pub gates: String,
    /// Arm, size or path, if a claim has several cases.
    pub case: String,
    /// Published claim, in words; copied from the list.
    pub claim: &'static str,
    /// Published value, in this row's unit; null if only a direction or nothing was published.
    pub published: Option<Published>,
    /// Measure.
    pub measure: String,
    /// Measured value in words.
    pub ours: String,
    /// Measured value as a number.
    pub measured: Option<f64>,
    /// Unit of the number.
    pub unit: &'static str,
    /// 95 % interval over seeds or connections; null if nothing varies.
    pub interval: Option<[f64; 2]>,
    /// Measured effect over published effect (for a level: measured over published value).
    pub ratio: Option<f64>,
    /// Range that the list of experiments accepts.
    pub accepted: String,
    /// Verdict.
    pub verdict: Verdict,
    /// The verdict in words, with the sizes.
    pub says: String,
    /// Names of the assumptions it rests on.
    pub assumptions: Vec<&'static str>,
    /// Caveats, such as the reason why it was not run, or the assumption on which it depends.
    pub note: String,
    /// Values under other settings.
    pub sweep: Vec<Point>,
    /// The gate with the largest weight.
    #[serde(skip)]
    pub gate: Gate,
    /// Conditions that it must meet.
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

    /// A number with its interval, compared with these conditions and with the published value.
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

    /// Sets the verdict from the number, the checks and the published value.
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

    /// A condition that must hold exactly.
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

    /// A reported number without a gate.
    pub fn seen(
        id: &'static str,
        measure: impl Into<String>,
        ours: impl Into<Interval>,
        unit: &'static str,
    ) -> Row {
        let ours = ours.into();
        let known = ours.value.is_finite();
        let varies = known && !ours.is_point() && ours.low.is_finite() && ours.high.is_finite();
        let bounds = if varies {
            format!(" [{}, {}]", short(ours.low), short(ours.high))
        } else {
            String::new()
        };
        Row {
            ours: if known {
                format!("{}{unit}{bounds}", short(ours.value))
            } else {
                "not measured".into()
            },
            measured: known.then_some(ours.value),
            unit: unit.trim(),
            interval: varies.then_some([ours.low, ours.high]),
            accepted: "reported".into(),
            interval_of: Some(ours),
            suffix: unit,
            ..Row::bare(id, Gate::Seen, measure, Verdict::Reported)
        }
    }

    /// A reported text without a gate.
    pub fn told(id: &'static str, measure: impl Into<String>, ours: impl Into<String>) -> Row {
        Row {
            ours: ours.into(),
            accepted: "reported".into(),
            ..Row::bare(id, Gate::Seen, measure, Verdict::Reported)
        }
    }

    /// A claim that is only quoted.
    pub fn quoted(id: &'static str, why: &str) -> Row {
        Row { note: why.to_owned(), ..Row::bare(id, Gate::Quoted, "", Verdict::QuotedOnly) }
    }

    /// A claim whose publication omits a decisive parameter; the sweep shows its effect.
    pub fn not_reproducible(
        id: &'static str,
        measure: impl Into<String>,
        why: impl Into<String>,
    ) -> Row {
        Row { note: why.into(), ..Row::bare(id, Gate::Quoted, measure, Verdict::NotReproducible) }
    }

    /// A claim that was not run, with the reason.
    pub fn not_run(id: &'static str, why: &str) -> Row {
        Row { note: format!("not run: {why}"), ..Row::bare(id, Gate::Seen, "", Verdict::NotRun) }
    }

    /// Sets the gate.
    #[must_use]
    pub fn with_gate(self, gate: Gate) -> Row {
        Row { gate, gates: gate.letter().to_owned(), ..self }
    }

    /// Adds assumptions.
    #[must_use]
    pub fn assuming(mut self, names: &[&'static str]) -> Row {
        self.assumptions.extend_from_slice(names);
        self
    }

    /// Whether every condition of this gate is met.
    pub(crate) fn meets(&self, gate: Gate) -> bool {
        let Some(ours) = self.interval_of else { return true };
        self.checks.iter().filter(|check| check.gate == gate).all(|check| check.accept.holds(ours))
    }

    /// Whether every condition is met.
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
