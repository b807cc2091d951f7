//! Release engines: the self-test figures of the satellite terminal, the batch engines, thinning,
//! and the invariants of every return path.

use firstflight_path::{
    Ack, BatchSettings, DropCause, GrantSettings, Path, Release, Return, ReturnPath, Reverse,
};
use proptest::prelude::*;
use std::cmp::Reverse as Least;
use std::collections::{BinaryHeap, VecDeque};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn ack(id: u64) -> Ack {
    Ack { id, len: 66, flow: 0, pure: true }
}

fn engine(release: Release, state: u64) -> ReturnPath {
    ReturnPath::engine(&release, state).expect("the release has an engine")
}

/// Hands ACKs in at the given times and drives the path until nothing waits: (id, arrival) in order
/// of decision.
fn drive(path: &mut ReturnPath, times: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut times = times.into_iter().enumerate().peekable();
    let mut released = Vec::new();
    loop {
        let event = path.next_event();
        match (times.peek(), event) {
            (Some((_, at)), event) if event.is_none_or(|event| *at <= event) => {
                let (id, at) = times.next().expect("peeked");
                path.offer(at, ack(id as u64)).expect("nothing is dropped at once");
            }
            (_, Some(event)) => {
                while let Some(decision) = path.poll(event) {
                    match decision {
                        Return::Deliver { id, at } => released.push((id, at)),
                        Return::Drop { id, cause } => panic!("ACK {id} dropped: {cause:?}"),
                    }
                }
            }
            (None, None) => return released,
            (Some(_), None) => unreachable!("an ACK comes before no event at all"),
        }
    }
}

/// One run of the terminal's harness: unpaced slow start with 10 packets at first, one ACK per
/// packet, no loss.
struct Flight {
    /// Arrival times of ACKs at the sender, and the RTT sample of each.
    acks: Vec<(u64, u64)>,
}

/// 1348 bytes at 150 Mbit/s.
const PACKET_NS: u64 = 71_893;
const PROPAGATION: u64 = 640 * MS;

fn slow_start(path: &mut ReturnPath, until: u64, window_limit: u64) -> Flight {
    let mut busy = 0_u64;
    let mut sent: Vec<u64> = Vec::new();
    // Packets that reach the terminal, and ACKs that reach the sender, in order of time.
    let mut arriving: VecDeque<(u64, u64)> = VecDeque::new();
    let mut returning: BinaryHeap<Least<(u64, u64)>> = BinaryHeap::new();
    let mut send = |now: u64, sent: &mut Vec<u64>, arriving: &mut VecDeque<(u64, u64)>| {
        busy = busy.max(now) + PACKET_NS;
        arriving.push_back((busy + PROPAGATION, sent.len() as u64));
        sent.push(now);
    };
    (0..10).for_each(|_| send(0, &mut sent, &mut arriving));
    let (mut acks, mut window) = (Vec::new(), 10);
    loop {
        let next_data = arriving.front().map_or(u64::MAX, |(at, _)| *at);
        let next_ack = returning.peek().map_or(u64::MAX, |Least((at, _))| *at);
        let next_event = path.next_event().unwrap_or(u64::MAX);
        if next_ack <= next_data && next_ack <= next_event {
            let Some(Least((now, id))) = returning.pop() else { panic!("the harness ran dry") };
            if now > until {
                return Flight { acks };
            }
            acks.push((now, now - sent[id as usize]));
            window = (window + 1).min(window_limit);
            while (sent.len() as u64) < acks.len() as u64 + window {
                send(now, &mut sent, &mut arriving);
            }
        } else if next_data <= next_event {
            let (at, id) = arriving.pop_front().expect("peeked");
            path.offer(at, ack(id)).expect("nothing is dropped at once");
        } else {
            while let Some(decision) = path.poll(next_event) {
                let Return::Deliver { id, at } = decision else { panic!("dropped") };
                returning.push(Least((at, id)));
            }
        }
    }
}

/// ACKs in second `s` after the first.
fn in_second(flight: &Flight, s: u64) -> u64 {
    let first = flight.acks[0].0;
    flight.acks.iter().filter(|(at, _)| (at - first) / SECOND == s).count() as u64
}

