//! Bunches: whether ACKs arrive as the path delivers packets, or are held back and released
//! together.
//!
//! A receiver may acknowledge rarely, Wi-Fi and LTE may collect ACKs, and a satellite terminal may
//! wait for capacity. ACKs that arrive together then stand for packets that were not delivered
//! together, and neither the spacing of ACKs nor a raised RTT says anything about the forward
//! queue.
//!
//! Follows: ours. State: 40 bytes.

use super::sounding::Arrival;
use crate::units::Nanos;

/// Packets that a round must have acknowledged before it is judged.
const ENOUGH: u64 = 8;
/// ACKs are squeezed if the packets left this many times further apart than the ACKs arrived, ...
pub(crate) const SQUEEZE: u64 = 4;
/// ... and further apart than this, the pacer's own grain.
pub(crate) const GRAIN: Nanos = Nanos::from_micros(100);
/// A bunch is more than this many packets after a silence.
const LUMP: u64 = 4;

/// Counters of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bunches {
    last: Option<Arrival>,
    bunched: u32,
    all: u32,
}

impl Bunches {
    /// Records one arrival. A gap of `quiet` counts as a silence (a quarter of the smallest RTT of
    /// data); `mss` is the packet size.
    pub fn on_arrival(&mut self, e: Arrival, quiet: Nanos, mss: u64) {
        self.on_arrival_by(GRAIN, e, quiet, mss);
    }

    /// PLUMB 5-grain: the same for a sender whose pacer has this grain; packets that leave within
    /// it count as sent at once. When the device cuts a large segment, its packets leave together
    /// and the next ones a segment's time later. The path then spaces them evenly, and that is not
    /// a bunch.
    pub fn on_arrival_by(&mut self, grain: Nanos, e: Arrival, quiet: Nanos, mss: u64) {
        let Some(last) = self.last.replace(e) else { return };
        let came = e.at.since(last.at);
        let left = e.sent().since(last.sent());
        let bytes = e.delivered.saturating_sub(last.delivered);
        // PLUMB 5-bunch: squeezed on the return path, or many packets after a silence of a quarter
        // of the round trip.
        let squeezed = left > grain && left >= came * SQUEEZE;
        let lump = came >= quiet && bytes > LUMP * mss;
        let packets = u32::try_from(bytes.div_ceil(mss.max(1))).unwrap_or(u32::MAX);
        self.all = self.all.saturating_add(packets);
        if squeezed || lump {
            self.bunched = self.bunched.saturating_add(packets);
        }
    }

    /// Whether ACKs of this round arrive in bunches; `None` until the round has acknowledged enough
    /// packets.
    pub fn verdict(&self) -> Option<bool> {
        // PLUMB 5-share: more than a quarter of the acknowledged packets.
        let (bunched, all) = (u64::from(self.bunched), u64::from(self.all));
        (all >= ENOUGH).then_some(bunched * 4 > all)
    }

    /// Starts a new round.
    pub fn next_round(&mut self) {
        (self.bunched, self.all) = (0, 0);
    }
}
