//! Links that play a mahimahi trace, rule by rule.

use firstflight_path::{
    DropCause, Fate, Link, Path, PlayedTrace, Queue, Rate, Trace, TraceOptions, TraceStart,
};
use std::sync::Arc;

const MS: u64 = 1_000_000;
const FULL: u32 = 1500;

fn played(lines: &str, options: TraceOptions) -> Path {
    let trace = Trace::parse(lines, "test")
        .unwrap_or_else(|e| panic!("{lines:?} should be a trace, but: {e}"));
    let played = PlayedTrace::new("test", Arc::new(trace), options)
        .unwrap_or_else(|e| panic!("should be playable, but: {e}"));
    Path::with_rate(Rate::Trace(played), 40 * MS).with_queue(Queue::Packets(100))
}

fn link(lines: &str, options: TraceOptions) -> Link {
    played(lines, options).links(FULL, 40, 1, 0).expect("the path is sound").0
}

fn plain(lines: &str) -> Link {
    link(lines, TraceOptions::default())
}

/// When the packet leaves the bottleneck, in us.
fn departs(link: &mut Link, now: u64, len: u32) -> u64 {
    match link.offer(now, len) {
        Fate::Deliver { at, .. } => (at - link.propagation()) / 1000,
        other => panic!("the packet offered at {now} should be delivered, but: {other:?}"),
    }
}

#[test]
fn small_packets_share_an_opportunity() {
    let mut link = plain("5\n10\n");
    let times: Vec<u64> =
        [500, 500, 500, 500].into_iter().map(|len| departs(&mut link, 0, len)).collect();
    assert_eq!(
        times,
        [5000, 5000, 5000, 10_000],
        "three times 500 B fill one opportunity, the fourth takes the next"
    );
}

#[test]
fn a_packet_spans_opportunities_and_leaves_the_queue_at_the_first() {
    let mut link = plain("5\n10\n");
    assert_eq!(departs(&mut link, 0, 1000), 5000);
    assert_eq!(departs(&mut link, 0, FULL), 10_000, "500 B at 5 ms, 1000 B at 10 ms");
    assert_eq!(link.queued_bytes(4 * MS), 2500);
    assert_eq!(link.queued_bytes(5 * MS), 0, "a packet partly sent no longer counts");
    assert_eq!(
        departs(&mut link, 6 * MS, 500),
        10_000,
        "the rest of the second opportunity is free"
    );
    assert_eq!(
        departs(&mut link, 6 * MS, 4000),
        25_000,
        "jumbo packets span several: 15, 20, 25 ms"
    );
}

#[test]
fn what_nobody_uses_is_lost() {
    let mut link = plain("5\n10\n");
    assert_eq!(departs(&mut link, 0, 100), 5000);
    assert_eq!(
        departs(&mut link, 6 * MS, FULL),
        10_000,
        "the 1400 B left at 5 ms are gone, those at 10 ms are whole"
    );
    assert_eq!(departs(&mut link, 34 * MS, FULL), 35_000, "idle opportunities do not add up");
    assert_eq!(departs(&mut link, 34 * MS, FULL), 40_000);
}

#[test]
fn the_trace_repeats_with_its_last_value_as_period() {
    let mut link = plain("2\n5\n7\n");
    let times: Vec<u64> = (0..7).map(|_| departs(&mut link, 0, FULL)).collect();
    assert_eq!(times, [2000, 5000, 7000, 9000, 12_000, 14_000, 16_000]);
    assert_eq!(
        departs(&mut link, 1_000_000 * 7 * MS + 3 * MS, FULL),
        1_000_000 * 7000 + 5000,
        "after a million idle periods too"
    );
}

#[test]
fn a_zero_in_the_first_line_coincides_with_the_last_slot_of_the_period_before() {
    let mut link = plain("0\n3\n");
    let times: Vec<u64> = (0..6).map(|_| departs(&mut link, 0, FULL)).collect();
    assert_eq!(times, [3000, 3000, 6000, 6000, 9000, 9000], "at 0 itself nothing has arrived yet");
}

#[test]
fn an_opportunity_serves_only_what_arrived_before_it() {
    let mut link = plain("5\n10\n");
    assert_eq!(departs(&mut link, 5 * MS, FULL), 10_000, "arrived at the same instant: too late");
    assert_eq!(departs(&mut link, 15 * MS - 1, FULL), 15_000, "one nanosecond before is in time");
    let mut link = plain("5\n10\n");
    assert_eq!(departs(&mut link, 0, 700), 5000);
    assert_eq!(
        departs(&mut link, 5 * MS, 700),
        10_000,
        "nor does it share what is left at that instant"
    );
}

