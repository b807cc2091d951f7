//! Signals that Plumb reads from ACKs, each alone: soundings, bunches, and whose a queue is.

use crate::told::Told;
use firstflight::signal::bunches::Bunches;
use firstflight::signal::drain_and_look::{DrainAndLook, Finding};
use firstflight::signal::receiver_clock::{Reading, ReceiverClock};
use firstflight::signal::sounding::{Arrival, Estimate, Sounding};
use firstflight::{Nanos, Rate, Seq, Time};

const MSS: u64 = 1_000;
const RTT: u64 = 30_000_000;
const MS: u64 = 1_000_000;

/// An arrival at `at_us` with an RTT of 30 ms and `over_us`, after `packets` were delivered.
fn arrival(at_us: u64, over_us: u64, packets: u64) -> Arrival {
    Arrival {
        at: Time(10 * RTT + at_us * 1_000),
        rtt: Nanos(RTT + over_us * 1_000),
        delivered: packets * MSS,
    }
}

/// A sounding that has heard these in round 1, with an idle RTT of 30 ms.
fn heard(arrivals: &[(u64, u64, u64)]) -> Sounding {
    let mut sounding = Sounding::default();
    sounding.on_rtt(Nanos(RTT));
    for &(at, over, packets) in arrivals {
        sounding.on_arrival(arrival(at, over, packets), Nanos(RTT), 1, MSS);
    }
    sounding
}

/// Shows PLUMB 2-run, PLUMB 2-path.
#[test]
fn a_train_comes_back_at_the_rate_of_the_bottleneck() {
    // Six packets sent at once over 1 packet per ms, an ACK for every second one.
    let train = [(2_000, 2_000, 2), (4_000, 4_000, 4), (6_000, 6_000, 6)];
    let found = heard(&train).estimate(1);
    assert_eq!(found, Some(Estimate { rate: Rate(1_000_000), sure: false }), "4 packets in 4 ms");

    // The same spacing with the same RTT is the sender's own pace.
    let paced = [(2_000, 2_000, 2), (4_000, 2_000, 4), (6_000, 2_000, 6)];
    assert_eq!(heard(&paced).estimate(1), None, "no rise of the RTT, no sounding");

    // (rise over 4 ms, whether it counts): a quarter of the time, equality included.
    for (rise, counts) in [(999, false), (1_000, true), (1_001, true)] {
        let train = [(2_000, 0, 2), (4_000, rise / 2, 4), (6_000, rise, 6)];
        assert_eq!(heard(&train).estimate(1).is_some(), counts, "a rise of {rise} us in 4 ms");
    }
}

/// Shows PLUMB 2-run: half a round trip is no silence yet, and a fall of less than a quarter of the rise none.
#[test]
fn a_run_goes_on_over_half_a_round_trip_and_small_falls() {
    let train = [(2_000, 2_000, 2), (4_000, 4_000, 4), (6_000, 6_000, 6)];
    let rate = |next| heard(&[&train[..], &[next]].concat()).estimate(1).map(|e| e.rate.0);
    // Together six packets in 19 ms whose RTT rose by less than a quarter of that: no queue.
    assert_eq!(rate((21_000, 6_000, 8)), None, "15 ms of 30");
    assert_eq!(rate((21_001, 6_000, 8)), Some(1_000_000), "the train before has ended");
    assert_eq!(rate((8_000, 5_001, 14)), Some(2_000_000), "0.999 of 4 ms: twelve packets in 6 ms");
    assert_eq!(rate((8_000, 4_999, 14)), Some(1_000_000), "1.001 of 4 ms");
}

/// Shows PLUMB 8-rate: by a clock of ticks a run lasts four of them.
#[test]
fn by_a_coarse_clock_a_run_lasts_four_ticks() {
    for (last, found) in [(5_999, false), (6_000, true)] {
        let mut sounding = Sounding::by_ticks(Nanos(MS));
        sounding.on_rtt(Nanos(RTT));
        for (at, over, packets) in [(2_000, 2_000, 2), (4_000, 4_000, 4), (last, 6_000, 6)] {
            sounding.on_arrival(arrival(at, over, packets), Nanos(RTT), 1, MSS);
        }
        assert_eq!(sounding.estimate(1).is_some(), found, "from 2 to {last} us");
    }
}

