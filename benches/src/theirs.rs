//! The CUBIC of two QUIC stacks, told of the same ACKs as their connections tell it: once per packet, and once at the end.

use crate::Sender;
use crate::scenario::{PACKET, RTT, Scenario, Step};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The fields of both stacks' `RttEstimator`, which has no public constructor.
#[allow(dead_code, reason = "read through the estimator it stands for")]
struct SameFields {
    latest: Duration,
    smoothed: Option<Duration>,
    var: Duration,
    min: Duration,
}

/// An estimator that has settled at [`RTT`].
macro_rules! estimator {
    ($type:ty) => {{
        let rtt = Duration::from_nanos(RTT);
        let fields = SameFields { latest: rtt, smoothed: Some(rtt), var: rtt / 4, min: rtt };
        // SAFETY: the same four fields of the same types in the same order and the same compilation: the layout is the same in practice,
        // and the three assertions would see it if it were not. Every bit pattern that could end up in a field is a valid value of it
        // only if so, which is good enough for a benchmark and for nothing else.
        let estimator = unsafe { std::mem::transmute::<SameFields, $type>(fields) };
        assert_eq!(estimator.get(), rtt, "the smoothed RTT is where it was put");
        assert_eq!(estimator.min(), rtt, "the smallest RTT is where it was put");
        assert_eq!(estimator.conservative(), rtt, "the latest RTT is where it was put");
        estimator
    }};
}

/// Their clock cannot be made from a number: everything is relative to one instant.
fn at(origin: Instant, ns: u64) -> Instant {
    origin + Duration::from_nanos(ns)
}

type Timed = (Step, Instant, Instant);

/// A sender around the controller of one stack. `$ack` and `$loss` are its calls.
macro_rules! stack {
    ($name:ident, $make:ident, $feed:ident, $measured:ident, $stack:ident, $ack:expr, $loss:expr) => {
        pub struct $name {
            controller: Box<dyn $stack::congestion::Controller>,
            rtt: $stack::RttEstimator,
            origin: Instant,
            steps: Vec<Timed>,
        }

        pub fn $make() -> $name {
            use $stack::congestion::{ControllerFactory, CubicConfig};
            let origin = Instant::now();
            let controller = Arc::new(CubicConfig::default()).build(at(origin, 999_000_000), PACKET as u16);
            $name { controller, rtt: estimator!($stack::RttEstimator), origin, steps: Vec::new() }
        }

        impl $name {
            fn timed(&self, steps: &[Step]) -> Vec<Timed> {
                steps.iter().map(|step| (*step, at(self.origin, step.ack.now.0), at(self.origin, step.sent))).collect()
            }
        }

        #[inline(always)]
        fn $feed(controller: &mut dyn $stack::congestion::Controller, rtt: &$stack::RttEstimator, steps: &[Timed]) {
            for (step, now, sent) in steps {
                // Two packets, then the end of the ACK, then its losses: the order of their connections.
                $ack(controller, *now, *sent, step.ack.una.0 - 2, rtt);
                $ack(controller, *now, *sent, step.ack.una.0 - 1, rtt);
                controller.on_end_acks(*now, step.ack.inflight, false, Some(step.ack.una.0 - 1));
                if let Some(lost) = step.ack.tx_lost {
                    $loss(controller, *now, *sent, step.ack.lost, lost);
                }
            }
        }

        #[inline(never)]
        #[unsafe(no_mangle)]
        fn $measured(controller: &mut dyn $stack::congestion::Controller, rtt: &$stack::RttEstimator, steps: &[Timed]) {
            $feed(controller, rtt, steps);
        }

        impl Sender for $name {
            fn prepare(&mut self, scenario: &Scenario) {
                let steps = self.timed(&scenario.before);
                $feed(&mut *self.controller, &self.rtt, &steps);
            }

            fn arm(&mut self, scenario: &Scenario) {
                self.steps = self.timed(&scenario.measured);
            }

            fn play(&mut self, _scenario: &Scenario) {
                $measured(&mut *self.controller, &self.rtt, &self.steps);
            }

            fn window(&self) -> u64 {
                self.controller.window()
            }
        }
    };
}

stack!(
    Quinn,
    quinn,
    feed_quinn,
    measured_quinn,
    quinn_proto,
    |c: &mut dyn quinn_proto::congestion::Controller, now, sent, _pn, rtt| c.on_ack(now, sent, PACKET, false, rtt),
    |c: &mut dyn quinn_proto::congestion::Controller, now, sent, bytes, _pn| c.on_congestion_event(now, sent, false, bytes)
);
stack!(
    Noq,
    noq,
    feed_noq,
    measured_noq,
    noq_proto,
    |c: &mut dyn noq_proto::congestion::Controller, now, sent, pn, rtt| c.on_ack(now, sent, PACKET, pn, false, rtt),
    |c: &mut dyn noq_proto::congestion::Controller, now, sent, bytes, pn| c.on_congestion_event(now, sent, false, false, bytes, pn)
);
