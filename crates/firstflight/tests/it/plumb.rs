//! Plumb's rules, one by one; what it reads from ACKs stands in `sounding.rs`, what holds on every
//! path in `plumb_path.rs`.

use crate::hooks;
use crate::plumb_path::{MSS, Trip, signal};
use crate::rig::{Rig, START};
use crate::told::{Hear, Told};

use firstflight::arm::Arm;
use firstflight::avoidance::{Cubic, cubic};
use firstflight::recovery::{Immediate, OwnRecovery};
use firstflight::startup::plumb::{Params, Plumb};
use firstflight::startup::{ExitReason, Startup, Train};
use firstflight::{
    Config, Context, Controller, Nanos, Phase, Ratio, Ready, Seq, Signal, Time, Timeout, Transport,
    UNSET_SSTHRESH, Window,
};

const MS: u64 = 1_000_000;
const BETA: Ratio = Ratio::new(7, 10);

pub(crate) fn params(arm: &str) -> Params {
    match Arm::parse(arm).expect("an arm").startup {
        firstflight::arm::StartupSpec::Plumb(params) => params,
        other => panic!("{other} is not Plumb"),
    }
}

fn ready(now: u64, inflight: u64) -> Ready {
    Ready {
        now: Time(now),
        nxt: Seq(inflight / MSS),
        inflight,
        backlog: u64::MAX,
        srtt: Some(Nanos(30 * MS)),
        idle: Nanos::ZERO,
        timeout: Nanos(90 * MS),
    }
}

const INITIAL: Window = Window { cwnd: 10 * MSS, ssthresh: UNSET_SSTHRESH };

/// Shows PLUMB 1-volume, PLUMB 1-trains.
#[test]
fn the_first_flight_leaves_as_trains_of_four_within_one_round_trip() {
    let (mut plumb, cx, mut w) = (Plumb::new(Params::default()), hooks::quic(MSS), INITIAL);
    // (time in ms, bytes in flight then, the train: up to how many, until when in ms)
    let table = [
        (0, 0, Some((3_500, 6))),
        (1, 3_000, Some((3_500, 6))),
        (6, 4_000, Some((7_500, 12))),
        (12, 8_000, Some((11_500, 18))),
        (18, 12_000, Some((15_500, 24))),
        (24, 16_000, Some((19_500, 30))),
        (30, 20_000, None),
    ];
    for (at, inflight, train) in table {
        plumb.before_send(&ready(at * MS, inflight), &mut w, &cx);
        let expected = train.map(|(inflight, next)| Train { inflight, next: Time(next * MS) });
        assert_eq!(plumb.train(), expected, "{inflight} bytes in flight at {at} ms");
        assert_eq!(w.cwnd, 20 * MSS, "two initial windows");
    }
    let train = Train { inflight: 3_500, next: Time(6 * MS) };
    assert_eq!(train.wait(Time(MS), 3_000), Nanos::ZERO, "the fourth packet leaves at once");
    assert_eq!(train.wait(Time(MS), 4_000), Nanos(5 * MS), "the fifth with the next train");
}

/// A stack that sends in bursts asks whether each packet has to be told.
#[test]
fn it_heeds_every_packet_until_the_first_flight_is_over_and_none_afterwards() {
    let (mut plumb, cx, mut w) = (Plumb::new(Params::default()), hooks::quic(MSS), INITIAL);
    plumb.start(Time(0), Seq(0));
    plumb.on_rtt(Time(0), Nanos(30 * MS), &cx);
    assert!(plumb.heeds().sending, "before anything was sent");
    plumb.before_send(&ready(0, 0), &mut w, &cx);
    assert!(plumb.train().is_some() && plumb.heeds().sending, "within the first flight");
    plumb.on_timeout(Timeout::PersistentCongestion, Time(MS), Seq(10));
    assert!(!plumb.heeds().sending, "startup is over");
    let mut trip = Trip::new("plumb", 20, 50, 500);
    trip.run(30);
    let flight = trip.c.startup().heeds().sending;
    assert!(!flight, "the first flight is over, startup goes on");
}

/// Shows PLUMB 1-once.
#[test]
fn without_pacer_sample_data_or_room_there_is_no_first_flight() {
    let cx = hooks::quic(MSS);
    let unpaced = firstflight::with!(Context { paced: false, ..cx });
    let (now, idle) = (ready(0, 0), Nanos(91 * MS));
    let grown = Window { cwnd: 21 * MSS, ..INITIAL };
    let known = Window { ssthresh: 10 * MSS, ..INITIAL };
    let table = [
        ("it flies", now, INITIAL, cx, true),
        ("no pacer", now, INITIAL, unpaced, false),
        ("no RTT", Ready { srtt: None, ..now }, INITIAL, cx, false),
        ("too little to send", Ready { backlog: 9 * MSS, ..now }, INITIAL, cx, false),
        ("a grown window", now, grown, cx, false),
        ("a known threshold", now, known, cx, false),
        ("after a pause", Ready { idle, ..now }, INITIAL, cx, false),
    ];
    for (what, ready, mut w, cx, flies) in table {
        let mut plumb = Plumb::new(Params::default());
        let before = w.cwnd;
        plumb.before_send(&ready, &mut w, &cx);
        assert_eq!((plumb.train().is_some(), w.cwnd > before), (flies, flies), "{what}");
    }
}

