//! Effects of a direction beyond rate, queue and independent loss, one after the other.

use firstflight_path::random::normal;
use firstflight_path::{
    Codepoint, DropCause, Fate, Forward, Link, Offered, Path, Purpose, Queue, Rate, Steps, Stream,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const DATA: u32 = 1500;
const ACK: u32 = 66;

fn path(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

fn links(text: &str, seed: u64) -> (Link, Link) {
    path(text)
        .links(DATA, ACK, seed, 0)
        .unwrap_or_else(|e| panic!("`{text}` should make links, but: {e}"))
}

fn forward(text: &str) -> Link {
    links(text, 1).0
}

fn arrival(fate: Fate) -> u64 {
    match fate {
        Fate::Deliver { at, .. } => at,
        other => panic!("the packet should be delivered, but: {other:?}"),
    }
}

fn departure(link: &mut Link, now: u64, len: u32) -> u64 {
    arrival(link.offer(now, len)) - link.propagation()
}

#[test]
fn an_effect_that_does_nothing_leaves_every_packet_where_it_was() {
    let plain = "rate=933.1Mbit,rtt=20ms,queue=40pkt,loss=2%";
    for idle in [
        "steps=1s:933.1Mbit",
        "loss_every=1000000000",
        "loss_until=100s",
        "policer=933Mbit:100s",
        "jitter=0s",
        "ecn=100s",
    ] {
        let (mut a, mut b) = (forward(plain), forward(&format!("{plain},{idle}")));
        for k in 0..200_000_u64 {
            let (now, len) = (k / 60 * 60 * 12_400, 1000 + (k % 3) as u32 * 250);
            assert_eq!(a.offer(now, len), b.offer(now, len), "packet {k} with {idle}");
            assert_eq!(a.queued_bytes(now), b.queued_bytes(now), "queue at packet {k} with {idle}");
        }
    }
}

// Steps and outages

#[test]
fn a_packet_that_spans_a_change_of_rate_is_served_at_both() {
    // 8 Mbit/s is a byte per microsecond: 1000 B are through when the rate doubles, the other 500 B
    // take half the time.
    let mut link =
        forward("rate=8Mbit,steps=1ms:16Mbit/2ms:off/5ms:8Mbit,rtt=100ms,queue=unlimited");
    assert_eq!(departure(&mut link, 0, DATA), 1_250_000);
    assert_eq!(departure(&mut link, 0, DATA), 2 * MS, "it ends with the last moment of the rate");
    assert_eq!(
        departure(&mut link, 0, DATA),
        6_500_000,
        "nothing is sent in the outage from 2 to 5 ms"
    );
    assert_eq!(departure(&mut link, 0, DATA), 8 * MS, "the last rate stays");
}

proptest! {
    #[test]
    fn departures_under_changing_rates_are_exact(
        first in 1_000_000_u64..100_000_000, gaps in prop::collection::vec((1_u64..3_000_000, prop_oneof![Just(0_u64), 1_000_000_u64..100_000_000]), 1..8),
        packets in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..1_000_000], 40_u32..1501), 1..80),
    ) {
        let mut at = 0;
        let mut then: Vec<(u64, u64)> = gaps.iter().map(|(gap, rate)| { at += gap; (at, *rate) }).collect();
        then.push((at + 1, 10_000_000));
        let path = Path::with_rate(Rate::Steps(Steps { first, then: then.clone().into() }), 100 * MS).with_queue(Queue::Unlimited);
        let (mut link, _) = path.links(DATA, ACK, 1, 0).expect("links");
        // Work done by time t from time s on, in bit/s x ns, added up piece by piece.
        let pieces: Vec<(u64, u64)> = std::iter::once((0, first)).chain(then).collect();
        let work = |from: u64, to: u64| -> u128 {
            pieces.iter().enumerate().map(|(k, (start, rate))| {
                let end = pieces.get(k + 1).map_or(u64::MAX, |(next, _)| *next);
                u128::from(*rate) * u128::from(to.min(end).saturating_sub(from.max(*start)))
            }).sum()
        };
        // A busy period's k-th departure is the first nanosecond whose end has done all its work.
        let (mut now, mut start, mut total, mut last) = (0_u64, 0_u64, 0_u128, 0_u64);
        for (gap, len) in packets {
            now += gap;
            if now > last {
                (start, total) = (now, 0);
            }
            total += u128::from(len) * 8_000_000_000;
            last = departure(&mut link, now, len);
            prop_assert!(work(start, last) <= total, "by {} more is done than there was", last);
            prop_assert!(work(start, last + 1) > total || work(start, last) == total, "by {} it should have been done", last);
        }
    }
}

