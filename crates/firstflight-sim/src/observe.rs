//! Watching a trial: an observer is a type parameter with a no-op default, so a trial that nobody
//! watches pays nothing.

use firstflight::state::Packet;
use firstflight::{Event, Exit, State, Time};
use std::ops::Deref;

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

/// One flow right after an event; its [`State`] can be read off it.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// Which flow.
    pub flow: u32,
    /// When, on the trial's clock.
    pub now: Time,
    /// After what.
    pub event: Cause,
    /// The sender.
    pub state: State,
    /// How startup ended, once it has.
    pub exit: Option<Exit>,
}

impl Deref for Snapshot {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

/// Something that the controller was told, and what is known of the packets behind it.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// What.
    pub event: &'a Event,
    /// What left, for [`Event::Sent`].
    pub packet: Option<Packet>,
    /// When it and its duplicate will arrive (ground truth).
    pub arrives: [Option<Time>; 2],
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
