//! Rows 2.2.1 to 2.2.7: the production experiment, on the population `cdn` through the engine of `firstflight ab`.

use crate::{Accept, Effort, Gate, Interval, Published, Row};
use firstflight::Nanos;
use firstflight_lab::ab::analysis::{Entry, Part};
use firstflight_lab::ab::{Analysis, Clock, Run, Test, Watch};
use firstflight_lab::arms::parse_arms;
use firstflight_lab::error::Bad;
use firstflight_lab::population::calibrate::TARGETS;
use firstflight_lab::population::{Population, Setting, Variable, builtin};
use firstflight_lab::scenario::Hosts;
use firstflight_lab::stats;
use std::sync::atomic::AtomicBool;

/// The four groups; all with the same congestion avoidance and paced, first windows as stated.
const ARMS: &str = "slowstart/reno(beta=0.7),jumpstart/reno(beta=0.7),rapid(jump=off)/reno(beta=0.7),rapid/reno(beta=0.7)";
pub const NAMES: [&str; 4] = ["slow start", "jumpstart", "rapid-no-jump", "rapidstart"];
const JUMP: usize = 1;
pub const NO_JUMP: usize = 2;
pub const RAPID: usize = 3;
const ASSUMED: &[&str] = &["host", "beta", "W-CDN", "P-POP", "fit-cdn"];
/// Published reduction of the time to last byte, everything together.
const SHORTER: Published = Published::change(14.7);
/// Published loss of the four groups, percent.
const LOSS_MEAN: [f64; 4] = [1.52, 1.61, 1.92, 1.98];

impl From<stats::Interval> for Interval {
    fn from(of: stats::Interval) -> Interval {
        Interval { estimate: of.value, low: of.low, high: of.high }
    }
}

/// The test's entries, by part and arm.
pub struct Found {
    analysis: Analysis,
    arms: Vec<String>,
}

impl Found {
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    pub fn entry(&self, part: Part, name: &str, arm: usize) -> Option<&Entry> {
        self.analysis.of(part).find(|entry| entry.name == name && entry.arm == self.arms[arm])
    }

    fn all(&self, arm: usize) -> &Entry {
        self.entry(Part::All, "all", arm).expect("every arm has an entry for all connections")
    }

    /// Reduction of the mean time to last byte, percent.
    pub fn gain(entry: &Entry) -> Interval {
        entry.versus_baseline.as_ref().map_or(Interval::from(0.0), |versus| versus.reduction_pct.mean.into())
    }

    pub fn names(&self, part: Part) -> Vec<String> {
        self.analysis.of(part).filter(|entry| entry.arm == self.arms[0]).map(|entry| entry.name.clone()).collect()
    }
}

fn population() -> Result<Population, Bad> {
    builtin::population("cdn").ok_or_else(|| Bad("the population `cdn` is missing".into()))?
}

/// The population as it stands in its file, or turned.
fn run(effort: &Effort<'_>, flows: u64, turn: &dyn Fn(&mut Population)) -> Result<Found, Bad> {
    let mut population = population()?;
    turn(&mut population);
    // The sweep runs the ends of the range as tests of their own.
    population.assumptions.clear();
    let arms = parse_arms(ARMS)?;
    let names = arms.iter().map(|arm| arm.label.clone()).collect();
    effort.tell(&format!("rapid-start: {flows} connections of `cdn` under four arms"));
    let test = Test {
        iw: population.initial_window.unwrap_or(30),
        population,
        arms,
        flows,
        seed: 1,
        burst: 2,
        limit: Nanos::from_secs(300),
        host: Hosts::default(),
        detection: None,
        // Published as measured by the server: until all bytes of the object are acknowledged.
        clock: Clock::Sender,
    };
    let stop = AtomicBool::new(false);
    let tallies = test.run(&Run::default(), &mut Watch { tick: &|_| {}, stop: &stop, rows: None })?;
    Ok(Found { analysis: Analysis::new(&test.experiment(), &tallies, &[]), arms: names })
}

