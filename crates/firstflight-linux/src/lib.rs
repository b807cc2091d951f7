//! Emulated links, and real Linux TCP behind them.
//!
//! * [`link`]: two network namespaces with a TUN device each, and a thread between them that gives
//!   every packet the fate which a [`firstflight_path::Path`] decides. Needs no kernel module but
//!   TUN, no netem, and leaves nothing behind.
//! * [`relay`]: the same for UDP between ordinary processes, without privilege.
//! * `kernel` (feature `bpf`): startups and recoveries as congestion controllers of the running
//!   kernel, loaded and taken out again.
//! * [`scripted`]: a connection of the kernel whose peer is a script.
//! * [`trial`]: one object from sender to receiver through a link, measured.
//! * [`supervise`]: run a command at one end, a server at the other, and end both whatever happens.
//!
//! Everything but the relay needs privilege; what is missing is said in one line
//! ([`firstflight_path::Error`]). On
//! other systems than Linux the crate is empty.
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

/// From now on the calling thread runs before every ordinary one, and after the links of this
/// crate, where that is permitted; where it is not, nothing changes. For the ends of a link whose
/// timing is measured.
pub fn hurry() {
    const PRIORITY: i32 = 10;
    let _ = sys::run_first(PRIORITY);
}

/// The example of the page that registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
