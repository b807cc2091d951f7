//! Invariants P0 to P20 of the recovery policies, over random losses, targets, segment sizes and
//! ACK groupings. Where an invariant has a stated exception, the exception is a test of its own.
//! `e` is the slack of whole segments in bytes, one byte below a segment.

use crate::recovery_harness as harness;

use std::collections::BTreeSet;

use firstflight::recovery::prr::{Branch, Params, Reading, Rules};
use firstflight::recovery::{Cause, End, Entry, Immediate, Progress, Prr, Recovery};
use harness::{
    PRR, Run, Scenario, Scoreboard, Step, arm, first_missing, opened, progress, prr_params, run,
};
use proptest::prelude::*;

/// Losses of a flight: single, in a burst, or independent at some rate; numbers are positions in
/// it.
fn losses(flight: usize) -> impl Strategy<Value = BTreeSet<usize>> {
    let burst =
        (0..flight, 1..=flight).prop_map(move |(from, n)| (from..(from + n).min(flight)).collect());
    let spread = |density: u32| {
        prop::collection::vec(0..100_u32, flight)
            .prop_map(move |v| (0..flight).filter(|&i| v[i] < density).collect())
    };
    prop_oneof![
        (0..flight).prop_map(|i| BTreeSet::from([i])),
        burst,
        spread(5),
        spread(20),
        spread(60)
    ]
}

/// A flight of up to 48 segments that loses some of them; the target lies between two segments and
/// the flight.
fn light() -> impl Strategy<Value = Scenario> {
    (5..48_usize).prop_flat_map(|flight| {
        (2..flight as u64, losses(flight))
            .prop_map(move |(target, lost)| Scenario::new(flight, target, lost))
    })
}

/// The same in segments or bytes (then with a target off the segment grid), with stretched ACKs.
fn any_scenario() -> impl Strategy<Value = Scenario> {
    (light(), prop_oneof![Just(1_u64), Just(1_000), Just(1_448)], 0..1_448_u64, 1..5_usize)
        .prop_map(|(scenario, mss, off, k)| {
            let mut scenario = scenario.mss(mss).stretch(k);
            scenario.target_bytes += off % mss;
            scenario
        })
}

/// A variant's episode: the policy after it, and what happened.
fn episode(name: &str, scenario: &Scenario) -> (Prr, Run) {
    let mut prr = Prr::new(prr_params(name));
    let outcome = run(&mut prr, scenario);
    (prr, outcome)
}

/// One open step in bytes.
struct Bytes {
    pipe: u64,
    sent: u64,
    out: u64,
    del: u64,
    d: u64,
    bank: i128,
    safe: bool,
}

impl Bytes {
    fn of(step: &Step, mss: u64) -> Bytes {
        let safe = step.advanced && step.newly_lost == 0;
        let (del, out) = (step.del * mss, step.out_before * mss);
        let bank = i128::from(del) - i128::from(out);
        Bytes {
            pipe: step.pipe as u64 * mss,
            sent: step.sent.len() as u64 * mss,
            out,
            del,
            d: step.delivered * mss,
            bank,
            safe,
        }
    }

    fn conservative(&self) -> u64 {
        u64::try_from(self.bank.max(i128::from(self.d))).expect("D is not negative")
    }
}

fn steps(outcome: &Run, mss: u64) -> impl Iterator<Item = (&Step, Bytes)> {
    outcome.open().map(move |s| (s, Bytes::of(s, mss)))
}

fn line(del: u64, target: u64, f: u64) -> u64 {
    (del * target).div_ceil(f)
}

mod deliveries {
    use super::*;

