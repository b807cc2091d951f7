//! A comparison: every arm with the same path, object and seeds.

use crate::arms::{NamedArm, Sender};
use crate::outcome::Outcome;
use crate::phase::moves;
use crate::record::Recording;
use crate::repeat::{self, Repeats, SILENT, Stages, Stopped, SummaryRow, Times};
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
use std::time::{Duration, Instant};

/// Plan of a comparison.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The arms, in the order of the table.
    pub arms: Vec<NamedArm>,
    /// The testbed.
    pub testbed: &'static dyn Testbed,
    /// Path, object and hosts.
    pub scenario: Scenario,
    /// First seed.
    pub seed: u64,
    /// Trials per arm; with stages, at most this many. Repeated trials increment the seed and vary
    /// the RTT by up to half a millisecond.
    pub repeat: u32,
    /// Repeats trials in stages if the scenario is random, and runs one trial otherwise. `None`
    /// runs exactly [`Plan::repeat`] trials.
    pub stages: Option<Stages>,
    /// If set, each trial of an arm that starts with `careful` or `plumb` is the second of two
    /// connections.
    pub resume: Option<Resume>,
}

/// Data to keep of the trials with the first seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Only the rows.
    #[default]
    Rows,
    /// Every event, for a report.
    Events,
    /// Every event with internal signals.
    Signals,
}

/// Receives the complete log of an arm's trial with the first seed as soon as it exists, on the
/// thread that ran it.
pub type Takes<'a> = &'a (dyn Fn(usize, Log) -> Result<(), Error> + Sync);

/// Control of a run.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Called once per finished trial.
    pub tick: &'a (dyn Fn() + Sync),
    /// Set to end the run early.
    pub stop: &'a AtomicBool,
    /// Whether a run that was stopped returns the repeated trials that every arm has finished; the
    /// plan of the result has that many. Otherwise, and without any such trial, it is an error.
    pub partly: bool,
}

impl Default for Watch<'_> {
    fn default() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Watch { tick: &|| (), stop: &NEVER, partly: false }
    }
}

/// The resolved experiment, as in `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentRow {
    /// The testbed.
    pub testbed: &'static str,
    /// Stacks of sender and receiver, if they are not our own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<&'static str>,
    /// `quic` or `tcp`.
    pub transport: &'static str,
    /// Loss-detection preset.
    pub detection: &'static str,
    /// The path's canonical text.
    pub path: String,
    /// The path's short name, if it has one.
    pub path_name: Option<String>,
    /// Rate of the bottleneck; the mean if it varies.
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
    /// Trials per arm that ran.
    pub repeat: u32,
    /// Why no more trials ran; null if `--repeat` set their number, if the scenario is not random,
    /// and after a signal.
    pub stopped: Option<Stopped>,
    /// Path of the connection before each of `careful` and `plumb`, if there was one: `same` or a
    /// path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Initial window of arms that specify none, packets.
    pub iw: u32,
    /// Pacer's bucket of arms that specify none, packets.
    pub burst: u32,
    /// Datagram size as counted by the window.
    pub datagram_bytes: u32,
    /// IP bytes of a full packet.
    pub packet_bytes: u32,
    /// Number of packets per ACK; `None` if the receiver acknowledges by time only.
    pub ack_every: Option<u32>,
    /// Longest ACK delay.
    pub max_ack_delay_ms: f64,
    /// Simulated time after which a trial stops.
    pub limit_s: f64,
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The plan that was run.
    pub plan: Plan,
    /// One row per trial: arms in order, seeds in order within each.
    pub rows: Vec<TrialRow>,
    /// Events of the trials with the first seed, one per arm, if they were kept.
    pub records: Vec<Recording>,
    /// Caveats to read before the numbers.
    pub warnings: Vec<String>,
    /// Why no further stage of trials followed, if trials ran in stages.
    pub stopped: Option<Stopped>,
}

/// One finished trial.
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
    summary: Vec<SummaryRow>,
    results: &'a [TrialRow],
}

