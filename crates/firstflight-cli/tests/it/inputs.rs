//! Inputs that a user may name by mistake: devices without an end, pipes that nobody writes to, values of
//! a hundred kilobytes, places that nothing can be written to. Each is answered in one line with
//! exit code 2, in bounded memory, and before anything is written. And whatever ends with code 1
//! says why.
#![cfg(unix)]

use crate::command;

use command::{Run, ended, inside, refused, run, run_in, well};
use std::fs;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Every command with every place that takes a file; `FILE` stands for it, without its extension.
const READERS: &[&[&str]] = &[
    &["run", "FILE"],
    &["ab", "merge", "FILE"],
    &["compare", "--path", "FILE.toml"],
    &["compare", "--path", "rate=trace:FILE,rtt=30ms"],
    &["ab", "--population", "FILE.toml"],
    &["ab", "--population", "FILE.csv"],
    &["populations", "describe", "FILE.toml"],
    #[cfg(feature = "replay")]
    &["replay", "FILE"],
    #[cfg(feature = "replay")]
    &["populations", "from-traces", "FILE"],
    #[cfg(feature = "quic")]
    &["fetch", "--ca", "FILE", "https://localhost:9/"],
    #[cfg(feature = "quic")]
    &["serve", "--listen", "127.0.0.1:0", "--cert", "FILE", "--key", "FILE"],
];

/// A folder in which every name of [`READERS`] stands for `target`.
fn named(target: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["FILE", "FILE.toml", "FILE.csv"] {
        std::os::unix::fs::symlink(target, folder.path().join(name)).expect("a link");
    }
    folder
}

/// Starts it with no more than 1.5 GB of address space.
fn start(folder: &TempDir, arguments: &[&str]) -> Child {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -v 1500000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_firstflight")])
        .args(arguments);
    shell
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    shell.spawn().expect("a shell")
}

fn end(child: Child) -> Run {
    ended(child.wait_with_output().expect("it ends"))
}

#[test]
fn a_file_without_an_end_is_refused_in_bounded_memory() {
    let folder = named("/dev/zero");
    for arguments in READERS {
        let run = end(start(&folder, arguments));
        run.refuses(arguments, "");
    }
    let run = end(start(&folder, &["run", "/dev/zero"]));
    run.refuses("run /dev/zero", "/dev/zero: is larger than 16 MiB");
}

#[test]
fn a_pipe_that_nobody_writes_to_is_given_up() {
    let folder = named("pipe");
    assert!(
        Command::new("mkfifo").arg(folder.path().join("pipe")).status().expect("mkfifo").success(),
        "a pipe"
    );
    // All at once: each waits as long as it does.
    let all: Vec<Child> = READERS.iter().map(|arguments| start(&folder, arguments)).collect();
    for (child, arguments) in all.into_iter().zip(READERS) {
        end(child).refuses(arguments, "delivered nothing for 10 s");
    }
}

#[test]
fn no_error_repeats_a_long_input() {
    let word = "x".repeat(100_000);
    let words = "x y ".repeat(25_000);
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("key.toml", format!("{word} = 1\n")),
        ("value.toml", format!("bytes = \"{words}\"\n")),
        ("list.toml", format!("path = \"{word}\"\n")),
    ] {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    fs::write(folder.path().join("long.trace"), &word).expect("a file");
    let mut all: Vec<Vec<&str>> = vec![
        vec!["run", "key.toml"],
        vec!["run", "value.toml"],
        vec!["run", "list.toml"],
        vec!["compare", "--path", "key.toml"],
        vec!["compare", "--path", "rate=trace:long.trace,rtt=30ms"],
        vec!["ab", "--population", "key.toml"],
    ];
    for long in [&word, &words] {
        all.push(vec![long]);
        for option in
            ["--path", "--arms", "--bytes", "--seed", "--on", "--json", "--cross", "--app"]
        {
            all.push(vec!["compare", option, long]);
        }
        all.extend([
            vec!["compare", long],
            vec!["run", long],
            vec!["ab", "--population", long],
            vec!["ab", "--shard", long],
            vec!["reproduce", long],
            vec!["evaluate", long],
            vec!["evaluate", "rapid", "--criteria", long],
            vec!["evaluate", "rapid", "--cell", long],
        ]);
    }
    for arguments in all {
        let run = run_in(&folder, &arguments);
        let typed: String = arguments.join(" ").chars().take(60).collect();
        run.refuses(&typed, "");
        let repeated = run.stderr.matches('x').count();
        assert!(
            repeated <= 250 && run.stderr.len() < 3000,
            "{typed}: {repeated} of 100 000 characters come back: {}",
            run.stderr
        );
    }
}

