//! Paced Chirping: its arithmetic by our own vectors, its rules over one bottleneck, and what holds
//! whatever a chirp brings back.

use crate::plumb_path::signal;
use crate::rig;
use crate::told::{Hear, Told};
use firstflight::startup::ExitReason;
use firstflight::startup::chirping::{Sample, Shape, analyse, averaged, is_alive};
use firstflight::{
    AnyController, Config, Congestion, Nanos, Ratio, Ready, Sent, Seq, Time, Timeout,
};
use proptest::prelude::*;
use std::collections::VecDeque;

const MSS: u64 = 1_472;
/// Bits on the wire of a full packet: at 100 Mbit/s a packet takes 121 120 ns.
const WIRE: u64 = 1_514 * 8;
const MS: u64 = 1_000_000;
const TWO: Ratio = Ratio::new(2, 1);

/// A chirp around `gap` ns with an ACK per packet, and these queueing delays in ns.
fn chirp(gap: u64, q: &[u64]) -> Vec<Sample> {
    let shape = Shape::of(gap, 16, TWO);
    let gaps = |i: usize| if i > 0 { shape.first - (i as u64 - 1) * shape.step } else { 0 };
    q.iter().enumerate().map(|(i, &q)| Sample { q: q as u32, s: gaps(i) as u32, k: 1 }).collect()
}

// ---- Vectors ----

/// Shows CHIRP 4-chirp, CHIRP 4-guard.
#[test]
fn a_chirp_has_the_gaps_of_the_vectors() {
    // gap, packets, geometry; first gap, step, last gap, length
    let table = [
        (200_000, 16, TWO, (400_000, 25_000, 50_000, 3_375_000)),
        (200_000, 8, TWO, (400_000, 50_000, 100_000, 1_750_000)),
        (120_001, 5, TWO, (240_002, 48_000, 96_002, 672_008)),
        (200_000, 16, Ratio::new(3, 2), (300_000, 12_500, 125_000, 3_187_500)),
        (200_000, 16, Ratio::new(1, 1), (200_000, 0, 200_000, 3_000_000)),
    ];
    for (gap, n, geometry, (first, step, last, len)) in table {
        let shape = Shape::of(gap, n, geometry);
        assert_eq!(shape, Shape { first, step, len }, "{n} packets around {gap} ns, {geometry}");
        let end = shape.first - (u64::from(n) - 2) * shape.step;
        assert_eq!(end, last, "the last gap of {n} packets around {gap} ns");
    }
    let shape = Shape::of(200_000, 16, TWO);
    for (m, guard) in [(2, 6_625_000), (8, 200_000)] {
        let pause = shape.guard(200_000, m << 4, Nanos(20 * MS));
        assert_eq!(pause, guard, "the pause where {m} chirps fill 20 ms");
    }
}

/// Shows CHIRP 5-analyse, CHIRP 5-open, CHIRP 5-mean.
#[test]
fn the_gap_where_a_lasting_queue_begins_is_what_the_path_carries() {
    let mut q = vec![0; 13];
    q.extend([21_120, 67_240, 138_360]);
    let idle = chirp(200_000, &q);
    assert_eq!(analyse(&idle, 5), Some(125_000), "an idle link of 100 Mbit/s");
    assert_eq!(averaged(200_000, 125_000), 162_500, "half of the way towards it");
    let halves = [400_000, 362_500, 312_500, 262_500, 212_500, 162_500, 112_500, 62_500];
    let every_second: Vec<Sample> = halves
        .iter()
        .zip([0, 0, 0, 0, 0, 0, 21_120, 138_360])
        .map(|(&s, q)| Sample { q, s, k: 2 })
        .collect();
    assert_eq!(analyse(&every_second, 5), Some(162_500), "with an ACK per two packets");
    assert_eq!(
        analyse(&chirp(200_000, &[0; 16]), 5),
        Some(50_000),
        "without a queue the smallest gap fits"
    );
}

