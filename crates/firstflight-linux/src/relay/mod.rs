//! A relay for UDP: clients talk to it as if it were the server, and each datagram gets the fate
//! that a path decides, in real time.
//!
//! Needs no privilege and makes nothing but sockets. It is the same state machine as the TUN
//! [`link`](crate::link), with one difference: the packets are not there, only what was inside
//! them. IP and UDP headers are counted and the ECN field is carried across in both directions, so
//! that a path which marks can mark.
//!
//! One path, and any number of clients that share it: each client has a socket of its own towards
//! the server.

mod engine;
mod socket;
#[cfg(test)]
mod tests;

use crate::link::wire::Wire;
use crate::link::{Report, refuse_receiver};
use engine::Engine;
use firstflight_path::Error;
use firstflight_path::Path;
use socket::Socket;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// IP bytes of a packet that carries nothing but a QUIC ACK: what the idle RTT includes of the way
/// back.
pub const ACK: u32 = 64;

/// What may be chosen beside the path.
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
    /// Until [`Relay::begin`] the path loses nothing by chance: handshakes pass.
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

/// A running relay. Dropping it ends it; [`Relay::stop`] also says what it did.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    begin: Arc<AtomicBool>,
    thread: Option<JoinHandle<RelayReport>>,
}

impl Relay {
    /// Opens the sockets and starts relaying; the path's time zero is now.
    ///
    /// # Errors
    /// If an address cannot be used, or the path cannot carry packets of this size.
    pub fn start(path: &Path, options: RelayOptions) -> Result<Relay, Error> {
        if options.mtu < 576 {
            return Err(Error::new(format!(
                "mtu={}: a link carries packets of at least 576 bytes",
                options.mtu
            )));
        }
        if options.listen.is_ipv4() != options.to.is_ipv4() {
            return Err(Error::new(format!(
                "{} and {}: one is IPv4 and one is IPv6",
                options.listen, options.to
            )));
        }
        refuse_receiver(path)?;
        // Refused now if at all, and not when it begins anew.
        let mut wires = wires(path, &options)?;
        if options.gentle_start {
            wires = self::wires(&path.clone().with_loss_ppb(0).with_up_loss_ppb(0), &options)?;
        }
        let front = Socket::bind(options.listen)
            .map_err(|error| Error::new(format!("{}: {error}", options.listen)))?;
        let address = front
            .local_addr()
            .map_err(|error| Error::new(format!("{}: {error}", options.listen)))?;
        let (stop, begin) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let engine = Engine::new(
            front,
            path.clone(),
            options,
            wires,
            (Arc::clone(&stop), Arc::clone(&begin)),
        )?;
        let thread = thread::Builder::new()
            .name("relay".into())
            .spawn(move || engine.run())
            .map_err(|error| Error::new(format!("a thread for the relay: {error}")))?;
        Ok(Relay { address, stop, begin, thread: Some(thread) })
    }

    /// Where clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The path begins anew, at its time zero with its first draws, and so does the report. What is
    /// on its way still arrives. For trials that count from their first byte and not from a
    /// handshake.
    pub fn begin(&self) {
        self.begin.store(true, Ordering::Release);
    }

    /// What [`Relay::begin`] does, for whoever shall not stop the relay.
    pub fn beginner(&self) -> impl Fn() + Send + Sync + 'static {
        let begin = Arc::clone(&self.begin);
        move || begin.store(true, Ordering::Release)
    }

    /// Ends the relay. What was still under way is lost.
    ///
    /// # Panics
    /// If the relay's thread panicked.
    pub fn stop(mut self) -> RelayReport {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => RelayReport::default(),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The two directions at time zero.
fn wires(path: &Path, options: &RelayOptions) -> Result<(Wire, Wire), Error> {
    let (forward, reverse) =
        path.open(u32::from(options.mtu), ACK, options.seed, options.path_index)?;
    Ok((Wire::forward(forward, path.effects()), Wire::reverse(reverse, path.up_effects())?))
}

/// What a relay did.
#[derive(Clone, Debug, Default)]
pub struct RelayReport {
    /// The path, as a link reports it; bytes are those of IP packets.
    pub link: Report,
    /// Clients that were relayed.
    pub clients: u64,
    /// Datagrams of clients for which there was no room.
    pub turned_away: u64,
    /// Datagrams larger than the path carries.
    pub too_long: u64,
    /// Bytes that the system grants each socket for datagrams not yet read.
    pub buffer: usize,
}

impl RelayReport {
    /// Why the timing of this run should not be trusted, if it should not.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = self.link.doubts();
        if self.turned_away > 0 {
            doubts.push(format!(
                "{} datagrams came from more clients than there was room for",
                self.turned_away
            ));
        }
        if self.buffer < MODEST_BUFFER {
            doubts.push(format!(
                "a socket buffer of {} kB, all that the system grants, may overflow unseen: raise net.core.rmem_max",
                self.buffer / 1000
            ));
        }
        doubts
    }
}

/// Five milliseconds at 1 Gbit/s.
const MODEST_BUFFER: usize = 625_000;

impl fmt::Display for RelayReport {
    /// A line for each direction and one for the clients.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}clients: {}", self.link, self.clients)?;
        if self.turned_away > 0 {
            write!(f, ", datagrams of others turned away: {}", self.turned_away)?;
        }
        if self.too_long > 0 {
            write!(f, "; larger than the path carries: {}", self.too_long)?;
        }
        writeln!(f)
    }
}
