//! `firstflight evaluate`: the table, the annex, one cell, and helpful refusals.

use crate::command;

use command::{refused, run_in, well};
use std::fs;

#[test]
fn a_section_is_evaluated_with_the_same_bytes_for_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let evaluated = |threads: &str| {
        let run = run_in(
            &folder,
            &[
                "evaluate",
                "rapid",
                "--quick",
                "--criteria",
                "7.11,7.10,5.3",
                "--threads",
                threads,
                "--annex",
                "annex.md",
                "--json",
                "-",
            ],
        );
        assert_eq!(run.code, 0, "{}", run.stderr);
        (run.stdout, fs::read_to_string(folder.path().join("annex.md")).expect("the annex"))
    };
    let (json, annex) = evaluated("1");
    assert_eq!((&json, &annex), (&evaluated("3").0, &evaluated("2").1));
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let verdicts: Vec<&str> = report["criteria"]
        .as_array()
        .expect("criteria")
        .iter()
        .filter_map(|criterion| criterion["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["author", "author", "n/a", "author"], "5.3.1, 5.3.2, 7.10, 7.11");
    assert_eq!(report["baseline"], "slowstart/cubic/prr");
    assert!(
        annex.starts_with("# Evaluation of rapid\n") && annex.contains("\nAUTHOR: "),
        "{annex}"
    );
    let sha = report["sha256"].as_str().expect("a hash");
    assert!(annex.contains(sha), "the annex names the battery");
    let wraps = |line: &&str| !line.contains(sha) && !line.starts_with('|');
    for line in annex.lines().filter(wraps) {
        assert!(line.chars().count() <= 72, "longer than a line of an RFC: {line}");
    }
    for text in [&json, &annex] {
        assert!(!text.to_lowercase().contains("compliant"), "nothing is compliant");
    }
}

#[test]
fn the_table_has_a_line_per_criterion_and_says_how_it_was_done() {
    let table = well(&["evaluate", "hystart++", "--quick", "--criteria", "7.10,7.11"]).stdout;
    for said in ["7.10", "n/a", "7.11", "author", "no thresholds", "battery rfc9743", "five seeds"]
    {
        assert!(table.contains(said), "`{said}` is missing: {table}");
    }
}

#[test]
fn a_cell_is_shown_number_by_number_with_the_baseline_beside_it() {
    let place = &["evaluate", "rapid", "--cell", "7.11/incast:8", "--seed", "3"];
    let table = well(place).stdout;
    for said in ["7.11/incast:8", "seed 3", "fct_ms", "rapid", "slowstart/cubic/prr"] {
        assert!(table.contains(said), "`{said}` is missing: {table}");
    }
    let json = well(&[place, &["--json", "-"][..]].concat()).json();
    assert_eq!(json["cell"]["runs"].as_array().map(Vec::len), Some(2), "both seats over time");
    let folder = tempfile::tempdir().expect("a folder");
    let drawn = run_in(&folder, &[place, &["--report", "cell.html"][..]].concat());
    assert_eq!(drawn.code, 0, "{}", drawn.stderr);
    let page = fs::read_to_string(folder.path().join("cell.html")).expect("the page");
    assert!(page.contains("7.11/incast:8, seed 3") && page.contains("x_mbps"), "both seats");
}

#[test]
fn the_page_has_the_cells_that_decided_over_time_and_the_annex_its_other_vocabulary() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = ["evaluate", "rapid", "--quick", "--criteria", "7.11,7.10"];
    let files = ["--report", "page.html", "--annex", "annex.XML"];
    let run = run_in(&folder, &[&asked[..], &files].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let read = |name| fs::read_to_string(folder.path().join(name)).expect("written");
    let page = read("page.html");
    let places = page.matches("\"x_mbps\"").count();
    assert!(places >= 2, "a cell of 7.11 with both in the seat: {places} flows");
    let annex = read("annex.XML");
    assert!(annex.contains("<name>Evaluation of rapid</name>"), "{annex}");
    assert!(annex.contains("<section anchor=\"evaluation-7.11\">"), "{annex}");
    assert_eq!(annex.matches("<section").count(), annex.matches("</section>").count());
}

#[test]
fn cells_are_listed_and_counted_without_a_run() {
    let list = well(&["evaluate", "--list", "--criteria", "5.1.3"]).stdout;
    assert!(list.contains("5.1.3/grid:1,0.1bdp") && list.contains("SHA-256"), "{list}");
    let csv = well(&["evaluate", "--list", "--criteria", "5.1.3", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().next(), Some("cell,path,seconds,flows,seeds"));
    let dry = well(&["evaluate", "rapid", "--dry-run"]).stdout;
    assert!(dry.contains("million packets") && dry.contains("two cores"), "{dry}");
}

#[test]
fn what_cannot_be_evaluated_is_refused_in_a_line() {
    refused(&[
        (&["evaluate"], "ARM"),
        (&["evaluate", "rapit"], "did you mean `rapid`?"),
        (&["evaluate", "rapid,search"], "2 arms; allowed: one"),
        (&["evaluate", "rapid", "--criteria", "5.1.33"], "no criterion `5.1.33`"),
        (&["evaluate", "rapid", "--exclude", "9"], "no criterion `9`"),
        (&["evaluate", "rapid", "--declare", "/no/such.toml"], "/no/such.toml"),
        (&["evaluate", "rapid", "--cell", "7.11/incast:9"], "did you mean `7.11/incast:8`?"),
        (&["evaluate", "rapid", "--battery", "/no/such"], "/no/such"),
        (&["evaluate", "kernel:bbr", "--criteria", "7.11"], "`--on linux`"),
        (&["evaluate", "rapid", "--quick", "--full"], "--quick and --full: allowed: one of them"),
        (
            &["evaluate", "rapid", "--dry-run", "--annex", "x.md"],
            "--annex: this run has no results",
        ),
    ]);
}

#[test]
fn a_wrong_declaration_ends_with_a_report_that_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let declared = |text: &str| {
        fs::write(folder.path().join("mine.toml"), text).expect("a file");
        let asked = ["evaluate", "slowstart/prague", "--quick", "--criteria", "7.6", "--json", "-"];
        run_in(&folder, &[&asked[..], &["--declare", "mine.toml"]].concat())
    };
    let wrong = declared("ecn = 'ect0'\n");
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("sends ECT(1)"), "{}", wrong.stderr);
    let report: serde_json::Value = serde_json::from_str(&wrong.stdout).expect("JSON");
    assert_eq!(
        (&report["runs"], &report["criteria"][0]["verdict"]),
        (&0.into(), &"not run".into())
    );
    let right = declared("ecn = 'ect1'\nexcludes = ['7.6']\n");
    assert_eq!(right.code, 0, "{}", right.stderr);
    let report: serde_json::Value = serde_json::from_str(&right.stdout).expect("JSON");
    assert_eq!(report["criteria"][0]["verdict"], "n/a");
    let misspelt = declared("\nexclude = ['7.6']\n");
    misspelt.refuses("exclude", "mine.toml:2: unknown field `exclude`");
}

