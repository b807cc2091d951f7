//! RACK: a segment is lost if data sent later was delivered and enough time has passed since it was
//! sent.
//!
//! The reference is the most recently sent segment known to be delivered, with its RTT. A segment
//! sent before it is lost once an RTT and a reordering window have passed since its own last
//! transmission, so a retransmission can be declared lost like an original. The window is zero
//! until reordering is seen, then a quarter of the smallest RTT, and larger if DSACKs prove
//! retransmissions unnecessary.
//!
//! Follows RFC 8985 (February 2021) sections 6.2 and 6.3. State: 240 bytes. Departures: D1 the
//! caller provides `min_rtt`: the connection's minimum unless the caller keeps a windowed one. D2
//! segments delivered by one ACK may be reported in any order: only two facts matter: which of them
//! was sent last, and whether one of them lies below data delivered by earlier ACKs (nothing sent
//! before it can lie above it and be delivered by the same ACK). D3 the segments are walked in the
//! order they were sent, and the walk stops at the first one that must wait. The result equals that
//! of a walk over all segments; the cost is one step per transmission. D4 the RTT is that of the
//! latest sent among the segments that an ACK delivers, as in the RFC. With [`Rack::linux`] it is
//! that of the last segment reported, as in Linux (`tcp_rack_advance`), which reports SACKed
//! segments before acknowledged ones and detects losses only on an ACK that delivers data. D5
//! [`Rack::linux`] does not use timestamps to decide which copy of a segment arrived, and it
//! measures the round trip between two DSACKs by segments sent since the first of them
//! (`tcp_rack_update_reo_wnd`).

use super::scoreboard::{Flags, Id, SendOrder};
use super::{Episode, Losses, mark_head};
use crate::units::{Nanos, Seq, Time, mul_div};

/// Recoveries without a DSACK after which the window is a quarter of the RTT again (RFC8985 6.2-4).
const REO_PERSIST: u32 = 16;
/// LINUX rack-steps: the maximum number of quarters.
const MAX_STEPS: u32 = 255;
/// If no reordering was seen, this many SACKed segments set the reordering window to zero: the
/// classic threshold.
const DUP_THRESH: u64 = 3;

/// A newly delivered segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// One past its last byte.
    pub end: Seq,
    /// When the segment was last sent.
    pub last_tx: Time,
    /// Number of times it was sent.
    pub tx_count: u32,
    /// The send time that the ACK echoes, if timestamps are in use.
    pub echo: Option<Time>,
}

/// Facts about an ACK that set the reordering window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The oldest unacknowledged byte after the ACK.
    pub una: Seq,
    /// The next never-sent byte.
    pub nxt: Seq,
    /// Whether the ACK carries a DSACK.
    pub dsack: bool,
    /// Whether the ACK ends fast recovery or timeout recovery.
    pub ends_recovery: bool,
    /// The congestion state before detection.
    pub episode: Episode,
    /// SACKed segments after the ACK.
    pub sacked_segments: u64,
    /// Smallest RTT including this ACK's sample.
    pub min_rtt: Option<Nanos>,
    /// Smoothed RTT including this ACK's sample.
    pub srtt: Option<Nanos>,
}

/// Result of a run of the detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Segments marked lost; any loss outside an episode starts one.
    pub losses: Losses,
    /// When to run again: the reordering timer.
    pub deadline: Option<Time>,
}

/// When a transmission left, and its last byte, which orders transmissions of the same instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    at: Time,
    end: Seq,
}

/// RACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rack {
    /// The most recently sent segment that was delivered.
    reference: Option<Stamp>,
    /// The reference's RTT, or that of the latest sent among the last delivered segments.
    rtt: Nanos,
    /// The highest end delivered by earlier ACKs.
    fack: Seq,
    /// The highest end delivered, including the ACK being processed.
    fack_now: Seq,
    /// The latest sent among the segments delivered by the ACK being processed, and its RTT.
    newest: Option<(Stamp, Nanos)>,
    reordering_seen: bool,
    reo_mult: u32,
    reo_persist: u32,
    dsack_round: Option<Seq>,
    reo_wnd: Nanos,
    walk: Walk,
    linux: bool,
    /// Whether data was delivered since the last loss detection.
    fresh: bool,
    /// For Linux: the send time of the latest sent segment that the ACK delivers, whether a DSACK
    /// still waits for a delivery, and the time of the last transmission before the window was last
    /// widened.
    delivered: Option<Time>,
    dsack_waits: bool,
    widened: Option<Time>,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            reference: None,
            rtt: Nanos::ZERO,
            fack: Seq(0),
            fack_now: Seq(0),
            newest: None,
            reordering_seen: false,
            reo_mult: 1,
            reo_persist: REO_PERSIST,
            dsack_round: None,
            reo_wnd: Nanos::ZERO,
            walk: Walk::default(),
            linux: false,
            fresh: false,
            delivered: None,
            dsack_waits: false,
            widened: None,
        }
    }
}

