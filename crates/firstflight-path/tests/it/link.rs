//! The constant-rate link: exact departures, the queue rule, conservation, loss by ordinal.

use firstflight_path::random::{Purpose, Stream};
use firstflight_path::{DropCause, Fate, Link, Path, Queue, Rate};
use proptest::prelude::*;

const DATA: u32 = 1500;
const ACK: u32 = 66;

fn links(path: &Path) -> (Link, Link) {
    path.links(DATA, ACK, 1, 0).unwrap_or_else(|e| panic!("{path} should make links, but: {e}"))
}

fn named(text: &str) -> Path {
    Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"))
}

fn arrival(fate: Fate) -> u64 {
    match fate {
        Fate::Deliver { at, .. } => at,
        other => panic!("the packet should be delivered, but: {other:?}"),
    }
}

/// A flight that is told at once is its packets offered one after the other; where one might be lost there is
/// none.
#[test]
fn a_flight_is_its_packets_offered_one_by_one() {
    for rate in [933_100_000, 5_000_000, 570_000] {
        let path = Path::new(rate, 200_000_000).with_queue(Queue::Packets(30));
        let ((mut single, _), (mut together, _)) = (links(&path), links(&path));
        let mut now = 12_345;
        assert!(together.flight(now, DATA, 1).is_none(), "nothing is known of sizes");
        assert_eq!(together.offer(now, DATA), single.offer(now, DATA));
        for (count, later) in [(7, 0), (20, 1_000), (11, 5_000_000_000), (25, 9_000_000_000)] {
            now += later;
            let mut flight = together.flight(now, DATA, count).expect("room for all of them");
            let latest = flight.latest(flight.serving(count));
            for k in 0..count {
                let (waits, at) = flight.next_arrival();
                let due = Fate::Deliver { at, waited: waits, marked: false };
                assert_eq!(single.offer(now, DATA), due, "packet {k} of {count} at {rate} bit/s");
                assert!(at <= latest, "{at} is later than {latest}");
            }
            together.take_off(&flight, count);
        }
        assert_eq!(together.queued_bytes(now), single.queued_bytes(now));
        assert!(together.flight(now, DATA, 30).is_none(), "the queue holds no more");
        assert_eq!(
            together.offer(now, DATA),
            single.offer(now, DATA),
            "and what follows is the same"
        );
        assert!(together.flight(now + 9_000_000_000, ACK, 1).is_none(), "of another size");
    }
    let (mut lossy, _) = links(&named("rate=5Mbit,rtt=200ms,queue=30pkt,loss=1%"));
    assert!(lossy.flight(0, DATA, 1).is_none(), "any of them may be lost");
}

// T1: serialization is never rounded per packet. T2: nor does the remainder get lost over a million
// packets.
#[test]
fn departure_k_of_a_busy_period_is_at_the_floor_of_its_bits_over_the_rate() {
    let mut ends = Vec::new();
    for rate in [
        570_000_u64,
        5_000_000,
        8_000_000,
        20_000_000,
        100_000_000,
        933_100_000,
        1_000_000_000,
        10_000_000_000,
    ] {
        let path = Path::new(rate, 200_000_000).with_queue(Queue::Unlimited);
        let (mut link, _) = links(&path);
        let start = 12_345;
        let mut bits = 0_u128;
        for k in 0_u64..20_000 {
            // A mix of lengths, so that cached divisions are exercised as well.
            let len = if k % 7 == 3 { 40 + (k % 1400) as u32 } else { DATA };
            bits += u128::from(len) * 8;
            let expected = start + (bits * 1_000_000_000 / u128::from(rate)) as u64;
            let departed = arrival(link.offer(start, len)) - link.propagation();
            assert_eq!(departed, expected, "departure {k} at {rate} bit/s");
        }
        ends.push(arrival(link.offer(start, DATA)) - link.propagation());
    }
    assert!(
        ends.windows(2).all(|pair| pair[1] < pair[0]),
        "each higher rate ends earlier: {ends:?}"
    );
}

