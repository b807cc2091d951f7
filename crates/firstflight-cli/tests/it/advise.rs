//! `firstflight advise`, from the samples that the repository ships to an answer.
#![cfg(feature = "replay")]

use crate::command;

use command::{inside, refused_in, run_in, well};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// A file of the folder `samples`.
fn sample(name: &str) -> String {
    format!("{}/../../samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Answers for these captures, in 1000 simulated connections: the answer as JSON, the page, and
/// what the terminal shows.
fn answered(files: &[String], more: &[&str]) -> (Value, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = vec!["advise", "--flows", "1000", "--json", "answer.json"];
    arguments.extend(files.iter().map(String::as_str));
    arguments.extend(more);
    let run = run_in(&folder, &arguments);
    assert_eq!(inside(&folder), ["advice.html", "answer.json"], "page and JSON are written");
    let read = |name| fs::read_to_string(folder.path().join(name)).expect("a file");
    let answer: Value = serde_json::from_str(&read("answer.json")).expect("JSON");
    let none = answer["ab"]["decision"]["rule"] == "none";
    assert_eq!(run.code, i32::from(none), "{arguments:?}: {}{}", run.stdout, run.stderr);
    (answer, read("advice.html"), run.stdout)
}

/// Required fields of every answer.
fn whole((answer, page, text): &(Value, String, String), connections: u64, transport: &str) {
    let advice = &answer["advice"];
    let decision = &answer["ab"]["decision"];
    let finding = advice["finding"].as_str().expect("a sentence");
    assert_eq!(advice["connections"], connections, "{finding}");
    assert_eq!(answer["ab"]["experiment"]["transport"], transport, "{finding}");
    assert_eq!(decision["sentence"], finding, "the test says what the answer says");
    assert_eq!(decision["deploy"], advice["deploy"], "{finding}");
    for about in ["Check", "Today"] {
        let line = text.lines().find(|line| line.starts_with(about));
        let said = line.unwrap_or_else(|| panic!("`{about}` is a line of\n{text}"));
        assert!(said.len() > about.len() + 20, "`{about}` says something: {said}");
    }
    let first = text.lines().take(3).collect::<Vec<_>>().join(" ");
    assert!(finding.split(' ').all(|word| first.contains(word)), "{finding} comes first: {text}");
    assert!(text.contains("advice.html"), "{text}");
    assert!(text.contains("model of the same sender"), "the check is always shown: {text}");
    let escaped = finding.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    assert!(page.contains(&format!("<h1>{escaped}</h1>")), "the page opens with: {finding}");
    for part in ["What was read", "What was assumed", "Which arm to deploy", "default-src 'none'"] {
        assert!(page.contains(part), "the page has `{part}`");
    }
    if decision["rule"] == "none" {
        assert!(finding.starts_with("No recommendation: ") && advice["deploy"].is_null());
    }
}

fn mobile() -> Vec<String> {
    (1..=6).map(|number| sample(&format!("lossy-mobile/{number}.sqlog.gz"))).collect()
}

#[test]
fn the_plain_sample_gets_an_answer_for_six_tcp_connections() {
    let answer = answered(&[sample("plain.pcap.gz")], &[]);
    whole(&answer, 6, "tcp");
    let read = answer.0["replay"]["connections"].as_array().expect("a list");
    // Values that make.sh set on the links.
    for (rate, rtt) in [(48.0, 21.0), (62.0, 28.0), (35.0, 33.0), (80.0, 19.0), (27.0, 41.0)] {
        let near = |row: &&Value| (row["min_rtt_ms"].as_f64().unwrap_or(0.0) - rtt).abs() < 1.0;
        let found = read.iter().find(near).expect("the link is among the connections");
        let seen = found["best_rate_wire_mbps"].as_f64().expect("a rate");
        assert!((seen / rate - 1.0).abs() < 0.1, "{rate} Mbit/s over {rtt} ms: {seen}");
    }
}

#[test]
fn the_satellite_sample_is_simulated_with_its_grid_of_acks() {
    let answer = answered(&[sample("satellite.pcap.gz")], &[]);
    whole(&answer, 5, "tcp");
    let population = answer.0["ab"]["experiment"]["population_toml"].as_str().expect("a file");
    assert_eq!(population.matches("batch:40ms").count(), 5, "{population}");
    let lines = answer.0["advice"]["lines"].to_string();
    assert!(lines.contains("ACKs every 40 ms on 5 of 5"), "{lines}");
    let assumptions = answer.0["ab"]["experiment"]["assumptions"].as_array().expect("a list");
    let values: Vec<&str> = assumptions.iter().filter_map(|one| one["value"].as_str()).collect();
    assert_eq!(values, ["buffers", "random loss"], "slow start filled every queue");
}

#[test]
fn paths_that_were_never_full_may_be_faster_than_what_was_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = ["compare", "--bytes", "60kB", "--arms", "slowstart"];
    let files: Vec<String> = (0..6).map(|number| format!("short-{number}.csv")).collect();
    for (number, file) in files.iter().enumerate() {
        let path = format!("rapid-slide,rtt=30.{number}ms");
        let made = run_in(&folder, &[&compare[..], &["--path", &path, "--trace", file]].concat());
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let less = ["--flows", "300", "--arms", "hystart++,rapid", "--json", "-"];
    let run = run_in(&folder, &[&["advise"], &files[..], &less[..]].concat());
    let answer = run.json();
    let assumptions = answer["ab"]["experiment"]["assumptions"].as_array().expect("a list");
    let values: Vec<&str> = assumptions.iter().filter_map(|one| one["value"].as_str()).collect();
    assert_eq!(
        values,
        ["buffers", "random loss", "rates beyond those seen"],
        "none shows in 60 kB"
    );
    let ends = &assumptions[2];
    assert_ne!(ends["low"], ends["high"], "both ends are tried: {ends}");
}

#[test]
fn the_mobile_sample_is_six_qlogs_with_losses() {
    let answer = answered(&mobile(), &[]);
    whole(&answer, 6, "quic");
    let lost = answer.0["replay"]["connections"].as_array().expect("a list").iter();
    assert!(lost.clone().all(|row| row["loss_ratio"].as_f64() > Some(0.0)), "all lost packets");
}

#[test]
fn the_same_captures_and_seed_give_the_same_bytes_on_any_number_of_threads() {
    let one = answered(&mobile(), &["--threads", "1", "--arms", "hystart++,rapid"]);
    let two = answered(&mobile(), &["--threads", "2", "--arms", "hystart++,rapid"]);
    assert_eq!((&one.0, &one.2), (&two.0, &two.2));
    let other = answered(&mobile(), &["--seed", "2", "--arms", "hystart++,rapid"]);
    assert_ne!(one.0, other.0, "another seed draws other connections");
}

#[test]
fn one_connection_gets_no_recommendation_but_what_it_shows() {
    let answer = answered(&mobile()[..1], &[]);
    whole(&answer, 1, "quic");
    let finding = answer.0["advice"]["finding"].as_str().expect("a sentence");
    assert!(finding.contains("one connection is not enough"), "{finding}");
    let three = answered(&mobile()[..3], &[]);
    let finding = three.0["advice"]["finding"].as_str().expect("a sentence");
    assert!(finding.contains("3 connections are not enough"), "{finding}");
}

/// A capture of one packet: the first of the plain sample's kind.
fn one_packet() -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 80, 101] {
        file.extend(word.to_le_bytes());
    }
    for word in [1_000_u32, 0, 40, 40] {
        file.extend(word.to_le_bytes());
    }
    let ip = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let tcp = [0x13, 0x88, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 1, 0, 0, 0, 0, 0];
    file.extend(ip.iter().chain(&tcp));
    file
}

