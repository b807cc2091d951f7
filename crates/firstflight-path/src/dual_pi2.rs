//! DualPI2: a shallow queue for scalable senders and a classic one, coupled by one probability.
//!
//! Follows RFC 9332 (January 2023), section 2 and appendix A. Where its pseudo-code leaves a
//! choice, this follows Linux 6.17: drops and marks when a packet is dequeued, a step in the L
//! queue, weighted round-robin between the queues. Departures:
//! D1 RFC9332 A.1: the base probability uses the default gains of Linux, which are those of the
//! appendix for an update every 16 ms.
//! D2 RFC9332 A.1: delay is the longer waiting time of the two queues' heads (Linux).

use crate::capacity::PACKET;
use crate::fate::DropCause;
use crate::managed;
use crate::packet::{Codepoint, Dropped, Waiting};
use crate::random::Stream;
use std::collections::VecDeque;

/// Probability 1, in units of 2^-32.
const ONE: i64 = 1 << 32;

#[derive(Clone, Debug)]
pub(crate) struct DualPi2 {
    settings: managed::DualPi2,
    /// The low-latency (L) queue; the classic queue follows.
    low: VecDeque<Waiting>,
    classic: VecDeque<Waiting>,
    bytes: u64,
    capacity: u64,
    /// Base probability, in 2^-32.
    probability: i64,
    delay_before: u64,
    next_update: u64,
    /// Weighted round-robin credit in bytes x percent: the L queue is served while it is not
    /// positive.
    credit: i64,
    draws: Stream,
}

