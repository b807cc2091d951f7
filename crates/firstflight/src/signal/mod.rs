//! What several algorithms measure alike.

pub mod rate_histogram;
