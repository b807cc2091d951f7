//! From captures to the startup to deploy on such paths: the parts of `firstflight advise` and of
//! `advise` in Python.

use crate::files::{GroupBy, Watch, follow};
use crate::identify::{DEFAULT_CANDIDATES, Identity};
use crate::population::model::Today;
use crate::population::own::Paths;
use crate::population::{Accept, Entries};
use crate::replay::{Named, Settings};
use crate::results::Results;
use crate::run::{BBR1, Tried};
use crate::summary::ConnectionRow;
use clap::Args;
use firstflight::Nanos;
use firstflight::arm::Arm;
use firstflight_lab::ab::{
    Analysis, Clock, MOST_FLOWS, MOST_SECONDS, Run, Tallies, Test, Watch as LabWatch,
};
use firstflight_lab::advise::{Advice, Answer, Baseline, Evidence, Model, PathRow, advise};
use firstflight_lab::decision::{Effects, Limits};
use firstflight_lab::request::{self, HostArgs, Transport};
use firstflight_lab::{Error, NamedArm, Population, Sender, parse_arms, size};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Options of `advise` besides the captures.
#[derive(Args, Clone, Debug)]
pub struct AdviseRequest {
    /// The arm in use today; the others are compared with it [default: identified]
    #[arg(long)]
    pub baseline: Option<String>,
    /// Arms, separated by commas [default: the three most promising of all]
    #[arg(long)]
    pub arms: Option<String>,
    /// Number of simulated connections [default: as many as fit in 10 to 16 s of processor time, at most 20000]
    #[arg(long, value_parser = |text: &str| size::count(text, 1..=MOST_FLOWS, "connections"), allow_negative_numbers = true)]
    pub flows: Option<u64>,
    /// Transport to simulate [default: that of most captured connections]
    #[arg(long, value_enum)]
    pub transport: Option<Transport>,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    pub seed: u64,
    /// Initial window in packets, for arms that do not name one [default: that of the captures]
    #[arg(long, value_parser = |text: &str| size::count(text, 1..=1000, "packets"), allow_negative_numbers = true)]
    pub iw: Option<u64>,
    /// Stop a transfer after this much simulated time: 30s, 500ms, 2min, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "600s", value_parser = |text: &str| size::limit(text, MOST_SECONDS), allow_negative_numbers = true)]
    pub limit: Nanos,
    /// Also use connections whose capture is doubtful (docs/replay.md)
    #[arg(long, value_enum)]
    pub accept: Option<Accept>,
    /// Accepted cost of shorter completion times.
    #[command(flatten)]
    pub limits: Limits,
}

/// The arms if none are named.
const ALL: &str = "slowstart,hystart,hystart++,search,best,rapid,jumpstart,plumb,bbr3";
/// Number of arms kept after screening, and number of connections in the screening.
const BEST: usize = 3;
const SCREENING: u64 = 300;
/// Candidates whose sums of log-likelihoods are at most this far apart are tied.
const TIE: f64 = 2.0;
/// Share of the connections that one sender must explain.
const MOST_EXPLAINED: f64 = 2.0 / 3.0;

/// Bytes that the simulator carries for one answer, over all arms: 10 to 16 s of processor time.
const BUDGET: f64 = 60e9;
const MOST_BY_DEFAULT: u64 = 20_000;
/// With fewer connections, groups are too small for a mean.
const LEAST_BY_DEFAULT: u64 = 2_000;
/// Fixed cost of a transfer in equivalent bytes; short transfers cost more than their bytes.
const OVERHEAD_BYTES: f64 = 50_000.0;

/// Results from the captures alone.
struct Captured {
    replay: Results,
    paths: Paths,
    evidence: Evidence,
    baseline: Baseline,
    model: Model,
}

/// The captures, read, and the test derived from them.
pub struct Asked {
    /// The test, not yet run.
    pub test: Test,
    captured: Captured,
}

/// The recommendation and its evidence.
pub struct Advised {
    /// The answer.
    pub advice: Advice,
    /// Input and assumptions.
    pub evidence: Evidence,
    /// Replay of the captures.
    pub replay: Results,
    /// The A/B test, from which the recommendation is taken.
    pub analysis: Analysis,
}

