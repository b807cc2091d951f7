//! Programs of others behind the emulated link, as arms. Needs root; says what is missing and passes
//! where that is not given.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PAIR: &str = r#"
server = '''python3 -c "
import os, socket
s = socket.create_server((os.environ['FIRSTFLIGHT_LOCAL'], int(os.environ['FIRSTFLIGHT_PORT'])))
while True:
    c, _ = s.accept()
    left = int(os.environ['FIRSTFLIGHT_BYTES'])
    try:
        while left > 0:
            left -= c.send(bytes(min(left, 65536)))
        c.close()
    except OSError:
        pass
"'''
client = '''python3 -c "
import os, socket, sys
c = socket.create_connection((os.environ['FIRSTFLIGHT_PEER'], int(os.environ['FIRSTFLIGHT_PORT'])))
while chunk := c.recv(65536):
    sys.stdout.buffer.write(chunk)
"'''
"#;

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstflight")).args(words).output().expect("runs")
}

/// The JSON of a command that ends well; nothing without the privilege, which is said.
fn answer(words: &[&str]) -> Option<Value> {
    let out = run(words);
    let told = String::from_utf8_lossy(&out.stderr);
    if !out.status.success() && told.contains("needs") {
        println!("skipped: {}", told.trim());
        return None;
    }
    assert!(out.status.success(), "{words:?}: {told}");
    Some(serde_json::from_slice(&out.stdout).expect("JSON"))
}

fn pair(folder: &Path) -> (PathBuf, String) {
    let file = folder.join("pair.toml");
    std::fs::write(&file, PAIR).expect("written");
    let arm = format!("program:{}", file.display());
    (file, arm)
}

#[test]
fn programs_are_compared_by_what_arrives_and_nothing_else_is_claimed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, arm) = pair(folder.path());
    let arms = format!("kernel:cubic,{arm}");
    let path = "rate=50Mbit,rtt=30ms,queue=60ms";
    let words = ["compare", "--on", "linux", "--path", path, "--bytes", "1MB", "--arms", &arms];
    let Some(json) = answer(&[&words[..], &["--repeat", "1", "--json", "-"]].concat()) else {
        return;
    };
    let [kernel, programs] = json["results"].as_array().expect("rows").as_slice() else {
        panic!("two rows: {json}")
    };
    assert_eq!(programs["arm"], arm.as_str());
    assert_eq!(programs["complete"], true);
    let [time, kernels] = [programs, kernel].map(|row| row["ttlb_ms"].as_f64().expect("a time"));
    assert!(time > 160.0 && kernels > 160.0, "1 MB takes 160 ms at 50 Mbit/s: {time}, {kernels}");
    for unknown in ["retransmitted_bytes", "packets_sent", "loss_ratio", "rtos"] {
        assert!(programs[unknown].is_null(), "{unknown}: {programs}");
    }
    assert!(kernel["retransmitted_bytes"].is_u64(), "{kernel}");
}

#[test]
fn programs_take_the_seat_of_an_evaluation() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, arm) = pair(folder.path());
    let seat = ["evaluate", &arm, "--on", "linux", "--baseline", "kernel:cubic"];
    let cell = ["--cell", "7.11/incast:8", "--json", "-"];
    let Some(json) = answer(&[&seat[..], &cell[..]].concat()) else { return };
    let metric = |name: &str| -> Value {
        let rows = json["cell"]["figures"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["metric"] == name);
        row.unwrap_or_else(|| panic!("{name}: {json}")).clone()
    };
    assert_eq!(metric("unfinished")["value"], 0.0);
    assert!(metric("fct_ms")["value"].as_f64().expect("a time") > 0.08, "100 kB at 10 Gbit/s");
    assert!(metric("timeouts")["value"].is_null(), "programs cannot be asked: {json}");
    let dry = run(&[&seat[..], &["--quick", "--dry-run"]].concat());
    let told = String::from_utf8_lossy(&dry.stdout);
    assert!(!told.contains(" 0 cells"), "the kernel's testbed carries cells: {told}");
}

#[test]
fn programs_run_on_this_testbed_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, arm) = pair(folder.path());
    let refused = run(&["compare", "--arms", &arm]);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("run on the testbed `linux` only"), "{told}");
    std::fs::write(&file, "server = \"a\"").expect("written");
    let told = run(&["compare", "--on", "linux", "--arms", &arm]);
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("pair.toml") && told.contains("client"), "{told}");
}
