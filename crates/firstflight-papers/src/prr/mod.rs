//! PRR: web and video servers of 2011, and policers.

mod policers;
mod vectors;
mod video;
pub(crate) mod web;

use super::{Effort, Measured, Source, Values};
use firstflight_lab::Error;

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let mut measured = web::measured(effort, source)?;
    measured.values.extend(unit_values());
    measured.extend(video::measured(effort, source)?);
    measured.extend(policers::measured(effort, source)?);
    Ok(measured)
}

/// Values of the rules themselves, which must hold exactly.
pub fn unit_values() -> Values {
    vectors::values()
}
