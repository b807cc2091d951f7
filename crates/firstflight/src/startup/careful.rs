//! Careful Resume: a connection that knows the window and the RTT of an earlier one on the same
//! path jumps to half of that window, paced over a round trip, and retreats if the jump overshoots.
//!
//! Follows: RFC 9959 (May 2026; read as draft-ietf-tsvwg-careful-resume-24), phases Reconnaissance,
//! Unvalidated, Validating, Safe Retreat, Normal. The server decides what is saved, for how long
//! and for which client. The saved window is that of a [`Hint`], its rate times the RTT, or the
//! option `saved`; the saved RTT is the option `rtt`. State: 264 bytes, 152 of them HyStart++'s.
//! Vectors: `tests/it/careful.rs`. See also [`super::jump_start`], a fixed jump after an older draft.
//!
//! Departures:
//! * D1 (CR9959 pipe-1): acknowledged bytes are attributed to the jump by amounts, not by sequence
//!   numbers: the bytes in flight at the jump are assumed to be acknowledged or lost first. The sum
//!   is the same; SACKed bytes count as they arrive.
//! * D2 (CR9959 check-1): a full window and a round trip without an ACK are noticed with the next
//!   ACK, by the smoothed RTT.
//! * D3 (CR9959 curve-1): after a retreat slow start continues to the threshold, and CUBIC's curve
//!   starts there, as after a timeout.

use super::hystart_plus_plus::{self, HyStartPlusPlus, SavedStage};
use super::slow_start::double;
use super::{Grown, Heeds, Pacing, Resumption, Startup, Status, Verdict};
use crate::event::{Ack, Context, Phase, Ready, Signal, Timeout, Window};
use crate::hint::Hint;
use crate::options::{Range, params};
use crate::recovery::{CarefulRetreat, OwnRecovery, Retreat};
use crate::startup::jump::GAIN_JUMP;
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, Seq, Time};

params! {
    /// The saved set and the constants of Careful Resume.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// `saved_cwnd` in packets; `None`: that of the hint, without which there is no jump.
        pub saved: Option<u32> = None, "saved" [off or 1..=1_000_000 "packets"] "window of the earlier connection";
        /// `saved_rtt` in ms; without it every path is treated as the same path.
        pub rtt_ms: Option<u32> = None, "rtt" [off or 1..=60_000 "ms"] "smallest RTT of the earlier connection";
        /// `max_jump` in packets.
        pub max: Option<u32> = None, "max" [off or 1..=1_000_000 "packets"] "largest jump";
        /// `Beta`: the threshold after a retreat, as a share of the delivered bytes.
        pub beta: Ratio = Ratio::new(1, 2),
            "beta" ["0.5 to 1" if |beta: Ratio| 2 * beta.num() >= beta.den() && beta.num() <= beta.den(); Range::Fraction { off: false, low: "0.5", high: "1" }]
            "ssthresh after a retreat, as a share of the delivered bytes";
        /// HyStart++ before and after the jump instead of plain slow start.
        pub then_hystart: bool = false, "hystart" [] "HyStart++ instead of slow start";
    }
}

/// CR9959 recon-rtt: more than half of the saved RTT and at most ten times it.
pub(super) fn is_same_path(saved: Nanos, min: Nanos) -> bool {
    let (min, saved) = (u128::from(min.0), u128::from(saved.0));
    2 * min > saved && min <= 10 * saved
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Slow start from the initial window, learning whether this is the same path.
    Recon,
    /// The jump is being sent; none of it is acknowledged.
    Unvalidated { since: Time },
    /// The first packet of the jump arrived; validation ends when everything before `end` is
    /// acknowledged.
    Validating { end: Seq },
    /// The path has changed, without a loss: the window does not grow until the jump is
    /// acknowledged.
    Quiet { end: Seq },
    /// Careful Resume is over for the rest of the connection.
    Normal,
}

/// Careful Resume of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Careful {
    params: Params,
    state: State,
    /// The window does not grow on this ACK, because the ACK has set it.
    checked: bool,
    /// The jump overshot, or the path is another one.
    refuted: bool,
    /// End of the first round trip.
    first_end: Option<Seq>,
    una: Seq,
    min_rtt: Nanos,
    /// The hint's rate; zero without one.
    rate: Rate,
    /// PipeSize.
    pipe: u64,
    /// Bytes in flight at the jump that are not yet acknowledged or lost.
    before: u64,
    hystart: Option<HyStartPlusPlus>,
}

