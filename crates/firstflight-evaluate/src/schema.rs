//! The files of a battery: what may stand in them.

use firstflight_lab::nearest;
use firstflight_path::Error;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::{Table, Value};

/// Fixed verdict of a criterion, independent of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The RFC asks for prose: the author's.
    Author,
    /// The RFC asks that it be evaluated there, and it was.
    Run,
}

/// One criterion: a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Section of the RFC, such as `5.1.3`; several where one answer serves both.
    pub criterion: String,
    /// Name.
    pub title: String,
    /// The RFC's own word: `must`, `should`, `ought`, or what it does instead.
    pub strength: String,
    /// Where the RFC says so.
    pub source: String,
    /// Description of the procedure.
    pub about: String,
    /// Conventions that are the battery's and not the RFC's.
    #[serde(default)]
    pub ours: Vec<String>,
    /// Questions for the author.
    #[serde(default)]
    pub author: Vec<String>,
    /// The answer if no rule finds something.
    pub answer: Option<Answer>,
    /// Why nothing of it is run.
    pub not_run: Option<String>,
    /// Why it does not apply unless a declaration says so.
    pub not_applicable: Option<String>,
    /// Parts that are not run, if any.
    #[serde(default)]
    pub missing: Vec<String>,
    /// It looks at the flows of the algorithm in all cells of the battery.
    #[serde(default)]
    pub everywhere: bool,
    /// It counts cells of all criteria that pass a queue of this kind: `drop-tail`.
    pub covers: Option<String>,
    /// Scenarios to run.
    #[serde(default)]
    pub scenario: Vec<Scenario>,
    /// Rules for every cell, with `everywhere`.
    #[serde(default)]
    pub judge: Vec<Judge>,
}

impl Criterion {
    /// What names of its cells begin with: one word for a shell, also where one answer serves two
    /// sections.
    pub(crate) fn prefix(&self) -> &str {
        self.criterion.split(',').next().unwrap_or_default()
    }
}

/// One scenario: a path, flows, values to sweep over, and rules.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name within the criterion.
    pub id: String,
    /// Description, if the name does not say it.
    #[serde(default)]
    pub about: String,
    /// Path; `$name` stands for a value of the cell, here and in other texts.
    pub path: String,
    /// Simulated time.
    #[serde(rename = "for")]
    pub time: String,
    /// Seeds at the standard effort, 20 if it does not say.
    #[serde(default = "twenty")]
    pub seeds: u32,
    /// A grid of the file `grids.toml`: its cells are this scenario's.
    pub grid: Option<String>,
    /// Cells: values by name.
    #[serde(default)]
    pub cells: Vec<Table>,
    /// Values of a name; every combination is a cell.
    #[serde(default)]
    pub sweep: Sweep,
    /// The values that a quick evaluation takes, where it takes fewer.
    #[serde(default)]
    pub quick: Sweep,
    /// When something happens on the path: what `t90_s` and `overshoot` count from.
    pub event: Option<String>,
    /// Changes of the propagation delay: `TIME:RTT/TIME:RTT`, for all flows; the path's RTT is the
    /// smallest.
    pub rtt_steps: Option<String>,
    /// Hosts: `quic`, the default, or `tcp` with a preset of loss detection, such as `tcp:rack`.
    pub transport: Option<String>,
    /// The role whose flows are run alone, too, for harm.
    pub solo: Option<String>,
    /// Nothing is known of the order of packets on this path: it has jitter of its own.
    #[serde(default)]
    pub phase_off: bool,
    /// Flows.
    pub flow: Vec<Flow>,
    /// Rules.
    pub judge: Vec<Judge>,
}

/// Values by name, in the order of the names.
pub type Sweep = BTreeMap<String, Vec<Value>>;

fn twenty() -> u32 {
    20
}

fn one() -> Value {
    Value::Integer(1)
}

fn zero() -> String {
    "0s".into()
}

fn endless() -> String {
    "endless".into()
}

/// Some flows of a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// An arm, or `@algorithm`: the algorithm, and then the baseline in its seat.
    pub who: String,
    /// Name in rules; `algorithm` for that, `other` for others.
    pub role: Option<String>,
    /// Number of flows.
    #[serde(default = "one")]
    pub count: Value,
    /// When the first starts. Each start is later by up to a round trip, by chance.
    #[serde(default = "zero")]
    pub start: String,
    /// Time between two starts.
    #[serde(default = "zero")]
    pub apart: String,
    /// When they end, if before the scenario.
    pub stop: Option<String>,
    /// Each start is by chance within this time from `start` on, instead of a round trip:
    /// Poisson arrivals, given their number.
    pub spread: Option<String>,
    /// `endless`, a size, `lognormal:MU:SIGMA` of the logarithm of bytes, or `frames:BYTES:RATE`:
    /// so many frames of so many bytes in a second, to the end. `media:nada` or `media:nada:MOST`:
    /// frames at the rate that NADA (RFC 8698) says, from 150 kbit/s to 1.5 Mbit/s or `MOST`.
    #[serde(default = "endless")]
    pub app: String,
    /// Their round trip, if it is not the path's; not below it.
    pub rtt: Option<String>,
    /// Changes of their propagation delay, in place of the scenario's: `TIME:RTT/TIME:RTT`, no RTT
    /// below theirs.
    pub rtt_steps: Option<String>,
    /// Their ACKs are let go at multiples of this.
    pub ack_batch: Option<String>,
    /// Their ACKs are late by up to this.
    pub ack_jitter: Option<String>,
    /// Their ECN field, where a queue looks at it; else what the path's `ecn` says.
    pub ecn: Option<EcnField>,
    /// Flow queues take them for one flow, together with all others that have this.
    #[serde(default)]
    pub tunnel: bool,
    /// Their data takes the path's way back.
    #[serde(default)]
    pub reverse: bool,
    /// Their receivers lie: they report no mark; or a tunnel around them forgets marks at its end,
    /// where RFC 6040 keeps them.
    #[serde(default)]
    pub hides_marks: bool,
    /// Their senders skip one packet number in so many on average, and close the connection of a
    /// receiver that acknowledges one (RFC 9000 section 21.4); 0 for none. QUIC only.
    pub skips: Option<Value>,
    /// False claims of their receivers: `optimistic`, `duplicates`, `reneges` or `delays`.
    pub lie: Option<String>,
}