/// Shows PLUMB 2-run.
#[test]
fn a_run_ends_where_the_rtt_falls_or_after_a_silence() {
    let one = [(2_000, 2_000, 2), (4_000, 4_000, 4), (6_000, 6_000, 6)];
    // A second train, slower by a tenth; its first ACK has a small RTT again.
    let two = [(12_000, 2_000, 8), (14_200, 4_200, 10), (16_400, 6_400, 12)];
    let both = heard(&[one, two].concat()).estimate(1);
    assert_eq!(both, Some(Estimate { rate: Rate(1_000_000), sure: true }), "two agree");

    // Without the fall all of it would be one run of ten packets in 14.4 ms. The fall is a quarter
    // of the rise: no end yet.
    let shallow = [(2_000, 2_000, 2), (6_000, 6_000, 6), (8_000, 5_000, 8)];
    let rate = heard(&shallow).estimate(1).map(|found| found.rate);
    assert_eq!(rate, Some(Rate(1_000_000)), "6 packets in 6 ms, still open");

    let silent = [(2_000, 2_000, 2), (4_000, 4_000, 4), (20_000, 5_000, 6)];
    let rate = heard(&silent).estimate(1).map(|found| found.rate);
    assert_eq!(rate, Some(Rate(1_000_000)), "16 ms of silence belong to no run");
}

/// Shows PLUMB 2-busy.
#[test]
fn a_silence_in_which_the_rtt_rose_belongs_to_the_run() {
    // 2 packets in 20 ms, more than half of the round trip: an ACK for each two of them.
    let slow = [(0, 0, 2), (20_000, 20_000, 4), (40_000, 40_000, 6)];
    assert_eq!(heard(&slow).estimate(1).map(|found| found.rate), Some(Rate(100_000)));
    // (rise over a silence of 20 ms, whether it belongs): a quarter of it, equality included.
    for (rise, belongs) in [(4_999, false), (5_000, true)] {
        let rare = [(0, 0, 2), (20_000, rise, 4)];
        assert_eq!(heard(&rare).estimate(1).is_some(), belongs, "a rise of {rise} us in 20 ms");
    }
    // However much it rose, not for longer than two packets at 400 kbit/s take, equality included.
    for (silence, belongs) in [(60_000, true), (60_001, false)] {
        let rare = [(0, 0, 2), (silence, silence, 4)];
        assert_eq!(heard(&rare).estimate(1).is_some(), belongs, "{silence} us");
    }
}

/// Shows PLUMB 2-room.
#[test]
fn what_a_train_finds_of_the_one_before_says_whether_the_path_has_room() {
    // Six packets in 0.4 ms, their RTT up by as much, and the first of the next train.
    let next = |at: u64, over: u64| {
        let found = heard(&[(0, 0, 2), (200, 200, 4), (400, 400, 6), (at, over, 8)]);
        (found.is_drained(), found.is_crowded())
    };
    let table = [
        ("the queue is gone", 9_000, 0, (true, false)),
        ("less than half of it is left", 9_000, 199, (true, false)),
        ("half of it is left", 9_000, 200, (false, false)),
        ("it has fallen by a quarter", 9_000, 300, (false, true)),
        ("it is still there", 9_000, 400, (false, true)),
        ("it has grown", 9_000, 1_000, (false, true)),
        ("there was too little time for it to go", 1_200, 400, (false, false)),
        ("just enough", 1_201, 400, (false, true)),
    ];
    for (what, at, over, expected) in table {
        assert_eq!(next(at, over), expected, "{what}");
    }
    // A run that says no rate says nothing of room.
    let silent = heard(&[(0, 0, 2), (400, 0, 6), (9_000, 400, 8)]);
    assert!(!silent.is_crowded() && !silent.is_drained());
    // Later the sender makes no pauses.
    let mut later = Sounding::default();
    later.on_rtt(Nanos(RTT));
    for (at, over, packets) in [(0, 0, 2), (200, 200, 4), (400, 400, 6), (9_000, 400, 8)] {
        later.on_arrival(arrival(at, over, packets), Nanos(RTT), 2, MSS);
    }
    assert!(!later.is_crowded(), "in round 2");
}