/// Shows PLUMB 1-used.
#[test]
fn what_the_application_does_not_use_of_the_first_flight_is_not_kept() {
    for (used, kept) in [(20, 20), (14, 14), (4, 10)] {
        let mut r = Rig::quic("plumb", 10 * MSS);
        r.c.before_send(&r.ready());
        r.send(used * MSS);
        r.wait(30);
        let ack = Told { cwnd_limited: false, inflight_before: used * MSS, ..r.record(2 * MSS) };
        r.deliver(&ack);
        // Half of the window in flight is use enough to grow by.
        let grown = if used * MSS >= kept * MSS / 2 { 4 } else { 0 };
        assert_eq!(r.c.cwnd(), (kept + grown) * MSS, "{used} packets of twenty were sent");
    }
}

/// Shows PLUMB 3-depth, PLUMB 3-once, PLUMB 3-known.
#[test]
fn one_round_trip_after_the_first_flight_it_sends_at_the_rate_of_the_path() {
    let mut trip = Trip::new("plumb", 100, 30, 375);
    trip.run(1);
    assert_eq!(trip.c.cwnd(), 24 * MSS, "one ACK has no spacing: threefold growth so far");
    trip.run(1);
    let depth = signal(&trip.c, "depth_bytes").expect("two ACKs of a train sound the path");
    let expected = trip.bdp() + 2 * MSS;
    assert!(depth.abs_diff(expected) <= MSS, "{depth}, not the path's BDP and two packets");
    assert_eq!(trip.c.cwnd(), 30 * MSS, "fourfold growth: six packets for two");
    trip.run(1);
    let window = trip.c.cwnd() / MSS;
    assert!((51..=60).contains(&window), "three times the flight at once, not {window} packets");
    let rate = trip.c.pacing_rate().expect("paced").0;
    assert!(rate.abs_diff(12_500_000) < 250_000, "paced at {rate} bytes per second, not 12.5 M");
    let mut largest = 0;
    while trip.now < 100 * MS && trip.step(&mut |_, _, after| largest = largest.max(after.cwnd())) {
    }
    assert_eq!((trip.lost, trip.c.exit().is_none()), (0, true), "nothing is lost on the way");
    assert!(largest <= depth + depth / 4, "{largest} is more than 5/4 of {depth}");
    assert!(largest >= depth, "the path is filled");
}

/// Shows PLUMB 3-known.
#[test]
fn without_a_pacer_growth_is_slow_starts() {
    let config =
        firstflight::with!(Config { paced: false, initial_window: 10 * MSS, ..Config::quic(MSS) });
    let mut r = Rig::with("plumb", config);
    r.fill();
    assert_eq!((r.c.cwnd(), r.c.train()), (10 * MSS, None));
    r.wait(30);
    r.ack(4 * MSS);
    assert_eq!(r.c.cwnd(), 14 * MSS, "as much as was acknowledged");
}

/// Shows PLUMB 3-blind.
#[test]
fn while_nothing_is_known_growth_is_threefold() {
    let mut r = Rig::quic("plumb", 10 * MSS);
    r.fill();
    let flight = r.c.cwnd();
    r.wait(30);
    // Constant RTT, an ACK every 2 ms: the sender's own pace.
    for _ in 0..5 {
        r.ack(2 * MSS);
        r.wait(2);
    }
    assert_eq!(r.c.cwnd(), flight + 20 * MSS, "ten packets acknowledged, twenty more");
}

/// Shows PLUMB 3-refuted.
#[test]
fn a_rate_that_a_whole_round_exceeds_is_none() {
    let mut r = Rig::quic("plumb", 10 * MSS);
    r.fill();
    let base = r.rtt;
    for k in 1..=5u64 {
        r.wait(6);
        r.rtt = base + Nanos(2 * MS * k);
        r.ack(2 * MSS);
    }
    let depth = signal(&r.c, "depth_bytes").expect("a sounding of 2 packets in 6 ms");
    assert!(depth < r.c.cwnd(), "the depth {depth} is below the window {}", r.c.cwnd());
    // From here on the RTT is the smallest, and a window per round trip is delivered.
    r.rtt = base;
    for _ in 0..3 {
        r.fill();
        r.wait(30);
        while r.inflight() > 0 {
            r.ack((2 * MSS).min(r.inflight()));
        }
    }
    assert_eq!(signal(&r.c, "depth_bytes"), None, "unknown again");
}

/// Shows PLUMB 3-cruise, PLUMB 3-calm.
#[test]
fn slow_growth_doubles_after_two_calm_rounds() {
    let (mut trip, _, _) = landed("plumb");
    while signal(&trip.c, "strikes") != Some(1) {
        assert!(trip.step(&mut |_, _, _| {}), "the look ends");
    }
    trip.speed_up(50);
    let (mut growth, mut window, mut until) = (Vec::new(), trip.c.cwnd(), trip.now + 52 * MS);
    while growth.len() < 10 && trip.step(&mut |_, _, _| {}) {
        if trip.now >= until {
            growth.push((trip.c.cwnd() * 100 / window).saturating_sub(100));
            (window, until) = (trip.c.cwnd(), trip.now + 52 * MS);
        }
    }
    assert!(growth[..2].iter().all(|&g| g <= 14), "an eighth per round trip first: {growth:?} %");
    assert!(growth.iter().any(|&g| g >= 90), "and soon by its double: {growth:?} %");
    // The examined span is a little longer than a round trip.
    assert!(growth.iter().all(|&g| g <= 250), "threefold at most: {growth:?} %");
}

/// A flow whose queue has just made it land: window before and after.
fn landed(arm: &str) -> (Trip, u64, u64) {
    lands(Trip::new(arm, 20, 50, 500))
}

/// This one until its queue makes it land.
fn lands(mut trip: Trip) -> (Trip, u64, u64) {
    let mut window = None;
    while window.is_none() {
        let more = trip.step(&mut |before, _, after| {
            if after.phase() == Phase::Drain {
                window = Some((before.cwnd(), after.cwnd()));
            }
        });
        assert!(more && trip.now < 10_000 * MS, "a queue should show");
    }
    let (before, after) = window.unwrap();
    (trip, before, after)
}

