//! One window of data, one reduction: any flight, any subset of its packets marked and lost, however
//! few ACKs arrive; and a second one for new data that is lost before the recovery is over.

use crate::rig;
use crate::told::{Hear, Told};
use firstflight::controller::Relapse;
use firstflight::{AnyController, Arm, Config, Nanos, Sent, Seq, Time};
use proptest::prelude::*;

const MSS: u64 = 1000;
const RTT: Nanos = Nanos(50_000_000);
/// Packets delivered beyond one that make it lost.
const THRESHOLD: u64 = 3;

/// One transmission and its fate; its place is its ordinal.
#[derive(Clone, Copy, Debug)]
struct Tx {
    segment: u64,
    marked: bool,
    drops: bool,
}

/// A sender with SACK or of QUIC, a path that keeps the order, a receiver.
struct Rig {
    c: AnyController,
    quic: bool,
    sent: Vec<Tx>,
    /// Transmissions that have reached the receiver or were dropped.
    through: usize,
    /// By segment: the receiver has it (TCP); by ordinal (QUIC).
    arrived: Vec<bool>,
    lost: Vec<bool>,
    /// Segments that wait for a repeat.
    waiting: Vec<u64>,
    una: u64,
    inflight: u64,
    delivered: u64,
    segments: u64,
    now: u64,
}

impl Rig {
    fn new(arm: &str, quic: bool, sack: bool) -> Rig {
        let base = if quic {
            Config::quic(MSS)
        } else {
            firstflight::with!(Config { sack, ..Config::tcp(MSS) })
        };
        let base = firstflight::with!(Config { initial_window: 200 * MSS, paced: false, ..base });
        let c = rig::controller(arm, base);
        Rig {
            c,
            quic,
            sent: Vec::new(),
            through: 0,
            arrived: Vec::new(),
            lost: Vec::new(),
            waiting: Vec::new(),
            una: 0,
            inflight: 0,
            delivered: 0,
            segments: 0,
            now: 0,
        }
    }

    fn seq(&self, number: u64) -> Seq {
        Seq(if self.quic { number } else { number * MSS })
    }

    fn nxt(&self) -> Seq {
        self.seq(if self.quic { self.sent.len() as u64 } else { self.segments })
    }

    fn leave(&mut self, segment: u64, marked: bool, drops: bool) {
        self.sent.push(Tx { segment, marked, drops });
        if self.quic || segment == self.segments {
            self.arrived.push(false);
            self.lost.push(false);
        }
        self.segments = self.segments.max(segment + 1);
        self.inflight += MSS;
        let sent = Sent {
            now: Time(self.now),
            bytes: MSS,
            nxt: self.nxt(),
            inflight: self.inflight,
            srtt: Some(RTT),
        };
        self.c.on_sent(&sent);
    }

    fn send(&mut self, marked: bool, drops: bool) {
        self.leave(self.segments, marked, drops);
    }

    fn repeat(&mut self) {
        for segment in std::mem::take(&mut self.waiting) {
            self.leave(segment, false, false);
        }
    }

    fn all_through(&self) -> bool {
        self.through == self.sent.len()
    }

    /// So many transmissions get through and one ACK tells of them all.
    fn ack(&mut self, count: usize) {
        let (before, una, mark) = (self.inflight, self.una, self.c.recovery_mark());
        let (mut acked, mut fresh, mut marked, mut tx_acked) = (0, 0, 0, None);
        let until = (self.through + count).min(self.sent.len());
        for ordinal in self.through..until {
            let tx = self.sent[ordinal];
            if tx.drops {
                continue;
            }
            let place = if self.quic { ordinal } else { tx.segment as usize };
            assert!(!self.arrived[place], "nothing is repeated needlessly here");
            self.arrived[place] = true;
            acked += MSS;
            marked += if tx.marked { MSS } else { 0 };
            tx_acked = Some(ordinal as u64);
            if mark.is_none_or(|mark| self.seq(place as u64) >= mark) {
                fresh += MSS;
            }
            if self.quic {
                self.una = ordinal as u64 + 1;
            }
        }
        self.through = until;
        if !self.quic {
            while self.arrived.get(self.una as usize) == Some(&true) {
                self.una += 1;
            }
        }
        let (mut lost, mut tx_lost) = (0, None);
        let places = self.arrived.len();
        for place in 0..places {
            let above = self.arrived[place + 1..].iter().filter(|arrived| **arrived).count() as u64;
            if !self.arrived[place] && !self.lost[place] && above >= THRESHOLD {
                self.lost[place] = true;
                lost += MSS;
                let ordinal = if self.quic {
                    place
                } else {
                    self.sent.iter().position(|tx| tx.segment == place as u64).expect("sent")
                };
                tx_lost = tx_lost.max(Some(ordinal as u64));
                self.waiting.push(self.sent[ordinal].segment);
            }
        }
        self.inflight = before - acked - lost;
        self.delivered += acked;
        if acked + lost == 0 {
            return;
        }
        self.now += RTT.0 / 20;
        let unrepaired = !self.quic && (0..places).any(|at| self.lost[at] && !self.arrived[at]);
        let sacked = if self.quic {
            0
        } else {
            self.arrived[self.una as usize..].iter().filter(|arrived| **arrived).count() as u64
                * MSS
        };
        let flight = if self.quic { before - acked } else { self.segments * MSS - self.una * MSS };
        self.c.hear(&Told {
            now: Time(self.now),
            acked,
            acked_fresh: if self.quic { fresh } else { acked },
            lost,
            ce: marked > 0,
            ce_bytes: (marked > 0).then_some(marked),
            rtt: Some(RTT),
            srtt: Some(RTT),
            min_rtt: Some(RTT),
            una: self.seq(self.una),
            nxt: self.nxt(),
            advanced: self.una > una,
            flight,
            sacked,
            inflight_before: before,
            inflight: self.inflight,
            delivered: self.delivered,
            sent: self.sent.len() as u64 * MSS,
            tx_acked,
            tx_lost,
            tx_next: self.sent.len() as u64,
            unrepaired,
            cwnd_limited: true,
            ..Told::default()
        });
    }