/// Shows PLUMB 2-middle.
#[test]
fn of_several_soundings_the_middle_one_counts() {
    // Runs of two spacings each that begin 12 ms apart; microseconds per two packets.
    let runs = |spacings: &[u64]| -> Vec<(u64, u64, u64)> {
        let run = |(k, &us): (usize, &u64)| {
            let (from, packets) = (12_000 * k as u64, 6 * k as u64);
            [0, 1, 2].map(|n| (from + n * us, n * us, packets + 2 * n + 2))
        };
        spacings.iter().enumerate().flat_map(run).collect()
    };
    // (spacings, the one whose rate counts, sure): the larger of the middle two.
    let table: [(&[u64], u64, bool); 4] = [
        (&[1_000], 1_000, false),
        (&[1_000, 4_000], 1_000, false),
        (&[500, 2_000, 1_000], 1_000, false),
        (&[4_000, 500, 2_000, 550], 550, true),
    ];
    for (spacings, us, sure) in table {
        let expected = Estimate { rate: Rate(2 * MSS * 1_000_000 / us), sure };
        let found = heard(&runs(spacings)).estimate(1);
        assert_eq!(found, Some(expected), "{spacings:?} us");
    }
}

/// Shows PLUMB 2-late.
#[test]
fn a_run_whose_first_ack_waited_says_nothing() {
    // At 10 packets per ms three packets are 0.3 ms: an eighth of the idle RTT, 3.75 ms, decides.
    for (late, counts) in [(3_750, true), (3_751, false)] {
        let run = [(0, late, 2), (200, late + 150, 4), (400, late + 300, 6)];
        assert_eq!(heard(&run).estimate(1).is_some(), counts, "the first is {late} us late");
    }
    // At 1 packet per 4 ms three packets are 12 ms.
    for (late, counts) in [(12_000, true), (12_001, false)] {
        let run = [(0, late, 2), (8_000, late + 8_000, 4), (16_000, late + 16_000, 6)];
        let found = heard(&run[..2]).estimate(1);
        assert_eq!(found.is_some(), counts, "the first is {late} us late at a slow rate");
    }
}

/// Shows PLUMB 2-sure.
#[test]
fn a_rate_is_sure_if_a_second_sounding_reaches_four_fifths_of_it() {
    for (second_us, sure) in [(2_500, true), (2_501, false)] {
        let slow = [(0, 0, 2), (second_us, second_us, 4), (2 * second_us, 2 * second_us, 6)];
        let fast = [(9_000, 0, 8), (11_000, 2_000, 10), (13_000, 4_000, 12)];
        let found = heard(&[slow, fast].concat()).estimate(1);
        let expected = Estimate { rate: Rate(1_000_000), sure };
        assert_eq!(found, Some(expected), "2 packets in 2 ms, before that in {second_us} us");
    }
}

/// Shows PLUMB 2-run.
#[test]
fn acks_that_arrive_together_are_one_arrival() {
    let together = [(2_000, 2_000, 2), (2_005, 2_001, 4), (6_000, 5_000, 8)];
    let rate = heard(&together).estimate(1).map(|found| found.rate);
    assert_eq!(rate, Some(Rate(1_000_000)), "4 packets in 4 ms from the later of the two on");
}

