//! The traits of the crate `h3` over a QUIC stack of quinn's family. This file is compiled once per
//! stack: `super::stack` is noq for the server and iroh-quinn for the client. Their interfaces
//! agree in everything that is used here.
//!
//! Differences from a plain binding:
//! * a finished stream counts as finished only when the peer has acknowledged all of it
//!   ([`Finish::Acknowledged`]), which defines a sender's time to last byte;
//! * no stream delivers more than an allowance ([`Allowance`]): `h3` buffers a frame until it is
//!   complete, and nothing else limits its size;
//! * a write that waits for credit also watches for STOP_SENDING: the stack does not check for it
//!   while the connection has no credit;
//! * a server refuses what it must and `h3` does not check: push streams of a client, and repeated
//!   pseudo-header fields.

use super::stack::{
    AcceptBi, AcceptUni, Connection as Quic, ConnectionError, OpenBi, OpenUni, ReadError,
    RecvStream as QuicRecv, SendStream as QuicSend, StoppedError, VarInt, WriteError,
};
use crate::fields::{Head, integer};
use crate::streams::{Allowance, Finish};
use bytes::{Buf, Bytes, BytesMut};
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId, WriteBuf};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio_util::sync::ReusableBoxFuture;

type Opening<T> = ReusableBoxFuture<'static, T>;
type Both = (QuicSend, QuicRecv);

/// A connection.
pub(crate) struct Connection {
    quic: Quic,
    accepting_both: Opening<Result<Both, ConnectionError>>,
    accepting_one: Opening<Result<QuicRecv, ConnectionError>>,
    opener: Opener,
    allowance: Allowance,
}

impl Connection {
    pub(crate) fn new(quic: Quic, finish: Finish, allowance: Allowance) -> Connection {
        let opener = Opener { quic: quic.clone(), finish, opening_both: None, opening_one: None };
        Connection {
            accepting_both: ReusableBoxFuture::new(accept_both(quic.clone())),
            accepting_one: ReusableBoxFuture::new(accept_one(quic.clone())),
            quic,
            opener,
            allowance,
        }
    }
}

async fn accept_both(quic: Quic) -> Result<Both, ConnectionError> {
    let accept: AcceptBi<'_> = quic.accept_bi();
    accept.await
}

async fn accept_one(quic: Quic) -> Result<QuicRecv, ConnectionError> {
    let accept: AcceptUni<'_> = quic.accept_uni();
    accept.await
}

async fn open_both(quic: Quic) -> Result<Both, ConnectionError> {
    let open: OpenBi<'_> = quic.open_bi();
    open.await
}

async fn open_one(quic: Quic) -> Result<QuicSend, ConnectionError> {
    let open: OpenUni<'_> = quic.open_uni();
    open.await
}

impl<B: Buf> quic::Connection<B> for Connection {
    type RecvStream = RecvStream;
    type OpenStreams = Opener;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, ConnectionErrorIncoming>> {
        let stream = ready!(self.accepting_one.poll(cx));
        self.accepting_one.set(accept_one(self.quic.clone()));
        let kind =
            (!self.allowance.push).then(|| Kind { quic: self.quic.clone(), bytes: Vec::new() });
        let receive = |stream| RecvStream { stream, left: self.allowance.control, kind };
        Poll::Ready(stream.map(receive).map_err(of_connection))
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, ConnectionErrorIncoming>> {
        let streams = ready!(self.accepting_both.poll(cx));
        self.accepting_both.set(accept_both(self.quic.clone()));
        let both = |both| BidiStream {
            head: Some(Head::default()),
            ..BidiStream::new(both, self.opener.finish, self.allowance.request)
        };
        Poll::Ready(streams.map(both).map_err(of_connection))
    }

    fn opener(&self) -> Opener {
        self.opener.clone()
    }
}

impl<B: Buf> quic::OpenStreams<B> for Connection {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        self.opener.poll_open_bidi(cx)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        self.opener.poll_open_send(cx)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        quic::OpenStreams::<B>::close(&mut self.opener, code, reason);
    }
}

/// Opens streams.
pub(crate) struct Opener {
    quic: Quic,
    finish: Finish,
    opening_both: Option<Opening<Result<Both, ConnectionError>>>,
    opening_one: Option<Opening<Result<QuicSend, ConnectionError>>>,
}

