//! Several arms through one bottleneck at the same time, as a comparison: how they share it, and
//! the results of each flow.

use crate::arms::NamedArm;
use crate::compare::{ExperimentRow, Plan, Watch};
use crate::flows::{App, Flows, SharingFlow, Together};
use crate::measures::record;
use crate::repeat::{self, Repeats, Stages, Stopped, SummaryRow, Times};
use crate::scenario::Scenario;
use crate::stats::Summary;
use crate::table::table_of;
use crate::trial::{Trial, TrialRow, ms};
use firstflight::{Nanos, Time};
use firstflight_path::Error;
use firstflight_sim::{Part, fairness_ppm};
use firstflight_table::Table;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Several flows of an arm at a time, one arm after the other.
#[derive(Clone, Debug)]
pub struct SharingPlan {
    /// Arms, scenario, seed and trials, as for a comparison.
    pub plan: Plan,
    /// Number of flows of the arm.
    pub flows: u32,
    /// Senders of cross traffic, each a separate endless flow; they start first.
    pub cross: Vec<NamedArm>,
    /// Time between the starts of two flows.
    pub apart: Nanos,
    /// Starts and timers of several flows are delayed by up to this, see
    /// [`Shared::jitter`](firstflight_sim::Shared::jitter).
    pub jitter: Nanos,
    /// Traffic of every flow of the arm.
    pub app: App,
    /// The traffic as text.
    pub app_name: String,
}

/// Settings common to several flows, as in `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct SharingExperiment {
    #[serde(flatten)]
    plain: ExperimentRow,
    flows: u32,
    apart_ms: f64,
    jitter_ms: f64,
    app: String,
    cross: Vec<String>,
}

/// Input of one flow's row.
#[derive(Clone, Copy, Debug)]
pub struct OfFlow<'a> {
    trial: &'a Trial<'a>,
    start: Option<Time>,
    share_mbps: Option<f64>,
    parts: &'a [Part],
    of_cross: bool,
}

record! {
    /// One flow of a trial, as in `--json`.
    SharedFlowRow of (of = &OfFlow<'_>);

    /// `arm`, or `cross` for cross traffic
    role: &'static str, "", None = if of.of_cross { "cross" } else { "arm" };
    /// when its first data left, since the start of the trial; other times are relative to it. Null if the trial stopped before
    start_ms: Option<f64>, "ms", None = of.start.map(|start| ms(start.0));
    /// object bytes that it delivered in order while all flows were active, over that time; null if there was no such time
    share_mbps: Option<f64>, "Mbit/s", High = of.share_mbps;
    /// for `web`, `video` and `blocks`: completion time of each part, from its first byte sent until its last byte is delivered in order at the
    /// receiver; null if it did not arrive
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts_ms: Vec<Option<f64>>, "ms", Low = of.parts.iter().map(|part| part.delivered_after().map(|time| ms(time.0))).collect();
    /// the measures of any trial, for this flow
    #[serde(flatten)]
    flow: TrialRow, "", None as "" = of.flow();
}

impl OfFlow<'_> {
    fn flow(&self) -> TrialRow {
        let mut row = TrialRow::of(self.trial);
        if self.of_cross {
            // An endless flow has no object that could be complete.
            row.goodput_mbps = None;
        }
        row
    }
}

/// Deliveries of the flows while all of them were active.
#[derive(Debug)]
struct Shares {
    bytes: Vec<u64>,
    /// Time between two samples.
    every: Nanos,
    /// Start and end of that time, in samples.
    from: usize,
    to: usize,
}

impl Shares {
    /// A share of this many bytes, Mbit/s.
    fn mbps(&self, bytes: u64) -> f64 {
        let seconds = (self.to - self.from) as f64 * self.every.0 as f64 / 1e9;
        bytes as f64 * 8e-6 / seconds
    }

    fn interval_ms(&self) -> [f64; 2] {
        [self.from, self.to].map(|sample| ms(self.every.0) * sample as f64)
    }
}

/// Input of a trial's row.
#[derive(Debug)]
pub struct OfTrial<'a> {
    arm: &'a NamedArm,
    seed: u64,
    /// `None` if the flows were never all active.
    shares: Option<Shares>,
    flows: Vec<SharedFlowRow>,
}

