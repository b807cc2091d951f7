//! Rapid Start in the controller: the jump, threefold growth, entry into its recovery, its end and
//! what comes after. Row numbers are those of our table of vectors for
//! draft-kazuho-ccwg-rapid-start-02; the rows about the window rule alone are in `rapid_recovery`.

use crate::hooks;
use crate::rig;
use crate::told::Told;

use firstflight::startup::Startup;
use firstflight::startup::rapid_start::{Params, RapidStart, Threshold};
use firstflight::{Config, Context, Nanos, Phase, Ready, Time, Timeout, Transport};
use proptest::prelude::*;
use rig::{MSS, RTT, Rig};

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

const CX: Context = hooks::quic(MSS);

/// Rapid Start after samples (time ms, RTT ns).
fn sampled(samples: &[(u64, u64)]) -> RapidStart {
    let mut rapid = RapidStart::new(Params::default());
    rapid.start(Time(0), firstflight::Seq(0));
    for &(at, rtt) in samples {
        rapid.on_rtt(Time(0) + ms(at), Nanos(rtt), &CX);
    }
    rapid
}

/// Shows RAPID 3.2-1.
#[test]
fn without_a_pacer_growth_is_twofold_at_most() {
    let mut r = Rig::quic("rapid(jump=off)@(pace=off)", 10 * MSS);
    r.fill();
    r.wait(30);
    r.ack(2 * MSS);
    assert_eq!(r.c.cwnd(), 12 * MSS, "two segments acknowledged, two more");
    r.ack(8 * MSS);
    assert_eq!(r.c.cwnd(), 20 * MSS, "and at most eight segments per ACK");
}

/// A connection that stands at `cwnd` with `flight` outstanding, still probing; the next ACK is the
/// one of the test.
fn probing(arm: &str, transport: Transport, iw: u64, cwnd: u64, flight: u64) -> Rig {
    let mut r = Rig::new(arm, transport, iw);
    while r.c.cwnd() < cwnd {
        r.fill();
        r.wait(30);
        // Threefold growth: half of what is missing.
        let missing = (cwnd - r.c.cwnd()).div_ceil(2);
        r.ack(missing.min(r.inflight()));
    }
    assert_eq!(r.c.cwnd(), cwnd, "the window the test asked for");
    let to_send = flight.saturating_sub(r.inflight());
    r.send(to_send);
    let excess = r.inflight() - flight;
    if excess > 0 {
        // Acknowledged without growth: the window was not the limit, nor half of it in flight.
        let ack = Told { cwnd_limited: false, inflight_before: 0, ..r.record(excess) };
        r.deliver(&ack);
    }
    assert_eq!((r.c.cwnd(), r.inflight()), (cwnd, flight), "window and flight the test asked for");
    r
}

#[test]
fn row_10_marks_alone_land_at_beta_times_the_window() {
    for transport in [Transport::Quic, Transport::Tcp] {
        let mut r = probing("rapid(jump=off)", transport, 10 * MSS, 1_000 * MSS, 1_000 * MSS);
        r.marked(MSS);
        // s * pre - a * 1000 bytes.
        assert_eq!(r.c.cwnd(), 900 * MSS - 200, "{transport:?}: the ACK with the marks is charged");
        while r.c.in_recovery() && r.inflight() > 0 {
            r.ack((50 * MSS).min(r.inflight()));
        }
        assert!(
            r.c.in_recovery(),
            "{transport:?}: it ends with the first packet sent after its beginning"
        );
        assert_eq!(r.c.cwnd(), 700 * MSS, "{transport:?}: 0.7 of what was acknowledged");
    }
}

/// Shows RAPID 3.3-floor.
#[test]
fn row_13_a_window_below_the_initial_one_is_cut_too() {
    let mut r = probing("rapid(jump=off)", Transport::Quic, 30 * MSS, 30 * MSS, 20 * MSS);
    r.marked(MSS);
    r.ack(19 * MSS);
    assert_eq!(r.c.cwnd(), 14 * MSS, "0.7 of the 20 in flight");
}

/// Shows RAPID 3.3-1.
#[test]
fn row_14_a_second_loss_is_the_controllers_own() {
    for recovery in ["prr", "immediate"] {
        let mut r = probing(
            &format!("rapid(jump=off)/cubic/{recovery}"),
            Transport::Quic,
            10 * MSS,
            100 * MSS,
            100 * MSS,
        );
        r.loss(2 * MSS, 2 * MSS);
        r.complete();
        r.fill();
        let before = r.inflight();
        r.loss(2 * MSS, MSS);
        assert_eq!(r.c.ssthresh(), Some(before * 7 / 10), "{recovery}: a plain cut by beta");
        assert_eq!(r.c.stats().loss_episodes, 2);
    }
}

/// Shows OURS rapid-timeout.
#[test]
fn row_15_a_timeout_in_recovery_is_an_ordinary_timeout() {
    let mut r = probing("rapid(jump=off)", Transport::Tcp, 10 * MSS, 100 * MSS, 100 * MSS);
    r.loss(2 * MSS, 2 * MSS);
    let cwnd = r.c.cwnd();
    r.timeout(Timeout::Rto);
    assert_eq!(
        (r.c.cwnd(), r.c.ssthresh()),
        (MSS, Some(cwnd * 7 / 10)),
        "one segment, threshold by beta"
    );
    r.ack(2 * MSS);
    assert_eq!(r.c.cwnd(), 3 * MSS, "slow start is twofold: inactive");
    r.assert_phase(Phase::Startup, "and shows as classic slow start");
}

fn iw30() -> Config {
    firstflight::with!(Config { initial_window: 36_000, ..Config::quic(1_200) })
}

