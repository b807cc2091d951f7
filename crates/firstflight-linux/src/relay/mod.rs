//! A relay for UDP: clients use it as if it were the server, and each datagram gets the fate that a
//! path decides, in real time.
//!
//! Needs no privilege and creates only sockets. It is the same state machine as the TUN
//! [`link`](crate::link), except that it sees only the content of the packets. IP and UDP headers
//! are counted, and the ECN field is carried across in both directions, so that a path that marks
//! can do so.
//!
//! There is one path, shared by any number of clients: each client has its own socket towards the
//! server.

mod engine;
mod options;
mod report;
mod socket;
#[cfg(test)]
mod tests;

use crate::link::{refuse_receiver, refuse_window};
use engine::Engine;
use firstflight_path::Error;
use firstflight_path::Path;
use options::wires;
pub use options::{ACK, RelayOptions};
pub use report::RelayReport;
use socket::Socket;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A running relay. Dropping it ends it; [`Relay::stop`] also returns its report.
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
        let mtu = path.mtu().map_or(options.mtu, |mtu| mtu as u16);
        let options = RelayOptions { mtu, ..options };
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
        refuse_window(path)?;
        // If it fails, it must fail now and not at a restart.
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

    /// The address that clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Restarts the path at its time zero with its first draws, and resets the report. Datagrams in
    /// transit still arrive. For trials that count from their first byte and not from a handshake.
    pub fn begin(&self) {
        self.begin.store(true, Ordering::Release);
    }

    /// A handle that can only call [`Relay::begin`] and cannot stop the relay.
    pub fn beginner(&self) -> impl Fn() + Send + Sync + 'static {
        let begin = Arc::clone(&self.begin);
        move || begin.store(true, Ordering::Release)
    }

    /// Ends the relay. Datagrams in transit are lost.
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
