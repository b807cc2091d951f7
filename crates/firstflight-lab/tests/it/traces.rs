//! A trace is complete: read back from any format it drives the same arm to the same exit at the
//! same ACK, and to the same window after every event.

use firstflight::Exit;
use firstflight::arm::{SHORT_NAMES, STARTUPS};
use firstflight_lab::compare::{Keep, Watch};
#[cfg(feature = "quic")]
use firstflight_lab::testbed::quic;
use firstflight_lab::testbed::sim;
use firstflight_lab::trial::{TrialRow, ms};
use firstflight_lab::{Comparison, NamedArm, Plan, Scenario, Testbed, hosts_of_tcp, parse_arms};
#[cfg(feature = "quic")]
use firstflight_log::trace::Received;
use firstflight_log::trace::{Log, What, csv, qlog, replay};
use firstflight_path::Path;
use std::io::BufReader;
use std::sync::Mutex;

/// Arms of every kind: all startups and short names, every avoidance and recovery, sender options.
fn arms() -> Vec<NamedArm> {
    arms_and(SHORT_NAMES.iter().map(|short| short.name.to_owned()))
}

/// Content that every format has to keep: the signals of every startup, the states of every recovery.
/// Short names have no others.
fn arms_of_formats() -> Vec<NamedArm> {
    if at_night() { arms() } else { arms_and(std::iter::empty()) }
}

/// With `NIGHT` set (`make night`) everything is played in every format.
fn at_night() -> bool {
    std::env::var_os("NIGHT").is_some()
}

fn arms_and(more: impl Iterator<Item = String>) -> Vec<NamedArm> {
    let mut names: Vec<String> = STARTUPS.iter().map(|part| part.name.to_owned()).collect();
    names.extend(more);
    for rest in ["reno/immediate", "cubic/sack", "cubic/halving", "cubic/prr@(iw=30,pace=off)"] {
        names.push(format!("hystart++/{rest}"));
    }
    names.sort_unstable();
    names.dedup();
    names
        .iter()
        .flat_map(|name| parse_arms(name).unwrap_or_else(|error| panic!("{name}: {error}")))
        .collect()
}

/// Runs a comparison and keeps its logs by arm.
fn traced(scenario: Scenario, arms: Vec<NamedArm>) -> (Comparison, Vec<Log>) {
    traced_on(&sim::BED, scenario, arms)
}

fn traced_on(
    testbed: &'static dyn Testbed,
    scenario: Scenario,
    arms: Vec<NamedArm>,
) -> (Comparison, Vec<Log>) {
    let traces: Mutex<Vec<(usize, Log)>> = Mutex::default();
    let take = |arm, trace| {
        traces.lock().expect("no panic").push((arm, trace));
        Ok(())
    };
    let plan = Plan { testbed, ..Plan::new(arms, scenario) };
    let comparison =
        plan.run_with(Keep::Rows, Some(&take), &Watch::default()).expect("a comparison");
    let mut traces = traces.into_inner().expect("no panic");
    traces.sort_by_key(|(arm, _)| *arm);
    (comparison, traces.into_iter().map(|(_, trace)| trace).collect())
}

fn scenarios(object: u64) -> Vec<(&'static str, Scenario)> {
    let scenario = |path: &str, tcp: bool| {
        let scenario = Scenario::new(Path::parse(path).expect("a path"), object);
        if tcp {
            Scenario { host: hosts_of_tcp("rack").expect("a preset"), ..scenario }
        } else {
            scenario
        }
    };
    let lossy = "rate=20Mbit,rtt=60ms,queue=40ms,loss=0.2%,reorder=1%:8ms";
    [
        ("QUIC", scenario("rapid-slide", false)),
        ("QUIC with chance losses", scenario(lossy, false)),
        ("TCP", scenario("rapid-slide", true)),
        ("TCP with chance losses", scenario(lossy, true)),
    ]
    .into()
}

/// Of these the ones in which every kind of event comes: false alarms and timers beside ACKs and
/// losses. Half of the object is several windows beyond what path and queue hold.
fn scenarios_of_formats() -> impl Iterator<Item = (&'static str, Scenario)> {
    let object = if at_night() { 3_000_000 } else { 1_500_000 };
    scenarios(object).into_iter().filter(|(name, _)| at_night() || name.ends_with("chance losses"))
}

