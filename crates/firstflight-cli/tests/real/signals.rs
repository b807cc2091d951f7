//! A table of commands and signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT are one request to end, which
//! every long command takes in the same way. With NIGHT=1 every command meets every signal at several
//! moments.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SIGNALS: [(&str, i32); 4] = [("INT", 2), ("TERM", 15), ("HUP", 1), ("QUIT", 3)];
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that takes longer than any test, and what it says of the first signal.
struct Long {
    arguments: &'static [&'static str],
    words: &'static str,
    /// It has something to show for what ran; a server has not.
    partial: bool,
}

const fn computes(arguments: &'static [&'static str], words: &'static str) -> Long {
    Long { arguments, words, partial: true }
}

/// Points enough that the first are through when the signal comes, and the last are not.
const SWEPT: &str = "rtt=10ms,13ms,16ms,19ms,22ms,25ms,28ms,31ms,34ms,37ms,40ms,43ms,46ms,49ms,52ms,55ms,58ms,61ms,64ms,67ms,70ms,73ms,76ms,79ms,82ms,85ms,88ms,91ms,94ms,97ms,100ms,103ms,106ms,109ms,112ms,115ms,118ms,121ms,124ms,127ms,130ms,133ms,136ms,139ms,142ms,145ms,148ms,151ms,154ms,157ms,160ms,163ms,166ms,169ms,172ms,175ms,178ms,181ms,184ms,187ms,190ms,193ms,196ms,199ms,202ms,205ms,208ms,211ms,214ms,217ms,220ms,223ms,226ms,229ms,232ms,235ms,238ms,241ms,244ms,247ms";

const LONG: &[Long] = &[
    computes(
        &[
            "ab", "--flows", "90000000", "--arms", "rapid", "--json", "out.json", "--out",
            "rows.csv",
        ],
        "stopping with the results so far",
    ),
    computes(
        &[
            "compare",
            "--bytes",
            "1MB",
            "--repeat",
            "100000",
            "--arms",
            "slowstart,rapid",
            "--json",
            "out.json",
        ],
        "stopping after the running trials",
    ),
    computes(
        &[
            "compare", "--flows", "2", "--bytes", "1MB", "--repeat", "100000", "--arms", "rapid",
            "--json", "out.json",
        ],
        "stopping after the running trials",
    ),
    computes(
        &[
            "compare", "--bytes", "10MB", "--sweep", SWEPT, "--repeat", "40", "--arms", "rapid",
            "--json", "out.json",
        ],
        "stopping with the results so far",
    ),
    computes(
        &[
            "advise",
            "trace.sqlog",
            "trace.sqlog",
            "trace.sqlog",
            "trace.sqlog",
            "trace.sqlog",
            "--flows",
            "90000000",
            "--arms",
            "rapid",
            "--json",
            "out.json",
        ],
        "stopping with the results so far",
    ),
    computes(&["evaluate", "rapid", "--json", "out.json"], "stopping with the results so far"),
    #[cfg(feature = "quic")]
    Long {
        arguments: &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--trial",
            "slowstart,rapid",
            "--unit",
            "connection",
            "--rows",
            "rows.jsonl",
        ],
        words: "shutting down, waiting for responses in progress",
        partial: false,
    },
    #[cfg(target_os = "linux")]
    Long {
        arguments: &["link", "--udp", "127.0.0.1:0", "--to", "127.0.0.1:9"],
        words: "stopping the relay",
        partial: false,
    },
];

/// One that ends at once, with nothing to show.
const SHORT: &[&[&str]] = &[&["replay", "-"], &["trial", "analyse", "-"]];

struct Running {
    child: Child,
    folder: tempfile::TempDir,
}

/// Processor time of its own code so far, in the kernel's ticks of 10 ms.
fn computed(child: &Child) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = words.get(12).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(ticks * 10)
}

impl Running {
    /// Starts it in a folder of its own, and waits until it computes or listens.
    fn start(wrapper: &[&str], arguments: &[&str]) -> Running {
        let folder = tempfile::tempdir().expect("a folder");
        if arguments.contains(&"trace.sqlog") {
            let make =
                ["compare", "--arms", "slowstart", "--bytes", "2MB", "--trace", "trace.sqlog"];
            let made = Command::new(env!("CARGO_BIN_EXE_firstflight"))
                .args(make)
                .current_dir(folder.path())
                .output()
                .expect("it runs");
            assert!(made.status.success(), "{made:?}");
        }
        let program = env!("CARGO_BIN_EXE_firstflight");
        let words: Vec<&str> = wrapper.iter().chain([&program]).chain(arguments).copied().collect();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let began = Instant::now();
        // A server sleeps, and so does a reader of standard input.
        let waits = !LONG.iter().any(|long| long.partial && long.arguments == arguments);
        // It waits for signals from its first instants on; then it has to get somewhere.
        while began.elapsed() < PATIENCE {
            assert!(child.try_wait().expect("ours").is_none(), "it ended: {arguments:?}");
            // Commands that read inputs first have read them by then.
            let computes = computed(&child) >= Duration::from_secs(2);
            if computes || (waits && began.elapsed() > Duration::from_secs(3)) {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        Running { child, folder }
    }

    fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &process]).status().expect("kill");
        assert!(sent.success());
    }

    /// Waits until the process exits. `when` names the command and the signal for the panic message.
    fn end(mut self, when: &str) -> (Output, tempfile::TempDir) {
        let (began, before) = (Instant::now(), computed(&self.child));
        while self.child.try_wait().expect("ours").is_none() {
            // On a busy machine it gets little of a processor: then real time tells nothing.
            let worked = computed(&self.child).saturating_sub(before);
            if began.elapsed() > PATIENCE && (worked > PATIENCE || began.elapsed() > PATIENCE * 10)
            {
                let _ = self.child.kill();
                panic!("it does not end: {when}");
            }
            sleep(Duration::from_millis(10));
        }
        (self.child.wait_with_output().expect("its output"), self.folder)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Nothing is left under a name that is not final.
fn assert_clean(folder: &Path, when: &str) {
    let names = fs::read_dir(folder).expect("a folder").flatten();
    let names: Vec<String> =
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().all(|name| !name.starts_with('.')), "{when}: {names:?}");
}

