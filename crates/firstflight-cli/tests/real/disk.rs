//! A table of commands and full disks: an output is whole or not there, and a command whose rows find
//! no room goes on, says so, and writes them when there is room again. A limit on the size of files
//! stands for the disk: it needs no privilege.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs in a folder where no file may be larger than so many blocks of 512 bytes.
fn limited(folder: &Path, blocks: u32, arguments: &[&str]) -> Output {
    let script = format!("ulimit -f {blocks}; exec \"$@\"");
    Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_firstflight")])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("it runs")
}

fn inside(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Outputs of each command, one file each; `in.json` and `in.jsonl` are there.
const WRITERS: &[&[&str]] = &[
    &["compare", "--bytes", "100kB", "--arms", "rapid", "--json", "out"],
    &["compare", "--bytes", "100kB", "--arms", "rapid", "--report", "out.html"],
    &["compare", "--bytes", "100kB", "--arms", "rapid", "--trace", "out.csv"],
    &["compare", "--bytes", "100kB", "--arms", "rapid", "--trace", "out.qlog"],
    &["compare", "--bytes", "100kB", "--arms", "rapid", "--flows", "2", "--json", "out"],
    &[
        "compare",
        "--sweep",
        "rtt=10ms..40ms:2",
        "--bytes",
        "100kB",
        "--arms",
        "rapid",
        "--json",
        "out",
    ],
    &["ab", "--flows", "20", "--arms", "rapid", "--json", "out"],
    &["ab", "--flows", "20", "--arms", "rapid", "--report", "out.html"],
    &["ab", "--flows", "20", "--arms", "rapid", "--save", "out.ffab"],
    &["run", "in.toml", "--json", "out"],
    &["diff", "in.json", "other.json", "--report", "out.html"],
    &["check", "in.json", "--against", "other.json", "--junit", "out.xml"],
    &["trial", "analyse", "in.jsonl", "--report", "out.html"],
    &["replay", "in.sqlog", "--json", "out"],
];

fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let well = |arguments: &[&str]| {
        let output = limited(folder.path(), 1_000_000, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    let compare = ["compare", "--bytes", "3MB", "--arms", "slowstart,rapid"];
    well(&[&compare[..], &["--json", "in.json"]].concat());
    well(&[&compare[..], &["--iw", "20", "--json", "other.json"]].concat());
    well(&["compare", "--bytes", "3MB", "--arms", "slowstart", "--trace", "in.sqlog"]);
    let experiment = "path = \"rapid-slide\"\nbytes = \"100kB\"\narms = [\"slowstart\"]\n";
    fs::write(folder.path().join("in.toml"), experiment).expect("written");
    let row = |number: u32| {
        let arm = if number.is_multiple_of(2) { "a" } else { "b" };
        let ms = 30 + number * 7 % 50;
        format!("{{\"arm\":\"{arm}\",\"bytes\":1000,\"ttlb_ms\":{ms}}}\n")
    };
    fs::write(folder.path().join("in.jsonl"), (0..300).map(row).collect::<String>())
        .expect("written");
    folder
}

#[test]
fn an_output_that_finds_no_room_is_one_line_and_no_file() {
    let folder = prepared();
    let before = inside(folder.path());
    for arguments in WRITERS {
        // Nothing at all can be written, then less than any of these files.
        for blocks in [0, 1] {
            // That of `check` may be so short that it fits.
            if blocks == 1 && arguments[0] == "check" {
                continue;
            }
            let output = limited(folder.path(), blocks, arguments);
            let said = text(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            let when = format!("{arguments:?} in {blocks} blocks");
            assert!(matches!(output.status.code(), Some(1 | 2)), "{when}: {output:?}");
            assert!(
                last.starts_with("firstflight: ") && last.contains("File too large"),
                "{when}: {said}"
            );
            assert_eq!(inside(folder.path()), before, "{when}");
        }
    }
}

#[test]
fn a_test_whose_rows_find_no_room_keeps_its_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["ab", "--flows", "40", "--arms", "rapid", "--out", "rows.csv"];
    let output = limited(folder.path(), 4, &arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the test continues without its rows"), "{said}");
    assert!(text(&output.stdout).contains("40 connections"), "{output:?}");
    assert_eq!(inside(folder.path()), Vec::<String>::new());
}

#[cfg(feature = "quic")]
mod rows {
    use super::*;
    use serde_json::Value;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, ChildStderr, Stdio};
    use std::time::{Duration, Instant};

    fn start(folder: &Path, rows: &str) -> (Child, BufReader<ChildStderr>, String) {
        // A soft limit, which can be raised while it runs.
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -S -f 8; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_firstflight")])
            .args(["serve", "--listen", "127.0.0.1:0", "--trial", "slowstart,rapid"])
            .args(["--unit", "connection", "--rows", rows])
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let line = wait_for(&mut said, "serving ");
        let url = line.split_whitespace().nth(1).unwrap_or_else(|| panic!("{line}"));
        let at = url.split('/').nth(2).expect("an address").to_owned();
        (child, said, at)
    }

    fn download(at: &str, times: usize) {
        let url = format!("https://{at}/bytes/1kB");
        for _ in 0..times {
            let fetched = Command::new(env!("CARGO_BIN_EXE_firstflight"))
                .args(["fetch", "--insecure", &url])
                .output()
                .expect("it runs");
            assert!(fetched.status.success(), "the server goes on: {fetched:?}");
        }
    }

    fn signal(child: &Child, arguments: &[&str]) {
        let process = child.id().to_string();
        let done = Command::new(arguments[0]).args(&arguments[1..]).arg(process).status();
        assert!(done.expect("it runs").success());
    }

    fn wait_for(said: &mut impl BufRead, words: &str) -> String {
        let (mut line, began) = (String::new(), Instant::now());
        while !line.contains(words) {
            line.clear();
            assert!(began.elapsed() < Duration::from_secs(20), "no `{words}`");
            assert!(said.read_line(&mut line).expect("a line") > 0, "it ended before `{words}`");
        }
        line
    }

    /// About twelve rows fit; the server goes on, says so, and writes the others when there is room.
    #[test]
    fn a_server_whose_rows_find_no_room_goes_on_and_writes_them_later() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows.jsonl");
        let (mut child, mut said, at) = start(folder.path(), "rows.jsonl");
        download(&at, 20);
        let line = wait_for(&mut said, "not yet written");
        assert!(line.contains("rows.jsonl: ") && line.contains("File too large"), "{line}");
        let half = fs::read_to_string(&file).expect("rows");
        assert!(half.ends_with('\n') && half.len() <= 8 * 512, "whole rows, as many as fit");
        if Command::new("prlimit").arg("--version").output().is_err() {
            println!("skipped: the rest needs prlimit");
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        signal(&child, &["prlimit", "--fsize=unlimited:unlimited", "--pid"]);
        wait_for(&mut said, "rows can be written again; none was lost");
        download(&at, 3);
        signal(&child, &["kill", "-TERM"]);
        let ended = child.wait().expect("ours");
        let mut rest = String::new();
        said.read_to_string(&mut rest).expect("text");
        assert_eq!(ended.code(), Some(0), "{rest}");
        let rows = fs::read_to_string(&file).expect("rows");
        let read = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
        assert_eq!(read.count(), 23, "every row once: {rest}");
    }

    #[test]
    fn rows_that_never_find_room_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut child, mut said, at) = start(folder.path(), "/dev/full");
        download(&at, 3);
        wait_for(&mut said, "not yet written: No space left on device");
        signal(&child, &["kill", "-TERM"]);
        let ended = child.wait().expect("ours");
        let mut rest = String::new();
        said.read_to_string(&mut rest).expect("text");
        assert_eq!(ended.code(), Some(1), "{rest}");
        assert!(rest.contains("3 rows lost"), "{rest}");
    }

    /// A restarted server continues a killed one's file and leaves lines that are no rows alone.
    #[test]
    fn a_torn_row_is_removed_and_another_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows.jsonl");
        fs::write(&file, "{\"arm\":\"rapid\"}\n{\"arm\":\"ra").expect("written");
        let (mut child, mut said, at) = start(folder.path(), "rows.jsonl");
        let _ = at;
        signal(&child, &["kill", "-TERM"]);
        let mut rest = String::new();
        said.read_to_string(&mut rest).expect("text");
        assert!(child.wait().expect("ours").success(), "{rest}");
        assert_eq!(fs::read_to_string(&file).expect("rows"), "{\"arm\":\"rapid\"}\n");
        fs::write(&file, "Dear reader").expect("written");
        let refused = limited(
            folder.path(),
            1000,
            &[
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
        );
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert_eq!(fs::read_to_string(&file).expect("the letter"), "Dear reader");
    }
}
