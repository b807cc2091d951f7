//! ECN validation: each outcome, and what a sender marks and believes before and after it.

use firstflight::detection::ecn::{Counts, Ecn, Failure, Report, Validation};
use firstflight::{Nanos, Time};
use proptest::prelude::*;

const PTO: Nanos = Nanos::from_millis(100);

fn at(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// The numbers of `count` packets sent at one instant that carry ECT.
fn marked(path: &mut Validation, first: u64, count: u64, ms: u64) -> Vec<u64> {
    (first..first + count).filter(|number| path.on_send(*number, at(ms), PTO)).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "a report without counts has `None`")]
fn counts(ect0: u64, ce: u64) -> Option<Counts> {
    Some(Counts { ect0, ect1: 0, ce })
}

fn ack(acked: u64, counts: Option<Counts>) -> Report {
    Report { acked, advances: true, counts }
}

/// A path whose ten probes left at time zero.
fn probed(rule: Ecn) -> Validation {
    let mut path = Validation::new(rule);
    assert_eq!(marked(&mut path, 0, 30, 0), (0..10).collect::<Vec<_>>(), "ten packets are probes");
    path
}

const VALIDATING: [Ecn; 2] = [Ecn::Rfc9000, Ecn::QuicGo];

/// Shows RFC9000 13.4.2-1, RFC9000 13.4.2-2, RFC9000 A.4-1, RFC9000 A.4-2.
#[test]
fn ten_probes_carry_ect_and_further_packets_only_after_an_ack_of_them() {
    for rule in VALIDATING {
        let mut path = probed(rule);
        assert!(!path.is_capable(), "no ACK has come: {path:?}");
        assert_eq!(path.on_ack(&ack(2, counts(2, 0))), 0, "nothing is marked");
        assert!(path.is_capable(), "the counts fit: {path:?}");
        assert_eq!(marked(&mut path, 30, 3, 50), [30, 31, 32]);
        let carried: Vec<u64> = (0..35).filter(|number| path.carries(*number)).collect();
        let expected: Vec<u64> = (0..10).chain(30..35).collect();
        assert_eq!(carried, expected, "numbers that carried ECT, by {}", rule.name());
    }
}

/// Shows RFC9000 13.4.2-2.
#[test]
fn probes_end_after_three_probe_timeouts() {
    let mut path = Validation::new(Ecn::Rfc9000);
    assert_eq!(marked(&mut path, 0, 2, 0), [0, 1]);
    assert_eq!(marked(&mut path, 2, 1, 299), [2], "less than three probe timeouts later");
    assert_eq!(marked(&mut path, 3, 1, 300), [] as [u64; 0], "three probe timeouts later");
}

/// Shows RFC9000 13.4.2-3.
#[test]
fn a_path_that_loses_all_probes_has_no_ecn() {
    for rule in VALIDATING {
        let mut path = probed(rule);
        (0..9).for_each(|number| path.on_lost(number));
        path.on_lost(25);
        assert_eq!(path.failure(), None, "one probe of ten is left");
        path.on_lost(9);
        assert_eq!(path.failure(), Some(Failure::Lost), "all ten are lost");
    }
    // Three packets before the time was over, all lost.
    let mut path = Validation::new(Ecn::Rfc9000);
    assert_eq!(marked(&mut path, 0, 3, 0), [0, 1, 2]);
    (0..3).for_each(|number| path.on_lost(number));
    assert_eq!(path.failure(), None, "further probes may arrive");
    assert_eq!(marked(&mut path, 3, 1, 400), [] as [u64; 0]);
    assert_eq!(path.failure(), Some(Failure::Lost), "all that were sent are lost");
}

/// Shows RFC9000 13.4.2.1-1, RFC9000 13.4.2.1-2, RFC9000 13.4.2.1-3, RFC9000 13.4.2.1-5.
#[test]
fn counts_that_do_not_fit_end_the_use_of_ecn() {
    let ect1 = Some(Counts { ect0: 4, ect1: 1, ce: 0 });
    let rows = [
        (ack(4, None), Some(Failure::Missing)),
        (ack(0, None), None),
        (ack(4, counts(3, 0)), Some(Failure::TooFew)),
        (ack(4, counts(2, 1)), Some(Failure::TooFew)),
        (ack(4, counts(3, 1)), None),
        // More than acknowledged: an ACK was lost.
        (ack(4, counts(7, 1)), None),
        (ack(4, counts(11, 0)), Some(Failure::TooMany)),
        (ack(4, ect1), Some(Failure::TooMany)),
    ];
    for rule in VALIDATING {
        for (report, failure) in &rows {
            let mut path = probed(rule);
            path.on_ack(report);
            assert_eq!(path.failure(), *failure, "{}: {report:?}", rule.name());
        }
    }
}

