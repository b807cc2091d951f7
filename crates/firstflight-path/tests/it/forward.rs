//! Queues that decide later, compared with a link that decides at once, and invariants for any
//! offers.

use firstflight_path::{Codepoint, DropCause, Fate, Forward, ForwardPath, Offered, Path};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

fn driven(text: &str, seed: u64) -> ForwardPath {
    let path = Path::parse(text).unwrap_or_else(|e| panic!("`{text}` should be a path, but: {e}"));
    match path.open_driven(1500, 66, seed, 0).unwrap_or_else(|e| panic!("{e}")).0 {
        Forward::Driven(path) => *path,
        Forward::Link(_) => panic!("`{text}` decides at the offer"),
    }
}

/// Offers packets at these times and drives the path; what became of each.
fn drive(path: &mut ForwardPath, packets: &[(u64, Offered)]) -> Vec<(u64, Fate)> {
    let (mut fates, mut next) = (Vec::new(), packets.iter().peekable());
    loop {
        let event = path.next_event();
        let offer = next.peek().map(|(at, _)| *at);
        match (event, offer) {
            (Some(at), offer) if offer.is_none_or(|offer| at <= offer) => {
                while let Some(departure) = path.poll(at) {
                    fates.push((departure.id, departure.fate));
                }
            }
            (_, Some(at)) => {
                let (_, packet) = next.next().expect("it was there");
                path.offer(at, *packet);
            }
            _ => return fates,
        }
    }
}

fn packet(id: u64, len: u32, flow: u32, codepoint: Codepoint) -> Offered {
    Offered { id, len, flow, codepoint }
}

#[test]
fn one_flow_queue_that_never_drops_is_a_plain_link_to_the_nanosecond() {
    let rest = "rate=17Mbit,rtt=30ms,queue=unlimited,loss=2%";
    let path = Path::parse(rest).expect("a path");
    let (mut plain, _) = path.links(1500, 66, 3, 0).expect("links");
    let mut one = driven(&format!("{rest},fq_codel=flows:1/target:100s"), 3);
    let packets: Vec<(u64, Offered)> = (0..2000)
        .map(|k| {
            let at = k * 500_000 + (k * k * 7919) % 400_000;
            (at, packet(k, 100 + (k * 131 % 1400) as u32, 0, Codepoint::NotEct))
        })
        .collect();
    let mut fates = drive(&mut one, &packets);
    fates.sort_by_key(|(id, _)| *id);
    for ((id, fate), (at, packet)) in fates.into_iter().zip(&packets) {
        assert_eq!(fate, plain.offer(*at, packet.len), "packet {id}");
    }
}

#[test]
fn flow_queues_share_a_link_whoever_offers_more() {
    // 10 Mbit/s; one flow offers 20, the other 6: it gets all of that, less than its half would be.
    let mut fq = driven("rate=10Mbit,rtt=30ms,queue=100pkt,fq_codel", 1);
    let greedy = (0..20_000).map(|k| (k * 600_000, packet(k, 1500, 1, Codepoint::NotEct)));
    let modest = (0..5_000)
        .map(|k| (k * 2_400_000 + 300_000, packet(100_000 + k, 1500, 2, Codepoint::NotEct)));
    let mut packets: Vec<(u64, Offered)> = greedy.chain(modest).collect();
    packets.sort_by_key(|(at, _)| *at);
    let fates = drive(&mut fq, &packets);
    let mut slowest = 0;
    let delivered = |least: u64, most: u64| {
        fates
            .iter()
            .filter(|(id, fate)| (least..most).contains(id) && matches!(fate, Fate::Deliver { .. }))
            .count()
    };
    for (id, fate) in &fates {
        if let Fate::Deliver { waited, .. } = fate
            && *id >= 100_000
        {
            slowest = slowest.max(*waited);
        }
    }
    assert!(delivered(100_000, u64::MAX) >= 4_990, "of 5000: {}", delivered(100_000, u64::MAX));
    assert!((4_950..=5_060).contains(&delivered(0, 100_000)), "{}", delivered(0, 100_000));
    assert!(slowest <= 3 * MS, "a sparse flow waits {slowest} ns");
}

/// FQ-CoDel without room drops from the front of its longest queue, half of it and 64 packets at most.
#[test]
fn without_room_the_oldest_half_of_the_longest_queue_goes_in_batches() {
    for (holds, batch) in [(20, 11), (100, 51), (200, 64)] {
        let text = format!("rate=1Mbit,rtt=30ms,queue={holds}pkt,fq_codel=flows:16/target:100s");
        // One is in service, so that the last one finds no room.
        let packets: Vec<(u64, Offered)> =
            (0..holds + 2).map(|id| (0, packet(id, 1500, 0, Codepoint::NotEct))).collect();
        let mut path = driven(&text, 1);
        for (at, packet) in &packets[..5] {
            path.offer(*at, *packet);
        }
        assert_eq!(path.queued_bytes(1), 4 * 1500, "all but the one in service");
        let fates = drive(&mut driven(&text, 1), &packets);
        let dropped: Vec<u64> = fates
            .iter()
            .filter(|(_, fate)| *fate == Fate::Drop(DropCause::Queue))
            .map(|(id, _)| *id)
            .collect();
        assert_eq!(dropped, (1..=batch).collect::<Vec<_>>(), "of {holds} packets");
    }
}

