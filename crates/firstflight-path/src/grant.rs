//! The return link of a geostationary terminal: slots of 40 ms, and capacity that must be requested
//! and is granted 600 ms later.
//!
//! The terminal may release `g` ACKs per frame (g in 1/1000). Every 100 ms it requests capacity for
//! arrived and waiting ACKs, overestimated by a tenth; grants follow with limited growth, and an
//! idle terminal falls back to one ACK per frame. A release is one burst in the frame, or 2 to 16
//! sub-bursts once more ACKs leave per frame, with gaps that shrink as the load grows.
//! Deterministic: all draws come from one SplitMix64 state, in the order of the code (outages use
//! their own branch, so that they change no other draw).
//!
//! Fitted to public per-ACK traces of GEO terminals; the presets and the self-test figures belong
//! to that fit.

use crate::random::{Sequence, Stream, between};
use crate::release::GrantSettings;
use crate::{draw, held::Held};
use std::collections::VecDeque;

const FRAME: u64 = 40_000_000;
const REQUEST: u64 = 100_000_000;
const GRANT_DELAY: u64 = 600_000_000;
const IDLE: u64 = 3_000_000_000;
/// One requested ACK in 1/1000, overestimated by 1.1.
const ASK: u64 = 1_100;
const LEAST: u64 = 1_000;
const MOST: u64 = 160_000;
/// Latest start of a single burst in its frame; the next constant is that of a sub-burst in its
/// part.
const JITTER: u64 = 6_000_000;
const SUB_JITTER: u64 = 200_000;
/// Mean time from the start of one outage to the next; then the length of an outage and the grant
/// during it.
const OUTAGE_GAP: u64 = 20_000_000_000;
const OUTAGE_LENGTH: (u64, u64) = (500_000_000, 2_000_000_000);
const OUTAGE_GRANT: (u64, u64) = (40, 2_000);

/// Outages with Poisson starts; an outage that would start during another starts at its end.
#[derive(Clone, Debug)]
struct Outages {
    draws: Stream,
    k: u64,
    from: u64,
    to: u64,
    grant: u64,
}

impl Outages {
    fn new(draws: Stream) -> Self {
        let mut outages = Self { draws, k: 0, from: 0, to: 0, grant: 0 };
        outages.draw();
        outages
    }

    fn draw(&mut self) {
        let start =
            self.from.saturating_add(draw::exponential(self.draws.value(self.k), OUTAGE_GAP));
        self.from = start.max(self.to);
        self.to = self.from.saturating_add(between(
            self.draws.value(self.k + 1),
            OUTAGE_LENGTH.0,
            OUTAGE_LENGTH.1,
        ));
        self.grant = between(self.draws.value(self.k + 2), OUTAGE_GRANT.0, OUTAGE_GRANT.1);
        self.k += 3;
    }

