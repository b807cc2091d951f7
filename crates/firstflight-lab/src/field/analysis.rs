//! Turns rows into an answer.

use super::answer::{
    Answer, ArmRow, Balance, EffectRow, Experiment, NeedRow, QuantileRow, RehearsalRow,
    SampleRatio, TotalsRow,
};
use super::columns::{Primary, Question, Rows, assigned, size_class};
use super::parts::{effect_of, parts, reduction, reduction_within};
use super::words;
use crate::stats::holm::holm;
use crate::stats::{Interval, bootstrap, extremes};
use firstflight_log::input::FileName;
use firstflight_path::Error;
use firstflight_path::random::mix;
use firstflight_trial::statistics::cuped::{Adjusted, adjust};
use firstflight_trial::statistics::effect::{Effect, effect, spread_of_mean};
use firstflight_trial::statistics::quantile::quantiles;
use firstflight_trial::statistics::rehearsal::Rehearsal;
use firstflight_trial::statistics::stop::Rule;
use firstflight_trial::statistics::totals::{Totals, totals};
use firstflight_trial::statistics::{Sample, effective_units, mismatch, power, sequence, student};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Significance level.
const ALPHA: f64 = 0.05;
/// Quantiles that are reported.
const QUANTILES: [(f64, &str); 3] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")];
/// Effects for which the sample size is planned, in percent.
const PLANNED: [f64; 3] = [1.0, 2.0, 5.0];
/// Rows between two looks of a rehearsal.
const EVERY: usize = 100;
/// Separates the draws that split the baseline from other draws.
const SPLIT: u64 = 0x7370_6c69_7420_6161;
/// Separates the draws of rehearsals from other draws.
const COIN: u64 = 0x636f_696e;

/// Reads and analyses the files.
///
/// # Errors
/// A one-line message about a file that is not a table, lacks a column, or does not have two arms
/// to compare.
pub fn analyse(files: &[FileName], question: &Question) -> Result<Answer, Error> {
    let rows = Rows::read(files, question)?;
    let file = &files.first().map_or(String::new(), ToString::to_string);
    check(file, &rows, question)?;
    let primary = rows.primary();
    if primary.rows.is_empty() {
        let (time, size) = (&question.names.time, &question.names.size);
        return Err(Error::new(format!(
            "{file}: no row has a time in `{time}` and a size in `{size}`"
        )));
    }
    going(question)?;
    let adjusted = adjusted(&rows, &primary);
    going(question)?;
    let mut answer = Answer {
        firstflight: env!("CARGO_PKG_VERSION").to_owned(),
        experiment: Experiment::of(question, &rows.arms[0]),
        finding: String::new(),
        withheld: None,
        warnings: Vec::new(),
        arms: (0..rows.arms.len()).map(|arm| arm_row(&rows, arm)).collect(),
        results: effects(&rows, &primary, &adjusted, question),
        quantiles: quantile_rows(&rows, &primary, question.seed),
        totals: totals_rows(&rows),
        parts: parts(&rows, &primary, &adjusted.y),
        sample_ratio: sample_ratio(&rows, question)?,
        balance: balance(&rows),
        aa: aa(&rows, &primary, &adjusted.y, question),
        needs: needs(&rows, &primary, &adjusted.y, question.tau),
        rehearsal: rehearse(&rows, &primary, &adjusted.y, question),
    };
    going(question)?;
    words::tell(&mut answer, &rows);
    Ok(answer)
}

/// Fails if the analysis is to stop.
fn going(question: &Question) -> Result<(), Error> {
    if question.stop.load(Ordering::Relaxed) {
        return Err(Error::new("the analysis was interrupted"));
    }
    Ok(())
}

/// Checks that a table has what the question needs.
fn check(file: &str, rows: &Rows, question: &Question) -> Result<(), Error> {
    for share in &question.shares {
        if !rows.arms.contains(&share.arm) {
            let known = rows.arms.join(", ");
            return Err(Error::new(format!(
                "--shares: {file} has no arm `{}`, but {known}",
                share.arm
            )));
        }
    }
    if !question.shares.is_empty() && question.shares.len() < rows.arms.len() {
        let lacks =
            rows.arms.iter().find(|arm| question.shares.iter().all(|share| share.arm != **arm));
        return Err(Error::new(format!(
            "--shares: no share for {}",
            lacks.map_or("", String::as_str)
        )));
    }
    let names: Vec<String> = rows.ratios.iter().map(|(ratio, ..)| ratio.name()).collect();
    for rule in &question.rules {
        if found_rule(rows, rule).is_none() {
            let known = if names.is_empty() {
                "none; --ratio names some".to_owned()
            } else {
                names.join(", ")
            };
            return Err(Error::new(format!(
                "--stop-if {}: no such ratio; there are {known}",
                rule.measure
            )));
        }
    }
    Ok(())
}