/// Shows PLUMB 2-run.
#[test]
fn a_sounding_counts_for_eight_rounds() {
    let mut sounding = heard(&[(2_000, 2_000, 2), (4_000, 4_000, 4)]);
    // The end of the run; what follows rises no more.
    sounding.on_arrival(arrival(9_000, 0, 6), Nanos(RTT), 1, MSS);
    for (round, counts) in [(1, true), (9, true), (10, false)] {
        assert_eq!(sounding.estimate(round).is_some(), counts, "made in round 1, now {round}");
    }
    sounding.forget();
    assert_eq!(sounding.estimate(1), None, "forgotten");
}

/// Shows PLUMB 4-noise.
#[test]
fn noise_is_how_far_the_first_acks_of_trains_lie_apart() {
    let sounding =
        heard(&[(0, 100, 2), (1_000, 900, 4), (10_000, 50, 6), (11_000, 900, 8), (20_000, 400, 9)]);
    assert_eq!(sounding.spread(), Nanos(350_000), "50 to 400 us");
}

fn bunches(arrivals: &[(u64, u64, u64)]) -> Option<bool> {
    let mut bunches = Bunches::default();
    for &(at, over, packets) in arrivals {
        bunches.on_arrival(arrival(at, over, packets), Nanos(RTT / 4), MSS);
    }
    bunches.verdict()
}

/// Shows PLUMB 5-bunch, PLUMB 5-share.
#[test]
fn acks_come_in_bunches_if_more_than_a_quarter_was_squeezed_or_came_after_a_silence() {
    // Two packets per ms and ACK, sent as they arrive.
    let steady: Vec<_> = (0..12).map(|k| (k * 1_000, 0, 2 * k)).collect();
    assert_eq!(bunches(&steady), Some(false));
    assert_eq!(bunches(&steady[..4]), None, "6 packets are too few to judge");

    // Sent 1 ms apart, arriving 0.25 ms apart: the RTT falls by 0.75 ms each time.
    let squeezed: Vec<_> = (0..6).map(|k| (k * 250, 6_000 - 750 * k, 2 * k)).collect();
    assert_eq!(bunches(&squeezed), Some(true), "four times closer than they were sent");
    let less: Vec<_> = (0..6).map(|k| (k * 251, 6_000 - 749 * k, 2 * k)).collect();
    assert_eq!(bunches(&less), Some(false), "not quite");

    // Five packets per ACK after 7.5 ms, a quarter of the RTT; four are a delayed ACK.
    let lumps: Vec<_> = (0..6).map(|k| (k * 7_500, 0, 5 * k)).collect();
    assert_eq!(bunches(&lumps), Some(true));
    let few: Vec<_> = (0..6).map(|k| (k * 7_500, 0, 4 * k)).collect();
    assert_eq!(bunches(&few), Some(false));
}

/// Shows PLUMB 5-grain.
#[test]
fn packets_that_left_within_the_grain_of_the_pacer_are_no_bunch() {
    let judged = |grain_us: u64| {
        let mut bunches = Bunches::default();
        for k in 0..12 {
            // Two leave at once each millisecond and arrive 0.8 and 0.2 ms apart.
            let e = arrival(k / 2 * 1_000 + k % 2 * 800, k % 2 * 800, k);
            bunches.on_arrival_by(Nanos::from_micros(grain_us), e, Nanos(RTT), MSS);
        }
        bunches.verdict()
    };
    assert_eq!(judged(1_000), Some(false));
    assert_eq!(judged(999), Some(true));
}

/// Drains until packet 10, looks for 15 ms and sees these RTTs above the smallest, in us.
fn looked(over_us: &[u64]) -> Option<Finding> {
    let mut landing = DrainAndLook::default();
    landing.begin(Seq(10), 40 * MSS, Nanos(8 * MS));
    assert_eq!(landing.draining_from(), Some(40 * MSS));
    let mut found = None;
    for (k, &over) in (0..).zip(over_us) {
        let (now, rtt) = (Time(k * 5 * MS), Some(Nanos(RTT + over * 1_000)));
        let ack = Told { now, rtt, una: Seq(9 + k), ..Told::default() };
        found = found.or(landing.on_ack(&ack.ack(), ack.rtt, Nanos(RTT), Nanos(MS)));
    }
    assert_eq!(landing.is_active(), found.is_none());
    found
}

