//! Delivery rate samples against a sampler that keeps every packet, and what is decided where a flight is
//! acknowledged as a whole: nothing is in flight, a round ends, the application has no more.

use crate::history::arms::STARTUPS;
use crate::hooks;
use crate::rig::{MSS, Rig};
use crate::told::Told;

use firstflight::signal::delivery::{Delivery, Sample};
use firstflight::{Context, Ready, Sent, Seq, Time, Transport};
use proptest::prelude::*;
use std::collections::VecDeque;

const US: u64 = 1_024;

/// A packet as the draft keeps it: `P.delivered`, `P.delivered_time`, `P.first_send_time`, `P.send_time`,
/// `P.is_app_limited`.
#[derive(Clone, Copy, Debug)]
struct Packet {
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    sent: u64,
    limited: bool,
}

/// The sampler of draft-ietf-ccwg-bbr, section on delivery rate samples, beside ours.
#[derive(Default)]
struct Both<const N: usize> {
    ours: Delivery<(), N>,
    now: u64,
    inflight: VecDeque<Packet>,
    sent: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    /// `C.app_limited`: before the first write there is nothing to send.
    limited: Option<u64>,
}

impl<const N: usize> Both<N> {
    fn new() -> Self {
        Both { limited: Some(1), ..Both::default() }
    }

    fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            if self.inflight.is_empty() {
                (self.first_sent, self.delivered_at) = (self.now, self.now);
            }
            self.inflight.push_back(Packet {
                delivered: self.delivered,
                delivered_at: self.delivered_at,
                first_sent: self.first_sent,
                sent: self.now,
                limited: self.limited.is_some(),
            });
            self.sent += 1;
            let sent = Sent {
                now: Time(self.now * US),
                bytes: MSS,
                nxt: Seq(self.sent),
                inflight: self.inflight.len() as u64 * MSS,
                srtt: None,
            };
            self.ours.mark(&sent, &hooks::quic(MSS), || ());
        }
    }

    /// An ACK of the oldest packets; our sample, and the draft's of each of them.
    fn ack(&mut self, packets: u64, limited: bool) -> (Option<Sample>, Vec<(u64, u64, bool)>) {
        let acked: Vec<Packet> = self.inflight.drain(..packets as usize).collect();
        self.delivered += packets * MSS;
        self.delivered_at = self.now;
        let each = acked.iter().map(|packet| {
            let span = (packet.sent - packet.first_sent).max(self.now - packet.delivered_at);
            let rate = ((self.delivered - packet.delivered) * 1_000_000_000).checked_div(span * US);
            (packet.delivered, rate.unwrap_or(0), packet.limited)
        });
        let each = each.collect();
        self.first_sent = acked.last().map_or(self.first_sent, |packet| packet.sent);
        self.limited = self.limited.filter(|&until| self.delivered <= until);
        if limited {
            self.limited = Some((self.delivered + self.inflight.len() as u64 * MSS).max(1));
        }
        let ack = Told {
            now: Time(self.now * US),
            acked: packets * MSS,
            inflight: self.inflight.len() as u64 * MSS,
            tx_acked: Some(self.sent - self.inflight.len() as u64 - 1),
            tx_next: self.sent,
            ..Told::default()
        };
        (self.ours.reach(&ack.ack(), limited, &ack.so_far(), |_| {}), each)
    }
}

/// Events of a flight: packets that leave, how many ACKs bring them, whether the application had more,
/// how long nothing happens.
type Flight = (u64, u64, bool, u64);

