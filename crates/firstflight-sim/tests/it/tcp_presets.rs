//! Each preset of loss detection as a complete sender, on a wire that loses exactly the packets of
//! the table row. Round trip 100 ms, 0.1 ms per segment, ten segments at time 0, an ACK for every
//! segment: the ACK of segment `k` of the first flight arrives at `100.1 + k/10` ms.

use crate::tcp_wire;

use firstflight::Nanos;
use firstflight::detection::presets::{Bounds, Preset, Probe, UndoRule};
use firstflight::detection::{Armed, early_retransmit};
use firstflight_sim::tcp::{Host, Transmit};
use tcp_wire::{Fate, MS, MSS, Wire, dropping, host, losing, preset};

const TENTH: u64 = MS / 10;

/// When the ACK of segment `k` of the first flight comes.
fn ack_of(segment: u64) -> u64 {
    100 * MS + (segment + 1) * TENTH
}

const COUNTING: [&str; 5] = ["reno", "sack3517", "sack6675", "windows", "linux26"];
const ALL: [&str; 6] = ["reno", "sack3517", "sack6675", "windows", "linux26", "rack"];

#[test]
fn the_first_repeat_comes_with_the_evidence_that_the_preset_asks_for() {
    // lost, then the segment whose ACK brings the repeat: reno, 3517, 6675, FACK, RACK
    let rows: [(&'static [u64], [u64; 5]); 6] = [
        (&[0], [3, 3, 3, 3, 3]),
        (&[2], [5, 5, 5, 5, 5]),
        (&[0, 1], [4, 4, 4, 3, 4]),
        // One SACK far ahead is enough for FACK alone.
        (&[0, 1, 2], [5, 5, 5, 3, 5]),
        (&[0, 2, 4], [5, 5, 5, 3, 5]),
        (&[0, 1, 2, 3, 4, 5], [8, 8, 8, 6, 8]),
    ];
    for (lost, by) in rows {
        for (name, by) in ["reno", "sack3517", "sack6675", "linux26", "rack"].into_iter().zip(by) {
            let mut wire = Wire::new(host(name), "slowstart", 60, losing(lost));
            wire.run();
            let (at, segment) = wire.repeats()[0];
            assert_eq!(
                (segment, at),
                (lost[0], ack_of(by)),
                "{name}, {lost:?} lost: the first repeat is {segment} at {at} ns"
            );
        }
    }
}

#[test]
fn every_preset_repairs_what_was_lost_and_repeats_nothing_else() {
    for name in ALL {
        for lost in [&[0u64][..], &[3], &[0, 1], &[2, 5, 7], &[0, 9, 10, 11, 40]] {
            let mut wire = Wire::new(host(name), "slowstart", 60, losing(lost));
            wire.run();
            let mut repeated: Vec<u64> =
                wire.repeats().iter().map(|(_, segment)| *segment).collect();
            repeated.sort_unstable();
            assert_eq!(repeated, lost, "{name} repeats on the left, the path lost on the right");
            assert_eq!(
                wire.sender.counters().rtos,
                0,
                "{name}: {lost:?} are repaired without a timeout"
            );
        }
    }
}

#[test]
fn two_duplicates_each_let_a_new_segment_go() {
    // RFC3042 2: segments 10 and 11 with the ACKs of 1 and 2; the window of ten is full.
    for name in COUNTING {
        let mut wire = Wire::new(host(name), "slowstart", 60, losing(&[0]));
        wire.run_until(|wire| wire.now > ack_of(2));
        let sent: Vec<_> = wire.sends().skip(10).take(2).collect();
        assert_eq!(
            sent,
            [(ack_of(1), 10, false), (ack_of(2), 11, false)],
            "{name}: what left with the first two duplicates"
        );
    }
    // With RACK the pipe lets go what the SACKs freed, as in Linux: at least as much.
    let mut wire = Wire::new(host("rack"), "slowstart", 60, losing(&[0]));
    wire.run_until(|wire| wire.now > ack_of(2));
    assert!(
        wire.sends().any(|(at, segment, _)| (at, segment) == (ack_of(1), 10)),
        "rack: the first duplicate lets a new segment go"
    );
}

#[test]
fn a_lost_repeat_is_found_by_sacks_or_by_rack_and_else_by_the_timeout() {
    for name in ALL {
        let mut copies = 0;
        let mut wire = Wire::new(host(name), "slowstart", 300, move |_, sent| {
            copies += u64::from(sent.segment.from == 0);
            if sent.segment.from == 0 && copies <= 2 { Fate::Drop } else { Fate::Deliver }
        });
        wire.run();
        let of_head: Vec<u64> =
            wire.repeats().iter().filter(|(_, segment)| *segment == 0).map(|(at, _)| *at).collect();
        let found = ["linux26", "rack"].contains(&name);
        assert_eq!(of_head.len(), 2, "{name}: the head goes out three times");
        assert_eq!(of_head[1] < 210 * MS, found, "{name}: the second repeat at {} ns", of_head[1]);
        assert_eq!(
            wire.sender.counters().rtos > 0,
            !found,
            "{name}: a timeout only where nothing else tells"
        );
    }
}

#[test]
fn new_reno_repairs_one_hole_per_round_trip_and_sack_all_at_once() {
    let last_repeat = |name| {
        let mut wire = Wire::new(host(name), "slowstart", 60, losing(&[0, 3, 6]));
        wire.run();
        wire.repeats().last().expect("three repeats").0
    };
    assert!(last_repeat("reno") > 300 * MS, "RFC6582 3.2: each partial ACK shows one more hole");
    for name in ["sack3517", "sack6675", "windows", "linux26", "rack"] {
        assert!(last_repeat(name) < 110 * MS, "{name} knows all three holes at once");
    }
}

#[test]
fn only_rfc_6675_rescues_the_end_of_a_flight() {
    // The head and the tail are lost and there is no new data: rule 4 sends the tail when the head
    // is repaired.
    let tail = |name| {
        let mut wire = Wire::new(host(name), "slowstart", 10, losing(&[0, 9]));
        wire.run();
        (wire.repeats()[1], wire.sender.counters().rtos)
    };
    // The first repeat leaves with the third duplicate and takes a round trip.
    let repaired = ack_of(3) + 100 * MS + TENTH;
    assert_eq!(tail("sack6675"), ((repaired, 9), 0), "RFC6675 4-NextSeg(4)");
    assert_eq!(tail("sack3517").1, 1, "RFC 3517 has no such rule and waits for the timeout");
}

#[test]
fn a_tail_probe_turns_a_lost_tail_into_fast_recovery() {
    for (lost, at, recoveries) in [
        // One segment outstanding: 2 RTT and the receiver's 200 ms would pass the timeout of RTT +
        // 200 ms, which bounds it. Nothing can be heard of it, for nothing more is
        // acknowledged than the probe itself.
        (&[9][..], 300 * MS, 0),
        // Two or more: 2 RTT after the last ACK.
        (&[8, 9], 200 * MS, 1),
        (&[5, 6, 7, 8, 9], 200 * MS, 1),
    ] {
        let mut wire = Wire::new(host("rack"), "slowstart", 10, losing(lost));
        wire.run();
        let (probe_at, segment) = wire.repeats()[0];
        assert_eq!(segment, 9, "the probe is the highest segment");
        assert!(
            probe_at.abs_diff(ack_of(lost[0] - 1) + at) < MS,
            "{lost:?}: the probe leaves at {probe_at} ns"
        );
        let counters = wire.sender.counters();
        assert_eq!((counters.probes, counters.rtos), (1, 0), "{lost:?}: one probe and no timeout");
        assert_eq!(
            wire.sender.controller().stats().loss_episodes,
            recoveries,
            "{lost:?}: what the probe reveals is a loss for congestion control"
        );
        for name in COUNTING {
            let mut wire = Wire::new(host(name), "slowstart", 10, losing(lost));
            wire.run();
            assert!(
                wire.sender.counters().rtos > 0,
                "{name} has no probe: {lost:?} need a timeout"
            );
        }
    }
}

#[test]
fn a_probe_that_was_needless_changes_nothing() {
    // The last two segments are late, not lost: both copies arrive, the DSACK says so.
    let mut wire = Wire::new(host("rack"), "slowstart", 10, |number, _| {
        if number == 8 || number == 9 { Fate::Late(250 * MS) } else { Fate::Deliver }
    });
    wire.run();
    let counters = wire.sender.counters();
    assert_eq!(
        (counters.probes, counters.rtos, wire.sender.controller().stats().loss_episodes),
        (1, 0, 0),
        "one probe, nothing lost, no reduction"
    );
}

#[test]
fn timeouts_double_and_keep_to_the_bounds_of_the_preset() {
    // Nothing gets through for a while. The handshake gave 100 ms: 100 + 4 x 50 = 300 ms by both
    // formulas.
    for (name, first) in [("linux26", 300), ("windows", 300), ("sack6675", 1000), ("reno", 1000)] {
        let mut wire = Wire::new(
            host(name),
            "slowstart",
            10,
            dropping(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        );
        wire.run();
        let fired: Vec<u64> = wire.fired().iter().take(4).map(|(at, _)| at / MS).collect();
        assert_eq!(fired, [first, 3 * first, 7 * first, 15 * first], "{name}: L7, expiries in ms");
        assert!(
            wire.fired().iter().all(|(_, timer)| matches!(timer, Armed::Rto(_))),
            "{name} has no other timer"
        );
    }
    // RACK's probe comes first, after 2 RTT, and the timeout runs from then on.
    let mut wire = Wire::new(
        host("rack"),
        "slowstart",
        10,
        dropping(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    );
    wire.run();
    let fired: Vec<u64> = wire.fired().iter().take(3).map(|(at, _)| at / MS).collect();
    assert_eq!(fired, [200, 500, 1100], "rack: probe, timeout, doubled timeout, in ms");
}

#[test]
fn f_rto_takes_back_a_needless_timeout_and_repeats_only_the_head() {
    // Whatever leaves before `until` is held back until then, in order: longer than the first
    // timeout, shorter than the second.
    let repeats = |host: Host, until: u64| {
        let held = move |number: u64, sent: &Transmit| match (until * MS)
            .saturating_sub(u64::from(sent.segment.stamp) * MS)
        {
            0 => Fate::Deliver,
            wait => Fate::Late(wait + number.saturating_sub(9) * MS),
        };
        let mut wire = Wire::new(host, "slowstart", 60, held);
        wire.run();
        let repeated: Vec<u64> = wire.repeats().iter().map(|(_, segment)| *segment).collect();
        (repeated, wire.sender.counters().rtos, wire.sender.counters().spurious_timeouts)
    };
    for (name, until) in [("linux26", 500), ("rack", 700)] {
        assert_eq!(
            repeats(host(name), until),
            (vec![0], 1, 1),
            "{name}: a timestamp proves it with the first ACK"
        );
        let without = Preset { undo: UndoRule::Off, ..preset(name) };
        assert_eq!(
            repeats(Host { preset: without, ..host(name) }, until),
            (vec![0], 1, 1),
            "{name}: RFC5682 3-3b proves it with the second"
        );
    }
    let (repeated, _, proven) = repeats(host("sack6675"), 1500);
    assert!(
        proven == 0 && repeated.len() > 2,
        "without the test {} segments are repeated for nothing",
        repeated.len()
    );
}

/// A segment is overtaken by 4 ms: by forty others, enough for every preset's patience before any
/// reordering was seen.
fn overtaken(number: u64, _: &Transmit) -> Fate {
    if number == 2 { Fate::Late(4 * MS) } else { Fate::Deliver }
}

#[test]
fn a_needless_recovery_is_undone_where_the_preset_can_prove_it() {
    for name in ALL {
        let mut windows: Vec<(u32, u64)> = Vec::new();
        let mut wire = Wire::new(host(name), "slowstart@(iw=40)", 200, overtaken);
        let before = wire.sender.controller().cwnd();
        wire.watch = Box::new(|sender| {
            windows.push((sender.controller().stats().undone, sender.controller().cwnd()));
        });
        wire.run();
        let stats = *wire.sender.controller().stats();
        drop(wire);
        assert_eq!(stats.loss_episodes, 1, "{name} takes the reordering for a loss");
        let undone = u32::from(["linux26", "rack"].contains(&name));
        assert_eq!(stats.undone, undone, "{name}: undone");
        let after: Vec<u64> =
            windows.iter().filter(|(undone, _)| *undone > 0).map(|(_, cwnd)| *cwnd).collect();
        assert_eq!(after.is_empty(), undone == 0, "{name}: the window was watched after the undo");
        // L14: restored, and no policy takes it away again.
        let least = after.iter().min().copied().unwrap_or(before);
        assert!(
            least >= before,
            "L14: {name} has a window of {least} after the undo and had {before}"
        );
    }
}

#[test]
fn reordering_seen_once_makes_rack_wait() {
    // RFC8985 6.2-4: the window is a quarter of the RTT once reordering was seen, and 4 ms fit into
    // it. Two segments fool nobody.
    let repeats = |first: u64| {
        let late = move |number: u64, _: &Transmit| match number {
            2 => Fate::Late(first),
            150 => Fate::Late(4 * MS),
            _ => Fate::Deliver,
        };
        let mut wire = Wire::new(host("rack"), "slowstart@(iw=40)", 400, late);
        wire.run();
        wire.repeats().len()
    };
    assert_eq!(
        repeats(2 * TENTH + TENTH / 2),
        0,
        "having seen two segments overtake one, rack waits for the late one"
    );
    assert_eq!(repeats(0), 1, "having seen none, it is fooled");
}

#[test]
fn a_dsack_teaches_counting_rules_the_degree_of_reordering() {
    // The first time three SACKed segments fool it; the repeat was needless, and from then on four
    // are asked for.
    let late = |number: u64, _: &Transmit| {
        if number == 2 || number == 150 { Fate::Late(4 * MS) } else { Fate::Deliver }
    };
    let mut wire = Wire::new(host("linux26"), "slowstart@(iw=40)", 400, late);
    wire.run();
    let sacked_at_entry: Vec<u64> =
        wire.heard().filter(|(_, ack)| ack.lost > 0).map(|(_, ack)| ack.sacked / MSS).collect();
    assert_eq!(sacked_at_entry, [3, 4], "segments SACKed when the head was taken for lost");
}

#[test]
fn early_retransmit_saves_the_timeout_of_a_tiny_flight() {
    /// Segments sent, lost, options, and when the repeat leaves: after the ACK of this segment,
    /// plus this.
    type Row = (u64, &'static [u64], Option<early_retransmit::Options>, Option<(u64, u64)>);
    let naive = early_retransmit::Options::NAIVE;
    let late = early_retransmit::Options::B;
    let rows: [Row; 7] = [
        (2, &[0], None, None),
        (2, &[0], Some(naive), Some((1, 0))),
        (2, &[0], Some(late), Some((1, 25))),
        (3, &[0], Some(naive), Some((2, 0))),
        (3, &[1], Some(naive), Some((2, 0))),
        // Two lost of three: one SACK is not all but one.
        (3, &[0, 1], Some(naive), None),
        // A lone segment gives no evidence.
        (1, &[0], Some(naive), None),
    ];
    for (segments, lost, options, repeat) in rows {
        let host = Host { early_retransmit: options, ..host("linux26") };
        let mut wire = Wire::new(host, "slowstart", segments, losing(lost));
        wire.run();
        let what = format!("flight of {segments}, {lost:?} lost, {options:?}");
        let counters = wire.sender.counters();
        assert_eq!(counters.early_retransmits, u64::from(repeat.is_some()), "{what}: acts");
        assert_eq!(counters.rtos > 0, repeat.is_none(), "{what}: timeout");
        assert_eq!(counters.early_retransmits_spurious, 0, "{what}: what it repeats was lost");
        if let Some((segment, ms)) = repeat {
            let (at, _) = wire.repeats()[0];
            assert!(
                at.abs_diff(ack_of(segment) + ms * MS) < MS / 2,
                "{what}: the repeat leaves at {at} ns"
            );
        }
    }
}

#[test]
fn the_delay_of_early_retransmit_outlasts_reordering() {
    let spurious = |options| {
        let host = Host { early_retransmit: Some(options), ..host("linux26") };
        let mut wire = Wire::new(host, "slowstart", 2, |number, _| {
            if number == 0 { Fate::Late(10 * MS) } else { Fate::Deliver }
        });
        wire.run();
        let counters = wire.sender.counters();
        (
            counters.early_retransmits,
            counters.early_retransmits_spurious,
            wire.sender.early_retransmits().cancelled,
        )
    };
    assert_eq!(
        spurious(early_retransmit::Options::NAIVE),
        (1, 1, 0),
        "at once: the repeat is for nothing"
    );
    assert_eq!(
        spurious(early_retransmit::Options::B),
        (0, 0, 1),
        "a quarter of the RTT later the segment has come"
    );
}

#[test]
fn the_estimator_hears_no_ambiguous_sample() {
    // The repeat of segment 0 is answered 100 ms after it left and 200 ms after the original did:
    // no sample is near 200 ms.
    for name in ALL {
        let mut wire = Wire::new(host(name), "slowstart", 60, losing(&[0]));
        wire.run();
        let longest = wire.heard().filter_map(|(_, ack)| ack.rtt).max().expect("samples");
        assert!(longest < Nanos(110 * MS), "L7: {name} took a sample of {longest:?}");
    }
}

#[test]
fn a_preset_may_differ_in_one_field() {
    let mut slow = preset("rack");
    slow.bounds = Bounds::Rfc;
    slow.probe = Probe::None;
    let mut wire = Wire::new(Host { preset: slow, ..host("rack") }, "slowstart", 10, losing(&[9]));
    wire.run();
    let (at, timer) = wire.fired()[0];
    assert!(matches!(timer, Armed::Rto(_)), "no probe");
    assert_eq!(at, ack_of(8) + 1000 * MS, "RFC 6298's second after the last ACK");
}

#[test]
fn a_needless_timeout_gives_the_window_back() {
    // L14: what the handover to timeout recovery took is restored as soon as it is proven needless.
    let held = |number: u64, sent: &Transmit| match (500 * MS)
        .saturating_sub(u64::from(sent.segment.stamp) * MS)
    {
        0 => Fate::Deliver,
        wait => Fate::Late(wait + number.saturating_sub(9) * MS),
    };
    let mut windows: Vec<(u32, u64)> = Vec::new();
    let mut wire = Wire::new(host("linux26"), "slowstart", 60, held);
    let before = wire.sender.controller().cwnd();
    wire.watch = Box::new(|sender| {
        windows.push((sender.controller().stats().undone, sender.controller().cwnd()));
    });
    wire.run();
    assert_eq!(wire.sender.controller().stats().undone, 1, "the timeout is undone");
    drop(wire);
    assert!(
        windows.iter().any(|(_, cwnd)| *cwnd == MSS),
        "the timeout took the window down to a segment"
    );
    let least = windows.iter().filter(|(undone, _)| *undone > 0).map(|(_, cwnd)| *cwnd).min();
    assert!(least >= Some(before), "L14: the window is {least:?} after the undo and was {before}");
}

#[test]
fn a_lost_repeat_of_timeout_recovery_opens_an_episode_with_rack_only() {
    // The whole flight is lost, and of the repeats the first copy of segment 4.
    let recoveries = |name: &str| {
        let preset = Preset { f_rto: false, probe: Probe::None, ..preset(name) };
        let mut copies = 0;
        let fate = move |number: u64, sent: &Transmit| {
            copies += u64::from(sent.segment.from == 4 * MSS);
            if number < 10 || (sent.segment.from == 4 * MSS && copies == 2) {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        };
        let mut wire = Wire::new(Host { preset, ..host(name) }, "slowstart", 60, fate);
        wire.run();
        let stats = wire.sender.controller().stats();
        (stats.timeouts, stats.loss_episodes)
    };
    assert_eq!(recoveries("rack"), (1, 1), "rack finds the repeat lost and opens a fast recovery");
    assert_eq!(recoveries("sack6675"), (2, 0), "RFC 6675 waits for a second timeout");
}

#[test]
fn a_repeat_by_rule_3_whose_original_is_then_judged_lost_was_not_lost_again() {
    // RFC6675 4-NextSeg(3) repeats what is below the highest SACK but not judged lost yet, when
    // there is no new data.
    for name in ["sack3517", "sack6675", "linux26"] {
        let mut wire = Wire::new(
            host(name),
            "slowstart@(iw=40)",
            40,
            losing(&[0, 1, 2, 3, 20, 21, 22, 30, 31, 35]),
        );
        wire.run();
        let stats = wire.sender.controller().stats();
        assert_eq!(
            (stats.loss_episodes, stats.timeouts),
            (1, 0),
            "{name}: one episode repairs it all"
        );
        assert!(wire.heard().all(|(_, ack)| !ack.detail.lost_again), "{name}: no repeat was lost");
    }
}