fn refused(folder: &TempDir, arguments: &[&str], what: &str) {
    refused_in(folder, &["advise"], &[(arguments, what)]);
}

#[test]
fn files_that_say_too_little_are_refused_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect(name);
    put("empty.pcap", b"");
    put("one.pcap", &one_packet());
    put("short.csv", b"time_ms,acked_bytes,inflight_bytes,rtt_ms\n10,1448,14480,10\n");
    put("words.txt", b"nothing that was ever measured\n");
    refused(&folder, &["missing.pcap"], "missing.pcap");
    refused(&folder, &["empty.pcap"], "empty.pcap");
    refused(&folder, &["one.pcap"], "one.pcap");
    refused(&folder, &["short.csv"], "short.csv");
    refused(&folder, &["words.txt"], "words.txt");
    let plain = sample("plain.pcap.gz");
    refused(&folder, &[&plain, "--baseline", "slowstart,hystart"], "--baseline");
    let same = ["--baseline", "slowstart", "--arms", "slowstart"];
    refused(&folder, &[&[plain.as_str()][..], &same[..]].concat(), "at least one other arm");
    refused(&folder, &[&plain, "--report", "gone/page.html"], "gone");
}

#[test]
fn a_file_that_cannot_be_read_beside_good_ones_is_said_and_the_answer_given() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("words.txt"), "nothing that was ever measured\n").expect("a file");
    let mut files = mobile();
    files.push("words.txt".into());
    let arguments: Vec<&str> = ["advise", "--flows", "300", "--arms", "hystart"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let run = run_in(&folder, &arguments);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("words.txt"), "{}", run.stderr);
    assert!(run.stdout.contains("Check"), "{}", run.stdout);
}

