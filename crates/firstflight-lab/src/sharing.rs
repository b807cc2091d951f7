//! Several arms through one bottleneck at the same time, on the simulator: who starts when, what
//! each carries, and how they share.

use crate::arms::{NamedArm, Sender};
use crate::compare::{ExperimentRow, Plan};
use crate::error::Bad;
use crate::outcome::Outcome;
use crate::report::{Better, Column, Row, Spread, Table, Value};
use crate::scenario::Scenario;
use crate::stats::Summary;
use crate::testbed::{self, Testbed};
use crate::trial::{Trial, TrialRow, ms};
use firstflight::startup::AnyStartup;
use firstflight::{Nanos, Seq, Time};
pub use firstflight_sim::JITTER;
pub use firstflight_sim::{App, Response, SharedOutcome, fairness_ppm};
use firstflight_sim::{FlowPlan, Nobody, Shared, run_flows};
use rayon::prelude::*;
use serde::Serialize;

/// One flow of several.
#[derive(Clone, Debug)]
pub struct SharingFlow {
    /// Who sends.
    pub arm: NamedArm,
    /// What.
    pub app: App,
    /// When its first data leaves, unless its handshake has to wait (see [`FlowPlan::start`]).
    pub start: Nanos,
    /// What its round trip is longer than the path's.
    pub rtt_extra: Nanos,
}

impl Scenario {
    /// Runs flows together, until all are through or the limit is reached. The scenario's object
    /// does not count, each flow has its own; with `sample` it is noted that often what each
    /// flow has delivered.
    ///
    /// # Errors
    /// If the path cannot carry the host's packets, or an arm cannot share it.
    pub fn run_flows(
        &self,
        flows: &[SharingFlow],
        seed: u64,
        sample: Option<Nanos>,
    ) -> Result<SharedOutcome, Bad> {
        self.run_flows_late(flows, seed, sample, JITTER)
    }

    /// The same with starts and timers that are late by up to `jitter`; zero keeps all flows in
    /// step.
    ///
    /// # Errors
    /// Those of [`Scenario::run_flows`].
    pub fn run_flows_late(
        &self,
        flows: &[SharingFlow],
        seed: u64,
        sample: Option<Nanos>,
        jitter: Nanos,
    ) -> Result<SharedOutcome, Bad> {
        let plans = flows.iter().map(|flow| self.flow_plan(flow)).collect::<Result<_, Bad>>()?;
        let &Scenario { ref path, host, limit, path_index, .. } = self;
        let shared = Shared { path, host, limit, seed, path_index, sample, jitter };
        Ok(run_flows(&shared, plans, &mut Nobody)?)
    }

    fn flow_plan(&self, flow: &SharingFlow) -> Result<FlowPlan<AnyStartup>, Bad> {
        let refused = |why: &str| Err(Bad(format!("arm `{}`: {why}", flow.arm.label)));
        let arm = match &flow.arm.sender {
            Sender::Arm(arm) => arm,
            Sender::Kernel(_) => {
                return refused(
                    "the kernel's own controllers run on the testbed `linux` only, one flow at a time",
                );
            }
            Sender::Own { .. } => return refused("a startup of your own has the path for itself"),
        };
        if arm.sender.detection.is_some() || arm.sender.early.is_some() {
            return refused(
                "flows that share a path share their hosts: `--detection` goes for all",
            );
        }
        Ok(FlowPlan {
            controller: arm.controller(
                self.config(),
                self.oracle_exit(),
                Time(flow.start.0),
                Seq(0),
            ),
            pacer_burst: self.pacer_burst(arm),
            app: flow.app.clone(),
            start: flow.start,
            rtt_extra: flow.rtt_extra,
        })
    }
}

