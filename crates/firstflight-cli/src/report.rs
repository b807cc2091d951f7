//! `firstflight report`: the page of a result saved as JSON.

use crate::done::{Done, failed};
use crate::files::{check_outputs, write_bytes};
use crate::run::command_line;
use crate::terminal::say;
use clap::Args;
use firstflight_lab::{Error, report};
use firstflight_path::input;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// JSON that compare, ab, advise, tune or trial analyse wrote, also with `--sweep`
    result: PathBuf,
    /// Write the page to this file [default: the result's name with .html]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Results of many connections have long lists of percentiles.
const MOST_TEXT: u64 = 1 << 30;

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let Options { result, report } = options;
    let page = report.clone().unwrap_or_else(|| result.with_extension("html"));
    check_outputs(None, &[("--report", Some(&page))])?;
    let text = input::read_text(result, MOST_TEXT).map_err(|error| failed(result, &error))?;
    // The program ends with this page, so nothing is lost.
    let made = report::kept(&result.display().to_string(), text.leak(), &command_line())?;
    write_bytes(&page, made)?;
    say(&format!("{}\n", page.display()))?;
    Ok(Done::Well)
}
