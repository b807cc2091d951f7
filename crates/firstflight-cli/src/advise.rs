//! `firstflight advise`: captures in; which startup to deploy on paths like these, what it gains
//! and costs, and what that hangs on.

use crate::Done;
use crate::ab::run_with_progress;
use crate::files::{check_outputs, to_stdout, write_whole};
use crate::replay::{GroupBy, finish, follow, named};
use crate::run::{command_line, threads};
use crate::terminal::{QUIET, TITLE, say, width, wrap};
use clap::Args;
use firstflight::Nanos;
use firstflight_lab::ab::{Analysis, Clock, MOST_FLOWS, MOST_SECONDS, Run, Test};
use firstflight_lab::advise::{Advice, Answer, Evidence, PathRow, advise};
use firstflight_lab::request::{self, HostArgs, Transport};
use firstflight_lab::{Error, NamedArm, Population, parse_arms, size};
use firstflight_replay::population::Entry;
use firstflight_replay::population::own::Paths;
use firstflight_replay::replay::Settings;
use firstflight_replay::results::Results;
use firstflight_replay::summary::ConnectionRow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Captures of the sending end, several at once: qlog (JSON, JSON-SEQ), pcap, pcapng, CSV, each
    /// plain, gzip or zstd; five connections or more, or nothing is recommended
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The arm that runs today, which the others are compared with
    #[arg(long, default_value = "slowstart")]
    baseline: String,
    /// Arms, separated by commas
    #[arg(long, default_value = "hystart,hystart++,search,best,rapid")]
    arms: String,
    /// Simulated connections [default: what takes about 10 s on two cores, at most 20000]
    #[arg(long, value_parser = |text: &str| size::count(text, 1..=MOST_FLOWS, "connections"), allow_negative_numbers = true)]
    flows: Option<u64>,
    /// Transport that is simulated [default: that of most captured connections]
    #[arg(long, value_enum)]
    transport: Option<Transport>,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    seed: u64,
    /// Initial window in packets, for arms that do not name one
    #[arg(long, default_value_t = 10, value_parser = |text: &str| size::count(text, 1..=1000, "packets"), allow_negative_numbers = true)]
    iw: u64,
    /// Stop a transfer after this much simulated time: 30s, 500ms, 2min, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = |text: &str| size::limit(text, MOST_SECONDS), allow_negative_numbers = true)]
    limit: Nanos,
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
/// Bytes that the simulator carries for one answer, of all arms together: 5 to 8 s of
/// processor time, so that any machine answers in ten.
const BUDGET: f64 = 30e9;
const MOST_BY_DEFAULT: u64 = 20_000;
/// Below this, groups have too few connections each for a mean.
const LEAST_BY_DEFAULT: u64 = 2_000;
/// Short transfers cost more than their bytes.
const OVERHEAD_BYTES: f64 = 50_000.0;

/// What the captures come to.
struct Captured {
    replay: Results,
    paths: Paths,
    evidence: Evidence,
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let piped = to_stdout(options.json.as_ref());
    let page = match (&options.report, piped) {
        (Some(file), _) => Some(file.clone()),
        (None, true) => None,
        (None, false) => Some(PathBuf::from(PAGE)),
    };
    check_outputs(options.json.as_ref(), page.as_ref(), &[])?;
    let arms = arms(options)?;
    let captured = read(options)?;
    let test = test(options, arms, &captured)?;
    test.check()?;
    let tallies = run_with_progress(&test, &Run::default(), options.threads, None)?;
    let mut analysis = Analysis::new(&test.experiment(), &tallies, &test.population.warnings());
    let Captured { replay, paths, evidence } = &captured;
    let advice = advise(&analysis, paths.connections, &described(&captured), evidence);
    // The test alone knows nothing of how few paths were recorded: the answer is the page's first
    // sentence there, too.
    if let Some(first) = analysis.recommendation.first_mut() {
        first.clone_from(&advice.finding);
    }
    if advice.deploy.is_none() && advice.trade_off.is_none() {
        analysis.recommendation.truncate(1);
    }
    if let Some(file) = &page {
        let text = analysis.advice_page(&command_line(), &advice, evidence);
        write_whole(file, |out| out.write_all(text.as_bytes()))?;
    }
    if let Some(file) = &options.json {
        let text = Answer::new(&advice, evidence, replay, &analysis).to_json()?;
        if piped {
            say(&text)?;
        } else {
            write_whole(file, |out| out.write_all(text.as_bytes()))?;
        }
    }
    if !piped {
        say(&as_text(&advice, &analysis, page.as_deref()))?;
    }
    if !analysis.complete {
        let (done, of) = (analysis.flows, analysis.experiment.flows);
        return Ok(Done::Because(format!("incomplete: {done} of {of} simulated connections")));
    }
    Ok(finish(&replay.files))
}

/// The arms, the baseline first.
fn arms(options: &Options) -> Result<Vec<NamedArm>, Error> {
    let baseline = request::baseline(&options.baseline)?;
    let others = parse_arms(&options.arms)?;
    let others = others.into_iter().filter(|arm| arm.label != baseline.label);
    Ok(std::iter::once(baseline.clone()).chain(others).collect())
}