impl Careful {
    /// Creates the startup with this saved set.
    pub fn new(params: Params) -> Careful {
        let hystart =
            params.then_hystart.then(|| HyStartPlusPlus::new(hystart_plus_plus::Params::RFC9406));
        Careful {
            params,
            state: State::Recon,
            checked: false,
            refuted: false,
            first_end: None,
            una: Seq(0),
            min_rtt: Nanos::MAX,
            rate: Rate(0),
            pipe: 0,
            before: 0,
            hystart,
        }
    }

    /// CR9959 jump-half: at most half of the saved window.
    fn jump(&self, cx: &Context) -> u64 {
        let saved = match self.params.saved {
            Some(packets) => u64::from(packets).saturating_mul(cx.mss),
            // CR9959 hint-window: the hint's rate over the saved RTT, or over this connection's.
            None => self.rate.bytes_in(self.saved_rtt().unwrap_or(self.min_rtt)),
        };
        let saved = saved / 2;
        let max = self.params.max.map_or(u64::MAX, |max| u64::from(max).saturating_mul(cx.mss));
        saved.min(max).min(MAX_BYTES)
    }

    fn saved_rtt(&self) -> Option<Nanos> {
        self.params.rtt_ms.map(|ms| Nanos::from_millis(ms.into()))
    }

    /// CR9959 recon-rtt: more than half of the saved RTT and at most ten times it.
    fn same_path(&self) -> bool {
        self.saved_rtt().is_none_or(|saved| is_same_path(saved, self.min_rtt))
    }

    /// Counts acknowledged and lost bytes, separating those of the jump from earlier ones (D1).
    fn count(&mut self, ack: &Ack) {
        let old = ack.acked.min(self.before);
        self.before = (self.before - old).saturating_sub(ack.lost);
        // CR9959 pipe-1: all bytes that arrived, marked packets included.
        self.pipe = self.pipe.saturating_add(ack.acked - old).min(MAX_BYTES);
    }

    fn fresh(&self, ack: &Ack) -> bool {
        ack.acked > 0 && self.before == 0
    }

    /// CR9959 check-1: the flight must exceed the amount already proven.
    fn check(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let flight = ack.inflight_before;
        self.checked = true;
        if flight < cx.iw || flight <= self.pipe {
            self.state = State::Normal;
            return Verdict::Hold { cwnd: self.pipe.max(cx.iw).min(w.cwnd) };
        }
        self.state = State::Validating { end: ack.nxt };
        Verdict::Hold { cwnd: flight.min(w.cwnd) }
    }

    fn unvalidated(&mut self, since: Time, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let proven = self.pipe;
        let had = self.before;
        self.count(ack);
        // CR9959 path-changed: an RTT of at most half the saved one means another path.
        let other = ack.rtt.zip(self.saved_rtt()).is_some_and(|(rtt, saved)| 2 * rtt.0 <= saved.0);
        if other && ack.lost == 0 && !ack.ce {
            (self.state, self.refuted) = (State::Quiet { end: ack.nxt }, true);
            return Verdict::Hold { cwnd: (self.pipe / 2).max(cx.minimum_window()) };
        }
        if ack.lost > 0 || ack.ce {
            return Verdict::Stay;
        }
        let long = ack.srtt.is_some_and(|srtt| ack.now.since(since) > srtt);
        let full = ack.inflight_before.saturating_add(cx.mss) > w.cwnd;
        let fresh = self.pipe > proven || (had == 0 && ack.acked > 0);
        if fresh || long || full { self.check(ack, w, cx) } else { Verdict::Stay }
    }
}

impl Startup for Careful {
    type Saved = SavedStage;

    fn start(&mut self, now: Time, nxt: Seq) {
        self.una = nxt;
        if let Some(hystart) = &mut self.hystart {
            hystart.start(now, nxt);
        }
    }