#[test]
fn what_is_not_capable_of_ecn_is_dropped_where_others_are_marked() {
    // A standing queue of a flow that offers a tenth more than the link takes.
    for (codepoint, marks) in [(Codepoint::NotEct, false), (Codepoint::Ect0, true)] {
        let mut fq = driven("rate=12Mbit,rtt=30ms,queue=unlimited,fq_codel", 1);
        let packets: Vec<(u64, Offered)> =
            (0..2_000).map(|k| (k * 900_000, packet(k, 1500, 1, codepoint))).collect();
        let fates = drive(&mut fq, &packets);
        let count = |is: &dyn Fn(&Fate) -> bool| fates.iter().filter(|(_, fate)| is(fate)).count();
        let marked = count(&|fate| matches!(fate, Fate::Deliver { marked: true, .. }));
        let dropped = count(&|fate| *fate == Fate::Drop(DropCause::Aqm));
        assert_eq!(
            (marked > 3, dropped > 3),
            (marks, !marks),
            "{codepoint:?}: {marked}, {dropped}"
        );
    }
}

#[test]
fn packets_are_capable_of_ecn_where_the_path_marks_instead_of_dropping() {
    for (ecn, usual) in [("", Codepoint::NotEct), (",ecn", Codepoint::Ect0)] {
        let path = driven(&format!("rate=10Mbit,rtt=20ms,queue=200ms,fq_codel{ecn}"), 1);
        assert_eq!(path.usual_codepoint(), usual, "with `{ecn}`");
    }
}

#[test]
fn the_low_latency_queue_passes_a_classic_queue_that_stands() {
    let mut dual = driven("rate=12Mbit,rtt=30ms,queue=unlimited,dualpi2", 1);
    let classic = (0..1_000).map(|k| (k * 100_000, packet(k, 1500, 1, Codepoint::NotEct)));
    let low =
        (0..90).map(|k| (k * 1_100_000 + 50_000, packet(10_000 + k, 300, 2, Codepoint::Ect1)));
    let mut packets: Vec<(u64, Offered)> = classic.chain(low).collect();
    packets.sort_by_key(|(at, _)| *at);
    for (id, fate) in drive(&mut dual, &packets) {
        if let (true, Fate::Deliver { waited, .. }) = (id >= 10_000, fate) {
            // At most the packet in service and one turn of the classic queue.
            assert!(waited <= 2 * MS, "packet {id} waits {waited} ns");
        }
    }
}

#[test]
fn only_who_drives_it_gets_such_a_path() {
    let path = Path::parse("rate=10Mbit,rtt=30ms,fq_codel").expect("a path");
    for refused in [path.links(1500, 66, 1, 0).map(|_| ()), path.open(1500, 66, 1, 0).map(|_| ())] {
        let said = refused.expect_err("it decides later").to_string();
        assert!(said.contains("only the simulator"), "{said}");
    }
}

/// Shows RFC8289 5.6, 4.4: CoDel alone is FQ-CoDel with one queue for all flows, drop by drop and mark by mark.
/// Only a packet for which there is no room differs: it is itself the one that is dropped.
fn is_one_flow_queue(offers: &[(u64, u32, u32, bool)], law: (u64, u64), ecn: &str, queue: u64) {
    let (target, interval) = law;
    let rest = format!("rate=8Mbit,rtt=30ms{ecn}");
    let mut now = 0;
    let packets: Vec<(u64, Offered)> = (0..)
        .zip(offers)
        .map(|(id, &(gap, len, flow, capable))| {
            now += gap;
            let codepoint = if capable { Codepoint::Ect0 } else { Codepoint::NotEct };
            (now, packet(id, len, flow, codepoint))
        })
        .collect();
    let of = |queue: &str, management: &str| {
        drive(&mut driven(&format!("{rest},queue={queue},{management}"), 1), &packets)
    };
    let codel = format!("codel={target}ms:{interval}ms");
    let one = format!("fq_codel=flows:1/target:{target}ms/interval:{interval}ms");
    assert_eq!(of("unlimited", &codel), of("unlimited", &one), "{codel}: with room for all");

    // Without those that found no room, the law sees the same packets in a queue without an end.
    let text = format!("{queue}pkt");
    let fates = of(&text, &codel);
    let full: Vec<u64> = fates
        .iter()
        .filter(|(_, fate)| *fate == Fate::Drop(DropCause::Queue))
        .map(|(id, _)| *id)
        .collect();
    let joined: Vec<(u64, Offered)> =
        packets.iter().filter(|(_, packet)| !full.contains(&packet.id)).copied().collect();
    let endless = drive(&mut driven(&format!("{rest},queue=unlimited,{one}"), 1), &joined);
    let kept: Vec<_> = fates.into_iter().filter(|(id, _)| !full.contains(id)).collect();
    assert_eq!(kept, endless, "{codel}: {} of {} found no room", full.len(), packets.len());
}

