//! Proofs that an episode or a timeout was a false alarm. What is then given back is the
//! controller's business.
//!
//! An episode was needless if every repeat it sent was reported as a duplicate, if the first ACK
//! after it answers an original, if F-RTO says so, or (QUIC) if every packet it declared lost is
//! acknowledged after all. A partial proof changes nothing.
//!
//! Follows RFC 3708 (DSACK), RFC 3522 (Eifel detection), RFC 5682 by [`super::f_rto`]. RFC 9002
//! defines no undo; counting late ACKs is ours. State: 40 bytes (TCP), 32 bytes (QUIC).
//! Departures: D1 (Linux) DSACKs are counted, not matched to segments: a repeat that was itself
//! repeated counts twice and needs two.

use crate::units::{Seq, Time};

/// What proved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// Every repeat was a duplicate.
    Dsack,
    /// The first ACK echoes a time stamp older than the first repeat.
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
    /// Time stamps.
    pub timestamps: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marker {
    una: Seq,
    repeats_open: u32,
    first_repeat: Option<Time>,
    answered: bool,
}

/// The evidence about the latest episode of a TCP connection. It outlives the episode: the DSACK of
/// the last repeat comes after the ACK that completes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    accepts: Accepts,
    marker: Option<Marker>,
}

impl Undo {
    /// With these proofs.
    pub fn new(accepts: Accepts) -> Undo {
        Undo { accepts, marker: None }
    }

    /// An episode opens (or a timeout that may be undone): it replaces the one before.
    pub fn open(&mut self, una: Seq) {
        self.marker = Some(Marker { una, repeats_open: 0, first_repeat: None, answered: false });
    }

    /// OURS undo-void: congestion marks cut the window, the timeout cannot be undone, or undo was
    /// done: nothing can be proven any more.
    #[inline]
    pub fn discard(&mut self) {
        self.marker = None;
    }

    /// Something can still be proven.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// Whether an ACK that moves `una` may still prove or settle anything ([`Undo::on_advance`]).
    #[inline]
    pub fn awaits_advance(&self) -> bool {
        self.marker.is_some_and(|marker| marker.first_repeat.is_some() && !marker.answered)
    }

    /// Repeats of the episode not reported as duplicates yet.
    pub fn repeats_open(&self) -> u32 {
        self.marker.map_or(0, |marker| marker.repeats_open)
    }

    /// A repeat of the episode was sent; a tail loss probe is none.
    #[inline]
    pub fn on_repeat(&mut self, now: Time) {
        if let Some(marker) = &mut self.marker {
            marker.repeats_open = marker.repeats_open.saturating_add(1);
            marker.first_repeat.get_or_insert(now);
        }
    }

    /// RFC3708 3-1: a DSACK reports a repeat of the episode (its segment starts at `start`) as a
    /// duplicate.
    pub fn on_dsack(&mut self, start: Seq) -> Option<Proof> {
        let accepts = self.accepts.dsack;
        let marker = self.marker.as_mut()?;
        if start < marker.una || marker.repeats_open == 0 {
            return None;
        }
        marker.repeats_open -= 1;
        (accepts && marker.repeats_open == 0).then_some(Proof::Dsack)
    }

    /// An ACK moved `una`; `echo` is the send time it echoes, where there are time stamps.
    ///
    /// RFC3522 3.2-1: only the first ACK after a repeat tells, and equal stamps, one tick of the
    /// clock wide, tell nothing.
    pub fn on_advance(&mut self, una: Seq, echo: Option<Time>) -> Option<Proof> {
        let accepts = self.accepts.timestamps;
        let marker = self.marker.as_mut()?;
        let first_repeat = marker.first_repeat?;
        if una <= marker.una || marker.answered {
            return None;
        }
        marker.answered = true;
        (accepts && echo.is_some_and(|echo| echo < first_repeat)).then_some(Proof::Timestamp)
    }
}

/// The packets declared lost in one episode of a QUIC connection, as a count and a range: the
/// endpoint knows of each packet whether it was declared lost, so the set itself need not be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateAcks {
    missing: u64,
    /// First and last ordinal in the order of sending.
    range: Option<(u64, u64)>,
}

impl LateAcks {
    /// An episode opens: it replaces the set.
    pub fn open(&mut self) {
        *self = LateAcks::default();
    }

    /// Nothing can be proven any more: congestion marks, persistent congestion, or undo was done.
    pub fn discard(&mut self) {
        *self = LateAcks::default();
    }

    /// Packets of the set not acknowledged yet.
    pub fn missing(&self) -> u64 {
        self.missing
    }

    /// A packet of this episode was declared lost.
    #[inline]
    pub fn on_lost(&mut self, ordinal: u64) {
        self.missing = self.missing.saturating_add(1);
        self.range = Some(
            self.range
                .map_or((ordinal, ordinal), |(low, high)| (low.min(ordinal), high.max(ordinal))),
        );
    }

    /// OURS undo-late-acks: a packet that had been declared lost, in whichever episode, is
    /// acknowledged for the first time. It left bytes in flight when it was declared lost and
    /// must not be taken out again.
    pub fn on_late_ack(&mut self, ordinal: u64) -> Option<Proof> {
        let (low, high) = self.range?;
        if self.missing == 0 || ordinal < low || ordinal > high {
            return None;
        }
        self.missing -= 1;
        (self.missing == 0).then_some(Proof::LateAck)
    }
}