    fn on_hint(&mut self, hint: &Hint) {
        self.rate = hint.rate;
    }

    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        if self.state != State::Recon {
            return;
        }
        if ready.idle > ready.timeout && ready.timeout > Nanos::ZERO {
            self.state = State::Normal;
            return;
        }
        let jump = self.jump(cx).min(w.ssthresh);
        // CR9959 recon-data: all of the first round trip has arrived.
        let acknowledged = self.first_end.is_some_and(|end| self.una >= end);
        // CR9959 recon-defer: the jump may wait until the data exceed the window.
        let backlog = ready.backlog > w.cwnd.saturating_sub(ready.inflight);
        let paced = cx.paced && ready.srtt.is_some();
        if !(acknowledged && backlog && paced && w.in_slow_start()) {
            return;
        }
        if jump <= w.cwnd || !self.same_path() {
            self.state = State::Normal;
            return;
        }
        // CR9959 unvalidated-entry.
        (self.pipe, self.before) = (ready.inflight.min(MAX_BYTES), ready.inflight.min(MAX_BYTES));
        self.state = State::Unvalidated { since: ready.now };
        w.cwnd = jump;
    }

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds::sending(self.state == State::Recon)
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        self.una = self.una.max(ack.una);
        self.checked = false;
        match self.state {
            State::Recon => {
                // The first ACK with an RTT sample: the last ACK of the handshake does not
                // acknowledge data.
                if let Some(rtt) = ack.rtt {
                    self.min_rtt = self.min_rtt.min(rtt);
                    self.first_end.get_or_insert(ack.nxt);
                }
                // CR9959 recon-congestion: any loss or mark rules out the jump.
                let css =
                    self.hystart.as_ref().is_some_and(|hystart| hystart.phase() != Phase::Startup);
                if ack.lost > 0 || ack.ce || css {
                    self.state = State::Normal;
                }
                Verdict::Stay
            }
            State::Unvalidated { since } => self.unvalidated(since, ack, w, cx),
            State::Validating { end } => {
                self.count(ack);
                // CR9959 validating-end: all of the jump arrived.
                if ack.una >= end && ack.lost == 0 && !ack.ce {
                    self.state = State::Normal;
                }
                Verdict::Stay
            }
            State::Quiet { end } => {
                self.pipe = self.pipe.saturating_add(ack.acked).min(MAX_BYTES);
                if ack.una < end {
                    return Verdict::Stay;
                }
                self.state = State::Normal;
                Verdict::Aim { ssthresh: self.params.beta.of(self.pipe) }
            }
            State::Normal => Verdict::Stay,
        }
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        let acked = match self.state {
            // CR9959 unvalidated-still: the window does not grow.
            State::Unvalidated { .. } | State::Quiet { .. } => return Grown::default(),
            _ if self.checked => return Grown::default(),
            // CR9959 validating-growth: by packets of the jump only.
            State::Validating { .. } if !self.fresh(ack) => return Grown::default(),
            _ => acked,
        };
        match &mut self.hystart {
            Some(hystart) => hystart.grow(ack, acked, w, cx),
            None => Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay },
        }
    }

    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        if let Some(hystart) = &mut self.hystart {
            hystart.on_congestion(signal, beta, ack, w, cx);
        }
        // A timer's losses have not passed the sample hook.
        if cx.so_far.is_timer(ack) {
            self.count(ack);
        }
        // CR9959 retreat-1: loss or marks before the jump is validated.
        let end = match core::mem::replace(&mut self.state, State::Normal) {
            State::Unvalidated { .. } => ack.nxt,
            State::Validating { end } => end,
            State::Recon | State::Quiet { .. } | State::Normal => return None,
        };
        self.refuted = true;
        let retreat = CarefulRetreat::new(self.params.beta, self.pipe, end, cx.mss);
        Some(OwnRecovery::Retreat(Retreat::Careful(retreat)))
    }

    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        // CR9959 timeout-1: the usual rule, in any phase.
        self.state = State::Normal;
        if let Some(hystart) = &mut self.hystart {
            hystart.on_timeout(timeout, now, nxt);
        }
    }

    fn on_idle(&mut self, now: Time, nxt: Seq) {
        self.state = State::Normal;
        if let Some(hystart) = &mut self.hystart {
            hystart.on_idle(now, nxt);
        }
    }

    fn save(&self) -> SavedStage {
        self.hystart.as_ref().map_or(SavedStage::Over, Startup::save)
    }

    fn restore(&mut self, saved: SavedStage) {
        if let Some(hystart) = &mut self.hystart {
            hystart.restore(saved);
        }
    }

    fn pacing(&self) -> Pacing {
        match (&self.state, &self.hystart) {
            // CR9959 unvalidated-pacing: the jump over one round trip.
            (State::Unvalidated { .. }, _) => Pacing::Gain(GAIN_JUMP),
            (_, Some(hystart)) => hystart.pacing(),
            (_, None) => Pacing::default(),
        }
    }

    fn status(&self) -> Status {
        let phase = match (&self.state, &self.hystart) {
            (State::Unvalidated { .. }, _) => Phase::Jump,
            (_, Some(hystart)) => hystart.phase(),
            (_, None) => Phase::Startup,
        };
        let resumption = match self.state {
            // CR9959 retreat-forget: saved values that overshot must not be used again.
            _ if self.refuted => Resumption::Refuted,
            State::Normal => Resumption::Unused,
            _ if self.params.saved.is_none() && self.rate.0 == 0 => Resumption::Unused,
            _ => Resumption::Underway,
        };
        Status { phase, rounds: None, resumption }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("careful_pipe", self.pipe);
        if let Some(hystart) = &self.hystart {
            hystart.signals(visit);
        }
    }
}
