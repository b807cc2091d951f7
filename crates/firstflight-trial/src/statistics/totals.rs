//! Ratios of totals: retransmitted over sent segments, timeouts over connections. Means of
//! connections' own ratios are never taken: a connection of two segments would count as one of a
//! million.
//!
//! r = sum X / sum Y per arm; on ln r, psi_c = (X_c - r Y_c) / sum X over units, and the effect is
//! the difference of two arms.

use super::student;

/// Events of either arm from which on there is an effect to speak of.
pub const LEAST_EVENTS: f64 = 50.0;

/// A ratio of totals of two arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    /// The ratios: of the arm, of the baseline; NaN where there is nothing below.
    pub ratios: [f64; 2],
    /// The totals above: of the arm, of the baseline.
    pub events: [f64; 2],
    /// ln of the arm's ratio over the baseline's.
    pub value: f64,
    /// Its variance; infinite with fewer than [`LEAST_EVENTS`] of either arm.
    pub variance: f64,
    /// Units of each side.
    pub units: [usize; 2],
}

impl Totals {
    /// The ratio of ratios and its 95 % interval.
    pub fn interval(&self) -> (f64, f64, f64) {
        let degrees = (self.units[0] + self.units[1]) as f64 - 2.0;
        let half = student::half_width(self.variance, degrees, 0.95);
        (libm::exp(self.value), libm::exp(self.value - half), libm::exp(self.value + half))
    }
}

/// Sums of one unit on one side.
#[derive(Clone, Copy, Default)]
struct Sums {
    x: f64,
    y: f64,
    rows: u32,
}

/// Of `x` over `y`, `arm` against `baseline`. Rows in which either is NaN are left out.
pub fn totals(arms: &[u16], units: &[u32], [x, y]: [&[f64]; 2], arm: u16, baseline: u16) -> Totals {
    let last = units.iter().max().map_or(0, |last| *last as usize + 1);
    let mut of = vec![[Sums::default(); 2]; last];
    let mut whole = [Sums::default(); 2];
    for (index, (x, y)) in x.iter().zip(y).enumerate() {
        let side = match arms[index] {
            of if of == arm => 0,
            of if of == baseline => 1,
            _ => continue,
        };
        if x.is_nan() || y.is_nan() {
            continue;
        }
        for sums in [&mut of[units[index] as usize][side], &mut whole[side]] {
            sums.x += x;
            sums.y += y;
            sums.rows += 1;
        }
    }
    let ratios = whole.map(|sums| if sums.y > 0.0 { sums.x / sums.y } else { f64::NAN });
    let count = of.iter().filter(|of| of[0].rows + of[1].rows > 0).count() as f64;
    let psi = |of: &[Sums; 2]| {
        let side = |side: usize| (of[side].x - ratios[side] * of[side].y) / whole[side].x;
        let part = |index: usize| if of[index].rows > 0 { side(index) } else { 0.0 };
        (part(0) - part(1)).powi(2)
    };
    let enough = whole.iter().all(|sums| sums.x >= LEAST_EVENTS) && count > 1.0;
    let variance = if enough {
        count / (count - 1.0) * of.iter().map(psi).sum::<f64>()
    } else {
        f64::INFINITY
    };
    Totals {
        ratios,
        events: whole.map(|sums| sums.x),
        value: libm::log(ratios[0] / ratios[1]),
        variance,
        units: [0, 1].map(|side| of.iter().filter(|of| of[side].rows > 0).count()),
    }
}

#[cfg(test)]
mod tests {
    use super::totals;

    #[test]
    fn a_ratio_is_one_of_totals_and_needs_events() {
        let arm = [1, 1, 0, 0];
        let x = [30.0, 30.0, 80.0, 40.0];
        let y = [1_000.0, 200.0, 1_000.0, 200.0];
        let found = totals(&arm, &[0, 1, 2, 3], [&x, &y], 1, 0);
        assert!((found.ratios[0] - 0.05).abs() < 1e-12 && (found.ratios[1] - 0.1).abs() < 1e-12);
        assert!((found.interval().0 - 0.5).abs() < 1e-12);
        // psi of the arm: (30 - 50)/60, (30 - 10)/60; of the baseline (80 - 100)/120, (40 - 20)/120.
        let by_hand = 4.0 / 3.0 * (2.0 / 9.0 + 2.0 / 36.0);
        assert!((found.variance - by_hand).abs() < 1e-12, "{found:?}");
        let few = totals(&arm, &[0, 1, 2, 3], [&[3.0, 3.0, 8.0, 4.0], &y], 1, 0);
        assert!(few.variance.is_infinite() && few.ratios[0] > 0.0);
        let none = totals(&arm, &[0, 1, 2, 3], [&[f64::NAN; 4], &y], 1, 0);
        assert!(none.ratios[0].is_nan() && none.units == [0, 0]);
    }
}
