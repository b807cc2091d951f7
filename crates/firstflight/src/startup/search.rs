//! SEARCH: slow start ends when delivery stops keeping up with sending.
//!
//! Time is cut into bins of 0.35 initial RTTs. When a bin closes, the bytes delivered over the last
//! ten bins are compared with the bytes sent (4.0) over the same span one RTT earlier, or twice
//! those delivered then (3.1); once they fall short by more than the threshold, the path's choke
//! point has been passed. 4.0 then drains the queue it built, sending two segments for three
//! acknowledged, down to what was delivered in the last initial RTT.
//!
//! Follows: draft-chung-ccwg-search-09 (17 March 2026) for 4.0 (the text of -10 was not available);
//! for 3.1 the patch posted to netdev in December 2024. The authors' files of 2025, also named 3.1,
//! restart differently, and the first edition does not close a bin at its exact end: version
//! 3.1-2025. Growth is that of slow start: an ACK counts all bytes that it newly delivers, paced or
//! not. State: 248 bytes. Tests: `tests/it/search.rs`.
//!
//! Departures:
//! * D1: the look-back is interpolated towards the older neighbouring bin; the draft's text names
//!   the newer one, an erratum.
//! * D2: a delivery above the reference never causes an exit. The kernel's unsigned difference can
//!   exit there by accident.
//! * D3: counters of 4.0 are kept in 32 bits, counted from the first ACK, with one shared shift
//!   once they pass 4 GiB: the scheme that the 16-bit ports use, exact for four gigabytes of
//!   startup, at half the state.
//! * D4: an exit never raises the window: the draining target is capped at the window, because
//!   otherwise draining could not end.
//! * D5: the ring has 26 bins in 3.1 too, not 25: with its look-back of at most 13 bins the 26th is
//!   never read.
//! * D6: the reach [`Params::extra`] is at most 15, limited by the size of the ring; the value 40
//!   of one kernel version would double the state.

mod bins;
mod params;

use core::num::NonZeroU64;

pub use bins::shift_to_fit;
use bins::{Bins, WINDOW};
#[doc(hidden)]
pub use params::{Boundary, Exit, Interpolation, MAX_EXTRA, MissedBins, Params, Version, Warmup};

use super::slow_start::double;
use super::{
    EpochUse, ExitReason, GAIN_AVOIDANCE, GAIN_SLOW_START, Grown, Handover, Heeds, Leave, Pacing,
    Startup, Status, Verdict,
};
use crate::event::{Ack, Context, Phase, Signal, SoFar, Timeout, Window};
use crate::recovery::OwnRecovery;
use crate::units::{MAX_BYTES, Nanos, Ratio, Seq, Time, mul_div};

/// SEARCH bins-1: the length of a bin in hundredths of the initial RTT, a window of 3.5 RTTs over
/// ten bins.
const BIN_PERCENT: u64 = 35;

/// Result of closing a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Outcome {
    /// Delivery fell short by this many percent: slow start ends.
    Exit {
        /// Shortfall in percent of the reference, rounded down.
        norm_percent: u8,
    },
    /// The shortfall is below the threshold.
    Continue {
        /// Shortfall in percent of the reference, rounded down; 0 also if more was delivered than
        /// expected.
        norm_percent: u8,
    },
    /// The window one RTT ago is not yet complete.
    Warming,
    /// The RTT has grown so much that the window one RTT ago is no longer on record.
    RttInflated {
        /// Bins looked back, at most 65 535.
        bins: u16,
    },
    /// Nothing was sent (3.1: delivered) in the reference window.
    ZeroSent,
}

/// Counts of each outcome, and values for tuning the threshold and the reach. Counters saturate at
/// 65 535.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Stats {
    /// [`Outcome::Exit`].
    pub exits: u16,
    /// [`Outcome::Continue`].
    pub continued: u16,
    /// [`Outcome::Warming`].
    pub warming: u16,
    /// [`Outcome::RttInflated`].
    pub rtt_inflated: u16,
    /// [`Outcome::ZeroSent`].
    pub zero_sent: u16,
    /// The record was dropped: too many bins without an ACK, or (3.1) an application limit.
    pub resets: u16,
    /// Bins passed at the last reset by silence.
    pub reset_passed_bins: u16,
    /// The longest look-back, in bins.
    pub max_look_bins: u16,
    /// The largest shortfall that did not exit, in percent.
    pub max_norm_percent: u8,
    /// At the exit: bytes delivered over the most recent interval as long as the initial RTT, that
    /// is, the BDP with an empty queue.
    pub empty_queue_target: u64,
    /// At the exit: bytes delivered in the last current RTT, the BDP with the queue at that time; 0
    /// if the RTT is longer than a window.
    pub full_queue_target: u64,
}