#[test]
fn equal_lines_are_several_opportunities() {
    let mut link = plain("4\n4\n4\n8\n");
    let times: Vec<u64> = (0..5).map(|_| departs(&mut link, 0, FULL)).collect();
    assert_eq!(times, [4000, 4000, 4000, 8000, 12_000]);
}

#[test]
fn the_queue_counts_what_has_not_begun() {
    let path = played("5\n10\n", TraceOptions::default()).with_queue(Queue::Packets(2));
    let (mut link, _) = path.links(FULL, 40, 1, 0).expect("the path is sound");
    assert_eq!(departs(&mut link, 0, FULL), 5000);
    assert_eq!(departs(&mut link, 0, FULL), 10_000);
    assert_eq!(
        link.offer(0, 1),
        Fate::Drop(DropCause::Queue),
        "before an opportunity even the first packet waits"
    );
    assert_eq!(
        departs(&mut link, 5 * MS, FULL),
        15_000,
        "the opportunity made room before the arrival at its instant"
    );
}

#[test]
fn a_trace_played_once_delivers_nothing_afterwards() {
    let mut link = link("5\n10\n", TraceOptions { once: true, ..TraceOptions::default() });
    assert_eq!(departs(&mut link, 0, FULL), 5000);
    assert_eq!(departs(&mut link, 0, 1000), 10_000);
    assert_eq!(
        link.offer(0, 1000),
        Fate::Drop(DropCause::TraceEnd),
        "begun at the last opportunity, never finished"
    );
    assert_eq!(link.offer(0, 1000), Fate::Drop(DropCause::TraceEnd));
    assert_eq!(link.queued_bytes(u64::MAX - 1), 1000, "the one never begun waits for ever");
}

#[test]
fn a_trace_starts_where_it_is_told() {
    let mut at_six =
        link("5\n10\n", TraceOptions { start: TraceStart::At(6 * MS), ..TraceOptions::default() });
    let times: Vec<u64> = (0..3).map(|_| departs(&mut at_six, 0, FULL)).collect();
    assert_eq!(times, [4000, 9000, 14_000]);
    let path =
        played("5\n1000\n", TraceOptions { start: TraceStart::Random, ..TraceOptions::default() });
    let mut firsts: Vec<u64> = (0..50)
        .map(|index| {
            departs(&mut path.links(FULL, 40, 1, index).expect("the path is sound").0, 0, FULL)
        })
        .collect();
    assert!(
        firsts.iter().all(|us| us % 1000 == 0 && *us <= 995_000),
        "whole milliseconds inside the period: {firsts:?}"
    );
    let again = departs(&mut path.links(FULL, 40, 1, 0).expect("the path is sound").0, 0, FULL);
    assert_eq!(again, firsts[0], "the same trial starts at the same place");
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() > 40, "50 trials start at {} different places", firsts.len());
}

#[test]
fn spread_slots_lie_evenly_in_the_millisecond_that_ends_at_their_time() {
    let options = TraceOptions { spread: true, ..TraceOptions::default() };
    let mut spread = link("1\n1\n1\n1\n3\n", options.clone());
    let times: Vec<u64> = (0..7).map(|_| departs(&mut spread, 0, FULL)).collect();
    assert_eq!(times, [250, 500, 750, 1000, 3000, 3250, 3500]);
    let mut spread = link("1\n1\n1\n1\n3\n", options);
    assert_eq!(
        departs(&mut spread, 500_000, FULL),
        750,
        "the slot at the instant of arrival is past"
    );
    assert_eq!(departs(&mut spread, 3_499_999, FULL), 3500);
    assert_eq!(departs(&mut spread, 30_499_999, FULL), 30_500, "also after idle periods");
    assert_eq!(departs(&mut spread, 30_500_000, FULL), 30_750);
    let mut late = link("1\n3\n3\n", TraceOptions { spread: true, ..TraceOptions::default() });
    assert_eq!(departs(&mut late, 32_400_000, FULL), 32_500, "also where the slot begins later");
}

#[test]
fn scale_multiplies_the_opportunities() {
    let mut doubled = link("5\n10\n", TraceOptions { scale: 2_000_000, ..TraceOptions::default() });
    let times: Vec<u64> = (0..4).map(|_| departs(&mut doubled, 0, FULL)).collect();
    assert_eq!(times, [5000, 5000, 10_000, 10_000]);
    let mut halved =
        link("1\n2\n3\n4\n", TraceOptions { scale: 500_000, ..TraceOptions::default() });
    let times: Vec<u64> = (0..3).map(|_| departs(&mut halved, 0, FULL)).collect();
    assert_eq!(times, [2000, 4000, 6000]);
}

