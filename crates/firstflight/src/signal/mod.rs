//! What several algorithms measure alike.

pub mod rtt;
pub mod rtt_floor;
pub mod rate_histogram;
