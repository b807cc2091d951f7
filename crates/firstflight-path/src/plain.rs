//! A link of constant rate with a drop-tail queue and independent loss.
//!
//! Within a busy period that started at `s` the k-th departure is at exactly
//! `s + floor(bits so far * 1e9 / rate)` ns: the remainder of each division is carried to the next
//! packet in units of 1/rate ns, so nothing drifts however long the period is. This is the hot loop
//! of the simulator: no allocation, a division only when the packet length changes or the queue may
//! be full.
//!
//! As long as all packets have the same length, the waiting packets need not be stored: the last
//! services started one, two, three service times before the end of the last one, so the number
//! that start later is a quotient. Packets of different lengths need the list ([`Waiting`]) until
//! all waiting packets have the same length again.

use crate::fate::{DropCause, Fate};
use crate::queue::Waiting;
use crate::random::{Coin, Purpose, Stream};

/// Longer packets are served as if they had this length: 2^30 bytes * 8e9 still fits into `u64`.
const MAX_LEN: u32 = 1 << 30;

/// The serialization of one packet length: whole nanoseconds and the remainder in 1/rate ns.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    len: u32,
    ns: u64,
    remainder: u64,
}

/// A length that no packet has: packets are at most 1 GiB.
const MIXED: u32 = u32::MAX;
/// A link that is busy beyond this time, ns, keeps the list: times there saturate and are not
/// exact.
const LATEST: u64 = u64::MAX / 2;

impl Service {
    #[cold]
    fn of(len: u32, rate: u64) -> Self {
        Self { len, ns: Service::scaled(len) / rate, remainder: Service::scaled(len) % rate }
    }

    /// In 1/rate ns.
    fn scaled(len: u32) -> u64 {
        u64::from(len.min(MAX_LEN)) * 8_000_000_000
    }
}

/// Packets of the same length that are offered together and all arrive.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    now: u64,
    /// End of the last service, and the fraction beyond in 1/rate ns.
    busy: u64,
    beyond: u64,
    /// Duration of a service.
    ns: u64,
    remainder: u64,
    rate: u64,
    propagation: u64,
}

impl Flight {
    /// Bound on the service time of the next `count` packets, ns; their first and last arrival are
    /// at most this far apart.
    #[inline]
    pub fn serving(&self, count: u64) -> u64 {
        (self.ns + 1).saturating_mul(count)
    }

    /// Latest arrival, ns, of packets that are [served](Flight::serving) within this time.
    #[inline]
    pub fn latest(&self, serving: u64) -> u64 {
        self.busy.saturating_add(serving).saturating_add(self.propagation)
    }

    /// Queueing delay and arrival time of the next packet, ns. Call it at most for the number of
    /// packets for which [`Flight::latest`] was before the end of time.
    #[inline(always)]
    pub fn next_arrival(&mut self) -> (u64, u64) {
        let start = self.busy;
        self.busy += self.ns;
        self.beyond += self.remainder;
        if self.beyond >= self.rate {
            self.beyond -= self.rate;
            self.busy += 1;
        }
        (start - self.now, self.busy + self.propagation)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Bits per second, not zero.
    pub(crate) rate: u64,
    pub(crate) propagation: u64,
    pub(crate) capacity: u64,
    pub(crate) loss_ppb: u64,
    pub(crate) loss_purpose: Purpose,
}

#[derive(Clone, Debug)]
pub(crate) struct Plain {
    rate: u64,
    propagation: u64,
    /// End of the last service, whole nanoseconds, and the fraction beyond them in 1/rate ns.
    busy: u64,
    beyond: u64,
    service: Service,
    /// The length of all packets that may still wait; [`MIXED`] if they are in the list.
    alike: u32,
    /// Packets of that length that certainly have room; the next field is how many the queue holds.
    spare: u64,
    holds: u64,
    /// Number of packets at the end of the list that have the same length.
    run: usize,
    loss: Coin,
    losses: Stream,
    purpose: Purpose,
    /// Packets offered so far: the key of their loss.
    ordinal: u64,
    waiting: Waiting,
}

impl Plain {
    pub(crate) fn new(settings: Settings, seed: u64, path_index: u64) -> Self {
        let Settings { rate, propagation, capacity, loss_ppb, loss_purpose } = settings;
        Self {
            rate,
            propagation,
            busy: 0,
            beyond: 0,
            service: Service::default(),
            alike: MIXED,
            spare: 0,
            holds: 0,
            run: 0,
            loss: Coin::new(loss_ppb),
            losses: Stream::new(seed, path_index, loss_purpose),
            purpose: loss_purpose,
            ordinal: 0,
            waiting: Waiting::new(capacity),
        }
    }

