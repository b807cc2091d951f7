//! ABBA: CUBIC or Cuback that grows faster while round trips are shorter than expected for its
//! window.
//!
//! Each cut begins a period. The round trip with a full queue and the smallest one since define a
//! line ([`abba_model`](super::abba_model)). If the latest sample is below the line, the window
//! grows by two thirds of the room per round trip; otherwise it grows as in CUBIC. A window that
//! has grown well past the one that was cut is compared with a line from the origin. Cuts are
//! unchanged. Follows: draft-kazuho-ccwg-abba (author's copy of September 2026: linear model, no
//! recalibration), quicly's bound as an option; its first version, of 7 September, is `version=1`
//! ([`abba_first`](super::abba_first)). State: 232 bytes, of which a false alarm restores 152.
//!
//! Departures:
//! * D1 (ABBA 4-cap): up to the window before the cut over beta, growth is bounded as in quicly:
//!   the draft itself notes that after a cut to 0.85 it would not yield otherwise. `cap=off` is
//!   the draft.
//! * D2 (ABBA 3-first): before the first cut, and after a timeout until the next cut, there is no
//!   line; the draft does not specify this.
//! * D3 (ABBA 3.2-low): every smaller sample moves the low point; quicly waits for a millisecond.
//! * D4 (ABBA1 5.3-anew): the ACK that returns the first version to slow start does not grow the
//!   window; the draft does not specify this. A timeout ends a period like a cut.

use super::abba_first::Queue;
use super::abba_model::{Gain, Line, Point, micros};
use super::cubic_curve::icbrt;
use super::{
    Avoidance, Cuback, Cubic, Cut, FACTOR, FACTORS, OFF_OR_FACTOR, OFF_OR_FACTORS, Reduced, Sizes,
    cuback, cubic, is_factor, is_optional_factor, segment, window,
};
use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::named::named;
use crate::options::{Range, params};
use crate::signal::rtt_floor::RttFloor;
use crate::units::{MAX_BYTES, Nanos, Ratio, Time, UNSET_SSTHRESH};

named! {
    /// The algorithm that ABBA is based on.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Over {
        /// CUBIC.
        #[default]
        Cubic = "cubic",
        /// Cuback.
        Cuback = "cuback",
    }
}

named! {
    /// Version of ABBA.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Version {
        /// A gate at the bottom of the queue, and slow start that measures the top again (7
        /// September 2026).
        First = "1",
        /// The linear model.
        #[default]
        Second = "2",
    }
}

params! {
    /// The options of ABBA and of the algorithm that it is based on.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The algorithm that cuts, and grows when ABBA does not.
        pub over: Over = Over::Cubic, "over" [] "what it stands on";
        /// Version; gain and cap apply to the second.
        pub version: Version = Version::Second, "version" [] "1 of 7 September 2026, 2 with the linear model";
        /// Share of the room that a round trip takes: ABBA 4-accel 2/3, quicly 3/5.
        pub gain: Ratio = Ratio::new(2, 3),
            "gain" ["a fraction up to 1 of at most three digits" if is_gain; Range::Fraction { off: false, low: "0.05", high: "1" }] "share of the room that a round trip takes";
        /// ABBA 4-cap.
        pub cap: bool = true, "cap" [] "bound growth as quicly does until the window before the cut over beta";
        /// Factor of a reduction, at most 1.
        pub beta: Ratio = Ratio::new(7, 10), "beta" [words FACTOR if is_factor; FACTORS] "decrease factor";
        /// Factor after marks if it differs; RFC 8511: 0.85.
        pub abe: Option<Ratio> = None, "abe" [words OFF_OR_FACTOR if is_optional_factor; OFF_OR_FACTORS] "decrease factor after ECN marks (RFC 8511: 0.85)";
        /// RFC 9438 section 4.7.
        pub fast_convergence: bool = true, "fast" [] "fast convergence";
    }
}

