//! Single rules and options of the recovery policies: entry without an ACK, the packet above the
//! window, exits, segments that do not fit, and the cases where the documents or the kernel differ.

use crate::recovery_harness as harness;

use firstflight::recovery::prr::{Branch, Evidence, Params, Rounding, Rules, SafeAck, TimerEntry};
use firstflight::recovery::{
    AnyRecovery, AnySettings, Cause, End, Entry, Immediate, LostRepeat, Policy, Progress, Prr,
    RateHalving, Recovery, Sack, prr, rate_halving, sack,
};
use harness::{Scenario, arm, opened, progress, prr_params, run, with_granted_exit};

const MSS: u64 = 1_000;

/// A window and flight of 20 segments, a target of 10, opened by `cause`.
fn entry(cause: Cause) -> Entry {
    let delivered = if cause == Cause::Timer { 0 } else { MSS };
    Entry {
        cause,
        target: 10 * MSS,
        flight: 20 * MSS - delivered,
        sacked: 0,
        delivered,
        cwnd: 20 * MSS,
        reduced: 10 * MSS,
        mss: MSS,
    }
}

fn timer(pipe: u64) -> Progress {
    Progress { timer: true, newly_lost: MSS, ..progress(0, pipe, MSS) }
}

/// Number of segments that `policy` releases while the pipe grows from `pipe`.
fn sends(policy: &mut dyn Recovery, mut pipe: u64) -> u64 {
    let mut sent = 0;
    while policy.admits(MSS, pipe) {
        policy.on_sent(MSS);
        pipe += MSS;
        sent += 1;
    }
    sent
}

/// Windows, and packets sent, over an episode in which a packet is delivered at a time.
fn course(policy: &mut dyn Recovery) -> Vec<(u64, u64)> {
    policy.enter(&entry(Cause::Ack));
    let pipes = (4..20).rev();
    pipes
        .map(|pipe| {
            policy.on_ack(&progress(MSS, pipe * MSS, MSS));
            (policy.cwnd(), sends(policy, pipe * MSS))
        })
        .collect()
}

#[test]
fn a_policy_chosen_at_run_time_decides_as_it_does_itself() {
    let bounds = [prr::Bound::Crb, prr::Bound::Ssrb, prr::Bound::Ub].map(Params::rfc6937);
    let prr = [Params::rfc9937(), Params::linux()].into_iter().chain(bounds);
    let mut pairs: Vec<(Box<dyn Recovery>, AnySettings)> = vec![
        (Box::new(Immediate::default()), AnySettings::Immediate),
        (Box::new(Sack::default()), AnySettings::Sack(sack::Params::default())),
        (
            Box::new(RateHalving::default()),
            AnySettings::RateHalving(rate_halving::Params::default()),
        ),
    ];
    pairs.extend(prr.map(|params| -> (Box<dyn Recovery>, _) {
        (Box::new(Prr::new(params)), AnySettings::Prr(params))
    }));
    let mut courses = Vec::new();
    for (mut own, settings) in pairs {
        let own = course(&mut *own);
        assert_eq!(own, course(&mut AnyRecovery::with(settings)), "{settings:?}");
        courses.push(own);
    }
    courses.sort_unstable();
    courses.dedup();
    assert!(courses.len() >= 5, "what they decide tells them apart: {courses:?}");
}

mod immediate_cut {
    use super::*;

    /// Shows RFC9002 7.3.2-3, RFC9002 7-6.
    #[test]
    fn one_packet_goes_above_the_window_at_entry() {
        let mut policy = Immediate::default();
        policy.enter(&entry(Cause::Ack));
        policy.on_ack(&progress(MSS, 18 * MSS, MSS));
        assert_eq!(
            (policy.cwnd(), sends(&mut policy, 18 * MSS)),
            (10 * MSS, 1),
            "a single packet above the window"
        );
        assert_eq!(sends(&mut policy, 10 * MSS), 0, "none into a full window");
        assert_eq!(sends(&mut policy, 9 * MSS + 1), 0, "none that would go past it by a byte");
        assert_eq!(sends(&mut policy, 9 * MSS), 1, "one that just fits");
        assert_eq!(policy.end(End::Complete, 5 * MSS), 10 * MSS, "the window stays");
    }