/// The ratio that a rule refers to: by its whole name, or by its numerator.
fn found_rule(rows: &Rows, rule: &Rule) -> Option<usize> {
    let named = |ratio: &super::Ratio| ratio.name() == rule.measure || ratio.above == rule.measure;
    rows.ratios.iter().position(|(ratio, ..)| named(ratio))
}

/// The logarithm of the time, adjusted by the part that earlier knowledge explains.
fn adjusted(rows: &Rows, primary: &Primary) -> Adjusted {
    let log = |column: &Option<Vec<f64>>| -> Option<Vec<f64>> {
        let column = column.as_ref()?;
        let log = |row: &usize| if column[*row] > 0.0 { libm::log(column[*row]) } else { f64::NAN };
        Some(primary.rows.iter().map(log).collect())
    };
    let known: Vec<Vec<f64>> = [log(&rows.rtt), log(&rows.before)].into_iter().flatten().collect();
    let known: Vec<&[f64]> = known.iter().map(Vec::as_slice).collect();
    adjust(primary.sample(), &primary.y, &known)
}

fn arm_row(rows: &Rows, arm: usize) -> ArmRow {
    let mut of = vec![(0.0_f64, 0.0_f64); rows.units];
    let (mut without, mut incomplete) = (0, 0);
    for row in (0..rows.arm.len()).filter(|row| usize::from(rows.arm[*row]) == arm) {
        let unit = &mut of[rows.unit[row] as usize];
        let bytes = if rows.size[row] >= 0.0 { rows.size[row] } else { 0.0 };
        *unit = (unit.0 + 1.0, unit.1 + bytes);
        without += u64::from(!(rows.time[row] > 0.0 && rows.size[row] >= 0.0));
        incomplete +=
            u64::from(rows.complete.as_ref().is_some_and(|complete| complete[row] == 0.0));
    }
    let count: f64 = of.iter().map(|unit| unit.0).sum();
    let bytes: f64 = of.iter().map(|unit| unit.1).sum();
    let largest = of.iter().map(|unit| unit.1).fold(0.0, f64::max);
    ArmRow {
        arm: rows.arms[arm].clone(),
        rows: count as u64,
        units: of.iter().filter(|unit| unit.0 > 0.0).count() as u64,
        effective_units: effective_units(of.iter().map(|unit| unit.0)),
        largest_unit_pct: (bytes > 0.0).then(|| 100.0 * largest / bytes),
        bytes,
        rows_without_time: without,
        incomplete_pct: rows.complete.as_ref().map(|_| 100.0 * incomplete as f64 / count.max(1.0)),
    }
}

/// An effect with both intervals, as a row.
fn effect_row(arm: &str, found: Option<Effect>, tau: f64, alpha: f64) -> EffectRow {
    let whole = |value: usize| value as u64;
    let half = found.map(|one| student::half_width(one.variance, one.degrees, 1.0 - ALPHA));
    let enough =
        found.filter(|one| one.effective_units.iter().all(|units| *units >= sequence::LEAST_UNITS));
    EffectRow {
        arm: arm.to_owned(),
        reduction_pct: found
            .zip(half.filter(|half| half.is_finite()))
            .map(|(one, half)| reduction(one.value, half)),
        always_valid_pct: enough
            .map(|one| reduction(one.value, sequence::half_width(one.variance, tau, alpha))),
        p: found.map(|one| student::two_sided(one.value, one.variance, one.degrees)),
        stands: false,
        rows: found.map_or(0, |one| one.rows),
        units: found.map_or(0, |one| whole(one.units)),
        degrees: found.map(|one| one.degrees),
        strata: found.map_or(0, |one| whole(one.strata)),
        rows_left_out: found.map_or(0, |one| one.rows_left_out),
        variance_left: None,
        stopped_by: None,
    }
}

fn effects(
    rows: &Rows,
    primary: &Primary,
    adjusted: &Adjusted,
    question: &Question,
) -> Vec<EffectRow> {
    let others = rows.arms.len().saturating_sub(1).max(1) as f64;
    let mut found: Vec<EffectRow> = rows
        .arms
        .iter()
        .enumerate()
        .skip(1)
        .map(|(number, arm)| {
            let one = effect_of(rows, primary.sample(), &adjusted.y, number as u16);
            EffectRow {
                variance_left: (!adjusted.slopes.is_empty()).then_some(adjusted.remaining),
                stopped_by: stopped(rows, number as u16, question, others),
                ..effect_row(arm, one, question.tau, ALPHA / others)
            }
        })
        .collect();
    let probabilities: Vec<f64> = found.iter().map(|row| row.p.unwrap_or(f64::NAN)).collect();
    for (row, stands) in found.iter_mut().zip(holm(&probabilities, ALPHA)) {
        row.stands = stands;
    }
    found
}

