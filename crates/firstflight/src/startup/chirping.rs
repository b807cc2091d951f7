//! Paced Chirping: short trains ("chirps") whose gaps shrink show at which gap the queue begins to
//! grow, and a pause lets that queue drain. The number of chirps doubles per round trip; startup
//! ends when they fill it, with the window that the path carries.
//!
//! Follows: the algorithm of Misund's module of 2018 (`JoakimMisund/PacedChirping`, V1) with the gap
//! arithmetic of its version of March 2019 (V2) and the exit of `ij1/linux-flowstartup`. The sources
//! are under the GPL: what they do is described here, nothing of them is copied. State: 664 bytes.
//!
//! A gap is the time between the departures of two full packets. The send time of a packet is the
//! arrival of its ACK less the RTT sample, so no packet needs a mark, and TCP and QUIC work alike.
//!
//! Departures:
//! * D1 (CHIRP 5-fallback): an opening without a spacing of ACKs gives a gap of `srtt / 64`, at most
//!   1 ms, as in the version of 2020 (V3); V1 has none.
//! * D2 (CHIRP 5-blind): after three rounds without a chirp that can be read, slow start follows. V1
//!   continues with the last estimate.
//! * D3 (CHIRP 5-ring): 32 chirps are remembered until their ACKs arrive; further ones are sent but
//!   not read.
//! * D4 (CHIRP 5-bunch): a chirp whose ACKs arrive in bunches is not read.
//! * D5 (CHIRP 7-marks): congestion marks end startup, as loss does. The authors ignore marks
//!   (`ecn=ignore`), because single chirps cross the step at which DCTCP's queue marks.
//! * D6 (CHIRP 4-once): half an opening whose packets did not leave together is not read.
//! * D7 (CHIRP 4-begin): a chirp begins when its first packet leaves, not when it may leave. The
//!   results are the same where packets leave on time.

use super::slow_start::double;
use super::{
    ExitReason, GAIN_SLOW_START, Grown, Handover, Heeds, Leave, Pacing, Startup, Status, Train,
    Verdict,
};
use crate::event::{Ack, Context, Ready, Sent, Signal, Timeout, Transport, Window};
use crate::named::named;
use crate::options::{Range, params};
use crate::recovery::OwnRecovery;
use crate::signal::bunches::{GRAIN, SQUEEZE};
use crate::units::{MAX_BYTES, Nanos, Rate, Ratio, Seq, Time, mul_div};

/// CHIRP 2-length: packets of a chirp, of the third and fourth one, and of the first two of
/// `opening=chirp`.
const LONG: u8 = 16;
const MIDDLE: u8 = 8;
const SHORT: u8 = 5;
/// CHIRP 2-bounds: the smallest and the largest gap. The authors' limits of 30 us and 10 ms are
/// "for development" and overrun slow paths.
const GAP_MIN: u64 = 1_000;
const GAP_MAX: u64 = 100_000_000;
/// CHIRP 2-first: the first gap of `opening=chirp`.
const FIRST_GAP: u64 = 200_000;
/// Two chirps, in sixteenths.
const TWO: u32 = 2 << 4;
/// Chirps before the first round that may grow.
const GROWS_FROM: u32 = 6;
/// Chirps whose ACKs are awaited.
const AWAITED: usize = 32;
/// Rounds without a readable chirp before slow start takes over.
const BLIND: u8 = 3;

named! {
    /// Pattern of the first packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Opening {
        /// The initial window at once; the spacing of its ACKs gives the first gap (V1).
        #[default]
        Burst = "burst",
        /// Two chirps of five packets around 200 us (V2).
        Chirp = "chirp",
    }
}

named! {
    /// The answer to congestion marks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Marks {
        /// They end startup as loss does.
        #[default]
        Leave = "leave",
        /// They are ignored, as the authors do.
        Ignore = "ignore",
    }
}

