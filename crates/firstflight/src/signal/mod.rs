//! Measurements that several algorithms share, and measurements that stand on their own.

#[doc(hidden)]
pub mod bunches;
#[doc(hidden)]
pub mod delivery;
#[doc(hidden)]
pub mod drain_and_look;
#[doc(hidden)]
pub mod mark_share;
#[doc(hidden)]
pub mod rate_histogram;
#[doc(hidden)]
pub mod receiver_clock;
pub mod rtt;
#[doc(hidden)]
pub mod rtt_floor;
#[doc(hidden)]
pub mod sounding;