/// The first rule that an arm certainly breaks; rules and arms share alpha.
fn stopped(rows: &Rows, arm: u16, question: &Question, others: f64) -> Option<String> {
    let alpha = ALPHA / others / question.rules.len().max(1) as f64;
    let broken = |rule: &&Rule| {
        found_rule(rows, rule).is_some_and(|index| rule.stops(&ratio_of(rows, index, arm), alpha))
    };
    let rule = question.rules.iter().find(broken)?;
    Some(format!("{} > {}x", rule.measure, rule.factor))
}

fn ratio_of(rows: &Rows, index: usize, arm: u16) -> Totals {
    let (_, above, below) = &rows.ratios[index];
    totals(&rows.arm, &rows.unit, [above, below], arm, 0)
}

fn quantile_rows(rows: &Rows, primary: &Primary, seed: u64) -> Vec<QuantileRow> {
    let time: Vec<f64> = primary.rows.iter().map(|row| rows.time[*row]).collect();
    let columns = (primary.arm.as_slice(), primary.unit.as_slice(), time.as_slice());
    let weights =
        |unit: u32, block: usize| bootstrap::weights_of_block(seed, u64::from(unit), block);
    let mut all = Vec::new();
    for (number, arm) in rows.arms.iter().enumerate().skip(1) {
        let wanted = QUANTILES.map(|(p, _)| p);
        let replicates = (bootstrap::REPLICATES / 4, &weights as _);
        let found = quantiles(columns, (number as u16, 0), &wanted, replicates);
        for (one, (_, name)) in found.into_iter().flatten().zip(QUANTILES) {
            let value = libm::log(one.values[0] / one.values[1]);
            all.push(QuantileRow {
                arm: arm.clone(),
                quantile: name.to_owned(),
                time: one.values[0],
                baseline_time: one.values[1],
                reduction_pct: one.interval.map(|ends| reduction_within(value, ends)),
            });
        }
    }
    all
}

fn totals_rows(rows: &Rows) -> Vec<TotalsRow> {
    let mut all = Vec::new();
    let alpha = ALPHA / rows.arms.len().saturating_sub(1).max(1) as f64;
    for (number, arm) in rows.arms.iter().enumerate().skip(1) {
        for index in 0..rows.ratios.len() {
            let found = ratio_of(rows, index, number as u16);
            let known = |value: f64| value.is_finite().then_some(value);
            let enough = found.variance.is_finite();
            let half = sequence::half_width(found.variance, sequence::TAU_STOP, alpha);
            let always =
                Interval { value: found.value, low: found.value - half, high: found.value + half };
            let (value, low, high) = found.interval();
            all.push(TotalsRow {
                arm: arm.clone(),
                ratio: rows.ratios[index].0.name(),
                value: known(found.ratios[0]),
                baseline_value: known(found.ratios[1]),
                times: enough.then_some(Interval { value, low, high }),
                always_valid_times: enough.then(|| always.map(libm::exp)),
            });
        }
    }
    all
}

/// Slots: every arm gets equally many.
fn slot_ratio(rows: &Rows, slots: &[u64]) -> SampleRatio {
    let seen: BTreeSet<(u64, u16)> = slots.iter().copied().zip(rows.arm.iter().copied()).collect();
    let mut counts = vec![0; rows.arms.len()];
    for (_, arm) in &seen {
        counts[usize::from(*arm)] += 1;
    }
    let planned = vec![1.0 / counts.len() as f64; counts.len()];
    ratio_of_counts("slots", counts, &planned)
}

fn ratio_of_counts(counted: &str, counts: Vec<u64>, planned: &[f64]) -> SampleRatio {
    let factor = mismatch::ln_bayes_factor(&counts, planned);
    SampleRatio {
        counted: counted.to_owned(),
        counts,
        planned_pct: planned.iter().map(|part| 100.0 * part).collect(),
        log10_bayes_factor: factor / std::f64::consts::LN_10,
        mismatch: factor > libm::log(mismatch::LIMIT),
    }
}

fn sample_ratio(rows: &Rows, question: &Question) -> Result<Option<SampleRatio>, Error> {
    if let Some(slots) = &rows.slots {
        return Ok(Some(slot_ratio(rows, slots)));
    }
    if question.shares.is_empty() {
        return Ok(None);
    }
    let planned: Vec<f64> = rows
        .arms
        .iter()
        .filter_map(|arm| {
            question.shares.iter().find(|share| share.arm == *arm).map(|share| share.part)
        })
        .collect();
    if rows.epoch.iter().any(|epoch| *epoch != rows.epoch[0]) {
        return Err(Error::new(
            "--shares: rows are of several epochs, in which shares differed; give one epoch",
        ));
    }
    let (by_rows, counts) = assigned(rows);
    let what = if by_rows || rows.own { "rows" } else { "units" };
    Ok(Some(ratio_of_counts(what, counts, &planned)))
}

