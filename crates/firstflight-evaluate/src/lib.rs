//! The evaluation of a new congestion control algorithm that RFC 9743 (BCP 133) describes: every
//! criterion of its sections 5 to 7 that a machine can run, for the algorithm and for a baseline in
//! the same scenarios with the same seeds.
//!
//! The scenarios and rules are data, the *battery* ([`Battery`]): one file per criterion, with a
//! version and a hash. [`evaluate`] expands them into cells, runs every cell with several seeds and
//! returns a [`Report`]. The RFC gives no thresholds and is not a checklist: a report never claims
//! that an algorithm is compliant.
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod against;
mod annex;
mod battery;
mod cell;
mod declare;
mod effort;
mod evaluate;
mod judge;
mod metric;
mod metrics;
mod page;
mod place;
mod report;
mod run;
mod schema;
mod student;
mod wire;
mod words;

pub use against::{Change, Older, junit, markdown};
pub use battery::Battery;
pub use cell::{Cell, LogNormal, PlannedFlow, cells};
pub use declare::{Declaration, Ecn};
pub use effort::Effort;
pub use evaluate::{Evaluation, Job, evaluate};
pub use metrics::{METRICS, MetricDoc};
pub use place::{Course, Courses, Figure, Place, evidence, place};
pub use report::{Basis, CellRow, CriterionRow, Report, RuleName, Verdict};
pub use schema::{Answer, Criterion, EcnField, Flow, Judge, Rule, Scenario, Sweep, Window};
pub use words::{DEFAULT_BASELINE, figure};

/// Tests the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
