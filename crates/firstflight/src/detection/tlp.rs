//! Tail loss probe: after about two round trips of silence, send one segment to elicit an ACK.
//!
//! No later segments can reveal the loss of the last segments of a flight. A probe (new data,
//! otherwise the highest segment again) turns the timeout that would follow into fast recovery. If
//! the probe itself repaired a single loss, congestion control must still be notified.
//!
//! Follows RFC 8985 (February 2021) sections 7.1 to 7.4. State: 16 bytes. Departures: D1 (ours) a
//! probe may exceed the congestion window, once per tail, and counts in flight. D2 (ours) the
//! response to a loss that the probe repaired is one reduction without an episode, because nothing
//! is left to retransmit.

use super::Episode;
use crate::units::{Nanos, Seq, Time};

/// RFC8985 7.2-2: the probe timeout before there is an RTT sample.
pub const INITIAL_PTO: Nanos = Nanos::from_secs(1);
/// RFC8985 7.2-3: how long a receiver may delay the ACK of a lone segment (the delayed-ACK timer of
/// the time).
pub const MAX_ACK_DELAY: Nanos = Nanos::from_millis(200);

/// Inputs that decide whether a probe timer is armed, and for when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Time of sending new data or of an ACK that moved `una`.
    pub now: Time,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Nanos>,
    /// Outstanding segments.
    pub segments: u64,
    /// Whether the connection uses SACK.
    pub sack: bool,
    /// SACKed segments on the scoreboard.
    pub sacked_segments: u64,
    /// The congestion state.
    pub episode: Episode,
    /// The receiver's delay for the ACK of a lone segment.
    pub max_ack_delay: Nanos,
    /// When the retransmission timeout is due.
    pub rto: Option<Time>,
}

/// Content of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A new segment.
    New,
    /// The highest segment again.
    Repeat,
}

/// Facts about an ACK that decide the outcome of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The acknowledgement number.
    pub ack: Seq,
    /// Whether it carries a DSACK for the probe's segment.
    pub dsack_of_probe: bool,
    /// Whether it carries any SACK or DSACK block.
    pub any_block: bool,
    /// Whether it is a duplicate by the rules without SACK.
    pub duplicate: bool,
}

/// Fate of the probe after an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// No probe is outstanding.
    NoProbe,
    /// Undecided so far.
    Waiting,
    /// The probe was new data, or both copies arrived: nothing was lost.
    Harmless,
    /// The probe repaired a loss: congestion control is notified of one loss, and no episode opens.
    Repaired,
}

/// Tail loss probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tlp {
    /// `nxt` after the probe, and what it was.
    probe: Option<(Seq, Kind)>,
}

impl Tlp {
    /// Whether a probe is outstanding; there is at most one per tail.
    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.probe.is_some()
    }

    /// Whether the outstanding probe is a retransmission.
    pub fn is_repeat_outstanding(&self) -> bool {
        matches!(self.probe, Some((_, Kind::Repeat)))
    }

    /// When to probe; `None`: arm the retransmission timeout instead.
    #[inline]
    pub fn deadline(&self, tail: &Tail) -> Option<Time> {
        // RFC8985 7.1-1: only if nothing else would reveal a loss, and one probe per tail.
        let allowed = tail.sack
            && tail.sacked_segments == 0
            && tail.episode == Episode::None
            && self.probe.is_none()
            && tail.segments > 0;
        if !allowed {
            return None;
        }
        // RFC8985 7.2-1: two round trips, plus the receiver's ACK delay if a single segment may
        // have to wait for a second one.
        let pto = match tail.srtt {
            Some(srtt) if tail.segments == 1 => srtt * 2 + tail.max_ack_delay,
            Some(srtt) => srtt * 2,
            None => INITIAL_PTO,
        };
        let at = tail.now + pto;
        Some(tail.rto.map_or(at, |rto| at.min(rto)))
    }

    /// RFC8985 7.3-1: what to send when the probe is due. `new_data`: whether new data is queued
    /// and the receiver's window allows it.
    pub fn kind(new_data: bool) -> Kind {
        if new_data { Kind::New } else { Kind::Repeat }
    }

    /// The probe was sent; `nxt` is the value after it. The retransmission timeout is armed next.
    pub fn on_sent(&mut self, kind: Kind, nxt: Seq) {
        self.probe = Some((nxt, kind));
    }

    /// Processes an ACK.
    #[inline]
    pub fn on_ack(&mut self, facts: &Facts) -> Outcome {
        let Some((end, kind)) = self.probe else { return Outcome::NoProbe };
        if facts.ack < end {
            return Outcome::Waiting;
        }
        // RFC8985 7.4.2-1, in this order: a DSACK proves that both copies arrived, whatever else
        // the ACK says.
        let outcome = if kind == Kind::New || facts.dsack_of_probe {
            Outcome::Harmless
        } else if facts.ack > end {
            Outcome::Repaired
        } else if facts.duplicate && !facts.any_block {
            Outcome::Harmless
        } else {
            return Outcome::Waiting;
        };
        self.probe = None;
        outcome
    }

    /// A timeout fired or an episode opened: the probe's fate no longer matters.
    pub fn forget(&mut self) {
        self.probe = None;
    }
}
