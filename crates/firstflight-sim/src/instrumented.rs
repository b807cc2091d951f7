//! A controller with its account and its recorder. The recorder is a type parameter of the senders
//! with a no-op default, so that a trial that nobody traces is compiled without it.

use crate::observe::{Nobody, Record, Tape};
use firstflight::account::{Account, Kept};
use firstflight::avoidance::{AnyAvoidance, Avoidance};
use firstflight::controller::Controller;
use firstflight::recovery::{AnyRecovery, Policy};
use firstflight::startup::{AnyStartup, Startup, Train};
use firstflight::{Ack, Congestion, Event, Nanos, Rate, Ready, Recorder, Sent, Seq, Time};
use std::fmt::Debug;

/// A startup, with what simulated senders combine it with. The simulator is compiled once for each.
pub trait Combined: Startup {
    /// The congestion avoidance after it.
    type Avoidance: Avoidance<Saved: Debug> + Clone + Debug;
    /// The recovery policy beside both.
    type Recovery: Policy<Settings: Debug> + Clone + Debug;
}

impl Combined for AnyStartup {
    type Avoidance = AnyAvoidance;
    type Recovery = AnyRecovery;
}

/// The controller of a simulated sender.
pub type Core<S> = Controller<S, <S as Combined>::Avoidance, <S as Combined>::Recovery>;

/// Input of a pacer: a rate, and the train in progress, if any.
pub type Pace = (Rate, Option<Train>);

/// Those that go along with a controller, beside hearing what it is told.
pub trait Company<S: Combined>: Recorder<Core<S>> + Default + Iterator<Item = Record> {
    /// Everybody is told, or asked, what the leader was, who answered this.
    #[inline]
    fn along<T: PartialEq>(&mut self, answer: &T, ask: impl Fn(&mut Instrumented<S, Nobody>) -> T) {
        _ = (answer, ask);
    }

    /// This holds of all of them.
    #[inline]
    fn every(&self, holds: impl Fn(&Instrumented<S, Nobody>) -> bool) -> bool {
        _ = holds;
        true
    }
}

impl<S: Combined> Company<S> for Nobody {}
impl<S: Combined> Company<S> for Tape {}

/// A controller that is only ever told things through here, so that its account misses nothing.
/// What its sender goes by is asked here, too, so that those that go along are asked the same; the
/// rest is read off [`Instrumented::core`].
///
/// Laid out by hand: what every packet touches stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Instrumented<S: Combined, L> {
    account: Account<Vec<Kept>>,
    /// Nothing was told since the last ACK or [`Instrumented::asks`] but what was sent, and whatever is
    /// asked changes nothing and is answered with this rate.
    settled: bool,
    /// If that is so: somebody needs each packet that leaves.
    each: bool,
    rate: Option<Rate>,
    controller: Core<S>,
    recorder: L,
}

impl<S: Combined, L> Instrumented<S, L> {
    /// The controller, for those who report on it: a sender must not go by what it reads here.
    #[inline]
    pub fn core(&self) -> &Core<S> {
        &self.controller
    }
}

impl<S: Combined, L: Company<S>> Instrumented<S, L> {
    /// A controller that has been told nothing, of a sender of packets of `packet` bytes.
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

    /// The same in this company, before anybody was told anything.
    #[must_use]
    pub fn in_company(self, company: L) -> Instrumented<S, L> {
        Instrumented { recorder: company, settled: false, ..self }
    }

