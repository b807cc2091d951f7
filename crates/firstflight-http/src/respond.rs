//! One request and its response.

use super::content::{self, Part};
use super::limits::{Limits, PIECE};
use super::over_noq::binding::{BidiStream, Connection};
use super::request::{self, ARM, Allowed, Ask, Asked, PATTERN, Refusal, What};
use super::shared::{Peer, Shared};
use bytes::{Bytes, BytesMut};
use firstflight_quic::Plan;
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use http::{HeaderValue, Request, Response, StatusCode, header};
use std::future::Future;
use std::io::SeekFrom;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::time::timeout;

type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

/// The start page.
const HOME: &str = "<!doctype html><html lang=en><meta charset=utf-8>\
<meta name=viewport content=\"width=device-width, initial-scale=1\">\
<meta name=color-scheme content=\"light dark\"><link rel=icon href=data:,>\
<title>firstflight serve</title>\
<style>body { font: 16px/1.5 system-ui, sans-serif; margin: 24px; }</style>\
<h1>firstflight serve</h1><p>Objects of any size, over HTTP/3: <a href=/bytes/100kB>/bytes/100kB</a>, \
<a href=/bytes/10MB>/bytes/10MB</a>, <a href=/bytes/100MB>/bytes/100MB</a>.\n";

/// The context for writing a response.
pub(super) struct Responder {
    pub(super) shared: Arc<Shared>,
    pub(super) peer: Arc<Peer>,
}

