//! A sender as the tests of algorithms see it.

use firstflight::avoidance::Cut;
use firstflight::event::{Context, Signal, SoFar, Transport, Window};
use firstflight::units::{Nanos, Seq, Time};

/// Of QUIC, paced, limited by its window, ten packets of `mss` bytes to begin with.
pub(crate) const fn quic(mss: u64) -> Context {
    Context {
        mss,
        iw: 10 * mss,
        count: None,
        transport: Transport::Quic,
        paced: true,
        srtt: Nanos::ZERO,
        pacing_rate: None,
        max_burst: 10 * mss,
        limited: true,
        young_epoch: false,
        newborn_epoch: false,
        so_far: SoFar::new(Transport::Quic, Seq(0)),
    }
}

/// What a timeout cuts with `flight` bytes outstanding, now and in the last round trip.
pub(crate) fn timeout(now: Time, flight: u64, w: Window) -> Cut {
    Cut {
        now,
        signal: Signal::Loss,
        inflight_before: flight,
        flight,
        from_slow_start: w.in_slow_start(),
    }
}