/// The counters of [`Stats`], without its targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    exits: u16,
    continued: u16,
    warming: u16,
    rtt_inflated: u16,
    zero_sent: u16,
    resets: u16,
    reset_passed_bins: u16,
    max_look_bins: u16,
    max_norm_percent: u8,
}

/// The fixed grid of bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    initial_rtt: Nanos,
    /// Length of a bin in ns.
    bin: NonZeroU64,
    /// End of the bin that is open now.
    end: Time,
    /// The last closed bin.
    idx: u64,
}

impl Grid {
    fn length(&self) -> Nanos {
        Nanos(self.bin.get())
    }
}

/// SEARCH bins-1: the length of a bin.
#[inline]
fn bin_of(initial_rtt: Nanos) -> NonZeroU64 {
    NonZeroU64::new(mul_div(initial_rtt.0, BIN_PERCENT, 100)).unwrap_or(NonZeroU64::MIN)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Armed,
    Draining,
    Done,
}

/// SEARCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    params: Params,
    stage: Stage,
    /// Whether there is a record, so that the grid below and the bins are valid.
    recording: bool,
    last: Option<Outcome>,
    counts: Counts,
    /// The last closed bin; saturates.
    idx: u32,
    /// Draining: acknowledged bytes not yet turned into segments; less than 255 segments, kept in
    /// 32 bits.
    credit: u32,
    initial_rtt: Nanos,
    /// End of the bin that is open now.
    end: Time,
    /// Bins in which the application was the limit: the open bin is bit 0, older bins follow above
    /// it.
    idle_bins: u32,
    bins: Bins,
    /// [`Stats::empty_queue_target`]; the draining target is the larger of this and the initial
    /// window.
    empty_queue_target: u64,
    /// [`Stats::full_queue_target`], for the record only: 4 GiB at most.
    full_queue_target: u32,
}

impl Search {
    /// Creates an armed search with these parameters.
    pub const fn new(mut params: Params) -> Search {
        params.thresh_percent = clamp(params.thresh_percent, 1, 50);
        params.extra = clamp(params.extra, 1, MAX_EXTRA);
        params.drain_ratio = clamp(params.drain_ratio, 1, u8::MAX);
        params.bits = clamp(params.bits, 16, 32);
        Search {
            params,
            stage: Stage::Armed,
            recording: false,
            last: None,
            counts: Counts {
                exits: 0,
                continued: 0,
                warming: 0,
                rtt_inflated: 0,
                zero_sent: 0,
                resets: 0,
                reset_passed_bins: 0,
                max_look_bins: 0,
                max_norm_percent: 0,
            },
            idx: 0,
            credit: 0,
            initial_rtt: Nanos::ZERO,
            end: Time(0),
            idle_bins: 0,
            bins: Bins::EMPTY,
            empty_queue_target: 0,
            full_queue_target: 0,
        }
    }

    /// The parameters, clamped to their ranges.
    #[doc(hidden)]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The counts.
    #[doc(hidden)]
    pub fn stats(&self) -> Stats {
        let Counts {
            exits,
            continued,
            warming,
            rtt_inflated,
            zero_sent,
            resets,
            reset_passed_bins,
            max_look_bins,
            max_norm_percent,
        } = self.counts;
        Stats {
            exits,
            continued,
            warming,
            rtt_inflated,
            zero_sent,
            resets,
            reset_passed_bins,
            max_look_bins,
            max_norm_percent,
            empty_queue_target: self.empty_queue_target,
            full_queue_target: u64::from(self.full_queue_target),
        }
    }

    /// Outcome of the last closed bin, if one closed since the record began.
    #[doc(hidden)]
    pub fn last_outcome(&self) -> Option<Outcome> {
        self.last
    }

