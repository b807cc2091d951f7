//! The data kept of a test: sums and sketches of integers, per cell and arm. They are only ever
//! added, so any order, number of threads and division into shards gives the same numbers. Memory
//! does not grow with the number of connections.

use super::flow::{Connection, FlowResult};
use super::{Experiment, Test};
use crate::decision::{Decision, Evidence, Question, Sums, decide};
use crate::stats::Z_95;
use crate::stats::bootstrap::{Replicates, Weights, weights};
use crate::stats::codec::{Reader, Writer};
use crate::stats::ratio::Ratios;
use crate::stats::sketch::Sketch;
use firstflight::startup::ExitReason;

/// Share of transfers stopped by the limit from which a test recommends nothing.
const MOST_UNFINISHED: f64 = 0.05;

/// A sum over connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Connections that did not finish within the limit.
    Incomplete,
    /// Completion time, ns.
    Ttlb,
    /// Loss ratio of each connection, 1e-9.
    Loss,
    /// Packets sent.
    Sent,
    /// Packets lost.
    Lost,
    /// Spurious losses.
    Spurious,
    /// Packets that carried a retransmission.
    Retransmissions,
    /// Object bytes retransmitted.
    RetransmittedBytes,
    /// Retransmissions that were dropped.
    LostRetransmissions,
    /// Timeouts.
    Rtos,
    /// Recovery episodes.
    Recoveries,
    /// 99th percentile of the waiting time of each connection, us.
    QueueP99,
    /// Completion time over the lower bound, 1e-6.
    VsIdeal,
}

const SUMS: usize = Sum::VsIdeal as usize + 1;

/// Number of exit reasons counted, each at its index in [`ExitReason::ALL`]; the index after the
/// last is "transfer ended first".
const EXITS: usize = ExitReason::ALL.len() + 1;

/// The quantities that have replicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mean {
    /// Completion time, us.
    Ttlb,
    /// Loss ratio, 1e-9.
    Loss,
    /// 99th percentile of the waiting time, us.
    QueueP99,
}

const MEANS: usize = Mean::QueueP99 as usize + 1;

/// One arm in one cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArmTally {
    sums: [u128; SUMS],
    exits: [u64; EXITS],
    /// Completion times, us.
    pub ttlb: Sketch,
    /// Loss ratios, 1e-6.
    pub loss: Sketch,
    /// Completion times over the baseline's on the same connection.
    pub ratios: Ratios,
    replicates: [Replicates; MEANS],
}

impl ArmTally {
    fn add(
        &mut self,
        flow: &FlowResult,
        baseline: &FlowResult,
        ideal_ns: Option<u64>,
        weights: &Weights,
    ) {
        let ttlb_us = flow.ttlb_ns / 1_000;
        let ideal = ideal_ns.unwrap_or(flow.ttlb_ns).max(1);
        for (sum, value) in [
            (Sum::Incomplete, u64::from(!flow.complete)),
            (Sum::Ttlb, flow.ttlb_ns),
            (Sum::Loss, flow.loss_ppb()),
            (Sum::Sent, flow.counters.packets_sent),
            (Sum::Lost, flow.counters.packets_lost),
            (Sum::Spurious, flow.counters.spurious_losses),
            (Sum::Retransmissions, flow.counters.retransmissions),
            (Sum::RetransmittedBytes, flow.counters.retransmitted_bytes),
            (Sum::LostRetransmissions, flow.counters.lost_retransmissions),
            (Sum::Rtos, flow.counters.rtos),
            (Sum::Recoveries, flow.episodes),
            (Sum::QueueP99, flow.queue_p99_us),
            (Sum::VsIdeal, (u128::from(flow.ttlb_ns) * 1_000_000 / u128::from(ideal)) as u64),
        ] {
            self.sums[sum as usize] += u128::from(value);
        }
        self.exits[flow.exit.map_or(EXITS - 1, |exit| exit.reason as usize)] += 1;
        self.ttlb.add(ttlb_us);
        self.loss.add(flow.loss_ppb() / 1_000);
        self.ratios.add(flow.ttlb_ns, baseline.ttlb_ns);
        for (replicates, value) in
            self.replicates.iter_mut().zip([ttlb_us, flow.loss_ppb(), flow.queue_p99_us])
        {
            replicates.add(weights, u32::try_from(value).unwrap_or(u32::MAX));
        }
    }

