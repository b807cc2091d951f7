//! The example servers, run over loopback against a client of their own stack.

#[allow(dead_code, reason = "the example's own main")]
#[path = "../examples/noq_server.rs"]
mod noq_server;
#[allow(dead_code, reason = "the example's own main")]
#[path = "../examples/quinn_server.rs"]
mod quinn_server;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use std::sync::Arc;

/// Trusts anyone: the server is ours, on loopback.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

fn tls() -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_noq_server_with_an_arm_serves() {
    runtime().block_on(async {
        let server = noq_server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(noq_server::serve(server));
        let client = noq::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        let crypto = noq::crypto::rustls::QuicClientConfig::try_from(tls()).unwrap();
        let connection = client.connect_with(noq::ClientConfig::new(Arc::new(crypto)), address, "localhost").unwrap().await.unwrap();
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        send.write_all(b"object").await.unwrap();
        assert_eq!(receive.read_to_end(2_000_000).await.unwrap().len(), 1_000_000, "the whole object arrives");
    });
}

#[test]
fn a_quinn_server_with_an_arm_serves() {
    runtime().block_on(async {
        let server = quinn_server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.local_addr().unwrap();
        tokio::spawn(quinn_server::serve(server));
        let client = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls()).unwrap();
        let connection = client.connect_with(quinn::ClientConfig::new(Arc::new(crypto)), address, "localhost").unwrap().await.unwrap();
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        send.write_all(b"object").await.unwrap();
        assert_eq!(receive.read_to_end(2_000_000).await.unwrap().len(), 1_000_000, "the whole object arrives");
    });
}

#[test]
fn an_arm_costs_a_server_fewer_than_ten_lines() {
    for source in [include_str!("../examples/noq_server.rs"), include_str!("../examples/quinn_server.rs")] {
        let changed = source.lines().filter(|line| line.ends_with("// firstflight")).count();
        let used = source.lines().filter(|line| line.contains("firstflight_quic")).count();
        assert!(changed >= used && changed < 10, "{changed} lines are marked, {used} name the crate");
    }
}
