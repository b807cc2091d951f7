//! A comparison: every arm on the same path, the same object and the same seeds, side by side.

use crate::arms::{NamedArm, Sender};
use crate::outcome::Outcome;
use crate::record::Recording;
use crate::resume::{Resume, resumes};
use crate::scenario::Scenario;
use crate::testbed::{self, Testbed};
use crate::trial::{Trial, TrialRow, ms};
use firstflight::Nanos;
use firstflight::arm::{Arm, StartupSpec};
use firstflight::resume::Saved;
use firstflight_log::trace::{Log, Start};
use firstflight_path::Error;
use firstflight_path::Rate;
use rayon::prelude::*;
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to compare.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The arms, in the order of the table.
    pub arms: Vec<NamedArm>,
    /// Where they run.
    pub testbed: &'static dyn Testbed,
    /// Path, object and hosts.
    pub scenario: Scenario,
    /// First seed.
    pub seed: u64,
    /// Trials per arm; repeats count the seed up and vary the RTT by up to half a millisecond.
    pub repeat: u32,
    /// Each trial of an arm that starts by `careful` or `plumb` is the second connection of two.
    pub resume: Option<Resume>,
}

/// What is to be kept of the trials with the first seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Only the rows.
    #[default]
    Rows,
    /// Every event, for a report.
    Events,
    /// Every event with inner signals.
    Signals,
}

/// Who takes the complete logs of trials, each as soon as it is there, on the thread that ran it:
/// only as many are in memory as there are threads.
pub struct Takes<'a> {
    /// Those of repeats, too, not only of the first seed.
    pub repeats: bool,
    /// Takes the log of arm and repeat number so many.
    pub take: &'a (dyn Fn(usize, u32, Log) -> Result<(), Error> + Sync),
}

/// The resolved experiment, as in `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentRow {
    /// Where it ran.
    pub testbed: &'static str,
    /// What sends and receives there, where that is not our own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<&'static str>,
    /// `quic` or `tcp`.
    pub transport: &'static str,
    /// Preset of loss detection.
    pub detection: &'static str,
    /// The path's canonical text.
    pub path: String,
    /// Its short name, if it has one.
    pub path_name: Option<String>,
    /// Rate of the bottleneck; the mean for one that varies.
    pub rate_mbps: f64,
    /// Idle round trip.
    pub rtt_ms: f64,
    /// Queue capacity; null without a limit.
    pub queue_bytes: Option<u64>,
    /// Rate times idle round trip.
    pub bdp_bytes: u64,
    /// Object size.
    pub bytes: u64,
    /// The arms in full.
    pub arms: Vec<String>,
    /// First seed.
    pub seed: u64,
    /// Trials per arm.
    pub repeat: u32,
    /// Where the connection before each of `careful` and `plumb` ran, if there was one: `same` or a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Initial window of arms that name none, packets.
    pub iw: u32,
    /// Pacer's bucket of arms that name none, packets.
    pub burst: u32,
    /// Datagram size the window counts.
    pub datagram_bytes: u32,
    /// IP bytes of a full packet.
    pub packet_bytes: u32,
    /// Acknowledged every this many packets; `None` where the receiver goes by time only.
    pub ack_every: Option<u32>,
    /// Longest ACK delay.
    pub max_ack_delay_ms: f64,
    /// Simulated time after which a trial stops.
    pub limit_s: f64,
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was compared.
    pub plan: Plan,
    /// One row per trial: arms in order, seeds in order within each.
    pub rows: Vec<TrialRow>,
    /// Events of the trials with the first seed, one per arm, if they were to be kept.
    pub records: Vec<Recording>,
    /// What a reader has to know before believing a number.
    pub warnings: Vec<String>,
}

/// One trial that has run.
struct Done {
    row: TrialRow,
    recording: Option<Recording>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct JsonDocument<'a> {
    firstflight: &'static str,
    experiment: ExperimentRow,
    warnings: &'a [String],
    results: &'a [TrialRow],
}

impl Plan {
    /// One trial per arm in the simulator, seed 1.
    pub fn new(arms: Vec<NamedArm>, scenario: Scenario) -> Plan {
        Plan { arms, testbed: &testbed::sim::BED, scenario, seed: 1, repeat: 1, resume: None }
    }

    /// Runs every trial, in parallel on the current thread pool. The result does not depend on the
    /// number of threads. `tick` is called once per finished trial.
    ///
    /// # Errors
    /// If the plan is empty or the path cannot carry the host's packets, or nothing was delivered
    /// by any trial within the limit.
    pub fn run(&self, keep: Keep, tick: &(impl Fn() + Sync)) -> Result<Comparison, Error> {
        self.run_traced(keep, None, tick)
    }

