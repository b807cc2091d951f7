//! Rapid Start's own recovery as a window rule: the vectors, the derived shares of silence and
//! rate, and its properties. Row numbers are those of our table of vectors for
//! draft-kazuho-ccwg-rapid-start-02.

use firstflight::Ratio;
use firstflight::recovery::RapidRecovery;
use proptest::prelude::*;

const MSS: u64 = 1_000;
const SMALL_IW: u64 = 10 * MSS;
const K: Ratio = Ratio::new(2, 3);
const OLD_K: Ratio = Ratio::new(11, 18);
const CUBIC: Ratio = Ratio::new(7, 10);
const RENO: Ratio = Ratio::new(1, 2);
const FULL_BDP: u64 = 750_000;

fn entered(beta: Ratio, pre: u64) -> RapidRecovery {
    RapidRecovery::new(beta, K, pre, SMALL_IW, MSS)
}

fn landing(beta: Ratio, pre: u64, acked: u64, lost: u64) -> u64 {
    let mut recovery = entered(beta, pre);
    recovery.account(acked, lost);
    recovery.cwnd()
}

/// Shows RAPID 3.3.1-1.
#[test]
fn row_5_entry_cuts_to_s_times_the_window() {
    assert_eq!(landing(CUBIC, 1_500_000, 0, 0), 1_350_000, "beta .7");
    assert_eq!(landing(RENO, 1_500_000, 0, 0), 1_250_000, "beta .5");
}

/// Shows RAPID 3.3.1-1.
#[test]
fn row_6_every_byte_acknowledged_or_lost_is_charged() {
    let mut recovery = entered(CUBIC, 100_000);
    for (acked, lost, cwnd) in
        [(1_200, 0, 89_760), (0, 1_200, 88_680), (1_200, 2_400, 86_280), (33_333, 0, 79_613)]
    {
        recovery.account(acked, lost);
        assert_eq!(recovery.cwnd(), cwnd, "after ({acked}, {lost})");
    }
}

/// Shows RAPID 3.3.1-1.
#[test]
fn row_7_every_overshoot_up_to_threefold_lands_at_beta_times_the_full_bdp() {
    for (beta, expected) in [(CUBIC, 525_000), (RENO, 375_000)] {
        for twice_g in [2, 4, 5, 6] {
            let pre = FULL_BDP * twice_g / 2;
            assert_eq!(
                landing(beta, pre, FULL_BDP, pre - FULL_BDP),
                expected,
                "beta {beta}, G = {twice_g}/2"
            );
        }
    }
}

/// Shows RAPID 3.3-floor.
#[test]
fn row_8_the_floor_is_a_third_of_beta_times_the_window() {
    for (beta, expected) in [
        (CUBIC, [175_000, 350_000, 437_500, 525_000]),
        (RENO, [125_000, 250_000, 312_500, 375_000]),
    ] {
        for (twice_g, floor) in [2, 4, 5, 6].into_iter().zip(expected) {
            let pre = FULL_BDP * twice_g / 2;
            assert_eq!(landing(beta, pre, 0, pre), floor, "beta {beta}, G = {twice_g}/2, all lost");
        }
    }
}

/// Shows RAPID 3.3-floor.
#[test]
fn rows_9_to_11_floor_marks_and_an_unused_window() {
    let rows = [
        ("9: 90 % lost, floor binds", 1_000_000, 100_000, 900_000, 233_333),
        ("10: marks only", 1_000_000, 1_000_000, 0, 700_000),
        ("11: window 100 000, flight 60 000, then marks", 60_000, 60_000, 0, 42_000),
        ("11 literal: pre is the window", 100_000, 60_000, 0, 78_000),
        ("500 000 of the window unused, literal pre", 2_000_000, 1_000_000, 500_000, 1_150_000),
        ("the same, pre is the flight", 1_500_000, 1_000_000, 500_000, 700_000),
    ];
    for (row, pre, acked, lost, cwnd) in rows {
        assert_eq!(landing(CUBIC, pre, acked, lost), cwnd, "{row}");
    }
}

/// Shows RAPID 3.3-floor.
#[test]
fn rows_12_and_13_the_initial_window_is_a_floor_that_never_blocks_the_cut() {
    const IW: u64 = 30 * MSS;
    let land = |beta, pre, acked, lost| {
        let mut recovery = RapidRecovery::new(beta, K, pre, IW, MSS);
        recovery.account(acked, lost);
        recovery.cwnd()
    };
    assert_eq!(
        land(CUBIC, 100 * MSS, 0, 100 * MSS),
        23_333,
        "12: a third of beta times the window is above beta * IW"
    );
    assert_eq!(land(RENO, 100 * MSS, 0, 100 * MSS), 16_666, "12 with beta .5");
    assert_eq!(land(CUBIC, 20 * MSS, 20 * MSS, 0), 14 * MSS, "13: a window below IW is still cut");
}