/// The rows of the production experiment, and what they were read from.
pub fn measured(effort: &Effort<'_>) -> Result<(Vec<Row>, Found), Bad> {
    let found = run(effort, effort.connections(14_000, 140_000), &|_| {})?;
    let mut rows = times(&found);
    rows.extend(by_group(&found));
    rows.extend(by_size(&found));
    rows.extend(by_fill(&found));
    rows.extend(best_together(&found));
    rows.extend(losses(&found));
    let swept = other_assumptions(effort)?;
    // Whatever leaves its band gets the sweep, once per number.
    let mut told = "";
    for row in rows.iter_mut().filter(|row| !row.holds()) {
        if row.id != told {
            let broken_by = if row.id < "2.2.5" { BY_RATES } else { BY_BUFFERS };
            row.note = [row.note.as_str(), broken_by].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
            row.sweep = Row::told(row.id, "", "").sweep(swept.clone()).sweep;
            told = row.id;
        }
    }
    Ok((rows.into_iter().map(|row| row.assuming(ASSUMED)).collect(), found))
}

/// What moves the times of this experiment.
const BY_RATES: &str = "the assumed rates move it: at 15 to 150 Mbit/s an object of 200 kB is all round trips, one of three of which Rapid Start \
                        saves; on slower lines, and wherever anything but round trips takes time, less is left (sweep)";

/// What moves the losses of this experiment.
const BY_BUFFERS: &str = "the buffers move it: nobody published them, and the sweep shows both ends of the range that fits nearly as well. Rapid \
                         Start's mean loss over slow start's is the one number of a treatment that was fitted; the others are held out";

/// The production experiment at both ends of the range that fits nearly as well, and with one knob turned away from the best fit.
fn other_assumptions(effort: &Effort<'_>) -> Result<Vec<(String, String)>, Bad> {
    let population = population()?;
    let [q, k, s] = [population.knobs.q, population.knobs.k, population.knobs.s];
    let ends = population.assumptions.iter().flat_map(|one| {
        let at = |end: Setting| [end.q, end.k, end.s];
        [("lowest buffers that fit nearly as well", at(one.low)), ("highest buffers that fit nearly as well", at(one.high))]
    });
    let own = [
        ("best fit", [q, k, s], 1.0),
        ("random loss x 0.5", [q, k * 0.5, s], 1.0),
        ("random loss x 2", [q, k * 2.0, s], 1.0),
        ("rates x 0.3", [q, k, s], 0.3),
        ("rates x 0.1", [q, k, s], 0.1),
    ];
    let mut points = Vec::new();
    for (name, [q, k, s], rates) in own.into_iter().chain(ends.map(|(name, knobs)| (name, knobs, 1.0))) {
        let turned = run(effort, effort.connections(3_000, 14_000), &|population| {
            (population.knobs.q, population.knobs.k, population.knobs.s) = (q, k, s);
            for group in &mut population.groups {
                if let Some(slower) = group.get(Variable::RateDown).map(|rate| rate.times(rates)) {
                    group.set(Variable::RateDown, slower);
                }
            }
        })?;
        let losses: Vec<String> = (0..NAMES.len()).map(|arm| format!("{:.2}", turned.all(arm).loss_pct.mean)).collect();
        let [base, rapid] = [turned.all(0), turned.all(RAPID)];
        let bins = turned.names(Part::Size);
        let edge = |name: Option<&String>| {
            name.and_then(|name| turned.entry(Part::Size, name, RAPID)).map_or(f64::NAN, |entry| Found::gain(entry).estimate)
        };
        let told = format!(
            "mean loss {} % (slow start, jumpstart, rapid-no-jump, rapidstart; published 1.52, 1.61, 1.92, 1.98), rapidstart {:.2} x, at P99 {:.2} x; \
             time {:+.1} %, smallest objects {:+.1} %, largest published bin {:+.1} %",
            losses.join(", "),
            rapid.loss_pct.mean / base.loss_pct.mean,
            rapid.loss_pct.p99.value / base.loss_pct.p99.value,
            -Found::gain(rapid).estimate,
            -edge(bins.first()),
            -edge(bins.iter().rev().find(|name| !name.contains("and more")))
        );
        points.push((format!("{name} (q {q:.3}, k {k:.5}, s {s:.3})"), told));
    }
    Ok(points)
}

