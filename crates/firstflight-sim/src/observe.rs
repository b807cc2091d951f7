//! Watching a trial: an observer is a type parameter with a no-op default, so a trial that nobody
//! watches pays nothing.

use firstflight::{Event, Exit, Nanos, Phase, Time};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A packet left the sender.
    Sent,
    /// An ACK was processed at the sender.
    Ack,
    /// A loss or probe timer fired at the sender.
    Timer,
    /// The controller was told something (see [`Observer::on_told`]).
    Told,
}

impl Cause {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Sent => "sent",
            Cause::Ack => "ack",
            Cause::Timer => "timer",
            Cause::Told => "told",
        }
    }
}

/// The state of one flow right after an event.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// Which flow.
    pub flow: u32,
    /// When, on the trial's clock.
    pub now: Time,
    /// After what.
    pub event: Cause,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` while never set.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub inflight: u64,
    /// Pacing rate in bytes per second, if the sender is paced.
    pub pacing_rate: Option<u64>,
    /// The RTT sample of this ACK.
    pub rtt: Option<Nanos>,
    /// Smallest RTT so far.
    pub min_rtt: Option<Nanos>,
    /// Object bytes delivered in order at the receiver.
    pub delivered: u64,
    /// Bytes declared lost by this event.
    pub lost: u64,
    /// Bytes waiting at the bottleneck.
    pub queue: u64,
    /// What the sender is doing.
    pub phase: Phase,
    /// How startup ended, once it has.
    pub exit: Option<Exit>,
}

/// A data packet as it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Packet number (QUIC) or ordinal of the transmission (TCP).
    pub number: u64,
    /// Place of its first byte in the stream.
    pub offset: u64,
    /// Bytes of the stream in it.
    pub payload: u32,
    /// Its IP bytes.
    pub len: u32,
    /// It was sent before.
    pub repeat: bool,
    /// When it and its duplicate will arrive (ground truth); none if the path drops it.
    pub arrives: [Option<Time>; 2],
}

/// Something that the controller was told, and what is known of the packets behind it.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// What.
    pub event: &'a Event,
    /// What left, for [`Event::Sent`].
    pub packet: Option<Packet>,
    /// Packets newly acknowledged, for [`Event::Ack`].
    pub acked: &'a [u64],
    /// Packets newly declared lost, for [`Event::Ack`] and [`Event::Congestion`]: numbers as in
    /// [`Packet::number`].
    pub lost: &'a [u64],
}

/// Visits inner signals by name and value.
pub type Signals<'a> = dyn Fn(&mut dyn FnMut(&'static str, u64)) + 'a;

/// Somebody who watches.
pub trait Observer {
    /// False removes every trace of watching at compile time.
    const WATCHES: bool = true;
    /// True asks for everything that the controller is told, too.
    const LISTENS: bool = false;
    /// One event. `signals` visits the algorithm's inner signals by name and value.
    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>);
    /// The controller was told something; `snapshot` is of right after it.
    fn on_told(&mut self, heard: &Heard<'_>, snapshot: &Snapshot, signals: &Signals<'_>) {
        let _ = (heard, snapshot, signals);
    }
    /// The receiver of `flow` acknowledges everything that has arrived, in a packet of `len` IP
    /// bytes.
    fn on_acknowledgement(&mut self, flow: u32, now: Time, len: u32) {
        let _ = (flow, now, len);
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    const WATCHES: bool = false;
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {}
}
