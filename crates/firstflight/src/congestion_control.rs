//! The interface between a transport and its congestion control.

use crate::avoidance::Avoidance;
use crate::controller::{Controller, Exit, Stats};
use crate::event::{Ack, Congestion, Misfed, Phase, Ready, Sent, SoFar};
use crate::pacer::Spacing;
use crate::recovery::Policy;
use crate::startup::{Resumption, Startup, Train};
use crate::units::{Nanos, Rate, Seq, Time};

macro_rules! congestion_control {
    (
        tell { $(fn $tell:ident($($told:ident: $what:ty),*);)* }
        ask { $(fn $ask:ident($($by:ident: $of:ty),*) $(-> $answer:ty)?;)* }
    ) => {
        /// A congestion control as a transport sees it, composed or complete. A [`Controller`] is one;
        /// code that only drives or watches a connection takes any.
        ///
        /// A transport reports packets before and after it sends them, each ACK, timeouts and false alarms,
        /// and reads the window and the pacing rate. The [module of controllers](crate::controller)
        /// defines the order.
        pub trait CongestionControl {
            $(
                #[doc = concat!("See [`Controller::", stringify!($tell), "`].")]
                fn $tell(&mut self, $($told: $what),*);
            )*
            $(
                #[doc = concat!("See [`Controller::", stringify!($ask), "`].")]
                fn $ask(&self, $($by: $of),*) $(-> $answer)?;
            )*
        }

        impl<S: Startup, A: Avoidance, R: Policy> CongestionControl for Controller<S, A, R> {
            $(
                #[inline]
                fn $tell(&mut self, $($told: $what),*) {
                    Controller::$tell(self, $($told),*);
                }
            )*
            $(
                #[inline]
                fn $ask(&self, $($by: $of),*) $(-> $answer)? {
                    Controller::$ask(self, $($by),*)
                }
            )*
        }
    };
}

congestion_control! {
    tell {
        fn restart(now: Time, nxt: Seq);
        fn on_handshake_rtt(now: Time, rtt: Nanos);
        fn set_mss(mss: u64);
        fn before_send(ready: &Ready);
        fn on_sent(sent: &Sent);
        fn on_ack(ack: &Ack);
        fn on_congestion(event: &Congestion);
        fn on_spurious();
    }
    ask {
        fn cwnd() -> u64;
        fn ssthresh() -> Option<u64>;
        fn admits(len: u64, inflight: u64) -> bool;
        fn open_window() -> u64;
        fn pacing_rate() -> Option<Rate>;
        fn train() -> Option<Train>;
        fn spacing() -> Spacing;
        fn heeds_sending() -> bool;
        fn heeds_packets() -> bool;
        fn heeds_departures() -> bool;
        fn is_l4s() -> bool;
        fn in_recovery() -> bool;
        fn recovery_mark() -> Option<Seq>;
        fn phase() -> Phase;
        fn exit() -> Option<Exit>;
        fn resumption() -> Resumption;
        fn misfed() -> Option<Misfed>;
        fn so_far() -> &SoFar;
        fn stats() -> &Stats;
        fn signals(visit: &mut dyn FnMut(&'static str, u64));
    }
}