/// Silence and rate of a full window of `g` full BDPs, of which one is delivered and the rest lost
/// evenly over one full-queue RTT; both in 1/10 000. The sender is silent until the flight has
/// shrunk to the window, and then sends what the window leaves open.
fn silence_and_rate(beta: Ratio, k: Ratio, twice_g: u64) -> (u64, u64) {
    const STEPS: u64 = 10_000;
    const STEP: u64 = 100_000;
    let full = STEPS * STEP;
    let mut recovery = RapidRecovery::new(beta, k, full * twice_g / 2, 0, 1);
    let mut left = full * twice_g / 2;
    let lost = STEP * (twice_g - 2) / 2;
    let silent = (1..=STEPS)
        .find(|_| {
            recovery.account(STEP, lost);
            left -= STEP + lost;
            left <= recovery.cwnd()
        })
        .expect("the flight shrinks to the window");
    let before = recovery.cwnd();
    recovery.account(100 * STEP, 100 * lost);
    let sent = recovery.cwnd() + 100 * (STEP + lost) - before;
    (silent, sent * STEPS / (100 * STEP))
}

/// Shows RAPID 3.3.1-1.
#[test]
fn silence_is_at_most_one_minus_beta_and_the_rate_at_most_the_bottleneck() {
    let table = [
        (RENO, K, [(2_500, 6_667), (4_000, 8_333), (4_545, 9_167), (5_000, 10_000)]),
        (CUBIC, K, [(1_250, 8_000), (2_222, 9_000), (2_632, 9_500), (3_000, 10_000)]),
        (Ratio::new(8, 10), K, [(769, 8_667), (1_429, 9_333), (1_724, 9_667), (2_000, 10_000)]),
        (RENO, OLD_K, [(2_800, 6_944), (4_375, 8_889), (4_930, 9_861), (5_385, 10_833)]),
        (CUBIC, OLD_K, [(1_429, 8_167), (2_500, 9_333), (2_941, 9_917), (3_333, 10_500)]),
    ];
    for (beta, k, row) in table {
        for (twice_g, (silence, rate)) in [2, 4, 5, 6].into_iter().zip(row) {
            let found = silence_and_rate(beta, k, twice_g);
            let near = |a: u64, b: u64| a.abs_diff(b) <= 2;
            assert!(
                near(found.0, silence) && near(found.1, rate),
                "beta {beta}, K {k}, G {twice_g}/2: {found:?}, not ({silence}, {rate})"
            );
        }
    }
}

/// Any split of a window into acknowledged and lost pieces, in any order.
fn history() -> impl Strategy<Value = (Ratio, u64, Vec<(u64, u64)>)> {
    let beta =
        prop_oneof![Just(RENO), Just(CUBIC), Just(Ratio::new(8, 10)), Just(Ratio::new(17, 20))];
    (beta, 20_000..10_000_000_u64, prop::collection::vec((0..200_000_u64, 0..100_000_u64), 1..60))
        .prop_map(|(beta, pre, steps)| {
            let mut left = pre;
            let steps = steps.into_iter().map(|(acked, lost)| {
                let acked = acked.min(left);
                let lost = lost.min(left - acked);
                left -= acked + lost;
                (acked, lost)
            });
            (beta, pre, steps.collect())
        })
}

proptest! {
    /// Shows RAPID 3.3-3.
    #[test]
    fn property_1_the_window_only_shrinks_between_its_bounds((beta, pre, steps) in history()) {
        let mut recovery = entered(beta, pre);
        let floor = (beta.of(pre) / 3).max(beta.of(SMALL_IW.min(pre))).max(2 * MSS);
        let s = (3 * u128::from(pre) * u128::from(beta.num()) + 2 * u128::from(pre) * u128::from(beta.den() - beta.num())) / u128::from(3 * beta.den());
        let mut last = recovery.cwnd();
        for (acked, lost) in steps {
            recovery.account(acked, lost);
            let now = recovery.cwnd();
            prop_assert!(now <= last, "the window grew from {last} to {now}");
            prop_assert!(now >= floor, "the window {now} fell below the floor {floor}");
            prop_assert!(u128::from(now) <= s, "the window {now} is above s * pre = {s}");
            last = now;
        }
    }

    /// Shows RAPID 3.3.1-1.
    #[test]
    fn property_2_the_landing_depends_only_on_the_totals((beta, pre, steps) in history()) {
        let mut recovery = entered(beta, pre);
        for &(acked, lost) in &steps {
            recovery.account(acked, lost);
        }
        let (acked, lost) = steps.iter().fold((0, 0), |t, s| (t.0 + s.0, t.1 + s.1));
        prop_assert_eq!(recovery.cwnd(), landing(beta, pre, acked, lost), "split or not");
        // beta * A + s * (pre - A - L), in twentieths times three.
        let floor = (beta.of(pre) / 3).max(beta.of(SMALL_IW.min(pre))).max(2 * MSS);
        let (p, q) = (u128::from(beta.num()), u128::from(beta.den()));
        let exact = 3 * p * u128::from(acked) + (3 * p + 2 * (q - p)) * u128::from(pre - acked - lost);
        let identity = u64::try_from(exact / (3 * q)).expect("a window");
        prop_assert!(recovery.cwnd().abs_diff(identity.max(floor)) <= 1, "landed at {}, the identity says {}", recovery.cwnd(), identity);
    }

    #[test]
    fn nonsense_never_panics(pre: u64, iw: u64, mss in 0..1_u64 << 40, steps in prop::collection::vec((any::<u64>(), any::<u64>()), 0..20)) {
        let mut recovery = RapidRecovery::new(CUBIC, K, pre, iw, mss);
        for (acked, lost) in steps {
            recovery.account(acked, lost);
            prop_assert!(recovery.cwnd() >= 2 * mss, "the window {} is below two segments of {mss}", recovery.cwnd());
        }
    }
}