impl Rack {
    /// RACK as in Linux (D4, D5).
    pub fn linux() -> Rack {
        Rack { linux: true, ..Rack::default() }
    }

    /// Reordering was detected by other means than a late segment.
    pub fn see_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// The current reordering window.
    pub fn reordering_window(&self) -> Nanos {
        self.reo_wnd
    }

    /// The RTT by which segments are judged.
    pub fn rtt(&self) -> Nanos {
        self.rtt
    }

    /// Send time and end of the most recently sent delivered segment.
    pub fn reference(&self) -> Option<(Time, Seq)> {
        self.reference.map(|stamp| (stamp.at, stamp.end))
    }

    /// Whether reordering was seen: a segment that was never retransmitted arrived below others.
    pub fn reordering_seen(&self) -> bool {
        self.reordering_seen
    }

    /// A segment ending at `end` was sent, new or retransmitted.
    #[inline]
    pub fn on_sent(&mut self, now: Time, end: Seq) {
        self.walk.on_sent(Stamp { at: now, end }, self.reference);
    }

    /// Processes a newly delivered segment, cumulatively acknowledged or SACKed.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, arrival: &Arrival, min_rtt: Option<Nanos>) {
        let rtt = now.since(arrival.last_tx).in_ticks(min_rtt);
        // RFC8985 6.2-2: an echo older than the retransmission, or an RTT below the minimum,
        // belongs to the original. Equal timestamps prove nothing.
        let older_echo = !self.linux && arrival.echo.is_some_and(|echo| echo < arrival.last_tx);
        if self.linux {
            self.delivered = self.delivered.max(Some(arrival.last_tx));
        }
        if arrival.tx_count > 1 && (older_echo || min_rtt.is_some_and(|floor| rtt < floor)) {
            return;
        }
        // RFC8985 6.2-1: at the same instant, the segment with the higher last byte was sent later.
        let stamp = Stamp { at: arrival.last_tx, end: arrival.end };
        self.newest = match self.newest {
            Some((newest, _)) if self.linux => Some((newest.max(stamp), rtt)),
            Some((newest, before)) if newest > stamp => Some((newest, before)),
            _ => Some((stamp, rtt)),
        };
        // RFC8985 6.2-3: an original that arrives below data delivered before was overtaken.
        if arrival.end < self.fack && arrival.tx_count == 1 {
            self.reordering_seen = true;
        }
        self.fack_now = self.fack_now.max(arrival.end);
    }

    /// All segments delivered by the ACK have been reported: updates the reference and the window.
    #[inline]
    pub fn on_ack(&mut self, facts: &Facts) {
        self.fack = self.fack_now;
        self.fresh |= self.newest.is_some();
        if let Some((stamp, rtt)) = self.newest.take() {
            self.rtt = rtt;
            self.reference = self.reference.max(Some(stamp));
        }
        self.update_window(facts);
    }

    /// Whether [`Rack::on_run`] may process a run of segments from `una` to `end` whose last
    /// segment left at `sent`: nothing known to be sent later was delivered, and no segment waits.
    #[inline(always)]
    pub fn follows(&self, sent: Time, end: Seq, una: Seq) -> bool {
        self.walk.unordered.is_none_or(|(_, last)| sent > last)
            && self.walk.waiting.is_none()
            && self.newest.is_none()
            && self.fack_now <= una
            && self.reference.is_none_or(|reference| reference <= Stamp { at: sent, end })
    }

    /// An ACK delivers all segments below `facts.una`, each sent once, the last one at `sent`;
    /// above it nothing is SACKed, lost or retransmitted, and `board` has removed the delivered
    /// segments. Equivalent to [`Rack::on_delivered`] for each segment, [`Rack::on_ack`] and
    /// [`Rack::detect`], which would find no loss. Only allowed if the run
    /// [follows](Rack::follows).
    #[inline(always)]
    pub fn on_run<B: SendOrder>(&mut self, board: &B, now: Time, sent: Time, facts: &Facts) {
        self.rtt = now.since(sent).in_ticks(facts.min_rtt);
        self.reference = Some(Stamp { at: sent, end: facts.una });
        self.delivered = Some(sent);
        (self.fack, self.fack_now) = (facts.una, facts.una);
        self.update_window(facts);
        self.walk.judged = self.walk.judged.max(board.oldest_sent());
        self.walk.compared = self.walk.compared.max(self.walk.judged);
    }

    /// RFC8985 6.2-4: at most once per round trip a DSACK widens the window; sixteen recoveries
    /// without one narrow it again.
    #[inline]
    fn update_window(&mut self, facts: &Facts) {
        if self.linux {
            self.widen_as_linux(facts);
        } else {
            self.widen(facts);
        }
        let impatient = facts.episode != Episode::None || facts.sacked_segments >= DUP_THRESH;
        self.reo_wnd = match facts.min_rtt {
            // RFC8985 6.2-5: no waiting if no reordering was seen and three segments are SACKed or
            // an episode is open.
            Some(_) if !self.reordering_seen && impatient => Nanos::ZERO,
            // RFC8985 6.2-6: quarters of the smallest RTT, at most the smoothed one.
            Some(min_rtt) => Nanos(mul_div(min_rtt.0, u64::from(self.reo_mult), 4))
                .min(facts.srtt.unwrap_or(min_rtt)),
            None => Nanos::ZERO,
        };
    }

    #[inline]
    fn widen(&mut self, facts: &Facts) {
        if self.dsack_round.is_some_and(|round| facts.una >= round) {
            self.dsack_round = None;
        }
        if facts.dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(facts.nxt);
            self.reo_mult = self.reo_mult.saturating_add(1);
            self.reo_persist = REO_PERSIST;
        } else if facts.ends_recovery {
            self.reo_persist = self.reo_persist.saturating_sub(1);
            if self.reo_persist == 0 {
                self.reo_mult = 1;
            }
        }
    }

    /// LINUX rack-dsack: a DSACK waits for the next ACK that delivers data, and counts there if a
    /// delivered segment left after the window was last widened.
    #[inline]
    fn widen_as_linux(&mut self, facts: &Facts) {
        self.dsack_waits |= facts.dsack;
        if let Some(delivered) = self.delivered.take() {
            let counts = self.widened.is_none_or(|widened| delivered > widened);
            if core::mem::take(&mut self.dsack_waits) && counts {
                self.reo_mult = self.reo_mult.saturating_add(1).min(MAX_STEPS);
                self.widened = Some(self.walk.last_sent.at);
                self.reo_persist = REO_PERSIST;
            } else if self.reo_persist == 0 {
                self.reo_mult = 1;
            }
        }
        if facts.ends_recovery {
            self.reo_persist = self.reo_persist.saturating_sub(1);
        }
    }

    /// Marks lost segments; on an ACK, call it after [`Rack::on_ack`].
    #[inline(always)]
    pub fn detect<B: SendOrder>(&mut self, board: &mut B, now: Time) -> Found {
        if self.linux && !core::mem::take(&mut self.fresh) {
            return Found { deadline: self.deadline(board), ..Found::default() };
        }
        self.expire(board, now)
    }

    fn deadline<B: SendOrder>(&mut self, board: &mut B) -> Option<Time> {
        let patience = self.rtt + self.reo_wnd;
        self.walk.latest_waiting(board, self.reference?).map(|sent| sent + patience)
    }

    /// Marks lost segments once the deadline that [`Rack::detect`] returned has come.
    #[inline(always)]
    pub fn expire<B: SendOrder>(&mut self, board: &mut B, now: Time) -> Found {
        let mut found = Found::default();
        let Some(reference) = self.reference else { return found };
        let patience = self.rtt + self.reo_wnd;
        // RFC8985 6.2-7: lost once its RTT and the reordering window have passed since it was last
        // sent; otherwise the timer waits for the rest.
        self.walk.judge(board, reference, &mut found.losses, |sent| sent + patience <= now);
        found.deadline = self.deadline(board);
        found
    }

    /// RFC8985 6.3-1: the retransmission timer expired; segments whose time is up are lost,
    /// whatever was delivered since, and the head is always lost.
    pub fn on_timeout<B: SendOrder>(&mut self, board: &mut B, now: Time) -> Losses {
        let mut losses = Losses::default();
        let patience = self.rtt + self.reo_wnd;
        let everything = Stamp { at: Time(u64::MAX), end: Seq(u64::MAX) };
        self.walk.judge(board, everything, &mut losses, |sent| sent + patience <= now);
        mark_head(board, &mut losses);
        losses
    }

    /// Marks were removed or SACKs forgotten: judge everything again.
    pub fn rewind(&mut self) {
        self.walk = Walk {
            last_sent: self.walk.last_sent,
            unordered: self.walk.unordered,
            ..Walk::default()
        };
    }
}