    /// The same, and the logs of trials go to `takes`.
    ///
    /// # Errors
    /// Those of [`Plan::run`] and of whoever takes the logs.
    pub fn run_traced(
        &self,
        keep: Keep,
        takes: Option<&Takes<'_>>,
        tick: &(impl Fn() + Sync),
    ) -> Result<Comparison, Error> {
        self.run_until(keep, takes, tick, &AtomicBool::new(false))
    }

    /// The same, until somebody sets `stop`.
    ///
    /// # Errors
    /// Those of [`Plan::run_traced`], and one line if it was stopped: a part of a comparison
    /// compares nothing.
    pub fn run_until(
        &self,
        keep: Keep,
        takes: Option<&Takes<'_>>,
        tick: &(impl Fn() + Sync),
        stop: &AtomicBool,
    ) -> Result<Comparison, Error> {
        self.run_beside(1, keep, takes, tick, stop)
    }

    /// The same beside so many other plans on the same threads, this one counted.
    pub(crate) fn run_beside(
        &self,
        plans: usize,
        keep: Keep,
        takes: Option<&Takes<'_>>,
        tick: &(impl Fn() + Sync),
        stop: &AtomicBool,
    ) -> Result<Comparison, Error> {
        self.check()?;
        let arrived = AtomicBool::new(false);
        let trial = |trial| self.trial(trial, keep, takes, &arrived);
        let done = if keep == Keep::Rows && takes.is_none() && self.shares(plans, self.repeat) {
            self.shared_rounds(0..self.repeat, &arrived, tick, stop)?
        } else {
            self.rounds(0..self.repeat, &trial, tick, stop)?
        };
        self.joined(done, arrived.into_inner())
    }

    /// Arms are run together: there are repeats enough to keep all threads busy with one at a time,
    /// and an object that is not much larger than what path and queue hold may be through before
    /// arms differ. Of a larger one everything is told to everybody for nothing: a tenth more work.
    fn shares(&self, plans: usize, repeats: u32) -> bool {
        let path = &self.scenario.path;
        let held = path.bdp_bytes().saturating_add(path.queue_bytes().unwrap_or(0));
        // One that resumes has an arm of its own in every repeat.
        self.resume.is_none()
            && self.scenario.bytes <= held.saturating_mul(2)
            && plans.saturating_mul(repeats as usize) >= rayon::current_num_threads()
    }

