//! Advice of the network (SCONE) in whole transfers: honest, above and below the path, stale, and
//! behind a policer. `--nocapture` prints the table of each case.

use crate::rig::{Trial, path};
use firstflight::ExitReason;
use firstflight_sim::{Outcome, Stop};

const STARTUPS: [&str; 3] = ["slowstart", "hystart++", "rapid"];
const PATH: &str = "rate=20Mbit,rtt=40ms,queue=0.5bdp";

/// Completion time in ms, packets lost of 10 000 sent, and the queueing delay at the 99th
/// percentile in us.
type Row = [u64; 3];

fn trial(on: &str, arm: &str, object: u64) -> (Row, Outcome) {
    let outcome = Trial::new(path(on), arm, object).run();
    assert_eq!(outcome.stop, Stop::Complete, "{arm} on {on}");
    let ms = outcome.delivered_after.expect("it is complete").0 / 1_000_000;
    let (lost, sent) = (outcome.counters.packets_dropped, outcome.counters.packets_sent);
    let row = [ms, 10_000 * lost / sent, outcome.queue_us.value_at_quantile(0.99)];
    println!("{:>6} ms {:>5} of 10 000 lost, p99 {:>6} us  {arm} on {on}", row[0], row[1], row[2]);
    (row, outcome)
}

/// The rows of a startup without advice, with `exit` and with `cap`.
fn rows(on: &str, startup: &str, hint: &str, object: u64) -> [Row; 3] {
    let with = |advice| format!("{startup}@(hint=scone:{hint},advice={advice})");
    [startup.to_owned(), with("exit"), with("cap")].map(|arm| trial(on, &arm, object).0)
}

#[test]
fn honest_advice_ends_startup_at_the_bdp_with_less_loss_and_a_shorter_queue() {
    for startup in STARTUPS {
        let [none, exit, cap] = rows(PATH, startup, "20Mbit", 3_000_000);
        assert!(exit[1] <= none[1] && cap[1] <= none[1], "{startup} loses more: {none:?} {exit:?}");
        assert!(cap[2] <= none[2], "{startup} queues for longer: {none:?} {cap:?}");
        let arm = format!("{startup}@(hint=scone:20Mbit,advice=exit)");
        let exit = trial(PATH, &arm, 3_000_000).1.exit.expect("startup ends");
        assert!(
            exit.reason == ExitReason::Advice && exit.cwnd.abs_diff(100_000) < 4_000,
            "{startup} leaves at the BDP of 100 kB: {exit:?}"
        );
    }
}

#[test]
fn advice_above_the_path_harms_nothing() {
    for startup in STARTUPS {
        let [none, exit, cap] = rows(PATH, startup, "40Mbit", 3_000_000);
        for with in [exit, cap] {
            assert!(with[1] <= none[1] + 50, "{startup} loses {with:?}, without advice {none:?}");
            assert!(20 * with[0] <= 21 * none[0], "{startup} takes {with:?}, before {none:?}");
        }
    }
}

#[test]
fn advice_below_the_path_is_kept_by_a_cap_and_overcome_by_avoidance() {
    for startup in STARTUPS {
        let [none, exit, cap] = rows(PATH, startup, "10Mbit", 3_000_000);
        let at_10_mbit = 2_400;
        assert!(cap[0] >= at_10_mbit, "{startup}: 3 MB at 10 Mbit/s take 2.4 s, not {cap:?}");
        assert!(exit[0] < cap[0], "{startup}: avoidance finds what the advice does not know");
        assert!(exit[0] >= none[0], "{startup}: and is slower than startup: {exit:?} {none:?}");
        assert_eq!(cap[1], 0, "{startup}: half of the rate of the path loses nothing");
    }
}

#[test]
fn stale_advice_holds_a_sender_until_it_expires() {
    for startup in STARTUPS {
        let arm = |age: &str| format!("{startup}@(hint=scone:5Mbit{age},advice=cap)");
        let [new, old, expired] =
            ["", ":60s", ":68s"].map(|age| trial(PATH, &arm(age), 20_000_000).0);
        let none = trial(PATH, startup, 20_000_000).0;
        assert!(new[0] >= 32_000, "{startup}: 20 MB at 5 Mbit/s take 32 s, not {new:?}");
        assert!(
            (13_000..20_000).contains(&old[0]),
            "{startup}: 7 s at 5 Mbit/s carry a fifth, the rest goes at 20 Mbit/s: {old:?}"
        );
        assert_eq!(expired, none, "{startup}: expired advice is none");
    }
}

#[test]
fn advice_of_a_policer_avoids_its_drops() {
    let on = "rate=100Mbit,rtt=40ms,queue=1bdp,policer=20Mbit:50ms";
    for startup in STARTUPS {
        let [none, _, cap] = rows(on, startup, "19Mbit", 5_000_000);
        assert!(none[1] > 100, "{startup} without advice overruns the policer: {none:?}");
        assert!(cap[1] == 0, "{startup} below the policer's rate loses nothing: {cap:?}");
    }
}