/// Row 2.2.3: where an object that ends inside the overshoot or its repair loses, by its size over three times what path and queue hold,
/// and how many parts of the population lose.
fn by_fill(found: &Found) -> Vec<Row> {
    let mut rows = Vec::new();
    for name in found.names(Part::Fill) {
        let Some(entry) = found.entry(Part::Fill, &name, RAPID) else { continue };
        let measure =
            "reduction of the mean time to last byte acknowledged by object size over three times what path and queue hold, rapidstart";
        let worse = entry.versus_baseline.as_ref().map_or(0.0, |versus| versus.paired.worse_pct);
        rows.push(
            Row::seen("2.2.3", measure, Found::gain(entry), " %")
                .case(format!("size / 3 F {name}"))
                .note(format!("{} connections, {worse:.1} % of them more than 5 % slower", entry.flows)),
        );
    }
    let cells: Vec<(String, Interval)> = found
        .names(Part::GroupSize)
        .into_iter()
        .filter_map(|name| found.entry(Part::GroupSize, &name, RAPID).map(|entry| (name, Found::gain(entry))))
        .collect();
    let negative: Vec<String> =
        cells.iter().filter(|(_, gain)| gain.estimate < 0.0).map(|(name, gain)| format!("{name} {:+.1} %", gain.estimate)).collect();
    let sure = cells.iter().filter(|(_, gain)| gain.high < 0.0).count();
    let share = 100.0 * negative.len() as f64 / cells.len().max(1) as f64;
    let list = if negative.is_empty() { "none".to_owned() } else { negative.join(", ") };
    rows.push(Row::seen("2.2.3", "share of the cells of POP and size in which rapidstart takes longer", share, " %").note(format!(
        "{} of {} cells ({list}); {sure} of them beyond their interval",
        negative.len(),
        cells.len()
    )));
    rows
}

/// Row 2.2.1.
fn times(found: &Found) -> Vec<Row> {
    let entry = found.all(RAPID);
    let gain = Found::gain(entry);
    let base = &found.all(0).loss_pct;
    let measured = [base.mean, base.p50.value, base.p90.value, base.p99.value, entry.loss_pct.mean / base.mean];
    let fit: Vec<String> = TARGETS
        .iter()
        .zip(measured)
        .map(|(target, ours)| {
            let outside = if (target.low..=target.high).contains(&ours) { "" } else { " OUTSIDE its band" };
            format!("{} {ours:.2} (published {:.2}){outside}", target.name, target.target)
        })
        .collect();
    let measure = "reduction of the mean time to last byte acknowledged, rapidstart";
    let mut rows = vec![
        Row::gated("2.2.1", Gate::Direction, measure, gain, " %", Accept::Above(0.0)).note(format!(
            "{} connections; the five numbers that were fitted (every row but that of 2.2.6 on the mean is held out): {}",
            found.analysis.flows,
            fit.join(", ")
        )),
        Row::gated("2.2.1", Gate::Band, measure, gain, " %", Accept::Within(8.0, 22.0)).against(SHORTER),
    ];
    if let Some(versus) = &entry.versus_baseline {
        let (curve, median) = (versus.reduction_pct.percentiles, versus.reduction_pct.median);
        let accept = Accept::Within(8.0, 22.0);
        for (measure, value) in
            [("mean of the reductions of the percentiles 1 to 99, rapidstart", curve), ("reduction of the median, rapidstart", median)]
        {
            rows.push(Row::gated("2.2.1", Gate::Band, measure, value, " %", accept).against(SHORTER));
        }
        let (worse, same) = (versus.paired.worse_pct, versus.paired.same_pct);
        rows.push(
            Row::seen("2.2.1", "connections that take more than 5 % longer than with slow start", worse, " %")
                .note(format!("{same:.1} % take exactly as long; objects that end inside the first recovery can lose time")),
        );
    }
    rows
}

