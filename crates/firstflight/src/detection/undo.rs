//! Proofs that an episode or a timeout was a false alarm. The controller decides what is then
//! restored.
//!
//! An episode was spurious if every retransmission of it was reported as a duplicate, if the first
//! ACK after a retransmission acknowledges an original, if F-RTO proves it, or (QUIC) if every
//! packet declared lost is acknowledged after all. A partial proof changes nothing.
//!
//! Retransmissions of an earlier episode may still be in flight when the next one opens. They count
//! in it; otherwise their ACKs would be taken for ACKs of originals.
//!
//! Follows RFC 3708 (DSACK), RFC 3522 (Eifel detection), RFC 5682 by [`super::f_rto`]. RFC 9002
//! defines no undo; counting late ACKs is ours. State: 40 bytes (TCP), 24 bytes (QUIC). Departures:
//! D1 (Linux) DSACKs are counted, not matched to segments: a segment retransmitted twice needs two.
//! D2 a tail loss probe that retransmits a segment counts as any retransmission; in Linux its copy
//! neither sets the timestamp nor counts when it leaves.

use crate::units::{Seq, Time};

/// The proof of a false alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// Every retransmission was a duplicate.
    Dsack,
    /// The first ACK echoes a timestamp older than every retransmission of outstanding data.
    Timestamp,
    /// F-RTO step 3b.
    FRto,
    /// Every packet declared lost was acknowledged.
    LateAck,
}

/// Which proofs a preset accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Accepts {
    /// DSACKs, which need SACK.
    pub dsack: bool,
    /// Timestamps.
    pub timestamps: bool,
    /// Whether the timestamp of every ACK that moves `una` after a retransmission counts, not only
    /// that of the first.
    pub every: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marker {
    una: Seq,
    answered: bool,
}

/// The evidence about the latest episode of a TCP connection. It outlives the episode, because the
/// DSACK of the last retransmission arrives after the ACK that completes the episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    accepts: Accepts,
    marker: Option<Marker>,
    /// Retransmissions, in flight when the episode opened or sent since, that were not reported as
    /// duplicates.
    repeats_open: u32,
    /// The time of the first retransmission of outstanding data.
    first_repeat: Option<Time>,
}

impl Undo {
    /// Accepts these proofs.
    pub fn new(accepts: Accepts) -> Undo {
        Undo { accepts, ..Undo::default() }
    }

    /// Called right before an episode opens: `repeats` is the number of retransmissions of
    /// outstanding segments that were not reported as duplicates, and `undelivered` says whether a
    /// retransmitted segment is neither acknowledged nor SACKed. Without this call every earlier
    /// retransmission counts.
    ///
    /// RFC3522 3.2-kept: the time of the first retransmission of outstanding data outlives the
    /// episode that sent it. LINUX undo-carry: it is forgotten when no undelivered segment was
    /// retransmitted (`tcp_any_retrans_done`), and the count starts with the retransmissions in
    /// flight (`tcp_init_undo`).
    pub fn carry(&mut self, repeats: u32, undelivered: bool) {
        self.repeats_open = repeats;
        if !undelivered {
            self.first_repeat = None;
        }
    }

    /// An episode opens (or a timeout that may be undone) and replaces the previous one.
    pub fn open(&mut self, una: Seq) {
        self.marker = Some(Marker { una, answered: false });
    }

    /// OURS undo-void: discards the evidence, because congestion marks cut the window, the timeout
    /// cannot be undone, or undo was done.
    #[inline]
    pub fn discard(&mut self) {
        self.marker = None;
    }

    /// Whether a proof is still possible.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// Whether an ACK that moves `una` may still decide ([`Undo::on_advance`]).
    #[inline]
    pub fn awaits_advance(&self) -> bool {
        self.first_repeat.is_some() && self.marker.is_some_and(|marker| !marker.answered)
    }

