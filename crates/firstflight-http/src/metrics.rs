//! Counters of a server for Prometheus, and the plain HTTP/1 listener that serves them.

use super::sockets::bind_all;
use firstflight_path::Error;
use firstflight_quic::Status as Controller;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::convert::Infallible;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Maximum number of concurrent readers of metrics; others wait.
const READERS: usize = 16;
/// Connections that may wait to be accepted.
const WAITING: i32 = 128;
/// Longest time that a reader may take to send its request.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Status {
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Arm {
    arm: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Exit {
    arm: Arc<str>,
    reason: &'static str,
}

#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    rows_waiting: Gauge,
    rows_lost: Gauge,
    connections: Family<Outcome, Counter>,
    pub(super) open: Gauge,
    requests: Family<Status, Counter>,
    aborted: Counter,
    exits: Family<Exit, Counter>,
    packets_sent: Counter,
    packets_lost: Counter,
    bytes_sent: Counter,
    bytes_lost: Counter,
    spurious: Counter,
    ttlb: Family<Arm, Histogram>,
    /// Servers that provide their newest counts.
    servers: Mutex<Vec<Weak<dyn Counted>>>,
}

/// A server that provides its newest counts when the metrics are read.
pub(super) trait Counted: std::fmt::Debug + Send + Sync {
    /// Adds the activity of every open connection since the last call.
    fn count_open(&self);
}

/// The counted packets and bytes of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) packets: u64,
    pub(super) packets_lost: u64,
    pub(super) bytes: u64,
    pub(super) bytes_lost: u64,
    pub(super) spurious: u64,
}

/// Buckets from a millisecond to a little over two minutes, each 1.5 times the previous one.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 1.5, 30))
}

impl Metrics {
    pub(super) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("firstflight");
        let connections = Family::<Outcome, Counter>::default();
        registry.register("connections", "Connections by outcome", connections.clone());
        let open = Gauge::default();
        registry.register("connections_open", "Connections open now", open.clone());
        let requests = Family::<Status, Counter>::default();
        registry.register("responses", "Responses by status", requests.clone());
        let aborted = Counter::default();
        registry.register(
            "responses_aborted",
            "Responses that were started but not fully acknowledged",
            aborted.clone(),
        );
        let exits = Family::<Exit, Counter>::default();
        registry.register(
            "startup_exits",
            "Connections whose startup has ended, by arm and reason",
            exits.clone(),
        );
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let packets_sent = counter("packets_sent", "QUIC packets sent");
        let packets_lost = counter("packets_lost", "QUIC packets declared lost");
        let bytes_sent = counter("bytes_sent", "UDP payload bytes sent");
        let bytes_lost = counter("bytes_lost", "UDP payload bytes declared lost");
        let spurious = counter("spurious_congestion_events", "Loss episodes that were undone");
        let ttlb = Family::<Arm, Histogram>::new_with_constructor(durations);
        let help = "From the first byte of a response until all of it was acknowledged, by arm";
        registry.register_with_unit("time_to_last_byte", help, Unit::Seconds, ttlb.clone());
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let rows_waiting =
            gauge("trial_rows_waiting", "Rows of a trial that wait until their file takes them");
        let rows_lost = gauge("trial_rows_lost", "Rows of a trial that could not be written");
        Metrics {
            registry,
            rows_waiting,
            rows_lost,
            connections,
            open,
            requests,
            aborted,
            exits,
            packets_sent,
            packets_lost,
            bytes_sent,
            bytes_lost,
            spurious,
            ttlb,
            servers: Mutex::default(),
        }
    }

    pub(super) fn connection(&self, outcome: &'static str) {
        self.connections.get_or_create(&Outcome { outcome }).inc();
    }

    pub(super) fn responded(&self, status: StatusCode) {
        self.requests.get_or_create(&Status { status: status.as_u16() }).inc();
    }

    pub(super) fn aborted(&self) {
        self.aborted.inc();
    }

    pub(super) fn completed(&self, arm: &Arc<str>, after: Duration) {
        self.ttlb.get_or_create(&Arm { arm: Arc::clone(arm) }).observe(after.as_secs_f64());
    }

    pub(super) fn exited(&self, arm: &Arc<str>, controller: &Controller) {
        if let Some(exit) = controller.exit {
            self.exits
                .get_or_create(&Exit { arm: Arc::clone(arm), reason: exit.reason.name() })
                .inc();
        }
    }

    pub(super) fn sent(&self, before: Sent, now: Sent) {
        self.packets_sent.inc_by(now.packets.saturating_sub(before.packets));
        self.packets_lost.inc_by(now.packets_lost.saturating_sub(before.packets_lost));
        self.bytes_sent.inc_by(now.bytes.saturating_sub(before.bytes));
        self.bytes_lost.inc_by(now.bytes_lost.saturating_sub(before.bytes_lost));
        self.spurious.inc_by(now.spurious.saturating_sub(before.spurious));
    }

    /// Counts the activity of `server` while it runs: whenever the metrics are read.
    pub(super) fn watch(&self, server: Weak<dyn Counted>) {
        self.servers().push(server);
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Weak<dyn Counted>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> Option<String> {
        let servers: Vec<Arc<dyn Counted>> =
            self.servers().iter().filter_map(Weak::upgrade).collect();
        for server in servers {
            server.count_open();
        }
        let mut text = String::new();
        encode(&mut text, &self.registry).ok().map(|()| text)
    }
}

