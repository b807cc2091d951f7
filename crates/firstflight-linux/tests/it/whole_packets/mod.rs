//! A startup as in the kernel, whose thresholds are whole packets: the threshold that the startup
//! sets is rounded down, and the startup then sees the rounded value as its own. Startup and
//! avoidance both grow by packets, on different ACKs: a packet of avoidance replaces the startup's
//! next one.

use firstflight::event::{Ack, Context, Signal, Timeout, Window};
use firstflight::recovery::OwnRecovery;
use firstflight::startup::{ExitReason, Grown, Startup, Verdict};
use firstflight::units::{Nanos, Ratio, Seq, Time};

#[derive(Clone, Debug)]
pub(crate) struct WholePackets<S> {
    startup: S,
    /// The last aim: in whole packets, and as the startup said it.
    aim: Option<(u64, u64)>,
    /// The window that the last ACK left at least, beside avoidance.
    floor: Option<u64>,
    /// Avoidance has grown by the packet that the startup grows by next.
    ahead: bool,
}

impl<S: Startup> WholePackets<S> {
    pub(crate) fn new(startup: S) -> WholePackets<S> {
        WholePackets { startup, aim: None, floor: None, ahead: false }
    }

    /// Something else sets the window.
    fn anew(&mut self) {
        self.floor = None;
        self.ahead = false;
    }
}

impl<S: Startup> Startup for WholePackets<S> {
    type Saved = S::Saved;

    fn start(&mut self, now: Time, nxt: Seq) {
        self.startup.start(now, nxt);
    }

    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        self.startup.on_rtt(now, rtt, cx);
    }

    fn sample(&mut self, ack: &Ack, mut w: Window, cx: &Context) -> Verdict {
        if let Some((_, said)) = self.aim.filter(|(whole, _)| *whole == w.ssthresh) {
            w.ssthresh = said;
        }
        let verdict = self.startup.sample(ack, w, cx);
        let Verdict::Aim { ssthresh } = verdict else { return verdict };
        let whole = ssthresh / cx.mss * cx.mss;
        self.aim = Some((whole, ssthresh));
        Verdict::Aim { ssthresh: whole }
    }

    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        self.anew();
        self.startup.grow(ack, acked, w, cx)
    }

    fn beside_avoidance(&mut self, ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        let mut floor = self.startup.beside_avoidance(ack, acked, w, cx)?;
        self.ahead |= self.floor.is_some_and(|floor| w.cwnd > floor);
        if self.ahead && floor > w.cwnd {
            self.ahead = false;
            floor -= cx.mss;
        }
        self.floor = Some(floor);
        Some(floor)
    }

    fn reached(&mut self) -> ExitReason {
        self.startup.reached()
    }

    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        self.startup.on_congestion(signal, beta, ack, w, cx)
    }

    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        self.aim = None;
        self.startup.on_timeout(timeout, now, nxt);
    }

    fn on_idle(&mut self, now: Time, nxt: Seq) {
        self.aim = None;
        self.startup.on_idle(now, nxt);
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        self.startup.signals(visit);
    }

    fn save(&self) -> S::Saved {
        self.startup.save()
    }

    fn restore(&mut self, saved: S::Saved) {
        self.anew();
        self.startup.restore(saved);
    }
}
