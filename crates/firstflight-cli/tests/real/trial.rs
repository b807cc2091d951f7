//! `firstflight trial start` on a real web server and real TCP behind an emulated link.

use super::service::{Group, ONE, Service, assert_no_program, ended, programs, started};
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

const READY: &str = "trial of";

fn trial(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
    command.arg("trial").args(arguments).output().expect("the command runs")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

fn rows_of(folder: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("{folder}/rows.jsonl")).expect("rows");
    text.lines().map(|line| serde_json::from_str(line).expect("a row, whole")).collect()
}

fn wait_for_rows(folder: &str, least: usize) {
    let patience = Instant::now() + Duration::from_secs(10);
    while rows_of(folder).len() < least {
        assert!(Instant::now() < patience, "{} rows of {least}", rows_of(folder).len());
        sleep(Duration::from_millis(50));
    }
}

fn state_of(folder: &str) -> Value {
    let text = fs::read_to_string(format!("{folder}/trial.json")).expect("a state");
    serde_json::from_str(&text).expect("JSON")
}

/// A look wants connections that are a minute old: the end moves instead of the clock.
pub(crate) fn age(folder: &str) {
    let mut state = state_of(folder);
    state["ended_s"] = (state["ended_s"].as_u64().expect("ended") + 120).into();
    fs::write(format!("{folder}/trial.json"), state.to_string()).expect("written");
}

/// Without permission it says so, and the test passes.
fn not_permitted(output: &Output) -> bool {
    let skipped = !output.status.success() && said(output).contains("not permitted");
    if skipped {
        println!("skipped: {}", said(output).trim());
    }
    skipped
}

const PATH: &str = "rate=100Mbit,rtt=4ms,queue=20ms";

#[test]
fn a_detached_trial_is_steered_by_its_folder_and_leaves_rows_when_it_is_killed() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, PATH, 20_000) else { return };
    let folder = service.file("trial");
    let arms = "kernel:cubic,kernel:reno=10%";
    let start =
        ["start", "--cgroup", group.folder(), "--arms", arms, "--unit", "connection", "--detach"];
    let output = trial(&[&start[..], &["--out", &folder]].concat());
    if not_permitted(&output) {
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let again = trial(&[&start[..], &["--out", &folder]].concat());
    assert_eq!(again.status.code(), Some(2), "one trial in a folder: {}", said(&again));
    let other = trial(&[&start[..], &["--out", &service.file("other")]].concat());
    assert_eq!(other.status.code(), Some(2), "one trial on a service: {}", said(&other));
    assert!(said(&other).contains("another trial"), "{}", said(&other));
    service.downloads(20);
    wait_for_rows(&folder, 20);
    let refused = trial(&["shares", &folder, "kernel:cubic,kernel:bbr=10%"]);
    assert_eq!(refused.status.code(), Some(2), "other arms: {}", said(&refused));
    assert_eq!(said(&refused).lines().count(), 1, "{}", said(&refused));
    let changed = trial(&["shares", &folder, "kernel:cubic,kernel:reno=50%"]);
    assert!(changed.status.success(), "{}", said(&changed));
    service.downloads(20);
    wait_for_rows(&folder, 40);
    let rows = rows_of(&folder);
    let of = |epoch: u64, arm: &str| {
        rows.iter().filter(|row| row["epoch"] == epoch && row["arm"] == arm).count()
    };
    assert_eq!(of(0, "kernel:cubic") + of(0, "kernel:reno"), 20, "{rows:?}");
    assert_eq!(of(1, "kernel:cubic") + of(1, "kernel:reno"), 20, "{rows:?}");
    // 20 of 1 to 1: fewer than 3 in 1 of 5000 tests; none of it in the first epoch in 1 of 8.
    assert!(of(1, "kernel:reno") >= 3, "the share grew: {}", of(1, "kernel:reno"));
    let status = trial(&["status", &folder]);
    assert!(status.status.success(), "{}", said(&status));
    assert!(said(&status).contains("running") && said(&status).contains("epoch 1"), "{status:?}");
    let process = state_of(&folder)["process"].to_string();
    let listed = programs("leaves") > 0;
    assert!(Command::new("kill").args(["-KILL", &process]).status().expect("kill").success());
    if listed {
        assert_no_program("leaves");
        assert_no_program("arrives");
    }
    let patience = Instant::now() + Duration::from_secs(5);
    while !said(&trial(&["status", &folder])).contains("was killed") {
        assert!(Instant::now() < patience, "{}", said(&trial(&["status", &folder])));
    }
    assert_eq!(rows_of(&folder).len(), 40, "rows survive");
    assert!(service.download().0 > 20_000, "the service goes on");
    let none = trial(&["stop", &folder]);
    assert_eq!(none.status.code(), Some(2), "{}", said(&none));
}

