//! The links of the slides, and their hosts.

use firstflight::Nanos;
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_sim::tcp;

/// The links of the slides. They are built-in paths, which experiment files use, too.
pub(crate) struct LinkCase {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
}

pub(crate) const LINKS: [LinkCase; 4] = [
    LinkCase { name: "GEO", path: "geo" },
    LinkCase { name: "LEO", path: "leo" },
    LinkCase { name: "5G", path: "5g" },
    LinkCase { name: "4G", path: "4g" },
];

/// A scenario with TCP hosts on a link with this queue.
pub(super) fn ground(path: &str, queue: &str, bytes: u64) -> Result<Scenario, Error> {
    let path = Path::parse(&format!("{path},queue={queue}"))?;
    Ok(Scenario {
        host: Hosts::from(tcp::Host::default()),
        limit: Nanos::from_secs(900),
        ..Scenario::new(path, bytes)
    })
}