    /// The number of the last closed bin, the first ACK being bin 0; `None` while there is no
    /// record.
    #[doc(hidden)]
    pub fn bin_index(&self) -> Option<u64> {
        self.recording.then_some(u64::from(self.idx))
    }

    /// The length of a bin, fixed when the record began.
    #[doc(hidden)]
    pub fn bin_length(&self) -> Option<Nanos> {
        self.recording.then(|| Nanos(bin_of(self.initial_rtt).get()))
    }

    /// Whether it is still looking for saturation.
    #[doc(hidden)]
    pub fn armed(&self) -> bool {
        self.stage == Stage::Armed
    }

    /// While draining: the empty-queue target, and the acknowledged bytes not yet turned into
    /// credit. The effective target is at least the initial window.
    #[doc(hidden)]
    pub fn draining(&self) -> Option<(u64, u64)> {
        (self.stage == Stage::Draining).then(|| (self.empty_queue_target, u64::from(self.credit)))
    }

    /// Arms the search with an empty record: the next RTT sample becomes the initial RTT.
    fn rearm(&mut self) {
        self.stage = Stage::Armed;
        self.forget();
    }

    fn forget(&mut self) {
        self.recording = false;
        self.bins = Bins::EMPTY;
        self.last = None;
    }

    fn reset(&mut self, passed: u64) {
        self.counts.resets = self.counts.resets.saturating_add(1);
        self.counts.reset_passed_bins = u16::try_from(passed).unwrap_or(u16::MAX);
        self.forget();
    }

    fn reference_counter(&self, ack: &Ack, so_far: &SoFar) -> u64 {
        match self.params.version {
            Version::V3_1 | Version::V3_1In2025 => so_far.delivered,
            Version::V4_0 => ack.sent,
        }
    }

    fn begin(&mut self, ack: &Ack, rtt: Nanos, so_far: &SoFar) {
        // SEARCH start-1: the first sample is the initial RTT; bins are not recomputed while the
        // record runs.
        (self.recording, self.initial_rtt, self.end, self.idx) =
            (true, rtt, ack.now + Nanos(bin_of(rtt).get()), 0);
        self.bins = Bins::EMPTY;
        self.idle_bins = 0;
        // Counts from before the flight of this ACK, so that a record started late in a connection
        // looks like one started at its beginning. The files of 3.1 always count from the start of
        // the connection.
        self.bins.delivered_base = match self.params.version {
            Version::V3_1 | Version::V3_1In2025 => 0,
            Version::V4_0 => so_far.delivered.saturating_sub(ack.acked),
        };
        self.bins.reference_base = match self.params.version {
            Version::V3_1 | Version::V3_1In2025 => self.bins.delivered_base,
            Version::V4_0 => ack.sent.saturating_sub(ack.inflight_before),
        };
        self.bins.store(0, so_far.delivered, self.reference_counter(ack, so_far), self.params.bits);
    }