    /// Segments in order of arrival, how many each ACK reports, and the order in which the ACKs
    /// arrive.
    fn arrivals() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, Vec<u32>)> {
        let order = Just((0..24_usize).collect::<Vec<_>>()).prop_shuffle();
        (order, prop::collection::vec(1..5_usize, 24), prop::collection::vec(any::<u32>(), 24))
    }

    proptest! {
        /// Shows RFC6937 2-1.
        #[test]
        fn p0_the_sum_of_deliveries_is_what_was_delivered((order, groups, keys) in arrivals(), lose in prop::collection::vec(any::<bool>(), 24)) {
            let mut acks: Vec<(u32, usize, Vec<usize>)> = Vec::new();
            let (mut received, mut rest) = (BTreeSet::new(), order.as_slice());
            for (&k, &key) in groups.iter().zip(&keys) {
                let (now, later) = rest.split_at(k.min(rest.len()));
                received.extend(now.iter().copied());
                rest = later;
                let una = first_missing(&received);
                acks.push((key, una, received.range(una..).copied().collect()));
            }
            let last = acks.last().expect("an ACK").clone();
            let mut kept: Vec<_> = acks.into_iter().zip(lose).filter(|(_, lost)| !lost).map(|(ack, _)| ack).collect();
            kept.sort_by_key(|ack| ack.0);
            let mut board = Scoreboard::with_flight(24);
            let mut total = 0;
            for (_, una, sacks) in kept.into_iter().chain([last]) {
                let before = (board.una, board.sacked());
                let d = board.receive(una, sacks);
                prop_assert_eq!(d as usize, board.una + board.sacked() - before.0 - before.1, "D is the change of una and of the SACKed bytes");
                total += d;
            }
            prop_assert_eq!(total as usize, received.len(), "merged, lost and reordered ACKs add up to the same");
        }
    }
}