impl AdviseRequest {
    /// Reads the captures; `watch` receives the progress.
    ///
    /// # Errors
    /// A one-line message.
    pub fn read(&self, files: &[impl AsRef<Path>], watch: Watch<'_>) -> Result<Asked, Error> {
        let (captured, today) = read(self, files, watch)?;
        let test = test(self, &today, &captured)?;
        test.check()?;
        Ok(Asked { test, captured })
    }
}

impl Asked {
    /// Derives the recommendation from the results of the test.
    pub fn answer(self, tallies: &Tallies) -> Advised {
        let Asked { test, captured } = self;
        let warnings = test.population.warnings();
        let mut analysis = Analysis::new(&test.experiment(), tallies, &warnings);
        let described = described(&captured);
        let Captured { replay, paths, evidence, baseline, model } = captured;
        let replayed = |arm: &str| replayed(&replay, arm);
        let advice =
            advise(&mut analysis, paths.connections, &described, (baseline, model), &replayed);
        Advised { advice, evidence, replay, analysis }
    }
}

/// Describes in a sentence how an arm would have left slow start on the captures.
fn replayed(replay: &Results, arm: &str) -> Option<String> {
    let row = replay.verdicts.iter().find(|row| row.arm == arm)?;
    let kinds = [
        (row.right, "in time"),
        (row.early, "early"),
        (row.late, "late"),
        (row.silent, "not within the capture"),
    ];
    let told = kinds.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, how)| format!("{how} on {count}")).collect();
    Some(format!(
        "on the recorded ACKs, {arm} exits slow start {} of {} connections",
        told.join(", "),
        row.connections
    ))
}

impl Advised {
    /// The answer, the replay and the A/B test as JSON.
    ///
    /// # Errors
    /// A one-line message; never for our own values.
    pub fn to_json(&self) -> Result<String, Error> {
        Answer::new(&self.advice, &self.evidence, &self.replay, &self.analysis).to_json()
    }

    /// The page; `command` is the command line that reproduces it.
    pub fn page(&self, command: &str) -> String {
        self.analysis.advice_page(command, &self.advice, &self.evidence)
    }
}

/// Parses a list of arms, which must be ours.
///
/// # Errors
/// A one-line message.
pub fn named(text: &str) -> Result<Vec<Named>, Error> {
    let ours = |named: NamedArm| match named.arm() {
        Ok(&arm) => Ok(Named { label: named.label, arm }),
        Err(_) => Err(outside(&named)),
    };
    parse_arms(text)?.into_iter().map(ours).collect()
}

/// Parses a list of possible senders of a recording: arms, and `kernel:bbr`, which is BBRv1.
///
/// # Errors
/// A one-line message for an unknown sender, or one whose sending cannot be predicted.
pub fn tried(text: &str) -> Result<Vec<Tried>, Error> {
    let each = |named: NamedArm| match named.arm() {
        Ok(&arm) => Ok(Named { label: named.label, arm }.into()),
        Err(_) if named.full() == BBR1 => Ok(Tried::bbr1()),
        Err(_) => Err(outside(&named)),
    };
    parse_arms(text)?.into_iter().map(each).collect()
}

/// The error for an arm that runs only in the kernel.
fn outside(arm: &NamedArm) -> Error {
    Error::new(format!(
        "arm `{}`: the kernel's own controllers cannot be replayed outside the kernel",
        arm.label
    ))
}

/// The startup of an arm, by its name in the lists.
fn startup(arm: &str) -> &str {
    arm.split(['/', '@', '(']).next().unwrap_or(arm)
}

/// The arm with all other parts taken from today's sender.
fn alike(named: NamedArm, today: &Arm) -> NamedArm {
    let Sender::Arm(arm) = named.sender else { return named };
    if arm.startup.is_whole() || named.label.contains(['/', '@']) {
        return NamedArm { sender: Sender::Arm(arm), ..named };
    }
    let arm = Arm { avoidance: today.avoidance, ..arm };
    NamedArm { sender: Sender::Arm(arm), ..named }
}

