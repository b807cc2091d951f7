//! Runs the adapters with callbacks in any order, sensible or not: for tests and the fuzz target
//! `quic_callbacks`.
//!
//! A stack calls a controller in a certain order but guarantees little. Whatever the order and the
//! numbers, a controller neither panics nor returns a window into which no packet fits.

use crate::plan::Plan;
use std::time::Duration;
#[cfg(any(feature = "noq", feature = "quinn"))]
use std::time::Instant;

const ARMS: [&str; 14] = [
    "slowstart",
    "slowstart/reno/immediate",
    "hystart++",
    "hystart",
    "best",
    "search",
    "rapid",
    "jumpstart",
    "plumb",
    "plumb-tolerant",
    "suss",
    "chirping",
    "limited/cubic/sack",
    "rapid(jump=off)/reno/halving",
];

/// Numbers derived from bytes; zeros when the bytes are used up.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number; small ones are the most likely, and the largest do occur.
    fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=199 => u64::from(small),
            255 => u64::MAX,
            shift => u64::from(self.byte()) << (shift & 63),
        }
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A time near `now`, before or after it.
    #[cfg(any(feature = "noq", feature = "quinn"))]
    fn near(&mut self, now: Instant) -> Instant {
        let by = Duration::from_micros(self.number().min(1 << 40));
        if self.flag() {
            now.checked_add(by).unwrap_or(now)
        } else {
            now.checked_sub(by).unwrap_or(now)
        }
    }
}

/// Calls a controller of each stack in the order that `bytes` encode.
///
/// # Panics
/// If a controller returns a window into which no packet fits.
pub fn any_order(bytes: &[u8]) {
    #[cfg(feature = "noq")]
    noq(&mut Source(bytes));
    #[cfg(feature = "quinn")]
    quinn(&mut Source(bytes));
    #[cfg(feature = "s2n")]
    s2n(&mut Source(bytes));
}

fn plan(source: &mut Source<'_>) -> Option<Plan> {
    let arm = ARMS[usize::from(source.byte()) % ARMS.len()];
    Plan::parse(arm)
        .ok()
        .map(|plan| Plan { initial_window: Some(u32::from(source.byte())), ..plan })
}

#[cfg(feature = "noq")]
fn noq(source: &mut Source<'_>) {
    use crate::noq::{Choice, Controller, Factory};
    use noq_proto::congestion::{Controller as _, ControllerFactory};
    use std::sync::Arc;
    let Some(plan) = plan(source) else { return };
    let origin = Instant::now();
    let choice = Choice::default();
    let factory = Arc::new(Factory::new(plan).with_origin(origin).with_choice(choice.clone()));
    let Ok(mut controller) =
        factory.build(origin, source.number() as u16).into_any().downcast::<Controller>()
    else {
        return;
    };
    let mut now = origin;
    while !source.0.is_empty() {
        now = if source.byte() < 240 {
            now + Duration::from_micros(source.number() & 0xffff)
        } else {
            source.near(now)
        };
        match source.byte() % 14 {
            0..=2 => controller.on_packet_sent(now, source.number() as u16, source.number()),
            3..=5 => {
                let (sent, srtt) =
                    (source.near(now), Duration::from_micros(source.number() & 0xffff_ffff));
                let (bytes, pn) = (source.number(), Some(source.number()));
                controller.acked(now, sent, bytes, pn, source.flag(), srtt);
            }
            6 | 7 => controller.on_end_acks(
                now,
                source.number(),
                source.flag(),
                source.flag().then(|| source.number()),
            ),
            8 => controller.on_packet_lost(source.number() as u16, source.number(), now),
            9 => {
                let (sent, persistent, ecn) = (source.near(now), source.flag(), source.flag());
                controller.on_congestion_event(
                    now,
                    sent,
                    persistent,
                    ecn,
                    source.number(),
                    source.number(),
                );
            }
            10 => controller.on_spurious_congestion_event(),
            11 => controller.on_mtu_update(source.number() as u16),
            12 => controller.on_cwnd_limited(),
            _ => drop(choice.choose(plan)),
        }
        let metrics = controller.metrics();
        assert!(
            controller.window() > 0 && metrics.congestion_window > 0,
            "a window of 0: {controller:?}"
        );
        assert!(controller.status().cwnd > 0, "an account of 0: {controller:?}");
        assert_ne!(metrics.pacing_rate, Some(0), "a pacing rate of 0 never sends: {controller:?}");
        if source.byte() == 255 {
            *controller = (*controller).clone();
        }
    }
}

