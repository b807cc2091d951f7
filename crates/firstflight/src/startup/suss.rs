//! SUSS (Speeding Up Slow Start): HyStart whose window grows fourfold in a round if the ACKs show
//! that slow start would go on for two more rounds.
//!
//! A round begins with the first ACK of the flight before. The first part of a flight is clocked by
//! ACKs (blue in the paper); the ACKs of this part form a train whose length shows how much of the
//! round trip the flight occupies. Where the train is short enough, the window goes to four times
//! its size: the packets beyond slow start's are paced over the rest of the round (red). ACKs of
//! paced packets show the pace of the sender and decide nothing. The exit is HyStart's, with a
//! train scaled from the blue part to the whole flight.
//!
//! Follows: Arghavani et al., SIGCOMM 2024 (abstract), and the behaviour of the authors' module for
//! Linux 6.8 (SUSSdeveloper/SUSS, January 2025). There is no text that states its rules. Vectors:
//! `tests/it/suss.rs`. State: 280 bytes, 144 of them HyStart's.
//!
//! Departures:
//! * D1 (initial window): the module assumes a first flight of ten packets and an ACK per two. Here
//!   the first flight that fills its window counts, whatever its size and whatever an ACK covers.
//!   Rounds that a handshake or the application cut short come before it. The blue part of a later
//!   flight is what left before the paced part. Its last packet is not waited for, because a
//!   receiver may delay the ACK of an odd one. A train that one ACK covers has no length and
//!   accelerates nothing; the module divides by zero.
//! * D2 (pacer): the module turns the socket's pacer on for the red part. Without a pacer this is
//!   HyStart. With one, packets leave at once until SUSS refuses the path, and again by the arm's
//!   pacing after that.
//! * D3 (window): the window opens at most one burst ahead of the paced packets, and the part of
//!   it that red ACKs free is paced, too. A loss thus cuts a used window; the module sets it to the
//!   bytes in flight first.
//! * D4 (guard): if the train leaves no room before the red part, the growth factor stays two from
//!   then on; the module compares later rounds with a wrong scale.
//! * D5 (end): losses, marks, timeouts and idle periods end acceleration for good, also after a
//!   false alarm; HyStart remains.
//! * D6 (receiver): the module raises the receiver's window to the size of its flights. No sender
//!   may do this, and this one does not.

use super::hystart::{self, HyStart, Looking};
use super::{EpochUse, ExitReason, Grown, Heeds, Leave, Pacing, Startup, Status, Train, Verdict};
use crate::event::{Ack, Context, Phase, Ready, Sent, Signal, Timeout, Transport, Window};
use crate::options::params;
use crate::recovery::OwnRecovery;
use crate::units::{Nanos, Rate, Ratio, Seq, Time, mul_div};

/// SUSS first-rtt: paths with a smaller RTT gain nothing worth the risk.
const LEAST_RTT: Nanos = Nanos::from_millis(10);
/// SUSS first-train: the first train must be shorter than this part of the smallest RTT.
const FIRST_TRAIN: u64 = 4;
/// SUSS rtt-rise: the RTT may rise by this part of itself over the rounds that were observed.
const RISE_DIVISOR: u64 = 8;
/// SUSS growth-factor: growth of an accelerated round.
const FACTOR: u64 = 4;

params! {
    /// The options of SUSS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Rounds that may grow fourfold.
        pub most: u8 = 3, "max" [1..=6 "rounds"] "rounds that may grow fourfold";
    }
}

/// Which ACKs the round is receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// ACKs of packets that ACKs clocked.
    Blue,
    /// ACKs of packets that were paced.
    Red,
}

/// End of the blue part of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Before this packet or sequence number.
    At(Seq),
    /// After this many bytes.
    After(u64),
}

/// The paced part of an accelerated round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Paced {
    /// The end of what ACKs have clocked.
    end: Seq,
    /// The window at the end of the round, bytes.
    limit: u64,
    rate: Rate,
    /// Packets that ACKs still clock leave at once, the rest after the guard interval.
    guard: Train,
    /// Whether the guard interval has passed.
    begun: bool,
}

