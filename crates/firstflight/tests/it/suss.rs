//! SUSS: both sides of every condition, the paced part, the exit, and each departure.

use crate::hooks::{self, Alone};
use crate::plumb_path::{MSS, Trip, signal};
use crate::rig::Rig;
use crate::told::{Hear, Told};
use firstflight::event::{Context, Ready, Sent, Signal, Timeout};
use firstflight::startup::suss::{Params, Suss};
use firstflight::startup::{ExitReason, Leave, Pacing, Startup, Train, Verdict};
use firstflight::units::{Nanos, Ratio, Seq, Time};
use firstflight::{AnyController, Phase, Transport};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// SUSS over QUIC with ACKs at times that the test chooses.
type Hand = Alone<Suss>;

impl Hand {
    fn with(params: Params, cx: Context, rtt: u64) -> Hand {
        let mut hand = Hand::of(Suss::new(params), cx.iw, cx).begun(0, 0);
        hand.nxt = cx.iw / MSS;
        hand.every(rtt);
        hand
    }

    /// The RTT of every sample from now on, ns.
    fn every(&mut self, rtt: u64) {
        (self.told.rtt, self.told.srtt) = (Some(Nanos(rtt)), Some(Nanos(rtt)));
    }

    fn new(rtt: u64) -> Hand {
        Hand::with(Params::default(), hooks::quic(MSS), rtt)
    }

    fn told(&self, at: u64, packets: u64) -> Told {
        let una = self.una + packets;
        let inflight = (self.nxt - una) * MSS;
        Told {
            now: Time(at),
            acked: packets * MSS,
            una: Seq(una),
            flight: inflight,
            inflight_before: (self.nxt - self.una) * MSS,
            inflight,
            ..self.record()
        }
    }

    /// An ACK at this time, then as much as the window allows. Returns the verdict on the sample.
    fn ack(&mut self, at: u64, packets: u64) -> Verdict {
        let told = self.told(at, packets);
        self.alg.on_rtt(told.now, told.rtt.unwrap_or_default(), &self.cx);
        let verdict = self.alg.sample(&told.ack(), self.w, &self.cx);
        self.grow(&told);
        self.una += packets;
        let most = self.alg.train().map_or(self.w.cwnd, |train| train.inflight.min(self.w.cwnd));
        if self.una + most / MSS > self.nxt {
            self.nxt = self.una + most / MSS;
            let sent = Sent { now: Time(at), nxt: Seq(self.nxt), ..Sent::default() };
            self.alg.on_sent(&sent, self.w, &self.cx);
        }
        verdict
    }

    /// `packets` acknowledged by twos, the first ACK at `from`, the last `length` later.
    fn train(&mut self, from: u64, length: u64, packets: u64) {
        let acks = packets / 2;
        for k in 0..acks {
            assert_eq!(self.ack(from + length * k / (acks - 1), 2), Verdict::Stay, "no exit yet");
        }
    }

    /// The rest of the paced part leaves, and its ACKs arrive up to `packets`.
    fn red(&mut self, at: u64, packets: u64) {
        self.send(at, 0);
        while self.w.cwnd < self.signal("suss_limit_bytes").expect("a paced part") {
            self.send(at, self.w.cwnd);
        }
        self.nxt = self.nxt.max(self.una + self.w.cwnd / MSS);
        if packets > 0 {
            self.ack(at, packets);
        }
    }

    fn send(&mut self, at: u64, inflight: u64) {
        let ready = Ready {
            now: Time(at),
            inflight,
            backlog: u64::MAX,
            srtt: self.told.srtt,
            ..Ready::default()
        };
        self.alg.before_send(&ready, &mut self.w, &self.cx);
    }

    /// Whether the round that is going on grows fourfold.
    fn paces(&self) -> bool {
        self.alg.status().phase == Phase::Rapid
    }

    /// Fourfold growth of the first round on a path of 96 ms: ten packets, then forty.
    fn accelerated(params: Params) -> Hand {
        let mut hand = Hand::with(params, hooks::quic(MSS), 96 * MS);
        // A train of 0.8 ms for eight packets, 1 ms for ten.
        hand.train(96 * MS, 800_000, 10);
        assert!(hand.paces(), "the first train is short");
        hand.red(150 * MS, 0);
        assert_eq!(hand.w.cwnd, 40 * MSS, "four initial windows");
        hand
    }
}

