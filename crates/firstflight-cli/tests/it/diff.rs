//! `firstflight diff`: what differs between two answers, and what that is worth.

use crate::command::{refused, run, well};
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
    refused(&[(&["diff", a, b], "allowed: two of the same kind")]);
    assert!(well(&["diff", b, b]).stdout.starts_with("Nothing differs"));
}

#[test]
fn a_check_fails_by_what_got_worse_than_is_allowed_and_says_so_to_ci() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = |iw| ["compare", "--bytes", "1MB", "--arms", "slowstart,rapid", "--iw", iw];
    let a = answer(&folder, "a.json", &compare("10"));
    let b = answer(&folder, "b.json", &compare("4"));
    let xml = folder.path().join("junit.xml");
    let [a, b, xml] = [&a, &b, &xml].map(|file| file.to_str().expect("text"));
    let worse = run(&["check", b, "--against", a, "--tolerance", "ttlb_ms:2%", "--junit", xml]);
    assert_eq!(worse.code, 1, "{}", worse.stderr);
    assert!(worse.stdout.contains("more than 2 % worse"), "{}", worse.stdout);
    let xml = std::fs::read_to_string(xml).expect("a file");
    assert!(xml.contains("name=\"slowstart ttlb_ms\"><failure message=\""), "{xml}");
    let json: Value =
        well(&["check", a, "--against", b, "--tolerance", "ttlb_ms:2%", "--json", "-"]).json();
    let rows = json.as_array().expect("rows");
    assert_eq!(rows.len(), 2, "a smaller window became a larger one: {json}");
    assert!(rows.iter().all(|row| row["within"] == true), "{json}");
    assert!(
        well(&["check", b, "--against", a, "--tolerance", "ttlb_ms:900%"])
            .stdout
            .contains("within")
    );
    let misspelt = ["check", a, "--against", a, "--tolerance", "ttbl_ms:2%"];
    refused(&[(&misspelt, "unknown measure")]);
}

#[test]
fn a_check_without_tolerances_looks_at_loss_and_says_what_it_leaves_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = |iw| ["compare", "--bytes", "300kB", "--path", "geo", "--iw", iw];
    let shallow = "rate=10Mbit,rtt=40ms,queue=10kB";
    let lossy = |iw| ["compare", "--bytes", "300kB", "--path", shallow, "--iw", iw];
    let a = answer(&folder, "a.json", &lossy("10"));
    let b = answer(&folder, "b.json", &lossy("60"));
    let [a, b] = [&a, &b].map(|file| file.to_str().expect("text"));
    let worse = run(&["check", b, "--against", a]);
    assert_eq!(worse.code, 1, "{}", worse.stdout);
    assert!(worse.stdout.contains("loss_ratio") && worse.stdout.contains("more than 0.002 worse"));
    assert!(worse.stdout.contains("Not checked: "), "{}", worse.stdout);
    let other = answer(&folder, "other.json", &[&compare("10")[..], &["--seed", "7"]].concat());
    let other = other.to_str().expect("text");
    refused(&[(&["check", other, "--against", a], "they have no seed in common")]);
}

#[test]
fn the_action_for_other_repositories_does_what_it_says() {
    let action = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.github/actions/check/action.yml");
    let Ok(action) = std::fs::read_to_string(action) else { return };
    let (_, script) = action.rsplit_once("      run: |\n").expect("a script");
    let folder = tempfile::tempdir().expect("a folder");
    let compare = |iw| ["compare", "--bytes", "1MB", "--arms", "slowstart", "--iw", iw];
    let good = answer(&folder, "good.json", &compare("10"));
    let act = |command: &str, tolerance: &str| {
        let at = |name: &str| folder.path().join(name);
        let _ = std::fs::remove_file(at("summary.md"));
        let out = std::process::Command::new("bash")
            .args(["-e", "-c", script])
            .current_dir(folder.path())
            .env("COMMAND", command)
            .env("BASELINE", &good)
            .env("TOLERANCE", tolerance)
            .env("JUNIT", at("out.xml"))
            .env("PROGRAM", env!("CARGO_BIN_EXE_firstflight"))
            .env("GITHUB_STEP_SUMMARY", at("summary.md"))
            .output()
            .expect("bash");
        let read = |name: &str| std::fs::read_to_string(at(name)).unwrap_or_default();
        (out.status.code(), read("summary.md"), read("out.xml"))
    };
    let (code, summary, xml) = act("compare --bytes 1MB --arms 'slowstart'", "");
    assert_eq!(code, Some(0), "{summary}");
    assert!(summary.contains(" slowstart | ttlb\\_ms | "), "{summary}");
    assert!(summary.contains(" | within |"), "{summary}");
    assert!(xml.contains("failures=\"0\""), "{xml}");
    let (code, summary, xml) = act("compare --bytes 1MB --arms slowstart --iw 4", "ttlb_ms:5%");
    assert_eq!(code, Some(1), "{summary}");
    assert!(summary.contains("more than 5 % worse"), "{summary}");
    assert!(xml.contains("<failure"), "{xml}");
    let (code, ..) = act("compare --bytes 1MB --arms $(touch carried-out)", "");
    assert_eq!(code, Some(2));
    assert!(!folder.path().join("carried-out").exists());
}

