//! Oracle: slow start that is told the path's BDP and stops doubling there, before anything is
//! lost.
//!
//! Not an algorithm for a network but a reference for the others: its threshold is given from
//! outside (OURS oracle-exit). It bounds loss, not time: a startup that grows faster than slow
//! start, or starts with more, may well be quicker. State: 16 bytes.

use super::slow_start::double;
use super::{ExitReason, Grown, Startup, Verdict};
use crate::event::{Ack, Context, Ready, Window};
use crate::options::params;

params! {
    /// The option of the oracle.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The window at which it leaves, bytes; without it whoever knows the path fills it in.
        pub exit: Option<u64> = None,
            "exit" ["off, or bytes" if |exit: Option<u64>| exit.is_none_or(|bytes| bytes >= 1)] "window at which it leaves; off: the path's BDP";
    }
}

/// Slow start with a threshold from somebody who knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oracle {
    exit: Option<u64>,
}

impl Oracle {
    /// Leaves at a window of `exit` bytes.
    pub fn new(exit: u64) -> Oracle {
        Oracle { exit: Some(exit) }
    }
}

impl Startup for Oracle {
    type Saved = ();

    fn before_send(&mut self, _ready: &Ready, w: &mut Window, cx: &Context) {
        if let Some(exit) = self.exit.take() {
            w.ssthresh = exit.max(cx.minimum_window());
        }
    }

    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay }
    }

    fn reached(&mut self) -> ExitReason {
        ExitReason::Oracle
    }
}