/// One step per 100 ms of the logarithm: x' = exp(-step / tau) x + sd sqrt(1 - exp(-2 step / tau)) z,
/// begun in the stationary distribution.
#[test]
fn a_wandering_rate_takes_the_steps_of_its_process() {
    let mut link = forward("rate=100Mbit,wander=0.3:500ms,rtt=100ms,queue=unlimited");
    let draws = Stream::new(1, 0, Purpose::ForwardRate);
    let keep = (-0.2_f64).exp();
    let mut x = 0.0;
    for step in 0..50 {
        let z = normal(draws.value(step));
        x = if step == 0 { 0.3 * z } else { keep * x + 0.3 * (1.0 - keep * keep).sqrt() * z };
        let rate = 100e6 * x.exp().clamp(0.2, 5.0);
        let now = step * 100 * MS;
        let took = arrival(link.offer(now, DATA)) - now - link.propagation();
        let expected = 12_000.0 * 1e9 / rate;
        assert!(
            (took as f64 - expected).abs() <= 2.0,
            "a packet of step {step} takes {took} ns, {expected} at {rate} bit/s"
        );
    }
}

#[test]
fn a_wandering_rate_stays_around_its_median_with_the_stated_spread() {
    let mut link = forward("rate=100Mbit,wander=0.3:1s,rtt=100ms,queue=unlimited");
    let mut bytes = vec![0_u64; 20_000];
    let mut now = 0;
    for _ in 0..20_000_000_u64 {
        now = departure(&mut link, now, DATA);
        let Some(window) = bytes.get_mut((now / (100 * MS)) as usize) else { break };
        *window += u64::from(DATA);
    }
    let logs = logs_of(&bytes[..19_000]);
    assert!(
        (-30..=30).contains(&logs.0),
        "mean of the logarithm: {}/1000, expected about 0",
        logs.0
    );
    assert!(
        (270..=330).contains(&logs.1),
        "its standard deviation: {}/1000, expected about 300",
        logs.1
    );
    let nominal = 1_250_000;
    assert!(
        bytes[..19_000].iter().all(|b| *b > nominal / 5 - 3000 && *b < nominal * 5 + 3000),
        "clipped to a fifth and five times"
    );
}

