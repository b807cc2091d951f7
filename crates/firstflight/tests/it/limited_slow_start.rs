//! Limited Slow Start of RFC 3742: the vectors of our specification, both sides of its threshold,
//! and its bounds per round trip.

use crate::hooks::{self, Alone};
use crate::told::Told;
use firstflight::event::{Context, Window};
use firstflight::startup::limited_slow_start::{LimitedSlowStart, Params};
use firstflight::startup::{Grown, Startup};
use proptest::prelude::*;

const MSS: u64 = 1448;
const INT: Params = firstflight::with!(Params { rfc_int: true, ..Params::RFC3742 });

const CX: Context = firstflight::with!(Context { paced: true, ..hooks::tcp(MSS) });

type Flow = Alone<LimitedSlowStart>;

impl Flow {
    fn new(params: Params, cwnd: u64) -> Flow {
        Flow::of(LimitedSlowStart::new(params), cwnd, CX)
    }

    /// Acknowledges `acked` bytes; the bytes by which the window grew.
    fn ack(&mut self, acked: u64) -> u64 {
        let (by, grown) = self.grow(&Told { acked, ..self.told });
        assert_eq!(grown, Grown::default(), "below an unset threshold all bytes are used");
        by
    }

    /// One round trip: the window is acknowledged in ACKs of `per_ack` bytes, the last one shorter.
    /// The bytes by which it grew.
    fn round_trip(&mut self, per_ack: u64) -> u64 {
        let before = self.w.cwnd;
        let mut left = before;
        while left > 0 {
            let acked = left.min(per_ack);
            self.ack(acked);
            left -= acked;
        }
        self.w.cwnd - before
    }
}

/// The share of RFC 3742 also where bytes times bytes need more than 64 bits.
#[test]
fn a_huge_window_opens_by_the_same_share() {
    let params = firstflight::with!(Params { max_ssthresh: 100_000, ..Params::RFC3742 });
    let mut flow = Flow::new(params, 1 << 38);
    flow.cx.paced = true;
    let acked = 1 << 37;
    // acked * max_ssthresh / (2 * cwnd): a quarter of max_ssthresh.
    assert_eq!(flow.ack(acked), 100_000 * MSS / 4);
}

/// Shows RFC3742 2-2.
#[test]
fn exact_growth_is_half_of_max_ssthresh_per_window() {
    // (window, acknowledged) -> growth. The first row is the specification's; then both sides of
    // max_ssthresh = 144 800.
    for (cwnd, acked, expected) in [
        (289_600, 2_896, 724),
        (144_800, 2_896, 2_896),
        (144_801, 2_896, 1_447),
        (144_799, 2_896, 2_896),
    ] {
        assert_eq!(
            Flow::new(Params::RFC3742, cwnd).ack(acked),
            expected,
            "window {cwnd}, {acked} bytes acknowledged"
        );
    }
}

/// Shows RFC3742 2-2.
#[test]
fn the_integer_form_rounds_k_down() {
    for (segments, k) in [(100, 1), (101, 2), (149, 2), (150, 3), (199, 3), (200, 4)] {
        assert_eq!(
            Flow::new(INT, segments * MSS).ack(MSS),
            MSS / k,
            "K at {segments} segments is {k}"
        );
    }
    let row_of_both_forms = Flow::new(INT, 289_600).ack(2_896);
    assert_eq!(row_of_both_forms, 724, "where K is an integer both forms agree");
}

/// Shows RFC3742 2-1, RFC3742 2-3.
#[test]
fn the_time_to_reach_a_window_is_that_of_the_formula() {
    // log2(100) + (C - 100) / 50, for C segments. The formula takes growth per round trip as the
    // whole half of max_ssthresh, but the window grows while it is acknowledged, which costs
    // half of the natural logarithm of C/100 over the whole way; one more round trip
    // each for the start and the end being whole ones.
    for (c, formula, per_ack) in [(1_000_u64, 24.6, 1), (8_300, 170.6, 1), (83_000, 1_664.6, 8)] {
        let mut f = Flow::new(Params::RFC3742, MSS);
        let mut rounds = 0.0;
        while f.w.cwnd < c * MSS {
            f.round_trip(per_ack * MSS);
            rounds += 1.0;
        }
        let lag = (c as f64 / 100.0).ln() / 2.0;
        assert!(
            (formula - 1.0..formula + lag + 2.0).contains(&rounds),
            "{c} segments took {rounds} round trips, by the formula {formula}"
        );
    }
}