fn is_gain(gain: Ratio) -> bool {
    gain.num() <= gain.den() && gain.den() < 1_000
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Cubic(Cubic),
    Cuback(Cuback),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BaseSaved {
    Cubic(<Cubic as Avoidance>::Saved),
    Cuback(<Cuback as Avoidance>::Saved),
}

macro_rules! each {
    ($base:expr, $avoidance:ident => $call:expr) => {
        match $base {
            Base::Cubic($avoidance) => $call,
            Base::Cuback($avoidance) => $call,
        }
    };
}

/// The model and its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Model {
    high: Point,
    low: Point,
    line: Line,
    /// The latest sample in microseconds; zero while there was none.
    latest_us: u32,
    /// Remainder of [`Gain::grow`].
    carry: u32,
    /// Largest growth per byte at which the last cut still yields, in millionths.
    most_ppm: u32,
    stage: Stage,
    /// Whether the last cut was for marks.
    by_ecn: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No cut has set a line (D2).
    #[default]
    Unknown,
    /// From a cut to the end of its recovery.
    Recovery,
    /// There are two points.
    Known,
}

/// The version in use and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    First(Queue),
    Second(Model),
}

/// State that a false alarm restores.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Saved {
    base: BaseSaved,
    how: How,
}

/// ABBA's congestion avoidance.
#[derive(Clone, Copy, Debug)]
pub struct Abba {
    base: Base,
    floor: RttFloor,
    how: How,
    gain: Ratio,
    cap: bool,
}

impl Abba {
    /// ABBA with these choices.
    pub fn new(params: Params) -> Abba {
        let Params { over, version, gain, cap, beta, abe, fast_convergence } = params;
        let base = match over {
            Over::Cubic => {
                let cubic = cubic::Params { beta, abe, fast_convergence, ..Default::default() };
                Base::Cubic(Cubic::new(cubic))
            }
            Over::Cuback => {
                let cuback = cuback::Params { beta, abe, fast_convergence, ..Default::default() };
                Base::Cuback(Cuback::new(cuback))
            }
        };
        let how = match version {
            Version::First => How::First(Queue::default()),
            Version::Second => How::Second(Model::default()),
        };
        Abba { base, floor: RttFloor::default(), how, gain, cap }
    }

    /// The first version's view of the queue; `None` in the second.
    #[doc(hidden)]
    pub fn queue(&self) -> Option<&Queue> {
        match &self.how {
            How::First(queue) => Some(queue),
            How::Second(_) => None,
        }
    }

    fn model(&self) -> Option<&Model> {
        match &self.how {
            How::First(_) => None,
            How::Second(model) => Some(model),
        }
    }

    /// The current line; empty in the first version.
    #[doc(hidden)]
    pub fn line(&self) -> Line {
        self.model().map_or_else(Line::default, |model| model.line)
    }

    /// The window that was cut and the smallest round trip up to the end of its recovery; `None`
    /// without a cut.
    #[doc(hidden)]
    pub fn high(&self) -> Option<Point> {
        self.model().filter(|model| model.stage != Stage::Unknown).map(|model| model.high)
    }

    /// The smallest round trip since, and its window; `None` until recovery is over.
    #[doc(hidden)]
    pub fn low(&self) -> Option<Point> {
        self.model().filter(|model| model.stage == Stage::Known).map(|model| model.low)
    }

    fn factor(&self) -> Ratio {
        let by_ecn = match &self.how {
            How::First(queue) => queue.by_ecn,
            How::Second(model) => model.by_ecn,
        };
        self.beta(if by_ecn { Signal::Ecn } else { Signal::Loss }, false)
    }

    /// The window before the last cut, as recorded by the underlying algorithm.
    fn prior(&self) -> u64 {
        each!(&self.base, base => base.cwnd_prior())
    }

    fn floor_us(&self) -> Option<u32> {
        self.floor.floor().map(micros)
    }

    fn note_cut(&mut self, signal: Signal, cwnd: u64, cx: &Context) {
        let beta = self.beta(signal, false);
        let How::Second(m) = &mut self.how else { return };
        m.by_ecn = signal == Signal::Ecn;
        // ABBA 3.1-high: before marks the queue has stood for a round trip; around a loss it is
        // full until the end of recovery, and the ACK that reveals the loss is the first to show
        // how full.
        let first = if m.latest_us > 0 { m.latest_us } else { micros(cx.srtt) };
        let rtt_us = match signal {
            Signal::Ecn => self.floor.floor().map_or(first, micros),
            Signal::Loss => first,
        };
        m.high = Point { cwnd, rtt_us };
        (m.line, m.carry, m.stage) = (Line::default(), 0, Stage::Recovery);
        // ABBA quicly-cap: beta^(-2/3) - 1.
        let square = |n: u64| u128::from(n) * u128::from(n);
        let root =
            icbrt(square(beta.den()) * 1_000_000_000_000_000_000 / square(beta.num()).max(1));
        m.most_ppm = root.saturating_sub(1_000_000).min(1_000_000) as u32;
    }