/// The walk over transmissions in the order they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Walk {
    /// Every transmission before this ordinal is delivered, marked, or was sent again.
    judged: u64,
    /// Every transmission before this ordinal was compared with the reference.
    compared: u64,
    /// The latest transmission known to wait for its time to be up; may have been delivered since.
    waiting: Option<u64>,
    /// A run of ordinals `from .. to` known to wait no longer; skipping it costs one step.
    settled: (u64, u64),
    last_sent: Stamp,
    /// First and last instant at which a lower segment was sent after a higher one: only there does
    /// the order of ordinals differ from that of (time, end).
    unordered: Option<(Time, Time)>,
}

impl Walk {
    #[inline]
    fn on_sent(&mut self, stamp: Stamp, reference: Option<Stamp>) {
        if stamp.at == self.last_sent.at && stamp.end < self.last_sent.end {
            let over =
                self.unordered.is_none_or(|(_, last)| reference.is_some_and(|r| r.at > last));
            self.unordered = match self.unordered {
                Some((first, _)) if !over => Some((first, stamp.at)),
                _ => Some((stamp.at, stamp.at)),
            };
        }
        self.last_sent = stamp;
    }

    /// The segment sent as `ordinal`, if it may still be lost.
    #[inline]
    fn open<B: SendOrder>(board: &B, ordinal: u64) -> Option<Id> {
        let id = board.live(ordinal)?;
        let flags = board.flags(id);
        (!flags.has(Flags::SACKED) && !flags.has(Flags::LOST)).then_some(id)
    }

