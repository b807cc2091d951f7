//! Turns sums into estimates per arm and part of the connections, compared with the baseline on the
//! same connections.
//!
//! Means and their differences have intervals from the Poisson bootstrap, quantiles and paired
//! ratios from ranks; see [`crate::stats`]. All intervals are 95 %. Differences by group and size
//! are tested together (Holm) before they are called significant.

use super::contrast::{LEAST_FLOWS, less, of, reduction, times};
use super::tally::{ArmTally, Cell, Mean, Sum};
use super::{Experiment, Tallies};
use crate::decision::Decision;
use crate::measures::{self, Field, Holds, record};
use crate::stats::bootstrap::Estimate;
use crate::stats::front::{Versus, front};
use crate::stats::ratio::Ratios;
use crate::stats::sketch::Sketch;
use crate::stats::{Interval, Z_95, holm};
use serde::Serialize;
use std::collections::BTreeMap;

/// Minimum number of connections for a reliable 99th percentile; with fewer, it rests on very few
/// of them.
pub const FEW_FLOWS: u64 = 2_000;
/// The result of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Version of the program.
    pub firstflight: &'static str,
    /// The test with every default filled in.
    pub experiment: Experiment,
    /// Method of the intervals.
    pub method: Method,
    /// Whether the result includes all connections of the test.
    pub complete: bool,
    /// Number of connections.
    pub flows: u64,
    /// The arm to deploy and its cost, or what would settle the question.
    pub decision: Decision,
    /// The Pareto-optimal arms, one sentence per group.
    pub advice: Vec<String>,
    /// Caveats.
    pub warnings: Vec<String>,
    /// Share of connections in which a drawn value was clamped to a bound of the population.
    pub clipped: BTreeMap<&'static str, f64>,
    /// Results per part and arm.
    pub results: Vec<Entry>,
    /// Reduction of the completion time by percentile, and loss ratios by percentile, over all
    /// connections.
    pub percentiles: Vec<Percentiles>,
}

/// Method of the intervals, described for readers who only have the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Method {
    /// Method for means, their ratios and differences.
    pub means: &'static str,
    /// Method for quantiles and paired ratios.
    pub quantiles: &'static str,
    /// Method for many cells at once.
    pub many: &'static str,
    /// Method for the comparison of the baseline with itself.
    pub aa: &'static str,
    /// The worlds in addition to the central assumptions.
    pub worlds: &'static str,
    /// The effects that the decision uses.
    pub decision: &'static str,
}

const METHOD: Method = Method {
    means: "Poisson bootstrap over connections, 200 replicates, the same weights for all arms; normal 95 % interval, for ratios on the logarithmic scale",
    quantiles: "95 % interval from the binomial rank of the quantile, read off a sketch with bins of 0.4 %; reduction.percentiles and reduction.median are point estimates",
    many: "`significant`: Holm over the reductions of all arms in all parts shown, 5 % for the whole table",
    aa: "99 % intervals of time and loss, judged together (Holm); a difference within the margin is none",
    worlds: "all arms run again in every corner of the assumptions, on one connection in `worlds_every`; effects there are shifted by what these connections differ from all as assumed",
    decision: "95 % intervals: Poisson bootstrap, for the 95th percentile Student over 16 batches; margins 1 % of time, 2 % of its 95th percentile, 0.1 points of loss, 5 ms or a fifth of the queueing delay, 5 % of connections over 5 % slower",
};

/// Criterion that selects the connections of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// All connections.
    All,
    /// A group of the population.
    Group,
    /// A bin of object sizes.
    Size,
    /// A stratum of rate times idle round trip.
    Bdp,
    /// A stratum of buffer over BDP.
    Buffer,
    /// A stratum of object size over three times what path and queue can hold.
    Fill,
    /// A group and a size bin.
    GroupSize,
}

impl Part {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Part::All => "all",
            Part::Group => "group",
            Part::Size => "size",
            Part::Bdp => "bdp",
            Part::Buffer => "buffer",
            Part::Fill => "fill",
            Part::GroupSize => "group_size",
        }
    }
}