/// Units by the size class of their first row; the classes must not differ between arms.
fn balance(rows: &Rows) -> Balance {
    let mut seen = vec![false; rows.units];
    let mut classes = vec![vec![0_u64; rows.arms.len()]; 65];
    for (row, arm) in rows.arm.iter().enumerate() {
        if rows.size[row] >= 0.0 && !std::mem::replace(&mut seen[rows.unit[row] as usize], true) {
            classes[usize::from(size_class(rows.size[row]))][usize::from(*arm)] += 1;
        }
    }
    let of = |arm: usize| classes.iter().map(|class| class[arm]).sum::<u64>() as f64;
    let sums: Vec<f64> = (0..rows.arms.len()).map(of).collect();
    let whole: f64 = sums.iter().sum();
    let shares: Vec<f64> = sums.iter().map(|sum| sum / whole).collect();
    let used = classes.iter().filter(|class| class.iter().sum::<u64>() > 0);
    let count = used.clone().count().max(1) as f64;
    let largest = used
        .map(|class| mismatch::ln_bayes_factor(class, &shares))
        .fold(f64::NEG_INFINITY, f64::max);
    let several = rows.arms.len() > 1 && largest.is_finite();
    Balance {
        log10_bayes_factor: if several { largest / std::f64::consts::LN_10 } else { 0.0 },
        unbalanced: several && largest > libm::log(mismatch::LIMIT * count),
    }
}

/// Compares the baseline with itself.
fn aa(rows: &Rows, primary: &Primary, y: &[f64], question: &Question) -> Option<EffectRow> {
    let half =
        |unit: u32| (mix(mix(question.seed ^ SPLIT).wrapping_add(u64::from(unit))) >> 63) as u16;
    // Rows of other arms belong to neither half.
    let neither = 2;
    let arm: Vec<u16> = primary
        .arm
        .iter()
        .zip(&primary.unit)
        .map(|(arm, unit)| if *arm == 0 { half(*unit) } else { neither })
        .collect();
    let sample = Sample { arm: &arm, ..primary.sample() };
    let found = effect(sample, y, 1, 0)?;
    Some(effect_row(&rows.arms[0], Some(found), question.tau, ALPHA))
}

/// Units for effects of 1, 2 and 5 %, from the spread of all rows.
fn needs(rows: &Rows, primary: &Primary, y: &[f64], tau: f64) -> Vec<NeedRow> {
    // The effects themselves do not count as spread. Two arms with half of the units each: the
    // variance of a difference is four times that of the mean of all.
    let spread = if rows.slots.is_some() {
        effect_of(rows, primary.sample(), y, 1).map(|one| (one.variance, one.units))
    } else {
        spread_of_mean(primary.sample(), y).map(|(variance, units)| (4.0 * variance, units))
    };
    let Some((variance, units)) = spread else { return Vec::new() };
    let hours = rows.start.as_ref().and_then(|start| {
        let known = start.iter().copied().filter(|start| start.is_finite());
        let (low, high) = extremes(known);
        (high - low > 60.0).then(|| (high - low) / 3600.0)
    });
    let need = |effect_pct: &f64| {
        let effect = -libm::log1p(-effect_pct / 100.0);
        let need = power::need(effect, variance, units as f64, tau, ALPHA);
        NeedRow {
            effect_pct: *effect_pct,
            units: need.units.ceil(),
            units_fixed: need.units_fixed.ceil(),
            hours: hours.map(|hours| hours * need.units / units as f64),
        }
    };
    PLANNED.iter().map(need).collect()
}

fn rehearse(
    rows: &Rows,
    primary: &Primary,
    y: &[f64],
    question: &Question,
) -> Option<RehearsalRow> {
    if question.rehearse == 0 {
        return None;
    }
    let rehearsal = Rehearsal {
        trials: question.rehearse,
        effect: 0.0,
        every: EVERY,
        tau: question.tau,
        alpha: ALPHA,
        paired: rows.slots.is_some(),
    };
    let mut state = question.seed ^ COIN;
    let mut coin = || {
        state = state.wrapping_add(1);
        mix(state)
    };
    let found = rehearsal.run(primary.sample(), y, &mut coin, question.stop);
    let percent = |count: u32| 100.0 * f64::from(count) / f64::from(found.trials.max(1));
    Some(RehearsalRow {
        effect_pct: 0.0,
        trials: u64::from(found.trials),
        covered_pct: percent(found.covered),
        always_covered_pct: percent(found.always_covered),
        plain_covered_pct: percent(found.plain_covered),
        looks: f64::from(found.looks) / f64::from(found.trials.max(1)),
    })
}
