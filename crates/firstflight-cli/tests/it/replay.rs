//! `firstflight replay` and `population from-traces`, from trace to table.
#![cfg(feature = "replay")]

use crate::command;

use command::{command as firstflight, refused};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn ok(arguments: &[&str]) -> String {
    let output = firstflight(arguments).output().expect("the command runs");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {err}");
    out.into_owned()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&ok(&[arguments, &["--json", "-"]].concat())).expect("JSON")
}

/// Every startup there is, and the short names.
const ARMS: &str = "slowstart,limited,hystart,hystart(profile=gvisor),hystart++,hystart++-draft03,search,search3,best,best(fallback=none),\
                    best-published,rapid,rapid-nojump,jumpstart,oracle,hystart++/reno/immediate@(iw=30)";

/// The arm that ran leaves in the replay at the ACK, with the window and for the reason that the
/// trace has.
fn exact(trace: &str, runs: &Value) {
    let connections = runs["connections"].as_array().expect("a list");
    assert!(!connections.is_empty(), "{trace}: there are connections");
    let mut left = 0;
    for connection in connections {
        let sender = &connection["sender"];
        let replayed: Vec<&Value> = connection["startups"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|row| row["exact"] == true)
            .collect();
        assert_eq!(
            replayed.len(),
            1,
            "{trace}: one startup is the one that ran: {}",
            connection["name"]
        );
        for field in ["reason", "time_ms", "cwnd"] {
            assert_eq!(
                replayed[0][field], sender[field],
                "{trace}: {field} of {}",
                connection["name"]
            );
        }
        left += usize::from(!sender["time_ms"].is_null());
    }
    assert!(left > 0, "{trace}: some of them left");
}

#[test]
fn the_arm_that_ran_leaves_at_the_same_ack_in_the_replay_of_its_own_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let grounds: [(&str, &[&str]); 4] = [
        ("quic", &["--bytes", "3MB"]),
        (
            "quic with losses",
            &[
                "--path",
                "rate=20Mbit,rtt=60ms,queue=40ms,loss=0.2%,reorder=1%:8ms",
                "--bytes",
                "3MB",
            ],
        ),
        (
            "tcp",
            &["--transport", "tcp", "--path", "rate=50Mbit,rtt=40ms,queue=1bdp", "--bytes", "3MB"],
        ),
        (
            "tcp on a grid",
            &[
                "--transport",
                "tcp",
                "--path",
                "rate=20Mbit,rtt=200ms,queue=1bdp,return=batch:40ms:1000:30us",
                "--bytes",
                "5MB",
            ],
        ),
    ];
    for (name, scenario) in grounds {
        // A file of the other kind is read alike from any path: one of each transport.
        let files: &[&str] = match name {
            "quic" | "tcp" => &["trace.csv", "trace.qlog"],
            _ => &["trace.csv"],
        };
        for file in files {
            let file = folder.path().join(file);
            let file = file.to_str().expect("UTF-8");
            // An unpaced TCP sender has no jump: those that need a pacer run with one.
            let arms = if name.starts_with("tcp") {
                ARMS.replace("rapid,", "rapid@(pace=on),")
                    .replace("jumpstart,", "jumpstart@(pace=on),")
            } else {
                ARMS.into()
            };
            ok(&[&["compare", "--arms", &arms, "--trace", file], scenario].concat());
            exact(&format!("{name}, {file}"), &json(&["replay", "--arms", "slowstart", file]));
        }
    }
}