/// The exits that a log records, with the entry that each came with.
fn recorded(trace: &Log) -> Vec<(usize, Exit)> {
    let told = |index: usize| {
        (0..index).rev().find(|&before| matches!(trace.entries[before].what, What::Event { .. }))
    };
    let exit = |(index, what): (usize, &What)| {
        if let What::Exit(exit) = what { Some((told(index)?, *exit)) } else { None }
    };
    trace.entries.iter().map(|entry| &entry.what).enumerate().filter_map(exit).collect()
}

#[track_caller]
fn replays(trace: &Log, last: Option<&str>, what: &str) {
    let replayed = replay(&trace.entries).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(
        replayed.exits,
        recorded(trace),
        "{what}: the arm that ran leaves at the same event with the same record"
    );
    if let Some((entry, seen, own)) = replayed.strayed {
        panic!("{what}: after entry {entry} the window was {seen} and is {own} in the replay");
    }
    let end = replayed.controller.exit().map(|exit| exit.reason.name());
    assert_eq!(end, last, "{what}: the replay ends with the exit of the result");
}

/// The log is a witness as good as the testbed: folded, it gives the result's recovery episodes.
#[track_caller]
fn tells_the_same_story(row: &TrialRow, trace: &Log) {
    let replayed = replay(&trace.entries).expect("a whole log");
    let (account, controller) = (&replayed.account, &replayed.controller);
    let episodes: Vec<_> = account
        .reported(controller.cwnd())
        .map(|e| (e.cwnd_before, e.inflight, e.acked, e.lost, ms(e.silence.0), e.cwnd_after))
        .collect();
    let seen: Vec<_> = row
        .episodes
        .iter()
        .flatten()
        .map(|e| {
            (e.cwnd_before, e.inflight, e.acked_bytes, e.lost_bytes, e.silence_ms, e.cwnd_after)
        })
        .collect();
    assert_eq!(episodes, seen, "{}: the episodes of the log are those of the result", row.arm);
    assert_eq!(
        (Some(account.recoveries_below_ssthresh()), Some(account.recoveries_timed_out())),
        (row.recoveries_below_ssthresh, row.recoveries_timed_out.or(Some(0))),
        "{}: the counters of the log are those of the result",
        row.arm
    );
}

#[test]
fn every_arm_leaves_at_the_same_ack_when_its_log_is_replayed() {
    for (name, scenario) in scenarios(3_000_000) {
        let (comparison, traces) = traced(scenario, arms());
        assert_eq!(traces.len(), comparison.rows.len(), "every trial leaves a log");
        for (row, trace) in comparison.rows.iter().zip(&traces) {
            let reason = row.exit.as_ref().map(|exit| exit.reason);
            replays(trace, reason, &format!("{}, {name}", row.arm));
            tells_the_same_story(row, trace);
        }
    }
}

#[test]
fn a_log_read_back_from_csv_replays_to_the_same_exit() {
    for (name, scenario) in scenarios_of_formats() {
        let (comparison, traces) = traced(scenario, arms_of_formats());
        let mut text = Vec::new();
        csv::write(&traces.iter().collect::<Vec<_>>(), &mut text).expect("memory takes it");
        let back = csv::read(&mut BufReader::new(&text[..])).expect("what was written can be read");
        assert_eq!(back.len(), traces.len());
        for ((row, trace), written) in comparison.rows.iter().zip(&back).zip(&traces) {
            let reason = row.exit.as_ref().map(|exit| exit.reason);
            replays(trace, reason, &format!("{}, {name}, CSV", row.arm));
            assert_eq!(
                recorded(trace),
                recorded(written),
                "{}: the same exits are recorded",
                row.arm
            );
            for (before, after) in written.entries.iter().zip(&trace.entries) {
                assert_eq!(
                    before.state, after.state,
                    "{}: the state at {:?} comes back",
                    row.arm, before.now
                );
            }
        }
    }
}

#[test]
fn a_log_read_back_from_qlog_replays_to_the_same_exit() {
    for (name, scenario) in scenarios_of_formats() {
        let (comparison, traces) = traced(scenario, arms_of_formats());
        for (row, trace) in comparison.rows.iter().zip(&traces) {
            let mut text = Vec::new();
            qlog::write_sequence(trace, qlog::End::Sender, &mut text).expect("memory takes it");
            let back = qlog::read_sequence(&mut BufReader::new(&text[..]))
                .expect("what was written can be read");
            assert_eq!(
                back.entries.len(),
                trace.entries.len(),
                "{}: every event is there",
                row.arm
            );
            assert_eq!(
                recorded(&back),
                recorded(trace),
                "{}, {name}: the same exits are recorded",
                row.arm
            );
            let reason = row.exit.as_ref().map(|exit| exit.reason);
            replays(&back, reason, &format!("{}, {name}, qlog", row.arm));
        }
    }
}

