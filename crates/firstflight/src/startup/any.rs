//! One startup out of all, chosen at run time without a heap or a virtual call.

use super::{
    Bbr, Best, BestPublished, Careful, ExitReason, Grown, HyStart, HyStartPlusPlus, JumpStart,
    LimitedSlowStart, Oracle, Plumb, RapidStart, Search, SlowStart, Startup, Train, Verdict,
};
use crate::event::{Ack, Context, Phase, Ready, Sent, Signal, Timeout, Window};
use crate::recovery::OwnRecovery;
use crate::units::{Nanos, Rate, Ratio, Seq, Time};

macro_rules! startups {
    ($($(#[$doc:meta])* $name:ident($type:ty),)*) => {
        /// Any startup of the crate.
        // The tag is a byte of its own: left alone, the compiler hides it in a field of the largest, and every hook of every ACK would have
        // to look twice.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug)]
        #[allow(clippy::large_enum_variant, reason = "no allocation: the largest state is what a connection reserves anyway")]
        pub enum AnyStartup {
            $($(#[$doc])* $name($type),)*
        }

        /// What a false alarm gives back to any startup.
        #[derive(Clone, Copy, Debug)]
        pub enum AnySavedStartup {
            $($(#[$doc])* $name(<$type as Startup>::Saved),)*
        }

        impl AnyStartup {
            fn saved(&self) -> AnySavedStartup {
                match self {
                    $(AnyStartup::$name(startup) => AnySavedStartup::$name(startup.save()),)*
                }
            }

            /// What another startup saved means nothing.
            fn take_back(&mut self, saved: AnySavedStartup) {
                match (self, saved) {
                    $((AnyStartup::$name(startup), AnySavedStartup::$name(saved)) => {
                        startup.restore(saved);
                    })*
                    _ => {}
                }
            }
        }

        $(impl From<$type> for AnyStartup {
            fn from(startup: $type) -> Self {
                AnyStartup::$name(startup)
            }
        })*

        macro_rules! each {
            ($self:expr, $startup:ident => $call:expr) => {
                match $self { $(AnyStartup::$name($startup) => $call,)* }
            };
        }
    };
}

startups! {
    /// Classic slow start.
    SlowStart(SlowStart),
    /// Limited Slow Start (RFC 3742).
    Limited(LimitedSlowStart),
    /// HyStart.
    HyStart(HyStart),
    /// HyStart++ (RFC 9406 and draft-03).
    HyStartPlusPlus(HyStartPlusPlus),
    /// SEARCH (3.1 and 4.0).
    Search(Search),
    /// BEST, robust mode.
    Best(Best),
    /// BEST as published.
    BestPublished(BestPublished),
    /// Plumb.
    Plumb(Plumb),
    /// Rapid Start.
    Rapid(RapidStart),
    /// BBR's startup.
    Bbr(Bbr),
    /// Careful Resume.
    Careful(Careful),
    /// Jump start.
    Jump(JumpStart),
    /// Slow start that is told the BDP.
    Oracle(Oracle),
}

impl Default for AnySavedStartup {
    fn default() -> Self {
        AnySavedStartup::SlowStart(())
    }
}

impl Startup for AnyStartup {
    type Saved = AnySavedStartup;

    fn start(&mut self, now: Time, nxt: Seq) {
        each!(self, s => s.start(now, nxt));
    }
    #[inline]
    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &Context) {
        each!(self, s => s.on_rtt(now, rtt, cx));
    }
    #[inline]
    fn before_send(&mut self, ready: &Ready, w: &mut Window, cx: &Context) {
        each!(self, s => s.before_send(ready, w, cx));
    }
    #[inline]
    fn on_sent(&mut self, sent: &Sent, w: Window, cx: &Context) {
        each!(self, s => s.on_sent(sent, w, cx));
    }
    #[inline]
    fn train(&self) -> Option<Train> {
        each!(self, s => s.train())
    }
    #[inline]
    fn sample(&mut self, ack: &Ack, w: Window, cx: &Context) -> Verdict {
        each!(self, s => s.sample(ack, w, cx))
    }
    #[inline]
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) -> Grown {
        each!(self, s => s.grow(ack, acked, w, cx))
    }
    #[inline]
    fn beside_avoidance(&mut self, ack: &Ack, acked: u64, w: Window, cx: &Context) -> Option<u64> {
        each!(self, s => s.beside_avoidance(ack, acked, w, cx))
    }
    fn reach(&self, max_fs: u64, w: Window, cx: &Context) -> u64 {
        each!(self, s => s.reach(max_fs, w, cx))
    }
    fn reach_beside(&self, max_fs: u64, w: Window) -> Option<u64> {
        each!(self, s => s.reach_beside(max_fs, w))
    }
    fn reached(&mut self) -> ExitReason {
        each!(self, s => s.reached())
    }
    fn on_congestion(
        &mut self,
        signal: Signal,
        beta: Ratio,
        ack: &Ack,
        w: Window,
        cx: &Context,
    ) -> Option<OwnRecovery> {
        each!(self, s => s.on_congestion(signal, beta, ack, w, cx))
    }
    fn absorbs(&mut self, signal: Signal, ack: &Ack, cx: &Context) -> bool {
        each!(self, s => s.absorbs(signal, ack, cx))
    }
    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        each!(self, s => s.on_timeout(timeout, now, nxt));
    }
    fn on_idle(&mut self, now: Time, nxt: Seq) {
        each!(self, s => s.on_idle(now, nxt));
    }
    fn save(&self) -> AnySavedStartup {
        self.saved()
    }
    fn restore(&mut self, saved: AnySavedStartup) {
        self.take_back(saved);
    }
    #[inline]
    fn pacing_gain(&self) -> Ratio {
        each!(self, s => s.pacing_gain())
    }
    fn pacing_rate(&self) -> Option<Rate> {
        each!(self, s => s.pacing_rate())
    }
    fn phase(&self) -> Phase {
        each!(self, s => s.phase())
    }
    fn rounds(&self) -> Option<u32> {
        each!(self, s => s.rounds())
    }
    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        each!(self, s => s.signals(visit));
    }
}
