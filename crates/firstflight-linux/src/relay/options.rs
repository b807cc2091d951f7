//! What may be chosen of a relay, and the path as it is chosen.

use crate::link::wire::Wire;
use firstflight_path::Error;
use firstflight_path::Path;
use std::net::SocketAddr;

/// IP bytes of a packet that carries nothing but a QUIC ACK: what the idle RTT includes of the way
/// back.
pub const ACK: u32 = 64;

/// Options besides the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayOptions {
    /// Where clients send to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server.
    pub to: SocketAddr,
    /// The path's forward direction leads to the server instead of from it.
    pub uploads: bool,
    /// Largest IP packet, bytes: a loopback device would carry datagrams that no real path
    /// carries.
    pub mtu: u16,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Number of the path among those of an experiment; see [`firstflight_path::random`].
    pub path_index: u64,
    /// Clients at a time. A client that was silent for half a minute makes room for a new one,
    /// others are turned away.
    pub clients: usize,
    /// Until [`Relay::begin`](super::Relay::begin) the path loses nothing by chance: handshakes pass.
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
    Ok((Wire::forward(forward, path.effects()), Wire::reverse(reverse, path.up_effects())?))
}