/// A battery of three cells of a few seconds, of two criteria.
#[cfg(feature = "quic")]
fn small_battery(folder: &std::path::Path) {
    let joins = |id: &str, more: &str| {
        format!(
            "[[scenario]]\nid = '{id}'\npath = 'rate=5Mbit,rtt=40ms,queue=1bdp{more}'\nfor = '9s'\nseeds = 2\n\
             solo = 'victim'\n\
             flow = [{{ who = 'slowstart/cubic', role = 'victim' }}, {{ who = '@algorithm', start = '3s' }}]\n\
             judge = [{{ metric = 'harm_x', window = 'whole', of = 'victim', rule = 'not-more-than-baseline' }}]\n"
        )
    };
    let write = |section: &str, scenarios: &str| {
        let head = "title = 'Test'\nstrength = 'must'\nsource = 'here'\nabout = 'a test'\n";
        let text = format!("criterion = '{section}'\n{head}{scenarios}");
        fs::write(folder.join(format!("{section}-small.toml")), text).expect("a file");
    };
    fs::write(folder.join("VERSION"), "test").expect("a file");
    fs::write(folder.join("grids.toml"), "").expect("a file");
    write("5.2.1", &format!("{}{}", joins("joins", ""), joins("queues", ",fq_codel")));
    write("7.1", &joins("queues", ",fq_codel"));
}

#[cfg(feature = "quic")]
#[test]
fn a_stacks_own_controller_is_evaluated_on_its_stack() {
    let folder = tempfile::tempdir().expect("a folder");
    small_battery(folder.path());
    let asked = ["evaluate", "noq:newreno", "--on", "quic", "--baseline", "noq:cubic"];
    let asked = [&asked[..], &["--battery", ".", "--json", "-"]].concat();
    let evaluated = run_in(&folder, &asked);
    assert_eq!(evaluated.code, 0, "{}", evaluated.stderr);
    let report: serde_json::Value = serde_json::from_str(&evaluated.stdout).expect("JSON");
    assert_eq!((&report["testbed"], &report["cells"]), (&"quic".into(), &1.into()));
    let notes = report["notes"].to_string();
    assert!(notes.contains("2 cells are left out"), "{notes}");
    let criteria = report["criteria"].as_array().expect("criteria");
    let of = |section: &str| criteria.iter().find(|row| row["section"] == section).expect(section);
    let judged = &of("5.2.1")["judges"][0];
    assert_eq!((&judged["cell"], &judged["seeds"]), (&"5.2.1/joins".into(), &2.into()));
    // Half of the link, or about that, is what a newcomer takes from one flow.
    for value in ["value", "baseline"] {
        let harm = judged[value].as_f64().unwrap_or_else(|| panic!("{judged}"));
        assert!((0.1..0.8).contains(&harm), "{judged}");
    }
    assert_eq!(of("7.1")["verdict"], "not run");
    assert!(of("7.1")["reason"].as_str().expect("a reason").contains("fq_codel"), "{}", of("7.1"));
}

#[test]
fn an_earlier_run_is_held_against_a_later_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = ["evaluate", "rapid", "--quick", "--criteria", "7.11,7.10"];
    let first =
        run_in(&folder, &[&asked[..], &["--json", "old.json", "--report", "page.html"]].concat());
    assert_eq!(first.code, 0, "{}", first.stderr);
    let page = fs::read_to_string(folder.path().join("page.html")).expect("the page");
    assert!(page.contains("<!doctype html>") && page.contains("\"section\":\"7.11\""));
    let against = ["--against", "old.json", "--junit", "junit.xml", "--markdown", "note.md"];
    let same = run_in(&folder, &[&asked[..], &against].concat());
    assert_eq!(same.code, 0, "{}", same.stderr);
    let [xml, note] = ["junit.xml", "note.md"]
        .map(|name| fs::read_to_string(folder.path().join(name)).expect(name));
    assert!(xml.contains("tests=\"2\" failures=\"0\"") && xml.contains("<skipped"), "{xml}");
    assert!(note.contains("has not become worse"), "{note}");
    let other = run_in(&folder, &[&asked[..], &against, &["--seed", "2"]].concat());
    other.refuses("--seed 2", "different first seed (1, now 2)");
    fs::write(folder.path().join("no.json"), "{}").expect("a file");
    let bad = run_in(&folder, &[&asked[..], &["--against", "no.json"]].concat());
    bad.refuses("--against no.json", "not a result of `evaluate`");
}