/// Shows CHIRP 5-analyse, CHIRP 5-drained.
#[test]
fn a_queue_that_drains_again_is_cross_traffic() {
    let us = [0, 0, 0, 10, 30, 60, 90, 60, 5, 0, 0, 0, 0, 40, 110, 200];
    let q: Vec<u64> = us.iter().map(|us| us * 1_000).collect();
    assert_eq!(
        analyse(&chirp(200_000, &q), 5),
        Some(181_666),
        "four packets count with their own gaps, the others with the gap where our queue begins"
    );
    assert_eq!(
        analyse(&chirp(200_000, &q), 7),
        Some(125_000),
        "a rise of six packets is too short where seven are asked for"
    );
}

/// Shows CHIRP 2-invalid.
#[test]
fn a_chirp_whose_gaps_do_not_fall_is_not_read() {
    let mut samples = chirp(200_000, &[0; 16]);
    samples[6].s = 435_000;
    assert_eq!(analyse(&samples, 5), None, "a gap of 435 us after one of 300 us");
    let mut samples = chirp(200_000, &[0; 16]);
    for at in [3, 5, 7, 9] {
        samples[at].s = samples[at - 1].s + 1;
    }
    assert!(analyse(&samples, 5).is_some(), "four gaps a little larger than the one before");
    samples[11].s = samples[10].s + 1;
    assert_eq!(analyse(&samples, 5), None, "five of them");
}

/// Shows CHIRP 5-shape.
#[test]
fn a_chirp_needs_an_ack_per_two_packets() {
    let of = |weights: &[u8]| -> Vec<Sample> {
        weights.iter().map(|&k| Sample { q: 0, s: 100_000, k }).collect()
    };
    assert_eq!(analyse(&of(&[1]), 5), None, "one sample has no gap");
    assert!(analyse(&of(&[2; 8]), 5).is_some(), "an ACK per two packets");
    assert!(analyse(&of(&[4, 1, 1]), 5).is_some(), "one ACK of four packets among small ones");
    assert_eq!(analyse(&of(&[4; 4]), 5), None, "an ACK per four packets");
    assert_eq!(analyse(&of(&[5, 1, 1, 1]), 5), None, "an ACK of five packets");
}

/// Shows CHIRP 5-bunch.
#[test]
fn a_chirp_whose_acks_arrive_in_bunches_is_not_read() {
    // The return path holds the ACKs of the last packets until that of the twelfth has come.
    let held = |packets: usize| -> Vec<Sample> {
        let mut samples = chirp(400_000, &[5_000_000; 16]);
        let mut wait = 5_000_000;
        for sample in samples.iter_mut().skip(16 - packets) {
            wait -= u64::from(sample.s).min(wait);
            sample.q = wait as u32;
        }
        samples
    };
    // The last one left within the grain of a pacer and does not count.
    assert!(analyse(&held(5), 5).is_some(), "a quarter of the packets may come together");
    assert_eq!(analyse(&held(6), 5), None, "five of sixteen came together");
}

/// Shows CHIRP 2-alive.
#[test]
fn an_excursion_ends_at_five_eighths_of_its_top() {
    assert!(!is_alive(50, 80), "50 is five eighths of 80");
    assert!(is_alive(51, 80), "51 is more");
    assert!(!is_alive(0, 0), "nothing is no excursion");
}

/// Shows CHIRP 5-mean, CHIRP 2-bounds.
#[test]
fn the_estimate_moves_half_of_the_way_and_stays_within_bounds() {
    let table = [
        (0, 121_000, 121_000),
        (200_001, 121_001, 160_501),
        (200_000, 0, 100_500),
        (0, u64::MAX, 100 * MS),
    ];
    for (gap, found, left) in table {
        assert_eq!(averaged(gap, found), left, "{found} ns found at a gap of {gap}");
    }
}

// ---- One bottleneck ----

/// A FIFO bottleneck of any depth, and the flow on it.
struct Line {
    c: AnyController,
    now: u64,
    /// Time of a packet on the link, ns.
    packet: u64,
    rtt: u64,
    /// Packets per ACK.
    every: u64,
    /// Packets that leave together, after the opening.
    burst: u64,
    /// Added to every second RTT sample, ns.
    noise: u64,
    /// Packets that the application has written.
    written: u64,
    free: u64,
    srtt: u64,
    sent_at: Vec<u64>,
    coming: VecDeque<(u64, u64)>,
    una: u64,
    /// The longest wait in the queue, ns, since the opening.
    worst: u64,
    /// `(time, chirps per round)` of each round.
    rounds: Vec<(u64, u64)>,
}

