//! The client: fetches, times and verifies one object.

use super::content;
use super::over_iroh::binding::Connection;
use super::request::{ARM, PATTERN};
use super::streams::{Allowance, Finish};
use super::tls::{self, Trust};
use bytes::Buf;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri, header};
use iroh_quinn::crypto::rustls::QuicClientConfig;
use iroh_quinn::{ClientConfig, ConnectionError, Endpoint, IdleTimeout, TransportConfig, VarInt};
use std::fmt;
use std::future::Future;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// An object to fetch, with settings.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Its URL: `https://HOST:PORT/PATH`.
    pub url: Uri,
    /// The certificates to trust.
    pub trust: Trust,
    /// Addresses to use instead of those of the host's name, such as that of a relay.
    pub connect_to: Vec<SocketAddr>,
    /// The arm that the server is asked to use.
    pub arm: Option<String>,
    /// Value of the Range field.
    pub range: Option<String>,
    /// Flow-control window, in bytes, of both the stream and the connection.
    pub window: u64,
    /// Time without any arrival after which the fetch fails.
    pub idle: Duration,
    /// Time after which the fetch fails in any case.
    pub limit: Duration,
    /// UDP payload of the largest packets, from the first one on; `None` starts with 1200 and
    /// probes for more.
    pub datagram: Option<u16>,
}

impl Fetch {
    /// A fetch of `url` with a window of 32 MB and the certificates that this system trusts.
    pub fn new(url: Uri) -> Fetch {
        Fetch {
            url,
            trust: Trust::System,
            connect_to: Vec::new(),
            arm: None,
            range: None,
            window: 32_000_000,
            idle: Duration::from_secs(30),
            limit: Duration::from_secs(3600),
            datagram: None,
        }
    }
}

/// Extent to which the received bytes were verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Every byte has the value for its offset.
    Content,
    /// The number of bytes equals the announced length.
    Length,
    /// No length was announced, or the status is not a success, so the content is not the object.
    Nothing,
}

impl Verified {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Verified::Content => "content",
            Verified::Length => "length",
            Verified::Nothing => "nothing",
        }
    }
}

/// An object that arrived. All times except `handshake` count from the moment the request was sent.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Status of the response.
    pub status: StatusCode,
    /// Header fields.
    pub fields: HeaderMap,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Verification of the bytes.
    pub verified: Verified,
    /// The arm that the server reports.
    pub arm: Option<String>,
    /// From the first packet until the connection was established.
    pub handshake: Duration,
    /// Until the first byte of the object was read.
    pub first_byte: Duration,
    /// Until the last byte of the object was read.
    pub last_byte: Duration,
    /// Receive window granted, bytes.
    pub window: u64,
}

/// Why nothing, or not everything, arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchError {
    /// The request makes no sense; the user can correct it.
    Bad(String),
    /// The server or the network failed.
    Failed(String),
    /// The server's certificate is not trusted: [`Fetch::trust`].
    Untrusted(String),
    /// The byte at this offset is wrong.
    Wrong(u64),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchError::Bad(line) | FetchError::Failed(line) | FetchError::Untrusted(line) => {
                f.write_str(&firstflight_path::without_numbers(line))
            }
            FetchError::Wrong(offset) => {
                write!(f, "the byte at offset {offset} is not what it should be")
            }
        }
    }
}

impl std::error::Error for FetchError {}

fn failed(what: &str) -> impl Fn(&dyn fmt::Display) -> FetchError + '_ {
    move |error| FetchError::Failed(format!("{what}: {error}"))
}

/// Why there is no connection.
fn refused(what: &str, error: &ConnectionError) -> FetchError {
    // RFC 9001 section 4.8, RFC 8446 section 6: TLS alerts 42 to 48 concern certificates, 49 a key
    // other than the pinned one; they are detected here, not reported by the server. The text is
    // rustls's: a signature that cannot be checked has an alert of its own.
    const INVALID: &str = "invalid peer certificate: ";
    const CERTIFICATE: std::ops::RangeInclusive<u64> = 0x100 + 42..=0x100 + 49;
    match error {
        ConnectionError::TransportError(error)
            if CERTIFICATE.contains(&u64::from(error.code))
                || error.reason.starts_with(INVALID) =>
        {
            let why = match error.reason.trim_start_matches(INVALID) {
                "ApplicationVerificationFailure" => "the public key is not the pinned one",
                why => why,
            };
            FetchError::Untrusted(format!("{what}: the certificate is not trusted: {why}"))
        }
        error => failed(what)(error),
    }
}

