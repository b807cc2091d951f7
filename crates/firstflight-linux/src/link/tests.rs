//! Tests that need no privilege: the fate of packets on a wire, and the fields read and written in
//! them.

use super::packet::{self, Packet, Pool};
use super::wire::Wire;
use firstflight_path::{DropCause, Fate, Path};

const MTU: usize = 1500;

fn packet(pool: &mut Pool, len: usize, number: u64) -> Packet {
    let mut packet = pool.take();
    packet.set_len(len);
    packet.bytes_mut()[..8].copy_from_slice(&number.to_ne_bytes());
    packet
}

fn number(packet: &Packet) -> u64 {
    u64::from_ne_bytes(packet.bytes()[..8].try_into().expect("eight bytes"))
}

/// Arrivals at about 150 % of 100 Mbit/s: (time, length).
fn arrivals(count: usize) -> Vec<(u64, u32)> {
    let mut state = 7_u64;
    let mut draw = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut now = 0;
    (0..count)
        .map(|_| {
            now += draw(120_000);
            (now, 200 + draw(1_300) as u32)
        })
        .collect()
}

#[test]
fn the_emulator_decides_as_the_simulator_does_exactly() {
    for text in [
        "rate=100Mbit,rtt=30ms,queue=30ms",
        "rate=100Mbit,rtt=30ms,queue=5ms,loss=1%",
        "rate=50Mbit,rtt=30ms,queue=20ms,ge=0.1%:3:80%,jitter=1ms-4ms,reorder=2%:3ms,dup=1%",
    ] {
        let path = Path::parse(text).expect("a path");
        let (mut link, _) = path.links(1500, 52, 3, 0).expect("links");
        let (forward, _) = path.open(1500, 52, 3, 0).expect("links");
        let mut wire = Wire::forward(forward);
        let mut pool = Pool::new(MTU);
        let (mut expected, mut seen) = (Vec::new(), Vec::new());
        let mut drops = 0;
        for (id, (now, len)) in arrivals(20_000).into_iter().enumerate() {
            let id = id as u64;
            match link.offer(now, len) {
                Fate::Deliver { at, .. } => expected.push((at, id)),
                Fate::Duplicate { at, again, .. } => expected.extend([(again, id), (at, id)]),
                Fate::Drop(_) => drops += 1,
            }
            let offered = packet(&mut pool, len as usize, id);
            wire.offer(now, offered, &mut pool);
        }
        assert!(wire.next().is_some(), "{text}: packets are under way");
        while let Some((at, packet)) = wire.take(u64::MAX, &mut pool) {
            seen.push((at, number(&packet)));
        }
        expected.sort_by_key(|(at, _)| *at);
        assert_eq!(
            seen, expected,
            "{text}: every packet arrives when the path says, and equal times keep their order"
        );
        assert_eq!(wire.tally.dropped_packets(), drops, "{text}: what does not arrive was dropped");
        assert_eq!(wire.next(), None, "{text}: nothing is left");
    }
}

#[test]
fn a_packet_is_not_given_out_before_its_time() {
    let path = Path::parse("rate=12Mbit,rtt=20ms,queue=100ms").expect("a path");
    let (forward, _) = path.open(1500, 52, 1, 0).expect("links");
    let mut wire = Wire::forward(forward);
    let mut pool = Pool::new(MTU);
    for id in 0..2 {
        let offered = packet(&mut pool, MTU, id);
        wire.offer(0, offered, &mut pool);
    }
    let due = wire.next().expect("two packets are under way");
    assert!(wire.take(due - 1, &mut pool).is_none(), "one nanosecond early is too early");
    assert_eq!(wire.take(due, &mut pool).map(|(at, packet)| (at, number(&packet))), Some((due, 0)));
    assert!(wire.take(due, &mut pool).is_none(), "the second packet is serialized after the first");
    assert_eq!(wire.next(), Some(due + 1_000_000), "by one millisecond, 1500 B at 12 Mbit/s");
}

#[test]
fn the_queue_never_exceeds_its_limit_and_takes_what_fits() {
    let path = Path::parse("rate=12Mbit,rtt=20ms,queue=15000B").expect("a path");
    let (forward, _) = path.open(1500, 52, 1, 0).expect("links");
    let mut wire = Wire::forward(forward);
    let mut pool = Pool::new(MTU);
    for id in 0..20 {
        let offered = packet(&mut pool, MTU, id);
        wire.offer(0, offered, &mut pool);
    }
    // One in service and ten in the queue.
    assert_eq!(
        wire.tally.drops.get(&DropCause::Queue),
        Some(&9),
        "of 20 packets 11 have a place: {:?}",
        wire.tally.drops
    );
    assert_eq!(wire.tally.max_backlog, 15_000, "the queue was full to its limit");
}

