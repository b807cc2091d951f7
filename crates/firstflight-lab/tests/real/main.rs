//! Testbeds that take real time, apart from other tests: real sockets, and the kernel's TCP in
//! namespaces and behind links, which needs root.
#![cfg(target_os = "linux")]

#[cfg(feature = "linux")]
mod closed_loop;
#[cfg(feature = "linux")]
mod conform;
#[cfg(feature = "quic")]
mod quic_real;
#[cfg(feature = "linux")]
mod testbed;
#[cfg(feature = "linux")]
mod traces;
