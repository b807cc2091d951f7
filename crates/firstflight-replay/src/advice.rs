//! Captures in; which startup to deploy on paths like these: the assembly of `firstflight advise`
//! and of `advise` in Python.

use crate::files::{GroupBy, Watch, follow};
use crate::population::own::Paths;
use crate::population::{Accept, Entries};
use crate::replay::{Named, Settings};
use crate::results::Results;
use crate::summary::ConnectionRow;
use clap::Args;
use firstflight::Nanos;
use firstflight_lab::ab::{Analysis, Clock, MOST_FLOWS, MOST_SECONDS, Tallies, Test};
use firstflight_lab::advise::{Advice, Answer, Evidence, PathRow, advise};
use firstflight_lab::request::{self, HostArgs, Transport};
use firstflight_lab::{Error, NamedArm, Population, parse_arms, size};
use std::path::Path;

/// What is asked besides the captures.
#[derive(Args, Clone, Debug)]
pub struct AdviseRequest {
    /// The arm that runs today, which the others are compared with
    #[arg(long, default_value = "slowstart")]
    pub baseline: String,
    /// Arms, separated by commas
    #[arg(long, default_value = "hystart,hystart++,search,best,rapid")]
    pub arms: String,
    /// Simulated connections [default: what takes 5 to 8 s of processor time, at most 20000]
    #[arg(long, value_parser = |text: &str| size::count(text, 1..=MOST_FLOWS, "connections"), allow_negative_numbers = true)]
    pub flows: Option<u64>,
    /// Transport that is simulated [default: that of most captured connections]
    #[arg(long, value_enum)]
    pub transport: Option<Transport>,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    pub seed: u64,
    /// Initial window in packets, for arms that do not name one
    #[arg(long, default_value_t = 10, value_parser = |text: &str| size::count(text, 1..=1000, "packets"), allow_negative_numbers = true)]
    pub iw: u64,
    /// Stop a transfer after this much simulated time: 30s, 500ms, 2min, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = |text: &str| size::limit(text, MOST_SECONDS), allow_negative_numbers = true)]
    pub limit: Nanos,
    /// Take connections whose capture leaves a doubt (docs/replay.md)
    #[arg(long, value_enum)]
    pub accept: Option<Accept>,
}

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

/// The captures, read, and the test that they ask for.
pub struct Asked {
    /// The test, not yet run.
    pub test: Test,
    captured: Captured,
}

/// The answer and what it rests on.
pub struct Advised {
    /// The answer.
    pub advice: Advice,
    /// What was read and assumed.
    pub evidence: Evidence,
    /// What the captures say.
    pub replay: Results,
    /// The A/B test; its recommendation is the answer's.
    pub analysis: Analysis,
}

impl AdviseRequest {
    /// Reads the captures; `watch` hears how far that is.
    ///
    /// # Errors
    /// One line.
    pub fn read(&self, files: &[impl AsRef<Path>], watch: Watch<'_>) -> Result<Asked, Error> {
        let arms = arms(self)?;
        let captured = read(self, files, watch)?;
        let test = test(self, arms, &captured)?;
        test.check()?;
        Ok(Asked { test, captured })
    }
}

impl Asked {
    /// The answer, by what came out of the test.
    pub fn answer(self, tallies: &Tallies) -> Advised {
        let Asked { test, captured } = self;
        let warnings = test.population.warnings();
        let mut analysis = Analysis::new(&test.experiment(), tallies, &warnings);
        let described = described(&captured);
        let Captured { replay, paths, evidence } = captured;
        let advice = advise(&analysis, paths.connections, &described, &evidence);
        // The test alone knows nothing of how few paths were recorded: the answer is the page's
        // first sentence there, too.
        if let Some(first) = analysis.recommendation.first_mut() {
            first.clone_from(&advice.finding);
        }
        if advice.deploy.is_none() && advice.trade_off.is_none() {
            analysis.recommendation.truncate(1);
        }
        Advised { advice, evidence, replay, analysis }
    }
}

