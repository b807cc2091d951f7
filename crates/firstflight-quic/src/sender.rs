//! A sender for a stack that reports packets and nothing else: one in another language (aioquic, from Python), or one of your own.
//!
//! The stack reports each packet that leaves, each packet that an ACK names and each packet that it declares lost. It reads the window
//! and, if its pacer can be replaced, how long a packet must wait. What it does not report is derived here:
//! * The end of an ACK: everything that is acknowledged at one instant is one ACK, and losses of the same instant belong to it. The
//!   answer is computed when the window is read, and again from the state before the ACK if losses follow.
//! * The smoothed RTT: the estimator of RFC 9002 over this sender's own samples, without the peer's ACK delay.
//! * Whether the application is the limit: it is if less than half of the window has been in flight since the last ACK.
//! * ECN marks and spurious losses: none.

use crate::driver::{AckedPacket, Damage, Driver, EndOfAcks, Status};
use crate::plan::Plan;
use firstflight::{AnyController, Nanos, Pacer, Time};

/// Packets that the pacer's bucket holds if the arm names no other number.
const BUCKET: u64 = 10;

/// A sender of one connection. Times are those of the caller's clock, which never goes back.
#[derive(Debug)]
pub struct Sender {
    driver: Driver,
    pacer: Pacer,
    /// The latest time that was reported.
    now: Time,
    inflight: u64,
    /// The most bytes in flight since the last ACK began.
    peak: u64,
    next: u64,
    /// Position of the first packet of the application's space; 0 if the handshake is not reported.
    application: u64,
    /// The ACK that is being collected.
    collecting: Option<Collected>,
}

/// Packets that an ACK has named so far.
#[derive(Clone, Copy, Debug)]
struct Collected {
    now: Time,
    /// The latest packet of the present space.
    largest: Option<u64>,
    /// Whether the packet named last is of an older space.
    older: bool,
}

impl Sender {
    /// A sender with packets of up to `datagram` bytes.
    pub fn new(plan: Plan, datagram: u16, now: Time) -> Sender {
        let packets = plan.arm.sender.burst.map_or(BUCKET, u64::from);
        Sender {
            pacer: Pacer::new(packets * u64::from(datagram), now),
            driver: Driver::new(plan, datagram, now, None),
            now,
            inflight: 0,
            peak: 0,
            next: 0,
            application: 0,
            collecting: None,
        }
    }

    /// The packets that follow carry the application's data, those before belong to the handshake: a path's rounds begin with the
    /// data, but its first RTT sample may be the handshake's.
    pub fn begin_data(&mut self, now: Time) {
        self.end_of_ack();
        self.application = self.next;
        self.driver.new_space(now);
    }

    /// A packet of `bytes` bytes left that counts as in flight. Returns its position in the order of sending, by which it is named
    /// from now on.
    pub fn on_sent(&mut self, now: Time, bytes: u64) -> u64 {
        self.end_of_ack();
        self.now = now;
        let position = self.next;
        self.next += 1;
        self.inflight = self.inflight.saturating_add(bytes);
        self.peak = self.peak.max(self.inflight);
        self.driver.sent(now, bytes, position);
        position
    }

    /// An ACK names a packet for the first time, which left at `sent`.
    pub fn on_acked(&mut self, now: Time, position: u64, bytes: u64, sent: Time) {
        if self.collecting.is_some_and(|ack| ack.now != now) {
            self.end_of_ack();
        }
        self.now = now;
        let app_limited = self.is_app_limited();
        let present = position >= self.application && position < self.next;
        let ack = self.collecting.get_or_insert(Collected { now, largest: None, older: false });
        ack.largest = ack.largest.max(present.then_some(position));
        ack.older = !present;
        self.inflight = self.inflight.saturating_sub(bytes);
        let fresh = present && self.driver.is_fresh(position);
        let position = present.then_some(position);
        let srtt = self.driver.srtt().unwrap_or(Nanos::ZERO);
        self.driver.acked(now, AckedPacket { bytes, sent, position, fresh }, app_limited, srtt);
    }

    /// The ACK names no more packets. Without this call it ends with the next event or question.
    pub fn end_of_ack(&mut self) {
        let Some(Collected { now, largest, older }) = self.collecting.take() else { return };
        let app_limited = self.is_app_limited();
        self.peak = self.inflight;
        let end = EndOfAcks { inflight: self.inflight, app_limited, largest, older };
        self.driver.end_acks(now, end);
    }

    /// Packets of `bytes` bytes are declared lost, the latest of which has this position. `persistent`: for so long that the
    /// congestion is persistent (RFC 9002 section 7.6).
    pub fn on_lost(&mut self, now: Time, position: u64, bytes: u64, persistent: bool) {
        self.end_of_ack();
        self.now = now;
        self.inflight = self.inflight.saturating_sub(bytes);
        let present = position >= self.application && position < self.next;
        let largest_lost = (present && bytes > 0).then_some(position);
        self.driver.damage(now, Damage { lost: bytes, ce: false, persistent, largest_lost });
    }

    /// The stack no longer counts `bytes` as in flight, which are neither acknowledged nor lost.
    pub fn forget(&mut self, bytes: u64) {
        self.end_of_ack();
        self.inflight = self.inflight.saturating_sub(bytes);
        self.driver.forget(self.now, bytes);
    }

    /// The most bytes that may be in flight now: the congestion window, or what a recovery admits.
    pub fn window(&mut self) -> u64 {
        self.end_of_ack();
        self.driver.window()
    }