/// Shows SUSS first-rtt, SUSS first-train, SUSS first-refusal, SUSS train-length.
#[test]
fn the_first_train_must_be_shorter_than_a_quarter_of_an_rtt_above_ten_milliseconds() {
    // (smallest RTT, from the first ACK to the last, ns): eight of ten packets in that time.
    let table = [
        (40 * MS, 8 * MS, false),
        (40 * MS, 8 * MS - 1, true),
        (10 * MS, MS, false),
        (10 * MS + 1, MS, true),
        (200 * MS, 0, true),
    ];
    for (rtt, length, grows) in table {
        let mut hand = Hand::new(rtt);
        hand.train(rtt, length, 10);
        assert_eq!(hand.paces(), grows, "a train of {length} ns in an RTT of {rtt} ns");
        assert_eq!(hand.signal("suss_on"), Some(u64::from(grows)), "a refusal is for good");
    }
}

/// Shows SUSS next-train.
#[test]
fn the_next_train_must_fit_into_half_of_the_rtt() {
    // The first train was 1 ms. One of T for 20 of 40 packets stands for 2 T; the next is expected
    // to take (2 T)^2 / 1 ms: 96 ms at T = 4.898979 ms, which 18 of the packets show in 4.409081.
    for (length, grows) in [(4_409_081, true), (4_409_082, false)] {
        let mut hand = Hand::accelerated(Params::default());
        hand.train(192 * MS, length, 20);
        assert_eq!(hand.paces(), grows, "20 packets in {length} ns");
        assert_eq!(hand.signal("suss_on"), Some(1), "its exit stays, whatever it grows by");
    }
}

/// Shows SUSS rtt-rise.
#[test]
fn the_rtt_may_have_risen_by_an_eighth_at_most_by_the_next_round() {
    // Two rounds after the minimum of 96 ms: 3 RTT <= 3 x 96 + 2 x 96 / 8, so RTT <= 104 ms.
    for (rtt, grows) in [(104 * MS, true), (104 * MS + 1, false)] {
        let mut hand = Hand::accelerated(Params::default());
        hand.every(rtt);
        hand.train(192 * MS, MS, 20);
        assert_eq!(hand.paces(), grows, "an RTT of {rtt} ns");
    }
}

/// Shows SUSS most-rounds, SUSS blue-part, SUSS growth-factor.
#[test]
fn at_most_three_rounds_grow_fourfold_unless_asked_otherwise() {
    for (most, windows) in [
        (3, [10, 40, 160, 640, 1_280, 2_560]),
        (1, [10, 40, 80, 160, 320, 640]),
        (4, [10, 40, 160, 640, 2_560, 5_120]),
    ] {
        let params = firstflight::with!(Params { most, ..Params::default() });
        // ACKs without a gap between them: the fastest path.
        let mut hand = Hand::with(params, hooks::quic(MSS), 200 * MS);
        let (mut blue, mut seen) = (10, Vec::new());
        for round in 1..=6 {
            let (at, flight) = (round * 200 * MS, hand.nxt - hand.una);
            seen.push(flight);
            hand.train(at, 0, blue.min(flight));
            if hand.paces() {
                hand.red(at + 100 * MS, flight - blue);
            } else if flight > blue {
                hand.ack(at + MS, flight - blue);
            }
            blue *= 2;
        }
        assert_eq!(seen, windows, "packets at the start of each round with max={most}");
    }
}

/// Shows SUSS guard-interval, SUSS red-part, SUSS red-pace, SUSS blue-clocked.
#[test]
fn the_extra_packets_are_paced_over_the_rest_of_the_round_after_a_guard_interval() {
    let mut hand = Hand::new(96 * MS);
    let at_once = Train { inflight: u64::MAX, next: Time(0) };
    assert_eq!(hand.alg.train(), Some(at_once), "packets that ACKs clock are not paced");
    hand.train(96 * MS, 800_000, 10);
    // Half of the round belongs to the packets that ACKs clock; their train takes 1 ms of 48.
    let start = 96 * MS + 800_000 + 23_500_000;
    let guard = Train { inflight: 20 * MSS, next: Time(start) };
    assert_eq!(hand.alg.train(), Some(guard), "twenty leave at once, the others wait");
    assert_eq!(hand.w.cwnd, 22 * MSS, "room for which a pacer waits");
    hand.send(start - 1, 20 * MSS);
    assert_eq!((hand.w.cwnd, hand.alg.train()), (22 * MSS, Some(guard)), "not yet");
    hand.send(start, 20 * MSS);
    assert_eq!((hand.w.cwnd, hand.alg.train()), (30 * MSS, None), "a burst ahead of the flight");
    // Twenty packets in the other half of the RTT.
    let Pacing::Rate(rate) = hand.alg.pacing() else { panic!("a rate of its own") };
    assert_eq!(rate.0, 20 * MSS * 1_000 / 48, "20 packets in 48 ms");
    hand.send(start + MS, 35 * MSS);
    assert_eq!(hand.w.cwnd, 40 * MSS, "four times the window and no more");
}

