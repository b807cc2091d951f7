//! The log of one connection: an entry for each event at the sender, and the packets seen by the
//! receiver.

use firstflight::named::Named;
use firstflight::state::{Packet, State};
use firstflight::{Config, Event, Exit, Nanos, Time};

/// Origin of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// The exact inputs of one of our controllers.
    #[default]
    Controller,
    /// Reconstructed from packets that were seen on the wire.
    Wire,
    /// Reported by a controller of the running kernel.
    Kernel,
}

impl Source {
    /// Name in traces.
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

/// The start of a connection: its properties and the inputs from which its controller is built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Name of the arm as requested.
    pub arm: String,
    /// Full text of the arm; parses to the same arm.
    pub arm_full: String,
    /// The path's canonical text.
    pub path: String,
    /// The path's short name; empty if it has none.
    pub path_name: String,
    /// Testbed of the trial.
    pub testbed: String,
    /// Stacks of sender and receiver.
    pub stack: String,
    /// `quic` or `tcp`.
    pub transport: String,
    /// Preset of loss detection.
    pub detection: String,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Repeat of the comparison, counted from 0.
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
    /// First packet number or sequence number.
    pub nxt: u64,
    /// Configuration of the controller, if it is ours.
    pub config: Option<Config>,
    /// Best exit window, for an oracle without an explicit one, bytes.
    pub oracle_exit_bytes: u64,
    /// Origin of the records.
    pub source: Source,
    /// Port of the sender; address and port of the receiver. Empty if the connection is not a real
    /// one.
    pub endpoints: String,
}

/// Ranges of packet numbers, both ends included.
pub type Ranges = Vec<(u64, u64)>;

/// Content of an entry.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every entry of a log is the large one")]
pub enum What {
    /// A connection starts, or its controller was created anew.
    Start(Box<Start>),
    /// An input of the controller.
    Event {
        /// The input.
        event: Event,
        /// The packet that was sent.
        packet: Option<Packet>,
        /// Packets newly acknowledged.
        acked: Ranges,
        /// Packets newly declared lost.
        lost: Ranges,
    },
    /// Startup ended.
    Exit(Exit),
    /// A false alarm withdrew the exit.
    ExitWithdrawn,
}

impl What {
    /// Name of the event.
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
    /// Time on the controller's clock.
    pub now: Time,
    /// Content of the event.
    pub what: What,
    /// State of the sender right after the event; `None` for a controller that was just created.
    pub state: Option<State>,
    /// Internal signals, in the order of [`Log::names`]; `None` for a signal that does not exist
    /// (yet).
    pub signals: Vec<Option<u64>>,
}

/// Observation of the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A data packet arrived.
    Data {
        /// Packet number given by the sender.
        number: u64,
        /// Size of its IP packet, bytes.
        bytes: u64,
        /// Offset of its first byte in the stream and number of bytes, if known.
        stream: Option<(u64, u64)>,
    },
    /// The receiver sent an ACK of everything that had arrived.
    Acknowledged {
        /// Size of its IP packet, bytes.
        bytes: u64,
        /// Packets that it acknowledges for the first time, if known.
        packets: Ranges,
    },
}

/// The log of one connection.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Names of the internal signals.
    pub names: Vec<String>,
    /// Events at the sender. The first entry is a start.
    pub entries: Vec<Entry>,
    /// Events at the receiver, on the sender's clock.
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

/// Sorts numbers and combines them into ranges.
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