    /// Shows RFC9002 7-6.
    #[test]
    fn the_smaller_window_after_marks_is_taken() {
        let mut policy = Immediate::default();
        policy.enter(&Entry { reduced: MSS, target: 2 * MSS, ..entry(Cause::Ecn) });
        assert_eq!(policy.cwnd(), MSS, "one segment, below the threshold of two");
    }
}

mod cut_once_and_fill {
    use super::*;

    /// Shows RFC6675 5-4.3.
    #[test]
    fn the_first_hole_is_repeated_whatever_the_pipe() {
        for (cause, first) in [(Cause::Ack, 1), (Cause::Timer, 1), (Cause::Ecn, 0)] {
            let mut policy = Sack::default();
            policy.enter(&entry(cause));
            assert_eq!(
                sends(&mut policy, 18 * MSS),
                first,
                "{cause:?} with a pipe of 18 above a window of 10"
            );
        }
    }

    /// Shows RFC6675 5-C.
    #[test]
    fn a_full_segment_of_room_is_asked_for_unless_any_room_will_do() {
        for (fill, sent) in [(sack::Fill::FullSegment, 0), (sack::Fill::AnyRoom, 1)] {
            let mut policy =
                Sack::new(firstflight::with!(sack::Params { fill, ..sack::Params::default() }));
            policy.enter(&entry(Cause::Ecn));
            assert_eq!(sends(&mut policy, 9 * MSS + 1), sent, "{fill:?} with 999 bytes of room");
            assert_eq!(sends(&mut policy, 9 * MSS), 1, "{fill:?} with a segment of room");
            assert_eq!(sends(&mut policy, 10 * MSS), 0, "{fill:?} without room");
        }
    }

    /// Shows GVISOR sack-inflate.
    #[test]
    fn three_segments_of_inflation_end_with_the_episode() {
        let mut policy =
            Sack::new(firstflight::with!(sack::Params { inflate: 3, ..sack::Params::default() }));
        policy.enter(&entry(Cause::Ack));
        assert_eq!(policy.cwnd(), 13 * MSS, "gVisor: the target and three segments");
        assert_eq!(policy.end(End::Complete, 9 * MSS), 10 * MSS, "the target is left");
    }
}

mod halving {
    use super::*;

    /// Shows LINUX halving-moderation.
    #[test]
    fn the_exit_window_is_moderated() {
        for (moderation, window) in [(None, 10), (Some(3), 7), (Some(1), 5)] {
            let mut policy = RateHalving::new(firstflight::with!(rate_halving::Params {
                moderation,
                ..rate_halving::Params::default()
            }));
            policy.enter(&entry(Cause::Ack));
            policy.on_ack(&progress(MSS, 18 * MSS, MSS));
            assert_eq!(
                policy.end(End::Complete, 4 * MSS),
                window * MSS,
                "moderation {moderation:?} at pipe 4"
            );
        }
    }

    /// Shows LINUX halving-moderation.
    #[test]
    fn the_vectors_do_not_depend_on_the_moderation() {
        for moderation in [None, Some(1), Some(3)] {
            let mut policy = RateHalving::new(firstflight::with!(rate_halving::Params {
                moderation,
                ..rate_halving::Params::default()
            }));
            let outcome = run(&mut policy, &Scenario::new(20, 10, [0]));
            assert_eq!(outcome.exit, Some((9, 10)), "moderation {moderation:?}");
        }
    }

    /// Shows LINUX halving-floor.
    #[test]
    fn the_floor_may_be_half_the_target() {
        for (floor, window) in
            [(rate_halving::Floor::Target, 10), (rate_halving::Floor::HalfTarget, 5)]
        {
            let mut policy = RateHalving::new(firstflight::with!(rate_halving::Params {
                floor,
                ..rate_halving::Params::default()
            }));
            policy.enter(&entry(Cause::Ack));
            (0..60).for_each(|_| policy.on_ack(&progress(MSS, 18 * MSS, MSS)));
            assert_eq!(policy.cwnd(), window * MSS, "{floor:?}, pipe held up");
        }
    }

