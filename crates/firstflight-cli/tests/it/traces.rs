//! A mahimahi trace drives the link: a formula makes the trace, and counts taken from its lines
//! judge what the link delivers.

use crate::command;

use command::{run_in, well};
use serde_json::Value;
use std::fs;

/// Length of the example, ms, and its period.
const PERIOD_MS: u64 = 6000;

/// One opportunity carries a packet of 1500 IP bytes.
const PACKET_BITS: u64 = 12_000;

/// A cell as a phone sees it, without randomness: the rate climbs from 4 to 24 Mbit/s in two
/// seconds and falls back at once, the scheduler serves the phone every 4 ms, and a handover from
/// 3.5 s on silences the cell for 120 ms. Units: kbit/s are bits per ms.
fn lte_sawtooth() -> String {
    let mut lines = Vec::new();
    let mut credit = 0;
    for ms in 1..=PERIOD_MS {
        let handover = (3500..3620).contains(&ms);
        if !handover {
            credit += 4_000 + 20_000 * (ms % 2000) / 2000;
        }
        while ms % 4 == 0 && !handover && credit >= PACKET_BITS {
            credit -= PACKET_BITS;
            lines.push(format!("{ms}\n"));
        }
    }
    lines.concat()
}

fn times(trace: &str) -> Vec<u64> {
    trace.lines().map(|line| line.parse().expect("a time")).collect()
}

/// Opportunities until `ms` of a trace that repeats.
fn opportunities(times: &[u64], ms: f64) -> u64 {
    let whole = (ms / PERIOD_MS as f64) as u64;
    let rest = ms - (whole * PERIOD_MS) as f64;
    whole * times.len() as u64 + times.partition_point(|time| *time as f64 <= rest) as u64
}

#[test]
fn the_link_delivers_what_the_trace_allows_and_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = lte_sawtooth();
    fs::write(folder.path().join("cell.trace"), &trace).expect("a file");
    let times = times(&trace);
    let arguments = [
        "compare",
        "--path",
        "rate=trace:cell.trace,rtt=60ms,queue=200ms",
        "--arms",
        "oracle,slowstart",
        "--bytes",
        "12MB",
        "--json",
        "-",
        "--trace",
        ".",
    ];
    let run = run_in(&folder, &arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let csv = fs::read_to_string(folder.path().join("01-oracle-seed1.csv"))
        .expect("a trace of the oracle");
    let mut at_the_end = 0;
    for line in csv.lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        if columns[1] == "start" {
            continue;
        }
        let (ms, delivered): (f64, u64) =
            (columns[0].parse().expect("a time"), columns[8].parse().expect("bytes"));
        let allowed = opportunities(&times, ms) * 1500;
        assert!(
            delivered <= allowed,
            "{delivered} bytes are delivered at {ms} ms, and the trace allows {allowed}"
        );
        at_the_end = delivered;
    }
    assert_eq!(at_the_end, 12_000_000);

    let document = run.json();
    let mean_mbps = times.len() as f64 * PACKET_BITS as f64 / PERIOD_MS as f64 / 1e3;
    let rate = document["experiment"]["rate_mbps"].as_f64().expect("a rate");
    assert!(
        (rate - mean_mbps).abs() < 1e-5,
        "the rate of the path is the mean of the trace: {rate} and {mean_mbps} Mbit/s"
    );
    for row in document["results"].as_array().expect("results") {
        let (ttlb, ideal) =
            (row["ttlb_ms"].as_f64().expect("a time"), row["ideal_ms"].as_f64().expect("a bound"));
        assert!(
            ideal < ttlb && ttlb < 2.0 * ideal,
            "{}: {ttlb} ms where {ideal} ms is the bound",
            row["arm"]
        );
        // 8000 packets of 1500 bytes: the bound is the opportunity of the last one and half the
        // round trip of 60 ms.
        let last = opportunities(&times, ideal - 30.0);
        assert!(
            (7980..=8020).contains(&last),
            "the bound {ideal} ms stands at opportunity {last} of 8000"
        );
    }
}

#[test]
fn a_trace_that_is_scaled_up_is_faster() {
    let folder = tempfile::tempdir().expect("a folder");
    let example = folder.path().join("cell.trace");
    fs::write(&example, lte_sawtooth()).expect("a file");
    let ttlb = |options: &str| -> f64 {
        let path = format!("rate=trace:{}{options},rtt=60ms,queue=200ms", example.display());
        let document: Value = well(&[
            "compare",
            "--path",
            &path,
            "--arms",
            "hystart++",
            "--bytes",
            "5MB",
            "--json",
            "-",
        ])
        .json();
        document["results"][0]["ttlb_ms"].as_f64().expect("it finishes")
    };
    let (plain, double, late) = (ttlb(""), ttlb(",scale=2"), ttlb(",start=1500ms"));
    assert!(double < 0.75 * plain, "twice the opportunities take {double} ms instead of {plain}");
    assert!(
        (late - plain).abs() > 1.0,
        "another place to start is another transfer: {late} and {plain} ms"
    );
}