/// Shows RFC9000 13.4.2.1-4.
#[test]
fn an_ack_that_does_not_advance_fails_nothing_and_proves_nothing() {
    for rule in VALIDATING {
        let mut path = probed(rule);
        for late in [ack(4, None), ack(4, counts(11, 0)), ack(4, counts(4, 4))] {
            assert_eq!(path.on_ack(&Report { advances: false, ..late }), 0);
        }
        assert_eq!((path.failure(), path.is_capable()), (None, false), "{path:?}");
    }
}

/// Shows RFC9000 13.4.2.2-1, RFC9000 13.4.2.2-2.
#[test]
fn after_a_failure_nothing_is_marked_and_no_mark_counts() {
    for rule in VALIDATING {
        let mut path = probed(rule);
        assert_eq!(path.on_ack(&ack(4, counts(3, 1))), 1, "one of four is marked");
        assert_eq!(marked(&mut path, 30, 2, 50), [30, 31]);
        // The field is cleared from here on.
        assert_eq!(path.on_ack(&ack(3, counts(4, 1))), 0);
        assert_eq!(path.failure(), Some(Failure::TooFew), "two of three counts are missing");
        assert_eq!(marked(&mut path, 32, 2, 60), [] as [u64; 0]);
        assert_eq!(path.on_ack(&ack(0, counts(5, 6))), 0, "later marks do not count");
        assert!(!path.is_capable());
    }
}

/// Shows QUICGO ecn-mangled, QUICGO ecn-trust.
#[test]
fn only_quic_go_gives_up_a_path_that_marks_or_loses_every_probe() {
    let run = |rule, lost: u64| {
        let mut path = probed(rule);
        let believed = path.on_ack(&ack(2, counts(0, 2)));
        (0..lost).for_each(|place| path.on_lost(2 + place));
        let rest = path.on_ack(&ack(8 - lost, counts(0, 10 - lost)));
        (believed, rest, path.failure())
    };
    for lost in [0, 3, 7] {
        assert_eq!(run(Ecn::Rfc9000, lost), (2, 8 - lost, None), "{lost} lost");
        assert_eq!(run(Ecn::QuicGo, lost), (0, 0, Some(Failure::Mangled)), "{lost} lost");
    }
    // One unmarked packet is proof enough.
    let mut path = probed(Ecn::QuicGo);
    assert_eq!(path.on_ack(&ack(9, counts(0, 9))), 0, "marks are not believed yet");
    assert_eq!(path.on_ack(&ack(1, counts(1, 9))), 0, "nor counted later");
    assert!(path.is_capable(), "an unmarked probe arrived: {path:?}");
    assert_eq!(path.on_ack(&ack(0, counts(1, 10))), 1, "from now on marks count");
}

#[test]
fn off_marks_nothing_and_believes_nothing() {
    let mut path = Validation::new(Ecn::Off);
    assert_eq!(marked(&mut path, 0, 20, 0), [] as [u64; 0]);
    assert_eq!(path.on_ack(&ack(0, counts(0, 5))), 0);
    assert_eq!((path.failure(), path.is_capable()), (None, false));
}

proptest! {
    /// Whatever a peer reports: no panic, a failure is final, and marks count only on a capable path.
    #[test]
    fn any_reports_keep_a_failure_final(
        rule in prop::sample::select(vec![Ecn::Rfc9000, Ecn::QuicGo, Ecn::Off]),
        steps in prop::collection::vec(
            (0..4u8, 0..u64::MAX, 0..u64::MAX, 0..20u64, any::<bool>(), any::<bool>()), 0..80),
    ) {
        let (mut path, mut number, mut now) = (Validation::new(rule), 0, 0);
        for (kind, ect0, ce, small, huge, advances) in steps {
            let before = path.failure();
            match kind {
                0 => {
                    now += small * 10;
                    let ect = path.on_send(number, at(now), PTO);
                    prop_assert!(!ect || before.is_none(), "marked after {before:?}");
                    number += 1;
                }
                1 => path.on_lost(small),
                _ => {
                    let of = |value: u64| if huge { value } else { value % 12 };
                    let counts = counts(of(ect0), of(ce)).filter(|_| small > 0);
                    let marks = path.on_ack(&Report { acked: of(ect0 ^ ce), advances, counts });
                    prop_assert!(marks == 0 || path.is_capable(), "{marks} marks: {path:?}");
                }
            }
            prop_assert!(before.is_none() || path.failure() == before, "{before:?} then {path:?}");
        }
    }
}