#[test]
fn best_as_published_is_far_off_on_a_satellite_grid_and_best_robust_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("geo.csv");
    let file = file.to_str().expect("UTF-8");
    ok(&[
        "compare",
        "--transport",
        "tcp",
        "--path",
        "geo,return=batch:40ms:1000:30us",
        "--bytes",
        "100MB",
        "--arms",
        "slowstart",
        "--trace",
        file,
    ]);
    let results = json(&["replay", "--arms", "best-published,best(fallback=none),hystart", file]);
    let connection = &results["connections"][0];
    let row = |arm: &str| {
        connection["startups"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|row| row["arm"] == arm)
            .expect("asked for")
            .clone()
    };
    let (published, robust, hystart) =
        (row("best-published"), row("best(fallback=none)"), row("hystart"));
    let aim = published["aim_ratio"].as_f64().expect("it aims");
    assert!(
        aim > 3.0 && published["verdict"] == "late",
        "the published one aims at {aim} BDP and leaves {}",
        published["verdict"]
    );
    let verdict = robust["verdict"].as_str().expect("a word");
    assert!(
        verdict == "right" || verdict == "silent",
        "the robust one is right or says nothing: {robust}"
    );
    assert_eq!(hystart["verdict"], "early", "a delay rule takes the grid for a queue: {hystart}");
    let findings: Vec<&Value> = connection["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|finding| finding["kind"] == "ack_grid")
        .collect();
    assert_eq!(findings.len(), 1, "the grid is found");
    assert_eq!(findings[0]["value"], 40.0, "and it is the one of the path");
}

/// A kind of finding and the range of its value.
type Expected = (&'static str, f64, f64);

/// Each kind of path says what it is, and a plain one says nothing of the kind.
#[test]
fn the_acks_tell_a_policer_a_grid_and_grants_from_a_plain_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("path.csv");
    let file = file.to_str().expect("UTF-8");
    let cases: [(&str, &[Expected]); 3] = [
        ("rate=100Mbit,rtt=40ms,queue=1bdp,policer=20Mbit:300ms", &[("policer", 18.0, 22.0)]),
        ("geo,return=geo_cold", &[("ack_grid", 40.0, 40.0), ("grants", 1.3, 2.0)]),
        ("rate=50Mbit,rtt=40ms,queue=1bdp", &[]),
    ];
    for (path, expected) in cases {
        ok(&[
            "compare",
            "--transport",
            "tcp",
            "--path",
            path,
            "--bytes",
            "20MB",
            "--arms",
            "slowstart",
            "--trace",
            file,
        ]);
        let results = json(&["replay", "--arms", "slowstart", file]);
        let findings = results["connections"][0]["findings"].as_array().expect("a list").clone();
        for kind in ["policer", "ack_grid", "grants"] {
            let found = findings
                .iter()
                .find(|finding| finding["kind"] == kind)
                .map(|finding| finding["value"].as_f64().expect("a number"));
            match (expected.iter().find(|(wanted, ..)| *wanted == kind), found) {
                (Some((_, low, high)), Some(value)) => {
                    assert!((*low..=*high).contains(&value), "{path}: {kind} of {value}");
                }
                (None, None) => {}
                (expected, found) => {
                    panic!("{path}: {kind} is {found:?} and should be {expected:?}")
                }
            }
        }
    }
}

/// Arms with that startup and several initial windows: as many connections.
fn windows(startup: &str, count: u32) -> String {
    (10..10 + count).map(|iw| format!("{startup}@(iw={iw})")).collect::<Vec<_>>().join(",")
}

#[test]
fn many_connections_give_a_table_and_a_distribution_of_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("many.csv");
    let file = file.to_str().expect("UTF-8");
    let arms = [windows("slowstart", 6), windows("hystart", 6)].join(",");
    ok(&["compare", "--bytes", "1MB", "--arms", &arms, "--trace", file]);
    let text = ok(&["replay", "--arms", "slowstart,hystart,best", file]);
    assert!(text.contains("12 connections") && text.contains("silent"), "{text}");
    let results = json(&["replay", "--arms", "slowstart,hystart,best", file]);
    for spread in results["verdicts"].as_array().expect("a list") {
        let sum: u64 = ["early", "right", "late", "silent"]
            .iter()
            .map(|verdict| spread[verdict].as_u64().expect("a count"))
            .sum();
        assert_eq!(
            Some(sum),
            spread["connections"].as_u64(),
            "every connection has one verdict: {spread}"
        );
    }
}