#[test]
fn skip_cuts_the_lead_in_and_shortens_the_period() {
    let mut link =
        link("100\n200\n201\n203\n", TraceOptions { skip_ms: 200, ..TraceOptions::default() });
    let times: Vec<u64> = (0..4).map(|_| departs(&mut link, 0, FULL)).collect();
    assert_eq!(times, [1000, 3000, 4000, 6000]);
}

#[test]
fn a_12_megabit_file_equals_the_constant_rate_after_any_whole_millisecond_under_saturation() {
    let mut file = plain("1\n");
    let path = Path::parse("rate=12Mbit,rtt=40ms,queue=100pkt").expect("a path");
    let (mut rate, _) = path.links(FULL, 40, 1, 0).expect("the path is sound");
    // Delivered bytes by whole millisecond of departure; a window of 50 packets keeps both busy.
    for k in 0..5000_u64 {
        let now = k.saturating_sub(50) * MS;
        let (a, b) = (departs(&mut file, now, FULL), departs(&mut rate, now, FULL));
        assert_eq!(a, b, "packet {k} departs after {a} us by file and after {b} us by rate");
    }
}

#[test]
fn a_trace_has_no_serialization_in_its_idle_rtt() {
    let path = played("1\n", TraceOptions::default());
    let (mut forward, mut reverse) = path.links(FULL, 40, 1, 0).expect("the path is sound");
    assert_eq!(path.up_bps(), 120_000_000, "the reverse rate is ten times the mean rate");
    let Fate::Deliver { at, .. } = forward.offer(MS - 1, FULL) else { panic!("delivered") };
    let Fate::Deliver { at, .. } = reverse.offer(at, 40) else { panic!("delivered") };
    assert_eq!(at, MS + path.rtt(), "from the opportunity on, the round trip is the idle RTT");
}

#[test]
fn a_trace_above_12_megabit_hides_pacing_unless_it_is_spread() {
    let hides = |lines: &str, spread: bool| {
        played(lines, TraceOptions { spread, ..TraceOptions::default() }).hides_pacing()
    };
    assert!(!hides("1\n", false), "12 Mbit/s is one packet per slot");
    assert!(hides("1\n1\n", false));
    assert!(!hides("1\n1\n", true));
}

#[test]
fn random_opportunities_hide_pacing_where_several_share_a_slot() {
    let hides =
        |rate: &str| Path::parse(&format!("{rate},rtt=20ms")).expect("a path").hides_pacing();
    assert!(hides("rate=poisson:13Mbit,ms_slots"), "more than one packet per slot");
    assert!(!hides("rate=poisson:12Mbit,ms_slots"), "12 Mbit/s is one packet per slot");
    assert!(!hides("rate=poisson:13Mbit"), "no slots");
}

#[test]
fn the_reverse_direction_may_play_a_trace_of_its_own() {
    let trace = Trace::parse("10\n", "test").expect("a trace");
    let options = TraceOptions { start: TraceStart::At(4 * MS), ..TraceOptions::default() };
    let up = PlayedTrace::new("up", Arc::new(trace), options).expect("playable");
    let path = Path::new(12_000_000, 40 * MS).with_up(Some(Rate::Trace(up)));
    assert_eq!(path.to_string(), "rate=12Mbit,rtt=40ms,queue=1bdp,up=trace:up,up_start=4ms");
    let (_, mut reverse) = path.links(FULL, 40, 1, 0).expect("the path is sound");
    let times: Vec<u64> = (0..40).map(|_| departs(&mut reverse, 0, 40)).collect();
    assert!(
        times[..37].iter().all(|at| *at == 6000),
        "37 ACKs of 40 B share the first slot: {times:?}"
    );
    assert_eq!(times[37..], [16_000, 16_000, 16_000], "the 38th spans two");
}

/// Two paths are the same only if they play the same trace, under the same name, in the same way.
#[test]
fn what_is_played_is_the_same_if_file_trace_and_options_are() {
    let played = |file: &str, text: &str, skip_ms: u64| {
        let trace = Trace::parse(text, file).expect("a trace");
        let options = TraceOptions { skip_ms, ..TraceOptions::default() };
        PlayedTrace::new(file, Arc::new(trace), options).expect("playable")
    };
    let one = played("up", "1\n2\n4\n", 0);
    assert_eq!(one, played("up", "1\n2\n4\n", 0));
    for (what, other) in [
        ("file", played("down", "1\n2\n4\n", 0)),
        ("trace", played("up", "1\n3\n4\n", 0)),
        ("options", played("up", "1\n2\n4\n", 1)),
    ] {
        assert_ne!(one, other, "another {what}");
    }
}
