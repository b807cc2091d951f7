//! `firstflight conform`: compares a foreign controller with one of ours on the same ACKs.

use crate::done::Done;
use crate::files::check_outputs;
use crate::fit::brief;
use crate::output::{Output, fitted, show_with};
use crate::rows::pretty;
use crate::terminal::{width, wrap};
use clap::Args;
use firstflight_lab::conform::{
    Answer, Connection, Difference, Foreign, Judge, OneOfOurs, Process, Rule, Side as Window, Step,
    Table as Plugged, Verdict, counterpart, kernel_counterpart, of_foreign, of_kernel, of_stack,
    scenarios,
};
use firstflight_lab::request::named;
use firstflight_lab::{
    Error, NamedArm, STACK_ARMS, Scenario, Sender, StackArm, hosts_of_tcp, parse_arms, size,
};
use firstflight_path::Path;
use firstflight_path::input::file_of;
use firstflight_table::{Kind, Marked, Table};
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The controller: a QUIC stack's such as `noq:cubic`, the running kernel's such as `kernel:cubic`, `exec:COMMAND` for a program that reads
    /// events and writes windows, `table:FILE` for a shared library with C functions (docs/conform.md), or one of our arms
    #[arg(value_parser = named())]
    controller: String,
    /// Our arm to compare it with [default: the one that implements the same specifications]
    #[arg(long, value_name = "ARM")]
    against: Option<String>,
    /// Path of the connection [default: four paths that together exercise every rule]
    #[arg(long, value_parser = named())]
    path: Option<String>,
    /// Object size with its unit, for `--path`
    #[arg(long, default_value = "10MB", value_parser = size::parse, allow_hyphen_values = true)]
    bytes: u64,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Largest difference between windows that count as equal [default: one full packet, the least a sender can act on]
    #[arg(long, value_name = "BYTES", value_parser = tolerance, allow_hyphen_values = true)]
    tolerance: Option<u64>,
    /// Exit with code 1 if anything differs
    #[arg(long)]
    strict: bool,
    /// Write everything as JSON to a file, `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Parses a tolerance, which is a size or zero.
fn tolerance(text: &str) -> Result<u64, String> {
    if matches!(text.trim(), "0" | "0B") { Ok(0) } else { size::parse(text) }
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    check_outputs(options.json.as_ref(), &[])?;
    let held = Held::read(&options.controller)?;
    let against = one_arm(&held.against(options.against.as_deref())?)?;
    let arm = *against.arm()?;
    let scenarios = match &options.path {
        Some(path) => vec![Scenario::new(Path::parse(path)?, options.bytes)],
        None => scenarios()?,
    };
    let scenarios = held.on_its_hosts(scenarios)?;
    let mut connections = Vec::new();
    for scenario in &scenarios {
        let tolerance = options.tolerance.unwrap_or_else(|| scenario.host.mss());
        let judge = Judge::new(arm, tolerance);
        let verdict = held.judged(&against, scenario, options.seed, judge)?;
        let over = verdict.ended.is_some();
        connections.push(Connection {
            path: scenario.path.to_string(),
            bytes: scenario.bytes,
            seed: options.seed,
            verdict,
        });
        if over {
            break;
        }
    }
    let answer = Answer::new(&options.controller, &against, connections);
    show_with(options.json.as_ref(), &answer)?;
    if let Some(why) = ended(&answer) {
        return Ok(Done::Because(why.to_owned()));
    }
    if answer.same || !options.strict {
        return Ok(Done::Well);
    }
    Ok(Done::Because(format!("{} differs from {}", answer.controller, answer.against)))
}

/// The reason why the foreign controller ended early, if it did; the check has then failed,
/// whatever else it found.
fn ended(answer: &Answer) -> Option<&str> {
    answer.connections.iter().find_map(|connection| connection.verdict.ended.as_deref())
}

/// Maximum time for an answer of a foreign controller.
const PATIENCE: Duration = Duration::from_secs(10);

