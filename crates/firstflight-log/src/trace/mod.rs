//! The event log of one connection: everything its controller was told and what it answered. The
//! format that users see: `docs/traces.md`.
//!
//! A log is complete: [`replay()`] builds the controller anew, tells it the same things and must
//! find it at the same exit. Writers: [`csv`], `parquet` (a feature) and [`qlog`].

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
