//! QUIC over sockets, captured beside the server and opened with its key log, shows what the qlog of
//! the same transfer shows. Needs root and Python; says what is missing and passes where that is not
//! given.

use crate::command::run;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Startup by startup: its name, why it left, with which window.
fn exits(connection: &Value) -> Vec<(&str, Option<&str>, Option<f64>)> {
    let startups = connection["startups"].as_array().expect("a list");
    startups
        .iter()
        .map(|one| {
            (one["arm"].as_str().expect("a name"), one["reason"].as_str(), one["cwnd"].as_f64())
        })
        .collect()
}

fn replayed(arguments: &[&str]) -> Value {
    let arms = ["replay", "--arms", "slowstart,hystart++,rapid-nojump", "--json", "-"];
    let run = run(&[&arms[..], arguments].concat());
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    run.json()
}

#[test]
fn a_capture_of_quic_with_its_key_log_shows_what_the_qlog_shows() {
    let socket = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)";
    let probe = Command::new("python3").args(["-c", socket]).output().expect("python3 runs");
    if !probe.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&probe.stderr).trim());
        return;
    }
    // Two observers of one transfer see different packets if the machine is too busy to give one of them
    // its turn: then the capture lacks packets. A reader that is wrong is wrong each time.
    let different: Vec<String> = (0..5).map_while(|_| difference()).collect();
    assert!(different.len() < 5, "each time: {different:#?}");
}

/// Difference between a capture of one transfer and its qlog, in words; `None` if there is none.
fn difference() -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (capture, keys, logs) = (place("server.pcap"), place("keys.txt"), place("logs/"));
    let made = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/capture_quic.py"))
        .args([&capture, env!("CARGO_BIN_EXE_firstflight"), "compare", "--on", "quic-real"])
        .args(["--path", "rate=20Mbit,rtt=40ms,queue=40ms", "--bytes", "3MB"])
        .args(["--arms", "slowstart", "--repeat", "1", "--qlog", &logs])
        .env("SSLKEYLOGFILE", &keys)
        .output()
        .expect("python3 runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let log = fs::read_dir(&logs).expect("a folder").next().expect("a log").expect("its name");
    let log = log.path().to_string_lossy().into_owned();

    let opened = replayed(&[&capture, "--keylog", &keys]);
    let logged = replayed(&[&log]);
    // A connection for the warmth of the stacks comes before the one that the qlog is of.
    let connections = opened["connections"].as_array().expect("a list");
    let data = |one: &&Value| one["bytes"].as_u64() > Some(1_000_000);
    let [opened] = connections.iter().filter(data).collect::<Vec<_>>()[..] else {
        panic!("one transfer: {connections:#?}")
    };
    let logged = &logged["connections"][0];
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap_or_else(|| panic!("{key}"));
    for (key, part) in [("bytes", 0.01), ("min_rtt_ms", 0.05), ("loss_ratio", 0.02)] {
        let (one, other) = (number(opened, key), number(logged, key));
        if (one / other - 1.0).abs() >= part {
            return Some(format!("{key}: {one} captured, {other} in the qlog"));
        }
    }
    for (one, other) in exits(opened).into_iter().zip(exits(logged)) {
        assert_eq!(one.0, other.0, "the same startups");
        let near = match (one.2, other.2) {
            (Some(captured), Some(in_log)) => (captured / in_log - 1.0).abs() < 0.05,
            _ => true,
        };
        if one.1 != other.1 || !near {
            return Some(format!("{one:?} captured, {other:?} in the qlog"));
        }
    }
    assert_eq!(exits(logged)[0].1, Some("loss"), "the transfer fills the queue");
    None
}
