//! Callback sequences in the order of the stacks, and the events that reach the core.

use super::{AckedPacket, Damage, Driver, EndOfAcks};
use crate::numbers::Numbers;
use crate::plan::Plan;
use firstflight::{Ack, AnyController, Begin, Event, Nanos, Recorder, SoFar, Time};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const MSS: u64 = 1000;
const RTT: Nanos = Nanos::from_millis(30);

/// Records every event; `None` means that a controller was built.
#[derive(Debug, Default)]
struct Ear(Vec<Option<Event>>);

impl Recorder<AnyController> for Ear {
    fn on_begin(&mut self, _begin: &Begin) {
        self.0.push(None);
    }

    fn on_event(&mut self, event: &Event, _after: &AnyController) {
        self.0.push(Some(*event));
    }
}

fn records(ear: &Mutex<Ear>) -> Vec<Ack> {
    told(ear).into_iter().map(|(ack, _)| ack).collect()
}

fn told(ear: &Mutex<Ear>) -> Vec<(Ack, SoFar)> {
    let ack = |event: &Option<Event>| match event {
        Some(Event::Ack(ack, so_far)) => Some((*ack, *so_far)),
        _ => None,
    };
    ear.lock().unwrap().0.iter().filter_map(ack).collect()
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

fn driver(arm: &str) -> (Driver, Arc<Mutex<Ear>>) {
    let ear = Arc::new(Mutex::new(Ear::default()));
    (Driver::new(Plan::parse(arm).unwrap(), MSS as u16, Time(0), Some(ear.clone())), ear)
}

/// A driver after its handshake, which took 30 ms: position 0 was acknowledged.
fn connected(arm: &str) -> (Driver, Arc<Mutex<Ear>>) {
    let (mut driver, ear) = driver(arm);
    driver.sent(ms(0), MSS, 0);
    ack(&mut driver, ms(30), &[(0, ms(0))], 0);
    driver.settle();
    ear.lock().unwrap().0.clear();
    (driver, ear)
}

fn send(driver: &mut Driver, now: Time, count: u64) {
    for _ in 0..count {
        driver.sent(now, MSS, driver.next());
    }
}

/// One ACK up to its end mark: packets with their positions and sending times, and the bytes that
/// remain in flight.
fn ack(driver: &mut Driver, now: Time, packets: &[(u64, Time)], inflight: u64) {
    for &(position, sent) in packets {
        let fresh = driver.is_fresh(position);
        driver.acked(
            now,
            AckedPacket { bytes: MSS, sent, position: Some(position), fresh },
            false,
            RTT,
        );
    }
    let largest = packets.last().map(|(position, _)| *position).max(driver.largest);
    driver.end_acks(now, EndOfAcks { inflight, app_limited: false, largest, older: false });
}

fn loss(lost: u64, largest_lost: u64) -> Damage {
    Damage { lost, ce: false, persistent: false, largest_lost: Some(largest_lost) }
}

#[test]
fn an_ack_reaches_the_core_once_with_the_losses_that_follow_it() {
    let (mut driver, ear) = connected("slowstart/reno/prr");
    send(&mut driver, ms(30), 8);
    ack(&mut driver, ms(60), &[(5, ms(30)), (6, ms(30))], 6 * MSS);
    driver.damage(ms(60), loss(2 * MSS, 3));
    send(&mut driver, ms(60), 1);
    let records = records(&ear);
    assert_eq!(records.len(), 1, "one ACK is one record, not {}", records.len());
    let ack = records[0];
    assert_eq!(
        (ack.acked, ack.lost),
        (2 * MSS, 2 * MSS),
        "acknowledged and lost bytes stand in one record"
    );
    assert_eq!(
        (ack.inflight_before, ack.flight, ack.inflight),
        (8 * MSS, 6 * MSS, 4 * MSS),
        "in flight before, between and after"
    );
    assert_eq!((ack.una.0, ack.nxt.0, ack.tx_lost), (7, 9, Some(3)));
    assert_eq!(driver.status().stats.loss_episodes, 1, "the loss opens one episode");
}

/// Departure D6.
#[test]
fn a_probe_of_the_mtu_that_no_call_told_of_counts_as_sent() {
    let (mut driver, ear) = connected("slowstart/reno/prr");
    send(&mut driver, ms(30), 2);
    ack(&mut driver, ms(60), &[(1, ms(30)), (2, ms(30)), (3, ms(30))], 0);
    driver.settle();
    let ack = records(&ear)[0];
    assert_eq!((ack.una.0, ack.nxt.0, ack.tx_next, ack.sent), (4, 4, 4, 4 * MSS));
    assert_eq!(driver.core().misfed(), None, "nothing that was not sent is acknowledged");
}

#[test]
fn marks_behind_losses_join_the_same_ack() {
    let (mut driver, ear) = connected("slowstart/reno/prr");
    send(&mut driver, ms(30), 8);
    ack(&mut driver, ms(60), &[(5, ms(30))], 7 * MSS);
    driver.damage(ms(60), loss(2 * MSS, 2));
    driver.damage(ms(60), Damage { lost: 0, ce: true, persistent: false, largest_lost: None });
    driver.settle();
    let records = records(&ear);
    assert_eq!(records.len(), 1, "one ACK is one record, not {}", records.len());
    assert!(
        records[0].ce && records[0].lost == 2 * MSS,
        "marks and losses stand in it: {:?}",
        records[0]
    );
    let stats = driver.status().stats;
    assert_eq!(
        stats.loss_episodes + stats.ecn_episodes,
        1,
        "losses and marks of one ACK are one signal"
    );
}

#[test]
fn an_answer_given_twice_leaves_the_state_of_one_answer() {
    for arm in [
        "slowstart",
        "hystart++/reno/prr",
        "rapid(jump=off)",
        "best",
        "search",
        "slowstart/cubic/immediate",
    ] {
        let (mut replayed, _) = connected(arm);
        send(&mut replayed, ms(30), 10);
        let (mut whole, ear) = connected(arm);
        send(&mut whole, ms(30), 10);
        ack(&mut replayed, ms(60), &[(7, ms(30))], 9 * MSS);
        replayed.damage(ms(60), loss(3 * MSS, 4));
        replayed.settle();
        // The same ACK as one record, passed directly to the core.
        ack(&mut whole, ms(60), &[(7, ms(30))], 9 * MSS);
        whole.settle();
        let record = records(&ear)[0];
        let mut core = whole.before;
        core.on_ack(&Ack { lost: 3 * MSS, inflight: 6 * MSS, tx_lost: Some(4), ..record });
        assert_eq!(
            format!("{:?}", replayed.core()),
            format!("{core:?}"),
            "{arm}: replaying must equal answering once"
        );
    }
}

#[test]
fn a_loss_timer_is_a_record_without_an_ack() {
    let (mut driver, ear) = connected("slowstart/reno/prr");
    send(&mut driver, ms(30), 4);
    ack(&mut driver, ms(60), &[(4, ms(30))], 3 * MSS);
    driver.damage(ms(64), loss(3 * MSS, 3));
    driver.settle();
    let timers: Vec<bool> = told(&ear).iter().map(|(ack, so_far)| so_far.is_timer(ack)).collect();
    assert_eq!(timers, [false, true]);
    let timer = records(&ear)[1];
    assert_eq!(
        (timer.acked, timer.rtt, timer.tx_acked),
        (0, None, None),
        "a timer acknowledges nothing"
    );
    assert_eq!(
        (timer.inflight_before, timer.inflight),
        (3 * MSS, 0),
        "it takes what it declares lost out of the flight"
    );
}

#[test]
fn a_loss_of_what_was_sent_before_the_episode_opens_no_second_one() {
    for (lost, episodes) in [(4, 1), (10, 1), (11, 2)] {
        let (mut driver, _) = connected("slowstart/reno/prr");
        send(&mut driver, ms(30), 10);
        ack(&mut driver, ms(60), &[(5, ms(30))], 9 * MSS);
        driver.damage(ms(60), loss(MSS, 1));
        // Positions 11 and 12 leave after the episode began.
        send(&mut driver, ms(61), 2);
        ack(&mut driver, ms(91), &[(12, ms(61))], 9 * MSS);
        driver.damage(ms(91), loss(MSS, lost));
        let seen = driver.status().stats.loss_episodes;
        assert_eq!(
            seen, episodes,
            "loss of position {lost}, mark at 11: {episodes} episodes expected, {seen} counted"
        );
    }
}

#[test]
fn an_rtt_sample_needs_the_largest_acknowledged_to_be_newly_acknowledged() {
    // newest listed, largest acknowledged, sample
    let table = [
        (Some(5), Some(5), true),
        // The largest carried only an ACK and is not listed.
        (Some(4), Some(5), false),
        // The largest did not rise: a hole is filled late.
        (Some(0), Some(0), false),
        // The stack provides no numbers.
        (None, Some(5), true),
        // From an older space.
        (Some(4), None, false),
    ];
    for (newest, largest, sampled) in table {
        let (mut driver, ear) = connected("slowstart");
        send(&mut driver, ms(30), 8);
        driver.acked(
            ms(61),
            AckedPacket { bytes: MSS, sent: ms(30), position: newest, fresh: true },
            false,
            RTT,
        );
        driver.end_acks(
            ms(61),
            EndOfAcks { inflight: 7 * MSS, app_limited: false, largest, older: false },
        );
        driver.settle();
        let rtt = records(&ear)[0].rtt;
        let expected = sampled.then_some(Nanos::from_millis(31));
        assert_eq!(rtt, expected, "newest {newest:?}, largest {largest:?}");
    }
}

#[test]
fn the_controller_starts_afresh_behind_the_handshake() {
    let (mut driver, ear) = driver("slowstart");
    driver.sent(ms(0), MSS, 0);
    ack(&mut driver, ms(30), &[(0, ms(0))], 0);
    assert_eq!(driver.status().handshake_rtt, Some(RTT), "with the sample of the handshake");
    assert!(
        matches!(ear.lock().unwrap().0[..], [.., None, Some(Event::HandshakeRtt { rtt: RTT, .. })]),
        "it is built anew and told the sample"
    );
    let rate = driver.rate().unwrap();
    let window = driver.core().cwnd();
    assert_eq!(
        rate,
        window * 2 * 1000 / 30,
        "so that pacing starts at twice the window per round trip"
    );
}

#[test]
fn a_flow_that_carries_data_is_not_started_afresh() {
    let (mut driver, _) = driver("slowstart");
    send(&mut driver, ms(0), 10);
    ack(&mut driver, ms(30), &[(0, ms(0)), (1, ms(0))], 8 * MSS);
    driver.settle();
    assert_eq!(driver.status().handshake_rtt, None, "half an initial window is no handshake");
    assert_eq!(driver.core().cwnd(), 12 * MSS, "and its ACKs grow the window");
}

#[test]
fn a_jump_takes_off_in_the_middle_of_the_initial_window() {
    let (mut driver, _) = connected("rapid");
    for sent in 1..=10 {
        send(&mut driver, ms(30), 1);
        let expected = if sent < 5 { 10 * MSS } else { 20 * MSS };
        let window = driver.core().cwnd();
        assert_eq!(
            window, expected,
            "after {sent} packets of a window of 10 the window is {window}"
        );
    }
}

#[test]
fn a_false_alarm_gives_the_window_back() {
    let (mut driver, _) = connected("slowstart/cubic/prr");
    send(&mut driver, ms(30), 10);
    let before = driver.core().cwnd();
    ack(&mut driver, ms(60), &[(5, ms(30))], 9 * MSS);
    driver.damage(ms(60), loss(MSS, 1));
    driver.spurious(ms(62));
    assert!(
        driver.core().cwnd() >= before,
        "window {} after the false alarm, {before} before",
        driver.core().cwnd()
    );
    assert_eq!(driver.status().stats.undone, 1);
}

#[test]
fn a_new_packet_size_in_the_middle_of_an_ack_does_not_end_it() {
    let (mut driver, ear) = connected("slowstart/reno/prr");
    send(&mut driver, ms(30), 8);
    ack(&mut driver, ms(60), &[(5, ms(30))], 7 * MSS);
    driver.resize(1400);
    driver.damage(ms(60), loss(MSS, 2));
    driver.settle();
    assert_eq!(records(&ear).len(), 1);
    assert_eq!(records(&ear)[0].lost, MSS, "the loss still belongs to the ACK");
}

#[test]
fn numbers_of_three_spaces_make_one_order_of_sending() {
    // number sent, at ms, first free position: position, new space
    let table = [
        (0, 0, 0, 0, false),
        (0, 1, 1, 1, true),
        (1, 2, 2, 2, false),
        (0, 3, 3, 3, true),
        (1, 4, 4, 4, false),
        (7, 5, 5, 10, false),
    ];
    let mut numbers = Numbers::default();
    for (pn, at, next, position, new_space) in table {
        assert_eq!(numbers.sent(pn, ms(at), next), (position, new_space), "number {pn} at {at} ms");
    }
    assert_eq!(numbers.position(0, ms(2)), None, "a number of an older space has no position");
    assert_eq!(numbers.position(7, ms(5)), Some(10));
}

/// A callback.
#[derive(Clone, Debug)]
enum Call {
    Sent { bytes: u64, skip: u64 },
    Acked { bytes: u64, position: Option<u64>, ago: u64, app_limited: bool },
    EndAcks { inflight: u64, largest: Option<u64> },
    Damage { lost: u64, ce: bool, persistent: bool, largest: Option<u64> },
    Spurious,
    Resize(u16),
    NewSpace,
    Wait(u64),
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..20_000u64, 1 => any::<u64>()]
}