    #[inline]
    fn stamp<B: SendOrder>(board: &B, id: Id) -> Stamp {
        Stamp { at: board.last_tx(id), end: board.end(id) }
    }

    /// Marks every segment sent before the reference whose time is up.
    #[inline]
    fn judge<B: SendOrder>(
        &mut self,
        board: &mut B,
        reference: Stamp,
        losses: &mut Losses,
        up: impl Fn(Time) -> bool,
    ) {
        self.judged = self.judged.max(board.oldest_sent());
        while self.judged < board.next_sent() {
            if let Some(id) = Self::open(board, self.judged) {
                let stamp = Self::stamp(board, id);
                if stamp >= reference || !up(stamp.at) {
                    break;
                }
                if board.mark_lost(id) {
                    losses.add(board, id);
                }
            }
            self.judged += 1;
        }
        if self.is_unordered(reference) && up(reference.at) {
            Self::for_tied(board, reference, self.judged, |board, id| {
                if board.mark_lost(id) {
                    losses.add(board, id);
                }
            });
        }
    }

    /// The send time of the latest segment that was sent before the reference and is still neither
    /// delivered nor lost.
    #[inline]
    fn latest_waiting<B: SendOrder>(&mut self, board: &mut B, reference: Stamp) -> Option<Time> {
        self.compared = self.compared.max(self.judged);
        while self.compared < board.next_sent() {
            if let Some(id) = Self::open(board, self.compared) {
                if Self::stamp(board, id) >= reference {
                    break;
                }
                self.waiting = Some(self.compared);
            }
            self.compared += 1;
        }
        if self.is_unordered(reference) {
            let mut tied = false;
            Self::for_tied(board, reference, self.compared, |_, _| tied = true);
            if tied {
                return Some(reference.at);
            }
        }
        self.look_back(board)
    }

    /// Moves `waiting` down to a segment that really waits.
    fn look_back<B: SendOrder>(&mut self, board: &B) -> Option<Time> {
        let start = self.waiting?;
        let mut at = start;
        let (from, to) = self.settled;
        loop {
            if from <= at && at < to {
                at = from;
            } else if at < self.judged {
                self.waiting = None;
                return None;
            } else if let Some(id) = Self::open(board, at) {
                if start - at > to - from {
                    self.settled = (at + 1, start + 1);
                }
                self.waiting = Some(at);
                return Some(board.last_tx(id));
            }
            let Some(below) = at.checked_sub(1) else {
                self.waiting = None;
                return None;
            };
            at = below;
        }
    }

    #[inline]
    fn is_unordered(&self, reference: Stamp) -> bool {
        self.unordered.is_some_and(|(first, last)| first <= reference.at && reference.at <= last)
    }

    /// Visits the segments sent at the reference's own instant, starting at `ordinal`, whose last
    /// byte is below the reference's.
    #[cold]
    fn for_tied<B: SendOrder>(
        board: &mut B,
        reference: Stamp,
        ordinal: u64,
        mut visit: impl FnMut(&mut B, Id),
    ) {
        for ordinal in ordinal..board.next_sent() {
            let Some(id) = board.live(ordinal) else { continue };
            if board.last_tx(id) > reference.at {
                break;
            }
            if Self::open(board, ordinal).is_some() && Self::stamp(board, id) < reference {
                visit(board, id);
            }
        }
    }
}