/// Shows SUSS red-still, SUSS pace-end.
#[test]
fn acks_of_paced_packets_grow_nothing_until_the_next_round() {
    let mut hand = Hand::accelerated(Params::default());
    hand.train(192 * MS, 1_800_000, 20);
    assert_eq!(hand.w.cwnd, 62 * MSS, "forty and twenty, and the room for which a pacer waits");
    hand.ack(200 * MS, 10);
    assert_eq!(hand.w.cwnd, 62 * MSS, "the ACK of a paced packet");
    let left = hand.alg.train().map(|train| train.inflight);
    assert_eq!(left, Some(50 * MSS), "what it frees does not leave at once");
    hand.red(250 * MS, 10);
    assert!(hand.paces(), "the last ACK of the round");
    hand.ack(300 * MS, 2);
    assert!(!hand.paces(), "the first of the next is not held to the pace of this one");
    assert_eq!(hand.w.cwnd, 162 * MSS, "and grows the window");
}

/// Shows SUSS cap-exit, SUSS cap-set, SUSS exit-inflight.
#[test]
fn a_long_train_of_the_clocked_part_ends_growth_at_the_end_of_its_flight() {
    let mut hand = Hand::accelerated(Params::default());
    hand.train(192 * MS, 1_800_000, 20);
    hand.red(250 * MS, 20);
    let mut one = hand;
    // 160 in flight, of which 40 were clocked. Half of the RTT, 48.5 ms at most with the allowance
    // for batches, is an eighth of it for a quarter of the flight.
    let mut at = 300 * MS;
    while hand.signal("suss_cap_bytes").is_none() {
        assert_eq!(hand.ack(at, 2), Verdict::Stay, "the cap is not the exit");
        at += 1_900_000;
        assert!(at < 330 * MS, "a train of 30 ms stands for one of 120");
    }
    let (cwnd, blue) = (hand.w.cwnd, hand.signal("suss_blue_bytes").unwrap_or(0));
    let cap = hand.signal("suss_cap_bytes").unwrap_or(0);
    // The ACK that sets the cap grows the window after it.
    assert_eq!(cap, cwnd - 2 * MSS + blue * 3, "three more parts as large as the one seen");
    let left = loop {
        assert!(hand.w.cwnd <= cap + 2 * MSS, "past the cap of {cap}: {}", hand.w.cwnd);
        if let Verdict::Leave(leave) = hand.ack(at, 2) {
            break leave;
        }
    };
    let inflight = (hand.nxt - hand.una) * MSS;
    assert_eq!(left.reason, ExitReason::Train);
    assert!(left.cwnd == Some(left.ssthresh) && left.ssthresh <= inflight, "{left:?}");
    // A rise of the RTT ends startup as in HyStart.
    one.every(96 * MS + 12 * MS + 1);
    let left = (0..9).map(|k| one.ack(300 * MS + k, 2)).find(|verdict| *verdict != Verdict::Stay);
    let Some(Verdict::Leave(Leave { reason, cwnd: Some(kept), .. })) = left else {
        panic!("{left:?}")
    };
    assert_eq!((reason, kept), (ExitReason::Delay, 174 * MSS), "176 less the two acknowledged");
}

/// Shows SUSS first-flight, and D1.
#[test]
fn the_first_flight_that_fills_its_window_counts_whatever_its_size() {
    for packets in [3, 4, 10, 30] {
        let cx = firstflight::with!(Context { iw: packets * MSS, ..hooks::quic(MSS) });
        let mut hand = Hand::with(Params::default(), cx, 50 * MS);
        for k in 0..packets {
            hand.ack(50 * MS + k, 1);
        }
        assert!(hand.paces(), "an initial window of {packets} packets");
        assert_eq!(hand.signal("suss_limit_bytes"), Some(4 * packets * MSS), "scaled to it");
    }
    // A handshake of three packets, then a whole flight.
    let mut hand = Hand::new(50 * MS);
    hand.nxt = 3;
    let cx = hand.cx;
    hand.cx = firstflight::with!(Context { limited: false, ..cx });
    hand.ack(50 * MS, 2);
    hand.ack(50 * MS, 1);
    assert!(!hand.paces() && hand.signal("suss_on") == Some(1), "nothing was measured");
    assert_eq!((hand.nxt - hand.una, hand.w.cwnd), (10, 10 * MSS), "the first whole flight");
    hand.cx = cx;
    hand.train(100 * MS, 0, 10);
    assert!(hand.paces(), "the flight after the handshake");
}