/// A controller that is compared with ours.
#[expect(clippy::large_enum_variant, reason = "one per command")]
enum Held {
    Stack(&'static StackArm),
    /// The name after `kernel:`.
    Kernel(String),
    Process(String),
    Table(PathBuf),
    Ours(NamedArm),
}

impl Held {
    fn read(text: &str) -> Result<Held, Error> {
        if let Some(command) = text.strip_prefix("exec:") {
            return Ok(Held::Process(command.to_owned()));
        }
        if let Some(file) = text.strip_prefix("table:") {
            return Ok(Held::Table(file_of(file)));
        }
        if let Some(name) = text.strip_prefix("kernel:") {
            return Ok(Held::Kernel(name.to_owned()));
        }
        let arm = one_arm(text)?;
        Ok(match &arm.sender {
            Sender::Stack(stack) => Held::Stack(stack),
            Sender::Arm(_) => Held::Ours(arm),
            _ => {
                let stacks = STACK_ARMS.iter().map(|arm| arm.name).collect::<Vec<_>>().join(", ");
                return Err(Error::new(format!(
                    "controller `{text}`: cannot receive the events of our arms; allowed: {stacks}, kernel:NAME, exec:COMMAND, table:FILE, an arm"
                )));
            }
        })
    }

    /// Our arm for the comparison.
    fn against(&self, asked: Option<&str>) -> Result<String, Error> {
        if let Some(asked) = asked {
            return Ok(asked.to_owned());
        }
        match self {
            Held::Stack(stack) => counterpart(stack).map(str::to_owned).ok_or_else(|| {
                Error::new(format!(
                    "controller `{}`: none of our arms corresponds to it; name one with --against",
                    stack.name
                ))
            }),
            Held::Kernel(name) => kernel_counterpart(name),
            Held::Process(_) | Held::Table(_) => {
                Ok("slowstart/cubic(base=cwnd)/immediate".to_owned())
            }
            Held::Ours(arm) => Ok(arm.label.clone()),
        }
    }

    /// The kernel uses TCP, all others QUIC.
    fn on_its_hosts(&self, scenarios: Vec<Scenario>) -> Result<Vec<Scenario>, Error> {
        if !matches!(self, Held::Kernel(_)) {
            return Ok(scenarios);
        }
        let host = hosts_of_tcp("rack")?;
        Ok(scenarios.into_iter().map(|scenario| Scenario { host, ..scenario }).collect())
    }

    fn judged(
        &self,
        against: &NamedArm,
        scenario: &Scenario,
        seed: u64,
        judge: Judge,
    ) -> Result<Verdict, Error> {
        let mut foreign: Box<dyn Foreign> = match self {
            Held::Stack(stack) => return of_stack(stack, against, scenario, seed, judge),
            Held::Kernel(name) => return of_kernel(name, against, scenario, seed, judge),
            Held::Process(command) => Box::new(Process::start(command, PATIENCE)?),
            Held::Table(file) => Box::new(open_table(file)?),
            Held::Ours(arm) => Box::new(OneOfOurs::new(*arm.arm()?)),
        };
        of_foreign(&mut *foreign, against, scenario, seed, judge)
    }
}

#[derive(Args, Debug)]
pub(crate) struct TableOptions {
    /// The library
    file: PathBuf,
}

/// The process in which a library runs; its counterpart is [`open_table`].
#[allow(unsafe_code, reason = "a library that somebody names is run as any program of theirs")]
pub(crate) fn run_table(options: &TableOptions) -> Result<Done, Error> {
    // SAFETY: whoever names the library vouches for it, as for a command after `exec:`.
    let open = || unsafe { Plugged::open(&options.file) };
    #[cfg(unix)]
    firstflight_lab::conform::answer(open)?;
    #[cfg(not(unix))]
    open()?;
    Ok(Done::Well)
}

#[cfg(unix)]
fn open_table(file: &FilePath) -> Result<impl Foreign + use<>, Error> {
    // The program itself, even if its file was replaced since it started.
    let own = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().map_err(|error| Error::new(error.to_string()))?
    };
    let mut command = std::process::Command::new(own);
    command.arg("table").arg("--").arg(file);
    let name = format!("table:{}", file.display());
    firstflight_lab::conform::Guarded::start(&name, command, PATIENCE)
}

#[cfg(not(unix))]
#[allow(unsafe_code, reason = "a library that somebody names is run as any program of theirs")]
fn open_table(file: &FilePath) -> Result<Plugged, Error> {
    // SAFETY: whoever names the library vouches for it, as for a command after `exec:`.
    unsafe { Plugged::open(file) }
}