#[test]
fn a_million_packets_at_933_1_megabit_end_at_the_closed_form() {
    let path = Path::new(933_100_000, 30_000_000).with_queue(Queue::Packets(64));
    let (mut link, _) = links(&path);
    let mut end = 0;
    for k in 0_u64..1_000_000 {
        // Offered just in time to keep the link busy without filling the queue.
        let now = (k.saturating_sub(10) * 12_000 * 1_000_000_000).div_ceil(933_100_000);
        end = arrival(link.offer(now, DATA)) - link.propagation();
    }
    let expected = (1_000_000_u128 * 12_000 * 1_000_000_000 / 933_100_000) as u64;
    assert_eq!(
        end, expected,
        "the last of a million departures is at {end} instead of {expected} ns"
    );
}

// T3: the stated RTT is the first sample, to the nanosecond.
#[test]
fn the_first_round_trip_takes_exactly_the_idle_rtt() {
    for text in [
        "rapid-slide",
        "geo",
        "5g",
        "gvisor",
        "rate=933.1Mbit,rtt=33.333333ms,up=1.7Mbit",
        "pantheon6/korea-china",
        "pico/sat-2-10",
    ] {
        let path = named(text).with_loss_ppb(0);
        let (mut forward, mut reverse) = links(&path);
        let sent = 777;
        let back = arrival(reverse.offer(arrival(forward.offer(sent, DATA)), ACK));
        assert_eq!(back - sent, path.rtt(), "first round trip on {text}");
        assert!(
            reverse.propagation() - forward.propagation() <= 1,
            "the propagation is split evenly on {text}"
        );
    }
}

#[test]
fn the_reverse_link_is_ten_times_as_fast_unless_stated() {
    let (_, mut reverse) = links(&named("rate=8Mbit,rtt=100ms"));
    assert_eq!(
        arrival(reverse.offer(0, 1000)) - reverse.propagation(),
        100_000,
        "1000 B at 80 Mbit/s take 100 us"
    );
    let (_, mut reverse) = links(&named("rate=8Mbit,rtt=100ms,up=1Mbit"));
    assert_eq!(
        arrival(reverse.offer(0, 1000)) - reverse.propagation(),
        8_000_000,
        "1000 B at 1 Mbit/s take 8 ms"
    );
}

#[test]
fn a_packet_is_dropped_when_the_waiting_bytes_and_its_own_exceed_the_capacity() {
    // 8 Mbit/s: one byte per microsecond. The capacity holds exactly three packets.
    let (mut link, _) = links(&named("rate=8Mbit,rtt=100ms,queue=4500B"));
    assert!(
        matches!(link.offer(0, DATA), Fate::Deliver { waited: 0, .. }),
        "the first goes into service at once"
    );
    assert_eq!(link.queued_bytes(0), 0, "a packet in service does not wait");
    for k in 1..=3 {
        assert!(
            matches!(link.offer(0, DATA), Fate::Deliver { waited, .. } if waited == k * 1_500_000),
            "packet {k} waits"
        );
    }
    assert_eq!(link.queued_bytes(0), 4500, "exactly full");
    assert_eq!(link.offer(0, 1), Fate::Drop(DropCause::Queue), "one byte more is one too many");
    assert_eq!(
        link.offer(1_499_999, 1),
        Fate::Drop(DropCause::Queue),
        "a nanosecond before the departure it is still full"
    );
    assert!(
        matches!(link.offer(1_500_000, DATA), Fate::Deliver { .. }),
        "the departure at an instant makes room for the offer at that instant"
    );
    assert_eq!(link.queued_bytes(1_500_000), 4500);
    assert_eq!(link.queued_bytes(u64::MAX), 0, "everything has left in the end");
}