/// The sender that the captures show: the full arm, and how it was identified.
fn identified(rows: &[&ConnectionRow], tcp: bool) -> (Option<String>, Baseline) {
    let n = rows.len();
    let enough = |count: usize| count as f64 >= MOST_EXPLAINED * n as f64;
    let unknown = |why: String| (None, Baseline { why, ..Baseline::default() });
    let explained: Vec<&Identity> = rows
        .iter()
        .filter_map(|row| row.identified.as_ref())
        .filter(|identity| !identity.alike.is_empty())
        .collect();
    let mut sums: Vec<(&str, f64)> = Vec::new();
    for candidate in explained.iter().flat_map(|identity| &identity.candidates) {
        match sums.iter_mut().find(|(name, _)| *name == candidate.startup) {
            Some((_, sum)) => *sum += candidate.log_likelihood,
            None => sums.push((&candidate.startup, candidate.log_likelihood)),
        }
    }
    let most = sums.iter().map(|(_, sum)| *sum).fold(f64::NEG_INFINITY, f64::max);
    let sum = |name: &str| sums.iter().find(|(known, _)| *known == name).map(|(_, sum)| *sum);
    // The name in a log counts unless the ACKs contradict it.
    let names: Vec<&str> = rows.iter().filter_map(|row| row.sender.arm.as_deref()).collect();
    let agree = |first: &str| enough(names.iter().filter(|name| **name == first).count());
    if let Some(first) = names.first().copied().filter(|first| agree(first))
        && sum(startup(first)).is_none_or(|sum| sum > most - 5.0 * TIE)
    {
        let arm = startup(first).to_owned();
        let why = format!("{arm}: named in the logs");
        return (Some(first.to_owned()), Baseline { arm, why, known: true, alike: Vec::new() });
    }
    if !enough(explained.len()) {
        let count = explained.len();
        return unknown(format!("unknown sender: a startup explains {count} of {n} connections"));
    }
    let usual: &[&str] = if tcp { &["hystart", "slowstart"] } else { &["slowstart", "hystart++"] };
    let ties: Vec<&str> =
        sums.iter().filter(|(_, sum)| *sum >= most - TIE).map(|(name, _)| *name).collect();
    let best = sums.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| *name);
    let deployed = usual.iter().find(|name| ties.contains(name)).copied();
    let Some(arm) = deployed.or(best) else { return unknown("unknown sender".into()) };
    if arm == BBR1 {
        return unknown(format!("{arm}: the sender runs BBRv1, which runs only in the kernel"));
    }
    let by: Vec<&&Identity> =
        explained.iter().filter(|identity| identity.alike.iter().any(|name| name == arm)).collect();
    if !enough(by.len()) {
        return unknown(format!("mixed senders: {arm} explains {} of {n} connections", by.len()));
    }
    let fulls: Vec<&str> = by
        .iter()
        .filter_map(|identity| identity.candidates.iter().find(|one| one.startup == arm))
        .map(|one| one.arm.as_str())
        .collect();
    let count = |full: &str| fulls.iter().filter(|other| **other == full).count();
    let full = fulls.iter().max_by_key(|full| (count(full), std::cmp::Reverse(**full)));
    let others: Vec<String> =
        ties.iter().filter(|name| **name != arm).map(|name| (*name).to_owned()).collect();
    let equals = if others.is_empty() {
        String::new()
    } else {
        format!("; {} would have sent the same", others.join(", "))
    };
    let why = format!("{arm}: identified on {} of {n} connections{equals}", by.len());
    let known = Baseline { arm: arm.to_owned(), why, known: true, alike: others };
    (full.map(|full| (*full).to_owned()), known)
}