#[test]
fn what_is_open_at_the_end_has_a_row_and_counters_are_for_prometheus() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, PATH, 20_000) else { return };
    let folder = service.file("trial");
    let mut arguments = vec!["trial", "start", "--cgroup", group.folder(), "--out", &folder];
    arguments.extend(["--arms", "kernel:cubic,kernel:reno", "--unit", "connection"]);
    let Some((child, _said)) = started(&arguments, READY) else { return };
    service.downloads(6);
    wait_for_rows(&folder, 6);
    let open = service.connect();
    sleep(Duration::from_millis(300));
    let (code, _) = ended(child, "-INT");
    assert_eq!(code, Some(0));
    drop(open);
    let rows = rows_of(&folder);
    assert_eq!(rows.len(), 7, "{rows:?}");
    let censored: Vec<&Value> = rows.iter().filter(|row| row["censored"] == true).collect();
    assert_eq!(censored.len(), 1, "{rows:?}");
    assert_eq!(censored[0]["ended"], "open", "{rows:?}");
    let state = state_of(&folder);
    assert_eq!((&state["state"], &state["open"]), (&"ended".into(), &1.into()), "{state}");
    assert!(state["maturity_s"].as_u64().is_some_and(|seconds| seconds >= 60), "{state}");
    let metrics = fs::read_to_string(format!("{folder}/metrics.prom")).expect("counters");
    for name in ["drawn_total{arm=\"kernel:cubic\"}", "rows_total{arm=\"kernel:reno\"}", "open 1"] {
        assert!(metrics.contains(&format!("firstflight_trial_{name}")), "{name}: {metrics}");
    }
    let number = |of: &Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key}: {of}"));
    let oldest = rows.iter().map(|row| number(row, "start_s")).min().expect("rows");
    // On a busy machine some are.
    if oldest + number(&state, "maturity_s") > number(&state, "ended_s") {
        let young = trial(&["report", &folder]);
        assert_eq!(young.status.code(), Some(1), "nothing is a minute old: {}", said(&young));
    }
    // No address of either end in any file of the folder.
    for entry in fs::read_dir(&folder).expect("the folder") {
        let file = entry.expect("a file").path();
        let text = fs::read_to_string(&file).expect("text");
        for address in service.addresses() {
            assert!(!text.contains(&address), "{} has {address}", file.display());
        }
    }
}

#[test]
fn an_arm_made_worse_on_purpose_ends_the_trial() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    // Slow start fills a short queue and loses; HyStart leaves before.
    let path = "rate=50Mbit,rtt=30ms,queue=15ms";
    let Some(service) = Service::start(&group, path, 800_000) else { return };
    let folder = service.file("trial");
    let mut arguments = vec!["trial", "start", "--cgroup", group.folder(), "--out", &folder];
    arguments.extend(["--arms", "kernel:cubic,kernel:cubic(hystart=off)", "--stop-hard", "2x"]);
    arguments.extend(["--unit", "connection"]);
    let Some((mut child, _said)) = started(&arguments, READY) else { return };
    let mut downloads = 0;
    while child.try_wait().expect("ours").is_none() && downloads < 1000 {
        service.download();
        downloads += 1;
    }
    let state = state_of(&folder);
    if downloads == 1000 {
        let _ = child.kill();
    }
    let code = child.wait().expect("it ends").code();
    assert_eq!(code, Some(3), "after {downloads} downloads: {state}");
    assert_eq!(state["state"], "stopped by a rule", "{state}");
    assert!(state["why"].as_str().is_some_and(|why| why.contains("--stop-hard")), "{state}");
    let status = trial(&["status", &folder]);
    assert_eq!(status.status.code(), Some(3), "{}", said(&status));
}

