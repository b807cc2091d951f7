//! Records with a table of measures as data.

use firstflight_lab::Error;
use firstflight_lab::measures::{Cell, Field, Measure, columns};
use firstflight_table::{Cell as Value, Table};

/// A row for each record.
pub(crate) fn of<'a, R: Field + 'a>(
    measures: &'static [Measure],
    records: impl IntoIterator<Item = &'a R>,
) -> Table {
    let mut table = Table::of_data(names_of(measures));
    for record in records {
        let mut values = Vec::new();
        record.each(&mut |cell| {
            values.push(match cell {
                Cell::Missing => Value::Missing,
                Cell::Text(text) => text.to_owned().into(),
                Cell::Whole(number) => number.into(),
                Cell::Real(number) => number.into(),
                Cell::Flag(flag) => flag.into(),
            });
        });
        table.values(values);
    }
    table
}

/// Names of the columns for records with this table.
pub(crate) fn names_of(measures: &'static [Measure]) -> Vec<String> {
    columns(measures).into_iter().map(|column| column.name).collect()
}

/// The output of `serde_json::to_string_pretty`, with a line break at its end.
///
/// # Errors
/// A one-line message; never for our own values.
pub(crate) fn pretty(text: serde_json::Result<String>) -> Result<String, Error> {
    text.map(|text| text + "\n").map_err(|error| Error::new(error.to_string()))
}
