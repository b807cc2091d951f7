//! One table of measures: the rows in JSON, the printed tables and the definitions in
//! `docs/metrics.md` agree.

use firstflight::Nanos;
use firstflight_lab::ab::analysis::{Entry, PercentileRow, Percentiles};
use firstflight_lab::ab::rows::{ConnectionRow, Row};
use firstflight_lab::ab::{Analysis, Clock, Run, Test, Watch};
use firstflight_lab::compare::Keep;
use firstflight_lab::flows::{App, JITTER, Response};
use firstflight_lab::measures::{Cell, Field, Holds, Measure, columns, markdown};
use firstflight_lab::repeat::SummaryRow;
use firstflight_lab::sharing::{SharedFlowRow, SharingPlan, SharingRow};
use firstflight_lab::stats::Interval;
use firstflight_lab::table::{FIRST_MEASURE, table};
use firstflight_lab::{Comparison, Hosts, Plan, Population, Scenario, TrialRow, parse_arms};
use firstflight_path::Path;
use firstflight_table::Better;
use serde_json::Value;
use std::sync::atomic::AtomicBool;
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
            Holds::Text | Holds::Name => value.is_string(),
            Holds::Whole => value.is_u64(),
            Holds::Real => value.is_f64(),
            Holds::Flag => value.is_boolean(),
            Holds::Several => value.is_array() || value.is_object(),
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
        columns_agree(TrialRow::MEASURES, row, &json, "a trial");
    }
}

#[test]
fn a_measure_has_the_unit_of_its_name_and_a_definition() {
    let records = [TrialRow::MEASURES, Entry::MEASURES, ConnectionRow::MEASURES];
    for column in records.into_iter().chain([SharedFlowRow::MEASURES]).flat_map(columns) {
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
        // Few paths have a handshake.
        .filter(|key| *key != "handshake_ms")
        .collect();
    let measures = &table.columns()[FIRST_MEASURE..];
    let keys: Vec<&str> = measures.iter().map(|column| column.key.as_str()).collect();
    assert_eq!(keys, shown, "in the order of the rows");
    assert!(
        measures.iter().any(|column| column.better == Better::High),
        "goodput is better when high"
    );
}

/// The columns of a record stand where its JSON has the same values.
fn columns_agree(measures: &'static [Measure], record: &impl Field, json: &Value, whose: &str) {
    let columns = columns(measures);
    let mut cells = Vec::new();
    record.each(&mut |cell| cells.push(cell));
    assert_eq!(cells.len(), columns.len(), "values and columns of {whose}");
    for (column, cell) in columns.iter().zip(cells) {
        let of_json = json.pointer(&format!("/{}", column.path.replace('.', "/")));
        let of_json = of_json.unwrap_or(&Value::Null);
        let same = match &cell {
            Cell::Missing => of_json.is_null(),
            Cell::Text(text) => of_json.as_str() == Some(&**text),
            Cell::Whole(number) => of_json.as_u64().map(i128::from) == Some(*number),
            Cell::Real(number) => of_json.as_f64() == Some(*number),
            Cell::Flag(flag) => of_json.as_bool() == Some(*flag),
        };
        assert!(same, "{whose}: {} is {cell:?} as a column and {of_json} in JSON", column.name);
        assert_eq!(record.cell(&column.path), cell, "{whose}: {} by its path", column.name);
    }
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), columns.len(), "{whose}: every column has a name of its own");
}

fn test() -> Test {
    Test {
        population: Population::parse("fixed-2025").expect("a population"),
        arms: parse_arms("slowstart,rapid").expect("arms"),
        flows: 100,
        seed: 1,
        iw: 10,
        burst: 2,
        limit: Nanos(600_000_000_000),
        host: Hosts::default(),
        detection: None,
        clock: Clock::Receiver,
        limits: firstflight_lab::decision::Limits::default(),
    }
}

