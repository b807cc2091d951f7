//! A trial: one arm on one path with one object and one seed, from the first packet until the last
//! acknowledgement.

use crate::ahead::{Held, Toward};
use crate::alike::Company;
use crate::back::Way;
use crate::flow::{Ends, Flow, Hosted};
use crate::instrumented::{Combined, Core};
use crate::observe::{Nobody, Observer, Tape};
use crate::outcome::{Outcome, Stop};
use crate::pool::Plain;
use crate::{quic, tcp};
use firstflight::arm::ArmController;
use firstflight::controller::Config;
use firstflight::signal::rtt::INITIAL_RTT;
use firstflight::{Nanos, Time};
use firstflight_path::{Error, Path};

/// The hosts of a trial: which transport, and its sizes and timers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hosts {
    /// QUIC.
    Quic(quic::Host),
    /// TCP.
    Tcp(tcp::Host),
}

impl Default for Hosts {
    fn default() -> Hosts {
        Hosts::Quic(quic::Host::default())
    }
}

impl From<quic::Host> for Hosts {
    fn from(host: quic::Host) -> Hosts {
        Hosts::Quic(host)
    }
}

impl From<tcp::Host> for Hosts {
    fn from(host: tcp::Host) -> Hosts {
        Hosts::Tcp(host)
    }
}

impl Hosts {
    /// The transport's name.
    pub const fn transport(&self) -> &'static str {
        match self {
            Hosts::Quic(_) => "quic",
            Hosts::Tcp(_) => "tcp",
        }
    }

    /// The name of the loss detection.
    pub const fn detection(&self) -> &'static str {
        match self {
            Hosts::Quic(_) => "quic",
            Hosts::Tcp(host) => host.preset.name,
        }
    }

    /// Bytes of a full packet as the window counts them.
    pub fn mss(&self) -> u64 {
        match self {
            Hosts::Quic(host) => u64::from(host.datagram),
            Hosts::Tcp(host) => u64::from(host.mss),
        }
    }

    /// IP bytes of a full packet.
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Hosts::Quic(host) => host.datagram + host.lower,
            Hosts::Tcp(host) => host.mss + host.header,
        }
    }

    /// IP bytes of a plain ACK.
    pub fn ack_bytes(&self) -> u32 {
        match self {
            Hosts::Quic(host) => host.ack_packet,
            Hosts::Tcp(host) => host.header,
        }
    }

    /// Packets that the receiver acknowledges together, at least one.
    pub fn ack_every(&self) -> u32 {
        match self {
            Hosts::Quic(host) => host.ack_every,
            Hosts::Tcp(host) => match host.ack_every {
                tcp::AckEvery::Segments(segments) => segments,
                tcp::AckEvery::Bytes(bytes) => bytes.div_ceil(u64::from(host.mss)).max(1) as u32,
            },
        }
    }

    /// The sender asks the receiver for ACKs while packets are under way.
    pub(crate) fn asks_acks(&self) -> bool {
        matches!(self, Hosts::Quic(host) if host.asks_acks.is_some())
    }

    /// Longest time the receiver holds an ACK back, ns.
    pub fn ack_delay(&self) -> u64 {
        match self {
            Hosts::Quic(host) => host.max_ack_delay,
            Hosts::Tcp(host) => host.ack_delay,
        }
    }

    /// How long a sender waits for the answer to its first handshake packet until it repeats it.
    pub const fn handshake_timeout(&self) -> Nanos {
        match self {
            // RFC 9002 section 6.2.2: a probe timeout of the initial RTT of 333 ms and four times
            // its variation, half of that.
            Hosts::Quic(_) => Nanos(3 * INITIAL_RTT.0),
            Hosts::Tcp(host) => host.preset.initial_rto,
        }
    }

    /// What a connection between them tells its controller.
    pub fn config(&self) -> Config {
        match self {
            Hosts::Quic(_) => Config::quic(self.mss()),
            Hosts::Tcp(_) => Config::tcp(self.mss()),
        }
    }
}

/// What a trial runs on.
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
    /// Which path of a population this is; keys the draws together with the seed.
    pub path_index: u64,
}

/// Runs one trial of an arm: [`run`] compiled once, here, and not in every crate that has trials to
/// run.
///
/// # Errors
/// Those of [`run`].
pub fn run_arm(
    setup: &Setup<'_>,
    controller: ArmController,
    observer: Option<&mut dyn Observer>,
) -> Result<Outcome, Error> {
    match observer {
        Some(mut observer) => run(setup, controller, &mut observer),
        None => run(setup, controller, &mut Nobody),
    }
}

/// Runs one trial with any startup.
///
/// # Errors
/// If the path cannot carry the host's packets (see [`Path::open`]).
pub fn run<S: Combined, O: Observer>(
    setup: &Setup<'_>,
    controller: Core<S>,
    observer: &mut O,
) -> Result<Outcome, Error> {
    // Other types: a sender that nobody listens to has nothing to ask whether somebody does.
    if observer.listens() {
        run_in_company(setup, controller, Tape::default(), observer).map(|(outcome, _)| outcome)
    } else {
        run_in_company(setup, controller, Nobody, observer).map(|(outcome, _)| outcome)
    }
}

/// The same in this company, which comes back.
pub(crate) fn run_in_company<S: Combined, L: Company<S>, O: Observer>(
    setup: &Setup<'_>,
    controller: Core<S>,
    company: L,
    observer: &mut O,
) -> Result<(Outcome, L), Error> {
    match setup.host {
        Hosts::Quic(host) => {
            run_between::<quic::Ends<S, L>, L, O>(setup, host, controller, company, observer)
        }
        Hosts::Tcp(host) => {
            run_between::<tcp::Ends<S, L>, L, O>(setup, host, controller, company, observer)
        }
    }
}

fn run_between<E: Hosted<L>, L: Default, O: Observer>(
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

/// Whether receivers may go ahead of the clock on these ways: see [`Flow::goes_ahead_until`].
pub(crate) fn goes_ahead<S, A: Plain>(forward: &Toward<S, A>, back: &Way<A>) -> bool {
    match (forward, back) {
        (Toward::Link(link), Way::Link(_)) => link.keeps_order() && link.propagation() > 0,
        _ => false,
    }
}

/// From the first packet of a flow that has everything for itself to its last: when it stopped, and
/// why.
fn drive<E: Ends, O: Observer>(
    flow: &mut Flow<E>,
    mut forward: Toward<E::Sent, E::Ack>,
    mut back: Way<E::Ack>,
    limit: Nanos,
    ahead: bool,
    observer: &mut O,
) -> (u64, Stop) {
    flow.begin(0, &mut forward, observer);
    if ahead {
        flow.goes_ahead_until(limit.0);
    }
    let later = forward.decides_later() || back.decides_later();
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
        // A timer that shrank into the past fires at once.
        now = own.max(now);
        flow.step(now, &mut forward, &mut back, observer);
    }
    (now, Stop::Complete)
}

/// What a queue or a terminal decides after `now` and before the flow's own next event at `own`: when it
/// did, before the limit.
#[inline(never)]
fn decide<E: Ends>(
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
        // The queue decides before anything else of this instant.
        while let Some((held, fate)) = forward.poll(now) {
            if let Held::Data { left, sent, .. } = held {
                flow.land(&sent, Time(left), fate);
            }
        }
    } else if own <= release {
        return None;
    } else {
        // What was acknowledged at this instant has been handed in: the way back decides.
        while let Some((at, ack)) = back.poll(now) {
            flow.hear(at, ack.packet);
        }
    }
    Some(now)
}
