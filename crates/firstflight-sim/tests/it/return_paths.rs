//! Startups on return paths that release ACKs in slots and batches, compared with the same path
//! with a plain delay (negative control).

use crate::hosts;

use firstflight::{Exit, ExitReason, Nanos, Phase};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Cause, Hosts, Observer, Outcome, Setup, Snapshot, run, tcp};
use hosts::{SECOND, controller, path, tcp_every};

/// Full packets of 1348 bytes, one ACK for each.
fn host() -> tcp::Host {
    tcp::Host { mss: 1308, header: 40, ..tcp_every() }
}

/// Outcome of one arm.
#[derive(Debug, Default)]
struct Seen {
    /// First entry into conservative slow start: when, and with which window; and all entries.
    css: Option<(u64, u64)>,
    css_entries: u32,
    last_phase: Option<Phase>,
    /// The last moment of threefold growth.
    rapid_until: u64,
    /// BEST, robust: decisions. Published: median in Mbit/s at the first decision, with bytes
    /// delivered and time until then.
    set: u64,
    decided: Option<(u64, u64, u64)>,
}

impl Observer for Seen {
    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>) {
        if snapshot.event != Cause::Ack {
            return;
        }
        let now = snapshot.now.0;
        if snapshot.phase == Phase::Css && self.last_phase != Some(Phase::Css) {
            self.css_entries += 1;
            self.css.get_or_insert((now, snapshot.cwnd));
        }
        if snapshot.phase == Phase::Rapid {
            self.rapid_until = now;
        }
        self.last_phase = Some(snapshot.phase);
        signals(&mut |name, value| match name {
            "best_set" => self.set = value,
            "best_decided_mbps" if value > 0 => {
                _ = self.decided.get_or_insert((value, snapshot.delivered, now));
            }
            _ => {}
        });
    }
}

const GEO: &str = "rate=150Mbit,rtt=640ms,queue=1bdp";
const GEO_COLD: &str = "rate=150Mbit,rtt=640ms,queue=1bdp,return=geo_cold";
const CELL: &str = "rate=150Mbit,rtt=60ms,queue=1bdp";
const LTE: &str = "rate=150Mbit,rtt=60ms,queue=1bdp,return=lte";
const STATES: std::ops::Range<u64> = 0..8;

fn fly(text: &str, arm: &str, seed: u64) -> (Outcome, Seen) {
    let path = path(text);
    let host: Hosts = host().into();
    let setup = Setup {
        path: &path,
        host,
        pacer_burst: 2 * host.mss(),
        object: 30_000_000,
        limit: Nanos(30 * SECOND),
        seed,
        path_index: 0,
    };
    let mut seen = Seen::default();
    let outcome = run(&setup, controller(arm, host, Nanos::ZERO), Some(&mut seen))
        .expect("the path carries full packets");
    (outcome, seen)
}

fn exit(outcome: &Outcome, what: &str) -> Exit {
    outcome.exit.unwrap_or_else(|| panic!("{what}: startup should have ended"))
}

#[test]
fn hystart_leaves_falsely_by_delay_on_the_grid_and_by_the_train_near_the_bdp_without_it() {
    let arm = "hystart@(pace=off)";
    for state in STATES {
        let left = exit(&fly(GEO_COLD, arm, state).0, GEO_COLD);
        assert_eq!(left.reason, ExitReason::Delay, "state {state}: gaps of 40 ms are no train");
        let (ms, packets) = (left.since_first_send.0 / 1_000_000, left.detect_cwnd / 1308);
        assert!(
            (1_550..=2_450).contains(&ms),
            "state {state}: it leaves after {ms} ms, 1.6 to 2.4 s was found"
        );
        assert!(
            (28..=48).contains(&packets),
            "state {state}: it leaves with {packets} packets, 28 to 48 was found"
        );
    }
    let plain = exit(&fly(GEO, arm, 0).0, GEO);
    let bdp = 12_000_000 * 1308 / 1348;
    assert_eq!(plain.reason, ExitReason::Train, "negative control: a plain delay");
    assert!(
        plain.detect_cwnd > bdp * 9 / 10 && plain.detect_cwnd < bdp * 3 / 2,
        "{} of {bdp} bytes",
        plain.detect_cwnd
    );

    let (lte, plain) = (exit(&fly(LTE, arm, 0).0, LTE), exit(&fly(CELL, arm, 0).0, CELL));
    assert_eq!(
        (lte.reason, plain.reason),
        (ExitReason::Delay, ExitReason::Train),
        "LTE and its negative control"
    );
    assert!(
        lte.detect_cwnd * 4 < plain.detect_cwnd * 3,
        "LTE: {} bytes, plain delay: {}",
        lte.detect_cwnd,
        plain.detect_cwnd
    );
}