/// Today's sender and its hosts.
fn today(
    options: &AdviseRequest,
    rows: &[&ConnectionRow],
    transport: Transport,
) -> Result<(Today, Baseline), Error> {
    let host = HostArgs { transport, detection: None }.hosts()?;
    let tcp = transport == Transport::Tcp;
    let (full, mut baseline) = identified(rows, tcp);
    let mut arm = if let Some(text) = &options.baseline {
        let arm = request::baseline(text)?;
        let why = format!("{}: as requested", arm.label);
        baseline = Baseline { arm: arm.label.clone(), why, known: true, alike: Vec::new() };
        arm
    } else {
        let usual = if tcp { "hystart" } else { "slowstart" };
        let mut arm = request::baseline(full.as_deref().unwrap_or(usual))?;
        startup(&arm.label.clone()).clone_into(&mut arm.label);
        baseline.arm.clone_from(&arm.label);
        arm
    };
    let mut windows: Vec<u64> =
        rows.iter().map(|row| row.initial_window.div_ceil(row.mss.max(1))).collect();
    windows.sort_unstable();
    let usual = windows.get(windows.len() / 2).copied().unwrap_or(10).clamp(2, 64);
    let iw = options.iw.unwrap_or(usual) as u32;
    // The log's own initial window is already part of the captures.
    if let Sender::Arm(of) = &mut arm.sender
        && options.baseline.is_none()
    {
        of.sender.iw = None;
    }
    Ok((Today { arm, iw, host }, baseline))
}

/// Reads the captures.
fn read(
    options: &AdviseRequest,
    files: &[impl AsRef<Path>],
    watch: Watch<'_>,
) -> Result<(Captured, Today), Error> {
    let asked = match (&options.baseline, &options.arms) {
        (Some(baseline), Some(arms)) => format!("{baseline},{arms}"),
        (Some(baseline), None) => format!("{baseline},{ALL}"),
        (None, arms) => arms.clone().unwrap_or_else(|| ALL.into()),
    };
    let mut arms = named(&asked)?;
    let mut seen = Vec::new();
    arms.retain(|arm| {
        let new = !seen.contains(&arm.label);
        seen.push(arm.label.clone());
        new
    });
    let identify = tried(DEFAULT_CANDIDATES)?;
    let settings = Settings { arms, identify, entries: true, ..Settings::default() };
    let (replay, rows) = follow(files, settings, GroupBy::Trace, watch)?;
    let mut entries = Entries::of(&replay, options.accept);
    let names: Vec<String> = rows.iter().map(|row| row.file.clone()).collect();
    let about = format!("{} recorded connections: {}", entries.taken.len(), listed(&names));
    if entries.taken.is_empty() {
        return Err(
            entries.refusal(&names, "; capture transfers of at least one second, at the sender")
        );
    }
    let results = Results::new(replay, rows);
    let takes = |of: &&ConnectionRow| options.accept.is_some() || !of.is_doubtful();
    let taken: Vec<&ConnectionRow> = results.connections.iter().filter(takes).collect();
    let tcp = taken.iter().filter(|connection| connection.transport == "tcp").count();
    let most = if 2 * tcp > taken.len() { Transport::Tcp } else { Transport::Quic };
    let (today, baseline) = today(options, &taken, options.transport.unwrap_or(most))?;
    let ends = today.fit(&mut entries.taken)?;
    let model = today.check(&entries.taken, reasons(&taken))?;
    let paths =
        Paths::of(&entries.taken, &about, &ends).ok_or_else(|| entries.refusal(&names, ""))?;
    let evidence = Evidence {
        files: results.files.clone(),
        paths: taken.iter().map(|row| path_row(row)).collect(),
        assumed: paths.assumed.iter().map(|one| (one.value.clone(), one.text.clone())).collect(),
        left_out: entries.short,
        doubts: entries.doubts(),
    };
    Ok((Captured { replay: results, paths, evidence, baseline, model }, today))
}

/// Possible reasons for a poor fit of the model to these captures, most likely first.
fn reasons(rows: &[&ConnectionRow]) -> Vec<String> {
    let of = |kinds: &[&str]| {
        let has = |row: &&&ConnectionRow| row.findings.iter().any(|one| kinds.contains(&one.kind));
        rows.iter().filter(has).count()
    };
    let mut found: Vec<(usize, &str)> = vec![
        (of(&["app_limited"]), "the application had nothing to send"),
        (of(&["receiver_limited", "closed_window"]), "the receiver's window"),
        (of(&["policer"]), "a policer"),
        (of(&["foreign_queue"]), "other traffic"),
    ];
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    found.retain(|(count, _)| *count > 0);
    if rows.len() < 10 {
        found.push((0, "few connections"));
    }
    if found.len() < 2 {
        found.push((0, "another sender"));
    }
    found.into_iter().map(|(_, why)| why.to_owned()).collect()
}

