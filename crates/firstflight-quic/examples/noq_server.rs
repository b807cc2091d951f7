//! A noq server that sends a megabyte on every stream that a client opens, with HyStart++, CUBIC
//! and PRR of firstflight.
//!
//! The lines marked `firstflight` are all that a server needs to change. Run it, then connect any
//! client to the printed address.

use noq::{Endpoint, ServerConfig, TransportConfig};
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

/// A server on this address with a throw-away certificate.
///
/// # Errors
/// If the address is taken.
pub(crate) fn listen(address: SocketAddr) -> Result<Endpoint, Box<dyn Error>> {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![own.cert.into()], key.into())?;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(firstflight_quic::noq::factory("hystart++/cubic/prr")?); // firstflight
    config.transport_config(Arc::new(transport));
    Ok(Endpoint::server(config, address)?)
}

/// Answers every connection until the endpoint closes.
pub(crate) async fn serve(endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else { return };
            while let Ok((mut send, _receive)) = connection.accept_bi().await {
                if send.write_all(&vec![0x2a; 1_000_000]).await.is_err() || send.finish().is_err() {
                    return;
                }
            }
        });
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = listen("127.0.0.1:4433".parse()?)?;
    println!("listening on {}", endpoint.local_addr()?);
    serve(endpoint).await;
    Ok(())
}