#[test]
fn an_ack_counts_all_of_its_segments_paced_or_not() {
    for (paced, count, counted) in
        [(true, None, 20), (false, None, 20), (false, Some(1), 1), (true, Some(2), 2)]
    {
        let mut f = Flow::new(Params::RFC3742, 200 * MSS);
        (f.cx.paced, f.cx.count) = (paced, count);
        assert_eq!(
            f.ack(20 * MSS),
            counted * MSS / 4,
            "an ACK of 20 segments, paced: {paced}, of which {count:?} count"
        );
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for cwnd in [50 * MSS, 200 * MSS] {
        let mut f = Flow::new(Params::RFC3742, cwnd);
        f.cx.limited = false;
        assert_eq!(f.ack(MSS), 0, "at {cwnd} bytes, not limited by the window");
    }
}

#[test]
fn it_ends_at_a_threshold_and_hands_on_what_it_did_not_use() {
    // K = 4 at 200 segments: 4 segments would open the window by one; the threshold leaves room for
    // 1048 of its 1448 bytes.
    for (params, room, leftover) in [
        (Params::RFC3742, 1_048, 1_600),
        (INT, 1_048, 1_600),
        (INT, 1_448, 0),
        (Params::RFC3742, 0, 4 * MSS),
    ] {
        let mut f = Flow::new(params, 200 * MSS);
        f.w.ssthresh = f.w.cwnd + room;
        let grown = f.alg.grow(&Told::default().ack(), 4 * MSS, &mut f.w, &f.cx);
        assert_eq!(
            (f.w.cwnd, grown.leftover),
            (200 * MSS + room, leftover),
            "room for {room} bytes, rfc_int: {}",
            params.rfc_int
        );
    }
}

/// Shows RFC3742 2-1.
#[test]
fn exception_to_property_8_the_ack_that_crosses_counts_in_full() {
    let mut f = Flow::new(Params::RFC3742, 100 * MSS);
    assert_eq!(
        f.round_trip(100 * MSS),
        100 * MSS,
        "one ACK of the whole window at max_ssthresh itself doubles it"
    );
}

proptest! {
    /// Property 8, from max_ssthresh on.
    /// Shows RFC3742 2-2.
    #[test]
    fn growth_per_round_trip_is_at_most_half_of_max_ssthresh(
        max in 1..1_000_u64, over in 1..1_000_000_u64, per_ack in 1..40_u64, rounds in 1..8_usize,
    ) {
        let mut f = Flow::new(firstflight::with!(Params { max_ssthresh: max, rfc_int: false, ..Params::default() }), max * MSS + over);
        for _ in 0..rounds {
            let grown = f.round_trip(per_ack * MSS);
            prop_assert!(grown <= max * MSS / 2 + 1, "grew by {grown}, max_ssthresh is {max} segments");
        }
    }

    /// The integer form: K is at most a third too small, and never too large.
    #[test]
    fn the_integer_form_grows_by_up_to_half_as_much_again(max in 2..1_000_u64, over in 1..1_000_000_u64, acks in 1..50_u64) {
        let (start, acked) = (max * MSS + over, acks * MSS);
        let exact = Flow::new(firstflight::with!(Params { max_ssthresh: max, rfc_int: false, ..Params::default() }), start).ack(acked);
        let int = Flow::new(firstflight::with!(Params { max_ssthresh: max, rfc_int: true, ..Params::default() }), start).ack(acked);
        prop_assert!(exact <= int + 1 && 2 * int <= 3 * exact + 3, "grew by {int} with an integer K, by {exact} with an exact one");
    }

    /// However ACKs are batched, the window ends within what its own growth in between explains.
    #[test]
    fn batching_of_acks_hardly_matters(over in 1..1_000_000_u64, parts in prop::collection::vec(1..10_000_u64, 1..50)) {
        let start = 100 * MSS + over;
        let whole = Flow::new(Params::RFC3742, start).ack(parts.iter().sum());
        let mut split = Flow::new(Params::RFC3742, start);
        let pieces: u64 = parts.iter().map(|&p| split.ack(p)).sum();
        let bound = whole * whole / start + parts.len() as u64;
        prop_assert!(pieces <= whole && whole - pieces <= bound, "one ACK {whole}, {} ACKs {pieces}, bound {bound}", parts.len());
    }

    /// Nonsense goes in; the window neither shrinks nor passes its threshold nor grows by more than was acknowledged.
    #[test]
    fn no_event_does_harm(
        max in any::<u64>(), rfc_int in any::<bool>(),
        events in prop::collection::vec((any::<[u64; 3]>(), 0..64_u32, any::<[bool; 2]>(), 0..=u32::MAX), 1..100),
    ) {
        let mut alg = LimitedSlowStart::new(firstflight::with!(Params { max_ssthresh: max, rfc_int, ..Params::default() }));
        for ([acked, cwnd, ssthresh], shift, [paced, limited], mss) in events {
            let (acked, cwnd) = (acked >> shift, cwnd >> (63 - shift));
            let cx = firstflight::with!(Context { mss: mss.into(), paced, limited, ..CX });
            let mut w = Window { cwnd, ssthresh };
            let grown = alg.grow(&Told { acked, ..Told::default() }.ack(), acked, &mut w, &cx);
            prop_assert!(w.cwnd >= cwnd && w.cwnd - cwnd <= acked, "window {cwnd} became {} for {acked} bytes", w.cwnd);
            prop_assert!(w.cwnd <= cwnd.max(ssthresh), "window {} passed its threshold {ssthresh}", w.cwnd);
            prop_assert!(grown.leftover <= acked, "{} left over of {acked}", grown.leftover);
        }
    }
}
