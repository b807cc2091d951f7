//! `firstflight advise`: reads captures and recommends the startup to deploy on such paths, with
//! its gain, its cost, and the assumptions it depends on.

use crate::ab::{answer, run_with_progress, tables};
use crate::done::Done;
use crate::files::{check_outputs, to_stdout, write_bytes};
use crate::fit;
use crate::replay::{finish, watch};
use crate::run::{command_line, threads};
use crate::terminal::{QUIET, TITLE, note, say, width, wrap};
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::ab::Run;
use firstflight_lab::decision::Rule;
use firstflight_replay::advice::{AdviseRequest, Advised};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// One or more captures taken at the sender: qlog (JSON, JSON-SEQ), pcap, pcapng or CSV, plain or compressed with gzip or zstd; a
    /// recommendation needs at least five connections
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    request: AdviseRequest,
    /// Write the answer, the replay and the A/B test as JSON to a file; `-` writes to standard output instead of the text
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the page to this file [default: advice.html; none with `--json -`]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Number of worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

/// Width of the first column, which names the topic of a line.
const ABOUT: usize = 10;
/// A line that is shown only with `--wide`.
const PATHS: &str = "Your paths";
/// Default file of the page.
const PAGE: &str = "advice.html";

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let piped = to_stdout(options.json.as_ref());
    let page = match (&options.report, piped) {
        (Some(file), _) => Some(file.clone()),
        (None, true) => None,
        (None, false) => Some(PathBuf::from(PAGE)),
    };
    check_outputs(options.json.as_ref(), &[("--report", page.as_deref())])?;
    let mut asked = options.request.read(&options.files, &watch)?;
    let run = Run::default();
    let mut tallies = run_with_progress(&asked.test, &run, options.threads, None)?;
    if let Some(more) = asked.test.doubled(&tallies) {
        tallies = run_with_progress(&more, &run, options.threads, None)?;
        asked.test = more;
    }
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
        say(&as_text(&advised, page.as_deref()))?;
    }
    let Advised { analysis, replay, evidence, .. } = &advised;
    if let Some(doubts) = &evidence.doubts {
        note(doubts);
    }
    if !analysis.complete {
        let (done, of) = (analysis.flows, analysis.experiment.flows);
        return Ok(Done::Because(format!("incomplete: {done} of {of} simulated connections")));
    }
    let decision = &analysis.decision;
    let done = finish(&replay.files);
    if decision.rule == Rule::None && done == Done::Well {
        return Ok(Done::Because("nothing is recommended".to_owned()));
    }
    Ok(done)
}

fn as_text(advised: &Advised, page: Option<&Path>) -> String {
    let Advised { advice, analysis, .. } = advised;
    let mut text = answer(&analysis.decision);
    let wide = fit::asked().wide;
    for line in advice.lines.iter().filter(|line| wide || line.about != PATHS) {
        let said = wrap(&line.text, ABOUT + 1, width());
        let _ = writeln!(text, "{TITLE}{:<ABOUT$}{TITLE:#} {said}", line.about);
    }
    text += &fit::fitted(&tables::overall(analysis));
    let _ = writeln!(text, "\n{QUIET}{}{QUIET:#}", wrap(tables::LEGEND, 0, width()));
    let Some(page) = page else { return text };
    text + &format!(
        "{QUIET}{} simulated connections, seed {}; the page with all the evidence:{QUIET:#} {}\n",
        analysis.flows,
        analysis.experiment.seed,
        page.display()
    )
}
