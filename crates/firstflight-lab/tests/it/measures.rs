//! One table of measures: what rows have in JSON, what people are shown and what `docs/metrics.md`
//! defines are the same.

use firstflight_lab::compare::Keep;
use firstflight_lab::measures::{Field, Holds, Measure, columns, markdown};
use firstflight_lab::report::Better;
use firstflight_lab::table::table;
use firstflight_lab::{Comparison, Plan, Scenario, TrialRow, parse_arms};
use firstflight_path::Path;
use serde_json::Value;
use std::{env, fs};

fn comparison() -> Comparison {
    let scenario = Scenario::new(Path::parse("rapid-slide").expect("a path"), 5_000_000);
    Plan::new(parse_arms("slowstart,oracle").expect("arms"), scenario)
        .run(Keep::Rows, &|| ())
        .expect("runs")
}

/// Names and kinds of an object are those of its measures, in order.
fn agrees(measures: &[Measure], object: &Value, whose: &str) {
    let object = object.as_object().unwrap_or_else(|| panic!("{whose} is no object: {object}"));
    let names: Vec<&str> = measures.iter().map(|measure| measure.name).collect();
    let mut expected: Vec<&str> = object.keys().map(String::as_str).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected, "measures of {whose}");
    for measure in measures {
        let value = &object[measure.name];
        let right = match measure.holds {
            _ if value.is_null() => true,
            Holds::Text => value.is_string(),
            Holds::Whole => value.is_u64(),
            Holds::Real => value.is_f64(),
            Holds::Flag => value.is_boolean(),
            Holds::Record(inner) => {
                agrees(inner, value, measure.name);
                true
            }
            Holds::List(inner) => {
                value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|one| agrees(inner, one, measure.name));
                true
            }
        };
        assert!(right, "{whose}.{} is {value}, not {:?}", measure.name, measure.holds);
    }
}

#[test]
fn a_row_in_json_is_its_measures() {
    for row in &comparison().rows {
        let json = serde_json::to_value(row).expect("JSON");
        agrees(TrialRow::MEASURES, &json, "a trial");
        for column in columns(TrialRow::MEASURES) {
            let pointer = format!("/{}", column.path.replace('.', "/"));
            let told = json.pointer(&pointer).and_then(Value::as_f64);
            assert_eq!(
                row.cell(&column.path).number(),
                told,
                "{} as a column and in JSON",
                column.name
            );
        }
    }
}

#[test]
fn a_measure_has_the_unit_of_its_name_and_a_definition() {
    for column in columns(TrialRow::MEASURES) {
        let Measure { unit, doc, shown, .. } = column.measure;
        let named = [("_ms", "ms"), ("_bytes", "bytes"), ("_mbps", "Mbit/s")];
        if let Some((_, expected)) = named.iter().find(|(end, _)| column.name.ends_with(end)) {
            assert_eq!(unit, expected, "unit of {}", column.name);
        }
        assert!(
            !doc[0].trim().is_empty() && !doc.join("").contains('|'),
            "{}: a definition that fits a table",
            column.name
        );
        assert!(shown.is_none_or(|shown| !shown.label.is_empty()), "{} has a heading", column.name);
    }
}

#[test]
fn the_table_shows_the_measures_that_say_so() {
    let table = table(&comparison());
    let shown: Vec<&str> = columns(TrialRow::MEASURES)
        .iter()
        .filter_map(|column| column.measure.shown)
        .map(|shown| shown.key)
        .collect();
    let keys: Vec<&str> = table.columns.iter().map(|column| column.key.as_str()).collect();
    assert_eq!(keys, shown, "in the order of the rows");
    assert!(
        table.columns.iter().any(|column| column.better == Better::High),
        "goodput is better when high"
    );
    assert!(table.rows.iter().all(|row| row.values.len() == keys.len()), "a value for each");
}

#[test]
fn the_documents_define_every_measure() {
    const BEGIN: &str = "<!-- measures: written by `WRITE_DOCS=1 cargo test -p firstflight-lab the_documents_define_every_measure` -->\n";
    const END: &str = "<!-- end of measures -->";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let text = fs::read_to_string(file).expect("the document");
    let (before, rest) = text.split_once(BEGIN).expect("where the table begins");
    let (table, after) = rest.split_once(END).expect("where the table ends");
    let expected = markdown(TrialRow::MEASURES);
    if env::var_os("WRITE_DOCS").is_some() {
        fs::write(file, format!("{before}{BEGIN}{expected}{END}{after}"))
            .expect("the document can be written");
    } else {
        assert!(
            table == expected,
            "docs/metrics.md does not have the table of measures; the comment above it says how to write it"
        );
    }
}