    fn merge(&mut self, other: &ArmTally) {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, more)| *sum += more);
        self.exits.iter_mut().zip(other.exits).for_each(|(count, more)| *count += more);
        self.ttlb.merge(&other.ttlb);
        self.loss.merge(&other.loss);
        self.ratios.merge(&other.ratios);
        self.replicates.iter_mut().zip(&other.replicates).for_each(|(sums, more)| sums.merge(more));
    }

    /// The value of a sum.
    pub fn sum(&self, sum: Sum) -> u128 {
        self.sums[sum as usize]
    }

    /// Number of exits by reason, and of transfers that ended first (`none`).
    pub fn exits(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ExitReason::ALL.map(ExitReason::name).into_iter().chain(["none"]).zip(self.exits)
    }

    /// The replicates of a mean.
    pub fn replicates(&self, mean: Mean) -> &Replicates {
        &self.replicates[mean as usize]
    }

    fn write(&self, to: &mut Writer) {
        self.sums.iter().for_each(|sum| to.put(*sum));
        self.exits.iter().for_each(|count| to.put(*count));
        self.ttlb.write(to);
        self.loss.write(to);
        self.ratios.write(to);
        self.replicates.iter().for_each(|replicates| replicates.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Option<ArmTally> {
        let mut tally = ArmTally::default();
        for sum in &mut tally.sums {
            *sum = from.wide()?;
        }
        for count in &mut tally.exits {
            *count = from.get()?;
        }
        tally.ttlb = Sketch::read(from)?;
        tally.loss = Sketch::read(from)?;
        tally.ratios = Ratios::read(from)?;
        for replicates in &mut tally.replicates {
            *replicates = Replicates::read(from)?;
        }
        Some(tally)
    }
}

/// A part of the connections, with all arms on the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Number of connections.
    pub flows: u64,
    /// Object bytes.
    pub bytes: u128,
    /// Connections in every replicate.
    pub counts: Replicates,
    /// The arms in order.
    pub arms: Vec<ArmTally>,
}

impl Cell {
    fn new(arms: usize) -> Cell {
        Cell { arms: vec![ArmTally::default(); arms], ..Cell::default() }
    }

    fn add(&mut self, flows: &[FlowResult], bytes: u64, ideal_ns: Option<u64>, weights: &Weights) {
        self.flows += 1;
        self.bytes += u128::from(bytes);
        self.counts.add(weights, 1);
        for (tally, flow) in self.arms.iter_mut().zip(flows) {
            tally.add(flow, &flows[0], ideal_ns, weights);
        }
    }

    /// Adds the contents of another cell.
    pub fn merge(&mut self, other: &Cell) {
        if self.arms.len() < other.arms.len() {
            self.arms.resize(other.arms.len(), ArmTally::default());
        }
        self.flows += other.flows;
        self.bytes += other.bytes;
        self.counts.merge(&other.counts);
        self.arms.iter_mut().zip(&other.arms).for_each(|(tally, more)| tally.merge(more));
    }

    fn write(&self, to: &mut Writer) {
        to.put(self.flows);
        if self.flows > 0 {
            to.put(self.bytes);
            self.counts.write(to);
            self.arms.iter().for_each(|arm| arm.write(to));
        }
    }

    fn read(from: &mut Reader<'_>, arms: usize) -> Option<Cell> {
        let flows = from.get()?;
        if flows == 0 {
            return Some(Cell::new(arms));
        }
        let (bytes, counts) = (from.wide()?, Replicates::read(from)?);
        let arms = (0..arms).map(|_| ArmTally::read(from)).collect::<Option<Vec<_>>>()?;
        Some(Cell { flows, bytes, counts, arms })
    }
}

/// Edges of the strata by BDP, bytes.
pub const BDP_EDGES: [u64; 3] = [30_000, 300_000, 3_000_000];
/// Edges of the strata by buffer over BDP.
pub const BUFFER_EDGES: [f64; 2] = [0.5, 2.0];
/// Edges of the strata by object size over three times what path and queue can hold, which limits
/// how far startup can overshoot before the object ends.
pub const FILL_EDGES: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const BUFFERS: usize = BUFFER_EDGES.len() + 1;
const STRATA: usize = (BDP_EDGES.len() + 1) * BUFFERS;

/// All data kept of a test's connections, or of some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallies {
    arms: usize,
    bins: usize,
    /// Group by size bin, followed by BDP by buffer.
    cells: Vec<Cell>,
    strata: Vec<Cell>,
    fills: Vec<Cell>,
    /// The baseline under two other seeds.
    twice: Sums,
    /// Sums for the decision: all connections under the central assumptions, those that also ran in
    /// the other worlds under the central assumptions, and these in each of the worlds.
    worlds: Vec<Sums>,
    /// Number of reruns of the baseline with the same seed.
    pub repeated: u64,
    /// Number of reruns that differed; anything but 0 is a defect of the simulator.
    pub differed: u64,
    /// Number of values clipped by each bound of the population.
    pub clipped: [u64; 8],
    /// Complete blocks, in ascending order.
    pub blocks: Vec<u64>,
}

