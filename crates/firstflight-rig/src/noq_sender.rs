//! The sender on noq: the parts specific to its interface.

#[allow(
    clippy::duplicate_mod,
    reason = "once per stack: the types are others, the names are the same"
)]
#[path = "stack_sender.rs"]
mod stack_sender;

pub(super) use stack_sender::StackSender as NoqSender;

mod stack {
    #[cfg(feature = "qlog")]
    pub(super) use crate::qlog::on_noq as write_qlog;
    use crate::wire::Ecn;
    use bytes::{Bytes, BytesMut};
    use firstflight_quic::Status;
    pub(super) use noq_proto::congestion::ControllerFactory;
    pub(super) use noq_proto::crypto::rustls::QuicServerConfig;
    pub(super) use noq_proto::{
        Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
        ReadError, ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig, WriteError,
    };
    use noq_proto::{EcnCodepoint, FourTuple, PathId, SendStream};
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::time::Instant;

    /// Source of datagrams, and our address that they reach.
    pub(super) type Peer = FourTuple;

    pub(super) fn endpoint(
        config: EndpointConfig,
        server: ServerConfig,
        _seed: [u8; 32],
    ) -> Endpoint {
        Endpoint::new(Arc::new(config), Some(Arc::new(server)), false)
    }

    pub(super) fn status(connection: &Connection) -> Option<Status> {
        firstflight_quic::noq::status(connection.congestion_state(PathId::ZERO)?)
    }

    pub(super) fn close_log(connection: &Connection) {
        if let Some(controller) = connection.congestion_state(PathId::ZERO) {
            firstflight_quic::noq::close_log(controller);
        }
    }

    pub(super) fn handle(
        endpoint: &mut Endpoint,
        now: Instant,
        peer: Peer,
        ecn: Ecn,
        bytes: BytesMut,
        buffer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(now, peer, EcnCodepoint::from_bits(ecn), bytes, buffer)
    }

    /// Sends one datagram.
    pub(super) fn poll_one(
        connection: &mut Connection,
        now: Instant,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, NonZeroUsize::MIN, buffer)
    }

    /// Returns the number of bytes of `piece` that were accepted.
    pub(super) fn write(stream: &mut SendStream<'_>, piece: Bytes) -> Result<u64, WriteError> {
        stream.write_chunks(&mut [piece].as_mut_slice()).map(|written| written as u64)
    }
}
