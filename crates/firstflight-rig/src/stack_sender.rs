//! The sender of one object, for stacks whose interfaces use the same names: included once per
//! stack, next to a module `stack` with the differences.

use super::stack::{
    self, Connection, ConnectionHandle, ControllerFactory, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, Peer, QuicServerConfig, ReadError, ServerConfig, StreamEvent, StreamId,
    Transmit, TransportConfig, WriteError,
};
use crate::sender::{CONTENT, Sender, Stage};
use crate::wire::{Ecn, Lane};
use crate::{Error, StackLog, tls};
use bytes::{Bytes, BytesMut};
use firstflight_quic::Status;
use std::sync::Arc;
use std::time::Instant;

/// The sender of one object.
pub(crate) struct StackSender {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    object: u64,
    stage: Stage<StreamId>,
    buffer: Vec<u8>,
    peer: Peer,
}

impl StackSender {
    pub(crate) fn new(
        (object, window, datagram): (u64, u64, u16),
        factory: Arc<dyn ControllerFactory + Send + Sync>,
        peer: Peer,
        seed: [u8; 32],
        log: Option<(Instant, StackLog)>,
    ) -> Result<StackSender, Error> {
        let mut transport = TransportConfig::default();
        transport
            .initial_mtu(datagram)
            .mtu_discovery_config(None)
            .congestion_controller_factory(factory);
        // Far more than is ever in flight, so that only the congestion window limits the flow. The
        // content is borrowed, not copied.
        transport.send_window(window).max_idle_timeout(None);
        #[cfg(feature = "qlog")]
        if let Some((start, log)) = log {
            stack::write_qlog(&mut transport, start, log);
        }
        #[cfg(not(feature = "qlog"))]
        drop(log);
        let crypto = QuicServerConfig::try_from(tls::server()?)
            .map_err(|error| Error::new(error.to_string()))?;
        let mut server = ServerConfig::with_crypto(Arc::new(crypto));
        server.transport_config(Arc::new(transport));
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        let endpoint = stack::endpoint(config, server, seed);
        Ok(StackSender {
            endpoint,
            connection: None,
            object,
            stage: Stage::Listening,
            buffer: Vec::with_capacity(2048),
            peer,
        })
    }
}

impl Sender for StackSender {
    fn serving(&self) -> bool {
        self.stage != Stage::Listening
    }

    fn done(&self) -> bool {
        self.stage == Stage::Done
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout())
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    fn status(&self) -> Option<Status> {
        stack::status(&self.connection.as_ref()?.1)
    }

    fn close_log(&self) {
        if let Some((_, connection)) = &self.connection {
            stack::close_log(connection);
        }
    }

    fn handle(
        &mut self,
        now: Instant,
        at: u64,
        ecn: Ecn,
        bytes: BytesMut,
        down: &mut Lane<'_>,
    ) -> Result<(), Error> {
        self.buffer.clear();
        match stack::handle(&mut self.endpoint, now, self.peer, ecn, bytes, &mut self.buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut self.buffer, None);
                self.connection =
                    Some(accepted.map_err(|error| Error::new(error.cause.to_string()))?);
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

    fn drive(&mut self) -> Result<(), Error> {
        let Some((handle, connection)) = &mut self.connection else { return Ok(()) };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Stream(StreamEvent::Finished { .. }) => self.stage = Stage::Done,
                Event::ConnectionLost { reason } => {
                    return Err(Error::new(format!("the sender lost its connection: {reason}")));
                }
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

    fn transmit(&mut self, now: Instant) -> Option<(Ecn, &[u8])> {
        let (_, connection) = self.connection.as_mut()?;
        self.buffer.clear();
        // One at a time, so that the packets on the wire match the controller's events.
        let transmit = stack::poll_one(connection, now, &mut self.buffer)?;
        Some((bits(&transmit), &self.buffer[..transmit.size]))
    }
}

/// The stream of a complete request, if there is one.
fn request(connection: &mut Connection) -> Result<Option<StreamId>, Error> {
    let Some(stream) = connection.streams().accept(Dir::Bi) else { return Ok(None) };
    let mut receive = connection.recv_stream(stream);
    let Ok(mut chunks) = receive.read(true) else { return Ok(None) };
    loop {
        match chunks.next(usize::MAX) {
            Ok(Some(_)) => {}
            // The request is one packet; its content does not matter.
            Ok(None) | Err(ReadError::Blocked) => break,
            Err(error) => return Err(Error::new(format!("the request cannot be read: {error}"))),
        }
    }
    let _ = chunks.finalize();
    Ok(Some(stream))
}

/// Passes as many bytes as the stack accepts.
fn serve(connection: &mut Connection, stream: StreamId, left: &mut u64) -> Result<(), Error> {
    let mut send = connection.send_stream(stream);
    while *left > 0 {
        let piece = (*left).min(CONTENT.len() as u64) as usize;
        match stack::write(&mut send, Bytes::from_static(&CONTENT[..piece])) {
            Ok(written) => *left -= written,
            Err(WriteError::Blocked) => return Ok(()),
            Err(error) => return Err(Error::new(format!("the object cannot be written: {error}"))),
        }
        if *left == 0 {
            send.finish()
                .map_err(|error| Error::new(format!("the object cannot be finished: {error}")))?;
        }
    }
    Ok(())
}

fn bits(transmit: &Transmit) -> Ecn {
    transmit.ecn.map_or(0, |ecn| ecn as Ecn)
}
