//! TCP and QUIC startup and loss recovery as plain state machines: HyStart, HyStart++, Rapid Start,
//! BEST, SEARCH, jump start; Reno, CUBIC, Cuback, ABBA, DCTCP, Prague; PRR, RFC 6675, immediate cut, rate halving; loss
//! detection. `no_std`, no allocation, no `unsafe`, integers only.
//!
//! Loss detection for endpoints that keep a scoreboard is in the module `detection`, which these pages leave out like all that is
//! made for this repository's own crates: it may change with any release.
//!
//! A sender is a [`Controller`]: a startup, a congestion avoidance and a recovery, usually made
//! from the name of an [`Arm`]. The transport tells it what happens and asks what it may do; the
//! order of work within one ACK is fixed in [`event`].
//!
//! # Driving it from your own stack
//!
//! ```
//! use firstflight::{Ack, AckDetail, Arm, Config, Nanos, Ready, Sent, Seq, Time};
//!
//! // A QUIC sender with 1200-byte packets. `controller` makes any arm: "rapid", "best", "hystart/cubic/immediate@(pace=off)", ...
//! let arm = Arm::parse("hystart++/cubic/prr").expect("a known arm");
//! let mut sender = arm.controller(Config::quic(1200), Time(0), Seq(0));
//! let (mut next, mut inflight, mut sent, rtt) = (0u64, 0u64, 0u64, Nanos::from_millis(50));
//! for round in 0u64..8 {
//!     let now = Time(round * rtt.0);
//!     let before = inflight;
//!     // Send whatever window and recovery admit. A real stack also waits for its pacer: `sender.pacing_rate()`.
//!     sender.before_send(&Ready { now, nxt: Seq(next), inflight, backlog: u64::MAX, srtt: Some(rtt), ..Ready::default() });
//!     while sender.admits(1200, inflight) {
//!         next += 1;
//!         inflight += 1200;
//!         sent += 1200;
//!         sender.on_sent(&Sent { now, bytes: 1200, nxt: Seq(next), inflight, srtt: Some(rtt) });
//!     }
//!     assert!(inflight > before, "an open window admits packets");
//!     // One round trip later everything is acknowledged at once. Losses found on the way would be in `lost`. Every fact has to be
//!     // there; what the ACKs add up to the controller keeps itself.
//!     sender.on_ack(&Ack {
//!         now: now + rtt,
//!         acked: inflight,
//!         acked_fresh: inflight,
//!         lost: 0,
//!         ce: false,
//!         rtt: Some(rtt),
//!         srtt: Some(rtt),
//!         una: Seq(next),
//!         nxt: Seq(next),
//!         flight: 0,
//!         sacked: 0,
//!         inflight_before: inflight,
//!         inflight: 0,
//!         sent,
//!         tx_acked: Some(next - 1),
//!         tx_lost: None,
//!         tx_next: next,
//!         cwnd_limited: true,
//!         app_limited: false,
//!         detail: AckDetail::default(),
//!     });
//!     inflight = 0;
//! }
//! assert!(sender.cwnd() > 500_000, "slow start doubled the window in each of eight round trips: {}", sender.cwnd());
//! assert!(sender.exit().is_none(), "and nothing told it to leave");
//! assert_eq!(sender.misfed(), None, "nothing that was reported is impossible");
//! ```
//!
//! # Your own algorithm
//!
//! Implement [`Startup`](startup::Startup), [`Avoidance`](avoidance::Avoidance) or
//! [`Recovery`](recovery::Recovery) and compose it with the others: the controller is generic.
//!
//! ```
//! use firstflight::avoidance::{Reno, reno};
//! use firstflight::event::Context;
//! use firstflight::recovery::Immediate;
//! use firstflight::startup::{Grown, Startup};
//! use firstflight::{Ack, Config, Controller, Seq, Time, Window};
//!
//! /// Grows by half of what is acknowledged.
//! struct Gentle;
//!
//! impl Startup for Gentle {
//!     type Saved = ();
//!
//!     fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
//!         Grown { leftover: if cx.limited { w.open(acked / 2) } else { 0 }, ..Grown::default() }
//!     }
//! }
//!
//! let reno = Reno::new(reno::Params::default());
//! let sender = Controller::new(Gentle, reno, Immediate::default(), Config::quic(1200), Time(0), Seq(0));
//! assert_eq!(sender.cwnd(), 12_000, "RFC 9002: ten packets");
//! ```
#![no_std]
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![deny(clippy::float_arithmetic)]

#[doc(hidden)]
pub mod account;
pub mod arm;
pub mod avoidance;
mod congestion_control;
pub mod controller;
#[doc(hidden)]
pub mod detection;
pub mod event;
pub mod exit;
#[doc(hidden)]
pub mod fields;
mod hint;
#[doc(hidden)]
pub mod named;
#[doc(hidden)]
pub mod options;
pub mod pacer;
pub mod recorder;
pub mod recovery;
pub mod resume;
pub mod signal;
pub mod startup;
#[doc(hidden)]
pub mod state;
pub mod units;
mod with;

#[doc(hidden)]
pub use account::{Account, Episode};
pub use arm::Arm;
pub use congestion_control::CongestionControl;
pub use controller::{Config, Controller, Exit};
pub use event::{
    Ack, AckDetail, Congestion, Context, Event, Impossible, Misfed, Phase, Ready, Sent, Signal,
    SoFar, Timeout, Transport, Window,
};
pub use exit::ExitReason;
pub use hint::{Advice, Hint, HintSource};
pub use pacer::{Pacer, Spacing};
pub use recorder::{Begin, Recorder};
pub use state::State;
pub use units::{Nanos, Rate, Ratio, Seq, Time, UNSET_SSTHRESH};

/// The controller of an [`Arm`].
pub type AnyController =
    Controller<startup::AnyStartup, avoidance::AnyAvoidance, recovery::AnyRecovery>;

/// The example of the page that registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The Rust of the page on stacks.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/stack.md")]
struct Page;
