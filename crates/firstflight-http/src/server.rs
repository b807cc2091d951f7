//! The server: admission of clients, the life of a connection, and shutdown.

use super::limits::{Admission, CONTROL, FIELDS, Gate, ONE_WAY, Place, RECEIVE, REQUEST};
use super::metrics::{Counted, Sent};
use super::over_noq::binding::Connection;
use super::respond::{Responder, answer};
use super::shared::{Open, Peer, ServerOptions, Shared};
use super::sockets::bind_all;
use super::streams::{Allowance, Finish};
use super::tls::identity;
use bytes::Bytes;
use firstflight_path::Error;
use firstflight_quic::noq::{Choice, Factory};
use noq::congestion::ControllerFactory;
use noq::crypto::rustls::QuicServerConfig;
use noq::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, PathId, ServerConfig, TransportConfig, VarInt,
};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Longest time that a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Interval at which the state of absent clients is dropped.
const TIDY: Duration = Duration::from_secs(10);
/// Requested socket buffer, bytes; the system may grant less.
const BUFFER: usize = 4 << 20;
/// Handshakes that may wait for processing, and bytes kept of each.
const WAITING: (usize, u64) = (1 << 10, 8 << 10);

/// Outcome of a server's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every response that had started was finished.
    Drained,
    /// This many connections were cut off when time was up.
    CutOff(usize),
}

/// A listening server.
#[derive(Debug)]
pub struct Server {
    /// One for each address.
    endpoints: Vec<Endpoint>,
    shared: Arc<Shared>,
    pin: String,
    addresses: Vec<SocketAddr>,
}

impl Server {
    /// Listens. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If an address is taken, or the certificate or the folder cannot be used.
    pub fn bind(options: ServerOptions) -> Result<Server, Error> {
        let folder = match &options.folder {
            Some(folder) => {
                let refused = |error| Error::new(format!("{}: {error}", folder.display()));
                let real = folder.canonicalize().map_err(refused)?;
                if !real.is_dir() {
                    return Err(Error::new(format!("{}: is not a folder", folder.display())));
                }
                Some(real)
            }
            None => None,
        };
        let identity = identity(&options.certificate)?;
        let crypto = QuicServerConfig::try_from(identity.config)
            .map_err(|error| Error::new(format!("TLS: {error}")))?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config
            .max_incoming(WAITING.0)
            .incoming_buffer_size(WAITING.1)
            .incoming_buffer_size_total(WAITING.0 as u64 * WAITING.1);
        let mut endpoints = Vec::new();
        let mut addresses = Vec::new();
        for (socket, address) in bind_all(&options.listen, socket2::Type::DGRAM)? {
            endpoints.push(endpoint(socket, address, config.clone())?);
            addresses.push(address);
        }
        let shared = Shared {
            folder,
            metrics: Arc::clone(&options.meter.0),
            gate: Arc::new(Gate::new(options.limits)),
            config,
            arm: match &options.trial {
                Some(_) => "trial".into(),
                None => options.plan.arm.to_string().into(),
            },
            open: Mutex::new(Open { share: options.limits.share(1), ..Open::default() }),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            options,
        };
        let shared = Arc::new(shared);
        let counted: Arc<dyn Counted> = Arc::<Shared>::clone(&shared);
        shared.metrics.watch(Arc::downgrade(&counted));
        Ok(Server { endpoints, shared, pin: identity.pin, addresses })
    }

    /// Its addresses; never empty.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The first address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The hash of its public key, by which a client can identify it: base64 of the SHA-256 of the
    /// certificate's SubjectPublicKeyInfo.
    pub fn pin(&self) -> &str {
        &self.pin
    }

    /// Serves until `stop` resolves. Then it accepts no new connections and no new requests and
    /// finishes the responses that have started. It polls `enough` from then on; when `enough`
    /// resolves, the rest is cut off.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        enough: impl Future<Output = ()>,
    ) -> Ended {
        let Server { endpoints, shared, .. } = self;
        {
            let mut accepting = JoinSet::new();
            for endpoint in &endpoints {
                accepting.spawn(Arc::clone(&shared).accept(endpoint.clone()));
            }
            let mut stop = std::pin::pin!(stop);
            let mut tidy = tokio::time::interval(TIDY);
            loop {
                tokio::select! {
                    () = &mut stop => break,
                    _ = tidy.tick() => shared.gate.tidy(),
                }
            }
            accepting.shutdown().await;
        }
        for endpoint in &endpoints {
            endpoint.set_server_config(None);
        }
        shared.stop.cancel();
        shared.tasks.close();
        let ended = tokio::select! {
            () = shared.tasks.wait() => Ended::Drained,
            () = enough => Ended::CutOff(shared.open().connections.len()),
        };
        for endpoint in &endpoints {
            endpoint.close(VarInt::from_u32(NO_ERROR), b"the server ends");
        }
        // Until every peer has been informed, but not for ever.
        let told = async {
            for endpoint in &endpoints {
                endpoint.wait_idle().await;
            }
        };
        let _ = timeout(Duration::from_secs(3), told).await;
        ended
    }
}

