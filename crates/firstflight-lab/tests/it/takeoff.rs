//! Results of every startup on the named paths, in numbers that follow from the path: how far slow
//! start overshoots, that the oracle does not, which startups leave before the queue overflows, and
//! the notes of a comparison about each trial.

use firstflight::startup::ExitReason;
use firstflight::{Nanos, Phase};
use firstflight_lab::arms::parse_arms;
use firstflight_lab::compare::Keep;
use firstflight_lab::record::Recording;
use firstflight_lab::{DEFAULT_ARMS, Plan, Scenario};
use firstflight_path::{Path, builtins};
use firstflight_sim::{Cause, Outcome};

/// Window bytes in a packet and its bytes on the wire.
const DATAGRAM: u64 = 1472;
const WIRE: u64 = 1500;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

/// Full BDP in the bytes that the window counts.
fn full_bdp(path: &Path) -> Option<u64> {
    path.full_bdp_bytes().map(|bytes| bytes * DATAGRAM / WIRE)
}

/// One arm with an object of `times` full BDP.
fn take_off(path: &Path, arm: &str, times: u64) -> (Outcome, Recording) {
    let object = times * path.full_bdp_bytes().expect("built-in queues are limited");
    let scenario =
        Scenario { limit: Nanos::from_secs(1_000), ..Scenario::new(path.clone(), object) };
    let named = parse_arms(arm).unwrap_or_else(|e| panic!("{e}")).remove(0);
    let mut record = Recording::default();
    let outcome = scenario
        .simulate(&named, 1, Some(&mut record))
        .unwrap_or_else(|e| panic!("{arm} on {path}: {e}"));
    (outcome, record)
}

/// A constant rate, a drop-tail queue, a delay, and nothing else, in either direction.
fn plain(path: &Path) -> bool {
    let bare = Path::new(path.rate_bps(), path.rtt()).with_queue(path.queue());
    *path == bare.with_up(path.up().cloned()).with_up_queue(path.up_queue())
}

/// Every plain built-in path whose full BDP is at least eight initial windows: below that the
/// rounds are too few to speak of doubling.
fn roomy_paths() -> Vec<(&'static str, Path)> {
    let named = builtins().iter().map(|builtin| (builtin.name, path(builtin.name)));
    named
        .filter(|(_, path)| plain(path) && full_bdp(path).is_some_and(|full| full >= 80 * DATAGRAM))
        .collect()
}

/// Bytes of the window when startup ended by loss.
fn window_at_loss(path: &Path, arm: &str) -> f64 {
    let (outcome, _) = take_off(path, arm, 8);
    let exit = outcome.exit.unwrap_or_else(|| panic!("{arm} on {path} has no exit record"));
    assert_eq!(exit.reason, ExitReason::Loss, "slow start knows no other end, on {path}");
    exit.detect_cwnd as f64
}

/// The time in which ACKs wait on the return path once they outrun the reverse link, ns: where the
/// reverse queue is the limit, a full one.
fn ack_queue(path: &Path) -> u64 {
    let acks_per_second = path.rate_bps() / 8 / (2 * WIRE);
    let outrun = acks_per_second * 64 * 8 > path.up_bps();
    path.up_queue()
        .bytes(path.up_bps(), path.rtt())
        .filter(|_| outrun)
        .map_or(0, |bytes| bytes * 8_000_000_000 / path.up_bps())
}

