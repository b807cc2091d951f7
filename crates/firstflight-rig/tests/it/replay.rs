//! Replays the logs that real stacks write: the path they ran over is recovered.

use firstflight::Nanos;
use firstflight::arm::Arm;
use firstflight_log::read;
use firstflight_path::Path;
use firstflight_quic::Plan;
use firstflight_replay::replay::{Named, Replay, Settings};
use firstflight_replay::results::Results;
use firstflight_replay::summary::ConnectionRow;
use firstflight_rig::{Control, Own, OwnControl, Setup, run_logged};
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

/// A log that outlives its stack.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn arms(names: &str) -> Vec<Named> {
    names
        .split(',')
        .map(|name| Named { label: name.into(), arm: Arm::parse(name).expect("an arm") })
        .collect()
}

fn logged(path: &str, control: Control, object: u64) -> Vec<u8> {
    let path = Path::parse(path).expect("a path");
    let setup = Setup {
        path: &path,
        control,
        datagram: 1472,
        ack_packet: 70,
        object,
        limit: Nanos::from_secs(120),
        seed: 7,
        path_index: 0,
    };
    let log = Kept::default();
    let outcome = run_logged(&setup, None, Box::new(log.clone())).expect("a trial");
    assert!(outcome.complete, "the object arrives");
    let bytes = log.0.lock().expect("no panic");
    bytes.clone()
}

fn replayed(log: Vec<u8>) -> ConnectionRow {
    let settings = Settings { arms: arms("slowstart,hystart++,search"), ..Settings::default() };
    let mut replay = Replay::new(settings);
    let extent =
        read::from("log", Box::new(Cursor::new(log)), &mut replay).expect("a log that can be read");
    assert_eq!(replay.remarks, [], "nothing is wrong with it");
    assert_eq!(extent.connections, 1, "one connection");
    let mut results = Results::new(replay, Vec::new());
    results.connections.remove(0)
}

#[track_caller]
fn finds(log: Vec<u8>, stack: &str, rate_mbps: f64, rtt_ms: f64) -> ConnectionRow {
    let row = replayed(log);
    let (rate, rtt) = (row.best_rate_wire_mbps.expect("a rate"), row.min_rtt_ms.expect("an RTT"));
    eprintln!(
        "{stack}: {rate:.2} of {rate_mbps} Mbit/s, {rtt:.2} of {rtt_ms} ms, {} ACKs, {:.2} % lost",
        row.acks,
        row.loss_ratio.expect("losses are logged") * 100.0
    );
    assert!((rate / rate_mbps - 1.0).abs() < 0.05, "{stack}: {rate} Mbit/s and not {rate_mbps}");
    assert!((rtt / rtt_ms - 1.0).abs() < 0.05, "{stack}: {rtt} ms and not {rtt_ms}");
    row
}

/// A stack with its own controller.
fn stack(own: Own) -> Control {
    let arm = Arm::parse("slowstart/cubic/immediate").expect("an arm");
    Control::Own(OwnControl { own, initial_window: 10, beside: Plan::new(arm) })
}

/// Rate, RTT, and an object that takes long enough to be sent at the rate.
const PATHS: [(&str, f64, f64, u64); 3] = [
    ("rate=100Mbit,rtt=30ms,queue=30ms", 100.0, 30.0, 8_000_000),
    ("rate=20Mbit,rtt=80ms,queue=1bdp", 20.0, 80.0, 4_000_000),
    ("rate=50Mbit,rtt=600ms,queue=300ms", 50.0, 600.0, 20_000_000),
];

#[test]
fn rate_and_rtt_found_in_a_log_of_noq_are_those_of_the_path() {
    for (path, rate, rtt, object) in PATHS {
        for control in [
            stack(Own::NoqCubic),
            Control::Noq(Plan::new(Arm::parse("hystart++").expect("an arm"))),
        ] {
            let row = finds(logged(path, control, object), "noq", rate, rtt);
            assert_eq!(row.transport, "quic");
        }
    }
}

#[test]
fn rate_and_rtt_found_in_a_log_of_quinn_are_those_of_the_path() {
    for (path, rate, rtt, object) in PATHS {
        for control in [
            stack(Own::QuinnCubic),
            Control::Quinn(Plan::new(Arm::parse("hystart++").expect("an arm"))),
        ] {
            finds(logged(path, control, object), "quinn", rate, rtt);
        }
    }
}

/// The startup that ran in the stack, replayed from what the stack logged of itself: not to the
/// ACK, for the log does not hold all that the controller was told, but within one round trip.
#[test]
fn the_startup_that_ran_in_a_stack_leaves_within_a_round_trip_of_where_it_did() {
    for (stack, control) in [
        ("noq", Control::Noq(Plan::new(Arm::parse("hystart++").expect("an arm")))),
        ("quinn", Control::Quinn(Plan::new(Arm::parse("hystart++").expect("an arm")))),
    ] {
        let path = Path::parse(PATHS[0].0).expect("a path");
        let setup = Setup {
            path: &path,
            control,
            datagram: 1472,
            ack_packet: 70,
            object: 20_000_000,
            limit: Nanos::from_secs(120),
            seed: 7,
            path_index: 0,
        };
        let log = Kept::default();
        let outcome = run_logged(&setup, None, Box::new(log.clone())).expect("a trial");
        let exit = outcome.exit.expect("it left");
        let bytes = log.0.lock().expect("no panic").clone();
        let row = replayed(bytes);
        let replayed =
            row.startups.iter().find(|row| row.arm == "hystart++").expect("it was asked for");
        let (ours, theirs) = (
            replayed.time_ms.expect("it left in the replay, too"),
            exit.since_first_send.0 as f64 / 1e6,
        );
        eprintln!(
            "{stack}: left at {theirs:.1} ms by {}, in the replay at {ours:.1} ms by {:?}",
            exit.reason.name(),
            replayed.reason
        );
        assert!(
            (ours - theirs).abs() < 60.0,
            "{stack}: {ours} ms in the replay, {theirs} ms in the stack"
        );
    }
}
