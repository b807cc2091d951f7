//! HyStart in gVisor: the upload from Abu Dhabi to Helsinki, and benchmarks at RTTs of microseconds.

mod near;
mod upload;

use super::{Effort, Measured, Source, Values};
use firstflight_lab::Error;
use upload::{OFF, ON};

/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &[OFF, ON];

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let mut measured = upload::measured(effort, source)?;
    measured.values.extend(near::values(effort)?);
    Ok(measured)
}

/// Runs one benchmark twice: integer arithmetic must give the same result, bit for bit.
///
/// # Errors
/// If the benchmark's path is invalid.
pub fn unit_values() -> Result<Values, Error> {
    near::integers()
}