/// Shows PLUMB 4-look.
#[test]
fn a_queue_that_stays_when_ours_is_gone_is_not_ours() {
    // The first ACK is of what was sent before the landing, the next four of the look: more than
    // half of 8 ms and 1 ms of slack must stay.
    let others = Finding::Others { before: 40 * MSS, rise: Nanos(8 * MS) };
    assert_eq!(looked(&[0, 5_001, 6_000, 7_000, 5_001]), Some(others));
    assert_eq!(looked(&[8_000, 8_000, 5_000, 7_000, 8_000]), Some(Finding::Ours), "once is enough");
    assert_eq!(looked(&[8_000, 8_000, 8_000, 8_000]), None, "half a round trip is not over");
}

/// RTTs by a receiver's clock, in microseconds, of ACKs at (time, RTT, stamp); `None` for an ACK that
/// it says nothing of.
pub(crate) fn by_clock(acks: &[(u64, u64, u32)]) -> Vec<Option<(u64, bool)>> {
    let mut clock = ReceiverClock::default();
    acks.iter()
        .map(|&(at_us, rtt_us, stamp)| {
            let told = Told {
                now: Time(1_000 * MS + at_us * 1_000),
                rtt: Some(Nanos(rtt_us * 1_000)),
                acked: MSS,
                receiver_ts: Some(stamp),
                ..Told::default()
            };
            let reading = clock.on_ack(&told.ack(), &told.so_far());
            reading.map(|Reading { arrival, begins }| (arrival.rtt.0 / 1_000, begins))
        })
        .collect()
}

/// Shows PLUMB 8-clock.
#[test]
fn the_receivers_clock_leaves_out_what_the_way_back_adds() {
    // A packet per millisecond. The third ACK and the fourth wait 5 ms on their way back.
    let waited = [(0, 30_000, 7), (1_000, 30_000, 8), (7_000, 35_000, 9), (8_000, 35_000, 10)];
    assert_eq!(by_clock(&waited)[1..], [Some((30_000, true)); 3]);
    // On their way there: the receiver sees them later.
    let queued = [(0, 30_000, 7), (1_000, 30_000, 8), (7_000, 35_000, 14), (8_000, 35_000, 15)];
    assert_eq!(by_clock(&queued)[1..], [(30_000, true), (35_000, true), (35_000, true)].map(Some));
    // The first one of all had waited for 5 ms: from the second on the clock is put back.
    let first = [(0, 35_000, 7), (0, 30_000, 12), (1_000, 30_000, 13), (1_500, 30_000, 13)];
    let read = [Some((30_000, true)), Some((30_000, true)), Some((29_500, false))];
    assert_eq!(by_clock(&first)[1..], read);
    // Around the end of its range.
    let around = [(0, 30_000, u32::MAX), (1_000, 30_000, 0)];
    assert_eq!(by_clock(&around)[1], Some((30_000, true)));
}

/// Shows PLUMB 8-tick.
#[test]
fn a_clock_of_other_ticks_is_not_used() {
    // (ticks per ten milliseconds, after how many milliseconds it is known at the latest)
    for (ticks, known) in [(1, 40), (100, 10), (10_000, 10)] {
        let acks: Vec<_> =
            (0..100u64).map(|ms| (ms * 1_000, 30_000, (ms * ticks / 10) as u32)).collect();
        let last = by_clock(&acks).iter().rposition(Option::is_some);
        assert!(last.is_none_or(|last| last <= known), "{ticks} per 10 ms: until {last:?}");
    }
    let fine: Vec<_> = (0..100u64).map(|ms| (ms * 1_000, 30_000, ms as u32)).collect();
    assert_eq!(by_clock(&fine).iter().filter(|read| read.is_some()).count(), 99);
}
