//! What several algorithms measure alike.

pub mod rtt_floor;
