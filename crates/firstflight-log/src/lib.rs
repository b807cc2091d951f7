//! Logs of connections: the inputs and the outputs of a controller, event by event.
//!
//! [`trace`] is the log that firstflight's testbeds write, with its writers and readers (CSV,
//! Parquet, qlog; `docs/traces.md`) and its replay. [`read`](read::read) detects the format of any
//! file (qlog of many stacks, packet captures, tables, our own logs) and streams its contents into
//! a [`Sink`]; where the format lacks the sender's state, the reader reconstructs it
//! (`docs/replay.md`; feature `readers`).
//!
//! The crate knows algorithms only through the core, and no testbed; a sink knows no format.
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(feature = "readers")]
pub mod estimate;
#[cfg(feature = "readers")]
pub mod fault;
mod file;
#[cfg(feature = "readers")]
pub mod input;
#[cfg(feature = "readers")]
mod iperf;
#[cfg(feature = "readers")]
mod kernel_text;
#[cfg(feature = "readers")]
pub mod live;
pub mod marks;
#[cfg(feature = "readers")]
mod meaning;
#[cfg(feature = "readers")]
pub mod own;
#[cfg(feature = "readers")]
pub mod pcap;
#[cfg(feature = "readers")]
pub mod qlog;
#[cfg(feature = "readers")]
pub mod quality;
#[cfg(feature = "keylog")]
pub mod quic;
#[cfg(feature = "readers")]
pub mod read;
#[cfg(feature = "readers")]
mod rows;
pub mod segment;
#[cfg(feature = "readers")]
mod sender;
#[cfg(feature = "readers")]
mod sizes;
#[cfg(feature = "readers")]
pub mod step;
#[cfg(feature = "readers")]
pub mod table;
pub mod trace;
#[cfg(feature = "readers")]
mod window;

#[cfg(feature = "readers")]
pub use fault::{Fault, Place};
pub use file::FileRow;
pub use firstflight_path::Error;
pub use segment::Segment;
#[cfg(feature = "readers")]
pub use step::{Extent, Id, Opening, Ran, Sink, Stated, Step};

/// The example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