proptest! {
    /// Shows RFC9937 6.3-1.
    #[test]
    fn p1_no_more_is_sent_than_granted(scenario in any_scenario()) {
        for name in PRR {
            let (prr, outcome) = episode(name, &scenario);
            let sent: usize = outcome.open().map(|s| s.sent.len()).sum();
            prop_assert_eq!(prr.out(), sent as u64 * scenario.mss, "{}: out is what went on the wire", name);
            for (step, b) in steps(&outcome, scenario.mss) {
                let due = step.cwnd - b.pipe;
                prop_assert!(b.sent < due + scenario.mss, "{name}: sent {} of {due} due in {scenario:?}", b.sent);
            }
        }
    }

    /// Shows RFC6937 3-3.
    #[test]
    fn p2_conservation_never_sends_more_than_was_delivered(scenario in any_scenario()) {
        for (_, b) in steps(&episode("CRB", &scenario).1, scenario.mss) {
            prop_assert!(b.out + b.sent < b.del + scenario.mss, "sent {} of {} delivered", b.out + b.sent, b.del);
        }
    }

    /// Shows RFC6937 3-3.
    #[test]
    fn p3_slow_start_bound_adds_one_segment_per_ack(scenario in any_scenario()) {
        let e = scenario.mss - 1;
        for (acks, (_, b)) in (1..).zip(steps(&episode("SSRB", &scenario).1, scenario.mss)) {
            prop_assert!(b.sent <= b.conservative() + scenario.mss + e, "sent {} on an ACK of {}", b.sent, b.d);
            prop_assert!(b.out + b.sent <= b.del + acks * scenario.mss + e, "sent {} of {} delivered by {acks} ACKs", b.out + b.sent, b.del);
        }
    }

    /// Shows RFC9937 6.2-3.
    #[test]
    fn p4_rfc_9937_adds_a_segment_only_on_safe_acks(scenario in any_scenario()) {
        let (mss, e) = (scenario.mss, scenario.mss - 1);
        for name in ["9937", "Linux"] {
            let mut safe_acks = 0;
            for (step, b) in steps(&episode(name, &scenario).1, mss) {
                let safe = b.safe && !(step.rescue_next && name == "9937");
                safe_acks += u64::from(safe);
                prop_assert!(safe || b.out == 0 || b.sent <= b.conservative() + e, "{name}: sent {} on an unsafe ACK of {}", b.sent, b.d);
                prop_assert!(b.out + b.sent <= b.del + (safe_acks + 1) * mss + e, "{name}: sent {} of {}", b.out + b.sent, b.del);
            }
        }
    }

    /// Shows RFC9937 6.2-3.
    #[test]
    fn p5_the_bound_branch_never_fills_past_the_target(scenario in any_scenario()) {
        for name in PRR {
            for (_, b) in steps(&episode(name, &scenario).1, scenario.mss).filter(|(_, b)| b.pipe <= scenario.target_bytes && b.out > 0) {
                prop_assert!(b.pipe + b.sent <= scenario.target_bytes.max(b.pipe), "{name}: pipe {} and {} sent", b.pipe, b.sent);
            }
        }
    }

    /// Shows RFC6937 3-2.
    #[test]
    fn p6_p7_the_proportional_branch_stays_on_its_line(scenario in any_scenario()) {
        let e = scenario.mss - 1;
        for name in ["CRB", "SSRB", "UB", "9937"] {
            let (prr, outcome) = episode(name, &scenario);
            let f = prr.recover_fs();
            for (_, b) in steps(&outcome, scenario.mss).filter(|(_, b)| b.pipe > scenario.target_bytes) {
                let due = line(b.del, scenario.target_bytes, f);
                prop_assert!(b.out + b.sent <= b.out.max(due + e), "{name}: sent {} where {due} were due", b.out + b.sent);
                let straight = f.saturating_sub(b.del) + due;
                prop_assert!(b.pipe + b.sent <= b.pipe.max(straight) + e, "{name}: pipe {} above the line {straight}", b.pipe + b.sent);
            }
        }
    }

    /// Shows RFC6937 3-3.
    #[test]
    fn p8_bounds_are_ordered(
        account in (0..100_u64, 0..100_u64), d in 1..50_u64, pipe in 0..120_u64, target in 2..100_u64, f in 1..120_u64, safe: bool, mss in 1..3_u64,
    ) {
        let quota = |name: &str| {
            let mut prr = opened(Prr::new(prr_params(name)), target, f, mss);
            prr.on_ack(&progress(account.0 + 1, u64::MAX / 2, mss));
            prr.on_sent(account.1 + 1);
            prr.on_ack(&Progress { advanced: safe, ..progress(d, pipe, mss) });
            (i128::from(prr.quota()), prr.bank())
        };
        let ((crb, bank), (ssrb, _), (ub, _), (now, _)) = (quota("CRB"), quota("SSRB"), quota("UB"), quota("9937"));
        prop_assert!(crb <= ssrb && ssrb <= ub, "CRB {crb}, SSRB {ssrb}, UB {ub}");
        let lower = if pipe > target { crb } else { (i128::from(target) - i128::from(pipe)).min(i128::from(bank).max(i128::from(d))) };
        prop_assert!(lower <= now && now <= ssrb, "9937 {now} outside {lower}..={ssrb}");
    }

    /// Shows RFC9937 6.2-1, RFC9937 6.2-held.
    #[test]
    fn p9_an_ack_that_delivers_nothing_changes_nothing(
        acks in prop::collection::vec((1..4_u64, 0..30_u64, any::<bool>(), 0..3_u64), 1..20), lost in 0..30_u64, advanced: bool,
    ) {
        for name in ["9937", "Linux"] {
            let mut prr = opened(Prr::new(prr_params(name)), 10, 20, 1);
            let mut pipe = 0;
            for &(d, after, advanced, sent) in &acks {
                pipe = after;
                prr.on_ack(&Progress { advanced, ..progress(d, pipe, 1) });
                prop_assert!(prr.cwnd() >= pipe, "{name}: the window shown is never below the pipe");
                for _ in 0..sent {
                    if prr.admits(1, pipe) {
                        prr.on_sent(1);
                        pipe += 1;
                    }
                }
            }
            let before = prr;
            prr.on_ack(&Progress { advanced, ..progress(0, pipe, 1) });
            prop_assert_eq!(prr, before, "{}: nothing delivered, nothing lost", name);
            // Losses found without a delivery leave window and sums as they are, and exactly its room may be sent into.
            let lost = lost.min(pipe);
            pipe -= lost;
            prr.on_ack(&Progress { advanced, newly_lost: lost, ..progress(0, pipe, 1) });
            prop_assert_eq!((prr.cwnd(), prr.delivered(), prr.out()), (before.cwnd(), before.delivered(), before.out()), "{}", name);
            let room = prr.cwnd().saturating_sub(pipe);
            for nth in 0..room {
                prop_assert!(prr.admits(1, pipe), "{name}: segment {nth} of {room} is held back: {prr:?}");
                prr.on_sent(1);
                pipe += 1;
            }
            prop_assert!(!prr.admits(1, pipe), "{name}: the window is full: {prr:?}");
        }
    }

    #[test]
    fn p10_losses_within_the_cut_end_at_the_target(scenario in light()) {
        for name in PRR {
            let (_, outcome) = episode(name, &scenario);
            let Some((exit_pipe, window)) = outcome.exit else { continue };
            if scenario.lost.len() as u64 + scenario.target_bytes > outcome.f_9937 {
                continue;
            }
            let last = outcome.open().last().expect("an open step");
            prop_assert_eq!((last.pipe + last.sent.len()) as u64, scenario.target_bytes, "{}: pipe after the last send, {:?}", name, scenario);
            prop_assert_eq!(exit_pipe as u64 + 1, scenario.target_bytes, "{}: the completing ACK takes one off", name);
            prop_assert_eq!(window, scenario.target_bytes, "{}: the window left", name);
        }
    }

    #[test]
    fn p11_heavier_losses_never_end_above_the_target(scenario in light()) {
        for name in PRR {
            let (_, outcome) = episode(name, &scenario);
            if outcome.exit.is_none() || scenario.lost.len() as u64 + scenario.target_bytes <= outcome.f_9937 {
                continue;
            }
            let last = outcome.open().last().expect("an open step");
            let end = (last.pipe + last.sent.len()) as u64;
            prop_assert!(end <= scenario.target_bytes, "{name}: ends with pipe {end} in {scenario:?}");
            prop_assert!(name != "UB" || end == scenario.target_bytes, "UB ends with pipe {end} in {scenario:?}");
            prop_assert!(name != "CRB" || end < scenario.target_bytes, "CRB reaches the target in {scenario:?}");
        }
    }

    #[test]
    fn p12_a_stall_is_banked((flight, target) in (12..48_usize).prop_flat_map(|f| (Just(f), f as u64 / 3..f as u64)), at in 0..100_usize, k in 1..6_usize) {
        let free = Scenario::new(flight, target, [0]);
        let from = 4 + at % (flight - 6);
        let stalled = free.clone().stall(from..=from + k - 1);
        for name in PRR {
            let (a, b) = (episode(name, &free).1, episode(name, &stalled).1);
            let (Some(a), Some(b)) = (sent_until(&a, from + k), sent_until(&b, from + k)) else { continue };
            if a.0 > target && b.0 > target {
                prop_assert_eq!(a.1, b.1, "{}: sent up to the first ACK after the stall, with and without it", name);
            }
        }
    }

    #[test]
    fn p13_the_slope_is_the_target_over_the_flight(f in 2..200_u64, n in 1..400_u64, t in 1..200_u64) {
        let target = t.min(f);
        for name in ["CRB", "SSRB", "UB", "9937"] {
            let mut prr = opened(Prr::new(prr_params(name)), target, f, 1);
            (0..n).for_each(|_| acknowledge(&mut prr, 1, 1));
            prop_assert_eq!(prr.out(), line(n, target, f), "{}: one send per F/T ACKs", name);
            prop_assert_eq!(prr.end(End::Complete, 0), target, "{}: whatever beta, the end is the target", name);
        }
    }

    #[test]
    fn p14_above_the_target_the_grouping_of_acks_does_not_matter(groups in prop::collection::vec(1..9_u64, 1..40), target in 2..40_u64, f in 40..60_u64) {
        for name in PRR {
            let mut grouped = opened(Prr::new(prr_params(name)), target, f, 1);
            let mut single = grouped;
            for &d in &groups {
                acknowledge(&mut grouped, d, 1);
            }
            (0..groups.iter().sum()).for_each(|_| acknowledge(&mut single, 1, 1));
            prop_assert_eq!(grouped.out(), single.out(), "{}: sent on grouped and on single ACKs", name);
        }
    }

    /// Shows RFC9937 6.4-1.
    #[test]
    fn p15_the_burst_at_the_exit_is_what_is_missing_to_the_target(scenario in any_scenario()) {
        for name in PRR {
            let (prr, outcome) = episode(name, &scenario);
            let Some((pipe, window)) = outcome.exit else { continue };
            prop_assert_eq!(window, scenario.target_bytes, "{}: the window left is the target", name);
            // One forced segment may still be in the pipe.
            prop_assert!(pipe as u64 * scenario.mss <= scenario.target_bytes + scenario.mss, "{name}: pipe {pipe} at the exit of {scenario:?}, {prr:?}");
        }
    }

    #[test]
    fn p17_nonsense_never_panics(
        entry in any::<(u64, u64, u64, u64, u64, u64, u64)>(), cause in 0..3_usize,
        acks in prop::collection::vec((any::<(u64, u64, u64, u64)>(), any::<(bool, bool, bool)>(), any::<u64>()), 0..12), small: bool,
    ) {
        let cut = |v: u64| if small { v % 5_000 } else { v };
        let cause = [Cause::Ack, Cause::Timer, Cause::Ecn][cause];
        let (target, flight, sacked, delivered, cwnd, reduced, mss) = entry;
        let entry = Entry { cause, target: cut(target), flight, sacked, delivered, cwnd: cut(cwnd), reduced, mss: cut(mss) };
        let mut immediate: [Box<dyn Recovery>; 1] = [Box::new(Immediate::default())];
        let mut arms: Vec<Box<dyn Recovery>> = ["6675", "RH"].into_iter().chain(PRR).map(arm).collect();
        for policy in arms.iter_mut().chain(immediate.iter_mut()) {
            policy.admits(1, 1);
            policy.enter(&entry);
            for &((delivered, newly_lost, pipe, mss), (advanced, rescue_next, timer), len) in &acks {
                policy.on_ack(&Progress {
                    delivered: cut(delivered),
                    advanced,
                    newly_lost,
                    rescue_next,
                    repeat_acked: advanced,
                    repeat_lost: timer,
                    pipe: cut(pipe),
                    mss: cut(mss),
                    timer,
                });
                policy.admits(len, pipe);
                policy.on_sent(cut(len));
                policy.cwnd();
            }
            policy.end(End::Timeout, u64::MAX);
        }
    }

    #[test]
    fn p18_something_is_sent_every_few_deliveries((target, f) in (2..60_u64).prop_flat_map(|t| (Just(t), t..120_u64)), n in 1..200_u64) {
        for name in ["CRB", "SSRB", "UB", "9937"] {
            let mut prr = opened(Prr::new(prr_params(name)), target, f, 1);
            let mut silent = 0;
            for _ in 0..n {
                let before = prr.out();
                acknowledge(&mut prr, 1, 1);
                silent = if prr.out() > before { 0 } else { silent + 1 };
                prop_assert!(silent < f.div_ceil(target), "{name}: {silent} deliveries without a send at F/T = {f}/{target}");
            }
        }
    }

    #[test]
    fn p18_rfc_9937_sends_on_every_delivery_below_the_target(scenario in light()) {
        for name in ["9937", "Linux"] {
            for (_, b) in steps(&episode(name, &scenario).1, 1).filter(|(_, b)| b.pipe < scenario.target_bytes && b.d > 0) {
                prop_assert!(b.sent > 0, "{name}: nothing sent at pipe {} below {} in {scenario:?}", b.pipe, scenario.target_bytes);
            }
        }
    }

    #[test]
    fn p20_bursts_are_bounded_by_deliveries(scenario in any_scenario()) {
        for name in ["CRB", "SSRB", "9937", "Linux"] {
            for (_, b) in steps(&episode(name, &scenario).1, scenario.mss).filter(|(_, b)| b.pipe <= scenario.target_bytes) {
                prop_assert!(b.sent <= b.conservative() + scenario.mss, "{name}: {} sent on an ACK of {}", b.sent, b.d);
            }
        }
    }
}

