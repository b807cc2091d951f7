//! A running server, and an independent client: quinn with its own binding to h3.

#[path = "../../../../firstflight-quic/tests/it/anyone.rs"]
mod anyone;

use firstflight_http::{Ended, Exporter, Fetch, Server, ServerOptions, Trust};
use firstflight_quic::Plan;
use rustls::ClientConfig;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn options(arm: &str) -> ServerOptions {
    ServerOptions::new(&["127.0.0.1:0".parse().unwrap()], Plan::parse(arm).unwrap())
}

/// A server in the background.
pub(crate) struct Served {
    pub address: SocketAddr,
    pub metrics: SocketAddr,
    pub pin: String,
    pub done: JoinHandle<Ended>,
    stop: oneshot::Sender<oneshot::Receiver<()>>,
}

impl Served {
    pub(crate) fn start(options: ServerOptions) -> Served {
        let exporter = Exporter::bind(&options.meter, &["127.0.0.1:0".parse().unwrap()]).unwrap();
        let metrics = exporter.addresses()[0];
        tokio::spawn(exporter.run());
        let server = Server::bind(options).unwrap();
        let (stop, stopped) = oneshot::channel::<oneshot::Receiver<()>>();
        let (address, pin) = (server.address(), server.pin().to_owned());
        let (wanted, patience) = oneshot::channel();
        let until = async {
            let _ = wanted.send(stopped.await.expect("the test stops its server"));
        };
        let enough = async { drop(patience.await.expect("the test says how long").await) };
        let done = tokio::spawn(server.run(until, enough));
        Served { address, metrics, pin, done, stop }
    }

    /// A client that requests `path`, which may be anything.
    pub(crate) fn wanting(&self, path: &str) -> Fetch {
        let url = format!("https://localhost:{}{path}", self.address.port()).parse().unwrap();
        Fetch {
            trust: Trust::Pin(self.pin.clone()),
            connect_to: vec![self.address],
            ..Fetch::new(url)
        }
    }

    /// Tells it to end; the sender says when it has been long enough.
    pub(crate) fn stop(self) -> (JoinHandle<Ended>, oneshot::Sender<()>) {
        let (enough, when) = oneshot::channel();
        assert!(self.stop.send(when).is_ok(), "the server runs");
        (self.done, enough)
    }

    /// Ends it and waits until it has drained.
    pub(crate) async fn end(self) {
        let (done, _enough) = self.stop();
        assert_eq!(done.await.unwrap(), Ended::Drained, "nothing was left to finish");
    }
}

fn tls() -> ClientConfig {
    let mut config = anyone::tls();
    config.alpn_protocols = vec![b"h3".to_vec()];
    config
}

/// A connection of quinn, and its endpoint.
pub(crate) async fn quinn(address: SocketAddr) -> (quinn::Endpoint, quinn::Connection) {
    quinn_with(address, quinn::TransportConfig::default()).await
}

/// The same with settings of its own.
pub(crate) async fn quinn_with(
    address: SocketAddr,
    transport: quinn::TransportConfig,
) -> (quinn::Endpoint, quinn::Connection) {
    let client = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls()).unwrap();
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    let connecting = client.connect_with(config, address, "localhost").unwrap();
    let connection = connecting.await.unwrap();
    (client, connection)
}

pub(crate) type Requests = h3::client::SendRequest<h3_quinn::OpenStreams, bytes::Bytes>;

pub(crate) type Asked = h3::client::RequestStream<h3_quinn::BidiStream<bytes::Bytes>, bytes::Bytes>;

/// Ends a request. A server that has answered already may want no more of it, which is no failure:
/// RFC 9114 section 4.1.
pub(crate) async fn finish(request: &mut Asked) {
    match request.finish().await {
        Ok(())
        | Err(h3::error::StreamError::RemoteTerminate {
            code: h3::error::Code::H3_NO_ERROR, ..
        }) => {}
        Err(error) => panic!("the end of a request: {error}"),
    }
}

/// HTTP/3 over a connection of quinn, while `work` works.
pub(crate) async fn foreign<T, F: Future<Output = T>>(
    address: SocketAddr,
    work: impl FnOnce(Requests) -> F,
) -> T {
    let (_endpoint, connection) = quinn(address).await;
    let (mut driver, requests) =
        h3::client::new(h3_quinn::Connection::new(connection)).await.unwrap();
    let driving = tokio::spawn(async move { driver.wait_idle().await });
    let done = work(requests).await;
    driving.abort();
    done
}

/// The same by a client that never reads the server's SETTINGS, as nothing drives its control
/// stream: it sends what they forbid.
pub(crate) async fn heedless<T, F: Future<Output = T>>(
    address: SocketAddr,
    work: impl FnOnce(Requests) -> F,
) -> T {
    let (_endpoint, connection) = quinn(address).await;
    let (_driver, requests) = h3::client::new(h3_quinn::Connection::new(connection)).await.unwrap();
    work(requests).await
}