/// Mean and standard deviation of ln(bytes / 1.25 MB), in 1/1000.
fn logs_of(bytes: &[u64]) -> (i64, i64) {
    let logs: Vec<f64> = bytes.iter().map(|b| (*b as f64 / 1.25e6).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / logs.len() as f64;
    ((mean * 1000.0).round() as i64, (variance.sqrt() * 1000.0).round() as i64)
}

// Poisson opportunities

#[test]
fn poisson_members_reach_their_rate_in_the_first_second() {
    for (name, bps) in [
        ("pantheon6/nepal", 570_000_u64),
        ("pantheon6/mexico-cell", 2_640_000),
        ("pantheon6/colombia-cell", 3_040_000),
    ] {
        let path = path(name).with_loss_ppb(0).with_queue(Queue::Unlimited);
        for way in 0..2 {
            let mut packets = 0_u64;
            for seed in 0..1000 {
                let (forward, reverse) = path.links(DATA, ACK, seed, 0).expect("links");
                let mut link = if way == 0 { forward } else { reverse };
                while departure(&mut link, 0, DATA) <= SECOND {
                    packets += 1;
                }
            }
            let expected = bps * 1000 / 12_000;
            assert!(
                packets.abs_diff(expected) * 50 <= expected,
                "{name}, way {way}: {packets} packets in 1000 s, expected {expected} +- 2 %"
            );
        }
    }
}

#[test]
fn a_lead_in_is_slots_of_100_ms() {
    let mut link = forward("rate=poisson:2.64Mbit,lead_in=50,rtt=176ms,queue=unlimited");
    let times: Vec<u64> = (0..60).map(|_| departure(&mut link, 0, DATA)).collect();
    assert!(
        times.iter().take(50).enumerate().all(|(k, at)| *at == (k as u64 + 1) * 100 * MS),
        "{times:?}"
    );
    assert!(
        times[50..].windows(2).any(|pair| (pair[1] - pair[0]) % MS != 0),
        "then they are random"
    );
    let mut link = forward("rate=poisson:2.64Mbit,ms_slots,rtt=176ms,queue=unlimited");
    assert!(
        (0..1000).all(|_| departure(&mut link, 0, DATA).is_multiple_of(MS)),
        "whole milliseconds"
    );
}

#[test]
fn both_directions_of_a_poisson_path_have_slots_of_their_own() {
    let (mut there, mut back) = links("pantheon6/mexico-cell", 1);
    let times = |link: &mut Link| (0..50).map(|_| departure(link, 0, DATA)).collect::<Vec<u64>>();
    assert_ne!(times(&mut there), times(&mut back));
}

// T7: policer

#[test]
fn a_policer_may_hold_a_packet_and_no_less() {
    // At 12 Mbit/s a millisecond is 1500 bytes.
    assert_eq!(
        path("rate=1Gbit,rtt=10ms,queue=10ms,policer=12Mbit:1ms").rate().bps(),
        1_000_000_000
    );
    let refused = Path::parse("rate=1Gbit,rtt=10ms,queue=10ms,policer=12Mbit:999us");
    assert!(refused.is_err(), "1498 bytes never hold a packet: {refused:?}");
}

#[test]
fn a_saturated_policer_passes_its_bucket_and_its_rate() {
    // 12 Mbit/s, bucket 10 ms = 15 000 B. Offered at 1 Gbit/s for a second.
    let mut link = forward("rate=1Gbit,rtt=20ms,queue=unlimited,policer=12Mbit:10ms");
    let mut passed = 0_u64;
    for k in 0..83_333_u64 {
        match link.offer(k * 12_000, DATA) {
            Fate::Deliver { .. } => passed += u64::from(DATA),
            Fate::Drop(DropCause::Policer) => {}
            other => panic!("packet {k}: {other:?}"),
        }
    }
    // Up to the last offer after 999.984 ms.
    let allowance = 15_000 + 1_499_976;
    assert!(
        passed <= allowance && passed + u64::from(DATA) > allowance,
        "{passed} B pass, {allowance} B were allowed"
    );
}

proptest! {
    #[test]
    fn over_any_interval_a_policer_passes_at_most_bucket_and_rate_and_adds_no_delay(
        rate in 1_000_000_u64..100_000_000, bucket_ms in 10_u64..200, arrivals in prop::collection::vec((0_u64..3_000_000, 40_u32..1501), 1..200),
    ) {
        prop_assume!(rate * bucket_ms / 8000 >= 1500);
        let text = format!("rate=10Gbit,rtt=20ms,queue=unlimited,policer={rate}bit:{bucket_ms}ms");
        let (mut policed, mut free) = (forward(&text), forward("rate=10Gbit,rtt=20ms,queue=unlimited"));
        let bucket_bits_ns = u128::from(rate) * u128::from(bucket_ms * MS);
        let (mut now, mut passed) = (0, Vec::new());
        for (gap, len) in arrivals {
            now += gap;
            match policed.offer(now, len) {
                Fate::Drop(cause) => prop_assert_eq!(cause, DropCause::Policer),
                fate => {
                    prop_assert_eq!(fate, free.offer(now, len), "no delay is added");
                    passed.push((now, u128::from(len) * 8_000_000_000));
                }
            }
        }
        for (k, (from, _)) in passed.iter().enumerate() {
            let mut sum = 0;
            for (to, work) in &passed[k..] {
                sum += work;
                let most = bucket_bits_ns + u128::from(rate) * u128::from(to - from);
                prop_assert!(sum <= most, "between {} and {} ns more passes than bucket and rate", from, to);
            }
        }
    }
}

// Loss in bursts

#[test]
fn gilbert_elliott_losses_come_in_bursts_of_the_stated_length_and_share() {
    // Bad 0.5 % / (0.5 % + 20 %) of the time, all lost there, none in good: 2.44 % in bursts of 5
    // on average.
    let mut link = forward("rate=10Gbit,rtt=10ms,queue=unlimited,ge=0.5%:5:100%:0");
    let lost: Vec<bool> = (0..1_000_000_u64)
        .map(|k| matches!(link.offer(k * 2000, DATA), Fate::Drop(DropCause::Random)))
        .collect();
    let count = lost.iter().filter(|lost| **lost).count();
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    assert!(
        (23_400..=25_400).contains(&count),
        "{count} of a million are lost, expected about 24 390"
    );
    let length = count * 100 / bursts;
    assert!((480..=520).contains(&length), "bursts of {length}/100 packets, expected 5");
}

#[test]
fn a_path_spares_the_packets_before_the_first_that_its_losses_take() {
    for (seed, keys) in [
        (1, "loss=1%"),
        (2, "ge=0.5%:2:90%:0"),
        (3, "ge=2%:3:50%:0.1%"),
        (4, "loss_every=70"),
        (5, "loss=0%"),
    ] {
        let path = Path::parse(&format!("rate=1Gbit,rtt=10ms,queue=1000ms,{keys}")).expect(keys);
        let (mut link, _) = path.links(DATA, 40, seed, 7).expect("not driven");
        let first =
            (0..400u64).find(|k| link.offer(k * 100_000, DATA) == Fate::Drop(DropCause::Random));
        for count in [0, 1, 30, 100, 400] {
            let spared = path.falls(seed, 7, count).expect("a path").next().is_none();
            assert_eq!(
                spared,
                first.is_none_or(|first| first >= count),
                "{keys}: {first:?}, {count}"
            );
        }
    }
}

#[test]
fn losses_that_end_are_the_same_until_then_and_none_afterwards() {
    let end = 100 * MS;
    for keys in
        ["loss=30%", "ge=2%:3:50%:0.1%", "loss_every=7", "loss=30%,fq_codel", "loss=30%,pie"]
    {
        let fates = |keys: &str| -> Vec<(u64, Fate)> {
            let path = path(&format!("rate=1Gbit,rtt=10ms,queue=unlimited,{keys}"));
            let times = (0..2000_u64).map(|k| k * 100_000);
            match path.open_driven(DATA, ACK, 1, 0).expect("a path").0 {
                Forward::Link(mut link) => times.map(|now| (now, link.offer(now, DATA))).collect(),
                Forward::Driven(mut path) => times
                    .map(|now| {
                        path.offer(
                            now,
                            Offered { id: 0, len: DATA, flow: 0, codepoint: Codepoint::NotEct },
                        );
                        (now, path.poll(now).expect("an idle link serves at once").fate)
                    })
                    .collect(),
            }
        };
        let (lasting, ending) = (fates(keys), fates(&format!("{keys},loss_until=100ms")));
        let lost = |fate: &Fate| *fate == Fate::Drop(DropCause::Random);
        for ((now, always), (_, until)) in lasting.iter().zip(&ending) {
            let expected = lost(always) && *now < end;
            assert_eq!(
                lost(until),
                expected,
                "{keys}: {until:?} at {now} ns, losses end at {end} ns"
            );
        }
        for (from, part) in [("before", &lasting[..1000]), ("after", &lasting[1000..])] {
            let count = part.iter().filter(|(_, fate)| lost(fate)).count();
            assert!(
                count > 10,
                "{keys}: {count} of 1000 are lost {from} the end where losses last"
            );
        }
    }
}

#[test]
fn which_packets_fall_is_unknown_where_losses_end() {
    let path = path("rate=1Gbit,rtt=10ms,loss=1%,loss_until=2s");
    let refused = path.falls(1, 0, 10).err().expect("times decide").to_string();
    assert!(refused.contains("depends on when they are sent"), "{refused}");
}

#[test]
fn a_path_whose_losses_were_cleared_may_keep_their_end() {
    let cleared = path("rate=1Gbit,rtt=10ms,loss=1%,loss_until=2s").with_loss_ppb(0);
    assert!(cleared.links(DATA, ACK, 1, 0).is_ok(), "testbeds clear losses before a trial");
}

#[test]
fn bursts_hit_the_same_ordinals_whatever_is_sent_when() {
    let text = "rate=10Mbit,rtt=100ms,queue=10pkt,ge=1%:3:80%:0.1%,loss_every=64";
    let random = |gap: u64, len: u32| -> Vec<u64> {
        let mut link = forward(text);
        (0..5000).filter(|k| link.offer(k * gap, len) == Fate::Drop(DropCause::Random)).collect()
    };
    let slow = random(2 * MS, DATA);
    assert_eq!(random(3 * MS, 40), slow, "without queue drops the same ordinals are lost");
    assert!(slow.contains(&63) && slow.contains(&127), "every 64th is among them");
    // With queue drops the survivors among those ordinals are lost.
    let fast = random(MS / 10, DATA);
    assert!(!fast.is_empty() && fast.iter().all(|k| slow.contains(k)), "no other ordinal is lost");
}

// Jitter, reordering, duplication

#[test]
fn jitter_keeps_the_order_and_the_least_delay() {
    for (text, most) in
        [("jitter=5ms", 5 * MS), ("jitter=2ms-5ms", 5 * MS), ("jitter=normal:3ms:1ms", 10 * MS)]
    {
        let mut link = forward(&format!("rate=100Mbit,rtt=30ms,queue=unlimited,{text}"));
        let base = 120_000 + link.propagation();
        let mut last = 0;
        let extras: Vec<u64> = (0..10_000_u64)
            .map(|k| {
                let now = k * 20 * MS;
                let at = arrival(link.offer(now, DATA));
                assert!(at >= last, "order with {text}");
                last = at;
                at - now - base
            })
            .collect();
        let mean = extras.iter().sum::<u64>() / 10_000;
        let (least, expected) = if text == "jitter=5ms" {
            (0, 2_500_000)
        } else if text.contains('-') {
            (2 * MS, 3_500_000)
        } else {
            (0, 3 * MS)
        };
        assert!(
            extras.iter().all(|extra| (least..=most).contains(extra)),
            "{text}: between {least} and {most}"
        );
        assert!(
            mean.abs_diff(expected) < 60_000,
            "{text}: mean extra delay {mean} ns, expected {expected}"
        );
        let mut dense = forward(&format!("rate=100Mbit,rtt=30ms,queue=unlimited,{text}"));
        let times: Vec<u64> =
            (0..1000_u64).map(|k| arrival(dense.offer(k * 120_000, DATA))).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "order at full rate with {text}");
    }
}

