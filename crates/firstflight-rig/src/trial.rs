//! Inputs and results of a trial with one or several flows.

use crate::own::OwnControl;
use firstflight::detection::ecn::Ecn;
use firstflight::{Episode, Exit, Nanos, Time};
use firstflight_path::Path;
use firstflight_quic::{Plan, Status};
use firstflight_sim::{Counted, Counters};
use hdrhistogram::Histogram;

/// The file of the sending stack's own qlog.
pub type StackLog = Box<dyn std::io::Write + Send + Sync>;

/// The sending stack and its controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// An arm on noq.
    Noq(Plan),
    /// A stack with its own controller.
    Own(OwnControl),
    /// An arm on quinn. quinn does not name lost packets: dropped packets count as lost, and none
    /// as spuriously lost.
    #[cfg(feature = "quinn")]
    Quinn(Plan),
}

impl Control {
    pub(crate) fn plan(&self) -> Option<&Plan> {
        match self {
            Control::Noq(plan) => Some(plan),
            Control::Own(_) => None,
            #[cfg(feature = "quinn")]
            Control::Quinn(plan) => Some(plan),
        }
    }

    /// Whether the sender may set ECT: stacks have no switch, so the rig clears the field.
    pub(crate) fn uses_ecn(&self) -> bool {
        self.plan().is_none_or(|plan| plan.arm.sender.ecn != Some(Ecn::Off))
    }

    /// Whether the stack names each packet that it declares lost.
    pub(crate) fn names_losses(&self) -> bool {
        match self {
            Control::Noq(_) => true,
            Control::Own(control) => control.own.names_losses(),
            #[cfg(feature = "quinn")]
            Control::Quinn(_) => false,
        }
    }
}

/// Inputs of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The path.
    pub path: &'a Path,
    /// The sender.
    pub control: Control,
    /// Bytes of a full datagram (UDP payload), at least 1200.
    pub datagram: u16,
    /// Size of an IP packet that carries only an ACK, in bytes; the path's idle RTT is computed
    /// with it.
    pub ack_packet: u32,
    /// Object size, bytes; at least 1.
    pub object: u64,
    /// Virtual time after which an unfinished trial stops.
    pub limit: Nanos,
    /// Seed of every random draw, of the path and of the stacks.
    pub seed: u64,
    /// Index of the path in a population; keys the draws together with the seed.
    pub path_index: u64,
}

/// Measurements of a trial. Times are counted from the first byte of the object.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether every byte was acknowledged.
    pub complete: bool,
    /// Time until every byte was acknowledged at the sender, or until the stop.
    pub acked_after: Nanos,
    /// Time until the last byte was read in order at the receiver; `None` if it was not.
    pub delivered_after: Option<Nanos>,
    /// Object bytes read in order at the receiver.
    pub delivered: u64,
    /// Counters of the sender. A probe timeout is a send after a timer when nothing had been sent
    /// for a round trip and no packet was declared lost. quinn does not name the packets that it
    /// declares lost: then dropped packets count as lost, and spurious losses, retransmissions and
    /// probes are unknown. A stack's own controller does not report its recovery.
    pub counters: Counters<Option<u64>>,
    /// Exit of the startup, if any. For a stack's own controller: the first time that its window
    /// was not below its threshold; never if it has no threshold (BBR).
    pub exit: Option<Exit>,
    /// Recovery episodes; empty for a stack's own controller.
    pub episodes: Vec<Episode>,
    /// Waiting time of every datagram at the bottleneck, microseconds.
    pub queue_us: Histogram<u32>,
    /// Largest window, bytes.
    pub cwnd_max: u64,
    /// State of the controller at the end; `None` if it is the stack's own.
    pub status: Option<Status>,
    /// Receive window of the stream and of the connection, bytes.
    pub stream_window: u64,
    /// RTT sample of the handshake, with which the controller started.
    pub handshake_rtt: Option<Nanos>,
    /// Steps of the virtual clock.
    pub steps: u64,
}

/// Settings common to all flows of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    /// The path.
    pub path: &'a Path,
    /// Bytes of a full datagram (UDP payload), at least 1200.
    pub datagram: u16,
    /// Size of an IP packet that carries only an ACK, in bytes; the path's idle RTT is computed
    /// with it.
    pub ack_packet: u32,
    /// Virtual time, from the first byte of the first object, after which an unfinished trial stops.
    pub limit: Nanos,
    /// Seed of every random draw, of the path and of the stacks.
    pub seed: u64,
    /// Index of the path in a population; keys the draws together with the seed.
    pub path_index: u64,
    /// Interval at which every flow's delivered bytes are recorded; `None` records nothing.
    pub sample: Option<Nanos>,
    /// Interval at which the bottleneck queue is recorded; with it, each sample also contains the
    /// bytes that every flow has sent. `None` records nothing.
    pub queue_every: Option<Nanos>,
    /// Run to the time limit even if all flows finish earlier.
    pub whole: bool,
}

/// One flow of a trial.
#[derive(Clone, Copy, Debug)]
pub struct FlowPlan {
    /// The sender.
    pub control: Control,
    /// Object size, bytes, at least 1; `None` for a flow without end, for which the trial does not
    /// wait.
    pub object: Option<u64>,
    /// When its handshake starts; the first byte of the object leaves about two round trips later,
    /// or more if the handshake waits in a queue that other flows have filled.
    pub start: Nanos,
    /// When it ends, complete or not, counted from the first byte of the first object; `None` sets
    /// no end.
    pub stop: Option<Nanos>,
}

/// Outcome of the flows.
#[derive(Clone, Debug)]
pub struct SharedOutcome {
    /// The flows' outcomes in the order of the plans; `None` if the handshake was not complete.
    /// Times count from the first byte of each flow's own object.
    pub flows: Vec<Option<Outcome>>,
    /// When the first byte of each object was passed to its sender, counted from the first of all;
    /// `None` if it was not.
    pub starts: Vec<Option<Time>>,
    /// Bytes delivered in order by each flow just before each multiple of the sampling interval,
    /// zero included.
    pub delivered: Vec<Vec<u64>>,
    /// Bytes sent and lost by each flow at the same times, if the queue is recorded.
    pub counted: Vec<Vec<Counted>>,
    /// Bytes queued at the bottleneck at each multiple of its sampling interval, if the link
    /// decides when packets are offered.
    pub queue: Vec<u64>,
}