// T9: what one direction loses depends on nothing but seed, path and the ordinals of that
// direction.
#[test]
fn loss_is_keyed_by_ordinal_and_direction() {
    let path = named("rate=10Gbit,rtt=100ms,queue=unlimited,loss=3%,up_loss=7%");
    let lost = |link: &mut Link, gap: u64, len: u32| -> Vec<u64> {
        (0..20_000_u64)
            .filter(|k| link.offer(k * gap, len) == Fate::Drop(DropCause::Random))
            .collect()
    };
    let (mut forward, mut reverse) = links(&path);
    let (data, acks) = (lost(&mut forward, 10_000, DATA), lost(&mut reverse, 20_000, ACK));
    let (mut forward, mut reverse) = links(&path);
    lost(&mut reverse, 5_000, ACK);
    assert_eq!(
        lost(&mut forward, 3, 700),
        data,
        "other times, lengths and ACKs: the same ordinals are lost"
    );
    assert_ne!(data, acks, "the directions have draws of their own");
    for (name, purpose, ppb, seen) in [
        ("forward", Purpose::ForwardLoss, 30_000_000_u128, &data),
        ("reverse", Purpose::ReverseLoss, 70_000_000, &acks),
    ] {
        let stream = Stream::new(1, 0, purpose);
        // u = (m + 1/2) / 2^53 below the probability, in whole numbers.
        let falls =
            |k: &u64| (2 * u128::from(stream.value(*k) >> 11) + 1) * 1_000_000_000 < ppb << 54;
        assert_eq!(
            seen,
            &(0..20_000).filter(falls).collect::<Vec<_>>(),
            "{name} losses follow the definition of u"
        );
    }
    let mut again = links(&path);
    again.0.reset(2, 0);
    assert_ne!(lost(&mut again.0, 10_000, DATA), data, "another seed loses others");
    again.0.reset(1, 0);
    assert_eq!(lost(&mut again.0, 10_000, DATA), data, "a reset link is as good as new");
}

#[test]
fn a_lost_packet_has_used_the_bottleneck() {
    let (mut lossy, _) = links(&named("rate=8Mbit,rtt=100ms,queue=unlimited,loss=50%"));
    let (mut clean, _) = links(&named("rate=8Mbit,rtt=100ms,queue=unlimited"));
    let mut lost = 0;
    for k in 0..1000 {
        let (a, b) = (lossy.offer(k * 1000, DATA), clean.offer(k * 1000, DATA));
        match a {
            Fate::Deliver { .. } => {
                assert_eq!(a, b, "packet {k} is where it would be without loss");
            }
            _ => lost += 1,
        }
    }
    assert!((400..600).contains(&lost), "about half of 1000 are lost, not {lost}");
}

#[test]
fn the_share_of_lost_packets_is_the_stated_one() {
    for (text, ppb) in [
        ("loss=0.06%", 600_000_u64),
        ("loss=4.77%", 47_700_000),
        ("loss=50%", 500_000_000),
        ("loss=99.9999999%", 999_999_999),
    ] {
        let (mut link, _) = links(&named(&format!("rate=10Gbit,rtt=10ms,queue=unlimited,{text}")));
        let lost = (0..1_000_000_u64)
            .filter(|k| matches!(link.offer(k * 2000, DATA), Fate::Drop(_)))
            .count() as u64;
        let expected = ppb / 1000;
        // Four standard deviations of a binomial with a million trials.
        let slack = 4 * (expected * (1_000_000_000 - ppb) / 1_000_000_000).isqrt() + 2;
        assert!(
            lost.abs_diff(expected) <= slack,
            "{text}: {lost} of a million, expected {expected} +- {slack}"
        );
    }
}

#[test]
fn links_are_reused_without_a_trace_of_the_path_before() {
    let paths = [
        "geo",
        "5g,loss=1%",
        "rapid-slide",
        "rate=1Mbit,rtt=50ms,queue=2pkt,up=300kbit,up_queue=1pkt,up_loss=10%",
    ]
    .map(named);
    let mut reused = links(&paths[0]);
    for (index, path) in paths.iter().cycle().take(12).enumerate() {
        path.links_into(DATA, ACK, 9, index as u64, &mut reused).expect("the path is sound");
        let mut fresh = path.links(DATA, ACK, 9, index as u64).expect("the path is sound");
        for k in 0..500 {
            assert_eq!(
                reused.0.offer(k * 7_000, DATA),
                fresh.0.offer(k * 7_000, DATA),
                "forward packet {k} of {path}"
            );
            assert_eq!(
                reused.1.offer(k * 9_000, ACK),
                fresh.1.offer(k * 9_000, ACK),
                "reverse packet {k} of {path}"
            );
        }
    }
}