/// D1.
#[test]
fn the_delayed_ack_of_an_odd_packet_is_not_waited_for() {
    let cx = firstflight::with!(Context { iw: 9 * MSS, ..hooks::quic(MSS) });
    let mut hand = Hand::with(Params::default(), cx, 50 * MS);
    for k in 0..4 {
        hand.ack(50 * MS + k, 2);
    }
    assert!(hand.paces(), "eight of nine packets by twos, the ninth 25 ms later");
}

/// Shows SUSS train-length, and D1.
#[test]
fn a_flight_that_one_ack_covers_accelerates_nothing() {
    let mut hand = Hand::new(50 * MS);
    hand.ack(50 * MS, 10);
    assert_eq!((hand.w.cwnd, hand.paces()), (20 * MSS, false), "twice as much");
    assert_eq!(hand.signal("suss_on"), Some(0), "for good");
}

/// D2: ACK by ACK.
#[test]
fn without_a_pacer_it_is_hystart() {
    let run = |arm: &str, transport| {
        let mut rig = Rig::new(arm, transport, 10 * crate::rig::MSS);
        let unpaced = firstflight::with!(firstflight::Config {
            paced: false,
            ..crate::rig::config(transport, 10 * crate::rig::MSS)
        });
        if let Some(spec) = arm.strip_prefix("suss") {
            assert!(spec.is_empty());
            let suss = Suss::new(Params::default());
            let arm = firstflight::Arm::parse("hystart").expect("an arm");
            return drive(&mut arm.controller_with(suss, unpaced, crate::rig::START, Seq(0)));
        }
        rig.c = firstflight::Arm::parse(arm).expect("an arm").controller(
            unpaced,
            crate::rig::START,
            Seq(0),
        );
        drive(&mut rig.c)
    };
    for transport in [Transport::Quic, Transport::Tcp] {
        assert_eq!(run("suss", transport), run("hystart", transport), "{transport:?}");
    }
    let refused = firstflight::Arm::parse("suss@(pace=off)").expect_err("hystart's job");
    assert!(refused.to_string().contains("hystart"), "{refused}");
}

/// Windows after each of many ACKs.
fn drive(c: &mut (impl Hear + Windows)) -> Vec<u64> {
    let (mut una, mut windows, mut delivered) = (0, Vec::new(), 0);
    for k in 0..400u64 {
        let inflight = c.window();
        una += 2;
        delivered += 2 * MSS;
        let rtt = Some(Nanos(50 * MS + k / 30 * 500_000));
        c.hear(&Told {
            now: Time(2_000_000_000 + k * MS),
            acked: 2 * MSS,
            acked_fresh: 2 * MSS,
            rtt,
            srtt: rtt,
            una: Seq(una * MSS),
            nxt: Seq((una + inflight / MSS) * MSS),
            advanced: true,
            inflight_before: inflight,
            inflight: inflight - 2 * MSS,
            delivered,
            sent: u64::MAX / 2,
            tx_acked: Some(una),
            cwnd_limited: true,
            ..Told::default()
        });
        windows.push(c.window());
    }
    windows
}

trait Windows {
    fn window(&self) -> u64;
}

impl<S, A, R> Windows for firstflight::Controller<S, A, R>
where
    S: Startup,
    A: firstflight::avoidance::Avoidance,
    R: firstflight::recovery::Policy,
{
    fn window(&self) -> u64 {
        self.cwnd()
    }
}

/// D4.
#[test]
fn a_train_that_leaves_no_room_for_the_paced_part_ends_fourfold_growth() {
    let mut hand = Hand::new(96 * MS);
    // 20 ms, then 23 ms for half of the flight: (2 x 23)^2 / 20 = 105.8 > 96; 21 ms: 88.2, but the
    // clocked part of the next round has 24 ms.
    hand.train(96 * MS, 16 * MS, 10);
    hand.red(190 * MS, 0);
    hand.train(192 * MS, 18_900_000, 20);
    assert!(hand.paces(), "21 ms of 24");
    let mut hand = Hand::new(96 * MS);
    hand.train(96 * MS, 18_400_000, 10);
    assert!(hand.paces(), "23 ms of 24 are short enough");
    hand.red(190 * MS, 0);
    // 23.4 ms: 95.2 ms are predicted; 24 ms are one too long in any case.
    hand.train(192 * MS, 21_600_000, 20);
    assert!(!hand.paces(), "24 ms of 24");
}

