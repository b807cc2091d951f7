//! Watching a trial: an observer is a type parameter with a no-op default, so a trial that nobody watches pays nothing.

use firstflight::{Exit, Nanos, Phase, Time};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet left the sender.
    Sent,
    /// An ACK was processed at the sender.
    Ack,
    /// A loss or probe timer fired at the sender.
    Timer,
}

impl Event {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Event::Sent => "sent",
            Event::Ack => "ack",
            Event::Timer => "timer",
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
    pub event: Event,
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

/// Visits inner signals by name and value.
pub type Signals<'a> = dyn Fn(&mut dyn FnMut(&'static str, u64)) + 'a;

/// Somebody who watches.
pub trait Observer {
    /// False removes every trace of watching at compile time.
    const WATCHES: bool = true;
    /// One event. `signals` visits the algorithm's inner signals by name and value.
    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>);
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    const WATCHES: bool = false;
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {}
}
