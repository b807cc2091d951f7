//! Vectors of the recovery policies: the two figures of RFC 6937, longer episodes derived from
//! them, stretch ACKs, and single calls. Rows look like the tables they come from.

use crate::recovery_harness as harness;

use firstflight::recovery::prr::{Branch, Reading, Rules};
use firstflight::recovery::{Prr, Recovery};
use harness::{
    Next, PRR, Run, Scenario, Scoreboard, arm, at, opened, progress, prr_params, run,
    with_granted_exit,
};

/// Columns are compared without regard to the width of the gaps; a `...` at the end of the expected
/// row stops the comparison.
fn same(expected: &str, found: &str, what: &str) {
    let expected: Vec<&str> = expected.split_whitespace().collect();
    let found: Vec<&str> = found.split_whitespace().collect();
    let (expected, found) = match expected.split_last() {
        Some((&"...", head)) => (head, &found[..head.len().min(found.len())]),
        _ => (&expected[..], &found[..]),
    };
    assert_eq!(expected.join(" "), found.join(" "), "{what}");
}

fn check(name: &str, scenario: &Scenario, sent: &str, exit_pipe: usize) -> Run {
    let outcome = run(arm(name).as_mut(), scenario);
    same(sent, &outcome.sent(), &format!("segments sent by {name} in {scenario:?}"));
    assert_eq!(outcome.exit_pipe(), exit_pipe, "pipe at the end of {name} in {scenario:?}");
    outcome
}

/// The first `columns` ACKs, as the figures of RFC 6937 show them.
fn figure(name: &str, scenario: &Scenario, columns: usize) -> (String, String, String) {
    let mut outcome = run(arm(name).as_mut(), scenario);
    outcome.steps.truncate(columns);
    (outcome.cwnds(scenario.mss), outcome.pipes(), outcome.sent())
}

mod figures_of_rfc_6937 {
    use super::*;

    /// Shows RFC6675 5-4.2, LINUX halving-slope, LINUX halving-admit.
    #[test]
    fn figure_1_one_loss_is_repaired_by_eleven_segments_each() {
        let scenario = Scenario::new(20, 11, [0]).f(22);
        #[rustfmt::skip]
        let rows = [
            ("6675", "20 20 11 11 11 11 11 11 11 11 11 11 11 11 11 11 11 11 11",
                     "19 19 18 18 17 16 15 14 13 12 11 10 10 10 10 10 10 10 10",
                     " N  N  R  .  .  .  .  .  .  .  .  N  N  N  N  N  N  N  N"),
            ("RH",   "20 20 19 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 11",
                     "19 19 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 11 10",
                     " N  N  R  .  N  .  N  .  N  .  N  .  N  .  N  .  N  .  N"),
        ];
        for (name, cwnd, pipe, sent) in rows {
            let found = figure(name, &scenario, 19);
            same(cwnd, &found.0, name);
            same(pipe, &found.1, name);
            same(sent, &found.2, name);
        }
        for name in ["CRB", "SSRB", "UB"] {
            let found = figure(name, &scenario, 19);
            same("19 19 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 10 10", &found.1, name);
            // ACK 17 finds the pipe equal to the target: that belongs to the bound, which grants
            // nothing there.
            same(" N  N  R  .  N  .  N  .  N  .  N  .  N  .  N  .  .  N  N", &found.2, name);
        }
    }

    /// Shows LINUX halving-clamp, RFC6937 3-3.
    #[test]
    fn figure_2_fifteen_losses_show_the_bounds() {
        let scenario = Scenario::new(20, 11, 0..=14).f(22);
        #[rustfmt::skip]
        let rows = [
            ("6675", "20 20 11 11 11", "19 19 4 10 10", "N N 7R R  R"),
            ("UB",   "20 20 11 11 11", "19 19 4 10 10", "N N 7R R  R"),
            ("RH",   "20 20  5  5  5", "19 19 4  4  4", "N N  R R  R"),
            ("CRB",  "20 20  5  5  5", "19 19 4  4  4", "N N  R R  R"),
            ("SSRB", "20 20  6  7  8", "19 19 4  5  6", "N N 2R 2R 2R"),
        ];
        for (name, cwnd, pipe, sent) in rows {
            let found = figure(name, &scenario, 5);
            same(cwnd, &found.0, name);
            same(pipe, &found.1, name);
            same(sent, &found.2, name);
        }
    }
}