/// Several flows of an arm at a time, one arm after the other.
#[derive(Clone, Debug)]
pub struct SharingPlan {
    /// Arms, scenario, seed and repeats, as for a comparison.
    pub plan: Plan,
    /// Flows of the arm.
    pub flows: u32,
    /// Senders of cross traffic, each an endless flow of its own; they start first.
    pub cross: Vec<NamedArm>,
    /// Between the starts of two flows.
    pub apart: Nanos,
    /// Starts and timers of several flows are late by up to this, see [`Shared::jitter`].
    pub jitter: Nanos,
    /// What every flow of the arm carries.
    pub app: App,
    /// The same in words.
    pub app_name: String,
}

/// What several flows share, as in `--json`.
#[derive(Clone, Debug, Serialize)]
struct SharingExperiment {
    #[serde(flatten)]
    plain: ExperimentRow,
    flows: u32,
    apart_ms: f64,
    jitter_ms: f64,
    app: String,
    cross: Vec<String>,
}

/// One flow of a trial, as in `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct SharedFlowRow {
    /// `arm`, or `cross` for cross traffic.
    pub role: &'static str,
    /// When its first data left. Other times count from then. Null if the trial stopped before.
    pub start_ms: Option<f64>,
    /// What it carried per time while all flows were under way (M16's interval); null without such
    /// a time.
    pub share_mbps: Option<f64>,
    /// Of an application of several parts: from the first byte of each sent to its last delivered
    /// at the receiver; null if it was not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts_ms: Vec<Option<f64>>,
    /// What any trial tells of its flow.
    #[serde(flatten)]
    pub flow: TrialRow,
}

/// One trial of several flows, as in `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct SharingRow {
    /// Name the arm was asked for by.
    pub arm: String,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Every flow of the arm was through within the limit.
    pub complete: bool,
    /// M16: Jain's index of what the flows, cross traffic included, carried while all of them were
    /// under way; null without such a time.
    pub jain: Option<f64>,
    /// That time: from the last start to the first end, to a round trip; counted from the start of
    /// the trial.
    pub shared_ms: Option<[f64; 2]>,
    /// What all of them carried then, object bytes.
    pub goodput_mbps: Option<f64>,
    /// One by one, cross traffic first.
    pub flows: Vec<SharedFlowRow>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// What was run.
    pub plan: SharingPlan,
    /// One row per trial: arms in order, seeds in order within each.
    pub rows: Vec<SharingRow>,
}

impl SharingPlan {
    /// Runs every trial, in parallel on the current thread pool; the result does not depend on the
    /// number of threads.
    ///
    /// # Errors
    /// If there is nothing to run, or the path cannot carry the host's packets, or the testbed is
    /// not the simulator.
    pub fn run(&self) -> Result<Sharing, Bad> {
        if self.plan.arms.is_empty() || self.plan.repeat == 0 || self.flows == 0 {
            return Err(Bad(
                "nothing to run: at least one arm, one flow and one trial are needed".into()
            ));
        }
        if self.plan.testbed.info().name != testbed::sim::BED.info().name {
            return Err(Bad("several flows at a time run in the simulator only".into()));
        }
        let trials: Vec<(&NamedArm, u32)> = self
            .plan
            .arms
            .iter()
            .flat_map(|arm| (0..self.plan.repeat).map(move |round| (arm, round)))
            .collect();
        let rows = trials
            .into_par_iter()
            .map(|(arm, round)| self.trial(arm, round))
            .collect::<Result<_, Bad>>()?;
        Ok(Sharing { plan: self.clone(), rows })
    }

    fn trial(&self, arm: &NamedArm, round: u32) -> Result<SharingRow, Bad> {
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
        // Fine enough for shares over many round trips, coarse enough for the memory of hundreds of
        // flows.
        let every = Nanos(scenario.path.rtt().max(10_000_000));
        let outcome = scenario.run_flows_late(&flows, seed, Some(every), self.jitter)?;
        Ok(self.row(&scenario, arm, seed, &flows, every, &outcome))
    }

