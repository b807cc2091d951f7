//! Measurements that several algorithms share, and measurements that stand on their own.

pub mod bunches;
pub mod delivery;
pub mod drain_and_look;
pub mod mark_share;
pub mod rate_histogram;
pub mod receiver_clock;
pub mod rtt;
pub mod rtt_floor;
pub mod sounding;
