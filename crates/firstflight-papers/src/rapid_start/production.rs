//! The production experiment, on the population `cdn` through the engine of `firstflight ab`.

use crate::source::published;
use crate::{Effort, Interval, Source, Values};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::ab::analysis::{Entry, Part};
use firstflight_lab::ab::{Analysis, Clock, Run, Test, Watch};
use firstflight_lab::arms::parse_arms;
use firstflight_lab::decision::Limits;
use firstflight_lab::population::calibrate::TARGETS;
use firstflight_lab::population::{End, Population, Setting, Variable, builtin};
use firstflight_lab::scenario::Hosts;
use firstflight_lab::stats;
use std::sync::atomic::AtomicBool;

/// The four groups, with which the population is calibrated.
pub(crate) use firstflight_lab::population::calibrate::ARMS;

pub(crate) const NAMES: [&str; 4] = ["slow start", "jumpstart", "rapid-no-jump", "rapidstart"];
const JUMP: usize = 1;
pub(crate) const NO_JUMP: usize = 2;
pub(crate) const RAPID: usize = 3;

/// The test's entries, by part and arm.
pub(crate) struct Found {
    analysis: Analysis,
    arms: Vec<String>,
}

impl Found {
    pub(crate) fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    pub(crate) fn entry(&self, part: Part, name: &str, arm: usize) -> Option<&Entry> {
        self.analysis.of(part).find(|entry| entry.name == name && entry.arm == self.arms[arm])
    }

    fn all(&self, arm: usize) -> &Entry {
        self.entry(Part::All, "all", arm).expect("every arm has an entry for all connections")
    }

    /// Reduction of the mean time to the last byte, percent.
    pub(crate) fn gain(entry: &Entry) -> Interval {
        entry
            .versus_baseline
            .as_ref()
            .map_or(Interval::from(0.0), |versus| versus.reduction_pct.mean)
    }

    pub(crate) fn names(&self, part: Part) -> Vec<String> {
        self.analysis
            .of(part)
            .filter(|entry| entry.arm == self.arms[0])
            .map(|entry| entry.name.clone())
            .collect()
    }
}

fn population() -> Result<Population, Error> {
    builtin::population("cdn").ok_or_else(|| Error::new("the population `cdn` is missing"))?
}

/// The test on the population, with its file's parameters or with changed ones.
fn run(effort: &Effort<'_>, flows: u64, turn: &dyn Fn(&mut Population)) -> Result<Found, Error> {
    let mut population = population()?;
    turn(&mut population);
    // The sweep runs the ends of the range as separate tests.
    population.assumptions.clear();
    let arms = parse_arms(&ARMS.join(","))?;
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
        limits: Limits::default(),
    };
    let stop = AtomicBool::new(false);
    let tallies = test.run(
        &Run { unchecked: true, ..Run::default() },
        &mut Watch { tick: &|_| {}, stop: &stop, rows: None },
    )?;
    Ok(Found { analysis: Analysis::new(&test.experiment(), &tallies, &[]), arms: names })
}

/// Values and figures of the production experiment.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<(Values, Found), Error> {
    let found = run(effort, effort.sample("rapid-start.production").into(), &|_| {})?;
    let mut values = times(&found);
    values.extend(by_group(&found));
    values.extend(by_size(&found));
    values.extend(by_fill(&found));
    values.extend(best_together(&found));
    values.extend(losses(&found));
    let swept = other_assumptions(effort, &found)?;
    // A value outside its band gets the sweep, once per claim.
    let mut told = "";
    for value in values.iter_mut() {
        let Some(claim) = source.claim_of(value).filter(|claim| *claim != told) else { continue };
        if !source.holds(value) {
            value.note(if claim < "2.2.5" { by_rates(&swept) } else { by_buffers(&swept) });
            value.sweep(swept.iter().map(|turned| (turned.setting.clone(), turned.told.clone())));
            told = claim;
        }
    }
    Ok((values, found))
}