/// Fetches one object over its own connection. Every piece is passed to `take` together with the
/// announced length, in the order of the object; an error from `take` ends the transfer.
///
/// # Errors
/// See [`FetchError`].
pub async fn fetch(
    wanted: &Fetch,
    take: impl FnMut(Option<u64>, &[u8]) -> Result<(), String>,
) -> Result<Fetched, FetchError> {
    fetch_and(wanted, take, std::future::ready(())).await
}

/// Like [`fetch`], but keeps the connection until `then` resolves: the last acknowledgement is sent
/// when it is due, and not with the close.
///
/// # Errors
/// See [`FetchError`].
pub async fn fetch_and(
    wanted: &Fetch,
    take: impl FnMut(Option<u64>, &[u8]) -> Result<(), String>,
    then: impl Future<Output = ()>,
) -> Result<Fetched, FetchError> {
    let late = || FetchError::Failed(format!("not finished after {} s", wanted.limit.as_secs()));
    tokio::time::timeout(wanted.limit, unlimited(wanted, take, then)).await.map_err(|_| late())?
}

async fn unlimited(
    wanted: &Fetch,
    take: impl FnMut(Option<u64>, &[u8]) -> Result<(), String>,
    then: impl Future<Output = ()>,
) -> Result<Fetched, FetchError> {
    // A faulty file is reported whether or not the host can be found.
    let client = client(wanted)?;
    let Connected { endpoint, quic, handshake } = connected(wanted, &client).await?;
    let binding = Connection::new(quic.clone(), Finish::Noted, Allowance::NONE);
    let built = h3::client::builder().build::<_, _, Bytes>(binding).await;
    let (mut driver, mut requests) = built.map_err(|error| failed("HTTP/3")(&error))?;
    let driving = tokio::spawn(async move { driver.wait_idle().await });
    let fetched =
        transfer(wanted, &mut requests, take).await.map_err(|error| explained(error, &quic));
    if fetched.is_ok() {
        then.await;
    }
    drop(requests);
    quic.close(VarInt::from_u32(NO_ERROR), b"");
    driving.abort();
    // So that the server receives the close before the socket closes.
    endpoint.wait_idle().await;
    fetched.map(|fetched| Fetched { handshake, ..fetched })
}

/// H3_NO_ERROR, RFC 9114 section 8.1.
const NO_ERROR: u32 = 0x100;

/// An established connection.
struct Connected {
    endpoint: Endpoint,
    quic: iroh_quinn::Connection,
    handshake: Duration,
}

/// Time until the next address is tried in parallel with the previous one: RFC 8305 section 5.
const STAGGER: Duration = Duration::from_millis(250);

/// Tries the addresses of the host one after another, each a little after the previous one or as
/// soon as that one has failed; the first established connection is used (RFC 8305).
async fn connected(wanted: &Fetch, client: &ClientConfig) -> Result<Connected, FetchError> {
    let (host, addresses) = whereto(wanted).await?;
    let mut addresses = addresses.into_iter();
    let (mut attempts, mut failures) = (JoinSet::new(), Vec::new());
    loop {
        if let Some(address) = addresses.next() {
            attempts.spawn(attempt(client.clone(), host.clone(), address));
        }
        tokio::select! {
            ended = attempts.join_next() => match ended {
                // The other attempts are dropped.
                Some(Ok(Ok(connected))) => return Ok(connected),
                Some(Ok(Err(failure))) => failures.push(failure),
                Some(Err(error)) => failures.push(failed("an attempt")(&error)),
                None => return Err(all_of(failures)),
            },
            () = tokio::time::sleep(STAGGER), if addresses.len() > 0 => {}
        }
    }
}

async fn attempt(
    client: ClientConfig,
    host: String,
    address: SocketAddr,
) -> Result<Connected, FetchError> {
    let what = format!("{host} at {address}");
    let any =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let endpoint =
        Endpoint::client(SocketAddr::new(any, 0)).map_err(|error| failed(&what)(&error))?;
    let begun = Instant::now();
    let connecting = endpoint
        .connect_with(client, address, &host)
        .map_err(|error| FetchError::Bad(format!("{what}: {error}")))?;
    let quic = connecting.await.map_err(|error| refused(&what, &error))?;
    Ok(Connected { endpoint, quic, handshake: begun.elapsed() })
}

