//! Traces end to end: what the command writes can be read back, and what it cannot write it refuses
//! before anything runs.

use crate::command;

use command::{inside, refused_in, run_in};
use firstflight_log::trace::{Log, What, csv, qlog, replay};
use serde_json::Value;
use std::fs;
use std::io::BufReader;
use tempfile::TempDir;

fn well(arguments: &[&str]) -> (TempDir, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let run = run_in(&folder, &[&["compare", "--bytes", "1MB", "--json", "-"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let results = run.json()["results"].clone();
    (folder, results)
}

fn bytes(folder: &TempDir, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The trace is of this result, and complete.
#[track_caller]
fn agrees(trace: &Log, result: &Value) {
    let start = trace.start().expect("a start");
    assert_eq!(
        (start.arm.as_str(), Some(start.seed)),
        (result["arm"].as_str().expect("an arm"), result["seed"].as_u64())
    );
    let exit = trace
        .entries
        .iter()
        .rev()
        .find_map(|entry| if let What::Exit(exit) = entry.what { Some(exit) } else { None });
    let exit = exit
        .map(|exit| (exit.reason.name(), exit.since_first_send.0 as f64 / 1e6, exit.detect_cwnd));
    let said = &result["exit"];
    let said = said["reason"]
        .as_str()
        .zip(said["time_ms"].as_f64())
        .zip(said["cwnd"].as_u64())
        .map(|((a, b), c)| (a, b, c));
    assert_eq!(exit, said, "{}: the exit of the trace is that of the result", start.arm);
    let replayed = replay(&trace.entries).expect("it is complete");
    assert_eq!(replayed.strayed, None, "{}: the replay has the same windows", start.arm);
}

const ARMS: [&str; 6] = ["--arms", "hystart++,rapid", "--repeat", "2", "--path", "rapid-slide"];

/// The results of the first seed: two trials of each arm ran.
fn first(results: &Value) -> Vec<&Value> {
    results.as_array().expect("results").iter().step_by(2).collect()
}

#[test]
fn one_csv_holds_every_arm() {
    let (folder, results) = well(&[&ARMS[..], &["--trace", "all.csv"]].concat());
    assert_eq!(inside(&folder), ["all.csv"]);
    let traces =
        csv::read(&mut BufReader::new(&bytes(&folder, "all.csv")[..])).expect("it can be read");
    let results = first(&results);
    assert_eq!(traces.len(), results.len());
    traces.iter().zip(results).for_each(|(trace, result)| agrees(trace, result));
}

#[test]
fn qlog_has_a_file_for_each_end_of_each_arm() {
    let (folder, results) = well(&[&ARMS[..], &["--qlog", "."]].concat());
    let mut expected = Vec::new();
    for arm in ["01-hystart++", "02-rapid"] {
        let ends = ["receiver", "sender"];
        expected.extend(ends.map(|end| format!("{arm}-rapid-slide-seed1-{end}.sqlog")));
    }
    assert_eq!(inside(&folder), expected);
    let senders = expected.iter().filter(|name| name.ends_with("-sender.sqlog"));
    for (name, result) in senders.zip(first(&results)) {
        let trace = qlog::read_sequence(&mut BufReader::new(&bytes(&folder, name)[..]))
            .expect("it can be read");
        agrees(&trace, result);
    }
}

#[test]
fn tcp_leaves_traces_too() {
    let (folder, results) =
        well(&["--transport", "tcp", "--arms", "hystart", "--trace", "one.sqlog"]);
    let trace = qlog::read_sequence(&mut BufReader::new(&bytes(&folder, "one.sqlog")[..]))
        .expect("it can be read");
    assert_eq!(trace.start().map(|start| start.transport.as_str()), Some("tcp"));
    agrees(&trace, &results[0]);
}

#[test]
fn a_contained_qlog_is_one_document_with_two_traces_per_arm() {
    let (folder, results) = well(&[&ARMS[..], &["--trace", "all.qlog"]].concat());
    let document: Value = serde_json::from_slice(&bytes(&folder, "all.qlog")).expect("JSON");
    let traces = document["traces"].as_array().expect("traces");
    assert_eq!(traces.len(), 2 * first(&results).len());
    for (trace, vantage) in traces.iter().zip(["server", "client"].into_iter().cycle()) {
        assert_eq!(trace["vantage_point"]["type"], vantage);
        assert!(trace["events"].as_array().is_some_and(|events| events.len() > 500));
    }
}

#[cfg(feature = "parquet")]
#[test]
fn one_parquet_file_holds_every_arm() {
    let (folder, results) = well(&[&ARMS[..], &["--trace", "all.parquet"]].concat());
    let file = fs::File::open(folder.path().join("all.parquet")).expect("a file");
    let traces = firstflight_log::trace::parquet::read(file).expect("it can be read");
    let results = first(&results);
    assert_eq!(traces.len(), results.len());
    traces.iter().zip(results).for_each(|(trace, result)| agrees(trace, result));
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_runs() {
    let mut refusals: Vec<(&[&str], &str)> = vec![
        (&["--trace", "x.pcap"], "--trace x.pcap: a trace ends in .csv, .parquet, .qlog or .sqlog"),
        (&["--trace", "nowhere"], "output folder nowhere does not exist"),
        (&["--trace", "nowhere/x.csv"], "output folder nowhere does not exist"),
        (&["--qlog", "nowhere"], "output folder nowhere does not exist"),
        (
            &["--arms", "rapid,best", "--trace", "x.sqlog"],
            "holds one trace and there are 2 arms; --qlog FOLDER writes one file for each",
        ),
    ];
    if !cfg!(feature = "parquet") {
        refusals.push((&["--trace", "x.parquet"], "Parquet is not part of this build"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    refused_in(&folder, &["compare"], &refusals);
}

#[test]
fn results_do_not_depend_on_whether_somebody_traces() {
    let (_folder, plain) = well(&ARMS);
    let (_folder, traced) = well(&[&ARMS[..], &["--qlog", ".", "--trace", "all.csv"]].concat());
    assert_eq!(plain, traced);
}
