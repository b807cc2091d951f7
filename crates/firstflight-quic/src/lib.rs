//! The arms of firstflight as congestion controllers of QUIC stacks in Rust, and a rig that runs the real stack in virtual time.
//!
//! | feature | what it adds |
//! |---|---|
//! | `noq` | controllers for noq, every arm |
//! | `quinn` | controllers for quinn, the arms that its interface can carry; the others are refused with a reason |
//! | `rig` | a real sender and a real receiver without sockets, joined by an emulated path, in virtual time |
//!
//! ```
//! # #[cfg(feature = "noq")] {
//! let mut transport = noq_proto::TransportConfig::default();
//! transport.congestion_controller_factory(firstflight_quic::noq::factory("hystart++/cubic/prr")?);
//! # }
//! # Ok::<(), firstflight_quic::Refused>(())
//! ```
//!
//! Neither stack tells its controller when an ACK is over, and both report losses after the only signal that looks like an end. The
//! driver behind the adapters therefore answers an ACK at that signal, keeps the state from before it, and answers again from there
//! if losses follow: each ACK reaches the algorithms exactly once, whole. State per path: under 4 KiB.
#![forbid(unsafe_code)]

#[cfg(any(feature = "noq", feature = "quinn"))]
#[cfg_attr(not(feature = "noq"), allow(dead_code, reason = "quinn passes on less than the driver takes"))]
mod driver;
#[cfg(any(feature = "noq", feature = "quinn"))]
#[cfg_attr(not(feature = "noq"), allow(dead_code, reason = "quinn passes on less than the driver takes"))]
mod numbers;
mod plan;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod tap;

#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(feature = "rig")]
pub mod rig;

#[cfg(any(feature = "noq", feature = "quinn"))]
pub use driver::Account;
pub use plan::{Plan, Refused};
#[cfg(any(feature = "noq", feature = "quinn"))]
pub use tap::{Begin, Event, Moment, Tap};