#[test]
fn a_log_is_the_same_bytes_for_the_same_seed() {
    let text = || {
        let (_, traces) = traced(
            Scenario::new(Path::parse("rapid-slide").expect("a path"), 500_000),
            parse_arms("rapid").expect("an arm"),
        );
        let mut text = Vec::new();
        qlog::write_contained(&[&traces[0]], &mut text).expect("memory takes it");
        text
    };
    assert!(text() == text(), "two runs write different bytes");
}

#[test]
fn a_simulated_log_says_where_it_ran() {
    let scenario = Scenario::new(Path::parse("geo").expect("a path"), 100_000);
    let (_, traces) = traced(scenario, parse_arms("best").expect("an arm"));
    let start = traces[0].start().expect("a start");
    let said = (
        start.testbed.as_str(),
        start.transport.as_str(),
        start.path_name.as_str(),
        start.object_bytes,
        start.start.0,
    );
    assert_eq!(said, ("sim", "quic", "geo", 100_000, 0));
}

#[cfg(feature = "quic")]
#[test]
fn every_arm_on_a_real_quic_stack_leaves_at_the_same_ack_when_its_log_is_replayed() {
    for path in ["rapid-slide", "rate=20Mbit,rtt=60ms,queue=40ms,loss=0.2%,reorder=1%:8ms"] {
        let scenario = Scenario::new(Path::parse(path).expect("a path"), 2_000_000);
        let (comparison, traces) = traced_on(&quic::BED, scenario, arms());
        assert_eq!(traces.len(), comparison.rows.len(), "every trial leaves a log");
        for (row, trace) in comparison.rows.iter().zip(&traces) {
            let reason = row.exit.as_ref().map(|exit| exit.reason);
            replays(trace, reason, &format!("{} on noq, {path}", row.arm));
            tells_the_same_story(row, trace);
            let start = trace.start().expect("a start");
            assert!(start.start.0 > 0, "{}: the handshake came before the trial", row.arm);
            let arrived = trace
                .receiver
                .iter()
                .filter(|(_, what)| matches!(what, Received::Data { .. }))
                .count() as u64;
            assert!(arrived > 1000, "{}: the receiver's end shows {arrived} packets", row.arm);
            let mut text = Vec::new();
            qlog::write_sequence(trace, qlog::End::Sender, &mut text).expect("memory takes it");
            let back = qlog::read_sequence(&mut BufReader::new(&text[..]))
                .expect("what was written can be read");
            replays(&back, reason, &format!("{} on noq, {path}, qlog", row.arm));
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_log_read_back_from_parquet_replays_to_the_same_exit() {
    use firstflight_log::trace::parquet;
    let folder = tempfile::tempdir().expect("a folder");
    for (name, scenario) in scenarios_of_formats() {
        let (comparison, traces) = traced(
            scenario,
            parse_arms("slowstart,hystart++,best,search,rapid@(pace=on)").expect("arms"),
        );
        let file = folder.path().join("traces.parquet");
        let out = std::fs::File::create(&file).expect("a file");
        parquet::write(&traces.iter().collect::<Vec<_>>(), out).expect("the file takes it");
        let back = parquet::read(std::fs::File::open(&file).expect("a file"))
            .expect("what was written can be read");
        assert_eq!(back.len(), traces.len());
        for ((row, trace), written) in comparison.rows.iter().zip(&back).zip(&traces) {
            let reason = row.exit.as_ref().map(|exit| exit.reason);
            replays(trace, reason, &format!("{}, {name}, Parquet", row.arm));
            for (before, after) in written.entries.iter().zip(&trace.entries) {
                assert_eq!(
                    before.state, after.state,
                    "{}: the state at {:?} comes back",
                    row.arm, before.now
                );
                let mut signals = before.signals.clone();
                signals.resize(after.signals.len(), None);
                let own: Vec<_> = trace
                    .names
                    .iter()
                    .map(|name| {
                        written.names.iter().position(|own| own == name).and_then(|at| signals[at])
                    })
                    .collect();
                assert_eq!(
                    after.signals, own,
                    "{}: the signals at {:?} come back",
                    row.arm, before.now
                );
            }
        }
    }
}
