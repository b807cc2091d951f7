//! Random values that need real mathematics: normal and exponential draws, powers.
//!
//! This is the only file of the crate that computes in floating point. Transcendental functions
//! come from a pure-software library and the rest is plain IEEE arithmetic, so the rounded integers
//! that this file returns agree on every machine.

#![expect(
    clippy::float_arithmetic,
    reason = "drawing, not deciding: only rounded integers reach the state machines"
)]

use crate::random::Stream;

/// Number of uniform values.
const VALUES: u64 = 1 << 53;

/// The uniform value for a 64-bit draw: `((x >> 11) + 0.5) / 2^53`, never 0 and never 1.
pub fn uniform(x: u64) -> f64 {
    // The largest value would be rounded up to 1.
    (((x >> 11) as f64 + 0.5) / VALUES as f64).min(1.0 - f64::EPSILON / 2.0)
}

/// The standard normal value for a 64-bit draw: the inverse of the distribution function at
/// [`uniform`], by Wichura's algorithm AS 241 in double precision. One draw per value, monotone in
/// the draw.
pub fn normal(x: u64) -> f64 {
    // The upper half mirrors the lower one, where half steps are exact down to the smallest value.
    let m = x >> 11;
    let (below, sign) = if m < VALUES / 2 { (m, -1.0) } else { (VALUES - 1 - m, 1.0) };
    from_tail((below as f64 + 0.5) / VALUES as f64, sign)
}

/// The standard normal value below which a share `u` lies, 0 < u < 1.
pub fn inverse_normal(u: f64) -> f64 {
    if u < 0.5 { from_tail(u, -1.0) } else { from_tail(1.0 - u, 1.0) }
}

/// AS 241, PPND16: the value beyond which `tail` lies, up to one half, on the side of `sign`.
fn from_tail(tail: f64, sign: f64) -> f64 {
    let q = 0.5 - tail;
    if q <= 0.425 {
        return sign * q * ratio(0.180_625 - q * q, &CENTRE);
    }
    let r = libm::sqrt(-libm::log(tail));
    sign * if r <= 5.0 { ratio(r - 1.6, &SHOULDER) } else { ratio(r - 5.0, &TAIL) }
}

/// Numerator and denominator coefficients, constant term first.
type Rational = ([f64; 8], [f64; 8]);

fn ratio(r: f64, (numerator, denominator): &Rational) -> f64 {
    let polynomial =
        |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * r + c);
    polynomial(numerator) / polynomial(denominator)
}

/// Coefficients for |u - 1/2| up to 0.425.
const CENTRE: Rational = (
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
);

/// Coefficients for sqrt(-ln tail) up to 5.
const SHOULDER: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

/// Coefficients for sqrt(-ln tail) above 5.
const TAIL: Rational = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

/// An exponential draw with mean `mean` in the same unit, rounded to the nearest.
pub(crate) fn exponential(x: u64, mean: u64) -> u64 {
    libm::round(-libm::log(uniform(x)) * mean as f64) as u64
}

/// A normal draw, clipped at zero and rounded to the nearest integer.
pub(crate) fn normal_above_zero(x: u64, mean: u64, sigma: u64) -> u64 {
    // Negative values become 0 in the conversion.
    libm::round(mean as f64 + sigma as f64 * normal(x)) as u64
}

/// `1e5 * factor^(1/10)`, rounded: converts a growth per second (1e-6) to the numerator of the
/// growth per tenth of a second, over 100 000.
pub(crate) fn tenth_root_e5(factor_millionths: u64) -> u64 {
    libm::round(100_000.0 * libm::pow(factor_millionths as f64 / 1e6, 0.1)) as u64
}

/// The logarithm of a wandering rate: an AR(1) process with one step per 100 ms.
#[derive(Clone, Debug)]
pub(crate) struct Wander {
    draws: Stream,
    /// Steps taken so far.
    k: u64,
    x: f64,
    sd: f64,
    keep: f64,
    push: f64,
}

impl Wander {
    /// `sd` is the stationary standard deviation and `tau` the time constant in ns, both of the
    /// logarithm; `step` is in ns.
    pub(crate) fn new(draws: Stream, sd_millionths: u64, tau: u64, step: u64) -> Self {
        let sd = sd_millionths as f64 / 1e6;
        let keep = libm::exp(-(step as f64) / tau as f64);
        Self { draws, k: 0, x: 0.0, sd, keep, push: sd * libm::sqrt(1.0 - keep * keep) }
    }

    /// The rate of the next step: `rate` times exp(x), the factor clipped to 0.2 to 5, rounded to
    /// the nearest bit/s.
    pub(crate) fn next(&mut self, rate: u64) -> u64 {
        let z = normal(self.draws.value(self.k));
        self.x = if self.k == 0 { self.sd * z } else { self.keep * self.x + self.push * z };
        self.k += 1;
        libm::round(rate as f64 * libm::exp(self.x).clamp(0.2, 5.0)) as u64
    }
}