/// H3_NO_ERROR, RFC 9114 section 8.1.
const NO_ERROR: u32 = 0x100;

fn endpoint(
    socket: socket2::Socket,
    address: SocketAddr,
    config: ServerConfig,
) -> Result<Endpoint, Error> {
    let refused = |error| Error::new(format!("{address}: {error}"));
    // A smaller buffer is not an error: more packets are then lost when the machine is busy.
    let _ = socket.set_recv_buffer_size(BUFFER);
    let _ = socket.set_send_buffer_size(BUFFER);
    let runtime =
        noq::default_runtime().ok_or_else(|| Error::new("a server needs a tokio runtime"))?;
    Endpoint::new(EndpointConfig::default(), Some(config), socket.into(), runtime).map_err(refused)
}

impl Shared {
    /// Accepts connections at one address until it is aborted.
    async fn accept(self: Arc<Self>, endpoint: Endpoint) {
        while let Some(incoming) = endpoint.accept().await {
            self.take(incoming);
        }
    }

    /// Admits or refuses a new connection.
    fn take(self: &Arc<Self>, incoming: Incoming) {
        let proven = incoming.remote_address_validated() || !incoming.may_retry();
        match self.gate.admit(incoming.remote_address().ip(), proven) {
            Admission::In(place) => {
                let shared = Arc::clone(self);
                self.tasks.spawn(async move { shared.serve(incoming, place).await });
            }
            Admission::Prove => {
                self.metrics.connection("retried");
                // Fails only for clients that may not be asked again, and those do not get here.
                let _ = incoming.retry();
            }
            Admission::Out => {
                self.metrics.connection("refused");
                incoming.refuse();
            }
        }
    }

    /// The configuration of one connection, with its own controller, so that it can have its own
    /// arm.
    fn config(&self, client: IpAddr, choice: &Choice) -> ServerConfig {
        let mut factory = Factory::new(self.options.plan).with_origin(self.options.origin);
        if self.options.choice {
            factory = factory.with_choice(choice.clone());
        }
        if let Some(recorder) = &self.options.recorder {
            factory = factory.with_recorder(Arc::clone(recorder));
        }
        if let Some(memory) = &self.options.resume {
            factory = factory.with_resume(memory, client);
        }
        let factory: Arc<dyn ControllerFactory + Send + Sync> = match &self.options.trial {
            // The trial decides whether the arm is drawn per client.
            Some(trial) => trial.noq_for(client),
            None => Arc::new(factory),
        };
        let limits = &self.options.limits;
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(factory)
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

    /// Serves a connection from its first packet to its last.
    async fn serve(self: Arc<Self>, incoming: Incoming, place: Place) {
        let choice = Choice::default();
        let remote = incoming.remote_address();
        let client = remote.ip();
        let accepted = incoming.accept_with(Arc::new(self.config(client, &choice)));
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
                .unwrap_or(remote),
            choice,
            asked: AtomicBool::new(false),
            counted: Mutex::new((Sent::default(), false)),
        });
        if peer.controller().is_some_and(|status| self.asked_for(&status) != status.arm) {
            self.metrics.connection("resumed");
        }
        self.enter(number, Arc::clone(&peer));
        self.speak(&quic, &peer).await;
        quic.close(VarInt::from_u32(NO_ERROR), b"");
        self.count(&peer);
        self.leave(number);
        self.metrics.open.dec();
        drop(place);
    }

    /// Runs HTTP/3 with one peer until either end closes.
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
                // Responses that have started are finished. A peer may stay connected for as long
                // as it likes, but the server does not wait for it.
                () = responses.wait(), if stopping => break,
            };
            match next {
                Ok(Ok(Some(resolver))) => {
                    let responder = Responder { shared: Arc::clone(self), peer: Arc::clone(peer) };
                    responses.spawn(answer(responder, resolver));
                }
                // No new request: acceptable as long as a response is in progress.
                Err(_) if !responses.is_empty() => {}
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        responses.close();
        if quic.close_reason().is_none() {
            responses.wait().await;
        }
    }
}
