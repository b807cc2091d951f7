//! Options of a relay, and the path that they select.

use crate::link::wire::Wire;
use firstflight_path::Error;
use firstflight_path::Path;
use std::net::SocketAddr;

/// Size of an IP packet that carries only a QUIC ACK, in bytes; it determines the return path's
/// part of the idle RTT.
pub const ACK: u32 = 64;

/// Options in addition to the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayOptions {
    /// Address that clients send to; port 0 selects a free port.
    pub listen: SocketAddr,
    /// The server.
    pub to: SocketAddr,
    /// Whether the path's forward direction leads to the server instead of from it.
    pub uploads: bool,
    /// Largest IP packet, bytes, unless the path specifies it (`mtu=`): a loopback device would carry
    /// datagrams that no real path carries.
    pub mtu: u16,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Index of the path in an experiment; see [`firstflight_path::random`].
    pub path_index: u64,
    /// Maximum number of concurrent clients. A client that has been silent for half a minute makes
    /// room for a new one; otherwise new clients are turned away.
    pub clients: usize,
    /// Whether the path has no random loss until [`Relay::begin`](super::Relay::begin), so that
    /// handshakes succeed.
    pub gentle_start: bool,
}

impl RelayOptions {
    /// From `listen` to `to` with an MTU of 1500 and at most 1024 clients.
    pub const fn new(listen: SocketAddr, to: SocketAddr) -> RelayOptions {
        RelayOptions {
            listen,
            to,
            uploads: false,
            mtu: 1500,
            seed: 1,
            path_index: 0,
            clients: 1024,
            gentle_start: false,
        }
    }
}

/// The two directions at time zero.
pub(super) fn wires(path: &Path, options: &RelayOptions) -> Result<(Wire, Wire), Error> {
    let (forward, reverse) =
        path.open(u32::from(options.mtu), ACK, options.seed, options.path_index)?;
    Ok((Wire::forward(forward), Wire::reverse(reverse, path.up_effects())?))
}
