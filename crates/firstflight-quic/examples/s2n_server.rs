//! An s2n-quic server that sends a megabyte on every stream that a client opens, with HyStart++,
//! CUBIC and PRR of firstflight.
//!
//! The lines marked `firstflight` are all that a server needs to change, with the feature
//! `unstable-congestion-controller` of s2n-quic. Run it, then connect any client to the printed
//! address.

use s2n_quic::Server;
use std::error::Error;
use std::net::SocketAddr;

/// A server on this address with this certificate and key (DER) and these congestion controllers.
///
/// # Errors
/// If the address is taken or the certificate is invalid.
pub(crate) fn listen(
    address: SocketAddr,
    (certificate, key): (&[u8], &[u8]),
    controllers: firstflight_quic::s2n::Endpoint, // firstflight
) -> Result<Server, Box<dyn Error>> {
    Ok(Server::builder()
        .with_tls((certificate, key))?
        .with_io(address)?
        .with_congestion_controller(controllers)? // firstflight
        .start()?)
}

/// Answers every connection until the server is closed.
pub(crate) async fn serve(mut server: Server) {
    while let Some(mut connection) = server.accept().await {
        tokio::spawn(async move {
            while let Ok(Some(mut stream)) = connection.accept_bidirectional_stream().await {
                if stream.send(vec![0x2a; 1_000_000].into()).await.is_err()
                    || stream.close().await.is_err()
                {
                    return;
                }
            }
        });
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let controllers = firstflight_quic::s2n::endpoint("hystart++/cubic/prr")?; // firstflight
    let server = listen(
        "127.0.0.1:4433".parse()?,
        (own.cert.der(), &own.signing_key.serialize_der()),
        controllers,
    )?;
    println!("listening on {}", server.local_addr()?);
    serve(server).await;
    Ok(())
}
