//! s2n-quic's own controllers on noq's stack, through the traits that s2n-quic's core makes public:
//! translates noq's calls to a controller into s2n-quic's terms.
//!
//! s2n-quic provides the controllers and their RTT estimate. noq provides packets, losses, the
//! pacer (at the rate that the controller publishes) and the order of events: a controller learns
//! of the data that an ACK acknowledged before it learns of the losses that the ACK reveals;
//! s2n-quic uses the opposite order. The receiver's reported delay is unknown here and counts as
//! zero. Random numbers are drawn from the trial's seed, so that rows are repeatable.

use noq_proto::RttEstimator as NoqRtt;
use noq_proto::congestion::{self, ControllerMetrics};
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::path::mtu;
use s2n_quic_core::random;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::{Endpoint, PathInfo, Publisher};
use s2n_quic_core::recovery::{CongestionController, RttEstimator};
use s2n_quic_core::time::{Clock as _, NoopClock, Timestamp};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Builds controllers from an s2n-quic endpoint.
pub(crate) struct Factory<E> {
    endpoint: Mutex<E>,
    datagram: u16,
    initial_window: u32,
    seed: u64,
}

impl<E: Endpoint> Factory<E> {
    /// With datagrams of this size and controllers with this initial window in bytes.
    pub(crate) fn new(endpoint: E, datagram: u16, initial_window: u32, seed: u64) -> Factory<E> {
        Factory { endpoint: Mutex::new(endpoint), datagram, initial_window, seed }
    }
}

impl<E: Endpoint> congestion::ControllerFactory for Factory<E> {
    fn build(self: Arc<Self>, now: Instant, _current_mtu: u16) -> Box<dyn congestion::Controller> {
        let address = SocketAddress::default();
        let mut path = PathInfo::new(&mtu::Config::default(), &address);
        path.max_datagram_size = self.datagram;
        let mut endpoint = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner);
        Box::new(Driven(Mutex::new(Inner {
            controller: endpoint.new_congestion_controller(path),
            initial_window: u64::from(self.initial_window),
            rtt: RttEstimator::new(Duration::from_millis(333)),
            origin: now,
            chance: Chance(self.seed),
            published: Published::default(),
            packets: BTreeMap::new(),
            acked: None,
            largest: None,
            lost: Vec::new(),
            app_limited: false,
        })))
    }
}

/// SplitMix64 seeded with the trial's seed.
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl random::Generator for Chance {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        for chunk in dest.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}

/// Values that a controller publishes in addition to its window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Published {
    pub(crate) pacing_rate: Option<u64>,
    burst: Option<u64>,
    /// The window at the end of slow start.
    exit: Option<u64>,
}

impl Publisher for Published {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, window: u32) {
        self.exit.get_or_insert(u64::from(window));
    }
    fn on_delivery_rate_sampled(&mut self, _sample: RateSample) {}
    fn on_pacing_rate_updated(
        &mut self,
        rate: Bandwidth,
        burst: u32,
        _gain: num_rational::Ratio<u64>,
    ) {
        self.pacing_rate = Some(rate.as_bytes_per_second()).filter(|rate| *rate > 0);
        self.burst = Some(u64::from(burst));
    }
    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

/// A packet in flight. Numbers are reused across the packet number spaces of the handshake.
#[derive(Clone, Copy, Debug)]
struct Packet<I> {
    sent: Instant,
    bytes: u64,
    info: I,
}

/// The data acknowledged by the current ACK so far.
#[derive(Clone, Copy, Debug)]
struct Acked<I> {
    bytes: u64,
    newest: (u64, Packet<I>),
}

/// The state of one connection.
#[derive(Clone)]
struct Inner<C: CongestionController> {
    controller: C,
    initial_window: u64,
    rtt: RttEstimator,
    origin: Instant,
    chance: Chance,
    published: Published,
    packets: BTreeMap<u64, Vec<Packet<C::PacketInfo>>>,
    acked: Option<Acked<C::PacketInfo>>,
    /// Departure time of the latest transmission acknowledged so far.
    largest: Option<Instant>,
    lost: Vec<(u64, Packet<C::PacketInfo>)>,
    app_limited: bool,
}

impl<C: CongestionController> Inner<C> {
    fn time(&self, at: Instant) -> Timestamp {
        NoopClock.get_time() + at.saturating_duration_since(self.origin)
    }

