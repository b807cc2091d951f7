//! Waiting times of packets, counted at the cost of one addition per packet.
//!
//! The buckets are those of the histogram that a trial reports. That histogram is built only at the
//! end of the trial: it would update its total, its bounds and a table of settings with every
//! packet.

use hdrhistogram::Histogram;

/// Significant bits of a value that distinguish buckets: two decimal digits.
const BITS: u32 = 8;
/// Longer waits, which have no bucket, count as this long, us.
const MOST: u64 = 120_000_000;
/// `MOST` rounded up to a whole octave.
const END: u64 = 1 << 27;
const HALF: u64 = 1 << (BITS - 1);
const BUCKETS: usize = bucket(END - 1) + 1;

const _: () = assert!(MOST < END && END / 2 <= MOST, "no octave without a wait, none missing");

/// Waiting times of up to two minutes, to the microsecond or to 0.8 %.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    counts: Box<[u32; BUCKETS]>,
    /// The largest, us.
    most: u64,
    /// The smallest wait above 0, minus one, us.
    least: u64,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits {
            counts: vec![0; BUCKETS].try_into().expect("as many as there are"),
            most: 0,
            least: u64::MAX,
        }
    }
}

/// The bucket of a wait of `us` microseconds.
#[inline]
const fn bucket(us: u64) -> usize {
    let octave = (u64::BITS - BITS) - (us | ((1 << BITS) - 1)).leading_zeros();
    ((octave as u64 * HALF) + (us >> octave)) as usize
}

/// The shortest wait of a bucket, us.
const fn lowest(bucket: usize) -> u64 {
    let octave = (bucket as u64 / HALF).saturating_sub(1);
    (bucket as u64 - octave * HALF) << octave
}

impl Waits {
    /// Adds the wait of a packet, ns.
    #[inline]
    pub(crate) fn add(&mut self, ns: u64) {
        let us = self.count(ns);
        self.bound(us, us);
    }

    /// Records that some packets waited from `least` to `most`, both inclusive, in us as
    /// [`Waits::count`] returns them.
    #[inline(always)]
    pub(crate) fn bound(&mut self, least: u64, most: u64) {
        self.most = self.most.max(most);
        self.least = self.least.min(least.wrapping_sub(1));
    }

    /// Counts the wait, ns, of a packet within [these bounds](Waits::bound). Returns it in us.
    #[inline(always)]
    pub(crate) fn count(&mut self, ns: u64) -> u64 {
        let us = ns / 1000;
        // Only waits beyond the last octave have no bucket.
        match self.counts.get_mut(bucket(us)) {
            Some(count) => {
                *count += 1;
                us
            }
            None => self.count_longest(),
        }
    }

    #[cold]
    fn count_longest(&mut self) -> u64 {
        self.counts[bucket(MOST)] += 1;
        MOST
    }

    /// The histogram that a trial reports.
    ///
    /// # Panics
    /// Never: its bounds are constants.
    pub(crate) fn histogram(&self) -> Histogram<u32> {
        const AT_ONCE: usize = 16;
        let mut histogram =
            Histogram::new_with_bounds(1, MOST, 2).expect("constant bounds are valid");
        let (most, least) = (self.most, self.least.wrapping_add(1));
        let used = &self.counts[..=bucket(most)];
        for (first, counts) in (0..).step_by(AT_ONCE).zip(used.chunks(AT_ONCE)) {
            // Most groups are empty.
            if counts.iter().fold(0, |any, count| any | count) == 0 {
                continue;
            }
            for (place, &count) in (first..).zip(counts).filter(|(_, count)| **count > 0) {
                // The histogram reports its smallest and largest value to the microsecond.
                let value = if place == bucket(most) { most } else { lowest(place) };
                let shortest = u32::from(least > 0 && place == bucket(least));
                if shortest > 0 {
                    histogram.saturating_record_n(least, shortest);
                }
                let value = value.max(if shortest > 0 { least } else { 0 });
                if count > shortest {
                    histogram.saturating_record_n(value, count - shortest);
                }
            }
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_become_the_histogram_that_counts_each_wait() {
        for seed in 1..40u64 {
            let (mut waits, mut x) = (Waits::default(), seed);
            let mut plain =
                Histogram::<u32>::new_with_bounds(1, MOST, 2).expect("constant bounds are valid");
            for _ in 0..seed * seed {
                x = x
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                // All sizes up to beyond the last octave, and zeros.
                let ns = (x >> 20) >> (x % 44);
                waits.add(ns);
                plain.saturating_record(ns / 1000);
            }
            assert_eq!(format!("{:?}", waits.histogram()), format!("{plain:?}"), "seed {seed}");
        }
    }

    #[test]
    fn every_wait_lies_in_its_bucket() {
        for us in (0..100_000).chain((0..27).flat_map(|bit| [(1 << bit) - 1, 1 << bit])) {
            let place = bucket(us);
            assert!(
                lowest(place) <= us && (place + 1 == BUCKETS || us < lowest(place + 1)),
                "{us} us in bucket {place}"
            );
        }
        assert_eq!(
            BUCKETS,
            Histogram::<u32>::new_with_bounds(1, MOST, 2).expect("bounds").distinct_values()
        );
    }
}