params! {
    /// The constants of Paced Chirping.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The first gap of a chirp over the estimated gap, 1 to 3.
        pub geometry: Ratio = Ratio::new(2, 1),
            "geometry" ["a factor from 1 to 3" if |g: Ratio| g.num() >= g.den() && g.num() <= 3 * g.den(); Range::Fraction { off: false, low: "1", high: "3" }]
            "first gap of a chirp over the estimated gap";
        /// Growth of the number of chirps per round, 1 to 4.
        pub gain: Ratio = Ratio::new(2, 1),
            "gain" ["a factor from 1 to 4" if |g: Ratio| g.num() >= g.den() && g.num() <= 4 * g.den(); Range::Fraction { off: false, low: "1", high: "4" }]
            "growth of the number of chirps per round";
        /// Packets of a rise in delay that has drained again, from which it counts as cross traffic.
        pub l: u8 = 5, "l" [2..=8 "packets"] "shortest drained rise of the delay that counts as cross traffic";
        /// Pattern of the first packets.
        pub opening: Opening = Opening::Burst, "opening" [] "first packets: a burst, or chirps around 200 us";
        /// The answer to congestion marks.
        pub ecn: Marks = Marks::Leave, "ecn" [] "congestion marks: leave startup, or ignore them";
        /// Smoothed queueing delay that ends startup, ms; `None`: none does.
        pub overload: Option<u32> = None, "overload" [off or 1..=10_000 "ms"] "smoothed queueing delay that ends startup";
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Armed,
    /// The first half of the initial window has not come back.
    Opening,
    Chirping,
    /// Slow start, because chirps cannot be sent or read.
    Plain,
    /// Startup is over, or was ended by loss or a timeout: slow start, if anything.
    Off,
}

/// A chirp's schedule, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Shape {
    /// The first gap.
    pub first: u64,
    /// Each gap is smaller than the one before by this.
    pub step: u64,
    /// The sum of the gaps.
    pub len: u64,
}

impl Shape {
    /// CHIRP 4-chirp: the chirp of `n` packets, at least 2, around `gap` ns.
    pub fn of(gap: u64, n: u8, geometry: Ratio) -> Shape {
        let (n, g) = (u64::from(n.max(2)), geometry.of(1 << 10));
        let first = (gap * g) >> 10;
        // `n` and not `n - 1`: for 16 packets the mean gap is 9/8 of the estimate, the last a quarter.
        let step = (gap * 2 * g.saturating_sub(1 << 10)).div_ceil(n) >> 10;
        let len = (0..n - 1).map(|i| first.saturating_sub(i * step)).sum();
        Shape { first, step, len }
    }

    /// CHIRP 4-guard: the pause after the chirp, so that `m` sixteenths of chirps fill a round trip.
    pub fn guard(&self, gap: u64, m: u32, srtt: Nanos) -> u64 {
        gap.max((srtt.0 / u64::from((m >> 4).max(1))).saturating_sub(self.len))
    }
}

/// One ACK of a chirp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Sample {
    /// RTT above the smallest, ns.
    pub q: u32,
    /// Mean gap at sending since the sample before, ns.
    pub s: u32,
    /// Packets since the sample before.
    pub k: u8,
}

/// CHIRP 5-shape: whether samples can be read: dense enough, gaps falling, ACKs not in bunches.
fn is_readable(samples: &[Sample], l: u8) -> bool {
    let packets: u64 = samples.iter().map(|sample| u64::from(sample.k)).sum();
    let dense = samples.len() >= 2
        && packets <= 2 * samples.len() as u64
        && samples.iter().all(|sample| sample.k <= 4);
    let (mut least, mut larger, mut squeezed, mut before) = (u64::MAX, 0, 0, 0);
    for (i, sample) in samples.iter().enumerate() {
        let (s, q) = (u64::from(sample.s), u64::from(sample.q));
        if i > 0 {
            // CHIRP 2-invalid: a gap above 5/4 of the smallest before it, or `l` larger ones.
            if least != u64::MAX && s > least + least / 4 {
                return false;
            }
            larger += u8::from(s > least);
            least = least.min(s);
            // CHIRP 5-bunch: the ACKs came four times closer than the packets left.
            let left = s * u64::from(sample.k);
            let came = left.saturating_add(q).saturating_sub(before);
            if left > GRAIN.0 && left >= came * SQUEEZE {
                squeezed += u64::from(sample.k);
            }
        }
        before = q;
    }
    dense && larger < l && squeezed * 4 <= packets
}