fn one_arm(text: &str) -> Result<NamedArm, Error> {
    let mut arms = parse_arms(text)?;
    match (arms.pop(), arms.is_empty()) {
        (Some(arm), true) => Ok(arm),
        _ => Err(Error::new(format!("`{text}`: one controller at a time"))),
    }
}

fn sheet(connection: &Connection) -> Table {
    let columns = [
        ("rule", Kind::Prose),
        ("section", Kind::Prose),
        ("events", Kind::Number),
        ("differ", Kind::Number),
        ("on its own", Kind::Number),
        ("first at\nms", Kind::Number),
        ("theirs", Kind::Number),
        ("ours", Kind::Number),
    ];
    let mut sheet = Table::new(connection.path.clone(), columns);
    for row in &connection.verdict.rules {
        let first = row.first.as_ref().map(|first| &first.step);
        let rule = row.rule;
        sheet.row([
            Marked::from(row.rule.name()),
            row.section.into(),
            row.events.to_string().into(),
            Marked::from(row.differ.to_string()).bold(row.on_its_own > 0),
            row.on_its_own.to_string().into(),
            first.map_or_else(String::new, |step| format!("{:.1}", step.at_ms)).into(),
            first.map_or_else(String::new, |step| moved(rule, &step.theirs)).into(),
            first.map_or_else(String::new, |step| moved(rule, &step.ours)).into(),
        ]);
    }
    sheet
}

/// Describes the result in sentences.
fn told(connection: &Connection) -> Vec<String> {
    let verdict = &connection.verdict;
    let packets = format!(
        "{} and {} bytes: {} ACKs and loss-timer expiries",
        connection.path, connection.bytes, verdict.acks
    );
    if let Some(why) = &verdict.ended {
        return vec![format!("{packets}, then no response: {why}.")];
    }
    let Some(first) = &verdict.first else {
        return vec![format!(
            "{packets}; the windows never differ by more than {} bytes.",
            verdict.tolerance_bytes
        )];
    };
    let (step, rule) = (&first.step, first.rule);
    vec![
        format!(
            "{packets}; the windows differ after {} of them ({:.1} %).",
            verdict.acks_apart,
            100.0 * verdict.acks_apart as f64 / verdict.acks.max(1) as f64
        ),
        format!(
            "First at ACK {}, {:.1} ms ({}, {}): theirs {}, ours {}.",
            step.ack,
            step.at_ms,
            first.rule.name(),
            first.section,
            moved(rule, &step.theirs),
            moved(rule, &step.ours)
        ),
    ]
}

/// Names the rules that cannot fail on a connection, if there are any.
fn blind(connection: &Connection) -> Option<String> {
    let blind = connection.verdict.rules.iter().filter(|row| !row.can_fail);
    let blind: Vec<String> =
        blind.map(|row| format!("{} ({} bytes)", row.rule.name(), row.step_bytes)).collect();
    (!blind.is_empty()).then(|| {
        format!(
            "Cannot fail here, since the largest step is within the tolerance: {}.",
            blind.join(", ")
        )
    })
}

/// A window before and after an event, with the factor if it shrank. For a reduction that takes a
/// round trip, its target is shown.
fn moved(rule: Rule, side: &Window) -> String {
    let Window { cwnd_before, cwnd, .. } = *side;
    let target = side.target();
    if rule == Rule::Reduction && target != cwnd && target < cwnd_before {
        let factor = target as f64 / cwnd_before as f64;
        return format!("{cwnd_before} towards {target} (x {factor:.3})");
    }
    if cwnd < cwnd_before {
        let factor = cwnd as f64 / cwnd_before as f64;
        return format!("{cwnd_before} to {cwnd} (x {factor:.3})");
    }
    format!("{cwnd_before} to {cwnd}")
}

