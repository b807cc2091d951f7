//! What several algorithms measure alike.

pub mod delivery;
pub mod rate_histogram;
pub mod rtt;
pub mod rtt_floor;