/// Source of the bytes.
enum Source {
    /// The pattern.
    Pattern,
    /// Memory.
    Page(&'static str),
    /// A file, positioned at the part.
    File(File),
}

struct Reply {
    source: Source,
    part: Part,
    partial: bool,
    kind: HeaderValue,
}

/// Why a response was not sent completely.
enum Cut {
    /// The peer or the connection is gone, or the peer has stopped the stream.
    Gone,
    /// The transfer was too slow, or the file ended early.
    Ours(Code),
}

impl Cut {
    /// The code of the stream reset: a response that was cut off must not look finished.
    const fn code(&self) -> Code {
        match self {
            Cut::Gone => Code::H3_REQUEST_CANCELLED,
            Cut::Ours(code) => *code,
        }
    }
}

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Cut {
    fn from(_: E) -> Cut {
        Cut::Gone
    }
}

/// Answers one request.
pub(super) async fn answer(responder: Responder, resolver: RequestResolver<Connection, Bytes>) {
    // A request whose head does not arrive is ignored; `h3` resets a malformed one, RFC 9114
    // section 4.1.2.
    let patience = responder.shared.options.limits.patience;
    let Ok(Ok((request, stream))) = timeout(patience, resolver.resolve_request()).await else {
        return;
    };
    responder.respond(&request, stream).await;
    responder.shared.count(&responder.peer);
}

impl Responder {
    async fn respond(&self, request: &Request<()>, mut stream: Stream) {
        let Shared { options, .. } = &*self.shared;
        let first = self.peer.first();
        let allowed = Allowed {
            largest: options.limits.largest,
            files: self.shared.folder.is_some(),
            hidden: options.hidden,
            choice: options.choice,
        };
        let asked = if self.shared.gate.may_ask(self.peer.address.ip()) {
            request::read(request, allowed)
        } else {
            let later = Some((header::RETRY_AFTER, HeaderValue::from_static("1")));
            Err(Refusal { status: StatusCode::TOO_MANY_REQUESTS, field: later })
        };
        let reply = match asked {
            Ok(ask) => match self.choose(ask.arm, first) {
                Ok(()) => self.find(&ask).await.map(|reply| (ask, reply)),
                Err(refusal) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        };
        match reply {
            Ok((ask, reply)) => self.send(&mut stream, &ask, reply).await,
            Err(refusal) => self.refuse(&mut stream, refusal).await,
        }
        // No request here has content; any content is left unread. RFC 9114 section 4.1: a client
        // keeps the answer it has.
        stream.stop_sending(Code::H3_NO_ERROR);
    }

    /// Sets the requested arm for this connection if it is still possible.
    fn choose(&self, plan: Option<Plan>, first: bool) -> Result<(), Refusal> {
        let Some(plan) = plan else { return Ok(()) };
        let late = Refusal::from(StatusCode::CONFLICT);
        let Some(controller) = self.peer.controller() else { return Err(late) };
        if self.shared.asked_for(&controller) == plan.arm {
            return Ok(());
        }
        let ours = &self.shared.options.plan;
        let plan = Plan { arm: plan.arm, ..*ours };
        if first && controller.pristine && self.peer.choice.choose(plan) {
            Ok(())
        } else {
            Err(late)
        }
    }

    async fn find(&self, ask: &Ask) -> Result<Reply, Refusal> {
        let stream = HeaderValue::from_static("application/octet-stream");
        let reply =
            |source, part: Part, kind| Reply { source, partial: ask.range.is_some(), part, kind };
        match &ask.what {
            What::Home => {
                let kind = HeaderValue::from_static("text/html; charset=utf-8");
                Ok(reply(Source::Page(HOME), request::part(ask.range, HOME.len() as u64)?, kind))
            }
            What::Bytes(size) => {
                Ok(reply(Source::Pattern, request::part(ask.range, *size)?, stream))
            }
            What::File(name) => {
                let kind = mime_guess::from_path(name)
                    .first_raw()
                    .map_or(stream, HeaderValue::from_static);
                let (file, part) = self.open(name, ask.range).await?;
                Ok(reply(Source::File(file), part, kind))
            }
        }
    }

    /// A file below the folder, opened at the start of the part. Links that lead out of the folder
    /// are not followed.
    async fn open(&self, name: &Path, range: Option<Asked>) -> Result<(File, Part), Refusal> {
        let nowhere = || Refusal::from(StatusCode::NOT_FOUND);
        let folder = self.shared.folder.as_ref().ok_or_else(nowhere)?;
        let real = tokio::fs::canonicalize(folder.join(name)).await.map_err(|_| nowhere())?;
        // Nor may a link lead to a file that is not served under its own name.
        match real.strip_prefix(folder) {
            Ok(inside) if self.shared.options.hidden || !request::is_hidden(inside) => {}
            _ => return Err(nowhere()),
        }
        let about = tokio::fs::metadata(&real).await.map_err(|_| nowhere())?;
        // Neither a folder nor a pipe, which would never end.
        if !about.is_file() {
            return Err(nowhere());
        }
        let mut file = File::open(&real).await.map_err(|_| nowhere())?;
        let part = request::part(range, about.len())?;
        file.seek(SeekFrom::Start(part.range.start)).await.map_err(|_| nowhere())?;
        Ok((file, part))
    }

    /// Sends a status and nothing else.
    async fn refuse(&self, stream: &mut Stream, refusal: Refusal) {
        self.shared.metrics.responded(refusal.status);
        let mut response =
            Response::builder().status(refusal.status).header(header::CONTENT_LENGTH, 0);
        if let Some((name, value)) = refusal.field {
            response = response.header(name, value);
        }
        let Ok(response) = response.body(()) else { return };
        let sent = self.patiently(async {
            stream.send_response(response).await?;
            Ok(stream.finish().await?)
        });
        if let Err(cut) = sent.await {
            stream.stop_stream(cut.code());
        }
    }

    async fn send(&self, stream: &mut Stream, ask: &Ask, reply: Reply) {
        let status = if reply.partial { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        self.shared.metrics.responded(status);
        let Some(response) = self.head(status, ask, &reply) else { return };
        let watch = self.shared.options.watch.as_deref();
        if let Some(watch) = watch {
            watch.begins();
        }
        let begun = Instant::now();
        let sent = self.write(stream, response, ask, reply).await;
        let controller = self.peer.controller();
        match &sent {
            Ok(()) => {
                if let Some(controller) = controller.as_ref().filter(|_| !ask.head) {
                    self.shared.metrics.completed(&self.shared.label(controller), begun.elapsed());
                }
            }
            Err(cut) => {
                self.shared.metrics.aborted();
                stream.stop_stream(cut.code());
            }
        }
        if let Some(watch) = watch {
            watch.ends(sent.is_ok(), controller);
        }
    }

    fn head(&self, status: StatusCode, ask: &Ask, reply: &Reply) -> Option<Response<()>> {
        let Part { range, total } = &reply.part;
        let sends = self.shared.asked_for(&self.peer.controller()?);
        let arm = ask.arm.map_or(sends, |plan| plan.arm).to_string();
        let mut response = Response::builder()
            .status(status)
            .header(header::CONTENT_LENGTH, range.end - range.start)
            .header(header::CONTENT_TYPE, &reply.kind)
            .header(header::ACCEPT_RANGES, "bytes")
            .header(header::CACHE_CONTROL, "no-store")
            .header(ARM, arm);
        if reply.partial {
            response = response.header(
                header::CONTENT_RANGE,
                format!("bytes {}-{}/{total}", range.start, range.end - 1),
            );
        }
        if matches!(reply.source, Source::Pattern) {
            response = response.header(PATTERN, content::NAME);
        }
        response.body(()).ok()
    }

    async fn write(
        &self,
        stream: &mut Stream,
        response: Response<()>,
        ask: &Ask,
        mut reply: Reply,
    ) -> Result<(), Cut> {
        self.patiently(async { Ok(stream.send_response(response).await?) }).await?;
        let mut at = reply.part.range.start;
        while at < reply.part.range.end && !ask.head {
            let len = (reply.part.range.end - at).min(PIECE as u64) as usize;
            let piece = piece(&mut reply.source, at, len).await?;
            at += piece.len() as u64;
            self.patiently(async { Ok(stream.send_data(piece).await?) }).await?;
        }
        self.patiently(async { Ok(stream.finish().await?) }).await
    }

    /// Waits for `work` as long as the peer makes progress.
    async fn patiently(&self, work: impl Future<Output = Result<(), Cut>>) -> Result<(), Cut> {
        let patience = self.shared.options.limits.patience;
        let least = Limits::SLOWEST * patience.as_secs().max(1);
        let mut work = std::pin::pin!(work);
        let acked = || self.peer.controller().map_or(0, |controller| controller.bytes_acked);
        let mut before = None;
        loop {
            // Progress is measured only if the first wait was in vain, which is rare.
            if let Ok(done) =
                timeout(if before.is_none() { patience / 2 } else { patience }, &mut work).await
            {
                return done;
            }
            let now = acked();
            if before.is_some_and(|before| now < before + least) {
                return Err(Cut::Ours(Code::H3_REQUEST_CANCELLED));
            }
            before = Some(now);
        }
    }
}

/// The next `len` bytes of a source.
async fn piece(source: &mut Source, at: u64, len: usize) -> Result<Bytes, Cut> {
    match source {
        Source::Page(page) => {
            Ok(Bytes::from_static(&page.as_bytes()[at as usize..at as usize + len]))
        }
        Source::Pattern => {
            let mut bytes = BytesMut::zeroed(len);
            content::fill(at, &mut bytes);
            Ok(bytes.freeze())
        }
        Source::File(file) => {
            let mut bytes = BytesMut::zeroed(len);
            file.read_exact(&mut bytes).await.map_err(|_| Cut::Ours(Code::H3_INTERNAL_ERROR))?;
            Ok(bytes.freeze())
        }
    }
}
