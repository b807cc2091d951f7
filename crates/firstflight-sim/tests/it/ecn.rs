//! ECN validation of QUIC senders on paths that mark, clear or drop.

use crate::hosts::{MS, controller, path};
use firstflight::Nanos;
use firstflight::detection::ecn::{Ecn, Failure};
use firstflight_sim::{Hosts, Outcome, Setup, quic, run};

fn trial(text: &str, arm: &str, ecn: Option<Ecn>) -> Outcome {
    carried(&format!("rate=100Mbit,rtt=30ms,queue=30ms,{text}"), arm, ecn, 3_000_000)
}

fn carried(text: &str, arm: &str, ecn: Option<Ecn>, object: u64) -> Outcome {
    let path = path(text);
    let host: Hosts = quic::Host { ecn, ..quic::Host::default() }.into();
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 10 * host.mss(),
        object,
        limit: Nanos::from_secs(600),
        seed: 1,
        path_index: 0,
    };
    run(&setup, controller(arm, host, Nanos::ZERO), None).expect("the path carries the packets")
}

fn ms(outcome: &Outcome) -> u64 {
    outcome.delivered_after.unwrap_or_else(|| panic!("it stopped with {:?}", outcome.stop)).0 / MS
}

/// The RFC's own checks pass: all probes are counted, as marked. quic-go stops marking, and the path
/// is an unmarked one.
#[test]
fn a_path_that_marks_everything_is_left_by_quic_go_alone() {
    for arm in ["slowstart", "hystart++", "rapid", "plumb"] {
        let [plain, today, rfc, quic_go, off] = [
            trial("loss=0%", arm, None),
            trial("ecn=ce:100%", arm, None),
            trial("ecn=ce:100%", arm, Some(Ecn::Rfc9000)),
            trial("ecn=ce:100%", arm, Some(Ecn::QuicGo)),
            trial("ecn=ce:100%", arm, Some(Ecn::Off)),
        ];
        assert_eq!(rfc.ecn_failure, None, "{arm}: the counts fit");
        assert_eq!(quic_go.ecn_failure, Some(Failure::Mangled), "{arm}");
        assert_eq!(ms(&off), ms(&plain), "{arm}: without ECT nothing is marked");
        assert!(
            ms(&rfc) > 10 * ms(&plain) && ms(&today) > 10 * ms(&plain),
            "{arm}: {} and {} ms on a path that marks everything, {} on a plain one",
            ms(&rfc),
            ms(&today),
            ms(&plain)
        );
        // Marked probes are acknowledged at once, so round trips differ by a little.
        assert!(
            ms(&quic_go).abs_diff(ms(&plain)) <= 5,
            "{arm}: {} ms once quic-go has stopped marking, {} on a plain path",
            ms(&quic_go),
            ms(&plain)
        );
    }
}

#[test]
fn a_path_that_clears_or_drops_ends_the_use_of_ecn() {
    for rule in [Ecn::Rfc9000, Ecn::QuicGo] {
        let plain = trial("loss=0%", "hystart++", None);
        let cleared = trial("ecn=bleach", "hystart++", Some(rule));
        assert_eq!(cleared.ecn_failure, Some(Failure::Missing), "{}", rule.name());
        assert_eq!(ms(&cleared), ms(&plain), "cleared fields change nothing else");
        let dropped = trial("ecn=drop", "hystart++", Some(rule));
        assert_eq!(dropped.ecn_failure, Some(Failure::Lost), "{}", rule.name());
        assert_eq!(dropped.drops.random, 10, "the ten probes are lost: {:?}", dropped.drops);
    }
    for effect in ["bleach", "drop"] {
        let [plain, untouched] =
            ["loss=0%", &format!("ecn={effect}")].map(|text| trial(text, "hystart++", None));
        assert_eq!(
            (untouched.drops, ms(&untouched)),
            (plain.drops, ms(&plain)),
            "{effect}: without validation packets carry ECT only where the path marks"
        );
    }
}

/// Queue management drops packets without ECT instead of marking them; a capable path is used as by a
/// sender that does not validate.
#[test]
fn without_ect_queue_management_drops_what_it_would_mark() {
    for aqm in ["red,ecn", "pie,ecn", "codel,ecn", "fq_codel,ecn", "dualpi2,ecn"] {
        let path = format!("rate=50Mbit,rtt=30ms,queue=500ms,{aqm}");
        let [today, rfc, off] = [None, Some(Ecn::Rfc9000), Some(Ecn::Off)]
            .map(|ecn| carried(&path, "slowstart", ecn, 20_000_000));
        assert_eq!(rfc.ecn_failure, None, "{aqm}: {:?}", rfc.drops);
        assert!(off.drops.aqm > 0, "{aqm}: {:?} without ECT", off.drops);
        assert!(
            today.drops.aqm < off.drops.aqm && rfc.drops.aqm < off.drops.aqm,
            "{aqm}: {:?} and {:?} with ECT, {:?} without",
            today.drops,
            rfc.drops,
            off.drops
        );
    }
    // A plain threshold marks and drops nothing.
    let off = trial("ecn=5ms", "slowstart", Some(Ecn::Off));
    let plain = trial("loss=0%", "slowstart", None);
    assert_eq!((ms(&off), off.drops), (ms(&plain), plain.drops), "as on the path without marks");
}

/// On a path without faults a validating sender does what one that does not validate does.
#[test]
fn validation_of_a_sound_path_changes_nothing() {
    for text in ["loss=0%", "loss=1%", "jitter=5ms", "ecn=ce:1%", "dup=10%", "reorder=2%:5ms"] {
        let [plain, rfc] = [None, Some(Ecn::Rfc9000)].map(|ecn| trial(text, "hystart++", ecn));
        assert_eq!(rfc.ecn_failure, None, "{text}");
        if text == "ecn=ce:1%" {
            // Packets between the probes and their first ACK carry no ECT.
            assert!(ms(&rfc) <= ms(&plain) * 2, "{} and {} ms", ms(&rfc), ms(&plain));
        } else {
            assert_eq!(
                (plain.delivered_after, plain.counters, plain.exit),
                (rfc.delivered_after, rfc.counters, rfc.exit),
                "{text}"
            );
        }
    }
}
