//! Values that the tests of other QUIC stacks state, checked against our code: one table per suite
//! in `tests/foreign/`, and the page `docs/foreign.md` generated from them.

mod drive;
mod page;
mod sender;
mod subject;

use drive::{Run, Verdict};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    /// Name on the page.
    name: String,
    /// Owner and name on GitHub.
    repository: String,
    /// The commit whose values these are.
    commit: String,
    #[serde(rename = "file")]
    files: Vec<File>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: String,
    /// Tests in it.
    tests: usize,
    #[serde(default, rename = "row")]
    rows: Vec<Row>,
    /// Tests that say nothing about ours, and why.
    #[serde(default, rename = "not")]
    not: Vec<Not>,
    /// Tests that were not transcribed.
    #[serde(default)]
    left: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    test: String,
    steps: String,
    /// Rules by which ours differs: keys of `rules.toml`.
    #[serde(default)]
    by: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Not {
    why: String,
    tests: Vec<String>,
}

/// A rule on which implementations differ.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    key: String,
    /// The difference, the side that is right, and the text that says so.
    says: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(rename = "rule")]
    rules: Vec<Rule>,
}

/// A suite with what became of its rows: by file, in the order of the table.
struct Judged {
    suite: Suite,
    verdicts: Vec<Vec<Verdict>>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign")
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> T {
    let text = std::fs::read_to_string(file).expect("a table");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn suites() -> Vec<Judged> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("the tables")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "rules"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|file| {
            let suite: Suite = read(file);
            let verdicts = suite
                .files
                .iter()
                .map(|file| file.rows.iter().map(|row| Run::of(&row.steps)).collect())
                .collect();
            Judged { suite, verdicts }
        })
        .collect()
}

/// Error in a row.
fn faults(row: &Row, verdict: &Verdict, rules: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = verdict.wrong.clone();
    if verdict.stated == 0 {
        faults.push("states nothing".to_owned());
    }
    if faults.is_empty() && verdict.differences.is_empty() != row.by.is_empty() {
        faults.push(format!("{} differences by {} rules", verdict.differences.len(), row.by.len()));
    }
    let unknown = row.by.iter().filter(|key| !rules.contains_key(*key));
    faults.extend(unknown.map(|key| format!("no rule `{key}`")));
    faults
}

#[test]
fn every_row_is_as_its_table_says() {
    let rules: Rules = read(&folder().join("rules.toml"));
    let rules: BTreeMap<String, String> =
        rules.rules.into_iter().map(|rule| (rule.key, rule.says)).collect();
    let (judged, mut wrong) = (suites(), Vec::new());
    let mut used = BTreeSet::new();
    for Judged { suite, verdicts } in &judged {
        for (file, verdicts) in suite.files.iter().zip(verdicts) {
            for (row, verdict) in file.rows.iter().zip(verdicts) {
                used.extend(row.by.iter().cloned());
                for fault in faults(row, verdict, &rules) {
                    wrong.push(format!("{} {} {}: {fault}", suite.name, file.path, row.test));
                }
            }
            let names: Vec<&String> = file
                .rows
                .iter()
                .map(|row| &row.test)
                .chain(file.not.iter().flat_map(|not| &not.tests))
                .chain(&file.left)
                .collect();
            let once: BTreeSet<&&String> = names.iter().collect();
            if (once.len(), names.len()) != (file.tests, file.tests) {
                wrong.push(format!(
                    "{} {}: {} tests, {} rows, {} names",
                    suite.name,
                    file.path,
                    file.tests,
                    names.len(),
                    once.len()
                ));
            }
        }
    }
    wrong.extend(
        rules.keys().filter(|key| !used.contains(*key)).map(|key| format!("no use of `{key}`")),
    );
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
    page::keep(&judged, &rules);
}

#[test]
fn a_wrong_value_is_found() {
    let steps = "law reno mss=1000 cwnd=10000\ngrow 10000\ncwnd = 11000";
    assert!(Run::of(steps).wrong.is_empty());
    for other in ["cwnd = 11001", "cwnd = 11000, ours 11000", "cwnd = 12000, ours 11001", "cwn = 1"]
    {
        let verdict = Run::of(&steps.replace("cwnd = 11000", other));
        assert_eq!(verdict.wrong.len(), 1, "{other}: {verdict:?}");
    }
    let verdict = Run::of(&steps.replace("cwnd = 11000", "cwnd = 12000, ours 11000"));
    assert_eq!(verdict.differences, ["cwnd 12000, ours 11000"], "{verdict:?}");
}
