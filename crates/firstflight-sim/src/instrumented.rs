//! A controller with its account and its recorder. The recorder is a type parameter of the senders
//! and defaults to a no-op, so that a trial without a trace is compiled without it.

mod fast;

use crate::observe::{Nobody, Record, Tape};
use firstflight::account::{Account, Kept};
use firstflight::avoidance::{AnyAvoidance, Avoidance};
use firstflight::controller::Controller;
use firstflight::recovery::{AnyRecovery, Policy};
use firstflight::startup::{AnyStartup, Startup};
use firstflight::{Ack, Congestion, Event, Nanos, Rate, Ready, Recorder, Sent, Seq, Spacing, Time};
use std::fmt::Debug;

/// A startup and the parts that simulated senders combine it with. The simulator is compiled once
/// for each.
pub trait Combined: Startup + Sized {
    /// The congestion avoidance that follows it.
    type Avoidance: Avoidance<Saved: Debug> + Clone + Debug;
    /// The recovery policy used with both.
    type Recovery: Policy<Settings: Debug> + Clone + Debug;
}

impl Combined for AnyStartup {
    type Avoidance = AnyAvoidance;
    type Recovery = AnyRecovery;
}

/// The controller of a simulated sender.
pub type Core<S> = Controller<S, <S as Combined>::Avoidance, <S as Combined>::Recovery>;

/// Followers of a controller. They also receive its events as recorders.
pub trait Company<S: Combined>: Recorder<Core<S>> + Default + Iterator<Item = Record> {
    /// Passes the leader's event or question to every follower; `answer` is the leader's answer.
    #[inline]
    fn along<T: PartialEq>(&mut self, answer: &T, ask: impl Fn(&mut Instrumented<S, Nobody>) -> T) {
        _ = (answer, ask);
    }

    /// Whether `holds` is true of every follower.
    #[inline]
    fn every(&self, holds: impl Fn(&Instrumented<S, Nobody>) -> bool) -> bool {
        _ = holds;
        true
    }
}

impl<S: Combined> Company<S> for Nobody {}
impl<S: Combined> Company<S> for Tape {}

/// A controller that is driven only through this wrapper, so that its account misses nothing. The
/// sender must also send the queries it relies on through the wrapper, so that the followers
/// receive the same queries; everything else can be read from [`Instrumented::core`].
///
/// The fields are ordered by hand: those that every packet touches come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Instrumented<S: Combined, L> {
    account: Account<Vec<Kept>>,
    /// Since the last ACK or [`Instrumented::asks`] the controller has received only send events; a
    /// query changes nothing, and its answer is `rate`.
    settled: bool,
    /// If `settled`: whether any controller needs to see each packet that leaves.
    each: bool,
    rate: Option<Rate>,
    controller: Core<S>,
    recorder: L,
}

impl<S: Combined, L> Instrumented<S, L> {
    /// The controller, for reports only: a sender must not base decisions on it.
    #[inline]
    pub fn core(&self) -> &Core<S> {
        &self.controller
    }
}

impl<S: Combined, L: Company<S>> Instrumented<S, L> {
    /// A controller that has received no events, for a sender with packets of `packet` bytes.
    pub fn new(controller: Core<S>, packet: u64) -> Instrumented<S, L> {
        Instrumented {
            account: Account::new(packet),
            settled: false,
            each: true,
            rate: None,
            controller,
            recorder: L::default(),
        }
    }

    /// Adds these followers to the controller, before any event.
    #[must_use]
    pub fn in_company(self, company: L) -> Instrumented<S, L> {
        Instrumented { recorder: company, settled: false, ..self }
    }

    /// History of the connection.
    #[inline]
    pub fn account(&self) -> &Account<Vec<Kept>> {
        &self.account
    }

    /// Everything below `filled` is acknowledged, and since the last call data up to `hole` was
    /// declared lost (0: none).
    #[inline]
    pub fn on_stream(&mut self, now: Time, hole: u64, filled: u64) {
        self.account.on_hole(hole);
        self.account.on_filled(now, filled);
        self.recorder.along(&(), |other| other.on_stream(now, hole, filled));
    }

    /// Data up to `hole` was declared lost (0: none).
    pub fn on_hole(&mut self, hole: u64) {
        self.account.on_hole(hole);
        self.recorder.along(&(), |other| other.on_hole(hole));
    }

    /// Recorder of the controller's events.
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