/// The counters of servers.
#[derive(Clone, Debug)]
pub struct Meter(pub(super) Arc<Metrics>);

impl Default for Meter {
    fn default() -> Meter {
        Meter(Arc::new(Metrics::new()))
    }
}

impl Meter {
    /// Sets the numbers of a trial's rows: those waiting to be written, and those lost.
    pub fn rows(&self, waiting: u64, lost: u64) {
        self.0.rows_waiting.set(waiting.cast_signed());
        self.0.rows_lost.set(lost.cast_signed());
    }
}

/// A plain HTTP/1 listener that serves the counters of a [`Meter`] at `/metrics`.
#[derive(Debug)]
pub struct Exporter {
    metrics: Arc<Metrics>,
    /// One for each address.
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

impl Exporter {
    /// Listens at each of these addresses, with the rules of [`crate::ServerOptions::listen`]. Must
    /// be called within a tokio runtime.
    ///
    /// # Errors
    /// If an address cannot be used.
    pub fn bind(meter: &Meter, listen: &[SocketAddr]) -> Result<Exporter, Error> {
        let refused = |error: &dyn Display| Error::new(format!("metrics at {error}"));
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for (socket, address) in
            bind_all(listen, socket2::Type::STREAM).map_err(|error| refused(&error))?
        {
            let listening = || {
                socket.listen(WAITING)?;
                socket.set_nonblocking(true)?;
                TcpListener::from_std(socket.into())
            };
            listeners.push(listening().map_err(|error| refused(&format!("{address}: {error}")))?);
            addresses.push(address);
        }
        Ok(Exporter { metrics: Arc::clone(&meter.0), listeners, addresses })
    }

    /// Its addresses; never empty.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves requests for as long as it is polled.
    pub async fn run(self) {
        let Exporter { metrics, listeners, .. } = self;
        let places = Arc::new(Semaphore::new(READERS));
        let mut answering = JoinSet::new();
        for listener in listeners {
            answering.spawn(answer(listener, Arc::clone(&places), Arc::clone(&metrics)));
        }
        while answering.join_next().await.is_some() {}
    }
}

async fn answer(listener: TcpListener, places: Arc<Semaphore>, metrics: Arc<Metrics>) {
    loop {
        // An address without requests takes no reader's slot.
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: wait rather than spin.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let metrics = Arc::clone(&metrics);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let response = respond(&request, &metrics);
                async { Ok::<_, Infallible>(response) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // A reader that does not read its answer loses it.
            let _ = tokio::time::timeout(2 * PATIENCE, connection).await;
            drop(place);
        });
    }
}

fn respond(request: &Request<Incoming>, metrics: &Metrics) -> Response<Full<Bytes>> {
    let empty = |status| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = status;
        response
    };
    if request.uri().path() != "/metrics" {
        return empty(StatusCode::NOT_FOUND);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return empty(StatusCode::METHOD_NOT_ALLOWED);
    }
    let Some(text) = metrics.text() else { return empty(StatusCode::INTERNAL_SERVER_ERROR) };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Response::builder()
        .header(header::CONTENT_TYPE, kind)
        .body(Full::from(text))
        .unwrap_or_else(|_| empty(StatusCode::INTERNAL_SERVER_ERROR))
}
