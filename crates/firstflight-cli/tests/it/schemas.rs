//! The output of `--json` validates against the published JSON Schemas.

use crate::command::run;
use serde_json::Value;
use std::fs;

/// What of JSON Schema is known here: all that our schemas use. A pattern is not tried.
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

#[test]
fn answers_are_as_their_schemas_say() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/plain.pcap.gz");
    let policed = "rate=20Mbit,rtt=80ms,policer=10Mbit:50ms";
    let asked: &[&[&str]] = &[
        &["compare", "--bytes", "300kB", "--json", "-"],
        &["compare", "--path", policed, "--bytes", "300kB", "--limit", "200ms", "--json", "-"],
        &["compare", "--path", "rate=20Mbit,rtt=80ms,loss=1%", "--bytes", "100kB", "--json", "-"],
        &["ab", "--population", "cdn", "--flows", "40", "--arms", "rapid,plumb", "--json", "-"],
        &[
            "tune",
            "slowstart@(iw=10..20)",
            "--budget",
            "60",
            "--flows",
            "100",
            "--holdout",
            "1000",
            "--json",
            "-",
        ],
        &["advise", sample, "--flows", "40", "--json", "-"],
        &["vectors", "--arms", "slowstart,rapid", "--json", "-"],
    ];
    for words in asked {
        // Code 1: too few connections for a recommendation.
        let run = run(words);
        assert!(run.code <= 1, "{words:?}: {}", run.stderr);
        let (answer, schema) = (run.json(), schema(words[0]));
        assert_eq!(misfit(&answer, &schema, &schema, words[0]), None, "{words:?}");
        assert!(misfit(&Value::Null, &schema, &schema, words[0]).is_some());
    }
}