/// Rows of one arm that somebody loses on purpose are noticed: by the counters of the program that
/// draws, and, where only the rows are left, by the shares.
#[test]
fn rows_of_one_arm_that_are_dropped_on_purpose_withhold_the_verdict() {
    const DOWNLOADS: usize = 240;
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, PATH, 20_000) else { return };
    let folder = service.file("trial");
    let mut arguments = vec!["trial", "start", "--cgroup", group.folder(), "--out", &folder];
    arguments.extend(["--arms", "kernel:cubic,kernel:reno", "--unit", "connection"]);
    let Some((child, _said)) = started(&arguments, READY) else { return };
    service.downloads(DOWNLOADS);
    wait_for_rows(&folder, DOWNLOADS);
    assert_eq!(ended(child, "-INT").0, Some(0));
    age(&folder);
    let whole = trial(&["report", &folder, "--json", "-"]);
    assert_eq!(whole.status.code(), Some(0), "{}", said(&whole));
    let told: Value = serde_json::from_slice(&whole.stdout).expect("JSON");
    assert_eq!(
        (&told["withheld"], &told["sample_ratio"]["mismatch"]),
        (&Value::Null, &false.into())
    );

    // Of reno a sixth is gone, too few for the shares to tell; then nine tenths.
    let rows = format!("{folder}/rows.jsonl");
    let text = fs::read_to_string(&rows).expect("rows");
    let without = |keep: fn(usize) -> bool| {
        let mut of_reno = 0;
        let kept = text.lines().filter(|line| {
            let reno = line.contains("kernel:reno");
            of_reno += usize::from(reno);
            !reno || keep(of_reno)
        });
        kept.fold(String::new(), |text, line| text + line + "\n")
    };
    let shares = ["--baseline", "kernel:cubic", "--shares", "kernel:cubic=50%,kernel:reno=50%"];
    for (rest, by_shares) in
        [(without(|nth| nth % 6 != 0), false), (without(|nth| nth % 10 == 0), true)]
    {
        fs::write(&rows, rest).expect("written");
        let report = trial(&["report", &folder, "--json", "-"]);
        assert_eq!(report.status.code(), Some(1), "{}", said(&report));
        let told: Value = serde_json::from_slice(&report.stdout).expect("JSON");
        let why = told["withheld"].as_str().expect("no verdict");
        assert!(why.contains("kernel:reno lacks") && !why.contains("cubic lacks"), "{why}");
        assert!(told["finding"].as_str().is_some_and(|text| text.starts_with("No verdict: ")));
        let status = said(&trial(&["status", &folder]));
        assert!(status.contains("kernel:reno lacks"), "{status}");
        let analysed = trial(&[&["analyse", &rows, "--json", "-"][..], &shares].concat());
        let told: Value = serde_json::from_slice(&analysed.stdout).expect("JSON");
        assert_eq!(told["sample_ratio"]["mismatch"], by_shares, "{}", told["sample_ratio"]);
        assert_eq!(analysed.status.code(), Some(i32::from(by_shares)), "{}", said(&analysed));
    }
}

