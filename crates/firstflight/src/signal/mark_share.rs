//! The share of delivered bytes that arrived with a congestion mark, smoothed over round trips:
//! alpha of DCTCP and of Prague.
//!
//! Follows: RFC 8257 section 3.3 (October 2017). State: 48 bytes.

use crate::avoidance::segment;
use crate::event::{Ack, Context};
use crate::units::{Nanos, Ratio, Seq, Time};

/// The share when all bytes are marked. Shares are whole numbers in units of 2^-20.
pub const ONE: u32 = 1 << 20;

/// Whether a period may have this weight: from 1/100 to 1.
pub(crate) fn is_gain(gain: Ratio) -> bool {
    gain.num() <= gain.den() && gain.num() * 100 >= gain.den()
}

/// A smoothed share of marked bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkShare {
    alpha: u32,
    /// Bytes that arrived marked in this period, and bytes delivered before it.
    marked: u64,
    delivered: u64,
    /// The period lasts at least until a packet sent after its start is acknowledged.
    end: Seq,
    /// `None` before the first ACK, which ends the first period.
    since: Option<Time>,
}

impl MarkShare {
    /// Starts with this share, in units of 2^-20; values above [`ONE`] count as [`ONE`].
    pub fn new(alpha: u32) -> MarkShare {
        MarkShare { alpha: alpha.min(ONE), marked: 0, delivered: 0, end: Seq(0), since: None }
    }

    /// The smoothed share in units of 2^-20, at most [`ONE`].
    #[inline]
    pub fn alpha(&self) -> u32 {
        self.alpha
    }

    /// The smoothed share in millionths, as traces show it.
    pub fn millionths(&self) -> u64 {
        u64::from(self.alpha) * 1_000_000 / u64::from(ONE)
    }

    /// An ACK, in whatever phase. Returns whether it ended a period: a round trip, and no less than
    /// `least`. Then the share moves by `gain` (RFC8257 3.3-g) of the way to what the period has
    /// shown. Marks of which no number is known count as one packet.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, least: Nanos, gain: Ratio, cx: &Context) -> bool {
        if ack.ce {
            self.marked =
                self.marked.saturating_add(ack.detail.ce_bytes.unwrap_or_else(|| segment(cx)));
        }
        // RFC8257 3.3-window: once per window of data. PRAGUE vrtt-25ms: and at most once per
        // virtual round trip.
        let lasts = |since| ack.una <= self.end || ack.now.since(since) < least;
        if self.since.is_some_and(lasts) {
            return false;
        }
        let delivered = cx.so_far.delivered.saturating_sub(self.delivered);
        if delivered == 0 {
            return false;
        }
        let share = share(self.marked, delivered);
        // RFC8257 3.3-alpha: DCTCP.Alpha * (1 - g) + g * M.
        self.alpha = if share >= self.alpha {
            self.alpha + part(share - self.alpha, gain)
        } else {
            self.alpha - part(self.alpha - share, gain)
        };
        self.marked = 0;
        (self.delivered, self.end, self.since) = (cx.so_far.delivered, ack.nxt, Some(ack.now));
        true
    }

    /// `cwnd * (1 - alpha / 2)` (RFC8257 3.3-cut).
    #[inline]
    pub fn cut(&self, cwnd: u64) -> u64 {
        let part = u128::from(cwnd) * u128::from(self.alpha) / (2 * u128::from(ONE));
        cwnd.saturating_sub(u64::try_from(part).unwrap_or(cwnd))
    }

    /// The factor of [`MarkShare::cut`], to four decimals.
    pub fn factor(&self) -> Ratio {
        Ratio::new((1 << 15) - (self.alpha >> 6) as u16, 1 << 15)
    }
}

fn share(marked: u64, delivered: u64) -> u32 {
    let share = u128::from(marked.min(delivered)) * u128::from(ONE) / u128::from(delivered);
    share as u32
}

fn part(difference: u32, gain: Ratio) -> u32 {
    gain.of(u64::from(difference)) as u32
}
