//! Compares the experiment files with the experiments of the papers: `firstflight run` must run what `reproduce`
//! measures.

use firstflight_lab::parse_arms;
use firstflight_lab::population::builtin;
use firstflight_papers::source;
use firstflight_path::{Path, builtins};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The part of a file's arms that must equal those of the document's experiments; the rest is free.
#[derive(Clone, Copy, Debug)]
enum Same {
    /// Every arm, with any sender options.
    Arms,
    /// Every startup.
    Startups,
    /// Every startup except jump start, which the plots do not show; the file has arms that every
    /// testbed supports.
    PlottedStartups,
    /// Every recovery, with any options.
    Recoveries,
}

/// Every experiment of a document: the file, the document, and their common part. `my-paths`
/// is a template, `best-satellite-kernel` has the arms of a kernel, `bbr3-or-cubic` those of a stack.
const FILES: &[(&str, &str, Same)] = &[
    ("hystart-plus-plus", "hystart++", Same::Arms),
    ("rapid-start-slide", "rapid-start", Same::PlottedStartups),
    ("rapid-start-cdn", "rapid-start", Same::Arms),
    ("best-satellite", "best", Same::Arms),
    ("gvisor-upload", "gvisor", Same::Arms),
    ("prr-bursts", "prr", Same::Recoveries),
    ("early-retransmit", "early-retransmit", Same::Startups),
];
const OTHERS: &[&str] = &["bbr3-or-cubic", "best-satellite-kernel", "my-paths"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// One text or a list of them.
fn texts(experiment: &toml::Table, key: &str) -> Vec<String> {
    match experiment.get(key) {
        Some(toml::Value::String(one)) => vec![one.clone()],
        Some(toml::Value::Array(all)) => {
            all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// The part of an arm that must be equal.
fn part(arm: &str, same: Same) -> String {
    // Short names stand for whole arms; the full name has every part.
    let named = parse_arms(arm).unwrap_or_else(|bad| panic!("{arm}: {bad}"));
    let full = named[0].full();
    let whole = full.split('@').next().unwrap_or_default();
    let mut parts = whole.split('/');
    let name = |part: Option<&str>| {
        part.unwrap_or_default().split('(').next().unwrap_or_default().to_owned()
    };
    match same {
        Same::Arms => whole.to_owned(),
        Same::Startups | Same::PlottedStartups => name(parts.next()),
        Same::Recoveries => name(parts.nth(2)),
    }
}

#[test]
fn an_experiment_in_a_file_compares_the_arms_that_reproduce_compares() {
    for (file, document, same) in FILES {
        let Ok(text) = fs::read_to_string(folder().join(format!("{file}.toml"))) else {
            eprintln!("experiments/ is not beside this crate (a package?): nothing to check");
            return;
        };
        let experiment: toml::Table =
            toml::from_str(&text).unwrap_or_else(|bad| panic!("{file}: {bad}"));
        let theirs: BTreeSet<String> = [texts(&experiment, "arms"), texts(&experiment, "baseline")]
            .concat()
            .iter()
            .map(|arm| part(arm, *same))
            .collect();
        let source = source(document).expect("a document");
        let plotted =
            |arm: &str| !matches!(same, Same::PlottedStartups) || !arm.starts_with("jumpstart");
        for arm in source.arms.iter().filter(|arm| plotted(arm)) {
            assert!(
                theirs.contains(&part(arm, *same)),
                "{file}.toml lacks the {same:?} of `{arm}`, which `reproduce {document}` measures: {theirs:?}"
            );
        }
        assert!(
            text.contains(&format!("reproduce {document}`")),
            "{file}.toml names the document that it belongs to"
        );
    }
}

#[test]
fn an_experiment_in_a_file_runs_on_built_in_paths_and_populations_where_the_document_has_one() {
    for (file, document, _) in FILES {
        let Ok(text) = fs::read_to_string(folder().join(format!("{file}.toml"))) else { return };
        let experiment: toml::Table =
            toml::from_str(&text).unwrap_or_else(|bad| panic!("{file}: {bad}"));
        for population in texts(&experiment, "population") {
            assert!(
                builtin::population(&population).is_some(),
                "{file}.toml: `{population}` is built in"
            );
        }
        for path in texts(&experiment, "path") {
            let parsed = Path::parse(&path);
            assert!(parsed.is_ok(), "{file}.toml: `{path}`: {parsed:?}");
            let name = path.split(',').next().unwrap_or_default();
            // The web and video servers are populations; a file shows one of their paths.
            let drawn = matches!(*document, "prr" | "early-retransmit");
            assert!(
                drawn || builtins().iter().any(|known| known.name == name),
                "{file}.toml: `{name}` is a built-in path, as in `reproduce {document}`"
            );
        }
    }
}

#[test]
fn no_experiment_in_a_file_is_left_out() {
    let Ok(entries) = fs::read_dir(folder()) else { return };
    let files = entries.filter_map(|entry| {
        entry.ok()?.path().file_name()?.to_str()?.strip_suffix(".toml").map(str::to_owned)
    });
    let known: BTreeSet<String> =
        FILES.iter().map(|file| file.0).chain(OTHERS.iter().copied()).map(str::to_owned).collect();
    assert_eq!(
        files.collect::<BTreeSet<String>>(),
        known,
        "experiments/*.toml and this test's list"
    );
}
