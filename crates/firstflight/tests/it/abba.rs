//! ABBA: the model's vectors, where a line comes from and where it ends, and that nothing but faster
//! growth is added to what it stands on.

use crate::hooks::{self, Avoiding, avoiding};
use crate::told::Told;
use firstflight::avoidance::abba::{Abba, Over, Params};
use firstflight::avoidance::abba_model::{Gain, Line, Point, micros};
use firstflight::avoidance::{Avoidance, Cubic, Cut};
use firstflight::event::{Context, Signal};
use firstflight::units::{MAX_BYTES, Nanos, Ratio, Time};
use proptest::prelude::*;

const MSS: u64 = 1000;
const THIRDS: Gain = Gain { share: Ratio::new(2, 3), most_ppm: 0 };
const FIFTHS: Gain = Gain { share: Ratio::new(3, 5), most_ppm: 0 };

fn point(cwnd: u64, rtt_ms: f64) -> Point {
    Point { cwnd, rtt_us: (rtt_ms * 1e3) as u32 }
}

fn fit(high: Point, low: Point) -> Line {
    Line::default().fit(high, low)
}

const CX: Context = hooks::quic_at(MSS, 110);

fn cut(signal: Signal) -> Cut {
    hooks::cut(Time(0), signal, MAX_BYTES)
}

type Rig = Avoiding<Abba>;

impl Rig {
    fn new(params: Params) -> Rig {
        Rig::of(Abba::new(params), 100_000, CX)
    }

    fn sample(&mut self, rtt_ms: f64, in_recovery: bool) {
        let rtt = Nanos((rtt_ms * 1e6) as u64);
        self.sampled(rtt, rtt, in_recovery);
    }

    fn cut(&mut self, signal: Signal) {
        self.reduce(signal, false);
    }

    fn grow(&mut self, acked: u64) -> u64 {
        let srtt = Some(Nanos::from_millis(100));
        self.grown(&Told { now: self.now, acked, srtt, ..Told::default() })
    }

    /// A window of 100 000 bytes at 120 ms is cut for a loss and shows 100 ms at 70 000 after it.
    fn known(params: Params) -> Rig {
        let mut rig = Rig::new(params);
        rig.sample(120.0, false);
        rig.cut(Signal::Loss);
        rig.alg.on_recovery_end(rig.w);
        rig.sample(100.0, false);
        rig
    }
}

/// Shows ABBA 3.3-span, ABBA 3.3-origin, ABBA 3.3-share.
#[test]
fn lines_through_two_points() {
    let low = point(70_000, 100.0);
    for (what, high, at_high, at_zero) in [
        ("two thirds of the slope", point(100_000, 120.0), 113_333, 68_888),
        ("capped at the origin", point(100_000, 200.0), 128_571, 33_333),
        ("too close: flat", point(100_000, 104.9), 100_000, 100_000),
        ("just far enough", point(100_000, 105.0), 103_333, 92_222),
    ] {
        let line = fit(high, low);
        assert_eq!((line.at(100_000), line.at(0)), (Some(at_high), Some(at_zero)), "{what}");
        assert_eq!(line.at(70_000), Some(100_000), "{what}: through the low point");
        assert_eq!(line.is_fit(), at_high != at_zero, "{what}");
    }
    assert_eq!(Line::default().at(1), None);
}

/// Shows ABBA 3.3-keep.
#[test]
fn a_low_point_at_or_beyond_the_high_one_changes_nothing() {
    let line = fit(point(100_000, 120.0), point(70_000, 100.0));
    for cwnd in [100_000, 110_000] {
        assert_eq!(line.fit(point(100_000, 120.0), point(cwnd, 80.0)), line);
    }
}