    #[test]
    fn a_target_off_the_segment_grid_is_left_exactly() {
        let mut policy = RateHalving::default();
        policy.enter(&Entry { target: 10_400, cwnd: 19_500, ..entry(Cause::Ack) });
        assert_eq!(policy.cwnd(), 20 * MSS, "the window is rounded up to segments");
        (0..60).for_each(|_| policy.on_ack(&progress(MSS, 18 * MSS, MSS)));
        assert_eq!(policy.cwnd(), 10 * MSS, "the floor is rounded down");
        assert_eq!(
            policy.end(End::Complete, 9 * MSS),
            10_400,
            "not a fraction below the threshold, which would be slow start"
        );
    }

    /// Shows LINUX halving-slope.
    #[test]
    fn acks_without_news_do_not_count() {
        let mut policy = RateHalving::default();
        policy.enter(&entry(Cause::Ack));
        (0..9).for_each(|_| policy.on_ack(&progress(0, 3 * MSS, MSS)));
        assert_eq!(policy.cwnd(), 20 * MSS, "neither the pair nor the clamp moves");
    }
}

mod proportional {
    use super::*;

    /// Shows OURS prr-timer, LINUX prr-timer.
    #[test]
    fn a_loss_timer_forces_nothing_grants_nothing_or_counts_one() {
        for (entry_rule, sent, delivered, cwnd) in [
            (TimerEntry::Forced, 1, 0, 19),
            (TimerEntry::Strict, 0, 0, 18),
            (TimerEntry::Linux, 1, MSS, 18),
        ] {
            let params = firstflight::with!(Params {
                rules: Rules::Rfc9937 { timer: entry_rule, safe_ack: SafeAck::Progress },
                ..Params::rfc9937()
            });
            let mut prr = Prr::new(params);
            prr.enter(&entry(Cause::Timer));
            prr.on_ack(&timer(18 * MSS));
            assert_eq!(
                (prr.recover_fs(), prr.cwnd() / MSS),
                (20 * MSS, cwnd),
                "{entry_rule:?}: F and the window shown"
            );
            assert_eq!(
                (sends(&mut prr, 18 * MSS), prr.delivered()),
                (sent, delivered),
                "{entry_rule:?}: segments sent, bytes counted"
            );
            prr.on_ack(&timer((18 + sent) * MSS));
            assert_eq!(
                sends(&mut prr, (18 + sent) * MSS),
                0,
                "{entry_rule:?}: a second timer that frees nothing grants nothing"
            );
        }
    }

    /// Shows OURS prr-timer.
    #[test]
    fn marks_force_no_repeat() {
        let mut prr = Prr::default();
        prr.enter(&entry(Cause::Ecn));
        prr.on_ack(&progress(0, 18 * MSS, MSS));
        assert_eq!(
            (prr.branch(), sends(&mut prr, 18 * MSS)),
            (Branch::Closed, 0),
            "nothing delivered, nothing to repeat"
        );
        prr.on_ack(&progress(MSS, 18 * MSS, MSS));
        assert_eq!(
            (prr.branch(), sends(&mut prr, 18 * MSS)),
            (Branch::Proportional, 1),
            "the line starts with the first delivery"
        );
    }

    /// Shows RFC9937 6.2-1.
    #[test]
    fn a_grant_stays_usable_until_the_next_delivery() {
        let mut prr = opened(Prr::default(), 10 * MSS, 20 * MSS, MSS);
        (0..6).for_each(|_| prr.on_ack(&progress(MSS, 18 * MSS, MSS)));
        prr.on_ack(&progress(0, 18 * MSS, MSS));
        assert_eq!(
            sends(&mut prr, 18 * MSS),
            3,
            "half of six deliveries, after an ACK that delivered nothing"
        );
    }

