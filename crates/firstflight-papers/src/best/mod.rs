//! BEST: when to leave slow start on satellite and cellular links, by the median ACK spacing of a
//! round.

mod buffers;
mod estimates;
pub(crate) mod exits;
mod returns;

use super::lab::{arm, watch};
use super::{Effort, Measured, Source};
use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_sim::tcp;

/// The links of the slides, which are built-in paths: experiments in files start from the same.
struct LinkCase {
    name: &'static str,
    path: &'static str,
}

const LINKS: [LinkCase; 4] = [
    LinkCase { name: "GEO", path: "geo" },
    LinkCase { name: "LEO", path: "leo" },
    LinkCase { name: "5G", path: "5g" },
    LinkCase { name: "4G", path: "4g" },
];

/// A ground of TCP hosts on a link with this queue.
fn ground(path: &str, queue: &str, bytes: u64) -> Result<Scenario, Error> {
    let path = Path::parse(&format!("{path},queue={queue}"))?;
    Ok(Scenario {
        host: Hosts::from(tcp::Host::default()),
        limit: Nanos::from_secs(900),
        ..Scenario::new(path, bytes)
    })
}

/// Measures what the document claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let mut measured = Measured::from(buffers::values(effort)?);
    measured.values.extend(returns::values(effort, source)?);
    measured.extend(exits::measured(effort, source)?);
    measured.extend(estimates::measured(effort)?);
    Ok(measured)
}
