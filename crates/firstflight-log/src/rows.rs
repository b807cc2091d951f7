//! The state of senders, reconstructed from logs that state one ACK after the other, in any format.

use crate::estimate::Rtt;
use crate::step::{Id, Opening, Sink, Stated, Step};
use firstflight::event::Transport;
use firstflight::units::MAX_BYTES;
use firstflight::{Ack, AckDetail, Event, Nanos, Sent, Seq, SoFar, Time};
use std::collections::HashMap;

/// Maximum number of connections whose rows may alternate in one file.
const MOST_CONNECTIONS: usize = 4096;
/// Payload of a full packet if the log does not state it.
pub(crate) const USUAL_MSS: u64 = 1448;
/// IPv4 and TCP headers with timestamps.
const HEADERS: u64 = 52;
/// If this many consecutive rows state losses that never decrease, and the losses add up to this
/// multiple of the maximum flight, the column is a running total.
const STANDING_ROWS: u64 = 32;
const STANDING_FLIGHTS: u64 = 4;

/// The distance from one sequence number to a later one; 0 if the second is not later. 32-bit
/// numbers may wrap.
pub(crate) fn ahead(from: u64, to: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    if to >= from {
        to - from
    } else if from < WRAP && WRAP - from + to < WRAP / 2 {
        WRAP - from + to
    } else {
        0
    }
}

/// The sends that the column `nxt` includes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    /// Sends before this ACK.
    #[default]
    BeforeSends,
    /// Also the sends that this ACK allowed.
    AfterSends,
}

/// One row: an ACK, or a summary of several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckRow {
    pub now: Time,
    /// Newly acknowledged bytes.
    pub acked: u64,
    pub rtt: Option<Nanos>,
    pub lost: u64,
    /// 0 if unknown; at most 65 536.
    pub mss: u64,
    /// `una` and `nxt` after the ACK.
    pub sequence: Option<(u64, u64)>,
    pub next: Next,
    pub inflight: Option<u64>,
    pub cwnd: Option<u64>,
    pub ssthresh: Option<u64>,
    /// Pacing rate and estimated bandwidth, bits per second.
    pub rates: (Option<u64>, Option<u64>),
    pub app_limited: bool,
    pub ce: bool,
    pub receiver_ts: Option<u32>,
}

impl AckRow {
    fn mss(&self) -> u64 {
        if self.mss == 0 { USUAL_MSS } else { self.mss }
    }

    /// Bytes in flight before this ACK, derived from this row alone.
    fn before(&self) -> u64 {
        let outstanding = |(una, nxt): (u64, u64)| {
            let left = ahead(una, nxt).min(MAX_BYTES);
            match self.next {
                Next::BeforeSends => left + self.acked,
                // In slow start an ACK allows twice the bytes that it acknowledges.
                Next::AfterSends => left.saturating_sub(self.acked),
            }
        };
        self.inflight.or(self.sequence.map(outstanding)).unwrap_or(self.acked)
    }
}

/// Description of a log's connections.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub file: String,
    pub origin: String,
    pub stated: Stated,
}

pub(crate) struct Ledger {
    pub about: About,
    senders: HashMap<String, Sender>,
    opened: u64,
}

/// The sums over the rows of one connection.
struct Sender {
    id: Id,
    /// Offset added to the times of its rows.
    shift: Nanos,
    rtt: Rtt,
    last: Time,
    sent: u64,
    una: u64,
    nxt: u64,
    /// Offset added to sequence numbers for wraps.
    turns: u64,
    mss: u64,
    standing: Standing,
    inflight_most: u64,
    so_far: SoFar,
}

/// Consecutive rows whose stated losses never decrease.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Standing {
    last: u64,
    rows: u64,
    sum: u64,
}

impl Standing {
    pub(crate) fn see(&mut self, lost: u64) {
        let goes_on = lost > 0 && lost >= self.last;
        let rows = if goes_on { self.rows + 1 } else { u64::from(lost > 0) };
        let sum = if goes_on { self.sum.saturating_add(lost) } else { lost };
        *self = Standing { last: lost, rows, sum };
    }

