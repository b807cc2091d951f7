//! Classic slow start: one byte of window for each byte acknowledged, until loss or a threshold.
//!
//! Follows: RFC 5681 section 3.1 (2009), RFC 9002 section 7.3.1 (2021). State: 0 bytes.
//!
//! Departures:
//! * D1 (RFC5681 3.1-count): an ACK counts all bytes that it newly delivers, paced or not, as in
//!   RFC 9002 and in Linux; bytes beyond the threshold go to congestion avoidance. RFC 5681 counts
//!   one segment per ACK (`slowstart@(count=1)`), RFC 3465 two (`slowstart@(count=2)`). A receiver
//!   that merges segments acknowledges dozens at once, and a cap would make such a path slow.

use super::{Grown, Heeds, Startup, Verdict};
use crate::event::{Ack, Context, Window};

/// Slow start without any early exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowStart;

/// Grows `w` by `acked`, capped by [`Context::cap`], if the window was the limit. Returns the bytes
/// left over at the threshold.
#[inline]
pub(crate) fn double(acked: u64, w: &mut Window, cx: &Context) -> u64 {
    // RFC5681 3.1-8: cwnd grows by the acknowledged bytes. RFC9002 7.8-1: not while the window is
    // underused.
    if cx.limited { w.open(cx.cap(acked)) } else { 0 }
}

impl Startup for SlowStart {
    type Saved = ();

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds::sending(false)
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay }
    }
}