impl Line {
    fn new(arm: &str, mbps: u64, rtt_ms: u64, every: u64) -> Line {
        let config = firstflight::with!(Config { initial_window: 10 * MSS, ..Config::quic(MSS) });
        let mut c = rig::controller(arm, config);
        let rtt = rtt_ms * MS;
        c.on_handshake_rtt(Time(0), Nanos(rtt));
        Line {
            c,
            now: 0,
            packet: WIRE * 1_000 / mbps,
            rtt,
            every,
            burst: 1,
            noise: 0,
            written: u64::MAX >> 20,
            free: 0,
            srtt: rtt,
            sent_at: Vec::new(),
            coming: VecDeque::new(),
            una: 0,
            worst: 0,
            rounds: Vec::new(),
        }
    }

    fn inflight(&self) -> u64 {
        (self.sent_at.len() as u64 - self.una) * MSS
    }

    /// Sends what may leave now. Returns when more may.
    fn send(&mut self) -> Option<u64> {
        loop {
            let sent = self.sent_at.len() as u64;
            if sent >= self.written {
                return None;
            }
            self.c.before_send(&Ready {
                now: Time(self.now),
                nxt: Seq(sent),
                inflight: self.inflight(),
                backlog: (self.written - sent) * MSS,
                srtt: Some(Nanos(self.srtt)),
                idle: Nanos::ZERO,
                timeout: Nanos(10 * self.rtt),
            });
            if !self.c.admits(MSS, self.inflight()) {
                return None;
            }
            let wait = self
                .c
                .train()
                .map_or(Nanos::ZERO, |train| train.wait(Time(self.now), self.inflight()));
            if wait > Nanos::ZERO {
                return Some(self.now.saturating_add(wait.0));
            }
            if sent >= 10 {
                self.worst = self.worst.max(self.free.saturating_sub(self.now));
            }
            let together = if sent >= 10 { self.burst } else { 1 };
            for number in sent..sent + together {
                self.free = self.free.max(self.now) + self.packet;
                self.sent_at.push(self.now);
                if (number + 1).is_multiple_of(self.every) {
                    self.coming.push_back((self.free + self.rtt - self.packet, number));
                }
            }
            self.c.on_sent(&Sent {
                now: Time(self.now),
                bytes: together * MSS,
                nxt: Seq(sent + together),
                inflight: self.inflight(),
                srtt: Some(Nanos(self.srtt)),
            });
        }
    }

    /// Until the next ACK has been answered; false if there is none or startup is over.
    fn step(&mut self) -> bool {
        loop {
            let more = if self.c.exit().is_none() { self.send() } else { None };
            let next = self.coming.front().map_or(u64::MAX, |&(at, _)| at);
            match more.filter(|&more| more < next) {
                Some(more) => self.now = more,
                None if next == u64::MAX => return false,
                None => break,
            }
        }
        let Some((at, number)) = self.coming.pop_front() else { return false };
        self.now = at;
        let before = self.inflight();
        let acked = (number + 1 - self.una) * MSS;
        self.una = number + 1;
        let rtt = at - self.sent_at[number as usize] + self.noise * (number % 2);
        self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        let was = self.c.rounds();
        self.c.hear(&Told {
            now: Time(at),
            acked,
            acked_fresh: acked,
            rtt: Some(Nanos(rtt)),
            srtt: Some(Nanos(self.srtt)),
            una: Seq(self.una),
            nxt: Seq(self.sent_at.len() as u64),
            advanced: true,
            flight: before - acked,
            inflight_before: before,
            inflight: before - acked,
            sent: self.sent_at.len() as u64 * MSS,
            tx_acked: Some(number),
            tx_next: self.sent_at.len() as u64,
            cwnd_limited: true,
            ..Told::default()
        });
        if self.c.rounds() > was {
            self.rounds.push((at, signal(&self.c, "chirps_per_round").unwrap_or(0)));
        }
        self.c.exit().is_none()
    }