    /// No sender loses that much, so the column is a running total.
    pub(crate) fn is_total(&self, inflight_most: u64) -> bool {
        self.rows >= STANDING_ROWS
            && self.sum > inflight_most.saturating_mul(STANDING_FLIGHTS)
            && inflight_most > 0
    }
}

impl Ledger {
    pub(crate) fn new(file: &str, origin: impl Into<String>, stated: Stated) -> Ledger {
        let about = About { file: file.into(), origin: origin.into(), stated };
        Ledger { about, senders: HashMap::new(), opened: 0 }
    }

    /// Takes one row of the connection `key`.
    pub(crate) fn take(
        &mut self,
        key: &str,
        group: impl FnOnce() -> Option<String>,
        transport: Transport,
        row: &AckRow,
        sink: &mut impl Sink,
    ) -> Result<(), String> {
        if !self.senders.contains_key(key) {
            self.make_room(sink);
            let sender = self.about.open(key, group(), transport, row, sink);
            self.opened += 1;
            self.senders.insert(key.to_owned(), sender);
        }
        self.senders.get_mut(key).map_or(Ok(()), |sender| sender.take(row, sink))
    }

    fn make_room(&mut self, sink: &mut impl Sink) {
        if self.senders.len() >= MOST_CONNECTIONS
            && let Some(stale) = self
                .senders
                .iter()
                .min_by_key(|(_, sender)| sender.last)
                .map(|(key, _)| key.clone())
            && let Some(sender) = self.senders.remove(&stale)
        {
            sink.close(sender.id);
        }
    }

    /// Ends the log. Returns the number of its connections.
    pub(crate) fn end(&mut self, sink: &mut impl Sink) -> u64 {
        let mut senders: Vec<Id> = self.senders.drain().map(|(_, sender)| sender.id).collect();
        senders.sort_unstable();
        for id in senders {
            sink.close(id);
        }
        self.opened
    }
}

impl About {
    /// Opens a connection with its first row.
    fn open(
        &self,
        key: &str,
        group: Option<String>,
        transport: Transport,
        row: &AckRow,
        sink: &mut impl Sink,
    ) -> Sender {
        let (before, mss) = (row.before(), row.mss());
        // The first flight was sent one round trip before its first ACK, or one interval before a
        // sum; the log's clock may not go back that far. The shift is in whole seconds, so that
        // rows keep their positions within the ticks of a coarse clock.
        let rtt = row.rtt.unwrap_or(Nanos::ZERO).max(self.stated.coarse.unwrap_or(Nanos::ZERO));
        let shift = Nanos::from_secs(rtt.0.saturating_sub(row.now.0).div_ceil(1_000_000_000));
        let start = Time((row.now + shift).0.saturating_sub(rtt.0));
        let first = row.sequence.map_or(0, |(una, _)| una.saturating_sub(row.acked));
        let id = sink.open(Opening {
            name: if key.is_empty() { self.file.clone() } else { format!("{} {key}", self.file) },
            group,
            origin: self.origin.clone(),
            transport,
            made: start,
            start,
            mss,
            first_flight: before.min(64 * mss),
            first_flight_span: None,
            nxt: Seq(first),
            paced: None,
            handshake_rtt: None,
            ran: None,
            stated: self.stated,
        });
        let nxt = first.saturating_add(before);
        let sent = Sent { now: start, bytes: before, nxt: Seq(nxt), inflight: before, srtt: None };
        sink.step(id, &Step::Event(Event::Sent(sent), before + before.div_ceil(mss) * HEADERS));
        Sender {
            id,
            shift,
            rtt: Rtt::default(),
            last: start,
            sent: before,
            una: first,
            nxt,
            turns: 0,
            mss,
            standing: Standing::default(),
            inflight_most: before,
            so_far: SoFar::new(transport, Seq(first)),
        }
    }
}

