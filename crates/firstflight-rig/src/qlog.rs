//! The stacks' own qlog, in virtual time.

use crate::trial::StackLog;
use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side, TransportConfig};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The rig has one connection: the first request gets the log.
struct Once {
    start: Instant,
    log: Mutex<Option<StackLog>>,
}

impl QlogFactory for Once {
    fn for_connection(
        &self,
        _: Side,
        _: SocketAddr,
        _: ConnectionId,
        _: Instant,
    ) -> Option<QlogConfig> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut config = QlogConfig::new(log);
        config.title(Some("noq".into())).start_time(self.start);
        Some(config)
    }
}

/// Makes noq write to `log`, with times counted from `start`.
pub(super) fn on_noq(transport: &mut TransportConfig, start: Instant, log: StackLog) {
    transport.qlog_factory(Arc::new(Once { start, log: Mutex::new(Some(log)) }));
}

/// Makes quinn write to `log`, with times counted from `start`.
#[cfg(feature = "quinn")]
pub(super) fn on_quinn(
    transport: &mut quinn_proto::TransportConfig,
    start: Instant,
    log: StackLog,
) {
    let mut config = quinn_proto::QlogConfig::default();
    config.writer(log).title(Some("quinn".into())).start_time(start);
    transport.qlog_stream(config.into_stream());
}