/// CHIRP 5-analyse: the gap that the path carries, in ns, by the excursions of the queueing delay
/// over one chirp; `None` if the chirp cannot be read.
#[doc(hidden)]
pub fn analyse(samples: &[Sample], l: u8) -> Option<u64> {
    let samples = samples.get(..samples.len().min(LONG.into()))?;
    if !is_readable(samples, l) {
        return None;
    }
    let n = samples.len();
    let rises = |j: usize| samples[j].q < samples[j + 1].q;
    let mut marked = [None; LONG as usize];
    let (mut open, mut top) = (None::<usize>, 0);
    let mut i = 1;
    while i < n {
        if let Some(begun) = open {
            let rise = samples[i].q.checked_sub(samples[begun].q);
            if let Some(rise) = rise.filter(|&rise| is_alive(rise, top)) {
                top = top.max(rise);
            } else {
                // CHIRP 5-drained: a long rise that drained is cross traffic, so the gaps of its
                // rising packets count as they are.
                let packets: u32 = samples[begun..i].iter().map(|x| u32::from(x.k)).sum();
                if packets >= l.into() {
                    for j in (begun..i).filter(|&j| rises(j)) {
                        marked[j] = Some(samples[j].s);
                    }
                }
                open = None;
                // This packet may begin the next one.
                continue;
            }
        } else if i + 1 < n && rises(i) {
            (open, top) = (Some(i), 0);
        }
        i += 1;
    }
    // CHIRP 5-open: a rise that did not drain is ours; the path carries the gap where it began.
    let last = open.unwrap_or(n - 1);
    if let Some(begun) = open {
        marked[begun..n].fill(Some(samples[begun].s));
    }
    let (mut sum, mut packets) = (0, 0);
    for (sample, marked) in samples.iter().zip(marked).skip(1) {
        let k = u64::from(sample.k);
        sum += k * u64::from(marked.unwrap_or(samples[last].s));
        packets += k;
    }
    sum.checked_div(packets)
}

/// CHIRP 2-alive: an excursion lives while the rise is above 5/8 of its largest.
#[doc(hidden)]
pub fn is_alive(rise: u32, top: u32) -> bool {
    rise > top / 2 + top / 8
}

/// CHIRP 5-mean: the estimate after a chirp whose analysis gave `found`; zero if there was none.
#[doc(hidden)]
pub fn averaged(gap: u64, found: u64) -> u64 {
    let found = found.clamp(GAP_MIN, GAP_MAX);
    if gap == 0 { found } else { gap - gap / 2 + found / 2 }
}

/// Packet numbers or sequence numbers of one chirp, or of half an opening: their lower bits, because
/// they are compared with others of the same flight only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    begin: u32,
    end: u32,
}

fn low(seq: Seq) -> u32 {
    seq.0 as u32
}

/// Distance of `seq` from `mark`; negative if before it.
fn beyond(seq: Seq, mark: u32) -> i32 {
    low(seq).wrapping_sub(mark) as i32
}

/// The chirps whose ACKs are awaited, oldest first.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    spans: [Span; AWAITED],
    head: u8,
    len: u8,
}

impl Ring {
    fn push(&mut self, span: Span) {
        // CHIRP 5-ring: without room it is not read.
        if usize::from(self.len) < AWAITED {
            self.spans[(usize::from(self.head) + usize::from(self.len)) % AWAITED] = span;
            self.len += 1;
        }
    }