    /// Turns it into another link at time zero; the ring keeps its memory.
    pub(crate) fn rebuild(&mut self, settings: Settings, seed: u64, path_index: u64) {
        let Settings { rate, propagation, capacity, loss_ppb, loss_purpose } = settings;
        (self.rate, self.propagation, self.loss, self.purpose) =
            (rate, propagation, Coin::new(loss_ppb), loss_purpose);
        self.service = Service::default();
        self.waiting.restart(capacity);
        self.reset(seed, path_index);
    }

    pub(crate) fn reset(&mut self, seed: u64, path_index: u64) {
        (self.busy, self.beyond, self.ordinal) = (0, 0, 0);
        (self.alike, self.spare, self.run) = (MIXED, 0, 0);
        self.losses = Stream::new(seed, path_index, self.purpose);
        let capacity = self.waiting.capacity();
        self.waiting.restart(capacity);
    }

    /// Start of the service of a packet offered at `now`, in ns, and the remaining fraction of a
    /// nanosecond. A fraction beyond `busy == now` keeps the busy period going: the link is still
    /// sending the last bit.
    #[inline(always)]
    fn next_start(&mut self, now: u64) -> (u64, u64) {
        if now > self.busy {
            self.spare = self.holds;
            (now, 0)
        } else {
            (self.busy, self.beyond)
        }
    }

    /// Whether this many more packets may wait. Packets that have left are removed only when that
    /// matters: if there is room even with them, there is room.
    #[inline(always)]
    fn has_room(&mut self, now: u64, count: u64) -> bool {
        if self.spare < count {
            self.spare = self.holds.saturating_sub(self.waiting_alike(now));
        }
        self.spare >= count
    }

    #[inline(always)]
    pub(crate) fn offer(&mut self, now: u64, len: u32) -> Fate {
        if len != self.alike {
            return self.offer_mixed(now, len);
        }
        let ordinal = self.ordinal;
        self.ordinal += 1;
        let (start, carried) = self.next_start(now);
        if !self.has_room(now, 1) {
            return Fate::Drop(DropCause::Queue);
        }
        self.spare -= u64::from(start > now);
        let end = self.serve(now, start, carried);
        self.deliver(ordinal, end, start - now)
    }

    /// Arrival time and waiting time of a packet offered at `now`: see [`crate::Link::carry`].
    #[inline(always)]
    pub(crate) fn carry(&mut self, now: u64, len: u32) -> Option<(u64, u64)> {
        if len != self.alike
            || (!self.loss.never() && self.loss.falls(self.losses.value(self.ordinal)))
        {
            return None;
        }
        let (start, carried) = self.next_start(now);
        if !self.has_room(now, 1) {
            return None;
        }
        self.ordinal += 1;
        self.spare -= u64::from(start > now);
        let end = self.serve(now, start, carried);
        Some((end.saturating_add(self.propagation), start - now))
    }