impl Clone for Opener {
    fn clone(&self) -> Opener {
        Opener {
            quic: self.quic.clone(),
            finish: self.finish,
            opening_both: None,
            opening_one: None,
        }
    }
}

impl<B: Buf> quic::OpenStreams<B> for Opener {
    type BidiStream = BidiStream<B>;
    type SendStream = SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<BidiStream<B>, StreamErrorIncoming>> {
        let quic = &self.quic;
        let opening = self
            .opening_both
            .get_or_insert_with(|| ReusableBoxFuture::new(open_both(quic.clone())));
        let streams = ready!(opening.poll(cx));
        self.opening_both = None;
        Poll::Ready(streams.map(|both| BidiStream::new(both, self.finish, u64::MAX)).map_err(lost))
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream<B>, StreamErrorIncoming>> {
        let quic = &self.quic;
        let opening =
            self.opening_one.get_or_insert_with(|| ReusableBoxFuture::new(open_one(quic.clone())));
        let stream = ready!(opening.poll(cx));
        self.opening_one = None;
        Poll::Ready(stream.map(|stream| SendStream::new(stream, self.finish)).map_err(lost))
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.quic.close(varint(code.value()), reason);
    }
}

/// Both directions of a stream.
pub(crate) struct BidiStream<B: Buf> {
    send: SendStream<B>,
    recv: RecvStream,
    /// The head of a request, until it is complete.
    head: Option<Head>,
}

impl<B: Buf> BidiStream<B> {
    fn new((send, recv): Both, finish: Finish, allowance: u64) -> BidiStream<B> {
        let recv = RecvStream { stream: recv, left: allowance, kind: None };
        BidiStream { send: SendStream::new(send, finish), recv, head: None }
    }
}

impl<B: Buf> quic::BidiStream<B> for BidiStream<B> {
    type SendStream = SendStream<B>;
    type RecvStream = RecvStream;

    fn split(self) -> (SendStream<B>, RecvStream) {
        (self.send, self.recv)
    }
}

impl<B: Buf> quic::RecvStream for BidiStream<B> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let piece = ready!(self.recv.poll_data(cx))?;
        if let (Some(head), Some(piece)) = (&mut self.head, &piece) {
            // RFC 9114 section 4.3: malformed, which section 4.1.2 makes a stream error.
            if head.repeats(piece) {
                let error_code = Code::H3_MESSAGE_ERROR.value();
                quic::SendStream::<B>::reset(&mut self.send, error_code);
                quic::RecvStream::stop_sending(&mut self.recv, error_code);
                return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }));
            }
            if head.is_done() {
                self.head = None;
            }
        }
        Poll::Ready(Ok(piece))
    }

    fn stop_sending(&mut self, code: u64) {
        self.recv.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.recv.recv_id()
    }
}

impl<B: Buf> quic::SendStream<B> for BidiStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_ready(cx)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.send.send_data(data)
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.send.poll_finish(cx)
    }

    fn reset(&mut self, code: u64) {
        self.send.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.send.send_id()
    }
}

/// The receiving side of a stream.
pub(crate) struct RecvStream {
    stream: QuicRecv,
    /// Bytes that it may still deliver.
    left: u64,
    /// Start of a unidirectional stream, until it is known not to be a push stream.
    kind: Option<Kind>,
}

/// Start of a stream whose type the peer may not be allowed to open.
struct Kind {
    quic: Quic,
    bytes: Vec<u8>,
}

impl Kind {
    /// RFC 9114 section 6.2.2.
    const PUSH: u64 = 1;

    /// The type of the stream, once its start has arrived.
    fn of(&mut self, piece: &[u8]) -> Option<u64> {
        self.bytes.extend(piece.iter().take(8));
        integer(&self.bytes).map(|(kind, _)| kind)
    }
}