#[test]
fn json_on_standard_output_is_all_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (plain, less) = (sample("plain.pcap.gz"), ["--flows", "200", "--arms", "hystart++"]);
    let run = run_in(&folder, &[&["advise", &plain, "--json", "-"], &less[..]].concat());
    assert!(run.code <= 1, "{}", run.stderr);
    assert!(run.json()["advice"]["lines"].as_array().is_some_and(|lines| lines.len() >= 3));
    assert!(inside(&folder).is_empty(), "no page unless it is asked for");
    let help = well(&["advise", "--help"]).stdout;
    assert!(help.contains("at least five connections"), "{help}");
}

/// Six transfers of a sender over paths like these, as logs in a folder.
fn logged(arm: &str, policed: bool) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = [(48, 21), (62, 28), (35, 33), (80, 19), (27, 41), (55, 25)];
    let files = paths.iter().enumerate().map(|(number, (rate, rtt))| {
        let file = format!("{number}.csv");
        let policer =
            if policed { format!(",policer={}Mbit:20ms", rate / 3) } else { String::new() };
        let path = format!("rate={rate}Mbit,rtt={rtt}ms,queue=1bdp{policer}");
        let made = run_in(
            &folder,
            &[
                "compare",
                "--path",
                &path,
                "--bytes",
                "1MB",
                "--arms",
                arm,
                "--transport",
                "tcp",
                "--repeat",
                "1",
                "--trace",
                &file,
            ],
        );
        assert_eq!(made.code, 0, "{}", made.stderr);
        file
    });
    let files = files.collect();
    (folder, files)
}

fn sentence(folder: &TempDir, files: &[String], more: &[&str]) -> String {
    let mut arguments =
        vec!["advise", "--flows", "300", "--arms", "hystart++,rapid", "--json", "-"];
    arguments.extend(files.iter().map(String::as_str));
    arguments.extend(more);
    let run = run_in(folder, &arguments);
    let answer = run.json();
    let none = answer["ab"]["decision"]["rule"] == "none";
    assert_eq!(run.code, i32::from(none), "{}", run.stderr);
    answer["advice"]["finding"].as_str().expect("a sentence").to_owned()
}

const UNLIKE: &str = "No recommendation: the model does not reproduce your captures";

#[test]
fn a_model_of_our_own_captures_passes_and_one_of_a_policer_or_another_sender_does_not() {
    let (folder, files) = logged("hystart", false);
    let own = sentence(&folder, &files, &[]);
    assert!(!own.starts_with("No recommendation"), "{own}");
    let (folder, files) = logged("slowstart", false);
    let other = sentence(&folder, &files, &["--baseline", "hystart"]);
    assert!(other.starts_with(UNLIKE), "{other}");
    let (folder, files) = logged("hystart", true);
    let policed = sentence(&folder, &files, &[]);
    assert!(policed.starts_with(UNLIKE), "{policed}");
}

/// Logs whose name is another sender's: identification contradicts it, and finds the one that sent.
#[test]
fn a_log_that_names_another_sender_is_not_believed() {
    let (folder, files) = logged("slowstart", false);
    for file in &files {
        let file = folder.path().join(file);
        let text = fs::read_to_string(&file).expect("a log");
        let text =
            text.replacen(",slowstart,slowstart/cubic/prr,", ",hystart,hystart/cubic/prr,", 1);
        fs::write(&file, text).expect("a log");
    }
    let mut arguments = vec!["advise", "--flows", "300", "--arms", "hystart++,rapid"];
    arguments.extend(files.iter().map(String::as_str));
    let run = run_in(&folder, &arguments);
    let today = run.stdout.lines().find(|line| line.starts_with("Today")).expect("a line");
    assert!(today.contains("slowstart: identified"), "{}", run.stdout);
}

#[test]
fn the_answer_fits_a_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = mobile();
    let mut arguments = vec!["advise", "--flows", "300"];
    arguments.extend(files.iter().map(String::as_str));
    let mut asked = command::command(&arguments);
    let output = asked.current_dir(folder.path()).env("COLUMNS", "80").output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() <= 24, "{} lines:\n{text}", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    let end = lines.iter().position(|line| line.ends_with('.')).expect("a sentence");
    assert!(end < 3, "the answer takes the first three lines:\n{text}");
    assert!(lines.iter().any(|line| line.starts_with("Check")), "the model is checked:\n{text}");
}

#[test]
fn other_formats_have_the_table_of_the_test_and_no_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = sample("plain.pcap.gz");
    for (format, heading) in [("csv", "ttlb_ms_p50"), ("md", "### all connections"), ("json", "{")]
    {
        let run = run_in(&folder, &["advise", &file, "--flows", "100", "--format", format]);
        let first = run.stdout.lines().next().unwrap_or_default();
        assert!(first.contains(heading), "{format} begins with {first}; {}", run.stderr);
        assert_eq!(inside(&folder), [""; 0], "no file is written beside {format}");
    }
    let run = run_in(&folder, &["advise", &file, "--flows", "100", "--columns", "colour"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
}
