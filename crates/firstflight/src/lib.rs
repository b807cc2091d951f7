//! TCP and QUIC startup and loss recovery as plain state machines.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod arm;
pub mod avoidance;
pub mod controller;
pub mod detection;
pub mod event;
pub mod recovery;
pub mod signal;
pub mod startup;
pub mod units;

pub use controller::{Config, Controller, Exit};
pub use event::{Ack, Congestion, Context, Phase, Ready, Sent, Signal, Timeout, Transport, Window};
pub use startup::ExitReason;
pub use units::{Nanos, Rate, Ratio, Seq, Time, UNSET_SSTHRESH};
