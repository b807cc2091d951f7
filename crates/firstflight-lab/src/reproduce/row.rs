//! One measured claim: what was asked, what came out, what was accepted, and the verdict.

use super::sample::Interval;
use serde::Serialize;
use std::fmt;

/// What a row is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Gate {
    /// A consequence of the algebra on an ideal path: must hold to the stated tolerance.
    #[serde(rename = "U")]
    Unit,
    /// A direction or order: reproduced only if it holds.
    #[serde(rename = "G")]
    Direction,
    /// A band around the published size: a miss is a finding.
    #[serde(rename = "B")]
    Band,
    /// Quoted only: its population is unknown.
    #[serde(rename = "Q")]
    Quoted,
    /// Measured for the reader, without a gate.
    #[serde(rename = "-")]
    Seen,
}

impl Gate {
    /// The letter in tables.
    pub const fn letter(self) -> &'static str {
        match self {
            Gate::Unit => "U",
            Gate::Direction => "G",
            Gate::Band => "B",
            Gate::Quoted => "Q",
            Gate::Seen => "-",
        }
    }
}

/// How a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As accepted.
    Holds,
    /// A consequence of the algebra that did not come out: a defect of ours.
    Fails,
    /// A direction that did not come out.
    NotReproduced,
    /// Outside the band.
    Misses,
    /// Measured without a gate.
    Reported,
    /// Not measured, because it cannot be compared.
    QuotedOnly,
    /// Not measured, because something is missing; the note says what.
    NotRun,
}

impl Verdict {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails => "FAILS",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Misses => "misses",
            Verdict::Reported => "reported",
            Verdict::QuotedOnly => "quoted only",
            Verdict::NotRun => "not run",
        }
    }
}

/// What counts as holding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accept {
    /// The estimate lies in here.
    Within(f64, f64),
    /// The whole interval lies above.
    Above(f64),
    /// The whole interval lies below.
    Below(f64),
    /// The estimate is at most this.
    AtMost(f64),
    /// The estimate is at least this.
    AtLeast(f64),
}

impl Accept {
    fn holds(self, interval: Interval) -> bool {
        match self {
            Accept::Within(low, high) => (low..=high).contains(&interval.estimate),
            Accept::Above(bound) => interval.low > bound,
            Accept::Below(bound) => interval.high < bound,
            Accept::AtMost(bound) => interval.estimate <= bound,
            Accept::AtLeast(bound) => interval.estimate >= bound,
        }
    }

    fn words(self, unit: &str) -> String {
        match self {
            Accept::Within(low, high) => format!("{} to {}{unit}", short(low), short(high)),
            Accept::Above(bound) => format!("above {}{unit}", short(bound)),
            Accept::Below(bound) => format!("below {}{unit}", short(bound)),
            Accept::AtMost(bound) => format!("at most {}{unit}", short(bound)),
            Accept::AtLeast(bound) => format!("at least {}{unit}", short(bound)),
        }
    }
}

/// One setting of a sweep and what came out under it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The setting.
    pub setting: String,
    /// What came out.
    pub ours: String,
}

/// One measured claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Number in the list of experiments; several gates and cases share one.
    pub id: &'static str,
    /// What it is worth.
    pub gate: Gate,
    /// Arm, size or path, where a number has several.
    pub case: String,
    /// What was published; filled in from the list.
    pub published: &'static str,
    /// What is measured.
    pub measure: String,
    /// What came out, for people.
    pub ours: String,
    /// What came out, as a number.
    pub value: Option<f64>,
    /// Unit of the number.
    pub unit: &'static str,
    /// 95 % interval over seeds or connections; null where nothing varies.
    pub interval: Option<[f64; 2]>,
    /// What would hold.
    pub accepted: String,
    /// How it ended.
    pub verdict: Verdict,
    /// Names of the assumptions it rests on.
    pub assumptions: Vec<&'static str>,
    /// What a reader should know: why it was not run, which assumption breaks it.
    pub note: String,
    /// What other settings give.
    pub sweep: Vec<Point>,
}

impl Row {
    fn bare(id: &'static str, gate: Gate, measure: impl Into<String>, verdict: Verdict) -> Row {
        Row {
            id,
            gate,
            case: String::new(),
            published: "",
            measure: measure.into(),
            ours: String::new(),
            value: None,
            unit: "",
            interval: None,
            accepted: String::new(),
            verdict,
            assumptions: Vec::new(),
            note: String::new(),
            sweep: Vec::new(),
        }
    }

