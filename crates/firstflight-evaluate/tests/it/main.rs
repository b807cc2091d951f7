//! The tests of the evaluation, one program that links once.

mod against;
mod battery;
mod controls;
mod flows;
mod liars;
mod rules;
mod trouble;

use firstflight_evaluate::{
    Battery, CellRow, CriterionRow, Declaration, Effort, Evaluation, Report, evaluate,
};
use firstflight_lab::parse_arms;
use firstflight_lab::testbed::sim;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Writes a battery with one criterion to a directory and reads it.
fn written(folder: &Path, criterion: &str) -> Battery {
    fs::write(folder.join("VERSION"), "test").expect("a file");
    fs::write(folder.join("grids.toml"), "").expect("a file");
    fs::write(folder.join("5.1.3-test.toml"), criterion).expect("a file");
    Battery::read(folder).unwrap_or_else(|bad| panic!("the battery should be read, but: {bad}"))
}

/// A battery of one criterion with these scenarios.
fn battery_of(scenarios: &str) -> Battery {
    let folder = tempfile::tempdir().expect("a directory");
    let head = "criterion = \"5.1.3\"\ntitle = \"Test\"\nstrength = \"should\"\nsource = \"here\"\nabout = \"a test\"\n";
    written(folder.path(), &format!("{head}{scenarios}"))
}

fn asked(battery: Battery, algorithm: &str, effort: Effort) -> Evaluation {
    let arm = |text: &str| parse_arms(text).expect("an arm").remove(0);
    let criteria = (0..battery.criteria.len()).collect();
    let (algorithm, baseline) = (arm(algorithm), arm("slowstart/cubic/prr"));
    Evaluation {
        battery,
        criteria,
        algorithm,
        baseline,
        effort,
        seed: 1,
        declaration: Declaration::default(),
        testbed: &sim::BED,
    }
}

fn run(evaluation: &Evaluation) -> Report {
    evaluate(evaluation, &|_| (), &AtomicBool::new(false)).expect("it runs")
}

fn criterion<'a>(report: &'a Report, section: &str) -> &'a CriterionRow {
    let found = report.criteria.iter().find(|row| row.section == section);
    found.unwrap_or_else(|| panic!("no criterion {section}"))
}

fn row<'a>(criterion: &'a CriterionRow, metric: &str, cell: &str) -> &'a CellRow {
    let fits = |row: &&CellRow| row.metric == metric && row.cell.ends_with(cell);
    let found = criterion.judges.iter().find(fits);
    found.unwrap_or_else(|| panic!("no {metric} in a cell {cell}"))
}