#[test]
fn state_one_gives_the_phase_and_the_first_ten_acks_to_the_nanosecond() {
    let expected = [
        667_137_154,
        667_249_024,
        705_328_051,
        747_926_555,
        784_375_515,
        825_087_316,
        865_392_090,
        905_278_255,
        946_534_471,
        986_752_693,
    ];
    let mut path = engine(Release::Grant(GrantSettings::COLD), 1);
    path.offer(0, ack(0)).expect("taken");
    assert_eq!(path.next_event(), Some(22_662_463), "the first frame is at the phase");
    let mut path = engine(Release::Grant(GrantSettings::COLD), 1);
    let flight = slow_start(&mut path, 1_500 * MS, u64::MAX);
    let first: Vec<u64> = flight.acks.iter().take(10).map(|(at, _)| *at).collect();
    assert_eq!(first, expected);
}

#[test]
fn the_cold_terminal_shows_the_published_figures_in_states_0_to_59() {
    let flights: Vec<Flight> = (0..60)
        .map(|state| {
            slow_start(
                &mut engine(Release::Grant(GrantSettings::COLD), state),
                13 * SECOND,
                u64::MAX,
            )
        })
        .collect();
    let bounds = [
        (19, 20),
        (26, 29),
        (33, 41),
        (57, 72),
        (99, 119),
        (168, 197),
        (287, 336),
        (489, 569),
        (829, 967),
        (1411, 1644),
    ];
    for (s, (least, most)) in bounds.into_iter().enumerate() {
        let counts: Vec<u64> = flights.iter().map(|flight| in_second(flight, s as u64)).collect();
        let seen = (*counts.iter().min().expect("60"), *counts.iter().max().expect("60"));
        // One ACK may fall on the other side of a second's end with another order of events in the
        // harness.
        let near = seen.0.abs_diff(least) <= 1 && seen.1.abs_diff(most) <= 1;
        assert!(near, "ACKs in second {s} over 60 states: {seen:?}, expected {least} to {most}");
    }
    for (state, flight) in flights.iter().enumerate() {
        let least = flight.acks.iter().map(|(_, rtt)| *rtt).min().expect("ACKs");
        assert!(
            (644_600_000..=682_000_000).contains(&least),
            "state {state}: minimum RTT {least} ns"
        );
        let most = flight.acks.iter().take(2000).map(|(_, rtt)| *rtt).max().expect("ACKs");
        assert!(
            (1_338_500_000..=1_445_500_000).contains(&most),
            "state {state}: largest RTT of the first 2000 is {most} ns"
        );
        let first = flight.acks[0].0;
        let mut frames: Vec<u64> = flight
            .acks
            .iter()
            .take_while(|(at, _)| at - first < SECOND)
            .map(|(at, _)| (at - first) / (40 * MS))
            .collect();
        frames.dedup();
        assert!(
            (10..=17).contains(&frames.len()),
            "state {state}: {} of 25 frames used in second 0",
            frames.len()
        );
        let statistic = rayleigh_thousandths(
            flight.acks.iter().map(|(at, _)| *at).take_while(|at| at - first < 3 * SECOND),
        );
        assert!(
            (949..=974).contains(&statistic),
            "state {state}: Rayleigh statistic {statistic}/1000 at 40 ms"
        );
    }
    let mut gaps: Vec<u64> = flights
        .iter()
        .flat_map(|flight| {
            let first = flight.acks[0].0;
            flight
                .acks
                .windows(2)
                .filter(move |pair| (6..11).contains(&((pair[1].0 - first) / SECOND)))
                .map(|pair| pair[1].0 - pair[0].0)
        })
        .collect();
    gaps.sort_unstable();
    let quantile = |percent: usize| (gaps[gaps.len() * percent / 100] + 500) / 1000;
    // From second 6 up to 11. Which runs the published quantiles pool is not said: a microsecond
    // either way, 4 % for the last one.
    for (percent, expected, slack) in [(5, 22, 1), (25, 25, 1), (50, 30, 1), (95, 4_900, 200)] {
        let seen = quantile(percent);
        assert!(
            seen.abs_diff(expected) <= slack,
            "p{percent} of the gaps in seconds 6 to 11 is {seen} us, expected {expected} +- {slack}"
        );
    }
}