/// One error for all addresses: that of a server that answered, otherwise all errors.
fn all_of(mut failures: Vec<FetchError>) -> FetchError {
    let answered = |failure: &FetchError| matches!(failure, FetchError::Untrusted(_));
    if let Some(answered) = failures.iter().position(answered) {
        return failures.swap_remove(answered);
    }
    if failures.len() == 1 {
        return failures.swap_remove(0);
    }
    let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
    FetchError::Failed(lines.join("; "))
}

/// The addresses with alternating families, each family in the order of the resolver (RFC 8305
/// section 4).
fn alternating(all: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let mut ordered: Vec<SocketAddr> = Vec::new();
    let mut rest = all;
    while !rest.is_empty() {
        let last = ordered.last().map(SocketAddr::is_ipv4);
        let other = rest.iter().position(|address| Some(address.is_ipv4()) != last).unwrap_or(0);
        let next = rest.remove(other);
        if !ordered.contains(&next) {
            ordered.push(next);
        }
    }
    ordered
}

impl Fetch {
    fn bad(&self, why: &str) -> FetchError {
        FetchError::Bad(format!("{}: {why}; allowed: https://HOST[:PORT]/PATH", self.url))
    }

    /// The host and port of the URL, if it can be fetched.
    ///
    /// # Errors
    /// [`FetchError::Bad`] if it is not an https URL, has no host, or has a port outside 1 to
    /// 65535.
    pub fn target(&self) -> Result<(&str, u16), FetchError> {
        if self.url.scheme_str() != Some("https") {
            return Err(self.bad("not an https URL"));
        }
        let host =
            self.url.host().filter(|host| !host.is_empty()).ok_or_else(|| self.bad("no host"))?;
        let authority = self.url.authority().map_or("", |authority| authority.as_str());
        // The text after the host: the crate `http` reports no port if the number exceeds 16 bits.
        let port =
            match authority.rsplit_once(host).map_or("", |(_, after)| after).strip_prefix(':') {
                None | Some("") => 443,
                Some(text) => text
                    .parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(|| self.bad("no such port; allowed: at most 65535"))?,
            };
        Ok((host.trim_start_matches('[').trim_end_matches(']'), port))
    }
}

/// The host's name, and its addresses.
async fn whereto(wanted: &Fetch) -> Result<(String, Vec<SocketAddr>), FetchError> {
    let bad = |why: &str| wanted.bad(why);
    let (host, port) = wanted.target()?;
    if !wanted.connect_to.is_empty() {
        return Ok((host.to_owned(), alternating(wanted.connect_to.clone())));
    }
    let all =
        tokio::net::lookup_host((host, port)).await.map_err(|error| bad(&error.to_string()))?;
    let all = alternating(all.collect());
    if all.is_empty() { Err(bad("no address")) } else { Ok((host.to_owned(), all)) }
}

fn client(wanted: &Fetch) -> Result<ClientConfig, FetchError> {
    let tls = tls::client(&wanted.trust).map_err(|refused| FetchError::Bad(refused.to_string()))?;
    let crypto = QuicClientConfig::try_from(tls)
        .map_err(|error| FetchError::Bad(format!("TLS: {error}")))?;
    let mut transport = TransportConfig::default();
    let window = VarInt::from_u64(wanted.window)
        .map_err(|_| FetchError::Bad(format!("a window of {} bytes", wanted.window)))?;
    transport
        .stream_receive_window(window)
        .receive_window(window)
        .max_idle_timeout(IdleTimeout::try_from(wanted.idle).ok());
    if let Some(datagram) = wanted.datagram {
        transport.initial_mtu(datagram).mtu_discovery_config(None);
    }
    let mut client = ClientConfig::new(Arc::new(crypto));
    client.transport_config(Arc::new(transport));
    Ok(client)
}

/// The transport's reason is more specific than HTTP's.
fn explained(error: FetchError, quic: &iroh_quinn::Connection) -> FetchError {
    match (&error, quic.close_reason()) {
        (FetchError::Failed(_), Some(reason)) if reason != ConnectionError::LocallyClosed => {
            FetchError::Failed(reason.to_string())
        }
        _ => error,
    }
}

type Requests = h3::client::SendRequest<super::over_iroh::binding::Opener, Bytes>;

