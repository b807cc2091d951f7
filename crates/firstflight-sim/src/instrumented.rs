//! A controller with its account and its recorder. The recorder is a type parameter of the senders
//! with a no-op default, so that a trial that nobody traces is compiled without it.

use firstflight::account::{Account, Kept};
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::Controller;
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Ack, Congestion, Event, Nanos, Ready, Recorder, Sent, Seq, Time};
use std::ops::Deref;

/// The controller of a simulated sender.
pub type Core<S> = Controller<S, AnyAvoidance, AnyRecovery>;

/// A controller that is only ever told things through here, so that its account misses nothing.
/// Everything else about it can be read.
///
/// Laid out by hand: what every packet touches stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Instrumented<S: Startup, L> {
    account: Account<Vec<Kept>>,
    controller: Core<S>,
    recorder: L,
}

impl<S: Startup, L> Deref for Instrumented<S, L> {
    type Target = Core<S>;

    #[inline]
    fn deref(&self) -> &Core<S> {
        &self.controller
    }
}

impl<S: Startup, L: Recorder<Core<S>> + Default> Instrumented<S, L> {
    /// A controller that has been told nothing, of a sender of packets of `packet` bytes.
    pub fn new(controller: Core<S>, packet: u64) -> Instrumented<S, L> {
        Instrumented { account: Account::new(packet), controller, recorder: L::default() }
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

    /// Who hears what it is told.
    #[inline]
    pub fn recorder(&mut self) -> &mut L {
        &mut self.recorder
    }

    #[inline]
    fn record(&mut self, event: impl FnOnce() -> Event) {
        if L::records() {
            self.recorder.on_event(&event(), &self.controller);
        }
    }

    /// See [`Controller::restart`]. No recorder hears of it: it belongs to the making of the
    /// controller.
    pub fn restart(&mut self, now: Time) {
        self.controller.restart(now, Seq(0));
    }

    /// See [`Controller::on_handshake_rtt`].
    pub fn on_handshake_rtt(&mut self, now: Time, rtt: Nanos) {
        self.controller.on_handshake_rtt(now, rtt);
        self.record(|| Event::HandshakeRtt { now, rtt });
    }

    /// See [`Controller::before_send`].
    #[inline]
    pub fn before_send(&mut self, ready: &Ready) {
        self.controller.before_send(ready);
        self.account.on_ready(&self.controller);
        self.record(|| Event::Ready(*ready));
    }

    /// See [`Controller::on_sent`].
    #[inline]
    pub fn on_sent(&mut self, sent: &Sent) {
        self.controller.on_sent(sent);
        self.account.on_sent(sent.now);
        self.record(|| Event::Sent(*sent));
    }

    /// See [`Controller::on_ack`]. Returns whether an episode began.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack) -> bool {
        self.controller.on_ack(ack);
        let began = self.account.on_ack(ack, &self.controller);
        self.record(|| Event::Ack(*ack));
        began
    }

    /// See [`Controller::on_congestion`].
    pub fn on_congestion(&mut self, congestion: &Congestion) {
        self.controller.on_congestion(congestion);
        self.account.on_congestion(congestion, &self.controller);
        self.record(|| Event::Congestion(*congestion));
    }

    /// See [`Controller::on_spurious`].
    pub fn on_spurious(&mut self, now: Time) {
        self.controller.on_spurious();
        self.account.on_spurious(&self.controller);
        self.record(|| Event::Spurious { now });
    }
}