/// A path that overflows at window F shows it one full round trip later, when everything in flight
/// has been acknowledged once more: at 2 F. Two things move that.
/// 1. ACKs that wait on the return path (`pico/sat-250-3`: 5.3 Mbit/s of ACKs for 3 Mbit/s of uplink)
///    add to what is in flight.
/// 2. A queue below one BDP overflows before the path is full, from the bursts of a flow that sends
///    at more than the link's rate for a part of each round trip. With pacing at twice the window
///    per RTT, W bytes leave excess W - BDP/2 in the queue, so it overflows at BDP/2 + queue or
///    later. Unpaced, two packets leave per ACK of a train at link rate: excess W/2, overflow in
///    the first round of at least 2 queues, and seen a doubling or two later.
#[test]
fn slow_start_overshoots_to_twice_the_full_bdp_where_the_queue_holds_a_bdp() {
    let paths = roomy_paths();
    assert!(paths.len() >= 25, "{} built-in paths are roomy enough", paths.len());
    for (name, path) in paths {
        let full = full_bdp(&path).expect("built-in queues are limited") as f64;
        let scale = DATAGRAM as f64 / WIRE as f64;
        let (bdp, queue) =
            (path.bdp_bytes() as f64 * scale, path.queue_bytes().expect("limited") as f64 * scale);
        let acks = path.rate_bps() as f64 / 8e9 * ack_queue(&path) as f64 * scale;
        let deep = path.queue_bytes() >= Some(path.bdp_bytes());
        for (arm, low) in
            [("slowstart", 2.0 * (bdp / 2.0 + queue)), ("slowstart-unpaced", 2.0 * queue)]
        {
            let window = window_at_loss(&path, arm);
            let twice = 2.0 * (full + acks);
            let band = if deep {
                (0.98 * twice, 1.03 * twice)
            } else if arm == "slowstart" {
                (low, 1.03 * twice)
            } else {
                (low, (8.0 * queue).min(1.03 * twice))
            };
            println!(
                "{name:28} {arm:18} {:.3} F, {:.3} to {:.3}",
                window / full,
                band.0 / full,
                band.1 / full
            );
            assert!(
                (band.0..=band.1).contains(&window),
                "{arm} on {name} left at {window} B = {:.3} F instead of {:.3} to {:.3} F",
                window / full,
                band.0 / full,
                band.1 / full
            );
        }
    }
}

#[test]
fn the_oracle_loses_nothing_where_the_queue_holds_a_bdp() {
    let mut seen = 0;
    for builtin in builtins() {
        let path = path(builtin.name);
        if !plain(&path) || path.queue_bytes() < Some(path.bdp_bytes()) {
            continue;
        }
        // Four full BDP end before avoidance has grown by a queue.
        let (outcome, _) = take_off(&path, "oracle", 4);
        let exit = outcome.exit.unwrap_or_else(|| panic!("the oracle leaves on {}", builtin.name));
        println!(
            "{:28} {:?} at {} B, {} dropped",
            builtin.name, exit.reason, exit.detect_cwnd, outcome.counters.packets_dropped
        );
        assert_eq!(
            exit.reason,
            ExitReason::Oracle,
            "the oracle leaves where it was told, on {}",
            builtin.name
        );
        assert_eq!(
            outcome.counters.packets_dropped, 0,
            "the oracle lost packets on {}",
            builtin.name
        );
        seen += 1;
    }
    assert!(seen >= 25, "only {seen} built-in paths have a queue of a BDP");
}

/// Events of one arm on the gVisor path (140 ms, queue of one BDP): when the queue was first full,
/// when conservative slow start began, and how startup ended.
struct Long {
    full_at: u64,
    css_at: Option<u64>,
    exit_at: u64,
    dropped: u64,
}

fn on_the_long_path(arm: &str) -> Long {
    let path = path("gvisor");
    let capacity = path.queue_bytes().expect("limited");
    let (outcome, record) = take_off(&path, arm, 8);
    let first = |found: &dyn Fn(&firstflight_sim::Snapshot) -> bool| {
        record
            .moments()
            .iter()
            .map(|moment| &moment.state)
            .find(|&state| found(state))
            .map(|state| state.now.0)
    };
    let full_at = first(&|state| state.event == Cause::Sent && state.queue + WIRE > capacity)
        .unwrap_or(u64::MAX);
    let css_at = first(&|state| state.phase == Phase::Css);
    let exit = outcome.exit.unwrap_or_else(|| panic!("{arm} leaves startup"));
    println!(
        "{arm:28} {} at {:.0} ms, {} B; css {:?} ms, queue full {:?} ms; {} dropped",
        exit.reason.name(),
        exit.at.0 as f64 / 1e6,
        exit.detect_cwnd,
        css_at.map(|at| at / 1_000_000),
        (full_at < u64::MAX).then_some(full_at / 1_000_000),
        outcome.counters.packets_dropped
    );
    Long { full_at, css_at, exit_at: exit.at.0, dropped: outcome.counters.packets_dropped }
}

#[test]
fn hystart_unpaced_leaves_before_the_queue_overflows_on_the_140_ms_path() {
    for arm in ["hystart-gvisor@(pace=off)", "hystart@(pace=off)"] {
        let seen = on_the_long_path(arm);
        assert!(
            seen.exit_at < seen.full_at,
            "{arm} left at {} ns, the queue was full at {} ns",
            seen.exit_at,
            seen.full_at
        );
        assert_eq!(seen.dropped, 0, "{arm} lost packets");
    }
}