#[test]
fn codel_alone_lets_a_queue_of_one_packet_stand() {
    // A packet each millisecond and a half of one that takes as long: one waits, and the law has nothing to drop.
    let one = (0..2_000).map(|_| (1_500_000, 1500, 0, false)).collect::<Vec<_>>();
    is_one_flow_queue(&one, (1, 10), "", 10);
    let mut path = driven("rate=8Mbit,rtt=30ms,queue=10pkt,codel=1ms:10ms", 1);
    let packets: Vec<(u64, Offered)> = (0..2_000_u64)
        .map(|k| (k.saturating_sub(1) * 1_500_000, packet(k, 1500, 0, Codepoint::NotEct)))
        .collect();
    let fates = drive(&mut path, &packets);
    let waits = |fate: &Fate| matches!(fate, Fate::Deliver { waited: 1_500_000, .. });
    let standing = fates.iter().filter(|(_, fate)| waits(fate)).count();
    assert_eq!(standing, 1_999, "each waits for the one before it and is spared");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn codel_alone_is_fq_codel_with_one_queue(
        offers in prop::collection::vec((0_u64..2_500_000, 300_u32..1501, 0_u32..5, any::<bool>()), 1..1500),
        law in prop::sample::select(vec![(5, 100), (1, 10), (20, 40)]),
        ecn in prop::sample::select(vec!["", ",ecn"]),
        queue in 2_u64..60,
    ) {
        is_one_flow_queue(&offers, law, ecn, queue);
    }

    /// Each packet meets one fate, a flow keeps its order, the link is never faster than it is, and
    /// nothing waits where the link is free.
    #[test]
    fn packets_are_conserved_and_flows_keep_their_order(
        management in prop::sample::select(vec![
            "codel", "codel=1ms:10ms,ecn", "fq_codel", "fq_codel=flows:2/quantum:300B", "fq_codel=target:1ms/interval:10ms,ecn",
            "dualpi2", "dualpi2,ecn", "dualpi2=k:4/step:100us/classic:50",
        ]),
        more in prop::sample::select(vec!["", ",loss=5%", ",policer=5Mbit:20ms", ",delay=before", ",steps=20ms:off/60ms:3Mbit"]),
        queue in 1_u64..40,
        offers in prop::collection::vec((0_u64..2_000_000, 40_u32..1501, 0_u32..5, 0_u8..4), 1..400),
        seed in 0_u64..100,
    ) {
        let text = format!("rate=8Mbit,rtt=30ms,queue={queue}pkt,{management}{more}");
        let mut path = driven(&text, seed);
        let mut now = 0;
        let packets: Vec<(u64, Offered)> = (0..).zip(&offers).map(|(id, (gap, len, flow, ecn))| {
            now += gap;
            let codepoint = [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1, Codepoint::Ce][usize::from(*ecn)];
            (now, packet(id, *len, *flow, codepoint))
        }).collect();
        let fates = drive(&mut path, &packets);
        prop_assert_eq!(fates.len(), packets.len(), "{}: one fate each", text);
        let mut seen = std::collections::BTreeSet::new();
        let mut last: BTreeMap<(u32, bool), (u64, u64)> = BTreeMap::new();
        let (mut bytes, mut end) = (0, 0);
        for (id, fate) in fates {
            prop_assert!(seen.insert(id), "{}: packet {} twice", text, id);
            let (offered, packet) = packets[id as usize];
            if let Fate::Deliver { at, waited, marked } = fate {
                prop_assert!(at >= offered + waited, "{}: packet {}", text, id);
                prop_assert!(!marked || packet.codepoint.is_capable(), "{}: {:?} marked", text, packet);
                let low = matches!(packet.codepoint, Codepoint::Ect1 | Codepoint::Ce);
                let queue = (packet.flow, low && management.starts_with("dualpi2"));
                if let Some((before, arrival)) = last.insert(queue, (id, at)) {
                    prop_assert!(before < id && arrival <= at, "{}: flow {:?} is reordered", text, queue);
                }
                bytes += u64::from(packet.len);
                end = end.max(at);
            }
        }
        // 8 Mbit/s is a byte in a microsecond.
        prop_assert!(bytes * 1000 <= end + 1, "{}: {} bytes in {} ns", text, bytes, end);
    }
}