/// File names, as many as fit on a line.
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

/// The test derived from the captures.
fn test(options: &AdviseRequest, today: &Today, captured: &Captured) -> Result<Test, Error> {
    let population = Population::from_toml("the captures", &captured.paths.toml, None)?;
    let others = parse_arms(options.arms.as_deref().unwrap_or(ALL))?;
    let others = others.into_iter().filter(|arm| arm.label != today.arm.label);
    let others = others.map(|arm| match today.arm.arm() {
        Ok(own) => alike(arm, own),
        Err(_) => arm,
    });
    let mut test = Test {
        population,
        arms: std::iter::once(today.arm.clone()).chain(others).collect(),
        flows: SCREENING,
        seed: SCREENING,
        iw: today.iw,
        burst: 2,
        limit: options.limit,
        host: today.host,
        detection: None,
        clock: Clock::Receiver,
        limits: options.limits,
    };
    test.check()?;
    if options.arms.is_none() {
        test.arms = screened(&test)?;
    }
    let worlds = test.population.worlds().len();
    test.flows = options
        .flows
        .unwrap_or_else(|| affordable(captured.paths.mean_bytes, test.arms.len(), worlds));
    test.seed = options.seed;
    Ok(test)
}

/// The baseline and the most promising arms: the fastest, the fastest without extra cost, and the
/// gentlest of those that are no slower. The screening uses its own seed, so the answer compares
/// the same arms whatever the user's seed is.
fn screened(test: &Test) -> Result<Vec<NamedArm>, Error> {
    let plain = Population { assumptions: Vec::new(), ..test.population.clone() };
    let screening = Test { population: plain, ..test.clone() };
    let stop = AtomicBool::new(false);
    let mut watch = LabWatch { tick: &|_| {}, stop: &stop, rows: None };
    let tallies = screening.run(&Run { unchecked: true, ..Run::default() }, &mut watch)?;
    let decision = tallies.decision(&screening.experiment());
    let mut rows: Vec<(&str, &Effects)> = decision
        .arms
        .iter()
        .filter_map(|row| Some((row.arm.as_str(), row.effects.first()?)))
        .collect();
    rows.sort_by(|a, b| b.1.time_pct.value.total_cmp(&a.1.time_pct.value));
    let free = |of: &Effects| {
        of.loss_points.value <= of.loss_points.margin && of.queue_ms.value <= of.queue_ms.margin
    };
    let clean = rows.iter().find(|(_, of)| free(of));
    let gentle = rows
        .iter()
        .filter(|(_, of)| of.time_pct.value >= -of.time_pct.margin)
        .min_by(|a, b| a.1.loss_points.value.total_cmp(&b.1.loss_points.value));
    let mut best: Vec<&str> = Vec::new();
    // Arms that behave like the baseline come last.
    let moves =
        |(_, of): &&(&str, &Effects)| of.time_pct.value != 0.0 || of.loss_points.value != 0.0;
    let others = rows.iter().filter(moves).chain(&rows);
    for (arm, _) in rows.first().into_iter().chain(clean).chain(gentle).filter(moves).chain(others)
    {
        if !best.contains(arm) && best.len() < BEST {
            best.push(arm);
        }
    }
    let kept =
        |(index, arm): &(usize, &NamedArm)| *index == 0 || best.contains(&arm.label.as_str());
    Ok(test.arms.iter().enumerate().filter(kept).map(|(_, arm)| arm.clone()).collect())
}

/// The number of connections of this size that the budget allows. It depends only on the captures,
/// so an answer is the same on every machine.
fn affordable(mean_bytes: f64, arms: usize, worlds: usize) -> u64 {
    // A quarter of the connections runs again in every world.
    let runs = arms as f64 * (1.0 + worlds as f64 / 4.0) + 2.0;
    let flows = BUDGET / ((mean_bytes + OVERHEAD_BYTES) * runs);
    ((flows / 100.0) as u64 * 100).clamp(LEAST_BY_DEFAULT, MOST_BY_DEFAULT)
}

/// Describes the paths in a phrase.
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
