//! NADA against its formulas in floating point, and against any report.

use firstflight::{Nanos, Time};
use firstflight_sim::nada::{LossIntervals, Nada, Params, Report};
use proptest::prelude::*;

/// Time, round trip and queueing delay in ms; nothing waited; packets, lost, marked; bit/s received;
/// packets since a loss and their mean interval. Then what a script of the RFC's formulas in floating
/// point makes of it: signal in us, rate in bit/s.
type Step = (u64, u64, u64, bool, [u32; 3], u64, Option<(u64, u64)>, u64, u64);

const STEPS: [Step; 13] = [
    (100, 100, 0, true, [10, 0, 0], 150_000, None, 0, 173_438),
    (200, 100, 2, true, [12, 0, 0], 190_000, None, 2_000, 219_688),
    (300, 100, 5, true, [15, 0, 0], 230_000, None, 5_000, 265_938),
    (400, 110, 12, false, [20, 0, 0], 300_000, None, 12_000, 264_576),
    (500, 130, 30, false, [40, 0, 0], 600_000, None, 30_000, 256_464),
    (600, 180, 80, false, [60, 0, 0], 1_000_000, None, 80_000, 229_714),
    (700, 200, 80, false, [60, 3, 0], 1_000_000, Some((10, 57)), 39_541, 249_486),
    (800, 200, 90, false, [60, 3, 6], 1_000_000, Some((40, 57)), 44_541, 247_768),
    (900, 120, 20, false, [60, 0, 6], 900_000, Some((70, 57)), 34_530, 254_018),
    (1_050, 100, 60, false, [60, 0, 0], 800_000, Some((420, 57)), 62_449, 239_575),
    (1_150, 100, 200, false, [60, 0, 0], 800_000, Some((500, 57)), 209_533, 162_060),
    (1_250, 100, 4, true, [60, 0, 0], 900_000, Some((560, 57)), 11_722, 1_040_625),
    (1_350, 20, 4, true, [60, 0, 0], 1_000_000, Some((620, 57)), 10_255, 1_208_333),
];

/// Shows RFC8698 4.2-eq1, RFC8698 4.2-eq2, RFC8698 4.2-expiry, RFC8698 4.2-mode, RFC8698 4.3-ramp,
/// RFC8698 4.3-gradual, RFC8698 4.1-defaults.
#[test]
fn rates_are_those_of_the_formulas_in_floating_point() {
    let mut nada = Nada::new(Params::default());
    for (at, rtt, queueing, quiet, [packets, lost, marked], received, since_loss, us, bps) in STEPS
    {
        let queueing = Nanos::from_millis(queueing);
        let report = Report { queueing, quiet, packets, lost, marked, received, since_loss };
        let now = Time(Nanos::from_millis(at).0);
        let rate = nada.on_report(now, Nanos::from_millis(rtt), &report);
        let signal = nada.signal().micros();
        assert!(signal.abs_diff(us) <= 1, "at {at} ms: a signal of {signal} instead of {us} us");
        assert!(rate.abs_diff(bps) <= 4, "at {at} ms: {rate} instead of {bps} bit/s");
    }
}

/// Shows RFC8698 4.3-gradual. A flow that keeps seeing a queue of 10 ms times its share of the
/// maximum stays where it is; one that sees more sends less, and the other way round.
#[test]
fn the_rate_rests_where_the_signal_is_its_target() {
    let settled = |queueing: u64, max: u64| {
        let mut nada = Nada::new(Params { max, ..Params::default() });
        for tick in 1..10_000 {
            let queueing = Nanos::from_millis(queueing);
            let report = Report { queueing, packets: 60, received: 1_000_000, ..Report::default() };
            nada.on_report(Time(tick * 100_000_000), Nanos::from_millis(100), &report);
        }
        nada.rate()
    };
    for (queueing, max, bps) in
        [(15, 1_500_000, 1_000_000), (30, 1_500_000, 500_000), (60, 3_000_000, 500_000)]
    {
        let rate = settled(queueing, max);
        assert!(
            rate.abs_diff(bps) * 2_000 <= bps,
            "{queueing} ms of {max}: {rate} instead of {bps} bit/s"
        );
    }
}