    fn reductions(&self) -> (u32, u32) {
        (self.c.stats().loss_episodes, self.c.stats().ecn_episodes)
    }
}

const ARMS: [&str; 6] = [
    "slowstart/reno/immediate",
    "slowstart/cubic/prr",
    "slowstart/cubic(profile=linux)/prr(mode=linux)",
    "slowstart/reno/sack",
    "slowstart/cubic/halving",
    "slowstart/cubic/prr@(relapse=outstanding,ending=still)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Shows RFC3168 6.1.2-1, RFC3168 6.1.2-2, LINUX cwr-above.
    #[test]
    fn a_flight_is_answered_once(
        fates in prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2)), 2..40),
        steps in prop::collection::vec((1usize..12, 0usize..5), 1..60),
        arm in 0..ARMS.len(),
        quic in any::<bool>(),
        sack in prop::bool::weighted(0.8),
        again in any::<bool>(),
    ) {
        let mut rig = Rig::new(ARMS[arm], quic, sack || quic);
        for &(marked, drops) in &fates {
            rig.send(marked && !drops, drops);
        }
        // Enough behind it that every loss is found.
        let mut steps = steps.into_iter().chain(std::iter::repeat((2, 2)));
        let any = fates.iter().any(|&(marked, drops)| marked || drops);
        let mut rounds = 0;
        while !rig.all_through() || !rig.waiting.is_empty() || rounds < 40 {
            let (through, new) = steps.next().expect("endless");
            rig.ack(through);
            rig.repeat();
            for _ in 0..if rounds < 20 { new.max(1) } else { usize::from(rounds < 60) } {
                rig.send(false, false);
            }
            rounds += 1;
            prop_assert!(rounds < 1_000);
        }
        let (losses, marks) = rig.reductions();
        prop_assert_eq!(losses + marks, u32::from(any), "{} quic {}", ARMS[arm], quic);
        prop_assert!(!rig.c.in_recovery(), "and the episode is over");
        if again {
            // The next flight's marks are news.
            rig.send(true, false);
            rig.send(true, false);
            rig.ack(1);
            rig.ack(1);
            let (losses, marks) = rig.reductions();
            prop_assert_eq!(losses + marks, u32::from(any) + 1, "{} quic {}", ARMS[arm], quic);
        }
    }

    /// Shows RFC5681 4.3-new, LINUX lost-out.
    #[test]
    fn new_data_lost_in_a_recovery_opens_another_at_its_end(
        flight in 8usize..40,
        hole in 0usize..4,
        lost_new in 0usize..6,
        repairs_new_first in any::<bool>(),
        arm in 0..ARMS.len(),
        stretch in 1usize..4,
    ) {
        let arm_text = ARMS[arm];
        let follows = Arm::parse(arm_text).expect("an arm").configure(Config::tcp(MSS)).relapse;
        let mut rig = Rig::new(arm_text, false, true);
        for at in 0..flight {
            rig.send(false, at == hole);
        }
        while rig.reductions().0 == 0 {
            rig.ack(1);
        }
        // First sent in the episode: one of them is lost and found before the end; its repeat leaves
        // at once or late.
        let mark = rig.segments;
        for at in 0..10 {
            rig.send(false, at == lost_new);
        }
        let held = std::mem::take(&mut rig.waiting);
        let all = flight + 10;
        while rig.through < all {
            rig.ack(stretch);
        }
        prop_assert!(rig.c.in_recovery(), "the hole is not repaired");
        let found = rig.waiting.contains(&(mark + lost_new as u64));
        prop_assert!(found, "declared lost before the end");
        prop_assert_eq!(rig.reductions().0, 1);
        if repairs_new_first {
            rig.repeat();
            rig.ack(1);
        }
        for segment in held {
            rig.leave(segment, false, false);
        }
        rig.ack(1);
        let second = follows == Relapse::Declared || !repairs_new_first;
        prop_assert_eq!(rig.reductions().0, 1 + u32::from(second), "{}", arm_text);
        prop_assert_eq!(rig.c.in_recovery(), second);
    }
}

/// Shows RFC6675 5-end, LINUX cwr-above, RFC6582 3.2-recover.
#[test]
fn a_recovery_ends_at_its_mark_with_sack_and_above_it_without_or_after_marks() {
    for (sack, marks, at_mark) in
        [(true, false, true), (true, true, false), (false, false, false), (false, true, false)]
    {
        let mut rig = Rig::new("slowstart/reno/immediate", false, sack);
        for at in 0..10 {
            rig.send(marks, !marks && at == 2);
        }
        while rig.reductions() == (0, 0) {
            rig.ack(1);
        }
        rig.send(false, false);
        rig.send(false, false);
        let repeats = std::mem::take(&mut rig.waiting);
        rig.ack(10 - rig.through);
        rig.through = 10;
        for segment in repeats {
            // It overtakes what was sent since, so that `una` comes to stand at the mark.
            rig.leave(segment, false, false);
            let last = rig.sent.len() - 1;
            rig.sent.swap(10, last);
            rig.ack(1);
        }
        assert_eq!(rig.una, 10, "everything sent before the episode is acknowledged");
        assert_eq!(!rig.c.in_recovery(), at_mark, "sack {sack}, marks {marks}: at the mark");
        rig.ack(2);
        assert!(!rig.c.in_recovery(), "sack {sack}, marks {marks}: above it");
    }
}