/// D5.
#[test]
fn losses_timeouts_and_pauses_end_acceleration_for_good() {
    type Event = (&'static str, fn(&mut Hand));
    let events: [Event; 3] = [
        ("a loss", |hand| {
            let ack = Told { lost: MSS, ..hand.told(200 * MS, 0) }.ack();
            let (beta, w, cx) = (Ratio::new(7, 10), hand.w, hand.cx);
            let saved = hand.alg.save();
            hand.alg.on_congestion(Signal::Loss, beta, &ack, w, &cx);
            hand.alg.restore(saved);
        }),
        ("a timeout", |hand| {
            hand.alg.on_timeout(Timeout::PersistentCongestion, Time(200 * MS), Seq(40));
        }),
        ("a pause", |hand| hand.alg.on_idle(Time(200 * MS), Seq(40))),
    ];
    for (what, event) in events {
        let mut hand = Hand::accelerated(Params::default());
        event(&mut hand);
        hand.train(300 * MS, MS, 20);
        assert!(!hand.paces(), "fourfold growth after {what}");
        assert_eq!((hand.signal("suss_on"), hand.alg.train()), (Some(0), None), "{what}");
    }
}

#[test]
fn its_signals_are_there_from_the_start() {
    let hand = Hand::new(50 * MS);
    for name in ["suss_on", "suss_fast", "suss_accelerated_rounds", "suss_train_ns"] {
        assert!(hand.signal(name).is_some(), "{name}");
    }
    assert!(!hand.alg.heeds().sending, "nothing to do while ACKs clock the packets");
    assert!(Hand::accelerated(Params::default()).alg.heeds().sending, "the window opens");
}

/// Windows at the start of each round trip of a connection.
fn windows(arm: &str, mbps: u64, rtt_ms: u64, queue: u64) -> Vec<u64> {
    let mut trip = Trip::new(arm, mbps, rtt_ms, queue);
    let (mut head, mut seen) = (0, vec![trip.c.cwnd() / MSS]);
    while seen.len() < 6 {
        let mut check = |before: &AnyController, ack: &Told, _: &AnyController| {
            if ack.una.0 > head {
                head = ack.nxt.0;
                seen.push(before.cwnd() / MSS);
            }
        };
        assert!(trip.step(&mut check), "{arm}: nothing is left to acknowledge");
    }
    seen.split_off(1)
}

/// Shows SUSS growth-factor.
#[test]
fn three_rounds_replace_six_of_slow_start_on_a_long_fast_path() {
    // 100 Mbit/s, 60 ms: a BDP of 750 packets.
    assert_eq!(windows("suss", 100, 60, 1_000)[..4], [10, 40, 160, 640]);
    assert_eq!(windows("hystart", 100, 60, 1_000)[..4], [10, 20, 40, 80]);
}

proptest! {
    /// Shows SUSS growth-factor, SUSS most-rounds.
    #[test]
    fn no_round_grows_more_than_fourfold_and_three_at_most_do(
        mbps in 1u64..1_000,
        rtt_ms in 1u64..300,
        queue in 1u64..2_000,
        others_us in 0u64..20_000,
    ) {
        let mut trip = Trip::new("suss", mbps, rtt_ms, queue);
        let (mut head, mut at_head, mut fast, mut failed) = (0, trip.c.cwnd(), 0, None);
        for step in 0..2_000u64 {
            trip.others = if step % 7 < 3 { 0 } else { others_us * 1_000 };
            let mut check = |before: &AnyController, ack: &Told, after: &AnyController| {
                if after.ssthresh().is_some() {
                    return;
                }
                if ack.una.0 > head {
                    let grown = before.cwnd();
                    if grown > 4 * at_head {
                        failed = Some(format!("from {at_head} to {grown} in a round"));
                    }
                    fast += u64::from(grown > 2 * at_head + 2 * MSS);
                    (head, at_head) = (ack.nxt.0, grown);
                }
                let most = signal(after, "suss_accelerated_rounds").unwrap_or(0);
                if most > 3 || fast > 3 {
                    failed = Some(format!("{most} or {fast} rounds were accelerated"));
                }
            };
            if !trip.step(&mut check) {
                break;
            }
            prop_assert!(failed.is_none(), "{mbps} Mbit/s, {rtt_ms} ms, {queue} packets: {failed:?}");
        }
    }
}