/// Shows PLUMB 4-land: while no depth is sure it lands by the rate of a round of which half a round trip is
/// behind.
#[test]
fn it_lands_in_the_second_half_of_a_round() {
    let mut trip = Trip::new("plumb", 20, 50, 500);
    let (mut end, mut began, mut landings) = (Seq(0), Time(0), 0);
    while trip.c.exit().is_none()
        && trip.step(&mut |before, ack, after| {
            if ack.una > end {
                (end, began) = (ack.nxt, ack.now);
            }
            if after.phase() == Phase::Drain && before.phase() != Phase::Drain {
                landings += 1;
                let spent = ack.now.since(began);
                assert!(spent >= Nanos(25 * MS), "landing {landings} after {spent:?}");
            }
        })
    {}
    assert!(landings >= 2, "{landings} landings");
}

/// Shows PLUMB 4-sign, PLUMB 4-land, PLUMB 4-still, PLUMB 4-strike, PLUMB 4-leave.
#[test]
fn its_own_queue_is_drained_and_the_third_one_ends_it_without_a_loss() {
    let (mut trip, before, after) = landed("plumb");
    let bdp = trip.bdp();
    assert!(before > bdp, "a queue: {before}");
    assert_eq!(after, bdp + 2 * MSS, "what the path holds, and two packets");
    while trip.c.exit().is_none() && trip.step(&mut |_, _, _| {}) {}
    let exit = trip.c.exit().expect("it left");
    assert_eq!((exit.reason, trip.lost), (ExitReason::Delay, 0), "on delay, nothing lost");
    assert!(exit.cwnd.abs_diff(bdp) <= bdp / 8 + 2 * MSS, "it leaves with what the path holds");
}

/// Whether the landing is taken back where a queue of others of 10 ms has shrunk to `left_us` when
/// it looks; and what three packets take, by the last whole round.
fn taken_back(left_us: u64) -> (bool, u64) {
    let mut trip = Trip::new("plumb", 100, 50, 5_000);
    let (mut landed, mut back) = (false, None);
    let mut rounds = vec![(0, 0, 0)];
    while back.is_none() {
        trip.others = match landed {
            false if trip.now > 60 * MS => 10 * MS,
            false => 0,
            true => left_us * 1_000,
        };
        let more = trip.step(&mut |before, ack, after| {
            let &(_, _, end) = rounds.last().expect("one");
            if !landed && ack.una.0 > end {
                rounds.push((ack.now.0, ack.delivered, ack.nxt.0));
            }
            let drains = |c: &firstflight::AnyController| c.phase() == Phase::Drain;
            if !drains(before) && drains(after) {
                landed = true;
            }
            if drains(before) && !drains(after) {
                back = Some(signal(after, "strikes") == Some(0));
            }
        });
        assert!(more, "the flow goes on");
    }
    let [.., (t0, d0, _), (t1, d1, _)] = rounds[..] else { panic!("{rounds:?}") };
    (back.expect("it looked"), 3 * MSS * (t1 - t0) / (d1 - d0) / 1_000)
}

/// Shows PLUMB 4-look: the landing itself may keep three packets above the smallest RTT.
#[test]
fn half_of_the_queue_and_three_packets_are_the_flows_own() {
    let (_, slack) = taken_back(0);
    assert!((100..1_000).contains(&slack), "three packets take {slack} us here");
    for (left, back) in [(0, false), (4_900 + slack, false), (5_100 + slack, true), (10_000, true)]
    {
        assert_eq!(taken_back(left).0, back, "{left} us of 10 ms are left, three packets {slack}");
    }
}

/// Shows PLUMB 4-others, PLUMB 4-look.
#[test]
fn a_queue_of_others_gives_the_window_back() {
    let mut trip = Trip::new("plumb", 100, 50, 5_000);
    // From the second round on everything takes 10 ms more, whatever it does.
    let (mut landing, mut given_back, mut rise) = (None, None, 0);
    for _ in 0..3_000 {
        if trip.now > 60 * MS {
            trip.others = 10 * MS;
        }
        let drains = |c: &firstflight::AnyController| c.phase() == Phase::Drain;
        if !trip.step(&mut |before, _, after| {
            if !drains(before) && drains(after) {
                landing = landing.or(Some(before.cwnd()));
                rise = rise.max(signal(after, "rtt_floor_ns").expect("a floor") - 50 * MS);
            }
            if drains(before) && !drains(after) && given_back.is_none() {
                given_back = Some(after.cwnd());
            }
        }) {
            break;
        }
    }
    let (landing, given_back) = (landing.expect("it landed"), given_back.expect("it looked"));
    assert!(given_back >= landing, "{landing} before, {given_back} after the look");
    assert_eq!(signal(&trip.c, "strikes").unwrap_or(0), 0, "no strike");
    let threshold = signal(&trip.c, "rtt_threshold_ns");
    let noise = rise + rise / 4;
    assert_eq!(threshold, Some(50 * MS + noise), "{rise} ns and a quarter of it are noise now");
}

/// A flow whose ACKs carry the receiver's clock.
fn stamped(arm: &str, mbps: u64, rtt_ms: u64, queue: u64) -> Trip {
    let mut trip = Trip::new(arm, mbps, rtt_ms, queue);
    trip.stamped = true;
    trip
}

