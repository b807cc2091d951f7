//! The format of a battery's files.

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
    /// The RFC asks for an explanation by the author.
    Author,
    /// The RFC asks for an evaluation, which was done.
    Run,
}

/// One criterion; each has its own file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Criterion {
    /// Section of the RFC, such as `5.1.3`, or several that share one answer.
    pub criterion: String,
    /// Name.
    pub title: String,
    /// The RFC's requirement level, in its words: `must`, `should`, `ought` or similar.
    pub strength: String,
    /// Sections and documents it is taken from.
    pub source: String,
    /// Description of the procedure.
    pub about: String,
    /// Conventions of the battery that are not in the RFC.
    #[serde(default)]
    pub ours: Vec<String>,
    /// Questions for the author.
    #[serde(default)]
    pub author: Vec<String>,
    /// The verdict if no rule finds a concern.
    pub answer: Option<Answer>,
    /// Reason why nothing is run.
    pub not_run: Option<String>,
    /// Reason why it does not apply, unless a declaration says otherwise.
    pub not_applicable: Option<String>,
    /// Parts that are not run.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Apply its rules to the algorithm's flows in all cells of the battery.
    #[serde(default)]
    pub everywhere: bool,
    /// Count the cells of all criteria of this kind: `drop-tail`, or `wired` for those without random loss, too.
    pub covers: Option<String>,
    /// Scenarios to run.
    #[serde(default)]
    pub scenario: Vec<Scenario>,
    /// Rules for every cell, if `everywhere` is set.
    #[serde(default)]
    pub judge: Vec<Judge>,
}

impl Criterion {
    /// Prefix of its cells' names: a single shell word, even if the criterion covers two sections.
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
    /// Description.
    #[serde(default)]
    pub about: String,
    /// Path; here and in other strings, `$name` is replaced by a value of the cell.
    pub path: String,
    /// Simulated time.
    #[serde(rename = "for")]
    pub time: String,
    /// Number of seeds at the standard effort [default: 20].
    #[serde(default = "twenty")]
    pub seeds: u32,
    /// Name of a grid in `grids.toml` that supplies the cells.
    pub grid: Option<String>,
    /// Cells: values by name.
    #[serde(default)]
    pub cells: Vec<Table>,
    /// Values by name; every combination is a cell.
    #[serde(default)]
    pub sweep: Sweep,
    /// Reduced lists of values for a quick evaluation.
    #[serde(default)]
    pub quick: Sweep,
    /// Time of an event on the path, from which `t90_s` and `overshoot` are measured.
    pub event: Option<String>,
    /// Changes of the propagation delay: `TIME:RTT/TIME:RTT`, for all flows; the path's RTT is the
    /// smallest.
    pub rtt_steps: Option<String>,
    /// Hosts: `quic`, the default, or `tcp` with a preset of loss detection, such as `tcp:rack`.
    pub transport: Option<String>,
    /// Role whose flows are also run alone, for harm.
    pub solo: Option<String>,
    /// Add no random delay of up to one packet time, because the path has jitter of its own.
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

/// A group of flows in a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// An arm, or `@algorithm`, which stands for the algorithm in one run and the baseline in another.
    pub who: String,
    /// Name in rules: by default `algorithm` for `@algorithm`, and `other` for all else.
    pub role: Option<String>,
    /// Number of flows.
    #[serde(default = "one")]
    pub count: Value,
    /// Start time of the first flow. Each start is delayed by a random time of up to one round trip.
    #[serde(default = "zero")]
    pub start: String,
    /// Time between two starts.
    #[serde(default = "zero")]
    pub apart: String,
    /// Stop time, if before the end of the scenario.
    pub stop: Option<String>,
    /// Maximum random delay of each start, instead of one round trip: Poisson arrivals, given their number.
    pub spread: Option<String>,
    /// `endless`; a size; `lognormal:MU:SIGMA`, the mean and deviation of the logarithm of the size in bytes;
    /// `frames:BYTES:RATE`, media of RATE frames of BYTES each per second until the end; `media:nada` or
    /// `media:nada:MOST`, frames at NADA's rate (RFC 8698), from 150 kbit/s to 1.5 Mbit/s or `MOST`.
    #[serde(default = "endless")]
    pub app: String,
    /// Their RTT [default: the path's, which is also the minimum].
    pub rtt: Option<String>,
    /// Changes of their propagation delay, replacing the scenario's: `TIME:RTT/TIME:RTT`, with no RTT below `rtt`.
    pub rtt_steps: Option<String>,
    /// Their ACKs are released at multiples of this interval.
    pub ack_batch: Option<String>,
    /// Maximum jitter of their ACKs.
    pub ack_jitter: Option<String>,
    /// Their ECN codepoint at queues that mark [default: as the path's `ecn` says].
    pub ecn: Option<EcnField>,
    /// Flow queues treat them as one flow, together with all other tunnelled flows.
    #[serde(default)]
    pub tunnel: bool,
    /// Their data travels in the reverse direction.
    #[serde(default)]
    pub reverse: bool,
    /// Their marks never reach the sender: the receiver does not report them, or the exit of a tunnel discards marks
    /// that RFC 6040 would preserve.
    #[serde(default)]
    pub hides_marks: bool,
    /// Their senders skip one packet number in this many on average, and close the connection of a
    /// receiver that acknowledges a skipped number (RFC 9000 section 21.4); 0 for none. QUIC only.
    pub skips: Option<Value>,
    /// False claims of their receivers: `optimistic`, `duplicates`, `reneges` or `delays`.
    pub lie: Option<String>,
}

