//! Test vectors for stacks in other languages: the events that the core received and the window
//! after each, as JSON; `docs/vectors.schema.json` describes the format.
//!
//! The core makes them itself: one of its arms controls a short simulated connection, and a new
//! controller of the same arm receives the same events, with its state written after each. A vector
//! is therefore complete: its configuration and events determine the states.

use crate::arms::{NamedArm, parse_arms};
use crate::conform::{Foreign, listen};
use crate::scenario::{Hosts, Scenario};
use firstflight::arm::{AVOIDANCES, Arm, Part, RECOVERIES, STARTUPS};
use firstflight::controller::Config;
use firstflight::event::Transport;
use firstflight::fields::{EVENT, Value};
use firstflight::{Begin, Event, Nanos};
use firstflight_path::{Error, Path};
use firstflight_sim::{App, Response, tcp};
use serde::Serialize;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Version of the format: a different number means that runners must change.
pub const VERSION: u32 = 1;

/// The parts of an arm that a connection exercises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaches {
    /// Startup, avoidance and recovery.
    All,
    /// Startup alone.
    Startup,
    /// Avoidance alone.
    Avoidance,
    /// Startup and avoidance.
    Growth,
    /// Recovery alone.
    Recovery,
    /// Avoidance and recovery.
    Reductions,
}

impl Reaches {
    /// Whether it exercises this part.
    pub fn has(self, part: Self) -> bool {
        use Reaches::{All, Avoidance, Growth, Recovery, Reductions, Startup};
        part == All
            || match self {
                All => true,
                Startup | Avoidance | Recovery => self == part,
                Growth => matches!(part, Startup | Avoidance),
                Reductions => matches!(part, Avoidance | Recovery),
            }
    }
}

/// A connection for making vectors.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// The rule that it tests, in two words.
    pub name: &'static str,
    /// The path.
    pub path: &'static str,
    /// Object size, bytes.
    pub bytes: u64,
    /// Pause between three responses of which the object then consists; zero for a single object.
    pub pause: Nanos,
    /// Parts of an arm that it exercises.
    pub reaches: Reaches,
}

impl Connection {
    const fn new(name: &'static str, reaches: Reaches, path: &'static str, bytes: u64) -> Self {
        Connection { name, path, bytes, pause: Nanos::ZERO, reaches }
    }

    fn app(&self) -> App {
        if self.pause == Nanos::ZERO {
            return App::Bulk(self.bytes);
        }
        let pauses = [Nanos::ZERO, self.pause, self.pause];
        App::Responses(pauses.map(|pause| Response { pause, bytes: self.bytes / 3 }).to_vec())
    }

    /// The scenario on these hosts.
    ///
    /// # Errors
    /// Never for [`CONNECTIONS`].
    pub fn on(&self, host: Hosts) -> Result<Scenario, Error> {
        Ok(Scenario { host, ..Scenario::new(Path::parse(self.path)?, self.bytes) })
    }

    /// The vector of an arm on these hosts.
    ///
    /// # Errors
    /// A one-line message for an arm that is not ours or cannot run.
    pub fn vector(&self, named: &NamedArm, host: Hosts) -> Result<Vector, Error> {
        let arm = named.arm()?;
        let scenario = self.on(host)?;
        let (begin, events) = listen(named, &scenario, self.app(), 1)?;
        Ok(Vector {
            name: format!("{}, {}, {}", named.label, host.transport(), self.name),
            arm: named.full(),
            documents: documents(arm),
            path: scenario.path.to_string(),
            object_bytes: scenario.bytes,
            config: config(&begin),
            begin,
            events,
        })
    }
}