    /// Every ACK while armed: closes the bins that ended before it and evaluates once.
    fn watch(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        // SEARCH app-limited-1: 3.1 sees only deliveries and cannot distinguish a pause of the
        // application from saturation. Its later files restart.
        if self.params.version == Version::V3_1In2025 && ack.app_limited {
            if self.recording {
                self.reset(0);
            }
            return Verdict::Stay;
        }
        self.idle_bins |= u32::from(ack.app_limited);
        let Some(rtt) = ack.rtt else { return Verdict::Stay };
        // SEARCH epoch-1: a young CUBIC epoch makes samples doubtful (kernel versions only).
        if self.params.skip_young_epoch && cx.young_epoch {
            return Verdict::Stay;
        }
        if !self.recording {
            self.begin(ack, rtt, &cx.so_far);
            return Verdict::Stay;
        }
        // Checked on every ACK, before the bin length is computed: most ACKs close no bin.
        let Some(late) = late_by(self.end, ack.now, self.params.boundary) else {
            return Verdict::Stay;
        };
        let grid = Grid {
            initial_rtt: self.initial_rtt,
            bin: bin_of(self.initial_rtt),
            end: self.end,
            idx: u64::from(self.idx),
        };
        let passed = (late.0 / grid.bin).saturating_add(1);
        // SEARCH missed-1: a record with such a long gap is useless; the next sample starts a new
        // one.
        let stale = match self.params.missed_bins {
            MissedBins::Off => false,
            MissedBins::Window => passed > WINDOW,
            MissedBins::Alpha(alpha) => passed > mul_div(rtt.0, u64::from(alpha), grid.bin.get()),
            MissedBins::Bins(bins) => passed > u64::from(bins),
            MissedBins::Initial(alpha) => {
                passed > u64::from(alpha) * (grid.initial_rtt.0 / grid.bin)
            }
        };
        if stale {
            self.reset(passed);
            // SEARCH missed-3: 3.1 starts the next record with this ACK; the later files keep the
            // old bin length if the gap was short.
            if self.params.version != Version::V4_0 {
                let keeps =
                    matches!(self.params.missed_bins, MissedBins::Initial(_)) && passed <= WINDOW;
                self.begin(ack, if keeps { grid.initial_rtt } else { rtt }, &cx.so_far);
            }
            return Verdict::Stay;
        }
        let idx = grid.idx.saturating_add(passed);
        // SEARCH missed-2: shorter gaps are filled with the counters before them.
        self.bins.copy_forward(grid.idx, idx);
        let counter = self.reference_counter(ack, &cx.so_far);
        self.bins.store(idx, cx.so_far.delivered, counter, self.params.bits);
        let grid = Grid { idx, end: grid.end + grid.length() * passed, ..grid };
        // If several bins end with this ACK, the last one gets the bit.
        let shifted = u32::try_from(passed).ok().and_then(|by| self.idle_bins.checked_shl(by));
        self.idle_bins = shifted.unwrap_or(0) | u32::from(ack.app_limited) << 1;
        (self.idx, self.end) = (u32::try_from(idx).unwrap_or(u32::MAX), grid.end);

        let outcome = self.evaluate(&grid, rtt);
        self.count(outcome);
        match outcome {
            Outcome::Exit { .. } => self.exit(&grid, rtt, w, cx),
            Outcome::Continue { .. }
            | Outcome::Warming
            | Outcome::RttInflated { .. }
            | Outcome::ZeroSent => Verdict::Stay,
        }
    }

    /// Compares the window that just ended with the one an RTT ago. The RTT is the current sample:
    /// data delivered now was sent that long ago.
    fn evaluate(&mut self, grid: &Grid, rtt: Nanos) -> Outcome {
        // SEARCH look-1: back by the current RTT, not the initial one.
        let look = rtt.0 / grid.bin;
        let frac = mul_div(rtt.0 % grid.bin, 100, grid.bin.get());
        let look_u16 = u16::try_from(look).unwrap_or(u16::MAX);
        self.counts.max_look_bins = self.counts.max_look_bins.max(look_u16);
        let first = match self.params.warmup {
            Warmup::Strict => WINDOW + 1,
            Warmup::Kernel => WINDOW,
        };
        // SEARCH warm-1: no evaluation before the whole window one RTT ago is on record.
        let Some(prev) = grid.idx.checked_sub(look).filter(|&prev| prev >= first) else {
            return Outcome::Warming;
        };
        // SEARCH reach-1: no evaluation beyond the record.
        if look >= u64::from(self.params.extra) {
            return Outcome::RttInflated { bins: look_u16 };
        }
        // SEARCH look-2: a part of a bin is interpolated, towards the older bin (D1).
        let neighbour = match self.params.interpolation {
            Interpolation::Older => prev - 1,
            // An RTT below one bin has no newer neighbour yet.
            Interpolation::Newer => prev.saturating_add(1).min(grid.idx),
        };
        let near = u128::from(self.bins.reference(prev)) * u128::from(100 - frac.min(100));
        let far = u128::from(self.bins.reference(neighbour)) * u128::from(frac);
        // SEARCH compare-1: compared with the bytes sent (4.0), or twice the bytes delivered (3.1).
        let expected = match self.params.version {
            Version::V3_1 | Version::V3_1In2025 => 2 * ((near + far) / 100),
            Version::V4_0 => (near + far) / 100,
        };
        // SEARCH compare-2: no share of zero bytes can be computed.
        if expected == 0 {
            return Outcome::ZeroSent;
        }
        // SEARCH compare-3: more than expected is no shortfall (D2).
        let shortfall =
            expected.saturating_sub(u128::from(self.bins.delivered(grid.idx, WINDOW))) * 100;
        let norm_percent = (shortfall / expected) as u8;
        // SEARCH thresh-1: at the threshold slow start ends; equality exits.
        let short = shortfall > 0 && shortfall >= u128::from(self.params.thresh_percent) * expected;
        if short && !(self.params.guard && self.idled(look)) {
            Outcome::Exit { norm_percent }
        } else {
            Outcome::Continue { norm_percent }
        }
    }