    /// T 8, window 5, pipe 5: five segments are found lost by a timer, and five may go.
    ///
    /// Shows RFC9937 6.2-held.
    #[test]
    fn what_a_timer_finds_lost_in_an_episode_may_be_repeated_at_once() {
        for name in ["9937", "Linux"] {
            let mut prr = opened(Prr::new(prr_params(name)), 8 * MSS, 12 * MSS, MSS);
            prr.on_ack(&progress(2 * MSS, 3 * MSS, MSS));
            assert_eq!(
                (prr.cwnd() / MSS, sends(&mut prr, 3 * MSS)),
                (5, 2),
                "{name}: two delivered, two sent, the pipe is 5"
            );
            prr.on_ack(&Progress { newly_lost: 5 * MSS, ..timer(0) });
            assert_eq!(
                (prr.cwnd() / MSS, sends(&mut prr, 0)),
                (5, 5),
                "{name}: the window stands, and the room below it is free"
            );
            assert_eq!(prr.bank(), -5 * MSS as i64, "{name}: later deliveries pay for it");
            prr.on_ack(&progress(MSS, 4 * MSS, MSS));
            assert_eq!(
                sends(&mut prr, 4 * MSS),
                1,
                "{name}: at or below the target what is delivered may be sent, whatever the account"
            );
        }
    }

    /// Shows RFC9937 6.2-held.
    #[test]
    fn above_the_target_the_line_takes_back_what_went_for_losses_found_by_a_timer() {
        let mut prr = opened(Prr::default(), 10 * MSS, 20 * MSS, MSS);
        prr.on_ack(&progress(2 * MSS, 18 * MSS, MSS));
        assert_eq!(sends(&mut prr, 18 * MSS), 1);
        prr.on_ack(&Progress { newly_lost: 3 * MSS, ..timer(16 * MSS) });
        assert_eq!(
            (prr.branch(), sends(&mut prr, 16 * MSS)),
            (Branch::Proportional, 3),
            "the window of 19 over a pipe of 16"
        );
        let sent: Vec<u64> = (0..8)
            .map(|_| {
                prr.on_ack(&progress(MSS, 17 * MSS, MSS));
                sends(&mut prr, 17 * MSS)
            })
            .collect();
        assert_eq!(
            sent,
            [0, 0, 0, 0, 0, 0, 1, 0],
            "four sent ahead are eight deliveries of the line; the ninth frees the fifth"
        );
    }

    /// Forged duplicates past the flight at entry empty the pipe, not the account.
    ///
    /// Shows RFC9937 6.2-held, RFC9937 6.2-cap.
    #[test]
    fn a_pipe_that_fell_without_losses_frees_nothing() {
        let capped = firstflight::with!(Params {
            evidence: Evidence::DuplicatesCapped,
            ..Params::rfc9937()
        });
        let mut prr = opened(Prr::new(capped), 8 * MSS, 12 * MSS, MSS);
        prr.on_ack(&progress(12 * MSS, 3 * MSS, MSS));
        sends(&mut prr, 3 * MSS);
        prr.on_ack(&progress(4 * MSS, MSS, MSS));
        assert_eq!(sends(&mut prr, MSS), 0, "duplicates beyond F");
        prr.on_ack(&Progress { newly_lost: MSS, ..timer(0) });
        assert_eq!(sends(&mut prr, 0), 1, "one found lost, one repeated");
    }

    /// Shows RFC6937 3-1, RFC9937 6.1-1, LINUX prr-f.
    #[test]
    fn the_flight_at_entry_follows_each_document() {
        let sacked = Entry {
            flight: 22,
            sacked: 3,
            delivered: 1,
            target: 10,
            cwnd: 21,
            mss: 1,
            ..entry(Cause::Ack)
        };
        let quic = Entry { flight: 19, sacked: 0, delivered: 1, ..sacked };
        for (name, tcp, packets) in [("CRB", 22, 19), ("9937", 20, 20), ("Linux", 21, 21)] {
            for (what, entry, f) in [("SACKed", sacked, tcp), ("packet numbers", quic, packets)] {
                let mut prr = Prr::new(prr_params(name));
                prr.enter(&entry);
                assert_eq!(prr.recover_fs(), f, "{name} with {what}");
            }
        }
        for evidence in [Evidence::Duplicates, Evidence::DuplicatesCapped] {
            let mut prr = Prr::new(firstflight::with!(Params { evidence, ..Params::rfc9937() }));
            prr.enter(&Entry { sacked: 0, ..sacked });
            assert_eq!(prr.recover_fs(), 22, "a duplicate ACK moved nothing out of the flight");
        }
        let mut empty = Prr::default();
        empty.enter(&Entry { flight: 0, delivered: 0, ..entry(Cause::Timer) });
        assert_eq!(empty.recover_fs(), 1, "never zero");
    }

