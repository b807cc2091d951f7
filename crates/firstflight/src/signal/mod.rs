//! What several algorithms measure alike.

pub mod rtt;
pub mod rtt_floor;
