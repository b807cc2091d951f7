//! `firstflight check`: compares a result with a stored baseline, for CI.

use crate::diff;
use crate::done::Done;
use crate::fit::brief;
use crate::output::{Columns, Files, Output, fitted, produce};
use crate::terminal::{note, width, wrap};
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::diff::{CHANGE_COLUMNS, Setting, number, percent};
use firstflight_lab::tolerance::{Judged, junit, tolerances};
use firstflight_table::{Kind, Marked, Table};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// New JSON output of `compare` or `ab`
    now: PathBuf,
    /// JSON output of the known-good version
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// Measures to check, and how much worse each may become: in percent, in its own unit, or the larger of the two, such as
    /// `ttlb_ms:2%,queue_ms_p99:max(5%,1ms)`; for `ab`, `ttlb_ms_p95:2%` [default: completion time, loss, queueing delay and timeouts]
    #[arg(long, value_name = "LIST")]
    tolerance: Option<String>,
    /// Write the verdicts as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the verdicts as JSON to a file, `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let option = |error: Error| Error::new(format!("--tolerance {error}"));
    let allowed = options.tolerance.as_deref().map(tolerances).transpose().map_err(option)?;
    let diff = diff::read(&options.against, &options.now)?;
    for Setting { name, before, after } in &diff.settings {
        note(&format!("{name} was {before} and is {after}"));
    }
    let allowed = allowed.map_or_else(|| diff.usual_tolerances(), Ok)?;
    let named = options.tolerance.is_some() && diff.apart.is_none();
    let judged = diff.judge(&allowed).map_err(|error| if named { option(error) } else { error })?;
    let shown = Shown { judged: &judged, unseen: diff.unseen(&allowed) };
    let files =
        Files { json: options.json.as_ref(), others: &[("--junit", options.junit.as_deref())] };
    produce(&files, Columns::OfResult, || Ok(shown), |_, _| Ok(junit(&judged)))?;
    let failed = judged.iter().filter(|one| one.failure.is_some()).count();
    Ok(match failed {
        0 => Done::Well,
        failed => Done::Because(format!("{failed} of {} checks fail", judged.len())),
    })
}

/// Number of unchecked measures that are listed on one screen.
const FEW: usize = 6;

struct Shown<'a> {
    judged: &'a [Judged],
    unseen: Vec<&'a str>,
}

impl Output for Shown<'_> {
    fn text(&self) -> String {
        let failed = self.judged.iter().filter(|one| one.failure.is_some()).count();
        let line = match failed {
            0 => format!("All {} checks pass.", self.judged.len()),
            failed => format!("{failed} of {} checks fail.", self.judged.len()),
        };
        let unseen = match self.unseen.as_slice() {
            [] => String::new(),
            names if brief() && names.len() > FEW => {
                let line =
                    format!("{} other measures are not checked; `--wide` lists them", names.len());
                wrap(&line, 0, width()) + "\n"
            }
            names => wrap(&format!("Not checked: {}.", names.join(", ")), 0, width()) + "\n",
        };
        wrap(&line, 0, width()) + "\n" + &fitted(&self.sheets()) + &unseen
    }

    fn sheets(&self) -> Vec<Table> {
        // The first column is never dropped, and the verdict should not be.
        let columns = CHANGE_COLUMNS.into_iter().chain([("on", Kind::Name)]);
        let mut sheet = Table::new("verdicts", columns).dropping(&["on", "before", "after"]);
        for one in self.judged {
            let verdict = one.failure.as_deref().unwrap_or("within");
            sheet.row([
                Marked::from(one.arm.as_str()),
                one.measure.as_str().into(),
                number(one.before).into(),
                number(one.after).into(),
                percent(one.change_pct).into(),
                Marked::from(verdict).bold(one.failure.is_some()),
                one.of.as_str().into(),
            ]);
        }
        vec![sheet]
    }

    fn rows(&self) -> Table {
        let mut rows = Table::default();
        for Judged { of, arm, measure, before, after, change_pct, failure } in self.judged {
            let within = failure.is_none();
            rows.record(
                &[],
                json!({"of": of, "arm": arm, "measure": measure, "before": before, "after": after,
                       "change_pct": change_pct, "within": within, "why": failure}),
            );
        }
        rows
    }
}
