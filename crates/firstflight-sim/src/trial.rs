//! A trial: one arm on one path with one object and one seed, from the first packet until the last acknowledgement.

use crate::observe::Observer;
use crate::outcome::{Outcome, Stop};
use crate::quic::{Flow, Host, Sender};
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::Controller;
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Nanos, Time};
use firstflight_path::{Path, PathError};

/// What a trial runs on.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The path.
    pub path: &'a Path,
    /// The hosts.
    pub host: Host,
    /// Depth of the pacer's token bucket, bytes.
    pub pacer_burst: u64,
    /// Object size, bytes; at least 1.
    pub object: u64,
    /// Simulated time after which an unfinished trial stops, and counts as incomplete.
    pub limit: Nanos,
    /// Seed of every random draw of the path.
    pub seed: u64,
    /// Which path of a population this is; keys the draws together with the seed.
    pub path_index: u64,
}

/// Runs one QUIC trial.
///
/// # Errors
/// If the path cannot carry the host's packets (see [`Path::links`]).
pub fn run<S: Startup, O: Observer>(
    setup: &Setup<'_>,
    controller: Controller<S, AnyAvoidance, AnyRecovery>,
    observer: &mut O,
) -> Result<Outcome, PathError> {
    let host = setup.host;
    let (mut forward, mut reverse) = setup.path.links(host.datagram + host.lower, host.ack_packet, setup.seed, setup.path_index)?;
    let sender = Sender::new(host, controller, setup.pacer_burst, setup.object, Nanos(setup.path.rtt()), Time(0));
    let mut flow = Flow::new(0, host, sender, setup.object);
    flow.pump(0, &mut forward, observer);
    let mut now = 0;
    while !flow.complete() {
        let next = flow.next_event();
        if next >= setup.limit.0 {
            return Ok(flow.finish(setup.limit.0, Stop::TimeLimit));
        }
        // A timer that shrank into the past fires at once.
        now = next.max(now);
        flow.step(now, &mut forward, &mut reverse, observer);
    }
    Ok(flow.finish(now, Stop::Complete))
}
