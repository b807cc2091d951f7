//! The pages generated from the tables: `docs/foreign.md` and `docs/foreign-tests.md`.

use super::{File, Judged};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Default)]
struct Counts {
    equal: usize,
    differ: usize,
    not: usize,
    left: usize,
    stated: usize,
}

fn docs(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page)
}

fn count(judged: &Judged) -> Counts {
    let mut counts = Counts::default();
    for (file, verdicts) in judged.suite.files.iter().zip(&judged.verdicts) {
        counts.differ += verdicts.iter().filter(|verdict| !verdict.differences.is_empty()).count();
        counts.equal += verdicts.iter().filter(|verdict| verdict.differences.is_empty()).count();
        counts.stated += verdicts.iter().map(|verdict| verdict.stated).sum::<usize>();
        counts.not += file.not.iter().map(|not| not.tests.len()).sum::<usize>();
        counts.left += file.left.len();
    }
    counts
}

fn row(text: &mut String, name: &str, commit: &str, counts: Counts) {
    let Counts { equal, differ, not, left, stated } = counts;
    let tests = equal + differ + not + left;
    writeln!(
        text,
        "| {name} | {commit} | {tests} | {equal} | {differ} | {not} | {left} | {stated} |"
    )
    .expect("text");
}

fn short(file: &File) -> &str {
    file.path.rsplit_once('/').map_or(file.path.as_str(), |(_, name)| name)
}

/// Tests of each rule: a row per test, with the values of both.
fn places(judged: &[Judged]) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Judged { suite, verdicts } in judged {
        for (file, verdicts) in suite.files.iter().zip(verdicts) {
            for (row, verdict) in file.rows.iter().zip(verdicts) {
                let mut values = verdict.differences.clone();
                let more = values.len().saturating_sub(3);
                values.truncate(3);
                let more = if more > 0 { format!("; {more} more") } else { String::new() };
                for key in &row.by {
                    places.entry(key).or_default().push(format!(
                        "| {} | `{}` | `{}` | {}{more} |",
                        suite.name,
                        short(file),
                        row.test,
                        values.join("; ")
                    ));
                }
            }
        }
    }
    places
}

fn page(judged: &[Judged], rules: &BTreeMap<String, String>) -> String {
    let mut all = Counts::default();
    for counts in judged.iter().map(count) {
        all.equal += counts.equal;
        all.differ += counts.differ;
        all.not += counts.not;
        all.left += counts.left;
        all.stated += counts.stated;
    }
    let (asked, suites) = (all.equal + all.differ, judged.len());
    let mut text = format!(
        "# Other stacks' test suites\n\n\
         The suites of {suites} QUIC stacks have {} tests of congestion control and loss detection. {asked} of them state values \
         that our code can compute. It agrees with {} tests and differs from {}; {} named rules explain every difference.\n\n\
         We transcribed the values, not the code, into one table per suite (`crates/firstflight-lab/tests/foreign/`). One test runs \
         every row against our code and fails if our value changes. It also generates this page and the \
         [list of all tests](foreign-tests.md): `WRITE_DOCS=1 cargo test -p firstflight-lab foreign`. For packetdrill scripts see \
         [Do stacks follow the documents?](referee.md#packetdrill).\n\n\
         | suite | commit | tests | equal | differ by a named rule | not applicable | not transcribed | values compared |\n|---|---|---|---|---|---|---|---|\n",
        all.equal + all.differ + all.not + all.left,
        all.equal,
        all.differ,
        rules.len(),
    );
    for one in judged {
        let commit = one.suite.commit.get(..10).unwrap_or(&one.suite.commit);
        row(&mut text, &one.suite.name, &format!("`{commit}`"), count(one));
    }
    row(&mut text, "all", "", all);
    text.push_str("\n## Rules\n\n| rule | difference | tests |\n|---|---|---|\n");
    let places = places(judged);
    for (key, says) in rules {
        let many = places.get(key.as_str()).map_or(0, Vec::len);
        writeln!(text, "| [{key}](foreign-tests.md#{key}) | {says} | {many} |").expect("text");
    }
    text
}

/// Every test of every suite, and the values that differ.
fn tests(judged: &[Judged], rules: &BTreeMap<String, String>) -> String {
    let mut text = String::from(
        "# Other stacks' tests, one by one\n\n\
         Generated with [the summary](foreign.md), which explains the rules.\n\n## Differences\n",
    );
    let places = places(judged);
    for key in rules.keys() {
        write!(text, "\n### {key}\n\n| suite | file | test | value |\n|---|---|---|---|\n")
            .expect("text");
        for place in places.get(key.as_str()).into_iter().flatten() {
            writeln!(text, "{place}").expect("text");
        }
    }
    text.push_str("\n## Tests by file\n");
    for one in judged {
        write!(text, "\n### {}\n", one.suite.name).expect("text");
        for (file, verdicts) in one.suite.files.iter().zip(&one.verdicts) {
            let source = format!(
                "https://github.com/{}/blob/{}/{}",
                one.suite.repository, one.suite.commit, file.path
            );
            let named = |differ: bool| -> Vec<String> {
                file.rows
                    .iter()
                    .zip(verdicts)
                    .filter(|(_, verdict)| verdict.differences.is_empty() != differ)
                    .map(|(row, _)| format!("`{}`", row.test))
                    .collect()
            };
            let mut items = vec![("equal", named(false)), ("different", named(true))];
            let quoted = |tests: &[String]| tests.iter().map(|test| format!("`{test}`")).collect();
            items.push(("not transcribed", quoted(&file.left)));
            for not in &file.not {
                items.push((not.why.as_str(), quoted(&not.tests)));
            }
            write!(
                text,
                "\n[`{}`]({source}), {} tests.\n\n| result | count | tests |\n|---|---|---|\n",
                file.path, file.tests
            )
            .expect("text");
            for (what, tests) in items.iter().filter(|(_, tests)| !tests.is_empty()) {
                writeln!(text, "| {what} | {} | {} |", tests.len(), tests.join(", "))
                    .expect("text");
            }
        }
    }
    text
}

/// Writes the pages if asked to, and otherwise compares.
pub(super) fn keep(judged: &[Judged], rules: &BTreeMap<String, String>) {
    let pages = [("foreign.md", page(judged, rules)), ("foreign-tests.md", tests(judged, rules))];
    for (name, now) in pages {
        if std::env::var_os("WRITE_DOCS").is_some() {
            std::fs::write(docs(name), now).expect("a page");
        } else {
            let kept = std::fs::read_to_string(docs(name)).expect("a page");
            assert!(kept == now, "docs/{name} is out of date: WRITE_DOCS=1 writes it");
        }
    }
}
