//! The server of a link with effects: a rate that may vary, or opportunities.
//!
//! A varying rate is piecewise constant with pieces that start at whole nanoseconds. Work is
//! counted in bit/s x ns: a packet of n bits is n * 1e9 units, and one nanosecond at rate r does r
//! units. So every departure is exact, whatever pieces a packet spans, and with a single piece
//! it is the departure of the plain link.

use crate::direction::Rate;
use crate::draw::Wander;
use crate::handover::Boundaries;
use crate::random::Stream;
use crate::release::HandoverSettings;
use crate::slots::Slotted;
use std::sync::Arc;

/// The step of a wandering rate.
const WANDER_STEP: u64 = 100_000_000;

/// A rate as a function of time. Call with times that never decrease.
#[derive(Clone, Debug)]
enum Rates {
    Constant(u64),
    Steps { now: u64, then: Arc<[(u64, u64)]>, next: usize },
    Wander { nominal: u64, now: u64, until: u64, process: Wander },
    Handover { nominal: u64, boundaries: Boundaries },
}

impl Rates {
    /// The rate at `t`, and the time until which it stays the same.
    fn piece(&mut self, t: u64) -> (u64, u64) {
        match self {
            Rates::Constant(rate) => (*rate, u64::MAX),
            Rates::Steps { now, then, next } => {
                while let Some((at, rate)) = then.get(*next)
                    && *at <= t
                {
                    (*now, *next) = (*rate, *next + 1);
                }
                (*now, then.get(*next).map_or(u64::MAX, |(at, _)| *at))
            }
            Rates::Wander { nominal, now, until, process } => {
                while *until <= t {
                    (*now, *until) =
                        (process.next(*nominal).max(1), until.saturating_add(WANDER_STEP));
                }
                (*now, *until)
            }
            Rates::Handover { nominal, boundaries } => boundaries.rate(*nominal, t),
        }
    }
}

#[derive(Clone, Debug)]
struct Rated {
    rates: Rates,
    /// End of the last service in whole nanoseconds, and the work done since then at the rate
    /// that holds there.
    busy: u64,
    beyond: u128,
}

impl Rated {
    fn serve(&mut self, now: u64, len: u32) -> u64 {
        let (mut at, carried) = if now > self.busy { (now, 0) } else { (self.busy, self.beyond) };
        let mut work = carried + u128::from(len) * 8_000_000_000;
        loop {
            let (rate, until) = self.rates.piece(at);
            let rate = u128::from(rate);
            let room = rate * u128::from(until - at);
            if rate > 0 && (work <= room || until == u64::MAX) {
                let end = u128::from(at) + work / rate;
                (self.busy, self.beyond) = (u64::try_from(end).unwrap_or(u64::MAX), work % rate);
                return self.busy;
            }
            work -= room.min(work);
            at = until;
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rated(Rated),
    Slotted(Slotted),
}

impl Server {
    /// `draws` is the stream of the direction's rate; `handover` is the settings and trial of
    /// handovers, for a constant rate.
    pub(crate) fn new(
        rate: &Rate,
        draws: Stream,
        handover: Option<(HandoverSettings, u64, u64)>,
    ) -> Self {
        let rates = match rate {
            Rate::Trace(played) => {
                return Self { kind: Kind::Slotted(Slotted::trace(played, draws)) };
            }
            Rate::Poisson(poisson) => {
                return Self { kind: Kind::Slotted(Slotted::poisson(*poisson, draws)) };
            }
            Rate::Steps(steps) => {
                Rates::Steps { now: steps.first, then: Arc::clone(&steps.then), next: 0 }
            }
            Rate::Wander(wander) => Rates::Wander {
                nominal: wander.bps,
                now: wander.bps,
                until: 0,
                process: Wander::new(draws, wander.sd, wander.tau, WANDER_STEP),
            },
            Rate::Constant(bps) => match handover {
                Some((settings, seed, path)) => Rates::Handover {
                    nominal: *bps,
                    boundaries: Boundaries::new(settings, seed, path),
                },
                None => Rates::Constant(*bps),
            },
        };
        Self { kind: Kind::Rated(Rated { rates, busy: 0, beyond: 0 }) }
    }

    /// Start of the service of a packet that arrives at `now`; `None` if never.
    pub(crate) fn begin(&mut self, now: u64) -> Option<u64> {
        match &mut self.kind {
            Kind::Rated(rated) => Some(rated.busy.max(now)),
            Kind::Slotted(slotted) => slotted.begin(now),
        }
    }

    /// Serves the packet passed to [`Server::begin`]; returns its departure, if there is one.
    pub(crate) fn serve(&mut self, now: u64, len: u32) -> Option<u64> {
        match &mut self.kind {
            Kind::Rated(rated) => Some(rated.serve(now, len)),
            Kind::Slotted(slotted) => slotted.serve(len),
        }
    }

    /// Time at which the server finishes the packets that it has accepted.
    pub(crate) fn busy_until(&self) -> u64 {
        match &self.kind {
            Kind::Rated(rated) => rated.busy,
            Kind::Slotted(slotted) => slotted.busy_until(),
        }
    }
}
