//! Outputs of `firstflight compare`: traces that agree with the results, a report that needs
//! nothing but itself, and plain text into pipes.
#![allow(
    clippy::float_cmp,
    reason = "the numbers compared are integers, or the same number printed twice"
)]

use crate::command;

use command::{Run, command, inside, run_in, well};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const BYTES: u64 = 10_000_000;

/// The columns of every trace; signals of the algorithm follow.
const COLUMNS: &str = "time_ms,event,cwnd,ssthresh,inflight,pacing_mbps,rtt_ms,min_rtt_ms,delivered_bytes,lost_bytes,queue_bytes,phase";

/// Runs in a new folder and expects that it ends well.
fn well_in_a_folder(arguments: &[&str]) -> (TempDir, Run) {
    let folder = tempfile::tempdir().expect("a folder");
    let run = run_in(&folder, arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    (folder, run)
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The cells of a line; a text in quotation marks may hold commas.
fn cells(line: &str) -> Vec<String> {
    let mut quoted = false;
    let parts = line.split(|c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(|part| part.trim_matches('"').to_owned()).collect()
}

/// One trace: its header and its rows behind the first, by column name.
struct Trace {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Trace {
    fn read(text: &str) -> Trace {
        let mut lines = text.lines().map(cells);
        let columns = lines.next().expect("a header");
        let start = lines.next().expect("a first row");
        assert_eq!(start[1], "start", "a connection begins with its start");
        let rows: Vec<_> = lines.collect();
        for row in rows.iter().chain([&start]) {
            assert_eq!(row.len(), columns.len(), "a row has every column: {row:?}");
        }
        Trace { columns, rows }
    }

    fn column(&self, name: &str) -> impl Iterator<Item = &str> {
        let index = self
            .columns
            .iter()
            .position(|column| column == name)
            .unwrap_or_else(|| panic!("a column {name}"));
        self.rows.iter().map(move |row| row[index].as_str())
    }

    /// The numbers of a column in which none may be missing.
    fn numbers(&self, name: &str) -> Vec<f64> {
        self.column(name)
            .map(|text| {
                text.parse().unwrap_or_else(|_| panic!("{name} holds `{text}`, not a number"))
            })
            .collect()
    }

    /// The numbers of a column that are there.
    fn some(&self, name: &str) -> Vec<f64> {
        self.column(name)
            .filter(|text| !text.is_empty())
            .map(|text| text.parse().expect("a number or nothing"))
            .collect()
    }
}

#[track_caller]
fn never_falls(values: &[f64], what: &str) {
    for pair in values.windows(2) {
        assert!(pair[0] <= pair[1], "{what} falls from {} to {}", pair[0], pair[1]);
    }
}

#[test]
fn every_arm_leaves_a_trace_that_agrees_with_its_result() {
    let (folder, run) = well_in_a_folder(&[
        "compare", "--bytes", "10MB", "--trace", ".", "--json", "-", "--repeat", "2", "--seed", "3",
    ]);
    let names = inside(&folder);
    assert_eq!(
        names,
        [
            "01-slowstart-seed3.csv",
            "02-hystart-seed3.csv",
            "03-hystart++-seed3.csv",
            "04-rapid-seed3.csv",
            "05-plumb-seed3.csv",
            "06-oracle-seed3.csv"
        ],
        "one trace per arm, of its first trial"
    );
    let document = run.json();
    let first_trials = document["results"].as_array().expect("results").iter().step_by(2);
    for (name, result) in names.iter().zip(first_trials) {
        let text = read(&folder, name);
        assert!(text.starts_with(COLUMNS), "{name} starts with the documented columns");
        agrees(name, &Trace::read(&text), result);
    }
}

fn agrees(name: &str, trace: &Trace, result: &Value) {
    let time = trace.numbers("time_ms");
    assert_eq!(time[0], 0.0, "{name}: time counts from the first data byte");
    never_falls(&time, &format!("{name}: time"));
    let last = time[time.len() - 1];
    assert_eq!(
        Some(last),
        result["acked_ms"].as_f64(),
        "{name} ends when the last byte is acknowledged"
    );

    let delivered = trace.numbers("delivered_bytes");
    never_falls(&delivered, &format!("{name}: what the receiver has in order"));
    assert_eq!(delivered[delivered.len() - 1], BYTES as f64, "{name} delivers the object");

    assert!(
        trace.numbers("cwnd").iter().all(|cwnd| *cwnd >= 2.0 * 1472.0),
        "{name}: the window never falls below two packets"
    );
    let inflight = trace.numbers("inflight");
    assert_eq!(inflight[inflight.len() - 1], 0.0, "{name}: nothing is left in flight");
    assert!(
        trace.some("pacing_mbps").iter().all(|rate| *rate > 0.0),
        "{name}: a pacing rate is above zero"
    );
    assert!(
        trace.some("ssthresh").iter().all(|ssthresh| *ssthresh > 0.0),
        "{name}: a threshold is above zero"
    );
    // The queue of this path holds 30 ms, and one more packet may be in service.
    assert!(
        trace.some("rtt_ms").iter().all(|rtt| (29.9..=86.0).contains(rtt)),
        "{name}: RTT lies between idle and full, ACK delay included"
    );
    assert!(
        trace.some("min_rtt_ms").iter().all(|rtt| (29.9..=60.0).contains(rtt)),
        "{name}: so does its minimum"
    );
    let queue = trace.numbers("queue_bytes");
    assert!(queue.iter().all(|bytes| *bytes <= 376_500.0), "{name}: the queue holds 375 kB");
    let lost: f64 = trace.numbers("lost_bytes").iter().sum();
    assert_eq!(
        lost > 0.0,
        result["packets_lost"] != 0,
        "{name}: {lost} bytes were declared lost, of {} packets",
        result["packets_lost"]
    );

    let sent = trace.column("event").filter(|event| *event == "sent").count();
    assert_eq!(
        Some(sent as u64),
        result["packets_sent"].as_u64(),
        "{name}: a row for every packet sent"
    );
    for phase in trace.column("phase") {
        let known = ["startup", "css", "rapid", "jump", "drain", "avoidance", "recovery"];
        assert!(known.contains(&phase), "{name}: `{phase}` is a phase");
    }
    let exit = result["exit"]["time_ms"].as_f64().expect("every arm leaves startup here");
    let after = trace
        .column("time_ms")
        .zip(trace.column("phase"))
        .find(|(_, phase)| ["avoidance", "recovery"].contains(phase));
    let after: f64 = after.expect("startup ends").0.parse().expect("a time");
    assert_eq!(after, exit, "{name}: the first row behind startup stands where the exit says");
}

#[test]
fn traces_of_the_same_seed_are_the_same() {
    let arguments = [
        "compare",
        "--trace",
        ".",
        "--arms",
        "rapid,best",
        "--bytes",
        "1MB",
        "--path",
        "leo,loss=0.5%",
    ];
    let (a, _) = well_in_a_folder(&arguments);
    let (b, _) = well_in_a_folder(&[&arguments[..], &["--threads", "1"]].concat());
    assert_eq!(inside(&a), inside(&b));
    for name in inside(&a) {
        assert_eq!(read(&a, &name), read(&b, &name), "{name}");
    }
}

#[test]
fn a_trace_is_named_after_its_arm_without_what_file_systems_dislike() {
    let arms = "rapid(jump=off)/reno,slowstart@(iw=20)";
    let (folder, _) =
        well_in_a_folder(&["compare", "--trace", ".", "--arms", arms, "--bytes", "100kB"]);
    assert_eq!(
        inside(&folder),
        ["01-rapid_jump=off__reno-seed1.csv", "02-slowstart__iw=20_-seed1.csv"]
    );
}

#[test]
fn json_in_a_file_is_what_standard_output_gets() {
    let arguments = ["compare", "--arms", "rapid,oracle", "--bytes", "1MB", "--json"];
    let (folder, run) = well_in_a_folder(&[&arguments[..], &["out.json"]].concat());
    assert!(
        run.stdout.contains("completion"),
        "beside a file there is still the table: {}",
        run.stdout
    );
    assert_eq!(inside(&folder), ["out.json"], "the file and no part of another");
    assert_eq!(read(&folder, "out.json"), well(&[&arguments[..], &["-"]].concat()).stdout);
}

/// Whatever follows `before` in the text, up to `end`.
fn after<'a>(text: &'a str, before: &str, end: char) -> Vec<&'a str> {
    text.split(before).skip(1).map(|rest| rest.split(end).next().unwrap_or_default()).collect()
}

#[test]
fn a_report_is_one_file_that_asks_the_network_for_nothing() {
    let (folder, run) =
        well_in_a_folder(&["compare", "--report", "out.html", "--path", "leo", "--bytes", "3MB"]);
    assert_eq!(inside(&folder), ["out.html"], "one file");
    assert!(run.stdout.contains("completion"), "and the table: {}", run.stdout);
    let page = read(&folder, "out.html");
    assert!(page.trim_start().to_ascii_lowercase().starts_with("<!doctype html>"), "it is HTML");

    for loads in [
        "<script src",
        "<iframe",
        "<object",
        "<embed",
        "<video",
        "<audio",
        "@import",
        "fetch(",
        "XMLHttpRequest",
        "importScripts",
        "sendBeacon",
        "srcset=",
    ] {
        assert!(!page.contains(loads), "`{loads}` in a page that stands alone");
    }
    for (attribute, end) in [("href=\"", '"'), ("src=\"", '"'), ("url(", ')')] {
        for target in after(&page, attribute, end) {
            assert!(
                target.starts_with('#') || target.starts_with("data:"),
                "{attribute} leads to {target}, outside the page"
            );
        }
    }
    for scheme in ["http://", "https://"] {
        for address in after(&page, scheme, '"') {
            assert_eq!(
                address, "www.w3.org/2000/svg",
                "the only address is the name of SVG, which nobody loads"
            );
        }
    }
}

#[test]
fn a_plain_report_has_no_simulator_and_no_other_says_it_has_one_without() {
    let of = |more: &[&str]| {
        let arguments =
            [&["compare", "--arms", "rapid", "--bytes", "100kB", "--report", "out.html"], more];
        read(&well_in_a_folder(&arguments.concat()).0, "out.html")
    };
    let parts = ["id=\"engine\"", "wasm-unsafe-eval", "What if the path changes?"];
    let plain = of(&["--plain-report"]);
    assert!(parts.iter().all(|part| !plain.contains(part)), "a plain report is plain");
    // Whether it has one hangs on what this program was built with.
    let page = of(&[]);
    let has = page.contains(parts[0]);
    assert!(parts.iter().all(|part| page.contains(part) == has), "the simulator is in it: {has}");
}

#[test]
fn a_report_says_whose_packets_it_shows() {
    for (transport, whose) in [
        ("quic", "Simulated QUIC: 1"),
        ("tcp", "Simulated TCP, loss detection rack: 1500-byte packets"),
    ] {
        let (folder, _) = well_in_a_folder(&[
            "compare",
            "--transport",
            transport,
            "--report",
            "out.html",
            "--arms",
            "slowstart",
            "--bytes",
            "200kB",
        ]);
        assert!(read(&folder, "out.html").contains(whose), "{transport}");
    }
}

#[test]
fn a_report_holds_the_curves_the_table_and_the_command_that_made_it() {
    let arguments = [
        "compare",
        "--report",
        "out.html",
        "--arms",
        "slowstart,rapid(jump=off)",
        "--bytes",
        "3MB",
    ];
    let (folder, run) = well_in_a_folder(&[&arguments[..], &["--json", "-"]].concat());
    let page = read(&folder, "out.html");
    let data = after(&page, "id=\"data\">", '<')[0];
    let data: Value = serde_json::from_str(data).expect("the data of the page is JSON");
    assert_eq!(
        data["command"],
        "firstflight compare --report out.html --arms 'slowstart,rapid(jump=off)' --bytes 3MB --json -"
    );
    assert_eq!(data["path"]["text"], "rate=100Mbit,rtt=30ms,queue=30ms");
    assert_eq!(data["workload_bytes"], 3_000_000);
    let document = run.json();
    for (index, arm) in ["slowstart", "rapid(jump=off)"].into_iter().enumerate() {
        assert_eq!(data["series"][index]["arm"], arm);
        assert_eq!(data["table"]["rows"][index]["arm"], arm);
        let points = data["series"][index]["points"]["t_ms"].as_array().expect("points");
        assert!(points.len() > 100, "{arm} has a curve of {} points", points.len());
        let end = points.last().and_then(Value::as_f64).expect("a time");
        let of = |key: &str| document["results"][index][key].as_f64().expect("a time");
        let (ttlb, acked) = (of("ttlb_ms"), of("acked_ms"));
        // The page rounds to microseconds.
        assert!(
            (end - acked).abs() <= 0.001,
            "the curve of {arm} ends at {end} ms and its last byte is acknowledged at {acked} ms"
        );
        let delivered =
            data["series"][index]["points"]["delivered_bytes"].as_array().expect("bytes");
        let whole = delivered
            .iter()
            .position(|bytes| bytes == 3_000_000)
            .expect("the curve reaches the object");
        let at = points[whole].as_f64().expect("a time");
        // A long curve is thinned to more than a point per pixel; the return path alone takes 15 ms.
        assert!(
            (ttlb - 0.001..ttlb + 1.0).contains(&at),
            "the curve of {arm} reaches the object at {at} ms and its last byte is delivered at {ttlb} ms"
        );
    }
}

/// As root, a rename over `/dev/null` would leave the machine without one.
#[cfg(unix)]
#[test]
fn a_pipe_is_written_into_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success(), "a pipe");
    let mut reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().expect("cat");
    let run =
        run_in(&folder, &["compare", "--arms", "slowstart", "--bytes", "100kB", "--json", "pipe"]);
    if run.code != 0 {
        let _ = reader.kill();
    }
    assert_eq!(run.code, 0, "{}", run.stderr);
    let read = reader.wait_with_output().expect("cat ends").stdout;
    assert!(fs::metadata(&pipe).expect("still there").file_type().is_fifo(), "it is still a pipe");
    assert!(serde_json::from_slice::<Value>(&read).is_ok(), "and the result went through it");
}