/// Slow start with SUSS of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Suss {
    params: Params,
    hystart: HyStart,
    /// Whether SUSS still measures: no refusal in the first round, no loss, no idle period.
    on: bool,
    /// Whether no round has refused yet: one that does ends fourfold growth.
    fast: bool,
    part: Part,
    /// Accelerated rounds so far: the blue part is `1 / 2^jumps` of a flight.
    jumps: u8,
    /// Rounds begun, and the one that lowered the smallest RTT.
    round: u32,
    min_round: u32,
    /// A round ends with the first ACK beyond this.
    head: Seq,
    start: Time,
    /// Whether the flight that is being acknowledged filled its window.
    filled: bool,
    /// Window at the start of the round.
    window: u64,
    /// Bytes acknowledged of the blue part, and its end.
    blue: u64,
    tail: Tail,
    /// The train of the last accelerated round.
    train: Nanos,
    /// HyStart's train has become too long: the exit comes when the window is above this.
    cap: Option<u64>,
    paced: Option<Paced>,
}

impl Suss {
    /// Creates the startup with these options.
    pub fn new(params: Params) -> Suss {
        Suss {
            params,
            hystart: HyStart::new(hystart::Params::LINUX),
            on: true,
            fast: true,
            part: Part::Red,
            jumps: 0,
            round: 1,
            min_round: 1,
            head: Seq(0),
            start: Time(0),
            filled: false,
            window: 0,
            blue: 0,
            tail: Tail::After(0),
            train: Nanos::ZERO,
            cap: None,
            paced: None,
        }
    }

    fn end(&mut self) {
        self.on = false;
        self.paced = None;
    }

    /// Ends the round if this ACK lies beyond it.
    fn roll(&mut self, ack: &Ack, w: Window, cx: &Context) {
        if ack.una <= self.head {
            return;
        }
        // SUSS pace-end: the next round is clocked by ACKs again.
        let paced = self.paced.take();
        self.filled = true;
        self.tail = match paced {
            Some(paced) => Tail::At(paced.end),
            // SUSS first-flight, D1: until one has filled its window, the next is the first.
            None if self.jumps == 0 => {
                let room = w.cwnd.saturating_sub(ack.inflight_before);
                self.filled = room < 2 * cx.mss;
                Tail::At(ack.nxt)
            }
            // SUSS blue-part: ACK clocking doubles it in every round.
            None => {
                self.fast = false;
                Tail::After(self.blue.saturating_mul(2))
            }
        };
        // One that was not acknowledged within its round was not sent in full.
        self.fast &= self.jumps == 0 || self.part == Part::Red;
        self.round = self.round.saturating_add(1);
        (self.head, self.start) = (ack.nxt, ack.now);
        (self.part, self.blue, self.window) = (Part::Blue, 0, w.cwnd);
    }

    /// Counts this ACK. Returns the bytes of the blue part before the ACK that completes it.
    fn count(&mut self, ack: &Ack, cx: &Context) -> Option<u64> {
        if self.part == Part::Red {
            return None;
        }
        let before = self.blue;
        self.blue = self.blue.saturating_add(ack.acked);
        let one = if cx.transport == Transport::Quic { 1 } else { cx.mss };
        let complete = match self.tail {
            Tail::At(end) => ack.una.0.saturating_add(one) >= end.0,
            Tail::After(bytes) => self.blue.saturating_add(cx.mss) >= bytes,
        };
        if !complete {
            return None;
        }
        self.part = Part::Red;
        Some(before)
    }

    /// Whether slow start would last at least two more rounds.
    fn predicts(&self, train: Nanos) -> bool {
        let min = self.hystart.min_rtt();
        if self.jumps == 0 {
            return min > LEAST_RTT && train < Nanos(min.0 / FIRST_TRAIN);
        }
        // SUSS next-train: the train of the whole flight grows by the same factor again and must
        // fit into half of the smallest RTT.
        let whole = train * (1 << self.jumps);
        let before = self.train * (1 << (self.jumps - 1));
        let next = mul_div(whole.0, whole.0, before.0);
        // SUSS rtt-rise: the rise since the minimum, extended by a round, stays below an eighth.
        let rounds = u64::from(self.round.saturating_sub(self.min_round));
        let extended = self.hystart.round_min() * rounds.saturating_add(1);
        let allowed = min * rounds.saturating_add(1) + Nanos((min * rounds).0 / RISE_DIVISOR);
        // SUSS most-rounds.
        self.jumps < self.params.most && next <= min.0 && extended <= allowed
    }

