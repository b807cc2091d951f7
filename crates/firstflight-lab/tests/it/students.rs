//! Algorithms written from the documents alone, in floating point, each with faults that can be
//! injected: vectors and `conform` must accept them without a fault and reject them with one.

use firstflight::arm::Arm;
use firstflight::avoidance::{AnyAvoidance, Avoidance, Cut, Reduced};
use firstflight::controller::Controller;
use firstflight::event::{Signal, Window};
use firstflight::exit::{ExitReason, Handover};
use firstflight::recovery::{AnyRecovery, Policy};
use firstflight::startup::{AnyStartup, Grown, Leave, Startup, Verdict};
use firstflight::{Ack, Begin, Event, Nanos, Ratio, Seq, Time};
use firstflight_lab::Error;
use firstflight_lab::conform::{Foreign, OneOfOurs};

/// CUBIC as RFC 9438 has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cubic {
    pub(crate) c: f64,
    pub(crate) waits: bool,
    pub(crate) fast_convergence: bool,
    pub(crate) reno_friendly: bool,
    pub(crate) grows: bool,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// The last ACK.
    last: Time,
    k: f64,
    origin: f64,
    w_est: f64,
    /// The window with its fraction of a byte.
    cwnd: f64,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic {
            c: 0.4,
            waits: true,
            fast_convergence: true,
            reno_friendly: true,
            grows: true,
            w_max: 0.0,
            cwnd_prior: f64::INFINITY,
            epoch: None,
        }
    }
}

const BETA: f64 = 0.7;

impl Cubic {
    /// Leaves the last `span` out of the epoch, but nothing before the last ACK.
    fn skip(&mut self, now: Time, span: Nanos) {
        if let Some(epoch) = &mut self.epoch {
            let span = span.min(now.since(epoch.last));
            epoch.start += span;
            epoch.last += span;
        }
    }
}

impl Avoidance for Cubic {
    type Saved = Cubic;

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &firstflight::event::Context) {
        if !cx.limited {
            // RFC 9438 section 5.8: this time does not count.
            self.skip(ack.now, Nanos::MAX);
            return;
        }
        if !self.grows {
            return;
        }
        let (mss, cwnd) = (cx.mss as f64, w.cwnd as f64);
        let Cubic { c, waits, w_max, cwnd_prior, .. } = *self;
        let epoch = self.epoch.get_or_insert_with(|| {
            let below = (w_max - cwnd).max(0.0);
            let k = if waits { (below / mss / c).cbrt() } else { 0.0 };
            Epoch { start: ack.now, last: ack.now, k, origin: w_max.max(cwnd), w_est: cwnd, cwnd }
        });
        if (epoch.cwnd - cwnd).abs() >= 1.0 {
            epoch.cwnd = cwnd;
        }
        epoch.last = ack.now;
        let curve = |t: f64| epoch.origin + mss * c * (t - epoch.k).powi(3);
        let t = ack.now.since(epoch.start).0 as f64 / 1e9;
        let rtt = ack.srtt.unwrap_or_default().0 as f64 / 1e9;
        let target = curve(t + rtt).clamp(epoch.cwnd, 1.5 * epoch.cwnd);
        let friendly = curve(t) < epoch.w_est && self.reno_friendly;
        let alpha = if epoch.w_est < cwnd_prior { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.w_est += alpha * mss * acked as f64 / epoch.cwnd;
        epoch.cwnd = if friendly {
            epoch.cwnd.max(epoch.w_est)
        } else {
            epoch.cwnd + (target - epoch.cwnd) / epoch.cwnd * acked as f64
        };
        w.cwnd = epoch.cwnd as u64;
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &firstflight::event::Context) -> Reduced {
        let cwnd = w.cwnd as f64;
        let base = cut.flight.max(cut.inflight_before).min(w.cwnd) as f64;
        let again = self.fast_convergence && cwnd < self.w_max;
        self.w_max = if again { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        let ssthresh = ((BETA * base) as u64).max(2 * cx.mss);
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &firstflight::event::Context) -> u64 {
        self.reduce(cut, w, cx).ssthresh
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.epoch = None;
    }

    fn hand_over(&mut self, _: Handover, w: Window, _: &firstflight::event::Context) {
        self.w_max = w.cwnd as f64;
        self.epoch = None;
    }

    fn on_idle(&mut self, now: Time, idle: Nanos, _since_sent: Nanos) {
        self.skip(now, idle);
    }

    fn beta(&self, _: Signal, _: bool) -> Ratio {
        Ratio::new(7, 10)
    }

    fn save(&self) -> Cubic {
        *self
    }

    fn restore(&mut self, saved: Cubic) {
        *self = saved;
    }
}

/// NewReno; `factor` packets per round trip instead of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewReno {
    pub(crate) factor: f64,
    carry: f64,
}

