//! Uniform and normal numbers out of 64-bit draws, the same bits on every machine.
//!
//! One draw gives one number and larger draws give larger numbers, without rejection, so that variables can be correlated and an arm
//! or a purpose added later changes no value. The inverse of the normal distribution is algorithm AS 241 (Wichura 1988) in its
//! double-precision form, relative error about 1e-16; exp, ln and sqrt come from the pure-software library `libm`.
//!
//! Departure D1: the definition `u = ((x >> 11) + 0.5) / 2^53` rounds to exactly 1 for the largest 2^11 draws, whose normal would be
//! infinite; they get the largest number below 1 instead.

const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The uniform number of a draw, above 0 and below 1.
pub fn uniform(x: u64) -> f64 {
    (((x >> 11) as f64 + 0.5) / (1_u64 << 53) as f64).min(BELOW_ONE)
}

/// The standard normal distribution function.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The standard normal number below which a share `u` lies, 0 < u < 1: AS 241, PPND16.
pub fn inverse_normal(u: f64) -> f64 {
    let q = u - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let tail = if q < 0.0 { u } else { 1.0 - u };
    let r = libm::sqrt(-libm::log(tail));
    let z = if r <= 5.0 {
        polynomial(&MIDDLE.0, r - 1.6) / polynomial(&MIDDLE.1, r - 1.6)
    } else {
        polynomial(&FAR.0, r - 5.0) / polynomial(&FAR.1, r - 5.0)
    };
    if q < 0.0 { -z } else { z }
}

/// Horner's rule, coefficients from the constant upwards.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Numerator and denominator near the middle, in the tails, and far out; the coefficients of AS 241.
type Rational = ([f64; 8], [f64; 8]);

#[expect(clippy::excessive_precision, reason = "the coefficients as published")]
const CENTRE: Rational = (
    [
        3.387_132_872_796_366_608,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ],
    [
        1.0,
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_3,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_610,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561,
    ],
);

#[expect(clippy::excessive_precision, reason = "the coefficients as published")]
const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        0.241_780_725_177_450_611_77,
        0.022_723_844_989_269_184_583_3,
        7.745_450_142_783_414_076_4e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        0.689_767_334_985_100_004_55,
        0.148_103_976_427_480_074_59,
        0.015_198_666_563_616_457_196_6,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);

#[expect(clippy::excessive_precision, reason = "the coefficients as published")]
const FAR: Rational = (
    [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        0.296_560_571_828_504_891_23,
        0.026_532_189_526_576_123_093,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        0.599_832_206_555_887_937_69,
        0.136_929_880_922_735_805_31,
        0.014_875_361_290_850_615_025_0,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);