/// Length of the mean vector of the phases at 40 ms, in 1/1000.
fn rayleigh_thousandths(times: impl Iterator<Item = u64>) -> u64 {
    let (mut x, mut y, mut n) = (0.0, 0.0, 0.0);
    for at in times {
        let angle = (at % (40 * MS)) as f64 / (40 * MS) as f64 * std::f64::consts::TAU;
        (x, y, n) = (x + angle.cos(), y + angle.sin(), n + 1.0);
    }
    (f64::hypot(x, y) / n * 1000.0).round() as u64
}

#[test]
fn the_warm_terminal_reaches_275_acks_per_second_and_stays_there() {
    let flight =
        slow_start(&mut engine(Release::Grant(GrantSettings::WARM), 1), 20 * SECOND, u64::MAX);
    for s in 5..15 {
        let count = in_second(&flight, s);
        assert!((274..=276).contains(&count), "second {s}: {count} ACKs");
    }
    let rtt_at =
        |s: u64| flight.acks.iter().find(|(at, _)| *at >= s * SECOND).map_or(0, |(_, rtt)| *rtt);
    let climb = (rtt_at(14) - rtt_at(8)) / 6 / MS;
    assert!((480..=520).contains(&climb), "the RTT climbs by {climb} ms per second, expected 500");
}

#[test]
fn the_starved_terminal_releases_75_acks_per_second() {
    let flight =
        slow_start(&mut engine(Release::Grant(GrantSettings::STARVED), 7), 20 * SECOND, u64::MAX);
    for s in 3..15 {
        let count = in_second(&flight, s);
        assert!((74..=76).contains(&count), "second {s}: {count} ACKs");
    }
}

#[test]
fn outages_stop_the_acks_of_the_stressed_terminal() {
    let flight = |settings| slow_start(&mut engine(Release::Grant(settings), 3), 60 * SECOND, 600);
    let (cold, stress) = (flight(GrantSettings::COLD), flight(GrantSettings::STRESS));
    let slow = |flight: &Flight| {
        (12..59).filter(|s| in_second(flight, *s) * 10 < in_second(&cold, *s) * 9).count()
    };
    assert_eq!(slow(&cold), 0);
    assert!(
        (1..=12).contains(&slow(&stress)),
        "{} of 47 seconds suffer from about three outages a minute",
        slow(&stress)
    );
    let longest = |flight: &Flight| flight.acks.iter().map(|(_, rtt)| *rtt).max().unwrap_or(0);
    assert!(
        longest(&stress) > longest(&cold) + 300 * MS,
        "RTT jumps: {} against {} ns",
        longest(&stress),
        longest(&cold)
    );
}

#[test]
fn a_long_idle_terminal_is_where_a_simulated_one_would_be() {
    // Frames and requests coincide every 200 ms: a pause that is longer by a multiple of it must
    // shift everything by exactly that. A pause of 8 s is simulated request by request, the
    // longer ones are skipped.
    for settings in [GrantSettings::COLD, GrantSettings::WARM] {
        let after = |pause: u64| -> Vec<u64> {
            let burst = |from: u64| (0..60).map(move |k| from + k * 3 * MS);
            let times = burst(0).chain(burst(pause)).chain(burst(pause + SECOND));
            drive(&mut engine(Release::Grant(settings), 5), times)
                .into_iter()
                .skip(60)
                .map(|(_, at)| at - pause)
                .collect()
        };
        let simulated = after(8 * SECOND);
        for steps in [1, 40, 12_345, 5_000_000] {
            assert_eq!(
                after(8 * SECOND + steps * 200 * MS),
                simulated,
                "a pause of 8 s and {steps} times 200 ms"
            );
        }
    }
}

