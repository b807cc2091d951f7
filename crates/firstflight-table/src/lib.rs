//! Results on their way in and out. A [`table`] holds values and their columns; a [`document`] is
//! what people read. Renderers show both: [`markdown`], [`latex`], [`html`], [`xml2rfc`], and with
//! the feature `terminal` the text of a terminal; `json` adds JSON beside CSV. [`text`] makes
//! foreign text safe to show, [`guard`] is a boundary around readers, and with the feature `files`
//! there are output files ([`whole`]) and rows ([`rows`]).
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod document;
pub mod guard;
pub mod html;
pub mod latex;
pub mod markdown;
#[cfg(feature = "files")]
pub mod rows;
pub mod table;
#[cfg(feature = "terminal")]
pub mod terminal;
pub mod text;
#[cfg(feature = "files")]
pub mod whole;
pub mod xml2rfc;

pub use document::{Block, Document, Span, Text};
pub use table::{Better, Cell, Column, Kind, Look, Marked, Table, Tone};

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
