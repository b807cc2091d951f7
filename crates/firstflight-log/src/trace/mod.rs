//! The event log of one connection: all inputs and outputs of its controller. `docs/traces.md`
//! describes the formats for users.
//!
//! A log is complete: [`replay()`] rebuilds the controller, repeats its inputs and must get the
//! same exit. Writers: [`csv`], `parquet` (a feature) and [`qlog`].

pub mod csv;
pub mod exits;
pub mod fields;
mod log;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod qlog;
pub mod replay;
mod signals;
mod writer;

pub use fields::{COLUMNS, Cell, Column, Kind, Row};
pub use firstflight::state::{Packet, State};
pub use log::{Entry, Log, Ranges, Received, Source, Start, What, ranges};
pub use replay::{Replayed, replay};
pub use signals::row as signals_row;
pub use writer::LogWriter;