    fn front(&self) -> Option<Span> {
        (self.len > 0).then(|| self.spans[usize::from(self.head) % AWAITED])
    }

    fn pop(&mut self) {
        self.head = (self.head + 1) % AWAITED as u8;
        self.len = self.len.saturating_sub(1);
    }
}

/// The chirp, or the opening, that leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Leaving {
    /// Packets that have not left, and that leave in all.
    left: u32,
    of: u32,
    begin: Seq,
    /// When the next packet is due.
    planned: Time,
    next_gap: u64,
    step: u64,
    /// The pause after it.
    guard: u64,
    /// Several packets left at once: it is not read.
    spoilt: bool,
}

/// The chirp, or the half of an opening, whose ACKs arrive.
#[derive(Clone, Copy, Debug, Default)]
struct Arriving {
    samples: [Sample; LONG as usize],
    count: u8,
    /// A sample was left out, or one packet left before the one sent before it.
    odd: bool,
    /// First and last arrival of an opening, and bytes delivered at the first and since.
    first: Time,
    last: Time,
    delivered: u64,
    bytes: u64,
}

/// The round of chirps.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The first packet of its first chirp.
    begin: Option<Seq>,
    /// Chirps sent in it, and the sum of their lengths with one gap each, ns.
    sent: u32,
    len: u64,
}

/// Paced Chirping of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Chirping {
    params: Params,
    stage: Stage,
    /// A long silence preceded: the window opens anew.
    anew: bool,
    /// The application has data for a whole chirp.
    fed: bool,
    /// The packets of the opening did not leave together.
    scattered: bool,
    /// Whether a chirp could be read since the round began, and rounds without one.
    readable: bool,
    blind: u8,
    /// Halves of the opening that have not come back.
    halves: u8,
    /// The estimated gap, ns; zero if unknown.
    gap: u64,
    mss: u32,
    /// Chirps per round, in sixteenths.
    m: u32,
    /// Chirps sent, and rounds begun.
    chirps: u32,
    rounds: u32,
    round: Round,
    leaving: Leaving,
    /// No packet leaves before, if no chirp is leaving.
    next_at: Time,
    /// The number of the next packet, and the first that is not acknowledged.
    nxt: Seq,
    una: Seq,
    ring: Ring,
    arriving: Arriving,
    /// Send time of the newest packet acknowledged.
    left_at: Time,
}

impl Chirping {
    /// Creates the startup with these parameters.
    pub fn new(params: Params) -> Chirping {
        Chirping {
            params,
            stage: Stage::Armed,
            anew: false,
            fed: false,
            scattered: false,
            readable: false,
            blind: 0,
            halves: 0,
            gap: 0,
            mss: 0,
            m: TWO,
            chirps: 0,
            rounds: 0,
            round: Round::default(),
            leaving: Leaving::default(),
            next_at: Time(0),
            nxt: Seq(0),
            una: Seq(0),
            ring: Ring::default(),
            arriving: Arriving::default(),
            left_at: Time(0),
        }
    }

    /// Whether chirps or their opening are being sent.
    fn is_on(&self) -> bool {
        matches!(self.stage, Stage::Opening | Stage::Chirping)
    }

    /// Packets of the next chirp.
    fn length(&self) -> u8 {
        match self.chirps {
            0 | 1 => SHORT,
            2 | 3 => MIDDLE,
            _ => LONG,
        }
    }

    /// Whether all chirps of the round have begun.
    fn is_used_up(&self) -> bool {
        self.round.sent >= (self.m >> 4).max(1)
    }

    /// Whether nothing leaves until an ACK arrives.
    fn is_halted(&self) -> bool {
        self.leaving.left == 0 && (self.stage == Stage::Opening || self.is_used_up())
    }