    /// SEARCH app-limited-2: whether the application was the limit in a compared bin.
    fn idled(&self, look: u64) -> bool {
        // The newest closed bin is bit 1; the reference has one more bin for its neighbour.
        let window = |first: u64, bins: u64| ((1u64 << bins) - 1) << first.min(31);
        let compared = window(1, WINDOW) | window(1 + look, WINDOW + 1);
        u64::from(self.idle_bins) & compared != 0
    }

    fn count(&mut self, outcome: Outcome) {
        self.last = Some(outcome);
        let stats = &mut self.counts;
        let counter = match outcome {
            Outcome::Exit { .. } => &mut stats.exits,
            Outcome::Continue { norm_percent } => {
                stats.max_norm_percent = stats.max_norm_percent.max(norm_percent);
                &mut stats.continued
            }
            Outcome::Warming => &mut stats.warming,
            Outcome::RttInflated { .. } => &mut stats.rtt_inflated,
            Outcome::ZeroSent => &mut stats.zero_sent,
        };
        *counter = counter.saturating_add(1);
    }

    fn exit(&mut self, grid: &Grid, rtt: Nanos, w: Window, cx: &Context) -> Verdict {
        // Whole bins, rounded up: 3 bins are 1.05 initial RTTs. The delivered ring covers ten bins.
        let span = |time: Nanos| time.0.div_ceil(grid.bin.get()).min(WINDOW);
        let empty = self.bins.delivered(grid.idx, span(grid.initial_rtt));
        let full_bins = rtt.0.div_ceil(grid.bin.get());
        let full = if full_bins <= WINDOW { self.bins.delivered(grid.idx, full_bins) } else { 0 };
        self.empty_queue_target = empty;
        self.full_queue_target = u32::try_from(full).unwrap_or(u32::MAX);

        // SEARCH target-1: the bytes delivered in the last three bins are the BDP with an empty
        // queue; at least IW, at most the window (D4).
        let target = empty.max(cx.iw).min(w.cwnd);
        let cwnd = match self.params.exit {
            // SEARCH exit-1: 4.0 drains, 3.1 keeps the window, the other modes set the window at
            // once.
            Exit::Drain if target < w.cwnd => {
                (self.stage, self.credit) = (Stage::Draining, 0);
                return Verdict::Hold { cwnd: w.cwnd };
            }
            Exit::Drain | Exit::None => None,
            Exit::Jump => Some(target),
            Exit::Rollback => {
                let back = self.bins.delivered(grid.idx, span(grid.initial_rtt * 2));
                Some(w.cwnd.saturating_sub(back).max(cx.iw).min(w.cwnd))
            }
        };
        self.stage = Stage::Done;
        let ssthresh = cwnd.unwrap_or(w.cwnd);
        Verdict::Leave(Leave {
            reason: ExitReason::Flattened,
            ssthresh,
            cwnd,
            handover: Handover::LossFree,
            estimate: Some(empty),
        })
    }

    /// SEARCH drain-1: on every ACK the window follows the bytes in flight down, plus one segment
    /// of credit per `drain_ratio` acknowledged.
    fn drain(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        let target = self.empty_queue_target.max(cx.iw);
        let mss = cx.mss.clamp(1, MAX_BYTES);
        let per_segment = mss * u64::from(self.params.drain_ratio);
        let credit = u64::from(self.credit).saturating_add(ack.acked);
        let allowance = (credit / per_segment).saturating_mul(mss);
        let cwnd = ack.inflight.saturating_add(allowance).max(target).min(w.cwnd);
        // SEARCH drain-2: at the target the threshold is set and avoidance takes over.
        if cwnd > target {
            self.credit = u32::try_from(credit % per_segment).unwrap_or(u32::MAX);
            return Verdict::Hold { cwnd };
        }
        self.stage = Stage::Done;
        Verdict::Leave(Leave {
            reason: ExitReason::Flattened,
            ssthresh: cwnd,
            cwnd: Some(cwnd),
            handover: Handover::Drained,
            estimate: Some(self.empty_queue_target),
        })
    }
}