#[test]
fn a_path_that_has_no_room_for_its_serialization_makes_no_links() {
    let error =
        named("rate=1Mbit,rtt=12.1ms").links(9000, 66, 1, 0).expect_err("72 ms do not fit into 12");
    assert!(
        error.as_str().starts_with(
            "rtt=12.1ms: leaves no time to send a packet of 9000 B and an ACK of 66 B"
        ),
        "{error}"
    );
    assert!(Path::new(0, 30_000_000).links(DATA, ACK, 1, 0).is_err(), "a rate of zero set by hand");
    assert!(Path::new(1_000_000, 0).links(DATA, ACK, 1, 0).is_err(), "an RTT of zero set by hand");
    assert!(
        Path::new(1_000_000, 30_000_000)
            .with_loss_ppb(1_000_000_000)
            .links(DATA, ACK, 1, 0)
            .is_err(),
        "certain loss set by hand"
    );
}

#[test]
fn paths_and_links_go_from_thread_to_thread() {
    fn shared<T: Send + Sync>() {}
    shared::<Path>();
    shared::<Rate>();
    shared::<Link>();
}

/// Arrivals: gaps in ns (often none) and lengths.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec(
        (
            prop_oneof![Just(0_u64), 0_u64..2_000_000, 0_u64..20_000],
            prop_oneof![Just(1500_u32), 1_u32..1501],
        ),
        1..300,
    )
}

proptest! {
    // T5, with a verifier that shares nothing with the link: it keeps all packets and works in exact fractions of a nanosecond.
    #[test]
    fn every_byte_is_delivered_dropped_or_queued_and_order_and_limit_hold(
        arrivals in arrivals(), rate in 1_000_000_u64..2_000_000_000, capacity in 1500_u64..20_000, loss in prop_oneof![Just(0_u64), 0_u64..500_000_000],
    ) {
        let path = Path::new(rate, 100_000_000).with_queue(Queue::Bytes(capacity)).with_loss_ppb(loss);
        let (mut link, _) = links(&path);
        // Accepted packets: service start and end in units of 1/rate ns, length.
        let mut accepted: Vec<(u128, u128, u64)> = Vec::new();
        let mut now = 0_u64;
        let mut last_arrival = 0;
        for (gap, len) in arrivals {
            now += gap;
            let instant = u128::from(now) * u128::from(rate);
            // Services start at whole nanoseconds for the queue, as departures are seen.
            let queued: u64 = accepted.iter().filter(|(start, ..)| start / u128::from(rate) > u128::from(now)).map(|(.., len)| len).sum();
            prop_assert_eq!(link.queued_bytes(now), queued, "waiting bytes at {} ns", now);
            prop_assert!(queued <= capacity, "the queue holds {} of {} B", queued, capacity);
            let fate = link.offer(now, len);
            let fits = queued + u64::from(len) <= capacity;
            prop_assert_eq!(fate == Fate::Drop(DropCause::Queue), !fits, "{} B into {} of {} B", len, queued, capacity);
            if !fits {
                continue;
            }
            let start = accepted.last().map_or(instant, |(_, end, _)| instant.max(*end));
            let end = start + u128::from(len) * 8_000_000_000;
            accepted.push((start, end, u64::from(len)));
            match fate {
                Fate::Deliver { at, waited, marked } => {
                    prop_assert_eq!(u128::from(at - link.propagation()), end / u128::from(rate), "departure");
                    prop_assert_eq!(u128::from(waited), start / u128::from(rate) - u128::from(now), "wait");
                    prop_assert!(at >= last_arrival, "order: {} after {}", at, last_arrival);
                    prop_assert!(!marked);
                    last_arrival = at;
                }
                other => prop_assert!(other == Fate::Drop(DropCause::Random) && loss > 0, "only loss is left: {:?}", other),
            }
        }
    }

    // T3: only the sum of the delays matters to a sender on a constant link; the split moves receiver times by a constant.
    #[test]
    fn the_round_trip_of_each_packet_does_not_depend_on_the_times_before_it_went_idle(gap in 1_000_000_u64..50_000_000, len in 40_u32..1501) {
        let (mut link, _) = links(&named("rate=100Mbit,rtt=30ms,queue=30ms"));
        let first = arrival(link.offer(0, len));
        prop_assert_eq!(arrival(link.offer(gap, len)) - gap, first);
    }
}
