//! `docs/conformance.md` against the code and the tests, so that it cannot drift: ids, files,
//! items, tests, documents, options of arms. What each failure asks for stands in its message. A
//! packaged crate comes without the document: then there is nothing to check.

use firstflight::ExitReason;
use firstflight::arm::Arm;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A cell like `file: a, b; other file: c`.
type Places = Vec<(String, String)>;

struct Row {
    line: usize,
    id: String,
    code: Places,
    tests: Places,
    choice: String,
}

struct Page {
    documents: BTreeSet<String>,
    rows: Vec<Row>,
    /// Backticked texts that should be arms, with their lines.
    arms: Vec<(usize, String)>,
    /// The ids that the section on gaps lists as shown by no test.
    untested: BTreeSet<String>,
}

impl Page {
    fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }
}

fn krate() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The document, or `None` where it does not come with the crate.
fn page() -> Option<Page> {
    let Ok(text) = fs::read_to_string(krate().join("../../docs/conformance.md")) else {
        eprintln!("docs/conformance.md is not beside this crate (a package?): nothing to check");
        return None;
    };
    let mut page = Page {
        documents: BTreeSet::new(),
        rows: Vec::new(),
        arms: Vec::new(),
        untested: BTreeSet::new(),
    };
    let (mut section, mut header) = ("", Vec::new());
    for (line, text) in text.lines().enumerate().map(|(n, text)| (n + 1, text)) {
        if let Some(title) = text.strip_prefix("## ") {
            section = title;
        }
        if section == "Known gaps" && text.starts_with("- Rows without a test:") {
            page.untested = backticked(text).into_iter().collect();
        }
        if text.starts_with("|---") {
            continue;
        }
        let Some(cells) = text.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else {
            header.clear();
            continue;
        };
        let cells: Vec<&str> = cells.split(" | ").map(str::trim).collect();
        if header.is_empty() {
            header = cells;
            continue;
        }
        match header[..] {
            ["prefix", ..] => _ = page.documents.insert(cells[0].to_owned()),
            ["id", "rule", "code", "test", "choice"] => {
                let [id, _rule, code, tests, choice] = cells[..] else {
                    panic!(
                        "line {line} of docs/conformance.md has {} cells, not 5: write `|` in no cell",
                        cells.len()
                    );
                };
                page.rows.push(Row {
                    line,
                    id: id.to_owned(),
                    code: places(code),
                    tests: places(tests),
                    choice: choice.to_owned(),
                });
                page.arms.extend(
                    backticked(choice)
                        .into_iter()
                        .filter(|text| text.contains('('))
                        .map(|text| (line, text)),
                );
            }
            ["point", "chosen", "alternatives", "as an arm"] => {
                page.arms.extend(backticked(cells[3]).into_iter().map(|text| (line, text)));
            }
            _ => {}
        }
    }
    assert!(
        page.rows.len() > 200 && page.documents.len() > 20,
        "docs/conformance.md was not understood: {} rows",
        page.rows.len()
    );
    Some(page)
}

fn places(cell: &str) -> Places {
    let lists = cell.split("; ").filter_map(|list| list.split_once(": "));
    lists
        .flat_map(|(file, items)| {
            items.split(", ").map(move |item| (file.to_owned(), item.to_owned()))
        })
        .collect()
}

fn backticked(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Every file of the crate's directory `dir`, by its path from there.
fn files(dir: &str) -> BTreeMap<String, String> {
    fn walk(root: &Path, dir: &Path, into: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).expect("a directory of the crate") {
            let path = entry.expect("an entry of it").path();
            if path.is_dir() {
                walk(root, &path, into);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let name = path
                    .strip_prefix(root)
                    .expect("a path below it")
                    .to_string_lossy()
                    .replace('\\', "/");
                into.insert(name, fs::read_to_string(&path).expect("a source file"));
            }
        }
    }
    let root = krate().join(dir);
    let mut into = BTreeMap::new();
    walk(&root, &root, &mut into);
    // The media sender of the evaluation is the simulator's.
    let media = krate().join("../firstflight-sim").join(dir).join("nada.rs");
    into.extend(fs::read_to_string(media).ok().map(|text| ("nada.rs".to_owned(), text)));
    into
}

