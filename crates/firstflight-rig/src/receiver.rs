//! The receiving end: a client that requests the object and reads it in order.
//!
//! It does not use noq, whose reassembly refuses more than 1024 pieces beyond a gap and closes the
//! connection; the overshoot of slow start on a path with a large window reaches that limit.
//! iroh-quinn-proto 0.15 has no such limit. It acknowledges every second packet, and out-of-order
//! packets at once.

use super::wire::{Ecn, Lane};
use super::{Error, tls};
use bytes::BytesMut;
use iroh_quinn_proto::crypto::rustls::QuicClientConfig;
use iroh_quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, Event, FourTuple, ReadError, StreamEvent, StreamId, Transmit, TransportConfig,
    VarInt,
};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// The receiver of one object.
pub(super) struct Receiver {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    received: u64,
    finished: bool,
    buffer: Vec<u8>,
    peer: FourTuple,
}

impl Receiver {
    pub(super) fn new(
        now: Instant,
        window: u64,
        remote: SocketAddr,
        peer: FourTuple,
        seed: [u8; 32],
        datagram: u16,
    ) -> Result<Receiver, Error> {
        let window = VarInt::from_u64(window).unwrap_or(VarInt::MAX);
        let mut transport = TransportConfig::default();
        transport
            .mtu_discovery_config(None)
            .stream_receive_window(window)
            .receive_window(window)
            .max_idle_timeout(None);
        let crypto = QuicClientConfig::try_from(tls::client()?)
            .map_err(|error| Error::new(error.to_string()))?;
        let mut client = ClientConfig::new(Arc::new(crypto));
        client.transport_config(Arc::new(transport));
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        if u64::from(datagram) > config.get_max_udp_payload_size() {
            config
                .max_udp_payload_size(datagram)
                .map_err(|error| Error::new(format!("datagrams of {datagram} B: {error}")))?;
        }
        let mut endpoint = Endpoint::new(Arc::new(config), None, false);
        let (handle, connection) = endpoint
            .connect(now, client, remote, tls::NAME)
            .map_err(|error| Error::new(format!("the receiver cannot connect: {error}")))?;
        Ok(Receiver {
            endpoint,
            handle,
            connection,
            stream: None,
            received: 0,
            finished: false,
            buffer: Vec::with_capacity(2048),
            peer,
        })
    }

    /// Bytes of the object read in order.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Whether the end of the object was read.
    pub(super) fn finished(&self) -> bool {
        self.finished
    }

    pub(super) fn timeout(&mut self) -> Option<Instant> {
        self.connection.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
    }

    /// A datagram arrives.
    pub(super) fn handle(
        &mut self,
        now: Instant,
        at: u64,
        ecn: Ecn,
        bytes: BytesMut,
        up: &mut Lane<'_>,
    ) {
        self.buffer.clear();
        match self.endpoint.handle(
            now,
            self.peer,
            EcnCodepoint::from_bits(ecn),
            bytes,
            &mut self.buffer,
        ) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection.handle_event(event),
            Some(DatagramEvent::Response(transmit)) => {
                up.offer(at, bits(&transmit), &self.buffer[..transmit.size]);
            }
            Some(DatagramEvent::NewConnection(_)) | None => {}
        }
    }

    /// Exchanges all pending events between the stack and the application.
    pub(super) fn drive(&mut self) -> Result<(), Error> {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(answer);
            }
        }
        let mut readable = false;
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected => self.ask()?,
                Event::Stream(StreamEvent::Readable { .. }) => readable = true,
                Event::ConnectionLost { reason } => {
                    return Err(Error::new(format!("the receiver lost its connection: {reason}")));
                }
                _ => {}
            }
        }
        if readable { self.read() } else { Ok(()) }
    }

    /// The next datagram that may leave.
    pub(super) fn transmit(&mut self, now: Instant) -> Option<(Ecn, &[u8])> {
        self.buffer.clear();
        let transmit = self.connection.poll_transmit(now, NonZeroUsize::MIN, &mut self.buffer)?;
        Some((bits(&transmit), &self.buffer[..transmit.size]))
    }

    fn ask(&mut self) -> Result<(), Error> {
        let stream = self
            .connection
            .streams()
            .open(Dir::Bi)
            .ok_or_else(|| Error::new("the receiver may not open a stream"))?;
        let mut send = self.connection.send_stream(stream);
        send.write(b"object")
            .map_err(|error| Error::new(format!("the request cannot be written: {error}")))?;
        send.finish()
            .map_err(|error| Error::new(format!("the request cannot be finished: {error}")))?;
        self.stream = Some(stream);
        Ok(())
    }

    fn read(&mut self) -> Result<(), Error> {
        let Some(stream) = self.stream.filter(|_| !self.finished) else { return Ok(()) };
        let mut receive = self.connection.recv_stream(stream);
        let mut chunks = receive
            .read(true)
            .map_err(|error| Error::new(format!("the object cannot be read: {error}")))?;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) if chunk.offset == self.received => {
                    self.received += chunk.bytes.len() as u64;
                }
                Ok(Some(chunk)) => {
                    return Err(Error::new(format!(
                        "byte {} was read where {} is due",
                        chunk.offset, self.received
                    )));
                }
                Ok(None) => {
                    self.finished = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(error) => {
                    return Err(Error::new(format!("the object cannot be read: {error}")));
                }
            }
        }
        let _ = chunks.finalize();
        Ok(())
    }
}

fn bits(transmit: &Transmit) -> Ecn {
    transmit.ecn.map_or(0, |ecn| ecn as Ecn)
}