#[test]
fn a_population_from_traces_runs_in_an_ab_test() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("traces.csv");
    let file = file.to_str().expect("UTF-8");
    let path = "rate=20Mbit,rtt=40ms,queue=60ms";
    let arms = windows("slowstart", 12);
    ok(&["compare", "--path", path, "--bytes", "2MB", "--arms", &arms, "--trace", file]);
    for spelling in ["population", "populations"] {
        let text = ok(&[spelling, "from-traces", file]);
        for said in ["schema = 1", "not inferred", "rtt = ", "rate_down = ", "buffer = "] {
            assert!(text.contains(said), "`{said}` is in the file:\n{text}");
        }
        let population = folder.path().join("mine.toml");
        fs::write(&population, &text).expect("a file");
        let population = population.to_str().expect("UTF-8");
        let rows = json(&[
            "ab",
            "--population",
            population,
            "--flows",
            "200",
            "--baseline",
            "slowstart",
            "--arms",
            "hystart++",
        ]);
        assert!(rows.is_object(), "the A/B test runs");
        let described = ok(&["populations", "describe", population]);
        assert!(described.contains("traces") || described.contains("rate"), "{described}");
    }
}

#[test]
fn a_report_shows_every_exit_on_one_time_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, page) = (folder.path().join("one.csv"), folder.path().join("one.html"));
    let (file, page) = (file.to_str().expect("UTF-8"), page.to_str().expect("UTF-8"));
    ok(&["compare", "--bytes", "2MB", "--arms", "slowstart", "--trace", file]);
    ok(&["replay", file, "--arms", "slowstart,hystart,best-published", "--report", page]);
    let html = fs::read_to_string(page).expect("a page");
    for said in ["Round trip", "Delivery rate", "ACK spacing", "Open loop", "default-src 'none'"] {
        assert!(html.contains(said), "`{said}` is on the page");
    }
    let (_, data) = html.split_once("id=\"data\">").expect("data on the page");
    let (data, _) = data.split_once("</script>").expect("an end of the data");
    let data: Value = serde_json::from_str(data).expect("JSON");
    let finding = data["finding"].as_str().expect("a finding");
    assert!(finding.contains("exited slow start with a cwnd that fits this path"), "{finding}");
    let line = &data["lines"][0];
    let moments = line["t_ms"].as_array().expect("times").len();
    assert!(moments > 50, "{moments} moments are few");
    for list in ["rtt_ms", "inflight"] {
        assert_eq!(line[list].as_array().map(Vec::len), Some(moments), "{list} at every moment");
    }
    for (arm, row) in
        data["connections"][0]["startups"].as_array().expect("rows").iter().enumerate()
    {
        // Its window is there until it leaves, and what it computes inside as well.
        let cwnds = line["cwnds"][arm].as_array().expect("windows");
        assert!(!cwnds.is_empty() && cwnds.len() <= moments, "{row}");
        let signals = line["signals"][arm].as_array().expect("signals");
        assert!(!signals.is_empty(), "{row}");
    }
    assert!(!html.contains("https://"), "nothing is fetched");
}

#[test]
fn what_cannot_be_read_ends_with_code_2_and_what_can_in_part_with_code_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        fs::write(&file, bytes).expect("a file");
        file.to_str().expect("UTF-8").to_owned()
    };
    let noise = write("noise.bin", &[0xff; 100]);
    refused(&[
        (&["replay", &noise], "noise.bin: byte 0:"),
        (&["replay", "/nowhere/at/all.pcap"], "/nowhere/at/all.pcap"),
    ]);
    let run = |arguments: &[&str]| firstflight(arguments).output().expect("the command runs");
    let trace = folder.path().join("whole.csv");
    ok(&[
        "compare",
        "--bytes",
        "1MB",
        "--arms",
        "slowstart",
        "--trace",
        trace.to_str().expect("UTF-8"),
    ]);
    let whole = fs::read(&trace).expect("a trace");
    let cut = write("cut.csv", &whole[..whole.len() / 2]);
    let output = run(&["replay", &cut, &noise]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "part of it could be read: {said}");
    assert!(
        said.contains("partial:")
            && said.contains("cut.csv: line ")
            && said.contains("noise.bin: byte 0:"),
        "{said}"
    );
    assert!(!output.stdout.is_empty(), "what could be read is shown");
}