fn flights() -> impl Strategy<Value = Vec<Flight>> {
    prop::collection::vec((1..60u64, 1..8u64, any::<bool>(), 0..3u64), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Shows BBR rate-limited, BBR rate-span, BBR rate-idle: flights that are acknowledged in full, by one ACK or
    /// several. Each sample is the draft's of one of the packets acknowledged; what leaves after everything was
    /// acknowledged is limited as long as no more is delivered than was in flight when the application had nothing.
    #[test]
    fn a_sample_is_the_drafts_of_that_packet(flights in flights(), whole in any::<bool>()) {
        let mut both = Both::<16>::new();
        for (packets, acks, limited, pause) in flights {
            both.send(packets);
            both.now += 30_000;
            let acks = if whole { 1 } else { acks.min(packets) };
            for nth in 0..acks {
                let left = both.inflight.len() as u64;
                let count = if nth + 1 == acks { left } else { packets / acks };
                let (ours, drafts) = both.ack(count, limited && nth + 1 == acks);
                if let Some(Sample { prior_delivered, rate, app_limited, .. }) = ours {
                    let rate = rate.map_or(0, |rate| rate.0);
                    prop_assert!(
                        drafts.contains(&(prior_delivered, rate, app_limited)),
                        "({prior_delivered}, {rate}, {app_limited}) is none of {drafts:?}"
                    );
                }
                both.now += 1;
            }
            prop_assert_eq!(both.ours.is_limited(), both.limited.is_some());
            // No pause: the next flight leaves when the ACK of this one comes.
            both.now += pause * 1_000;
        }
    }

    /// Shows BBR rate-marks, BBR3 samples-1: whatever a flight becomes, a burst into an empty pipe, one that
    /// doubles or trebles with each ACK, one that shrinks, samples are a quarter apart at most of what is in
    /// flight by then, or an ACK where that is more.
    #[test]
    fn marks_cover_the_whole_of_any_flight(
        first in 1..400u64, growth in 0..=3u64, every in 1..=4u64, rounds in 1..6u32,
    ) {
        let mut both = Both::<12>::new();
        both.send(first);
        let mut flight = first;
        for _ in 0..rounds {
            let (end, mut since) = (both.sent, 0);
            both.now += 30_000;
            while both.sent - (both.inflight.len() as u64) < end {
                flight = flight.max(both.inflight.len() as u64);
                let count = every.min(both.inflight.len() as u64);
                let (sample, _) = both.ack(count, false);
                since = if sample.is_some() { 0 } else { since + count };
                prop_assert!(
                    since <= flight / 4 + every,
                    "{since} packets without a sample, {flight} in flight"
                );
                both.send(count * growth);
                both.now += 1;
            }
            flight = both.inflight.len() as u64;
            if flight == 0 {
                break;
            }
        }
    }

    /// Flights of a few packets, each acknowledged in full before the next leaves, at once or later. The
    /// application is the limit all the time, so nothing fills the pipe.
    #[test]
    fn a_limited_connection_never_leaves_startup(
        flights in prop::collection::vec((1..10u64, 1..4u64, 0..300u64), 1..60),
        arm in prop::sample::select(&["bbr", "bbr3"][..]),
        tcp in any::<bool>(),
    ) {
        let transport = if tcp { Transport::Tcp } else { Transport::Quic };
        let mut rig = Rig::new(arm, transport, 10 * MSS);
        for (packets, acks, pause) in flights {
            rig.wait(pause);
            let idle = firstflight::Nanos::from_millis(pause);
            rig.c.before_send(&Ready { idle, ..rig.ready() });
            for _ in 0..packets {
                rig.send(MSS);
            }
            rig.wait(30);
            let acks = acks.min(packets);
            for nth in 0..acks {
                let left = rig.inflight() / MSS;
                let count = if nth + 1 == acks { left } else { packets / acks };
                let ack = rig.record(count * MSS);
                rig.deliver(&Told { cwnd_limited: false, app_limited: true, ..ack });
            }
            prop_assert!(rig.c.exit().is_none(), "{arm} left: {:?}", rig.c.exit());
        }
    }
}

/// The samples of flights that double from ten packets to 2560, with packets of so many bytes.
fn samples_of_doubling_flights(packet: u64) -> Vec<(u64, u64, u64)> {
    let cx = firstflight::with!(Context { mss: packet, ..hooks::quic(MSS) });
    let mut delivery = Delivery::<(), 12>::default();
    let (mut now, mut sent, mut acked, mut samples) = (0, 0, 0, Vec::new());
    let mut send = |delivery: &mut Delivery<(), 12>, now: u64, count: u64, acked: u64| {
        for _ in 0..count {
            sent += 1;
            let inflight = (sent - acked) * packet;
            let (now, nxt) = (Time(now * US), Seq(sent));
            delivery.mark(&Sent { now, bytes: packet, nxt, inflight, srtt: None }, &cx, || ());
        }
        sent
    };
    let mut end = send(&mut delivery, now, 10, 0);
    for _ in 0..9 {
        now += 30_000;
        let (flight, upto) = (end - acked, end);
        while acked < upto {
            acked += 2;
            let ack = Told {
                now: Time(now * US),
                acked: 2 * packet,
                tx_acked: Some(acked - 1),
                tx_next: end,
                ..Told::default()
            };
            let sample = delivery.reach(&ack.ack(), false, &ack.so_far(), |_| {});
            samples.extend(sample.map(|sample| {
                let rate = sample.rate.map_or(0, |rate| rate.0);
                (sample.prior_delivered, sample.delivered, rate)
            }));
            end = send(&mut delivery, now, 4, acked);
            now += 60_000 / flight;
        }
    }
    samples
}

/// Packets that are `k` times as large give the same samples `k` times as large, up to flights of 600 GB.
#[test]
fn samples_scale_with_the_amounts() {
    let one = samples_of_doubling_flights(1_000);
    for k in [10, 1_000, 10_000, 100_000] {
        let many = samples_of_doubling_flights(1_000 * k);
        assert_eq!(one.len(), many.len(), "as many samples with {k} times as much");
        for ((prior, delivered, rate), found) in one.iter().zip(many) {
            for (due, found) in
                [(prior * k, found.0), (delivered * k, found.1), (rate * k, found.2)]
            {
                // A rate is rounded to bytes per second, an amount to 256 bytes.
                let most = due / 1_000_000 + k.max(256);
                assert!(found.abs_diff(due) <= most, "{found}, not {due}, with {k} times as much");
            }
        }
    }
}

/// A round is over when something is acknowledged that left after it began: a flight that is acknowledged as a
/// whole is one round, with one ACK or with many. Those that name another end count by that one.
#[test]
fn a_flight_acknowledged_as_a_whole_is_one_round() {
    for transport in [Transport::Quic, Transport::Tcp] {
        for startup in STARTUPS {
            let name = startup.split('(').next().unwrap_or_default();
            if ["hystart", "hystart++", "best", "best-published", "chirping"].contains(&name) {
                continue;
            }
            for acks in [1, 2, 5] {
                let mut rig = Rig::new(startup, transport, 10 * MSS);
                for flight in 1..=4 {
                    rig.c.before_send(&rig.ready());
                    for _ in 0..10 {
                        rig.send(MSS);
                    }
                    rig.wait(30);
                    for _ in 0..acks {
                        rig.ack(10 / acks * MSS);
                    }
                    if rig.c.exit().is_some() {
                        break;
                    }
                    let rounds = rig.c.rounds();
                    assert_eq!(
                        rounds, flight,
                        "{startup} over {transport:?}, {acks} ACKs a flight"
                    );
                }
            }
        }
    }
}

/// Shows BBR3 samples-1: in Startup the best rate so far is that of a sampler of every packet, within an eighth,
/// no later than after a quarter of what is in flight or an ACK.
#[test]
fn a_flight_that_doubles_is_paced_by_the_rate_of_all_of_its_packets() {
    for (every, iw) in [(1, 10), (2, 10), (2, 32), (10, 10), (3, 100)] {
        let mut both = Both::<12>::new();
        let mut best = 0;
        // The draft's best rate when so many packets had been delivered.
        let mut drafts_best = vec![(0, 0)];
        both.send(iw);
        for round in 0..6 {
            let flight = both.inflight.len() as u64;
            both.now += 30_000;
            let (mut left, mut acks) = (flight, 0);
            while left > 0 {
                let count = every.min(left);
                let lag = (both.inflight.len() as u64 / 4).max(every);
                let (sample, drafts) = both.ack(count, false);
                left -= count;
                best = best.max(sample.and_then(|sample| sample.rate).map_or(0, |rate| rate.0));
                let latest = drafts.last().map_or(0, |draft| draft.1);
                let before = drafts_best.last().map_or(0, |&(_, rate)| rate);
                let delivered = both.delivered / MSS;
                drafts_best.push((delivered, before.max(latest)));
                let due = drafts_best.iter().rev().find(|&&(by, _)| by + lag <= delivered);
                let due = due.map_or(0, |&(_, rate)| rate);
                assert!(
                    best * 8 >= due * 7,
                    "{best} B/s of {due} on ACK {acks} of round {round}, {every} packets each"
                );
                both.send(2 * count);
                // The bottleneck spaces what comes back.
                both.now += count * 30_000 / (2 * flight);
                acks += 1;
            }
        }
    }
}
