//! State that the connections of a server share, and the server's record of each.

use crate::limits::{Gate, Limits};
use crate::metrics::{Counted, Meter, Metrics, Sent};
use crate::tls::Certificate;
use firstflight::arm::Arm;
use firstflight::resume::unsaved;
use firstflight_quic::noq::{self as controller, Choice};
use firstflight_quic::resume::Memory;
use firstflight_quic::trial::Trial;
use firstflight_quic::{Plan, SharedRecorder, Status};
use noq::{PathId, ServerConfig};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An observer of every response, such as a trial. Called from within tasks, so it must be quick.
pub trait Watch: std::fmt::Debug + Send + Sync {
    /// The first byte of a response is about to be written.
    fn begins(&self);
    /// The response has ended; if `complete`, all of it was acknowledged.
    fn ends(&self, complete: bool, status: Option<Status>);
}

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Addresses to listen at; port 0 selects a free port, the same for all of them. If there are
    /// several, those that this machine does not have are left out.
    pub listen: Vec<SocketAddr>,
    /// The arm to send with.
    pub plan: Plan,
    /// Whether a client may choose another arm with the header field [`crate::ARM`] of its first
    /// request.
    pub choice: bool,
    /// A folder whose files are served.
    pub folder: Option<PathBuf>,
    /// Whether to serve also files and folders whose names start with a dot.
    pub hidden: bool,
    /// Certificate of the server.
    pub certificate: Certificate,
    /// The server's counters; several servers may share them.
    pub meter: Meter,
    /// Limits.
    pub limits: Limits,
    /// UDP payload of its largest packets, from the first one on, bytes; `None` starts with 1200
    /// and probes for more.
    pub datagram: Option<u16>,
    /// Time zero of its controllers.
    pub origin: Instant,
    /// Recorder of the events of every controller.
    pub recorder: Option<SharedRecorder>,
    /// Observer of every response.
    pub watch: Option<Arc<dyn Watch>>,
    /// Saved path state by client, with which its next connection starts if the arm is `careful`.
    pub resume: Option<Memory>,
    /// A trial that draws the arm of each connection instead of using `plan`, and writes a row for
    /// each.
    pub trial: Option<Trial>,
}

impl ServerOptions {
    /// A server that sends with `plan`, with a throw-away certificate for `localhost` and no
    /// folder.
    pub fn new(listen: &[SocketAddr], plan: Plan) -> ServerOptions {
        let names = vec!["localhost".into(), "127.0.0.1".into(), "::1".into()];
        ServerOptions {
            listen: listen.to_vec(),
            plan,
            choice: false,
            folder: None,
            hidden: false,
            certificate: Certificate::ThrowAway(names),
            meter: Meter::default(),
            limits: Limits::default(),
            datagram: None,
            origin: Instant::now(),
            recorder: None,
            watch: None,
            resume: None,
            trial: None,
        }
    }
}

/// State shared by all connections.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: ServerOptions,
    /// The folder's real path, without links.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) config: ServerConfig,
    /// Name of the server's default arm.
    pub(crate) arm: Arc<str>,
    pub(crate) open: Mutex<Open>,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// The open connections, and the memory share of each.
#[derive(Debug, Default)]
pub(crate) struct Open {
    pub(crate) connections: HashMap<usize, Arc<Peer>>,
    pub(crate) share: u64,
}

impl Shared {
    pub(crate) fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, number: usize, peer: Arc<Peer>) {
        let mut open = self.open();
        open.connections.insert(number, peer);
        self.apportion(&mut open);
    }

    pub(crate) fn leave(&self, number: usize) {
        let mut open = self.open();
        open.connections.remove(&number);
        self.apportion(&mut open);
    }

    /// Divides the memory for retransmissions anew when the share changes.
    fn apportion(&self, open: &mut Open) {
        let share = self.options.limits.share(open.connections.len());
        if share != open.share {
            open.share = share;
            for peer in open.connections.values() {
                peer.quic.set_send_window(share);
            }
        }
    }

    /// Adds a connection's activity since the last call to the metrics.
    pub(crate) fn count(&self, peer: &Peer) {
        let stats = peer.quic.path_stats(PathId::ZERO);
        let mut counted = peer.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stats) = stats {
            let now = Sent {
                packets: stats.sent_packets,
                packets_lost: stats.lost_packets,
                bytes: stats.udp_tx.bytes,
                bytes_lost: stats.lost_bytes,
                spurious: stats.spurious_congestion_events,
            };
            self.metrics.sent(counted.0, now);
            counted.0 = now;
        }
        if let Some(status) = peer.controller().filter(|status| status.exit.is_some() && !counted.1)
        {
            self.metrics.exited(&self.label(&status), &status);
            counted.1 = true;
        }
    }

    /// An arm's name for metrics. All arms chosen by clients have one common name; otherwise
    /// clients could create any number of names. The same holds for saved path state, which should
    /// not be published either.
    pub(crate) fn label(&self, status: &Status) -> Arc<str> {
        let arm = self.asked_for(status);
        if arm == self.options.plan.arm { Arc::clone(&self.arm) } else { "chosen".into() }
    }

    /// The requested arm, without the saved state of the client's earlier connection.
    pub(crate) fn asked_for(&self, status: &Status) -> Arm {
        if self.options.resume.is_some() { unsaved(status.arm) } else { status.arm }
    }
}

impl Counted for Shared {
    fn count_open(&self) {
        let peers: Vec<Arc<Peer>> = self.open().connections.values().cloned().collect();
        for peer in peers {
            self.count(&peer);
        }
    }
}

/// The client of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) quic: noq::Connection,
    pub(crate) address: SocketAddr,
    pub(crate) choice: Choice,
    /// Whether it has made a request.
    pub(crate) asked: AtomicBool,
    /// The counts already added to the metrics, and whether the startup's exit is included.
    pub(crate) counted: Mutex<(Sent, bool)>,
}

impl Peer {
    /// The status that the controller reports.
    pub(crate) fn controller(&self) -> Option<Status> {
        controller::status(self.quic.congestion_state(PathId::ZERO)?.as_ref())
    }

    /// Whether this is its first request.
    pub(crate) fn first(&self) -> bool {
        !self.asked.swap(true, Ordering::Relaxed)
    }
}
