//! The lab of firstflight: turns single trials into results that support decisions.
#![deny(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod ab;
pub mod advise;
pub mod arms;
pub mod compare;
pub mod conform;
pub mod decision;
pub mod diff;
pub mod drill;
pub mod error;
#[cfg(feature = "field")]
pub mod field;
mod finding;
pub mod flows;
pub mod learn;
mod learner;
pub mod measures;
pub mod outcome;
pub mod own;
pub mod page;
mod phase;
pub mod population;
pub mod programs;
pub mod record;
pub mod repeat;
pub mod report;
#[cfg(feature = "request")]
pub mod request;
pub mod resume;
pub mod scenario;
pub mod sharing;
pub mod size;
pub mod stacks;
pub mod stats;
pub mod sweep;
pub mod table;
pub mod testbed;
pub mod tolerance;
pub mod trial;
#[cfg(feature = "tune")]
pub mod tune;
pub mod vectors;
#[cfg(any(feature = "request", feature = "tune"))]
mod words;

pub use arms::{DEFAULT_ARMS, NamedArm, Sender, default_of, own_arm, parse_arms};
pub use compare::{Comparison, Plan};
pub use error::nearest;
pub use firstflight_path::Error;
pub use outcome::Outcome;
pub use own::{Own, OwnAvoidance, OwnPart, OwnRecovery, OwnStartup, own_parts};
pub use population::Population;
pub use programs::Programs;
pub use scenario::{Hosts, Scenario, hosts_of_tcp};
pub use stacks::{STACK_ARMS, StackArm};
pub use testbed::{Testbed, Testbeds};
pub use trial::TrialRow;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
