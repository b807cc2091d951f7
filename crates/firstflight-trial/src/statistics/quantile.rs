//! Effects on quantiles (p50, p90, p99): the spread comes from a bootstrap of units.
//!
//! Quantiles are of all rows of an arm as they are, without strata.

/// A quantile of two arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Which, from 0 to 1.
    pub p: f64,
    /// Of the arm, of the baseline.
    pub values: [f64; 2],
    /// Standard deviation of ln of their ratio over the replicates; NaN if they are too few.
    pub deviation: f64,
}

/// How often the units count in a block of four replicates: unit and block in, four counts out.
pub type Weights<'a> = &'a dyn Fn(u32, usize) -> [u8; 4];

/// Quantiles `p` of `y`, `arm` against `baseline`, with `4 * blocks` replicates. `None` for an arm
/// without rows.
pub fn quantiles(
    (arms, units, y): (&[u16], &[u32], &[f64]),
    (arm, baseline): (u16, u16),
    p: &[f64],
    (blocks, weights): (usize, Weights<'_>),
) -> Option<Vec<Quantile>> {
    let of = |arm: u16| {
        let mut rows: Vec<(f64, u32)> = (0..y.len())
            .filter(|index| arms[*index] == arm)
            .map(|index| (y[index], units[index]))
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows
    };
    let sides = [of(arm), of(baseline)];
    if sides.iter().any(Vec::is_empty) {
        return None;
    }
    let last = units.iter().max().map_or(0, |last| *last as usize + 1);
    let mut logs: Vec<Vec<f64>> = vec![Vec::with_capacity(4 * blocks); p.len()];
    for block in 0..blocks {
        let counts: Vec<[u8; 4]> = (0..last).map(|unit| weights(unit as u32, block)).collect();
        for replicate in [0, 1, 2, 3] {
            let count = |unit: u32| counts[unit as usize][replicate];
            let found = sides.each_ref().map(|rows| weighted(rows, p, count));
            for ((log, arm), baseline) in logs.iter_mut().zip(&found[0]).zip(&found[1]) {
                log.push(libm::log(arm / baseline));
            }
        }
    }
    let values = sides.each_ref().map(|rows| weighted(rows, p, |_| 1));
    let quantile = |(index, p): (usize, &f64)| Quantile {
        p: *p,
        values: [values[0][index], values[1][index]],
        deviation: deviation(&logs[index]),
    };
    Some(p.iter().enumerate().map(quantile).collect())
}

/// Quantiles of sorted rows that count so often: the smallest value with at least `p` at or below.
fn weighted(rows: &[(f64, u32)], p: &[f64], count: impl Fn(u32) -> u8) -> Vec<f64> {
    let whole: u64 = rows.iter().map(|(_, unit)| u64::from(count(*unit))).sum();
    let mut wanted = p.iter().map(|p| ((p * whole as f64).ceil() as u64).max(1)).peekable();
    let (mut seen, mut found) = (0, Vec::with_capacity(p.len()));
    for (value, unit) in rows {
        seen += u64::from(count(*unit));
        while wanted.next_if(|rank| seen >= *rank).is_some() {
            found.push(*value);
        }
    }
    found.resize(p.len(), f64::NAN);
    found
}

fn deviation(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if known.len() < 2 {
        return f64::NAN;
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let squares: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
    libm::sqrt(squares / (known.len() as f64 - 1.0))
}

#[cfg(test)]
mod tests {
    use super::quantiles;

    #[test]
    fn quantiles_are_ranks_and_units_that_never_differ_have_no_spread() {
        let y: Vec<f64> = (1..=100).chain(1..=100).map(f64::from).collect();
        let arm: Vec<u16> = (0..200).map(|row| u16::from(row < 100)).collect();
        let unit: Vec<u32> = (0..200).collect();
        let rows = (arm.as_slice(), unit.as_slice(), y.as_slice());
        let found = quantiles(rows, (1, 0), &[0.5, 0.99], (3, &|_, _| [1; 4])).expect("rows");
        assert_eq!(found[0].values.map(f64::to_bits), [50.0_f64, 50.0].map(f64::to_bits));
        assert_eq!(found[1].values.map(f64::to_bits), [99.0_f64, 99.0].map(f64::to_bits));
        assert!(found[0].deviation.abs() < 1e-12);
        let some = |unit: u32, block: usize| {
            [0, 1, 2, 3].map(|k| ((unit as usize * 7 + block * 3 + k) % 3) as u8)
        };
        let spread = quantiles(rows, (1, 0), &[0.5], (5, &some)).expect("rows");
        assert!(spread[0].deviation > 0.0);
        assert!(quantiles(rows, (2, 0), &[0.5], (1, &|_, _| [1; 4])).is_none());
    }
}