record! {
    /// One trial of several flows, as in `--json`.
    SharingRow of (of = OfTrial<'_>);

    /// name of the arm as requested
    arm: String, "", None = of.arm.label.clone();
    /// seed of the path's draws
    seed: u64, "", None = of.seed;
    /// every flow of the arm finished within the limit.
    /// Cross traffic has no end: it is not waited for, and is never complete
    complete: bool, "", High = of.flows.iter().filter(|flow| flow.role == "arm").all(|flow| flow.flow.complete);
    /// Jain's index of the shares, cross traffic included: 1 if all are equal, 1/n if one has everything
    jain: Option<f64>, "", High = of.shares.as_ref().map(|shares| f64::from(fairness_ppm(&shares.bytes)) / 1e6);
    /// the time while all flows were active: from the last start to the first end, to within a round trip. Null if there was no such time
    shared_ms: Option<[f64; 2]>, "ms", None = of.shares.as_ref().map(Shares::interval_ms);
    /// the sum of the shares
    goodput_mbps: Option<f64>, "Mbit/s", High = of.shares.as_ref().map(|shares| shares.mbps(shares.bytes.iter().sum()));
    /// the flows one by one, cross traffic first
    flows: Vec<SharedFlowRow>, "", None = of.flows;
}

record! {
    /// A trial of several flows in the numbers of the printed table.
    SharingFigures of (row = &SharingRow);

    /// Jain's index of the bytes carried while all flows were active; 1 means equal shares
    jain: Option<f64>, "", High = row.jain => ("jain", "Jain", "");
    /// rate of all flows in that time, cross traffic included
    goodput_mbps: Option<f64>, "Mbit/s", High = row.goodput_mbps => ("goodput_mbps", "all flows", "Mbit/s");
    /// completion time of the fastest flow: from its first byte sent until its last byte is delivered at the receiver
    ttlb_first_ms: Option<f64>, "ms", Low = row.ttlbs().map(|all| all.low) => ("ttlb_first_ms", "completion time, first", "ms");
    /// median completion time over the flows
    ttlb_ms: Option<f64>, "ms", Low = row.ttlbs().map(|all| all.median) => ("ttlb_ms", "median", "ms");
    /// completion time of the slowest flow; `-` if a flow did not finish within the limit
    ttlb_last_ms: Option<f64>, "ms", Low = row.ttlbs().filter(|_| row.complete).map(|all| all.high) => ("ttlb_last_ms", "last", "ms");
    /// packets declared lost and truly dropped, over all packets sent by the arm's flows
    loss_ratio: Option<f64>, "", Low = row.loss_ratio() => ("loss_ratio", "loss", "%");
    /// retransmission or probe timeouts of the arm's flows
    rtos: Option<u64>, "", Low = row.sum(|flow| flow.rtos) => ("rtos", "timeouts", "");
    /// the largest of the flows' 99th percentiles of waiting time
    queue_p99_ms: Option<f64>, "ms", Low = row.ours().filter_map(|flow| flow.queue_ms.p99).reduce(f64::max) => ("queue_p99_ms", "queueing delay p99", "ms");
}

impl SharingRow {
    /// The flows of the arm, without cross traffic.
    fn ours(&self) -> impl Iterator<Item = &TrialRow> {
        self.flows.iter().filter(|flow| flow.role == "arm").map(|flow| &flow.flow)
    }

    fn ttlbs(&self) -> Option<Summary> {
        Summary::of(self.ours().filter_map(|flow| flow.ttlb_ms))
    }

    /// The median completion time over the flows of the arm; an unfinished flow counts with the
    /// limit.
    pub(crate) fn time_ms(&self, limit: f64) -> f64 {
        let times = self.ours().map(|flow| flow.ttlb_ms.unwrap_or(limit));
        Summary::of(times).map_or(limit, |all| all.median)
    }

    fn sum(&self, what: fn(&TrialRow) -> Option<u64>) -> Option<u64> {
        self.ours().map(what).sum()
    }

    fn loss_ratio(&self) -> Option<f64> {
        let (lost, sent) =
            (self.sum(|flow| flow.packets_lost)?, self.sum(|flow| flow.packets_sent)?);
        Some(lost as f64 / (sent as f64).max(1.0))
    }
}

/// The text between two rows of [`Sharing::to_json`].
pub const JSON_BETWEEN: &str = ",\n    ";
/// The text after the last row.
pub const JSON_END: &str = "\n  ]\n}\n";

impl SharingRow {
    /// The row as in the JSON of all rows.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("numbers and strings");
        text.replace('\n', "\n    ")
    }
}