/// The ids in a text: a known document, or one that looks like one, and `section-item`. Comments
/// may break lines anywhere.
fn ids(text: &str, documents: &BTreeSet<String>) -> BTreeSet<String> {
    let words: Vec<&str> = text
        .lines()
        .flat_map(|line| line.trim_start().trim_start_matches(['/', '!']).split_whitespace())
        .collect();
    let mut found = BTreeSet::new();
    for pair in words.windows(2) {
        let document = pair[0].trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let end = pair[1]
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'))
            .unwrap_or(pair[1].len());
        let item = pair[1][..end].trim_end_matches(['.', '-']);
        let formed = item.contains('-') && item.split(['.', '-']).all(|part| !part.is_empty());
        let numbered = item.starts_with(|c: char| c.is_ascii_digit());
        let capitals = document.len() > 2
            && document.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        if formed && (documents.contains(document) || (capitals && numbered)) {
            found.insert(format!("{document} {item}"));
        }
    }
    found
}

/// The tests of a file and the ids that the doc comment of each says it shows.
fn shown(text: &str, documents: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut tests = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((name, _)) = line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')) else {
            continue;
        };
        let above = lines[..at]
            .iter()
            .rev()
            .take_while(|line| line.starts_with("///") || line.starts_with("#["))
            .count();
        let head = &lines[at - above..at];
        if head.contains(&"#[test]") {
            let shows = head
                .iter()
                .skip_while(|line| !line.starts_with("/// Shows "))
                .copied()
                .collect::<Vec<_>>()
                .join("\n");
            tests
                .entry(name.to_owned())
                .or_insert_with(BTreeSet::new)
                .extend(ids(&shows, documents));
        }
    }
    tests
}

/// Fails with everything that is wrong at once, and with what to do.
fn report(wrong: &[String], remedy: &str) {
    assert!(
        wrong.is_empty(),
        "{} things are wrong:\n  {}\n{remedy}",
        wrong.len(),
        wrong.join("\n  ")
    );
}

#[test]
fn every_id_in_the_code_is_in_the_table_and_the_other_way_round() {
    let Some(page) = page() else { return };
    let mut wrong = Vec::new();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in files("src") {
        for id in ids(&text, &page.documents) {
            found.entry(id).or_default().insert(file.clone());
        }
    }
    for (id, files) in &found {
        let named: BTreeSet<String> = page
            .row(id)
            .into_iter()
            .flat_map(|row| &row.code)
            .map(|(file, _)| file.clone())
            .collect();
        for file in files.difference(&named) {
            wrong.push(format!("`{id}` stands in src/{file}, which its row does not name"));
        }
    }
    for row in &page.rows {
        for (file, _) in row
            .code
            .iter()
            .filter(|(file, _)| !found.get(&row.id).is_some_and(|files| files.contains(file)))
        {
            wrong.push(format!("line {}: src/{file} does not carry `{}`", row.line, row.id));
        }
        if row.code.is_empty() {
            wrong.push(format!("line {}: `{}` names no code", row.line, row.id));
        }
    }
    report(
        &wrong,
        "Add a row to docs/conformance.md for a new id, name every file that carries it, or put the id beside the code that obeys it.",
    );
}

#[test]
fn every_id_has_one_row() {
    let Some(page) = page() else { return };
    let mut seen = BTreeSet::new();
    let twice: Vec<String> = page
        .rows
        .iter()
        .filter(|row| !seen.insert(&row.id))
        .map(|row| format!("line {}: `{}`", row.line, row.id))
        .collect();
    report(
        &twice,
        "Keep one row per id: an item may be named in several files, `file: item; other: item`.",
    );
}

#[test]
fn every_item_named_is_in_its_file() {
    let Some(page) = page() else { return };
    let sources = files("src");
    let mut wrong = Vec::new();
    for row in &page.rows {
        for (file, item) in row.code.iter().filter(|(_, item)| item != "module") {
            let name = item.rsplit("::").next().unwrap_or(item);
            let text = sources.get(file).map_or("", String::as_str);
            let there = text
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .any(|word| word == name);
            if !there {
                wrong.push(format!("line {}: no `{name}` in src/{file}", row.line));
            }
        }
    }
    report(
        &wrong,
        "Name what carries the rule now: a function, a type, a constant, or `module` for the head of the file.",
    );
}

