//! Limited transmit: a new segment on each of the first two duplicate ACKs.
//!
//! With a small window, losing one segment leaves too few behind it to cause three duplicate ACKs.
//! New data sent on the first two keeps the ACK clock running and produces the third. Follows RFC
//! 3042 (January 2001); the wording by pipe of RFC 6675 section 5 step 3 is an option. State: 2
//! bytes. Departures: none.

/// The document whose wording applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wording {
    /// Never.
    Off,
    /// The flight may exceed the window by two segments (RFC 3042).
    #[default]
    Rfc3042,
    /// The pipe leaves room for a segment in the window (RFC 6675 step 3).
    Rfc6675,
}

/// Inputs of the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Outstanding bytes, `nxt - una`.
    pub flight: u64,
    /// Bytes believed to be in the network.
    pub pipe: u64,
    /// Segment size in bytes.
    pub mss: u64,
    /// Length of the new segment; 0 if the application has none or the receiver's window is
    /// closed.
    pub new_len: u64,
}

/// The rule and its count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTransmit {
    wording: Wording,
    sent: u8,
}

impl LimitedTransmit {
    /// Creates the state of a connection that follows this wording.
    pub fn new(wording: Wording) -> LimitedTransmit {
        LimitedTransmit { wording, sent: 0 }
    }

    /// Segments sent by this rule since `una` last moved; the flight that RFC 5681 halves excludes
    /// them.
    pub fn sent(&self) -> u8 {
        self.sent
    }

    /// `una` moved: counting of duplicate ACKs restarts.
    #[inline]
    pub fn on_advance(&mut self) {
        self.sent = 0;
    }

    /// A duplicate ACK (with SACK: one that brings new SACK data), the `dupacks`-th since `una`
    /// moved, outside recovery. Returns `true` if one new segment may be sent now; the window does
    /// not change. Never allows a retransmission.
    #[inline]
    pub fn on_duplicate(&mut self, dupacks: u32, room: &Room) -> bool {
        // RFC3042 2-1: the first two duplicates only, and never more than two segments beyond the
        // window.
        if self.wording == Wording::Off
            || room.new_len == 0
            || self.sent >= 2
            || !(1..=2).contains(&dupacks)
        {
            return false;
        }
        let fits = match self.wording {
            Wording::Off => false,
            Wording::Rfc3042 => {
                room.flight.saturating_add(room.new_len)
                    <= room.cwnd.saturating_add(room.mss.saturating_mul(2))
            }
            // RFC6675 5-3: the same rule in terms of the pipe.
            Wording::Rfc6675 => room.cwnd.saturating_sub(room.pipe) >= room.mss.max(1),
        };
        if fits {
            self.sent += 1;
        }
        fits
    }
}
