//! The sender on quinn: the parts specific to its interface.

#[allow(
    clippy::duplicate_mod,
    reason = "once per stack: the types are others, the names are the same"
)]
#[path = "stack_sender.rs"]
mod stack_sender;

pub(super) use stack_sender::StackSender as QuinnSender;

mod stack {
    #[cfg(feature = "qlog")]
    pub(super) use crate::qlog::on_quinn as write_qlog;
    use crate::wire::Ecn;
    use bytes::{Bytes, BytesMut};
    use firstflight_quic::Status;
    pub(super) use quinn_proto::congestion::ControllerFactory;
    pub(super) use quinn_proto::crypto::rustls::QuicServerConfig;
    pub(super) use quinn_proto::{
        Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
        ReadError, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, WriteError,
    };
    use quinn_proto::{EcnCodepoint, SendStream};
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Instant;

    /// Source of datagrams.
    pub(super) type Peer = SocketAddr;

    pub(super) fn endpoint(
        config: EndpointConfig,
        server: ServerConfig,
        seed: [u8; 32],
    ) -> Endpoint {
        Endpoint::new(Arc::new(config), Some(Arc::new(server)), false, Some(seed))
    }

    pub(super) fn status(connection: &Connection) -> Option<Status> {
        firstflight_quic::quinn::status(connection.congestion_state())
    }

    pub(super) fn close_log(connection: &Connection) {
        firstflight_quic::quinn::close_log(connection.congestion_state());
    }

    pub(super) fn handle(
        endpoint: &mut Endpoint,
        now: Instant,
        peer: Peer,
        ecn: Ecn,
        bytes: BytesMut,
        buffer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(now, peer, None, EcnCodepoint::from_bits(ecn), bytes, buffer)
    }

    /// Sends one datagram.
    pub(super) fn poll_one(
        connection: &mut Connection,
        now: Instant,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, 1, buffer)
    }

    /// Returns the number of bytes of `piece` that were accepted.
    pub(super) fn write(stream: &mut SendStream<'_>, piece: Bytes) -> Result<u64, WriteError> {
        stream.write_chunks(&mut [piece]).map(|written| written.bytes as u64)
    }
}