fn stopped() -> Error {
    Error::new("stopped before every trial had run")
}

/// The result.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// The plan that ran.
    pub plan: SharingPlan,
    /// One row per trial: arms in order, seeds in order within each.
    pub rows: Vec<SharingRow>,
    /// Caveats, except for [`Sharing::unfinished`].
    pub warnings: Vec<String>,
    /// Why no further stage of trials followed, if trials ran in stages.
    pub stopped: Option<Stopped>,
}

impl SharingPlan {
    /// Runs every trial, in parallel on the current thread pool; the result does not depend on the
    /// number of threads.
    ///
    /// # Errors
    /// If there is nothing to run, if the path cannot carry the host's packets, or if the testbed
    /// cannot run one of the arms or the flows' traffic.
    pub fn run(&self) -> Result<Sharing, Error> {
        self.run_with(&|_, _, _| Ok(()), &Watch::default())
    }

    /// Like [`SharingPlan::run`], with a watch. `each` is called with the arm, the trial's number and
    /// its row, on the thread that ran it. Data that it takes out of the row is not kept in memory.
    ///
    /// # Errors
    /// Errors of [`SharingPlan::run`] and of `each`, and a one-line message if the run was stopped
    /// and has no result.
    pub fn run_with(
        &self,
        each: &(impl Fn(usize, u32, &mut SharingRow) -> Result<(), Error> + Sync),
        &Watch { tick, stop, partly }: &Watch<'_>,
    ) -> Result<Sharing, Error> {
        if self.plan.arms.is_empty() || self.plan.repeat == 0 || self.flows == 0 {
            return Err(Error::new(
                "nothing to run: at least one arm, one flow and one trial are needed",
            ));
        }
        self.plan.testbed.available()?;
        for arm in self.plan.arms.iter().chain(&self.cross) {
            self.plan.testbed.check(&self.plan.scenario, arm)?;
        }
        let trial = |(arm, round): (usize, u32)| {
            if stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            let (mut row, doubts) = self.trial(&self.plan.arms[arm], round)?;
            each(arm, round, &mut row)?;
            tick();
            Ok((row, doubts))
        };
        let has_chance = self.has_chance();
        let at_once = self.plan.rounds_at_once(u64::MAX);
        let mut done: Vec<Vec<(SharingRow, Vec<String>)>> =
            self.plan.arms.iter().map(|_| Vec::new()).collect();
        let (mut through, mut stopped) = (0, None);
        let began = self.plan.testbed.info().in_real_time.then(Instant::now);
        'stages: for &end in self.plan.ends(has_chance) {
            while through < end {
                let next = end.min(through.saturating_add(at_once));
                let rounds = through..next;
                let all: Vec<(usize, u32)> = (0..self.plan.arms.len())
                    .flat_map(|arm| rounds.clone().map(move |round| (arm, round)))
                    .collect();
                match all.into_par_iter().map(trial).collect::<Result<Vec<_>, Error>>() {
                    Ok(more) => {
                        let mut more = more.into_iter();
                        for arm in &mut done {
                            arm.extend(more.by_ref().take((next - through) as usize));
                        }
                        through = next;
                    }
                    Err(_) if partly && stop.load(Ordering::Relaxed) && through > 0 => {
                        break 'stages;
                    }
                    Err(error) => return Err(error),
                }
            }
            if let Some(stages) = self.plan.stages.filter(|_| has_chance) {
                stopped = self.after(stages, &done, began.map(|began| began.elapsed()));
                if stopped.is_some() {
                    break;
                }
            }
        }
        let (rows, doubts): (Vec<_>, Vec<_>) = done.into_iter().flatten().unzip();
        let varies = self.plan.arms.iter().chain(&self.cross).filter_map(NamedArm::varies);
        let one = has_chance && self.plan.stages.is_none() && through == 1;
        let one = one.then(|| repeat::ONE_TRIAL.to_owned());
        let jitter = self.plan.scenario.path.long_jitter();
        let warnings =
            doubts.into_iter().flatten().chain(jitter).chain(varies).chain(one).collect();
        let plan = Plan { repeat: through, ..self.plan.clone() };
        Ok(Sharing { plan: SharingPlan { plan, ..self.clone() }, rows, warnings, stopped })
    }

    /// Whether two seeds can differ in anything other than the half millisecond of round trip that
    /// distinguishes repeated trials.
    pub fn has_chance(&self) -> bool {
        let several = self.flows as usize + self.cross.len() > 1;
        self.plan.has_chance() || several && self.jitter > Nanos::ZERO
    }

    /// Sets the number of trials to the largest that the plan's stages allow.
    #[must_use]
    pub fn staged(mut self) -> SharingPlan {
        if self.plan.stages.is_some() {
            self.plan.repeat = self.plan.ends(self.has_chance()).last().copied().unwrap_or(1);
        }
        self
    }

    /// Returns why these trials are enough, or `None` if more are needed; `wall` is their duration if they run in real time.
    fn after(
        &self,
        stages: Stages,
        done: &[Vec<(SharingRow, Vec<String>)>],
        wall: Option<Duration>,
    ) -> Option<Stopped> {
        let limit = ms(self.plan.scenario.limit.0);
        let time = |(row, _): &(SharingRow, Vec<String>)| row.time_ms(limit);
        let times: Vec<Vec<f64>> = done.iter().map(|arm| arm.iter().map(time).collect()).collect();
        let first = done.iter().flat_map(|arm| &arm[..repeat::counted(arm.len())]);
        let flows = first.flat_map(|(row, _)| &row.flows);
        let packets = flows.map(|flow| self.plan.packets(&flow.flow)).sum();
        stages.after(wall, &times, packets)
    }

    /// The plan with every default filled in.
    pub fn resolved(&self) -> SharingExperiment {
        let SharingPlan { plan, flows, cross, apart, jitter, app_name, .. } = self;
        SharingExperiment {
            plain: plan.resolved(),
            flows: *flows,
            apart_ms: ms(apart.0),
            // A single flow has no jitter.
            jitter_ms: if *flows as usize + cross.len() > 1 { ms(jitter.0) } else { 0.0 },
            app: app_name.clone(),
            cross: cross.iter().map(NamedArm::full).collect(),
        }
    }

    /// A row, and reasons to doubt it.
    fn trial(&self, arm: &NamedArm, round: u32) -> Result<(SharingRow, Vec<String>), Error> {
        let seed = self.plan.seed.wrapping_add(u64::from(round));
        let mut scenario = Scenario { bytes: self.app.bytes(), ..self.plan.scenario.clone() };
        if round > 0 {
            scenario = scenario.jittered(seed);
        }
        let cross = self.cross.iter().map(|arm| (arm, App::Endless));
        let ours = (0..self.flows).map(|_| (arm, self.app.clone()));
        let starts = (0..).map(|place: u64| Nanos(self.apart.0.saturating_mul(place)));
        let flows: Vec<SharingFlow> = cross
            .chain(ours)
            .zip(starts)
            .map(|((arm, app), start)| SharingFlow {
                arm: arm.clone(),
                app,
                start,
                rtt_extra: Nanos::ZERO,
            })
            .collect();
        // Fine enough for shares over many round trips, and coarse enough for the memory of
        // hundreds of flows.
        let every = Nanos(scenario.path.rtt().max(10_000_000));
        let testbed = self.plan.testbed;
        let together =
            Flows { sample: Some(every), jitter: self.jitter, ..Flows::new(&flows, seed) };
        let outcome = testbed.run_flows(&scenario, &together)?;
        let doubts = outcome.flows.iter().flat_map(|flow| flow.warnings.clone()).collect();
        Ok((self.row(&scenario, arm, seed, &flows, every, &outcome), doubts))
    }

    fn row(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        flows: &[SharingFlow],
        every: Nanos,
        outcome: &Together,
    ) -> SharingRow {
        // A flow that did not start within the limit shared nothing.
        let starts: Vec<u64> =
            outcome.starts.iter().map(|start| start.map_or(u64::MAX, |start| start.0)).collect();
        let ends = starts.iter().zip(&outcome.flows).map(|(start, outcome)| {
            start.saturating_add(outcome.ended_after.unwrap_or_default().0)
        });
        let last_start = starts.iter().copied().max().unwrap_or(0);
        let first_end = ends.min().unwrap_or(0);
        let (from, to) = (last_start.div_ceil(every.0) as usize, (first_end / every.0) as usize);
        let to = to.min(outcome.delivered.len().saturating_sub(1));
        let shares =
            (from < to).then(|| Shares { bytes: outcome.between(from, to), every, from, to });
        let parts = |place: usize| outcome.parts.get(place).map_or(&[][..], Vec::as_slice);
        let each = flows.iter().zip(&outcome.flows).zip(&outcome.starts).enumerate();
        let rows = each.map(|(place, ((flow, outcome), start))| {
            let of_cross = place < self.cross.len();
            let trial = Trial {
                testbed: self.plan.testbed.info().name,
                scenario,
                arm: &flow.arm,
                seed,
                ideal: None,
                outcome,
            };
            SharedFlowRow::of(&OfFlow {
                trial: &trial,
                start: *start,
                share_mbps: shares.as_ref().map(|shares| shares.mbps(shares.bytes[place])),
                parts: if of_cross { &[] } else { parts(place) },
                of_cross,
            })
        });
        let flows = rows.collect();
        SharingRow::of(OfTrial { arm, seed, shares, flows })
    }
}