impl DualPi2 {
    pub(crate) fn new(settings: managed::DualPi2, capacity: u64, draws: Stream) -> Self {
        let mut new = Self {
            settings,
            low: VecDeque::new(),
            classic: VecDeque::new(),
            bytes: 0,
            capacity,
            probability: 0,
            delay_before: 0,
            next_update: settings.update,
            credit: 0,
            draws,
        };
        new.rest();
        new
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Shares of the classic and of the L queue, percent.
    fn weights(&self) -> (i64, i64) {
        let classic = self.settings.classic as i64;
        (classic, 100 - classic)
    }

    /// Restarts the scheduler when the link is free and nothing waits.
    pub(crate) fn rest(&mut self) {
        let (classic, low) = self.weights();
        self.credit = PACKET as i64 * (classic - low);
    }

    /// RFC9332 2.5.1.1: ECT(1) and CE belong to the L queue.
    pub(crate) fn enqueue(&mut self, now: u64, packet: Waiting, dropped: &mut Dropped<'_>) {
        self.update_until(now);
        if self.bytes + u64::from(packet.len) > self.capacity {
            return dropped(packet, DropCause::Queue);
        }
        self.bytes += u64::from(packet.len);
        match packet.codepoint {
            Codepoint::Ect1 | Codepoint::Ce => self.low.push_back(packet),
            Codepoint::NotEct | Codepoint::Ect0 => self.classic.push_back(packet),
        }
    }

    /// The next packet, and whether it is marked.
    pub(crate) fn dequeue(
        &mut self,
        now: u64,
        dropped: &mut Dropped<'_>,
    ) -> Option<(Waiting, bool)> {
        self.update_until(now);
        loop {
            let (low, credit) = self.choose();
            let before = self.bytes;
            let Some(packet) = (if low { &mut self.low } else { &mut self.classic }).pop_front()
            else {
                self.rest();
                return None;
            };
            self.bytes -= u64::from(packet.len);
            let (drop, mut marked) = match low {
                _ if before < 2 * PACKET => (false, false),
                true => self.decide_low(&packet),
                false => self.decide_classic(&packet),
            };
            if drop {
                dropped(packet, DropCause::Aqm);
                continue;
            }
            // RFC9332 A.2: a step keeps the L queue short.
            marked |= low && now.saturating_sub(packet.since) > self.settings.step;
            self.credit += credit * i64::from(packet.len);
            return Some((packet, marked));
        }
    }

    /// The queue served next (`true`: L), and the change of the credit per byte.
    fn choose(&self) -> (bool, i64) {
        let (classic, low) = self.weights();
        match (self.low.is_empty(), self.classic.is_empty()) {
            (false, true) => (true, 0),
            (true, _) => (false, 0),
            (false, false) if self.credit <= 0 => (true, classic),
            (false, false) => (false, -low),
        }
    }

    /// k times the base probability, in 2^-32.
    fn coupled(&self) -> i64 {
        self.probability.saturating_mul(self.settings.k as i64)
    }

    /// Whether draw number `which` for this packet is below a probability.
    fn falls(&self, packet: &Waiting, which: u64, probability: i64) -> bool {
        ((self.draws.branch(which).value(packet.ordinal) >> 32) as i64) < probability
    }

    /// RFC9332 2.1: true with the square of the base probability.
    fn squared(&self, packet: &Waiting) -> bool {
        self.falls(packet, 0, self.probability) && self.falls(packet, 1, self.probability)
    }

    /// Drop and mark of a classic packet. In overload (RFC9332 2.5.2) marking no longer suffices.
    fn decide_classic(&self, packet: &Waiting) -> (bool, bool) {
        let chosen = self.squared(packet);
        let marks = packet.codepoint.is_capable() && self.coupled() <= ONE;
        (chosen && !marks, chosen && marks)
    }

    fn decide_low(&self, packet: &Waiting) -> (bool, bool) {
        if self.coupled() > ONE && self.squared(packet) {
            return (true, false);
        }
        (false, self.falls(packet, 2, self.coupled()))
    }

    fn update_until(&mut self, now: u64) {
        while self.next_update <= now {
            let at = self.next_update;
            if self.bytes == 0 && self.probability == 0 && self.delay_before == 0 {
                // Updates do not change an empty queue: skip to the last update before now.
                self.next_update = now - (now - at) % self.settings.update;
            }
            self.update(self.next_update);
            self.next_update = self.next_update.saturating_add(self.settings.update);
        }
    }

    /// RFC9332 A.1: the probability follows the distance from the target and the trend of the
    /// delay.
    fn update(&mut self, at: u64) {
        let head = |queue: &VecDeque<Waiting>| {
            queue.front().map_or(0, |packet| at.saturating_sub(packet.since))
        };
        let delay = head(&self.low).max(head(&self.classic));
        let part = |gain: u64, from: u64| {
            // Gain in 1e-6 Hz, time in ns.
            i128::from(gain) * (i128::from(delay) - i128::from(from)) * i128::from(ONE)
                / 1_000_000_000_000_000
        };
        let change = part(self.settings.alpha, self.settings.target)
            + part(self.settings.beta, self.delay_before);
        let after = (i128::from(self.probability) + change).clamp(0, i128::from(ONE));
        (self.probability, self.delay_before) = (after as i64, delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn queue() -> DualPi2 {
        let draws = Stream::new(1, 0, Purpose::Aqm);
        DualPi2::new(managed::DualPi2::default(), u64::MAX, draws)
    }

    fn packet(ordinal: u64, since: u64, codepoint: Codepoint) -> Waiting {
        Waiting { id: ordinal, len: 1500, flow: 0, codepoint, since, ordinal, lost: false }
    }

    #[test]
    fn the_probability_follows_the_appendix_step_by_step() {
        // 16 ms after a packet arrived: 0.16 x (0.016 - 0.015) + 3.2 x 0.016 = 0.05136; 16 ms later
        // it grows by 0.16 x 0.017 + 3.2 x 0.016 = 0.05392.
        let mut dual = queue();
        dual.enqueue(0, packet(0, 0, Codepoint::NotEct), &mut |_, _| ());
        for (at, millionths) in [(16_000_000, 51_360), (32_000_000, 105_280)] {
            dual.update_until(at);
            assert_eq!((dual.probability * 1_000_000 + ONE / 2) >> 32, millionths, "at {at} ns");
        }
        // Empty: 0.16 x -0.015 - 3.2 x 0.032 = -0.1048.
        _ = dual.dequeue(40_000_000, &mut |_, _| ());
        dual.update_until(48_000_000);
        assert_eq!((dual.probability * 1_000_000 + ONE / 2) >> 32, 480);
    }

    #[test]
    fn at_a_base_probability_one_queue_gets_the_square_and_the_other_the_double() {
        let mut dual = queue();
        dual.probability = ONE / 10;
        dual.settings.update = u64::MAX;
        dual.next_update = u64::MAX;
        let mut count = |codepoint| {
            let (mut dropped, mut marked) = (0, 0);
            for ordinal in 0..100_000 {
                for copy in 0..3 {
                    // Two more packets, or the queue counts as empty.
                    let filler = packet(1_000_000 + ordinal, 0, codepoint);
                    dual.enqueue(
                        0,
                        if copy == 0 { packet(ordinal, 0, codepoint) } else { filler },
                        &mut |_, _| (),
                    );
                }
                let mut gone = false;
                if let Some((first, mark)) =
                    dual.dequeue(0, &mut |packet, _| gone |= packet.id < 1_000_000)
                {
                    marked += u32::from(mark && first.id < 1_000_000);
                }
                dropped += u32::from(gone);
                (dual.bytes, dual.credit) = (0, 0);
                dual.low.clear();
                dual.classic.clear();
            }
            (dropped, marked)
        };
        // Four standard deviations: 126 of 1000 and 506 of 20 000.
        let (dropped, marked) = count(Codepoint::NotEct);
        assert!(
            (874..=1126).contains(&dropped) && marked == 0,
            "{dropped} dropped, {marked} marked"
        );
        let (dropped, marked) = count(Codepoint::Ect0);
        assert!(
            (874..=1126).contains(&marked) && dropped == 0,
            "{dropped} dropped, {marked} marked"
        );
        let (dropped, marked) = count(Codepoint::Ect1);
        assert!((19_494..=20_506).contains(&marked) && dropped == 0, "{dropped} and {marked}");
    }

    #[test]
    fn in_overload_marks_no_longer_suffice() {
        let mut dual = queue();
        (dual.probability, dual.next_update) = (ONE * 6 / 10, u64::MAX);
        let ect0 = packet(0, 0, Codepoint::Ect0);
        assert!((0..1000).all(|ordinal| !dual.decide_classic(&Waiting { ordinal, ..ect0 }).1));
        let dropped = (0..100_000).filter(|ordinal| {
            dual.decide_low(&Waiting { ordinal: *ordinal, ..packet(0, 0, Codepoint::Ect1) }).0
        });
        let dropped = dropped.count();
        assert!((35_400..36_600).contains(&dropped), "{dropped} of 100000 at 0.6 squared");
    }

    #[test]
    fn while_both_wait_the_classic_queue_keeps_a_tenth() {
        let mut dual = queue();
        dual.next_update = u64::MAX;
        for ordinal in 0..4_000 {
            let codepoint = if ordinal % 2 == 0 { Codepoint::Ect1 } else { Codepoint::NotEct };
            dual.enqueue(0, packet(ordinal, 0, codepoint), &mut |_, _| ());
        }
        let low = (0..1000).filter(|_| {
            let taken = dual.dequeue(0, &mut |_, _| ());
            taken.is_some_and(|(packet, _)| packet.codepoint == Codepoint::Ect1)
        });
        let low = low.count();
        assert!((899..=901).contains(&low), "{low} of 1000 from the L queue");
    }

    #[test]
    fn a_step_marks_what_waited_longer_than_a_millisecond_in_the_l_queue() {
        let mut dual = queue();
        dual.next_update = u64::MAX;
        for (codepoint, waited, marked) in [
            (Codepoint::Ect1, 1_000_000, false),
            (Codepoint::Ect1, 1_000_001, true),
            (Codepoint::Ect0, 5_000_000, false),
        ] {
            dual.enqueue(0, packet(0, 0, codepoint), &mut |_, _| ());
            let taken = dual.dequeue(waited, &mut |_, _| ()).expect("it waits");
            assert_eq!(taken.1, marked, "{codepoint:?} after {waited} ns");
        }
    }
}
