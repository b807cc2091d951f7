//! The RTT estimators: RFC 9002 sections 5 to 7, RFC 6298.

use firstflight::signal::rtt::{GRANULARITY, INITIAL_RTT, Rfc6298Rtt, Rfc9002Rtt, RtoParams};
use firstflight::units::Nanos;
use proptest::prelude::*;

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}
const fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}
const MAX_ACK_DELAY: Nanos = ms(25);

/// Samples 100, 140, 100 ms: smoothed, deviation, and the timeout by each preset (in us; the RFC's
/// raw value is in the table's third column and shows with the least timeout of 300 ms or below).
const ROWS: [(u64, u64, u64, u64, u64); 3] = [
    // sample, srtt, var, srtt + 4 var, linux
    (100, 100_000, 50_000, 300_000, 300_000),
    (140, 105_000, 47_500, 295_000, 305_000),
    (100, 104_375, 36_875, 251_875, 304_375),
];

/// Shows RFC6298 2-2, RFC6298 2-3.
#[test]
fn rfc6298_samples_move_mean_and_deviation_by_an_eighth_and_a_quarter() {
    let raw = RtoParams { min: Nanos(0), ..RtoParams::RFC };
    let (mut plain, mut linux) = (Rfc6298Rtt::new(raw), Rfc6298Rtt::new(RtoParams::LINUX));
    for (sample, srtt, var, rto, linux_rto) in ROWS {
        plain.on_sample(ms(sample));
        linux.on_sample(ms(sample));
        let got = (plain.srtt(), plain.variance(), plain.rto(), linux.rto());
        let expected = (Some(us(srtt)), Some(us(var)), us(rto), us(linux_rto));
        assert_eq!(
            got, expected,
            "after {sample} ms srtt, variance, raw and Linux timeout are {expected:?}, not {got:?}"
        );
    }
    assert_eq!(
        (plain.min(), plain.latest()),
        (Some(ms(100)), Some(ms(100))),
        "the minimum and the last sample are 100 ms"
    );
}

/// Shows RFC9002 5.3-1, RFC9002 5.3-2.
#[test]
fn rfc9002_agrees_with_rfc6298_while_acks_are_prompt() {
    let mut rtt = Rfc9002Rtt::default();
    for (sample, srtt, var, _, _) in ROWS {
        rtt.on_sample(ms(sample), Nanos::ZERO, Some(MAX_ACK_DELAY));
        let got = (rtt.srtt(), rtt.variance());
        assert_eq!(
            got,
            (Some(us(srtt)), us(var)),
            "after {sample} ms srtt and variance are {srtt} and {var} us, not {got:?}"
        );
    }
}

/// Shows RFC6298 2-1, RFC6298 2-4, RFC6298 2-5, LINUX rto-bounds.
#[test]
fn presets_bound_the_timeout() {
    // name, parameters, timeout without a sample, after one of 1 ms, after one of 100 ms, after one
    // of 1000 s
    let rows = [
        ("rfc", RtoParams::RFC, ms(1000), ms(1000), ms(1000), ms(60_000)),
        ("linux", RtoParams::LINUX, ms(1000), ms(201), ms(300), ms(120_000)),
        ("windows-like", RtoParams::WINDOWS, ms(1000), ms(300), ms(300), ms(60_000)),
    ];
    for (name, params, none, short, usual, long) in rows {
        let after = |sample| {
            let mut rtt = Rfc6298Rtt::new(params);
            rtt.on_sample(sample);
            rtt.rto()
        };
        let got =
            (Rfc6298Rtt::new(params).rto(), after(ms(1)), after(ms(100)), after(ms(1_000_000)));
        assert_eq!(
            got,
            (none, short, usual, long),
            "{name}: timeouts are {:?}, not {got:?}",
            (none, short, usual, long)
        );
    }
}

/// Shows RFC6298 5-5.
#[test]
fn a_timeout_doubles_and_a_sample_ends_the_backoff() {
    let mut rtt = Rfc6298Rtt::new(RtoParams::LINUX);
    rtt.on_sample(ms(100));
    for expected in [300, 600, 1200] {
        assert_eq!(rtt.rto(), ms(expected), "the timeout is {expected} ms, not {:?}", rtt.rto());
        rtt.on_timeout();
    }
    for _ in 0..100 {
        rtt.on_timeout();
    }
    assert_eq!(rtt.rto(), ms(120_000), "the backoff stops at two minutes, not at {:?}", rtt.rto());
    rtt.on_sample(ms(100));
    assert_eq!(
        (rtt.backoff(), rtt.rto()),
        (0, ms(300)),
        "a sample ends the backoff, but {:?} remains",
        rtt.rto()
    );
}