    fn run(&mut self) {
        while self.step() {}
    }

    fn gap(&self) -> u64 {
        signal(&self.c, "gap_ns").unwrap_or(0)
    }

    /// Gaps between the departures of the packets from `first` on, `count` of them.
    fn gaps(&self, first: usize, count: usize) -> Vec<u64> {
        self.sent_at[first..=first + count].windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

/// The exit of one flow on an idle link, packets of 1514 bytes on the wire. A tenth of a millisecond,
/// one packet and one percent are allowed: the model behind the vectors rounds differently. Where
/// the opening is chirps, half a chirp more or less, 7 percent, leads to another round's end.
/// Shows CHIRP 2-opening, CHIRP 2-first, CHIRP 4-opening, CHIRP 5-opening, CHIRP 5-full, CHIRP 5-round,
/// CHIRP 5-weight, CHIRP 5-sample, CHIRP 7-exit.
#[test]
fn one_flow_finds_the_rate_of_an_idle_link_without_a_queue() {
    // arm, Mbit/s, packets per ACK; exit in tenths of a ms, packets sent, window in packets, the
    // BDP, worst queue after the opening in tenths of a ms
    let table = [
        ("chirping", 10, 1, (591, 31, 16)),
        ("chirping", 100, 1, (1_206, 394, 165)),
        ("chirping", 120, 1, (1_210, 427, 198)),
        ("chirping", 1_000, 1, (1_800, 3_514, 1_651)),
        ("chirping(opening=chirp)", 100, 1, (1_200, 378, 153)),
        ("chirping(opening=chirp)", 10, 1, (864, 90, 46)),
        ("chirping", 100, 2, (1_196, 363, 136)),
    ];
    let mut wrong = Vec::new();
    for (arm, mbps, every, (exit, sent, cwnd)) in table {
        let mut line = Line::new(arm, mbps, 20, every);
        line.run();
        let found = line.c.exit().expect("an exit");
        assert_eq!(found.reason, ExitReason::Estimate, "{arm} at {mbps} Mbit/s");
        let (at, left) = (found.at.0 / 100_000, line.sent_at.len() as u64);
        let window = found.cwnd / MSS;
        let percent = if arm == "chirping" { 1 } else { 7 };
        let near = |a: u64, b: u64, most: u64| a.abs_diff(b) <= most.max(b * percent / 100);
        if !near(at, exit, 1) || !near(left, sent, 1) || !near(window, cwnd, 1) {
            wrong.push(format!(
                "{arm} at {mbps} Mbit/s, an ACK per {every}: at {at} with {left} sent and a window of {window}, not {exit}, {sent}, {cwnd}; rounds {:?}",
                line.rounds
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Shows CHIRP 2-length, CHIRP 4-begin, CHIRP 4-train.
#[test]
fn after_the_opening_two_chirps_of_eight_leave_and_then_chirps_of_sixteen() {
    let mut line = Line::new("chirping", 100, 20, 1);
    while line.sent_at.len() < 60 && line.step() {}
    assert_eq!(line.gaps(0, 9), [0; 9], "the initial window leaves at once");
    let of = |shape: Shape, n: u64| -> Vec<u64> {
        (0..n - 1).map(|i| shape.first - i * shape.step).collect()
    };
    // The spacing of the ACKs of the opening is that of the link.
    for (first, n) in [(10, 8), (18, 8), (26, 16)] {
        let gaps = line.gaps(first, n as usize - 1);
        let gap = gaps[0] / 2;
        assert_eq!(gaps, of(Shape::of(gap, n, TWO), n.into()), "{n} packets from {first} on");
    }
    assert_eq!(line.gaps(10, 1), [242_240], "twice the 121 120 ns of the link");
}

/// Shows CHIRP 4-window, CHIRP 4-halt.
#[test]
fn the_window_is_what_is_in_flight_and_a_chirp() {
    let mut line = Line::new("chirping", 100, 20, 1);
    let mut halts = 0;
    loop {
        if !line.step() {
            break;
        }
        let (cwnd, inflight) = (line.c.cwnd(), line.inflight());
        let most = (inflight + 16 * MSS).max(2 * MSS);
        assert!(
            (2 * MSS..=most).contains(&cwnd),
            "a window of {cwnd} with {inflight} bytes in flight at {} ns",
            line.now
        );
        halts += u64::from(cwnd == inflight);
    }
    assert!(halts > 0, "it pauses for ACKs, {halts} times");
    assert!(line.worst <= 8 * line.packet, "the queue after the opening, {} ns", line.worst);
}

/// Shows CHIRP 4-armed.
#[test]
fn without_a_pacer_or_with_another_window_it_is_slow_start() {
    for (paced, packets, arm) in [(false, 10, "chirping"), (true, 3, "chirping")] {
        let base = firstflight::with!(Config {
            initial_window: packets * MSS,
            paced,
            ..Config::quic(MSS)
        });
        let run = |arm: &str| {
            let mut line = Line::new(arm, 100, 20, 1);
            line.c = rig::controller(arm, base);
            line.c.on_handshake_rtt(Time(0), Nanos(20 * MS));
            (0..200).for_each(|_| _ = line.step());
            (line.c.cwnd(), line.sent_at.len())
        };
        assert_eq!(run(arm), run("slowstart"), "paced: {paced}, {packets} packets");
    }
}

/// Shows CHIRP 5-blind, CHIRP 5-fallback.
#[test]
fn where_acks_come_too_rarely_slow_start_takes_over() {
    let mut line = Line::new("chirping", 100, 20, 10);
    line.step();
    assert_eq!(line.gap(), line.srtt / 64, "a 64th of the round trip, without a spacing of ACKs");
    // On a longer path and without growth the chirps do not fill the round trip before that.
    let mut line = Line::new("chirping(gain=1)", 100, 200, 10);
    line.step();
    assert_eq!(line.gap(), MS, "at most a millisecond");
    while line.now < 5_000 * MS && line.step() && line.c.train().is_some() {}
    assert!(line.c.train().is_none() && line.c.exit().is_none(), "at {} ns", line.now);
    let before = line.c.cwnd();
    line.step();
    assert_eq!(line.c.cwnd(), before + 10 * MSS, "by what is acknowledged");
}

/// Shows CHIRP 4-burst, CHIRP 5-reorder.
#[test]
fn chirps_that_leave_in_bursts_or_are_reordered_are_not_read() {
    for (burst, noise) in [(2, 0), (1, 2 * MS)] {
        let mut line = Line { burst, noise, ..Line::new("chirping", 100, 20, 1) };
        let mut gap = 0;
        while line.now < 400 * MS && line.step() && line.c.train().is_some() {
            gap = if line.una <= 10 { line.gap() } else { gap };
            if line.una > 10 {
                assert_eq!(line.gap(), gap, "the estimate of the opening, {burst} at once");
            }
        }
        assert!(line.c.train().is_none(), "{burst} at once, {noise} ns: slow start takes over");
    }
}

/// Shows CHIRP 4-late.
#[test]
fn half_of_a_gap_makes_up_for_a_late_packet() {
    let mut line = Line::new("chirping", 100, 20, 1);
    while line.sent_at.len() < 12 && line.step() {}
    let due = line.c.train().expect("a chirp leaves").next;
    let sent = line.sent_at.len() as u64;
    let next = |late: u64| {
        let mut c = line.c;
        let now = due + Nanos(late);
        let (bytes, inflight) = (MSS, line.inflight() + MSS);
        c.on_sent(&Sent { now, bytes, nxt: Seq(sent + 1), inflight, srtt: Some(Nanos(line.srtt)) });
        c.train().expect("it goes on").next.since(due).0
    };
    let gap = next(0);
    assert_eq!(next(gap / 4), gap, "a quarter of a gap late: the next one is on time");
    assert_eq!(next(gap), gap + gap - gap / 2, "a gap late: half of it is made up");
}

/// Shows CHIRP 4-data.
#[test]
fn without_data_for_a_chirp_packets_leave_one_by_one() {
    let mut line = Line::new("chirping", 100, 20, 1);
    line.written = 15;
    while line.step() {}
    assert_eq!(line.sent_at.len(), 15, "everything leaves");
    assert_eq!(line.una, 15, "and arrives");
    assert_eq!(line.gaps(10, 4), [121_120; 4], "one per estimated gap");
    assert_eq!(signal(&line.c, "chirps"), Some(2), "the opening alone");
}

/// Shows CHIRP 7-loss, CHIRP 7-timeout, CHIRP 7-undo.
#[test]
fn a_loss_is_answered_from_what_is_in_flight_and_ends_it() {
    let mut line = Line::new("chirping", 100, 20, 1);
    while line.una < 100 && line.step() {}
    let (cwnd, inflight) = (line.c.cwnd(), line.inflight());
    let mut lost = line.c;
    lost.hear(&Told {
        now: Time(line.now),
        lost: MSS,
        una: Seq(line.una),
        nxt: Seq(line.sent_at.len() as u64),
        inflight_before: inflight,
        inflight: inflight - MSS,
        flight: inflight,
        sent: line.sent_at.len() as u64 * MSS,
        tx_lost: Some(line.una),
        tx_next: line.sent_at.len() as u64,
        ..Told::default()
    });
    assert_eq!(lost.exit().map(|exit| exit.reason), Some(ExitReason::Loss));
    let left = lost.ssthresh().unwrap_or(0);
    assert!(
        (inflight * 7 / 10..=cwnd * 7 / 10).contains(&left) && cwnd <= inflight + 16 * MSS,
        "{left} is left of a window of {cwnd} with {inflight} in flight"
    );
    lost.on_spurious();
    assert_eq!((lost.cwnd(), lost.train()), (cwnd, None), "the window comes back, chirps do not");
    line.c.on_congestion(&Congestion {
        now: Time(line.now),
        timeout: Timeout::PersistentCongestion,
        nxt: Seq(line.sent_at.len() as u64),
        inflight_before: inflight,
    });
    assert_eq!(line.c.train(), None, "slow start follows a timeout");
}

/// Shows CHIRP 7-marks.
#[test]
fn marks_end_it_unless_they_are_to_be_ignored() {
    for (arm, left) in [("chirping", Some(ExitReason::Ecn)), ("chirping(ecn=ignore)", None)] {
        let mut line = Line::new(arm, 100, 20, 1);
        while line.una < 100 && line.step() {}
        let inflight = line.inflight();
        line.c.hear(&Told {
            now: Time(line.now),
            acked: MSS,
            acked_fresh: MSS,
            ce: true,
            una: Seq(line.una + 1),
            nxt: Seq(line.sent_at.len() as u64),
            inflight_before: inflight,
            inflight: inflight - MSS,
            flight: inflight - MSS,
            sent: line.sent_at.len() as u64 * MSS,
            tx_acked: Some(line.una),
            tx_next: line.sent_at.len() as u64,
            ..Told::default()
        });
        assert_eq!(line.c.exit().map(|exit| exit.reason), left, "{arm}");
    }
}

/// Shows CHIRP 7-overload.
#[test]
fn a_smoothed_queue_ends_it_if_that_is_asked_for() {
    for (arm, reason) in [
        ("chirping(overload=2)", ExitReason::Delay),
        ("chirping(overload=1000)", ExitReason::Estimate),
    ] {
        let mut line = Line::new(arm, 10, 20, 1);
        line.run();
        assert_eq!(line.c.exit().map(|exit| exit.reason), Some(reason), "{arm} at 10 Mbit/s");
    }
}

/// Shows CHIRP 7-idle.
#[test]
fn a_long_silence_opens_anew() {
    let mut line = Line::new("chirping", 100, 20, 1);
    line.written = 26;
    while line.step() {}
    let sent = line.sent_at.len() as u64;
    line.c.before_send(&Ready {
        now: Time(line.now + 2_000 * MS),
        nxt: Seq(sent),
        inflight: 0,
        backlog: 1 << 30,
        srtt: Some(Nanos(20 * MS)),
        idle: Nanos(2_000 * MS),
        timeout: Nanos(200 * MS),
    });
    assert_eq!(line.c.cwnd(), 10 * MSS, "the initial window");
    let wait = line.c.train().map(|train| train.wait(Time(line.now), 9 * MSS));
    assert_eq!(wait, Some(Nanos::ZERO), "back to back");
}

proptest! {
    /// Shows CHIRP 4-chirp.
    #[test]
    fn gaps_never_rise_and_their_sum_is_the_length(gap in 1_000u64..100_000_000, n in 2u8..=16, g in 64u16..=192) {
        let shape = Shape::of(gap, n, Ratio::new(g, 64));
        let gaps: Vec<u64> = (0..u64::from(n) - 1).map(|i| shape.first.saturating_sub(i * shape.step)).collect();
        prop_assert!(gaps.is_sorted_by(|a, b| a >= b), "{gaps:?}");
        prop_assert_eq!(gaps.iter().sum::<u64>(), shape.len);
        prop_assert!(shape.guard(gap, 32, Nanos(20 * MS)) >= gap, "chirps and pauses do not overlap");
    }

    /// A constant added to every delay changes nothing, an estimate lies between the gaps of its chirp,
    /// and times that are all longer by a factor give an estimate that is.
    /// Shows CHIRP 5-analyse.
    #[test]
    fn an_estimate_is_within_its_gaps_and_follows_units_and_offsets(
        gap in 1_000_000u32..5_000_000,
        q in prop::collection::vec(0u64..3_000, 16),
        more in 0u32..1_000_000,
        times in 1u32..20,
    ) {
        // No ACKs in bunches: delays differ by less than the smallest gap.
        let q: Vec<u64> = q.iter().map(|q| q * 50).collect();
        let samples = chirp(gap.into(), &q);
        let found = analyse(&samples, 5);
        let gaps: Vec<u64> = samples.iter().skip(1).map(|sample| sample.s.into()).collect();
        let (least, most) = (gaps.iter().min().copied(), gaps.iter().max().copied());
        prop_assert!(found.is_some() && least <= found && found <= most, "{found:?} of {gaps:?}");
        let later: Vec<Sample> = samples.iter().map(|x| Sample { q: x.q + more, ..*x }).collect();
        prop_assert_eq!(analyse(&later, 5), found);
        let longer: Vec<Sample> = samples.iter().map(|x| Sample { q: x.q * times, s: x.s * times, k: x.k }).collect();
        let scaled = analyse(&longer, 5).unwrap_or(0);
        let exact = found.unwrap_or(0) * u64::from(times);
        prop_assert!(scaled.abs_diff(exact) <= u64::from(times), "{} and {}", scaled, exact);
    }

    /// An idle link whose gap lies inside the chirp is met from the careful side, within a step.
    /// Shows CHIRP 5-open.
    #[test]
    fn an_idle_link_is_met_within_a_step(gap in 100_000u64..2_000_000, part in 30u64..190) {
        let shape = Shape::of(gap, 16, TWO);
        let link = gap * part / 100;
        let (mut free, mut at) = (0u64, 0u64);
        let q: Vec<u64> = (0..16u64).map(|i| {
            at += if i > 0 { shape.first - (i - 1) * shape.step } else { 0 };
            let wait = free.saturating_sub(at);
            free = free.max(at) + link;
            wait
        }).collect();
        let found = analyse(&chirp(gap, &q), 5).unwrap_or(0);
        prop_assert!(link <= found + 1 && found <= link + shape.step, "{found} where the link takes {link}, a step is {}", shape.step);
    }

    /// Whatever ACKs report, nothing panics and some packet may leave.
    #[test]
    fn nonsense_acks_do_no_harm(acks in prop::collection::vec((any::<u64>(), any::<u64>(), 0u64..200), 1..60)) {
        let mut line = Line::new("chirping", 100, 20, 1);
        for (now, rtt, una) in acks {
            line.step();
            let ack = Told { now: Time(now), rtt: Some(Nanos(rtt)), srtt: Some(Nanos(rtt)), una: Seq(una), nxt: Seq(una), acked: MSS, acked_fresh: MSS, ..Told::default() };
            let mut c = line.c;
            c.hear(&ack);
            prop_assert!(c.admits(MSS, 0), "a window of {}", c.cwnd());
        }
    }
}
