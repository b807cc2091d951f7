//! A noq server that assigns arms to *clients*: all connections of a client's network have the same
//! arm, so that arms never compete within one household. A fifth of the clients takes part. Two
//! more startups receive the same events as the one that sends, and `rows.jsonl` gets a row per
//! connection.
//!
//! The lines marked `firstflight` are all that a server needs to change, apart from opening the
//! trial.

use firstflight_quic::trial::design::{By, Design};
use firstflight_quic::trial::{RowWriter, Trial, TrialOptions};
use noq::{Endpoint, ServerConfig, TransportConfig};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// A trial whose rows are appended to this file.
///
/// # Errors
/// If it cannot be opened.
pub(crate) fn trial(rows: &Path, design: Design) -> Result<Trial, Box<dyn Error>> {
    let options = TrialOptions {
        design,
        // The startup exit that each of these would have made alongside the arm that sends.
        shadow: "slowstart,search".into(),
        ..TrialOptions::default()
    };
    Ok(Trial::new(RowWriter::later(rows)?, "slowstart,rapid=20%", &options)?)
}

/// A server on this address with a throw-away certificate.
///
/// # Errors
/// If the address is taken.
pub(crate) fn listen(address: SocketAddr) -> Result<(Endpoint, ServerConfig), Box<dyn Error>> {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![own.cert.into()], key.into())?;
    Ok((Endpoint::server(config.clone(), address)?, config))
}

/// Answers every connection until the endpoint closes.
pub(crate) async fn serve(endpoint: Endpoint, config: ServerConfig, trial: Trial) {
    while let Some(incoming) = endpoint.accept().await {
        // noq builds a controller without naming the client, so each connection gets its own
        // configuration.
        let mut config = config.clone(); // firstflight
        let mut transport = TransportConfig::default(); // firstflight
        let client = incoming.remote_address().ip(); // firstflight
        transport.congestion_controller_factory(trial.noq_for(client)); // firstflight
        config.transport_config(Arc::new(transport)); // firstflight
        let Ok(connecting) = incoming.accept_with(Arc::new(config)) else { continue };
        tokio::spawn(async move {
            let Ok(connection) = connecting.await else { return };
            while let Ok((mut send, _receive)) = connection.accept_bi().await {
                if send.write_all(&vec![0x2a; 100_000]).await.is_err() || send.finish().is_err() {
                    return;
                }
            }
        });
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let design = Design { by: By::Client, enrol: 0.2, ..Design::default() };
    let trial = trial("rows.jsonl".as_ref(), design)?;
    let (endpoint, config) = listen("127.0.0.1:4433".parse()?)?;
    println!("listening on {}", endpoint.local_addr()?);
    serve(endpoint, config, trial).await;
    Ok(())
}