    /// A number with its interval, and what it has to be.
    pub fn gated(
        id: &'static str,
        gate: Gate,
        measure: impl Into<String>,
        ours: impl Into<Interval>,
        unit: &'static str,
        accept: Accept,
    ) -> Row {
        let ours = ours.into();
        let verdict = match (accept.holds(ours), gate) {
            (true, _) => Verdict::Holds,
            (false, Gate::Unit) => Verdict::Fails,
            (false, Gate::Direction) => Verdict::NotReproduced,
            (false, _) => Verdict::Misses,
        };
        Row { accepted: accept.words(unit), verdict, ..Row::seen(id, measure, ours, unit).with_gate(gate) }
    }

    /// A number that must lie in a band, nothing about it random.
    pub fn band(id: &'static str, gate: Gate, case: &str, measure: &'static str, value: f64, band: (f64, f64), unit: &'static str) -> Row {
        Row::gated(id, gate, measure, value, unit, Accept::Within(band.0, band.1)).case(case)
    }

    /// Something that must be exactly so.
    pub fn exact(id: &'static str, case: &str, measure: impl Into<String>, ours: String, expected: String, holds: bool) -> Row {
        let verdict = if holds { Verdict::Holds } else { Verdict::Fails };
        Row { case: case.to_owned(), ours, accepted: expected, ..Row::bare(id, Gate::Unit, measure, verdict) }
    }

    /// A number for the reader.
    pub fn seen(id: &'static str, measure: impl Into<String>, ours: impl Into<Interval>, unit: &'static str) -> Row {
        let ours = ours.into();
        let bounds = if ours.is_point() { String::new() } else { format!(" [{}, {}]", short(ours.low), short(ours.high)) };
        Row {
            ours: format!("{}{unit}{bounds}", short(ours.estimate)),
            value: ours.estimate.is_finite().then_some(ours.estimate),
            unit: unit.trim(),
            interval: (!ours.is_point()).then_some([ours.low, ours.high]),
            accepted: "reported".into(),
            ..Row::bare(id, Gate::Seen, measure, Verdict::Reported)
        }
    }

    /// Words for the reader.
    pub fn told(id: &'static str, measure: impl Into<String>, ours: impl Into<String>) -> Row {
        Row { ours: ours.into(), accepted: "reported".into(), ..Row::bare(id, Gate::Seen, measure, Verdict::Reported) }
    }

    /// Quoted only.
    pub fn quoted(id: &'static str, why: &str) -> Row {
        Row { note: why.to_owned(), ..Row::bare(id, Gate::Quoted, "", Verdict::QuotedOnly) }
    }

    /// Not run, and why.
    pub fn not_run(id: &'static str, why: &str) -> Row {
        Row { note: format!("not run: {why}"), ..Row::bare(id, Gate::Seen, "", Verdict::NotRun) }
    }

    /// With this gate.
    #[must_use]
    pub fn with_gate(self, gate: Gate) -> Row {
        Row { gate, ..self }
    }

    /// Of this arm, size or path.
    #[must_use]
    pub fn case(self, case: impl Into<String>) -> Row {
        Row { case: case.into(), ..self }
    }

    /// Resting on these assumptions.
    #[must_use]
    pub fn assuming(mut self, names: &[&'static str]) -> Row {
        self.assumptions.extend_from_slice(names);
        self
    }

    /// With a note.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Row {
        Row { note: note.into(), ..self }
    }

    /// With what other settings give.
    #[must_use]
    pub fn sweep(mut self, points: impl IntoIterator<Item = (String, String)>) -> Row {
        self.sweep.extend(points.into_iter().map(|(setting, ours)| Point { setting, ours }));
        self
    }

    /// Nothing about it went wrong.
    pub fn holds(&self) -> bool {
        !matches!(self.verdict, Verdict::Fails | Verdict::NotReproduced | Verdict::Misses)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gate, verdict) = (self.gate.letter(), self.verdict.words());
        write!(f, "| {} | {gate} | {} | {} | {} | {} | {verdict} |", self.id, self.case, self.measure, self.ours, self.accepted)
    }
}

/// A number with as many digits as can matter.
pub(super) fn short(value: f64) -> String {
    let places = match value.abs() {
        _ if !value.is_finite() => return "none".into(),
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 3,
        _ => 4,
    };
    let text = format!("{value:.places$}");
    if places == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
