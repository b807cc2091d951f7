//! A controller fed by hand, one record at a time: every packet of one size, everything
//! acknowledged in order unless a test says otherwise.

use crate::told::{Hear, Told};
use firstflight::avoidance::{Avoidance, Cubic, cubic};
use firstflight::controller::Controller;
use firstflight::recovery::{Policy, Prr, prr};
use firstflight::startup::Startup;
use firstflight::{Config, Nanos, Ready, Seq, Time};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const MSS: u64 = 1_200;
pub(crate) const RTT: Nanos = Nanos(100 * MS);

/// A connection in the middle of nothing: what the next record says by default.
pub(crate) struct Fed<S: Startup, A: Avoidance, R: Policy> {
    pub c: Controller<S, A, R>,
    pub now: u64,
    pub una: u64,
    pub nxt: u64,
    pub tx_next: u64,
}

pub(crate) type Usual<S> = Fed<S, Cubic, Prr>;

pub(crate) fn config(tcp: bool) -> Config {
    let base = if tcp { Config::tcp(MSS) } else { Config::quic(MSS) };
    firstflight::with!(Config { initial_window: 30 * MSS, ..base })
}

/// CUBIC without fast convergence and PRR of RFC 9937.
pub(crate) fn usual<S: Startup>(startup: S, config: Config) -> Usual<S> {
    let cubic = Cubic::new(firstflight::with!(cubic::Params {
        fast_convergence: false,
        ..cubic::Params::default()
    }));
    fed(startup, cubic, Prr::new(prr::Params::rfc9937()), config)
}

pub(crate) fn fed<S: Startup, A: Avoidance, R: Policy>(
    startup: S,
    avoidance: A,
    recovery: R,
    config: Config,
) -> Fed<S, A, R> {
    let c = Controller::new(startup, avoidance, recovery, config, Time(0), Seq(0));
    Fed { c, now: 0, una: 0, nxt: 0, tx_next: 0 }
}

impl<S: Startup, A: Avoidance, R: Policy> Fed<S, A, R> {
    /// A full window in flight and used, nothing acknowledged.
    pub(crate) fn base(&self) -> Told {
        let cwnd = self.c.cwnd();
        Told {
            now: Time(self.now),
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            una: Seq(self.una),
            nxt: Seq(self.nxt),
            tx_next: self.tx_next,
            flight: cwnd,
            inflight_before: cwnd,
            inflight: cwnd,
            cwnd_limited: true,
            ..Told::default()
        }
    }

    /// `bytes` acknowledged, all sent lately, with an RTT sample.
    pub(crate) fn acked(&self, bytes: u64) -> Told {
        let rtt = Some(RTT);
        Told {
            acked: bytes,
            acked_fresh: bytes,
            rtt,
            advanced: true,
            tx_acked: Some(self.tx_next.saturating_sub(1)),
            ..self.base()
        }
    }

    /// `bytes` declared lost on an ACK that delivers `acked`; the newest of them was the last
    /// transmission but one.
    pub(crate) fn lost(&self, acked: u64, bytes: u64) -> Told {
        let inflight = self.c.cwnd().saturating_sub(acked + bytes);
        Told {
            lost: bytes,
            tx_lost: Some(self.tx_next.saturating_sub(2)),
            inflight,
            ..self.acked(acked)
        }
    }

    pub(crate) fn ack(&mut self, ack: Told) -> u64 {
        self.c.hear(&ack);
        self.c.cwnd()
    }

    /// `packets` more leave.
    pub(crate) fn send(&mut self, packets: u64) {
        self.nxt += packets;
        self.tx_next += packets;
    }

    /// The window grows to `bytes` in slow start.
    pub(crate) fn grow_to(&mut self, bytes: u64) {
        while self.c.cwnd() < bytes {
            let ack = self.acked(bytes - self.c.cwnd());
            let before = self.c.cwnd();
            assert!(self.ack(ack) > before, "the window stands at {before} on its way to {bytes}");
        }
        assert_eq!(self.c.cwnd(), bytes, "the window this test starts from");
    }

    /// About to send with more than enough to send.
    pub(crate) fn ready(&self) -> Ready {
        Ready {
            now: Time(self.now),
            nxt: Seq(self.nxt),
            inflight: 0,
            backlog: u64::MAX,
            srtt: Some(RTT),
            idle: Nanos::ZERO,
            timeout: Nanos(300 * MS),
        }
    }
}
