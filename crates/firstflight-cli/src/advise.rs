//! `firstflight advise`: reads captures and recommends the startup to deploy on such paths, with
//! its gain, its cost, and the assumptions it depends on.

use crate::ab::{answer, entries, run_with_progress, tables};
use crate::done::Done;
use crate::fit;
use crate::output::{Columns, Files, Output, is_for_people, produce};
use crate::replay::{finish, watch};
use crate::run::{command_line, threads};
use crate::terminal::{QUIET, TITLE, note, width, wrap};
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::ab::Run;
use firstflight_lab::decision::Rule;
use firstflight_replay::advice::{AdviseRequest, Advised};
use firstflight_table::Table;
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
    /// Write the page to this file [default: advice.html; none if standard output is for programs]
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
    let json = options.json.as_ref();
    let default = is_for_people(json).then(|| PathBuf::from(PAGE));
    let page = options.report.clone().or(default);
    let files = Files { json, others: &[("--report", page.as_deref())] };
    let run = || advised(options).map(|advised| Shown { advised, page: page.as_deref() });
    let of_page = |shown: &Shown<'_>, _: &str| Ok(shown.advised.page(&command_line()));
    let shown = Table::of_numbers("", tables::OVERALL, 1).names();
    let columns = Columns::Known((shown, entries([]).names()));
    let Shown { advised, .. } = produce(&files, columns, run, of_page)?;
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

/// Reads the captures and runs the test on paths like theirs.
fn advised(options: &Options) -> Result<Advised, Error> {
    let mut asked = options.request.read(&options.files, &watch)?;
    let run = Run::default();
    let mut tallies = run_with_progress(&asked.test, &run, options.threads, None)?;
    if let Some(more) = asked.test.doubled(&tallies) {
        tallies = run_with_progress(&more, &run, options.threads, None)?;
        asked.test = more;
    }
    Ok(asked.answer(&tallies))
}

/// The answer, and the file of its page.
struct Shown<'a> {
    advised: Advised,
    page: Option<&'a Path>,
}

impl Output for Shown<'_> {
    fn text(&self) -> String {
        as_text(&self.advised, self.page)
    }

    fn sheets(&self) -> Vec<Table> {
        vec![tables::overall(&self.advised.analysis)]
    }

    fn rows(&self) -> Table {
        entries([&self.advised.analysis])
    }

    fn json(&self) -> Result<String, Error> {
        self.advised.to_json()
    }
}

fn as_text(advised: &Advised, page: Option<&Path>) -> String {
    let Advised { advice, analysis, .. } = advised;
    let mut text = fit::document(&answer(&analysis.decision));
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
