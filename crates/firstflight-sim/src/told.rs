//! Keeping what a sender tells its controller: a listener is a type parameter of the senders with a
//! no-op default, so that a trial that nobody traces is compiled without it.

use firstflight::account::{Account, Kept};
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::Controller;
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Ack, Congestion, Event, Nanos, Ready, Sent, Seq, Time};
use std::fmt::Debug;
use std::ops::Deref;

/// The controller of a simulated sender.
pub type Core<S> = Controller<S, AnyAvoidance, AnyRecovery>;

/// Somebody who hears what a controller is told.
pub trait Listener<S: Startup>: Clone + Debug + Default {
    /// False removes every trace of listening at compile time.
    const LISTENS: bool;
    /// The controller was told this, and is now like this.
    fn heard(&mut self, told: Event, controller: &Core<S>);
    /// Packet `number` was newly acknowledged; the record that it belongs to follows.
    fn acked(&mut self, number: u64);
    /// Packet `number` was declared lost; the record that it belongs to follows.
    fn lost(&mut self, number: u64);
    /// What was kept.
    fn tape(&mut self) -> Option<&mut Tape<S>>;
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl<S: Startup> Listener<S> for Silent {
    const LISTENS: bool = false;
    #[inline]
    fn heard(&mut self, _told: Event, _controller: &Core<S>) {}
    #[inline]
    fn acked(&mut self, _number: u64) {}
    #[inline]
    fn lost(&mut self, _number: u64) {}
    #[inline]
    fn tape(&mut self) -> Option<&mut Tape<S>> {
        None
    }
}

/// One thing that the controller was told, with the controller right after it.
#[derive(Clone, Debug)]
pub struct Line<S: Startup> {
    /// What.
    pub told: Event,
    /// The controller.
    pub controller: Core<S>,
    /// Packets newly acknowledged by an ACK, in the order of the ACK.
    pub acked: Vec<u64>,
    /// Packets newly declared lost.
    pub lost: Vec<u64>,
}

/// What was heard since the flow looked last: a handful of lines.
#[derive(Clone, Debug)]
pub struct Tape<S: Startup> {
    lines: Vec<Line<S>>,
    acked: Vec<u64>,
    lost: Vec<u64>,
}

impl<S: Startup> Default for Tape<S> {
    fn default() -> Tape<S> {
        Tape { lines: Vec::new(), acked: Vec::new(), lost: Vec::new() }
    }
}

impl<S: Startup> Tape<S> {
    /// The lines, which are gone afterwards.
    pub fn take(&mut self) -> Vec<Line<S>> {
        std::mem::take(&mut self.lines)
    }
}

impl<S: Startup + Clone + Debug> Listener<S> for Tape<S> {
    const LISTENS: bool = true;

    fn heard(&mut self, told: Event, controller: &Core<S>) {
        let of_ack = matches!(told, Event::Ack(_) | Event::Congestion(_));
        let mut packets = |of: fn(&mut Tape<S>) -> &mut Vec<u64>| {
            if of_ack { std::mem::take(of(self)) } else { Vec::new() }
        };
        let (acked, lost) = (packets(|tape| &mut tape.acked), packets(|tape| &mut tape.lost));
        self.lines.push(Line { told, controller: controller.clone(), acked, lost });
    }
    fn acked(&mut self, number: u64) {
        self.acked.push(number);
    }
    fn lost(&mut self, number: u64) {
        self.lost.push(number);
    }
    fn tape(&mut self) -> Option<&mut Tape<S>> {
        Some(self)
    }
}

/// A controller that is only ever told things through here, so that its account misses nothing.
/// Everything else about it can be read.
///
/// Laid out by hand: what every packet touches stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Driven<S: Startup, L> {
    account: Account<Vec<Kept>>,
    controller: Core<S>,
    listener: L,
}

impl<S: Startup, L> Deref for Driven<S, L> {
    type Target = Core<S>;

    #[inline]
    fn deref(&self) -> &Core<S> {
        &self.controller
    }
}

impl<S: Startup, L: Listener<S>> Driven<S, L> {
    /// A controller that has been told nothing, of a sender of packets of `packet` bytes.
    pub fn new(controller: Core<S>, packet: u64) -> Driven<S, L> {
        Driven { account: Account::new(packet), controller, listener: L::default() }
    }

    /// What it has been through.
    #[inline]
    pub fn account(&self) -> &Account<Vec<Kept>> {
        &self.account
    }

    /// Everything below `filled` is acknowledged, and since the last time something up to `hole`
    /// was declared lost; 0 is nothing.
    #[inline]
    pub fn on_stream(&mut self, now: Time, hole: u64, filled: u64) {
        self.account.on_hole(hole);
        self.account.on_filled(now, filled);
    }

    /// Something up to `hole` was declared lost; 0 is nothing.
    pub fn on_hole(&mut self, hole: u64) {
        self.account.on_hole(hole);
    }

    /// Who listens.
    #[inline]
    pub fn listener(&mut self) -> &mut L {
        &mut self.listener
    }

    #[inline]
    fn heard(&mut self, told: impl FnOnce() -> Event) {
        if L::LISTENS {
            self.listener.heard(told(), &self.controller);
        }
    }

    /// See [`Controller::restart`]. No listener hears of it: it belongs to the making of the
    /// controller.
    pub fn restart(&mut self, now: Time) {
        self.controller.restart(now, Seq(0));
    }

    /// See [`Controller::on_handshake_rtt`].
    pub fn on_handshake_rtt(&mut self, now: Time, rtt: Nanos) {
        self.controller.on_handshake_rtt(now, rtt);
        self.heard(|| Event::HandshakeRtt { now, rtt });
    }

    /// See [`Controller::before_send`].
    #[inline]
    pub fn before_send(&mut self, ready: &Ready) {
        self.controller.before_send(ready);
        self.account.on_ready(&self.controller);
        self.heard(|| Event::Ready(*ready));
    }

    /// See [`Controller::on_sent`].
    #[inline]
    pub fn on_sent(&mut self, sent: &Sent) {
        self.controller.on_sent(sent);
        self.account.on_sent(sent.now);
        self.heard(|| Event::Sent(*sent));
    }

    /// See [`Controller::on_ack`]. Returns whether an episode began.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) -> bool {
        self.controller.on_ack(ack);
        let began = self.account.on_ack(ack, &self.controller);
        self.heard(|| Event::Ack(*ack));
        began
    }

    /// See [`Controller::on_congestion`].
    pub fn on_congestion(&mut self, congestion: &Congestion) {
        self.controller.on_congestion(congestion);
        self.account.on_congestion(congestion, &self.controller);
        self.heard(|| Event::Congestion(*congestion));
    }

    /// See [`Controller::on_spurious`].
    pub fn on_spurious(&mut self, now: Time) {
        self.controller.on_spurious();
        self.account.on_spurious(&self.controller);
        self.heard(|| Event::Spurious { now });
    }
}