/// The window before the first landing, where from the second round on ACKs take 10 ms more.
fn lands_beside_a_queue_on_the_way_back(arm: &str, rtt_ms: u64, stamps: bool) -> u64 {
    let mut trip = Trip::new(arm, 100, rtt_ms, 5_000);
    trip.stamped = stamps;
    let mut landing = None;
    while landing.is_none() && trip.now < 5_000 * MS {
        trip.others = if trip.now > (rtt_ms + 10) * MS { 10 * MS } else { 0 };
        let more = trip.step(&mut |before, _, after| {
            if after.phase() == Phase::Drain {
                landing = Some(before.cwnd());
            }
        });
        assert!(more, "{arm}: the flow goes on");
    }
    landing.expect("its own queue calls for a landing in the end")
}

/// Shows PLUMB 8-forward.
#[test]
fn by_the_receivers_clock_a_queue_on_the_way_back_calls_for_no_landing() {
    let without = lands_beside_a_queue_on_the_way_back("plumb", 50, true);
    let unstamped = lands_beside_a_queue_on_the_way_back("plumb(clock=on)", 50, false);
    assert_eq!(without, unstamped, "without time stamps there is no clock");
    let with = lands_beside_a_queue_on_the_way_back("plumb(clock=on)", 50, true);
    // 60 ms are full with 750 packets.
    assert!(without < with && with > 750 * MSS, "{without} without the clock, {with} with it");
    // A queue of its own it finds with the clock as without.
    let mut trip = stamped("plumb(clock=on)", 20, 50, 500);
    while trip.c.exit().is_none() && trip.step(&mut |_, _, _| {}) {}
    let exit = trip.c.exit().expect("it left");
    assert_eq!((exit.reason, trip.lost), (ExitReason::Delay, 0), "on delay, nothing lost");
}

/// Shows PLUMB 8-grain.
#[test]
fn on_a_short_path_the_receivers_clock_is_not_read() {
    for (rtt, read) in [(19, false), (20, true)] {
        let [without, with] = ["plumb", "plumb(clock=on)"]
            .map(|arm| lands_beside_a_queue_on_the_way_back(arm, rtt, true));
        assert_eq!(with > without, read, "{rtt} ms: {without} without the clock, {with} with it");
        assert!(read || with == without, "{rtt} ms: {without}, {with}");
    }
}

/// Shows PLUMB 8-rate.
#[test]
fn where_acks_come_in_bunches_the_receivers_clock_sounds_the_path() {
    for (arm, sounds) in [("plumb", false), ("plumb(clock=on)", true)] {
        // The way back lets ACKs through every 20 ms.
        let mut trip = stamped(arm, 8, 60, 500);
        trip.batch = 20 * MS;
        let (mut bunched, mut depth) = (false, None);
        for _ in 0..60 {
            assert!(trip.step(&mut |_, _, _| {}));
            bunched |= signal(&trip.c, "bunched") == Some(1);
            if bunched {
                depth = depth.or(signal(&trip.c, "depth_bytes"));
            }
        }
        assert!(bunched, "{arm}: ACKs come in bunches");
        assert_eq!(depth.is_some(), sounds, "{arm}: {depth:?}");
        if let Some(depth) = depth {
            let bdp = trip.bdp();
            assert!(depth.abs_diff(bdp) <= bdp / 4 + 2 * MSS, "{depth}, the path holds {bdp}");
        }
    }
}

/// Shows PLUMB 9-prior, PLUMB 9-same.
#[test]
fn what_an_earlier_connection_saved_counts_once_soundings_confirm_it() {
    // 100 Mbit/s, 150 ms: 1875 packets. The window before the second round trip is over.
    let window = |arm: &str| {
        let mut trip = Trip::new(arm, 100, 150, 2_000);
        let mut most = 0;
        while trip.now < 290 * MS && trip.step(&mut |_, _, after| most = most.max(after.cwnd())) {}
        assert!(trip.departures.iter().filter(|&&at| at < 150 * MS).count() <= 20, "{arm}");
        most
    };
    let without = window("plumb");
    assert!(without < 400 * MSS, "it grows to {without}");
    for confirmed in ["saved=1800,rtt=150", "saved=1800", "saved=1800,rtt=290"] {
        let with = window(&format!("plumb({confirmed})"));
        assert!((1_800 * MSS..2_000 * MSS).contains(&with), "{confirmed}: {with}");
    }
    let with = window("plumb(saved=3000)");
    assert!((1_870 * MSS..2_000 * MSS).contains(&with), "the depth, and what follows it: {with}");
    // Twice the depth and more, or another path's.
    for wrong in ["saved=4000", "saved=18000", "saved=1800,rtt=301", "saved=1800,rtt=14"] {
        assert_eq!(window(&format!("plumb({wrong})")), without, "{wrong}");
    }
}

/// Marks end startup as a loss does, by the arm's own factor.
#[test]
fn marks_are_answered_as_the_arm_does() {
    for arm in ["plumb", "plumb(clock=on)", "plumb(saved=500)"] {
        let mut trip = Trip::new(arm, 100, 30, 375);
        trip.run(6);
        let ack = Told { ce: true, ..trip.next_ack().expect("an ACK") };
        let window = trip.c.cwnd();
        trip.c.hear(&ack);
        assert!(trip.c.in_recovery() && trip.lost == 0, "{arm}: an episode without a loss");
        let left = BETA.of(ack.inflight_before)..=BETA.of(window);
        let ssthresh = trip.c.ssthresh().expect("a threshold");
        assert!(left.contains(&ssthresh), "{arm}: seven tenths of what was in flight");
    }
}

