//! `firstflight diff`: compares two results, such as those of two versions, paths or days.

use crate::done::{Done, failed};
use crate::fit::brief;
use crate::output::{Columns, Files, Output, fitted, produce};
use crate::rows::pretty;
use crate::run::command_line;
use crate::terminal::{width, wrap};
use clap::{Args, ValueEnum};
use firstflight_lab::Error;
use firstflight_lab::diff::{Change, Diff, change_table};
use firstflight_path::input;
use firstflight_table::Table;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// JSON that `compare` or `ab` wrote
    before: PathBuf,
    /// JSON output of the same command for another version, path or day
    after: PathBuf,
    /// Exit with code 1 on this condition
    #[arg(long, value_enum, value_name = "WHAT")]
    fail_if: Option<FailIf>,
    /// Show every measure that differs [default: only completion time, loss, queueing delay, exit, timeouts and unfinished trials]
    #[arg(long)]
    all: bool,
    /// Write what differs as JSON to a file, `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailIf {
    /// Any number differs
    Changed,
    /// A measure got worse, and its whole confidence interval lies beyond the margin of that measure
    Worse,
}

/// Results of many connections have long lists of percentiles.
const MOST_TEXT: u64 = 1 << 30;

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let diff = read(&options.before, &options.after)?;
    let shown = Shown { diff: &diff, all: options.all };
    let files =
        Files { json: options.json.as_ref(), others: &[("--report", options.report.as_deref())] };
    produce(
        &files,
        Columns::OfResult,
        || Ok(shown),
        |shown, _| {
            let [first, second] =
                [&options.before, &options.after].map(|file| file.display().to_string());
            Ok(shown.diff.page(&first, &second, &command_line()))
        },
    )?;
    Ok(match options.fail_if {
        Some(FailIf::Changed) if !diff.changes.is_empty() || !diff.alone.is_empty() => {
            Done::Because(format!("{} differ", count(diff.changes.len(), "number")))
        }
        Some(FailIf::Worse) if diff.is_worse() => Done::Because("some measures got worse".into()),
        _ => Done::Well,
    })
}

/// The differences between the results in two files.
pub(crate) fn read(before: &Path, after: &Path) -> Result<Diff, Error> {
    let text =
        |file: &Path| input::read_text(file, MOST_TEXT).map_err(|error| failed(file, &error));
    let name = |file: &Path| file.display().to_string();
    Diff::read((&name(before), &text(before)?), (&name(after), &text(after)?))
}

fn count(of: usize, what: &str) -> String {
    format!("{of} {what}{}", if of == 1 { "" } else { "s" })
}

/// Number of rows that fit on one screen with the lines around them.
const FEW: usize = 16;

struct Shown<'a> {
    diff: &'a Diff,
    all: bool,
}

impl Shown<'_> {
    fn changes(&self) -> impl Iterator<Item = &Change> {
        // On a screen there is no room for the exits of many arms.
        let brief = brief() && self.diff.changes.iter().filter(|one| one.is_main()).count() > FEW;
        let shown = move |change: &&Change| {
            change.is_main() && !(brief && change.measure.starts_with("exit"))
        };
        self.diff.changes.iter().filter(move |change| self.all || shown(change))
    }
}

impl Output for Shown<'_> {
    fn text(&self) -> String {
        let diff = self.diff;
        let mut text = String::new();
        if !diff.changes.is_empty() {
            text += &(wrap(&diff.finding(), 0, width()) + "\n");
        }
        // The first sentence names the settings, too.
        for setting in diff.settings.iter().filter(|_| !brief()) {
            let line = format!("{}: {} -> {}", setting.name, setting.before, setting.after);
            text += &(wrap(&line, 2, width()) + "\n");
        }
        if diff.changes.is_empty() {
            let equal = count(diff.equal, "number");
            text += &(wrap(&format!("Nothing differs: {equal} are equal."), 0, width()) + "\n");
        } else {
            text += &fitted(&self.sheets());
            let equal = count(diff.equal, "other number");
            let hidden = match diff.changes.len() - self.changes().count() {
                0 => String::new(),
                hidden => format!("; `--all` shows {hidden} more"),
            };
            let line = format!("{} differ, {equal} are equal{hidden}", diff.changes.len());
            text += &(wrap(&line, 0, width()) + "\n");
        }
        if !diff.alone.is_empty() {
            let line = format!("Only in one of the results: {}", diff.alone.join(", "));
            text += &(wrap(&line, 2, width()) + "\n");
        }
        text
    }

    fn sheets(&self) -> Vec<Table> {
        vec![change_table(self.changes(), false).titled("what differs")]
    }

    fn rows(&self) -> Table {
        let mut rows = Table::default();
        for change in &self.diff.changes {
            rows.record(&[], serde_json::to_value(change).unwrap_or_default());
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        pretty(serde_json::to_string_pretty(self.diff))
    }
}