impl Sharing {
    /// The experiment with every default filled in, and the trials that ran.
    pub fn resolved(&self) -> SharingExperiment {
        let mut resolved = self.plan.resolved();
        resolved.plain.stopped = self.stopped;
        resolved
    }

    /// Statistics of the arms' times over its trials, where a trial's time is the median over its
    /// flows.
    pub fn repeats(&self) -> Repeats {
        let plan = &self.plan.plan;
        let limit = ms(plan.scenario.limit.0);
        let arms = plan.arms.iter().zip(self.rows.chunks(plan.repeat.max(1) as usize));
        let arms = arms.map(|(arm, trials)| Times {
            arm: arm.label.clone(),
            reference: arm.is_reference(),
            ms: trials.iter().map(|trial| trial.time_ms(limit)).collect(),
            unfinished: trials.iter().filter(|trial| !trial.complete).count(),
            loss: trials.iter().map(SharingRow::loss_ratio).collect(),
        });
        Repeats::of(arms.collect(), limit)
    }

    /// Whether every finite flow finished within the limit.
    pub fn complete(&self) -> bool {
        self.rows.iter().all(|row| row.complete)
    }

    /// Number of flows that the limit stopped, as text, if there are any.
    pub fn unfinished(&self) -> Option<String> {
        let flows =
            || self.rows.iter().flat_map(|row| &row.flows).filter(|flow| flow.role == "arm");
        let stopped = flows().filter(|flow| !flow.flow.complete).count();
        let limit = self.plan.plan.scenario.limit.0 as f64 / 1e9;
        (!self.complete()).then(|| {
            format!(
                "{stopped} of {} flows did not finish within the limit of {limit} s of simulated time; `--limit` allows more",
                flows().count()
            )
        })
    }

