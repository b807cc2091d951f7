//! An emulated link: two namespaces, a TUN device in each, and one thread between them.
//!
//! Sender and receiver are ordinary processes in ordinary namespaces, and their packets are real.
//! The thread reads each packet, asks the path for its fate, and writes it to the other side at the
//! resulting time. It runs at real-time priority and sleeps to the nanosecond, so that at rates up
//! to about 1 Gbit/s packets leave within tens of microseconds of their time; [`Report::doubts`]
//! reports when they did not.

pub(crate) mod engine;
pub(crate) mod packet;
mod report;
mod sights;
#[cfg(test)]
mod tests;
pub(crate) mod wire;

pub use report::{Report, Tally};
pub use sights::{Place, Sight};

use crate::namespace::Namespace;
use crate::tun::{Tun, transmitted};
use engine::{Ends, Engine};
use firstflight_path::Error;
use firstflight_path::Path;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use wire::Wire;

/// IP bytes of an acknowledgement with timestamps: the return path's part of the idle RTT.
const ACK: u32 = 52;
/// Addresses of sender and receiver, which exist only in the two namespaces.
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const PREFIX: u32 = 30;

/// Options in addition to the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// Largest IP packet, bytes, unless the path specifies it (`mtu=`).
    pub mtu: u16,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Index of the path in an experiment; see [`firstflight_path::random`].
    pub path_index: u64,
    /// Record the head of every TCP segment at both ends, for a trace.
    pub witness: bool,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions { mtu: 1500, seed: 1, path_index: 0, witness: false }
    }
}

/// A running link. Dropping it ends it; [`LinkEmulator::stop`] also returns its report.
#[derive(Debug)]
pub struct LinkEmulator {
    sender: Namespace,
    receiver: Namespace,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Report>>,
}

/// Refuses a path that describes a receiver, because the receiver is not ours.
pub(crate) fn refuse_receiver(path: &Path) -> Result<(), Error> {
    if path.hello().is_some() {
        return Err(Error::new(format!(
            "`{path}`: `hello=` is for the simulator's hosts; behind an emulated link, hosts have handshakes of their own"
        )));
    }
    match path.acks() {
        Some(_) => Err(Error::new(format!(
            "`{path}`: `ack=` is for the simulator's receiver; behind an emulated link, the hosts decide when to acknowledge (Linux: `ip route ... quickack 1`)"
        ))),
        None => Ok(()),
    }
}

/// Refuses a path that describes the receiver's buffer, for programs that set their own.
pub(crate) fn refuse_window(path: &Path) -> Result<(), Error> {
    match path.rwnd() {
        Some(_) => Err(Error::new(format!(
            "`{path}`: `rwnd=` and `read=` are for receivers of ours; behind an emulated link, the program sets its window (Linux: `sysctl net.ipv4.tcp_rmem`)"
        ))),
        None => Ok(()),
    }
}

impl LinkEmulator {
    /// Creates the namespaces and devices and starts the link, idle, at the path's time zero.
    ///
    /// # Errors
    /// If privilege or a device is missing, or the path cannot carry packets of this size.
    pub fn start(path: &Path, options: LinkOptions) -> Result<LinkEmulator, Error> {
        let mtu = path.mtu().map_or(options.mtu, |mtu| mtu as u16);
        if mtu < 576 {
            return Err(Error::new(format!(
                "mtu={mtu}: a link carries packets of at least 576 bytes"
            )));
        }
        refuse_receiver(path)?;
        let (forward, reverse) =
            path.open(u32::from(mtu), ACK, options.seed, options.path_index)?;
        let wires = (Wire::forward(forward), Wire::reverse(reverse, path.up_effects())?);
        let end = |address| {
            Namespace::create(address, move || Tun::create(address, PREFIX, u32::from(mtu)))
        };
        let ((sender, near), (receiver, far)) = (end(SENDER)?, end(RECEIVER)?);
        let stop = Arc::new(AtomicBool::new(false));
        let engine = Engine::new(Ends { near, far }, wires, usize::from(mtu), Arc::clone(&stop))
            .witnessed(options.witness);
        let thread = thread::Builder::new()
            .name("link".into())
            .spawn(move || engine.run())
            .map_err(|error| Error::new(format!("a thread for the link: {error}")))?;
        Ok(LinkEmulator { sender, receiver, stop, thread: Some(thread) })
    }

    /// The sending end, where the forward direction starts.
    pub fn sender(&self) -> &Namespace {
        &self.sender
    }

    /// The receiving end, where the forward direction leads.
    pub fn receiver(&self) -> &Namespace {
        &self.receiver
    }

    /// Ends the link. Packets in transit are lost; end the programs that use it first.
    ///
    /// # Panics
    /// If the link's thread panicked.
    pub fn stop(mut self) -> Report {
        // The devices count until they vanish, and only their own namespace can read the counters.
        let sender = self.sender.run(transmitted).ok().flatten();
        let receiver = self.receiver.run(transmitted).ok().flatten();
        self.stop.store(true, Ordering::Relaxed);
        let mut report = match self.thread.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Report::default(),
        };
        (report.forward.device, report.reverse.device) = (sender, receiver);
        report
    }
}

impl Drop for LinkEmulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