/// Shows ABBA 4-accel.
#[test]
fn what_growth_takes_of_the_room() {
    let steep = fit(point(65_536, 112.0), point(32_768, 64.0));
    let capped = fit(point(65_536, 256.0), point(32_768, 96.0));
    let origin = Line::from_origin(65_536, 128_000);
    for (line, acked, latest_ms, thirds, fifths) in [
        (steep, 65_536, 95, Some(682), Some(614)),
        (steep, 65_536, 94, Some(1365), Some(1228)),
        (steep, 65_536, 96, None, None),
        (capped, 65_536, 160, None, None),
        (capped, 65_536, 120, Some(13_653), Some(12_288)),
        (origin, 12_288, 96, Some(2048), Some(1843)),
        (origin, 12_288, 120, Some(512), Some(460)),
        (origin, 12_288, 80, Some(3072), Some(2764)),
        (origin, 12_288, 128, None, None),
    ] {
        for (gain, expected) in [(THIRDS, thirds), (FIFTHS, fifths)] {
            let grown = gain.grow(line, 65_536, latest_ms * 1000, acked, &mut 0);
            assert_eq!(grown, expected, "{gain:?} at {latest_ms} ms");
        }
    }
}

/// Shows ABBA 4-carry.
#[test]
fn parts_of_bytes_add_up() {
    let mut carry = 0;
    let origin = Line::from_origin(65_536, 128_000);
    let in_order =
        [96, 120, 80].map(|ms| FIFTHS.grow(origin, 65_536, ms * 1000, 12_288, &mut carry));
    assert_eq!(in_order, [Some(1843), Some(461), Some(2764)]);
    carry = 0;
    let bytes: u64 = (0..5).filter_map(|_| FIFTHS.grow(origin, 65_536, 0, 1, &mut carry)).sum();
    assert_eq!(bytes, 3);
}

/// Shows ABBA 4-half.
#[test]
fn an_ack_grows_by_half_at_most() {
    let origin = Line::from_origin(65_536, 128_000);
    assert_eq!(THIRDS.grow(origin, 65_536, 0, 65_536, &mut 0), Some(32_768));
    assert_eq!(THIRDS.grow(origin, 65_536, 0, MAX_BYTES, &mut 0), Some(32_768));
}

/// Shows ABBA quicly-cap, ABBA 4-cap.
#[test]
fn growth_yields_to_the_cut_until_the_window_is_well_past_it() {
    // Of 70 000 bytes: a window of 100 000 times 0.7 is as much as before the cut and yields no more, one
    // of 82 352 times 0.85 still does.
    for (beta, most_ppm, last) in
        [(Ratio::new(7, 10), 268_430, 99_999), (Ratio::new(17, 20), 114_439, 82_352)]
    {
        for (cap, most) in [(true, 12_000 * most_ppm / 1_000_000), (false, 7_200)] {
            let mut rig = Rig::new(firstflight::with!(Params {
                beta,
                cap,
                gain: Ratio::new(3, 5),
                ..Params::default()
            }));
            rig.w = avoiding(70_000);
            rig.sample(100_000.0, false);
            rig.cut(Signal::Loss);
            rig.alg.on_recovery_end(rig.w);
            // CUBIC begins its epoch down here, and has nothing to add above.
            rig.grow(0);
            // From the origin to 100 s; then a sample that says there is no path at all.
            let edge = last + 1;
            rig.w = avoiding(edge.max(rig.alg.high().map_or(0, |high| high.cwnd) * 2));
            rig.grow(0);
            assert!(rig.alg.line().is_from_origin(), "{beta}");
            rig.sample(0.001, false);
            rig.w = avoiding(last);
            assert!(rig.grow(12_000).abs_diff(most) <= 1, "{beta}, cap {cap}");
            rig.w = avoiding(edge);
            assert!(rig.grow(12_000).abs_diff(7_200) <= 1, "{beta}, beyond");
        }
    }
}

/// Shows ABBA 3.1-high, ABBA 3.2-low.
#[test]
fn after_a_loss_the_smallest_sample_of_recovery_is_the_high_point() {
    let mut rig = Rig::new(Params::default());
    rig.sample(80.0, false);
    rig.cut(Signal::Loss);
    assert_eq!((rig.alg.high(), rig.alg.low()), (Some(point(100_000, 80.0)), None));
    rig.sample(70.0, true);
    rig.sample(75.0, true);
    rig.alg.on_recovery_end(rig.w);
    assert_eq!(rig.alg.high(), Some(point(100_000, 70.0)));
    assert_eq!(rig.alg.low(), Some(point(70_000, 70.0)), "with the window then");
    assert_eq!((rig.alg.line().at(0), rig.alg.line().is_fit()), (Some(70_000), false), "flat");
    for (rtt_ms, low) in
        [(90.0, point(70_000, 70.0)), (70.0, point(70_000, 70.0)), (65.0, point(78_000, 65.0))]
    {
        rig.w = avoiding(78_000);
        rig.sample(rtt_ms, false);
        assert_eq!(rig.alg.low(), Some(low), "after {rtt_ms} ms");
    }
    assert_eq!(rig.alg.line(), fit(point(100_000, 70.0), point(78_000, 65.0)));
}

