//! Every row as CSV (RFC 4180): `docs/results.csv`.

use crate::{Chapter, Reproduction, Row};

const COLUMNS: [&str; 18] = [
    "document",
    "row",
    "gates",
    "claim",
    "measure",
    "case",
    "published",
    "measured",
    "low",
    "high",
    "unit",
    "ratio",
    "ours",
    "accepted",
    "verdict",
    "says",
    "assumptions",
    "note",
];

/// A cell, quoted where it has to be.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A number as it is; nothing for one that is unknown.
fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn line(chapter: &Chapter, row: &Row) -> String {
    let cells: [String; COLUMNS.len()] = [
        chapter.name.into(),
        row.key.clone(),
        row.gates.clone(),
        row.claim.into(),
        row.measure.clone(),
        row.case.clone(),
        number(row.published.map(|published| published.value)),
        number(row.measured),
        number(row.interval.map(|interval| interval[0])),
        number(row.interval.map(|interval| interval[1])),
        row.unit.into(),
        number(row.ratio),
        row.ours.clone(),
        row.accepted.clone(),
        row.verdict.key().into(),
        row.says.clone(),
        row.assumptions.join(" "),
        row.note.clone(),
    ];
    cells.map(|text| cell(&text)).join(",") + "\n"
}

/// A line of names, then one per row; numbers in the unit of the row.
pub(crate) fn table(all: &Reproduction) -> String {
    let rows = all
        .sources
        .iter()
        .flat_map(|chapter| chapter.rows.iter().map(move |row| line(chapter, row)));
    std::iter::once(COLUMNS.join(",") + "\n").chain(rows).collect()
}