/// Allowed values of `lie`. `reneges` is for TCP only, `delays` for QUIC only.
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
    /// Whether the algorithm or the baseline sends these flows.
    pub fn is_seat(&self) -> bool {
        self.who == SEAT
    }

    /// Name in rules.
    pub fn role(&self) -> &str {
        let seat = if self.is_seat() { "algorithm" } else { "other" };
        self.role.as_deref().unwrap_or(seat)
    }
}

/// The arm under test: the algorithm in one run, the baseline in another.
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
    /// The name in the files.
    pub const fn name(self) -> &'static str {
        match self {
            Window::Start => "start",
            Window::Steady => "steady",
            Window::Whole => "whole",
        }
    }
}

/// Rule that judges a metric; the sign of the metric is chosen so that more is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Concern if it is worse than the baseline's by more than the margin (RFC 9743 5.2 says so in words;
    /// elsewhere this is a convention).
    NotMoreThanBaseline,
    /// Concern if it is at or above the limit in a tenth of the seeds.
    Below,
    /// Concern if it is at or below the limit in a tenth of the seeds.
    Above,
    /// Concern if it is at or beyond the limit in significantly more seeds than with the baseline.
    NotMoreOftenThanBaseline,
    /// Concern if it is significantly larger than in the previous cell.
    NotRising,
    /// Report the value without a judgement.
    Report,
}

/// A rule.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// Metric: one of [`crate::METRICS`].
    pub metric: String,
    /// Horizon.
    #[serde(default)]
    pub window: Window,
    /// Role of the flows, or `all`.
    #[serde(default = "all")]
    pub of: String,
    /// The rule.
    pub rule: Rule,
    /// Margin, in units of the metric or of its logarithm: a smaller deterioration is tolerated.
    #[serde(default = "margin")]
    pub margin: f64,
    /// For delays in ms: minimum margin, as a share of the queue size.
    #[serde(default)]
    pub margin_of_queue: f64,
    /// The limit of `below`, `above` and `not-more-often-than-baseline`.
    pub limit: Option<f64>,
    /// Increase of the limit per second of the path's RTT.
    #[serde(default)]
    pub limit_per_rtt_s: f64,
    /// A deterioration counts only if the value is also beyond the limit.
    #[serde(default)]
    pub and_beyond: bool,
    /// Apply only in cells with one of these values.
    #[serde(default)]
    pub at: Vec<String>,
}

fn all() -> String {
    "all".into()
}

fn margin() -> f64 {
    0.05
}

impl Judge {
    /// The name in reports: metric, role and horizon.
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

/// Parses a file; an error is one line with the position and the mistake.
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

/// The most similar of the keys that the parser's message lists.
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
