//! `firstflight check`: an answer against one that was kept, for the CI of one's own repository.

use crate::diff;
use crate::done::Done;
use crate::files::{check_outputs, write_bytes};
use crate::output::{Output, check_before, fitted, give, names};
use crate::rows::Rows;
use crate::sheet::{Field, Sheet, Side};
use crate::terminal::{CAUTION, whisper, width, wrap};
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::diff::Setting;
use firstflight_lab::tolerance::{Judged, junit, tolerances};
use serde_json::json;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// JSON that `compare` or `ab` wrote now
    now: PathBuf,
    /// The same, written by the version that is good
    #[arg(long, value_name = "FILE")]
    against: PathBuf,
    /// The measures that count, and how much worse each may become: in percent of what it was, or in
    /// its own unit, such as `ttlb_ms:2%,loss_ratio:0.001`; of a test `ttlb_ms_p95:2%`
    #[arg(long, value_name = "LIST", default_value = "ttlb_ms:2%")]
    tolerance: String,
    /// Write the verdicts as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the verdicts as JSON to a file, `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    check_outputs(options.json.as_ref(), None, &[("--junit", options.junit.as_deref())])?;
    let allowed = tolerances(&options.tolerance)
        .map_err(|error| Error::new(format!("--tolerance {error}")))?;
    let diff = diff::read(&options.against, &options.now)?;
    for Setting { name, before, after } in &diff.settings {
        whisper(&format!("{CAUTION}note:{CAUTION:#} {name} was {before} and is {after}"));
    }
    let judged =
        diff.judge(&allowed).map_err(|error| Error::new(format!("--tolerance {error}")))?;
    let shown = Shown(&judged);
    check_before(options.json.as_ref(), &names(&shown.sheets()), &shown.rows().names)?;
    if let Some(file) = &options.junit {
        write_bytes(file, junit(&judged))?;
    }
    give(options.json.as_ref(), &shown)?;
    let failed = judged.iter().filter(|one| one.failure.is_some()).count();
    Ok(match failed {
        0 => Done::Well,
        failed => Done::Because(format!("{failed} of {} fail", judged.len())),
    })
}

struct Shown<'a>(&'a [Judged]);

impl Output for Shown<'_> {
    fn text(&self) -> String {
        let failed = self.0.iter().filter(|one| one.failure.is_some()).count();
        let line = match failed {
            0 => format!("Nothing got worse than is allowed: {} checked.", self.0.len()),
            failed => format!("{failed} of {} fail.", self.0.len()),
        };
        wrap(&line, 0, width()) + "\n" + &fitted(&self.sheets())
    }

    fn sheets(&self) -> Vec<Sheet> {
        let columns = ["on", "arm", "measure", "verdict"].map(|name| (name, Side::Left));
        let mut sheet = Sheet::new("verdicts", columns);
        for one in self.0 {
            let verdict = one.failure.as_deref().unwrap_or("within");
            sheet.row([
                Field::from(one.of.as_str()),
                one.arm.as_str().into(),
                one.measure.as_str().into(),
                Field::from(verdict).bold(one.failure.is_some()),
            ]);
        }
        vec![sheet]
    }

    fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        for Judged { of, arm, measure, failure } in self.0 {
            let within = failure.is_none();
            rows.record(
                &[],
                json!({"of": of, "arm": arm, "measure": measure, "within": within, "why": failure}),
            );
        }
        rows
    }
}
