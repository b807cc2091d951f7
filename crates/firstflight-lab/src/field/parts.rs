//! Effects in parts of the rows: by size, by round trip, by any text column.

use super::answer::PartRow;
use super::columns::{Primary, Rows, size_class};
use crate::stats::Interval;
use crate::stats::holm::holm;
use firstflight_trial::statistics::effect::{Effect, effect};
use firstflight_trial::statistics::{Sample, student, switchback};
use std::collections::BTreeMap;

/// Minimum number of rows of a part that is reported.
const LEAST_ROWS: usize = 50;
/// Probability of any false claim.
const LEVEL: f64 = 0.05;

/// Reduction in percent, from the logarithmic scale.
pub(super) fn reduction(value: f64, half: f64) -> Interval {
    reduction_within(value, [value - half, value + half])
}

/// The reduction in percent, with its interval, from a mean logarithm and the two ends of its
/// interval.
pub(super) fn reduction_within(value: f64, [low, high]: [f64; 2]) -> Interval {
    Interval { value, low, high }.map(|log| -100.0 * libm::expm1(log))
}

/// An arm against the baseline; by pairs of slots if arms took turns.
pub(super) fn effect_of(rows: &Rows, sample: Sample<'_>, y: &[f64], arm: u16) -> Option<Effect> {
    let of = if rows.slots.is_some() { switchback::effect } else { effect };
    of(sample, y, arm, 0)
}

/// Effects by size, round trip and the requested columns, tested together.
pub(super) fn parts(rows: &Rows, primary: &Primary, y: &[f64]) -> Vec<PartRow> {
    let size = |row: usize| size_name(size_class(rows.size[row]));
    let mut found = by("size", rows, primary, y, size);
    if rows.rtt.is_some() {
        found.extend(by("rtt", rows, primary, y, |row| rtt_name(rows.rtt_class(row))));
    }
    for (name, values, of) in &rows.by {
        found.extend(by(name, rows, primary, y, |row| {
            let value = values.get(of[row] as usize).map_or("unknown", String::as_str);
            (of[row], value.to_owned())
        }));
    }
    let probabilities: Vec<f64> = found.iter().map(|row| row.p).collect();
    for (row, stands) in found.iter_mut().zip(holm(&probabilities, LEVEL)) {
        row.stands = stands;
    }
    found
}

/// Effects by a class with its name; classes are wide: four powers of two each.
fn by(
    part: &str,
    rows: &Rows,
    primary: &Primary,
    y: &[f64],
    class: impl Fn(usize) -> (u32, String),
) -> Vec<PartRow> {
    let mut classes: BTreeMap<(u32, String), Vec<usize>> = BTreeMap::new();
    for (index, row) in primary.rows.iter().enumerate() {
        classes.entry(class(*row)).or_default().push(index);
    }
    if classes.len() < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    for ((_, name), members) in classes.iter().filter(|(_, members)| members.len() >= LEAST_ROWS) {
        let arm: Vec<u16> = members.iter().map(|index| primary.arm[*index]).collect();
        let unit: Vec<u32> = members.iter().map(|index| primary.unit[*index]).collect();
        let stratum: Vec<u32> = members.iter().map(|index| primary.stratum[*index]).collect();
        let of: Vec<f64> = members.iter().map(|index| y[*index]).collect();
        let sample = Sample { arm: &arm, unit: &unit, stratum: &stratum };
        for (number, arm) in rows.arms.iter().enumerate().skip(1) {
            let Some(one) = effect_of(rows, sample, &of, number as u16) else { continue };
            let half = student::half_width(one.variance, one.degrees, 0.95);
            if !half.is_finite() {
                continue;
            }
            found.push(PartRow {
                part: part.to_owned(),
                name: name.clone(),
                arm: arm.clone(),
                rows: one.rows,
                reduction_pct: reduction(one.value, half),
                p: student::two_sided(one.value, one.variance, one.degrees),
                stands: false,
            });
        }
    }
    found
}

/// Sizes as people write them.
fn size_name(class: u8) -> (u32, String) {
    let limits = [
        (14, "below 16 kB"),
        (17, "16 to 131 kB"),
        (20, "131 kB to 1 MB"),
        (23, "1 to 8 MB"),
        (64, "8 MB and more"),
    ];
    let place = limits.iter().position(|(most, _)| class <= *most).unwrap_or(limits.len() - 1);
    (place as u32, limits[place].1.to_owned())
}

fn rtt_name(class: u8) -> (u32, String) {
    let limits = [
        (0, "unknown"),
        (5, "below 16 ms"),
        (7, "16 to 64 ms"),
        (9, "64 to 256 ms"),
        (255, "256 ms and more"),
    ];
    let place = limits.iter().position(|(most, _)| class <= *most).unwrap_or(limits.len() - 1);
    (place as u32, limits[place].1.to_owned())
}
