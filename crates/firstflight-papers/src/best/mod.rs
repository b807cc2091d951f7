//! BEST: exit of slow start on satellite and cellular links, by the median ACK spacing of a round.

pub(crate) mod buffers;
mod estimates;
pub(crate) mod exits;
pub(crate) mod links;
mod returns;

use super::{Effort, Measured, Source};
use firstflight_lab::Error;

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let mut measured = Measured::from(buffers::values(effort)?);
    measured.values.extend(returns::values(effort, source)?);
    measured.extend(exits::measured(effort, source)?);
    measured.extend(estimates::measured(effort)?);
    Ok(measured)
}