#[test]
fn every_test_named_shows_its_rule_and_every_rule_shown_names_its_test() {
    let Some(page) = page() else { return };
    let mut wrong = Vec::new();
    let tests: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = files("tests/it")
        .into_iter()
        .map(|(file, text)| (file, shown(&text, &page.documents)))
        .collect();
    for row in &page.rows {
        for (file, name) in &row.tests {
            match tests.get(file).map(|tests| tests.get(name)) {
                None => wrong.push(format!("line {}: there is no tests/it/{file}", row.line)),
                Some(None) => {
                    wrong.push(format!("line {}: tests/it/{file} has no test `{name}`", row.line));
                }
                Some(Some(shows)) if !shows.contains(&row.id) => {
                    wrong.push(format!(
                        "line {}: `{name}` in tests/it/{file} does not say that it shows {}",
                        row.line, row.id
                    ));
                }
                Some(Some(_)) => {}
            }
        }
    }
    for (file, tests) in &tests {
        for (name, shows) in tests {
            for id in shows {
                let place = (file.clone(), name.clone());
                if !page.row(id).is_some_and(|row| row.tests.contains(&place)) {
                    wrong.push(format!(
                        "tests/it/{file}: `{name}` says it shows {id}, whose row does not name it"
                    ));
                }
            }
        }
    }
    report(
        &wrong,
        "Put `/// Shows ID, ID.` above the `#[test]` that shows a rule, and its file and name into the row, or take both out.",
    );
}

#[test]
fn every_row_has_a_test_or_says_why_not() {
    let Some(page) = page() else { return };
    let bare: Vec<&Row> = page.rows.iter().filter(|row| row.tests.is_empty()).collect();
    let mute: Vec<String> = bare
        .iter()
        .filter(|row| row.choice.is_empty())
        .map(|row| format!("line {}: `{}`", row.line, row.id))
        .collect();
    report(
        &mute,
        "Write the test that shows the rule, or a departure with its reason into the last cell.",
    );
    let bare: BTreeSet<String> = bare.into_iter().map(|row| row.id.clone()).collect();
    let differ: Vec<String> =
        bare.symmetric_difference(&page.untested).map(|id| format!("`{id}`")).collect();
    report(&differ, "List exactly the rows without a test in the last point of \"Known gaps\".");
}

#[test]
fn every_prefix_is_a_document_and_every_document_has_a_rule() {
    let Some(page) = page() else { return };
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    let code = files("src").into_iter().map(|(file, text)| (format!("src/{file}"), text));
    let tests = files("tests/it")
        .into_iter()
        .filter(|(file, _)| file != "conformance.rs")
        .map(|(file, text)| (format!("tests/it/{file}"), text));
    for (file, text) in code.chain(tests) {
        for id in ids(&text, &page.documents) {
            let prefix = id.split(' ').next().unwrap_or_default();
            if !page.documents.contains(prefix) {
                wrong.push(format!("{file}: `{id}` is of no document in the list"));
            } else if page.row(&id).is_none() {
                wrong.push(format!("{file}: `{id}` has no row"));
            }
            used.insert(prefix.to_owned());
        }
    }
    wrong.extend(
        page.documents
            .difference(&used)
            .map(|prefix| format!("no rule of {prefix} is in the code")),
    );
    report(
        &wrong,
        "Add the document with its version and date to the table of documents, move ids of a superseded document, or mend the id.",
    );
}

#[test]
fn every_option_named_is_one_that_arms_accept() {
    let Some(page) = page() else { return };
    let refused = |(line, text): &(usize, String)| {
        Arm::parse(text).err().map(|error| format!("line {line}: `{text}`: {error}"))
    };
    let wrong: Vec<String> = page.arms.iter().filter_map(refused).collect();
    report(
        &wrong,
        "Write the alternative as an arm that parses, or leave the cell empty if it is not offered.",
    );
    assert!(
        page.arms.len() > 60,
        "only {} arms were found: were the readings moved?",
        page.arms.len()
    );
}

#[test]
fn every_exit_reason_stands_in_the_metrics() {
    let Ok(text) = fs::read_to_string(krate().join("../../docs/metrics.md")) else { return };
    let (_, list) =
        text.split_once("\nExit reasons: ").expect("docs/metrics.md lists the exit reasons");
    let (list, _) = list.split_once("\n\n").unwrap_or((list, ""));
    let listed: BTreeSet<String> = backticked(list).into_iter().collect();
    let known: BTreeSet<String> =
        ExitReason::ALL.iter().map(|reason| reason.name().to_owned()).collect();
    assert_eq!(
        listed, known,
        "the exit reasons of docs/metrics.md and those of the core (exit.rs)"
    );
}
