//! The data of a result as rows: raw values, with units in the column names, for CSV and JSON.

use firstflight_lab::Error;
use firstflight_lab::measures::{Cell, Field, Measure, columns};
use firstflight_table::text::csv_cell;
use serde_json::{Map, Value};

/// Rows, and the names of their columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) names: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Rows {
    /// Creates a table without rows.
    pub(crate) fn new(names: &[&str]) -> Rows {
        Rows { names: names.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// The rows for records with a table of measures.
    pub(crate) fn of<'a, R: Field + 'a>(
        measures: &'static [Measure],
        records: impl IntoIterator<Item = &'a R>,
    ) -> Rows {
        let names = columns(measures).into_iter().map(|column| column.name).collect();
        Rows { names, rows: records.into_iter().map(values).collect() }
    }

    /// Names of the columns for records with this table.
    pub(crate) fn names_of(measures: &'static [Measure]) -> Vec<String> {
        Rows::of::<u64>(measures, []).names
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, values: impl IntoIterator<Item = Value>) {
        self.rows.push(values.into_iter().collect());
    }

    /// Adds a serialised record after the values `before`; the first record defines the columns.
    /// Fields with several values are left out.
    pub(crate) fn record(&mut self, before: &[(&str, Value)], record: Value) {
        let Value::Object(fields) = record else { return };
        let plain = fields.into_iter().filter(|(_, value)| !value.is_array() && !value.is_object());
        let before = before.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let (names, values): (Vec<String>, Vec<Value>) = before.chain(plain).unzip();
        if self.names.is_empty() {
            self.names = names;
        } else {
            debug_assert_eq!(self.names, names, "all records of a table have the same fields");
        }
        self.rows.push(values);
    }

    /// Appends other rows, with the values `before` in front of each.
    pub(crate) fn extend(&mut self, before: &[(&str, Value)], others: Rows) {
        if self.names.is_empty() {
            self.names = before.iter().map(|(name, _)| (*name).to_owned()).collect();
            self.names.extend(others.names);
        }
        let row = |row: Vec<Value>| {
            before.iter().map(|(_, value)| value.clone()).chain(row).collect::<Vec<_>>()
        };
        self.rows.extend(others.rows.into_iter().map(row));
    }

    /// The rows as CSV (RFC 4180): the names, then one line per row. Unknown values are empty.
    pub(crate) fn to_csv(&self, keep: &[usize]) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let names =
            line(keep.iter().map(|index| csv_cell(&self.names[*index]).into_owned()).collect());
        let row = |row: &Vec<Value>| line(keep.iter().map(|index| csv(&row[*index])).collect());
        std::iter::once(names).chain(self.rows.iter().map(row)).collect()
    }

    /// The rows as JSON: a list of objects.
    ///
    /// # Errors
    /// A one-line message; never for our own values.
    pub(crate) fn to_json(&self) -> Result<String, Error> {
        let object = |row: &Vec<Value>| {
            let fields = self.names.iter().cloned().zip(row.iter().cloned());
            Value::Object(fields.collect::<Map<String, Value>>())
        };
        let all: Vec<Value> = self.rows.iter().map(object).collect();
        pretty(serde_json::to_string_pretty(&all))
    }
}

/// The output of `serde_json::to_string_pretty`, with a line break at its end.
///
/// # Errors
/// A one-line message; never for our own values.
pub(crate) fn pretty(text: serde_json::Result<String>) -> Result<String, Error> {
    text.map(|text| text + "\n").map_err(|error| Error::new(error.to_string()))
}

/// The values of a record that have a column.
fn values(record: &impl Field) -> Vec<Value> {
    let mut values = Vec::new();
    record.each(&mut |cell| {
        values.push(match cell {
            Cell::Missing => Value::Null,
            Cell::Text(text) => text.into(),
            Cell::Whole(number) => number.into(),
            Cell::Real(number) => number.into(),
            Cell::Flag(flag) => flag.into(),
        });
    });
    values
}

fn csv(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => csv_cell(text).into_owned(),
        // Numbers are written as in all our CSV files: without a decimal point if there are no
        // decimals.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(String::new, |number| number.to_string())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn csv_quotes_what_it_must_and_leaves_the_unknown_empty() {
        let mut rows = Rows::new(&["arm", "ttlb_ms", "complete"]);
        rows.row([json!("rapid(k=1,j=\"2\")"), json!(964.0), json!(true)]);
        rows.row([json!("best"), Value::Null, json!(false)]);
        assert_eq!(
            rows.to_csv(&[0, 1, 2]),
            "arm,ttlb_ms,complete\n\"rapid(k=1,j=\"\"2\"\")\",964,true\nbest,,false\n"
        );
        assert_eq!(rows.to_csv(&[1]), "ttlb_ms\n964\n\n");
        let mut rows = Rows::new(&["arm", "change_pct"]);
        rows.row([json!("=cmd|' /C calc'!A0"), json!(-1.5)]);
        assert_eq!(rows.to_csv(&[0, 1]), "arm,change_pct\n'=cmd|' /C calc'!A0,-1.5\n");
    }

    #[test]
    fn records_name_the_columns_and_lists_have_none() {
        let mut rows = Rows::default();
        rows.record(
            &[("file", json!("a.pcap"))],
            json!({ "arm": "best", "all": [1, 2], "ms": 1.5 }),
        );
        assert_eq!(rows.to_csv(&[0, 1, 2]), "file,arm,ms\na.pcap,best,1.5\n");
        let json: Value = serde_json::from_str(&rows.to_json().expect("JSON")).expect("JSON");
        assert_eq!(json, json!([{ "file": "a.pcap", "arm": "best", "ms": 1.5 }]));
    }
}