    /// Packets that may leave beyond those in flight.
    fn packets(&self) -> u64 {
        let next = match self.stage {
            // The first packet of the next chirp waits for the pacer, not for an ACK.
            Stage::Chirping if !self.is_used_up() => 2,
            _ => 0,
        };
        match self.leaving.left {
            0 if self.is_halted() => 0,
            0 => self.length().into(),
            left => u64::from(left).max(next),
        }
    }

    /// CHIRP 4-window: what is in flight, and what the chirp still has to send. A loss is then
    /// answered from what is in flight, and a halt needs no timer.
    fn window(&self, inflight: u64, cx: &Context) -> u64 {
        let most = inflight.saturating_add(self.packets().saturating_mul(cx.mss));
        most.max(cx.minimum_window()).min(MAX_BYTES)
    }

    /// The first send, of the connection or after a long silence.
    fn open(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        if core::mem::take(&mut self.anew) {
            // CHIRP 7-idle: the opening again.
            w.cwnd = cx.iw.min(w.ssthresh);
        }
        // CHIRP 4-armed: without a pacer, or with another window than the initial one, slow start.
        let usual = (4 * cx.mss..=cx.iw.saturating_mul(2)).contains(&w.cwnd);
        if !cx.paced || !usual || !w.in_slow_start() {
            self.stage = Stage::Plain;
        } else if self.params.opening == Opening::Chirp && ready.srtt.is_some() {
            // CHIRP 2-opening: two chirps of five packets.
            (self.stage, self.gap, self.rounds) = (Stage::Chirping, FIRST_GAP, 1);
        } else {
            // CHIRP 4-opening: the initial window back to back, read in halves; it counts as two
            // chirps.
            let packets =
                u32::try_from(w.cwnd.saturating_sub(ready.inflight) / cx.mss).unwrap_or(u32::MAX);
            (self.stage, self.chirps, self.halves) = (Stage::Opening, 2, 2);
            self.leaving = Leaving {
                left: packets,
                of: packets,
                planned: ready.now,
                begin: self.nxt,
                ..Leaving::default()
            };
        }
    }

    /// CHIRP 5-round: a new round of chirps; `grows` if its number may grow.
    fn new_round(&mut self, grows: bool) {
        if self.chirps >= GROWS_FROM {
            if grows && self.is_used_up() {
                let m = self.params.gain.of(u64::from(self.m)).min(1 << 20);
                self.m = m as u32;
            }
            // CHIRP 5-blind: no chirp of the round that ends could be read.
            let readable = core::mem::take(&mut self.readable);
            self.blind = if readable { 0 } else { self.blind.saturating_add(1) };
        }
        self.round = Round::default();
        self.rounds = self.rounds.saturating_add(1);
        if self.blind >= BLIND {
            self.stop(Stage::Plain);
        }
    }

    /// Ends chirping.
    fn stop(&mut self, stage: Stage) {
        self.stage = stage;
        self.leaving = Leaving::default();
        if stage == Stage::Plain {
            // Slow start's own rounds count from here.
            self.rounds = 0;
        }
    }

    /// CHIRP 4-begin: the first packet of a chirp leaves.
    fn begin(&mut self, srtt: Nanos) {
        let n = self.length();
        let shape = Shape::of(self.gap, n, self.params.geometry);
        self.leaving = Leaving {
            left: n.into(),
            of: n.into(),
            begin: self.nxt,
            planned: Time(0),
            next_gap: shape.first,
            step: shape.step,
            guard: shape.guard(self.gap, self.m, srtt),
            spoilt: false,
        };
        self.round.begin.get_or_insert(self.nxt);
        self.round.sent = self.round.sent.saturating_add(1);
        self.round.len = self.round.len.saturating_add(self.gap).saturating_add(shape.len);
        self.chirps = self.chirps.saturating_add(1);
    }