    /// Decides at the end of the blue part, after the ACK that completes it has grown the window.
    fn decide(&mut self, ack: &Ack, train: Option<Nanos>, w: &mut Window, cx: &Context) {
        if !(self.fast && self.filled) {
            return;
        }
        let train = train.filter(|&train| cx.limited && self.predicts(train));
        let accelerates = train.is_some_and(|train| self.accelerate(ack, train, w, cx));
        if !accelerates {
            self.fast = false;
            // SUSS first-refusal: the path is too short or too slow for all of it.
            if self.jumps == 0 {
                self.end();
            }
        }
    }

    /// Plans the paced part. Returns `false` if the train leaves no room for it.
    fn accelerate(&mut self, ack: &Ack, train: Nanos, w: &mut Window, cx: &Context) -> bool {
        let min = self.hystart.min_rtt();
        let jumps = self.jumps + 1;
        // SUSS guard-interval: the part of the round that belongs to the packets clocked by ACKs, and half
        // of what their train leaves of it.
        let clocked = Nanos(min.0 >> jumps);
        let limit = self.window.saturating_mul(FACTOR).min(w.ssthresh);
        // SUSS red-part.
        let red = limit.saturating_sub(self.blue.saturating_mul(2));
        let rate = Rate::from_bytes_over(red, min - clocked);
        let Some(rate) = rate.filter(|rate| rate.0 > 0 && train < clocked) else { return false };
        let next = ack.now + Nanos((clocked - train).0 / 2);
        let guard = Train { inflight: w.cwnd, next };
        self.paced = Some(Paced { end: ack.nxt, limit, rate, guard, begun: false });
        (self.jumps, self.train) = (jumps, train);
        // A pacer waits only for a packet that the window admits.
        w.cwnd = limit.min(w.cwnd + 2 * cx.mss).max(w.cwnd);
        true
    }

    /// HyStart's detectors while SUSS measures.
    fn watch(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let Some(rtt) = self.hystart.admit(ack, w, cx) else { return Verdict::Stay };
        let jumps = u32::from(self.jumps);
        let rose = self.hystart.delay(self.hystart.counted(rtt));
        let reached = match self.cap {
            // SUSS cap-exit: the flight that the train was scaled to.
            Some(cap) => (w.cwnd > cap).then_some(cap),
            None if self.part == Part::Blue => {
                let train = self.hystart.train_of(ack.now, w, cx, false, jumps);
                self.cap = train.map(|_| {
                    // SUSS cap-set: what the rest of the flight adds to the window.
                    let rest = self.blue.saturating_mul((1 << jumps) - 1);
                    w.cwnd.saturating_add(rest)
                });
                self.fast &= self.cap.is_none();
                None
            }
            None => None,
        };
        let (reason, estimate) = match (reached, rose) {
            (Some(cap), _) => (ExitReason::Train, Nanos(cap)),
            (None, Some(min)) => (ExitReason::Delay, min),
            (None, None) => return Verdict::Stay,
        };
        let verdict = self.hystart.leave(reason, estimate, ack, w, cx);
        let accelerated = self.jumps > 1;
        self.end();
        match verdict {
            // SUSS exit-inflight: after more than one accelerated round, the window becomes the
            // bytes in flight.
            Verdict::Leave(leave) if accelerated => {
                let kept = ack.inflight.clamp(cx.minimum_window().min(w.cwnd), w.cwnd);
                Verdict::Leave(Leave { ssthresh: kept, cwnd: Some(kept), ..leave })
            }
            verdict => verdict,
        }
    }
}

impl Startup for Suss {
    /// HyStart's; acceleration does not come back (D5).
    type Saved = Looking;

    #[inline]
    fn heeds(&self) -> Heeds {
        let sending = Heeds::sending(false);
        Heeds { sending: self.paced.is_some(), epoch: EpochUse::Everywhere, ..sending }
    }

    fn start(&mut self, now: Time, nxt: Seq) {
        self.hystart.start(now, nxt);
        self.head = nxt;
    }

