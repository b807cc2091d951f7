//! JSON Schemas of `docs/`, and answers held against them.

use serde_json::Value;
use std::fs;

/// The keywords of JSON Schema that our schemas use. `pattern` is accepted but not checked.
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
        // Within the schema, or in another one.
        let (file, place) = name.split_once('#').expect("a place");
        let other = (!file.is_empty()).then(|| self::schema(file.trim_end_matches(".schema.json")));
        let root = other.as_ref().unwrap_or(root);
        return misfit(value, root.pointer(place).expect("a definition"), root, at);
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

/// The answer must be as the schema with this name says, which must accept something but not
/// everything.
pub(crate) fn follows(name: &str, answer: &Value) {
    let schema = schema(name);
    assert_eq!(misfit(answer, &schema, &schema, name), None, "{name}: {answer}");
    assert!(misfit(&Value::Null, &schema, &schema, name).is_some(), "{name} accepts nothing");
}