/// Shows ABBA 3.1-high.
#[test]
fn without_a_sample_the_smoothed_rtt_is_the_high_point() {
    let mut rig = Rig::new(Params::default());
    rig.cut(Signal::Loss);
    assert_eq!(rig.alg.high(), Some(point(100_000, 110.0)));
}

/// Shows ABBA 3.1-high.
#[test]
fn before_marks_the_floor_of_a_round_trip_is_the_high_point() {
    let mut rig = Rig::new(Params::default());
    for rtt_ms in [105.0, 96.0, 140.0] {
        rig.sample(rtt_ms, false);
    }
    rig.cut(Signal::Ecn);
    rig.sample(60.0, true);
    assert_eq!(rig.alg.high(), Some(point(100_000, 96.0)), "what follows is not admitted");
}

/// Shows ABBA 3.4-beyond, ABBA 3.4-redraw.
#[test]
fn well_past_the_cut_the_line_starts_at_the_origin() {
    for (signal, abe, edge) in
        [(Signal::Loss, None, 130_000), (Signal::Ecn, Some(Ratio::new(17, 20)), 115_000)]
    {
        let mut rig = Rig::new(firstflight::with!(Params { abe, ..Params::default() }));
        rig.sample(96.0, false);
        rig.cut(signal);
        rig.alg.on_recovery_end(rig.w);
        rig.w = avoiding(edge);
        rig.grow(0);
        assert!(!rig.alg.line().is_from_origin(), "{signal:?}: at {edge}");
        rig.w = avoiding(edge + 1);
        assert_eq!(rig.grow(0), 0);
        assert_eq!(rig.alg.line(), Line::from_origin(edge + 1, 96_000), "{signal:?}");
        // The earlier target stays: the larger prediction.
        let mut rig = Rig::known(Params::default());
        let target = rig.alg.line().at(130_001);
        rig.w = avoiding(130_001);
        rig.grow(0);
        assert_eq!(Some(rig.alg.line()), target.map(|rtt| Line::from_origin(130_001, rtt)));
    }
}

/// Shows ABBA 3.4-redraw: once, and where the cut left no line it is the floor of a round trip that the
/// window is to show.
#[test]
fn a_line_from_the_origin_is_drawn_once_and_without_a_line_before_through_the_floor() {
    let mut rig = Rig::new(Params::default());
    for rtt_ms in [96.0, 110.0] {
        rig.sample(rtt_ms, false);
    }
    rig.cut(Signal::Loss);
    // The window is back before recovery is over: the low point is no lower than the high one.
    rig.w = avoiding(100_000);
    rig.alg.on_recovery_end(rig.w);
    assert_eq!(rig.alg.line(), Line::default());
    rig.w = avoiding(130_001);
    rig.grow(0);
    assert_eq!(rig.alg.line(), Line::from_origin(130_001, 96_000));
    rig.w = avoiding(140_000);
    rig.grow(0);
    assert_eq!(rig.alg.line(), Line::from_origin(130_001, 96_000), "and stays");
}

/// Shows ABBA 3-first.
#[test]
fn without_a_cut_or_after_a_timeout_it_is_cubic() {
    let mut rig = Rig::new(Params::default());
    rig.sample(100.0, false);
    rig.sample(50.0, false);
    rig.grow(1);
    assert_eq!((rig.alg.high(), rig.alg.line()), (None, Line::default()));
    let mut rig = Rig::known(Params::default());
    rig.alg.on_rto(&hooks::timeout(rig.now, 0, rig.w), rig.w, &CX);
    rig.w = avoiding(200_000);
    rig.grow(1);
    assert_eq!((rig.alg.high(), rig.alg.line()), (None, Line::default()));
    let mut rig = Rig::known(Params::default());
    rig.alg.on_persistent_congestion(rig.now);
    assert_eq!((rig.alg.high(), rig.alg.line()), (None, Line::default()));
}