#[test]
fn an_earlier_result_is_replaced_as_a_whole() {
    let (folder, _) = well_in_a_folder(&[
        "compare", "--arms", "rapid", "--bytes", "100kB", "--json", "out.json", "--report",
        "out.html",
    ]);
    let before = (read(&folder, "out.json"), read(&folder, "out.html"));
    let run = run_in(
        &folder,
        &[
            "compare", "--arms", "oracle", "--bytes", "100kB", "--json", "out.json", "--report",
            "out.html",
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(inside(&folder), ["out.html", "out.json"], "no temporary file is left");
    assert!(
        read(&folder, "out.json").contains("oracle/cubic/prr")
            && !read(&folder, "out.json").contains("rapid/cubic/prr")
    );
    assert_ne!((read(&folder, "out.json"), read(&folder, "out.html")), before);
    let refused = run_in(
        &folder,
        &["compare", "--arms", "orcle", "--json", "out.json", "--report", "out.html"],
    );
    assert_eq!(refused.code, 2);
    assert!(
        read(&folder, "out.json").contains("oracle/cubic/prr"),
        "a refused run leaves the earlier result alone"
    );
}

#[cfg(unix)]
#[test]
fn a_file_may_have_a_name_that_is_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    let name = std::ffi::OsStr::from_bytes(b"\xff.html");
    let mut command = command(&["compare", "--arms", "rapid", "--bytes", "100kB", "--report"]);
    command.arg(name).current_dir(folder.path()).assert().success();
    assert!(folder.path().join(name).is_file());
}

const TALKATIVE: &[&[&str]] = &[
    &["compare"],
    &["arms"],
    &["paths"],
    &["compare", "--arms", "rapid,rapidstart"],
    &["--help"],
    &["compare", "--path", "nowhere"],
];

#[test]
fn into_a_pipe_there_are_no_escape_codes() {
    for arguments in TALKATIVE {
        let run = command::run(arguments);
        let text = run.stdout + &run.stderr;
        assert!(!text.contains('\u{1b}'), "`firstflight {}` colours a pipe", arguments.join(" "));
    }
}

#[test]
fn no_color_is_obeyed_even_where_colours_are_forced() {
    for arguments in TALKATIVE {
        let bytes = |no_color: bool| {
            let mut command = command(arguments);
            command.env("CLICOLOR_FORCE", "1");
            if no_color {
                command.env("NO_COLOR", "1");
            }
            let output = command.output().expect("the binary starts");
            [output.stdout, output.stderr].concat()
        };
        assert!(
            !bytes(true).contains(&0x1b),
            "`firstflight {}` colours in spite of NO_COLOR",
            arguments.join(" ")
        );
        if arguments == &["compare"] {
            assert!(bytes(false).contains(&0x1b), "the test can see colours where there are some");
        }
    }
}

/// The binary with standard output going to `stdout`: how it ends and what it says on standard
/// error.
fn talks_to(stdout: impl Into<Stdio>, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(arguments)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .expect("the binary runs");
    (output.status.code(), String::from_utf8(output.stderr).expect("standard error is UTF-8"))
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for arguments in
        [&["paths"][..], &["arms"], &["compare"], &["compare", "--json", "-"], &["--help"]]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let (code, said) = talks_to(writer, arguments);
        let said: String = said.lines().filter(|line| !line.starts_with("note: ")).collect();
        assert_eq!(
            (code, said.as_str()),
            (Some(0), ""),
            "`firstflight {} | true`",
            arguments.join(" ")
        );
    }
}

