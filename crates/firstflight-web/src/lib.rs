//! The playground: comparisons in the browser, with the code of the simulator.
//!
//! [`Engine`] takes requests as JSON and answers in JSON; on `wasm32` the crate exports it through
//! five functions of numbers. The answer to `compare` equals the output of `firstflight compare
//! --json -` for the same options, byte by byte.
#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod engine;
mod events;
#[cfg(target_arch = "wasm32")]
pub mod exports;
mod facts;
mod game;
pub mod inside;
pub mod page;
mod replay;
mod signals;
mod step;

pub use engine::Engine;
pub use firstflight_path::Error;

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
