//! The page that the tables make, and the rules in `docs/referee.md`.

use super::{File, Judged};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const BEGIN: &str =
    "<!-- foreign: written by `WRITE_DOCS=1 cargo test -p firstflight-lab foreign` -->\n";
const END: &str = "<!-- end: foreign -->\n";

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

/// Where each rule shows: suite, file, test, and what it makes of the value.
fn places(judged: &[Judged]) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Judged { suite, verdicts } in judged {
        for (file, verdicts) in suite.files.iter().zip(verdicts) {
            for (row, verdict) in file.rows.iter().zip(verdicts) {
                let mut told = verdict.differences.clone();
                let more = told.len().saturating_sub(3);
                told.truncate(3);
                let more = if more > 0 { format!("; {more} more") } else { String::new() };
                for key in &row.by {
                    places.entry(key).or_default().push(format!(
                        "{} `{}` `{}`: {}{more}",
                        suite.name,
                        short(file),
                        row.test,
                        told.join("; ")
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
        "# Judged by other people's tests\n\n\
         Of {} tests in the suites of {suites} QUIC stacks, {asked} state something that our code can be asked: \
         it agrees with {} of them and differs from {} by {} named rules.\n\n\
         Values were transcribed with their place; `crates/firstflight-lab/tests/foreign/` has a table per suite, and one test \
         runs every row against our code. A difference is a fact of its row: a row fails if ours changes. No test code was copied. \
         The page is written by the same test (`WRITE_DOCS=1 cargo test -p firstflight-lab foreign`). What packetdrill's scripts say \
         about the TCP sender is in [Does stack X do what RFC Y says?](referee.md#packetdrill).\n\n\
         | suite | commit | tests | equal | differ by a named rule | not applicable | not transcribed | values judged |\n|---|---|---|---|---|---|---|---|\n",
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
    text.push_str("\n## Differences\n");
    let places = places(judged);
    for (key, says) in rules {
        write!(text, "\n### {key}\n\n{says}\n\n").expect("text");
        for place in places.get(key.as_str()).into_iter().flatten() {
            writeln!(text, "* {place}").expect("text");
        }
    }
    text.push_str("\n## Test by test\n");
    for one in judged {
        write!(text, "\n### {}\n", one.suite.name).expect("text");
        for (file, verdicts) in one.suite.files.iter().zip(&one.verdicts) {
            let source = format!(
                "https://github.com/{}/blob/{}/{}",
                one.suite.repository, one.suite.commit, file.path
            );
            write!(text, "\n[`{}`]({source}), {} tests.\n", file.path, file.tests).expect("text");
            let named = |differ: bool| -> Vec<String> {
                file.rows
                    .iter()
                    .zip(verdicts)
                    .filter(|(_, verdict)| verdict.differences.is_empty() != differ)
                    .map(|(row, _)| format!("`{}`", row.test))
                    .collect()
            };
            let mut items = vec![("Equal", named(false)), ("Different", named(true))];
            let quoted = |tests: &[String]| tests.iter().map(|test| format!("`{test}`")).collect();
            items.push(("Not transcribed", quoted(&file.left)));
            for not in &file.not {
                items.push((not.why.as_str(), quoted(&not.tests)));
            }
            text.push('\n');
            for (what, tests) in items.iter().filter(|(_, tests)| !tests.is_empty()) {
                writeln!(text, "* {what} ({}): {}", tests.len(), tests.join(", ")).expect("text");
            }
        }
    }
    text
}

/// The rules as lines of the page on stacks.
fn lines(judged: &[Judged], rules: &BTreeMap<String, String>) -> String {
    let places = places(judged);
    let mut text = String::from("\n");
    for (key, says) in rules {
        let many = places.get(key.as_str()).map_or(0, Vec::len);
        let s = if many == 1 { "" } else { "s" };
        writeln!(text, "* **{key}** ({many} test{s}): {says}").expect("text");
    }
    text.push('\n');
    text
}

/// Writes both if asked to, and otherwise compares.
pub(super) fn keep(judged: &[Judged], rules: &BTreeMap<String, String>) {
    let referee = std::fs::read_to_string(docs("referee.md")).expect("the page on stacks");
    let (before, rest) = referee.split_once(BEGIN).expect("a place for the rules");
    let (_, after) = rest.split_once(END).expect("its end");
    let referee_now = format!("{before}{BEGIN}{}{END}{after}", lines(judged, rules));
    let pages = [("foreign.md", page(judged, rules)), ("referee.md", referee_now)];
    for (name, now) in pages {
        if std::env::var_os("WRITE_DOCS").is_some() {
            std::fs::write(docs(name), now).expect("a page");
        } else {
            let kept = std::fs::read_to_string(docs(name)).expect("a page");
            assert!(kept == now, "docs/{name} is out of date: WRITE_DOCS=1 writes it");
        }
    }
}