#[test]
fn an_output_never_replaces_an_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = "rate=10Mbit,rtt=20ms,queue=20ms";
    let kept = ["compare", "--bytes", "100kB", "--arms", "slowstart", "--path", path];
    let kept = run_in(&folder, &[&kept[..], &["--json", "kept.json"]].concat());
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    let rows = (0..200).map(|row| format!("{},10000,20000,30\n", 30 * row));
    let table =
        "time_ms,acked_bytes,inflight_bytes,rtt_ms\n".to_owned() + &rows.collect::<String>();
    fs::write(folder.path().join("acks.csv"), table).expect("a table");
    fs::write(folder.path().join("plan.toml"), "bytes = \"100kB\"\narms = [\"slowstart\"]\n")
        .expect("an experiment");
    fs::create_dir(folder.path().join("sub")).expect("a folder");
    let rows: &[&[&str]] = &[
        &["replay", "acks.csv", "--json", "acks.csv"],
        &["replay", "acks.csv", "--json=./acks.csv"],
        &["replay", "sub/../acks.csv", "--events", "acks.csv"],
        &["advise", "acks.csv", "--json", "acks.csv"],
        &["run", "plan.toml", "--json", "plan.toml"],
        &["diff", "kept.json", "kept.json", "--json", "kept.json"],
        &["check", "kept.json", "--against", "kept.json", "--json", "kept.json"],
        &["ab", "--population", "plan.toml", "--json", "plan.toml"],
        &["compare", "--path", "trace=acks.csv,rtt=20ms", "--json", "acks.csv"],
    ];
    let read_all = || ["acks.csv", "plan.toml", "kept.json"].map(|name| read(&folder, name));
    let before = read_all();
    for arguments in rows {
        let run = run_in(&folder, arguments);
        let typed = arguments.join(" ");
        assert_eq!(run.code, 2, "`firstflight {typed}` is bad input: {}", run.stderr);
        assert!(read_all() == before, "`firstflight {typed}` keeps its input");
    }
    let said = run_in(&folder, rows[0]).stderr;
    assert_eq!(said, "firstflight: --json acks.csv: the command reads this file; name another\n");
    let run = run_in(&folder, &["replay", "acks.csv", "--json", "again.json"]);
    assert_eq!(run.code, 0, "another name: {}", run.stderr);
    let run = run_in(&folder, &["replay", "acks.csv", "--json", "again.json"]);
    assert_eq!(run.code, 0, "an earlier result is replaced: {}", run.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_no_panic() {
    for arguments in [
        &["paths"][..],
        &["arms"],
        &["compare"],
        &["compare", "--json", "-"],
        &["--help"],
        &["compare", "--help"],
        &["--version"],
    ] {
        let full =
            fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has a full device");
        let (code, said) = talks_to(full, arguments);
        assert_eq!(code, Some(2), "`firstflight {} > /dev/full`", arguments.join(" "));
        assert!(
            said.starts_with("firstflight: standard output: ") && said.lines().count() == 1,
            "{said}"
        );
    }
}