#[test]
fn nothing_is_written_before_every_output_is_known_to_be_writable() {
    // Nobody makes files in /proc, root neither.
    let table: &[&[&str]] = &[
        &["compare", "--json", "out.json", "--report", "/proc/out.html"],
        &["compare", "--json", "/proc/out.json", "--report", "out.html"],
        &["compare", "--report", "out.html", "--trace", "/proc/out.csv"],
        &["compare", "--report", "out.html", "--qlog", "/proc"],
        &["compare", "--trace", "out.csv", "--report", "out.csv"],
        &["ab", "--flows", "50", "--save", "out.ffab", "--out", "/proc/out.csv"],
        &["ab", "--flows", "50", "--save", "out", "--json", "out"],
        &["ab", "--flows", "50", "--json", "out.json", "--resume", "/proc"],
        &[
            "reproduce",
            "rapid-start",
            "--quick",
            "--json",
            "out.json",
            "--markdown",
            "/proc/out.md",
        ],
        &["reproduce", "--list", "--json", "/proc/out.json"],
        &["evaluate", "rapid", "--quick", "--json", "out.json", "--annex", "/proc/out.md"],
        #[cfg(feature = "replay")]
        &["replay", "trace.csv", "--json", "out.json", "--report", "/proc/out.html"],
        #[cfg(feature = "quic")]
        &["fetch", "https://localhost:9/", "--output", "out", "--json", "/proc/out.json"],
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in table {
        let run = run_in(&folder, arguments);
        run.refuses(arguments, "");
        assert_eq!(inside(&folder), Vec::<String>::new(), "{} leaves nothing", arguments.join(" "));
    }
}

#[cfg(feature = "quic")]
#[test]
fn fetch_looks_at_the_file_of_authorities_before_it_looks_for_the_host() {
    let run = run(&["fetch", "--ca", "/no/such/file", "https://no.such.host.invalid/"]);
    run.refuses("fetch --ca", "/no/such/file: No such file");
}

#[test]
fn whatever_ends_with_code_1_says_why() {
    let path = "rate=1Mbit,rtt=30ms";
    let table: &[(&[&str], &str)] = &[
        (
            &[
                "compare",
                "--path",
                path,
                "--arms",
                "rapid,oracle",
                "--bytes",
                "10MB",
                "--limit",
                "1",
            ],
            "2 of 2 trials did not finish",
        ),
        (
            &[
                "compare",
                "--path",
                path,
                "--arms",
                "rapid,oracle",
                "--bytes",
                "10MB",
                "--limit",
                "1",
                "--flows",
                "3",
                "--repeat",
                "1",
            ],
            "6 of 6 flows did not finish within the limit of 1 s of simulated time",
        ),
    ];
    for (arguments, why) in table {
        let run = run(arguments);
        assert_eq!(run.code, 1, "{}: {}", arguments.join(" "), run.stderr);
        assert!(run.stderr.contains(why), "{}: {}", arguments.join(" "), run.stderr);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = format!(
        "path = \"{path}\"\narms = [\"rapid\"]\nbytes = \"10MB\"\nlimit = 1\nflows = 2\nrepeat = 1\n"
    );
    fs::write(folder.path().join("a.toml"), file).expect("a file");
    let run = run_in(&folder, &["run", "a.toml"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("2 of 2 flows did not finish"), "{}", run.stderr);
}

#[test]
fn a_part_of_a_test_that_holds_nothing_is_no_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let test = ["ab", "--population", "fixed-2025", "--flows", "40", "--arms", "rapid"];
    for part in ["1/2", "2/2"] {
        let file = part.replace('/', "of");
        let run = run_in(&folder, &[&test[..], &["--shard", part, "--save", &file]].concat());
        assert_eq!(run.code, 0, "{part}: {}", run.stderr);
        let empty = run.stderr.contains("part 2/2 is empty: the test has only 1 block");
        assert_eq!(empty, part == "2/2", "an empty part is said to be one: {}", run.stderr);
    }
    let whole = run_in(&folder, &[&test[..], &["--json", "-"]].concat());
    let merged = run_in(&folder, &["ab", "merge", "1of2", "2of2", "--json", "-"]);
    assert_eq!(
        (merged.code, merged.stdout),
        (0, whole.stdout),
        "the parts are the whole: {}",
        merged.stderr
    );
}

#[test]
fn the_list_of_documents_is_json_where_that_is_asked_for() {
    let list = well(&["reproduce", "--list", "--json", "-"]).json();
    let text = well(&["reproduce", "--list"]).stdout;
    let sources = list["sources"].as_array().expect("a list");
    assert!(sources.len() >= 5, "the five documents at least: {sources:?}");
    for source in sources {
        let name = source["name"].as_str().expect("a name");
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} stands in the text, too");
        for item in source["items"].as_array().expect("rows") {
            assert!(item["id"].is_string() && item["published"].is_string(), "{item}");
        }
    }
}

#[test]
fn a_name_that_says_it_is_a_folder_makes_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let short = ["compare", "--arms", "rapid", "--bytes", "50kB"];
    for (option, name) in [("--qlog", "both/"), ("--trace", "first/")] {
        let run = run_in(&folder, &[&short[..], &[option, name]].concat());
        assert_eq!(run.code, 0, "{option} {name}: {}", run.stderr);
        assert!(
            fs::read_dir(folder.path().join(name)).expect("it was made").count() > 0,
            "{option} {name}"
        );
    }
    // Only if everything else has a place to go, and only one.
    for arguments in [
        ["--qlog", "not/", "--json", "/proc/x"],
        ["--qlog", "not/", "--trace", "no/where/"],
        ["--trace", "no/where/", "--seed", "1"],
    ] {
        let run = run_in(&folder, &[&short[..], &arguments].concat());
        run.refuses(arguments, "");
    }
    assert_eq!(inside(&folder), ["both", "first"]);
}