    /// Shows RFC9937 6.2-5, LINUX prr-safe.
    #[test]
    fn safe_ack_needs_progress_no_loss_and_no_rescue() {
        let safe = Progress { advanced: true, ..progress(MSS, 5 * MSS, MSS) };
        let rows = [
            ("progress", safe, 2, 2),
            ("no progress", Progress { advanced: false, ..safe }, 1, 1),
            ("further loss", Progress { newly_lost: MSS, ..safe }, 1, 1),
            ("a rescue next", Progress { rescue_next: true, ..safe }, 1, 2),
        ];
        for (row, ack, rfc, linux) in rows {
            for (name, sent) in [("9937", rfc), ("Linux", linux)] {
                let mut prr = opened(Prr::new(prr_params(name)), 10 * MSS, 20 * MSS, MSS);
                prr.on_ack(&ack);
                assert_eq!(sends(&mut prr, 5 * MSS), sent, "{name}: {row}");
            }
        }
    }

    /// Shows LINUX prr-safe-2015.
    #[test]
    fn in_2015_an_ack_was_safe_that_acknowledged_a_repeat() {
        let repeat = Progress { advanced: true, repeat_acked: true, ..progress(MSS, 5 * MSS, MSS) };
        let rows = [
            ("a repeat acknowledged", repeat, 2),
            ("progress alone", Progress { repeat_acked: false, ..repeat }, 1),
            ("a repeat lost meanwhile", Progress { repeat_lost: true, ..repeat }, 1),
            ("an original lost meanwhile", Progress { newly_lost: MSS, ..repeat }, 2),
            ("a rescue next", Progress { rescue_next: true, ..repeat }, 2),
        ];
        let rules = [
            Rules::Rfc9937 { timer: TimerEntry::Forced, safe_ack: SafeAck::Repeat },
            Rules::Linux { safe_ack: SafeAck::Repeat },
        ];
        for (row, ack, expected) in rows {
            for rules in rules {
                let mut prr = opened(
                    Prr::new(firstflight::with!(Params { rules, ..Params::rfc9937() })),
                    10 * MSS,
                    20 * MSS,
                    MSS,
                );
                prr.on_ack(&ack);
                let sent = sends(&mut prr, 5 * MSS);
                assert_eq!(sent, expected, "{rules:?}, {row}: {expected} segments, not {sent}");
            }
        }
    }

    /// A kernel test of the CWR state expects no extra segment here; the rule as the kernel states
    /// it gives one. We keep the rule.
    /// Shows LINUX prr-safe.
    #[test]
    fn linux_after_marks_adds_the_extra_segment_like_anywhere() {
        let mut prr = Prr::new(Params::linux());
        prr.enter(&entry(Cause::Ecn));
        prr.on_ack(&Progress { advanced: true, ..progress(MSS, 5 * MSS, MSS) });
        assert_eq!(
            sends(&mut prr, 5 * MSS),
            2,
            "one delivered and one extra; the kernel's test expects 1"
        );
    }

    #[test]
    fn linux_counts_whole_segments_and_leaves_the_exact_target() {
        let mut prr = Prr::new(Params::linux());
        prr.enter(&Entry { target: 10_400, cwnd: 19_500, ..entry(Cause::Ack) });
        assert_eq!(prr.recover_fs(), 20 * MSS, "the window at entry, rounded up");
        prr.on_ack(&progress(MSS, 10_200, MSS));
        assert_eq!(prr.branch(), Branch::Proportional, "10 200 is above the target of 10 segments");
        assert_eq!(
            prr.end(End::Complete, 9 * MSS),
            10_400,
            "not a fraction below the threshold, which would be slow start"
        );
    }

    /// Shows OURS prr-whole.
    #[test]
    fn exact_rounding_waits_for_a_whole_segment_but_never_holds_the_first_repeat() {
        let mut prr = opened(
            Prr::new(firstflight::with!(Params { rounding: Rounding::Exact, ..Params::rfc9937() })),
            10 * MSS,
            20 * MSS,
            MSS,
        );
        let mut sent = Vec::new();
        for _ in 0..6 {
            prr.on_ack(&progress(MSS, 18 * MSS, MSS));
            sent.push(sends(&mut prr, 18 * MSS));
        }
        assert_eq!(
            sent,
            [1, 0, 0, 1, 0, 1],
            "line 500, 1000, ...; the first repeat is sent early and paid for"
        );
        prr.on_ack(&progress(MSS, 18 * MSS, MSS));
        assert!(prr.admits(500, 18 * MSS), "a segment cut to the 500 bytes that are due may go");
    }

