//! Numbers as users write them.

pub use firstflight_lab::size::{count, parse};
