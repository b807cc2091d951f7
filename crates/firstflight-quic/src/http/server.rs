//! The server: who gets in, what becomes of a connection, and how everything ends.

use super::limits::{Admission, CONTROL, FIELDS, Gate, Limits, ONE_WAY, Place, RECEIVE, REQUEST};
use super::metrics::{Meter, Metrics, Sent};
use super::over_noq::binding::Connection;
use super::respond::{Responder, answer};
use super::streams::{Allowance, Finish};
use super::tls::{Certificate, identity};
use crate::driver::Account;
use crate::noq::{Choice, Factory, account};
use crate::plan::{Plan, Refused};
use crate::tap::Tap;
use bytes::Bytes;
use noq::crypto::rustls::QuicServerConfig;
use noq::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, PathId, ServerConfig, TransportConfig, VarInt,
};
use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The longest a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How often who was here is forgotten.
const TIDY: Duration = Duration::from_secs(10);
/// Socket buffer that is asked for, bytes; the system may grant less.
const BUFFER: usize = 4 << 20;
/// Handshakes that may wait to be looked at, and bytes of each that are kept.
const WAITING: (usize, u64) = (1 << 10, 8 << 10);

/// Somebody who follows every response, such as a trial. Called from within tasks: must be quick.
pub trait Watch: std::fmt::Debug + Send + Sync {
    /// The first byte of a response is about to be written.
    fn begins(&self);
    /// The response has ended; if `complete`, all of it was acknowledged.
    fn ends(&self, complete: bool, account: Option<Account>);
}

/// What a server is made of.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The arm that it sends with.
    pub plan: Plan,
    /// A client may choose another one with the header field [`super::ARM`] of its first request.
    pub choice: bool,
    /// A folder whose files are served.
    pub folder: Option<PathBuf>,
    /// Also its files and folders whose names begin with a dot.
    pub hidden: bool,
    /// Who it says it is.
    pub certificate: Certificate,
    /// Where it counts what it does; several servers may share one.
    pub meter: Meter,
    /// What it does not do.
    pub limits: Limits,
    /// UDP payload of its largest packets from the first one on, bytes; `None` begins with 1200
    /// and looks for more.
    pub datagram: Option<u16>,
    /// What its controllers' times count from.
    pub origin: Instant,
    /// What hears every event of every controller.
    pub tap: Option<Arc<dyn Tap>>,
    /// Who follows every response.
    pub watch: Option<Arc<dyn Watch>>,
}

impl ServerOptions {
    /// A server that sends with `plan`, a throw-away certificate for `localhost`, no folder.
    pub fn new(listen: SocketAddr, plan: Plan) -> ServerOptions {
        let names = vec!["localhost".into(), "127.0.0.1".into(), "::1".into()];
        ServerOptions {
            listen,
            plan,
            choice: false,
            folder: None,
            hidden: false,
            certificate: Certificate::ThrowAway(names),
            meter: Meter::default(),
            limits: Limits::default(),
            datagram: None,
            origin: Instant::now(),
            tap: None,
            watch: None,
        }
    }
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every response that was begun was finished.
    Drained,
    /// So many connections were cut off when time was up.
    CutOff(usize),
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    shared: Arc<Shared>,
    pin: String,
    address: SocketAddr,
}

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: ServerOptions,
    /// The folder as the system knows it, without links.
    pub(super) folder: Option<PathBuf>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) gate: Arc<Gate>,
    config: ServerConfig,
    /// Name of the listener's arm.
    pub(super) arm: Arc<str>,
    open: Mutex<Open>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// The connections that are open, and what each may keep.
#[derive(Debug, Default)]
struct Open {
    connections: HashMap<usize, Arc<Peer>>,
    share: u64,
}

