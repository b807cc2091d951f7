//! Our own logs (`docs/traces.md`) as steps: every call of a controller, so that the arm that ran
//! can be replayed to the exact ACK. Table columns and `firstflight:*` events of a qlog hold the
//! same fields; [`trace::fields`](crate::trace::fields) reads both.

use crate::step::{Id, Opening, Ran, Recorded, Sink, Stated, Step};
use crate::trace::{Entry, Packet, Source, Start, What};
use firstflight::event::Transport;
use firstflight::named::Named;
use firstflight::{Event, Seq, Time};

/// IP and UDP or TCP headers of a packet whose size the log does not state.
const fn lower(transport: Transport) -> u64 {
    match transport {
        Transport::Quic => 28,
        Transport::Tcp => 52,
    }
}

/// Turns the entries of the current connection into steps.
#[derive(Debug, Default)]
pub struct Own {
    id: Option<Id>,
    opened: u64,
    lower: u64,
}

impl Own {
    /// Number of connections so far.
    pub fn connections(&self) -> u64 {
        self.opened
    }

    /// Takes one entry of the current connection. `name` is the name of the file, or whatever
    /// identifies the connection within it.
    ///
    /// # Errors
    /// A description, if something that the replay needs is missing.
    pub fn take(&mut self, name: &str, entry: &Entry, sink: &mut impl Sink) -> Result<(), String> {
        if let What::Start(start) = &entry.what {
            return self.start(name, entry.now, start, sink);
        }
        let Some(id) = self.id else { return Err("before the `start` of its connection".into()) };
        sink.step(id, &step(&entry.what, self.lower));
        Ok(())
    }

    fn start(
        &mut self,
        name: &str,
        now: Time,
        start: &Start,
        sink: &mut impl Sink,
    ) -> Result<(), String> {
        self.close(sink);
        let transport = Transport::of_name(&start.transport)
            .ok_or_else(|| wrong("transport", &start.transport, Transport::NAMES))?;
        let config = start.config.ok_or("the field `mss` is missing")?;
        let arm = [&start.arm_full, &start.arm].into_iter().find(|arm| !arm.is_empty());
        let arm = arm.ok_or("the field `arm_full` is missing")?;
        let called = if start.arm.is_empty() { arm } else { &start.arm };
        let testbed =
            if start.testbed.is_empty() { "unknown testbed" } else { start.testbed.as_str() };
        self.lower = lower(transport);
        self.opened += 1;
        self.id = Some(sink.open(Opening {
            name: format!("{name} {called} seed {}", start.seed),
            group: Some(start.path_name.clone()).filter(|name| !name.is_empty()),
            origin: format!("own trace, {testbed}"),
            transport,
            made: now,
            start: start.start,
            mss: config.mss,
            first_flight: 0,
            first_flight_span: None,
            nxt: Seq(start.nxt),
            paced: Some(config.paced),
            handshake_rtt: None,
            ran: Some(Ran {
                arm: arm.clone(),
                config,
                oracle_exit: start.oracle_exit_bytes,
                complete: start.source == Source::Controller,
                path: (start.rate_bps > 0).then_some((start.rate_bps, start.rtt.0)),
            }),
            stated: Stated::default(),
        }));
        Ok(())
    }

    /// Ends the current connection.
    pub fn close(&mut self, sink: &mut impl Sink) {
        if let Some(id) = self.id.take() {
            sink.close(id);
        }
    }
}

fn wrong(field: &str, text: &str, allowed: &str) -> String {
    if text.is_empty() {
        format!("the field `{field}` is missing")
    } else {
        format!("{field} `{text}`; allowed: {allowed}")
    }
}

/// The step for an entry: an input of the controller, or an output of the one that ran.
fn step(what: &What, lower: u64) -> Step {
    let (event, packet) = match what {
        What::Event { event, packet, .. } => (event, packet),
        What::Exit(exit) => {
            let (reason, at, detect_cwnd) = (exit.reason, exit.at, exit.detect_cwnd);
            return Step::Exit(Some(Recorded { reason, at, detect_cwnd }));
        }
        What::Start(_) | What::ExitWithdrawn => return Step::Exit(None),
    };
    let wire = match event {
        Event::Sent(sent) => packet.map_or(sent.bytes + lower, |packet: Packet| packet.bytes),
        _ => 0,
    };
    Step::Event(*event, wire)
}
