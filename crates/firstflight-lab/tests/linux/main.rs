//! The testbed `linux`, apart from other tests: it needs root, makes namespaces and links, and its
//! trials take real time.
#![cfg(target_os = "linux")]

mod testbed;
mod traces;
