//! Names of files that are no text: every option that takes a file and nothing else reads or writes
//! them. Those that take names or text, too (`--path`, `--population`, `table:`), take text.
#![cfg(target_os = "linux")]

use assert_cmd::Command;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
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
    (&["check", "IN.json", "--against", "IN.json"], 0),
    (&["vectors", "--arms", "slowstart", "--json", "OUT.json"], 0),
    #[cfg(feature = "field")]
    (&["trial", "analyse", "IN.rows.csv", "--json", "OUT.json"], 0),
    #[cfg(feature = "field")]
    (&["trial", "analyse", "IN.rows.csv", "--earlier", "IN.rows.csv", "--cluster", "client"], 0),
    #[cfg(feature = "replay")]
    (&["replay", "IN.pcap.gz", "--json", "OUT.json"], 0),
    #[cfg(feature = "replay")]
    (&["advise", "IN.pcap.gz", "--flows", "20", "--report", "OUT.html"], 0),
    #[cfg(feature = "replay")]
    (&["populations", "from-traces", "IN.pcap.gz"], 0),
];

/// The word with the byte 0xff before its ending, in front of which stands the folder.
fn named(folder: &Path, word: &str) -> std::ffi::OsString {
    let Some((stem, ending)) =
        word.split_once('.').filter(|(stem, _)| matches!(*stem, "IN" | "OUT"))
    else {
        return word.into();
    };
    let name = [stem.as_bytes(), b"\xff.", ending.as_bytes()].concat();
    folder.join(OsStr::from_bytes(&name)).into()
}

#[test]
fn a_name_that_is_no_text_works_wherever_a_file_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let make = |word: &str, bytes: Vec<u8>| {
        fs::write(named(folder.path(), word), bytes).expect("written");
    };
    make("IN.run.toml", b"bytes = '20kB'\n".to_vec());
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
            assert!(
                fs::metadata(&file).is_ok_and(|data| data.len() > 0),
                "{typed}: {word}: {said}"
            );
            fs::remove_file(file).expect("removed");
        }
    }
}