impl NewReno {
    pub(crate) fn growing(factor: f64) -> NewReno {
        NewReno { factor, carry: 0.0 }
    }
}

impl Avoidance for NewReno {
    type Saved = f64;

    fn grow(&mut self, _: &Ack, acked: u64, w: &mut Window, cx: &firstflight::event::Context) {
        if cx.limited {
            self.carry += self.factor * (cx.mss * acked) as f64 / w.cwnd as f64;
            w.cwnd += self.carry as u64;
            self.carry = self.carry.fract();
        }
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &firstflight::event::Context) -> Reduced {
        let base = cut.flight.max(cut.inflight_before).min(w.cwnd);
        let ssthresh = (base / 2).max(2 * cx.mss);
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, cut: &Cut, _: Window, cx: &firstflight::event::Context) -> u64 {
        (cut.inflight_before / 2).max(2 * cx.mss)
    }

    fn on_persistent_congestion(&mut self, _now: Time) {}

    fn hand_over(&mut self, _: Handover, _: Window, _: &firstflight::event::Context) {}

    fn on_idle(&mut self, _now: Time, _idle: Nanos, _since_sent: Nanos) {}

    fn beta(&self, _: Signal, _: bool) -> Ratio {
        Ratio::new(1, 2)
    }

    fn save(&self) -> f64 {
        self.carry
    }

    fn restore(&mut self, saved: f64) {
        self.carry = saved;
    }
}

/// HyStart++ as RFC 9406 has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HyStartPlusPlus {
    pub(crate) rounds: u32,
    pub(crate) divisor: u64,
    pub(crate) most_threshold: Nanos,
    window_end: Seq,
    last_min: Nanos,
    cur_min: Nanos,
    samples: u32,
    rolls: u32,
    /// The RTT that conservative slow start compares with, and its rounds so far.
    css: Option<(Nanos, u32)>,
    over: bool,
    carry: u64,
}

impl Default for HyStartPlusPlus {
    fn default() -> HyStartPlusPlus {
        HyStartPlusPlus {
            rounds: 5,
            divisor: 4,
            most_threshold: Nanos::from_millis(16),
            window_end: Seq(0),
            last_min: Nanos::MAX,
            cur_min: Nanos::MAX,
            samples: 0,
            rolls: 0,
            css: None,
            over: false,
            carry: 0,
        }
    }
}

impl Startup for HyStartPlusPlus {
    type Saved = HyStartPlusPlus;

    fn save(&self) -> HyStartPlusPlus {
        *self
    }

    fn restore(&mut self, saved: HyStartPlusPlus) {
        *self = saved;
    }

    fn start(&mut self, _now: Time, nxt: Seq) {
        self.window_end = nxt;
    }

    fn grow(
        &mut self,
        ack: &Ack,
        acked: u64,
        w: &mut Window,
        cx: &firstflight::event::Context,
    ) -> Grown {
        let most = if cx.paced || cx.transport == firstflight::event::Transport::Quic {
            acked
        } else {
            acked.min(8 * cx.mss)
        };
        if cx.limited {
            let divisor = if self.css.is_some() && !self.over { self.divisor } else { 1 };
            let sum = most + if divisor > 1 { self.carry } else { 0 };
            self.carry = sum % divisor;
            w.cwnd = (w.cwnd + sum / divisor).min(w.ssthresh);
        }
        if self.over {
            return Grown::default();
        }
        if let Some(rtt) = ack.rtt {
            self.cur_min = self.cur_min.min(rtt);
            self.samples += 1;
        }
        if self.samples >= 8 {
            match self.css {
                None if self.last_min < Nanos::MAX && self.rolls >= 2 => {
                    let rise = Nanos(self.last_min.0 / 8)
                        .clamp(Nanos::from_millis(4), self.most_threshold);
                    if self.cur_min >= self.last_min + rise {
                        self.css = Some((self.cur_min, 0));
                        self.samples = 0;
                    }
                }
                Some((base, _)) if self.cur_min < base => {
                    self.css = None;
                    self.samples = 0;
                }
                _ => {}
            }
        }
        if ack.una >= self.window_end {
            self.window_end = ack.nxt;
            // RFC 9406 4.2, also of a round without a sample.
            self.last_min = self.cur_min;
            self.cur_min = Nanos::MAX;
            self.samples = 0;
            self.rolls += 1;
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                if *rounds >= self.rounds {
                    self.over = true;
                    let leave = Leave {
                        reason: ExitReason::CssDone,
                        ssthresh: w.cwnd,
                        cwnd: None,
                        handover: Handover::LossFree,
                        estimate: None,
                    };
                    return Grown { leftover: 0, verdict: Verdict::Leave(leave) };
                }
            }
        }
        Grown::default()
    }

    fn on_congestion(
        &mut self,
        _: Signal,
        _: Ratio,
        _: &Ack,
        _: Window,
        _: &firstflight::event::Context,
    ) -> Option<firstflight::recovery::OwnRecovery> {
        self.over = true;
        self.css = None;
        None
    }
}