/// A connection for each rule. Fault injection showed which rule needs which connection: see
/// `tests/it/vector_power.rs`.
pub const CONNECTIONS: &[Connection] = &[
    Connection::new("overshoot", Reaches::All, "rate=10Mbit,rtt=40ms,queue=1bdp", 400_000),
    Connection::new("chance", Reaches::All, "rate=10Mbit,rtt=40ms,queue=2bdp,loss=1%", 400_000),
    Connection::new("deep queue", Reaches::Startup, "rate=10Mbit,rtt=50ms,queue=16bdp", 3_000_000),
    Connection::new(
        "jitter",
        Reaches::Startup,
        "rate=40Mbit,rtt=40ms,queue=4bdp,jitter=12ms",
        1_000_000,
    ),
    Connection::new("long RTT", Reaches::Growth, "rate=20Mbit,rtt=250ms,queue=1bdp", 2_000_000),
    Connection::new("short RTT", Reaches::Growth, "rate=40Mbit,rtt=3ms,queue=2bdp", 400_000),
    Connection::new("large BDP", Reaches::Startup, "rate=100Mbit,rtt=40ms,queue=2bdp", 600_000),
    Connection::new(
        "marks",
        Reaches::Growth,
        "rate=10Mbit,rtt=40ms,queue=4bdp,ecn=20ms",
        1_000_000,
    ),
    Connection::new("avoidance", Reaches::Avoidance, "rate=10Mbit,rtt=100ms,queue=1bdp", 8_000_000),
    Connection::new(
        "many marks",
        Reaches::Avoidance,
        "rate=50Mbit,rtt=20ms,queue=4bdp,ecn=1ms",
        3_000_000,
    ),
    Connection::new("lost repeat", Reaches::All, "rate=10Mbit,rtt=40ms,loss=10%", 600_000),
    Connection::new("slow path", Reaches::All, "rate=2Mbit,rtt=40ms,queue=16bdp", 600_000),
    Connection::new(
        "stretched ACKs",
        Reaches::Startup,
        "rate=40Mbit,rtt=40ms,queue=4bdp,ack=16",
        1_000_000,
    ),
    Connection::new(
        "undo",
        Reaches::All,
        "rate=10Mbit,rtt=40ms,queue=2bdp,reorder=2%:20ms",
        600_000,
    ),
    Connection {
        pause: Nanos::from_secs(6),
        ..Connection::new("idle", Reaches::Growth, "rate=10Mbit,rtt=40ms,queue=4bdp", 1_200_000)
    },
];

/// State of the controller right after the event, which follows the event's fields in each step.
pub const ANSWERS: [&str; 4] = ["cwnd", "ssthresh", "pacing_rate_bytes_per_s", "phase"];

/// Configuration of a vector's controller.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigRow {
    /// `quic` or `tcp`.
    pub transport: &'static str,
    /// Largest payload of a packet as the window counts it, bytes.
    pub mss: u64,
    /// Initial window, bytes.
    pub initial_window: u64,
    /// Whether a pacer releases the packets.
    pub paced: bool,
    /// Largest burst that leaves in one send, bytes.
    pub max_burst: u64,
    /// Pacing gain in recovery, as a fraction.
    pub recovery_gain: String,
    /// Whether the window falls back to the initial window after an idle period.
    pub idle_restart: bool,
    /// The first packet or sequence number.
    pub nxt: u64,
    /// Time at which the controller is built, ns.
    pub now_ns: u64,
    /// Exit window of an oracle, bytes; other arms ignore it.
    pub oracle_exit_bytes: u64,
}

/// One connection of one arm.
#[derive(Clone, Debug, Serialize)]
pub struct Vector {
    /// Arm, transport and connection.
    pub name: String,
    /// The arm in full.
    pub arm: String,
    /// The documents that its parts follow.
    pub documents: Vec<&'static str>,
    /// Path of the connection.
    pub path: String,
    /// Object size, bytes.
    pub object_bytes: u64,
    /// Configuration of the controller.
    pub config: ConfigRow,
    /// The configuration for Rust programs.
    #[serde(skip)]
    pub begin: Begin,
    /// Events that the controller received.
    #[serde(skip)]
    pub events: Vec<Event>,
}

/// The first step after which a controller's window differs from the vector's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Index of the step, from 0.
    pub step: usize,
    /// The window of the vector, bytes.
    pub expected: u64,
    /// The window of the controller, bytes.
    pub found: u64,
}

/// Allowed distance from a vector's window, bytes: a packet or 1 %. Differences accumulate over the
/// steps, because nothing resets the controller.
pub const fn tolerance(mss: u64, cwnd: u64) -> u64 {
    let percent = cwnd / 100;
    if percent > mss { percent } else { mss }
}