    fn row(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        flows: &[SharingFlow],
        every: Nanos,
        outcome: &SharedOutcome,
    ) -> SharingRow {
        // One that did not start within the limit shared nothing with anybody.
        let starts: Vec<u64> =
            outcome.starts.iter().map(|start| start.map_or(u64::MAX, |start| start.0)).collect();
        let ends = starts
            .iter()
            .zip(&outcome.flows)
            .map(|(start, outcome)| start.saturating_add(outcome.acked_after.0));
        let last_start = starts.iter().copied().max().unwrap_or(0);
        let first_end = ends.min().unwrap_or(0);
        let (from, to) = (last_start.div_ceil(every.0) as usize, (first_end / every.0) as usize);
        let to = to.min(outcome.delivered.len().saturating_sub(1));
        let shared = (from < to).then(|| outcome.between(from, to));
        let seconds = to.saturating_sub(from) as f64 * every.0 as f64 / 1e9;
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        let each = flows.iter().zip(&outcome.flows).zip(&outcome.starts);
        let rows = each.enumerate().map(|(place, ((flow, outcome), outcome_start))| {
            let of_cross = place < self.cross.len();
            let measured = &Outcome::from(outcome.clone());
            let trial = Trial {
                testbed: self.plan.testbed.info().name,
                scenario,
                arm: &flow.arm,
                seed,
                ideal: None,
                outcome: measured,
            };
            let mut row = TrialRow::of(&trial);
            if of_cross {
                // It has no object that could be complete.
                row.goodput_mbps = None;
            }
            let parts = if of_cross { &[] } else { outcome.parts.as_slice() };
            SharedFlowRow {
                role: if of_cross { "cross" } else { "arm" },
                start_ms: outcome_start.map(|start| ms(start.0)),
                share_mbps: shared.as_ref().map(|shares| mbps(shares[place])),
                parts_ms: parts
                    .iter()
                    .map(|part| part.delivered_after().map(|time| ms(time.0)))
                    .collect(),
                flow: row,
            }
        });
        let rows: Vec<SharedFlowRow> = rows.collect();
        SharingRow {
            arm: arm.label.clone(),
            seed,
            complete: rows[self.cross.len()..].iter().all(|row| row.flow.complete),
            jain: shared.as_ref().map(|shares| f64::from(fairness_ppm(shares)) / 1e6),
            shared_ms: shared
                .as_ref()
                .map(|_| [ms(every.0) * from as f64, ms(every.0) * to as f64]),
            goodput_mbps: shared.as_ref().map(|shares| mbps(shares.iter().sum())),
            flows: rows,
        }
    }
}

/// A column: key, heading, unit, which end is good, what it is, and how it is read off a trial.
type Metric = (
    &'static str,
    &'static str,
    &'static str,
    Better,
    &'static str,
    fn(&SharingRow) -> Option<f64>,
);

/// The flows of the arm, without cross traffic.
fn ours(row: &SharingRow) -> impl Iterator<Item = &TrialRow> {
    row.flows.iter().filter(|flow| flow.role == "arm").map(|flow| &flow.flow)
}

fn ttlbs(row: &SharingRow) -> Option<Summary> {
    Summary::of(ours(row).filter_map(|flow| flow.ttlb_ms))
}