async fn transfer(
    wanted: &Fetch,
    requests: &mut Requests,
    mut take: impl FnMut(Option<u64>, &[u8]) -> Result<(), String>,
) -> Result<Fetched, FetchError> {
    let failed = |error: h3::error::StreamError| FetchError::Failed(error.to_string());
    let mut request = Request::get(wanted.url.clone())
        .header(header::USER_AGENT, concat!("firstflight/", env!("CARGO_PKG_VERSION")));
    if let Some(arm) = &wanted.arm {
        request = request.header(ARM, arm);
    }
    if let Some(range) = &wanted.range {
        request = request.header(header::RANGE, range);
    }
    let request = request.body(()).map_err(|error| FetchError::Bad(error.to_string()))?;
    let begun = Instant::now();
    let mut stream = requests.send_request(request).await.map_err(failed)?;
    // RFC 9114 section 4.1: a server may answer before the request is complete, and its answer
    // counts all the same.
    match stream.finish().await {
        Ok(()) | Err(h3::error::StreamError::RemoteTerminate { .. }) => {}
        Err(error) => return Err(failed(error)),
    }
    let response = stream.recv_response().await.map_err(failed)?;
    let fields = response.headers().clone();
    let text = |name: &header::HeaderName| fields.get(name).and_then(|value| value.to_str().ok());
    let announced = text(&header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    let offset = offset(response.status(), text(&header::CONTENT_RANGE));
    // Only a complete response contains the object.
    let checked = text(&PATTERN) == Some(content::NAME) && response.status().is_success();
    let (mut bytes, mut first_byte) = (0, None);
    while let Some(mut piece) = stream.recv_data().await.map_err(failed)? {
        while piece.has_remaining() {
            first_byte.get_or_insert_with(|| begun.elapsed());
            let part = piece.chunk();
            if let Some(wrong) = offset
                .filter(|_| checked)
                .and_then(|offset| content::first_wrong(offset + bytes, part))
            {
                return Err(FetchError::Wrong(wrong));
            }
            take(announced, part).map_err(FetchError::Failed)?;
            bytes += part.len() as u64;
            let len = part.len();
            piece.advance(len);
        }
    }
    let last_byte = begun.elapsed();
    if let Some(announced) = announced.filter(|announced| *announced != bytes) {
        return Err(FetchError::Failed(format!(
            "only {bytes} of {announced} announced bytes arrived"
        )));
    }
    let verified = match (checked && offset.is_some(), announced) {
        (true, Some(_)) => Verified::Content,
        (_, Some(_)) if response.status().is_success() => Verified::Length,
        _ => Verified::Nothing,
    };
    Ok(Fetched {
        status: response.status(),
        bytes,
        verified,
        arm: text(&ARM).map(str::to_owned),
        fields,
        handshake: Duration::ZERO,
        first_byte: first_byte.unwrap_or(last_byte),
        last_byte,
        window: wanted.window,
    })
}

/// Offset of a response's first byte in the object, if the response contains it.
fn offset(status: StatusCode, range: Option<&str>) -> Option<u64> {
    if status != StatusCode::PARTIAL_CONTENT {
        return Some(0);
    }
    range?.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{FetchError, all_of, alternating};

    #[test]
    fn families_take_turns_and_each_address_is_tried_once() {
        let ordered = |text: &[&str]| {
            let all = text.iter().map(|text| text.parse().expect("an address")).collect();
            alternating(all).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            ordered(&["[::1]:1", "[::2]:1", "127.0.0.1:1", "[::1]:1", "127.0.0.2:1"]),
            ["[::1]:1", "127.0.0.1:1", "[::2]:1", "127.0.0.2:1"]
        );
        assert_eq!(ordered(&["127.0.0.1:1", "127.0.0.1:1"]), ["127.0.0.1:1"]);
        assert!(ordered(&[]).is_empty());
    }

    #[test]
    fn a_server_that_answered_says_more_than_one_that_did_not() {
        let silent = || FetchError::Failed("silent".into());
        let untrusted = FetchError::Untrusted("untrusted".into());
        assert_eq!(all_of(vec![silent(), untrusted.clone(), silent()]), untrusted);
        assert_eq!(all_of(vec![silent()]), silent());
        assert_eq!(all_of(vec![silent(), silent()]).to_string(), "silent; silent");
    }
}