impl Plan {
    /// One trial per arm in the simulator, seed 1.
    pub fn new(arms: Vec<NamedArm>, scenario: Scenario) -> Plan {
        let testbed = &testbed::sim::BED;
        Plan { arms, testbed, scenario, seed: 1, repeat: 1, stages: None, resume: None }
    }

    /// Runs the trials of this plan in stages.
    #[must_use]
    pub fn staged(self, stages: Stages) -> Plan {
        let plan = Plan { stages: Some(stages), ..self };
        Plan { repeat: plan.ends(plan.has_chance()).last().copied().unwrap_or(1), ..plan }
    }

    /// Whether two seeds can differ in anything other than the half millisecond of round trip that
    /// distinguishes repeated trials.
    pub fn has_chance(&self) -> bool {
        self.testbed.info().in_real_time
            || self.scenario.path.has_chance()
            || self.resume.as_ref().is_some_and(Resume::has_chance)
    }

    /// Trials per arm at the end of each stage, in a random or a deterministic scenario.
    pub(crate) fn ends(&self, has_chance: bool) -> &[u32] {
        match self.stages {
            None => std::slice::from_ref(&self.repeat),
            Some(_) if has_chance => repeat::ends(self.testbed.info().in_real_time),
            Some(_) => &[1],
        }
    }

    /// Number of trials per arm left by a signal that cut the run short, as text.
    pub fn cut_short(&self, ran: &Plan, stopped: Option<Stopped>) -> Option<String> {
        let done = ran.repeat;
        if self.stages.is_some() {
            // Each of several stages ends with a reason.
            return (self.repeat > 1 && stopped.is_none())
                .then(|| format!("stopped: {done} trials per arm"));
        }
        (done < self.repeat).then(|| format!("stopped: {done} of {} trials per arm", self.repeat))
    }

    /// The least time that real-time trials take, as text for the user.
    pub fn least_wait(&self) -> Option<String> {
        if !self.testbed.info().in_real_time {
            return None;
        }
        let ideal = self.scenario.ideal(self.seed).ok().flatten().map_or(0.0, |ideal| ms(ideal.0));
        let whole = |trials: u32| {
            let seconds = ideal / 1e3 * f64::from(trials) * self.arms.len() as f64;
            if seconds < 120.0 {
                format!("{seconds:.0} s")
            } else {
                format!("{:.0} min", seconds / 60.0)
            }
        };
        let ends = self.ends(true);
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        let least = format!("{first} trials of each arm take at least {}", whole(first));
        Some(if first < last {
            let most = repeat::MOST_WALL.as_secs() / 60;
            format!("{least}; up to {last} run if all are through within {most} min")
        } else {
            least
        })
    }

    /// Runs every trial, in parallel on the current thread pool. The result does not depend on the
    /// number of threads. `tick` is called once per finished trial.
    ///
    /// # Errors
    /// If the plan is empty, if the path cannot carry the host's packets, or if no trial delivered
    /// anything within the limit.
    pub fn run(&self, keep: Keep, tick: &(impl Fn() + Sync)) -> Result<Comparison, Error> {
        self.run_with(keep, None, &Watch { tick, ..Watch::default() })
    }

    /// Like [`Plan::run`], with a watch; `takes` receives the logs of trials.
    ///
    /// # Errors
    /// Errors of [`Plan::run`] and of `takes`, and a one-line message if the run was stopped and
    /// has no result.
    pub fn run_with(
        &self,
        keep: Keep,
        takes: Option<Takes<'_>>,
        watch: &Watch<'_>,
    ) -> Result<Comparison, Error> {
        self.run_stages(1, keep, takes, watch)
    }

    /// Whether arms run together: if there are enough repeated trials to keep all threads busy with
    /// one each, and the object is not much larger than what path and queue can hold, so that arms
    /// may finish before they differ. With a larger object, giving every event to all arms costs a
    /// tenth more work for nothing.
    fn shares(&self, plans: usize, repeats: u32) -> bool {
        let path = &self.scenario.path;
        let held = path.bdp_bytes().saturating_add(path.queue_bytes().unwrap_or(0));
        // An arm that resumes differs in every repeated trial.
        self.resume.is_none()
            && self.scenario.bytes <= held.saturating_mul(2)
            && plans.saturating_mul(repeats as usize) >= rayon::current_num_threads()
    }