/// An application that leaves the window unused does not make it grow, and what a round delivered
/// then is not what the path can.
#[test]
fn an_application_that_is_the_limit_grows_no_window() {
    let mut r = Rig::quic("plumb", 10 * MSS);
    r.send(4 * MSS);
    for _ in 0..20 {
        let before = r.c.cwnd();
        r.wait(30);
        let ack = Told { cwnd_limited: false, app_limited: true, ..r.record(4 * MSS) };
        r.deliver(&ack);
        assert!(r.c.cwnd() <= before, "{before} grew to {}", r.c.cwnd());
        assert_eq!(r.c.exit(), None, "nor does it end startup");
        r.send(4 * MSS);
    }
}

/// Shows PLUMB 4-flat.
#[test]
fn it_does_not_land_while_delivery_still_grows() {
    // From the third round on everything takes 10 ms more, and the path is never full before.
    let mut trip = Trip::new("plumb", 1_000, 50, 50_000);
    // Delivery rates of whole rounds, and their number when a queue shows and when it lands.
    let (mut rates, mut began) = (Vec::new(), (Time(0), 0, Seq(0)));
    let (mut shows, mut lands) = (None, None);
    while lands.is_none() && trip.now < 2_000 * MS {
        trip.others = if trip.now > 60 * MS { 10 * MS } else { 0 };
        let more = trip.step(&mut |_, ack, after| {
            if ack.una > began.2 {
                let took = ack.now.since(began.0).0;
                rates.push((ack.delivered - began.1) * 1_000_000_000 / took.max(1));
                began = (ack.now, ack.delivered, ack.nxt);
            }
            let above = signal(after, "rtt_floor_ns") > signal(after, "rtt_threshold_ns");
            if rates.len() > 2 && above {
                shows = shows.or(Some(rates.len()));
            }
            if after.phase() == Phase::Drain {
                lands = Some(rates.len());
            }
        });
        assert!(more, "the flow goes on");
    }
    let (shows, lands) = (shows.expect("a queue"), lands.expect("it lands in the end"));
    let grows = |n: usize| rates[n - 1] * 4 > rates[n - 2] * 5;
    assert!(shows < lands, "a queue shows in round {shows}, it lands in round {lands}");
    assert!((shows..lands).all(grows) && !grows(lands), "{shows} to {lands} of {rates:?}");
}

/// A train of six packets, two per 0.1 ms: microseconds, and RTT above the smallest in us.
const TRAIN: [(u64, u64); 3] = [(0, 0), (100, 100), (200, 200)];

/// Bytes that two more packets open after ACKs for two packets each, at these times with an RTT so much
/// above 30 ms, in us; in bytes.
pub(crate) fn opened_after(arm: &str, acks: &[(u64, u64)]) -> u64 {
    let cx = hooks::quic(MSS);
    let mut plumb = Plumb::new(params(arm));
    plumb.start(Time(0), Seq(0));
    let mut w = Window { cwnd: 20 * MSS, ssthresh: UNSET_SSTHRESH };
    let mut opened = 0;
    for (k, &(at, over)) in (0..).zip(acks) {
        let (now, rtt) = (Time(30 * MS + at * 1_000), Nanos(30 * MS + over * 1_000));
        plumb.on_rtt(now, rtt, &cx);
        let ack = Told {
            now,
            rtt: Some(rtt),
            srtt: Some(Nanos(30 * MS)),
            acked: 2 * MSS,
            delivered: 2 * MSS * (k + 1),
            una: Seq(2 * k + 2),
            nxt: Seq(20),
            inflight_before: 4 * MSS,
            cwnd_limited: true,
            ..Told::default()
        };
        plumb.sample(&ack.ack(), w, &ack.within(&cx));
        let before = w.cwnd;
        plumb.grow(&ack.ack(), 2 * MSS, &mut w, &ack.within(&cx));
        opened = w.cwnd - before;
    }
    opened
}

/// The same in packets, after a train and the heads of others.
fn opened_after_trains(arm: &str, heads: &[(u64, u64)]) -> u64 {
    opened_after(arm, &[&TRAIN[..], heads].concat()) / MSS
}

/// Shows PLUMB 3-crowded.
#[test]
fn where_a_train_finds_the_queue_of_the_one_before_growth_is_slow_starts() {
    // (arm, the next head's RTT in us above the smallest, packets opened for two acknowledged)
    for (arm, over, opened) in [("plumb", 0, 6), ("plumb", 200, 2), ("plumb-tolerant", 200, 2)] {
        assert_eq!(opened_after_trains(arm, &[(9_000, over)]), opened, "{arm}, {over} us");
    }
}

/// Shows PLUMB 3-raised.
#[test]
fn while_nothing_is_known_a_raised_rtt_makes_growth_slow_starts() {
    // One ACK and another one 16 ms later say no rate; the threshold is 33 ms.
    for (over, opened) in [(0, 4), (3_000, 4), (3_001, 2)] {
        let found = opened_after("plumb", &[(0, 0), (16_000, over)]) / MSS;
        assert_eq!(found, opened, "packets opened for two, the RTT {over} us up");
    }
}

/// Shows PLUMB 3-uneven.
#[test]
fn where_trains_meet_different_queues_growth_is_one_and_a_half() {
    // The head of the second train, 16 ms after the first one: an eighth of 30 ms counts.
    for (over, opened) in [(3_750, 6), (3_751, 1)] {
        let found = opened_after_trains("plumb", &[(16_000, over)]);
        assert_eq!(found, opened, "packets opened for two, the second train {over} us later");
    }
    for (over, opened) in [(3_750, 2), (3_751, 1)] {
        let found = opened_after("plumb", &[(0, 0), (16_000, over)]) / MSS;
        assert_eq!(found, opened, "without a rate, the second train {over} us later");
    }
}