#[test]
fn reordered_packets_are_late_and_the_others_are_not() {
    let mut link = forward("rate=100Mbit,rtt=30ms,queue=unlimited,reorder=9%:3ms:1%:21ms");
    let base = 120_000 + link.propagation();
    let late: Vec<u64> = (0..100_000_u64)
        .map(|k| arrival(link.offer(k * 120_000, DATA)) - k * 120_000 - base)
        .filter(|extra| *extra > 0)
        .collect();
    assert!(
        (9_700..=10_300).contains(&late.len()),
        "{} of 100 000 are late, expected 10 000",
        late.len()
    );
    let mean = late.iter().sum::<u64>() / late.len() as u64;
    // 9 parts of 3 ms and one of 21 ms.
    assert!(
        mean.abs_diff(4_800_000) < 250_000,
        "they are late by {mean} ns on average, expected 4.8 ms"
    );
}

#[test]
fn duplicates_arrive_at_once_and_at_the_stated_share() {
    let mut link = forward("rate=100Mbit,rtt=30ms,queue=unlimited,dup=1%");
    let mut twice = 0;
    for k in 0..100_000_u64 {
        match link.offer(k * 120_000, DATA) {
            Fate::Duplicate { at, again, .. } => {
                assert!(again >= at);
                twice += 1;
            }
            fate => assert_eq!(arrival(fate), k * 120_000 + 120_000 + link.propagation()),
        }
    }
    assert!((900..=1100).contains(&twice), "{twice} of 100 000 arrive twice");
}

