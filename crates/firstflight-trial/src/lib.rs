//! Field tests: arms drawn by chance for the connections of a live server, one row per connection,
//! and statistics that hold at every look.
//!
//! * [`assign`]: which arm a connection gets. A keyed hash, so that no client can choose.
//! * [`design`]: what is drawn (clients, connections, slots of time), and who takes part.
//! * [`row`]: what is written of a connection when it closes, and what each column means.
//! * [`statistics`] (feature): effects with intervals, the checks that experiments are trusted by,
//!   stop rules, and how long a test has to run.
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

/// The example of the page that registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
