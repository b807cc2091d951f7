//! Emulated links, and real Linux TCP over them.
//!
//! * [`link`]: two network namespaces with a TUN device each, and a thread between them that gives
//!   every packet the fate that a [`firstflight_path::Path`] decides. Needs no kernel module except
//!   TUN, no netem, and leaves nothing behind.
//! * [`relay`]: the same for UDP between ordinary processes, without privilege.
//! * `kernel` (feature `bpf`): startups and recoveries as congestion controllers of the running
//!   kernel, loaded and unloaded.
//! * [`scripted`]: a kernel connection whose peer is a script.
//! * [`trial`]: measures one object from sender to receiver through a link.
//! * [`supervise`]: runs a command at one end and a server at the other, and ends both in every
//!   case.
//!
//! Everything except the relay needs privilege; a one-line error names what is missing
//! ([`firstflight_path::Error`]). On systems other than Linux the crate is empty.
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![deny(clippy::float_arithmetic)]

pub mod counters;
#[cfg(feature = "bpf")]
pub mod kernel;
pub mod link;
pub mod lock;
pub mod namespace;
mod reaper;
mod refusal;
pub mod relay;
pub mod scripted;
pub mod supervise;
#[allow(
    unsafe_code,
    reason = "the system calls that no safe wrapper offers are all in this module"
)]
mod sys;
pub mod trial;
mod tun;

pub use link::{LinkEmulator, LinkOptions, Report};
pub use namespace::Namespace;

/// Gives the calling thread real-time priority, above every ordinary thread and below the links of
/// this crate, if that is permitted; otherwise nothing changes. For the ends of a link whose timing
/// is measured.
pub fn hurry() {
    const PRIORITY: i32 = 10;
    let _ = sys::run_first(PRIORITY);
}

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