/// A download by the running kernel's TCP through an emulated link, captured where it was sent.
/// Needs root and Python; says what is missing and passes where that is not given.
#[cfg(target_os = "linux")]
#[test]
fn a_capture_of_a_real_download_shows_the_link_it_went_through() {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools");
    let probe = firstflight(&[
        "link",
        "-q",
        "--",
        "python3",
        "-c",
        "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)",
    ])
    .output();
    let probe = probe.expect("the command runs");
    if !probe.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&probe.stderr).trim());
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let near = |found: f64, real: f64| (found / real - 1.0).abs() < 0.05;
    let mut left = vec![(50.0, 40.0), (20.0, 100.0)];
    // A link beside other tests may be late, and what it holds back leaves as a burst.
    for last in [false, false, true] {
        left.retain(|&(rate, rtt)| {
            let (path, found, round) = shown_of_download(folder.path(), &tools, rate, rtt);
            assert!(near(round, rtt), "{path}: {round} ms");
            assert!(!last || near(found, rate), "{path}: {found} Mbit/s on the wire");
            !near(found, rate)
        });
    }
}

/// Path of a download through an emulated link, and what its capture shows of that: the rate on the
/// wire in Mbit/s, the smallest RTT in ms.
#[cfg(target_os = "linux")]
fn shown_of_download(folder: &Path, tools: &Path, rate: f64, rtt: f64) -> (String, f64, f64) {
    let dump = folder.join(format!("{rate}.pcap"));
    let server = format!(
        "exec python3 {}/serve_and_capture.py 8000 12000000 {}",
        tools.display(),
        dump.display()
    );
    let path = format!("rate={rate}Mbit,rtt={rtt}ms,queue=1bdp");
    let fetch = tools.join("fetch.py");
    let output = firstflight(&[
        "link",
        "-q",
        "--path",
        &path,
        "--server",
        &server,
        "--",
        "python3",
        fetch.to_str().expect("UTF-8"),
        "10.77.0.1",
        "8000",
    ])
    .output()
    .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "12000000", "the object arrives");
    let results =
        json(&["replay", "--arms", "slowstart,hystart++,search", dump.to_str().expect("UTF-8")]);
    assert!(
        results["files"][0]["fault"].is_null(),
        "the capture is whole: {}",
        results["files"][0]
    );
    let connection = &results["connections"][0];
    let (found, round) = (
        connection["best_rate_wire_mbps"].as_f64().expect("a rate"),
        connection["min_rtt_ms"].as_f64().expect("an RTT"),
    );
    println!(
        "{path}: {found:.2} Mbit/s, {round:.2} ms, {:.2} % lost",
        connection["loss_ratio"].as_f64().unwrap_or(0.0) * 100.0
    );
    (path, found, round)
}

/// Lines of a qlog that any stack would have written: packets that left, came and were lost.
#[cfg(feature = "quic")]
fn packets_only(text: &str) -> String {
    lines_with(
        text,
        &["qlog_version", "transport:packet_sent", "transport:packet_received", "packet_lost\""],
    )
}

#[cfg(feature = "quic")]
fn lines_with(text: &str, events: &[&str]) -> String {
    let kept = |line: &&str| events.iter().any(|event| line.contains(event));
    text.split_inclusive('\n').filter(kept).collect()
}

