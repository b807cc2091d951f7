//! Loss detection of a QUIC sender (RFC 9002 section 6.1). A capture does not record declared
//! losses, but it has everything the rule needs.

use firstflight::{Nanos, Time};
use std::collections::BTreeMap;

/// Packet reordering threshold.
const PACKETS: u64 = 3;
/// Maximum number of packets remembered.
const MOST: usize = 1 << 18;

/// An outstanding packet.
#[derive(Clone, Copy, Debug)]
struct Out {
    at: Time,
    is_probe: bool,
}

/// The outstanding packets of one sender.
#[derive(Debug, Default)]
pub(super) struct Detector {
    out: BTreeMap<u64, Out>,
    largest: Option<u64>,
    latest: Nanos,
    srtt: Option<Nanos>,
}

impl Detector {
    pub(super) fn on_sent(&mut self, now: Time, number: u64, is_probe: bool) {
        self.out.insert(number, Out { at: now, is_probe });
        if self.out.len() > MOST {
            self.out.pop_first();
        }
    }

    /// Processes an ACK; returns the packets that are now lost, and whether each was a probe.
    pub(super) fn on_ack(&mut self, now: Time, ranges: &[(u64, u64)]) -> Vec<(u64, bool)> {
        for &(low, high) in ranges {
            while let Some((&number, &out)) = self.out.range(low..=high).next_back() {
                self.out.remove(&number);
                if self.largest.is_none_or(|largest| number > largest) {
                    self.largest = Some(number);
                    self.latest = now.since(out.at);
                    self.srtt = Some(self.srtt.map_or(self.latest, |srtt| {
                        Nanos(srtt.0 - srtt.0 / 8 + self.latest.0 / 8)
                    }));
                }
            }
        }
        self.lost(now)
    }

    /// Returns the packets that are lost by `now`.
    pub(super) fn lost(&mut self, now: Time) -> Vec<(u64, bool)> {
        let (Some(largest), Some(srtt)) = (self.largest, self.srtt) else { return Vec::new() };
        let round = srtt.0.max(self.latest.0);
        let threshold = Nanos((round + round / 8).max(1_000_000));
        let lost: Vec<(u64, bool)> = self
            .out
            .range(..largest)
            .filter(|(number, out)| largest - **number >= PACKETS || now.since(out.at) >= threshold)
            .map(|(number, out)| (*number, out.is_probe))
            .collect();
        for (number, _) in &lost {
            self.out.remove(number);
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_lost_by_number_and_by_time() {
        let ms = |ms: u64| Time(ms * 1_000_000);
        let mut detector = Detector::default();
        (0..6).for_each(|number| detector.on_sent(ms(number), number, number == 1));
        assert_eq!(detector.on_ack(ms(40), &[(0, 0)]), []);
        assert_eq!(detector.on_ack(ms(41), &[(4, 4)]), [(1, true)]);
        // 45 ms after they were sent.
        assert_eq!(detector.lost(ms(46)), []);
        assert_eq!(detector.lost(ms(48)), [(2, false), (3, false)]);
        assert_eq!(detector.lost(ms(900)), [], "nothing was acknowledged behind the last one");
    }
}
