//! Controllers for s2n-quic 1.91: every arm. The interface is one that s2n-quic calls unstable.
//!
//! s2n-quic leaves everything to its controller: bytes in flight, admission and pacing. It names
//! the packets of an ACK by the value that the controller returned for each at sending. Features
//! that it lacks, and the consequences:
//! * Spurious losses: no reduction is undone.
//! * Individual packets: an ACK provides the sum of its bytes and its newest packet. In an ACK that
//!   spans the start of a recovery, all bytes count as sent after it. An ACK that acknowledges only
//!   packets that carried ACKs is not reported; losses that it reveals count as those of a timer.
//! * Order: losses come before the ACK that revealed them. The adapter computes its answer at once,
//!   keeps the previous state, and computes the answer again from there when the ACK follows at the
//!   same instant.
//! * Packet number spaces: only the step from the handshake to application data is visible.
//! * Access to the controller: a connection does not expose it. Give the [`Endpoint`] a
//!   [recorder](Endpoint::with_recorder) instead.
//! * A fine clock: times are whole microseconds, and a departure counts as due up to a millisecond
//!   early.
//!
//! The pacer is ours: a debt that is paid at the arm's rate. A sender that wakes late may catch up
//! by 2 ms or one packet, whichever is longer, or by the packets that `@(burst=n)` lets leave at
//! once; the same number bounds a single send call.

#[cfg(feature = "trial")]
mod drawing;

#[cfg(feature = "trial")]
pub use drawing::Drawing;

use crate::driver::{AckedPacket, Damage, Driver, EndOfAcks, SharedRecorder, Status};
use crate::plan::{Plan, Refused};
use crate::resume::Memory;
use firstflight::{Nanos, Time};
use s2n_quic_core::random;
use s2n_quic_core::recovery::congestion_controller::{self, PathInfo, Publisher};
use s2n_quic_core::recovery::{CongestionController, RttEstimator};
use s2n_quic_core::time::Timestamp;
use std::time::Duration;

/// Largest lag of the departures behind the clock, so that a late timer costs no rate.
const LAG: Nanos = Nanos::from_millis(2);

/// The departure of a packet that waits for an ACK.
const NEVER: Time = Time(u64::MAX);

/// A provider for the arm that `text` names, ready for `with_congestion_controller` of the server's
/// and the client's builder.
///
/// # Errors
/// If the text is not an arm.
pub fn endpoint(text: &str) -> Result<Endpoint, Refused> {
    Ok(Endpoint::new(Plan::parse(text)?))
}

/// Builds one controller per path. Times count from the first event of each path.
#[derive(Clone, Debug)]
pub struct Endpoint {
    plan: Plan,
    recorder: Option<SharedRecorder>,
    memory: Option<Memory>,
}

impl Endpoint {
    /// A provider for this plan.
    pub fn new(plan: Plan) -> Endpoint {
        Endpoint { plan, recorder: None, memory: None }
    }

    /// Reports every event of every controller to `recorder`.
    #[must_use]
    pub fn with_recorder(self, recorder: SharedRecorder) -> Endpoint {
        Endpoint { recorder: Some(recorder), ..self }
    }

    /// Starts every connection from its client's entry in `memory`, and saves there what the
    /// connection learns. A connection that moves to another path starts there from that address's
    /// entry: s2n-quic does not report which path is the first.
    #[must_use]
    pub fn with_resume(self, memory: &Memory) -> Endpoint {
        Endpoint { memory: Some(memory.clone()), ..self }
    }

    /// A controller for datagrams of this size.
    pub(crate) fn build(&self, datagram: u16) -> Controller {
        Controller {
            origin: None,
            now: Time(0),
            driver: Driver::new(self.plan, datagram, Time(0), self.recorder.clone()),
            pending: None,
            inflight: 0,
            next: 0,
            application: None,
            app_limited: true,
            srtt: Nanos::ZERO,
            departure: None,
        }
    }
}

impl congestion_controller::Endpoint for Endpoint {
    type CongestionController = Controller;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> Controller {
        let Some(memory) = &self.memory else { return self.build(path.max_datagram_size) };
        let client = std::net::SocketAddr::from(path.remote_address.clone()).ip();
        let (plan, recorder) = memory.begin(self.plan, client, self.recorder.clone());
        Endpoint::new(plan).with_recorder(recorder).build(path.max_datagram_size)
    }
}

/// Data that the stack keeps for us with each packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketInfo {
    /// Position in the order of sending.
    position: u64,
}

/// Losses and marks that were processed as those of a timer, and may turn out to belong to an ACK.
#[derive(Clone, Debug)]
struct Pending {
    at: Time,
    before: Box<Driver>,
    damage: Damage,
}

