//! One connection in the hands of a test: records that agree with one another, one call per thing
//! that happens.

use crate::hooks;
use crate::told::{Hear, Told};
use firstflight::{
    AnyController, Arm, Config, Congestion, Nanos, Phase, Ready, Sent, Seq, Time, Timeout,
    Transport,
};

pub(crate) const MSS: u64 = 1_000;
pub(crate) const RTT: Nanos = Nanos::from_millis(30);
pub(crate) const START: Time = Time(1_000_000_000);

/// A connection that has sent nothing yet. Amounts are bytes; the positions of QUIC advance by one
/// per [`MSS`] bytes.
#[derive(Clone)]
pub(crate) struct Rig {
    pub c: AnyController,
    transport: Transport,
    pub now: Time,
    /// Bytes acknowledged and sent, in order.
    acked: u64,
    sent: u64,
    pub rtt: Nanos,
}

pub(crate) fn config(transport: Transport, iw: u64) -> Config {
    let base = if transport == Transport::Quic {
        Config::quic(MSS)
    } else {
        firstflight::with!(Config { paced: true, ..Config::tcp(MSS) })
    };
    firstflight::with!(Config { initial_window: iw, ..base })
}

pub(crate) fn parsed(arm: &str) -> Arm {
    Arm::parse(arm).unwrap_or_else(|error| panic!("`{arm}` should be an arm: {error}"))
}

/// The controller of an arm at time zero; the oracle knows a BDP of 1 GiB.
pub(crate) fn controller(arm: &str, config: Config) -> AnyController {
    parsed(arm).with_oracle(1 << 30).controller(config, Time(0), Seq(0))
}

impl Rig {
    /// An arm over a transport with an initial window of `iw` bytes.
    pub(crate) fn new(arm: &str, transport: Transport, iw: u64) -> Rig {
        Rig::with(arm, config(transport, iw))
    }

    pub(crate) fn with(arm: &str, config: Config) -> Rig {
        let c = parsed(arm).with_oracle(100 * MSS).controller(config, START, Seq(0));
        Rig { c, transport: config.transport, now: START, acked: 0, sent: 0, rtt: RTT }
    }

    pub(crate) fn quic(arm: &str, iw: u64) -> Rig {
        Rig::new(arm, Transport::Quic, iw)
    }

    pub(crate) fn tcp(arm: &str, iw: u64) -> Rig {
        Rig::new(arm, Transport::Tcp, iw)
    }

    fn seq(&self, bytes: u64) -> Seq {
        Seq(if self.transport == Transport::Quic { bytes / MSS } else { bytes })
    }

    pub(crate) fn nxt(&self) -> Seq {
        self.seq(self.sent)
    }

    pub(crate) fn inflight(&self) -> u64 {
        self.sent - self.acked
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now += Nanos::from_millis(ms);
    }

    pub(crate) fn ready(&self) -> Ready {
        Ready {
            now: self.now,
            nxt: self.nxt(),
            inflight: self.inflight(),
            backlog: u64::MAX,
            srtt: Some(self.rtt),
            idle: Nanos::ZERO,
            timeout: Nanos::from_secs(1),
        }
    }

    /// Sends `bytes` more, whatever the controller says.
    pub(crate) fn send(&mut self, bytes: u64) {
        self.c.before_send(&self.ready());
        self.sent += bytes;
        let sent = Sent {
            now: self.now,
            bytes,
            nxt: self.nxt(),
            inflight: self.inflight(),
            srtt: Some(self.rtt),
        };
        self.c.on_sent(&sent);
    }

    /// Sends until the window is full.
    pub(crate) fn fill(&mut self) {
        self.c.before_send(&self.ready());
        self.send(self.c.cwnd().saturating_sub(self.inflight()) / MSS * MSS);
    }

