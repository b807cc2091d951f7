//! Oracle: slow start that knows the path's BDP and stops doubling there, before anything is lost;
//! or, with `rate=on`, a sender that knows the path's rate after one round trip.
//!
//! Both are references for the other algorithms, not algorithms for a network: the threshold is
//! given from outside (OURS oracle-exit). The first bounds loss, not time: a startup that grows
//! faster than slow start, or starts with more, may be quicker. The second (OURS oracle-rate) is
//! the best possible result for a startup that starts with twice the initial window and reads the
//! rate from its first ACK; without prior knowledge of the path no sender can know the rate
//! earlier. State: 72 bytes.

use super::jump::{GAIN_JUMP, Jump, JumpWindow};
use super::slow_start::double;
use super::{ExitReason, GAIN_SLOW_START, Grown, Heeds, Pacing, SlowStart, Startup, Verdict};
use crate::event::{Ack, Context, Ready, Signal, Timeout, Window};
use crate::options::params;
use crate::recovery::OwnRecovery;
use crate::units::{Ratio, Seq, Time};

params! {
    /// The options of the oracle.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The window at which it exits, in bytes; if unset, the caller that knows the path sets
        /// it.
        pub exit: Option<u64> = None,
            "exit" ["off, or bytes" if |exit: Option<u64>| exit.is_none_or(|bytes| bytes >= 1)] "window at which to exit; off: the path's BDP";
        /// Whether it knows the rate after one round trip: it sends twice the initial window first,
        /// then the whole exit window within one round trip. Without a pacer it is the plain
        /// oracle.
        pub rate: bool = false, "rate" [] "the rate is known after one round trip";
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first flight is in the air.
    Flight(Jump),
    /// The window is the exit window, spread over one round trip.
    Paced {
        until: Seq,
    },
    Done,
}

/// Slow start with a threshold that the caller sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oracle {
    exit: Option<u64>,
    stage: Stage,
}

impl Oracle {
    /// Leaves at a window of `exit` bytes; with `rate` it jumps there after one round trip.
    pub fn new(exit: u64, rate: bool) -> Oracle {
        let flight = Stage::Flight(Jump::new(Some(JumpWindow::Initial(2))));
        Oracle { exit: Some(exit), stage: if rate { flight } else { Stage::Done } }
    }
}

impl Startup for Oracle {
    type Saved = ();

    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        if let Some(exit) = self.exit.take() {
            w.ssthresh = exit.max(cx.minimum_window());
        }
        if let Stage::Flight(jump) = &mut self.stage {
            jump.before_send(ready, w, cx);
        }
    }

    #[inline]
    fn heeds(&self) -> Heeds {
        let flies = matches!(&self.stage, Stage::Flight(jump) if jump.heeds_sending());
        Heeds::sending(self.exit.is_some() || flies)
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        match self.stage {
            Stage::Flight(_) if cx.paced => {
                // Stay a packet below the threshold: avoidance would pace faster than the path.
                w.cwnd = w.cwnd.max(w.ssthresh.saturating_sub(cx.mss));
                self.stage = Stage::Paced { until: ack.nxt };
                Grown::default()
            }
            Stage::Paced { until } if ack.una <= until => Grown::default(),
            _ => {
                self.stage = Stage::Done;
                Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay }
            }
        }
    }

    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        if w.in_slow_start() && self.stage != Stage::Done {
            return u64::MAX;
        }
        SlowStart.reach(max_fs, w, cx)
    }

    fn on_congestion(
        &mut self,
        _signal: Signal,
        _beta: Ratio,
        _ack: &Ack,
        _w: Window,
        _cx: &Context,
    ) -> Option<OwnRecovery> {
        self.stage = Stage::Done;
        None
    }

    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.stage = Stage::Done;
    }

    fn on_idle(&mut self, _now: Time, _nxt: Seq) {
        self.stage = Stage::Done;
    }

    fn reached(&mut self) -> ExitReason {
        self.stage = Stage::Done;
        ExitReason::Oracle
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(match &self.stage {
            Stage::Flight(jump) if jump.spreading() => GAIN_JUMP,
            Stage::Paced { .. } => GAIN_JUMP,
            _ => GAIN_SLOW_START,
        })
    }
}
