//! A deterministic packet-level simulator for TCP and QUIC startup and loss recovery.
//!
//! Time is integer nanoseconds, data integer bytes; the same setup and seed give the same result on
//! every machine. Links are FIFO, so the fate of a packet is known when it is offered, and each
//! direction is a sorted queue. There are only a few event sources, no event heap and no allocation
//! per packet. Queues that choose among flows ([`ahead`]) add one more event source.
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![deny(clippy::float_arithmetic)]

pub mod access;
pub mod ahead;
pub mod alike;
pub mod app;
mod audit;
pub mod back;
mod boxed;
mod counters;
pub mod flow;
mod hello;
mod hosts;
pub mod instrumented;
mod later;
mod limited;
mod media;
pub mod nada;
pub mod observe;
mod opening;
pub mod outcome;
pub mod pool;
pub mod quic;
mod reader;
pub mod ring;
mod run;
mod running;
mod setup;
pub mod sharing;
pub mod tcp;
pub mod trial;
mod turns;
mod waits;
pub mod wire;

pub use access::{Access, Arrangement, Counted, Lie};
pub use alike::run_alike;
pub use app::{App, Part, Response};
pub use boxed::{
    Boxed, MakeRecovery, Mixed, MixedAvoidance, MixedRecovery, OwnAvoidance, own_avoidance,
};
pub use counters::Counters;
pub use firstflight::Episode;
pub use hosts::Hosts;
pub use instrumented::Company;
pub use limited::Limited;
pub use media::PACKET as MEDIA_PACKET;
pub use observe::{Cause, Nobody, Observer, Record, Snapshot, Tape};
pub use outcome::{Drops, Outcome, Stop, fairness_ppm};
pub use run::{Simulated, run, run_flows};
pub use sharing::{FlowPlan, JITTER, Shared, SharedOutcome};

pub use running::Stepped;
pub use setup::Setup;

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
