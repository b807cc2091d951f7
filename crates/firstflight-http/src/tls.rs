//! Certificates, from files or generated, and the trust settings of a client.

use ::ring::digest::{SHA256, digest};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use firstflight_path::Error;
use firstflight_path::input::{self, MOST_TEXT};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, KeyLogFile, RootCertStore, ServerConfig,
    SignatureScheme, version::TLS13,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// HTTP/3, RFC 9114 section 3.1.
const PROTOCOL: &[u8] = b"h3";

/// Source of a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Generated for these names when the server starts, and discarded when it ends.
    ThrowAway(Vec<String>),
    /// A chain and its private key, both PEM.
    Files {
        /// The chain, the server's own certificate first.
        chain: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}

/// A certificate with its key, ready for use.
pub(super) struct Identity {
    pub(super) config: ServerConfig,
    /// See [`super::Server::pin`].
    pub(super) pin: String,
}

fn refused(what: impl std::fmt::Display) -> impl Fn(rustls::pki_types::pem::Error) -> Error {
    move |error| Error::new(format!("{what}: {error}"))
}

/// A file in PEM.
fn text(file: &Path) -> Result<Vec<u8>, Error> {
    input::read(file, MOST_TEXT).map_err(|error| Error::new(format!("{}: {error}", file.display())))
}

pub(super) fn identity(certificate: &Certificate) -> Result<Identity, Error> {
    let (chain, key) = match certificate {
        Certificate::ThrowAway(names) => {
            let own = rcgen::generate_simple_self_signed(names.clone())
                .map_err(|error| Error::new(format!("a certificate: {error}")))?;
            let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
            (vec![CertificateDer::from(own.cert)], key)
        }
        Certificate::Files { chain, key } => {
            let certificates = CertificateDer::pem_slice_iter(&text(chain)?)
                .collect::<Result<_, _>>()
                .map_err(refused(chain.display()))?;
            (
                certificates,
                PrivateKeyDer::from_pem_slice(&text(key)?).map_err(refused(key.display()))?,
            )
        }
    };
    let pin = chain
        .first()
        .and_then(pin)
        .ok_or_else(|| Error::new("the certificate's chain is empty or cannot be read"))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| Error::new(format!("the certificate: {error}")))?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Writes only if SSLKEYLOGFILE names a file, as in browsers and curl.
    config.key_log = Arc::new(KeyLogFile::new());
    Ok(Identity { config, pin })
}

/// SHA-256 of the public key, base64.
fn pin(certificate: &CertificateDer<'_>) -> Option<String> {
    let key = ParsedCertificate::try_from(certificate).ok()?.subject_public_key_info();
    Some(BASE64_STANDARD.encode(digest(&SHA256, &key)))
}

/// The certificates that a client trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Certificates that this system trusts.
    System,
    /// Certificates signed by one of these, PEM.
    Authority(PathBuf),
    /// The holder of this public key, given as the base64 of its SHA-256, regardless of name and
    /// date.
    Pin(String),
    /// Any certificate.
    Anyone,
}

pub(super) fn client(trust: &Trust) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::System => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            by_roots(roots, &provider, "this system's certificates")?
        }
        Trust::Authority(file) => {
            by_roots(roots_of(file)?, &provider, &file.display().to_string())?
        }
        Trust::Pin(pin) => {
            Arc::new(Pinned { pin: Some(pin.clone()), provider: Arc::clone(&provider) })
        }
        Trust::Anyone => Arc::new(Pinned { pin: None, provider: Arc::clone(&provider) }),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| Error::new(format!("TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.key_log = Arc::new(KeyLogFile::new());
    Ok(config)
}

fn roots_of(file: &Path) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text(file)?) {
        let certificate = certificate.map_err(refused(file.display()))?;
        roots
            .add(certificate)
            .map_err(|error| Error::new(format!("{}: {error}", file.display())))?;
    }
    Ok(roots)
}

fn by_roots(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
    what: &str,
) -> Result<Arc<WebPkiServerVerifier>, Error> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| Error::new(format!("{what}: {error}")))
}

/// Accepts the holder of one key, or of any.
#[derive(Debug)]
struct Pinned {
    pin: Option<String>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.pin {
            Some(expected) if pin(certificate).as_ref() != Some(expected) => Err(
                rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure),
            ),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::PeerIncompatible(rustls::PeerIncompatible::Tls12NotOffered))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
