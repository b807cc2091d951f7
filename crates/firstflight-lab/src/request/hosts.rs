//! Transport and loss detection.

use crate::scenario::{Hosts, hosts_of_tcp};
use clap::{Args, ValueEnum};
use firstflight_path::Error;

/// Protocol of the senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// QUIC: packet numbers, paced
    Quic,
    /// TCP: SACK and timestamps, not paced
    Tcp,
}

/// The hosts: transport and loss detection.
#[derive(Args, Clone, Debug)]
pub struct HostArgs {
    /// Transport
    #[arg(long, value_enum, default_value = "quic")]
    pub transport: Transport,
    /// Loss detection of TCP: rack (default), linux26, sack6675, sack3517, reno, windows
    #[arg(long, value_name = "PRESET")]
    pub detection: Option<String>,
}

impl HostArgs {
    /// The hosts for these options.
    ///
    /// # Errors
    /// A one-line message if TCP has no such loss detection, or QUIC is given one.
    pub fn hosts(&self) -> Result<Hosts, Error> {
        match (self.transport, &self.detection) {
            (Transport::Quic, None) => Ok(Hosts::default()),
            (Transport::Quic, Some(_)) => {
                Err(Error::new("--detection: QUIC has its own; it goes with `--transport tcp`"))
            }
            (Transport::Tcp, name) => hosts_of_tcp(name.as_deref().unwrap_or("rack")),
        }
    }
}