/// An IPv4 header followed by 20 bytes of TCP.
fn tcp(ecn: u8, flags: u8, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 40 + payload];
    bytes[0] = 0x45;
    bytes[1] = ecn;
    bytes[9] = 6;
    bytes[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
    bytes[32] = 0x50;
    bytes[33] = flags;
    bytes
}

fn header_sum(bytes: &[u8]) -> u32 {
    let sum: u32 =
        bytes[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    (sum & 0xffff) + (sum >> 16)
}

#[test]
fn only_packets_of_ecn_capable_flows_are_marked_and_the_checksum_follows() {
    for (ecn, capable) in [(0, false), (1, true), (2, true), (3, true)] {
        let mut bytes = tcp(ecn, 0x10, 0);
        assert_eq!(packet::is_ect(&bytes), capable, "ECN field {ecn}");
        for field in [packet::CE, 0] {
            packet::set_ecn(&mut bytes, field);
            assert_eq!(bytes[1] & 3, field, "the field that was set, over {ecn}");
            assert_eq!(header_sum(&bytes), 0xffff, "the header's checksum is right again");
        }
    }
    assert!(!packet::is_ect(&[]), "an empty packet has no field");
    let mut ipv6 = [0x6f; 40];
    packet::set_ecn(&mut ipv6, 0);
    assert_eq!((packet::is_ect(&ipv6), ipv6[1]), (false, 0x6f), "IPv6 is carried, not marked");
    // The wire marks, drops, bleaches or loses by that field.
    for (effects, ecn, left) in [
        ("ecn=ce:100%", 2, Some(3)),
        ("ecn=ce:100%", 0, Some(0)),
        ("ecn=bleach", 2, Some(0)),
        ("ecn=drop", 2, None),
        ("ecn=drop", 0, Some(0)),
        ("red=1pkt:2pkt:100%:100%,ecn", 0, Some(0)),
    ] {
        let path = Path::parse(&format!("rate=12Mbit,rtt=20ms,{effects}")).expect("a path");
        let mut wire = Wire::forward(path.open(1500, 52, 1, 0).expect("links").0);
        let mut pool = Pool::new(MTU);
        let mut packet = pool.take();
        let bytes = tcp(ecn, 0x10, 0);
        packet.set_len(bytes.len());
        packet.bytes_mut().copy_from_slice(&bytes);
        wire.offer(0, packet, &mut pool);
        let field = wire.take(u64::MAX, &mut pool).map(|(_, packet)| packet.bytes()[1] & 3);
        assert_eq!(field, left, "{effects}: a packet with ECN field {ecn}");
    }
}

#[test]
fn a_pure_ack_carries_nothing_but_the_ack() {
    let rows = [
        (0x10, 0, true),
        (0x18, 0, true),
        (0x10, 1, false),
        (0x12, 0, false),
        (0x11, 0, false),
        (0x14, 0, false),
        (0x50, 0, false),
    ];
    for (flags, payload, pure) in rows {
        assert_eq!(
            packet::is_pure_ack(&tcp(0, flags, payload)),
            pure,
            "flags {flags:#04x} with {payload} bytes of payload"
        );
    }
    for len in 0..40 {
        assert!(
            !packet::is_pure_ack(&tcp(0, 0x10, 0)[..len]),
            "a packet cut off after {len} bytes is nothing to judge"
        );
    }
}

#[test]
fn a_wire_that_begins_anew_decides_as_a_new_one_and_still_delivers_what_it_had() {
    let path =
        Path::parse("rate=50Mbit,rtt=30ms,queue=20ms,loss_every=7,jitter=1ms-2ms").expect("a path");
    let wire = || Wire::forward(path.open(1500, 52, 3, 0).expect("links").0);
    let mut pool = Pool::new(MTU);
    let mut run = |wire: &mut Wire, from: u64| {
        for (id, (now, len)) in arrivals(500).into_iter().enumerate() {
            let offered = packet(&mut pool, len as usize, from + id as u64);
            wire.offer(from + now, offered, &mut pool);
        }
        let mut out = Vec::new();
        while let Some((at, taken)) = wire.take(u64::MAX / 2, &mut pool) {
            out.push((at - from, number(&taken).wrapping_sub(from)));
            pool.give_back(taken);
        }
        out
    };
    let expected = run(&mut wire(), 0);
    let (mut again, begin) = (wire(), 3_000_000_000);
    let early = packet(&mut Pool::new(MTU), 1000, 1);
    again.offer(begin - 5, early, &mut Pool::new(MTU));
    again.replace(wire(), begin);
    assert_eq!(again.tally.packets, 0, "the report begins anew, too");
    let mut seen = run(&mut again, begin);
    let carried = seen
        .iter()
        .position(|(_, number)| *number == 1_u64.wrapping_sub(begin))
        .expect("what was under way arrives");
    seen.remove(carried);
    assert_eq!(seen, expected, "a path that begins at {begin} ns decides as one that begins at 0");
}