// Position of the delay, and additional bytes per packet

// T3: only the sum of the delays may matter to a single sender.
#[test]
fn moving_the_delay_leaves_every_ack_at_its_nanosecond() {
    let text = "rate=20Mbit,rtt=40ms,queue=20pkt,loss=1%,up=1Mbit";
    let run = |delay: &str| -> (Vec<u64>, Vec<u64>) {
        let (mut there, mut back) = links(&format!("{text},delay={delay}"), 1);
        let (mut receiver, mut sender) = (Vec::new(), Vec::new());
        for k in 0..2000_u64 {
            if let Fate::Deliver { at, .. } = there.offer(k * 500_000, DATA) {
                receiver.push(at);
                sender.push(arrival(back.offer(at, ACK)));
            }
        }
        (receiver, sender)
    };
    let (even, acks) = run("even");
    for delay in ["before", "behind"] {
        let (shifted, same) = run(delay);
        assert_eq!(same, acks, "ACKs with delay={delay}");
        let shift = shifted[0] - even[0];
        assert!(
            shift > 0 && even.iter().zip(&shifted).all(|(a, b)| b - a == shift),
            "receiver times shift by a constant with delay={delay}"
        );
    }
}

#[test]
fn overhead_counts_in_the_queue_and_on_the_wire() {
    let mut link = forward("rate=8Mbit,rtt=100ms,queue=3160B,overhead=80B");
    assert_eq!(departure(&mut link, 0, DATA), 1_580_000);
    assert_eq!(departure(&mut link, 0, DATA), 3_160_000);
    assert_eq!(departure(&mut link, 0, DATA), 4_740_000);
    assert_eq!(link.queued_bytes(0), 3160);
    assert_eq!(link.offer(0, 1), Fate::Drop(DropCause::Queue));
    let path = path("neqo/dsl");
    let (mut there, mut back) = path.links(1332, 60, 1, 0).expect("links");
    assert_eq!(
        arrival(back.offer(arrival(there.offer(0, 1332)), 60)),
        path.rtt(),
        "the idle RTT includes it"
    );
}

