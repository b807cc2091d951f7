//! Plumb over one bottleneck: a drop-tail queue, constant delay, an ACK for every second packet.
//! Invariants on every path, whatever its rate, delay and queue.

use crate::told::{Hear, Told};
use crate::{hooks, rig};
use std::collections::VecDeque;

use firstflight::{AnyController, Config, Nanos, Phase, Ready, Sent, Seq, Time};
use proptest::prelude::*;

pub(crate) const MSS: u64 = 1_000;
const IW: u64 = 10 * MSS;

/// A path and the flow on it. One packet is one number.
pub(crate) struct Trip {
    pub c: AnyController,
    pub now: u64,
    /// Time of a packet on the link, ns.
    packet: u64,
    rtt: u64,
    /// Packets that may wait.
    queue: u64,
    /// RTT above the idle one that is not the flow's doing.
    pub others: u64,
    /// ACKs carry the receiver's clock, in ticks of a millisecond, and `others` is on the way back.
    pub stamped: bool,
    /// The way back lets ACKs through at multiples of this, ns.
    pub batch: u64,
    free: u64,
    sent_at: Vec<u64>,
    /// When the ACK of a packet arrives, when it would if nothing held it up, and of which packet.
    coming: VecDeque<(u64, u64, u64)>,
    pub una: u64,
    pub lost: u64,
    delivered: u64,
    /// Packets sent, with the moment of each.
    pub departures: Vec<u64>,
}

impl Trip {
    pub(crate) fn new(arm: &str, mbps: u64, rtt_ms: u64, queue: u64) -> Trip {
        let config = firstflight::with!(Config { initial_window: IW, ..Config::quic(MSS) });
        let mut c = rig::controller(arm, config);
        let rtt = rtt_ms * 1_000_000;
        c.on_handshake_rtt(Time(0), Nanos(rtt));
        let (sent_at, coming, departures) = (Vec::new(), VecDeque::new(), Vec::new());
        let packet = MSS * 8_000 / mbps;
        #[rustfmt::skip]
        let trip = Trip { c, now: 0, packet, rtt, queue, others: 0, stamped: false, batch: 1, free: 0, sent_at, coming, una: 0, lost: 0, delivered: 0, departures };
        trip
    }

    /// The path is `times` as fast from now on, and nothing waits.
    pub(crate) fn speed_up(&mut self, times: u64) {
        self.packet = (self.packet / times).max(1);
        self.free = self.now;
    }

    pub(crate) fn bdp(&self) -> u64 {
        self.rtt / self.packet * MSS
    }

    fn inflight(&self) -> u64 {
        self.sent_at.len() as u64 * MSS - self.delivered - self.lost * MSS
    }

    /// Sends what window and pacer allow now. Returns when more may leave.
    fn send(&mut self) -> Option<u64> {
        loop {
            let ready = Ready {
                now: Time(self.now),
                nxt: Seq(self.sent_at.len() as u64),
                inflight: self.inflight(),
                backlog: u64::MAX,
                srtt: Some(Nanos(self.rtt)),
                idle: Nanos::ZERO,
                timeout: Nanos(3 * self.rtt),
            };
            self.c.before_send(&ready);
            if !self.c.admits(MSS, self.inflight()) {
                return None;
            }
            if let Some(train) = self.c.train() {
                let wait = train.wait(Time(self.now), self.inflight());
                if wait > Nanos::ZERO {
                    return Some(self.now + wait.0);
                }
            } else if let (Some(rate), Some(last)) = (self.c.pacing_rate(), self.departures.last())
            {
                let next = last + MSS * 1_000_000_000 / rate.0.max(1);
                if next > self.now {
                    return Some(next);
                }
            }
            self.depart();
        }
    }

    fn depart(&mut self) {
        let number = self.sent_at.len() as u64;
        self.sent_at.push(self.now);
        self.departures.push(self.now);
        let waiting = self.free.saturating_sub(self.now) / self.packet;
        if waiting <= self.queue {
            self.free = self.free.max(self.now) + self.packet;
            // Delayed ACKs: the even ones wait for the next.
            if number % 2 == 1 {
                let received = self.free + self.rtt - self.packet;
                let back = (received + self.others).next_multiple_of(self.batch);
                self.coming.push_back((back, received, number));
            }
        }
        let (now, nxt) = (Time(self.now), Seq(number + 1));
        let inflight = self.inflight();
        self.c.on_sent(&Sent { now, bytes: MSS, nxt, inflight, srtt: Some(Nanos(self.rtt)) });
    }

    /// Until the next ACK has been answered; false if there is none. `check` sees the controller
    /// before, the record, and the controller after.
    pub(crate) fn step(
        &mut self,
        check: &mut impl FnMut(&AnyController, &Told, &AnyController),
    ) -> bool {
        let Some(ack) = self.next_ack() else { return false };
        let before = self.c;
        self.c.hear(&ack);
        check(&before, &ack, &self.c);
        true
    }

