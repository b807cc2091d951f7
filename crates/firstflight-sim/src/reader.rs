//! The application at the receiver: it reads data that arrived in order, at once or at a rate.

use firstflight::{Nanos, Time};

/// Bits times nanoseconds per second in a byte.
const BYTE: u128 = 8_000_000_000;

/// Position of a reading application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    /// Bit/s; `None` reads at once.
    bps: Option<u64>,
    at: Time,
    read: u64,
    /// The part of the next byte, in bits times nanoseconds per second.
    rest: u64,
}

impl Reader {
    pub(crate) fn new(bps: Option<u64>) -> Reader {
        Reader { bps, at: Time(0), read: 0, rest: 0 }
    }

    /// Reads until `now` what had arrived by then, everything below `arrived`. Returns the bytes
    /// read so far.
    pub(crate) fn read(&mut self, now: Time, arrived: u64) -> u64 {
        let Some(bps) = self.bps else {
            self.read = arrived;
            return arrived;
        };
        let bits = u128::from(bps) * u128::from(now.since(self.at).0) + u128::from(self.rest);
        let left = arrived.saturating_sub(self.read);
        let bytes = bits / BYTE;
        (self.read, self.rest) = if bytes >= u128::from(left) {
            (arrived, 0)
        } else {
            (self.read + bytes as u64, (bits % BYTE) as u64)
        };
        self.at = self.at.max(now);
        self.read
    }

    /// Bytes read at the last query.
    pub(crate) fn position(&self) -> u64 {
        self.read
    }

    /// When everything below `target`, which has arrived, will have been read; not before the last
    /// [`Reader::read`].
    pub(crate) fn when(&self, target: u64) -> Time {
        let Some(bps) = self.bps else { return self.at };
        let left = u128::from(target.saturating_sub(self.read)) * BYTE;
        let wait = left.saturating_sub(u128::from(self.rest)).div_ceil(u128::from(bps.max(1)));
        self.at + Nanos(u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

/// Time at which a receiver repeats an unanswered window update: the persist timer of a TCP
/// sender and the retransmission of MAX_DATA, both at the receiver here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    first: Nanos,
    wait: Nanos,
}

impl Again {
    /// After three round trips and at least Linux's smallest timeout of 200 ms, then after twice as
    /// long each time.
    pub(crate) fn after(rtt: u64) -> Again {
        let first = Nanos(rtt.saturating_mul(3).max(200_000_000));
        Again { first, wait: first }
    }

    /// Data arrived.
    pub(crate) fn reset(&mut self) {
        self.wait = self.first;
    }

    /// The next time after `now`.
    pub(crate) fn next(&mut self, now: Time) -> Time {
        let at = now + self.wait;
        self.wait = self.wait * 2;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_keeps_its_rate_exactly_and_does_not_save_up_idle_time() {
        let mut reader = Reader::new(Some(24_000_000));
        // Three bytes per microsecond; asked at odd times it reads the same.
        assert_eq!(reader.read(Time(0), 1_000_000), 0);
        for ns in (0..=100_000).step_by(77) {
            reader.read(Time(ns), 1_000_000);
        }
        assert_eq!(reader.read(Time(100_000), 1_000_000), 300);
        assert_eq!(reader.when(600), Time(200_000));
        assert_eq!(reader.read(Time(1_000_000_000), 1_000), 1_000, "no more than has arrived");
        assert_eq!(reader.read(Time(2_000_000_000), 1_000), 1_000);
        assert_eq!(reader.read(Time(2_000_001_000), 9_000), 1_003, "idle time is lost");
    }
}