// Hand-overs

#[test]
fn hand_overs_change_rate_and_delay_every_15_seconds_in_both_directions() {
    let text = "rate=100Mbit,rtt=30ms,queue=unlimited,return=leo:10ms:0.5-1.5:0%:0ms:0ms";
    let (mut there, mut back) = links(text, 5);
    let nominal = (there.propagation(), back.propagation());
    let mut boundaries = Vec::new();
    let mut before = None;
    for k in 0..1500_u64 {
        // Further apart than a delay can shrink, so that no packet is held back by the one before.
        let now = k * 40 * MS;
        let (data, ack) =
            (arrival(there.offer(now, DATA)) - now, arrival(back.offer(now, DATA)) - now);
        let seen = (data, ack);
        if before.is_some_and(|before| before != seen) {
            boundaries.push((now, data, ack));
        }
        before = Some(seen);
    }
    assert_eq!(boundaries.len(), 4, "four boundaries in a minute: {boundaries:?}");
    for pair in boundaries.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, 15 * SECOND);
    }
    for (now, data, ack) in boundaries {
        let delay = |at: u64, nominal: u64| at.abs_diff(nominal) <= 10 * MS + 240_000;
        assert!(
            delay(data, nominal.0) && delay(ack, nominal.1),
            "at {now}: {data} and {ack} ns against {nominal:?} nominal"
        );
    }
}

#[test]
fn packets_around_a_hand_over_are_late_but_in_order() {
    let steady = "rate=100Mbit,rtt=30ms,queue=unlimited,return=leo:0ms:1:0%:0ms:0ms";
    let (mut there, _) = links("rate=100Mbit,rtt=30ms,queue=unlimited,return=leo:0ms:1", 5);
    let (mut calm, _) = links(steady, 5);
    let mut late = Vec::new();
    let mut last = 0;
    for k in 0..40_000_u64 {
        let now = k * MS;
        let (a, b) = (arrival(there.offer(now, DATA)), arrival(calm.offer(now, DATA)));
        assert!(
            a >= b && a <= b + 20 * MS && a >= last,
            "packet {k} arrives at {a}, at {b} without disturbance"
        );
        last = a;
        if a > b {
            late.push(k);
        }
    }
    let windows: Vec<&[u64]> = late.chunk_by(|a, b| b - a < 1000).collect();
    assert!(
        (2..=3).contains(&windows.len()),
        "two or three boundaries in 40 s, seen {}",
        windows.len()
    );
    for window in windows {
        let length = window[window.len() - 1] - window[0];
        assert!(
            (190..=236).contains(&length),
            "disturbed for {length} ms, expected 75 + 140 and up to 20 until order is restored"
        );
    }
}