    /// Until the next ACK, which nobody has answered yet; `None` if there is none.
    pub(crate) fn next_ack(&mut self) -> Option<Told> {
        loop {
            let more = self.send();
            let Some(&(at, received, number)) = self.coming.front() else {
                self.now = more?;
                continue;
            };
            if let Some(more) = more.filter(|&more| more < at) {
                self.now = more;
                continue;
            }
            self.coming.pop_front();
            self.now = self.now.max(at);
            return Some(self.record(number, received));
        }
    }

    /// The ACK of `number` and the packet before it: what lies between the last one and these is
    /// lost.
    fn record(&mut self, number: u64, received: u64) -> Told {
        let before = self.inflight();
        let missing = (number + 1 - self.una).saturating_sub(2);
        let acked = (number + 1 - self.una - missing) * MSS;
        self.una = number + 1;
        self.delivered += acked;
        self.lost += missing;
        let rtt = Some(Nanos(self.now - self.sent_at[number as usize]));
        let stamp = received / 1_000_000;
        let fresh = self.c.recovery_mark().is_none_or(|mark| number >= mark.0);
        Told {
            now: Time(self.now),
            acked,
            acked_fresh: if fresh { acked } else { 0 },
            lost: missing * MSS,
            rtt,
            srtt: Some(Nanos(self.rtt)),
            min_rtt: Some(Nanos(self.rtt)),
            una: Seq(self.una),
            nxt: Seq(self.sent_at.len() as u64),
            advanced: true,
            flight: before - acked,
            inflight_before: before,
            inflight: before - acked - missing * MSS,
            delivered: self.delivered,
            tx_acked: Some(number),
            tx_lost: (missing > 0).then(|| number - 2),
            tx_next: self.sent_at.len() as u64,
            cwnd_limited: true,
            receiver_ts: self.stamped.then_some(u32::MAX.wrapping_add(stamp as u32)),
            ..Told::default()
        }
    }

    /// `acks` ACKs, or as many as there are.
    pub(crate) fn run(&mut self, acks: u64) {
        for _ in 0..acks {
            if !self.step(&mut |_, _, _| {}) {
                return;
            }
        }
    }
}

pub(crate) fn signal(c: &AnyController, name: &str) -> Option<u64> {
    hooks::signal(name, |visit| c.signals(visit))
}

proptest! {
    /// Shows PLUMB 1-volume, PLUMB 3-bound, PLUMB 4-land, PLUMB 4-still.
    #[test]
    fn what_plumb_promises_holds_on_any_path(
        arm in prop::sample::select(&["plumb", "plumb(verify=on)", "plumb(clock=on)", "plumb(saved=2000)", "plumb-tolerant", "plumb(rapid=on)", "plumb(bunches=off)"][..]),
        mbps in 1u64..1_000,
        rtt_ms in 1u64..300,
        queue in 1u64..2_000,
        others_us in 0u64..20_000,
        stamped: bool,
    ) {
        let mut trip = Trip { stamped, ..Trip::new(arm, mbps, rtt_ms, queue) };
        let mut failed = None;
        let mut first_flight = true;
        for step in 0..2_000u64 {
            trip.others = if step % 7 < 3 { 0 } else { others_us * 1_000 };
            let mut check = |before: &AnyController, ack: &Told, after: &AnyController| {
                let (was, is) = (before.cwnd(), after.cwnd());
                if first_flight && ack.inflight_before > 2 * IW {
                    failed = Some(format!("{} in the first flight", ack.inflight_before));
                }
                first_flight = false;
                let startup = |c: &AnyController| !c.in_recovery() && c.ssthresh().is_none();
                if !startup(before) || !startup(after) {
                    return;
                }
                let drains = |c: &AnyController| c.phase() == Phase::Drain;
                if drains(before) && drains(after) && is > was {
                    failed = Some(format!("grew from {was} to {is} while draining"));
                }
                if !drains(before) && drains(after) && is > was {
                    failed = Some(format!("landed at {is} from {was}"));
                }
                let sure = signal(after, "depth_sure") == Some(1)
                    && signal(after, "calm_rounds").is_some_and(|calm| calm <= 2);
                let depth = signal(after, "depth_bytes").unwrap_or(u64::MAX / 2);
                // A landing that was taken back restores the window it had.
                if sure && !drains(before) && is > was && is > depth + depth / 4 {
                    failed = Some(format!("grew to {is} over a sure depth of {depth}"));
                }
            };
            if !trip.step(&mut check) {
                break;
            }
            prop_assert!(failed.is_none(), "{arm} on {mbps} Mbit/s, {rtt_ms} ms, {queue} packets: {failed:?}");
        }
    }
}