/// What receivers may claim, as `lie` has it. `reneges` is TCP's, `delays` QUIC's.
pub(crate) const LIES: [&str; 4] = ["optimistic", "duplicates", "reneges", "delays"];

/// The ECN field of a flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnField {
    /// Not ECN-capable.
    Off,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
}

impl Flow {
    /// It is the seat of the algorithm.
    pub fn is_seat(&self) -> bool {
        self.who == SEAT
    }

    /// Name in rules.
    pub fn role(&self) -> &str {
        let seat = if self.is_seat() { "algorithm" } else { "other" };
        self.role.as_deref().unwrap_or(seat)
    }
}

/// Who sits in the seat of the algorithm, and then of the baseline.
pub(crate) const SEAT: &str = "@algorithm";

/// A horizon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// The newcomer's first min(10 s, 100 RTT).
    Start,
    /// The last two thirds of the time from the newcomer's start.
    #[default]
    Steady,
    /// From the newcomer's start to the end.
    Whole,
}

impl Window {
    /// As in the files.
    pub const fn name(self) -> &'static str {
        match self {
            Window::Start => "start",
            Window::Steady => "steady",
            Window::Whole => "whole",
        }
    }
}

/// Rule that judges a metric. Metrics are turned so that more is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Concern if it is worse than the baseline's by more than the margin (RFC 9743 5.2 in words,
    /// elsewhere a convention).
    NotMoreThanBaseline,
    /// Concern if it is at or above the limit in a tenth of the seeds.
    Below,
    /// Concern if it is at or below the limit in a tenth of the seeds.
    Above,
    /// Concern if it is at or beyond the limit in more seeds than with the baseline, beyond chance.
    NotMoreOftenThanBaseline,
    /// Concern if it is larger than in the cell before, beyond chance.
    NotRising,
    /// A number for the reader.
    Report,
}

/// A rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// Metric: one of [`crate::METRICS`].
    pub metric: String,
    /// Over which horizon.
    #[serde(default)]
    pub window: Window,
    /// Flows of which role; `all`.
    #[serde(default = "all")]
    pub of: String,
    /// Rule that judges it.
    pub rule: Rule,
    /// Margin: a smaller deterioration, in units of the metric or of its logarithm, does not count.
    #[serde(default = "margin")]
    pub margin: f64,
    /// The margin is at least this share of what the queue holds, for delays in ms.
    #[serde(default)]
    pub margin_of_queue: f64,
    /// The limit of `below`, `above` and `not-more-often-than-baseline`.
    pub limit: Option<f64>,
    /// A limit that grows by this with the path's round trip, per second of it.
    #[serde(default)]
    pub limit_per_rtt_s: f64,
    /// Worse than the baseline counts only where it also is beyond the limit.
    #[serde(default)]
    pub and_beyond: bool,
    /// Only in cells with one of these values.
    #[serde(default)]
    pub at: Vec<String>,
}

fn all() -> String {
    "all".into()
}

fn margin() -> f64 {
    0.05
}

/// What reports call it: metric, role and horizon.
impl Judge {
    /// The metric with what it is of.
    pub fn name(&self) -> String {
        let of = if self.of == "all" { String::new() } else { format!(" of {}", self.of) };
        format!("{}{of}, {}", self.metric, self.window.name())
    }
}

/// Cells that several criteria use, by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grids {
    #[serde(default)]
    pub(crate) grid: BTreeMap<String, Vec<Table>>,
}

/// Reads a file, or says in one line what is wrong with it and where.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span: Range<usize>| line_of(text, span.start));
        let what = error.message().lines().collect::<Vec<_>>().join(" ");
        Error::new(format!("{name}:{line}: {what}{}", meant(&what)))
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The nearest of the keys that a message of the parser lists.
fn meant(what: &str) -> String {
    let mut quoted = what.split('`').skip(1).step_by(2);
    let Some(key) = quoted.next().filter(|_| what.starts_with("unknown")) else {
        return String::new();
    };
    let known: Vec<&str> = quoted.collect();
    nearest(key, known.iter().copied())
        .map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}

/// A value of a cell as text.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The first value of a sweep that is neither text nor a number.
pub(crate) fn check_sweep(sweep: &Sweep) -> Option<&Value> {
    sweep.values().flatten().find(|value| text_of(value).is_none())
}