    /// Shows RFC9937 6.4-1.
    #[test]
    fn the_exit_window_is_the_target_however_it_ends() {
        for how in [End::Complete, End::Replaced] {
            for name in ["CRB", "SSRB", "UB", "9937", "Linux"] {
                let mut prr = opened(Prr::new(prr_params(name)), 10 * MSS, 20 * MSS, MSS);
                prr.on_ack(&progress(MSS, 3 * MSS, MSS));
                assert_eq!(prr.end(how, 3 * MSS), 10 * MSS, "{name}, {how:?}");
                assert!(!prr.admits(MSS, 0), "{name}: the grant ends with the episode");
            }
        }
    }

    /// Shows RFC6937 3-exit.
    #[test]
    fn a_granted_exit_is_what_the_last_ack_allowed_and_never_above_the_target() {
        // At pipe 3 the bound grants one segment, two, or all; 18 is above the target.
        for (name, pipe, window) in [("CRB", 3, 4), ("SSRB", 3, 5), ("UB", 3, 10), ("CRB", 18, 10)]
        {
            let mut prr = opened(Prr::new(with_granted_exit(name)), 10 * MSS, 20 * MSS, MSS);
            prr.on_ack(&progress(MSS, pipe * MSS, MSS));
            assert_eq!(prr.end(End::Complete, pipe * MSS), window * MSS, "{name}, pipe {pipe}");
        }
    }

    #[test]
    fn a_new_episode_starts_from_nothing() {
        let mut fresh = opened(Prr::default(), 7 * MSS, 14 * MSS, MSS);
        let mut used = opened(Prr::default(), 10 * MSS, 20 * MSS, MSS);
        used.on_ack(&progress(5 * MSS, 18 * MSS, MSS));
        sends(&mut used, 18 * MSS);
        used.end(End::Replaced, 10 * MSS);
        used = opened(used, 7 * MSS, 14 * MSS, MSS);
        assert_eq!(used, fresh, "nothing of the episode before is left");
        fresh.on_ack(&progress(MSS, 10 * MSS, MSS));
        let mut signals = Vec::new();
        fresh.signals(&mut |name, value| signals.push((name, value)));
        assert_eq!(
            signals,
            [
                ("prr_delivered", 1_000),
                ("prr_out", 0),
                ("prr_recover_fs", 14_000),
                ("prr_quota", 500)
            ],
            "signals"
        );
    }
}

/// Shows RFC5681 4.3-1.
#[test]
fn a_lost_repeat_cuts_again_except_in_linux_and_rate_halving() {
    for (name, again) in [
        ("6675", true),
        ("CRB", true),
        ("SSRB", true),
        ("9937", true),
        ("Linux", false),
        ("RH", false),
    ] {
        assert_eq!(arm(name).restarts_on_lost_repeat(), again, "{name}");
    }
    let ignore = Prr::new(firstflight::with!(Params {
        lost_repeat: LostRepeat::Ignore,
        ..prr_params("SSRB")
    }));
    assert!(!ignore.restarts_on_lost_repeat(), "the arms of 2011 do not");
}

/// Shows LINUX prr-threshold.
#[test]
fn only_linux_goes_on_towards_a_threshold_that_comes_down() {
    for (text, window) in [("prr(mode=linux)", 10), ("prr", 20), ("sack", 20), ("immediate", 20)] {
        let arm = firstflight::arm::Arm::parse(&format!("slowstart/reno/{text}")).expect("an arm");
        let (_, mut policy) = arm.after_startup();
        policy.enter(&Entry {
            cause: Cause::Ack,
            target: 20 * 1000,
            flight: 40 * 1000,
            sacked: 1000,
            delivered: 1000,
            cwnd: 40 * 1000,
            reduced: 20 * 1000,
            mss: 1000,
        });
        policy.retarget(10 * 1000, 1000);
        assert_eq!(policy.end(End::Complete, 5 * 1000), window * 1000, "{text}");
    }
}
