//! A sender as the tests of algorithms see it.

use firstflight::Config;
use firstflight::avoidance::Cut;
use firstflight::event::{Context, Signal, Window};
use firstflight::units::{Seq, Time};

/// Of QUIC, paced, limited by its window, ten packets of `mss` bytes to begin with.
pub(crate) const fn quic(mss: u64) -> Context {
    firstflight::with!(Context { iw: 10 * mss, ..Context::new(&Config::quic(mss), Seq(0)) })
}

/// A window in congestion avoidance.
pub(crate) const fn avoiding(cwnd: u64) -> Window {
    Window { cwnd, ssthresh: cwnd }
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