/// Whatever number stands in a state, and whoever locks the folder, nobody else gets a signal. Needs
/// no privilege.
#[test]
fn to_stop_a_trial_signals_nobody_but_the_process_that_runs_it() {
    use firstflight_linux::lock::{Lock, started};
    let folder = tempfile::tempdir().expect("a folder");
    let mut bystander = Command::new("sleep").arg("60").spawn().expect("a process");
    let number = u64::from(bystander.id());
    let start = started(bystander.id()).expect("it runs");
    let _locked = Lock::take(folder.path()).expect("no failure").expect("nobody has it");
    let place = folder.path().display().to_string();
    for process in [number, 1, 0, u64::from(u32::MAX), 1 << 31, u64::MAX] {
        // With a lock of somebody else, as anybody who may write into the folder has it.
        for held in [false, true] {
            let state = serde_json::json!({
                "process": process, "process_start": start, "state": "running", "baseline": "a",
                "shares": "a,b", "epoch": 0, "arms": [], "maturity_s": 60,
            });
            fs::write(folder.path().join("trial.json"), state.to_string()).expect("written");
            let lock = folder.path().join("lock");
            let held = held.then(|| firstflight_linux::lock::Held::take(&lock).expect("a lock"));
            let stop = trial(&["stop", &place]);
            assert_eq!(stop.status.code(), Some(2), "{process}: {}", said(&stop));
            assert_eq!(said(&stop).lines().count(), 1, "{}", said(&stop));
            assert!(bystander.try_wait().expect("ours").is_none(), "{process}: got a signal");
            drop(held);
        }
    }
    bystander.kill().expect("ours");
    bystander.wait().expect("ours");
}

#[test]
fn a_detached_trial_holds_nothing_of_who_started_it_and_its_state_is_its_owners() {
    use std::os::unix::fs::MetadataExt;
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, PATH, 20_000) else { return };
    let folder = service.file("trial");
    let lock = service.file("cron.lock");
    // As a job of cron has it; `$( ... )` reads until nobody holds its pipe.
    let script = "exec 9>\"$4\"; flock 9; said=$(\"$1\" trial start --cgroup \"$2\" --arms kernel:cubic,kernel:reno --out \"$3\" --detach 2>&1) || { echo \"$said\"; exit 4; }; exec 9>&-; flock -n \"$4\" true && echo free";
    let output = Command::new("sh")
        .args([
            "-c",
            script,
            "sh",
            env!("CARGO_BIN_EXE_firstflight"),
            group.folder(),
            &folder,
            &lock,
        ])
        .output()
        .expect("a shell");
    if said(&output).contains("not permitted") {
        println!("skipped: {}", said(&output).trim());
        return;
    }
    let words = said(&output);
    let mode = |name: &str| fs::metadata(format!("{folder}/{name}")).expect("there").mode() & 0o777;
    let modes = ["trial.json", "lock", "open.jsonl"].map(mode);
    let stop = trial(&["stop", &folder]);
    assert!(stop.status.success(), "{}", said(&stop));
    assert_eq!(words.trim(), "free", "the lock of whoever started it");
    assert_eq!(modes, [0o600; 3]);
}

#[test]
fn a_trial_on_a_full_disk_goes_on_says_so_and_recovers() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, PATH, 20_000) else { return };
    let folder = service.file("trial");
    let script = "ulimit -S -f 12; exec \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_firstflight"), "trial", "start"])
        .args(["--cgroup", group.folder(), "--arms", "kernel:cubic,kernel:reno"])
        .args(["--unit", "connection", "--out", &folder])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    let stderr = child.stderr.take().expect("piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    let mut wait_for = |words: &str| {
        let began = Instant::now();
        loop {
            let line = lines.next().map_or_else(String::new, |line| line.expect("text"));
            if line.contains(words) || line.contains("not permitted") {
                return line;
            }
            assert!(!line.is_empty() && began.elapsed() < Duration::from_secs(30), "no `{words}`");
        }
    };
    if wait_for(READY).contains("not permitted") {
        println!("skipped: not permitted");
        child.wait().expect("it has ended");
        return;
    }
    service.downloads(40);
    let line = wait_for("not yet written");
    assert!(line.contains("rows.jsonl: ") && line.contains("File too large"), "{line}");
    let raised = Command::new("prlimit")
        .args(["--fsize=unlimited:unlimited", "--pid", &child.id().to_string()])
        .status();
    if raised.is_ok_and(|status| status.success()) {
        wait_for("rows can be written again; none was lost");
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().expect("kill").success());
    let code = child.wait().expect("ours").code();
    assert_eq!((code, rows_of(&folder).len()), (Some(0), 40), "every row once");
    let state = state_of(&folder);
    assert_eq!((&state["state"], &state["rows_lost"]), (&"ended".into(), &0.into()), "{state}");
}
