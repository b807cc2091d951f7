//! `firstflight trial analyse`: anybody's table of connections.

use crate::command::{refused, run, well};
use serde_json::Value;
use std::fmt::Write as _;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/connections.csv.gz");

#[test]
fn the_sample_has_its_known_answer_on_terminal_page_and_in_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("trial.html");
    let page = page.to_str().expect("text");
    let asked = ["trial", "analyse", SAMPLE, "--size", "bytes", "--cluster", "client"];
    let asked = [&asked[..], &["--rtt", "rtt_ms", "--shares", "slowstart=70%,rapid=30%"]].concat();
    let json: Value = well(&[&asked[..], &["--json", "-"]].concat()).json();
    let found = &json["results"][0]["reduction_pct"];
    let [low, high] = ["low", "high"].map(|end| found[end].as_f64().expect("a number"));
    // Both arms on all 6000 paths: 31.8 % (samples/connections.py).
    assert!(low < 31.8 && 31.8 < high && high - low < 12.0, "{found}");
    let text = well(&[&asked[..], &["--report", page]].concat()).stdout;
    let finding = json["finding"].as_str().expect("a sentence");
    let first: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(first.starts_with(finding), "{text}");
    assert!(std::fs::read_to_string(page).expect("a page").contains(finding));
    let csv = well(&[&asked[..], &["--format", "csv"]].concat()).stdout;
    assert!(csv.starts_with("arm,baseline,reduction_pct,") && csv.lines().count() == 2, "{csv}");
}

#[test]
fn a_broken_stop_rule_ends_with_code_3_and_bad_input_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("rows.csv");
    let mut text = "arm,bytes,busy_ms,segments,retransmitted\n".to_owned();
    for row in 0..4000 {
        let harmful = row % 2 == 0;
        let lost = if harmful { 9 } else { 2 };
        let arm = if harmful { "harmful" } else { "safe" };
        let _ = writeln!(text, "{arm},100000,{},100,{lost}", 100 + row % 37);
    }
    std::fs::write(&table, text).expect("written");
    let table = table.to_str().expect("text");
    let rule = ["--baseline", "safe", "--stop-if", "retransmitted > 2x"];
    let stopped = run(&[&["trial", "analyse", table][..], &rule].concat());
    assert_eq!(stopped.code, 3, "{}", stopped.stderr);
    assert!(
        stopped.stdout.starts_with("Stop harmful: retransmitted > 2x safe"),
        "{}",
        stopped.stdout
    );
    let misspelt = ["trial", "analyse", table, "--time", "bussy_ms"];
    refused(&[(&misspelt, "did you mean `busy_ms`?")]);
}
