//! `firstflight watch` on a real web server and real TCP behind an emulated link.

use super::command::schema;
use super::service::{Group, ONE, Service, assert_no_program, ended, programs, started};
use firstflight_linux::kernel::{Exit, HystartTrace, Loaded, Record, arm};
use serde_json::Value;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

const READY: &str = "watching";
/// The last segments of a connection are under way when its client has all.
const TAIL: Duration = Duration::from_millis(500);

fn rows_of(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("rows");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

#[test]
fn a_server_that_closes_at_once_is_watched_to_the_end_and_no_file_tells_who() {
    const DOWNLOADS: usize = 12;
    const SIZE: usize = 300_000;
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, "rate=50Mbit,rtt=20ms,queue=20ms", SIZE) else {
        return;
    };
    let names = ["rows.jsonl", "answer.json", "page.html", "mine.toml"];
    let files = names.map(|name| service.file(name));
    let [rows, answer, page, population] = &files;
    let mut arguments = vec!["watch", "--cgroup", group.folder(), "--arms", "slowstart,hystart++"];
    arguments.extend(["--out", rows, "--json", answer, "--report", page]);
    arguments.extend(["--population", population]);
    let Some((child, _said)) = started(&arguments, READY) else { return };
    let ports: Vec<u16> = (0..DOWNLOADS)
        .map(|_| {
            let (bytes, port) = service.download();
            assert!(bytes > SIZE, "watching changes nothing");
            port
        })
        .collect();
    sleep(TAIL);
    let (code, shown) = ended(child, "-INT");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Open loop"), "the table says so: {shown}");
    let told: Value = serde_json::from_str(&fs::read_to_string(answer).expect("JSON")).unwrap();
    let number = |name: &str| told[name].as_u64().unwrap_or_else(|| panic!("{name}: {told}"));
    assert_eq!((number("watched"), number("closed")), (DOWNLOADS as u64, DOWNLOADS as u64));
    assert_eq!((number("records_dropped"), number("incomplete"), number("open")), (0, 0, 0));
    assert_eq!(number("tail_unseen"), 0, "ACKs after the close are seen");
    schema::follows("watch", &told);
    assert_eq!(told["open_loop"], true);
    assert_eq!(told["connections"].as_array().map(Vec::len), Some(DOWNLOADS));
    let rows = rows_of(rows);
    assert_eq!(rows.len(), DOWNLOADS);
    for row in &rows {
        assert_eq!((&row["acked_all"], &row["tail_unseen"]), (&true.into(), &false.into()));
        assert_eq!((&row["missing_records"], &row["open_loop"]), (&0.into(), &true.into()));
        assert!(row["bytes_acked"].as_u64().is_some_and(|bytes| bytes > SIZE as u64), "{row}");
        assert!(row["arm"].as_str().is_some_and(|arm| arm.starts_with("kernel:")), "{row}");
        assert!(row["slowstart.verdict"].is_string() && row["hystart++.verdict"].is_string());
    }
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("Open loop"), "the page says so");
    // No address in any notation, no port of a client, nothing of what was sent.
    for file in &files {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        for address in service.addresses() {
            let octets: Vec<u8> = address.split('.').map(|part| part.parse().unwrap()).collect();
            let number = u32::from_be_bytes(octets.try_into().expect("four"));
            let hex = format!("{number:08x}");
            for written in [address, hex, number.to_string(), number.swap_bytes().to_string()] {
                assert!(!text.contains(&written), "{file} has {written}");
            }
        }
        for port in &ports {
            for written in [format!(":{port}\""), format!(":{port} "), format!("port\":{port}")] {
                assert!(!text.contains(&written), "{file} has the port {written}");
            }
        }
        assert!(!text.contains("xxxxxxxx"), "{file} has payload");
    }
}

/// A queue in which startups leave by their estimate, long before a loss.
const DEEP: &str = "rate=50Mbit,rtt=40ms,queue=300ms";

/// Downloads of 2 MB that are watched, while `meanwhile` looks at the kernel until it is told that
/// they are over: the rows.
fn watched(
    group: &Group,
    service: &Service,
    arm: &str,
    downloads: usize,
    meanwhile: impl FnOnce(&AtomicBool),
) -> Option<Vec<Value>> {
    let rows = service.file("rows.jsonl");
    // Rows of an earlier watch stay in the file.
    let _ = fs::remove_file(&rows);
    let arguments = ["watch", "--cgroup", group.folder(), "--arms", arm, "--out", &rows];
    let (child, _said) = started(&arguments, READY)?;
    let over = AtomicBool::new(false);
    scope(|scope| {
        scope.spawn(|| {
            (0..downloads).for_each(|_| assert!(service.download().0 > 2_000_000));
            sleep(TAIL);
            over.store(true, Ordering::Relaxed);
        });
        meanwhile(&over);
    });
    let (code, shown) = ended(child, "-INT");
    assert_eq!(code, Some(0), "{shown}");
    let rows = rows_of(&rows);
    assert_eq!(rows.len(), downloads, "{shown}");
    Some(rows)
}

