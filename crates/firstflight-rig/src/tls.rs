//! TLS for the rig: one stored Ed25519 certificate.
//!
//! It is stored because sizes must not depend on the run: ECDSA signatures vary in length, and so
//! does a certificate with a random serial number. The key protects nothing. The receiver accepts
//! only this certificate, regardless of the date.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
    version::TLS13,
};
use std::sync::Arc;

const CERTIFICATE: &[u8] = include_bytes!("cert.der");
const KEY: &[u8] = include_bytes!("key.der");
const PROTOCOL: &[u8] = b"firstflight-rig";

/// The name in the certificate.
pub(super) const NAME: &str = "rig";

/// The configuration of the sender.
pub(super) fn server() -> Result<ServerConfig, firstflight_path::Error> {
    config_of_server().map_err(failed)
}

/// The configuration of the receiver.
pub(super) fn client() -> Result<ClientConfig, firstflight_path::Error> {
    config_of_client().map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` takes")]
fn failed(error: Error) -> firstflight_path::Error {
    firstflight_path::Error::new(format!("TLS: {error}"))
}

fn config_of_server() -> Result<ServerConfig, Error> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

fn config_of_client() -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Stored(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

/// Accepts only the stored certificate.
#[derive(Debug)]
struct Stored(Arc<CryptoProvider>);

impl ServerCertVerifier for Stored {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if end_entity.as_ref() == CERTIFICATE {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOffered))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}