const METRICS: &[Metric] = &[
    (
        "jain",
        "Jain",
        "",
        Better::High,
        "Jain's index of what the flows carried while all were under way; 1 is equal",
        |row| row.jain,
    ),
    (
        "goodput_mbps",
        "all flows",
        "Mbit/s",
        Better::High,
        "what all flows carried in that time, cross traffic included",
        |row| row.goodput_mbps,
    ),
    (
        "ttlb_first_ms",
        "completion time, first",
        "ms",
        Better::Low,
        "from the first byte of the quickest flow sent until its last is delivered at the receiver",
        |row| ttlbs(row).map(|all| all.low),
    ),
    ("ttlb_ms", "median", "ms", Better::Low, "median over the flows", |row| {
        ttlbs(row).map(|all| all.median)
    }),
    (
        "ttlb_last_ms",
        "last",
        "ms",
        Better::Low,
        "of the slowest; `-` if one was not through within the limit",
        |row| row.complete.then(|| ttlbs(row).map(|all| all.high)).flatten(),
    ),
    (
        "loss_ratio",
        "loss",
        "%",
        Better::Low,
        "packets declared lost and truly dropped, of all packets sent by the arm's flows",
        |row| {
            let sum = |what: fn(&TrialRow) -> Option<u64>| {
                ours(row).map(what).sum::<Option<u64>>().map(|sum| sum as f64)
            };
            sum(|flow| flow.packets_lost)
                .zip(sum(|flow| flow.packets_sent))
                .map(|(lost, sent)| lost / sent.max(1.0) * 100.0)
        },
    ),
    (
        "rtos",
        "timeouts",
        "",
        Better::Low,
        "retransmission or probe timeouts of the arm's flows",
        |row| ours(row).map(|flow| flow.rtos).sum::<Option<u64>>().map(|rtos| rtos as f64),
    ),
    (
        "queue_p99_ms",
        "queueing delay p99",
        "ms",
        Better::Low,
        "the longest of the flows' 99th percentiles of waiting time",
        |row| ours(row).filter_map(|flow| flow.queue_ms.p99).reduce(f64::max),
    ),
];

impl Sharing {
    /// Every flow that ends was through within the limit.
    pub fn complete(&self) -> bool {
        self.rows.iter().all(|row| row.complete)
    }

    /// One line per arm; of repeats the median, and the extremes.
    pub fn table(&self) -> Table {
        let columns = METRICS.iter().map(|&(key, label, unit, better, explanation, _)| Column {
            key: key.into(),
            label: label.into(),
            unit: unit.into(),
            better,
            explanation: explanation.into(),
        });
        let per_arm = self.rows.chunks(self.plan.plan.repeat as usize);
        let rows = self.plan.plan.arms.iter().zip(per_arm).map(|(arm, trials)| {
            let summaries: Vec<Option<Summary>> = METRICS
                .iter()
                .map(|metric| Summary::of(trials.iter().filter_map(metric.5)))
                .collect();
            let value = |summary: &Option<Summary>| {
                summary.map_or(Value::Missing, |summary| Value::Number(summary.median))
            };
            let extremes = |summary: &Option<Summary>| {
                summary.map(|summary| Spread { low: summary.low, high: summary.high })
            };
            Row {
                arm: arm.label.clone(),
                arm_full: arm.full(),
                values: summaries.iter().map(value).collect(),
                spread: if trials.len() > 1 {
                    summaries.iter().map(extremes).collect()
                } else {
                    Vec::new()
                },
                best: Vec::new(),
            }
        });
        let mut table = Table { columns: columns.collect(), rows: rows.collect() };
        table.mark_best();
        table
    }

    /// All of it as JSON, one object, the same bytes for the same plan.
    ///
    /// # Panics
    /// Never: rows hold only numbers and strings.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Document<'a> {
            firstflight: &'static str,
            experiment: SharingExperiment,
            results: &'a [SharingRow],
        }
        let SharingPlan { plan, flows, cross, apart, jitter, app_name, .. } = &self.plan;
        let document = Document {
            firstflight: env!("CARGO_PKG_VERSION"),
            experiment: SharingExperiment {
                plain: plan.resolved(),
                flows: *flows,
                apart_ms: ms(apart.0),
                // A flow alone has none.
                jitter_ms: if *flows as usize + cross.len() > 1 { ms(jitter.0) } else { 0.0 },
                app: app_name.clone(),
                cross: cross.iter().map(NamedArm::full).collect(),
            },
            results: &self.rows,
        };
        let mut text =
            serde_json::to_string_pretty(&document).expect("rows hold only numbers and strings");
        text.push('\n');
        text
    }
}
