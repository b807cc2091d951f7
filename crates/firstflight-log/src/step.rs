//! Common output of all readers: connections, and for each the steps that drive a controller.
//!
//! A reader does not depend on algorithms, nor a sink on formats.

use crate::fault::Fault;
use crate::quality::Quality;
use firstflight::event::Transport;
use firstflight::startup::ExitReason;
use firstflight::{Config, Event, Nanos, Seq, Time};

/// A connection within one run, numbered in order of opening.
pub type Id = usize;

/// A connection, opened just before its first ACK, when enough is known to drive controllers.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Name: the file and, within the file, the connection's identifier.
    pub name: String,
    /// The group of a population it belongs to, if the trace states it.
    pub group: Option<String>,
    /// Program that wrote the log, for people: `qlog of noq`, `capture`, `own trace`.
    pub origin: String,
    /// Transport whose rules apply.
    pub transport: Transport,
    /// Time at which the controller was created.
    pub made: Time,
    /// Time at which the first data packet was sent; times count from here.
    pub start: Time,
    /// Payload of a full packet as windows count it, bytes; the largest so far.
    pub mss: u64,
    /// Bytes sent before the first ACK.
    pub first_flight: u64,
    /// Time from the first packet of the first flight to the last, if both were seen.
    pub first_flight_span: Option<Nanos>,
    /// First packet number or sequence number.
    pub nxt: Seq,
    /// Whether the first flight was spread over time instead of sent at once; `None` if it is too
    /// short to tell.
    pub paced: Option<bool>,
    /// RTT sample of the handshake.
    pub handshake_rtt: Option<Nanos>,
    /// The arm that really ran, if the trace states it; the replay of that arm is then exact.
    pub ran: Option<Ran>,
    /// Values that only the log states, not the packets.
    pub stated: Stated,
}

/// Values that a log states about a connection from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// The initial window, bytes.
    pub initial_window: Option<u64>,
    /// The log cannot record losses, so seeing none does not mean that there were none.
    pub loss_unknown: bool,
    /// Length of the interval if rows are sums instead of ACKs: they show the path, but no exits.
    pub coarse: Option<Nanos>,
}

/// Facts about the controller, as stated in one of our traces.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The arm's full text.
    pub arm: String,
    /// Configuration of the connection's controller.
    pub config: Config,
    /// Best exit for the oracle, bytes.
    pub oracle_exit: u64,
    /// The records are the controller's exact inputs, so its replay is exact; otherwise they were
    /// reconstructed from packets.
    pub complete: bool,
    /// Rate and idle round trip of an emulated path, bits per second and ns.
    pub path: Option<(u64, u64)>,
}

/// Exit of the startup that really ran, as recorded in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Reason for the exit.
    pub reason: ExitReason,
    /// Time of the exit.
    pub at: Time,
    /// Congestion window at detection, bytes.
    pub detect_cwnd: u64,
}

/// One event of a connection.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "a step is handed on at once, and most are events")]
pub enum Step {
    /// An input of a controller (`Ready` and a changed size only in our own logs), and the bytes
    /// that a sent packet takes on the wire, IP header included; 0 for other events.
    Event(Event, u64),
    /// Exit of the startup that really ran; `None` if a false alarm withdrew it.
    Exit(Option<Recorded>),
    /// Values that the real sender stated.
    Window {
        /// Time of the statement.
        now: Time,
        /// Congestion window, bytes.
        cwnd: u64,
        /// Slow start threshold, bytes.
        ssthresh: Option<u64>,
    },
    /// Rates that the real sender stated, bits per second.
    Rates {
        /// Pacing rate.
        pacing: Option<u64>,
        /// Estimate of the path's bandwidth.
        bandwidth: Option<u64>,
    },
    /// The receiver's window, not the sender's, was the limit when this ACK arrived.
    ReceiverLimited(Time),
    /// New right edge of the receiver's window: nothing beyond it may be sent.
    ReceiverEdge(Seq),
    /// Number of marked packets that the next ACK reports. Without this step an ACK with a mark
    /// reports 1.
    Marks(u64),
    /// The sender probed whether the receiver's closed window has opened.
    WindowProbe(Time),
    /// The idle sender sent a keepalive probe.
    KeepAlive(Time),
    /// A value that is not in the trace and was inferred or left out.
    Unsure(Unsure),
}

/// A gap in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsure {
    /// The size of a full segment: no SYN states it, so it was inferred from the segments.
    SegmentSize,
    /// The scale of the receiver's windows: nothing is concluded from them.
    WindowScale {
        /// Minimum number of bits, derived from the bytes in flight.
        least: u8,
    },
}

/// Receives what a reader finds.
pub trait Sink {
    /// A connection starts.
    fn open(&mut self, opening: Opening) -> Id;
    /// An event of a connection.
    fn step(&mut self, id: Id, step: &Step);
    /// The quality of its capture, before it is closed; only for formats with packets.
    fn judge(&mut self, id: Id, quality: &Quality) {
        let _ = (id, quality);
    }
    /// The connection is closed, or the file has ended.
    fn close(&mut self, id: Id);
    /// The steps of the connection are misleading or insufficient; discard them.
    fn abandon(&mut self, id: Id);
    /// A fault of the file; everything read before it stays valid.
    fn remark(&mut self, fault: Fault);
    /// The file has no fault, but not all of its contents were used.
    fn note(&mut self, note: Fault) {
        let _ = note;
    }
}

/// Amount of input read from a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Events, packets or rows read.
    pub records: u64,
    /// Connections opened.
    pub connections: u64,
}