fn killed_by(status: ExitStatus, number: i32) -> bool {
    // One that was ignored by whoever started the tests cannot end anybody by itself.
    status.signal() == Some(number) || status.code() == Some(128 + number)
}

fn night() -> bool {
    std::env::var_os("NIGHT").is_some()
}

/// Each command with the signals that it meets: one of the four by its place in the table, or all.
fn pairs() -> Vec<(&'static Long, (&'static str, i32))> {
    let all = LONG.iter().enumerate().flat_map(|(place, long)| {
        SIGNALS.iter().enumerate().map(move |(number, signal)| (place, number, long, *signal))
    });
    all.filter(|(place, number, ..)| night() || (place + 1) % 4 == *number)
        .map(|(_, _, long, signal)| (long, signal))
        .collect()
}

#[test]
fn the_first_signal_ends_a_long_command_with_what_it_has() {
    for (long, (name, _)) in pairs() {
        let when = format!("{} by SIG{name}", long.arguments.join(" "));
        let running = Running::start(&[], long.arguments);
        running.signal(name);
        let (output, folder) = running.end(&when);
        let said = text(&output.stderr);
        assert!(
            said.contains(&format!("{}; press Ctrl-C again to stop now", long.words)),
            "{when}: {said}"
        );
        assert_clean(folder.path(), &when);
        if !long.partial {
            assert_eq!(output.status.code(), Some(0), "{when}: {said}");
            continue;
        }
        assert_eq!(output.status.code(), Some(1), "{when}: {said}");
        let json = fs::read_to_string(folder.path().join("out.json"));
        let json = json.unwrap_or_else(|_| panic!("{when}: a partial result: {said}"));
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
        assert!(!output.stdout.is_empty(), "{when}: and a table");
    }
}

#[test]
fn the_second_signal_ends_a_command_at_once_and_leaves_nothing() {
    // Trials of minutes: the first signal alone would wait for them.
    let slow: &[&str] = &[
        "compare",
        "--path",
        "rate=100Gbit,rtt=100ms,queue=100ms",
        "--bytes",
        "200GB",
        "--limit",
        "3600s",
        "--arms",
        "slowstart",
        "--trace",
        "t.csv",
    ];
    for (name, number) in SIGNALS.iter().take(if night() { 4 } else { 2 }) {
        let running = Running::start(&[], slow);
        running.signal("INT");
        sleep(Duration::from_millis(200));
        running.signal(name);
        let began = Instant::now();
        let (output, folder) = running.end(name);
        let said = text(&output.stderr);
        assert!(killed_by(output.status, *number), "SIG{name}: {:?} {said}", output.status);
        assert!(began.elapsed() < Duration::from_secs(20), "at once");
        assert!(said.contains("press Ctrl-C again to stop now"), "{said}");
        assert_clean(folder.path(), name);
    }
}

#[test]
fn one_signal_ends_a_command_that_has_nothing_to_show() {
    for (place, arguments) in SHORT.iter().enumerate() {
        let (name, number) = SIGNALS[place % SIGNALS.len()];
        let running = Running::start(&[], arguments);
        running.signal(name);
        let (output, folder) = running.end(&arguments.join(" "));
        assert!(killed_by(output.status, number), "{arguments:?}: {:?}", output.status);
        assert_clean(folder.path(), name);
    }
}

/// `nohup` and its like: what is ignored at the start stays ignored.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    for signal in ["HUP", "QUIT"] {
        let script = format!("trap '' {signal}; exec \"$@\"");
        for long in LONG.iter().filter(|long| night() || !long.partial) {
            let running = Running::start(&["sh", "-c", &script, "sh"], long.arguments);
            running.signal(signal);
            sleep(Duration::from_millis(200));
            running.signal("TERM");
            let when = format!("{} without SIG{signal}", long.arguments.join(" "));
            let (output, folder) = running.end(&when);
            // Had it counted, SIGTERM had been the second.
            let code = i32::from(long.partial);
            assert_eq!(output.status.code(), Some(code), "{when}: {}", text(&output.stderr));
            assert_clean(folder.path(), &when);
        }
    }
}

/// The next command that writes into the folder removes the remains of kill -9.
#[test]
fn what_a_killed_command_left_is_gone_after_the_next_one() {
    let arguments = &["ab", "--flows", "90000000", "--arms", "rapid", "--out", "rows.csv"];
    let running = Running::start(&[], arguments);
    running.signal("KILL");
    let (output, folder) = running.end("kill -9");
    assert_eq!(output.status.signal(), Some(9));
    let left = || fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left(), 1, "{arguments:?}: what was being written");
    let next = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(["compare", "--bytes", "100kB", "--arms", "slowstart", "--json", "other.json"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert!(next.status.success(), "{next:?}");
    assert_clean(folder.path(), "after the next");
    assert_eq!(left(), 1, "other.json");
}
