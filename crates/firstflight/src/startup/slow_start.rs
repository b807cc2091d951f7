//! Classic slow start: one byte of window for each byte acknowledged, until loss or a threshold.
//!
//! Follows: RFC 5681 section 3.1 (2009), RFC 9002 section 7.3.1 (2021), per-ACK cap of RFC 9406
//! section 4.2 when unpaced. State: 0 bytes. Departures: none.

use super::{Grown, Startup, Verdict};
use crate::event::{Ack, Context, Window};

/// Slow start without any early exit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowStart;

/// Grows `w` by `acked`, capped per ACK as [`Context::cap`] says, if the window was the limit.
/// Returns the bytes left over at the threshold.
#[inline]
pub(crate) fn double(acked: u64, w: &mut Window, cx: &Context) -> u64 {
    // RFC5681 3.1-8: cwnd grows by min(N, L*SMSS) per ACK. RFC9002 7.8-1: not while the window is
    // not used.
    if cx.limited { w.open(cx.cap(acked)) } else { 0 }
}

impl Startup for SlowStart {
    type Saved = ();

    #[inline]
    fn heeds_sending(&self) -> bool {
        false
    }

    #[inline]
    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay }
    }
}