fn calls() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (amount(), 0..3u64).prop_map(|(bytes, skip)| Call::Sent { bytes, skip }),
        4 => (amount(), proptest::option::of(amount()), amount(), any::<bool>())
            .prop_map(|(bytes, position, ago, app_limited)| Call::Acked { bytes, position, ago, app_limited }),
        3 => (amount(), proptest::option::of(amount())).prop_map(|(inflight, largest)| Call::EndAcks { inflight, largest }),
        2 => (amount(), any::<bool>(), any::<bool>(), proptest::option::of(amount()))
            .prop_map(|(lost, ce, persistent, largest)| Call::Damage { lost, ce, persistent, largest }),
        1 => Just(Call::Spurious),
        1 => any::<u16>().prop_map(Call::Resize),
        1 => Just(Call::NewSpace),
        4 => amount().prop_map(Call::Wait),
    ]
}

const ARMS: [&str; 8] = [
    "slowstart",
    "hystart/reno/sack",
    "hystart++/cubic/prr",
    "rapid",
    "jumpstart/reno/halving",
    "best",
    "search/cubic/immediate",
    "oracle(exit=50000)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_calls_leaves_a_window_and_no_panic(arm in 0..ARMS.len(), calls in proptest::collection::vec(calls(), 1..200)) {
        let (mut driver, _ear) = driver(ARMS[arm]);
        let mut now = Time(0);
        for call in calls {
            match call {
                Call::Sent { bytes, skip } => driver.sent(now, bytes, driver.next().saturating_add(skip)),
                Call::Acked { bytes, position, ago, app_limited } => {
                    let sent = Time(now.0.saturating_sub(ago));
                    driver.acked(now, AckedPacket { bytes, sent, position, fresh: true }, app_limited, RTT);
                }
                Call::EndAcks { inflight, largest } => driver.end_acks(now, EndOfAcks { inflight, app_limited: false, largest, older: false }),
                Call::Damage { lost, ce, persistent, largest } => {
                    driver.damage(now, Damage { lost, ce, persistent, largest_lost: largest });
                }
                Call::Spurious => driver.spurious(now),
                Call::Resize(mss) => driver.resize(mss),
                Call::NewSpace => driver.new_space(now),
                Call::Wait(ns) => now += Nanos(ns),
            }
            prop_assert!(driver.window() > 0, "a stack divides by the window");
            prop_assert!(driver.rate() != Some(0), "a pacing rate of zero stops a stack for good");
        }
    }

    #[test]
    fn the_window_admits_exactly_what_the_controller_admits(arm in 0..ARMS.len(), losses in proptest::collection::vec((1..8u64, 0..4u64), 1..60)) {
        let (mut driver, _ear) = connected(ARMS[arm]);
        let mut now = ms(30);
        let mut flight: std::collections::VecDeque<(u64, Time)> = std::collections::VecDeque::new();
        for (acked, lost) in losses {
            // The stack's own test before each packet.
            while driver.inflight + driver.mss() <= driver.window() && flight.len() < 5000 {
                let core = driver.core();
                prop_assert!(core.admits(MSS, driver.inflight), "the stack would send what the controller does not admit: {:?}", core.phase());
                flight.push_back((driver.next(), now));
                driver.sent(now, MSS, driver.next());
            }
            prop_assert!(flight.len() >= 5000 || !driver.core().admits(MSS, driver.inflight), "the stack holds back what the controller admits");
            now += Nanos::from_millis(3);
            let lost: Vec<_> = flight.drain(..(lost as usize).min(flight.len())).collect();
            let acked: Vec<_> = flight.drain(..(acked as usize).min(flight.len())).collect();
            if acked.is_empty() {
                continue;
            }
            ack(&mut driver, now, &acked, (flight.len() + lost.len()) as u64 * MSS);
            if let Some((position, _)) = lost.last() {
                driver.damage(now, loss(lost.len() as u64 * MSS, *position));
            }
            let account = driver.status();
            prop_assert_eq!(account.bytes_sent - account.bytes_acked - account.bytes_lost, driver.inflight, "what was sent is acknowledged, lost or in flight");
        }
    }
}