impl Vector {
    /// A list per event: its name, its time, its fields, and the state after it.
    pub fn steps(&self) -> impl Iterator<Item = Vec<Json>> {
        let mut controller = self.begin.controller();
        self.events.iter().map(move |event| {
            controller.tell(event);
            let mut step = fields(event);
            step.extend([
                controller.cwnd().into(),
                controller.ssthresh().into(),
                controller.pacing_rate().map(|rate| rate.0).into(),
                controller.phase().name().into(),
            ]);
            step
        })
    }

    /// Runs another controller through the vector, as a runner does, and returns its first
    /// difference.
    ///
    /// # Errors
    /// If the controller does not answer.
    pub fn fails(&self, foreign: &mut dyn Foreign) -> Result<Option<Apart>, Error> {
        foreign.begin(&self.begin)?;
        let mut ours = self.begin.controller();
        for (step, event) in self.events.iter().enumerate() {
            ours.tell(event);
            foreign.tell(event)?;
            let (expected, found) = (ours.cwnd(), foreign.window().0);
            if expected.abs_diff(found) > tolerance(self.begin.config.mss, expected) {
                return Ok(Some(Apart { step, expected, found }));
            }
        }
        Ok(None)
    }
}

/// Names of the columns of a step, in order.
pub fn columns() -> Vec<&'static str> {
    let event = EVENT.iter().map(|field| field.name);
    ["event", "now_ns"].into_iter().chain(event).chain(ANSWERS).collect()
}

/// Arms with options that add rules of their own, in addition to the plain arms.
const MODES: &[(Reaches, &str)] = &[
    (Reaches::Startup, "hystart(profile=gvisor)"),
    (Reaches::Startup, "hystart++(mode=lss)"),
    (Reaches::Startup, "hystart++@(pace=off)"),
    (Reaches::Startup, "search(version=3.1)"),
    (Reaches::Startup, "rapid(hystart=on)"),
    (Reaches::Startup, "careful(saved=60,rtt=40)"),
    (Reaches::Startup, "plumb(saved=300,rtt=40,rapid=on,tolerate=2,keep=0.85)"),
    (Reaches::Avoidance, "slowstart/cubic(profile=linux)/immediate"),
    (Reaches::Avoidance, "slowstart/abba(over=cuback)/immediate"),
    (Reaches::Recovery, "slowstart/cubic/prr(mode=linux)"),
    (Reaches::Recovery, "slowstart/cubic/prr(mode=crb,exit=granted)"),
];

/// The arms for which vectors are made by default, each with the parts that its connections must
/// exercise: each startup, each avoidance, each recovery, and their modes.
pub fn all_arms() -> Vec<(Reaches, String)> {
    let parts = |reaches, prefix: &'static str, parts: &'static [Part], suffix: &'static str| {
        parts.iter().map(move |part| (reaches, format!("{prefix}{}{suffix}", part.name)))
    };
    parts(Reaches::Startup, "", STARTUPS, "")
        .chain(parts(Reaches::Avoidance, "slowstart/", AVOIDANCES, "/immediate"))
        .chain(parts(Reaches::Recovery, "slowstart/cubic/", RECOVERIES, ""))
        .chain(MODES.iter().map(|(reaches, arm)| (*reaches, (*arm).to_owned())))
        .collect()
}

/// Transport whose rules apply where TCP and QUIC differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// QUIC's.
    Quic,
    /// TCP's.
    Tcp,
    /// One vector for each.
    Both,
}

impl Rules {
    /// The hosts for which vectors are made.
    pub fn hosts(self) -> Vec<Hosts> {
        let (quic, tcp) = (Hosts::default(), tcp::Host::default().into());
        match self {
            Rules::Quic => vec![quic],
            Rules::Tcp => vec![tcp],
            Rules::Both => vec![quic, tcp],
        }
    }
}

/// The vectors of these arms, on every connection.
///
/// # Errors
/// A one-line message for an arm that is not ours or cannot run.
pub fn make(arms: &[NamedArm], rules: Rules) -> Result<Vec<Vector>, Error> {
    of_each(arms.iter().map(|arm| (Reaches::All, arm)), rules)
}

