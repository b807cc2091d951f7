//! kill -9 at random moments, from the first instruction on, while connections come and go: whatever
//! is killed, nothing of it stays in the kernel, rows can be read, and the service goes on. Two
//! moments of each of seven commands; fifteen, more than a hundred together, with NIGHT=1.

use super::service::{Group, ONE, Service, assert_no_program, programs};
use serde_json::Value;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const PATH: &str = "rate=100Mbit,rtt=4ms,queue=20ms";

fn moments() -> usize {
    if std::env::var_os("NIGHT").is_some() { 15 } else { 2 }
}

/// By chance, below `most`; no test depends on which.
fn some(most: Duration) -> Duration {
    let drawn = RandomState::new().hash_one(0);
    most.mul_f64((drawn >> 11) as f64 / (1_u64 << 53) as f64)
}

/// The state of the machine that a killed program must leave as it was: congestion controllers, the
/// default one, pinned objects, named namespaces, and settings that wait to be put back.
#[derive(Debug, PartialEq)]
struct Machine {
    default: String,
    available: String,
    pinned: Vec<String>,
}

impl Machine {
    fn now() -> Machine {
        let of = |name: &str| {
            let file = format!("/proc/sys/net/ipv4/tcp_{name}congestion_control");
            fs::read_to_string(file).unwrap_or_default()
        };
        let folders = ["/sys/fs/bpf", "/run/netns", "/run/firstflight-undo"].map(fs::read_dir);
        let pinned = folders.into_iter().flatten().flatten().flatten();
        let mut pinned: Vec<String> =
            pinned.map(|entry| entry.path().display().to_string()).collect();
        pinned.sort();
        Machine { default: of(""), available: of("available_"), pinned }
    }

    /// The kernel takes an instant to free what nobody holds.
    fn assert_unchanged(&self, when: &str) {
        for name in ["leaves", "arrives", "connection"] {
            assert_no_program(name);
        }
        let patience = Instant::now() + Duration::from_secs(10);
        while *self != Machine::now() && Instant::now() < patience {
            sleep(Duration::from_millis(20));
        }
        assert_eq!(*self, Machine::now(), "killed {when}");
    }
}

/// Processes, but for ours, that have this word among their arguments.
fn processes(word: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |number: &u32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|argument| argument == word)
    };
    numbers.filter(has).collect()
}

fn kill(process: u32) {
    let status = Command::new("kill").args(["-KILL", &process.to_string()]).status();
    assert!(status.expect("kill").success());
}

fn spawn(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs")
}

/// All lines are whole, but for a last one that is cut by nothing we do; how many.
fn rows(file: &str) -> usize {
    let Ok(text) = fs::read_to_string(file) else { return 0 };
    let row = |line: &str| serde_json::from_str::<Value>(line).expect("a row, whole");
    assert!(text.is_empty() || text.ends_with('\n'), "{file} ends within a row");
    text.lines().map(row).filter(Value::is_object).count()
}

/// Time this command takes to start its programs on this machine now.
fn startup(arguments: &[&str]) -> Option<Duration> {
    let began = Instant::now();
    let mut child = spawn(arguments);
    let patience = Duration::from_secs(60);
    while programs("leaves") == 0 && began.elapsed() < patience {
        if child.try_wait().expect("ours").is_some() {
            println!("skipped: it is not permitted here, or the kernel does not list programs");
            return None;
        }
        sleep(Duration::from_millis(5));
    }
    let took = began.elapsed();
    let _ = child.kill();
    let _ = child.wait();
    assert_no_program("leaves");
    assert!(took < patience, "no program came");
    Some(took)
}

