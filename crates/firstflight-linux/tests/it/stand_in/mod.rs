//! The substitute that `native.c` has for the kernel's CUBIC, for the core: one packet per window
//! acknowledged, beta 717/1024.

use firstflight::avoidance::{Avoidance, Cut, Reduced};
use firstflight::event::{Ack, Context, Signal, Timeout, Window};
use firstflight::startup::Handover;
use firstflight::units::{Nanos, Ratio, Time};

pub(crate) const BETA: Ratio = Ratio::new(717, 1024);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StandIn {
    /// Packets acknowledged since the window last grew.
    credit: u64,
}

fn threshold(w: Window, mss: u64) -> u64 {
    (w.cwnd / mss * BETA.num() / BETA.den()).max(2) * mss
}

impl Avoidance for StandIn {
    type Saved = ();

    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        if !cx.limited {
            return;
        }
        let cwnd = w.cwnd / cx.mss;
        self.credit += acked / cx.mss;
        w.cwnd += self.credit / cwnd * cx.mss;
        self.credit %= cwnd;
    }

    fn reduce(&mut self, _cut: &Cut, w: Window, cx: &Context) -> Reduced {
        let ssthresh = threshold(w, cx.mss);
        Reduced { ssthresh, cwnd: ssthresh }
    }

    fn on_rto(&mut self, _cut: &Cut, w: Window, cx: &Context) -> u64 {
        threshold(w, cx.mss)
    }

    fn on_persistent_congestion(&mut self, _now: Time) {}

    fn hand_over(&mut self, _handover: Handover, _w: Window, _cx: &Context) {}

    fn on_idle(&mut self, _now: Time, _idle: Nanos, _since_sent: Nanos) {}

    fn beta(&self, _signal: Signal, _from_slow_start: bool) -> Ratio {
        BETA
    }

    fn save(&self) {}

    fn restore(&mut self, (): ()) {}
}

/// Only TCP's timeouts occur here.
pub(crate) fn timeout(first: bool) -> Timeout {
    if first { Timeout::Rto } else { Timeout::RtoAgain }
}
