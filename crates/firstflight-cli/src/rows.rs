//! Records with a table of measures as data.

use firstflight_lab::Error;
use firstflight_lab::measures::{Field, Measure, columns};
use firstflight_table::Table;

/// A row for each record.
pub(crate) fn of<'a, R: Field + 'a>(
    measures: &'static [Measure],
    records: impl IntoIterator<Item = &'a R>,
) -> Table {
    let mut table = Table::of_data(names_of(measures));
    for record in records {
        let mut values = Vec::new();
        record.each(&mut |cell| values.push(cell));
        table.values(values);
    }
    table
}

/// Names of the columns for records with this table.
pub(crate) fn names_of(measures: &'static [Measure]) -> Vec<String> {
    columns(measures).into_iter().map(|column| column.name).collect()
}

/// The output of `serde_json::to_string_pretty`, with a line break at its end.
pub(crate) fn pretty(text: serde_json::Result<String>) -> Result<String, Error> {
    text.map(|text| text + "\n").map_err(|error| Error::new(error.to_string()))
}