/// Connections come one after the other while `work` is done; none fails. How many there were.
fn among_downloads(service: &Service, work: impl FnOnce()) -> usize {
    let (over, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    scope(|scope| {
        let client = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                assert!(service.download().0 > 20_000, "the service goes on");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        // The client ends whether or not this panics.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        client.join().expect("no download fails");
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    count.into_inner()
}

#[test]
fn a_watch_or_a_trial_that_is_killed_at_any_moment_leaves_nothing_but_rows() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, PATH, 20_000) else { return };
    let before = Machine::now();
    let out = service.file("rows.jsonl");
    let watch = ["watch", "--arms", "slowstart,search", "--out", &out];
    let arms = "kernel:cubic,hystart++";
    let trial = ["trial", "start", "--arms", arms, "--unit", "connection", "--rows", &out];
    for command in [&watch[..], &trial[..]] {
        let arguments = [command, &["--cgroup", group.folder()]].concat();
        let Some(startup) = startup(&arguments) else { return };
        let mut written = 0;
        let downloads = among_downloads(&service, || {
            for moment in 0..moments() {
                // While it starts, and while it runs.
                let start = if moment % 2 == 0 { Duration::ZERO } else { startup };
                let after = start + some(startup.max(Duration::from_millis(500)));
                let mut child = spawn(&arguments);
                sleep(after);
                assert!(child.try_wait().expect("ours").is_none(), "{command:?} runs until then");
                child.kill().expect("ours");
                child.wait().expect("ours");
                before.assert_unchanged(&format!("{after:?} after its start: {command:?}"));
                written = rows(&out);
            }
        });
        println!("{}: {written} rows of {downloads} downloads", command[0]);
        assert!(written <= downloads, "{written} rows of {downloads} downloads");
        let _ = fs::remove_file(&out);
    }
}

#[test]
fn a_detached_trial_of_which_any_process_is_killed_leaves_nothing_after_trial_stop() {
    let _one = ONE.lock();
    let Some(group) = Group::make() else { return };
    let Some(service) = Service::start(&group, PATH, 20_000) else { return };
    let before = Machine::now();
    let place = |moment: usize| service.file(&format!("trial{moment}"));
    let start = ["trial", "start", "--cgroup", group.folder(), "--unit", "connection"];
    let start = [&start[..], &["--arms", "kernel:cubic,hystart++"]].concat();
    let probe = service.file("probe.jsonl");
    let Some(startup) = startup(&[&start[..], &["--rows", &probe]].concat()) else { return };
    among_downloads(&service, || {
        for moment in 0..moments() {
            let folder = place(moment);
            let mut parent = spawn(&[&start[..], &["--detach", "--out", &folder]].concat());
            if moment % 2 == 0 {
                // The starter is killed; the trial may have begun, and goes on.
                sleep(some(startup * 2));
                let _ = parent.kill();
                parent.wait().expect("ours");
                let state = format!("{folder}/trial.json");
                let patience = Instant::now() + Duration::from_secs(60);
                while !Path::new(&state).is_file() && !processes(&folder).is_empty() {
                    assert!(Instant::now() < patience, "the trial neither begins nor ends");
                    sleep(Duration::from_millis(20));
                }
                if !processes(&folder).is_empty() {
                    let stopped = spawn(&["trial", "stop", &folder]).wait().expect("it ends");
                    assert_eq!(stopped.code(), Some(0), "`trial stop` ends what goes on");
                }
            } else {
                assert!(parent.wait().expect("ours").success(), "it began");
                sleep(some(Duration::from_millis(500)));
                for process in processes(&folder) {
                    kill(process);
                }
            }
            let patience = Instant::now() + Duration::from_secs(10);
            while !processes(&folder).is_empty() && Instant::now() < patience {
                sleep(Duration::from_millis(20));
            }
            assert_eq!(processes(&folder), Vec::<u32>::new(), "a process is left");
            before.assert_unchanged("in the background");
            rows(&format!("{folder}/rows.jsonl"));
            if Path::new(&format!("{folder}/trial.json")).is_file() {
                let status = spawn(&["trial", "status", &folder]).wait().expect("it ends");
                assert_eq!(status.code(), Some(0), "the folder can be read");
            }
        }
    });
}

#[test]
fn a_link_or_an_arm_that_is_killed_at_any_moment_leaves_nothing() {
    let _one = ONE.lock();
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display().to_string();
    let out = format!("{place}/exits.csv");
    let before = Machine::now();
    // The folder's name marks the processes of a link.
    let link = ["link", "-q", "--", "sh", "-c", "setsid sleep 300 & wait", &place];
    let load = ["kernel", "load", "rapid"];
    let trace = ["kernel", "trace", "rapid", "--out", &out];
    let parts = || {
        let names = fs::read_dir(&place).expect("the folder").flatten();
        names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".part")).count()
    };
    for command in [&link[..], &load[..], &trace[..]] {
        let began = Instant::now();
        let mut child = spawn(command);
        let patience = Duration::from_secs(60);
        let is_there = || match command[0] {
            "link" => processes(&place).len() >= 3,
            _ => Machine::now().available.contains("ff_rapid"),
        };
        while !is_there() && began.elapsed() < patience {
            if child.try_wait().expect("ours").is_some() {
                return println!("skipped: {command:?} is not permitted here");
            }
            sleep(Duration::from_millis(5));
        }
        let startup = began.elapsed();
        assert!(startup < patience, "{command:?} does not begin");
        child.kill().expect("ours");
        child.wait().expect("ours");
        for moment in 0..moments() {
            let start = if moment % 2 == 0 { Duration::ZERO } else { startup };
            let after = start + some(startup.max(Duration::from_millis(100)));
            let mut child = spawn(command);
            sleep(after);
            // Remains of an earlier run are gone once this one writes.
            let parts = parts();
            assert!(child.try_wait().expect("ours").is_none(), "{command:?} runs until then");
            child.kill().expect("ours");
            child.wait().expect("ours");
            assert!(parts <= 2, "{parts} files are under way");
            let patience = Instant::now() + Duration::from_secs(10);
            while !processes(&place).is_empty() && Instant::now() < patience {
                sleep(Duration::from_millis(20));
            }
            assert_eq!(processes(&place), Vec::<u32>::new(), "a process is left");
            before.assert_unchanged(&format!("{after:?} after its start: {command:?}"));
        }
    }
    // The next command that writes into the folder removes what was left.
    let answer = format!("{place}/answer.json");
    let next = spawn(&["compare", "--bytes", "10kB", "--json", &answer]).wait().expect("it ends");
    assert!(next.success() && parts() == 0, "{} files are left half-written", parts());
    assert!(!Path::new(&out).exists(), "no report is whole");
}