#[test]
fn a_hand_over_may_lose_packets_in_a_burst() {
    let (mut there, _) = links("rate=100Mbit,rtt=30ms,queue=unlimited,return=leo:0ms:1:100%", 5);
    let lost: Vec<u64> = (0..60_000_u64)
        .filter(|k| there.offer(k * MS, DATA) == Fate::Drop(DropCause::Random))
        .collect();
    let bursts: Vec<&[u64]> = lost.chunk_by(|a, b| b - a < 1000).collect();
    assert_eq!(bursts.len(), 4, "a burst behind each of four boundaries");
    for burst in bursts {
        let length = burst[burst.len() - 1] - burst[0];
        assert!(length <= 200, "a burst of {length} ms");
    }
}

// T8: nothing depends on anything but path, seed and what is offered.

const EVERYTHING: &str = "rate=50Mbit,wander=0.3,rtt=60ms,queue=100pkt,policer=49Mbit:50ms,codel,ge=0.5%:4:50%:0.1%,loss_every=100,jitter=2ms,\
     reorder=1%:3ms,dup=0.5%,up=5Mbit,up_pie,up_ge=1%:2:50%,up_jitter=normal:1ms:1ms,overhead=20B";

#[test]
fn two_runs_are_equal_and_another_seed_differs() {
    let run = |seed: u64| -> Vec<Fate> {
        let (mut there, mut back) = links(EVERYTHING, seed);
        (0..20_000_u64)
            .flat_map(|k| [there.offer(k * 200_000, DATA), back.offer(k * 200_000, ACK)])
            .collect()
    };
    let first = run(1);
    assert!(run(1) == first, "the same seed gives the same fates");
    assert!(run(2) != first, "another seed gives others");
    let (mut there, _) = links(EVERYTHING, 2);
    (0..500_u64)
        .for_each(|k| assert_ne!(there.offer(k * 100_000, DATA), Fate::Drop(DropCause::TraceEnd)));
    there.reset(1, 0);
    let again: Vec<Fate> = (0..20_000_u64).map(|k| there.offer(k * 200_000, DATA)).collect();
    assert!(again.iter().eq(first.iter().step_by(2)), "a reset link is as good as new");
}

fn effect() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        ",policer=5Mbit:20ms",
        ",codel",
        ",pie",
        ",pie=5ms,ecn",
        ",ecn=5ms",
        ",ge=1%:3:80%",
        ",loss=5%,loss_every=7",
        ",jitter=3ms",
        ",jitter=normal:2ms:2ms",
        ",dup=3%",
        ",steps=20ms:1Mbit/50ms:off/80ms:30Mbit",
        ",wander=0.5:200ms",
        ",delay=before",
        ",return=leo",
        ",overhead=80B,codel=1ms:20ms",
    ])
}

proptest! {
    // T5: each packet meets exactly one fate; nothing arrives before it could, nor out of order, nor beyond the limit of the queue.
    #[test]
    fn with_any_effect_order_limit_and_least_delay_hold(
        effect in effect(), rate in prop::sample::select(vec!["8Mbit", "20Mbit", "poisson:9Mbit"]),
        arrivals in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..5_000_000, 0_u64..300_000], 40_u32..1501), 1..300),
    ) {
        prop_assume!(!(rate.starts_with("poisson") && (effect.contains("steps") || effect.contains("wander") || effect.contains("leo"))));
        let text = format!("rate={rate},rtt=50ms,queue=20kB{effect}");
        let (mut link, _) = links(&text, 3);
        let (mut now, mut last) = (0, 0);
        let least = if effect.contains("leo") { link.propagation().saturating_sub(10 * MS) } else { link.propagation() };
        for (gap, len) in arrivals {
            now += gap;
            prop_assert!(link.queued_bytes(now) <= link.capacity());
            match link.offer(now, len) {
                Fate::Deliver { at, waited, .. } | Fate::Duplicate { at, waited, .. } => {
                    prop_assert!(at >= last, "{}: {} after {}", text, at, last);
                    prop_assert!(at >= now + waited + least, "{}: arrives {} ns after the offer and waits {}", text, at - now, waited);
                    last = at;
                }
                Fate::Drop(_) => {}
            }
        }
        prop_assert_eq!(link.queued_bytes(now + 1000 * SECOND), 0, "the queue drains");
    }
}
