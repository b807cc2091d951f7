//! The ACKs that a reader found in a trace, as a table that [`firstflight_log::table`] can read, so
//! that anyone can check and plot them.

use firstflight::event::Transport;
use firstflight::{Ack, Event, Time};
use firstflight_log::step::{Id, Opening, Step};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The columns. `una` and `nxt` are TCP sequence numbers; QUIC has none.
const HEADER: &str = "connection,transport,time_ns,acked_bytes,una,nxt,inflight_bytes,rtt_ns,lost_bytes,\
    mss,app_limited,ce,receiver_ts,timeouts,spurious";

/// Writes the table.
pub struct Events {
    to: BufWriter<File>,
    /// Numbers of timeouts and spurious losses since the last ACK.
    pending: HashMap<Id, (u64, u64)>,
    failed: Option<io::Error>,
}

impl Events {
    /// Starts the table in a new file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(file: &Path) -> io::Result<Events> {
        let mut to = BufWriter::new(File::create(file)?);
        writeln!(to, "{HEADER}")?;
        Ok(Events { to, pending: HashMap::new(), failed: None })
    }

    pub(crate) fn see(&mut self, id: Id, opening: &Opening, mss: u64, step: &Step) {
        let Step::Event(event, _) = step else { return };
        match event {
            Event::Ack(ack, _) => {
                let pending = self.pending.remove(&id).unwrap_or_default();
                let written = self.write(opening, mss, ack, pending);
                self.failed = self.failed.take().or(written.err());
            }
            Event::Congestion(_) => self.pending.entry(id).or_default().0 += 1,
            Event::Spurious { .. } => self.pending.entry(id).or_default().1 += 1,
            _ => {}
        }
    }

    fn write(
        &mut self,
        opening: &Opening,
        mss: u64,
        ack: &Ack,
        (timeouts, spurious): (u64, u64),
    ) -> io::Result<()> {
        let text = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let is_tcp = opening.transport == Transport::Tcp;
        let since = ack.now.since(opening.start).0;
        // The clock starts with the first packet, as in other programs' tables.
        let Time(start) = Time(1_000_000_000);
        writeln!(
            self.to,
            "\"{}\",{},{},{},{},{},{},{},{},{mss},{},{},{},{timeouts},{spurious}",
            opening.name.replace('"', "\"\"").replace(['\n', '\r'], " "),
            opening.transport.name(),
            start + since,
            ack.acked,
            text(is_tcp.then_some(ack.una.0)),
            text(is_tcp.then_some(ack.nxt.0)),
            ack.inflight_before,
            text(ack.rtt.map(|rtt| rtt.0)),
            ack.lost,
            u8::from(ack.app_limited),
            u8::from(ack.ce),
            text(ack.detail.receiver_ts.map(u64::from)),
        )
    }

    /// Completes the table.
    ///
    /// # Errors
    /// The first error while writing.
    pub fn finish(mut self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err).and_then(|()| self.to.flush())
    }
}