/// The kernel counts packets and the replay bytes: the server's head is one packet and a few bytes,
/// so the replay may need an ACK more, of two packets.
fn same_ack(row: &Value, arm: &str, mss: u32, kernels: u32) -> Result<(), String> {
    let cwnd = &row[format!("{arm}.exit_cwnd_bytes")];
    let window = cwnd.as_u64().expect("an exit") / u64::from(mss);
    let line = || {
        format!("{arm}: the same ACK or the next: {window} packets, in the kernel {kernels}; {row}")
    };
    if u64::from(kernels).abs_diff(window) <= 3 { Ok(()) } else { Err(line()) }
}

/// Compares the exit that the kernel arm reports with the exit that the replay finds.
fn same_exit(row: &Value, name: &str, exit: &Exit) -> Result<(), String> {
    assert_eq!(row["arm"], name, "the controller that ran: {row}");
    let reason = exit.reason.expect("no false alarm").name();
    if row[format!("{name}.exit_reason")] != reason {
        return Err(format!("the kernel left by {reason}: {row}"));
    }
    if name != "search" {
        return same_ack(row, name, exit.mss, exit.detect_cwnd);
    }
    // SEARCH finds its exit, drains what it has sent too much, and reports the end of that; a
    // recorded sender does not drain for the replay.
    let found = row["search.exit_ms"].as_f64().expect("an exit");
    let reported = exit.since_first_send_us as f64 / 1000.0;
    let late = || format!("found at {found} ms, reported at {reported} ms");
    if found <= reported + 1.0 { Ok(()) } else { Err(late()) }
}

#[test]
fn the_arm_that_runs_leaves_in_the_live_replay_as_it_says_itself() {
    const DOWNLOADS: usize = 2;
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    for name in ["best", "hystart", "search"] {
        let Some(service) = Service::start(&group, DEEP, 2_000_000) else { return };
        let known = arm(name).expect("an arm");
        let loaded = match Loaded::load_for(known, std::slice::from_ref(&group.0)) {
            Ok(loaded) => loaded,
            Err(refusal) => return println!("skipped: {refusal}"),
        };
        // A machine that is busy for a moment merges ACKs, and then the two may see different ones.
        let mut apart = Vec::new();
        for _ in 0..4 {
            let mut exits: Vec<Exit> = Vec::new();
            let rows = watched(&group, &service, name, DOWNLOADS, |over| {
                let go_on = || !over.load(Ordering::Relaxed);
                loaded.watch(|exit| exits.push(exit), go_on).expect("the kernel's reports");
            });
            let Some(rows) = rows else { return };
            assert_eq!(exits.len(), DOWNLOADS);
            apart = rows
                .iter()
                .zip(&exits)
                .filter_map(|(row, exit)| same_exit(row, name, exit).err())
                .collect();
            if apart.is_empty() {
                break;
            }
        }
        assert!(apart.is_empty(), "{apart:?}");
    }
}

#[test]
fn the_kernels_own_hystart_leaves_where_ours_does_in_the_live_replay() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let trace = match HystartTrace::attach() {
        Ok(trace) => trace,
        Err(refusal) => return println!("skipped: {refusal}"),
    };
    let Some(service) = Service::start(&group, DEEP, 2_000_000) else { return };
    // It only calls the kernel's CUBIC, HyStart and all, and notes what that left.
    service.choose(HystartTrace::CONTROLLER);
    let mut replayed = [0; 2];
    // A machine that is busy for a moment merges ACKs, and then the two may see different ones.
    let mut apart = Vec::new();
    for _ in 0..4 {
        let mut found: Vec<Record> = Vec::new();
        let rows = watched(&group, &service, "hystart", 2, |over| {
            let mut known = false;
            while !over.load(Ordering::Relaxed) {
                let each = |record: Record| {
                    if record.found() && !known {
                        found.push(record);
                    }
                    known = record.found();
                };
                assert_eq!(trace.take(each).expect("records"), 0, "every ACK was recorded");
                sleep(Duration::from_millis(20));
            }
        });
        let Some(rows) = rows else { return };
        assert_eq!(found.len(), rows.len(), "one exit of each");
        apart.clear();
        for (row, kernel) in rows.iter().zip(&found) {
            assert_eq!(row["arm"], format!("kernel:{}", HystartTrace::CONTROLLER), "{row}");
            apart.extend(same_ack(row, "hystart", kernel.mss, kernel.cwnd).err());
            for (count, reason) in replayed.iter_mut().zip(["train", "delay"]) {
                *count += u64::from(row["hystart.exit_reason"] == reason);
            }
        }
        if apart.is_empty() {
            break;
        }
    }
    assert!(apart.is_empty(), "{apart:?}");
    // The kernel counts what it left by, and the windows.
    for (count, how) in replayed.into_iter().zip(["Train", "Delay"]) {
        let counted = service.counter(&format!("TCPHystart{how}Detect"));
        assert_eq!(count, counted, "exits by {how}, replayed and counted");
    }
}

