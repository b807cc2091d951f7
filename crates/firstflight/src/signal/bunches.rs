//! Bunches: whether ACKs come as the path delivers, or held back and released together.
//!
//! A receiver that acknowledges rarely, Wi-Fi and LTE that collect ACKs, a satellite terminal that
//! waits for capacity: what arrives together was not delivered together, and neither the spacing of
//! ACKs nor a raised RTT says anything about the forward queue.
//!
//! Follows: ours. State: 40 bytes.

use super::sounding::Arrival;
use crate::units::Nanos;

/// What a round must have acknowledged before it is judged, in packets.
const ENOUGH: u64 = 8;
/// Sent this many times further apart than they arrived, ...
const SQUEEZE: u64 = 4;
/// ... and at least this far: less is the pacer's own grain.
const GRAIN: Nanos = Nanos::from_micros(100);
/// More than this many packets after a silence are a bunch.
const LUMP: u64 = 4;

/// Counters of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bunches {
    last: Option<Arrival>,
    bunched: u32,
    all: u32,
}

impl Bunches {
    /// One arrival; `quiet` is what counts as a silence, a quarter of the smallest RTT of data, `mss`
    /// the size of a packet.
    pub fn on_arrival(&mut self, e: Arrival, quiet: Nanos, mss: u64) {
        self.on_arrival_by(GRAIN, e, quiet, mss);
    }

    /// PLUMB 5-grain: the same of a sender whose pacer has this grain; what leaves within it leaves at
    /// once. Packets of a segment that the device cuts leave together, the next ones a segment's time
    /// later, and the path puts an even spacing in its place: that is no bunch.
    pub fn on_arrival_by(&mut self, grain: Nanos, e: Arrival, quiet: Nanos, mss: u64) {
        let Some(last) = self.last.replace(e) else { return };
        let came = e.at.since(last.at);
        let left = e.sent().since(last.sent());
        let bytes = e.delivered.saturating_sub(last.delivered);
        // PLUMB 5-bunch: squeezed on the way back, or many after a silence of a quarter of the
        // round trip.
        let squeezed = left > grain && left >= came * SQUEEZE;
        let lump = came >= quiet && bytes > LUMP * mss;
        let packets = u32::try_from(bytes.div_ceil(mss.max(1))).unwrap_or(u32::MAX);
        self.all = self.all.saturating_add(packets);
        if squeezed || lump {
            self.bunched = self.bunched.saturating_add(packets);
        }
    }

    /// Whether ACKs of this round come in bunches; `None` while it has shown too little.
    pub fn verdict(&self) -> Option<bool> {
        // PLUMB 5-share: more than a quarter of what was acknowledged.
        let (bunched, all) = (u64::from(self.bunched), u64::from(self.all));
        (all >= ENOUGH).then_some(bunched * 4 > all)
    }

    /// A round begins.
    pub fn next_round(&mut self) {
        (self.bunched, self.all) = (0, 0);
    }
}
