//! The log of one connection: the sender's end, an entry for each event, and what the receiver saw.

use firstflight::named::Named;
use firstflight::state::{Packet, State};
use firstflight::{Config, Event, Exit, Nanos, Time};

/// Origin of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// A controller of ours was told exactly this.
    #[default]
    Controller,
    /// Worked out from packets that were seen on the wire.
    Wire,
    /// Reported by a controller of the running kernel.
    Kernel,
}

impl Source {
    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Controller => "controller",
            Source::Wire => "wire",
            Source::Kernel => "kernel",
        }
    }
}

impl Named for Source {
    const NAMES: &'static str = "controller, wire, kernel";

    fn to_name(self) -> &'static str {
        self.name()
    }

    fn of_name(name: &str) -> Option<Source> {
        [Source::Controller, Source::Wire, Source::Kernel]
            .into_iter()
            .find(|source| source.name() == name)
    }
}

/// A connection begins: what it is, and what its controller is built from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Name the arm was asked for by.
    pub arm: String,
    /// The arm in full; parses to the same arm.
    pub arm_full: String,
    /// The path's canonical text.
    pub path: String,
    /// Its short name, or nothing.
    pub path_name: String,
    /// Where it ran.
    pub testbed: String,
    /// Stacks of sender and receiver.
    pub stack: String,
    /// `quic` or `tcp`.
    pub transport: String,
    /// Preset of loss detection.
    pub detection: String,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Which repeat of the comparison, from 0.
    pub round: u32,
    /// Object size.
    pub object_bytes: u64,
    /// The controller's clock when the trial began.
    pub start: Time,
    /// Rate of the bottleneck, bit/s.
    pub rate_bps: u64,
    /// Idle round trip of the path.
    pub rtt: Nanos,
    /// Queue capacity; `None` without a limit.
    pub queue_bytes: Option<u64>,
    /// First packet or sequence number.
    pub nxt: u64,
    /// Configuration of the controller, if it is one of ours.
    pub config: Option<Config>,
    /// Best exit window, for an oracle that was not told one.
    pub oracle_exit_bytes: u64,
    /// Origin of the records.
    pub source: Source,
    /// Port of the sender, address and port of the receiver, where that is a connection of the
    /// world.
    pub endpoints: String,
}

/// Ranges of packet numbers, both ends included.
pub type Ranges = Vec<(u64, u64)>;

/// Kind of a record.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every entry of a log is the large one")]
pub enum What {
    /// A connection begins, or its controller started afresh.
    Start(Box<Start>),
    /// The controller was told something.
    Event {
        /// What.
        event: Event,
        /// What left.
        packet: Option<Packet>,
        /// What was newly acknowledged.
        acked: Ranges,
        /// What was newly declared lost.
        lost: Ranges,
    },
    /// Startup ended.
    Exit(Exit),
    /// A false alarm took the end back.
    ExitWithdrawn,
}

impl What {
    /// The name of the event.
    pub fn name(&self) -> &'static str {
        match self {
            What::Start(_) => "start",
            What::Exit(_) => "exit",
            What::ExitWithdrawn => "exit_withdrawn",
            What::Event { event, .. } => event.name(),
        }
    }
}

/// One event.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When, on the controller's clock.
    pub now: Time,
    /// What.
    pub what: What,
    /// The sender right after it; nothing is known of a controller that has just been built.
    pub state: Option<State>,
    /// Inner signals, in the order of [`Log::names`]; `None` for one that does not exist (yet).
    pub signals: Vec<Option<u64>>,
}

/// Observation of the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A data packet arrived.
    Data {
        /// As the sender numbers it.
        number: u64,
        /// Its IP bytes.
        bytes: u64,
        /// Place of its first byte in the stream and how many there are, where that is known.
        stream: Option<(u64, u64)>,
    },
    /// An ACK of everything that had arrived left.
    Acknowledged {
        /// Its IP bytes.
        bytes: u64,
        /// What it acknowledges for the first time, where that is known.
        packets: Ranges,
    },
}

/// The log of one connection.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Names of the inner signals.
    pub names: Vec<String>,
    /// The sender's end. The first entry is a start.
    pub entries: Vec<Entry>,
    /// The receiver's end, on the sender's clock.
    pub receiver: Vec<(Time, Received)>,
}

impl Log {
    /// The latest start of the connection.
    pub fn start(&self) -> Option<&Start> {
        self.entries.iter().rev().find_map(|entry| {
            if let What::Start(start) = &entry.what { Some(&**start) } else { None }
        })
    }
}

/// Sorted numbers as ranges.
pub fn ranges(numbers: &[u64]) -> Ranges {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let mut ranges = Ranges::new();
    for number in sorted {
        match ranges.last_mut() {
            Some((_, last)) if number <= last.saturating_add(1) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}
