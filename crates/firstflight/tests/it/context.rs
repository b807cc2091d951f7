//! A sender as the tests of algorithms see it.

use firstflight::event::{Context, Transport};
use firstflight::units::Nanos;

/// Of QUIC, paced, limited by its window, ten packets of `mss` bytes to begin with.
pub(crate) const fn quic(mss: u64) -> Context {
    Context {
        mss,
        iw: 10 * mss,
        transport: Transport::Quic,
        paced: true,
        srtt: Nanos::ZERO,
        pacing_rate: None,
        max_burst: 10 * mss,
        limited: true,
        young_epoch: false,
        newborn_epoch: false,
    }
}