#[test]
fn results_of_a_test_in_json_are_their_measures_and_their_columns() {
    let test = test();
    let mut rows = Vec::new();
    let mut keep = |block: &[Row]| {
        rows.extend_from_slice(block);
        Ok(())
    };
    let mut watch = Watch { tick: &|_| (), stop: &AtomicBool::new(false), rows: Some(&mut keep) };
    let tallies = test.run(&Run::default(), &mut watch).expect("runs");
    for row in &rows {
        let row = ConnectionRow::of((&test, row));
        let json = serde_json::to_value(&row).expect("JSON");
        agrees(ConnectionRow::MEASURES, &json, "a connection");
        columns_agree(ConnectionRow::MEASURES, &row, &json, "a connection");
    }
    let analysis = Analysis::new(&test.experiment(), &tallies, &[]);
    for entry in &analysis.results {
        let json = serde_json::to_value(entry).expect("JSON");
        agrees(Entry::MEASURES, &json, "an entry");
        columns_agree(Entry::MEASURES, entry, &json, "an entry");
    }
    for row in analysis.percentiles.iter().flat_map(Percentiles::rows) {
        let json = serde_json::to_value(&row).expect("JSON");
        agrees(PercentileRow::MEASURES, &json, "a percentile");
        columns_agree(PercentileRow::MEASURES, &row, &json, "a percentile");
    }
}

#[test]
fn results_of_several_flows_in_json_are_their_measures() {
    let scenario = Scenario::new(Path::parse("rapid-slide").expect("a path"), 1_000_000);
    let plan = Plan::new(parse_arms("slowstart").expect("arms"), scenario);
    let app = App::Responses(vec![Response { pause: Nanos(1), bytes: 1_000_000 }; 2]);
    let sharing = SharingPlan {
        plan,
        flows: 2,
        cross: parse_arms("rapid").expect("an arm"),
        apart: Nanos::ZERO,
        jitter: JITTER,
        app,
        app_name: "web".into(),
    };
    for trial in &sharing.run().expect("runs").rows {
        let json = serde_json::to_value(trial).expect("JSON");
        let names: Vec<&str> = SharingRow::MEASURES.iter().map(|measure| measure.name).collect();
        let keys: Vec<&str> =
            json.as_object().expect("an object").keys().map(String::as_str).collect();
        assert!(names.iter().all(|name| keys.contains(name)) && names.len() == keys.len());
        for flow in &trial.flows {
            let mut json = serde_json::to_value(flow).expect("JSON");
            let object = json.as_object_mut().expect("an object");
            // The fields of the flow stand between its own.
            let inner: serde_json::Map<String, Value> = TrialRow::MEASURES
                .iter()
                .map(|measure| (measure.name.into(), object.remove(measure.name).expect("a field")))
                .collect();
            object.insert("flow".into(), inner.into());
            object.entry("parts_ms").or_insert_with(|| Value::Array(Vec::new()));
            agrees(SharedFlowRow::MEASURES, &json, "a flow");
            columns_agree(SharedFlowRow::MEASURES, flow, &json, "a flow");
        }
    }
}

/// Holds the table between two comments of a document equal to that of the measures.
fn documents(file: &str, what: &str, expected: &str) {
    let begin = format!(
        "<!-- {what}: written by `WRITE_DOCS=1 cargo test -p firstflight-lab the_documents_define_every_measure` -->\n"
    );
    let end = format!("<!-- end of {what} -->");
    let name = format!("{}/../../docs/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&name).expect("the document");
    let (before, rest) = text.split_once(&begin).expect("where the table begins");
    let (table, after) = rest.split_once(&end).expect("where the table ends");
    if env::var_os("WRITE_DOCS").is_some() {
        fs::write(name, format!("{before}{begin}{expected}{end}{after}"))
            .expect("the document can be written");
    } else {
        assert!(
            table == expected,
            "docs/{file} does not have the table of {what}; the comment above it says how to write it"
        );
    }
}

#[test]
fn the_documents_define_every_measure() {
    documents("metrics.md", "measures", &markdown(TrialRow::MEASURES, &[]));
    let told = [TrialRow::MEASURES];
    let several = markdown(SharingRow::MEASURES, &told);
    documents("metrics.md", "measures of several flows", &several);
    let interval = [Interval::MEASURES];
    documents("metrics.md", "measures of a summary", &markdown(SummaryRow::MEASURES, &interval));
    documents("ab-metrics.md", "measures", &markdown(Entry::MEASURES, &interval));
    documents("ab-metrics.md", "columns", &markdown(ConnectionRow::MEASURES, &[]));
}
