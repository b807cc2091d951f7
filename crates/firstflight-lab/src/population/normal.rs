//! The normal distribution function, with identical bits on every machine. Its inverse and the
//! uniform numbers are in [`firstflight_path::random`]. Each draw gives one number, without
//! rejection, and larger draws give larger numbers. Variables can therefore be correlated, and an
//! arm or a purpose added later changes no value.

pub use firstflight_path::random::{inverse_normal, uniform};

/// The standard normal distribution function.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}