/// Shows ABBA 4-larger, ABBA 4-carry.
#[test]
fn the_larger_growth_counts_and_cubics_drops_the_rest() {
    let mut rig = Rig::known(firstflight::with!(Params { cap: false, ..Params::default() }));
    rig.w = avoiding(90_000);
    // 108 ms are due at 90 000.
    rig.sample(107.0, false);
    // A gap of 4250 bytes, two thirds of it per window; kept to the part of a byte.
    let grown: u64 = (0..300).map(|_| rig.grow(1)).sum();
    assert!((9..=10).contains(&grown), "{grown} bytes instead of 9.4");
    rig.sample(120.0, false);
    assert_eq!(rig.grow(1), 0, "no room");
}

/// Shows ABBA 3.1-high: every cut begins anew, and a false alarm gives the old line back.
#[test]
fn a_cut_forgets_the_line_and_a_false_alarm_restores_it() {
    for over in [Over::Cubic, Over::Cuback] {
        let mut rig = Rig::known(firstflight::with!(Params { over, ..Params::default() }));
        let (saved, line) = (rig.alg.save(), rig.alg.line());
        assert!(line.is_fit());
        rig.cut(Signal::Loss);
        assert_eq!(rig.alg.line(), Line::default());
        // At 110 ms the line shows no room for the window; at 100 ms it did.
        rig.sample(110.0, true);
        rig.alg.restore(saved);
        assert_eq!((rig.alg.line(), rig.alg.low()), (line, Some(point(70_000, 100.0))));
        rig.w = avoiding(80_000);
        assert_eq!(rig.grow(40_000) / 1_000, 0, "the sample is no part of what was wrong");
        rig.sample(100.0, false);
        assert!(rig.grow(40_000) > 3_000, "and now there is room");
    }
}

/// Shows ABBA 4-larger: where CUBIC grows faster than the room that is left, its growth counts.
#[test]
fn cubics_growth_counts_where_it_is_the_larger() {
    let mut plain = Cubic::default();
    let before = avoiding(100_000);
    plain.reduce(&cut(Signal::Loss), before, &CX);
    let mut rig = Rig::known(Params::default());
    let (mut larger, mut equal) = (0, 0);
    for tenth in 0..200_u64 {
        rig.now = Time(tenth * 100_000_000);
        // A room of one millisecond, or of eight, whatever the window.
        let due = rig.alg.line().at(rig.w.cwnd).expect("a line");
        rig.sample(f64::from(due) / 1e3 - if tenth % 2 == 0 { 1.0 } else { 8.0 }, false);
        let mut beside = rig.w;
        let ack = Told {
            now: rig.now,
            acked: 10_000,
            srtt: Some(Nanos::from_millis(100)),
            ..Told::default()
        };
        plain.grow(&ack.ack(), 10_000, &mut beside, &CX);
        rig.grow(10_000);
        assert!(rig.w.cwnd >= beside.cwnd, "{} at {tenth}, CUBIC's {}", rig.w.cwnd, beside.cwnd);
        larger += u32::from(rig.w.cwnd > beside.cwnd);
        equal += u32::from(rig.w.cwnd == beside.cwnd);
        rig.w = beside;
    }
    assert!(larger > 10 && equal > 10, "{larger} and {equal}: both were the larger one");
}