#[test]
fn lte_releases_what_waits_every_five_milliseconds() {
    let mut path = engine(Release::Batch(BatchSettings::LTE), 1);
    let released = drive(&mut path, (0..300).map(|k| k * 100_000));
    for (id, at) in &released {
        let instant = (id * 100_000).div_ceil(5 * MS).max(1) * 5 * MS;
        // 24 of 50 that arrive per period may leave: the backlog grows by 26 per period.
        assert!(*at >= instant, "ACK {id} leaves at {at}, before its instant {instant}");
    }
    for instant in 1..10 {
        let batch: Vec<u64> =
            released.iter().map(|(_, at)| *at).filter(|at| at / (5 * MS) == instant).collect();
        assert_eq!(batch.len(), 24, "the cap of instant {instant}");
        assert_eq!(batch[0], instant * 5 * MS);
        assert!(
            batch.windows(2).all(|pair| (9_000..=30_000).contains(&(pair[1] - pair[0]))),
            "gaps of instant {instant}"
        );
    }
}

#[test]
fn instants_lie_as_far_apart_as_the_range_of_the_period_says() {
    let settings =
        BatchSettings { on_first: false, period: (5 * MS, 15 * MS), cap: 1, spacing: (0, 0) };
    let released = drive(&mut engine(Release::Batch(settings), 1), (0..1_000).map(|_| 0));
    let gaps: Vec<u64> = released.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert!(gaps.iter().all(|gap| (5 * MS..=15 * MS).contains(gap)), "within the range");
    let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
    // The standard deviation of a mean of 999 is 0.09 ms.
    assert!(mean.abs_diff(10 * MS) < MS / 2, "in the middle on average, not {mean} ns");
    let near = |at: u64| gaps.iter().filter(|gap| gap.abs_diff(at) < MS).count();
    assert!(near(6 * MS) > 100 && near(14 * MS) > 100, "and everywhere");
}

#[test]
fn an_idle_batch_engine_keeps_its_grid() {
    for times in [[7 * MS, 1_000_000 * SECOND + 1], [12 * MS, 3600 * SECOND]] {
        let released = drive(&mut engine(Release::Batch(BatchSettings::LTE), 1), times);
        for (at, released) in times.into_iter().zip(released) {
            assert_eq!(
                released.1,
                at.div_ceil(5 * MS) * 5 * MS,
                "an ACK at {at} leaves at the next instant, its own included"
            );
        }
    }
}

#[test]
fn interrupt_moderation_starts_with_the_first_ack() {
    let released = drive(
        &mut engine(Release::Batch(BatchSettings::NIC), 1),
        [0, 1_000, 2_000, 500_000, 500_001],
    );
    let at: Vec<u64> = released.iter().map(|(_, at)| *at).collect();
    assert!((10_000..=60_000).contains(&at[0]), "10 to 60 us after the first: {at:?}");
    assert!(at[1] - at[0] <= 3_000 && at[2] - at[1] <= 3_000, "the others follow closely: {at:?}");
    assert!((510_000..=560_000).contains(&at[3]), "and again: {at:?}");
}

#[test]
fn an_ack_path_that_releases_one_per_100_ms_does() {
    let path = Path::parse("pantheon-lab/ack-1-per-100ms").expect("a path");
    let Release::Batch(_) = path.release() else { panic!("{path} has a batch engine") };
    let mut engine = ReturnPath::engine(path.release(), 1).expect("an engine");
    let released = drive(&mut engine, (0..5).map(|_| 0));
    assert_eq!(
        released.iter().map(|(_, at)| at / MS).collect::<Vec<_>>(),
        [100, 200, 300, 400, 500]
    );
}

#[test]
fn thinning_never_takes_the_newest_ack_however_many_wait() {
    let path = Path::parse("rate=8Mbit,rtt=100ms,up=64kbit,thin=1").expect("a path");
    let (_, reverse) = path.open(1500, 80, 1, 0).expect("it can be opened");
    let Reverse::Driven(mut way) = reverse else { panic!("thinning is driven") };
    // One in service, two that carry data and cannot go, and the newest.
    for (id, pure) in [(0, true), (1, false), (2, false), (3, true)] {
        way.offer(id, Ack { id, len: 80, flow: 0, pure }).expect("room");
    }
    let mut came = Vec::new();
    while let Some(event) = way.next_event() {
        while let Some(decision) = way.poll(event) {
            match decision {
                Return::Deliver { id, .. } => came.push(id),
                Return::Drop { id, cause } => panic!("ACK {id} dropped: {cause:?}"),
            }
        }
    }
    assert_eq!(came, [0, 1, 2, 3]);
}