impl Sender {
    /// `una` and `nxt` of a row, extended to 64 bits.
    fn unwrapped(&mut self, (una, nxt): (u64, u64)) -> (u64, u64) {
        const WRAP: u64 = 1 << 32;
        let length = ahead(una, nxt);
        let mut una = una.saturating_add(self.turns);
        if una.saturating_add(WRAP / 2) < self.una && una < self.turns.saturating_add(WRAP) {
            self.turns = self.turns.saturating_add(WRAP);
            una = una.saturating_add(WRAP);
        }
        (una, una.saturating_add(length))
    }

    /// Takes one row.
    fn take(&mut self, row: &AckRow, sink: &mut impl Sink) -> Result<(), String> {
        let &AckRow { acked, rtt, lost, .. } = row;
        let mss = row.mss();
        let now = row.now + self.shift;
        if now < self.last {
            return Err(format!("the time decreases by {} ns", self.last.0 - now.0));
        }
        self.inflight_most = self.inflight_most.max(row.before());
        self.standing.see(lost);
        if self.standing.is_total(self.inflight_most) {
            return Err("`lost_bytes` exceeds everything that was ever in flight; name a running total `lost_total_bytes`".into());
        }
        self.last = now;
        if mss != self.mss {
            self.mss = mss;
            sink.step(self.id, &Step::Event(Event::Mss { now, mss }, 0));
        }
        if let Some(cwnd) = row.cwnd {
            sink.step(self.id, &Step::Window { now, cwnd, ssthresh: row.ssthresh });
        }
        if let (pacing, bandwidth) = row.rates
            && pacing.or(bandwidth).is_some()
        {
            sink.step(self.id, &Step::Rates { pacing, bandwidth });
        }
        if let Some(rtt) = rtt {
            self.rtt.add(rtt);
        }
        let after = row.next == Next::AfterSends && row.inflight.is_none();
        // If a row includes its own sends, the previous row gives the bytes in flight before this
        // ACK.
        let known = self.nxt.saturating_sub(self.una);
        let before = if after { known } else { row.before() };
        let sequence = row.sequence.map(|sequence| self.unwrapped(sequence));
        let una = sequence.map_or(self.una.saturating_add(acked), |(una, _)| una);
        let stated = sequence.map_or(self.una.saturating_add(before.max(acked)), |(_, nxt)| nxt);
        let nxt = if after { self.nxt } else { stated };
        if !after {
            self.send(now, stated, lost, before, sink);
        }
        self.una = self.una.max(una);
        let inflight = before.saturating_sub(acked + lost);
        // Transmission ordinals: delivered data counts as sent in order.
        let delivered = self.so_far.delivered.saturating_add(acked);
        let mut detail = AckDetail::default();
        detail.receiver_ts = row.receiver_ts;
        let ack = Ack {
            now,
            acked,
            acked_fresh: acked,
            lost,
            ce: row.ce,
            rtt,
            srtt: self.rtt.srtt(),
            una: Seq(una),
            nxt: Seq(nxt),
            flight: inflight + lost,
            inflight_before: before,
            inflight,
            sent: self.sent,
            tx_acked: (acked > 0).then_some(delivered),
            tx_lost: (lost > 0).then_some(delivered.saturating_add(1)),
            tx_next: delivered.saturating_add(before.max(1)),
            sacked: 0,
            cwnd_limited: false,
            app_limited: row.app_limited,
            detail,
        };
        self.so_far.on_ack(&ack);
        sink.step(self.id, &Step::Event(Event::Ack(ack, self.so_far), 0));
        if after {
            self.send(now, stated, lost, inflight, sink);
        }
        Ok(())
    }

    /// Records that data up to `nxt` was sent and lost data was retransmitted.
    fn send(&mut self, now: Time, nxt: u64, lost: u64, inflight: u64, sink: &mut impl Sink) {
        let bytes = nxt.saturating_sub(self.nxt).min(MAX_BYTES) + lost;
        self.nxt = self.nxt.max(nxt);
        if bytes == 0 {
            return;
        }
        self.sent = self.sent.saturating_add(bytes);
        let sent = Sent { now, bytes, nxt: Seq(self.nxt), inflight, srtt: self.rtt.srtt() };
        let wire = bytes + bytes.div_ceil(self.mss) * HEADERS;
        sink.step(self.id, &Step::Event(Event::Sent(sent), wire));
    }
}