#[test]
fn round_trips_beyond_half_an_hour_are_half_an_hour() {
    assert_eq!(micros(Nanos::MAX), (1 << 31) - 1);
    assert_eq!(micros(Nanos::from_millis(96)), 96_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Shows ABBA 3.3-origin.
    #[test]
    fn lines_stay_between_flat_and_the_origin(high in 1u64..MAX_BYTES, low in 1u64..MAX_BYTES, full in 0u32..1 << 31, empty in 0u32..1 << 31) {
        let line = fit(Point { cwnd: high, rtt_us: full.max(empty) }, Point { cwnd: low, rtt_us: full.min(empty) });
        if let Some(at_zero) = line.at(0) {
            prop_assert!(at_zero <= full.min(empty) && line.at(low) == Some(full.min(empty)));
        }
    }

    /// Growth in real numbers, whatever the numbers.
    /// Shows ABBA 4-accel.
    #[test]
    fn growth_is_that_of_real_numbers(
        high in 2_000u64..1 << 36, share in 0.1f64..1.0, full in 10_000u32..10_000_000, part in 0.1f64..1.0,
        cwnd in 2_000u64..1 << 36, latest in 1u32..10_000_000, acked in 1u64..1 << 30,
    ) {
        let (high, low) = (Point { cwnd: high, rtt_us: full }, Point { cwnd: (high as f64 * share) as u64 + 1, rtt_us: (f64::from(full) * part) as u32 });
        let line = fit(high, low);
        prop_assume!(line.is_fit());
        let slope = (f64::from(high.rtt_us - low.rtt_us) / (high.cwnd - low.cwnd) as f64).min(f64::from(low.rtt_us) / low.cwnd as f64) * 2.0 / 3.0;
        let reference = low.cwnd as f64 + (f64::from(latest) - f64::from(low.rtt_us)) / slope;
        let want = (acked as f64 * 2.0 / 3.0 * (1.0 - reference / cwnd as f64)).clamp(0.0, (cwnd / 2) as f64);
        let is = THIRDS.grow(line, cwnd, latest, acked, &mut 0).unwrap_or(0) as f64;
        prop_assert!((is - want).abs() <= 1.0 + want * 1e-6, "{is} instead of {want}");
    }

    /// Shows ABBA quicly-cap: of growth into the room and the most per byte acknowledged the smaller
    /// counts, to the 2^-32 of a byte that is carried on.
    #[test]
    fn growth_is_capped_to_the_part_of_a_byte(
        cwnd in 1_000u64..1 << 20, rtt in 1_000u32..200_000, latest in 0.0f64..1.0, acked in 1u64..500, most_ppm in 1u32..1_000_000, large in any::<bool>(),
    ) {
        let (line, latest) = (Line::from_origin(cwnd, rtt), (f64::from(rtt) * latest) as u32);
        let acked = if large { acked * cwnd / 1_000 } else { acked };
        let exact = |most_ppm| {
            let mut carry = 0;
            let grown = Gain { share: Ratio::new(2, 3), most_ppm }.grow(line, cwnd, latest, acked, &mut carry);
            grown.map(|bytes| (u128::from(bytes) << 32) + u128::from(carry))
        };
        let most = ((u128::from(acked) * u128::from(most_ppm)) << 32).div_ceil(1_000_000);
        prop_assert_eq!(exact(most_ppm), exact(0).map(|room| room.min(most)));
    }

    /// Never less than what it stands on would set from the same window, never more than half on top.
    /// Shows ABBA 4-larger, ABBA 4-half.
    #[test]
    fn it_only_adds_growth(steps in prop::collection::vec((0u8..8, 1u64..200_000, 1.0f64..400.0), 1..120), cuback in any::<bool>(), cap in any::<bool>()) {
        let over = if cuback { Over::Cuback } else { Over::Cubic };
        let mut rig = Rig::new(firstflight::with!(Params { over, cap, ..Params::default() }));
        let mut plain = Cubic::default();
        for (kind, amount, rtt_ms) in steps {
            let before = rig.w.cwnd;
            rig.sample(rtt_ms, kind == 0);
            match kind {
                0 => {
                    rig.cut(if amount % 2 == 0 { Signal::Loss } else { Signal::Ecn });
                    let left = plain.reduce(&cut(Signal::Loss), avoiding(before), &CX);
                    prop_assert_eq!(rig.w.cwnd, left.cwnd, "cuts are CUBIC's");
                }
                1 => rig.alg.on_recovery_end(rig.w),
                2 => {
                    rig.alg.on_rto(&hooks::timeout(rig.now, amount, rig.w), rig.w, &CX);
                    plain.on_rto(&hooks::timeout(rig.now, amount, rig.w), rig.w, &CX);
                }
                _ => {
                    let mut beside = avoiding(before);
                    let ack = Told { now: rig.now, acked: amount, srtt: Some(Nanos::from_millis(100)), ..Told::default() };
                    plain.grow(&ack.ack(), amount, &mut beside, &CX);
                    rig.grow(amount);
                    prop_assert!(rig.w.cwnd <= before + before / 2 + amount, "half, or what slow ACKs add up to");
                    if !cuback {
                        prop_assert!(rig.w.cwnd >= beside.cwnd, "{} below CUBIC's {}", rig.w.cwnd, beside.cwnd);
                    }
                }
            }
        }
    }
}