#[test]
fn hystart_plus_plus_enters_css_on_the_growth_of_the_rtt_that_the_grid_makes() {
    let arm = "hystart++@(pace=off)";
    let mut returns = 0;
    for state in STATES {
        let (_, seen) = fly(GEO_COLD, arm, state);
        let (at, cwnd) = seen.css.unwrap_or_else(|| panic!("state {state}: it enters CSS"));
        let (ms, packets) = (at / 1_000_000, cwnd / 1308);
        assert!(
            (1_550..=2_350).contains(&ms),
            "state {state}: it enters after {ms} ms, 1.6 to 2.3 s was found"
        );
        assert!(
            (27..=47).contains(&packets),
            "state {state}: it enters with {packets} packets, 27 to 45 was found"
        );
        returns += seen.css_entries - 1;
    }
    assert!(returns > 0, "in some state it returns to slow start");
    let (_, plain) = fly(GEO, arm, 0);
    let (at, cwnd) = plain.css.expect("the queue grows at last");
    assert!(at > 4 * SECOND && cwnd > 500 * 1308, "negative control: {cwnd} bytes after {at} ns");
}

#[test]
fn search_leaves_far_below_the_bdp_where_grants_limit_the_acks() {
    for (text, plain, bdp) in [(GEO_COLD, GEO, 12_000_000), (LTE, CELL, 1_125_000)] {
        for state in STATES {
            let left = exit(&fly(text, "search@(pace=off)", state).0, text);
            assert_eq!(left.reason, ExitReason::Flattened, "{text} state {state}");
            assert!(left.cwnd * 2 < bdp, "{text} state {state}: {} of {bdp} bytes", left.cwnd);
        }
        let flattened =
            fly(plain, "search@(pace=off)", 0).0.exit.is_some_and(|exit| exit.cwnd * 2 < bdp);
        assert!(!flattened, "negative control on {plain}");
    }
}

#[test]
fn best_as_published_reads_the_burst_of_the_uplink() {
    for (text, least_ratio) in [(GEO_COLD, 10), (LTE, 5)] {
        for state in STATES {
            let (_, seen) = fly(text, "best-published@(pace=off)", state);
            let Some((mbps, delivered, at)) = seen.decided else { continue };
            let rate = delivered * 8 * 1000 / at;
            assert!(
                mbps >= least_ratio * rate.max(1),
                "{text} state {state}: reads {mbps} Mbit/s, {rate} were delivered"
            );
        }
    }
    for (text, state) in [(GEO, 0), (CELL, 0)] {
        let (mbps, ..) =
            fly(text, "best-published@(pace=off)", state).1.decided.expect("it decides");
        assert!(
            (143..=147).contains(&mbps),
            "negative control on {text}: {mbps} Mbit/s where payload comes at 145.5"
        );
    }
}

#[test]
fn best_never_sets_a_threshold_from_a_grid_of_releases() {
    for text in [GEO_COLD, LTE] {
        for state in STATES {
            let (outcome, seen) = fly(text, "best@(pace=off)", state);
            assert_eq!(seen.set, 0, "{text} state {state}: ACK spacing tells of the uplink");
            assert!(
                outcome.exit.is_none_or(|exit| exit.reason != ExitReason::Estimate),
                "{text} state {state}: {:?}",
                outcome.exit
            );
        }
    }
    for (text, bdp) in [(GEO, 12_000_000), (CELL, 1_125_000)] {
        let (outcome, seen) = fly(text, "best@(pace=off)", 0);
        let left = exit(&outcome, text);
        assert!(
            seen.set > 0 && left.reason == ExitReason::Estimate,
            "negative control on {text}: {left:?}"
        );
        assert!(
            left.cwnd.abs_diff(bdp) * 10 < bdp,
            "negative control on {text}: {} of {bdp} bytes",
            left.cwnd
        );
    }
}

#[test]
fn rapid_start_no_longer_triples_after_its_first_flight_on_the_grid() {
    for state in STATES {
        let (_, seen) = fly(GEO_COLD, "rapid", state);
        // The first flight is sent over one round trip and acknowledged in the next, by a terminal
        // that starts with an ACK per frame.
        assert!(
            seen.rapid_until < 2 * 640_000_000 + SECOND,
            "state {state}: it triples until {} ns",
            seen.rapid_until
        );
    }
    let (_, plain) = fly(GEO, "rapid", 0);
    assert!(
        plain.rapid_until > 4 * SECOND,
        "negative control: it triples until {} ns",
        plain.rapid_until
    );
}