impl Tallies {
    /// Creates empty tallies.
    pub fn new(experiment: &Experiment) -> Tallies {
        let (arms, bins) = (experiment.arms.len(), experiment.size_bins.len() + 1);
        Tallies {
            arms,
            bins,
            cells: vec![Cell::new(arms); experiment.groups.len() * bins],
            strata: vec![Cell::new(arms); STRATA],
            fills: vec![Cell::new(arms); FILL_EDGES.len() + 1],
            twice: Sums::new(2),
            worlds: vec![Sums::new(arms); 2 + experiment.worlds.len()],
            repeated: 0,
            differed: 0,
            clipped: [0; 8],
            blocks: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, test: &Test, connection: &Connection) {
        let Connection { drawn, ideal_ns, results, aa, repeats, worlds } = connection;
        let weights = weights(test.seed, drawn.index);
        let cell = drawn.group * self.bins + test.population.size_bin(drawn.bytes);
        let bdp = BDP_EDGES.partition_point(|edge| *edge <= drawn.bdp_bytes());
        let share = drawn.queue_bytes as f64 / drawn.bdp_bytes().max(1) as f64;
        let stratum = bdp * BUFFERS + BUFFER_EDGES.partition_point(|edge| *edge <= share);
        self.cells[cell].add(results, drawn.bytes, *ideal_ns, &weights);
        self.strata[stratum].add(results, drawn.bytes, *ideal_ns, &weights);
        let fill = drawn.bytes as f64 / (3 * (drawn.bdp_bytes() + drawn.queue_bytes)).max(1) as f64;
        self.fills[FILL_EDGES.partition_point(|edge| *edge <= fill)].add(
            results,
            drawn.bytes,
            *ideal_ns,
            &weights,
        );
        let index = drawn.index;
        let add = |sums: &mut Sums, results: &[FlowResult]| {
            sums.add(index, results.iter().map(FlowResult::sample), &weights);
        };
        if let Some(aa) = aa {
            add(&mut self.twice, aa);
        }
        if let [all, part, others @ ..] = &mut self.worlds[..] {
            add(all, results);
            if !worlds.is_empty() {
                add(part, results);
                others.iter_mut().zip(worlds).for_each(|(sums, results)| add(sums, results));
            }
        }
        if let Some(same) = repeats {
            self.repeated += 1;
            self.differed += u64::from(!same);
        }
        for (bit, count) in self.clipped.iter_mut().enumerate() {
            *count += u64::from(drawn.clipped.0 >> bit & 1);
        }
    }

    /// Adds the tallies of another part of the same test.
    pub fn merge(&mut self, other: &Tallies) {
        self.cells.iter_mut().zip(&other.cells).for_each(|(cell, more)| cell.merge(more));
        self.strata.iter_mut().zip(&other.strata).for_each(|(cell, more)| cell.merge(more));
        self.fills.iter_mut().zip(&other.fills).for_each(|(cell, more)| cell.merge(more));
        self.twice.merge(&other.twice);
        self.worlds.iter_mut().zip(&other.worlds).for_each(|(sums, more)| sums.merge(more));
        self.repeated += other.repeated;
        self.differed += other.differed;
        self.clipped.iter_mut().zip(other.clipped).for_each(|(count, more)| *count += more);
        self.blocks.extend(&other.blocks);
        self.blocks.sort_unstable();
    }

    /// Resets everything.
    pub fn clear(&mut self) {
        let arms = self.arms;
        self.cells
            .iter_mut()
            .chain(&mut self.strata)
            .chain(&mut self.fills)
            .filter(|cell| cell.flows > 0)
            .for_each(|cell| *cell = Cell::new(arms));
        let worlds = self.worlds.iter_mut().filter(|sums| sums.flows() > 0);
        worlds.for_each(|sums| *sums = Sums::new(arms));
        self.twice = Sums::new(2);
        (self.repeated, self.differed, self.clipped) = (0, 0, [0; 8]);
        self.blocks.clear();
    }

    /// Number of connections so far.
    pub fn flows(&self) -> u64 {
        self.cells.iter().map(|cell| cell.flows).sum()
    }

    fn join<'a>(&self, cells: impl Iterator<Item = &'a Cell>) -> Cell {
        let mut all = Cell::new(self.arms);
        cells.for_each(|cell| all.merge(cell));
        all
    }

    /// All connections.
    pub fn all(&self) -> Cell {
        self.join(self.cells.iter())
    }

    /// The connections of a group.
    pub fn group(&self, group: usize) -> Cell {
        self.join(self.cells[group * self.bins..(group + 1) * self.bins].iter())
    }

