//! The tests of the server and the client, in one program that links once.

mod bad_requests;
mod http;
#[cfg(target_os = "linux")]
mod moves;
mod served;
#[cfg(target_os = "linux")]
mod soak;
