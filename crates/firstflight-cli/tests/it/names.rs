//! Names of files that are no text: every argument that takes a file reads or writes them, also
//! those that take names or other text, too (`--path`, `--population`, `table:`).
#![cfg(target_os = "linux")]

use assert_cmd::Command;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Every command with a place for a file. `IN.x` is a file that exists, `OUT.x` one that is made;
/// both get a byte in front of their ending that is no UTF-8.
const COMMANDS: &[(&[&str], i32)] = &[
    (&["compare", "--bytes", "20kB", "--json", "OUT.json"], 0),
    (&["compare", "--bytes", "20kB", "--report", "OUT.html"], 0),
    (&["compare", "--bytes", "20kB", "--trace", "OUT.csv"], 0),
    (&["ab", "--flows", "5", "--json", "OUT.json", "--save", "OUT.ffab"], 0),
    (&["ab", "--flows", "5", "--out", "OUT.csv"], 0),
    (&["ab", "merge", "IN.ffab"], 0),
    (&["run", "IN.run.toml", "--json", "OUT.json"], 0),
    (&["diff", "IN.json", "IN.json", "--json", "OUT.json"], 0),
    (&["report", "IN.json", "--report", "OUT.html"], 0),
    (&["check", "IN.json", "--against", "IN.json"], 0),
    (
        &[
            "compare",
            "--bytes",
            "20kB",
            "--path",
            "IN.path.toml",
            "--resume=IN.path.toml",
            "--arms",
            "slowstart,careful",
        ],
        0,
    ),
    (&["compare", "--bytes", "20kB", "--path", "rate=trace:IN.trace,rtt=30ms"], 0),
    (&["compare", "--bytes", "20kB", "--qlog", "OUT.folder/"], 0),
    (&["ab", "--flows", "5", "--population", "IN.population.toml(q=0.5)"], 0),
    (&["ab", "--flows", "5", "--population", "IN.population.csv", "--report", "OUT.html"], 0),
    (&["ab", "--flows", "5", "--resume", "OUT.folder/"], 0),
    (&["populations", "describe", "IN.population.toml"], 0),
    (&["populations", "show", "IN.population.csv"], 0),
    (&["conform", "exec:IN.sh", "--path", "IN.path.toml", "--bytes", "20kB"], 1),
    (&["conform", "table:IN.so", "--path", "IN.path.toml", "--bytes", "20kB"], 2),
    (&["conform", "rapid", "--path", "IN.path.toml", "--bytes", "20kB", "--json", "OUT.json"], 0),
    (&["check", "IN.json", "--against", "IN.json", "--junit", "OUT.xml", "--json", "OUT.json"], 0),
    (&["diff", "IN.json", "IN.json", "--report", "OUT.html"], 0),
    (&["evaluate", "rapid", "--list", "--declare", "IN.declared.toml"], 0),
    (&["drill", "IN.pkt", "--json", "OUT.json", "--junit", "OUT.xml"], 0),
    (&["man", "OUT.folder/"], 0),
    (&["ui", "--write", "OUT.folder/", "--engine", "IN.wasm"], 0),
    (&["vectors", "--arms", "slowstart", "--json", "OUT.json"], 0),
    #[cfg(feature = "field")]
    (&["trial", "analyse", "IN.rows.csv", "--json", "OUT.json"], 0),
    #[cfg(feature = "field")]
    (&["trial", "analyse", "IN.rows.csv", "--earlier", "IN.rows.csv", "--cluster", "client"], 0),
    #[cfg(feature = "replay")]
    (&["replay", "IN.pcap.gz", "--json", "OUT.json"], 0),
    #[cfg(feature = "replay")]
    (&["advise", "IN.pcap.gz", "--flows", "20", "--report", "OUT.html"], 1),
    #[cfg(feature = "replay")]
    (&["populations", "from-traces", "IN.pcap.gz"], 0),
];

/// The word with the folder in front of `IN.` or `OUT.`, and the byte 0xff before its ending.
fn named(folder: &Path, word: &str) -> std::ffi::OsString {
    for stem in ["IN.", "OUT."] {
        if let Some((before, ending)) = word.split_once(stem)
            && before.chars().next_back().is_none_or(|last| matches!(last, '=' | ':'))
        {
            let stem = [stem.trim_end_matches('.').as_bytes(), b"\xff."].concat();
            let file = folder.join(OsStr::from_bytes(&stem));
            let whole = [before.as_bytes(), file.as_os_str().as_bytes(), ending.as_bytes()];
            return OsStr::from_bytes(&whole.concat()).into();
        }
    }
    word.into()
}

