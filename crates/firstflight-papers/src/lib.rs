//! Published numbers compared with ours: every claim of our list of experiments, by document.
//!
//! Publications are data: `papers/*.toml`, one file per document, has its claims, the conditions that each
//! must meet, and our assumptions where the document is silent. Measurements are code: a module per
//! document whose experiments return [`Values`], numbers with names. A [`Source`] joins the two; a claim
//! without a value, or a value without a claim, is reported by [`Source::run`] and fails a test.
//!
//! Gates state the evidential weight of a row: **U** follows from the algebra and must hold, **G** is a
//! direction that counts as reproduced only if it holds, **B** is a band around the published size,
//! **Q** is only quoted because its population is unknown. No claim is left out: one that cannot be
//! measured gives the reason.

#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod abba;
mod best;
mod browser;
mod careful;
mod chapter;
mod chirping;
mod cuback;
mod documents;
pub mod early_retransmit;
mod effort;
pub mod figure;
mod gate;
mod grid;
pub mod gvisor;
pub mod hystart_plus_plus;
mod idle_trap;
mod lab;
mod leo;
mod neqo;
mod page;
pub mod prr;
pub mod rapid_start;
mod row;
mod run;
mod rwnd;
mod sample;
mod scone;
mod servers;
mod source;
mod suss;
mod values;
mod verdict;
mod web_loss;

pub use chapter::{Chapter, Count, Partial, Reproduction};
pub use documents::{SOURCES, source};
pub use effort::{Effort, Scale};
pub use figure::Figure;
pub use firstflight_lab::stats::Interval;
pub use gate::{Accept, Gate, gate_words};
pub use row::{Point, Row, Try};
pub use run::reproduce;
pub use source::{Assumption, Item, Source};
pub use values::{Measured, Value, Values};
pub use verdict::{Published, Verdict};

/// Tests the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