    #[inline]
    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        let before = self.hystart.min_rtt();
        self.hystart.on_rtt(now, rtt, cx);
        if self.hystart.min_rtt() < before {
            self.min_round = self.round;
        }
    }

    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        let Some(paced) = &mut self.paced else { return };
        // Without an RTT there is nothing to pace by.
        if (ready.now < paced.guard.next && !paced.begun) || ready.srtt.is_none() {
            return;
        }
        // SUSS red-pace: the window opens as the packets leave.
        paced.begun = true;
        let ahead = cx.max_burst.max(10 * cx.mss);
        let open = ready.inflight.saturating_add(ahead).min(paced.limit).min(w.ssthresh);
        w.cwnd = w.cwnd.max(open);
    }

    fn on_sent(&mut self, sent: &Sent, _w: Window, _cx: &Context) {
        if let Some(paced) = self.paced.as_mut().filter(|paced| !paced.begun) {
            paced.end = sent.nxt;
        }
    }

    // SUSS blue-clocked: the part that ACKs clock leaves at once, so that its ACKs have the spacing of
    // the path.
    fn train(&self) -> Option<Train> {
        match &self.paced {
            _ if !self.on => None,
            None => Some(Train { inflight: u64::MAX, next: Time(0) }),
            Some(paced) => (!paced.begun).then_some(paced.guard),
        }
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        if !(self.on && cx.paced) {
            return self.hystart.sample(ack, w, cx);
        }
        let verdict = self.watch(ack, w, cx);
        self.hystart.note(ack);
        verdict
    }

    fn sample_in_recovery(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<u64> {
        self.hystart.sample_in_recovery(ack, w, cx)
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        // D2, and SUSS cap-exit: once the exit is in sight, nothing is measured any more.
        if !(self.on && cx.paced) || self.cap.is_some() {
            return self.hystart.grow(ack, acked, w, cx);
        }
        self.roll(ack, *w, cx);
        let before = self.count(ack, cx);
        if let Some(paced) = &mut self.paced {
            // SUSS red-still: what red ACKs free is paced like the rest.
            paced.guard.inflight = paced.guard.inflight.saturating_sub(ack.acked);
            return Grown::default();
        }
        let grown = self.hystart.grow(ack, acked, w, cx);
        if let Some(before) = before.filter(|_| w.in_slow_start()) {
            // SUSS train-length: of the ACKs before this one, extended to the whole part; none if
            // this one covers all of it.
            let length = ack.now.since(self.start).0;
            let train = (before > 0).then(|| Nanos(mul_div(length, self.blue, before)));
            self.decide(ack, train, w, cx);
        }
        grown
    }

    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        if self.paced.is_some() && w.in_slow_start() {
            max_fs.saturating_mul(FACTOR)
        } else {
            self.hystart.reach(max_fs, w, cx)
        }
    }

    fn reached(&mut self) -> ExitReason {
        self.end();
        self.hystart.reached()
    }

    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        self.end();
        self.hystart.on_congestion(signal, beta, ack, w, cx)
    }

    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        self.end();
        self.hystart.on_timeout(timeout, now, nxt);
    }

    fn on_idle(&mut self, now: Time, nxt: Seq) {
        self.end();
        self.hystart.on_idle(now, nxt);
    }

    fn save(&self) -> Looking {
        self.hystart.save()
    }

    fn restore(&mut self, saved: Looking) {
        self.hystart.restore(saved);
    }

    fn pacing(&self) -> Pacing {
        match &self.paced {
            Some(paced) if self.on => Pacing::Rate(paced.rate),
            _ => Pacing::default(),
        }
    }

    fn status(&self) -> Status {
        let phase = if self.paced.is_some() { Phase::Rapid } else { Phase::Startup };
        Status { phase, ..self.hystart.status() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.hystart.signals(visit);
        visit("suss_on", u64::from(self.on));
        visit("suss_fast", u64::from(self.on && self.fast));
        visit("suss_accelerated_rounds", u64::from(self.jumps));
        visit("suss_train_ns", self.train.0);
        visit("suss_blue_bytes", self.blue);
        if let Some(paced) = &self.paced {
            visit("suss_limit_bytes", paced.limit);
            visit("suss_rate", paced.rate.0);
        }
        if let Some(cap) = self.cap {
            visit("suss_cap_bytes", cap);
        }
    }
}