impl Field for Part {
    const HOLDS: Holds = Holds::Text;

    fn cell(&self, _path: &str) -> measures::Cell<'_> {
        self.name().into()
    }
}

/// Input of an entry.
#[derive(Clone, Copy, Debug)]
pub struct OfPart<'a> {
    experiment: &'a Experiment,
    part: Part,
    name: &'a str,
    cell: &'a Cell,
    arm: usize,
    front: bool,
    versus: Option<&'a Difference>,
}

impl OfPart<'_> {
    fn sum(&self, what: Sum) -> u128 {
        self.cell.arms[self.arm].sum(what)
    }

    /// Mean per connection.
    fn each(&self, what: Sum) -> f64 {
        of(self.sum(what), self.cell.flows)
    }

    fn share(&self, part: Sum, whole: Sum) -> f64 {
        share(self.sum(part), self.sum(whole))
    }

    /// Reasons for the end of startup: share of connections by reason.
    fn exits(&self) -> BTreeMap<&'static str, f64> {
        let n = self.cell.flows.max(1) as f64;
        let exits = self.cell.arms[self.arm].exits().filter(|(_, count)| *count > 0);
        exits.map(|(name, count)| (name, count as f64 / n)).collect()
    }
}

record! {
    /// One arm in one part.
    Entry of (of = &OfPart<'_>);

    /// kind of part: `all`, `group`, `size`, `bdp`, `buffer`, `fill`, `group_size`
    part: Part, "", None = of.part;
    /// name of the part
    name: String, "", None = of.name.to_owned();
    /// the arm
    arm: String, "", None = of.experiment.arms[of.arm].clone();
    /// connections
    flows: u64, "", None = of.cell.flows;
    /// completion time over connections
    ttlb_ms: Distribution, "ms", Low = Distribution::of((of.each(Sum::Ttlb) / 1e6, &of.cell.arms[of.arm].ttlb, 1e3));
    /// connections that did not finish within the limit; their time is the limit
    incomplete: u64, "", Low = of.sum(Sum::Incomplete) as u64;
    /// mean of completion time over the lower bound for any sender; 1 where no bound is known
    vs_ideal: f64, "", Low = of.each(Sum::VsIdeal) / 1e6;
    /// loss ratio of a connection: packets declared lost and truly dropped, over packets sent
    loss_pct: Distribution, "%", Low = Distribution::of((of.each(Sum::Loss) / 1e7, &of.cell.arms[of.arm].loss, 1e4));
    /// all packets lost over all packets sent
    pooled_loss_pct: f64, "%", Low = of.share(Sum::Lost, Sum::Sent);
    /// bytes retransmitted per byte of object
    retransmitted_pct: f64, "%", Low = share(of.sum(Sum::RetransmittedBytes), of.cell.bytes);
    /// retransmissions that were lost again, over all retransmissions
    lost_again_pct: f64, "%", Low = of.share(Sum::LostRetransmissions, Sum::Retransmissions);
    /// packets declared lost and acknowledged later, over all packets
    spurious_pct: f64, "%", Low = of.share(Sum::Spurious, Sum::Sent);
    /// timeouts per thousand connections
    rtos_per_1000: f64, "", Low = of.each(Sum::Rtos) * 1e3;
    /// recovery episodes per connection
    recoveries: f64, "", Low = of.each(Sum::Recoveries);
    /// mean over connections of the 99th percentile of the waiting time at the bottleneck
    queue_p99_ms: f64, "ms", Low = of.each(Sum::QueueP99) / 1e3;
    /// how startup ended, share of connections by reason; `none` where the transfer ended first
    exits: BTreeMap<&'static str, f64>, "", None = of.exits();
    /// Pareto-optimal: no other arm is significantly better in mean time or mean loss without being worse in the other
    front: bool, "", High = of.front;
    /// compared with the baseline on the same connections; null for the baseline itself
    versus_baseline: Option<Difference>, "", None as "" = of.versus.cloned();
}

record! {
    /// Mean and quantiles.
    #[derive(Copy)]
    Distribution of ((mean, sketch, unit) = (f64, &Sketch, f64));