/// Numbers to twelve digits: reading JSON may change the last one.
fn rounded(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            *value = Value::from(format!("{:.11e}", number.as_f64().expect("a number")));
        }
        Value::Array(all) => all.iter_mut().for_each(rounded),
        Value::Object(all) => all.values_mut().for_each(rounded),
        _ => {}
    }
}

/// Data of a page, which is the same whichever way it was made; the command differs.
fn data(page: &std::path::Path) -> Value {
    let page = std::fs::read_to_string(page).expect("a page");
    let (_, rest) = page.split_once(r#"type="application/json" id="data">"#).expect("data");
    let (text, _) = rest.split_once("</script>").expect("an end");
    let mut data: Value = serde_json::from_str(text).expect("JSON");
    data["command"] = Value::Null;
    rounded(&mut data);
    data
}

#[test]
fn a_kept_result_has_the_page_of_its_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let sweep = [
        "compare",
        "--bytes",
        "100kB",
        "--arms",
        "slowstart,rapid",
        "--sweep",
        "rtt=10ms,40ms",
        "--sweep",
        "loss=0%,1%",
        "--repeat",
        "3",
    ];
    let ab = ["ab", "--population", "geo", "--flows", "40", "--arms", "rapid"];
    let tune =
        ["tune", "slowstart@(iw=10..20)", "--budget", "60", "--flows", "100", "--holdout", "1000"];
    for (name, words) in [("sweep", &sweep[..]), ("ab", &ab), ("tune", &tune)] {
        let (json, first, again) = (file("kept.json"), file("first.html"), file("kept.html"));
        let [kept, page] = [&json, &first].map(|file| file.to_str().expect("text"));
        let ran = run(&[words, &["--json", kept, "--report", page]].concat());
        assert!(ran.code <= 1, "{name}: {}", ran.stderr);
        let told = well(&["report", kept]).stdout;
        assert_eq!(told.trim(), again.display().to_string());
        assert_eq!(data(&again), data(&first), "the page of {name}");
    }
}

#[test]
fn the_page_of_a_kept_comparison_has_its_table_but_no_course_over_time() {
    let folder = tempfile::tempdir().expect("a folder");
    for more in [&[][..], &["--transport", "tcp", "--repeat", "4", "--seed", "7", "--iw", "12"]] {
        let words = [
            &["compare", "--path", "geo", "--bytes", "2MB", "--arms", "slowstart,rapid,oracle"][..],
            more,
        ]
        .concat();
        let json = answer(&folder, "kept.json", &words);
        let page = folder.path().join("first.html");
        well(&[&words[..], &["--plain-report", "--report", page.to_str().expect("text")]].concat());
        well(&["report", json.to_str().expect("text")]);
        let (first, again) = (data(&page), data(&folder.path().join("kept.html")));
        for key in ["title", "finding", "table", "path", "notes", "seed", "repeat", "provenance"] {
            assert_eq!(again[key], first[key], "{key} with {more:?}");
        }
        let series = [&first, &again].map(|page| page["series"].as_array().map_or(0, Vec::len));
        assert_eq!(series, [3, 0], "a result holds no events");
    }
}

#[test]
fn what_is_no_result_has_no_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("kept.json");
    let name = file.to_str().expect("text");
    let refused = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        let run = run(&["report", name]);
        assert_eq!((run.code, run.stderr.lines().count()), (2, 1), "{text}: {}", run.stderr);
        assert!(!folder.path().join("kept.html").exists(), "{text} left a page");
        run.stderr
    };
    assert!(refused("{").contains("is not JSON"));
    assert!(refused("[1]").contains("is not a result; allowed: what compare"));
    assert!(refused(r#"{"decision":{},"percentiles":[]}"#).contains("is not a whole result"));
    let own = well(&["compare", "--bytes", "20kB", "--arms", "rapid", "--json", "-"]).stdout;
    let line = refused(&own.replace("rapid", "another"));
    assert!(line.contains("unknown"), "{line}");
    let short =
        well(&["compare", "--flows", "2", "--bytes", "20kB", "--arms", "rapid", "--json", "-"])
            .stdout;
    assert!(refused(&short).contains("several flows"));
}
