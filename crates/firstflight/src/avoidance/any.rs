//! A congestion avoidance selected at run time, without heap allocation or virtual calls.

use super::{Abba, Avoidance, Cuback, Cubic, Cut, Dctcp, Prague, Reduced, Reno, Sizes};
use crate::event::{Ack, Context, Signal, Window};
use crate::exit::Handover;
use crate::units::{Nanos, Ratio, Time};

/// Any congestion avoidance of the crate.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AnyAvoidance {
    /// Reno (RFC 5681, RFC 9002).
    Reno(Reno),
    /// CUBIC (RFC 9438).
    Cubic(Cubic),
    /// Cuback.
    Cuback(Cuback),
    /// ABBA on top of Reno or CUBIC.
    Abba(Abba),
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp),
    /// Prague.
    Prague(Prague),
}

/// State that a false alarm restores.
#[derive(Clone, Copy, Debug)]
pub enum AnySaved {
    /// Reno's state.
    Reno(<Reno as Avoidance>::Saved),
    /// CUBIC's state.
    Cubic(<Cubic as Avoidance>::Saved),
    /// Cuback's state.
    Cuback(<Cuback as Avoidance>::Saved),
    /// ABBA's state.
    Abba(<Abba as Avoidance>::Saved),
    /// DCTCP's state.
    Dctcp(<Dctcp as Avoidance>::Saved),
    /// Prague's state.
    Prague(<Prague as Avoidance>::Saved),
}

macro_rules! each {
    ($self:expr, $avoidance:ident => $call:expr) => {
        match $self {
            AnyAvoidance::Reno($avoidance) => $call,
            AnyAvoidance::Cubic($avoidance) => $call,
            AnyAvoidance::Cuback($avoidance) => $call,
            AnyAvoidance::Abba($avoidance) => $call,
            AnyAvoidance::Dctcp($avoidance) => $call,
            AnyAvoidance::Prague($avoidance) => $call,
        }
    };
}

impl AnyAvoidance {
    #[inline(never)]
    fn grow_another(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        each!(self, a => a.grow(ack, acked, w, cx));
    }

    #[inline(never)]
    fn tell_another(&mut self, ack: &Ack, cx: &Context) {
        each!(self, a => a.on_ack(ack, cx));
    }
}

impl Avoidance for AnyAvoidance {
    type Saved = AnySaved;

    #[inline(always)]
    fn grow(&mut self, ack: &Ack, acked: u64, w: &mut Window, cx: &Context) {
        match self {
            // Nearly all connections run CUBIC: no call in between.
            AnyAvoidance::Cubic(cubic) => cubic.grow(ack, acked, w, cx),
            other => other.grow_another(ack, acked, w, cx),
        }
    }
    fn reach(&self, ack: &Ack, max_fs: u64, w: Window, cx: &Context) -> u64 {
        each!(self, a => a.reach(ack, max_fs, w, cx))
    }
    fn reduce(&mut self, cut: &Cut, w: Window, cx: &Context) -> Reduced {
        each!(self, a => a.reduce(cut, w, cx))
    }
    fn on_rto(&mut self, cut: &Cut, w: Window, cx: &Context) -> u64 {
        each!(self, a => a.on_rto(cut, w, cx))
    }
    fn on_persistent_congestion(&mut self, now: Time) {
        each!(self, a => a.on_persistent_congestion(now));
    }
    fn hand_over(&mut self, handover: Handover, w: Window, cx: &Context) {
        each!(self, a => a.hand_over(handover, w, cx));
    }
    fn on_idle(&mut self, now: Time, idle: Nanos, since_sent: Nanos) {
        each!(self, a => a.on_idle(now, idle, since_sent));
    }
    fn on_mss(&mut self, sizes: Sizes, kept: bool) {
        each!(self, a => a.on_mss(sizes, kept));
    }
    #[inline]
    fn on_rtt(&mut self, now: Time, rtt: Nanos, w: Window, in_recovery: bool) {
        match self {
            // Checked before the jump table: nearly all connections run CUBIC, which does nothing
            // here.
            AnyAvoidance::Cubic(cubic) => cubic.on_rtt(now, rtt, w, in_recovery),
            other => each!(other, a => a.on_rtt(now, rtt, w, in_recovery)),
        }
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack, cx: &Context) {
        match self {
            // These do nothing here, and a call would cost every ACK 25 instructions.
            AnyAvoidance::Reno(reno) => reno.on_ack(ack, cx),
            AnyAvoidance::Cubic(cubic) => cubic.on_ack(ack, cx),
            AnyAvoidance::Cuback(cuback) => cuback.on_ack(ack, cx),
            other => other.tell_another(ack, cx),
        }
    }
    fn answer_marks(&mut self, ack: &Ack, w: Window, cx: &Context) -> Option<Reduced> {
        each!(self, a => a.answer_marks(ack, w, cx))
    }
    fn is_l4s(&self) -> bool {
        each!(self, a => a.is_l4s())
    }
    fn on_recovery_end(&mut self, w: Window) {
        each!(self, a => a.on_recovery_end(w));
    }
    fn beta(&self, signal: Signal, from_slow_start: bool) -> Ratio {
        each!(self, a => a.beta(signal, from_slow_start))
    }
    #[inline]
    fn epoch_start(&self) -> Option<Time> {
        match self {
            AnyAvoidance::Cubic(cubic) => cubic.epoch_start(),
            other => each!(other, a => a.epoch_start()),
        }
    }
    fn save(&self) -> AnySaved {
        match self {
            AnyAvoidance::Reno(reno) => AnySaved::Reno(reno.save()),
            AnyAvoidance::Cubic(cubic) => AnySaved::Cubic(cubic.save()),
            AnyAvoidance::Cuback(cuback) => AnySaved::Cuback(cuback.save()),
            AnyAvoidance::Abba(abba) => AnySaved::Abba(abba.save()),
            AnyAvoidance::Dctcp(dctcp) => AnySaved::Dctcp(dctcp.save()),
            AnyAvoidance::Prague(prague) => AnySaved::Prague(prague.save()),
        }
    }
    fn restore(&mut self, saved: AnySaved) {
        match (self, saved) {
            (AnyAvoidance::Reno(reno), AnySaved::Reno(saved)) => reno.restore(saved),
            (AnyAvoidance::Cubic(cubic), AnySaved::Cubic(saved)) => cubic.restore(saved),
            (AnyAvoidance::Cuback(cuback), AnySaved::Cuback(saved)) => cuback.restore(saved),
            (AnyAvoidance::Abba(abba), AnySaved::Abba(saved)) => abba.restore(saved),
            (AnyAvoidance::Dctcp(dctcp), AnySaved::Dctcp(saved)) => dctcp.restore(saved),
            (AnyAvoidance::Prague(prague), AnySaved::Prague(saved)) => prague.restore(saved),
            // A controller never changes its avoidance, so the saved state always matches.
            _ => {}
        }
    }
    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        each!(self, a => a.signals(visit));
    }
}