    /// Bytes in flight.
    pub const fn inflight(&self) -> u64 {
        self.inflight
    }

    /// Time that a packet must wait after `unreported` bytes that left without [`on_sent`](Sender::on_sent) yet, for a stack that
    /// reports a batch when it is complete. Zero if the packet may leave now.
    pub fn wait(&mut self, now: Time, bytes: u64, unreported: u64) -> Nanos {
        self.end_of_ack();
        let spacing = self.driver.core().spacing();
        // A train counts the packets that have left: one at a time.
        if spacing.train.is_some() && unreported > 0 {
            return Nanos(1);
        }
        self.pacer.delay(now, bytes, self.inflight, spacing)
    }

    /// Takes the bytes of a packet that leaves now from the pacer's bucket.
    pub fn take(&mut self, now: Time, bytes: u64) {
        self.pacer.on_sent(now, bytes, self.driver.core().spacing());
    }

    /// The controller, for its window, phase and signals.
    pub fn controller(&mut self) -> &AnyController {
        self.end_of_ack();
        self.driver.core()
    }

    /// Reported state.
    pub fn status(&mut self) -> Status {
        self.end_of_ack();
        self.driver.status()
    }

    /// Half of the window can be in flight while the application has more to send: with an ACK for every second packet and a pacer.
    fn is_app_limited(&self) -> bool {
        self.peak.saturating_mul(2) < self.driver.core().cwnd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1200;

    /// Sends as many packets as the window admits. Returns their positions.
    fn fill(sender: &mut Sender, now: Time) -> Vec<u64> {
        let mut sent = Vec::new();
        while sender.inflight() + MSS <= sender.window() {
            sent.push(sender.on_sent(now, MSS));
        }
        sent
    }

    fn sender(arm: &str) -> Sender {
        Sender::new(Plan::parse(arm).unwrap(), 1200, Time(0))
    }

    #[test]
    fn the_packets_of_one_instant_are_one_ack() {
        let mut sender = sender("slowstart");
        let flight = fill(&mut sender, Time(0));
        assert_eq!(flight.len(), 10);
        for position in flight {
            sender.on_acked(Time(50_000_000), position, MSS, Time(0));
        }
        assert_eq!(sender.window(), 20 * MSS, "slow start doubles");
        assert_eq!(sender.status().acks, 1, "ten packets of one instant");
        assert_eq!(sender.controller().misfed(), None);
    }

    #[test]
    fn losses_of_an_instant_belong_to_its_ack() {
        let mut sender = sender("slowstart/reno/immediate");
        // The first sample of the RTT starts the controller anew.
        let (began, now) = (Time(50_000_000), Time(100_000_000));
        let first = sender.on_sent(Time(0), MSS);
        sender.on_acked(began, first, MSS, Time(0));
        let flight = fill(&mut sender, began);
        for position in &flight[4..] {
            sender.on_acked(now, *position, MSS, began);
        }
        let grown = sender.window();
        sender.on_lost(now, flight[3], 4 * MSS, false);
        assert_eq!(grown, 16 * MSS, "an ACK alone grows the window");
        assert_eq!(
            sender.window(),
            5 * MSS,
            "one that reveals losses does not: half of ten packets"
        );
        assert_eq!((sender.status().acks, sender.status().replays), (2, 1));
        assert_eq!((sender.inflight(), sender.controller().misfed()), (0, None));
    }

    #[test]
    fn a_window_that_the_application_leaves_empty_does_not_grow() {
        let mut sender = sender("slowstart");
        let mut now = Time(0);
        for _ in 0..20 {
            let position = sender.on_sent(now, MSS);
            let sent = now;
            now += Nanos::from_millis(50);
            sender.on_acked(now, position, MSS, sent);
        }
        assert_eq!(sender.window(), 10 * MSS, "a packet per round trip needs no more than ten");
    }

    #[test]
    fn a_largest_rate_holds_the_packets_of_a_train() {
        let mut sender = sender("plumb@(maxrate=1Mbit,burst=2)");
        let began = Time(100_000_000);
        let first = sender.on_sent(Time(0), MSS);
        sender.on_acked(began, first, MSS, Time(0));
        sender.begin_data(began);
        let (mut now, mut trains) = (began, 0);
        for count in 1..=20 {
            now += sender.wait(now, MSS, 0);
            trains += u32::from(sender.controller().train().is_some());
            sender.take(now, MSS);
            sender.on_sent(now, MSS);
            let (sent, allowed) = (count * MSS, 2 * MSS + now.since(began).0 / 8_000);
            assert!(sent <= allowed, "{sent} bytes left where bucket and rate allow {allowed}");
        }
        assert!(trains > 5, "{trains} packets left in trains");
    }

    #[test]
    fn the_pacer_spreads_what_its_bucket_does_not_hold() {
        let mut sender = sender("slowstart@(burst=2)");
        let first = sender.on_sent(Time(0), MSS);
        sender.on_acked(Time(100_000_000), first, MSS, Time(0));
        let now = Time(100_000_000);
        for _ in 0..2 {
            assert_eq!(sender.wait(now, MSS, 0), Nanos::ZERO, "the bucket holds two packets");
            sender.take(now, MSS);
        }
        let rate = sender.controller().pacing_rate().unwrap();
        assert_eq!(sender.wait(now, MSS, 0), Nanos((MSS * 1_000_000_000).div_ceil(rate.0)));
    }
}
