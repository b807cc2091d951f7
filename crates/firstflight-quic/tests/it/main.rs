//! The tests of the adapters, in one program that links once.

#[cfg(feature = "sockets")]
mod anyone;
#[cfg(feature = "quinn")]
mod refusals;
#[cfg(feature = "s2n-sockets")]
mod s2n;
#[cfg(feature = "sockets")]
mod servers;