/// Pipe at the ACK of segment `trigger`, and all that was sent in the episode up to and including
/// it.
fn sent_until(outcome: &Run, trigger: usize) -> Option<(u64, u64)> {
    outcome
        .steps
        .iter()
        .find(|s| s.trigger == trigger)
        .map(|s| (s.pipe as u64, s.out_before + s.sent.len() as u64))
}

/// An ACK far above the target, and all that it lets go.
fn acknowledge(prr: &mut Prr, d: u64, mss: u64) {
    const FAR: u64 = 1 << 50;
    prr.on_ack(&progress(d, FAR, mss));
    while prr.admits(mss, FAR) {
        prr.on_sent(mss);
    }
}

mod exceptions {
    use super::*;

    #[test]
    fn p5_p15_the_forced_segment_is_the_one_excess() {
        let mut prr = opened(Prr::new(prr_params("9937")), 10, 20, 1);
        prr.on_ack(&progress(1, 10, 1));
        assert_eq!(
            (prr.branch(), prr.cwnd()),
            (Branch::Forced, 11),
            "one segment above the target of 10"
        );
    }

    #[test]
    fn p9_rfc_6937_recomputes_without_a_delivery() {
        for ignore in [false, true] {
            let mut params = prr_params("SSRB");
            if let Rules::Rfc6937 { reading, .. } = &mut params.rules
                && ignore
            {
                *reading = Reading::IgnoreEmpty;
            }
            let mut prr = opened(Prr::new(params), 10, 20, 1);
            prr.on_ack(&progress(1, 5, 1));
            prr.on_sent(2);
            prr.on_ack(&progress(0, 6, 1));
            assert_eq!(
                prr.admits(1, 6),
                !ignore,
                "the extra segment on an ACK that delivers nothing, ignoring them: {ignore}"
            );
        }
    }