    /// Packets of the opening left.
    fn on_opening_sent(&mut self, sent: &Sent, packets: u32) {
        let half = self.leaving.of.div_ceil(2);
        let before = self.leaving.of - self.leaving.left;
        // CHIRP 4-once: what the application delivers later says nothing about the path.
        let late = sent.now.since(self.leaving.planned);
        self.scattered |= sent.srtt.is_some_and(|srtt| late.0 > srtt.0 / 4);
        self.leaving.left = self.leaving.left.saturating_sub(packets);
        let after = self.leaving.of - self.leaving.left;
        if (before < half && after >= half) || self.leaving.left == 0 {
            self.ring.push(Span { begin: low(self.leaving.begin), end: low(sent.nxt) });
            self.leaving.begin = sent.nxt;
        }
    }

    /// The fallback without any spacing of ACKs.
    fn fallback(srtt: Nanos) -> u64 {
        // CHIRP 5-fallback.
        (srtt.0 / 64).clamp(GAP_MIN, 1_000_000)
    }

    /// The chirp at the front of the ring has come back.
    fn complete(&mut self, srtt: Nanos) {
        let done = core::mem::take(&mut self.arriving);
        if self.halves > 0 {
            self.halves -= 1;
            // CHIRP 5-opening: the mean spacing of the ACKs of each half.
            let took = done.last.since(done.first).0;
            let found = (done.bytes > 0 && took > 0 && !self.scattered)
                .then(|| mul_div(took, self.mss.into(), done.bytes));
            if let Some(found) = found {
                self.gap = averaged(self.gap, found);
            }
            if self.stage == Stage::Opening {
                if self.gap == 0 {
                    self.gap = Chirping::fallback(srtt);
                }
                self.stage = Stage::Chirping;
                // A half that has not left is none.
                self.halves = self.halves.min(u8::from(self.leaving.left == 0));
                self.leaving = Leaving::default();
                self.new_round(true);
            }
            return;
        }
        let samples = done.samples.get(..done.count.into()).unwrap_or_default();
        if let Some(found) = analyse(samples, self.params.l).filter(|_| !done.odd) {
            self.gap = averaged(self.gap, found);
            self.readable = true;
        }
    }

    /// CHIRP 5-sample: one ACK that moves `una`, with an RTT sample.
    fn read(&mut self, ack: &Ack, rtt: Nanos, min: Nanos, srtt: Nanos, cx: &Context) {
        while self.ring.front().is_some_and(|span| beyond(ack.una, span.end) > 0) {
            self.ring.pop();
            self.complete(srtt);
        }
        let left_at = Time(ack.now.0.saturating_sub(rtt.0));
        let before = core::mem::replace(&mut self.left_at, left_at);
        let Some(span) = self.ring.front().filter(|span| beyond(ack.una, span.begin) > 0) else {
            return;
        };
        if self.halves > 0 {
            let arriving = &mut self.arriving;
            if arriving.count == 0 {
                (arriving.first, arriving.delivered) = (ack.now, cx.so_far.delivered);
                arriving.count = 1;
            }
            arriving.last = ack.now;
            arriving.bytes = cx.so_far.delivered.saturating_sub(arriving.delivered);
        } else {
            // CHIRP 5-weight: an ACK of several packets is one sample of that weight.
            let unit = if cx.transport == Transport::Tcp { cx.mss } else { 1 };
            let from = beyond(self.una, span.begin).max(0) as u64;
            let units = (beyond(ack.una, span.begin).max(0) as u64).saturating_sub(from);
            let k = ((units + unit / 2) / unit).clamp(1, u8::MAX.into());
            let small = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
            let sample = Sample {
                q: small((rtt - min).0),
                s: small(left_at.since(before).0 / k),
                k: k as u8,
            };
            let arriving = &mut self.arriving;
            let count = usize::from(arriving.count);
            // CHIRP 5-reorder: a packet that left before the one acknowledged before it.
            arriving.odd |= count > 0 && left_at < before;
            match arriving.samples.get_mut(count) {
                Some(place) => *place = sample,
                None => arriving.odd = true,
            }
            arriving.count = arriving.count.saturating_add(1);
        }
        if beyond(ack.una, span.end) >= 0 {
            self.ring.pop();
            self.complete(srtt);
        }
    }

