//! `firstflight diff`: what differs between two answers, and what that is worth.

use crate::command::{run, well};
use serde_json::Value;
use std::path::PathBuf;

/// Writes the answer of a command into a file of that name.
fn answer(folder: &tempfile::TempDir, name: &str, words: &[&str]) -> PathBuf {
    let file = folder.path().join(name);
    well(&[words, &["--json", file.to_str().expect("text")]].concat());
    file
}

#[test]
fn two_paths_differ_in_what_was_set_and_in_what_came_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = |path| ["compare", "--bytes", "1MB", "--arms", "slowstart,rapid", "--path", path];
    let a = answer(&folder, "a.json", &compare("rate=100Mbit,rtt=30ms,queue=30ms"));
    let b = answer(&folder, "b.json", &compare("rate=100Mbit,rtt=60ms,queue=30ms"));
    let [a, b] = [&a, &b].map(|file| file.to_str().expect("text"));
    let shown = well(&["diff", a, b]).stdout;
    assert!(shown.contains("rtt_ms: 30.0 -> 60.0"), "{shown}");
    let json: Value = well(&["diff", a, b, "--json", "-"]).json();
    let time = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["measure"] == "ttlb_ms" && one["arm"] == "slowstart");
    let time = time.expect("twice the round trip takes longer");
    assert_eq!(time["sense"], "worse");
    let [before, after] = ["before", "after"].map(|side| time[side].as_f64().unwrap());
    assert!(after > before && time["change_pct"].as_f64().unwrap() > 0.0);
    let page = folder.path().join("page.html");
    let told = well(&["diff", a, b, "--report", page.to_str().expect("text")]).stdout;
    assert!(told.starts_with("Completion time: slowstart "), "{told}");
    let page = std::fs::read_to_string(page).expect("a page");
    let finding = told.lines().next().expect("a finding");
    assert!(page.contains(finding) && page.contains("rtt_ms"), "{finding} is on the page");
    let same = well(&["diff", a, a, "--fail-if", "changed"]).stdout;
    assert!(same.starts_with("Nothing differs"), "{same}");
    let worse = run(&["diff", a, b, "--fail-if", "worse"]);
    assert_eq!(worse.code, 1, "{}", worse.stderr);
}

#[test]
fn two_kinds_of_answers_cannot_be_held_against_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = answer(&folder, "a.json", &["compare", "--bytes", "100kB", "--arms", "slowstart"]);
    let ab = ["ab", "--population", "geo", "--flows", "40", "--arms", "rapid"];
    let b = answer(&folder, "b.json", &ab);
    let [a, b] = [&a, &b].map(|file| file.to_str().expect("text"));
    let refused = run(&["diff", a, b]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("allowed: two alike"), "{}", refused.stderr);
    assert!(well(&["diff", b, b]).stdout.starts_with("Nothing differs"));
}