    #[test]
    fn p10_conservation_with_the_raw_flight_can_end_below_the_target() {
        // 8 losses are within the cut of its own F = 22 and T = 10 (slack 12), but 11 are not
        // within that of the true flight.
        let scenario = Scenario::new(20, 10, 0..11);
        let (prr, outcome) = episode("CRB", &scenario);
        let last = outcome.open().last().expect("an open step");
        assert_eq!(
            (prr.recover_fs(), outcome.f_9937),
            (22, 20),
            "the raw flight counts what was SACKed before entry"
        );
        assert!(
            last.pipe + last.sent.len() < 10,
            "the pipe ends at {}, below 10",
            last.pipe + last.sent.len()
        );
    }

    #[test]
    fn p10_losses_after_the_first_flight_may_cost_one_segment() {
        for later in 22..32 {
            for name in PRR {
                let (_, outcome) = episode(name, &Scenario::new(20, 10, [0, later]));
                let last = outcome.open().last().expect("an open step");
                let end = last.pipe + last.sent.len();
                assert!(
                    (9..=10).contains(&end),
                    "{name}: the pipe ends at {end} when {later} is lost too"
                );
            }
        }
    }

    /// Shows LINUX halving-clamp.
    #[test]
    fn p12_rate_halving_loses_what_a_stall_kept_back() {
        let (mut lost, mut total) = (0, 0);
        for from in 4..14 {
            for k in 2..6 {
                let free = run(arm("RH").as_mut(), &Scenario::new(20, 10, [0]));
                let stalled =
                    run(arm("RH").as_mut(), &Scenario::new(20, 10, [0]).stall(from..=from + k - 1));
                total += 1;
                lost += u32::from(
                    sent_until(&stalled, from + k).map(|s| s.1)
                        < sent_until(&free, from + k).map(|s| s.1),
                );
            }
        }
        assert!(2 * lost > total, "rate halving is behind after {lost} of {total} stalls");
    }

