//! Replay: ACKs that were really seen, fed to every startup.
#![forbid(unsafe_code)]

pub mod estimate;
pub mod fault;
pub mod input;
pub mod qlog;
pub mod trace;
mod window;

pub use fault::{Fault, Place};
pub use trace::{Extent, Id, Opening, Ran, Sink, Step};