/// An arm as a controller of s2n-quic.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The stack's time that corresponds to our time 0.
    origin: Option<Timestamp>,
    /// Time of the last callback that contained a time.
    now: Time,
    driver: Driver,
    pending: Option<Pending>,
    /// Bytes in flight, which this stack does not track.
    inflight: u64,
    /// First free position in the order of sending; packets that carry only ACKs have a position,
    /// too.
    next: u64,
    /// Position of the first packet of the application's space.
    application: Option<u64>,
    app_limited: bool,
    /// The stack's smoothed RTT after the last ACK: the driver needs the value before an ACK.
    srtt: Nanos,
    /// The earliest departure of the next packet; `None` without pacing.
    departure: Option<Time>,
}

impl Controller {
    /// Reported state.
    pub fn status(&self) -> Status {
        self.driver.status()
    }

    fn at(&mut self, now: Timestamp) -> Time {
        let origin = *self.origin.get_or_insert(now);
        self.now = Time(nanos(now.saturating_duration_since(origin)).0);
        self.now
    }

    pub(crate) fn sent(
        &mut self,
        now: Timestamp,
        bytes: u64,
        app_limited: Option<bool>,
    ) -> PacketInfo {
        let now = self.at(now);
        let position = self.next;
        self.next = self.next.saturating_add(1);
        if bytes > 0 {
            self.pending = None;
            if let Some(app_limited) = app_limited {
                self.app_limited = app_limited;
                if self.application.is_none() {
                    self.application = Some(position);
                    self.driver.new_space(now);
                }
            }
            self.inflight = self.inflight.saturating_add(bytes);
            self.driver.sent(now, bytes, position);
            self.departure = self.departure_after(now, bytes);
        }
        PacketInfo { position }
    }

    /// Earliest departure of the packet after one of `bytes`.
    fn departure_after(&self, now: Time, bytes: u64) -> Option<Time> {
        let train = self.driver.next_of_train(now);
        let Some(rate) = self.driver.bucket_rate() else { return train };
        let duration = |bytes: u64| {
            u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1)))
                .unwrap_or(u64::MAX)
        };
        let packets = |count: u64| duration(self.driver.mss().saturating_mul(count));
        let lag = match self.driver.plan().arm.sender.burst {
            Some(burst) => packets(u64::from(burst).saturating_sub(1)),
            None => packets(1).max(LAG.0),
        };
        let earliest = now.0.saturating_sub(lag);
        let paced = Time(
            self.departure
                .map_or(earliest, |departure| departure.0.max(earliest))
                .saturating_add(duration(bytes)),
        );
        Some(train.map_or(paced, |next| next.max(paced)))
    }

    pub(crate) fn acked(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        bytes: u64,
        info: PacketInfo,
        smoothed: Duration,
    ) {
        let now = self.at(now);
        let sent =
            Time(self.origin.map_or(0, |origin| nanos(sent.saturating_duration_since(origin)).0));
        let pending = self.pending.take().filter(|pending| pending.at == now);
        let damage = pending.map(|pending| {
            self.driver = *pending.before;
            pending.damage
        });
        let position = self.present(info);
        let fresh = position.is_some_and(|position| self.driver.is_fresh(position));
        self.inflight = self.inflight.saturating_sub(bytes);
        // The driver processes losses after the ACK.
        let inflight = self.inflight.saturating_add(damage.map_or(0, |damage| damage.lost));
        let app_limited = self.app_limited;
        self.driver.acked(
            now,
            AckedPacket { bytes, sent, position, fresh },
            app_limited,
            self.srtt,
        );
        self.driver.end_acks(
            now,
            EndOfAcks { inflight, app_limited, largest: position, older: position.is_none() },
        );
        if let Some(damage) = damage {
            self.driver.damage(now, damage);
        }
        // Nothing else belongs to this ACK.
        self.driver.settle();
        // An ACK ends the pause of chirps, whose end the last packet did not know.
        if self.departure == Some(NEVER) {
            self.departure = self.driver.next_of_train(now);
        }
        self.srtt = nanos(smoothed);
    }

    pub(crate) fn lost(&mut self, now: Timestamp, bytes: u64, info: PacketInfo, persistent: bool) {
        let now = self.at(now);
        self.inflight = self.inflight.saturating_sub(bytes);
        let largest_lost = self.present(info);
        self.damage(now, Damage { lost: bytes, ce: false, persistent, largest_lost });
        self.driver.lost(info.position);
    }

    pub(crate) fn marked(&mut self, now: Timestamp) {
        let now = self.at(now);
        self.damage(now, Damage { lost: 0, ce: true, persistent: false, largest_lost: None });
    }

    /// Packets of one pass are reported lost one by one: each time the answer to the whole pass is
    /// computed again.
    fn damage(&mut self, now: Time, news: Damage) {
        let damage = match &mut self.pending {
            Some(pending) if pending.at == now => {
                self.driver = (*pending.before).clone();
                let sum = &mut pending.damage;
                sum.lost = sum.lost.saturating_add(news.lost);
                sum.ce |= news.ce;
                sum.persistent |= news.persistent;
                sum.largest_lost = sum.largest_lost.max(news.largest_lost);
                *sum
            }
            _ => {
                self.driver.settle();
                self.pending =
                    Some(Pending { at: now, before: Box::new(self.driver.clone()), damage: news });
                news
            }
        };
        self.driver.damage(now, damage);
    }

    pub(crate) fn discarded(&mut self, bytes: u64) {
        self.inflight = self.inflight.saturating_sub(bytes);
        if let Some(pending) = &mut self.pending {
            pending.before.forget(self.now, bytes);
        }
        self.driver.forget(self.now, bytes);
    }

    pub(crate) fn resized(&mut self, datagram: u16) {
        self.pending = None;
        self.driver.resize(datagram);
    }

    /// The position of a packet, if it is of the current packet number space.
    fn present(&self, info: PacketInfo) -> Option<u64> {
        Some(info.position)
            .filter(|position| self.application.is_none_or(|first| *position >= first))
    }
}

