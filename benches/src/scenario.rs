//! The ACKs: a window-limited flow on a path with an RTT of 30 ms, an ACK for every two packets. In slow start each round trip brings
//! twice the ACKs of the one before, evenly spread; afterwards there is one every 200 us.
//!
//! The measured part always has the same number of ACKs; the events that bring a sender into the phase come before it and are not counted.

use firstflight::{Ack, AckDetail, Nanos, Seq, Time};

/// ACKs measured.
pub const ACKS: usize = 4_000;
/// Packets of this size.
pub const PACKET: u64 = 1_200;
/// Every ACK is for two of them, this far apart.
const EVERY: u64 = 200_000;
pub const RTT: u64 = 30_000_000;
/// Packets in flight: a little less than a round trip of them, so that rounds are no longer than the RTT.
const FLIGHT: u64 = 280;

/// The phases measured, and a connection with all of them: 10 MB with one loss after a tenth of it.
pub const SCENARIOS: [&str; 4] = ["start", "recovery", "avoidance", "connection"];

/// One ACK as both kinds of controllers hear of it.
#[derive(Clone, Copy)]
pub struct Step {
    pub ack: Ack,
    /// When its packets were sent, ns.
    pub sent: u64,
}

pub struct Scenario {
    /// Not measured.
    pub before: Vec<Step>,
    pub measured: Vec<Step>,
    /// Startup is not over at the end.
    pub in_startup: bool,
}

/// Makes ACKs one after the other.
struct Maker {
    now: u64,
    acked: u64,
}

impl Maker {
    fn ack(&mut self) -> Step {
        self.now += EVERY;
        self.acked += 2;
        self.step(self.acked + FLIGHT)
    }

    fn step(&self, nxt: u64) -> Step {
        let flight = (nxt - self.acked) * PACKET;
        let rtt = Some(Nanos(RTT));
        let ack = Ack {
            now: Time(self.now),
            acked: 2 * PACKET,
            acked_fresh: 2 * PACKET,
            rtt,
            srtt: rtt,
            una: Seq(self.acked),
            nxt: Seq(nxt),
            flight,
            inflight_before: flight + 2 * PACKET,
            inflight: flight,
            sent: nxt * PACKET,
            tx_acked: Some(self.acked - 1),
            tx_next: nxt,
            cwnd_limited: true,
            lost: 0,
            ce: false,
            sacked: 0,
            tx_lost: None,
            app_limited: false,
            detail: AckDetail::default(),
        };
        Step { ack, sent: self.now - RTT }
    }

    /// Round trips of slow start, from 16 ACKs to 2048.
    fn slow_start(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for round in 0..8 {
            let acks = 16 << round;
            let end = self.acked + 2 * acks;
            for k in 0..acks {
                self.now += RTT / acks;
                self.acked += 2;
                // Every ACK releases what it acknowledges and as much again.
                steps.push(self.step(end + 4 * (k + 1)));
            }
        }
        steps
    }

    fn acks(&mut self, count: usize) -> Vec<Step> {
        (0..count).map(|_| self.ack()).collect()
    }

    /// An ACK that shows a packet to be lost.
    fn loss(&mut self) -> Step {
        let mut step = self.ack();
        step.ack.lost = PACKET;
        step.ack.tx_lost = Some(self.acked - 4);
        step.ack.inflight -= PACKET;
        step
    }
}

impl Scenario {
    pub fn named(name: &str) -> Scenario {
        let mut m = Maker { now: 1_000_000_000, acked: 0 };
        let round = (FLIGHT / 2 + 1) as usize;
        let (before, measured) = match name {
            "start" => {
                let mut all = m.slow_start();
                let measured = all.split_off(all.len() - ACKS);
                (all, measured)
            }
            "recovery" => {
                let mut before = m.acks(200);
                before.push(m.loss());
                // Packets sent before the loss keep arriving; they do not end the episode.
                let first = m.ack();
                let measured = (0..ACKS).map(|i| {
                    let mut step = first;
                    step.ack.now = Time(first.ack.now.0 + i as u64);
                    step.ack.acked_fresh = 0;
                    step.ack.acked = 2 * PACKET;
                    // It delivers only packets that were sent.
                    step.ack.sent = first.ack.sent + 2 * PACKET * (i as u64 + 1);
                    step
                });
                (before, measured.collect())
            }
            "avoidance" => {
                let mut before = m.acks(200);
                before.push(m.loss());
                before.extend(m.acks(2 * round));
                (before, m.acks(ACKS))
            }
            "connection" => {
                let mut all = m.acks(ACKS / 10);
                all.push(m.loss());
                // Until a packet sent after the loss arrives, nothing acknowledged is fresh.
                let mut rest = m.acks(ACKS - all.len());
                rest.iter_mut().take(round).for_each(|step| step.ack.acked_fresh = 0);
                all.extend(rest);
                (Vec::new(), all)
            }
            _ => panic!("no scenario `{name}`"),
        };
        assert_eq!(measured.len(), ACKS, "every scenario measures the same number of ACKs");
        Scenario { before, measured, in_startup: name == "start" }
    }
}
