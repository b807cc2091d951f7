//! What several algorithms measure alike.

pub mod rtt;
