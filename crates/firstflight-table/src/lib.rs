//! Safe input and output of results: [`text`] for terminals and spreadsheets, a [`guard`] around
//! readers, and with the feature `files` output files ([`whole`]) and rows ([`rows`]).
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod guard;
#[cfg(feature = "files")]
pub mod rows;
pub mod text;
#[cfg(feature = "files")]
pub mod whole;

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