    /// median
    p50: Interval, "", None = at(sketch, 0.5, unit);
    /// 95th percentile
    p95: Interval, "", None = at(sketch, 0.95, unit);
    /// 99th percentile
    p99: Interval, "", None = at(sketch, 0.99, unit);
    /// mean over connections
    mean: f64, "", None = mean;
    /// 90th percentile
    p90: Interval, "", None = at(sketch, 0.9, unit);
}

/// The two sides of a comparison: an arm and the baseline.
#[derive(Clone, Copy, Debug)]
pub struct OfPair<'a> {
    cell: &'a Cell,
    arm: usize,
    /// Mean completion time over the baseline's.
    time: &'a Estimate,
}

impl OfPair<'_> {
    fn less(&self, what: Mean) -> Interval {
        less(self.cell, self.arm, 0, what, Z_95).interval
    }

    /// Mean loss over the baseline's, if both lost packets.
    fn loss_times(&self) -> Option<Interval> {
        (self.cell.arms[0].sum(Sum::Loss) > 0)
            .then(|| times(self.cell, self.arm, 0, Mean::Loss, Z_95).interval)
            .filter(|times| times.value > 0.0)
    }
}

record! {
    /// An arm compared with the baseline on the same connections.
    Difference of (of = &OfPair<'_>);

    /// reduction of the completion time in the three forms in use
    reduction_pct: Reduction, "%", High = Reduction::of((of.time, &reductions(&of.cell.arms[of.arm], &of.cell.arms[0])));
    /// whether the reduction of the mean is significant when all parts and arms are tested together (Holm)
    significant: bool, "", None = false;
    /// mean loss ratio minus the baseline's, percentage points
    loss_points: Interval, "points", Low = of.less(Mean::Loss).map(|ppb| ppb / 1e7);
    /// mean loss ratio over the baseline's; null if either had no loss
    loss_times: Option<Interval>, "", Low = of.loss_times();
    /// mean `queue_p99_ms` minus the baseline's
    queue_p99_ms: Interval, "ms", Low as "queue_p99_ms_more" = of.less(Mean::QueueP99).map(|us| us / 1e3);
    /// completion time over the baseline's on the same connection
    paired: Paired, "", Low as "" = Paired::of(&of.cell.arms[of.arm].ratios);
}

record! {
    /// Reduction of the completion time.
    #[derive(Copy)]
    Reduction of ((time, curve) = (&Estimate, &[f64]));

    /// 1 - mean / mean of the baseline
    mean: Interval, "%", High as "" = reduction(time.interval);
    /// mean over the percentiles 1 to 99 of the reduction of each
    percentiles: f64, "%", High = curve.iter().sum::<f64>() / curve.len() as f64;
    /// reduction of the median
    median: f64, "%", High = curve[49];
}

record! {
    /// Ratios of pairs.
    #[derive(Copy)]
    Paired of (ratios = &Ratios);

    /// geometric mean
    geometric_mean: f64, "", Low as "paired_geometric_mean" = ratios.geometric_mean();
    /// median
    p50: Interval, "", Low as "paired_p50" = ratios.quantile_interval(0.5, Z_95);
    /// 75th percentile
    p75: Interval, "", Low as "paired_p75" = ratios.quantile_interval(0.75, Z_95);
    /// 90th percentile
    p90: Interval, "", Low as "paired_p90" = ratios.quantile_interval(0.9, Z_95);
    /// 95th percentile: the connections that fare worst
    p95: Interval, "", Low as "paired_p95" = ratios.quantile_interval(0.95, Z_95);
    /// share of connections that take more than 5 % longer
    worse_pct: f64, "%", Low = ratios.worse_share() * 100.0;
    /// share of connections that take more than 5 % less
    better_pct: f64, "%", High = ratios.better_share() * 100.0;
    /// share of connections that take exactly as long
    same_pct: f64, "%", None = ratios.same() as f64 / ratios.total().max(1) as f64 * 100.0;
}

/// Curves over all connections, percentiles 1 to 99.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// The arm.
    pub arm: String,
    /// Completion time.
    pub ttlb_ms: Vec<f64>,
    /// Reduction of each percentile of the completion time, percent; null for the baseline.
    pub reduction_pct: Option<Vec<f64>>,
    /// Loss ratio, percent.
    pub loss_pct: Vec<f64>,
    /// Loss ratio at 99.5 and 99.9 %.
    pub loss_tail_pct: [f64; 2],
}

