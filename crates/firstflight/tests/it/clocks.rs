//! Coarse clocks: every startup behind a clock of a microsecond to 15.6 ms, on paths that are shorter and
//! longer than its tick.

use crate::detection_board::Board;
use crate::rig::{MSS, config};
use crate::told::{Hear, Told};

use firstflight::arm::{self, Arm};
use firstflight::detection::rack::{Arrival, Facts, Rack};
use firstflight::detection::{Id, RepeatRule, Scoreboard};
use firstflight::signal::rtt::{GRANULARITY, Rfc6298Rtt, Rfc9002Rtt, RtoParams};
use firstflight::{Nanos, Ready, Sent, Seq, Time, Transport};
use std::collections::VecDeque;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const PACKETS: u64 = 100;
const TICKS: [u64; 6] = [US, 100 * US, MS, 4 * MS, 10 * MS, 15_600 * US];
const PATHS: [u64; 8] =
    [100 * US, 300 * US, 600 * US, 2 * MS, 12 * MS, 40 * MS, 200 * MS, 1_000 * MS];

/// Reading of a clock with this tick.
fn shown(at: u64, tick: u64) -> u64 {
    at / tick * tick
}

/// When a hundred packets have been acknowledged, ns after the first left; an ACK for two packets, and nothing
/// on the path but its delay. Sending, ACKs and timers happen in true time, the sender knows its clock's.
fn completion(arm: &str, transport: Transport, rtt: u64, tick: u64, phase: u64) -> u64 {
    let parsed = Arm::parse(arm).unwrap_or_else(|error| panic!("`{arm}`: {error}"));
    let mut c =
        parsed.with_oracle(PACKETS * MSS).controller(config(transport, 10 * MSS), Time(0), Seq(0));
    let mut estimator = Rfc9002Rtt::default();
    let seq =
        |packets: u64| Seq(if transport == Transport::Quic { packets } else { packets * MSS });
    let start = phase + rtt;
    let handshake = Nanos(shown(start, tick) - shown(phase, tick));
    estimator.on_sample(handshake, Nanos::ZERO, None);
    c.on_handshake_rtt(Time(shown(start, tick)), handshake);
    let (mut now, mut sent, mut acked) = (start, 0, 0);
    // When each ACK comes, and when the clock showed that its newest packet left.
    let mut acks: VecDeque<(u64, u64, u64)> = VecDeque::new();
    let (mut tokens, mut filled) = (10 * MSS, shown(now, tick));
    for _ in 0..100_000 {
        let clock = shown(now, tick);
        let inflight = (sent - acked) * MSS;
        if sent < PACKETS {
            c.before_send(&Ready {
                now: Time(clock),
                nxt: seq(sent),
                inflight,
                backlog: (PACKETS - sent) * MSS,
                srtt: estimator.srtt(),
                idle: Nanos::ZERO,
                timeout: Nanos::ZERO,
            });
        }
        let rate = c.pacing_rate().map_or(u64::MAX, |rate| rate.0.max(1));
        // A bucket holds what a tick brings, or the initial window.
        let holds = (rate.saturating_mul(tick) / 1_000_000_000).max(10 * MSS);
        let brought = u128::from(rate) * u128::from(clock - filled) / 1_000_000_000;
        tokens = u64::try_from(u128::from(tokens) + brought).unwrap_or(u64::MAX).min(holds);
        filled = clock;
        let mut released = u64::MAX;
        let before = sent;
        while sent < PACKETS && c.admits(MSS, (sent - acked) * MSS) {
            if let Some(train) = c.train() {
                let wait = train.wait(Time(clock), (sent - acked) * MSS);
                if wait > Nanos::ZERO {
                    released = (clock + wait.0).div_ceil(tick) * tick;
                    break;
                }
            } else if tokens < MSS {
                let wait = (MSS - tokens).saturating_mul(1_000_000_000).div_ceil(rate);
                released = (clock + wait).div_ceil(tick) * tick;
                break;
            }
            (tokens, sent) = (tokens.saturating_sub(MSS), sent + 1);
            c.on_sent(&Sent {
                now: Time(clock),
                bytes: MSS,
                nxt: seq(sent),
                inflight: (sent - acked) * MSS,
                srtt: estimator.srtt(),
            });
            if sent % 2 == 0 || sent == PACKETS {
                acks.push_back((now + rtt, sent, clock));
            }
        }
        // A packet that waits for its pair is acknowledged alone.
        if sent > before && acks.back().is_none_or(|ack| ack.1 < sent) {
            acks.push_back((now + rtt, sent, clock));
        }
        let next = acks.front().map_or(u64::MAX, |ack| ack.0);
        if released < next {
            now = now.max(released);
            continue;
        }
        let Some((at, upto, left)) = acks.pop_front() else {
            panic!("{arm}: nothing is in flight, and {sent} of {PACKETS} packets have left");
        };
        now = at;
        let clock = shown(now, tick);
        let (count, before) = (upto - acked, (sent - acked) * MSS);
        acked = upto;
        if acked == PACKETS {
            return now - start;
        }
        let sample = Nanos(clock - left);
        estimator.on_sample(sample, Nanos::ZERO, None);
        c.hear(&Told {
            now: Time(clock),
            acked: count * MSS,
            acked_fresh: count * MSS,
            rtt: Some(sample),
            srtt: estimator.srtt(),
            min_rtt: estimator.min(),
            una: seq(acked),
            nxt: seq(sent),
            advanced: true,
            flight: (sent - acked) * MSS,
            inflight_before: before,
            inflight: (sent - acked) * MSS,
            delivered: acked * MSS,
            sent: sent * MSS,
            tx_acked: Some(acked - 1),
            tx_next: sent,
            cwnd_limited: true,
            ..Told::default()
        });
    }
    panic!("{arm}: {acked} packets after {} ns", now - start);
}

