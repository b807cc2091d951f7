//! The startup of a learned sender: decisions come from a policy, or from outside.

use super::course::{Action, Acts, Control, Course};
use super::policy::Policy;
use super::watch::{ONE, Observation, Watch};
use firstflight::avoidance::AnyAvoidance;
use firstflight::event::{Signal, Timeout, Window};
use firstflight::recovery::{AnyRecovery, OwnRecovery};
use firstflight::startup::{ExitReason, Grown, Handover, Heeds, Leave, Pacing, Startup, Verdict};
use firstflight::units::mul_div;
use firstflight::{Ack, Context, Nanos, Rate, Ratio, Seq, Time};
use firstflight_sim::instrumented::Combined;
use std::cell::Cell;
use std::sync::Arc;

/// One in the unit of factors.
const UNIT: u64 = 1 << 16;

/// `2^(k/32)` in units of 1/65536, rounded.
const POWERS: [u64; 32] = [
    65_536, 66_971, 68_438, 69_936, 71_468, 73_032, 74_632, 76_266, 77_936, 79_642, 81_386, 83_169,
    84_990, 86_851, 88_752, 90_696, 92_682, 94_711, 96_785, 98_905, 101_070, 103_283, 105_545,
    107_856, 110_218, 112_631, 115_098, 117_618, 120_194, 122_825, 125_515, 128_263,
];

/// `2^(of / 32)` in units of 1/65536, for `of` from -480 to 960.
fn power(of: i32) -> u64 {
    let whole = of.div_euclid(32);
    let rest = POWERS[of.rem_euclid(32) as usize];
    if whole >= 0 { rest << whole } else { rest >> -whole }
}

/// Source of decisions.
#[derive(Clone, Debug)]
enum Mind {
    /// The caller decides, between two steps of a trial.
    Outside,
    /// A trained policy decides.
    Policy(Arc<Policy>),
}

/// A startup whose decisions come from a policy or from outside.
#[derive(Clone, Debug)]
pub struct Steered {
    mind: Mind,
    course: Course,
    watch: Watch,
    seen: Observation,
    /// A decision from outside is due.
    waiting: Cell<bool>,
    /// A decision that is not in force yet.
    answer: Cell<Option<Action>>,
    action: Action,
    pacing: Pacing,
    /// Remainder of growth by a fraction, in bytes times 65536.
    rest: u64,
    /// No further decision: plain slow start until avoidance takes over.
    over: bool,
}

impl Combined for Steered {
    type Avoidance = AnyAvoidance;
    type Recovery = AnyRecovery;
}

impl Steered {
    fn new(mind: Mind, course: Course) -> Steered {
        Steered {
            mind,
            course,
            watch: Watch::new(course.step),
            seen: Observation::default(),
            waiting: Cell::new(false),
            answer: Cell::new(None),
            action: Action::DOUBLE,
            pacing: Pacing::default(),
            rest: 0,
            over: false,
        }
    }

    /// Creates a startup that follows the policy.
    pub fn by(policy: Arc<Policy>) -> Steered {
        let course = policy.course;
        Steered::new(Mind::Policy(policy), course)
    }

    /// Waits for decisions from outside ([`Steered::decide`]).
    pub fn from_outside(course: Course) -> Steered {
        Steered::new(Mind::Outside, course)
    }

    /// True if the sender waits for a decision.
    pub fn is_waiting(&self) -> bool {
        self.waiting.get()
    }

    /// The last observation.
    pub fn seen(&self) -> &Observation {
        &self.seen
    }

    /// Sets the decision; values are clamped to their range.
    pub fn decide(&self, action: Action) {
        self.answer.set(Some(Action { value: action.value.clamp(-ONE, ONE), ..action }));
        self.waiting.set(false);
    }