    /// The connections of a size bin.
    pub fn size(&self, bin: usize) -> Cell {
        self.join(self.cells.iter().skip(bin).step_by(self.bins))
    }

    /// The connections of a group and a size bin.
    pub fn cell(&self, group: usize, bin: usize) -> &Cell {
        &self.cells[group * self.bins + bin]
    }

    /// The connections in one stratum of BDP.
    pub fn bdp(&self, stratum: usize) -> Cell {
        self.join(self.strata[stratum * BUFFERS..(stratum + 1) * BUFFERS].iter())
    }

    /// The connections in one stratum of the buffer-to-BDP ratio.
    pub fn buffer(&self, stratum: usize) -> Cell {
        self.join(self.strata.iter().skip(stratum).step_by(BUFFERS))
    }

    /// The connections in one stratum of object size over three times what path and queue can hold.
    pub fn fill(&self, stratum: usize) -> Cell {
        self.fills[stratum].clone()
    }

    /// Decision from these sums.
    pub fn decision(&self, experiment: &Experiment) -> Decision {
        let names: Vec<String> =
            experiment.assumptions.iter().map(|one| one.value.clone()).collect();
        let question = Question {
            arms: &experiment.arms,
            assumptions: &names,
            corners: &experiment.worlds,
            limits: experiment.limits,
        };
        let (assumed, part, corners) = match &self.worlds[..] {
            [all, part, corners @ ..] => (all, part, corners),
            _ => (&self.twice, &self.twice, &[][..]),
        };
        let (twice, repeated) = (&self.twice, [self.repeated, self.differed]);
        let mut decision = decide(&question, &Evidence { assumed, part, corners, twice, repeated });
        let (done, wanted) = (assumed.flows(), experiment.flows);
        if done < wanted && decision.check.differed == 0 {
            decision.withhold(&format!(
                "the test is not complete, {done} of {wanted} connections ran; run the rest"
            ));
        } else if let Some(why) = self.unfinished(experiment, &decision) {
            decision.withhold(&why);
        }
        decision
    }

    /// Why the transfers that the limit stopped rule out a recommendation. They count with the
    /// limit, so from a share of 5 % the 95th percentile is the limit for every arm, and an arm that
    /// fails more often than the baseline looks faster than it is.
    fn unfinished(&self, experiment: &Experiment, decision: &Decision) -> Option<String> {
        let all = self.all();
        let flows = all.flows;
        let counts: Vec<u64> = all.arms.iter().map(|arm| arm.sum(Sum::Incomplete) as u64).collect();
        let limit = experiment.limit_s;
        let (most, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
        if *count as f64 >= MOST_UNFINISHED * flows as f64 && *count > 0 {
            return Some(format!(
                "{count} of {flows} transfers with {} did not finish within {limit} s; raise `--limit`",
                experiment.arms[most]
            ));
        }
        let deploy = decision.deploy.as_ref()?;
        let arm = experiment.arms.iter().position(|arm| arm == deploy)?;
        let [own, other] = [counts[arm], counts[0]].map(|count| count as f64);
        (own - other > Z_95 * (own + other).sqrt()).then(|| {
            format!(
                "{deploy} left {own} of {flows} transfers unfinished after {limit} s where {} left {other}",
                experiment.arms[0]
            )
        })
    }

    /// Appends the tallies.
    pub fn write(&self, to: &mut Writer) {
        to.put(self.blocks.len() as u64);
        self.blocks.iter().for_each(|block| to.put(*block));
        self.cells.iter().chain(&self.strata).chain(&self.fills).for_each(|cell| cell.write(to));
        self.worlds.iter().chain([&self.twice]).for_each(|sums| sums.write(to));
        to.put(self.repeated);
        to.put(self.differed);
        self.clipped.iter().for_each(|count| to.put(*count));
    }

    /// Reads tallies that [`Tallies::write`] wrote for the same experiment.
    pub fn read(from: &mut Reader<'_>, experiment: &Experiment) -> Option<Tallies> {
        let mut tallies = Tallies::new(experiment);
        for _ in 0..from.get()? {
            tallies.blocks.push(from.get()?);
        }
        let arms = tallies.arms;
        for cell in tallies.cells.iter_mut().chain(&mut tallies.strata).chain(&mut tallies.fills) {
            *cell = Cell::read(from, arms)?;
        }
        for sums in &mut tallies.worlds {
            *sums = Sums::read(from, arms)?;
        }
        tallies.twice = Sums::read(from, 2)?;
        tallies.repeated = from.get()?;
        tallies.differed = from.get()?;
        for count in &mut tallies.clipped {
            *count = from.get()?;
        }
        Some(tallies)
    }
}
