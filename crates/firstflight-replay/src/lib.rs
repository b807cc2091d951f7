//! Replay: ACKs that were really seen, fed to every startup.
#![forbid(unsafe_code)]

pub mod estimate;
pub mod fault;
pub mod findings;
pub mod input;
pub mod line;
pub mod meter;
pub mod own;
pub mod pcap;
pub mod population;
pub mod qlog;
pub mod read;
pub mod replay;
pub mod report;
pub mod results;
pub mod signals;
pub mod spread;
pub mod summary;
pub mod table;
pub mod trace;
mod window;

pub use fault::{Fault, Place};
pub use trace::{Extent, Id, Opening, Ran, Sink, Step};
