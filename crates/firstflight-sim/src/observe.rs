//! Watching a trial. The observer is a type parameter, so a trial without one has no overhead.

use firstflight::detection::undo::Proof;
use firstflight::state::Packet;
use firstflight::{Begin, CongestionControl, Event, Exit, Recorder, State, Time};
use std::collections::VecDeque;
use std::mem::take;
use std::ops::Deref;

/// Cause of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A packet left the sender.
    Sent,
    /// An ACK was processed at the sender.
    Ack,
    /// A loss or probe timer fired at the sender.
    Timer,
}

impl Cause {
    /// The name used in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Sent => "sent",
            Cause::Ack => "ack",
            Cause::Timer => "timer",
        }
    }
}

/// The state of one flow right after an event.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// The flow.
    pub flow: u32,
    /// Time of the event, on the trial's clock.
    pub now: Time,
    /// Cause of the event.
    pub event: Cause,
    /// State of the sender.
    pub state: State,
    /// Exit of the startup, if any.
    pub exit: Option<Exit>,
}

impl Deref for Snapshot {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

/// One event that a controller received, the state of the sender right after it, and the packets
/// that it concerns.
#[derive(Clone, Debug)]
pub struct Record {
    /// The event; its times are those of the controller's clock.
    pub event: Event,
    /// State of the sender.
    pub state: State,
    /// Exit of the startup, if any.
    pub exit: Option<Exit>,
    /// The algorithm's internal signals by name; empty for a send event, which changes no
    /// measurement of an algorithm.
    pub signals: Vec<(&'static str, u64)>,
    /// The packet sent, for [`Event::Sent`].
    pub packet: Option<Packet>,
    /// Arrival times of that packet and its duplicate (ground truth); both `None` if the path drops
    /// it.
    pub arrives: [Option<Time>; 2],
    /// Packets newly acknowledged, for [`Event::Ack`], in the event's order.
    pub acked: Vec<u64>,
    /// Packets newly declared lost, for [`Event::Ack`] and [`Event::Congestion`], numbered as in
    /// [`Packet::number`].
    pub lost: Vec<u64>,
    /// Proof that the loss was spurious, for [`Event::Spurious`].
    pub proof: Option<Proof>,
}

/// Visits internal signals by name and value.
pub type Signals<'a> = dyn Fn(&mut dyn FnMut(&'static str, u64)) + 'a;

/// An observer of a trial.
pub trait Observer {
    /// Whether the observer wants any events. Where its type is known this is a constant, and the
    /// compiler removes all code for watching.
    #[inline]
    fn watches(&self) -> bool {
        true
    }
    /// Whether the observer also wants every event that the controller receives. Must not change
    /// during a trial.
    #[inline]
    fn listens(&self) -> bool {
        false
    }
    /// The state after one event at the sender. `signals` visits the algorithm's internal signals
    /// by name and value.
    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>);
    /// The controller was created, as described by `begin`; the trial began at `started` on the
    /// controller's clock.
    fn on_begin(&mut self, begin: &Begin, started: Time) {
        let _ = (begin, started);
    }
    /// The controller received an event.
    fn on_told(&mut self, record: Record) {
        let _ = record;
    }
    /// The receiver of `flow` acknowledges everything that has arrived, in a packet of `len` IP
    /// bytes.
    fn on_acknowledgement(&mut self, flow: u32, now: Time, len: u32) {
        let _ = (flow, now, len);
    }
}

/// No observer and no recorder.
#[derive(Clone, Debug, Default)]
pub struct Nobody;

/// For an observer chosen at run time.
impl<O: Observer + ?Sized> Observer for &mut O {
    fn watches(&self) -> bool {
        (**self).watches()
    }
    fn listens(&self) -> bool {
        (**self).listens()
    }
    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>) {
        (**self).on_event(snapshot, signals);
    }
    fn on_begin(&mut self, begin: &Begin, started: Time) {
        (**self).on_begin(begin, started);
    }
    fn on_told(&mut self, record: Record) {
        (**self).on_told(record);
    }
    fn on_acknowledgement(&mut self, flow: u32, now: Time, len: u32) {
        (**self).on_acknowledgement(flow, now, len);
    }
}

impl Observer for Nobody {
    #[inline]
    fn watches(&self) -> bool {
        false
    }
    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {}
}

impl<C> Recorder<C> for Nobody {
    #[inline]
    fn records() -> bool {
        false
    }
    #[inline]
    fn on_event(&mut self, _event: &Event, _after: &C) {}
}

impl Iterator for Nobody {
    type Item = Record;
    #[inline]
    fn next(&mut self) -> Option<Record> {
        None
    }
}

/// A recorder that keeps its events until the testbed takes them, as an iterator, and adds the
/// rest: the testbed learns about the packets and the receiver only after the event.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    records: VecDeque<Record>,
    acked: Vec<u64>,
    lost: Vec<u64>,
    proof: Option<Proof>,
}

impl Tape {
    /// The last packet that left, if it has not been taken yet.
    pub fn last_sent(&mut self) -> Option<&mut Record> {
        self.records.iter_mut().rev().find(|record| matches!(record.event, Event::Sent(_)))
    }

    /// The newest record.
    pub fn newest(&mut self) -> Option<&mut Record> {
        self.records.back_mut()
    }

    /// Removes every record.
    pub fn clear(&mut self) {
        self.records.clear();
    }
}

impl<C: CongestionControl> Recorder<C> for Tape {
    fn on_event(&mut self, event: &Event, after: &C) {
        let (mut acked, mut lost, mut signals) = (Vec::new(), Vec::new(), Vec::new());
        if matches!(event, Event::Ack(..) | Event::Congestion(_)) {
            (acked, lost) = (take(&mut self.acked), take(&mut self.lost));
        }
        if !matches!(event, Event::Sent(_) | Event::Ready(_)) {
            after.signals(&mut |name, value| signals.push((name, value)));
        }
        let ack = if let Event::Ack(ack, _) = event { Some(ack) } else { None };
        self.records.push_back(Record {
            event: *event,
            state: State { inflight: event.inflight().unwrap_or(0), ..State::of(after, ack) },
            exit: after.exit(),
            signals,
            packet: None,
            arrives: [None; 2],
            acked,
            lost,
            proof: self.proof.take(),
        });
    }

    fn on_acked(&mut self, number: u64) {
        self.acked.push(number);
    }

    fn on_lost(&mut self, number: u64) {
        self.lost.push(number);
    }

    fn on_proof(&mut self, proof: Proof) {
        self.proof = Some(proof);
    }
}

impl Iterator for Tape {
    type Item = Record;
    #[inline]
    fn next(&mut self) -> Option<Record> {
        self.records.pop_front()
    }
}