    /// A decision comes into force.
    fn obey(&mut self, w: Window, cx: &Context) -> Verdict {
        let sender = self.course.acts == Acts::Sender;
        let Action { value, leave } = self.action;
        let times = |amount: u64, factor: u64| mul_div(amount, factor, UNIT);
        let (target, cwnd, ends) = match self.course.control {
            Control::Growth if value >= 0 => return Verdict::Stay,
            Control::Growth => {
                let cwnd = times(w.cwnd, power(value));
                (cwnd, cwnd, true)
            }
            Control::Window => {
                let cwnd = times(cx.mss, power(256 + 4 * value));
                (cwnd, cwnd, leave)
            }
            Control::Rate => {
                // 10 Mbit/s in bytes per second.
                let rate = times(1_250_000, power(4 * value));
                self.pacing = Pacing::Rate(Rate(rate));
                let rtt = cx.so_far.min_rtt.unwrap_or(Nanos(0));
                let bdp = Rate(rate).bytes_in(rtt);
                (bdp, bdp.saturating_mul(2), leave)
            }
        };
        let least = cx.minimum_window();
        if sender || !ends {
            return Verdict::Hold { cwnd: cwnd.max(least) };
        }
        self.over = true;
        let target = target.max(least);
        Verdict::Leave(Leave {
            reason: ExitReason::Estimate,
            ssthresh: target,
            cwnd: Some(target),
            handover: Handover::LossFree,
            estimate: Some(target),
        })
    }

    /// Growth of the window in force, less one, in units of 1/65536.
    fn growth(&self) -> u64 {
        if self.over {
            return UNIT;
        }
        match self.course.control {
            Control::Growth => power(self.action.value.max(0)) - UNIT,
            Control::Window | Control::Rate => 0,
        }
    }
}

impl Startup for Steered {
    type Saved = ();

    fn start(&mut self, now: Time, _nxt: Seq) {
        self.watch.start(now);
    }

    fn on_rtt(&mut self, _now: Time, rtt: Nanos, _cx: &Context) {
        self.watch.on_rtt(rtt);
    }

    fn heeds(&self) -> Heeds {
        Heeds::sending(false)
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        self.watch.on_ack(ack);
        // A decision from outside is not there before the instant is over, so a policy's waits, too.
        if self.over || self.watch.decided().is_some_and(|at| ack.now <= at) {
            return Verdict::Stay;
        }
        match self.answer.take() {
            Some(action) => {
                self.action = action;
                self.obey(w, cx)
            }
            None => Verdict::Stay,
        }
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        let (growth, mut leftover) = (self.growth(), 0);
        if cx.limited && growth > 0 {
            let acked = cx.cap(acked);
            let sum = u128::from(acked) * u128::from(growth) + u128::from(self.rest);
            self.rest = (sum % u128::from(UNIT)) as u64;
            let unused = w.open((sum / u128::from(UNIT)) as u64);
            let unused = u128::from(unused) * u128::from(UNIT) / u128::from(growth);
            leftover = (unused as u64).min(acked);
        }
        if !self.over && self.watch.is_due(ack) {
            self.seen = self.watch.take(ack, *w, self.action.value, cx);
            match &self.mind {
                Mind::Outside => self.waiting.set(true),
                Mind::Policy(policy) => self.answer.set(Some(policy.decide(&self.seen))),
            }
        }
        Grown { leftover, verdict: Verdict::Stay }
    }

    fn reach(&self, max_fs: u64, w: Window, _cx: &Context) -> u64 {
        if w.in_slow_start() { mul_div(max_fs, self.growth() + UNIT, UNIT) } else { 0 }
    }

    fn on_congestion(
        &mut self,
        _signal: Signal,
        _beta: Ratio,
        _ack: &Ack,
        _w: Window,
        _cx: &Context,
    ) -> Option<OwnRecovery> {
        self.over = true;
        None
    }

    fn absorbs(&mut self, _signal: Signal, ack: &Ack, cx: &Context) -> bool {
        if self.course.acts == Acts::Startup {
            return false;
        }
        // The sample hook does not run for a timer.
        if cx.so_far.is_timer(ack) {
            self.watch.on_ack(ack);
        }
        true
    }

    fn is_whole(&self) -> bool {
        self.course.acts == Acts::Sender
    }

    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.over = self.course.acts == Acts::Startup;
    }

    fn pacing(&self) -> Pacing {
        // Slow start after a timeout has slow start's pacing.
        if self.over { Pacing::default() } else { self.pacing }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        visit("learned_action", (self.action.value + ONE).unsigned_abs().into());
        visit("learned_decided", self.watch.decided().map_or(0, |at| at.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact_and_the_others_are_between() {
        assert_eq!(
            [power(0), power(32), power(64), power(-32)],
            [UNIT, 2 * UNIT, 4 * UNIT, UNIT / 2]
        );
        for k in 0..32 {
            let exact = libm::exp2(f64::from(k) / 32.0) * UNIT as f64;
            assert_eq!(POWERS[k as usize], exact.round() as u64, "2^({k}/32)");
        }
        assert!((-480..960).all(|of| power(of) <= power(of + 1)), "a larger power is smaller");
    }
}