/// Describes the effect of the assumed rates.
fn by_rates(swept: &[Turned]) -> String {
    let gains = swept
        .iter()
        .filter(|turned| turned.knob == Knob::Rates)
        .map(|turned| format!("{:.1} %", turned.gain));
    let fit =
        swept.iter().find(|turned| turned.knob == Knob::None).map_or(f64::NAN, |fit| fit.gain);
    format!(
        "with rates x 0.3 and x 0.1 the mean reduction is {}, with the assumed rates {fit:.1} % (sweep)",
        gains.collect::<Vec<_>>().join(" and ")
    )
}

/// Describes the effect of the assumed buffers.
fn by_buffers(swept: &[Turned]) -> String {
    let ratios =
        swept.iter().filter(|turned| turned.knob == Knob::Buffers).map(|turned| turned.loss_ratio);
    let (low, high) = stats::extremes(ratios);
    format!(
        "the buffers are unpublished; over the range that fits nearly as well, rapidstart loses {low:.2} to {high:.2} times as much as slow start (sweep)"
    )
}

/// The assumption that a point of the sweep changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knob {
    None,
    Losses,
    Rates,
    Buffers,
}

/// The experiment with one changed assumption.
struct Turned {
    knob: Knob,
    setting: String,
    told: String,
    /// Mean reduction of rapidstart, percent.
    gain: f64,
    /// Mean loss of rapidstart over that of slow start.
    loss_ratio: f64,
}

/// The production experiment with the best fit, at both ends of the range that fits nearly as well, and with single
/// parameters changed from the best fit.
fn other_assumptions(effort: &Effort<'_>, found: &Found) -> Result<Vec<Turned>, Error> {
    let population = population()?;
    let [q, k, s] = [population.knobs.q, population.knobs.k, population.knobs.s];
    let ends = population.assumptions.iter().filter(|one| one.value == "buffers").flat_map(|one| {
        let at = |end: &End| {
            let Setting { q: deep, k: random, s: spread, .. } = end.setting;
            [deep.unwrap_or(q), random.unwrap_or(k), spread.unwrap_or(s)]
        };
        [
            ("lowest buffers that fit nearly as well", at(&one.low)),
            ("highest buffers that fit nearly as well", at(&one.high)),
        ]
    });
    let own = [
        (Knob::None, "best fit", [q, k, s], 1.0),
        (Knob::Losses, "random loss x 0.5", [q, k * 0.5, s], 1.0),
        (Knob::Losses, "random loss x 2", [q, k * 2.0, s], 1.0),
        (Knob::Rates, "rates x 0.3", [q, k, s], 0.3),
        (Knob::Rates, "rates x 0.1", [q, k, s], 0.1),
    ];
    let mut points = Vec::new();
    for (knob, name, [q, k, s], rates) in
        own.into_iter().chain(ends.map(|(name, knobs)| (Knob::Buffers, name, knobs, 1.0)))
    {
        let with = |population: &mut Population| {
            (population.knobs.q, population.knobs.k, population.knobs.s) = (q, k, s);
            for group in &mut population.groups {
                if let Some(slower) = group.get(Variable::RateDown).map(|rate| rate.times(rates)) {
                    group.set(Variable::RateDown, slower);
                }
            }
        };
        let turned;
        let turned = if knob == Knob::None {
            found
        } else {
            turned = run(effort, effort.sample("rapid-start.turned").into(), &with)?;
            &turned
        };
        let losses: Vec<String> =
            (0..NAMES.len()).map(|arm| format!("{:.2}", turned.all(arm).loss_pct.mean)).collect();
        let [base, rapid] = [turned.all(0), turned.all(RAPID)];
        let gain = Found::gain(rapid);
        let bins = turned.names(Part::Size);
        let edge = |name: Option<&String>| {
            name.and_then(|name| turned.entry(Part::Size, name, RAPID))
                .map_or(f64::NAN, |entry| Found::gain(entry).value)
        };
        let told = format!(
            "mean loss {} % (slow start, jumpstart, rapid-no-jump, rapidstart; published 1.52, 1.61, 1.92, 1.98), rapidstart {:.2} x, at P99 {:.2} x; \
             time {:+.1} % [{:+.1}, {:+.1}], smallest objects {:+.1} %, largest published bin {:+.1} %",
            losses.join(", "),
            rapid.loss_pct.mean / base.loss_pct.mean,
            rapid.loss_pct.p99.value / base.loss_pct.p99.value,
            -gain.value,
            -gain.high,
            -gain.low,
            -edge(bins.first()),
            -edge(bins.iter().rev().find(|name| !name.contains("and more")))
        );
        points.push(Turned {
            knob,
            setting: format!("{name} (q {q:.3}, k {k:.5}, s {s:.3})"),
            told,
            gain: gain.value,
            loss_ratio: rapid.loss_pct.mean / base.loss_pct.mean,
        });
    }
    Ok(points)
}