record! {
    /// One percentile of the curves of an arm, as a row.
    PercentileRow<'a> of ((curves, index) = (&'a Percentiles, usize));

    /// the arm
    arm: &'a str, "", None = &curves.arm;
    /// percentile over connections, 1 to 99
    percentile: f64, "%", None = index as f64 + 1.0;
    /// completion time
    ttlb_ms: f64, "ms", Low = curves.ttlb_ms[index];
    /// reduction of this percentile of the completion time; null for the baseline
    reduction_pct: Option<f64>, "%", High = curves.reduction_pct.as_ref().map(|curve| curve[index]);
    /// loss ratio
    loss_pct: f64, "%", Low = curves.loss_pct[index];
}

impl Percentiles {
    /// The curves as one row per percentile.
    pub fn rows(&self) -> impl Iterator<Item = PercentileRow<'_>> {
        (0..self.ttlb_ms.len()).map(|index| PercentileRow::of((self, index)))
    }
}

fn share(part: u128, whole: u128) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn reductions(arm: &ArmTally, baseline: &ArmTally) -> Vec<f64> {
    (1..100)
        .map(|p| f64::from(p) / 100.0)
        .map(|p| (1.0 - arm.ttlb.quantile(p) / baseline.ttlb.quantile(p).max(1.0)) * 100.0)
        .collect()
}

/// For each arm of a cell, whether it is on the Pareto front of time and loss.
pub fn fronts(cell: &Cell) -> Vec<bool> {
    let versus = |a: usize, b: usize, what: Mean| {
        let interval = less(cell, a, b, what, Z_95).interval;
        if interval.high < 0.0 {
            Versus::Better
        } else if interval.low > 0.0 {
            Versus::Worse
        } else {
            Versus::Even
        }
    };
    front(cell.arms.len(), |a, b| [versus(a, b, Mean::Ttlb), versus(a, b, Mean::Loss)])
}

fn at(sketch: &Sketch, p: f64, unit: f64) -> Interval {
    sketch.quantile_interval(p, Z_95).map(|value| value / unit)
}

/// An arm in a part, and the p-value of its difference in mean completion time.
fn entry(
    experiment: &Experiment,
    part: Part,
    name: &str,
    cell: &Cell,
    arm: usize,
    front: bool,
) -> (Entry, f64) {
    let versus = (arm > 0).then(|| {
        let time = times(cell, arm, 0, Mean::Ttlb, Z_95);
        (Difference::of(&OfPair { cell, arm, time: &time }), time.p)
    });
    let difference = versus.as_ref().map(|versus| &versus.0);
    let of = OfPart { experiment, part, name, cell, arm, front, versus: difference };
    (Entry::of(&of), versus.as_ref().map_or(f64::NAN, |versus| versus.1))
}