    /// The flight of `count` packets of `len` bytes offered together at `now`, if each of them
    /// arrives: see [`crate::Link::flight`].
    #[inline(always)]
    pub(crate) fn flight(&mut self, now: u64, len: u32, count: u64) -> Option<Flight> {
        if len != self.alike || !self.loss.never() {
            return None;
        }
        let (busy, beyond) = self.next_start(now);
        if !self.has_room(now, count) {
            return None;
        }
        let Service { ns, remainder, .. } = self.service;
        let (rate, propagation) = (self.rate, self.propagation);
        Some(Flight { now, busy, beyond, ns, remainder, rate, propagation })
    }

    /// Records that all `count` packets of a flight are offered.
    #[inline(always)]
    pub(crate) fn take_off(&mut self, flight: &Flight, count: u64) {
        (self.busy, self.beyond) = (flight.busy, flight.beyond);
        self.ordinal += count;
        self.spare -= count;
    }

    /// Starts the service of a packet and returns its end.
    #[inline(always)]
    fn serve(&mut self, now: u64, start: u64, carried: u64) -> u64 {
        let mut end = start.saturating_add(self.service.ns);
        let mut beyond = carried + self.service.remainder;
        if beyond >= self.rate {
            beyond -= self.rate;
            end = end.saturating_add(1);
        }
        debug_assert!(start >= now && end >= self.busy, "departs at {end} ns out of order");
        debug_assert!(beyond < self.rate, "{beyond} of 1/{} ns is a nanosecond", self.rate);
        (self.busy, self.beyond) = (end, beyond);
        end
    }

    #[inline(always)]
    fn deliver(&self, ordinal: u64, end: u64, waited: u64) -> Fate {
        if !self.loss.never() && self.loss.falls(self.losses.value(ordinal)) {
            return Fate::Drop(DropCause::Random);
        }
        Fate::Deliver { at: end.saturating_add(self.propagation), waited, marked: false }
    }

    /// Number of packets that wait at `now` if all have the same length: the last one started its
    /// service one length before `busy`, the one before it two; those that start later than `now`
    /// wait.
    fn waiting_alike(&self, now: u64) -> u64 {
        if self.busy <= now {
            return 0;
        }
        let length = Service::scaled(self.alike);
        let ahead =
            u128::from(self.busy - now - 1) * u128::from(self.rate) + u128::from(self.beyond);
        match u64::try_from(ahead) {
            Ok(ahead) => ahead / length,
            Err(_) => (ahead / u128::from(length)) as u64,
        }
    }

    /// Offers a packet whose length differs from that of the waiting packets, or while their
    /// lengths differ.
    #[inline(never)]
    fn offer_mixed(&mut self, now: u64, len: u32) -> Fate {
        if self.alike != MIXED {
            self.list(now);
        }
        if len != self.service.len {
            self.service = Service::of(len, self.rate);
            self.holds = self.waiting.capacity() / u64::from(len.max(1));
            self.run = 0;
        }
        self.waiting.leave(now);
        // Only packets of this length wait, behind a packet whose service has started.
        let begun = now > self.busy || (self.run > 0 && self.waiting.count() < self.run);
        if len > 0 && self.busy < LATEST && begun {
            (self.alike, self.spare) = (len, 0);
            self.waiting.restart(self.waiting.capacity());
            return self.offer(now, len);
        }
        let ordinal = self.ordinal;
        self.ordinal += 1;
        if !self.waiting.has_room(len) {
            return Fate::Drop(DropCause::Queue);
        }
        let (start, carried) = if now > self.busy { (now, 0) } else { (self.busy, self.beyond) };
        let end = self.serve(now, start, carried);
        self.run += 1;
        if start > now {
            self.waiting.join(start, len);
        }
        self.deliver(ordinal, end, start - now)
    }

    /// Moves the waiting packets into the list.
    fn list(&mut self, now: u64) {
        let (rate, length) = (u128::from(self.rate), u128::from(Service::scaled(self.alike)));
        let end = u128::from(self.busy) * rate + u128::from(self.beyond);
        for back in (1..=self.waiting_alike(now)).rev() {
            let start = (end - u128::from(back) * length) / rate;
            self.waiting.join(start as u64, self.alike);
        }
        (self.alike, self.spare) = (MIXED, 0);
    }