impl Advised {
    /// Answer, replay and A/B test as JSON.
    ///
    /// # Errors
    /// One line; never with values of ours.
    pub fn to_json(&self) -> Result<String, Error> {
        Answer::new(&self.advice, &self.evidence, &self.replay, &self.analysis).to_json()
    }

    /// The page; `command` is the command line that makes it again.
    pub fn page(&self, command: &str) -> String {
        self.analysis.advice_page(command, &self.advice, &self.evidence)
    }
}

/// The arms, which must be arms of ours.
///
/// # Errors
/// One line.
pub fn named(text: &str) -> Result<Vec<Named>, Error> {
    let outside = |arm: &NamedArm| {
        Error::new(format!(
            "arm `{}`: the kernel's own controllers cannot be replayed outside of it",
            arm.label
        ))
    };
    let ours = |named: NamedArm| match named.arm() {
        Ok(&arm) => Ok(Named { label: named.label, arm }),
        Err(_) => Err(outside(&named)),
    };
    parse_arms(text)?.into_iter().map(ours).collect()
}

/// The arms, the baseline first.
fn arms(options: &AdviseRequest) -> Result<Vec<NamedArm>, Error> {
    let baseline = request::baseline(&options.baseline)?;
    let others = parse_arms(&options.arms)?;
    let others = others.into_iter().filter(|arm| arm.label != baseline.label);
    Ok(std::iter::once(baseline.clone()).chain(others).collect())
}

/// Reads the captures.
fn read(
    options: &AdviseRequest,
    files: &[impl AsRef<Path>],
    watch: Watch<'_>,
) -> Result<Captured, Error> {
    let asked = format!("{},{}", options.baseline, options.arms);
    let mut arms = named(&asked)?;
    let mut seen = Vec::new();
    arms.retain(|arm| {
        let new = !seen.contains(&arm.label);
        seen.push(arm.label.clone());
        new
    });
    let settings = Settings { arms, ..Settings::default() };
    let (replay, rows) = follow(files, settings, GroupBy::Trace, watch)?;
    let entries = Entries::of(&replay, options.accept);
    let names: Vec<String> = rows.iter().map(|row| row.file.clone()).collect();
    let about = format!("{} recorded connections: {}", entries.taken.len(), listed(&names));
    let paths = Paths::of(&entries.taken, &about).ok_or_else(|| {
        entries.refusal(&names, "; capture transfers of a second or more, where the sender stands")
    })?;
    let results = Results::new(&replay, rows);
    let takes = |of: &&ConnectionRow| options.accept.is_some() || !of.is_doubtful();
    let taken = results.connections.iter().filter(takes);
    let evidence = Evidence {
        files: results.files.clone(),
        paths: taken.map(path_row).collect(),
        assumed: paths.assumed.iter().map(|one| (one.value.clone(), one.text.clone())).collect(),
        left_out: entries.short,
        doubts: entries.doubts(),
    };
    Ok(Captured { replay: results, paths, evidence })
}

/// Files by name, as far as a line holds them.
fn listed(files: &[String]) -> String {
    const MOST: usize = 80;
    let all = files.join(", ");
    match files {
        [first, rest @ ..] if all.len() > MOST && !rest.is_empty() => {
            format!("{first} and {} more files", rest.len())
        }
        _ => all,
    }
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
        loss_pct: of.loss_ratio.map(|loss| loss * 100.0),
        findings: of.findings.iter().map(|finding| finding.text.clone()).collect(),
        exits: exits.map(|row| (row.arm.clone(), row.verdict.name(), row.bdp_ratio)).collect(),
    }
}

/// The test that the captures ask for.
fn test(options: &AdviseRequest, arms: Vec<NamedArm>, captured: &Captured) -> Result<Test, Error> {
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