mod episodes {
    use super::*;

    const LIGHT: &str = "19 19 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 11 10 9 9";

    /// Shows RFC6675 5-4.2, RFC9937 6.2-2.
    #[test]
    fn one_loss() {
        let scenario = Scenario::new(20, 10, [0]).f(20);
        let standard = check("6675", &scenario, "N N R . . . . . . . . . N N N N N N N N N", 9);
        same(
            "19 19 18 18 17 16 15 14 13 12 11 10 9 9 9 9 9 9 9 9 9",
            &standard.pipes(),
            "pipe of 6675",
        );
        for name in PRR {
            let prr = check(name, &scenario, "N N R . N . N . N . N . N . N . N . . N N", 9);
            same(LIGHT, &prr.pipes(), name);
        }
        let halving = check("RH", &scenario, "N N R . N . N . N . N . N . N . N . N . N", 9);
        assert_eq!(
            halving.exit,
            Some((9, 10)),
            "rate halving leaves with pipe 9 and a window of 10"
        );
    }

    /// Shows RFC6937 3-1.
    #[test]
    fn the_flight_at_entry_sets_the_slope() {
        for name in ["CRB", "SSRB", "UB"] {
            check(
                name,
                &Scenario::new(20, 10, [0]),
                "N N R . N . N . N . N . . N . N . . N N N",
                9,
            );
        }
        check("9937", &Scenario::new(20, 10, [0]), "N N R . N . N . N . N . N . N . N . . N N", 9);
        check(
            "9937",
            &Scenario::new(20, 11, [0]).f(20),
            "N N R N . N . N . N . N N . N . N . . N N",
            10,
        );
    }

    /// Shows RFC9937 6.2-2.
    #[test]
    fn the_target_sets_the_slope() {
        let scenario = Scenario::new(20, 14, [0]).f(20);
        for name in PRR {
            check(name, &scenario, "N N R N N . N N . N N . N N N . . N N N N", 13);
        }
        check("6675", &scenario, "N N R . . . . . N N N N N N N N N N N N N", 13);
    }

    /// Shows RFC6675 5-C, RFC6937 3-exit, RFC9937 6.2-3.
    #[test]
    fn fifteen_losses() {
        let scenario = Scenario::new(20, 10, 0..=14).f(20);
        for name in ["6675", "UB"] {
            let outcome = check(name, &scenario, "N N 6R R R R R R R R R R N N N N N N N N N", 9);
            same(
                "15 16 17 18 19 20 21 0 1 2 3 4 5 6 7 8 9 10 11 12 13",
                &outcome.triggers(),
                "the completing ACK, 14, is not shown",
            );
        }
        check("SSRB", &scenario, "N N 2R 2R 2R 2R 2R R R R R R N N N N N N N N N", 9);
        for name in ["9937", "Linux"] {
            check(name, &scenario, "N N R R R R R 2R 2R 2R 2R 2R N N N N N N N N N", 9);
        }
        for name in ["CRB", "RH"] {
            let outcome = check(name, &scenario, "N N R R R R R R R R R R R R R R R N N N N", 4);
            assert_eq!(
                outcome.exit,
                Some((4, if name == "RH" { 5 } else { 10 })),
                "window left by {name}"
            );
        }
        // Conservation leaves the window where rate halving does, unless the exit sets the target.
        let granted = Prr::new(with_granted_exit("CRB"));
        assert_eq!(run(&mut { granted }, &scenario).exit, Some((4, 5)));
    }

    #[test]
    fn eight_losses_leave_the_bound_no_choice() {
        for name in PRR {
            check(
                name,
                &Scenario::new(20, 10, 0..=7).f(20),
                "N N R . . R R R R R R R N N N N N N N N N",
                9,
            );
        }
    }

