//! Impossible reports of a transport: each rule is broken by the one mistake that is planted into a correct stream of ACKs, and
//! by nothing else.

use crate::rig;
use firstflight::event::{Impossible, Transport};
use firstflight::units::MAX_BYTES;
use firstflight::{Ack, AckDetail, AnyController, Config, Nanos, Seq, Time};
use proptest::prelude::*;

const MSS: u64 = 1_200;
const WINDOW: u64 = 20;
const ARMS: [&str; 5] =
    ["slowstart", "plumb", "search", "bbr3", "slowstart/cubic(profile=linux)/prr(mode=linux)"];

/// Makes an ACK wrong that comes after another one.
type Mistake = fn(&mut Ack, &Ack);

const MISTAKES: [(Impossible, Mistake); 9] = [
    (Impossible::TimeBack, |ack, last| ack.now = Time(last.now.0 - 1)),
    (Impossible::UnaBack, |ack, last| ack.una = Seq(last.una.0 - 1)),
    (Impossible::UnaBeyondNxt, |ack, _| ack.nxt = Seq(ack.una.0 - 1)),
    (Impossible::MoreDelivered, |ack, last| ack.sent = delivered(last) + ack.acked - 1),
    (Impossible::MoreFresh, |ack, _| ack.acked_fresh = ack.acked + 1),
    (Impossible::TooLarge, |ack, _| (ack.acked, ack.sent) = (MAX_BYTES + 1, u64::MAX)),
    (Impossible::TooLarge, |ack, _| ack.lost = MAX_BYTES + 1),
    (Impossible::TooLarge, |ack, _| ack.inflight_before = MAX_BYTES + 1),
    (Impossible::TooLarge, |ack, _| ack.inflight = MAX_BYTES + 1),
];

/// All up to this ACK: the streams lose nothing.
fn delivered(ack: &Ack) -> u64 {
    ack.sent - ack.inflight
}

/// A window of packets is out; ACKs of so many packets come so many microseconds apart, and what they open is sent.
fn stream(transport: Transport, acks: &[(u64, u64)]) -> Vec<Ack> {
    let unit = if transport == Transport::Tcp { MSS } else { 1 };
    let (mut now, mut acked) = (1_000, 0);
    let ack = |&(packets, gap): &(u64, u64)| {
        let sent = acked + WINDOW;
        now += gap * 1_000;
        acked += packets;
        let inflight = (sent - acked) * MSS;
        Ack {
            now: Time(now),
            acked: packets * MSS,
            acked_fresh: packets * MSS,
            lost: 0,
            ce: false,
            rtt: Some(Nanos::from_micros(20_000 + gap)),
            srtt: Some(Nanos::from_millis(20)),
            una: Seq(acked * unit),
            nxt: Seq(sent * unit),
            flight: inflight,
            sacked: 0,
            inflight_before: WINDOW * MSS,
            inflight,
            sent: sent * MSS,
            tx_acked: Some(acked - 1),
            tx_lost: None,
            tx_next: sent,
            cwnd_limited: true,
            app_limited: false,
            detail: AckDetail::default(),
        }
    };
    acks.iter().map(ack).collect()
}

fn controller(arm: &str, transport: Transport) -> AnyController {
    let config = match transport {
        Transport::Tcp => Config::tcp(MSS),
        Transport::Quic => Config::quic(MSS),
    };
    rig::controller(arm, config)
}

proptest! {
    #[test]
    fn each_mistake_is_found_as_what_it_is(
        acks in prop::collection::vec((1..WINDOW, 0..3_000_u64), 2..60),
        at in any::<prop::sample::Index>(),
        again in any::<bool>(),
    ) {
        let at = 1 + at.index(acks.len() - 1);
        for (arm, transport) in ARMS.iter().flat_map(|arm| [(arm, Transport::Tcp), (arm, Transport::Quic)]) {
            let right = stream(transport, &acks);
            let mut correct = controller(arm, transport);
            for ack in &right {
                correct.on_ack(ack);
                prop_assert_eq!(correct.misfed(), None, "of nothing wrong: {:?}", ack);
            }
            for (rule, plant) in MISTAKES {
                // A receiver of TCP may make this one.
                if rule == Impossible::MoreDelivered && transport == Transport::Tcp {
                    continue;
                }
                let mut sender = controller(arm, transport);
                right[..at].iter().for_each(|ack| sender.on_ack(ack));
                let mut wrong = right[at];
                plant(&mut wrong, &right[at - 1]);
                sender.on_ack(&wrong);
                let found = sender.misfed().expect("the mistake is found");
                prop_assert_eq!((found.rule, found.at, found.count), (rule, wrong.now, 1), "{} {:?}", arm, wrong);
                if again {
                    sender.on_ack(&Ack { acked_fresh: wrong.acked + 1, ..wrong });
                }
                // A correct record may now contradict the wrong one: the first finding stays.
                right[at + 1..].iter().for_each(|ack| sender.on_ack(ack));
                let last = sender.misfed().expect("it is remembered");
                prop_assert_eq!((last.rule, last.at), (rule, wrong.now));
                prop_assert!(last.count > u32::from(again), "each is counted: {:?}", last);
            }
        }
    }
}

#[test]
fn the_controller_adds_up_what_it_is_told() {
    let mut sender = controller("slowstart", Transport::Quic);
    sender.on_handshake_rtt(Time(0), Nanos::from_millis(21));
    for (ack, delivered, advanced) in stream(Transport::Quic, &[(3, 500), (2, 2_000)])
        .iter()
        .zip([(3, true), (5, true)])
        .map(|(ack, (packets, advanced))| (*ack, packets * MSS, advanced))
    {
        sender.on_ack(&ack);
        let so_far = sender.so_far();
        assert_eq!((so_far.delivered, so_far.una, so_far.advanced), (delivered, ack.una, advanced));
    }
    assert_eq!(sender.so_far().min_rtt, Some(Nanos::from_micros(20_500)), "the smallest of all");
    // A loss timer acknowledges nothing.
    let mut timer = stream(Transport::Quic, &[(3, 500), (2, 2_000)])[1];
    (timer.acked, timer.acked_fresh, timer.rtt, timer.tx_acked) = (0, 0, None, None);
    timer.lost = MSS;
    sender.on_ack(&timer);
    assert_eq!((sender.so_far().delivered, sender.so_far().advanced), (5 * MSS, false));
    assert!(sender.so_far().is_timer(&timer), "of a timer");
    assert_eq!(sender.misfed(), None);
}
