//! Commands in real time: servers, links, relays, the kernel. What needs root says what is missing,
//! and passes, where that is not given.

#[cfg(feature = "bpf")]
use std::sync::Mutex;

/// Controllers and programs at control groups are the machine's: one test with them at a time.
#[cfg(feature = "bpf")]
static ONE: Mutex<()> = Mutex::new(());

#[cfg(all(any(feature = "bpf", feature = "quic"), unix))]
#[path = "../command/mod.rs"]
mod command;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(all(feature = "bpf", feature = "field", feature = "replay", target_os = "linux"))]
mod killed;
#[cfg(target_os = "linux")]
mod link;
#[cfg(all(feature = "bpf", feature = "field", feature = "replay", target_os = "linux"))]
mod privacy;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod programs;
#[cfg(target_os = "linux")]
mod relay;
#[cfg(all(feature = "quic", feature = "replay", target_os = "linux"))]
mod sealed;
#[cfg(all(feature = "bpf", feature = "field", feature = "replay", target_os = "linux"))]
mod secrets;
#[cfg(all(feature = "quic", unix))]
mod serve;
#[cfg(all(feature = "bpf", any(feature = "field", feature = "replay"), target_os = "linux"))]
mod service;
#[cfg(all(unix, feature = "field", feature = "replay"))]
mod signals;
#[cfg(all(feature = "bpf", feature = "field", target_os = "linux"))]
mod trial;
#[cfg(all(feature = "bpf", feature = "replay", target_os = "linux"))]
mod watch;