    #[test]
    fn scattered_losses_are_repaired_before_new_data() {
        let outcome = check(
            "9937",
            &Scenario::new(20, 14, [0, 4, 9, 14]).f(20),
            "N N R N N . R N . . R N N RN N N N N N N N N N N N N",
            13,
        );
        same(
            "1 2 3 5 6 7 8 10 11 12 13 15 16 17 18 19 20 21 0 22 23 4 24 9 25 26",
            &outcome.triggers(),
            "ACKs before the completing 14",
        );
    }

    #[test]
    fn a_stall_of_the_application_is_banked() {
        let scenario = Scenario::new(20, 10, [0]).f(20).stall(5..=8);
        check("6675", &scenario, "N N R . . . . . . . . . N N N N N N N N N", 9);
        check("RH", &scenario, "N N R . . . . . N . N . N . N . N N N N N", 9);
        for name in PRR {
            check(name, &scenario, "N N R . . . . . 3N . N . N . N . N . . N N", 9);
        }
    }

    #[test]
    fn a_stall_until_the_bound_is_refilled_up_to_the_target() {
        let scenario = Scenario::new(20, 10, [0]).f(20).stall(5..=15);
        for name in ["6675"].into_iter().chain(PRR) {
            let outcome = run(arm(name).as_mut(), &scenario);
            let sixteenth = outcome.steps.iter().find(|s| s.trigger == 16).expect("ACK 16");
            assert_eq!(
                (sixteenth.pipe, sixteenth.notation().as_str()),
                (6, "4N"),
                "{name} on ACK 16"
            );
            assert_eq!(outcome.exit.map(|e| e.1), Some(10), "window left by {name}");
        }
        let halving = run(arm("RH").as_mut(), &scenario);
        assert!(
            halving.open().all(|s| s.sent.len() <= 1),
            "rate halving sends one segment per ACK: {}",
            halving.sent()
        );
        assert_eq!(halving.exit, Some((6, 7)), "rate halving has lost what it could not send");
    }

    /// Shows LINUX prr-f.
    #[test]
    fn linux_mode_of_a_flight_of_ten() {
        let outcome = run(arm("Linux").as_mut(), &Scenario::new(10, 7, [0]).no_early_data());
        same(". . R N N N N N N", &outcome.sent(), "segments sent");
        same("10 10 7 7 7 7 7 7 7", &outcome.cwnds(1), "window");
        same("9 8 6 6 6 6 6 6 6", &outcome.pipes(), "pipe");
    }

    /// Shows OURS prr-whole.
    #[test]
    fn whole_segments_make_bytes_behave_as_segments() {
        for mss in [1_000, 1_448] {
            for name in ["6675", "RH"].into_iter().chain(PRR) {
                for (target, lost) in [(10, 0..=0), (14, 0..=0), (10, 0..=14), (10, 0..=7)] {
                    let segments = Scenario::new(20, target, lost);
                    let bytes = segments.clone().mss(mss);
                    let (one, many) =
                        (run(arm(name).as_mut(), &segments), run(arm(name).as_mut(), &bytes));
                    assert_eq!(
                        one.sent(),
                        many.sent(),
                        "{name} with T = {target} at {mss} bytes per segment"
                    );
                }
            }
        }
    }
}

mod stretch_acks {
    use super::*;

    fn row(
        name: &str,
        flight: usize,
        target: u64,
        lost: std::ops::Range<usize>,
    ) -> [Vec<usize>; 3] {
        let runs = [1, 2, 4, 8].map(|k| {
            run(arm(name).as_mut(), &Scenario::new(flight, target, lost.clone()).stretch(k))
        });
        [
            runs.iter().map(Run::total).collect(),
            runs.iter().map(Run::burst).collect(),
            runs.iter().map(Run::exit_pipe).collect(),
        ]
    }

