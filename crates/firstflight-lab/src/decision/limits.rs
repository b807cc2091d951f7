//! The least evidence for a world, and the cost that a user accepts.

use serde::{Deserialize, Serialize};

/// Worlds with fewer connections are not judged.
pub const LEAST: u64 = 30;

/// The cost that the user accepts in exchange for shorter times; the margin applies where a value
/// is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "request", derive(clap::Args))]
pub struct Limits {
    /// Largest increase in packet loss, in percentage points, to accept for a shorter time, such as
    /// 0.5
    #[cfg_attr(feature = "request", arg(id = "max_loss_cost", long = "max-loss-cost", value_name = "POINTS", value_parser = price, allow_negative_numbers = true))]
    pub loss_points: Option<f64>,
    /// Largest increase in queueing delay (p99), in ms, to accept for a shorter time
    #[cfg_attr(feature = "request", arg(id = "max_queue", long = "max-queue", value_name = "MS", value_parser = price, allow_negative_numbers = true))]
    pub queue_ms: Option<f64>,
    /// Percentage of connections that may be over 5 % slower [default: 5]
    #[cfg_attr(feature = "request", arg(id = "max_slower", long = "max-slower", value_name = "PERCENT", value_parser = price, allow_negative_numbers = true))]
    pub slower_pct: Option<f64>,
}

#[cfg(feature = "request")]
fn price(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=100_000.0).contains(number));
    number.ok_or_else(|| "is not a limit; allowed: a number from 0 to 100000".to_owned())
}
