//! Variance reduction with pre-experiment data (CUPED: Deng, Xu, Kohavi, Walker, WSDM 2013):
//! removes the part of `y` that a covariate explains. Only covariates that the arm cannot have
//! influenced may be used: the handshake's round trip, and a returning client's mean before the
//! test.

use super::Sample;

/// The adjusted values.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjusted {
    /// `y` minus the part that the covariates explain.
    pub y: Vec<f64>,
    /// Slope on each covariate.
    pub slopes: Vec<f64>,
    /// Variance within arm and stratum, after the adjustment divided by before.
    pub remaining: f64,
}

/// Removes from `y` the part that one or two covariates explain, with slopes within arm and stratum
/// that are common to all arms. An unknown covariate (NaN) counts as its mean. With any other
/// number of covariates, or if they explain nothing, `y` is unchanged.
pub fn adjust(sample: Sample<'_>, y: &[f64], covariates: &[&[f64]]) -> Adjusted {
    let filled: Vec<Vec<f64>> = covariates.iter().map(|column| filled(column)).collect();
    let of_y = within(sample, y);
    let of: Vec<Vec<f64>> = filled.iter().map(|column| within(sample, column)).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let slopes = match of.as_slice() {
        [one] => vec![divided(dot(one, &of_y), dot(one, one))],
        [one, other] => {
            let (aa, ab, bb) = (dot(one, one), dot(one, other), dot(other, other));
            let (ay, by) = (dot(one, &of_y), dot(other, &of_y));
            let determinant = aa * bb - ab * ab;
            // Two collinear covariates: only one is used.
            if determinant <= 1e-9 * aa * bb {
                vec![divided(ay, aa), 0.0]
            } else {
                vec![(ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant]
            }
        }
        _ => vec![0.0; of.len()],
    };
    let explained = |index: usize, of: &[Vec<f64>]| -> f64 {
        of.iter().zip(&slopes).map(|(column, slope)| slope * column[index]).sum()
    };
    let adjusted: Vec<f64> =
        y.iter().enumerate().map(|(index, y)| y - explained(index, &filled)).collect();
    let left: Vec<f64> =
        of_y.iter().enumerate().map(|(index, y)| y - explained(index, &of)).collect();
    let before = dot(&of_y, &of_y);
    let remaining = if before > 0.0 { dot(&left, &left) / before } else { 1.0 };
    Adjusted { y: adjusted, slopes, remaining }
}

fn divided(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 0.0 }
}

/// The column minus its mean; 0 for unknown values.
fn filled(column: &[f64]) -> Vec<f64> {
    let known = column.iter().filter(|value| value.is_finite());
    let mean = known.clone().sum::<f64>() / known.count().max(1) as f64;
    column.iter().map(|value| if value.is_finite() { value - mean } else { 0.0 }).collect()
}

/// The column minus its mean within arm and stratum.
fn within(sample: Sample<'_>, column: &[f64]) -> Vec<f64> {
    let arms = sample.arm.iter().max().map_or(0, |last| usize::from(*last) + 1);
    let mut cells = vec![(0.0, 0.0); arms * sample.strata()];
    let cell =
        |index: usize| sample.stratum[index] as usize * arms + usize::from(sample.arm[index]);
    for (index, value) in column.iter().enumerate() {
        let cell = &mut cells[cell(index)];
        *cell = (cell.0 + 1.0, cell.1 + value);
    }
    let less = |(index, value): (usize, &f64)| {
        let (n, sum) = cells[cell(index)];
        value - sum / n
    };
    column.iter().enumerate().map(less).collect()
}

#[cfg(test)]
mod tests {
    use super::adjust;
    use crate::statistics::Sample;

    #[test]
    fn what_was_known_before_is_taken_out_and_the_effect_stays() {
        let n = 1_000_u32;
        let arm: Vec<u16> = (0..n).map(|unit| u16::from(unit % 2 == 0)).collect();
        let unit: Vec<u32> = (0..n).collect();
        let stratum = vec![0; n as usize];
        let sample = Sample { arm: &arm, unit: &unit, stratum: &stratum };
        let before: Vec<f64> = (0..n).map(|unit| f64::from(unit * 7919 % 997) / 997.0).collect();
        let other: Vec<f64> = (0..n).map(|unit| f64::from(unit * 104_729 % 991) / 991.0).collect();
        let noise = |unit: u32| f64::from(unit * 31 % 89) / 890.0;
        let y: Vec<f64> = (0..n)
            .map(|unit| {
                let at = unit as usize;
                3.0 * before[at] - 2.0 * other[at] - 0.5 * f64::from(arm[at]) + noise(unit)
            })
            .collect();
        let one = adjust(sample, &y, &[&before]);
        assert!((one.slopes[0] - 3.0).abs() < 0.1, "{:?}", one.slopes);
        let both = adjust(sample, &y, &[&before, &other]);
        assert!((both.slopes[0] - 3.0).abs() < 0.02 && (both.slopes[1] + 2.0).abs() < 0.02);
        assert!(both.remaining < 0.01 && both.remaining < one.remaining);
        let effect =
            |y: &[f64]| crate::statistics::effect::effect(sample, y, 1, 0).expect("enough units");
        let (plain, less) = (effect(&y), effect(&both.y));
        assert!((less.value + 0.5).abs() < 0.02, "{less:?}");
        assert!(less.variance < plain.variance / 50.0);
    }

    #[test]
    fn covariates_that_are_unknown_or_the_same_do_no_harm() {
        let sample = Sample { arm: &[0, 0, 1, 1], unit: &[0, 1, 2, 3], stratum: &[0; 4] };
        let y = [1.0, 2.0, 3.0, 5.0];
        assert_eq!(adjust(sample, &y, &[&[f64::NAN; 4]]).y, y);
        assert_eq!(adjust(sample, &y, &[]).y, y);
        let x = [1.0, 2.0, 1.0, 3.0];
        let twice = adjust(sample, &y, &[&x, &x]);
        assert_eq!(twice.slopes[1].to_bits(), 0.0_f64.to_bits());
        assert!(twice.y.iter().all(|y| y.is_finite()));
    }
}
