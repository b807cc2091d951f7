//! The reports of a transport in C and in Rust. The library reads them from C; tests and benchmarks, which have them in Rust, write
//! them.

use crate::abi::*;
use firstflight::{Ack, AckDetail, Congestion, Nanos, Ready, Sent, Seq, Time, Timeout};

/// An RTT in ns; 0 is none.
const fn rtt(ns: u64) -> Option<Nanos> {
    if ns > 0 { Some(Nanos(ns)) } else { None }
}

fn ns(rtt: Option<Nanos>) -> u64 {
    rtt.map_or(0, |rtt| rtt.0)
}

/// An ordinal + 1; 0 is none.
fn end(ordinal: Option<u64>) -> u64 {
    ordinal.map_or(0, |ordinal| ordinal + 1)
}

impl From<&ff_ready> for Ready {
    #[inline]
    fn from(c: &ff_ready) -> Ready {
        Ready {
            now: Time(c.now),
            nxt: Seq(c.nxt),
            inflight: c.inflight,
            backlog: c.backlog,
            srtt: rtt(c.srtt),
            idle: Nanos(c.idle),
            timeout: Nanos(c.timeout),
        }
    }
}

impl From<&Ready> for ff_ready {
    fn from(rust: &Ready) -> ff_ready {
        ff_ready {
            now: rust.now.0,
            nxt: rust.nxt.0,
            inflight: rust.inflight,
            backlog: rust.backlog,
            srtt: ns(rust.srtt),
            idle: rust.idle.0,
            timeout: rust.timeout.0,
            ..ff_ready::BLANK
        }
    }
}

impl From<&ff_sent> for Sent {
    #[inline]
    fn from(c: &ff_sent) -> Sent {
        Sent {
            now: Time(c.now),
            bytes: c.bytes,
            nxt: Seq(c.nxt),
            inflight: c.inflight,
            srtt: rtt(c.srtt),
        }
    }
}

impl From<&Sent> for ff_sent {
    fn from(rust: &Sent) -> ff_sent {
        ff_sent {
            now: rust.now.0,
            bytes: rust.bytes,
            nxt: rust.nxt.0,
            inflight: rust.inflight,
            srtt: ns(rust.srtt),
            ..ff_sent::BLANK
        }
    }
}

impl From<&ff_ack> for Ack {
    #[inline]
    fn from(c: &ff_ack) -> Ack {
        let mut detail = AckDetail::default();
        detail.ce_bytes = (c.ce_bytes > 0).then_some(c.ce_bytes);
        detail.lost_again = c.lost_again != 0;
        detail.repeat_acked = c.repeat_acked != 0;
        detail.rescue_next = c.rescue_next != 0;
        detail.unrepaired = c.unrepaired != 0;
        detail.sack_advances = c.sack_advances != 0;
        detail.receiver_ts = (c.has_receiver_ts != 0).then_some(c.receiver_ts);
        Ack {
            now: Time(c.now),
            acked: c.acked,
            acked_fresh: c.acked_fresh,
            lost: c.lost,
            ce: c.ce != 0,
            rtt: rtt(c.rtt),
            srtt: rtt(c.srtt),
            una: Seq(c.una),
            nxt: Seq(c.nxt),
            flight: c.flight,
            sacked: c.sacked,
            inflight_before: c.inflight_before,
            inflight: c.inflight,
            sent: c.sent,
            tx_acked: c.tx_acked_end.checked_sub(1),
            tx_lost: c.tx_lost_end.checked_sub(1),
            tx_next: c.tx_next,
            cwnd_limited: c.cwnd_limited != 0,
            app_limited: c.app_limited != 0,
            detail,
        }
    }
}

impl From<&Ack> for ff_ack {
    fn from(rust: &Ack) -> ff_ack {
        let detail = &rust.detail;
        ff_ack {
            now: rust.now.0,
            acked: rust.acked,
            acked_fresh: rust.acked_fresh,
            lost: rust.lost,
            rtt: ns(rust.rtt),
            srtt: ns(rust.srtt),
            una: rust.una.0,
            nxt: rust.nxt.0,
            flight: rust.flight,
            sacked: rust.sacked,
            inflight_before: rust.inflight_before,
            inflight: rust.inflight,
            sent: rust.sent,
            tx_acked_end: end(rust.tx_acked),
            tx_lost_end: end(rust.tx_lost),
            tx_next: rust.tx_next,
            ce: rust.ce.into(),
            cwnd_limited: rust.cwnd_limited.into(),
            app_limited: rust.app_limited.into(),
            lost_again: detail.lost_again.into(),
            repeat_acked: detail.repeat_acked.into(),
            rescue_next: detail.rescue_next.into(),
            unrepaired: detail.unrepaired.into(),
            sack_advances: detail.sack_advances.into(),
            ce_bytes: detail.ce_bytes.unwrap_or(0),
            receiver_ts: detail.receiver_ts.unwrap_or(0),
            has_receiver_ts: detail.receiver_ts.is_some().into(),
            ..ff_ack::BLANK
        }
    }
}

impl TryFrom<&ff_congestion> for Congestion {
    /// The number that is no timeout.
    type Error = u32;

    fn try_from(c: &ff_congestion) -> Result<Congestion, u32> {
        let timeout = match c.timeout {
            FF_RTO => Timeout::Rto,
            FF_RTO_AGAIN => Timeout::RtoAgain,
            FF_PERSISTENT_CONGESTION => Timeout::PersistentCongestion,
            other => return Err(other),
        };
        let (now, nxt) = (Time(c.now), Seq(c.nxt));
        Ok(Congestion { now, timeout, nxt, inflight_before: c.inflight_before })
    }
}

impl From<&Congestion> for ff_congestion {
    fn from(rust: &Congestion) -> ff_congestion {
        ff_congestion {
            now: rust.now.0,
            nxt: rust.nxt.0,
            inflight_before: rust.inflight_before,
            timeout: match rust.timeout {
                Timeout::Rto => FF_RTO,
                Timeout::RtoAgain => FF_RTO_AGAIN,
                Timeout::PersistentCongestion => FF_PERSISTENT_CONGESTION,
            },
            ..ff_congestion::BLANK
        }
    }
}
