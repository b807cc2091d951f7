//! Replay: feeds recorded ACKs to every startup. When would each startup have left slow start, and
//! how far was its window from the path's BDP?
//!
//! [`replay::Replay`] is a sink for the readers of `firstflight_log`
//! ([`read`](firstflight_log::read::read)): it drives an arm of `firstflight` per startup and
//! collects what the ACKs reveal about the path. [`results::Results`] has the results as rows that
//! serialize, [`tables`] what terminal and page show of them, and [`population`] a population file.
//! `docs/replay.md` describes the formats and the terms.
//!
//! ```
//! use firstflight::arm::Arm;
//! use firstflight_replay::replay::{Named, Replay, Settings};
//! use firstflight_replay::results::Results;
//!
//! let table = "time_ms,acked_bytes,rtt_ms,inflight_bytes\n".to_owned()
//!     + &(0..200).map(|k| format!("{},2896,40.2,{}\n", 40 + k, 14_480 + 1448 * k)).collect::<String>();
//! let arms = vec![Named { label: "hystart++".into(), arm: Arm::parse("hystart++").expect("an arm") }];
//! let mut replay = Replay::new(Settings { arms, ..Settings::default() });
//! firstflight_log::read::from("acks.csv", Box::new(std::io::Cursor::new(table)), &mut replay).expect("a table");
//! let results = Results::new(replay, Vec::new());
//! assert_eq!(results.connections[0].min_rtt_ms, Some(40.2));
//! ```
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(feature = "advice")]
pub mod advice;
mod course;
pub mod events;
pub mod files;
mod finding;
pub mod findings;
pub mod followed;
pub mod identify;
pub mod line;
pub mod meter;
pub mod population;
pub mod replay;
#[cfg(feature = "advice")]
pub mod report;
pub mod results;
pub mod run;
pub mod shown;
pub mod signals;
pub mod spread;
pub mod summary;
pub mod tables;

/// The example of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