    /// The grant that an outage at `t` leaves, if there is one. Call with times that never
    /// decrease.
    fn at(&mut self, t: u64) -> Option<u64> {
        while self.to <= t && self.to < u64::MAX {
            self.draw();
        }
        (self.from <= t).then_some(self.grant)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Grant {
    draws: Sequence,
    outages: Option<Outages>,
    /// Growth of the grant per request, over 100 000.
    growth: u64,
    /// ACKs allowed per frame; then those saved up; both in 1/1000.
    allowed: u64,
    credit: u64,
    arrived: u64,
    last_arrival: u64,
    /// Requests in flight: when each becomes a grant, and how much it requests.
    pipe: VecDeque<(u64, u64)>,
    /// End of the previous release.
    free: u64,
    next_request: u64,
    next_frame: u64,
}

impl Grant {
    pub(crate) fn new(settings: GrantSettings, state: u64, outages: Stream) -> Self {
        let mut draws = Sequence::new(state);
        let phase = draws.between(0, FRAME - 1);
        Self {
            draws,
            outages: settings.outages.then(|| Outages::new(outages)),
            growth: draw::tenth_root_e5(settings.growth),
            allowed: settings.start,
            credit: 0,
            arrived: 0,
            last_arrival: 0,
            pipe: VecDeque::with_capacity(8),
            free: 0,
            next_request: 0,
            next_frame: phase,
        }
    }

    pub(crate) fn enter(&mut self, t: u64) {
        self.arrived += 1;
        self.last_arrival = t;
    }

    pub(crate) fn next_time(&self) -> u64 {
        self.next_request.min(self.next_frame)
    }

    /// First frame at or after `t`, for an empty queue.
    pub(crate) fn frame_from(&self, t: u64) -> u64 {
        self.next_frame
            .saturating_add(t.saturating_sub(self.next_frame).div_ceil(FRAME).saturating_mul(FRAME))
    }

    /// Skips a long time without ACKs, up to shortly before `t`: once the terminal is idle only the
    /// clock moves. The last request and its frames are processed as usual,
    /// which brings credit and pipe to where they would be.
    pub(crate) fn rest(&mut self, t: u64) {
        let idle_since = self.last_arrival.saturating_add(IDLE + 2 * REQUEST);
        if self.next_request <= idle_since || t.saturating_sub(self.next_request) < 2 * IDLE {
            return;
        }
        self.next_request += ((t - self.next_request) / REQUEST - 1) * REQUEST;
        self.next_frame = self.frame_from(self.next_request);
    }

    /// The next request or frame; at the same instant the request comes first.
    pub(crate) fn fire(&mut self, queue: &mut VecDeque<Held>, release: impl FnMut(Held, u64)) {
        if self.next_request <= self.next_frame {
            self.request(self.next_request, queue.len() as u64);
            self.next_request += REQUEST;
        } else {
            let t = self.next_frame;
            self.next_frame += FRAME;
            self.frame(t, queue, release);
        }
    }

    fn request(&mut self, t: u64, waiting: u64) {
        if waiting == 0 && t.saturating_sub(self.last_arrival) > IDLE {
            self.allowed = LEAST;
            self.pipe.clear();
        }
        let want = ASK * self.arrived * FRAME / REQUEST + ASK * waiting * FRAME / GRANT_DELAY;
        self.arrived = 0;
        self.pipe.push_back((t + GRANT_DELAY, want));
        let outage = self.outages.as_mut().is_some_and(|outages| outages.at(t).is_some());
        while let Some((due, want)) = self.pipe.front().copied()
            && due <= t
        {
            self.pipe.pop_front();
            if !outage {
                let (least, most) =
                    (self.allowed * 100_000 / self.growth, self.allowed * self.growth / 100_000);
                self.allowed = want.clamp(least, most).clamp(LEAST, MOST);
            }
        }
    }

    fn frame(&mut self, t: u64, queue: &mut VecDeque<Held>, mut release: impl FnMut(Held, u64)) {
        let outage = self.outages.as_mut().and_then(|outages| outages.at(t));
        self.credit += outage.unwrap_or(self.allowed);
        let n = (self.credit / 1000).min(queue.len() as u64);
        debug_assert!(1000 * n <= self.credit, "released {n} ACKs for {} / 1000", self.credit);
        self.credit -= 1000 * n;
        if n == queue.len() as u64 {
            // Unused grants are not saved.
            self.credit = self.credit.min(1000);
        }
        if n == 0 {
            return;
        }
        let parts = match n {
            0..=4 => 1,
            5..=8 => 2,
            9..=16 => 4,
            17..=32 => 8,
            _ => 16,
        };
        // Gaps from 74..113 us at light load to 22..33 us at heavy load.
        let load = n.clamp(4, 16) - 4;
        let (low, high) = (74_000 - 52_000 * load / 12, 113_000 - 80_000 * load / 12);
        for part in 0..parts {
            let jitter = self.draws.between(0, if parts == 1 { JITTER } else { SUB_JITTER });
            let mut at = (t + part * FRAME / parts + jitter).max(self.free);
            for _ in n * part / parts..n * (part + 1) / parts {
                if let Some(ack) = queue.pop_front() {
                    release(ack, at);
                }
                self.free = at;
                at += self.draws.between(low, high);
            }
        }
    }
}
