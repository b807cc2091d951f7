//! The effect in a switchback: time slots in pairs, one per arm in random order.
//!
//! The unit of analysis is the pair, and the effect is the mean of the pairs' own differences, so
//! that the time of day cancels out. Sizes are separated first: the midpoint of the two arms' means
//! in a row's stratum is subtracted from the row. A pair's weight is proportional to its rows;
//! theta = sum w_p d_p, V = sum w_p^2 (d_p - theta)^2 / (1 - w_p), with weights that add up to 1
//! (for equal pairs the paired t test), and t has (effective pairs - 1) degrees of freedom.

use super::effect::Effect;
use super::{Sample, effective_units};

/// Pairs below which no verdict is given.
pub const LEAST_PAIRS: f64 = 40.0;

/// Rows and their sum, per side: 0 the arm, 1 the baseline.
#[derive(Clone, Copy, Default)]
struct Cell {
    n: [f64; 2],
    sum: [f64; 2],
}

impl Cell {
    fn add(&mut self, side: usize, y: f64) {
        self.n[side] += 1.0;
        self.sum[side] += y;
    }

    fn has_both(&self) -> bool {
        self.n[0] > 0.0 && self.n[1] > 0.0
    }

    fn mean(&self, side: usize) -> f64 {
        self.sum[side] / self.n[side]
    }
}

/// The effect of `arm` against `baseline` on `y`, where units are pairs of slots. `None` if fewer
/// than three pairs have both arms.
pub fn effect(sample: Sample<'_>, y: &[f64], arm: u16, baseline: u16) -> Option<Effect> {
    let side = |row: usize| match sample.arm[row] {
        of if of == arm => Some(0),
        of if of == baseline => Some(1),
        _ => None,
    };
    let rows: Vec<(usize, usize)> =
        (0..y.len()).filter_map(|row| side(row).map(|side| (row, side))).collect();
    let mut strata = vec![Cell::default(); sample.strata()];
    for (row, side) in &rows {
        strata[sample.stratum[*row] as usize].add(*side, y[*row]);
    }
    let mut pairs = vec![Cell::default(); sample.units()];
    for (row, side) in &rows {
        let stratum = &strata[sample.stratum[*row] as usize];
        if stratum.has_both() {
            let middle = f64::midpoint(stratum.mean(0), stratum.mean(1));
            pairs[sample.unit[*row] as usize].add(*side, y[*row] - middle);
        }
    }
    let both: Vec<&Cell> = pairs.iter().filter(|pair| pair.has_both()).collect();
    let count = |pair: &&Cell| pair.n[0] + pair.n[1];
    let whole: f64 = both.iter().map(count).sum();
    let differences: Vec<(f64, f64)> =
        both.iter().map(|pair| (count(pair) / whole, pair.mean(0) - pair.mean(1))).collect();
    if differences.len() < 3 {
        return None;
    }
    let value: f64 = differences.iter().map(|(weight, of)| weight * of).sum();
    let add = |(weight, of): &(f64, f64)| (weight * (of - value)).powi(2) / (1.0 - weight);
    let worth = effective_units(both.iter().map(count));
    Some(Effect {
        value,
        variance: differences.iter().map(add).sum(),
        degrees: worth - 1.0,
        units: differences.len(),
        effective_units: [worth; 2],
        rows: whole as u64,
        rows_left_out: rows.len() as u64 - whole as u64,
        strata: strata.iter().filter(|stratum| stratum.has_both()).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Sample, student};
    use super::effect;

    #[test]
    fn of_equal_pairs_it_is_the_paired_t() {
        // Differences 1, 2, 3, 6: mean 3, variance 14/3.
        let y = [11.0, 10.0, 22.0, 20.0, 33.0, 30.0, 46.0, 40.0];
        let (arm, unit) = ([1, 0, 1, 0, 1, 0, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3]);
        let sample = Sample { arm: &arm, unit: &unit, stratum: &[0; 8] };
        let found = effect(sample, &y, 1, 0).expect("enough");
        assert!((found.value - 3.0).abs() < 1e-12, "{found:?}");
        assert!((found.variance - 14.0 / 3.0 / 4.0).abs() < 1e-12, "{found:?}");
        assert!((found.degrees - 3.0).abs() < 1e-12 && found.units == 4);
        // A pair that lacks an arm is left out.
        let arm = [1, 0, 1, 0, 1, 0, 1, 1];
        let found = effect(Sample { arm: &arm, ..sample }, &y, 1, 0).expect("enough");
        assert_eq!((found.units, found.rows, found.rows_left_out), (3, 6, 2));
        assert!(effect(Sample { unit: &[0, 0, 1, 1, 1, 1, 1, 1], ..sample }, &y, 1, 0).is_none());
    }

    /// A day with its hours: slots with few and with many connections, and slow ones at noon.
    fn day(pairs: u32, truth: f64, state: &mut u64) -> (Vec<u16>, Vec<u32>, Vec<u32>, Vec<f64>) {
        let mut unit = || {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut arms, mut units, mut strata, mut y) = (vec![], vec![], vec![], vec![]);
        for slot in 0..2 * pairs {
            let hour = f64::from(slot) / f64::from(pairs);
            let load = libm::sin(hour * std::f64::consts::TAU);
            let first = if slot % 2 == 0 { u16::from(unit() < 0.5) } else { 1 - arms_last(&arms) };
            let shared = 0.2 * (unit() - 0.5);
            for _ in 0..(20.0 + 15.0 * load + 4.0 * unit()) as u32 {
                let size = (3.0 * unit()) as u32;
                arms.push(first);
                units.push(slot / 2);
                strata.push(size);
                let own = unit() + unit() - 1.0;
                y.push(f64::from(size) + load + shared + own + truth * f64::from(first));
            }
        }
        (arms, units, strata, y)
    }

    fn arms_last(arms: &[u16]) -> u16 {
        arms.last().copied().unwrap_or(0)
    }

    #[test]
    fn intervals_cover_whatever_the_hour_does() {
        let (mut covered, mut state, trials) = (0, 7, 800);
        for _ in 0..trials {
            let (arm, unit, stratum, y) = day(40, 0.1, &mut state);
            let sample = Sample { arm: &arm, unit: &unit, stratum: &stratum };
            let found = effect(sample, &y, 1, 0).expect("40 pairs");
            let half = student::half_width(found.variance, found.degrees, 0.95);
            covered += u32::from((found.value - 0.1).abs() <= half);
        }
        let percent = 100.0 * f64::from(covered) / f64::from(trials);
        // Three standard deviations of 800 trials are 2.3.
        assert!((92.7..=97.3).contains(&percent), "covers {percent} % of {trials} trials");
    }
}
