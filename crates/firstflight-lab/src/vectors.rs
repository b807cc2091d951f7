//! Vectors for stacks in other languages: what the core was told, event by event, and the window it
//! had afterwards, as JSON; `docs/vectors.schema.json` says what stands where.
//!
//! The core makes them itself: one of its arms steers a short simulated connection, and what it was
//! told is told to a fresh controller of the same arm, whose answers are written down. A vector is
//! therefore complete: from its configuration and its events alone the answers follow.

use crate::arms::NamedArm;
use crate::conform::listen;
use crate::scenario::{Hosts, Scenario};
use firstflight::arm::{AVOIDANCES, Arm, Part, RECOVERIES, STARTUPS};
use firstflight::controller::Config;
use firstflight::event::Transport;
use firstflight::fields::{EVENT, Value};
use firstflight::{Begin, Event};
use firstflight_path::{Error, Path};
use firstflight_sim::tcp;
use serde::Serialize;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// The version of the format: another number means that a runner has to change.
pub const VERSION: u32 = 1;

/// Connections that every vector is made on: one overshoot, and losses by chance.
pub const CONNECTIONS: [(&str, &str, u64); 2] = [
    ("overshoot", "rate=10Mbit,rtt=40ms,queue=1bdp", 400_000),
    ("chance", "rate=10Mbit,rtt=40ms,queue=2bdp,loss=1%", 400_000),
];

/// What stands behind the fields of the event in each step: the controller right after it.
pub const ANSWERS: [&str; 4] = ["cwnd", "ssthresh", "pacing_rate_bytes_per_s", "phase"];

/// What a controller of a vector is built from.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigRow {
    /// `quic` or `tcp`.
    pub transport: &'static str,
    /// Largest payload of a packet as the window counts it, bytes.
    pub mss: u64,
    /// Initial window, bytes.
    pub initial_window: u64,
    /// A pacer releases the packets.
    pub paced: bool,
    /// Largest burst that leaves in one send call, bytes.
    pub max_burst: u64,
    /// Pacing gain in recovery, as a fraction.
    pub recovery_gain: String,
    /// After an idle period the window falls back to the initial one.
    pub idle_restart: bool,
    /// The first packet or sequence number.
    pub nxt: u64,
    /// When the controller is built, ns.
    pub now_ns: u64,
    /// What an oracle is told, bytes; no other arm looks at it.
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
    /// What the connection crossed.
    pub path: String,
    /// Object size, bytes.
    pub object_bytes: u64,
    /// What the controller is built from.
    pub config: ConfigRow,
    /// A list for each event: its name, its time, its fields, the answers.
    #[serde(skip)]
    pub steps: Vec<Vec<Json>>,
}

/// Names of what stands in a step, in order.
pub fn columns() -> Vec<&'static str> {
    let event = EVENT.iter().map(|field| field.name);
    ["event", "now_ns"].into_iter().chain(event).chain(ANSWERS).collect()
}

/// The arms that vectors are made of where none are named: each startup, each avoidance, each
/// recovery.
pub fn all_arms() -> Vec<String> {
    let parts = |prefix: &str, parts: &'static [Part], suffix: &str| {
        parts.iter().map(|part| format!("{prefix}{}{suffix}", part.name)).collect::<Vec<_>>()
    };
    let mut arms = parts("", STARTUPS, "");
    arms.extend(parts("slowstart/", AVOIDANCES, "/immediate"));
    arms.extend(parts("slowstart/cubic/", RECOVERIES, ""));
    arms
}

/// Whose rules apply where TCP and QUIC differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// QUIC's.
    Quic,
    /// TCP's.
    Tcp,
    /// A vector for each.
    Both,
}

impl Rules {
    fn hosts(self) -> Vec<Hosts> {
        let (quic, tcp) = (Hosts::default(), tcp::Host::default().into());
        match self {
            Rules::Quic => vec![quic],
            Rules::Tcp => vec![tcp],
            Rules::Both => vec![quic, tcp],
        }
    }
}

/// The vectors of these arms.
///
/// # Errors
/// One line for what is no arm of ours, or does not run.
pub fn make(arms: &[NamedArm], rules: Rules) -> Result<Vec<Vector>, Error> {
    let mut vectors = Vec::new();
    for named in arms {
        for host in rules.hosts() {
            for (name, path, bytes) in CONNECTIONS {
                let scenario = Scenario { host, ..Scenario::new(Path::parse(path)?, bytes) };
                vectors.push(vector(named, &scenario, name)?);
            }
        }
    }
    Ok(vectors)
}

fn vector(named: &NamedArm, scenario: &Scenario, connection: &str) -> Result<Vector, Error> {
    let arm = named.arm()?;
    let (begin, events) = listen(named, scenario, 1)?;
    let mut controller = begin.controller();
    let steps = events.iter().map(|event| {
        controller.tell(event);
        let mut step = fields(event);
        step.extend([
            controller.cwnd().into(),
            controller.ssthresh().into(),
            controller.pacing_rate().map(|rate| rate.0).into(),
            controller.phase().name().into(),
        ]);
        step
    });
    let steps = steps.collect();
    let transport = scenario.host.transport();
    Ok(Vector {
        name: format!("{}, {transport}, {connection}", named.label),
        arm: named.full(),
        documents: documents(arm),
        path: scenario.path.to_string(),
        object_bytes: scenario.bytes,
        config: config(&begin),
        steps,
    })
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

/// An event as the beginning of a step; null for what it does not have.
fn fields(event: &Event) -> Vec<Json> {
    let mut step: Vec<Json> = vec![event.name().into(), event.now().0.into()];
    step.extend(EVENT.iter().map(|field| field.get(event).map_or(Json::Null, json_of)));
    step
}

/// All of it as one JSON object. A step stands on a line of its own, so that a reader without a JSON
/// library gets by with lines.
///
/// # Errors
/// One line; never with vectors of ours.
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
        for (index, step) in vector.steps.iter().enumerate() {
            let step = serde_json::to_string(step).map_err(failed)?;
            let comma = if index + 1 < vector.steps.len() { "," } else { "" };
            let _ = writeln!(text, "        {step}{comma}");
        }
        let comma = if index + 1 < vectors.len() { "," } else { "" };
        let _ = writeln!(text, "      ]\n    }}{comma}");
    }
    text += "  ]\n}\n";
    Ok(text)
}