#[test]
fn commands_and_options_in_another_case_or_word_are_answered_with_the_right_one() {
    refused(&[
        (&["Compare"], "did you mean `compare`?"),
        (&["simulate"], "did you mean `compare`?"),
        (&["benchmark"], "did you mean `compare`?"),
        (&["analyze", "a.pcap"], "did you mean `replay`?"),
        (&["optimize", "rapid"], "did you mean `tune`?"),
        (&["list"], "did you mean `arms`?"),
        (&["compare", "--ARMS", "rapid"], "did you mean `--arms`?"),
        (&["compare", "--on", "SIM"], "did you mean `sim`?"),
        (&["compare", "--path", "GEO"], "did you mean `geo`?"),
        (&["ab", "--population", "CDN"], "did you mean `cdn`?"),
        (&["compare", "--transport", "tcp", "--detection", "RACK"], "did you mean `rack`?"),
    ]);
}

#[test]
fn units_as_people_type_them_mean_what_they_mean() {
    let path = |text: &str| {
        let run = well(&[
            "compare",
            "--path",
            text,
            "--arms",
            "slowstart",
            "--bytes",
            "1e5",
            "--json",
            "-",
        ]);
        let experiment = run.json()["experiment"].clone();
        assert_eq!(experiment["bytes"], 100_000, "{text}");
        experiment["path"].as_str().expect("a path").to_owned()
    };
    for text in [
        "rate=100Mbps,rtt=30ms,queue=100k",
        "rate=100mbit,rtt=30ms,queue=1e5",
        "rate=100M,rtt=30ms,queue=100KB",
        "rate=1e8,rtt=30ms,queue=100kB",
    ] {
        assert_eq!(path(text), "rate=100Mbit,rtt=30ms,queue=100kB", "{text}");
    }
}

#[test]
fn all_are_all_arms_each_once() {
    let run = well(&["compare", "--arms", "all", "--bytes", "20kB", "--json", "-"]);
    let json = run.json();
    let rows = json["results"].as_array().expect("results");
    let mut full: Vec<&str> = rows.iter().filter_map(|row| row["arm_full"].as_str()).collect();
    let count = full.len();
    full.sort_unstable();
    full.dedup();
    assert_eq!(full.len(), count, "no arm twice");
    assert!(rows.iter().any(|row| row["arm"] == "rapid-nojump") && count > 10, "{count}");
}