impl Server {
    /// Listens. To be called within a tokio runtime.
    ///
    /// # Errors
    /// If an address is taken, or the certificate or the folder cannot be used.
    pub fn bind(options: ServerOptions) -> Result<Server, Refused> {
        let folder = match &options.folder {
            Some(folder) => {
                let refused = |error| Refused(format!("{}: {error}", folder.display()));
                let real = folder.canonicalize().map_err(refused)?;
                if !real.is_dir() {
                    return Err(Refused(format!("{}: is not a folder", folder.display())));
                }
                Some(real)
            }
            None => None,
        };
        let identity = identity(&options.certificate)?;
        let crypto = QuicServerConfig::try_from(identity.config)
            .map_err(|error| Refused(format!("TLS: {error}")))?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config
            .max_incoming(WAITING.0)
            .incoming_buffer_size(WAITING.1)
            .incoming_buffer_size_total(WAITING.0 as u64 * WAITING.1);
        let endpoint = endpoint(options.listen, config.clone())?;
        let address = endpoint
            .local_addr()
            .map_err(|error| Refused(format!("{}: {error}", options.listen)))?;
        let shared = Shared {
            folder,
            metrics: Arc::clone(&options.meter.0),
            gate: Arc::new(Gate::new(options.limits)),
            config,
            arm: options.plan.arm.to_string().into(),
            open: Mutex::new(Open { share: options.limits.share(1), ..Open::default() }),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            options,
        };
        let shared = Arc::new(shared);
        shared.metrics.watch(&shared);
        Ok(Server { endpoint, shared, pin: identity.pin, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The hash of its public key, by which a client can know it: base64 of the SHA-256 of the
    /// certificate's SubjectPublicKeyInfo.
    pub fn pin(&self) -> &str {
        &self.pin
    }

    /// Serves until `stop` resolves, then takes no new connections and no new requests and finishes
    /// what was begun, until `enough`, which is asked from then on, resolves: what is left is
    /// cut off.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        enough: impl Future<Output = ()>,
    ) -> Ended {
        let Server { endpoint, shared, .. } = self;
        {
            let mut stop = std::pin::pin!(stop);
            let mut tidy = tokio::time::interval(TIDY);
            loop {
                tokio::select! {
                    () = &mut stop => break,
                    _ = tidy.tick() => shared.gate.tidy(),
                    incoming = endpoint.accept() => match incoming {
                        Some(incoming) => shared.take(incoming),
                        None => return Ended::Drained,
                    },
                }
            }
        }
        endpoint.set_server_config(None);
        shared.stop.cancel();
        shared.tasks.close();
        let ended = tokio::select! {
            () = shared.tasks.wait() => Ended::Drained,
            () = enough => Ended::CutOff(shared.open().connections.len()),
        };
        endpoint.close(VarInt::from_u32(NO_ERROR), b"the server ends");
        // Until every peer has been told, but not for ever.
        let _ = timeout(Duration::from_secs(3), endpoint.wait_idle()).await;
        ended
    }
}

/// H3_NO_ERROR, RFC 9114 section 8.1.
const NO_ERROR: u32 = 0x100;

fn endpoint(listen: SocketAddr, config: ServerConfig) -> Result<Endpoint, Refused> {
    let refused = |error| Refused(format!("{listen}: {error}"));
    let socket =
        socket2::Socket::new(socket2::Domain::for_address(listen), socket2::Type::DGRAM, None)
            .map_err(refused)?;
    // Less is no failure: then more is lost when the machine is busy.
    let _ = socket.set_recv_buffer_size(BUFFER);
    let _ = socket.set_send_buffer_size(BUFFER);
    socket.bind(&listen.into()).map_err(refused)?;
    let runtime =
        noq::default_runtime().ok_or_else(|| Refused("a server needs a tokio runtime".into()))?;
    Endpoint::new(EndpointConfig::default(), Some(config), socket.into(), runtime).map_err(refused)
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody wants in.
    fn take(self: &Arc<Self>, incoming: Incoming) {
        let proven = incoming.remote_address_validated() || !incoming.may_retry();
        match self.gate.admit(incoming.remote_address().ip(), proven) {
            Admission::In(place) => {
                let shared = Arc::clone(self);
                self.tasks.spawn(async move { shared.serve(incoming, place).await });
            }
            Admission::Prove => {
                self.metrics.connection("retried");
                // Fails only for those that may not be asked again, which were not sent here.
                let _ = incoming.retry();
            }
            Admission::Out => {
                self.metrics.connection("refused");
                incoming.refuse();
            }
        }
    }

    /// The configuration of one connection: its own controller, so that it can have its own arm.
    fn config(&self, choice: &Choice) -> ServerConfig {
        let mut factory = Factory::new(self.options.plan).with_origin(self.options.origin);
        if self.options.choice {
            factory = factory.with_choice(choice.clone());
        }
        if let Some(tap) = &self.options.tap {
            factory = factory.with_tap(Arc::clone(tap));
        }
        let limits = &self.options.limits;
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(Arc::new(factory))
            .max_concurrent_bidi_streams(VarInt::from_u32(limits.requests))
            .max_concurrent_uni_streams(VarInt::from_u32(ONE_WAY))
            .receive_window(VarInt::from_u32(RECEIVE))
            .stream_receive_window(VarInt::from_u32(REQUEST as u32))
            .send_window(self.open().share)
            .datagram_receive_buffer_size(None)
            .max_idle_timeout(IdleTimeout::try_from(limits.patience).ok());
        if let Some(datagram) = self.options.datagram {
            transport.initial_mtu(datagram).mtu_discovery_config(None);
        }
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
        config
    }

    /// A connection, from its first packet to its last.
    async fn serve(self: Arc<Self>, incoming: Incoming, place: Place) {
        let choice = Choice::default();
        let accepted = incoming.accept_with(Arc::new(self.config(&choice)));
        let connection = match accepted {
            Ok(connecting) => timeout(HANDSHAKE, connecting).await.ok().and_then(Result::ok),
            Err(_) => None,
        };
        let Some(quic) = connection else { return self.metrics.connection("failed") };
        self.metrics.connection("accepted");
        self.metrics.open.inc();
        let number = quic.stable_id();
        let peer = Arc::new(Peer {
            quic: quic.clone(),
            address: quic
                .path(PathId::ZERO)
                .and_then(|path| path.remote_address().ok())
                .unwrap_or(self.options.listen),
            choice,
            asked: AtomicBool::new(false),
            counted: Mutex::new((Sent::default(), false)),
        });
        self.enter(number, Arc::clone(&peer));
        self.speak(&quic, &peer).await;
        quic.close(VarInt::from_u32(NO_ERROR), b"");
        self.count(&peer);
        self.leave(number);
        self.metrics.open.dec();
        drop(place);
    }

    /// HTTP/3 with one peer, until it or we have had enough.
    async fn speak(self: &Arc<Self>, quic: &noq::Connection, peer: &Arc<Peer>) {
        let binding = Connection::new(
            quic.clone(),
            Finish::Acknowledged,
            Allowance { request: REQUEST, control: CONTROL, push: false },
        );
        let mut settings = h3::server::builder();
        settings.max_field_section_size(FIELDS);
        let Ok(Ok(mut http)) = timeout(HANDSHAKE, settings.build::<_, Bytes>(binding)).await else {
            return;
        };
        let responses = TaskTracker::new();
        let mut stopping = false;
        loop {
            let next = tokio::select! {
                next = timeout(self.options.limits.patience, http.accept()) => next,
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    responses.close();
                    if http.shutdown(0).await.is_err() {
                        break;
                    }
                    continue;
                }
                // What was begun is finished; a peer may stay connected for as long as it likes, and is not waited for.
                () = responses.wait(), if stopping => break,
            };
            match next {
                Ok(Ok(Some(resolver))) => {
                    let responder = Responder { shared: Arc::clone(self), peer: Arc::clone(peer) };
                    responses.spawn(answer(responder, resolver));
                }
                // Nobody asks: fine as long as somebody is answered.
                Err(_) if !responses.is_empty() => {}
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        responses.close();
        if quic.close_reason().is_none() {
            responses.wait().await;
        }
    }

    fn enter(&self, number: usize, peer: Arc<Peer>) {
        let mut open = self.open();
        open.connections.insert(number, peer);
        self.apportion(&mut open);
    }

    fn leave(&self, number: usize) {
        let mut open = self.open();
        open.connections.remove(&number);
        self.apportion(&mut open);
    }

    /// The memory for repeats is divided anew when its shares change.
    fn apportion(&self, open: &mut Open) {
        let share = self.options.limits.share(open.connections.len());
        if share != open.share {
            open.share = share;
            for peer in open.connections.values() {
                peer.quic.set_send_window(share);
            }
        }
    }

    /// Adds what every open connection has done since the last time to the metrics.
    pub(super) fn count_open(&self) {
        let peers: Vec<Arc<Peer>> = self.open().connections.values().cloned().collect();
        for peer in peers {
            self.count(&peer);
        }
    }

    /// Adds what a connection has done since the last time to the metrics.
    pub(super) fn count(&self, peer: &Peer) {
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
        if let Some(account) = peer.account().filter(|account| account.exit.is_some() && !counted.1)
        {
            self.metrics.exited(&self.label(&account), &account);
            counted.1 = true;
        }
    }

    /// An arm's name for metrics. What clients chose is one name, or they could make as many as
    /// they like.
    pub(super) fn label(&self, account: &Account) -> Arc<str> {
        if account.arm == self.options.plan.arm { Arc::clone(&self.arm) } else { "chosen".into() }
    }
}

/// Who is at the other end.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) quic: noq::Connection,
    pub(super) address: SocketAddr,
    pub(super) choice: Choice,
    /// It has made a request.
    pub(super) asked: AtomicBool,
    /// What the metrics know, and whether they know how startup ended.
    counted: Mutex<(Sent, bool)>,
}

impl Peer {
    /// What the controller says of itself.
    pub(super) fn account(&self) -> Option<Account> {
        account(self.quic.congestion_state(PathId::ZERO)?.as_ref())
    }

    /// Whether this is its first request.
    pub(super) fn first(&self) -> bool {
        !self.asked.swap(true, Ordering::Relaxed)
    }
}
