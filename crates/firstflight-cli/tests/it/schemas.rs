//! The output of `--json` validates against the published JSON Schemas.

use crate::command::{run, schema, well};
use std::fs;

/// Runs a command and holds its answer against a schema.
fn follows(name: &str, words: &[&str]) {
    // Code 1: too few connections for a recommendation, or a check that fails.
    let run = run(&[words, &["--json", "-"]].concat());
    assert!(run.code <= 1, "{words:?}: {}", run.stderr);
    schema::follows(name, &run.json());
}

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/plain.pcap.gz");

#[test]
fn answers_are_as_their_schemas_say() {
    let policed = "rate=20Mbit,rtt=80ms,policer=10Mbit:50ms";
    let tune = ["tune", "slowstart@(iw=10..20)", "--budget", "60", "--flows", "100"];
    let asked: &[&[&str]] = &[
        &["compare", "--bytes", "300kB"],
        &["compare", "--path", policed, "--bytes", "300kB", "--limit", "200ms"],
        &["compare", "--path", "rate=20Mbit,rtt=80ms,loss=1%", "--bytes", "100kB"],
        &["ab", "--population", "cdn", "--flows", "40", "--arms", "rapid,plumb"],
        &[&tune[..], &["--holdout", "1000"]].concat(),
        &["advise", SAMPLE, "--flows", "40"],
        &["vectors", "--arms", "slowstart,rapid"],
        &["reproduce", "cuback", "--quick"],
        &["evaluate", "rapid", "--quick", "--criteria", "5.1.3"],
        &["conform", "slowstart", "--bytes", "50kB"],
        &["conform", "rapid", "--against", "slowstart", "--bytes", "200kB"],
        &["drill", concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/drill/tail.pkt")],
        &["replay", SAMPLE],
        &["replay", SAMPLE, "--identify"],
    ];
    for words in asked {
        follows(words[0], words);
    }
}

#[test]
fn answers_of_several_flows_points_and_comparisons_are_as_their_schemas_say() {
    let short = ["compare", "--bytes", "100kB", "--arms", "slowstart,rapid"];
    for more in [
        &["--flows", "2"][..],
        &["--flows", "2", "--apart", "1s", "--cross", "slowstart", "--limit", "2s"],
        &["--flows", "2", "--app", "web:3:500ms"],
    ] {
        follows("flows", &[&short[..], more].concat());
    }
    for more in [&["--sweep", "rtt=10ms,40ms"][..], &["--sweep", "loss=0%,1%", "--limit", "50ms"]] {
        follows("sweep", &[&short[..], more].concat());
    }
    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/");
    for file in ["rapid-start-slide.toml", "gvisor-upload.toml"] {
        follows("run", &["run", &format!("{experiment}{file}")]);
    }
}

#[test]
fn answers_about_answers_are_as_their_schemas_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, words: &[&str]| {
        let file = folder.path().join(name).to_str().expect("text").to_owned();
        well(&[words, &["--json", &file]].concat());
        file
    };
    let compare = |iw| ["compare", "--bytes", "100kB", "--arms", "slowstart,rapid", "--iw", iw];
    let (a, b) = (file("a.json", &compare("10")), file("b.json", &compare("30")));
    for (a, b) in [(&a, &b), (&a, &a)] {
        follows("diff", &["diff", a, b]);
        follows("check", &["check", a, "--against", b]);
    }
}

/// Commands whose JSON is a format of their table.
#[test]
fn lists_are_as_their_schemas_say() {
    for words in [
        &["populations"][..],
        &["populations", "geo"],
        &["populations", "describe", "cdn"],
        #[cfg(all(feature = "bpf", target_os = "linux"))]
        &["kernel", "list"],
    ] {
        let answer = well(&[words, &["--format", "json"]].concat()).json();
        assert!(answer.as_array().is_some_and(|rows| !rows.is_empty()), "{words:?} lists nothing");
        schema::follows(words[0], &answer);
    }
}

#[cfg(feature = "quic")]
#[test]
fn an_answer_about_a_failed_download_is_as_its_schema_says() {
    // Nothing listens on the discard port.
    follows("fetch", &["fetch", "https://127.0.0.1:9/", "--insecure", "--limit", "1s"]);
}

#[cfg(feature = "field")]
#[test]
fn answers_about_field_tests_are_as_their_schema_says() {
    let rows = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/connections.csv.gz");
    let analyse = ["trial", "analyse", rows, "--time", "ttlb_ms"];
    follows("trial", &analyse);
    follows("trial", &[&analyse[..], &["--size", "bytes", "--cluster", "client"]].concat());
}

/// Every schema is tried above, and listed for readers.
#[test]
fn the_documents_list_every_schema() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let list = fs::read_to_string(format!("{docs}/commands.md")).expect("a page");
    let tests = concat!(
        include_str!("schemas.rs"),
        include_str!("../real/serve.rs"),
        include_str!("../real/watch.rs")
    );
    let mut seen = 0;
    for file in fs::read_dir(docs).expect("a folder") {
        let file = file.expect("a file").file_name().into_string().expect("text");
        let Some(name) = file.strip_suffix(".schema.json") else { continue };
        assert!(list.contains(&format!("]({file})")), "docs/commands.md does not link {file}");
        assert!(tests.contains(&format!("\"{name}\"")), "no test tries {file}");
        seen += 1;
    }
    assert!(seen > 12, "docs has {seen} schemas");
}
