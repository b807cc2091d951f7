//! HTTP/3 on real sockets: a server that sends with any arm, and a client that verifies the bytes
//! it receives.
//!
//! The server runs on noq, which supports every arm. The client runs on iroh-quinn, whose
//! reassembly has no limit on gaps, so that it receives even an overshoot of thousands of packets.
//! Both use HTTP/3 from the crate `h3`, over a binding of our own. With the feature `trials`,
//! [`real`] runs both against each other and measures the same quantities as the rig.
//!
//! ```no_run
//! use firstflight_quic::Plan;
//! use firstflight_http::{Server, ServerOptions};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = ServerOptions::new(&["127.0.0.1:4433".parse().expect("an address")], Plan::parse("rapid")?);
//! let server = Server::bind(options)?;
//! println!("https://{}/bytes/10MB, pin {}", server.address(), server.pin());
//! server.run(std::future::pending(), std::future::pending()).await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod client;
pub mod content;
mod fields;
mod limits;
mod metrics;
mod over_iroh;
mod over_noq;
#[cfg(feature = "trials")]
pub mod real;
mod request;
mod respond;
mod server;
mod shared;
mod sockets;
mod streams;
mod tls;

pub use client::{Fetch, FetchError, Fetched, Verified, fetch, fetch_and};
pub use limits::Limits;
pub use metrics::{Exporter, Meter};
pub use request::{ARM, PATTERN};
pub use server::{Ended, Server};
pub use shared::{ServerOptions, Watch};
pub use tls::{Certificate, Trust};

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
