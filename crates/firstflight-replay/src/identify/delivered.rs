//! A delivery rate sample for every ACK, as in Linux (`tcp_rate.c`): the bytes delivered since the
//! latest acknowledged transmission was sent, over the longer of the send span and the ACK span.
//! BBRv1's decisions depend on each sample; [`firstflight::signal::delivery`] keeps sixteen per
//! flight.

use firstflight::{Ack, Nanos, Rate, Sent, SoFar, Time};
use std::collections::VecDeque;

/// Maximum number of outstanding bursts; beyond it, the oldest are forgotten.
const MOST: usize = 1 << 16;

/// State saved for a burst.
#[derive(Clone, Copy, Debug)]
struct Burst {
    /// Ordinal of its first packet.
    first: u64,
    delivered: u64,
    delivered_at: Time,
    sent: Time,
    /// Send time of the latest burst that had been delivered by then.
    first_sent: Time,
    app_limited: bool,
}

/// Values of an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Bytes delivered before the acknowledged packet was sent.
    pub(super) prior_delivered: u64,
    /// `None` if the span is shorter than the minimum RTT.
    pub(super) rate: Option<Rate>,
    /// The application was the limit when the packet was sent.
    pub(super) app_limited: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Delivered {
    out: VecDeque<Burst>,
    tx_next: u64,
    bytes: u64,
    last_ack: Time,
    first_sent: Time,
    /// Transmissions count as application-limited until this much is delivered.
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