/// Shows PLUMB 3-once.
#[test]
fn a_window_leaves_at_once_only_after_a_train_has_drained() {
    let window = |acks| {
        let mut trip = Trip::new("plumb", 100, 30, 375);
        trip.run(acks);
        (signal(&trip.c, "depth_bytes").is_some(), trip.c.cwnd() / MSS)
    };
    // The two ACKs of the first train give a rate; the head of the second train finds no queue.
    assert_eq!(window(2), (true, 30), "fourfold growth until then");
    let (known, at_once) = window(3);
    assert!(known && at_once >= 51, "three times the flight, not {at_once} packets");
}

/// Shows PLUMB 3-verify.
#[test]
fn if_it_is_to_verify_it_grows_fast_only_after_a_train_has_drained() {
    for (arm, heads, opened) in [
        ("plumb", &[][..], 6),
        ("plumb(verify=on)", &[][..], 2),
        ("plumb(verify=on)", &[(9_000, 0)][..], 6),
        ("plumb(verify=on)", &[(9_000, 200)][..], 2),
    ] {
        assert_eq!(opened_after_trains(arm, heads), opened, "{arm}, {heads:?}");
    }
}

/// Shows PLUMB 5-sticky.
#[test]
fn who_has_seen_bunches_lands_no_more_for_four_rounds() {
    let lands_after = |arm| {
        let mut r = Rig::quic(arm, 10 * MSS);
        r.fill();
        for _ in 0..3 {
            // One ACK of all that is in flight, a round trip after the last.
            r.wait(30);
            r.ack(r.inflight());
            r.fill();
        }
        let heeded = arm == "plumb";
        assert_eq!(signal(&r.c, "bunched"), Some(heeded.into()), "{arm}");
        // Now an ACK per millisecond for two packets each, and a round trip that stays long.
        r.rtt = r.rtt + Nanos(20 * MS);
        for ms in 1..=5_000 {
            r.wait(1);
            r.ack((2 * MSS).min(r.inflight()));
            r.send(2 * MSS);
            if r.c.phase() == Phase::Drain {
                return ms;
            }
        }
        panic!("{arm} never lands");
    };
    let (heedless, heedful) = (lands_after("plumb(bunches=off)"), lands_after("plumb"));
    assert!(
        heedful >= heedless + 2 * 50,
        "after {heedless} ms, and after {heedful} ms with bunches"
    );
    assert!(heedful >= 4 * 50, "four rounds of 50 ms, not {heedful} ms");
}

/// Shows PLUMB 5-blind, PLUMB 5-anew.
#[test]
fn where_acks_come_in_bunches_nothing_is_sounded() {
    let mut r = Rig::quic("plumb", 10 * MSS);
    r.fill();
    for round in 0..4 {
        // One ACK of all that is in flight, a round trip after the last.
        r.wait(30);
        r.ack(r.inflight());
        let bunched = signal(&r.c, "bunched");
        if round > 0 {
            assert_eq!(bunched, Some(1), "round {round}: a lump after a silence");
            assert_eq!(signal(&r.c, "depth_bytes"), None, "nothing is read from them");
        }
        r.fill();
    }
    let mut off = Rig::quic("plumb(bunches=off)", 10 * MSS);
    off.fill();
    off.wait(30);
    off.ack(20 * MSS);
    assert_eq!(signal(&off.c, "bunched"), Some(0));
}

/// Shows PLUMB 5-blind.
#[test]
fn a_landing_is_taken_back_once_acks_come_in_bunches() {
    let (mut trip, before, after) = landed("plumb");
    assert!(after < before, "landed at {after} from {before}");
    trip.batch = 25 * MS;
    while trip.c.phase() == Phase::Drain && trip.step(&mut |_, _, _| {}) {}
    assert_eq!(signal(&trip.c, "bunched"), Some(1));
    assert_eq!(signal(&trip.c, "strikes"), Some(0), "nothing was found");
    assert!(trip.c.cwnd() >= before, "{} after the landing, {before} before", trip.c.cwnd());
}

/// Shows PLUMB 5-blind.
#[test]
fn where_acks_come_in_bunches_growth_is_threefold_until_a_queue_shows() {
    // Packets opened for ten acknowledged, after rounds whose RTT was so many ms above the first ones.
    let opened = |over: u64| {
        let mut r = Rig::quic("plumb", 10 * MSS);
        r.fill();
        for round in 0..6 {
            if round == 3 {
                r.rtt = r.rtt + Nanos(over * MS);
            }
            r.wait(r.rtt.0 / MS);
            r.ack(r.inflight());
            r.fill();
        }
        assert_eq!(signal(&r.c, "bunched"), Some(1));
        assert_ne!(r.c.phase(), Phase::Drain, "nothing lands");
        let before = r.c.cwnd();
        r.ack(10 * MSS);
        (r.c.cwnd() - before) / MSS
    };
    assert_eq!(opened(0), 20);
    assert_eq!(opened(20), 10);
}

/// Shows PLUMB 6-policy.
#[test]
fn plumb_answers_every_loss_as_its_arm_does() {
    let reno = ("plumb/reno/immediate", "slowstart/reno/immediate", 20);
    for (arm, plain, cut) in [("plumb", "slowstart", 28), reno] {
        let mut windows = [arm, plain].map(|arm| {
            // Without a pacer there is no first flight: both stand at the initial window.
            let config = firstflight::with!(Config {
                paced: false,
                initial_window: 40 * MSS,
                ..Config::quic(MSS)
            });
            let mut r = Rig::with(arm, config);
            r.send(40 * MSS);
            r.wait(30);
            let loss =
                Told { lost: MSS, tx_lost: Some(0), cwnd_limited: false, ..r.record(2 * MSS) };
            r.deliver(&loss);
            (r.c.ssthresh(), r.c.in_recovery())
        });
        windows.sort_unstable();
        assert_eq!(windows[0], windows[1], "{arm} beside {plain}");
        assert_eq!(windows[0], (Some(cut * MSS), true), "{arm}");
    }
}

