//! Random Early Detection, decided when a packet arrives.
//!
//! Follows Floyd and Jacobson (1993) with the gentle form that RFC 7567 section 4 assumes, and
//! Adaptive RED (Floyd, Gummadi, Shenker 2001). The average counts waiting bytes, without the
//! packet in service.

use crate::fate::Verdict;
use crate::managed;
use crate::random::{Coin, Stream};

/// Fractional bits of the average and of factors on it.
const POINT: u32 = 32;
const ONE: u64 = 1_000_000_000;
/// Interval at which Adaptive RED adapts to the average: Floyd et al. 2001, section 4, "interval".
const ADAPT_EVERY: u64 = 500_000_000;

#[derive(Clone, Debug)]
pub(crate) struct Red {
    settings: managed::Red,
    marks: bool,
    draws: Stream,
    /// Time of one 1500-byte packet at the nominal rate, ns.
    packet_time: u64,
    /// Average bytes, with 32 fractional bits.
    average: u128,
    /// Weight of the past, with 32 fractional bits.
    past: u64,
    max_p: u64,
    next_adaption: u64,
    /// Packets since the last drop while the average is above the minimum; `None` below it.
    since_drop: Option<u64>,
}

impl Red {
    pub(crate) fn new(
        settings: managed::Red,
        marks: bool,
        packet_time: u64,
        draws: Stream,
    ) -> Self {
        let kept = u128::from(ONE - settings.weight.min(ONE)) << POINT;
        Self {
            settings,
            marks,
            draws,
            packet_time: packet_time.max(1),
            average: 0,
            past: (kept / u128::from(ONE)) as u64,
            max_p: settings.max_p,
            next_adaption: ADAPT_EVERY,
            since_drop: None,
        }
    }

    /// Decides about a packet that arrives at `now`, with `waiting` bytes in front of it that the
    /// link finishes at `busy_until`.
    pub(crate) fn enqueue(
        &mut self,
        now: u64,
        ordinal: u64,
        waiting: u64,
        busy_until: u64,
    ) -> Verdict {
        self.adapt(now);
        // Section 4: an idle link could have sent m small packets; the average shrinks as if it
        // found m empty queues.
        let idle = if waiting == 0 { now.saturating_sub(busy_until) / self.packet_time } else { 0 };
        self.average = (self.average * u128::from(power(self.past, idle))) >> POINT;
        let new = (1_u64 << POINT) - self.past;
        self.average = ((self.average * u128::from(self.past)) >> POINT)
            + u128::from(waiting) * u128::from(new);
        let average = (self.average >> POINT) as u64;
        if average < self.settings.min {
            self.since_drop = None;
            return Verdict::Pass;
        }
        let count = self.since_drop.map_or(0, |count| count + 1);
        self.since_drop = Some(count);
        let chance = spread(self.chance(average), count);
        if !Coin::new(chance).falls(self.draws.value(ordinal)) {
            return Verdict::Pass;
        }
        self.since_drop = Some(0);
        // RFC 3168 section 7: above the maximum packets are dropped, not marked.
        if self.marks && average < self.settings.max { Verdict::Mark } else { Verdict::Drop }
    }

    /// p_b in 1e-9: linear up to `max`, then (gentle form) linear up to 1 at twice `max`.
    fn chance(&self, average: u64) -> u64 {
        let managed::Red { min, max, .. } = self.settings;
        let part = |of: u64, from: u64, to: u64| {
            (u128::from(of) * u128::from(average - from) / u128::from(to - from)) as u64
        };
        match average {
            _ if average < max => part(self.max_p, min, max),
            _ if average < 2 * max => self.max_p + part(ONE - self.max_p, max, 2 * max),
            _ => ONE,
        }
    }

    /// Floyd et al. 2001, section 4: additive increase and multiplicative decrease of `max_p`,
    /// towards the middle between the thresholds.
    fn adapt(&mut self, now: u64) {
        if !self.settings.adaptive {
            return;
        }
        let managed::Red { min, max, .. } = self.settings;
        let average = (self.average >> POINT) as u64;
        let (low, high) = (min + (max - min) * 4 / 10, min + (max - min) * 6 / 10);
        while self.next_adaption <= now {
            self.next_adaption += ADAPT_EVERY;
            // 0.01 to 0.5, in steps of at most 0.01.
            if average > high && self.max_p <= ONE / 2 {
                self.max_p += (ONE / 100).min(self.max_p / 4);
            } else if average < low && self.max_p >= ONE / 100 {
                self.max_p = self.max_p * 9 / 10;
            } else {
                // Nothing changes until the next packet.
                self.next_adaption +=
                    now.saturating_sub(self.next_adaption) / ADAPT_EVERY * ADAPT_EVERY;
            }
        }
    }
}