    /// History of the connection.
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
        self.recorder.along(&(), |other| other.on_stream(now, hole, filled));
    }

    /// Something up to `hole` was declared lost; 0 is nothing.
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

    /// See [`Controller::restart`]. No recorder hears of it: it belongs to the making of the
    /// controller.
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

    /// May `len` bytes leave now, and at which pace? What [`Instrumented::before_send`],
    /// [`Instrumented::admits`] and, if they may, [`Instrumented::pace`] say, asked at once.
    #[inline]
    pub fn asks(&mut self, ready: &Ready, len: u64) -> Option<Option<Pace>> {
        self.controller.before_send(ready);
        self.account.on_ready(&self.controller);
        self.record(|| Event::Ready(*ready));
        let pace = self
            .controller
            .admits(len, ready.inflight)
            .then(|| self.controller.pacing_rate().map(|rate| (rate, self.controller.train())));
        self.recorder.along(&pace, |other| other.asks(ready, len));
        self.settle();
        pace
    }

    /// After everything that may change an answer: whether all would answer the same from now on. An
    /// ACK has told the smoothed RTT, and has left a window that needs no bound and an account that
    /// knows it: there is nothing for a question to do.
    #[inline(always)]
    fn settle(&mut self) {
        // A recorder hears of every question.
        self.settled = !L::records()
            && !self.controller.heeds_sending()
            && self.controller.train().is_none()
            && self.recorder.every(|other| other.settled);
        if self.settled {
            self.rate = self.controller.pacing_rate();
            self.each =
                self.controller.heeds_packets() || !self.recorder.every(|other| !other.each);
        }
    }

    /// Of packets that leave together where all [are settled](Instrumented::is_settled),
    /// [`Instrumented::on_sent`] needs each and not only the last.
    #[inline(always)]
    pub fn heeds_each(&self) -> bool {
        self.each
    }

    /// Whether a question changes nothing, from a sender that has not been idle: then it need not be
    /// told before it sends, and may ask [`Instrumented::asks_again`].
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Answer of [`Instrumented::asks`] with `inflight` bytes outstanding, where that is
    /// [settled](Instrumented::is_settled).
    #[inline(always)]
    pub fn asks_again(&mut self, len: u64, inflight: u64) -> Option<Option<Rate>> {
        let rate = self.controller.admits(len, inflight).then_some(self.rate);
        self.recorder.along(&rate, |other| other.asks_again(len, inflight));
        rate
    }

    /// Number of packets, up to `most`, of `len` bytes that may leave in a row beside `inflight`
    /// bytes, where all [are settled](Instrumented::is_settled); 0 if each has to be asked for. And
    /// whether it is the window of this one that admits no more.
    #[inline(always)]
    pub fn admits_many(&self, len: u64, inflight: u64, most: u64) -> (u64, bool) {
        let room = self.room(len, inflight);
        let many = room.min(most);
        let alike = self.recorder.every(|other| {
            other.settled && other.rate == self.rate && other.room(len, inflight) >= many
        });
        if alike { (many, room < most && self.controller.open_window() > 0) } else { (0, false) }
    }

    /// Common answer of all who [are settled](Instrumented::is_settled), if there is one: may `len`
    /// bytes leave beside `inflight` bytes, at [this rate](Instrumented::settled_rate)?
    #[inline(always)]
    pub fn agrees(&self, len: u64, inflight: u64, full: bool) -> Option<bool> {
        let admits = !full && self.controller.admits(len, inflight);
        debug_assert_eq!(admits, self.controller.admits(len, inflight), "who filled the window?");
        let alike = self.recorder.every(|other| {
            other.settled
                && other.controller.admits(len, inflight) == admits
                && (!admits || other.rate == self.rate)
        });
        (self.settled && alike).then_some(admits)
    }

    #[inline(always)]
    fn room(&self, len: u64, inflight: u64) -> u64 {
        self.controller.open_window().saturating_sub(inflight) / len.max(1)
    }

    /// The pacing rate of those who [are settled](Instrumented::is_settled).
    #[inline]
    pub fn settled_rate(&self) -> Option<Rate> {
        self.rate
    }

    /// See [`Controller::admits`].
    #[inline]
    pub fn admits(&mut self, len: u64, inflight: u64) -> bool {
        let admits = self.controller.admits(len, inflight);
        self.recorder.along(&admits, |other| other.admits(len, inflight));
        admits
    }

    /// Current pacing input: [`Controller::pacing_rate`] and [`Controller::train`].
    #[inline(always)]
    pub fn pace(&mut self) -> Option<Pace> {
        let pace = if self.settled {
            self.rate.map(|rate| (rate, None))
        } else {
            self.controller.pacing_rate().map(|rate| (rate, self.controller.train()))
        };
        self.recorder.along(&pace, Instrumented::pace);
        pace
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

    /// Recovery episodes opened by loss so far.
    #[inline]
    pub fn loss_episodes(&mut self) -> u32 {
        let episodes = self.controller.stats().loss_episodes;
        self.recorder.along(&episodes, Instrumented::loss_episodes);
        episodes
    }
}