    /// One line per arm; for several trials the median and the extremes.
    pub fn table(&self) -> Table {
        let figures: Vec<SharingFigures> = self.rows.iter().map(SharingFigures::of).collect();
        table_of(
            SharingFigures::MEASURES,
            self.plan.plan.arms.iter().zip(figures.chunks(self.plan.plan.repeat as usize)),
            &self.repeats(),
        )
    }

    /// The result as one JSON object, identical for the same plan.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        let mut text = self.json_head();
        let rows: Vec<String> = self.rows.iter().map(SharingRow::to_json).collect();
        text += &rows.join(JSON_BETWEEN);
        text + JSON_END
    }

    /// The JSON up to its first row. It is followed by rows from [`SharingRow::to_json`], separated
    /// by [`JSON_BETWEEN`], and then [`JSON_END`].
    ///
    /// # Panics
    /// Never: the plan holds only numbers and strings.
    pub fn json_head(&self) -> String {
        #[derive(Serialize)]
        struct Document {
            firstflight: &'static str,
            experiment: SharingExperiment,
            summary: Vec<SummaryRow>,
            results: [(); 0],
        }
        let document = Document {
            firstflight: env!("CARGO_PKG_VERSION"),
            experiment: self.resolved(),
            summary: self.repeats().summary(),
            results: [],
        };
        let text = serde_json::to_string_pretty(&document).expect("numbers and strings");
        format!("{}[\n    ", text.trim_end_matches("[]\n}"))
    }
}