/// A pacer stretches the trains that HyStart measures. gVisor's version then leaves far too early;
/// the kernel's, which allows for pacing, leaves when the queue has just overflowed.
#[test]
fn hystart_paced_is_fooled_in_both_directions_on_the_140_ms_path() {
    let unpaced = on_the_long_path("hystart-gvisor@(pace=off)");
    let paced = on_the_long_path("hystart-gvisor");
    assert!(
        paced.exit_at + 140_000_000 <= unpaced.exit_at,
        "paced it leaves at {} ns, unpaced at {} ns",
        paced.exit_at,
        unpaced.exit_at
    );
    assert_eq!(paced.dropped, 0, "who leaves early loses nothing");
    let (linux, plain) = (on_the_long_path("hystart"), on_the_long_path("slowstart"));
    assert!(
        linux.exit_at > linux.full_at,
        "it leaves at {} ns, the queue was full at {} ns",
        linux.exit_at,
        linux.full_at
    );
    assert!(
        5 * linux.dropped < plain.dropped,
        "late as it is, it lost {} packets and plain slow start {}",
        linux.dropped,
        plain.dropped
    );
}

#[test]
fn hystart_plus_plus_slows_down_before_the_queue_overflows_on_the_140_ms_path() {
    for sender in ["@(pace=on)", "@(pace=off)"] {
        let plain = on_the_long_path(&format!("slowstart{sender}"));
        let seen = on_the_long_path(&format!("hystart++{sender}"));
        let css_at = seen.css_at.expect("the RTT rises long before the queue is full");
        assert!(
            css_at < seen.full_at,
            "hystart++{sender} slowed down at {css_at} ns, the queue was full at {} ns",
            seen.full_at
        );
        assert!(
            seen.dropped < plain.dropped,
            "hystart++{sender} lost {} packets, plain slow start {}",
            seen.dropped,
            plain.dropped
        );
    }
}

fn compare(arms: &str) -> firstflight_lab::Comparison {
    let plan = Plan {
        repeat: 2,
        ..Plan::new(
            parse_arms(arms).expect("valid arms"),
            Scenario::new(path("rapid-slide"), 10_000_000),
        )
    };
    plan.run(Keep::Rows, &|| ()).expect("a comparison")
}

#[test]
fn every_trial_says_how_its_startup_ended_and_what_each_recovery_cost() {
    let comparison = compare(DEFAULT_ARMS);
    for row in &comparison.rows {
        let episodes = row.episodes.as_deref().expect("the simulator knows them");
        let exit = row.exit.as_ref().unwrap_or_else(|| panic!("{} has no exit record", row.arm));
        assert!(
            exit.cwnd > 0 && exit.bdp_ratio > 0.0,
            "{} left startup with a window: {exit:?}",
            row.arm
        );
        let packets_lost = row.packets_lost.expect("the simulator counts them");
        assert_eq!(
            packets_lost > 0,
            !episodes.is_empty(),
            "{} lost {packets_lost} packets in {} episodes",
            row.arm,
            episodes.len()
        );
        let lost: u64 = episodes.iter().map(|episode| episode.lost_bytes).sum();
        // RFC9002 6.1.1: up to two packets before the one that ends an episode are declared lost
        // only by the ACKs after it.
        let stragglers = 2 * DATAGRAM * episodes.len() as u64;
        let all = packets_lost * DATAGRAM;
        assert!(
            lost <= all && lost + stragglers >= all,
            "{}: its episodes account for {lost} of {all} B lost",
            row.arm
        );
        for episode in episodes {
            assert!(
                episode.cwnd_after <= episode.cwnd_before,
                "{}: a recovery leaves no larger window: {episode:?}",
                row.arm
            );
            assert!(
                episode.repaired_ms.is_some(),
                "{}: a finished object has no open hole: {episode:?}",
                row.arm
            );
        }
    }
}

#[test]
fn two_arms_that_behave_alike_are_pointed_out() {
    let alike = compare("slowstart,slowstart/cubic/prr,oracle");
    assert_eq!(alike.warnings.len(), 1, "one pair is alike: {:?}", alike.warnings);
    let warning = &alike.warnings[0];
    assert!(
        warning.contains("slowstart and slowstart/cubic/prr behaved identically"),
        "it names them: {warning}"
    );
    let different = compare(DEFAULT_ARMS);
    assert!(
        different.warnings.is_empty(),
        "the default arms differ on the default path: {:?}",
        different.warnings
    );
}