    /// Shows OURS prr-split.
    #[test]
    fn p14_splitting_acks_farms_extra_segments_unless_guarded() {
        let sent = |params: Params, pieces: u64| {
            let mut prr = opened(Prr::new(params), 1_000_000, 1_000_000, 1_000);
            for _ in 0..20 * pieces {
                prr.on_ack(&Progress {
                    advanced: true,
                    ..progress(1_000 / pieces, 100_000, 1_000)
                });
                while prr.admits(1_000, 100_000) {
                    prr.on_sent(1_000);
                }
            }
            prr.out()
        };
        for name in ["SSRB", "9937", "Linux"] {
            let guarded = firstflight::with!(Params { split_guard: true, ..prr_params(name) });
            let (whole, split, guard) =
                (sent(prr_params(name), 1), sent(prr_params(name), 10), sent(guarded, 10));
            assert_eq!(
                sent(guarded, 1),
                whole,
                "{name}: the guard costs an honest receiver nothing"
            );
            assert!(
                split > 3 * whole,
                "{name}: splitting each ACK in ten raises {whole} to {split}"
            );
            assert!(
                guard <= whole,
                "{name}: guarded, {guard} are sent where an honest receiver gets {whole}"
            );
        }
    }

    /// Shows RFC6937 3-2.
    #[test]
    fn p16_cross_multiplying_is_the_rounded_up_line() {
        for (t, f, d, o) in (1..=40).flat_map(|t| {
            (1..=40)
                .flat_map(move |f| (1..=40).flat_map(move |d| (1..=40).map(move |o| (t, f, d, o))))
        }) {
            let mut prr = opened(Prr::new(prr_params("UB")), t, f, 1);
            prr.on_sent(o);
            prr.on_ack(&progress(d, t + 1, 1));
            assert_eq!(prr.admits(1, t + 1), d * t > o * f, "del {d}, T {t}, F {f}, out {o}");
        }
    }

