//! The sending end: a noq server that answers one request with one object.

use super::wire::{Ecn, Wire};
use super::{Fault, tls};
use crate::noq::Factory;
use bytes::{Bytes, BytesMut};
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, FourTuple, ReadError, ServerConfig,
    StreamEvent, StreamId, Transmit, TransportConfig, WriteError,
};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// Content of the object; written by reference, again and again.
static CONTENT: [u8; 65_536] = [0x2a; 65_536];

/// How far the application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Listening,
    /// The request arrived on this stream; so many bytes of the object are still to be handed to the stack.
    Serving {
        stream: StreamId,
        left: u64,
    },
    /// The last byte was acknowledged.
    Done,
}

/// The sender of one object.
pub(super) struct Sender {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    object: u64,
    stage: Stage,
    buffer: Vec<u8>,
    peer: FourTuple,
}

impl Sender {
    pub(super) fn new(object: u64, datagram: u16, factory: Factory, peer: FourTuple, seed: [u8; 32]) -> Result<Sender, Fault> {
        let mut transport = TransportConfig::default();
        transport.initial_mtu(datagram).mtu_discovery_config(None).congestion_controller_factory(Arc::new(factory));
        // The whole object at once: what limits the flow is the window and nothing else. The content is borrowed, not copied.
        transport.send_window(object.saturating_add(1_000_000)).max_idle_timeout(None);
        let crypto = QuicServerConfig::try_from(tls::server()?).map_err(|error| Fault(error.to_string()))?;
        let mut server = ServerConfig::with_crypto(Arc::new(crypto));
        server.transport_config(Arc::new(transport));
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(server)), false);
        Ok(Sender { endpoint, connection: None, object, stage: Stage::Listening, buffer: Vec::with_capacity(2048), peer })
    }

    pub(super) fn serving(&self) -> bool {
        self.stage != Stage::Listening
    }

    pub(super) fn done(&self) -> bool {
        self.stage == Stage::Done
    }

    pub(super) fn timeout(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout())
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    pub(super) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref().map(|(_, connection)| connection)
    }

    /// A datagram arrives.
    pub(super) fn handle(&mut self, now: Instant, at: u64, ecn: Ecn, bytes: BytesMut, down: &mut Wire) -> Result<(), Fault> {
        self.buffer.clear();
        match self.endpoint.handle(now, self.peer, EcnCodepoint::from_bits(ecn), bytes, &mut self.buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut self.buffer, None);
                self.connection = Some(accepted.map_err(|error| Fault(error.cause.to_string()))?);
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                down.offer(at, bits(&transmit), &self.buffer[..transmit.size]);
            }
            None => {}
        }
        Ok(())
    }

    /// Everything the stack and the application have to say to each other.
    pub(super) fn drive(&mut self) -> Result<(), Fault> {
        let Some((handle, connection)) = &mut self.connection else { return Ok(()) };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Finished { .. }) => self.stage = Stage::Done,
                Event::ConnectionLost { reason } => return Err(Fault(format!("the sender lost its connection: {reason}"))),
                _ => {}
            }
        }
        if self.stage == Stage::Listening
            && let Some(stream) = request(connection)?
        {
            self.stage = Stage::Serving { stream, left: self.object };
        }
        if let Stage::Serving { stream, left } = &mut self.stage {
            serve(connection, *stream, left)?;
        }
        Ok(())
    }

    /// The next datagram that may leave.
    pub(super) fn transmit(&mut self, now: Instant) -> Option<(Ecn, &[u8])> {
        let (_, connection) = self.connection.as_mut()?;
        self.buffer.clear();
        // One at a time: what is on the wire then lines up with what the controller hears.
        let transmit = connection.poll_transmit(now, NonZeroUsize::MIN, &mut self.buffer)?;
        Some((bits(&transmit), &self.buffer[..transmit.size]))
    }
}

/// The stream of a complete request, if there is one.
fn request(connection: &mut Connection) -> Result<Option<StreamId>, Fault> {
    let Some(stream) = connection.streams().accept(Dir::Bi) else { return Ok(None) };
    let mut receive = connection.recv_stream(stream);
    let Ok(mut chunks) = receive.read(true) else { return Ok(None) };
    loop {
        match chunks.next(usize::MAX) {
            Ok(Some(_)) => {}
            // The request is one packet; what it says does not matter.
            Ok(None) | Err(ReadError::Blocked) => break,
            Err(error) => return Err(Fault(format!("the request cannot be read: {error}"))),
        }
    }
    let _ = chunks.finalize();
    Ok(Some(stream))
}

/// Hands over what the stack takes.
fn serve(connection: &mut Connection, stream: StreamId, left: &mut u64) -> Result<(), Fault> {
    let mut send = connection.send_stream(stream);
    while *left > 0 {
        let piece = (*left).min(CONTENT.len() as u64) as usize;
        match send.write_chunks(&mut [Bytes::from_static(&CONTENT[..piece])].as_mut_slice()) {
            Ok(written) => *left -= written as u64,
            Err(WriteError::Blocked) => return Ok(()),
            Err(error) => return Err(Fault(format!("the object cannot be written: {error}"))),
        }
        if *left == 0 {
            send.finish().map_err(|error| Fault(format!("the object cannot be finished: {error}")))?;
        }
    }
    Ok(())
}

fn bits(transmit: &Transmit) -> Ecn {
    transmit.ecn.map_or(0, |ecn| ecn as Ecn)
}