    /// What [`Plan::rounds`] gives, by the testbed's way to run arms together: those that behave alike
    /// need not be run twice.
    fn shared_rounds(
        &self,
        rounds: Range<u32>,
        arrived: &AtomicBool,
        tick: &(impl Fn() + Sync),
        stop: &AtomicBool,
    ) -> Result<Vec<Done>, Error> {
        let round = |round: u32| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::new("stopped before every trial had run"));
            }
            let (seed, scenario) = self.repeat_of(round);
            let outcomes = self.testbed.run_each(&scenario, &self.arms, seed)?;
            let ideal = scenario.ideal(seed)?;
            let each = self.arms.iter().zip(&outcomes).map(|(arm, outcome)| {
                tick();
                self.done((arm, seed), (&scenario, ideal), outcome, arrived)
            });
            Ok(each.collect::<Vec<Done>>())
        };
        let rounds = rounds.into_par_iter().map(round);
        let mut rounds = rounds.collect::<Result<Vec<_>, Error>>()?;
        let mut done = Vec::with_capacity(self.arms.len() * rounds.len());
        for _ in &self.arms {
            done.extend(rounds.iter_mut().map(|round| round.remove(0)));
        }
        Ok(done)
    }

    /// The seed of a repeat, and its scenario: of all but the first its round trip is another.
    fn repeat_of(&self, round: u32) -> (u64, Cow<'_, Scenario>) {
        let seed = self.seed.wrapping_add(u64::from(round));
        let plain = || Cow::Borrowed(&self.scenario);
        (seed, if round == 0 { plain() } else { Cow::Owned(self.scenario.jittered(seed)) })
    }

    /// A trial that is through, without a recording.
    fn done(
        &self,
        (arm, seed): (&NamedArm, u64),
        (scenario, ideal): (&Scenario, Option<Nanos>),
        outcome: &Outcome,
        arrived: &AtomicBool,
    ) -> Done {
        // Where nobody knows it may well have been something.
        if outcome.delivered != Some(0) {
            arrived.store(true, Ordering::Relaxed);
        }
        let testbed = self.testbed.info().name;
        let trial = Trial { testbed, scenario, arm, seed, ideal, outcome };
        let warnings = outcome.warnings.clone();
        Done { row: TrialRow::of(&trial), recording: None, warnings }
    }

    /// The same, but a stop ends it with the repeats that every arm is through with: the plan of the
    /// result has so many.
    ///
    /// # Errors
    /// Those of [`Plan::run_until`]; one line if it is stopped before the first of these repeats.
    pub fn run_partly(
        &self,
        keep: Keep,
        tick: &(impl Fn() + Sync),
        stop: &AtomicBool,
    ) -> Result<Comparison, Error> {
        self.check()?;
        let arrived = AtomicBool::new(false);
        let trial = |trial| self.trial(trial, keep, None, &arrived);
        let rounds = self.rounds_at_once(self.scenario.bytes);
        let mut done: Vec<Vec<Done>> = self.arms.iter().map(|_| Vec::new()).collect();
        let mut through = 0;
        while through < self.repeat {
            let end = self.repeat.min(through.saturating_add(rounds));
            let all = through..end;
            let done_more = if keep == Keep::Rows && self.shares(1, end - through) {
                self.shared_rounds(all, &arrived, tick, stop)
            } else {
                self.rounds(all, &trial, tick, stop)
            };
            match done_more {
                Ok(more) => {
                    let mut more = more.into_iter();
                    for arm in &mut done {
                        arm.extend(more.by_ref().take((end - through) as usize));
                    }
                    through = end;
                }
                Err(_) if stop.load(Ordering::Relaxed) && through > 0 => break,
                Err(error) => return Err(error),
            }
        }
        let part = Plan { repeat: through, ..self.clone() };
        part.joined(done.into_iter().flatten().collect(), arrived.into_inner())
    }

    /// Repeats between two places where a run can stop: trials enough to keep all threads busy, and
    /// one repeat where trials take turns. Those that are under way at a stop are lost, so that there
    /// are few of them where each takes long.
    pub(crate) fn rounds_at_once(&self, bytes: u64) -> u32 {
        const MANY: u32 = 256;
        const SHORT: u64 = 20_000_000;
        let few = 4 * rayon::current_num_threads() as u32;
        let trials = if bytes <= SHORT { MANY.max(few) } else { few };
        let in_turns = self.testbed.info().in_real_time;
        if in_turns { 1 } else { trials.div_ceil(self.arms.len().max(1) as u32) }
    }

    /// There is something to run, and the testbed can.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.arms.is_empty() || self.repeat == 0 || self.scenario.bytes == 0 {
            return Err(Error::new(
                "nothing to compare: at least one arm, one trial and one byte are needed",
            ));
        }
        if self.resume.is_some() && !self.arms.iter().any(resumes) {
            return Err(Error::new(
                "--resume: no arm starts by `careful` or `plumb`; `--arms slowstart,careful` has one",
            ));
        }
        self.testbed.available()?;
        self.arms.iter().try_for_each(|arm| self.testbed.check(&self.scenario, arm))
    }

    /// These repeats of every arm: arms in order, repeats in order within each.
    fn rounds(
        &self,
        rounds: Range<u32>,
        trial: &(impl Fn((usize, u32)) -> Result<Done, Error> + Sync),
        tick: &(impl Fn() + Sync),
        stop: &AtomicBool,
    ) -> Result<Vec<Done>, Error> {
        let trials: Vec<(usize, u32)> = (0..self.arms.len())
            .flat_map(|arm| rounds.clone().map(move |round| (arm, round)))
            .collect();
        trials
            .into_par_iter()
            .map(|one| {
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::new("stopped before every trial had run"));
                }
                let result = trial(one);
                tick();
                result
            })
            .collect()
    }

    /// The comparison of all its trials.
    fn joined(&self, done: Vec<Done>, arrived: bool) -> Result<Comparison, Error> {
        if !arrived {
            return Err(self.nothing_arrives());
        }
        let (mut rows, mut records, mut warnings) =
            (Vec::with_capacity(done.len()), Vec::new(), Vec::new());
        for trial in done {
            rows.push(trial.row);
            records.extend(trial.recording);
            warnings.extend(trial.warnings);
        }
        warnings.extend(self.warnings(&rows));
        Ok(Comparison { plan: self.clone(), rows, records, warnings })
    }

    fn nothing_arrives(&self) -> Error {
        Error::new(format!(
            "path {}: nothing was delivered within the limit of {}",
            self.scenario.path,
            self.limit_in_words()
        ))
    }

    fn limit_s(&self) -> f64 {
        ms(self.scenario.limit.0) / 1e3
    }

    fn limit_in_words(&self) -> String {
        let clock = if self.testbed.info().in_real_time { "" } else { " of simulated time" };
        format!("{} s{clock}", self.limit_s())
    }

    fn trial(
        &self,
        (index, round): (usize, u32),
        keep: Keep,
        takes: Option<&Takes<'_>>,
        arrived: &AtomicBool,
    ) -> Result<Done, Error> {
        let arm = &self.arms[index];
        let (seed, scenario) = self.repeat_of(round);
        let scenario = &*scenario;
        let second = match &self.resume {
            Some(resume) => resume.second(self.testbed, scenario, arm, seed)?,
            None => None,
        };
        let arm = second.as_ref().map_or(arm, |(arm, _)| arm);
        let mut recording = match keep {
            Keep::Events if round == 0 => Some(Recording::default()),
            Keep::Signals if round == 0 => Some(Recording::with_signals()),
            _ => None,
        };
        let kept = recording.is_some();
        let takes = takes.filter(|takes| takes.repeats || round == 0);
        if takes.is_some() {
            recording = Some(
                recording
                    .unwrap_or_else(Recording::bare)
                    .tracing(self.start(scenario, arm, seed, round)),
            );
        }
        let outcome = self.testbed.run(scenario, arm, seed, recording.as_mut())?;
        if let (Some(takes), Some(trace)) =
            (takes, recording.as_mut().and_then(Recording::take_trace))
        {
            (takes.take)(index, round, trace)?;
        }
        let recording = recording.filter(|_| kept);
        let ideal = scenario.ideal(seed)?;
        let mut done = self.done((arm, seed), (scenario, ideal), &outcome, arrived);
        if round == 0 && self.resume.is_some() && resumes(arm) {
            done.warnings.push(left(arm, second.as_ref().map(|(_, saved)| saved)));
        }
        Ok(Done { recording, ..done })
    }

    /// What a log begins with, as far as it is known before the controller is built.
    fn start(&self, scenario: &Scenario, arm: &NamedArm, seed: u64, round: u32) -> Start {
        let path = &scenario.path;
        Start {
            arm: arm.label.clone(),
            arm_full: arm.full(),
            path: path.to_string(),
            path_name: path.name().to_owned(),
            testbed: self.testbed.info().name.to_owned(),
            stack: match &arm.sender {
                Sender::Stack(stack) => stack.source,
                Sender::Programs(_) => "programs behind the link",
                _ => self.testbed.info().stacks.unwrap_or("firstflight-sim"),
            }
            .to_owned(),
            transport: scenario.host.transport().to_owned(),
            detection: scenario.host.detection().to_owned(),
            seed,
            round,
            object_bytes: scenario.bytes,
            rate_bps: path.rate_bps(),
            rtt: Nanos(path.rtt()),
            queue_bytes: path.queue_bytes(),
            ..Start::default()
        }
    }

    fn warnings(&self, rows: &[TrialRow]) -> Vec<String> {
        let mut warnings = Vec::new();
        let per_arm: Vec<&[TrialRow]> = rows.chunks(self.repeat as usize).collect();
        let mut told = vec![false; per_arm.len()];
        for (i, a) in per_arm.iter().enumerate() {
            let same = |b: &[TrialRow]| a.iter().zip(b).all(|(x, y)| same_behaviour(x, y));
            let twins: Vec<usize> =
                (i + 1..per_arm.len()).filter(|&j| !told[j] && same(per_arm[j])).collect();
            if !told[i] && !twins.is_empty() {
                let names: Vec<&str> = std::iter::once(i)
                    .chain(twins.iter().copied())
                    .map(|j| per_arm[j][0].arm.as_str())
                    .collect();
                let (last, others) = names.split_last().expect("there is a twin");
                warnings.push(format!(
                    "{} and {last} behaved identically: nothing on this path tells them apart",
                    others.join(", ")
                ));
            }
            for &j in &twins {
                told[j] = true;
            }
        }
        let paced: Vec<bool> =
            self.arms.iter().map(|arm| self.testbed.paced(&self.scenario, arm)).collect();
        for (arm, _) in self.arms.iter().zip(&paced).filter(|(arm, paced)| {
            let jumps = self.resume.is_some() && resumes(arm);
            !**paced && (jumps || arm.parts().is_some_and(needs_pacer))
        }) {
            warnings.push(format!(
                "{} runs without a pacer here: no jump and no threefold growth; `@(pace=on)` gives it what it needs",
                arm.label
            ));
        }
        if self.scenario.path.hides_pacing() && paced.iter().any(|&p| p != paced[0]) {
            warnings.push(
                "the link delivers in slots that hide pacing, and the arms differ in it: their difference here is not the pacer's".into(),
            );
        }
        warnings.extend(self.arms.iter().filter_map(NamedArm::varies));
        let unfinished = rows.iter().filter(|row| !row.complete).count();
        if unfinished > 0 {
            warnings.push(format!(
                "{unfinished} of {} trials did not finish within the limit of {}; they have no completion time",
                rows.len(),
                self.limit_in_words()
            ));
        }
        warnings
    }

    /// The experiment with every default filled in.
    pub fn resolved(&self) -> ExperimentRow {
        let scenario = &self.scenario;
        let path = &scenario.path;
        ExperimentRow {
            testbed: self.testbed.info().name,
            stacks: self.testbed.info().stacks,
            transport: scenario.host.transport(),
            detection: scenario.host.detection(),
            path: path.to_string(),
            path_name: (!path.name().is_empty()).then(|| path.name().to_owned()),
            rate_mbps: path.rate_bps() as f64 / 1e6,
            rtt_ms: ms(path.rtt()),
            queue_bytes: path.queue_bytes(),
            bdp_bytes: path.bdp_bytes(),
            bytes: scenario.bytes,
            arms: self.arms.iter().map(NamedArm::full).collect(),
            seed: self.seed,
            repeat: self.repeat,
            resume: self.resume.as_ref().map(Resume::text),
            iw: scenario.iw,
            burst: scenario.burst,
            datagram_bytes: scenario.host.mss() as u32,
            packet_bytes: scenario.host.packet_bytes(),
            ack_every: scenario.ack_every(),
            max_ack_delay_ms: ms(scenario.ack_delay()),
            limit_s: self.limit_s(),
        }
    }
}

