//! Jump start: slow start whose first window is enlarged and spread over a whole round trip, with a
//! safe retreat if the jump overshoots.
//!
//! Follows: Careful Resume (draft-ietf-tsvwg-careful-resume-04) with a fixed jump window in place
//! of a remembered one, as the comparison group of the Rapid Start slides. State: 56 bytes.
//!
//! Departures:
//! * D1 (retreat): the production rule is published only as "0.5 to 0.7 of PipeSize"; ours starts
//!   at half of the larger of PipeSize and the initial window and rises to `beta * PipeSize` as
//!   further packets of the jump are acknowledged. RFC 9959 keeps the window constant until the
//!   jump is settled and then uses half of PipeSize as the threshold; `careful` does so.
//! * D2 (marks): marks on the jump end it without a retreat; the arm's recovery handles them. The
//!   document retreats after marks too, RFC 9959 as a MUST; `careful` does so.

use super::jump::{GAIN_JUMP, Jump, JumpWindow};
use super::slow_start::double;
use super::{GAIN_SLOW_START, Grown, Heeds, Pacing, Startup, Status, Verdict};
use crate::event::{Ack, Context, Phase, Ready, Signal, Timeout, Window};
use crate::options::params;
use crate::recovery::{OwnRecovery, Retreat, SafeRetreat};
use crate::units::{Ratio, Seq, Time};

params! {
    /// The constants of jump start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// The jump window; 2 x IW as in the slides.
        pub window: JumpWindow = JumpWindow::Initial(2), "jump" [] "first window, spread over a whole round trip";
    }
}

/// Jump start of one connection.
#[derive(Clone, Copy, Debug)]
pub struct JumpStart {
    jump: Jump,
}

impl JumpStart {
    /// Creates the startup with these parameters.
    pub fn new(params: Params) -> JumpStart {
        JumpStart { jump: Jump::new(Some(params.window)) }
    }
}

impl Startup for JumpStart {
    type Saved = ();

    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        self.jump.before_send(ready, w, cx);
    }

    #[inline]
    fn heeds(&self) -> Heeds {
        Heeds::sending(self.jump.heeds_sending())
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        self.jump.on_ack(ack, w, cx);
        Grown { leftover: double(acked, w, cx), verdict: Verdict::Stay }
    }

    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        _w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        let (pipe_size, end) = self.jump.crash(ack)?;
        // CR 3.5-1: a loss before the jump is validated causes a retreat to the amount that the
        // path has proven to carry (D2).
        (signal == Signal::Loss).then(|| {
            let retreat = SafeRetreat::new(beta, pipe_size, end, cx.iw, cx.mss);
            OwnRecovery::Retreat(Retreat::Safe(retreat))
        })
    }

    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.jump.cancel();
    }

    fn on_idle(&mut self, _now: Time, _nxt: Seq) {
        self.jump.cancel();
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(if self.jump.spreading() { GAIN_JUMP } else { GAIN_SLOW_START })
    }

    fn status(&self) -> Status {
        let phase = if self.jump.spreading() { Phase::Jump } else { Phase::Startup };
        Status { phase, ..Status::default() }
    }
}
