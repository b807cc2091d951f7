//! The arms of firstflight as congestion controllers of QUIC stacks in Rust.
//!
//! | feature | adds |
//! |---|---|
//! | `noq` | controllers for noq: every arm |
//! | `quinn` | controllers for quinn: the arms that its interface supports; the others are refused with a reason |
//! | `trial` | a random arm for each connection, and a row when it closes |
//! | `sender` | [`Sender`], for a stack of your own or in another language |
//! | `s2n` | controllers for s2n-quic: every arm; information that its interface lacks is approximated |
//!
//! ```
//! # #[cfg(feature = "noq")] {
//! let mut transport = noq_proto::TransportConfig::default();
//! transport.congestion_controller_factory(firstflight_quic::noq::factory("hystart++/cubic/prr")?);
//! # }
//! # Ok::<(), firstflight_quic::Refused>(())
//! ```
//!
//! No stack tells its controller when an ACK ends: noq and quinn report losses after the only
//! signal that looks like an end, s2n-quic before anything else of the ACK. The driver behind the
//! adapters therefore computes the answer to an ACK at that signal and keeps the previous state. If
//! losses follow, it computes the answer again from that state: each ACK reaches the algorithms
//! exactly once, complete. State per path: under 4 KiB.
#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

#[cfg(all(any(feature = "noq", feature = "quinn", feature = "s2n"), any(test, feature = "fuzz")))]
#[doc(hidden)]
pub mod callbacks;
#[cfg(any(feature = "noq", feature = "quinn", feature = "s2n", feature = "sender"))]
#[cfg_attr(
    not(feature = "noq"),
    allow(dead_code, reason = "the other stacks pass on less than the driver takes")
)]
mod driver;
#[cfg(any(feature = "noq", feature = "quinn", all(test, feature = "s2n")))]
#[cfg_attr(
    not(feature = "noq"),
    allow(dead_code, reason = "quinn passes on less than the driver takes")
)]
mod numbers;
mod plan;

#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(any(feature = "noq", feature = "s2n"))]
pub mod resume;
#[cfg(feature = "s2n")]
pub mod s2n;
#[cfg(all(feature = "trial", any(feature = "noq", feature = "quinn", feature = "s2n")))]
mod shadow;
#[cfg(all(feature = "trial", any(feature = "noq", feature = "quinn", feature = "s2n")))]
pub mod trial;

#[cfg(feature = "sender")]
mod sender;

#[cfg(any(feature = "noq", feature = "quinn", feature = "s2n", feature = "sender"))]
pub use driver::{SharedRecorder, SharedState, Status};
pub use plan::{Plan, Refused};
#[cfg(feature = "sender")]
pub use sender::Sender;

/// The example in README.md, which package registries show.
#[cfg(all(doctest, feature = "sockets", feature = "s2n-sockets"))]
#[doc = include_str!("../README.md")]
struct Readme;