/// Row 2.2.2.
fn by_group(found: &Found) -> Vec<Row> {
    let names = found.names(Part::Group);
    let gains: Vec<Interval> = names.iter().filter_map(|name| found.entry(Part::Group, name, RAPID)).map(Found::gain).collect();
    let (low, high) = extremes(&gains);
    let mut rows: Vec<Row> = names
        .iter()
        .zip(&gains)
        .map(|(name, gain)| {
            let measure = "reduction of the mean time to last byte acknowledged, rapidstart";
            Row::gated("2.2.2", Gate::Direction, measure, *gain, " %", Accept::Above(0.0)).case(name.clone())
        })
        .collect();
    rows.push(
        Row::gated("2.2.2", Gate::Band, "largest less smallest reduction of a POP", high - low, " points", Accept::AtLeast(3.0))
            .against(Published::change(21.5 - 10.8)),
    );
    rows.push(
        Row::gated("2.2.2", Gate::Band, "smallest reduction of a POP", low, " %", Accept::Within(5.0, 30.0))
            .against(Published::change(10.8)),
    );
    rows.push(
        Row::gated("2.2.2", Gate::Band, "largest reduction of a POP", high, " %", Accept::Within(5.0, 30.0))
            .against(Published::change(21.5)),
    );
    rows
}

fn extremes(gains: &[Interval]) -> (f64, f64) {
    gains.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), gain| (low.min(gain.estimate), high.max(gain.estimate)))
}

/// Row 2.2.3: the four published bins; what is larger than 3.2 MB is reported.
fn by_size(found: &Found) -> Vec<Row> {
    let measure = "reduction of the mean time to last byte acknowledged, rapidstart";
    let named: Vec<(String, Interval)> = found
        .names(Part::Size)
        .into_iter()
        .filter_map(|name| found.entry(Part::Size, &name, RAPID).map(|entry| (name, Found::gain(entry))))
        .collect();
    let (published, larger): (Vec<_>, Vec<_>) = named.into_iter().partition(|(name, _)| !name.contains("and more"));
    let gains: Vec<Interval> = published.iter().map(|(_, gain)| *gain).collect();
    let mut rows: Vec<Row> = published
        .iter()
        .map(|(name, gain)| Row::gated("2.2.3", Gate::Band, measure, *gain, " %", Accept::Above(0.0)).case(name.clone()))
        .collect();
    rows.extend(larger.into_iter().map(|(name, gain)| Row::seen("2.2.3", measure, gain, " %").case(name)));
    if let (Some(first), Some(last)) = (gains.first(), gains.last()) {
        let less = last.estimate - first.estimate;
        rows.push(
            Row::gated("2.2.3", Gate::Band, "largest bin less smallest bin", less, " points", Accept::AtMost(0.0))
                .against(Published::change(10.6 - 14.9)),
        );
        let (low, high) = extremes(&gains);
        rows.push(
            Row::gated("2.2.3", Gate::Band, "smallest reduction of a bin", low, " %", Accept::Within(6.0, 25.0))
                .against(Published::change(10.6)),
        );
        rows.push(
            Row::gated("2.2.3", Gate::Band, "largest reduction of a bin", high, " %", Accept::Within(6.0, 25.0))
                .against(Published::change(14.9)),
        );
    }
    rows
}

/// Row 2.2.4.
fn best_together(found: &Found) -> Vec<Row> {
    let gain = |arm: usize| Found::gain(found.all(arm));
    let mut rows = Vec::new();
    for arm in [JUMP, NO_JUMP] {
        // The same connections under both arms: the wider interval bounds the difference.
        let difference = Interval {
            estimate: gain(RAPID).estimate - gain(arm).estimate,
            low: gain(RAPID).low - gain(arm).high,
            high: gain(RAPID).high - gain(arm).low,
        };
        let measure = format!("reduction of rapidstart less that of {}", NAMES[arm]);
        rows.push(Row::gated("2.2.4", Gate::Direction, measure, difference, " points", Accept::Above(0.0)));
        let measure = format!("reduction of the mean time to last byte acknowledged, {}", NAMES[arm]);
        rows.push(Row::gated("2.2.4", Gate::Band, measure, gain(arm), " %", Accept::Above(0.0)));
    }
    rows
}