#[test]
fn a_name_that_is_no_text_works_wherever_a_file_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let make = |word: &str, bytes: Vec<u8>| {
        fs::write(named(folder.path(), word), bytes).expect("written");
    };
    make("IN.run.toml", b"bytes = '20kB'\n".to_vec());
    make("IN.path.toml", b"rate = '10Mbit'\nrtt = '30ms'\nqueue = '30ms'\n".to_vec());
    make("IN.trace", b"1\n2\n3\n".to_vec());
    make("IN.sh", b"#!/bin/sh\nexit 7\n".to_vec());
    let runs = fs::Permissions::from_mode(0o755);
    fs::set_permissions(named(folder.path(), "IN.sh"), runs).expect("ours");
    make("IN.so", b"no library".to_vec());
    make("IN.declared.toml", b"ecn = false\n".to_vec());
    make("IN.wasm", b"\0asm\x01\0\0\0".to_vec());
    make("IN.pkt", fs::read(home.join("tests/drill/slow-start.pkt")).expect("a script"));
    let paths = "rtt_ms,rate_mbps,loss_pct\n".to_owned() + &"31,88.5,0.1\n".repeat(5);
    make("IN.population.csv", paths.into_bytes());
    let shown = Command::new(env!("CARGO_BIN_EXE_firstflight"))
        .args(["populations", "show", "cdn"])
        .output();
    make("IN.population.toml", shown.expect("it runs").stdout);
    let row = |row: usize| {
        format!("{},{},{},c{}", ["a", "b"][row % 2], 1000 + row, 10 + row % 7, row / 2)
    };
    let rows = (0..400).map(row).collect::<Vec<_>>().join("\n");
    make("IN.rows.csv", format!("arm,bytes,ttlb_ms,client\n{rows}").into_bytes());
    let sample = fs::read_dir(home.join("samples")).expect("samples").flatten();
    let sample =
        sample.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with(".pcap.gz"));
    make("IN.pcap.gz", fs::read(sample.expect("a capture")).expect("read"));
    for (words, made) in [
        (&["ab", "--flows", "5", "--save"][..], "IN.ffab"),
        (&["compare", "--bytes", "20kB", "--repeat", "2", "--json"], "IN.json"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
        command.args(words).arg(named(folder.path(), made)).assert().success();
    }
    for (words, code) in COMMANDS {
        let typed = words.join(" ");
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstflight"));
        command.args(words.iter().map(|word| named(folder.path(), word)));
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{typed}: {said}");
        for word in words.iter().filter(|word| word.starts_with("OUT.")) {
            let file = named(folder.path(), word);
            let written = fs::metadata(&file);
            assert!(written.is_ok_and(|data| data.len() > 0), "{typed}: {word}: {said}");
            let removed =
                if word.ends_with('/') { fs::remove_dir_all(file) } else { fs::remove_file(file) };
            removed.expect("removed");
        }
    }
}

/// The words of each command, with its options that take a file, by its help; an argument that takes one
/// has an empty name.
fn places() -> Vec<(Vec<String>, Vec<String>)> {
    const FILES: [&str; 9] = [
        "<FILE>",
        "<FOLDER>",
        "<DIR>",
        "<PATH>",
        "<POPULATION>",
        "<SHARD>",
        "<CONTROLLER>",
        "<NOW>",
        "<BEFORE>",
    ];
    let (mut waiting, mut found) = (vec![Vec::new()], Vec::new());
    while let Some(command) = waiting.pop() {
        let mut help = Command::new(env!("CARGO_BIN_EXE_firstflight"));
        let output = help.args(&command).arg("--help").output().expect("it runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let mut within = "";
        let mut takes = Vec::new();
        for line in text.lines() {
            if !line.starts_with(' ') {
                within = line;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_file = |word: &&str| FILES.iter().any(|name| word.contains(name));
            match (within, &words[..]) {
                // The program's own commands stand in groups.
                (group, [name, _, ..])
                    if (group == "Commands:" || command.is_empty() && group != "Options:")
                        && line.starts_with("  ")
                        && !line.starts_with("   ")
                        && !name.starts_with('-')
                        && *name != "help" =>
                {
                    waiting.push([command.clone(), vec![(*name).to_owned()]].concat());
                }
                ("Arguments:", [name, ..]) if is_file(name) => takes.push(String::new()),
                (_, words) if line.trim_start().starts_with('-') => {
                    // `-o, --out <FILE>  What it is` or `--json[=<FILE>]`.
                    let forms = words.iter().take_while(|word| word.starts_with(['-', '<']));
                    if let Some(at) = forms.clone().position(is_file) {
                        let form = if words[at].starts_with('-') { at } else { at - 1 };
                        let option = words[form].split(['[', '=']).next().unwrap_or_default();
                        takes.push(option.to_owned());
                    }
                }
                _ => {}
            }
        }
        found.push((command, takes));
    }
    found
}

#[test]
fn no_command_refuses_a_name_that_is_no_text() {
    let mut tried = 0;
    for (command, places) in places() {
        for place in places {
            let name = OsStr::from_bytes(b"no\xff.toml");
            let mut run = Command::new(env!("CARGO_BIN_EXE_firstflight"));
            run.args(&command);
            if place.is_empty() {
                run.arg(name);
            } else {
                run.arg(OsStr::from_bytes(&[place.as_bytes(), b"=", name.as_bytes()].concat()));
            }
            // The name comes first and would be refused first.
            let output = run.arg("--nosuch").output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("unknown option `--nosuch`"), "{command:?} {place}: {said}");
            tried += 1;
        }
    }
    assert!(tried > 80, "{tried} places for a file");
}