/// Shows RFC8698 4.3-clip.
#[test]
fn rates_stay_within_those_of_the_encoder() {
    let mut nada = Nada::new(Params::default());
    let quiet = Report { quiet: true, received: 9_000_000, ..Report::default() };
    assert_eq!(nada.on_report(Time(1), Nanos::ZERO, &quiet), 1_500_000);
    let full = Report { queueing: Nanos::from_secs(9), packets: 9, lost: 9, ..Report::default() };
    for tick in 1..20 {
        nada.on_report(Time(tick * 100_000_000), Nanos::ZERO, &full);
    }
    assert_eq!(nada.rate(), 150_000);
}

/// Shows RFC5348 5.4-mean. Closed intervals of 10 packets each and then one of 100: with weights
/// 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 the open one counts when it makes the mean larger.
#[test]
fn the_mean_interval_is_that_of_tfrc() {
    let mut intervals = LossIntervals::default();
    intervals.on_packet(false);
    assert_eq!(intervals.since_loss(), None, "nothing was lost");
    for packet in 0..90 {
        intervals.on_packet(packet % 10 == 0);
    }
    assert_eq!(intervals.since_loss(), Some((10, 10)), "eight of ten and the open one");
    for _ in 0..90 {
        intervals.on_packet(false);
    }
    // (100 + 10 (1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2)) / 6
    assert_eq!(intervals.since_loss(), Some((100, 25)));
}

/// Shows RFC8698 4.2-expiry: the delay is warped for seven mean intervals, and over one more turns into the
/// plain one (D2); a mean of nothing remembers nothing.
#[test]
fn a_loss_is_forgotten_after_seven_mean_intervals() {
    let signal = |since_loss| {
        let mut nada = Nada::new(Params::default());
        let queueing = Nanos::from_millis(200);
        nada.on_report(
            Time(0),
            Nanos::ZERO,
            &Report { queueing, packets: 60, since_loss, ..Report::default() },
        );
        nada.signal().micros()
    };
    // 50 ms times exp(-1.5) of 200 ms.
    for (since, us) in
        [(0, 11_156), (699, 11_156), (700, 11_156), (750, 105_578), (799, 198_111), (800, 200_000)]
    {
        let found = signal(Some((since, 100)));
        assert!(found.abs_diff(us) <= 2, "{since} packets after: {found} us instead of {us}");
    }
    assert_eq!((signal(None), signal(Some((0, 0)))), (200_000, 200_000));
}

fn any_report() -> impl Strategy<Value = Report> {
    let small_or_any = || prop_oneof![0..2_000_000_000_u64, any::<u64>()];
    (
        (small_or_any(), any::<bool>(), any::<u32>(), any::<u32>(), any::<u32>()),
        (small_or_any(), any::<Option<(u64, u64)>>()),
    )
        .prop_map(|((queueing, quiet, packets, lost, marked), (received, since_loss))| {
            Report { queueing: Nanos(queueing), quiet, packets, lost, marked, received, since_loss }
        })
}

proptest! {
    #[test]
    fn no_report_leads_out_of_the_range(
        rates in (any::<u64>(), any::<u64>(), any::<u32>()),
        reports in prop::collection::vec((any::<u64>(), any::<u64>(), any_report()), 0..40),
    ) {
        let params = Params { min: rates.0, max: rates.1, priority: rates.2 };
        let bounded = params.bounded();
        let mut nada = Nada::new(params);
        for (now, rtt, report) in reports {
            let rate = nada.on_report(Time(now), Nanos(rtt), &report);
            prop_assert!((bounded.min..=bounded.max).contains(&rate), "{rate} of {bounded:?}");
            prop_assert!(nada.signal() <= Nanos::from_millis(500));
        }
    }

    #[test]
    fn a_longer_queue_never_raises_the_rate(queueing in 0..499_u64, more in 1..100_u64) {
        let rate = |queueing: u64| {
            let mut nada = Nada::new(Params::default());
            let report = |queueing: u64| Report {
                queueing: Nanos::from_millis(queueing),
                packets: 60,
                received: 1_000_000,
                ..Report::default()
            };
            nada.on_report(Time(0), Nanos::ZERO, &Report { quiet: true, ..report(0) });
            nada.on_report(Time(100_000_000), Nanos::ZERO, &report(queueing))
        };
        prop_assert!(rate(queueing + more) <= rate(queueing));
    }
}