/// Time since the end of the open bin, if it has ended.
#[inline]
fn late_by(end: Time, now: Time, boundary: Boundary) -> Option<Nanos> {
    // SEARCH bins-2: an ACK at the very end of a bin closes it.
    let closes = match boundary {
        Boundary::Closed => now >= end,
        Boundary::Open => now > end,
    };
    closes.then(|| now.since(end))
}

const fn clamp(value: u8, lo: u8, hi: u8) -> u8 {
    if value < lo {
        lo
    } else if value > hi {
        hi
    } else {
        value
    }
}

impl Default for Search {
    fn default() -> Self {
        Search::new(Params::V4_0)
    }
}

/// Whether it was searching or draining.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct Looking(pub bool);

impl Startup for Search {
    type Saved = Looking;

    #[inline]
    fn heeds(&self) -> Heeds {
        let epoch =
            if self.params.skip_young_epoch { EpochUse::Sampling } else { EpochUse::Nowhere };
        Heeds { epoch, ..Heeds::sending(false) }
    }

    fn start(&mut self, _now: Time, _nxt: Seq) {
        self.rearm();
    }

    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        match self.stage {
            Stage::Armed => self.watch(ack, w, cx),
            Stage::Draining => self.drain(ack, w, cx),
            Stage::Done => Verdict::Stay,
        }
    }

    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        // SEARCH drain-3: draining stays below the threshold, so the hook still runs; growth would
        // undo it.
        let leftover = if self.stage == Stage::Draining { 0 } else { double(acked, w, cx) };
        Grown { leftover, verdict: Verdict::Stay }
    }

    // SEARCH end-1: congestion ends the search, draining included; the ordinary reduction follows.
    fn on_congestion(
        &mut self,
        _signal: Signal,
        _beta: Ratio,
        _ack: &Ack,
        _w: Window,
        _cx: &Context,
    ) -> Option<OwnRecovery> {
        self.stage = Stage::Done;
        None
    }

    /// SEARCH rearm-1: slow start runs again, perhaps on another path; the initial RTT is measured
    /// again.
    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.rearm();
    }

    fn on_idle(&mut self, _now: Time, _nxt: Seq) {
        self.rearm();
    }

    fn save(&self) -> Looking {
        Looking(self.stage != Stage::Done)
    }

    /// A drain that a false alarm interrupted is not resumed; the search starts again. The record
    /// is still there, so this takes one bin.
    fn restore(&mut self, saved: Looking) {
        if saved.0 {
            self.stage = Stage::Armed;
        }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(if self.stage == Stage::Draining { GAIN_AVOIDANCE } else { GAIN_SLOW_START })
    }

    fn status(&self) -> Status {
        let phase = if self.stage == Stage::Draining { Phase::Drain } else { Phase::Startup };
        Status { phase, ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let stats = self.stats();
        if let Some(Outcome::Exit { norm_percent } | Outcome::Continue { norm_percent }) = self.last
        {
            visit("search_norm_percent", u64::from(norm_percent));
        }
        visit("search_max_norm_percent", u64::from(stats.max_norm_percent));
        visit("search_max_look_bins", u64::from(stats.max_look_bins));
        visit("search_exits", u64::from(stats.exits));
        visit("search_continued", u64::from(stats.continued));
        visit("search_warming", u64::from(stats.warming));
        visit("search_rtt_inflated", u64::from(stats.rtt_inflated));
        visit("search_zero_sent", u64::from(stats.zero_sent));
        visit("search_resets", u64::from(stats.resets));
        visit("search_reset_passed_bins", u64::from(stats.reset_passed_bins));
        visit("search_empty_queue_target_bytes", stats.empty_queue_target);
        visit("search_full_queue_target_bytes", stats.full_queue_target);
    }
}