    /// Retransmissions not yet reported as duplicates, while a proof is still possible.
    pub fn repeats_open(&self) -> u32 {
        if self.is_open() { self.repeats_open } else { 0 }
    }

    /// A segment was retransmitted, for whatever reason and whether or not an episode is open.
    #[inline]
    pub fn on_repeat(&mut self, now: Time) {
        self.repeats_open = self.repeats_open.saturating_add(1);
        self.first_repeat.get_or_insert(now);
    }

    /// RFC3708 3-1: a DSACK reports a retransmission (its segment starts at `start`) as a
    /// duplicate. Must not be called for a segment without an unreported retransmission, because
    /// the path may duplicate any packet.
    pub fn on_dsack(&mut self, start: Seq) -> Option<Proof> {
        let marker = self.marker?;
        if start < marker.una || self.repeats_open == 0 {
            return None;
        }
        self.repeats_open -= 1;
        (self.accepts.dsack && self.repeats_open == 0).then_some(Proof::Dsack)
    }

    /// Postpones the proof that [`Undo::on_advance`] gave: the next ACK is judged again.
    pub fn put_off(&mut self) {
        if let Some(marker) = &mut self.marker {
            marker.answered = false;
        }
    }

    /// An ACK moved `una`; `echo` is the send time it echoes, if timestamps are in use.
    ///
    /// RFC3522 3.2-1: only the first ACK after a retransmission decides, and equal timestamps, one
    /// tick of the clock wide, prove nothing. LINUX undo-every: every ACK of an episode is checked
    /// (`tcp_packet_delayed`).
    pub fn on_advance(&mut self, una: Seq, echo: Option<Time>) -> Option<Proof> {
        let (accepts, first_repeat) = (self.accepts, self.first_repeat?);
        let marker = self.marker.as_mut()?;
        if una <= marker.una || marker.answered {
            return None;
        }
        marker.answered = !accepts.every;
        (accepts.timestamps && echo.is_some_and(|echo| echo < first_repeat))
            .then_some(Proof::Timestamp)
    }
}

/// Counts the packets declared lost in one episode of a QUIC connection, and how many of them are
/// acknowledged after all. The endpoint stores with each lost packet the number that
/// [`LateAcks::on_lost`] returned, because a late packet of an earlier episode proves nothing about
/// this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateAcks {
    /// Packets of the connection declared lost so far.
    losses: u64,
    /// The value of `losses` when the episode opened.
    before: u64,
    /// Packets lost since then and acknowledged after all.
    late: u64,
}

impl LateAcks {
    /// An episode opens and replaces the previous one; the last `opening` losses belong to it.
    pub fn open(&mut self, opening: u64) {
        (self.before, self.late) = (self.losses.saturating_sub(opening), 0);
    }

    /// Discards the evidence about losses so far: congestion marks, persistent congestion, or undo
    /// was done.
    pub fn discard(&mut self) {
        self.open(0);
    }

    /// Packets of the connection declared lost so far.
    #[inline]
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Packets of the episode not acknowledged yet.
    pub fn missing(&self) -> u64 {
        (self.losses - self.before).saturating_sub(self.late)
    }

    /// Records a packet that was declared lost. Returns its number among the losses of the connection.
    #[inline]
    pub fn on_lost(&mut self) -> u64 {
        self.losses = self.losses.saturating_add(1);
        self.losses - 1
    }

    /// OURS undo-late-acks: the packet that was declared lost as number `loss` is acknowledged, for
    /// the first time. It was removed from bytes in flight when it was declared lost and must not
    /// be removed again.
    #[inline]
    pub fn on_late_ack(&mut self, loss: u64) {
        self.late = self.late.saturating_add(u64::from(loss >= self.before));
    }

    /// The proof, once every packet of the episode is acknowledged. Call it after the losses of the
    /// same ACK are counted.
    #[inline]
    pub fn proof(&self) -> Option<Proof> {
        (self.late > 0 && self.missing() == 0).then_some(Proof::LateAck)
    }
}
