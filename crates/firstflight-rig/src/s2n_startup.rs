//! s2n-quic's own controllers in the simulator: a startup that never ends, passes its events on to
//! one of those controllers, and uses that controller's window instead of its own.
//!
//! s2n-quic provides the controller, its window, its pacing rate and its RTT estimate. The
//! simulator provides packets, loss detection and the pacer. Losses are reported before the
//! acknowledgements that revealed them, as in s2n-quic. The simulator names the latest lost packet
//! of an ACK and the sum of the lost bytes; they are reported as one loss. Persistent congestion
//! cannot be followed, because no sends are reported after it; the trial then reports an error.

use crate::own::Own;
use crate::s2n::{Chance, Published};
use firstflight::event::{Ack, Context, Sent, Signal, Timeout, Window};
use firstflight::startup::{Grown, Pacing, Startup, Verdict};
use firstflight::{Rate, Ready, Seq, Time};
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::path::mtu;
use s2n_quic_core::recovery::congestion_controller::{Endpoint, PathInfo};
use s2n_quic_core::recovery::{CongestionController, RttEstimator, bbr, cubic};
use s2n_quic_core::time::{Clock as _, NoopClock, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Number of packets whose records are kept: more than any path here has in flight.
const KEPT: usize = 1 << 17;

/// A startup driven by this controller; `None` if it is not s2n-quic's, or the window is too large
/// for it. `broken` is set by events that it cannot follow.
pub fn startup(
    own: Own,
    datagram: u16,
    window: u64,
    seed: u64,
    broken: &Arc<AtomicBool>,
) -> Option<Box<dyn Startup<Saved = ()>>> {
    let window = u32::try_from(window).ok()?;
    match own {
        Own::S2nCubic => {
            let endpoint = cubic::builder::Builder::default();
            let endpoint = endpoint.with_initial_congestion_window(window).build();
            Some(Box::new(Steered::new(endpoint, datagram, seed, broken)))
        }
        Own::S2nBbr => {
            let endpoint = bbr::builder::Builder::default();
            let endpoint = endpoint.with_initial_congestion_window(window).build();
            Some(Box::new(Steered::new(endpoint, datagram, seed, broken)))
        }
        _ => None,
    }
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct Packet<I> {
    sent: Time,
    info: I,
}

/// The state of one connection.
struct Steered<C: CongestionController> {
    controller: C,
    rtt: RttEstimator,
    chance: Chance,
    published: Published,
    packets: BTreeMap<u64, Packet<C::PacketInfo>>,
    app_limited: bool,
    broken: Arc<AtomicBool>,
}

fn at(now: Time) -> Timestamp {
    NoopClock.get_time() + Duration::from_nanos(now.0)
}

impl<C: CongestionController> Steered<C> {
    fn new<E: Endpoint<CongestionController = C>>(
        mut endpoint: E,
        datagram: u16,
        seed: u64,
        broken: &Arc<AtomicBool>,
    ) -> Steered<C> {
        let address = SocketAddress::default();
        let mut path = PathInfo::new(&mtu::Config::default(), &address);
        path.max_datagram_size = datagram;
        Steered {
            controller: endpoint.new_congestion_controller(path),
            rtt: RttEstimator::new(Duration::from_millis(333)),
            chance: Chance(seed),
            published: Published::default(),
            packets: BTreeMap::new(),
            app_limited: false,
            broken: Arc::clone(broken),
        }
    }

    fn window(&self) -> u64 {
        u64::from(self.controller.congestion_window())
    }

    fn lost(&mut self, ack: &Ack) {
        let packet = ack.tx_lost.and_then(|number| self.packets.remove(&number));
        let (Some(packet), Ok(lost @ 1..)) = (packet, u32::try_from(ack.lost)) else { return };
        let (chance, published) = (&mut self.chance, &mut self.published);
        self.controller.on_packet_lost(
            lost,
            packet.info,
            false,
            true,
            chance,
            at(ack.now),
            published,
        );
    }

    fn acknowledged(&mut self, ack: &Ack) {
        let Some(packet) = ack.tx_acked.and_then(|number| self.packets.get(&number).copied())
        else {
            return;
        };
        let (now, left) = (at(ack.now), at(packet.sent));
        if ack.rtt.is_some() {
            let (sample, space) =
                (ack.now.since(packet.sent).0, PacketNumberSpace::ApplicationData);
            self.rtt.update_rtt(Duration::ZERO, Duration::from_nanos(sample), now, true, space);
            self.controller.on_rtt_update(left, now, &self.rtt, &mut self.published);
        }
        let (chance, published) = (&mut self.chance, &mut self.published);
        let bytes = ack.acked as usize;
        self.controller.on_ack(left, bytes, packet.info, &self.rtt, chance, now, published);
    }
}

impl<C: CongestionController> Startup for Steered<C> {
    type Saved = ();

    fn before_send(&mut self, _ready: &Ready, w: &mut Window, _cx: &Context) {
        w.cwnd = self.window();
    }

    fn on_sent(&mut self, sent: &Sent, _w: Window, _cx: &Context) {
        let (bytes, limited) = (sent.bytes as usize, Some(self.app_limited));
        let published = &mut self.published;
        let info =
            self.controller.on_packet_sent(at(sent.now), bytes, limited, &self.rtt, published);
        self.packets.insert(sent.nxt.0.saturating_sub(1), Packet { sent: sent.now, info });
        if self.packets.len() > KEPT {
            self.packets.pop_first();
        }
    }

    fn sample(&mut self, ack: &Ack, _w: Window, _cx: &Context) -> Verdict {
        self.app_limited = ack.app_limited;
        if ack.lost > 0 {
            self.lost(ack);
        }
        if ack.ce {
            self.controller.on_explicit_congestion(1, at(ack.now), &mut self.published);
        }
        if ack.acked > 0 {
            self.acknowledged(ack);
        }
        Verdict::Hold { cwnd: self.window() }
    }

    fn absorbs(&mut self, _signal: Signal, ack: &Ack, cx: &Context) -> bool {
        // The controller already knows of an ACK.
        if cx.so_far.is_timer(ack) {
            self.lost(ack);
        }
        true
    }

    fn grow(&mut self, _ack: &Ack, _acked: u64, w: &mut Window, _cx: &Context) -> Grown {
        w.cwnd = self.window();
        Grown::default()
    }

    fn on_timeout(&mut self, _timeout: Timeout, _now: Time, _nxt: Seq) {
        self.broken.store(true, Ordering::Relaxed);
    }

    fn pacing(&self) -> Pacing {
        self.published.pacing_rate.map_or_else(Pacing::default, |rate| Pacing::Rate(Rate(rate)))
    }
}
