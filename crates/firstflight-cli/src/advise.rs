//! `firstflight advise`: captures in; which startup to deploy on paths like these, what it gains
//! and costs, and what that hangs on.

use crate::ab::run_with_progress;
use crate::done::Done;
use crate::files::{check_outputs, to_stdout, write_bytes};
use crate::replay::{finish, note, watch};
use crate::run::{command_line, threads};
use crate::terminal::{QUIET, TITLE, say, width, wrap};
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::ab::{Analysis, Run};
use firstflight_lab::advise::Advice;
use firstflight_replay::advice::{AdviseRequest, Advised};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Captures of the sending end, several at once: qlog (JSON, JSON-SEQ), pcap, pcapng, CSV, each
    /// plain, gzip or zstd; five connections or more, or nothing is recommended
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    request: AdviseRequest,
    /// Write answer, replay and A/B test as JSON to a file, `-` for standard output instead of the
    /// lines
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the page to this file [default: advice.html; none with `--json -`]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

/// Width of what a line is about.
const ABOUT: usize = 14;
/// Where the page goes unless told otherwise.
const PAGE: &str = "advice.html";

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let piped = to_stdout(options.json.as_ref());
    let page = match (&options.report, piped) {
        (Some(file), _) => Some(file.clone()),
        (None, true) => None,
        (None, false) => Some(PathBuf::from(PAGE)),
    };
    check_outputs(options.json.as_ref(), page.as_ref(), &[])?;
    let asked = options.request.read(&options.files, &watch)?;
    let tallies = run_with_progress(&asked.test, &Run::default(), options.threads, None)?;
    let advised = asked.answer(&tallies);
    if let Some(file) = &page {
        let text = advised.page(&command_line());
        write_bytes(file, text)?;
    }
    if let Some(file) = &options.json {
        let text = advised.to_json()?;
        if piped {
            say(&text)?;
        } else {
            write_bytes(file, text)?;
        }
    }
    if !piped {
        say(&as_text(&advised.advice, &advised.analysis, page.as_deref()))?;
    }
    let Advised { analysis, replay, evidence, .. } = &advised;
    if let Some(doubts) = &evidence.doubts {
        note(doubts);
    }
    if !analysis.complete {
        let (done, of) = (analysis.flows, analysis.experiment.flows);
        return Ok(Done::Because(format!("incomplete: {done} of {of} simulated connections")));
    }
    Ok(finish(&replay.files))
}

fn as_text(advice: &Advice, analysis: &Analysis, page: Option<&Path>) -> String {
    let mut text = String::new();
    for line in &advice.lines {
        let said = wrap(&line.text, ABOUT + 1, width());
        let _ = writeln!(text, "{TITLE}{:<ABOUT$}{TITLE:#} {said}", line.about);
    }
    let Some(page) = page else { return text };
    text + &format!(
        "{QUIET}{} simulated connections, seed {}; the page with all the evidence:{QUIET:#} {}\n",
        analysis.flows,
        analysis.experiment.seed,
        page.display()
    )
}
