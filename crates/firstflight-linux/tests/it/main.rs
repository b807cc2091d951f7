//! The crate from a program's point of view: kernel controllers, links, namespaces. Most tests need
//! root; otherwise they report in one line what is missing and pass.

#[cfg(feature = "native")]
mod equality;
#[cfg(feature = "bpf")]
mod field;
#[cfg(feature = "bpf")]
mod hystart_trace;
#[cfg(feature = "bpf")]
mod kernel;
#[cfg(target_os = "linux")]
mod link;
#[cfg(feature = "bpf")]
mod loopback;
#[cfg(feature = "native")]
mod native;
#[cfg(feature = "native")]
mod stand_in;
#[cfg(feature = "bpf")]
#[path = "../../../firstflight/tests/it/told.rs"]
mod told;
#[cfg(target_os = "linux")]
mod trial;
#[cfg(feature = "native")]
mod twin;
#[cfg(feature = "native")]
mod whole_packets;

/// Controllers are registered once in a kernel, and a trace sees every connection: whoever loads or
/// connects holds this.
#[cfg(target_os = "linux")]
static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
