//! `firstflight reproduce`: every row by name, the same bytes for the same run, and helpful
//! refusals.

use crate::command;

use command::{refused, run_in, well};
use firstflight_papers::SOURCES;
use serde_json::Value;
use std::fs;

#[test]
fn the_list_names_every_document_with_every_row() {
    let list = well(&["reproduce", "--list"]).stdout;
    for source in SOURCES.iter() {
        assert!(
            list.lines().any(|line| line.starts_with(source.name)),
            "{} is listed: {list}",
            source.name
        );
        for item in &source.items {
            let listed = list.lines().any(|line| {
                line.trim_start().starts_with(item.id) && line.contains(item.published)
            });
            assert!(listed, "row {} of {} is listed with what was published", item.id, source.name);
        }
    }
    let one = well(&["reproduce", "--list", "best"]).stdout;
    assert!(
        one.starts_with("best") && !one.contains("hystart++ "),
        "a name narrows the list: {one}"
    );
}

#[test]
fn a_document_is_measured_row_by_row_with_the_same_bytes_for_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = |threads: &str| {
        let run = run_in(
            &folder,
            &[
                "reproduce",
                "early-retransmit",
                "--quick",
                "--json",
                "-",
                "--markdown",
                "page.md",
                "--csv",
                "rows.csv",
                "--report",
                "page.html",
                "--threads",
                threads,
            ],
        );
        assert_eq!(run.code, 0, "it ends well: {}", run.stderr);
        run
    };
    let (one, three) = (json("1"), json("3"));
    assert!(one.stdout == three.stdout, "the JSON does not depend on the number of threads");
    let document = one.json();
    assert_eq!(document["quick"], true);
    let chapter = &document["sources"][0];
    assert_eq!(chapter["name"], "early-retransmit");
    let rows = chapter["rows"].as_array().expect("rows");
    for id in ["5.4.1", "5.4.2", "5.4.3", "5.4.4", "5.4.5"] {
        assert!(rows.iter().any(|row| row["id"] == id), "row {id} is there");
    }
    let known = chapter["assumptions"].as_array().expect("assumptions");
    let known: Vec<&Value> = known.iter().map(|one| &one["name"]).collect();
    for row in rows {
        assert!(
            row["claim"].as_str().is_some_and(|text| !text.is_empty()),
            "{row} says what was published"
        );
        for name in row["assumptions"].as_array().expect("names") {
            assert!(known.contains(&name), "{name} of row {} is explained", row["id"]);
        }
        assert!(
            row["gates"] != "U" || row["verdict"] == "exact",
            "a consequence of the algebra holds: {row}"
        );
    }
    let mut keys: Vec<&str> = rows.iter().filter_map(|row| row["key"].as_str()).collect();
    keys.sort_unstable();
    assert!(
        keys.len() == rows.len() && keys.windows(2).all(|pair| pair[0] != pair[1]),
        "every row has a key of its own: {keys:?}"
    );
    let more = rows
        .iter()
        .find(|row| row["id"] == "5.4.2" && row["gates"] == "GB")
        .expect("the gated row");
    for field in ["published", "measured", "interval", "unit", "ratio"] {
        assert!(!more[field].is_null(), "{field} of {more}");
    }
    assert_eq!(more["published"]["value"], 1.13, "what was published, as a number");
    let counted: u64 =
        document["count"].as_object().expect("counts").values().filter_map(Value::as_u64).sum();
    assert_eq!(counted, rows.len() as u64, "the counts are those of the rows");
    assert!(!one.stdout.contains("none %"), "what is unknown is no number");
    let page = fs::read_to_string(folder.path().join("page.md")).expect("the page was written");
    assert!(
        page.starts_with("<!-- Written by `firstflight reproduce early-retransmit --quick"),
        "the page names its command"
    );
    assert!(
        page.contains("\n| 5.4.2 | direction, size |") && !page.contains("5.4.2#2"),
        "and has a line per claim"
    );
    let table = fs::read_to_string(folder.path().join("rows.csv")).expect("the table was written");
    assert!(
        table.starts_with("document,row,") && table.contains("\nearly-retransmit,5.4.2#1,GB,"),
        "the table has the rows"
    );
    assert_eq!(table.lines().count(), rows.len() + 1, "every row and the names");
    let report =
        fs::read_to_string(folder.path().join("page.html")).expect("the report was written");
    assert!(
        report.contains(
            "data-l=\"row:\">5.4.2#1</td><td class=\"name\" data-l=\"check:\">direction, size"
        ),
        "the report has the rows, too"
    );
    assert!(report.contains("published, mitigated"), "and the pictures");
    assert!(
        !report.contains("src=")
            && !report.contains("http://www.w3.org/1999/xhtml")
            && !report.contains("http://firstflight")
            && !report.contains("https://"),
        "and fetches nothing"
    );
}

#[test]
fn what_is_no_document_is_refused_with_the_nearest_name() {
    refused(&[
        (&["reproduce", "hystart+"], "unknown document `hystart+` (did you mean `hystart++`?)"),
        (&["reproduce", "rapidstart"], "did you mean `rapid-start`?"),
        (&["reproduce", "quantum"], "unknown document `quantum`; allowed: hystart++, rapid-start"),
        (&["reproduce"], "name the documents to reproduce, or --all; there are hystart++"),
        (&["reproduce", "--all", "best"], "--all: cannot be combined with names"),
        (&["reproduce", "best", "--json", "no/such/folder.json"], "no/such"),
    ]);
}