/// What the connection before the first trial left.
fn left(arm: &NamedArm, saved: Option<&Saved>) -> String {
    let label = &arm.label;
    saved.map_or_else(
        || format!("{label}: the connection before it left nothing to resume from"),
        |saved| {
            let (packets, rtt) = (saved.cwnd / saved.mss.max(1), ms(saved.rtt.0));
            let more = if saved.at_least { "at least " } else { "" };
            format!("{label} resumes: the connection before it left {more}{packets} packets per {rtt:.1} ms")
        },
    )
}

impl Comparison {
    /// The trials of one arm, seeds in order.
    pub fn trials(&self, arm: usize) -> &[TrialRow] {
        let per_arm = self.plan.repeat as usize;
        &self.rows[arm * per_arm..(arm + 1) * per_arm]
    }

    /// Every trial of every arm was finished within the limit.
    pub fn complete(&self) -> bool {
        self.rows.iter().all(|row| row.complete)
    }

    /// The whole comparison as JSON, one object, the same bytes for the same plan.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        let document = JsonDocument {
            firstflight: env!("CARGO_PKG_VERSION"),
            experiment: self.plan.resolved(),
            warnings: &self.warnings,
            results: &self.rows,
        };
        let mut text =
            serde_json::to_string_pretty(&document).expect("numbers and strings serialise");
        text.push('\n');
        text
    }

    /// When the first byte of the bound arrives, and the rate at which the bound rises from then
    /// on, if the path has a constant rate.
    pub fn ideal(&self) -> Option<(Nanos, u64)> {
        let scenario = Scenario { bytes: 1, ..self.plan.scenario.clone() };
        let constant = matches!(scenario.path.rate(), Rate::Constant(_));
        let start = constant.then(|| scenario.ideal(self.plan.seed).ok().flatten()).flatten()?;
        Some((start, scenario.path.rate_bps()))
    }
}

/// Rapid Start and jump start spread their windows; without a pacer most of what they are is
/// missing.
fn needs_pacer(arm: &Arm) -> bool {
    matches!(arm.startup, StartupSpec::Rapid(_) | StartupSpec::Jump(_))
}

/// Two rows that differ in nothing but the arm's name.
fn same_behaviour(a: &TrialRow, b: &TrialRow) -> bool {
    let unnamed =
        |row: &TrialRow| TrialRow { arm: String::new(), arm_full: String::new(), ..row.clone() };
    unnamed(a) == unnamed(b)
}