    /// Like [`Plan::rounds`], using the testbed's way to run arms together: arms that behave alike
    /// need not run twice.
    fn shared_rounds(
        &self,
        rounds: Range<u32>,
        arrived: &AtomicBool,
        &Watch { tick, stop, .. }: &Watch<'_>,
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

    /// The seed of a repeated trial, and its scenario, whose round trip varies in all but the
    /// first.
    fn repeat_of(&self, round: u32) -> (u64, Cow<'_, Scenario>) {
        let seed = self.seed.wrapping_add(u64::from(round));
        let plain = || Cow::Borrowed(&self.scenario);
        (seed, if round == 0 { plain() } else { Cow::Owned(self.scenario.jittered(seed)) })
    }

    /// A finished trial without a recording.
    fn done(
        &self,
        (arm, seed): (&NamedArm, u64),
        (scenario, ideal): (&Scenario, Option<Nanos>),
        outcome: &Outcome,
        arrived: &AtomicBool,
    ) -> Done {
        // If the testbed does not know, something may have arrived.
        if outcome.delivered != Some(0) {
            arrived.store(true, Ordering::Relaxed);
        }
        let testbed = self.testbed.info().name;
        let trial = Trial { testbed, scenario, arm, seed, ideal, outcome };
        let warnings = outcome.warnings.clone();
        Done { row: TrialRow::of(&trial), recording: None, warnings }
    }

    /// Like [`Plan::run_with`], stage after stage, for a plan that shares the threads with others;
    /// `plans` includes this one. A stop takes effect between two chunks.
    pub(crate) fn run_stages(
        &self,
        plans: usize,
        keep: Keep,
        takes: Option<Takes<'_>>,
        watch: &Watch<'_>,
    ) -> Result<Comparison, Error> {
        let &Watch { stop, partly, .. } = watch;
        self.check()?;
        let arrived = AtomicBool::new(false);
        let has_chance = self.has_chance();
        let at_once = if partly { self.rounds_at_once(self.scenario.bytes) } else { u32::MAX };
        let mut done: Vec<Vec<Done>> = self.arms.iter().map(|_| Vec::new()).collect();
        let (mut through, mut stopped) = (0, None);
        let began = self.testbed.info().in_real_time.then(Instant::now);
        'stages: for &end in self.ends(has_chance) {
            while through < end {
                let next = end.min(through.saturating_add(at_once));
                match self.some(plans, through..next, (keep, takes), &arrived, watch) {
                    Ok(more) => {
                        let mut more = more.into_iter();
                        for arm in &mut done {
                            arm.extend(more.by_ref().take((next - through) as usize));
                        }
                        through = next;
                    }
                    Err(_) if partly && through > 0 && stop.load(Ordering::Relaxed) => {
                        break 'stages;
                    }
                    Err(error) => return Err(error),
                }
            }
            if let Some(stages) = self.stages.filter(|_| has_chance) {
                stopped = self.after(stages, &done, began.map(|began| began.elapsed()));
                if stopped.is_some() {
                    break;
                }
            }
        }
        let ran = Plan { repeat: through, ..self.clone() };
        let mut comparison =
            ran.joined(done.into_iter().flatten().collect(), arrived.into_inner())?;
        comparison.stopped = stopped;
        if has_chance && self.stages.is_none() && through == 1 {
            comparison.warnings.push(repeat::ONE_TRIAL.into());
        } else if let Some(stages) = self.stages.filter(|_| !has_chance) {
            comparison.warnings.extend(self.phase(stages, &comparison.rows, stop));
        }
        Ok(comparison)
    }