#[test]
fn thinning_keeps_the_newest_acks_of_each_flow() {
    let path = Path::parse("rate=8Mbit,rtt=100ms,up=64kbit,thin=2").expect("a path");
    assert!(path.links(1500, 80, 1, 0).is_err(), "a plain link cannot thin out");
    let (_, reverse) = path.open(1500, 80, 1, 0).expect("it can be opened");
    let Reverse::Driven(mut way) = reverse else { panic!("thinning is driven") };
    // 80 B at 64 kbit/s take 10 ms.
    let entry = |id: u64, flow: u32, pure: bool| Ack { id, len: 80, flow, pure };
    for id in 0..6 {
        way.offer(id, entry(id, 0, id != 1)).expect("room");
    }
    way.offer(6, entry(6, 1, true)).expect("room");
    let mut decisions = Vec::new();
    while let Some(event) = way.next_event() {
        while let Some(decision) = way.poll(event) {
            decisions.push(decision);
        }
    }
    let dropped: Vec<u64> = decisions
        .iter()
        .filter_map(|decision| {
            if let Return::Drop { id, cause: DropCause::Thinned } = decision {
                Some(*id)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        dropped,
        [2, 3, 4],
        "the first is in service, the second is not pure, two of the flow may wait"
    );
    let delivered: Vec<(u64, u64)> =
        decisions
            .iter()
            .filter_map(|decision| {
                if let Return::Deliver { id, at } = decision { Some((*id, *at)) } else { None }
            })
            .collect();
    let first = delivered[0].1;
    let expected: Vec<(u64, u64)> = [0, 1, 5, 6]
        .into_iter()
        .enumerate()
        .map(|(k, id)| (id, first + k as u64 * 10 * MS))
        .collect();
    assert_eq!(delivered, expected, "the rest leaves at the rate of the link");
}

#[test]
fn a_driven_plain_link_equals_the_link_that_knows_fates() {
    // A limit that never binds: the serial engine must then be the plain link.
    let text = "rate=8Mbit,rtt=100ms,up=933kbit,up_queue=20kB,up_loss=5%";
    let (_, mut plain) = Path::parse(text).expect("a path").links(1500, 66, 4, 2).expect("links");
    let (_, reverse) = Path::parse(&format!("{text},thin=1000000"))
        .expect("a path")
        .open(1500, 66, 4, 2)
        .expect("opens");
    let Reverse::Driven(mut way) = reverse else { panic!("thinning is driven") };
    let mut expected = Vec::new();
    let mut seen = Vec::new();
    let mut collect = |way: &mut ReturnPath, upto: u64| {
        while let Some(event) = way.next_event().filter(|event| *event <= upto) {
            while let Some(decision) = way.poll(event) {
                seen.push(match decision {
                    Return::Deliver { id, at } => (id, Ok(at)),
                    Return::Drop { id, cause } => (id, Err(cause)),
                });
            }
        }
    };
    let mut rejected = Vec::new();
    for id in 0..3_000_u64 {
        let (now, len) = (id * 450_000 + id % 7, 40 + (id % 50) as u32);
        collect(&mut way, now);
        match (plain.offer(now, len), way.offer(now, Ack { id, len, flow: 0, pure: true })) {
            (firstflight_path::Fate::Drop(DropCause::Queue), Err(DropCause::Queue)) => {
                rejected.push(id);
            }
            (firstflight_path::Fate::Drop(cause), Ok(())) => expected.push((id, Err(cause))),
            (firstflight_path::Fate::Deliver { at, .. }, Ok(())) => expected.push((id, Ok(at))),
            other => panic!("ACK {id}: {other:?}"),
        }
    }
    collect(&mut way, u64::MAX);
    assert_eq!(seen, expected);
    assert!(rejected.len() > 100, "{} ACKs found the queue full", rejected.len());
}

#[test]
fn an_opened_path_adds_its_propagation_and_its_losses_to_the_engine() {
    let path = Path::parse("rate=150Mbit,rtt=640ms,return=geo_warm,up_loss=10%").expect("a path");
    assert!(path.is_driven());
    assert!(
        path.links(1500, 66, 1, 0).expect_err("driven").as_str().contains("open the path instead")
    );
    let (mut forward, reverse) = path.open(1500, 66, 1, 0).expect("opens");
    let Reverse::Driven(mut way) = reverse else { panic!("an engine is driven") };
    let one_way = forward.propagation();
    assert!(matches!(forward.offer(0, 1500), firstflight_path::Fate::Deliver { .. }));
    let mut lost = 0;
    for id in 0..1000 {
        lost += usize::from(way.offer(id * 10 * MS, ack(id)) == Err(DropCause::Random));
    }
    assert!((60..=140).contains(&lost), "{lost} of 1000 ACKs are lost, about 100 should be");
    let mut arrived = 0;
    while let Some(event) = way.next_event() {
        while let Some(decision) = way.poll(event) {
            let Return::Deliver { id, at } = decision else {
                panic!("nothing is dropped behind the link")
            };
            assert!(
                at >= id * 10 * MS + one_way,
                "ACK {id} arrives at {at}, before its propagation"
            );
            assert!(
                at <= id * 10 * MS + one_way + 2 * 40 * MS + 7 * MS,
                "ACK {id} arrives at {at}: a warm terminal is not the bottleneck"
            );
            arrived += 1;
        }
    }
    assert_eq!(arrived + lost, 1000, "each ACK arrives or is lost");
}

fn releases() -> impl Strategy<Value = Release> {
    prop_oneof![
        Just(Release::Grant(GrantSettings::COLD)),
        Just(Release::Grant(GrantSettings::WARM)),
        Just(Release::Grant(GrantSettings::STRESS)),
        Just(Release::Batch(BatchSettings::LTE)),
        Just(Release::Batch(BatchSettings::WIFI)),
        Just(Release::Batch(BatchSettings::NIC)),
    ]
}

proptest! {
    #[test]
    fn every_ack_leaves_once_in_order_and_never_before_it_came(
        release in releases(), state in any::<u64>(), gaps in prop::collection::vec(prop_oneof![Just(0_u64), 0..200_000_u64, 0..5_000_000_000_u64], 1..200),
    ) {
        let times: Vec<u64> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
        let released = drive(&mut engine(release, state), times.clone());
        prop_assert_eq!(released.len(), times.len());
        for (k, (id, at)) in released.iter().enumerate() {
            prop_assert_eq!(*id, k as u64, "order");
            prop_assert!(*at >= times[k], "ACK {} leaves at {} and came at {}", k, at, times[k]);
        }
        prop_assert!(released.windows(2).all(|pair| pair[0].1 <= pair[1].1), "monotone");
        let again = drive(&mut engine(release, state), times);
        prop_assert_eq!(again, released, "same state and input, same output");
    }

    #[test]
    fn grants_above_the_load_delay_by_less_than_two_frames_and_the_jitter(state in any::<u64>(), gap in 4_u64..30) {
        let released = drive(&mut engine(Release::Grant(GrantSettings::WARM), state), (0..400).map(|k| k * gap * MS));
        for (id, at) in released {
            prop_assert!(at - id * gap * MS < 2 * 40 * MS + 6 * MS, "ACK {} waits {} ns", id, at - id * gap * MS);
        }
    }

    #[test]
    fn no_more_leave_than_was_granted(state in any::<u64>()) {
        // Constant grant of 3 per frame: over w frames at most 3 w + 1 ACKs leave.
        let released = drive(&mut engine(Release::Grant(GrantSettings::STARVED), state), (0..600).map(|k| k * 2 * MS));
        let phase = {
            let mut path = engine(Release::Grant(GrantSettings::STARVED), state);
            path.offer(0, ack(0)).expect("taken");
            path.next_event().expect("an ACK waits")
        };
        let mut per_frame = vec![0_u64; 300];
        for (_, at) in &released {
            per_frame[((at - phase) / (40 * MS)) as usize] += 1;
        }
        for w in [1_usize, 2, 5, 20] {
            for frames in per_frame.windows(w) {
                let sum: u64 = frames.iter().sum();
                prop_assert!(sum <= 3 * w as u64 + 1, "{} ACKs in {} frames", sum, w);
            }
        }
    }
}