/// Reads the captures.
fn read(options: &Options) -> Result<Captured, Error> {
    let asked = format!("{},{}", options.baseline, options.arms);
    let mut arms = named(&asked)?;
    let mut seen = Vec::new();
    arms.retain(|arm| {
        let new = !seen.contains(&arm.label);
        seen.push(arm.label.clone());
        new
    });
    let settings = Settings { arms, paced: None, iw: None, lines: 0 };
    let (replay, files) = follow(&options.files, settings, GroupBy::Trace)?;
    let entries: Vec<Entry> = replay.done.iter().filter_map(Entry::of).collect();
    let about = format!("{} recorded connections: {}", entries.len(), options.files.join(", "));
    let paths = Paths::of(&entries, &about).ok_or_else(|| {
        Error::new(format!(
            "{}: no connection long enough to show a rate and a round trip; capture transfers of a second or more, where the sender stands",
            options.files.join(", ")
        ))
    })?;
    let left_out = replay.short + (replay.done.len() - entries.len()) as u64;
    let results = Results::new(&replay, files);
    let evidence = Evidence {
        files: results.files.clone(),
        paths: results.connections.iter().map(path_row).collect(),
        assumed: paths.assumed.iter().map(|one| (one.value.clone(), one.text.clone())).collect(),
        left_out,
    };
    Ok(Captured { replay: results, paths, evidence })
}

fn path_row(of: &ConnectionRow) -> PathRow {
    let exits = of.startups.iter();
    PathRow {
        name: of.name.clone(),
        origin: of.origin.clone(),
        transport: of.transport,
        bytes: of.bytes,
        rtt_ms: of.min_rtt_ms,
        rate_mbps: of.best_rate_wire_mbps,
        rate_is_lower_bound: of.rate_is_lower_bound,
        buffer_ms: of.buffer_ms,
        loss_pct: of.loss_ratio * 100.0,
        findings: of.findings.iter().map(|finding| finding.text.clone()).collect(),
        exits: exits.map(|row| (row.arm.clone(), row.verdict.name(), row.bdp_ratio)).collect(),
    }
}

/// The test that the captures ask for.
fn test(options: &Options, arms: Vec<NamedArm>, captured: &Captured) -> Result<Test, Error> {
    let population = Population::from_toml("the captures", &captured.paths.toml, None)?;
    let connections = &captured.replay.connections;
    let tcp = connections.iter().filter(|connection| connection.transport == "tcp").count();
    let most = if 2 * tcp > connections.len() { Transport::Tcp } else { Transport::Quic };
    let speech = HostArgs { transport: options.transport.unwrap_or(most), detection: None };
    let flows = options.flows.unwrap_or_else(|| {
        affordable(captured.paths.mean_bytes, arms.len(), population.assumptions.len())
    });
    Ok(Test {
        population,
        arms,
        flows,
        seed: options.seed,
        iw: options.iw as u32,
        burst: 2,
        limit: options.limit,
        host: speech.hosts()?,
        detection: None,
        clock: Clock::Receiver,
    })
}

/// How many connections of this size the budget allows; a function of the captures alone, so that
/// an answer is the same on every machine.
fn affordable(mean_bytes: f64, arms: usize, assumptions: usize) -> u64 {
    // A quarter of them runs again at both ends of every assumption.
    let runs = arms as f64 * (1.0 + assumptions as f64 / 2.0) + 2.0;
    let flows = BUDGET / ((mean_bytes + OVERHEAD_BYTES) * runs);
    ((flows / 100.0) as u64 * 100).clamp(LEAST_BY_DEFAULT, MOST_BY_DEFAULT)
}

/// What the paths are like, in a phrase.
fn described(captured: &Captured) -> String {
    let Captured { paths, replay, .. } = captured;
    let digits = |value: f64| match value {
        x if x >= 100.0 => format!("{x:.0}"),
        x if x >= 10.0 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    };
    let span = |[low, middle, high]: [f64; 3], unit: &str| {
        let (low, middle, high) = (digits(low), digits(middle), digits(high));
        if low == high {
            format!("{middle} {unit}")
        } else {
            format!("{middle} {unit} ({low} to {high})")
        }
    };
    let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let connections = paths.connections;
    let files = replay.files.iter().filter(|file| file.connections > 0).count();
    let mut parts = vec![
        format!("{} in {}", count(connections, "connection"), count(files, "file")),
        format!("RTT {}", span(paths.rtt_ms, "ms")),
        format!("rate {}", span(paths.rate_mbps, "Mbit/s")),
        paths
            .buffer_ms
            .map_or("no full queue seen".into(), |buffer| format!("buffer {}", span(buffer, "ms"))),
        format!("loss without a queue {}", span(paths.loss.map(|loss| loss * 100.0), "%")),
    ];
    if paths.lower_bounds > 0 {
        parts.push(format!("{} of {connections} never filled their path", paths.lower_bounds));
    }
    for (period, count) in &paths.grids {
        parts.push(format!("ACKs every {period} ms on {count} of {connections}"));
    }
    parts.join(", ")
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