    /// ABBA 3.4-beyond: well past the window that was cut, the line is redrawn from the origin.
    fn redraw(&mut self, cwnd: u64) {
        let beta = self.factor();
        let floor = self.floor_us();
        let How::Second(m) = &mut self.how else { return };
        if m.stage != Stage::Known || m.line.is_from_origin() {
            return;
        }
        let far = u128::from(m.high.cwnd) * u128::from(2 * beta.den() - beta.num().min(beta.den()));
        if u128::from(cwnd) * u128::from(beta.den()) <= far {
            return;
        }
        let Some(floor) = floor else { return };
        // The window has been following the prediction of the previous line.
        let rtt_us = m.line.at(cwnd).map_or(floor, |rtt| rtt.max(floor));
        m.line = Line::from_origin(cwnd, rtt_us);
    }

    /// The window from accelerated growth; `None` without acceleration.
    fn accelerated(&self, cwnd: u64, acked: u64, carry: &mut u32) -> Option<u64> {
        let beta = self.factor();
        let m = match &self.how {
            How::First(queue) => {
                return Some(cwnd.saturating_add(queue.grow(acked, beta, carry)?).min(MAX_BYTES));
            }
            // Before a cut and during its recovery there is no line, so there is no room.
            How::Second(model) => model,
        };
        // ABBA 4-cap.
        let below = u128::from(cwnd) * u128::from(beta.num())
            < u128::from(self.prior()) * u128::from(beta.den());
        let most_ppm = if self.cap && below { m.most_ppm } else { 0 };
        let gain = Gain { share: self.gain, most_ppm };
        let bytes = gain.grow(m.line, cwnd, m.latest_us, acked, carry)?;
        Some(cwnd.saturating_add(bytes).min(MAX_BYTES))
    }

    /// After a timeout there is no line until the next cut (D2); a period of the first version ends
    /// (D4).
    fn forget(&mut self) {
        match &mut self.how {
            How::First(queue) => queue.on_cut(Signal::Loss, false),
            How::Second(m) => (m.stage, m.line, m.carry) = (Stage::Unknown, Line::default(), 0),
        }
    }

    /// For the first version, before growth: whether it returns to slow start.
    fn looks_anew(&mut self, ack: &Ack, w: &mut Window, cx: &Context) -> bool {
        let beta = self.beta(Signal::Loss, false);
        let How::First(queue) = &mut self.how else { return false };
        let stale =
            ack.rtt.is_some() && cx.limited && queue.is_stale(window(*w), segment(cx), beta);
        if stale {
            // ABBA1 5.3-anew: without a threshold and with the current window. The plateau is
            // discarded; otherwise the loss that ends that slow start would count as another flow's
            // demand.
            w.ssthresh = UNSET_SSTHRESH;
            each!(&mut self.base, base => base.forget_plateau());
        }
        stale
    }

    fn carry(&mut self) -> &mut u32 {
        match &mut self.how {
            How::First(queue) => &mut queue.carry,
            How::Second(model) => &mut model.carry,
        }
    }
}

impl Avoidance for Abba {
    type Saved = Saved;