/// Gains by object size over three times the capacity of path and queue, which show objects that end in the overshoot or
/// its repair, and the number of cells with a loss.
fn by_fill(found: &Found) -> Values {
    let mut values = Values::default();
    for name in found.names(Part::Fill) {
        let Some(entry) = found.entry(Part::Fill, &name, RAPID) else { continue };
        let worse = entry.versus_baseline.as_ref().map_or(0.0, |versus| versus.paired.worse_pct);
        values
            .number("production.fill", Found::gain(entry))
            .case(format!("size / 3 F {name}"))
            .note(format!(
                "{} connections, {worse:.1} % of them more than 5 % slower",
                entry.flows
            ));
    }
    let cells: Vec<(String, Interval)> = found
        .names(Part::GroupSize)
        .into_iter()
        .filter_map(|name| {
            found.entry(Part::GroupSize, &name, RAPID).map(|entry| (name, Found::gain(entry)))
        })
        .collect();
    let negative: Vec<String> = cells
        .iter()
        .filter(|(_, gain)| gain.value < 0.0)
        .map(|(name, gain)| format!("{name} {:+.1} %", gain.value))
        .collect();
    let sure = cells.iter().filter(|(_, gain)| gain.high < 0.0).count();
    let share = 100.0 * negative.len() as f64 / cells.len().max(1) as f64;
    let list = if negative.is_empty() { "none".to_owned() } else { negative.join(", ") };
    values.number("production.cells", share).note(format!(
        "{} of {} cells ({list}); {sure} of them significant",
        negative.len(),
        cells.len()
    ));
    values
}

/// Values over all connections.
fn times(found: &Found) -> Values {
    let entry = found.all(RAPID);
    let gain = Found::gain(entry);
    let base = &found.all(0).loss_pct;
    let measured = [
        base.mean,
        base.p50.value,
        base.p90.value,
        base.p99.value,
        entry.loss_pct.mean / base.mean,
    ];
    let fit: Vec<String> = TARGETS
        .iter()
        .zip(measured)
        .map(|(target, ours)| {
            let outside =
                if (target.low..=target.high).contains(&ours) { "" } else { " OUTSIDE its band" };
            format!("{} {ours:.2} (published {:.2}){outside}", target.name, target.target)
        })
        .collect();
    let mut values = Values::default();
    values.number("production.all", gain).note(format!(
        "{} connections; the five fitted numbers (all rows except the mean of 2.2.6 are held out): {}",
        found.analysis.flows,
        fit.join(", ")
    ));
    if let Some(versus) = &entry.versus_baseline {
        values.number("production.all.percentiles", versus.reduction_pct.percentiles);
        values.number("production.all.median", versus.reduction_pct.median);
        let (worse, same) = (versus.paired.worse_pct, versus.paired.same_pct);
        values
            .number("production.all.worse", worse)
            .note(format!("{same:.1} % take exactly as long"));
    }
    values
}

/// Values by point of presence.
fn by_group(found: &Found) -> Values {
    let names = found.names(Part::Group);
    let gains: Vec<Interval> = names
        .iter()
        .filter_map(|name| found.entry(Part::Group, name, RAPID))
        .map(Found::gain)
        .collect();
    let (low, high) = extremes(&gains);
    let mut values = Values::default();
    for (name, gain) in names.iter().zip(&gains) {
        values.number("production.pop", *gain).case(name.clone());
    }
    values.number("production.pop.range", high - low);
    values.number("production.pop.least", low);
    values.number("production.pop.most", high);
    values
}

fn extremes(gains: &[Interval]) -> (f64, f64) {
    stats::extremes(gains.iter().map(|gain| gain.value))
}