/// Shows RFC6298 2-1.
#[test]
fn an_old_stack_waits_three_seconds_for_its_first_sample() {
    let rtt = Rfc6298Rtt::new(RtoParams { initial: ms(3000), ..RtoParams::LINUX });
    assert_eq!(rtt.rto(), ms(3000), "the first timeout is 3 s, not {:?}", rtt.rto());
}

/// Shows RFC9002 6.2.1-1, RFC9002 6.2.1-2, RFC9002 6.2.2-1.
#[test]
fn probe_timeout_vectors() {
    let mut rtt = Rfc9002Rtt::default();
    assert_eq!(
        rtt.smoothed(),
        INITIAL_RTT,
        "before a sample the RTT counts as 333 ms, not {:?}",
        rtt.smoothed()
    );
    // 333 + 4 * 166.5, without an ack delay in the handshake.
    assert_eq!(
        rtt.pto(Nanos::ZERO),
        ms(999),
        "without a sample the probe timeout is 999 ms, not {:?}",
        rtt.pto(Nanos::ZERO)
    );
    rtt.on_sample(ms(100), Nanos::ZERO, None);
    for (count, expected) in [(0, 325), (1, 650), (2, 1300)] {
        let got = rtt.pto_after(MAX_ACK_DELAY, count);
        assert_eq!(
            got,
            ms(expected),
            "after {count} probes the timeout is {expected} ms, not {got:?}"
        );
    }
    let span = rtt.persistent_duration(MAX_ACK_DELAY);
    assert_eq!(
        span,
        ms(975),
        "losses must span more than three probe timeouts, 975 ms, not {span:?}"
    );
}

/// Shows RFC9002 6.1.2-1.
#[test]
fn a_packet_is_late_after_nine_eighths_of_the_larger_rtt() {
    let mut rtt = Rfc9002Rtt::default();
    rtt.on_sample(ms(100), Nanos::ZERO, None);
    assert_eq!(rtt.loss_delay(), us(112_500), "100 ms give 112.5 ms, not {:?}", rtt.loss_delay());
    rtt.on_sample(ms(180), Nanos::ZERO, None);
    assert_eq!(
        rtt.loss_delay(),
        us(202_500),
        "the latest RTT of 180 ms exceeds the mean and gives 202.5 ms, not {:?}",
        rtt.loss_delay()
    );
    rtt.on_sample(ms(100), Nanos::ZERO, None);
    // srtt 110 -> 108.75
    assert_eq!(
        rtt.loss_delay(),
        us(122_343) + Nanos(750),
        "the mean of 108.75 ms exceeds the latest, not {:?}",
        rtt.loss_delay()
    );
}

/// Shows RFC9002 6.1.2-2.
#[test]
fn short_paths_wait_a_granule() {
    let mut rtt = Rfc9002Rtt::default();
    rtt.on_sample(us(50), Nanos::ZERO, None);
    assert_eq!(
        rtt.loss_delay(),
        GRANULARITY,
        "a packet is given at least 1 ms, not {:?}",
        rtt.loss_delay()
    );
    assert_eq!(
        rtt.pto(Nanos::ZERO),
        us(1050),
        "the margin of a probe timeout is at least 1 ms, not {:?}",
        rtt.pto(Nanos::ZERO)
    );
}

/// Shows RFC9002 5.2-1, RFC9002 5.3-3.
#[test]
fn ack_delay_is_taken_off_within_its_promise_and_above_the_minimum() {
    // reported delay, promise, sample -> smoothed after a first sample of 100 ms
    let rows = [
        ("nothing reported", 0, Some(25), 140, 105_000),
        ("taken off", 20, Some(25), 140, 102_500),
        ("at most the promise", 40, Some(25), 140, 101_875),
        ("all of it before the handshake is confirmed", 40, None, 140, 100_000),
        ("exactly down to the minimum", 20, Some(25), 120, 100_000),
        ("not below the minimum: then nothing", 21, Some(25), 120, 102_500),
        ("a new minimum is taken raw", 20, Some(25), 92, 99_000),
    ];
    for (what, delay, promise, sample, expected) in rows {
        let mut rtt = Rfc9002Rtt::default();
        // RFC9002 5.3: the first sample ignores the delay.
        rtt.on_sample(ms(100), ms(20), Some(MAX_ACK_DELAY));
        rtt.on_sample(ms(sample), ms(delay), promise.map(ms));
        assert_eq!(
            rtt.srtt(),
            Some(us(expected)),
            "{what}: srtt is {expected} us, not {:?}",
            rtt.srtt()
        );
        assert_eq!(
            rtt.min(),
            Some(ms(sample.min(100))),
            "{what}: the minimum is raw, not {:?}",
            rtt.min()
        );
    }
}