/// The qlogs of the senders on a path on a real QUIC stack, with nothing in them but packets.
#[cfg(feature = "quic")]
fn foreign_qlogs(into: &Path, path: &str, senders: &str) -> Vec<std::path::PathBuf> {
    fs::create_dir(into).expect("a folder");
    let into = into.to_str().expect("a name");
    let words =
        ["compare", "--on", "quic", "--path", path, "--bytes", "8MB", "--arms", senders, "--qlog"];
    ok(&[&words[..], &[into, "--repeat", "1"]].concat());
    let files = fs::read_dir(into).expect("qlogs").map(|file| file.expect("one").path());
    let mut files: Vec<_> =
        files.filter(|file| file.to_string_lossy().ends_with("-sender.sqlog")).collect();
    files.sort();
    for file in &files {
        let text = fs::read_to_string(file).expect("a qlog");
        fs::write(file, packets_only(&text)).expect("written");
    }
    files
}

/// The sender of a capture of a real QUIC stack is identified from its packets: the numbers of `docs/identify.md`.
#[test]
#[cfg(feature = "quic")]
fn startups_on_a_real_stack_are_identified() {
    // So many senders, the last ones, are not tried.
    const PLANTED: usize = 2;
    let senders = [
        "slowstart",
        "hystart",
        "hystart++",
        "hystart++-draft03",
        "search",
        "best",
        "limited",
        "rapid",
        "jumpstart",
        "plumb",
        "bbr",
        "bbr3",
        "careful(saved=500)",
    ];
    let paths = [
        "rate=35Mbit,rtt=55ms,queue=2bdp",
        "rate=22Mbit,rtt=110ms,queue=1.2bdp",
        "rate=70Mbit,rtt=28ms,queue=80ms",
    ];
    // With `NIGHT` set (`make night`) what the page says is compared, too.
    let night = std::env::var_os("NIGHT").is_some();
    let folder = tempfile::tempdir().expect("a folder");
    let (mut right, mut planted) = (0, 0);
    for (index, &path) in paths.iter().enumerate() {
        let files = foreign_qlogs(&folder.path().join(index.to_string()), path, &senders.join(","));
        let sent = |file: &std::path::PathBuf| {
            lines_with(&fs::read_to_string(file).expect("a qlog"), &["transport:packet_sent"])
        };
        let sent: Vec<String> = files.iter().map(sent).collect();
        for (own, file) in files.iter().enumerate() {
            let file = file.to_str().expect("a name");
            let answer = json(&["replay", "--identify", file, "--arms", "slowstart"]);
            let identified = &answer["connections"][0]["identified"];
            let alike: Vec<&str> = identified["alike"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            // Right is the sender alone, or with those that sent the same packets then.
            let is_twin = |name: &&str| {
                let other = senders.iter().position(|sender| sender == name);
                other.is_some_and(|other| sent[other] == sent[own])
            };
            println!("{path} {}: {alike:?} {}", senders[own], identified["why"]);
            if own >= senders.len() - PLANTED {
                planted += usize::from(alike.is_empty());
                continue;
            }
            right += usize::from(!alike.is_empty() && alike.iter().all(is_twin));
            assert!(
                alike.is_empty() || alike.contains(&senders[own]),
                "{path}: {} was taken for {alike:?}",
                senders[own]
            );
        }
    }
    let (all, count) = ((senders.len() - PLANTED) * paths.len(), PLANTED * paths.len());
    let told = format!(
        "{right} of {all} captures of candidates are right, {planted} of {count} planted ones unknown"
    );
    assert!(right * 10 >= all * 9 && planted == count, "{told}");
    if !night {
        return;
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/identify.md");
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains(&told), "docs/identify.md should say: {told}");
}

#[test]
fn identification_is_said_in_words_and_refuses_what_is_no_startup() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/plain.pcap.gz");
    let text = ok(&["replay", "--identify=slowstart,bbr", sample]);
    assert!(text.contains("startup of the sender"), "{text}");
    refused(&[(&["replay", "--identify=slowstrat", sample], "slowstart")]);
}