/// Rows 2.2.5 to 2.2.7.
fn losses(found: &Found) -> Vec<Row> {
    let points = |arm: usize| -> Interval {
        found.all(arm).versus_baseline.as_ref().map_or(Interval::from(0.0), |versus| versus.loss_points.into())
    };
    let told: Vec<(String, String)> = (0..4)
        .map(|arm| (NAMES[arm].to_owned(), format!("{:.2} % (published {:.2} %)", found.all(arm).loss_pct.mean, LOSS_MEAN[arm])))
        .collect();
    let mut rows = Vec::new();
    for (low, high) in [(0, JUMP), (JUMP, NO_JUMP), (NO_JUMP, RAPID)] {
        let (a, b) = (points(low), points(high));
        let difference = Interval { estimate: b.estimate - a.estimate, low: b.low - a.high, high: b.high - a.low };
        let measure = format!("mean loss ratio, {} less {}", NAMES[high], NAMES[low]);
        // Ties within the interval are allowed between the first two and the last two.
        let accept = if (low, high) == (JUMP, NO_JUMP) { Accept::Above(0.0) } else { Accept::NotBelow(0.0) };
        let stated = Published::change(LOSS_MEAN[high] - LOSS_MEAN[low]);
        rows.push(Row::gated("2.2.5", Gate::Direction, measure, difference, " points", accept).against(stated));
    }
    rows[0].sweep = Row::told("2.2.5", "", "").sweep(told).sweep;
    let (base, rapid) = (&found.all(0).loss_pct, &found.all(RAPID).loss_pct);
    let ratios =
        [rapid.mean / base.mean, rapid.p50.value / base.p50.value, rapid.p90.value / base.p90.value, rapid.p99.value / base.p99.value];
    for (index, name, band, stated) in [(0, "mean", (1.1, 1.7), 1.30), (2, "P90", (1.0, 1.4), 1.16), (3, "P99", (1.0, 1.3), 1.13)] {
        let measure = format!("{name} loss ratio, rapidstart over slow start");
        let accept = Accept::Within(band.0, band.1);
        let row = Row::gated("2.2.6", Gate::Band, measure, ratios[index], " x", accept).against(Published::ratio(stated));
        rows.push(if index == 0 { row.note("fitted, so no prediction") } else { row.note("held out") });
    }
    rows.push(Row::seen("2.2.6", "P50 loss ratio, rapidstart over slow start", ratios[1], " x"));
    let measure = "increase at P99 less the one of the mean: it shrinks towards the tail";
    rows.push(
        Row::gated("2.2.6", Gate::Band, measure, ratios[3] - ratios[0], " x", Accept::AtMost(0.0))
            .against(Published::change(1.13 - 1.30))
            .note(format!("P90 less mean {:+.2}", ratios[2] - ratios[0])),
    );
    let worst = found
        .names(Part::Group)
        .into_iter()
        .filter_map(|name| {
            let of = |arm| found.entry(Part::Group, &name, arm).map(|entry| entry.loss_pct.p99.value);
            Some((of(0)?, of(RAPID)?, name.clone()))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((base, rapid, name)) = worst {
        rows.push(
            Row::gated(
                "2.2.7",
                Gate::Band,
                "P99 loss ratio of the worst POP, rapidstart over slow start",
                rapid / base,
                " x",
                Accept::AtMost(1.25),
            )
            .against(Published::ratio(21.65 / 19.60))
            .case(name)
            .note(format!("{base:.1} and {rapid:.1} %; absolute values are quoted only")),
        );
    }
    rows
}
