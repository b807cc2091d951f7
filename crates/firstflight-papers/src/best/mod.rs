//! BEST: when to leave slow start on satellite and cellular links, by the median ACK spacing of a round.

mod buffers;
mod estimates;
mod exits;
mod returns;

use super::lab::{arm, watch};
use super::{Effort, Measured, Source};
use firstflight::Nanos;
use firstflight_lab::error::Bad;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_sim::tcp;

/// The links of the slides.
struct LinkCase {
    name: &'static str,
    path: &'static str,
}

const LINKS: [LinkCase; 4] = [
    LinkCase { name: "GEO", path: "rate=150Mbit,rtt=600ms" },
    LinkCase { name: "LEO", path: "rate=100Mbit,rtt=30ms" },
    LinkCase { name: "5G", path: "rate=3Gbit,rtt=10ms" },
    LinkCase { name: "4G", path: "rate=200Mbit,rtt=20ms" },
];

/// A ground of TCP hosts on a link with this queue.
fn ground(path: &str, queue: &str, bytes: u64) -> Result<Scenario, Bad> {
    let path = Path::parse(&format!("{path},queue={queue}"))?;
    Ok(Scenario { host: Hosts::from(tcp::Host::default()), limit: Nanos::from_secs(900), ..Scenario::new(path, bytes) })
}

/// Measures what the document claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Bad> {
    let mut measured = Measured::from(buffers::values(effort)?);
    measured.values.extend(returns::values(effort, source)?);
    measured.extend(exits::measured(effort, source)?);
    measured.extend(estimates::measured(effort)?);
    Ok(measured)
}