    #[inline]
    pub(crate) fn queued_bytes(&mut self, now: u64) -> u64 {
        if self.alike != MIXED {
            return self.waiting_alike(now) * u64::from(self.alike);
        }
        self.waiting.leave(now);
        self.waiting.bytes()
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.waiting.capacity()
    }

    pub(crate) fn propagation(&self) -> u64 {
        self.propagation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// The same link with a list of the waiting packets, in whole numbers of 1/rate ns.
    struct Listed {
        rate: u128,
        busy: u128,
        waiting: VecDeque<(u64, u32)>,
        settings: Settings,
    }

    impl Listed {
        fn queued(&mut self, now: u64) -> u64 {
            self.waiting.retain(|(start, _)| *start > now);
            self.waiting.iter().map(|(_, len)| u64::from(*len)).sum()
        }

        fn offer(&mut self, now: u64, len: u32) -> Fate {
            if self.queued(now) + u64::from(len) > self.settings.capacity {
                return Fate::Drop(DropCause::Queue);
            }
            if self.busy / self.rate < u128::from(now) {
                self.busy = u128::from(now) * self.rate;
            }
            let start = (self.busy / self.rate) as u64;
            self.busy += u128::from(len) * 8_000_000_000;
            if start > now {
                self.waiting.push_back((start, len));
            }
            let at = (self.busy / self.rate) as u64 + self.settings.propagation;
            Fate::Deliver { at, waited: start - now, marked: false }
        }
    }

    #[test]
    fn who_waits_is_a_quotient_or_a_list_and_the_same() {
        let mut x = 1u64;
        let mut draw = |most: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % most
        };
        let (mut dropped, mut flown) = (0, 0);
        for trial in 0..300u64 {
            let settings = Settings {
                rate: [9_999_991, 150_000_000, 1_000_000_007, 64_000][trial as usize % 4],
                propagation: draw(50_000_000),
                capacity: [0, 1_500, 30_000, 200_000, u64::MAX][draw(5) as usize],
                loss_ppb: 0,
                loss_purpose: Purpose::FlowStart,
            };
            let mut plain = Plain::new(settings, trial, 0);
            let mut listed = Listed {
                rate: u128::from(settings.rate),
                busy: 0,
                waiting: VecDeque::new(),
                settings,
            };
            let service = 1_500 * 8_000_000_000 / settings.rate;
            let (mut now, other) = (0, draw(4) * 7);
            for _ in 0..400 {
                now += match draw(8) {
                    0..4 => 0,
                    4..6 => draw(service),
                    6 => service,
                    _ => draw(40 * service),
                };
                if draw(3) == 0 {
                    assert_eq!(
                        plain.queued_bytes(now),
                        listed.queued(now),
                        "trial {trial} at {now}"
                    );
                }
                let len = if draw(100) < other { 40 + draw(1_400) as u32 } else { 1_500 };
                let count = 1 + draw(4);
                if let Some(mut flight) = plain.flight(now, len, count) {
                    let latest = flight.latest(flight.serving(count));
                    for _ in 0..count {
                        let (waited, at) = flight.next_arrival();
                        assert!(at <= latest, "{at} ns is later than {latest} ns");
                        let fate = listed.offer(now, len);
                        assert_eq!(
                            fate,
                            Fate::Deliver { at, waited, marked: false },
                            "trial {trial}"
                        );
                    }
                    plain.take_off(&flight, count);
                    flown += count;
                    continue;
                }
                let fate = plain.offer(now, len);
                assert_eq!(fate, listed.offer(now, len), "trial {trial} at {now}");
                dropped += u64::from(fate == Fate::Drop(DropCause::Queue));
            }
        }
        assert!(dropped > 1_000 && flown > 10_000, "{dropped} dropped, {flown} flown");
    }
}