impl CongestionController for Controller {
    type PacketInfo = PacketInfo;

    fn congestion_window(&self) -> u32 {
        u32::try_from(self.driver.window()).unwrap_or(u32::MAX)
    }

    fn bytes_in_flight(&self) -> u32 {
        u32::try_from(self.inflight).unwrap_or(u32::MAX)
    }

    fn is_congestion_limited(&self) -> bool {
        // With nothing in flight, no ACK would ever lift the limit.
        self.inflight > 0 && self.driver.window().saturating_sub(self.inflight) < self.driver.mss()
    }

    fn requires_fast_retransmission(&self) -> bool {
        // A recovery policy itself admits its first retransmission.
        false
    }

    fn on_packet_sent<Pub: Publisher>(
        &mut self,
        time_sent: Timestamp,
        sent_bytes: usize,
        app_limited: Option<bool>,
        _rtt_estimator: &RttEstimator,
        _publisher: &mut Pub,
    ) -> PacketInfo {
        self.sent(time_sent, sent_bytes as u64, app_limited)
    }

    fn on_rtt_update<Pub: Publisher>(
        &mut self,
        _sent: Timestamp,
        _now: Timestamp,
        _rtt: &RttEstimator,
        _publisher: &mut Pub,
    ) {
        // The sample is that of the newest packet of the ACK that follows.
    }

    fn on_ack<Pub: Publisher>(
        &mut self,
        newest_acked_time_sent: Timestamp,
        bytes_acknowledged: usize,
        newest_acked_packet_info: PacketInfo,
        rtt_estimator: &RttEstimator,
        _random: &mut dyn random::Generator,
        ack_receive_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        let smoothed = rtt_estimator.smoothed_rtt();
        self.acked(
            ack_receive_time,
            newest_acked_time_sent,
            bytes_acknowledged as u64,
            newest_acked_packet_info,
            smoothed,
        );
    }

    fn on_packet_lost<Pub: Publisher>(
        &mut self,
        lost_bytes: u32,
        packet_info: PacketInfo,
        persistent_congestion: bool,
        _new_loss_burst: bool,
        _random: &mut dyn random::Generator,
        timestamp: Timestamp,
        _publisher: &mut Pub,
    ) {
        self.lost(timestamp, u64::from(lost_bytes), packet_info, persistent_congestion);
    }

    fn on_explicit_congestion<Pub: Publisher>(
        &mut self,
        _ce_count: u64,
        event_time: Timestamp,
        _publisher: &mut Pub,
    ) {
        self.marked(event_time);
    }

    fn on_mtu_update<Pub: Publisher>(&mut self, max_data_size: u16, _publisher: &mut Pub) {
        self.resized(max_data_size);
    }

    fn on_packet_discarded<Pub: Publisher>(&mut self, bytes_sent: usize, _publisher: &mut Pub) {
        self.discarded(bytes_sent as u64);
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        // The window holds back packets that wait for an ACK.
        let departure = self.departure.filter(|&departure| departure != NEVER)?;
        self.origin?.checked_add(Duration::from_nanos(departure.0))
    }

    fn send_quantum(&self) -> Option<usize> {
        let burst = self.driver.plan().arm.sender.burst?;
        usize::try_from(u64::from(burst).saturating_mul(self.driver.mss())).ok()
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