    /// The record of an ACK of the next `bytes`, all of it in flight and wanted, the window the
    /// limit. Not delivered yet.
    pub(crate) fn record(&self, bytes: u64) -> Told {
        let una = self.acked + bytes;
        let fresh = self.c.recovery_mark().map_or(bytes, |mark| {
            let mark = if self.transport == Transport::Quic { mark.0 * MSS } else { mark.0 };
            una.saturating_sub(mark.max(self.acked))
        });
        Told {
            now: self.now,
            acked: bytes,
            acked_fresh: fresh,
            rtt: Some(self.rtt),
            srtt: Some(self.rtt),
            min_rtt: Some(RTT.min(self.rtt)),
            una: self.seq(una),
            nxt: self.nxt(),
            advanced: bytes > 0,
            flight: self.sent - una,
            inflight_before: self.inflight(),
            inflight: self.sent - una,
            delivered: una,
            sent: self.sent,
            tx_acked: (bytes > 0).then(|| self.seq(una).0.saturating_sub(1)),
            tx_next: self.nxt().0,
            cwnd_limited: true,
            ..Told::default()
        }
    }

    pub(crate) fn deliver(&mut self, ack: &Told) {
        self.acked += ack.acked;
        self.c.hear(ack);
    }

    /// An ACK of the next `bytes`.
    pub(crate) fn ack(&mut self, bytes: u64) {
        let ack = self.record(bytes);
        self.deliver(&ack);
    }

    /// An ACK of the next `bytes` that shows `lost` bytes sent just before them to be lost.
    pub(crate) fn loss(&mut self, bytes: u64, lost: u64) {
        let ack = Told {
            lost,
            tx_lost: Some(self.seq(self.acked).0),
            inflight: self.inflight() - bytes - lost,
            ..self.record(bytes)
        };
        self.deliver(&ack);
        // Lost bytes are out of flight; for the positions it is as if they had been sent again at
        // the end.
    }

    /// An ACK of the next `bytes` with marks.
    pub(crate) fn marked(&mut self, bytes: u64) {
        let ack = Told { ce: true, ..self.record(bytes) };
        self.deliver(&ack);
    }

    pub(crate) fn timeout(&mut self, timeout: Timeout) {
        self.c.on_congestion(&Congestion {
            now: self.now,
            timeout,
            nxt: self.nxt(),
            inflight_before: self.inflight(),
        });
    }

    /// Round trips of slow start until the window is `cwnd`, or a little more if it grows
    /// threefold; everything sent, nothing acknowledged of the last window.
    pub(crate) fn grow_to(&mut self, cwnd: u64) {
        while self.c.cwnd() < cwnd {
            self.fill();
            self.wait(30);
            let bytes = self.inflight().min(cwnd - self.c.cwnd());
            self.ack(bytes);
        }
        self.fill();
    }

    /// Acknowledges what is needed to end the open episode, in one ACK of its last byte or packet
    /// beyond the mark.
    pub(crate) fn complete(&mut self) {
        let mark = self.c.recovery_mark().expect("an episode was opened");
        let to = if self.transport == Transport::Quic { (mark.0 + 1) * MSS } else { mark.0 };
        if to > self.sent {
            self.send(to - self.sent);
        }
        self.ack(to - self.acked);
        if self.c.in_recovery() {
            // Rapid Start's own episode waits for something sent after its beginning in TCP too.
            self.send(MSS);
            self.ack(MSS);
        }
        assert!(!self.c.in_recovery(), "the episode is over");
    }

    /// As [`Rig::complete`] when all that was sent before the mark is accounted for: the next
    /// packet sent is acknowledged.
    pub(crate) fn complete_after_losses(&mut self) {
        self.acked = self.sent;
        self.send(MSS);
        self.ack(MSS);
        assert!(!self.c.in_recovery(), "the episode is over");
        self.fill();
    }

    /// As [`Rig::complete_after_losses`], with `packets` sent and the first of them acknowledged.
    pub(crate) fn complete_after_losses_of(&mut self, packets: u64) {
        self.acked = self.sent;
        self.send(packets * MSS);
        self.ack(MSS);
        assert!(!self.c.in_recovery(), "the episode is over");
    }

    pub(crate) fn signal(&self, name: &str) -> Option<u64> {
        hooks::signal(name, |visit| self.c.signals(visit))
    }

    pub(crate) fn assert_phase(&self, phase: Phase, why: &str) {
        assert_eq!(self.c.phase(), phase, "{why}");
    }
}