/// Shows RFC9002 5.2-3.
#[test]
fn persistent_congestion_restarts_the_minimum() {
    let mut rtt = Rfc9002Rtt::default();
    rtt.on_sample(ms(100), Nanos::ZERO, None);
    rtt.on_sample(ms(300), Nanos::ZERO, None);
    rtt.on_persistent_congestion();
    assert_eq!(rtt.min(), Some(ms(300)), "the minimum is the newest sample, not {:?}", rtt.min());
}

/// Shows RFC6298 3-1.
#[test]
fn a_repeated_segment_gives_no_sample_and_keeps_the_backoff() {
    let mut rtt = Rfc6298Rtt::new(RtoParams::RFC);
    assert!(rtt.on_segment(ms(400), 1), "sent once: a sample");
    let (timeout, srtt) = (rtt.rto(), rtt.srtt());
    rtt.on_timeout();
    for copies in [2, 3] {
        assert!(!rtt.on_segment(ms(1), copies), "sent {copies} times: no sample");
        assert_eq!(
            (rtt.rto(), rtt.srtt()),
            (timeout * 2, srtt),
            "backoff and mean stay after {copies} copies"
        );
    }
    assert!(rtt.on_segment(ms(400), 1), "the next that was sent once ends the backoff");
    assert_eq!(rtt.backoff(), 0, "timeouts since the last sample");
}

#[test]
fn the_state_is_as_large_as_documented() {
    assert!(
        size_of::<Rfc9002Rtt>() <= 64,
        "the header says 64 bytes, it is {}",
        size_of::<Rfc9002Rtt>()
    );
    let own = size_of::<Rfc6298Rtt>() - size_of::<RtoParams>();
    assert!(own <= 64, "the header says 64 bytes beside the presets, it is {own}");
}

proptest! {
    /// A steady RTT is met to within 8 ns: an average in coarse integers would stay behind by 7 units.
    #[test]
    fn the_mean_settles_on_a_steady_rtt(first in 1_000u64..2_000_000_000, steady in 1_000u64..2_000_000_000) {
        let mut rtt = Rfc9002Rtt::default();
        rtt.on_sample(Nanos(first), Nanos::ZERO, None);
        for _ in 0..400 {
            rtt.on_sample(Nanos(steady), Nanos::ZERO, None);
        }
        let off = rtt.smoothed().0.abs_diff(steady);
        prop_assert!(off < 8, "the mean is {off} ns off {steady}");
    }

    /// Loss detection L7: min <= RTO <= max, and consecutive expiries double until the maximum.
    /// Shows RFC6298 2-5.
    #[test]
    fn timeouts_stay_in_bounds_and_double(samples in prop::collection::vec(any::<u64>(), 0..20), expiries in 0u32..80) {
        for params in [RtoParams::RFC, RtoParams::LINUX, RtoParams::WINDOWS] {
            let mut rtt = Rfc6298Rtt::new(params);
            for sample in &samples {
                rtt.on_sample(Nanos(*sample));
            }
            let mut last = rtt.rto();
            prop_assert!(params.min <= last && last <= params.max, "{last:?} is outside {params:?}");
            for _ in 0..expiries {
                rtt.on_timeout();
                prop_assert_eq!(rtt.rto(), (last * 2).min(params.max));
                last = rtt.rto();
            }
        }
    }

    /// Any samples at all: nothing overflows and no timer is zero.
    #[test]
    fn nonsense_samples_are_survived(samples in prop::collection::vec((any::<u64>(), any::<u64>(), any::<Option<u64>>()), 1..30), count in any::<u32>()) {
        let mut rtt = Rfc9002Rtt::new(Nanos(0));
        for (sample, delay, promise) in samples {
            rtt.on_sample(Nanos(sample), Nanos(delay), promise.map(Nanos));
            let (min, mean) = (rtt.min().unwrap_or_default(), rtt.smoothed());
            prop_assert!(Nanos::ZERO < min && min <= mean, "the mean {mean:?} is never below the minimum {min:?}");
            prop_assert!(rtt.loss_delay() >= GRANULARITY);
            prop_assert!(rtt.pto_after(Nanos(delay), count) >= rtt.pto(Nanos(delay)));
            let _ = rtt.persistent_duration(Nanos(delay));
        }
    }
}