#[cfg(feature = "quic")]
#[test]
fn a_quic_server_with_a_trial_that_is_killed_leaves_whole_rows_and_its_port() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("rows.jsonl").display().to_string();
    // Port 0 once: all servers after it have to get the same.
    let mut listen = "127.0.0.1:0".to_owned();
    let mut written = 0;
    for moment in 0..moments() {
        let mut child = Command::new(env!("CARGO_BIN_EXE_firstflight"))
            .args(["serve", "--trial", "slowstart,rapid", "--unit", "connection", "--rows", &out])
            .args(["--listen", &listen])
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        said.read_line(&mut line).expect("a line");
        let url = line.split_whitespace().nth(1).unwrap_or_else(|| panic!("{moment}: {line}"));
        let at = url.split('/').nth(2).expect("an address").to_owned();
        let object = format!("https://{at}/bytes/300kB");
        let fetch = ["fetch", "--insecure", "--idle", "1", "--limit", "5s"];
        let fetch = [&fetch[..], &[object.as_str(); 20][..]].concat();
        let mut client = spawn(&fetch);
        sleep(some(Duration::from_millis(800)));
        child.kill().expect("ours");
        child.wait().expect("ours");
        let _ = client.kill();
        client.wait().expect("ours");
        let now = rows(&out);
        assert!((written..=written + 20).contains(&now), "{now} rows after {written}");
        written = now;
        assert_eq!(processes(&out), Vec::<u32>::new(), "a process is left");
        listen = at;
    }
    println!("serve: {written} rows");
}