    /// The packet with this number that left at this time, or the oldest one if the time is
    /// unknown.
    fn take(&mut self, pn: u64, sent: Option<Instant>) -> Option<Packet<C::PacketInfo>> {
        let packets = self.packets.get_mut(&pn)?;
        let at = sent.and_then(|sent| packets.iter().position(|packet| packet.sent == sent));
        let packet = (!packets.is_empty()).then(|| packets.remove(at.unwrap_or(0)));
        if packets.is_empty() {
            self.packets.remove(&pn);
        }
        packet
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.report_lost(now, false);
        let (at, limited) = (self.time(now), Some(self.app_limited));
        let info = self.controller.on_packet_sent(
            at,
            usize::from(bytes),
            limited,
            &self.rtt,
            &mut self.published,
        );
        let packet = Packet { sent: now, bytes: u64::from(bytes), info };
        self.packets.entry(pn).or_default().push(packet);
    }

    fn on_ack(&mut self, sent: Instant, pn: u64) {
        let Some(packet) = self.take(pn, Some(sent)) else { return };
        let acked = self.acked.get_or_insert(Acked { bytes: 0, newest: (pn, packet) });
        acked.bytes += packet.bytes;
        if (packet.sent, pn) > (acked.newest.1.sent, acked.newest.0) {
            acked.newest = (pn, packet);
        }
    }

    fn on_end_acks(&mut self, now: Instant) {
        let Some(Acked { bytes, newest: (_, newest) }) = self.acked.take() else { return };
        let (at, left) = (self.time(now), self.time(newest.sent));
        if self.largest.is_none_or(|largest| newest.sent >= largest) {
            self.largest = Some(newest.sent);
            let (sample, space) = (now - newest.sent, PacketNumberSpace::ApplicationData);
            self.rtt.update_rtt(Duration::ZERO, sample, at, true, space);
            self.controller.on_rtt_update(left, at, &self.rtt, &mut self.published);
        }
        let (chance, published) = (&mut self.chance, &mut self.published);
        let bytes = bytes as usize;
        self.controller.on_ack(left, bytes, newest.info, &self.rtt, chance, at, published);
    }

    /// Reports all packets of a loss at once, because whether they mean persistent congestion is
    /// known last.
    fn report_lost(&mut self, now: Instant, persistent: bool) {
        let at = self.time(now);
        let lost = std::mem::take(&mut self.lost);
        let last = lost.len().saturating_sub(1);
        let mut before: Option<u64> = None;
        for (index, (pn, packet)) in lost.into_iter().enumerate() {
            let burst = before.is_none_or(|before| pn != before + 1);
            before = Some(pn);
            self.controller.on_packet_lost(
                u32::try_from(packet.bytes).unwrap_or(u32::MAX),
                packet.info,
                persistent && index == last,
                burst,
                &mut self.chance,
                at,
                &mut self.published,
            );
        }
    }
}

/// One of s2n-quic's controllers behind noq's controller trait.
struct Driven<C: CongestionController>(Mutex<Inner<C>>);

impl<C: CongestionController> Driven<C> {
    fn inner(&mut self) -> &mut Inner<C> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn look<T>(&self, look: impl FnOnce(&Inner<C>) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<C: CongestionController> fmt::Debug for Driven<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.look(|inner| inner.controller.fmt(f))
    }
}

impl<C: CongestionController> congestion::Controller for Driven<C> {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner().on_packet_sent(now, bytes, pn);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        _bytes: u64,
        pn: u64,
        app_limited: bool,
        _rtt: &NoqRtt,
    ) {
        self.inner().app_limited = app_limited;
        self.inner().on_ack(sent, pn);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        _in_flight: u64,
        app_limited: bool,
        _largest: Option<u64>,
    ) {
        self.inner().app_limited = app_limited;
        self.inner().on_end_acks(now);
    }

    fn on_packet_lost(&mut self, _lost_bytes: u16, pn: u64, _now: Instant) {
        let inner = self.inner();
        if let Some(packet) = inner.take(pn, None) {
            inner.lost.push((pn, packet));
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _sent: Instant,
        persistent: bool,
        is_ecn: bool,
        _lost: u64,
        _largest_lost: u64,
    ) {
        let inner = self.inner();
        if is_ecn {
            let at = inner.time(now);
            inner.controller.on_explicit_congestion(1, at, &mut inner.published);
        } else {
            inner.report_lost(now, persistent);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let inner = self.inner();
        inner.controller.on_mtu_update(new_mtu, &mut inner.published);
    }

    fn window(&self) -> u64 {
        self.look(|inner| u64::from(inner.controller.congestion_window()))
    }

    fn metrics(&self) -> ControllerMetrics {
        self.look(|inner| {
            let mut metrics = ControllerMetrics::default();
            metrics.congestion_window = u64::from(inner.controller.congestion_window());
            metrics.ssthresh = inner.published.exit;
            metrics.pacing_rate = inner.published.pacing_rate;
            metrics.send_quantum = inner.published.burst;
            metrics
        })
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Driven(Mutex::new(self.look(Inner::clone))))
    }

    fn initial_window(&self) -> u64 {
        self.look(|inner| inner.initial_window)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