/// The vectors of [`all_arms`], on the connections that exercise their rules.
///
/// # Errors
/// Never.
pub fn standard(rules: Rules) -> Result<Vec<Vector>, Error> {
    let mut arms = Vec::new();
    for (reaches, arm) in all_arms() {
        arms.extend(parse_arms(&arm)?.into_iter().map(|arm| (reaches, arm)));
    }
    of_each(arms.iter().map(|(reaches, arm)| (*reaches, arm)), rules)
}

fn of_each<'a>(
    arms: impl Iterator<Item = (Reaches, &'a NamedArm)>,
    rules: Rules,
) -> Result<Vec<Vector>, Error> {
    let mut vectors = Vec::new();
    for (part, named) in arms {
        for host in rules.hosts() {
            for connection in CONNECTIONS.iter().filter(|one| one.reaches.has(part)) {
                vectors.push(connection.vector(named, host)?);
            }
        }
    }
    Ok(vectors)
}

fn config(begin: &Begin) -> ConfigRow {
    let Begin { now, config, nxt, oracle_exit, .. } = begin;
    let Config {
        transport,
        mss,
        initial_window,
        paced,
        max_burst,
        recovery_gain,
        idle_restart,
        ..
    } = config;
    ConfigRow {
        transport: match transport {
            Transport::Quic => "quic",
            Transport::Tcp => "tcp",
        },
        mss: *mss,
        initial_window: *initial_window,
        paced: *paced,
        max_burst: *max_burst,
        recovery_gain: format!("{}/{}", recovery_gain.num(), recovery_gain.den()),
        idle_restart: *idle_restart,
        nxt: nxt.0,
        now_ns: now.0,
        oracle_exit_bytes: *oracle_exit,
    }
}

fn documents(arm: &Arm) -> Vec<&'static str> {
    let of = |parts: &'static [Part], name: &str| {
        parts.iter().find(|part| part.name == name).map(|part| part.source)
    };
    let mut documents = Vec::new();
    documents.extend(of(STARTUPS, arm.startup.name()));
    documents.extend(of(AVOIDANCES, arm.avoidance.name()));
    documents.extend(of(RECOVERIES, arm.recovery.name()));
    documents
}

/// A field's value in JSON; a fraction is the text `5/4`.
pub(crate) fn json_of(value: Value<'_>) -> Json {
    match value {
        Value::Name(name) => name.into(),
        Value::Whole(number) => number.into(),
        Value::Real(number) => number.into(),
        Value::Flag(flag) => flag.into(),
        Value::Ratio(ratio) => format!("{}/{}", ratio.num(), ratio.den()).into(),
    }
}

/// An event as the start of a step; null for fields that it does not have.
fn fields(event: &Event) -> Vec<Json> {
    let mut step: Vec<Json> = vec![event.name().into(), event.now().0.into()];
    step.extend(EVENT.iter().map(|field| field.get(event).map_or(Json::Null, json_of)));
    step
}

/// The vectors as one JSON object. Each step is on its own line, so that it can be read line by
/// line without a JSON library.
///
/// # Errors
/// A one-line message; never for our own vectors.
pub fn to_json(vectors: &[Vector]) -> Result<String, Error> {
    let failed = |error: serde_json::Error| Error::new(error.to_string());
    let columns = serde_json::to_string(&columns()).map_err(failed)?;
    let mut text = format!(
        "{{\n  \"format\": \"firstflight-vectors\",\n  \"version\": {VERSION},\n  \"firstflight\": \"{}\",\n  \"columns\": {columns},\n  \"vectors\": [\n",
        env!("CARGO_PKG_VERSION")
    );
    for (index, vector) in vectors.iter().enumerate() {
        let head = serde_json::to_string_pretty(vector).map_err(failed)?;
        let head = head.strip_suffix("\n}").unwrap_or(&head).replace('\n', "\n    ");
        let _ = write!(text, "    {head},\n      \"steps\": [\n");
        for (index, step) in vector.steps().enumerate() {
            let step = serde_json::to_string(&step).map_err(failed)?;
            let comma = if index + 1 < vector.events.len() { "," } else { "" };
            let _ = writeln!(text, "        {step}{comma}");
        }
        let comma = if index + 1 < vectors.len() { "," } else { "" };
        let _ = writeln!(text, "      ]\n    }}{comma}");
    }
    text += "  ]\n}\n";
    Ok(text)
}