    /// Some repeated trials of every arm: arms in order, trials in order within each.
    fn some(
        &self,
        plans: usize,
        rounds: Range<u32>,
        (keep, takes): (Keep, Option<Takes<'_>>),
        arrived: &AtomicBool,
        watch: &Watch<'_>,
    ) -> Result<Vec<Done>, Error> {
        let recorded = rounds.start == 0 && (keep != Keep::Rows || takes.is_some());
        if !recorded && self.shares(plans, rounds.len() as u32) {
            return self.shared_rounds(rounds, arrived, watch);
        }
        self.rounds(rounds, &|trial| self.trial(trial, keep, takes, arrived), watch)
    }

    /// Returns why these trials are enough, or `None` if more are needed; `wall` is their duration if they run in real time.
    fn after(&self, stages: Stages, done: &[Vec<Done>], wall: Option<Duration>) -> Option<Stopped> {
        let limit = ms(self.scenario.limit.0);
        let time = |done: &Done| done.row.ttlb_ms.unwrap_or(limit);
        let times: Vec<Vec<f64>> = done.iter().map(|arm| arm.iter().map(time).collect()).collect();
        let first = |arm: &Vec<Done>| repeat::counted(arm.len());
        let packets =
            done.iter().flat_map(|arm| &arm[..first(arm)]).map(|done| self.packets(&done.row));
        stages.after(wall, &times, packets.sum())
    }

    /// Packets that a trial sent, or an estimate if the testbed does not count them.
    pub(crate) fn packets(&self, row: &TrialRow) -> u64 {
        row.packets_sent.unwrap_or(self.scenario.bytes / self.scenario.host.mss().max(1))
    }

    /// Change of a deterministic scenario's results within half a millisecond of round trip, from
    /// trials that are not shown; `None` if it is small.
    fn phase(&self, stages: Stages, first: &[TrialRow], stop: &AtomicBool) -> Option<String> {
        // A trial of real stacks takes a hundred times longer.
        if self.testbed.info().hosts_draw {
            return None;
        }
        if !stages.affords_silent(first.iter().map(|row| self.packets(row)).sum()) {
            return None;
        }
        let arrived = AtomicBool::new(false);
        let (all, watch) = (SILENT + 1, Watch { stop, ..Watch::default() });
        let silent = self.some(1, 1..all, (Keep::Rows, None), &arrived, &watch).ok()?;
        let arms = self.arms.iter().zip(first).zip(silent.chunks(SILENT as usize));
        let arms = arms.filter(|((arm, _), _)| !arm.is_reference());
        let arms: Vec<Vec<&TrialRow>> = arms
            .map(|((_, first), silent)| {
                std::iter::once(first).chain(silent.iter().map(|done| &done.row)).collect()
            })
            .collect();
        moves(&arms)
    }

    /// Repeated trials between two points where a run can stop: enough to keep all threads busy, or
    /// one if trials take turns. A stop discards unfinished trials, so there are few of them if
    /// each takes long.
    pub(crate) fn rounds_at_once(&self, bytes: u64) -> u32 {
        const MANY: u32 = 256;
        const SHORT: u64 = 20_000_000;
        let few = 4 * rayon::current_num_threads() as u32;
        let trials = if bytes <= SHORT { MANY.max(few) } else { few };
        let in_turns = self.testbed.info().in_real_time;
        if in_turns { 1 } else { trials.div_ceil(self.arms.len().max(1) as u32) }
    }

    /// Checks that there is something to run and that the testbed supports it.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.arms.is_empty() || self.repeat == 0 || self.scenario.bytes == 0 {
            return Err(Error::new(
                "nothing to compare: at least one arm, one trial and one byte are needed",
            ));
        }
        if self.resume.is_some() && !self.arms.iter().any(resumes) {
            return Err(Error::new(
                "--resume: no arm starts with `careful` or `plumb`; `--arms slowstart,careful` has one",
            ));
        }
        self.testbed.available()?;
        self.arms.iter().try_for_each(|arm| self.testbed.check(&self.scenario, arm))
    }

    /// Runs these repeated trials of every arm: arms in order, trials in order within each.
    fn rounds(
        &self,
        rounds: Range<u32>,
        trial: &(impl Fn((usize, u32)) -> Result<Done, Error> + Sync),
        &Watch { tick, stop, .. }: &Watch<'_>,
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

    /// Combines all trials into a comparison.
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
        Ok(Comparison { plan: self.clone(), rows, records, warnings, stopped: None })
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
        takes: Option<Takes<'_>>,
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
        let takes = takes.filter(|_| round == 0);
        if takes.is_some() {
            recording = Some(
                recording
                    .unwrap_or_else(Recording::bare)
                    .tracing(self.start(scenario, arm, seed, round)),
            );
        }
        let outcome = self.testbed.run(scenario, arm, seed, recording.as_mut())?;
        if let (Some(take), Some(trace)) =
            (takes, recording.as_mut().and_then(Recording::take_trace))
        {
            take(index, trace)?;
        }
        let recording = recording.filter(|_| kept);
        let ideal = scenario.ideal(seed)?;
        let mut done = self.done((arm, seed), (scenario, ideal), &outcome, arrived);
        if round == 0 && self.resume.is_some() && resumes(arm) {
            done.warnings.push(left(arm, second.as_ref().map(|(_, saved)| saved)));
        }
        Ok(Done { recording, ..done })
    }

    /// The start of a log, as far as it is known before the controller is built.
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
        warnings.extend(self.scenario.path.long_jitter());
        warnings.extend(self.arms.iter().filter_map(NamedArm::varies));
        let unfinished = rows.iter().filter(|row| !row.complete).count();
        if unfinished > 0 {
            warnings.push(format!(
                "{unfinished} of {} trials did not finish within the limit of {}; they count with the limit",
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
            stopped: None,
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

/// The state that the connection before the first trial left.
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
    /// Trials of one arm, with seeds in order.
    pub fn trials(&self, arm: usize) -> &[TrialRow] {
        let per_arm = self.plan.repeat as usize;
        &self.rows[arm * per_arm..(arm + 1) * per_arm]
    }

    /// The experiment with every default filled in, and the trials that ran.
    pub fn resolved(&self) -> ExperimentRow {
        ExperimentRow { stopped: self.stopped, ..self.plan.resolved() }
    }

    /// Statistics of the arms' times over its trials.
    pub fn repeats(&self) -> Repeats {
        let limit = ms(self.plan.scenario.limit.0);
        let arm = |(index, arm): (usize, &NamedArm)| {
            let trials = self.trials(index);
            Times {
                arm: arm.label.clone(),
                reference: arm.is_reference(),
                ms: trials.iter().map(|trial| trial.ttlb_ms.unwrap_or(limit)).collect(),
                unfinished: trials.iter().filter(|trial| trial.ttlb_ms.is_none()).count(),
                loss: trials.iter().map(|trial| trial.loss_ratio).collect(),
            }
        };
        Repeats::of(self.plan.arms.iter().enumerate().map(arm).collect(), limit)
    }

    /// Whether every trial of every arm finished within the limit.
    pub fn complete(&self) -> bool {
        self.rows.iter().all(|row| row.complete)
    }

    /// The whole comparison as one JSON object, identical for the same plan.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        let document = JsonDocument {
            firstflight: env!("CARGO_PKG_VERSION"),
            experiment: self.resolved(),
            warnings: &self.warnings,
            summary: self.repeats().summary(),
            results: &self.rows,
        };
        let mut text =
            serde_json::to_string_pretty(&document).expect("numbers and strings serialise");
        text.push('\n');
        text
    }

    /// Arrival time of the first byte of the lower bound, and the rate at which the bound rises
    /// afterwards, if the path has a constant rate.
    pub fn ideal(&self) -> Option<(Nanos, u64)> {
        let scenario = Scenario { bytes: 1, ..self.plan.scenario.clone() };
        let constant = matches!(scenario.path.rate(), Rate::Constant(_));
        let start = constant.then(|| scenario.ideal(self.plan.seed).ok().flatten()).flatten()?;
        Some((start, scenario.path.rate_bps()))
    }
}

/// Whether the arm spreads its window with a pacer, as Rapid Start and jump start do, so that it
/// loses most of its effect without one.
fn needs_pacer(arm: &Arm) -> bool {
    matches!(arm.startup, StartupSpec::Rapid(_) | StartupSpec::Jump(_))
}

/// Whether two rows differ only in the arm's name.
fn same_behaviour(a: &TrialRow, b: &TrialRow) -> bool {
    let unnamed =
        |row: &TrialRow| TrialRow { arm: String::new(), arm_full: String::new(), ..row.clone() };
    unnamed(a) == unnamed(b)
}