impl quic::RecvStream for RecvStream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        const PIECE: usize = 16 << 10;
        let mut piece = BytesMut::zeroed(PIECE);
        let len = ready!(self.stream.poll_read(cx, &mut piece)).map_err(of_read)?;
        let Some(left) = self.left.checked_sub(len as u64) else {
            self.stop_sending(Code::H3_EXCESSIVE_LOAD.value());
            return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated {
                error_code: Code::H3_EXCESSIVE_LOAD.value(),
            }));
        };
        self.left = left;
        piece.truncate(len);
        if let Some(kind) = self.kind.as_mut().and_then(|kind| kind.of(&piece)) {
            let begun = self.kind.take();
            if let Some(Kind { quic, .. }) = begun.filter(|_| kind == Kind::PUSH) {
                // RFC 9114 section 6.2.2: only servers push.
                quic.close(
                    varint(Code::H3_STREAM_CREATION_ERROR.value()),
                    b"a push stream of a client",
                );
                let connection_error =
                    ConnectionErrorIncoming::InternalError("a push stream of a client".into());
                return Poll::Ready(Err(StreamErrorIncoming::ConnectionErrorIncoming {
                    connection_error,
                }));
            }
        }
        Poll::Ready(Ok((len > 0).then(|| piece.freeze())))
    }

    fn stop_sending(&mut self, code: u64) {
        // Fails if the stream has already ended; then there is nothing left to stop.
        let _ = self.stream.stop(varint(code));
    }

    fn recv_id(&self) -> StreamId {
        id(self.stream.id().into())
    }
}

type Ending = Pin<Box<dyn Future<Output = Result<(), StreamErrorIncoming>> + Send + Sync>>;

/// The sending side of a stream.
pub(crate) struct SendStream<B: Buf> {
    stream: QuicSend,
    writing: Option<WriteBuf<B>>,
    finish: Finish,
    /// Whether the end of the stream was queued.
    finished: bool,
    /// Resolves when the peer has acknowledged everything, or has stopped the stream.
    ending: Option<Ending>,
    /// Whether anything was sent, or the stream was reset.
    spoken: bool,
}

impl<B: Buf> SendStream<B> {
    fn new(stream: QuicSend, finish: Finish) -> SendStream<B> {
        SendStream { stream, writing: None, finish, finished: false, ending: None, spoken: false }
    }

    fn poll_ending(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        let stream = &self.stream;
        let ending = self.ending.get_or_insert_with(|| {
            let stopped = stream.stopped();
            Box::pin(async {
                match stopped.await {
                    Ok(None) => Ok(()),
                    Ok(Some(code)) => {
                        Err(StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() })
                    }
                    Err(StoppedError::ConnectionLost(error)) => Err(lost(error)),
                    Err(other) => Err(StreamErrorIncoming::Unknown(Box::new(other))),
                }
            })
        });
        let end = ready!(ending.as_mut().poll(cx));
        self.ending = None;
        Poll::Ready(end)
    }
}

impl<B: Buf> quic::SendStream<B> for SendStream<B> {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(data) = &mut self.writing {
            if !data.has_remaining() {
                break;
            }
            let Poll::Ready(written) = Pin::new(&mut self.stream).poll_write(cx, data.chunk())
            else {
                // While the connection has no credit, a write does not report a stop.
                return match self.poll_ending(cx) {
                    Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                    Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
                };
            };
            data.advance(written.map_err(of_write)?);
        }
        self.writing = None;
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        if self.writing.is_some() {
            let connection_error =
                ConnectionErrorIncoming::InternalError("data before the last was sent".into());
            return Err(StreamErrorIncoming::ConnectionErrorIncoming { connection_error });
        }
        self.writing = Some(data.into());
        self.spoken = true;
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if !self.finished {
            self.stream.finish().map_err(|error| StreamErrorIncoming::Unknown(Box::new(error)))?;
            self.finished = true;
        }
        if self.finish == Finish::Noted {
            return Poll::Ready(Ok(()));
        }
        self.poll_ending(cx)
    }

    fn reset(&mut self, code: u64) {
        self.spoken = true;
        let _ = self.stream.reset(varint(code));
    }

    fn send_id(&self) -> StreamId {
        id(self.stream.id().into())
    }
}

impl<B: Buf> Drop for SendStream<B> {
    /// The stack ends a dropped stream as if everything had been sent. `h3` relies on that for the
    /// only answer that it gives itself (431). But a stream on which nothing was sent is not an
    /// answer and must not look like an empty one.
    fn drop(&mut self) {
        if !self.spoken {
            let _ = self.stream.reset(varint(Code::H3_REQUEST_CANCELLED.value()));
        }
    }
}

fn varint(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

/// Stream ids of both crates are numbers below 2^62.
fn id(number: u64) -> StreamId {
    number.try_into().expect("a number below 2^62")
}

fn of_connection(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

fn lost(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: of_connection(error) }
}

fn of_read(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        ReadError::ConnectionLost(error) => lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

fn of_write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => {
            StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() }
        }
        WriteError::ConnectionLost(error) => lost(error),
        other => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}