/// The steps around a difference, in one line each.
fn trace(found: &Difference) -> Table {
    let columns = [
        ("ACK", Kind::Number),
        ("at\nms", Kind::Number),
        ("event", Kind::Name),
        ("acked", Kind::Number),
        ("lost", Kind::Number),
        ("in flight before", Kind::Number),
        ("phase (ours)", Kind::Name),
        ("cwnd theirs", Kind::Number),
        ("cwnd ours", Kind::Number),
        ("ssthresh theirs", Kind::Number),
        ("ssthresh ours", Kind::Number),
    ];
    let title = format!("{} ({})", found.rule.name(), found.section);
    let mut sheet = Table::new(title, columns);
    let known = |value: Option<u64>| value.map_or("-".to_owned(), |value| value.to_string());
    let (before, after): (Vec<&Step>, Vec<&Step>) =
        found.around.iter().partition(|step| step.at_ms < found.step.at_ms);
    for step in before.into_iter().chain([&found.step]).chain(after) {
        let here = step.ack == found.step.ack && step.event == found.step.event;
        sheet.row([
            Marked::from(step.ack.to_string()).bold(here),
            format!("{:.3}", step.at_ms).into(),
            step.event.into(),
            step.acked_bytes.to_string().into(),
            step.lost_bytes.to_string().into(),
            known(step.inflight_bytes).into(),
            step.phase.name().into(),
            Marked::from(step.theirs.cwnd.to_string()).bold(here),
            Marked::from(step.ours.cwnd.to_string()).bold(here),
            known(step.theirs.ssthresh).into(),
            known(step.ours.ssthresh).into(),
        ]);
    }
    sheet
}

impl Output for Answer {
    fn text(&self) -> String {
        let line = |text: &str| wrap(text, 0, width()) + "\n";
        let verdict = match (ended(self), self.same) {
            (Some(_), _) => "fails beside",
            (None, true) => "matches",
            (None, false) => "differs from",
        };
        let ours = if self.controller == self.against { "our own" } else { &self.against };
        let mut text = line(&format!("{} {verdict} {ours}.", self.controller));
        if brief() {
            let is_one = self.connections.len() == 1;
            for Connection { path, verdict, .. } in self.connections.iter().filter(|_| !is_one) {
                let share = 100.0 * verdict.acks_apart as f64 / verdict.acks.max(1) as f64;
                let (apart, of) = (verdict.acks_apart, verdict.acks);
                text +=
                    &line(&format!("{path}: differs after {apart} of {of} ACKs ({share:.1} %)"));
            }
            let apart = |connection: &&Connection| connection.verdict.first.is_some();
            let shown = self.connections.iter().find(apart).or(self.connections.first());
            if let Some(connection) = shown {
                if !is_one {
                    text += &line(&format!("On {}:", connection.path));
                }
                let Verdict { first, ended, .. } = &connection.verdict;
                // The line above has the first sentence, unless the controller ended.
                let known = usize::from(!is_one && first.is_some() && ended.is_none());
                told(connection).iter().skip(known).for_each(|sentence| text += &line(sentence));
                text += &fitted(&[sheet(connection)]);
                text += &blind(connection).map_or_else(String::new, |sentence| line(&sentence));
            }
            return text
                + &line("`--wide` shows every path, and the events around each difference");
        }
        for connection in &self.connections {
            text += "\n";
            for sentence in told(connection) {
                text += &line(&sentence);
            }
            text += &fitted(&[sheet(connection)]);
            text += &blind(connection).map_or_else(String::new, |sentence| line(&sentence));
            let found = connection.verdict.rules.iter().filter_map(|row| row.first.as_ref());
            for found in found.filter(|found| found.on_its_own) {
                text +=
                    &line(&format!("{} ({}), the first time:", found.rule.name(), found.section));
                text += &fitted(&[trace(found)]);
            }
        }
        text
    }

    fn sheets(&self) -> Vec<Table> {
        let mut sheets = Vec::new();
        for connection in &self.connections {
            sheets.push(sheet(connection));
            let found = connection.verdict.rules.iter().filter_map(|row| row.first.as_ref());
            sheets.extend(found.filter(|found| found.on_its_own).map(trace));
        }
        sheets
    }

    fn rows(&self) -> Table {
        let mut rows = Table::of_data([
            "path",
            "bytes",
            "rule",
            "section",
            "events",
            "differ",
            "on_its_own",
            "largest_bytes",
            "step_bytes",
            "can_fail",
        ]);
        for connection in &self.connections {
            for row in &connection.verdict.rules {
                rows.values([
                    connection.path.clone().into(),
                    connection.bytes.into(),
                    row.rule.name().into(),
                    row.section.into(),
                    row.events.into(),
                    row.differ.into(),
                    row.on_its_own.into(),
                    row.largest_bytes.into(),
                    row.step_bytes.into(),
                    row.can_fail.into(),
                ]);
            }
        }
        rows
    }

    fn json(&self) -> Result<String, Error> {
        pretty(serde_json::to_string_pretty(self))
    }
}