/// Parts of a test that have connections, in the order shown.
fn parts(experiment: &Experiment, tallies: &Tallies) -> Vec<(Part, String, Cell)> {
    let mut parts = vec![(Part::All, "all".to_owned(), tallies.all())];
    let bins = experiment.size_bins.len() + 1;
    let groups = experiment.groups.iter().enumerate();
    parts.extend(
        groups.clone().map(|(index, name)| (Part::Group, name.clone(), tallies.group(index))),
    );
    parts.extend((0..bins).map(|bin| (Part::Size, experiment.size_label(bin), tallies.size(bin))));
    let labels = ["below 30 kB", "30 to 300 kB", "300 kB to 3 MB", "3 MB and more"];
    parts.extend(
        labels
            .iter()
            .enumerate()
            .map(|(index, name)| (Part::Bdp, (*name).to_owned(), tallies.bdp(index))),
    );
    let labels = ["below 0.5", "0.5 to 2", "2 and more"];
    parts.extend(
        labels
            .iter()
            .enumerate()
            .map(|(index, name)| (Part::Buffer, (*name).to_owned(), tallies.buffer(index))),
    );
    let labels = ["below 0.1", "0.1 to 0.3", "0.3 to 1", "1 to 3", "3 and more"];
    parts.extend(
        labels
            .iter()
            .enumerate()
            .map(|(index, name)| (Part::Fill, (*name).to_owned(), tallies.fill(index))),
    );
    if experiment.groups.len() > 1 {
        parts.extend(groups.flat_map(|(index, name)| {
            (0..bins).map(move |bin| {
                (
                    Part::GroupSize,
                    format!("{name}, {}", experiment.size_label(bin)),
                    tallies.cell(index, bin).clone(),
                )
            })
        }));
    }
    parts.retain(|(part, _, cell)| *part == Part::All || cell.flows >= LEAST_FLOWS);
    parts
}

impl Analysis {
    /// The estimates from the sums, without text; `warnings` are those of the population.
    pub(super) fn numbers(
        experiment: &Experiment,
        tallies: &Tallies,
        warnings: &[String],
    ) -> Analysis {
        let mut results = Vec::new();
        let mut chances = Vec::new();
        for (part, name, cell) in parts(experiment, tallies) {
            let fronts = fronts(&cell);
            for (arm, front) in fronts.into_iter().enumerate() {
                let (entry, p) = entry(experiment, part, &name, &cell, arm, front);
                if arm > 0 {
                    chances.push((results.len(), p));
                }
                results.push(entry);
            }
        }
        let stands = holm::holm(&chances.iter().map(|chance| chance.1).collect::<Vec<_>>(), 0.05);
        for ((index, _), stands) in chances.iter().zip(stands) {
            if let Some(versus) = &mut results[*index].versus_baseline {
                versus.significant = stands;
            }
        }
        let all = tallies.all();
        Analysis {
            firstflight: env!("CARGO_PKG_VERSION"),
            experiment: experiment.clone(),
            method: METHOD,
            complete: all.flows == experiment.flows,
            flows: all.flows,
            decision: tallies.decision(experiment),
            advice: Vec::new(),
            warnings: warnings.to_vec(),
            clipped: super::super::population::draw::BOUNDS
                .iter()
                .zip(tallies.clipped)
                .filter(|(_, count)| *count > 0)
                .map(|(bound, count)| (*bound, count as f64 / all.flows.max(1) as f64))
                .collect(),
            percentiles: percentiles(experiment, &all),
            results,
        }
    }

    /// Entries of one kind of part.
    pub fn of(&self, part: Part) -> impl Iterator<Item = &Entry> {
        self.results.iter().filter(move |entry| entry.part == part)
    }

    /// One JSON object, identical for the same connections.
    ///
    /// # Panics
    /// Never: it holds only numbers and strings.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("numbers and strings serialise");
        text.push('\n');
        text
    }
}

fn percentiles(experiment: &Experiment, all: &Cell) -> Vec<Percentiles> {
    let curve = |read: &dyn Fn(f64) -> f64| {
        (1..100).map(|p| read(f64::from(p) / 100.0)).collect::<Vec<f64>>()
    };
    all.arms
        .iter()
        .enumerate()
        .map(|(index, tally)| Percentiles {
            arm: experiment.arms[index].clone(),
            ttlb_ms: curve(&|p| tally.ttlb.quantile(p) / 1e3),
            reduction_pct: (index > 0).then(|| reductions(tally, &all.arms[0])),
            loss_pct: curve(&|p| tally.loss.quantile(p) / 1e4),
            loss_tail_pct: [0.995, 0.999].map(|p| tally.loss.quantile(p) / 1e4),
        })
        .collect()
}
