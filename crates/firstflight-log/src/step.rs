//! What every reader turns its file into: connections, and for each the steps that a controller is
//! driven by.
//!
//! A reader knows nothing of algorithms; whoever listens knows nothing of formats.

use crate::fault::Fault;
use crate::quality::Quality;
use firstflight::event::Transport;
use firstflight::startup::ExitReason;
use firstflight::{Config, Event, Nanos, Seq, Time};

/// A connection within one run, in order of opening.
pub type Id = usize;

/// A connection of which enough is known to drive controllers: opened just before its first ACK.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Name: the file and, within the file, what identifies it.
    pub name: String,
    /// The group of a population it belongs to, where the trace says so.
    pub group: Option<String>,
    /// Program that wrote it, for people: `qlog of noq`, `capture`, `own trace`.
    pub origin: String,
    /// Whose rules.
    pub transport: Transport,
    /// When the controller was made.
    pub made: Time,
    /// When the first data packet left: where times count from.
    pub start: Time,
    /// Payload of a full packet as windows count it, bytes; so far.
    pub mss: u64,
    /// Bytes sent before the first ACK.
    pub first_flight: u64,
    /// From the first packet of these to the last, where that was seen.
    pub first_flight_span: Option<Nanos>,
    /// First packet or sequence number.
    pub nxt: Seq,
    /// The first flight left spread over time, not at once; `None` if it is too short to tell.
    pub paced: Option<bool>,
    /// RTT sample of the handshake.
    pub handshake_rtt: Option<Nanos>,
    /// The arm that really ran, as the trace states: then the replay of that arm is exact.
    pub ran: Option<Ran>,
    /// Statements of the log that packets do not show.
    pub stated: Stated,
}

/// Values that a log states about a connection from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// The initial window, bytes.
    pub initial_window: Option<u64>,
    /// The log has no place for losses: none seen does not mean none.
    pub loss_unknown: bool,
    /// Its rows are no ACKs but sums over this long: they show the path, and no exits.
    pub coarse: Option<Nanos>,
}

/// Facts in a trace of ours about the controller that wrote it.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The arm in full.
    pub arm: String,
    /// Configuration from the connection.
    pub config: Config,
    /// Best exit in bytes, for the oracle.
    pub oracle_exit: u64,
    /// The records are what that controller was told, so its replay is exact; otherwise they were
    /// worked out from packets.
    pub complete: bool,
    /// Rate and idle round trip of the path, bits per second and ns, where it is an emulated one.
    pub path: Option<(u64, u64)>,
}

/// Exit of the startup that really ran, as recorded in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Why.
    pub reason: ExitReason,
    /// When.
    pub at: Time,
    /// Window when it was detected, bytes.
    pub detect_cwnd: u64,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "a step is handed on at once, and most are events")]
pub enum Step {
    /// Something that a controller is told (`Ready` and a new size only by logs of our own), with the
    /// bytes that a packet which left takes on the wire, IP header included; 0 for all else.
    Event(Event, u64),
    /// How the startup that really ran left; none: a false alarm took it back.
    Exit(Option<Recorded>),
    /// What the real sender said of itself.
    Window {
        /// When.
        now: Time,
        /// Its window, bytes.
        cwnd: u64,
        /// Its threshold, bytes.
        ssthresh: Option<u64>,
    },
    /// Rates that the real sender stated, bits per second: at which it paced, and which it
    /// estimated the path to carry.
    Rates {
        /// Pacing.
        pacing: Option<u64>,
        /// Estimate.
        bandwidth: Option<u64>,
    },
    /// The receiver's window and not the sender's was the limit when this ACK came.
    ReceiverLimited(Time),
    /// From now on the receiver takes what lies before this: nothing beyond may be sent.
    ReceiverEdge(Seq),
    /// The next ACK reports so many marked packets. Without this an ACK with a mark reports one.
    Marks(u64),
    /// The sender asked whether the receiver's closed window has opened.
    WindowProbe(Time),
    /// The sender, with nothing to send, asked whether the other end is still there.
    KeepAlive(Time),
    /// Something that the trace does not hold and that was inferred or left out.
    Unsure(Unsure),
}

/// Gap in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsure {
    /// The size of a full segment: no end's SYN says it, so it comes from the segments.
    SegmentSize,
    /// The scale of the receiver's windows: no verdict comes from them.
    WindowScale {
        /// What was in flight needs at least so many bits.
        least: u8,
    },
}

/// Somebody who listens to a reader.
pub trait Sink {
    /// A connection begins.
    fn open(&mut self, opening: Opening) -> Id;
    /// Something happened in it.
    fn step(&mut self, id: Id, step: &Step);
    /// How well it was captured, before it is over; formats without packets give no such record.
    fn judge(&mut self, id: Id, quality: &Quality) {
        let _ = (id, quality);
    }
    /// It is over: closed, or the file ended.
    fn close(&mut self, id: Id);
    /// Its steps would mislead, or are not enough: it is to be forgotten.
    fn abandon(&mut self, id: Id);
    /// The file is not all that it should be; what was read before stays.
    fn remark(&mut self, fault: Fault);
    /// The file is as it should be, but not all that it holds was used.
    fn note(&mut self, note: Fault) {
        let _ = note;
    }
}

/// Size of the input read from a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Events, packets or rows read.
    pub records: u64,
    /// Connections opened.
    pub connections: u64,
}