/// Shows PLUMB 6-policed.
#[test]
fn many_losses_far_below_the_depth_of_trains_land_on_what_was_delivered() {
    let cx = hooks::quic(MSS);
    // (arm, packets lost, packets in flight, RTT in ms, whether it lands on what is delivered)
    let table = [
        ("plumb", 8, 60, 30, true),
        ("plumb", 7, 60, 30, false),
        ("plumb", 8, 149, 30, true),
        ("plumb", 8, 151, 30, false),
        ("plumb", 8, 60, 60, false),
    ];
    for (arm, lost, flight, rtt, delivered) in table {
        let (mut plumb, ms) = (Plumb::new(params(arm)), |ms| Nanos(ms * MS));
        plumb.start(Time(0), Seq(0));
        // Two packets per 0.1 ms over 30 ms: a depth of 602 packets.
        for k in 0..4 {
            let (now, rtt) = (Time(30 * MS + k * MS / 10), Nanos(30 * MS + k * MS / 10));
            plumb.on_rtt(now, rtt, &cx);
            let w = Window { cwnd: 20 * MSS, ssthresh: UNSET_SSTHRESH };
            let ack = Told {
                now,
                rtt: Some(rtt),
                srtt: Some(rtt),
                acked: 2 * MSS,
                delivered: 2 * MSS * (k + 1),
                una: Seq(2 * k + 2),
                nxt: Seq(20),
                inflight_before: 20 * MSS,
                ..Told::default()
            };
            plumb.sample(&ack.ack(), w, &ack.within(&cx));
        }
        // A whole round trip of the present RTT.
        for quarter in 0..8 {
            plumb.on_rtt(Time(60 * MS + quarter * 8 * MS), ms(rtt), &cx);
        }
        let w = Window { cwnd: flight * MSS, ssthresh: UNSET_SSTHRESH };
        let ack = Told { rtt: Some(ms(rtt)), ..lossy(lost * MSS, 2 * MSS, flight * MSS) };
        let own = plumb.on_congestion(Signal::Loss, BETA, &ack.ack(), w, &ack.within(&cx));
        let rapid = matches!(own, Some(OwnRecovery::Rapid(_)));
        assert_eq!(rapid, delivered, "{arm}: {lost} of {flight} packets lost at {rtt} ms");
    }
}

fn lossy(lost: u64, acked: u64, flight: u64) -> Told {
    let rtt = Some(Nanos(30 * MS));
    let (una, nxt) = (Seq(1), Seq(200));
    Told { lost, acked, inflight_before: flight, rtt, una, nxt, advanced: true, ..Told::default() }
}

/// Shows PLUMB 6-excuse, PLUMB 6-marks.
#[test]
fn only_plumb_tolerant_excuses_two_percent_of_a_round() {
    let cx = hooks::quic(MSS);
    let w = Window { cwnd: 300 * MSS, ssthresh: UNSET_SSTHRESH };
    let flight = 300 * MSS;
    // (arm, lost packets, marks, excused)
    let table = [
        ("plumb", 1, false, false),
        ("plumb-tolerant", 1, false, true),
        ("plumb-tolerant", 6, false, true),
        ("plumb-tolerant", 7, false, false),
        ("plumb-tolerant", 1, true, false),
        ("plumb-tolerant(tolerate=10)", 30, false, true),
    ];
    for (arm, lost, ce, excused) in table {
        let mut plumb = Plumb::new(params(arm));
        let ack = Told { ce, ..lossy(lost * MSS, 2 * MSS, flight) };
        plumb.sample(&ack.ack(), w, &ack.within(&cx));
        let says = plumb.absorbs(Signal::Loss, &ack.ack(), &ack.within(&cx));
        assert_eq!(says, excused, "{arm}: {lost} of 300 packets, marks {ce}");
        assert!(
            !plumb.absorbs(Signal::Ecn, &ack.ack(), &ack.within(&cx)),
            "marks are never excused"
        );
    }
    // The sum of a round decides, and a timer's losses count.
    let mut plumb = Plumb::new(params("plumb-tolerant"));
    for lost in [3, 6] {
        let ack = lossy(3 * MSS, 2 * MSS, flight);
        plumb.sample(&ack.ack(), w, &ack.within(&cx));
        assert!(
            plumb.absorbs(Signal::Loss, &ack.ack(), &ack.within(&cx)),
            "{lost} packets of this round"
        );
    }
    let timer = Told { lost: MSS, inflight_before: flight, ..Told::default() };
    assert!(
        !plumb.absorbs(Signal::Loss, &timer.ack(), &timer.within(&cx)),
        "the seventh, found by a timer"
    );
}

/// Rest of a window of 100 packets when the RTT is `now_ms` over a smallest of 30 ms.
fn kept(arm: &str, now_ms: u64, startup: bool) -> Option<u64> {
    let cx = hooks::quic(MSS);
    let mut plumb = Plumb::new(params(arm));
    plumb.on_rtt(Time(0), Nanos(30 * MS), &cx);
    if !startup {
        plumb.on_timeout(Timeout::Rto, Time(0), Seq(0));
    }
    let w = Window { cwnd: 100 * MSS, ssthresh: UNSET_SSTHRESH };
    let ack = Told { rtt: Some(Nanos(now_ms * MS)), ..lossy(MSS, 0, 100 * MSS) };
    let mut own = plumb.on_congestion(Signal::Loss, BETA, &ack.ack(), w, &ack.within(&cx))?;
    own.account(99 * MSS, 0, Seq(1));
    Some(own.cwnd())
}