    /// CHIRP 7-exit: the window that the path carries at this gap. Without a chirp that leaves.
    fn leave(&mut self, reason: ExitReason, ack: &Ack, min: Nanos, cx: &Context) -> Verdict {
        let estimate = mul_div(min.0, cx.mss, self.gap.max(GAP_MIN)).min(MAX_BYTES);
        let cwnd = estimate.max(ack.inflight).max(cx.minimum_window());
        self.stop(Stage::Off);
        Verdict::Leave(Leave {
            reason,
            ssthresh: cwnd,
            cwnd: Some(cwnd),
            handover: Handover::LossFree,
            estimate: Some(estimate),
        })
    }
}

impl Startup for Chirping {
    type Saved = ();

    fn start(&mut self, _now: Time, nxt: Seq) {
        *self = Chirping { nxt, una: nxt, ..Chirping::new(self.params) };
    }

    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        self.mss = u32::try_from(cx.mss).unwrap_or(u32::MAX);
        if self.stage == Stage::Armed {
            self.open(ready, w, cx);
        }
        if !self.is_on() {
            return;
        }
        if self.is_halted() && ready.inflight == 0 {
            // CHIRP 4-halt: nothing is in flight whose ACK would end the halt.
            if self.stage == Stage::Opening {
                (self.stage, self.halves) = (Stage::Chirping, 0);
                self.gap = Chirping::fallback(cx.srtt);
                self.ring = Ring::default();
            }
            self.new_round(false);
            if !self.is_on() {
                return;
            }
        }
        // CHIRP 4-data: without data for a whole chirp packets leave one by one and count for nothing.
        self.fed = ready.backlog >= cx.mss.saturating_mul(self.length().into());
        w.cwnd = self.window(ready.inflight, cx);
    }

    fn heeds(&self) -> Heeds {
        let sending = self.stage == Stage::Armed || self.is_on();
        Heeds { departures: true, ..Heeds::sending(sending) }
    }

    fn on_sent(&mut self, sent: &Sent, _w: Window, cx: &Context) {
        let packets = u32::try_from(sent.bytes.div_ceil(cx.mss)).unwrap_or(u32::MAX);
        match self.stage {
            Stage::Opening if self.leaving.left > 0 => self.on_opening_sent(sent, packets),
            Stage::Chirping => {
                if self.leaving.left == 0 && self.fed && !self.is_used_up() {
                    self.begin(sent.srtt.unwrap_or(cx.srtt));
                    self.leaving.planned = sent.now;
                }
                let chirp = &mut self.leaving;
                if chirp.left == 0 {
                    self.next_at = self.next_at.max(sent.now + Nanos(self.gap));
                } else {
                    // CHIRP 4-burst: packets that leave together are no chirp.
                    chirp.spoilt |= packets > 1;
                    chirp.left = chirp.left.saturating_sub(packets);
                    // CHIRP 4-late: half of a gap makes up for a late departure.
                    let late = sent.now.since(chirp.planned).0.min(chirp.next_gap / 2);
                    chirp.planned = sent.now + Nanos(chirp.next_gap - late);
                    chirp.next_gap = chirp.next_gap.saturating_sub(chirp.step);
                    if chirp.left == 0 {
                        self.next_at = sent.now + Nanos(chirp.guard);
                        if !chirp.spoilt {
                            self.ring.push(Span { begin: low(chirp.begin), end: low(sent.nxt) });
                        }
                    }
                }
            }
            _ => {}
        }
        self.nxt = self.nxt.max(sent.nxt);
    }

    fn train(&self) -> Option<Train> {
        // CHIRP 4-train: one packet, then wait for the next.
        let next = match self.stage {
            Stage::Opening if self.leaving.left > 0 => {
                return Some(Train { inflight: u64::MAX, next: Time(0) });
            }
            Stage::Opening | Stage::Chirping if self.is_halted() => Time(u64::MAX),
            Stage::Chirping if self.leaving.left > 0 => self.leaving.planned,
            Stage::Chirping => self.next_at,
            _ => return None,
        };
        Some(Train { inflight: 0, next })
    }

    fn sample(&mut self, ack: &Ack, _w: Window, cx: &Context) -> Verdict {
        let una = self.una;
        let (true, Some(rtt), Some(min)) = (self.is_on(), ack.rtt, cx.so_far.min_rtt) else {
            self.una = una.max(ack.una);
            return Verdict::Stay;
        };
        if ack.una <= una {
            return Verdict::Stay;
        }
        let srtt = ack.srtt.unwrap_or(cx.srtt);
        let chirping = self.stage == Stage::Chirping;
        let overload = self.params.overload.map(|ms| Nanos::from_millis(ms.into()));
        if chirping && overload.is_some_and(|most| srtt - min >= most) {
            // CHIRP 7-overload.
            return self.leave(ExitReason::Delay, ack, min, cx);
        }
        // CHIRP 5-full: the chirps fill the round trip. Before the round can begin anew.
        if chirping && self.round.len >= srtt.0.max(1) {
            return self.leave(ExitReason::Estimate, ack, min, cx);
        }
        if self.round.begin.is_some_and(|begin| ack.una > begin) {
            self.new_round(true);
        }
        if self.is_on() {
            self.read(ack, rtt, min, srtt, cx);
        }
        self.una = ack.una;
        Verdict::Stay
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        if self.is_on() {
            w.cwnd = self.window(ack.inflight, cx).min(w.ssthresh);
            return Grown::default();
        }
        Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay }
    }

    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        let chirps = 2 * u64::from(LONG) * cx.mss;
        match w.in_slow_start() {
            true if self.is_on() => self.params.gain.of(max_fs).saturating_add(chirps),
            true => max_fs.saturating_mul(2),
            false => 0,
        }
    }

    fn reached(&mut self) -> ExitReason {
        self.stop(Stage::Off);
        ExitReason::Threshold
    }

    fn absorbs(&mut self, signal: Signal, _ack: &Ack, _cx: &Context) -> bool {
        // CHIRP 7-marks.
        signal == Signal::Ecn && self.params.ecn == Marks::Ignore && self.is_on()
    }

    fn on_congestion(
        &mut self,
        _signal: Signal,
        _beta: Ratio,
        _ack: &Ack,
        _w: Window,
        _cx: &Context,
    ) -> Option<OwnRecovery> {
        // CHIRP 7-loss: the arm's own recovery, from what is in flight. CHIRP 7-undo: a false alarm
        // gives the window back but chirping stays off.
        self.stop(Stage::Off);
        None
    }

    // CHIRP 7-timeout: plain slow start follows.
    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.stop(Stage::Off);
    }

    fn on_idle(&mut self, _now: Time, nxt: Seq) {
        if self.is_on() {
            // CHIRP 7-idle.
            let (nxt, una) = (self.nxt.max(nxt), self.una);
            *self = Chirping { nxt, una, anew: true, ..Chirping::new(self.params) };
        }
    }

    fn pacing(&self) -> Pacing {
        let rate = Rate::from_bytes_over(self.mss.into(), Nanos(self.gap));
        match rate.filter(|rate| self.stage == Stage::Chirping && rate.0 > 0) {
            Some(rate) => Pacing::Rate(rate),
            None => Pacing::Gain(GAIN_SLOW_START),
        }
    }

    fn status(&self) -> Status {
        Status { rounds: (self.rounds > 0).then_some(self.rounds), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        if !self.is_on() {
            return;
        }
        visit("gap_ns", self.gap);
        visit("chirps", self.chirps.into());
        visit("chirps_per_round", u64::from(self.m >> 4));
        visit("round_filled_ns", self.round.len);
        visit("blind_rounds", self.blind.into());
    }
}