/// Shows RAPID 3.1.1-1.
#[test]
fn a_jump_needs_data_a_pacer_and_room() {
    // (backlog, pace, window after)
    for (arm, backlog, expected) in [
        ("rapid", 36_000, 72_000),
        ("rapid", 35_999, 36_000),
        ("rapid(jump=off)", u64::MAX, 36_000),
        ("rapid(jump=30)", u64::MAX, 36_000),
        ("rapid(jump=31)", u64::MAX, 37_200),
        ("jumpstart", u64::MAX, 72_000),
    ] {
        let mut r = Rig::with(arm, iw30());
        r.c.before_send(&Ready { backlog, ..r.ready() });
        assert_eq!(r.c.cwnd(), expected, "{arm} with {backlog} bytes to send");
    }
    let mut r = Rig::with("rapid", firstflight::with!(Config { paced: false, ..iw30() }));
    r.c.before_send(&r.ready());
    assert_eq!(r.c.cwnd(), 36_000, "no pacer, no jump");
}

/// Shows RAPID 3.3.3-1.
#[test]
fn row_18_avoidance_takes_the_landing_for_beta_times_the_full_bdp() {
    for (options, w_max) in [("", 1_500_000), ("(fast=off)", 750_000)] {
        let mut r = probing(
            &format!("rapid(jump=off)/cubic{options}/prr"),
            Transport::Quic,
            10 * MSS,
            1_500_000,
            1_500_000,
        );
        // Half of the flight arrives and half is lost: A = L = 750 000.
        r.loss(MSS, 750_000);
        r.ack(749 * MSS);
        assert_eq!(r.c.cwnd(), 525_000, "0.7 of the full BDP");
        r.complete_after_losses();
        assert_eq!(
            (r.c.cwnd(), r.c.ssthresh()),
            (525_000, Some(525_000)),
            "the ACK that ends it was no part of the flight, and threshold = window"
        );
        r.ack(MSS);
        // The plateau is 2 / 0.7 of that window, or 1 / 0.7.
        assert_eq!(r.signal("w_max"), Some(w_max), "cubic{options}");
        assert_eq!(r.signal("cwnd_prior"), Some(750_000), "cubic{options}");
    }
}

proptest! {
    /// Properties 1, 4 and 6: the window never rises in the recovery, the threshold is the window throughout, and there is one per connection.
    /// Shows RAPID 3.3-1.
    #[test]
    fn the_recovery_only_falls_and_happens_once(
        tcp in any::<bool>(),
        by_marks in any::<bool>(),
        cwnd in 40u64..400,
        steps in prop::collection::vec((0u64..5, 0u64..5), 1..60),
    ) {
        let transport = if tcp { Transport::Tcp } else { Transport::Quic };
        let mut r = probing("rapid(jump=off)/reno/sack", transport, 10 * MSS, cwnd * 2 * MSS, cwnd * 2 * MSS);
        let pre = r.c.cwnd();
        if by_marks { r.marked(MSS) } else { r.loss(MSS, MSS) }
        let mut last = r.c.cwnd();
        prop_assert!(last <= pre * 5 / 6, "s * pre at most: {last} of {pre}");
        for (acked, lost) in steps {
            if r.inflight() < 20 * MSS {
                break;
            }
            // Everything here was sent before the recovery began.
            let ack = Told { lost: lost * MSS, tx_lost: (lost > 0).then_some(0), tx_acked: (acked > 0).then_some(0), ..r.record(acked * MSS) };
            r.deliver(&ack);
            prop_assert!(r.c.in_recovery(), "nothing sent since has arrived");
            prop_assert!(r.c.cwnd() <= last, "the window rose from {last} to {}", r.c.cwnd());
            prop_assert_eq!(r.c.ssthresh(), Some(r.c.cwnd()), "the threshold is the window");
            prop_assert!(r.c.cwnd() >= pre / 6, "below the floor: {} of {pre}", r.c.cwnd());
            last = r.c.cwnd();
        }
        r.complete();
        r.fill();
        let before = r.inflight();
        r.loss(2 * MSS, MSS);
        prop_assert_eq!(r.c.ssthresh(), Some((before / 2).max(2 * MSS)), "the next one is Reno's");
    }

    /// Property 5: never threefold after a round trip in which every sample was above the threshold.
    /// Shows RAPID 3.2-5.
    #[test]
    fn a_round_of_raised_samples_is_never_followed_by_threefold_growth(
        min in 1u64..400,
        above in 0u64..50,
        gaps in prop::collection::vec(1u64..40, 4..40),
    ) {
        let base = ms(min);
        let raised = Nanos(Threshold::Draft.of(base).0 + 1 + above * 100_000);
        let mut rapid = sampled(&[(min, base.0)]);
        let start = Time(0) + base;
        let mut now = start;
        for gap in gaps {
            now += Nanos(base.0 * gap / 100);
            rapid.on_rtt(now, raised, &CX);
            prop_assert!(!rapid.rapid() || now.since(start) < base, "threefold {:?} after the last low sample, min {base:?}", now.since(start));
        }
    }
}

#[test]
fn while_it_probes_it_shows_the_floor_and_what_it_compares_with() {
    let mut r = probing("rapid(jump=off)", Transport::Quic, 10 * MSS, 40 * MSS, 40 * MSS);
    assert_eq!(r.signal("rtt_floor_ns"), Some(RTT.0), "every sample was that");
    assert!(r.signal("rtt_threshold_ns").is_some_and(|threshold| threshold > RTT.0));
    r.marked(MSS);
    assert_eq!(r.signal("rtt_floor_ns"), None, "after congestion it compares no more");
}