/// Shows PLUMB 6-keep, PLUMB 6-rapid.
#[test]
fn a_cut_keeps_what_the_path_holds_without_a_queue() {
    // (RTT now over 30 ms, bytes kept of 100 packets; none: the arm's own recovery)
    for (now, later) in
        [(30, Some(85_000)), (37, Some(81_000)), (42, Some(71_400)), (43, None), (90, None)]
    {
        let kept = kept("plumb-tolerant(rapid=off)", now, false);
        assert_eq!(kept, later, "later, RTT {now} of 30 ms");
    }
    assert_eq!(kept("plumb-tolerant", 30, true), Some(84_150), "0.85 of 99 delivered packets");
    assert_eq!(kept("plumb-tolerant", 60, true), Some(69_300), "0.7 where the queue is full");
    for now in [30, 60] {
        assert_eq!(kept("plumb", now, true), None, "plumb leaves it to its arm");
        assert_eq!(kept("plumb", now, false), None, "later too");
    }
}

/// Shows PLUMB 6-one-answer.
#[test]
fn a_loss_while_a_landing_drains_does_not_cut_the_window_twice() {
    let (trip, before, after) = landed("plumb");
    let mut c = trip.c;
    let flight = before;
    let ack = Told {
        now: Time(trip.now + MS),
        tx_lost: Some(trip.una + 1),
        tx_acked: Some(trip.una + 2),
        srtt: Some(Nanos(50 * MS)),
        ..lossy(MSS, 2 * MSS, flight)
    };
    let ack =
        Told { una: Seq(trip.una + 2), nxt: Seq(trip.una + 500), tx_next: trip.una + 500, ..ack };
    c.hear(&ack);
    let expected = BETA.of(before).min(after);
    assert!(c.in_recovery(), "an episode opens");
    assert_eq!(c.cwnd(), expected, "beta times the {before} before the landing, at most {after}");
}

/// Shows PLUMB 7-timeout.
#[test]
fn a_timeout_ends_it_for_good() {
    let mut r = Rig::tcp("plumb", 10 * MSS);
    r.fill();
    r.timeout(Timeout::Rto);
    r.wait(30);
    r.ack(2 * MSS);
    assert_eq!(r.c.phase(), Phase::Startup, "slow start");
    assert_eq!(r.c.train(), None);
}

/// Shows PLUMB 7-idle.
#[test]
fn a_long_pause_forgets_what_was_sounded() {
    let mut trip = Trip::new("plumb", 100, 30, 375);
    trip.run(4);
    assert!(signal(&trip.c, "depth_bytes").is_some(), "sounded");
    let idle = Nanos(91 * MS);
    trip.c.before_send(&Ready { idle, ..ready(trip.now + 91 * MS, 0) });
    assert_eq!(signal(&trip.c, "depth_bytes"), None, "forgotten");
}

/// Shows PLUMB 7-undo.
#[test]
fn after_a_false_alarm_it_goes_on() {
    for transport in [Transport::Quic, Transport::Tcp] {
        let mut r = Rig::new("plumb", transport, 10 * MSS);
        r.fill();
        r.wait(30);
        r.ack(2 * MSS);
        let before = r.c.cwnd();
        r.loss(2 * MSS, MSS);
        assert!(r.c.in_recovery());
        r.c.on_spurious();
        assert_eq!((r.c.cwnd(), r.c.ssthresh(), r.c.exit()), (before, None, None), "{transport:?}");
        r.fill();
        r.wait(30);
        r.ack(2 * MSS);
        assert_eq!(r.c.cwnd(), before + 4 * MSS, "{transport:?}: threefold growth goes on");
    }
}

/// Shows PLUMB 7-undo: the round of a false alarm is not measured, those after it are: it lands as ever.
#[test]
fn after_a_false_alarm_it_still_finds_what_the_path_holds() {
    let mut trip = Trip::new("plumb", 20, 50, 500);
    trip.run(120);
    let ack = trip.next_ack().expect("an ACK");
    assert_eq!((trip.c.exit(), trip.c.in_recovery()), (None, false));
    trip.c.hear(&Told { lost: MSS, tx_lost: ack.tx_acked.map(|tx| tx - 1), ..ack });
    assert!(trip.c.in_recovery());
    trip.c.on_spurious();
    let (trip, before, after) = lands(trip);
    assert!(before > trip.bdp(), "a queue: {before}");
    assert_eq!(after, trip.bdp() + 2 * MSS, "what the path holds, and two packets");
}

/// Larger packets mean longer trains, and the windows that were there stay.
#[test]
fn a_larger_mtu_makes_larger_trains() {
    let mut r = Rig::quic("plumb", 10 * MSS);
    r.c.set_mss(2 * MSS);
    r.c.before_send(&r.ready());
    assert_eq!(r.c.cwnd(), 2 * 14_720, "the volume is of the initial window of such packets");
    let train = r.c.train().expect("a train");
    assert_eq!(train.inflight, 4 * 2 * MSS - MSS, "four of the larger packets, less half a one");
    assert_eq!(train.next, START + Nanos(8_152_173), "8 000 of 29 440 of the round trip later");
}

/// Without an episode nothing of this is asked: a controller without Plumb is as it was.
#[test]
fn what_no_startup_excuses_opens_an_episode() {
    let plain = Cubic::new(cubic::Params::default());
    let plumb = Plumb::new(Params::default());
    let mut c =
        Controller::new(plumb, plain, Immediate::default(), Config::quic(MSS), Time(0), Seq(0));
    let ack = Told { tx_lost: Some(3), tx_next: 200, ..lossy(MSS, MSS, 10 * MSS) };
    c.hear(&ack);
    assert!(c.in_recovery() && c.stats().loss_episodes == 1);
}