    fn on_rtt(&mut self, now: Time, rtt: Nanos, w: Window, in_recovery: bool) {
        let m = match &mut self.how {
            How::First(queue) => return queue.on_rtt(rtt, in_recovery),
            How::Second(model) => model,
        };
        self.floor.on_rtt(now, rtt);
        // A sample below a microsecond counts as one; zero means no sample.
        let rtt_us = micros(rtt).max(1);
        m.latest_us = rtt_us;
        match m.stage {
            // ABBA 3.1-high.
            Stage::Recovery if in_recovery && !m.by_ecn => {
                m.high.rtt_us = m.high.rtt_us.min(rtt_us);
            }
            // ABBA 3.2-low.
            Stage::Known if !in_recovery && !w.in_slow_start() && rtt_us < m.low.rtt_us => {
                m.low = Point { cwnd: window(w), rtt_us };
                m.line = m.line.fit(m.high, m.low);
            }
            _ => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack, _cx: &Context) {
        if let How::First(queue) = &mut self.how {
            queue.on_ack(ack);
        }
    }

    fn on_recovery_end(&mut self, w: Window) {
        let m = match &mut self.how {
            How::First(queue) => return queue.on_recovery_end(),
            How::Second(model) => model,
        };
        if m.stage == Stage::Recovery {
            // ABBA 3.2-low: flat until a smaller round trip is seen.
            m.low = Point { cwnd: window(w), rtt_us: m.high.rtt_us };
            m.line = m.line.fit(m.high, m.low);
            m.stage = Stage::Known;
        }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        let before = window(*w);
        if self.looks_anew(ack, w, cx) {
            return;
        }
        self.redraw(before);
        let mut carry = if acked > 0 { *self.carry() } else { 0 };
        let fast = if cx.limited { self.accelerated(before, acked, &mut carry) } else { None };
        each!(&mut self.base, base => base.grow(ack, acked, w, cx));
        // ABBA 4-larger: the larger of both; ABBA 4-carry: the fraction of a byte is kept while
        // acceleration sets the window.
        match fast {
            Some(fast) if fast >= w.cwnd => (w.cwnd, *self.carry()) = (fast, carry),
            _ => *self.carry() = 0,
        }
    }

    fn reach(&self, ack: &Ack, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let cwnd = window(w);
        let base = each!(&self.base, base => base.reach(ack, max_fs, w, cx));
        let fast = self.accelerated(cwnd, max_fs, &mut 0).map_or(0, |fast| fast - cwnd);
        base.max(max_fs.saturating_add(fast.min(max_fs / 2)))
    }

    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        match &mut self.how {
            How::First(queue) => queue.on_cut(cut.signal, cut.from_slow_start),
            How::Second(_) => self.note_cut(cut.signal, window(w), cx),
        }
        each!(&mut self.base, base => base.reduce(cut, w, cx))
    }

    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        self.forget();
        each!(&mut self.base, base => base.on_rto(cut, w, cx))
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.forget();
        each!(&mut self.base, base => base.on_persistent_congestion(now));
    }

    fn hand_over(&mut self, handover: Handover, w: Window, cx: &Context) {
        if let How::First(queue) = &mut self.how {
            queue.begin_epoch();
        }
        each!(&mut self.base, base => base.hand_over(handover, w, cx));
    }

    fn on_mss(&mut self, sizes: Sizes, kept: bool) {
        each!(&mut self.base, base => base.on_mss(sizes, kept));
    }

    fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos) {
        each!(&mut self.base, base => base.on_idle(now, idle, since_sent));
    }

    #[inline]
    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
        each!(&self.base, base => base.beta(signal, from_slow_start))
    }

    fn epoch_start(&self) -> Option<Time> {
        each!(&self.base, base => base.epoch_start())
    }

    fn save(&self) -> Saved {
        let base = match &self.base {
            Base::Cubic(cubic) => BaseSaved::Cubic(cubic.save()),
            Base::Cuback(cuback) => BaseSaved::Cuback(cuback.save()),
        };
        Saved { base, how: self.how }
    }

    fn restore(&mut self, saved: Saved) {
        match (&mut self.how, saved.how) {
            (How::First(queue), How::First(saved)) => *queue = queue.restored(saved),
            (How::Second(m), How::Second(saved)) => *m = Model { latest_us: m.latest_us, ..saved },
            // The version never changes either.
            _ => {}
        }
        match (&mut self.base, saved.base) {
            (Base::Cubic(cubic), BaseSaved::Cubic(saved)) => cubic.restore(saved),
            (Base::Cuback(cuback), BaseSaved::Cuback(saved)) => cuback.restore(saved),
            // A sender never changes the underlying algorithm.
            _ => {}
        }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        each!(&self.base, base => base.signals(visit));
        if let Some(high) = self.high() {
            visit("high_cwnd", high.cwnd);
            visit("high_rtt_us", u64::from(high.rtt_us));
        }
        if let Some(low) = self.low() {
            visit("low_cwnd", low.cwnd);
            visit("low_rtt_us", u64::from(low.rtt_us));
        }
        if let Some(queue) = self.queue() {
            visit("bottom_rtt_us", u64::from(queue.bottom()));
            if let Some(full_us) = queue.full() {
                visit("full_rtt_us", u64::from(full_us));
            }
        }
    }
}