/// Values of the four published size bins; those of larger objects are only reported.
fn by_size(found: &Found) -> Values {
    let named: Vec<(String, Interval)> = found
        .names(Part::Size)
        .into_iter()
        .filter_map(|name| {
            found.entry(Part::Size, &name, RAPID).map(|entry| (name, Found::gain(entry)))
        })
        .collect();
    let (published, larger): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(name, _)| !name.contains("and more"));
    let mut values = Values::default();
    // The slides assign the numbers to bins: the smallest objects gain most.
    let last = published.len().saturating_sub(1);
    for (at, (name, gain)) in published.iter().enumerate() {
        let which = if at == 0 {
            "production.size.smallest"
        } else if at == last {
            "production.size.largest"
        } else {
            "production.size"
        };
        values.number(which, *gain).case(name.clone());
    }
    for (name, gain) in larger {
        values.number("production.size.larger", gain).case(name);
    }
    if let (Some((_, first)), Some((_, last))) = (published.first(), published.last()) {
        values.number("production.size.trend", last.value - first.value);
    }
    values
}

/// Values of both parts of Rapid Start together, compared with each alone.
fn best_together(found: &Found) -> Values {
    let gain = |arm: usize| Found::gain(found.all(arm));
    let mut values = Values::default();
    for arm in [JUMP, NO_JUMP] {
        // The same connections under both arms: the wider interval bounds the difference.
        let difference = Interval {
            value: gain(RAPID).value - gain(arm).value,
            low: gain(RAPID).low - gain(arm).high,
            high: gain(RAPID).high - gain(arm).low,
        };
        values.number(format!("production.less.{}", NAMES[arm]), difference);
        values.number(format!("production.gain.{}", NAMES[arm]), gain(arm));
    }
    values
}

/// Values of loss: means, ratios, and the worst point of presence.
fn losses(found: &Found) -> Values {
    let points = |arm: usize| -> Interval {
        found
            .all(arm)
            .versus_baseline
            .as_ref()
            .map_or(Interval::from(0.0), |versus| versus.loss_points)
    };
    let published = &published("rapid-start", "loss.mean").values;
    let told: Vec<(String, String)> = (0..4)
        .map(|arm| {
            (
                NAMES[arm].to_owned(),
                format!(
                    "{:.2} % (published {:.2} %)",
                    found.all(arm).loss_pct.mean,
                    published[arm]
                ),
            )
        })
        .collect();
    let mut values = Values::default();
    for (low, high) in [(0, JUMP), (JUMP, NO_JUMP), (NO_JUMP, RAPID)] {
        let (a, b) = (points(low), points(high));
        let difference =
            Interval { value: b.value - a.value, low: b.low - a.high, high: b.high - a.low };
        values.number(format!("production.loss.{}", NAMES[high]), difference);
    }
    for value in values.named_mut("production.loss.jumpstart") {
        value.sweep(told.clone());
    }
    let (base, rapid) = (&found.all(0).loss_pct, &found.all(RAPID).loss_pct);
    let ratios = [
        rapid.mean / base.mean,
        rapid.p50.value / base.p50.value,
        rapid.p90.value / base.p90.value,
        rapid.p99.value / base.p99.value,
    ];
    for (index, name, note) in [
        (0, "mean", "fitted, not predicted"),
        (2, "p90", "held out"),
        (3, "p99", "held out"),
        (1, "p50", ""),
    ] {
        values.number(format!("production.loss_ratio.{name}"), ratios[index]).note(note);
    }
    let less = format!("P90 minus mean {:+.2}", ratios[2] - ratios[0]);
    values.number("production.loss_ratio.tail", ratios[3] - ratios[0]).note(less);
    let worst = found
        .names(Part::Group)
        .into_iter()
        .filter_map(|name| {
            let of =
                |arm| found.entry(Part::Group, &name, arm).map(|entry| entry.loss_pct.p99.value);
            Some((of(0)?, of(RAPID)?, name.clone()))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((base, rapid, name)) = worst {
        let told = format!("{base:.1} and {rapid:.1} %; absolute values are quoted only");
        values.number("production.worst", rapid / base).case(name).note(told);
    }
    values
}