type Make<S, A, R> = Box<dyn Fn(&Begin) -> Controller<S, A, R>>;

/// A student behind the interface for controllers that are not ours: everything but the student's
/// part is that of the arm that the connection is steered by.
pub(crate) struct Student<S: Startup, A: Avoidance, R: Policy> {
    make: Make<S, A, R>,
    now: Option<Controller<S, A, R>>,
}

/// Behind the arm's startup and recovery.
pub(crate) fn avoiding<A: Avoidance + Copy + 'static>(
    avoidance: A,
) -> Student<AnyStartup, A, AnyRecovery> {
    let make = move |begin: &Begin| {
        let Begin { now, arm, config, nxt, .. } = *begin;
        let (_, recovery) = arm.after_startup();
        let startup = AnyStartup::from(firstflight::startup::SlowStart);
        Controller::new(startup, avoidance, recovery, config, now, nxt)
    };
    Student { make: Box::new(make), now: None }
}

/// Before the arm's avoidance and recovery.
pub(crate) fn starting<S: Startup + Copy + 'static>(
    startup: S,
) -> Student<S, AnyAvoidance, AnyRecovery> {
    let make = move |begin: &Begin| {
        let Begin { now, arm, config, nxt, .. } = *begin;
        arm.controller_with(startup, config, now, nxt)
    };
    Student { make: Box::new(make), now: None }
}

impl<S: Startup, A: Avoidance, R: Policy> Foreign for Student<S, A, R> {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        self.now = Some((self.make)(begin));
        Ok(())
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        self.now.as_mut().expect("it has begun").tell(event);
        Ok(())
    }

    fn window(&self) -> (u64, Option<u64>) {
        let now = self.now.as_ref().expect("it has begun");
        (now.cwnd(), now.ssthresh())
    }
}

/// The name of those that have no fault.
pub(crate) const WITHOUT: &str = "no fault";

/// Each student without a fault and with each, and the arm that it is held against.
pub(crate) fn faults() -> Vec<(&'static str, &'static str, Box<dyn Foreign>)> {
    const CUBIC: &str = "slowstart/cubic/immediate";
    const RENO: &str = "slowstart/reno/immediate";
    const PRR: &str = "slowstart/cubic/prr";
    type Fault = (&'static str, &'static str, Box<dyn Foreign>);
    let (cubic, hystart) = (Cubic::default(), HyStartPlusPlus::default());
    let avoids = |fault, cubic| -> Fault { (fault, CUBIC, Box::new(avoiding(cubic))) };
    let starts = |fault, startup| -> Fault { (fault, "hystart++", Box::new(starting(startup))) };
    let grows =
        |fault, factor| -> Fault { (fault, RENO, Box::new(avoiding(NewReno::growing(factor)))) };
    let repairs = |fault, arm| -> Fault {
        (fault, PRR, Box::new(OneOfOurs::new(Arm::parse(arm).expect("an arm"))))
    };
    vec![
        avoids(WITHOUT, cubic),
        avoids("C = 4", Cubic { c: 4.0, ..cubic }),
        avoids("C = 0.04", Cubic { c: 0.04, ..cubic }),
        avoids("K = 0", Cubic { waits: false, ..cubic }),
        avoids("no fast convergence", Cubic { fast_convergence: false, ..cubic }),
        avoids("no Reno-friendly region", Cubic { reno_friendly: false, ..cubic }),
        avoids("CUBIC without growth", Cubic { grows: false, ..cubic }),
        starts(WITHOUT, hystart),
        starts("3 rounds", HyStartPlusPlus { rounds: 3, ..hystart }),
        starts("10 rounds", HyStartPlusPlus { rounds: 10, ..hystart }),
        starts("no bound of 16 ms", HyStartPlusPlus { most_threshold: Nanos::MAX, ..hystart }),
        starts("CSS that grows by half", HyStartPlusPlus { divisor: 2, ..hystart }),
        grows(WITHOUT, 1.0),
        grows("NewReno with double growth", 2.0),
        grows("NewReno without growth", 0.0),
        repairs(WITHOUT, PRR),
        repairs("PRR without its bounds", "slowstart/cubic/prr(mode=ub)"),
        repairs("PRR by CRB alone", "slowstart/cubic/prr(mode=crb)"),
    ]
}
