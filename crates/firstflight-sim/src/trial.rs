//! A trial: one arm on one path with one object and one seed, from the first packet until the last acknowledgement.

use crate::observe::Observer;
use crate::outcome::{Outcome, Stop};
use crate::{quic, tcp};
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::{Config, Controller};
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Nanos, Time};
use firstflight_path::{Link, Path, PathError};

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

    /// Longest time the receiver holds an ACK back, ns.
    pub fn ack_delay(&self) -> u64 {
        match self {
            Hosts::Quic(host) => host.max_ack_delay,
            Hosts::Tcp(host) => host.ack_delay,
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

/// Runs one trial.
///
/// # Errors
/// If the path cannot carry the host's packets (see [`Path::links`]).
pub fn run<S: Startup, O: Observer>(
    setup: &Setup<'_>,
    controller: Controller<S, AnyAvoidance, AnyRecovery>,
    observer: &mut O,
) -> Result<Outcome, PathError> {
    let &Setup { path, pacer_burst, object, .. } = setup;
    let links = path.links(setup.host.packet_bytes(), setup.host.ack_bytes(), setup.seed, setup.path_index)?;
    let (rtt, start) = (Nanos(path.rtt()), Time(0));
    Ok(match setup.host {
        Hosts::Quic(host) => {
            let sender = quic::Sender::new(host, controller, pacer_burst, object, rtt, start);
            drive(quic::Flow::new(0, host, sender, object), links, setup.limit, observer)
        }
        Hosts::Tcp(host) => {
            let sender = tcp::Sender::new(host, controller, pacer_burst, object, rtt, start);
            drive(tcp::Flow::new(0, host, sender, object), links, setup.limit, observer)
        }
    })
}

/// A flow of either transport.
trait Transfer<O: Observer> {
    fn pump(&mut self, now: u64, forward: &mut Link, observer: &mut O);
    fn step(&mut self, now: u64, forward: &mut Link, reverse: &mut Link, observer: &mut O);
    fn next_event(&self) -> u64;
    fn complete(&self) -> bool;
    fn finish(self, now: u64, stop: Stop) -> Outcome;
}

macro_rules! transfer {
    ($transport:ident) => {
        impl<S: Startup, O: Observer> Transfer<O> for $transport::Flow<S> {
            fn pump(&mut self, now: u64, forward: &mut Link, observer: &mut O) {
                self.pump(now, forward, observer);
            }
            #[inline]
            fn step(&mut self, now: u64, forward: &mut Link, reverse: &mut Link, observer: &mut O) {
                self.step(now, forward, reverse, observer);
            }
            #[inline]
            fn next_event(&self) -> u64 {
                self.next_event()
            }
            #[inline]
            fn complete(&self) -> bool {
                self.complete()
            }
            fn finish(self, now: u64, stop: Stop) -> Outcome {
                self.finish(now, stop)
            }
        }
    };
}

transfer!(quic);
transfer!(tcp);

fn drive<O: Observer, F: Transfer<O>>(mut flow: F, links: (Link, Link), limit: Nanos, observer: &mut O) -> Outcome {
    let (mut forward, mut reverse) = links;
    flow.pump(0, &mut forward, observer);
    let mut now = 0;
    while !flow.complete() {
        let next = flow.next_event();
        if next >= limit.0 {
            return flow.finish(limit.0, Stop::TimeLimit);
        }
        // A timer that shrank into the past fires at once.
        now = next.max(now);
        flow.step(now, &mut forward, &mut reverse, observer);
    }
    flow.finish(now, Stop::Complete)
}