#[cfg(feature = "quinn")]
fn quinn(source: &mut Source<'_>) {
    use crate::quinn::{Controller, Factory};
    use quinn_proto::congestion::{Controller as _, ControllerFactory};
    use std::sync::Arc;
    let Some(plan) = plan(source) else { return };
    let origin = Instant::now();
    let Ok(factory) = Factory::new(plan) else { return };
    let factory = Arc::new(factory.with_origin(origin));
    let Ok(mut controller) =
        factory.build(origin, source.number() as u16).into_any().downcast::<Controller>()
    else {
        return;
    };
    let mut now = origin;
    while !source.0.is_empty() {
        now = if source.byte() < 240 {
            now + Duration::from_micros(source.number() & 0xffff)
        } else {
            source.near(now)
        };
        match source.byte() % 10 {
            0..=2 => controller.on_sent(now, source.number(), source.number()),
            3..=5 => {
                let (sent, srtt) =
                    (source.near(now), Duration::from_micros(source.number() & 0xffff_ffff));
                controller.acked(now, sent, source.number(), None, source.flag(), srtt);
            }
            6 | 7 => controller.on_end_acks(
                now,
                source.number(),
                source.flag(),
                source.flag().then(|| source.number()),
            ),
            8 => controller.on_congestion_event(
                now,
                source.near(now),
                source.flag(),
                source.number(),
            ),
            _ => controller.on_mtu_update(source.number() as u16),
        }
        assert!(
            controller.window() > 1 && controller.metrics().congestion_window > 0,
            "a window of 0: {controller:?}"
        );
        if source.byte() == 255 {
            *controller = (*controller).clone();
        }
    }
}

#[cfg(feature = "s2n")]
fn s2n(source: &mut Source<'_>) {
    use s2n_quic_core::recovery::CongestionController as _;
    use s2n_quic_core::time::{Clock, NoopClock};
    let Some(plan) = plan(source) else { return };
    let mut controller = crate::s2n::Endpoint::new(plan).build(source.number() as u16);
    let mut now = Duration::from_secs(3600);
    let at = |time: Duration| NoopClock.get_time() + time;
    let mut infos = vec![controller.sent(at(now), source.number(), None)];
    while !source.0.is_empty() {
        let by = Duration::from_micros(source.number() & 0xffff);
        now = if source.byte() < 240 { now.saturating_add(by) } else { now.saturating_sub(by) };
        let info = infos[usize::from(source.byte()) % infos.len()];
        match source.byte() % 12 {
            0..=3 => infos.push(controller.sent(
                at(now),
                source.number(),
                source.flag().then(|| source.flag()),
            )),
            4..=6 => {
                let ago = Duration::from_micros(source.number() & 0xffff_ffff);
                let smoothed = Duration::from_micros(source.number() & 0xffff_ffff);
                controller.acked(
                    at(now),
                    at(now.saturating_sub(ago)),
                    source.number(),
                    info,
                    smoothed,
                );
            }
            7 | 8 => controller.lost(at(now), source.number(), info, source.flag()),
            9 => controller.marked(at(now)),
            10 => controller.discarded(source.number()),
            _ => controller.resized(source.number() as u16),
        }
        assert!(
            controller.congestion_window() > 0 && controller.status().cwnd > 0,
            "a window of 0: {controller:?}"
        );
        assert!(
            controller.bytes_in_flight() > 0 || !controller.is_congestion_limited(),
            "nothing in flight and no way out: {controller:?}"
        );
        let _ = (controller.earliest_departure_time(), controller.send_quantum());
        if source.byte() == 255 {
            controller = controller.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::any_order;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn callbacks_in_any_order_leave_a_window_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            any_order(&bytes);
        }
    }
}