    /// See [`Controller::restart`]. Not recorded: it belongs to the creation of the controller.
    pub fn restart(&mut self, now: Time) {
        self.settled = false;
        self.controller.restart(now, Seq(0));
        self.recorder.along(&(), |other| other.restart(now));
    }

    /// See [`Controller::on_handshake_rtt`].
    pub fn on_handshake_rtt(&mut self, now: Time, rtt: Nanos) {
        self.settled = false;
        self.controller.on_handshake_rtt(now, rtt);
        self.record(|| Event::HandshakeRtt { now, rtt });
        self.recorder.along(&(), |other| other.on_handshake_rtt(now, rtt));
    }

    /// See [`Controller::before_send`].
    #[inline]
    pub fn before_send(&mut self, ready: &Ready) {
        self.settled = false;
        self.controller.before_send(ready);
        self.account.on_ready(&self.controller);
        self.record(|| Event::Ready(*ready));
        self.recorder.along(&(), |other| other.before_send(ready));
    }

    /// See [`Controller::on_sent`].
    #[inline(always)]
    pub fn on_sent(&mut self, sent: &Sent) {
        self.controller.on_sent(sent);
        self.account.on_sent(sent.now);
        self.record(|| Event::Sent(*sent));
        self.recorder.along(&(), |other| other.on_sent(sent));
    }

    /// See [`Controller::on_ack`]. Returns whether an episode began.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack) -> bool {
        self.controller.on_ack(ack);
        debug_assert_eq!(
            self.controller.misfed(),
            None,
            "the sender reports what cannot be: {ack:?}"
        );
        let began = self.account.on_ack(ack, &self.controller);
        let so_far = *self.controller.so_far();
        self.record(|| Event::Ack(*ack, so_far));
        self.recorder.along(&began, |other| other.on_ack(ack));
        self.settle();
        began
    }

    /// See [`Controller::on_congestion`].
    pub fn on_congestion(&mut self, congestion: &Congestion) {
        self.settled = false;
        self.controller.on_congestion(congestion);
        self.account.on_congestion(congestion, &self.controller);
        self.record(|| Event::Congestion(*congestion));
        self.recorder.along(&(), |other| other.on_congestion(congestion));
    }

    /// See [`Controller::on_spurious`].
    pub fn on_spurious(&mut self, now: Time) {
        self.settled = false;
        self.controller.on_spurious();
        self.account.on_spurious(&self.controller);
        self.record(|| Event::Spurious { now });
        self.recorder.along(&(), |other| other.on_spurious(now));
    }

    /// Whether `len` bytes may leave now, and at which pace: [`Instrumented::before_send`],
    /// [`Instrumented::admits`] and, if they may leave, [`Instrumented::spacing`] in one call.
    #[inline]
    pub fn asks(&mut self, ready: &Ready, len: u64) -> Option<Spacing> {
        self.controller.before_send(ready);
        self.account.on_ready(&self.controller);
        self.record(|| Event::Ready(*ready));
        let spacing =
            self.controller.admits(len, ready.inflight).then(|| self.controller.spacing());
        self.recorder.along(&spacing, |other| other.asks(ready, len));
        self.settle();
        spacing
    }

    /// See [`Controller::admits`].
    #[inline]
    pub fn admits(&mut self, len: u64, inflight: u64) -> bool {
        let admits = self.controller.admits(len, inflight);
        self.recorder.along(&admits, |other| other.admits(len, inflight));
        admits
    }

    /// See [`Controller::spacing`].
    #[inline(always)]
    pub fn spacing(&mut self) -> Spacing {
        let spacing = if self.settled {
            Spacing { rate: self.rate, train: None }
        } else {
            self.controller.spacing()
        };
        self.recorder.along(&spacing, Instrumented::spacing);
        spacing
    }

    /// See [`Controller::recovery_mark`].
    #[inline]
    pub fn recovery_mark(&mut self) -> Option<Seq> {
        let mark = self.controller.recovery_mark();
        self.recorder.along(&mark, Instrumented::recovery_mark);
        mark
    }

    /// See [`Controller::cwnd`].
    #[inline]
    pub fn cwnd(&mut self) -> u64 {
        let cwnd = self.controller.cwnd();
        self.recorder.along(&cwnd, Instrumented::cwnd);
        cwnd
    }

    /// Recovery episodes opened by losses so far.
    #[inline]
    pub fn loss_episodes(&mut self) -> u32 {
        let episodes = self.controller.stats().loss_episodes;
        self.recorder.along(&episodes, Instrumented::loss_episodes);
        episodes
    }
}
