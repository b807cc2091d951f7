//! The packets that arrived, in order, for the sender to consume through ACKs. Packets with
//! consecutive numbers form a run, so that a usual arrival costs one addition and no memory.

use crate::ring::Ring;

/// Packets with consecutive numbers that arrived in order, all marked or all unmarked.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// The first packet.
    first: Logged,
    count: u32,
}

/// A packet that arrived: the low bits of its number, and its mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Logged(u32);

const MARKED: u32 = 1 << 31;

impl Logged {
    #[inline]
    fn new(number: u64, marked: bool) -> Logged {
        Logged(number as u32 & !MARKED | if marked { MARKED } else { 0 })
    }

    /// The packet number, given that all numbers so far lie below `end`, by less than 2^31.
    #[inline]
    pub(super) fn number(self, end: u64) -> u64 {
        end.wrapping_sub(u64::from((end as u32).wrapping_sub(self.0) & !MARKED))
    }

    /// Whether it was marked Congestion Experienced.
    #[inline]
    pub(super) fn marked(self) -> bool {
        self.0 & MARKED != 0
    }

    /// The packet whose number is higher by `by`, with the same mark.
    #[inline]
    fn later(self, by: u32) -> Logged {
        Logged(self.0 & MARKED | self.0.wrapping_add(by) & !MARKED)
    }
}

/// The log of one receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// The latest run, which the next packet may extend.
    last: Run,
    /// Packets ever logged.
    end: u64,
    /// Packets not yet consumed.
    held: u64,
    /// The runs before the latest one.
    runs: Ring<Run>,
}

impl Log {
    /// Packets ever logged.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Records a packet that arrived.
    #[inline(always)]
    pub(super) fn push(&mut self, number: u64, marked: bool) {
        let logged = Logged::new(number, marked);
        self.end += 1;
        self.held += 1;
        if logged == self.last.first.later(self.last.count) {
            self.last.count += 1;
        } else {
            self.begin(logged);
        }
    }

    /// Whether this packet extends the latest run.
    #[inline(always)]
    pub(super) fn continues_with(&self, number: u64) -> bool {
        Logged::new(number, false) == self.last.first.later(self.last.count)
    }

    /// The next `count` packets arrived, and [extend the latest run](Log::continues_with).
    #[inline(always)]
    pub(super) fn extend(&mut self, count: u64) {
        self.end += count;
        self.held += count;
        self.last.count += count as u32;
    }

    #[inline(never)]
    fn begin(&mut self, first: Logged) {
        if self.last.count > 0 {
            self.runs.push(self.last);
        }
        self.last = Run { first, count: 1 };
    }

    /// Whether the first `count` packets are unmarked and numbered consecutively from `number`.
    #[inline(always)]
    pub(super) fn begins_with(&self, number: u64, count: u64) -> bool {
        let run = self.runs.front().unwrap_or(&self.last);
        u64::from(run.count) >= count && run.first == Logged::new(number, false)
    }

    /// Consumes the first `count` packets, which must be [of one run](Log::begins_with).
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u64) {
        self.held -= count;
        if self.runs.is_empty() {
            shorten(&mut self.last, count);
        } else {
            self.skip_early(count);
        }
    }

    #[inline(never)]
    fn skip_early(&mut self, count: u64) {
        let front = self.runs.get_mut(self.runs.base());
        shorten(front, count);
        if front.count == 0 {
            self.runs.skip(1);
        }
    }

    /// Consumes the first packet.
    pub(super) fn pop(&mut self) -> Option<Logged> {
        if self.held == 0 {
            return None;
        }
        let first = self.runs.front().unwrap_or(&self.last).first;
        self.skip(1);
        Some(first)
    }
}

#[inline]
fn shorten(run: &mut Run, count: u64) {
    debug_assert!(u64::from(run.count) >= count, "{count} of a run of {}", run.count);
    run.first = run.first.later(count as u32);
    run.count -= count as u32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn packets_come_out_as_they_went_in() {
        let (mut log, mut plain, mut x) = (Log::default(), VecDeque::new(), 7u64);
        // Runs across the wrap of the low bits, gaps, steps backwards, marks.
        let mut number = (1u64 << 31) - 5_000;
        for round in 0..60_000u64 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = x >> 40;
            number = match draw % 16 {
                0 => number + 3,
                1 => number - 2,
                _ => number + 1,
            };
            let marked = draw % 23 < round % 3;
            log.push(number, marked);
            plain.push_back((number, marked));
            assert_eq!(log.end(), round + 1);
            let count = (draw >> 8) % 4;
            let (first, _) = plain[0];
            let alike = plain.len() as u64 >= count
                && (0..count).all(|at| plain[at as usize] == (first + at, false));
            // Earlier consumption may have split a run, so `begins_with` may report `false`.
            if log.begins_with(first, count) && count > 0 {
                assert!(alike, "{count} from {first} on in round {round}");
                log.skip(count);
                plain.drain(..count as usize);
            } else {
                for _ in 0..count.min(plain.len() as u64) {
                    let logged = log.pop().expect("as many as in the plain log");
                    let (number, marked) = plain.pop_front().expect("not empty");
                    assert_eq!((logged.number(number + 9), logged.marked()), (number, marked));
                }
            }
        }
        while let Some(logged) = log.pop() {
            let (number, marked) = plain.pop_front().expect("as many as in the log");
            assert_eq!((logged.number(number + 9), logged.marked()), (number, marked));
        }
        assert!(plain.is_empty(), "{} are missing", plain.len());
    }
}