    #[test]
    fn p18_conservation_stays_silent_until_a_forced_segment_is_paid_for() {
        let mut prr = opened(Prr::new(prr_params("CRB")), 10_000, 20_000, 1_000);
        prr.on_ack(&progress(100, 5_000, 1_000));
        prr.on_sent(1_000);
        prr.on_ack(&progress(100, 6_000, 1_000));
        assert_eq!(
            (prr.quota(), prr.admits(1, 6_000)),
            (-800, false),
            "below the target, a delivery, and nothing may be sent"
        );
    }

    #[test]
    fn p19_light_loss_costs_the_same_number_of_segments_everywhere() {
        for flight in (10..=60).step_by(2) {
            let f = flight as u64 + 2;
            let total = |name: &str| {
                let mut outcome = run(arm(name).as_mut(), &Scenario::new(flight, f / 2, [0]).f(f));
                outcome.steps.truncate(flight - 1);
                outcome.total()
            };
            for name in ["RH", "CRB", "SSRB", "UB", "9937"] {
                assert_eq!(
                    total(name),
                    total("6675"),
                    "{name} and 6675 after one RTT of a flight of {flight}"
                );
            }
        }
    }

    /// Shows RFC6675 5-C.
    #[test]
    fn p20_filling_at_once_emits_all_that_is_missing() {
        let outcome = run(arm("6675").as_mut(), &Scenario::new(20, 11, 0..=14));
        assert_eq!(outcome.burst(), 7, "T - pipe = 11 - 4 on the first ACK");
    }
}