    #[test]
    fn light_loss() {
        for (name, burst) in [
            ("CRB", [1, 2, 2, 4]),
            ("SSRB", [1, 2, 2, 4]),
            ("UB", [1, 2, 2, 4]),
            ("9937", [1, 2, 2, 4]),
            ("6675", [1, 2, 4, 6]),
        ] {
            assert_eq!(
                row(name, 20, 10, 0..1),
                [vec![12, 11, 7, 7], burst.to_vec(), vec![9, 8, 6, 2]],
                "{name}: sent, burst, exit pipe"
            );
        }
    }

    #[test]
    fn heavy_loss() {
        let rows = [
            ("SSRB", [46, 45, 41, 36], [2, 3, 5, 9], [19, 18, 16, 11]),
            ("9937", [46, 45, 41, 35], [2, 3, 5, 9], [19, 18, 16, 10]),
            ("CRB", [41, 39, 36, 32], [1, 2, 4, 8], [14, 12, 11, 7]),
            ("6675", [46, 45, 41, 37], [6, 8, 9, 13], [19, 18, 16, 12]),
        ];
        for (name, total, burst, pipe) in rows {
            assert_eq!(
                row(name, 40, 20, 0..25),
                [total.to_vec(), burst.to_vec(), pipe.to_vec()],
                "{name}: sent, burst, exit pipe"
            );
        }
    }
}

mod single_calls {
    use super::*;

    const MSS: u64 = 1_000;
    const ANY: u64 = 20_000;

    fn sends(prr: &mut Prr, pipe: u64) -> u64 {
        let (mut sent, mut pipe) = (0, pipe);
        while prr.admits(MSS, pipe) {
            prr.on_sent(MSS);
            pipe += MSS;
            sent += MSS;
        }
        sent
    }

    /// Shows RFC6937 3-2.
    #[test]
    fn above_the_target_the_line_is_rounded_up_and_one_segment_goes() {
        for name in ["CRB", "SSRB", "UB", "9937"] {
            let mut prr = at(name, 10_000, 20_000, (1_000, 0), 1_000, 18_000, false);
            assert_eq!(
                (prr.branch(), prr.quota()),
                (Branch::Proportional, 500),
                "{name}: line 500, quota 500"
            );
            assert_eq!(sends(&mut prr, 18_000), 1_000, "{name}: one whole segment goes");
            prr.on_ack(&progress(1_000, 18_000, MSS));
            assert_eq!(
                (prr.delivered(), prr.quota(), sends(&mut prr, 18_000)),
                (2_000, 0, 0),
                "{name}: the excess is taken back"
            );
            prr.on_ack(&progress(1_000, 18_000, MSS));
            assert_eq!(
                (prr.delivered(), prr.quota(), sends(&mut prr, 18_000)),
                (3_000, 500, 1_000),
                "{name}: and the next one goes"
            );
        }
    }

    /// Shows RFC6937 3-4.
    #[test]
    fn a_pipe_at_the_target_belongs_to_the_bound() {
        for name in PRR {
            let prr = at(name, 10_000, 20_000, (9_000, 5_000), 1_000, 10_000, true);
            assert_eq!((prr.branch(), prr.quota()), (Branch::Bound, 0), "{name} at pipe == T");
            let above = at(name, 10_000, 20_000, (9_000, 1_000), 1_000, 10_001, true);
            assert_eq!(
                (above.branch(), above.quota()),
                (Branch::Proportional, 3_500),
                "{name} one byte above T"
            );
        }
    }

    /// Shows RFC6937 3-3, RFC9937 6.2-3.
    #[test]
    fn below_the_target_the_bounds_differ() {
        let rows = [
            ("CRB", false, -2_000),
            ("SSRB", false, 2_000),
            ("UB", false, 3_000),
            ("9937", false, 1_000),
            ("9937", true, 2_000),
            ("Linux", true, 2_000),
        ];
        for (name, safe, quota) in rows {
            let mut prr = at(name, 10_000, ANY, (3_000, 5_000), 1_000, 7_000, safe);
            assert_eq!(
                (prr.bank(), prr.quota()),
                (-2_000, quota),
                "{name}: bank and quota, SafeACK {safe}"
            );
            assert_eq!(
                prr.cwnd(),
                7_000 + quota.max(0) as u64,
                "{name}: the window shown is the pipe and what is due"
            );
            assert_eq!(sends(&mut prr, 7_000) as i64, quota.max(0), "{name}: bytes sent");
        }
    }