#[test]
fn nothing_is_left_in_the_kernel_however_watching_ends() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    for signal in ["-INT", "-TERM", "-KILL"] {
        let Some((child, _said)) = started(&["watch", "--cgroup", group.folder()], READY) else {
            return;
        };
        // A kernel that does not list its programs shows none now.
        let listed = programs("leaves") > 0;
        let (code, _) = ended(child, signal);
        // Nothing was watched: a result that fell short.
        assert!(signal == "-KILL" || code == Some(1), "{signal}: {code:?}");
        if listed {
            assert_no_program("leaves");
            assert_no_program("arrives");
        }
    }
}

/// A small share of `make crowd`: whole rows of all honest connections beside segments of any form.
#[test]
fn hostile_clients_cost_a_watch_and_a_trial_no_row() {
    let _one = ONE.lock();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/crowd.py");
    let output = std::process::Command::new("python3")
        .args([script, env!("CARGO_BIN_EXE_firstflight")])
        .args(["--seconds", "4", "--rate", "100", "--hostile", "30"])
        .output()
        .expect("python3");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("crowd: "), "{said}{complained}");
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    for (arguments, why) in [
        (vec!["watch"], "--cgroup"),
        (vec!["watch", "--all", "--port", "80"], "--port"),
        (vec!["watch", "--port", "0"], "--port"),
        (vec!["watch", "--all", "--sample", "2"], "--sample"),
        (vec!["watch", "--all", "--arms", "nothing"], "nothing"),
        (vec!["watch", "--cgroup", "/"], ""),
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(&arguments)
            .output()
            .expect("the command runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains(why), "{arguments:?}: {said}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_a_watch_and_of_a_trial_are_parquet_that_the_analysis_reads() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, "rate=50Mbit,rtt=10ms,queue=20ms", 100_000) else {
        return;
    };
    let file = service.file("rows.parquet");
    let cgroup = ["--cgroup", group.folder()];
    let watch = [&["watch", "--arms", "hystart++,search", "--out", &file][..], &cgroup].concat();
    let mut trial = vec!["trial", "start", "--arms", "kernel:cubic#a,kernel:cubic#b", "--rows"];
    trial.extend([&file, "--unit", "connection", "--cgroup", group.folder()]);
    for (arguments, ready, arm) in [(watch, READY, "kernel:"), (trial, "trial of", "cubic#")] {
        let Some((child, _said)) = started(&arguments, ready) else { return };
        for _ in 0..24 {
            assert!(service.download().0 > 100_000);
        }
        sleep(TAIL);
        let (code, shown) = ended(child, "-INT");
        assert_eq!(code, Some(0), "{shown}");
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(["trial", "analyse", &file, "--json", "-"])
            .output()
            .expect("the command runs");
        let answer: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let arms = answer["arms"].as_array().expect("arms");
        let rows: u64 = arms.iter().filter_map(|arm| arm["rows"].as_u64()).sum();
        assert_eq!(rows, 24, "{answer}");
        let named = |one: &Value| one["arm"].as_str().is_some_and(|name| name.contains(arm));
        assert!(arms.iter().all(named), "{answer}");
        fs::remove_dir_all(&file).expect("a folder");
    }
}

#[test]
fn clients_have_the_same_names_in_a_watch_and_a_trial_that_keep_one_key() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, "rate=50Mbit,rtt=10ms,queue=20ms", 100_000) else {
        return;
    };
    let [key, before, rows, other] =
        ["key", "before.jsonl", "rows.jsonl", "other.jsonl"].map(|name| service.file(name));
    let cgroup = ["--cgroup", group.folder()];
    let watch = ["watch", "--arms", "hystart++,search", "--out", &before, "--keep-key", &key];
    let trial = ["trial", "start", "--arms", "kernel:cubic#a,kernel:cubic#b", "--rows"];
    let kept = [&trial[..], &[rows.as_str(), "--keep-key", &key]].concat();
    let apart = [&trial[..], &[other.as_str()]].concat();
    for (arguments, ready) in [(&watch[..], READY), (&kept, "trial of"), (&apart, "trial of")] {
        let Some((child, _said)) = started(&[arguments, &cgroup].concat(), ready) else { return };
        for _ in 0..6 {
            assert!(service.download().0 > 100_000);
        }
        sleep(TAIL);
        let (code, shown) = ended(child, "-INT");
        assert_eq!(code, Some(0), "{shown}");
    }
    let units = |file: &str| -> Vec<String> {
        let mut units: Vec<String> =
            rows_of(file).iter().filter_map(|row| Some(row["unit"].as_str()?.to_owned())).collect();
        assert_eq!(units.len(), 6, "{file}");
        units.sort_unstable();
        units.dedup();
        units
    };
    assert_eq!(units(&before), units(&rows), "one client, under one name");
    assert!(units(&before) != units(&other), "a key that nobody keeps gives another name");
    let text = fs::read_to_string(&key).expect("a key");
    for file in [&before, &rows] {
        let written = fs::read_to_string(file).expect("rows");
        assert!(!written.contains(text.trim()), "{file} has the key");
    }
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(["trial", "analyse", &rows, "--earlier", &before, "--json", "-"])
        .output()
        .expect("the command runs");
    let answer: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(answer["experiment"]["earlier"], before.as_str(), "{answer}");
}
