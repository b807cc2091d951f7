//! The delivery rate with every ACK, as Linux samples it (`tcp_rate.c`): of the latest transmission that the
//! ACK acknowledges, what was delivered since it left over the longer of the spans of sends and of ACKs.
//! What BBRv1 decides hangs on each of them; [`firstflight::signal::delivery`] keeps sixteen per flight.

use firstflight::{Ack, Nanos, Rate, Sent, SoFar, Time};
use std::collections::VecDeque;

/// Bursts out at most; beyond these, the oldest are forgotten.
const MOST: usize = 1 << 16;

/// What a burst remembers.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// The ordinal of its first packet.
    first: u64,
    delivered: u64,
    delivered_at: Time,
    sent: Time,
    /// When the burst left that had been delivered last by then.
    first_sent: Time,
    app_limited: bool,
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Bytes delivered before its packet left.
    pub(super) prior_delivered: u64,
    /// None over less than the smallest RTT.
    pub(super) rate: Option<Rate>,
    /// The application was the limit when it left.
    pub(super) app_limited: bool,
}

/// The sampler of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    out: VecDeque<Burst>,
    tx_next: u64,
    bytes: u64,
    last_ack: Time,
    first_sent: Time,
    /// What leaves is limited by the application until more is delivered.
    limited_until: Option<u64>,
}

impl Delivered {
    pub(super) fn on_sent(&mut self, sent: &Sent, mss: u64) {
        if sent.inflight <= sent.bytes {
            (self.first_sent, self.last_ack) = (sent.now, sent.now);
        }
        if self.out.len() == MOST {
            self.out.pop_front();
        }
        self.out.push_back(Burst {
            first: self.tx_next,
            delivered: self.bytes,
            delivered_at: self.last_ack,
            sent: sent.now,
            first_sent: self.first_sent,
            app_limited: self.limited_until.is_some_and(|until| until >= self.bytes),
        });
        self.tx_next += sent.bytes.div_ceil(mss.max(1)).max(1);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, so_far: &SoFar) -> Option<Sample> {
        self.tx_next = self.tx_next.max(ack.tx_next);
        self.bytes = so_far.delivered;
        if ack.app_limited {
            self.limited_until = Some(self.bytes.saturating_add(ack.inflight));
        }
        let acked = ack.tx_acked.filter(|_| ack.acked > 0)?;
        self.last_ack = ack.now;
        while self.out.get(1).is_some_and(|next| next.first <= acked) {
            self.out.pop_front();
        }
        let burst = self.out.front().filter(|burst| burst.first <= acked)?;
        self.first_sent = burst.sent;
        let sends = burst.sent.since(burst.first_sent);
        let span = sends.max(ack.now.since(burst.delivered_at));
        let rate = Rate::from_bytes_over(self.bytes.saturating_sub(burst.delivered), span);
        Some(Sample {
            prior_delivered: burst.delivered,
            rate: rate.filter(|_| span >= so_far.min_rtt.unwrap_or(Nanos::ZERO)),
            app_limited: burst.app_limited,
        })
    }
}
