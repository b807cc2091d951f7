//! The output of `--json` validates against the published JSON Schemas.

use crate::command::{run, well};
use serde_json::Value;
use std::fs;

/// The part of JSON Schema that our schemas use. Patterns are not tried.
const KNOWN: [&str; 18] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "minimum",
    "oneOf",
    "pattern",
    "prefixItems",
    "properties",
    "required",
    "type",
];

/// The first place at which a value does not fit a schema.
fn misfit(value: &Value, schema: &Value, root: &Value, at: &str) -> Option<String> {
    let words = schema.as_object().expect("a schema").keys();
    for word in words.filter(|word| *word != "title") {
        assert!(KNOWN.contains(&word.as_str()), "{at}: {word} is not known");
    }
    if let Some(name) = schema["$ref"].as_str() {
        return misfit(value, root.pointer(&name[1..]).expect("a definition"), root, at);
    }
    let list = |key: &str| schema[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let alternatives = [list("anyOf"), list("oneOf")].concat();
    if !alternatives.is_empty() {
        let fits = alternatives.iter().any(|one| misfit(value, one, root, at).is_none());
        return (!fits).then(|| format!("{at}: {value} fits no alternative"));
    }
    let is = |kind: &Value| match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => panic!("{at}: a type {kind}"),
    };
    let typed = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    };
    let named = schema["enum"].is_null() || list("enum").contains(value);
    if !typed || !named || schema.get("const").is_some_and(|one| one != value) {
        return Some(format!("{at}: {value}"));
    }
    if schema["minimum"]
        .as_f64()
        .is_some_and(|least| value.as_f64().is_some_and(|value| value < least))
    {
        return Some(format!("{at}: {value} is too small"));
    }
    if let Some(items) = value.as_array() {
        let limit = |key: &str, none: u64| schema[key].as_u64().unwrap_or(none);
        let allowed = limit("minItems", 0)..=limit("maxItems", u64::MAX);
        if !allowed.contains(&(items.len() as u64)) {
            return Some(format!("{at}: {} items", items.len()));
        }
        let of = |index: usize| list("prefixItems").get(index).unwrap_or(&schema["items"]);
        let mut items = items.iter().enumerate();
        return items.find_map(|(i, item)| misfit(item, of(i), root, &format!("{at}[{i}]")));
    }
    let fields = value.as_object()?;
    let missing = list("required").iter().filter_map(Value::as_str);
    if let Some(name) = missing.into_iter().find(|name| !fields.contains_key(*name)) {
        return Some(format!("{at}: no {name}"));
    }
    fields.iter().find_map(|(name, field)| {
        let at = format!("{at}.{name}");
        match schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]) {
            Value::Bool(false) => Some(format!("{at}: not in the schema")),
            Value::Null => None,
            schema => misfit(field, schema, root, &at),
        }
    })
}

fn schema(name: &str) -> Value {
    let page = format!("{}/../../docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&fs::read_to_string(page).expect("a schema")).expect("JSON")
}

/// Runs a command and holds its answer against a schema.
fn follows(name: &str, words: &[&str]) {
    // Code 1: too few connections for a recommendation, or a check that fails.
    let run = run(&[words, &["--json", "-"]].concat());
    assert!(run.code <= 1, "{words:?}: {}", run.stderr);
    let (answer, schema) = (run.json(), schema(name));
    assert_eq!(misfit(&answer, &schema, &schema, name), None, "{words:?}");
    assert!(misfit(&Value::Null, &schema, &schema, name).is_some(), "{name} accepts nothing");
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
    let tests = include_str!("schemas.rs");
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