/// p_a = p_b / (1 - count p_b): drops are spread evenly between one and 1/p_b packets apart.
fn spread(chance: u64, count: u64) -> u64 {
    let used = u128::from(chance) * u128::from(count);
    match u128::from(ONE).checked_sub(used).filter(|left| *left > 0) {
        Some(left) => (u128::from(chance) * u128::from(ONE) / left).min(u128::from(ONE)) as u64,
        None => ONE,
    }
}

/// `base` to this power, both with 32 fractional bits, `base` at most one.
fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut result, mut square) = (1_u128 << POINT, u128::from(base));
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = (result * square) >> POINT;
        }
        square = (square * square) >> POINT;
        exponent >>= 1;
    }
    result as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::PACKET;
    use crate::random::Purpose;

    fn red(settings: managed::Red) -> Red {
        Red::new(settings, false, 1_000_000, Stream::new(1, 0, Purpose::Aqm))
    }

    #[test]
    fn the_average_follows_the_queue_and_forgets_while_idle() {
        let mut red = red(managed::Red { weight: ONE / 2, ..managed::Red::default() });
        for (waiting, average) in [(4_000, 2_000), (4_000, 3_000), (4_000, 3_500)] {
            red.enqueue(0, 0, waiting, 50);
            assert_eq!((red.average >> POINT) as u64, average);
        }
        // Three packet times of an idle link halve it three times; the empty queue halves it once
        // more.
        red.enqueue(3_000_050, 0, 0, 50);
        assert_eq!((red.average >> POINT) as u64, 3_500 / 16);
    }

    #[test]
    fn the_chance_is_that_of_the_paper_at_its_corners() {
        let red = red(managed::Red::default());
        // Three fifths of the way from the maximum to its double.
        let gentle = ONE / 50 + (ONE - ONE / 50) / 5 * 3;
        for (packets, chance) in
            [(5, 0), (10, ONE / 100), (15, ONE / 50), (24, gentle), (30, ONE), (100, ONE)]
        {
            assert_eq!(red.chance(packets * PACKET), chance, "at an average of {packets} packets");
        }
        // Section 4: with p_b = 1/50 drops are 1 to 50 packets apart.
        assert_eq!(spread(ONE / 50, 0), ONE / 50);
        assert_eq!((spread(ONE / 50, 49), spread(ONE / 50, 50)), (ONE, ONE));
    }

    #[test]
    fn drops_at_a_constant_average_are_spread_as_the_paper_says() {
        // Uniform between 1 and 1/p_b packets: a mean of (1/p_b + 1) / 2, and never further apart
        // than 1/p_b.
        let mut red = red(managed::Red { weight: ONE, ..managed::Red::default() });
        let (mut drops, mut since, mut longest) = (0_u64, 0_u64, 0);
        for k in 0..100_000_u64 {
            since += 1;
            if red.enqueue(0, k, 10 * PACKET, 1) == Verdict::Drop {
                (drops, longest, since) = (drops + 1, longest.max(since), 0);
            }
        }
        let mean = 100_000 / drops;
        assert!((48..=53).contains(&mean), "a drop every {mean} packets at p_b = 1/100");
        assert!(longest <= 101, "{longest} packets without a drop");
    }

    #[test]
    fn the_adaptive_form_moves_towards_the_middle() {
        let adaptive = managed::Red { weight: ONE, adaptive: true, ..managed::Red::default() };
        let mut red = red(adaptive);
        red.enqueue(0, 0, 14 * PACKET, 1);
        red.enqueue(ADAPT_EVERY, 1, 6 * PACKET, 1);
        assert_eq!(red.max_p, ONE / 50 + ONE / 200, "up by a quarter of itself");
        red.enqueue(2 * ADAPT_EVERY, 2, 6 * PACKET, 1);
        assert_eq!(red.max_p, (ONE / 50 + ONE / 200) * 9 / 10, "down by a tenth");
        red.enqueue(1_000_000 * ADAPT_EVERY, 3, 6 * PACKET, 1);
        assert!((ONE / 112..ONE / 100).contains(&red.max_p), "to 0.01: {}", red.max_p);
    }
}
