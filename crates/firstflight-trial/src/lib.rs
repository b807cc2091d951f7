//! Field tests: arms drawn at random for the connections of a live server, one row per connection,
//! and statistics that hold at every look.
//!
//! * [`assign`]: assigns arms to connections with a keyed hash, so that no client can choose.
//! * [`design`]: the unit of randomization (clients, connections, time slots), and who takes part.
//! * [`row`]: the columns of the row that is written when a connection closes.
//! * [`statistics`] (feature): effects with intervals, validity checks of experiments, stop rules,
//!   and the required duration of a test.
//!
//! Nothing here reads a clock, opens a file or knows of a congestion controller.
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod assign;
pub mod design;
pub mod row;
#[cfg(feature = "statistics")]
pub mod statistics;

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