/// A hundred packets take at most three times as long as behind a clock of a microsecond, and two ticks more for
/// each round trip of those.
#[test]
fn a_coarse_clock_costs_two_ticks_a_round_trip_at_most() {
    let mut slow = Vec::new();
    for part in arm::STARTUPS {
        for transport in [Transport::Quic, Transport::Tcp] {
            for rtt in PATHS {
                let fine = completion(part.name, transport, rtt, US, 0);
                for tick in TICKS {
                    for phase in [0, tick / 3, tick - 1] {
                        let took = completion(part.name, transport, rtt, tick, phase);
                        // Each packet of a chirp waits for the clock by itself.
                        let chirps = if part.name == "chirping" { 100 * tick } else { 0 };
                        let most = 3 * fine + 2 * tick * fine.div_ceil(rtt) + chirps;
                        if took > most {
                            slow.push(format!(
                                "{} over {transport:?}, a path of {} us and a tick of {} us: {} us, not {}",
                                part.name, rtt / US, tick / US, took / US, most / US
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(slow.is_empty(), "{} are slow:\n{}", slow.len(), slow.join("\n"));
}

/// A sample of zero counts as one tick: the smallest sample that is not zero, and a millisecond before there is one.
#[test]
fn a_sample_of_zero_is_one_tick() {
    for tick in TICKS {
        let mut quic = Rfc9002Rtt::default();
        let mut tcp = Rfc6298Rtt::new(RtoParams::RFC);
        let samples = [0, 0, tick, 0, 2 * tick, 0];
        for (nth, sample) in samples.into_iter().enumerate() {
            quic.on_sample(Nanos(sample), Nanos::ZERO, None);
            tcp.on_sample(Nanos(sample));
            let due = Nanos(if nth < 2 { MS } else { tick });
            assert_eq!((quic.min(), tcp.min()), (Some(due), Some(due)), "{tick} ns, sample {nth}");
            let latest = if sample == 0 { due } else { Nanos(sample) };
            assert_eq!(quic.latest(), Some(latest), "{tick} ns, sample {nth}");
        }
        // No wait is below what the clock can tell.
        let least = Nanos(tick).max(GRANULARITY);
        assert!(quic.loss_delay() >= least, "{:?} with a tick of {tick} ns", quic.loss_delay());
        assert!(quic.pto(Nanos::ZERO) >= quic.smoothed() + least, "a tick of {tick} ns");
    }
}

/// Two segments leave in one tick, and the second is delivered in it: the first may be on its way for as long as
/// the clock does not move, and for a tick after.
#[test]
fn rack_decides_nothing_below_a_tick() {
    for tick in TICKS {
        let mut board = Board::new(RepeatRule::default());
        let mut rack = Rack::default();
        for _ in 0..2 {
            board.send(MSS, Time(tick));
            rack.on_sent(Time(tick), Seq(board.nxt()));
        }
        let min_rtt = Some(Nanos(tick));
        let arrival = Arrival { end: Seq(2 * MSS), last_tx: Time(tick), tx_count: 1, echo: None };
        board.mark_sacked(Id(1));
        rack.on_delivered(Time(tick), &arrival, min_rtt);
        rack.on_ack(&Facts { nxt: Seq(2 * MSS), min_rtt, srtt: min_rtt, ..Facts::default() });
        let found = rack.detect(&mut board, Time(tick));
        assert_eq!(found.losses.segments, 0, "a tick of {tick} ns");
        assert!(
            found.deadline >= Some(Time(2 * tick)),
            "{:?}, a tick of {tick} ns",
            found.deadline
        );
    }
}