    /// Shows RFC9937 6.2-4.
    #[test]
    fn the_first_repeat_is_forced() {
        for name in ["9937", "Linux", "CRB"] {
            let mut prr = at(name, 10_000, ANY, (1_000, 0), 1_000, 10_000, false);
            assert_eq!(
                (prr.branch(), prr.quota(), prr.cwnd()),
                (Branch::Forced, 1_000, 11_000),
                "{name}: the one allowed excess"
            );
            assert_eq!(sends(&mut prr, 10_000), 1_000, "{name}: exactly one segment");
        }
        let mut params = prr_params("CRB");
        if let Rules::Rfc6937 { reading, .. } = &mut params.rules {
            *reading = Reading::Literal;
        }
        let mut literal = opened(Prr::new(params), 10_000, ANY, MSS);
        literal.on_ack(&progress(1_000, 10_000, MSS));
        assert_eq!(sends(&mut literal, 10_000), 0, "RFC 6937 to the letter forces nothing");
    }

    /// Shows RFC9937 6.2-4.
    #[test]
    fn less_than_a_segment_does_not_hold_the_first_repeat_back() {
        let mut line = at("9937", 10_000, 20_000_000, (1, 0), 1, 18_000, false);
        assert_eq!(
            (line.branch(), line.quota(), line.cwnd()),
            (Branch::Proportional, 1, 18_001),
            "one byte is due, which is not nothing"
        );
        assert_eq!(sends(&mut line, 18_000), 1_000, "a whole segment goes");
        let mut bound = at("9937", 10_000, ANY, (1, 0), 1, 9_500, false);
        assert_eq!(
            (bound.branch(), sends(&mut bound, 9_500)),
            (Branch::Forced, 1_000),
            "the bound would grant one byte; a segment goes"
        );
    }

    #[test]
    fn products_of_two_windows_do_not_overflow() {
        let big = 1 << 32;
        let prr = at("9937", big, big, (big, 0), big, big + 1, false);
        assert_eq!(prr.quota(), i64::try_from(big).unwrap(), "del = T = F = 2^32, nothing sent");
    }
}

mod delivered_data {
    use super::*;

    /// Shows RFC9937 6.2-cap.
    #[test]
    fn forged_duplicates_gain_nothing_past_the_flight_at_entry() {
        use firstflight::recovery::prr::Evidence;
        for (evidence, sixth) in [(Evidence::DuplicatesCapped, 5), (Evidence::Duplicates, 6)] {
            let mut params = prr_params("9937");
            params.evidence = evidence;
            let mut prr = opened(Prr::new(params), 3, 5, 1);
            for _ in 0..6 {
                prr.on_ack(&progress(1, 4, 1));
            }
            assert_eq!(prr.delivered(), sixth, "F 5, del 5, another duplicate ({evidence:?})");
        }
    }

    #[test]
    fn pipe_counts_a_repeat_of_an_unlost_segment_twice() {
        let mut board = Scoreboard::with_flight(10);
        assert_eq!(board.receive(0, [1, 5, 6]), 3, "three segments SACKed");
        board.mark();
        assert_eq!(
            board.next_seg(false, false),
            Some(Next::Repeat(0)),
            "0 has three SACKed segments above it"
        );
        board.send(Next::Repeat(0));
        assert_eq!(board.pipe(), 7, "six not lost, and the repeat of 0");
        assert_eq!(
            board.next_seg(false, false),
            Some(Next::Repeat(2)),
            "rule 3, since there is no new data"
        );
        board.send(Next::Repeat(2));
        assert_eq!((board.high_rxt, board.pipe()), (3, 8), "2 is now counted twice");
    }
}
