//! `firstflight link`: exit codes, and that nothing is left however it ends. Needs root; says what
//! is missing and passes where that is not given.
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn firstflight(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
    command.arg("link").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    firstflight(arguments).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether links can be made here; says why not.
fn privileged() -> bool {
    let output = run(&["-q", "--", "true"]);
    if !output.status.success() {
        println!("skipped: {}", text(&output.stderr).trim());
    }
    output.status.success()
}

/// A link around a shell that starts a process in the background, prints its number, and waits.
/// Returns the number.
fn long_job() -> (Child, u32) {
    let mut child = firstflight(&["-q", "--", "sh", "-c", "sleep 300 & echo $!; wait"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    (child, line.trim().parse().expect("the number of a process"))
}

fn lives(process: u32) -> bool {
    // A process that has ended but was not yet waited for is dead.
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

fn assert_dies(process: u32) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while lives(process) && Instant::now() < deadline {
        sleep(Duration::from_millis(5));
    }
    assert!(!lives(process), "process {process} outlives the link");
}

fn signal(child: &Child, signal: &str) {
    assert!(
        Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .expect("kill")
            .success()
    );
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    if !privileged() {
        return;
    }
    assert_eq!(run(&["-q", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(
        run(&["-q", "--", "sh", "-c", "kill -TERM $$"]).status.code(),
        Some(128 + 15),
        "a signal counts as in a shell"
    );
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    for arguments in [
        &["--path", "rate=0", "--", "true"][..],
        &["--mtu", "10", "--", "true"],
        &["--path", "geo"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(
            text(&output.stderr).lines().count(),
            1,
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
    if privileged() {
        let output = run(&["--", "/no/such/program"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output.stderr).contains("/no/such/program"),
            "the line names it: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_download_passes_the_link_in_its_forward_direction() {
    if !privileged() {
        return;
    }
    if !Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return println!("skipped: no python3 here to serve and to download");
    }
    let server = "import socket,os; s=socket.socket(); s.bind((os.environ['FIRSTFLIGHT_LOCAL'],7000)); s.listen(); \
                  c,_=s.accept(); c.sendall(b'x'*500000); c.close()";
    let client = "import socket,os; s=socket.create_connection((os.environ['FIRSTFLIGHT_PEER'],7000)); n=0\n\
                  while True:\n d=s.recv(65536)\n if not d: break\n n+=len(d)\nprint(n)";
    let server = format!("exec python3 -c \"{server}\"");
    let output = run(&[
        "--path",
        "rate=50Mbit,rtt=10ms",
        "--server",
        &server,
        "--",
        "python3",
        "-c",
        client,
    ]);
    assert_eq!(text(&output.stdout).trim(), "500000", "{}", text(&output.stderr));
    let report = text(&output.stderr);
    let forward = report
        .lines()
        .find(|line| line.starts_with("forward"))
        .expect("a line about the forward direction");
    let packets: u32 =
        forward.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a count");
    assert!(packets >= 345, "500 kB are at least 345 segments: {forward}");
}

#[test]
fn a_link_told_to_end_takes_everything_it_started_along() {
    if !privileged() {
        return;
    }
    for (sign, code) in [("-TERM", 128 + 15), ("-INT", 128 + 2), ("-HUP", 128 + 1)] {
        let (mut child, background) = long_job();
        assert!(lives(background));
        signal(&child, sign);
        let status = child.wait().expect("it ends");
        assert!(!lives(background), "{sign}: process {background} outlives the link");
        // If this test itself runs with the signal ignored (under nohup, say), the command
        // ignores it too and is killed in the end.
        assert!(
            status.code().is_some_and(|seen| seen == code || seen == 128 + 9),
            "{sign}: {status:?}"
        );
    }
}

#[test]
fn a_link_killed_outright_leaves_no_process() {
    if !privileged() {
        return;
    }
    let (mut child, background) = long_job();
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    assert_dies(background);
}

/// A shell that starts a process in a session of its own, which no signal to its group reaches, and
/// prints its number.
const DAEMON: &str = "setsid sleep 300 < /dev/null > /dev/null 2>&1 & echo $!";

/// A link around a shell with a daemon, that waits: the link, the daemon and the link's reaper.
fn job_with_daemon() -> (Child, u32, u32) {
    let mut child = firstflight(&["-q", "--", "sh", "-c", &format!("{DAEMON}; sleep 300")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let daemon: u32 = line.trim().parse().expect("the number of a process");
    // It has left the group once its session is its own.
    let session = || {
        Some(
            fs::read_to_string(format!("/proc/{daemon}/stat"))
                .ok()?
                .rsplit(')')
                .next()?
                .split_whitespace()
                .nth(3)?
                .to_owned(),
        )
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while session() != Some(daemon.to_string()) && Instant::now() < deadline {
        sleep(Duration::from_millis(1));
    }
    assert_eq!(session(), Some(daemon.to_string()), "a session of its own");
    // The reaper is the child that leads a session and is still our program.
    let children = fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ours = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let parent = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        let program = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
        parent == Some(child.id()) && program.ends_with("firstflight")
    };
    let reaper = children.into_iter().find(ours).expect("a reaper");
    (child, daemon, reaper)
}

#[test]
fn what_has_left_the_session_dies_with_the_link() {
    if !privileged() {
        return;
    }
    let ended = run(&["-q", "--", "sh", "-c", DAEMON]);
    let daemon: u32 = text(&ended.stdout).trim().parse().expect("the number of a process");
    assert!(
        ended.status.success() && !lives(daemon),
        "process {daemon} outlives the link that ended"
    );
    for sign in ["-TERM", "-KILL"] {
        let (mut child, daemon, _) = job_with_daemon();
        signal(&child, sign);
        child.wait().expect("it ends");
        assert_dies(daemon);
    }
}

#[test]
fn a_link_whose_reaper_is_killed_ends_and_says_so() {
    if !privileged() {
        return;
    }
    let kill = |process: u32| {
        assert!(
            Command::new("kill")
                .args(["-KILL", &process.to_string()])
                .status()
                .expect("kill")
                .success()
        );
    };
    let (child, daemon, reaper) = job_with_daemon();
    kill(reaper);
    let output = child.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("reaper"), "{said}");
    assert!(!lives(daemon), "process {daemon} outlives the link");
    // The other order: the reaper does its work first.
    let (mut child, daemon, reaper) = job_with_daemon();
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    assert_dies(daemon);
    assert_dies(reaper);
}

#[test]
fn a_killed_command_ends_the_link() {
    if !privileged() {
        return;
    }
    let output = run(&["-q", "--", "sh", "-c", "sleep 300 & kill -KILL $$"]);
    assert_eq!(output.status.code(), Some(128 + 9));
}
