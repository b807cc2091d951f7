//! A trial: one arm on one path with one object and one seed, from the first packet until the last
//! acknowledgement.

use crate::ahead::{Held, Toward};
use crate::back::Way;
use crate::flow::{Bursts, Flow, Hosted, goes_ahead};
use crate::hosts::Hosts;
use crate::instrumented::{Combined, Company, Core};
use crate::observe::{Nobody, Observer, Tape};
use crate::outcome::{Outcome, Stop};
use crate::{quic, tcp};
use firstflight::{Nanos, Time};
use firstflight_path::{Error, Path};

/// Inputs of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The path.
    pub path: &'a Path,
    /// The hosts.
    pub host: Hosts,
    /// Depth of the pacer's token bucket, bytes.
    pub pacer_burst: u64,
    /// Object size, bytes; at least 1.
    pub object: u64,
    /// Simulated time after which an unfinished trial stops, and counts as incomplete.
    pub limit: Nanos,
    /// Seed of every random draw of the path.
    pub seed: u64,
    /// Index of the path in a population; keys the draws together with the seed.
    pub path_index: u64,
}

/// [`run`](crate::run) for this type of observer.
pub(crate) fn observed<S: Combined, O: Observer>(
    setup: &Setup<'_>,
    controller: Core<S>,
    observer: &mut O,
) -> Result<Outcome, Error> {
    // Two types: a sender without a recorder need not check whether one is present.
    if observer.listens() {
        in_company(setup, controller, Tape::default(), observer).map(|(outcome, _)| outcome)
    } else {
        in_company(setup, controller, Nobody, observer).map(|(outcome, _)| outcome)
    }
}

/// Like [`run`], with these followers, which are returned.
pub(crate) fn in_company<S: Combined, L: Company<S>, O: Observer>(
    setup: &Setup<'_>,
    controller: Core<S>,
    company: L,
    observer: &mut O,
) -> Result<(Outcome, L), Error> {
    match setup.host {
        Hosts::Quic(host) => {
            between::<quic::Ends<S, L>, L, O>(setup, host, controller, company, observer)
        }
        Hosts::Tcp(host) => {
            between::<tcp::Ends<S, L>, L, O>(setup, host, controller, company, observer)
        }
    }
}

fn between<E: Hosted<L>, L: Default, O: Observer>(
    setup: &Setup<'_>,
    host: E::Host,
    controller: Core<E::Startup>,
    company: L,
    observer: &mut O,
) -> Result<(Outcome, L), Error> {
    let &Setup { path, pacer_burst, object, limit, .. } = setup;
    let (forward, reverse) = path.open_driven(
        setup.host.packet_bytes(),
        setup.host.ack_bytes(),
        setup.seed,
        setup.path_index,
    )?;
    let ends = E::between(host, path, controller, pacer_burst, object, company);
    let mut flow = Flow::between(0, ends, object);
    flow.open(Time(0), Nanos(path.rtt()), false);
    let (forward, back) = (Toward::from(forward), Way::from(reverse));
    let ahead = goes_ahead(&forward, &back) && !setup.host.asks_acks() && !observer.watches();
    let (now, stop) = drive(&mut flow, forward, back, limit, ahead, observer);
    let company = std::mem::take(flow.ends.company());
    Ok((flow.finish(now, stop), company))
}

/// Runs a flow that has the path to itself from its first packet to its last. Returns when and why
/// it stopped.
fn drive<E: Bursts, O: Observer>(
    flow: &mut Flow<E>,
    mut forward: Toward<E::Sent, E::Ack>,
    mut back: Way<E::Ack>,
    limit: Nanos,
    ahead: bool,
    observer: &mut O,
) -> (u64, Stop) {
    flow.begin(0, &mut forward, observer);
    let later = forward.decides_later() || back.decides_later();
    if ahead {
        flow.goes_ahead_until(limit.0);
    }
    if !later {
        flow.is_alone_until(limit.0);
    }
    let mut now = 0;
    while !flow.complete() {
        let own = flow.next_event();
        if later && let Some(next) = decide(flow, &mut forward, &mut back, (own, now), limit) {
            now = next;
            continue;
        }
        if own >= limit.0 {
            return (limit.0, Stop::TimeLimit);
        }
        // A timer whose new due time has passed fires at once.
        now = own.max(now);
        flow.step(now, &mut forward, &mut back, observer);
    }
    (now, Stop::Complete)
}

/// Runs the decisions of a queue or terminal after `now` and before the flow's own next event at
/// `own`. Returns their time, if there was one before the limit.
#[inline(never)]
fn decide<E: Bursts>(
    flow: &mut Flow<E>,
    forward: &mut Toward<E::Sent, E::Ack>,
    back: &mut Way<E::Ack>,
    (own, now): (u64, u64),
    limit: Nanos,
) -> Option<u64> {
    let (release, leaves) = (back.next_event(), forward.next_event());
    let next = own.min(release).min(leaves);
    if next >= limit.0 {
        return None;
    }
    let now = next.max(now);
    debug_assert!(release >= now || own <= release, "an ACK was let go in the past");
    if leaves <= now {
        // The queue comes before all other events of this instant.
        while let Some((held, fate)) = forward.poll(now) {
            if let Held::Data { left, sent, .. } = held {
                flow.land(&sent, Time(left), fate);
            }
        }
    } else if own <= release {
        return None;
    } else {
        // Everything acknowledged at this instant has been handed in; now the return path decides.
        while let Some((at, ack)) = back.poll(now) {
            flow.hear(at, ack.packet);
        }
    }
    Some(now)
}
