//! Learned senders: what an agent decides from outside and what a policy decides as an arm.

use firstflight::Nanos;
use firstflight_lab::learn::{Course, FEATURES, Fleet, ONE, Policy, Prices, Settings, View};
use firstflight_lab::{Population, Scenario, parse_arms};
use firstflight_path::random::mix;

const SEED: u64 = 20_261_127;
const TIME_ONLY: Prices = Prices { time: 1.0, loss: 0.0, queue: 0.0 };

fn fleet(course: Course, places: usize, prices: Prices) -> Fleet {
    let population = Population::parse("cdn").expect("a population");
    let limit = Nanos::from_secs(60);
    let settings = Settings { population, course, iw: 10, limit, prices };
    let mut fleet = Fleet::new(settings, places, SEED).expect("a fleet");
    fleet.reset(|_| true).expect("connections");
    fleet
}

/// Steps a fleet until every connection has ended; returns the last view of each and the sum of its
/// rewards.
fn finish(fleet: &mut Fleet, decide: impl Fn(&View) -> Vec<f32>) -> Vec<(View, f64)> {
    let mut sums = vec![0.0; fleet.len()];
    for _ in 0..1_000_000 {
        if fleet.views().all(|view| view.terminated || view.truncated) {
            return fleet.views().copied().zip(sums).collect();
        }
        let actions: Vec<f32> = fleet.views().flat_map(&decide).collect();
        fleet.step(&actions);
        for (sum, view) in sums.iter_mut().zip(fleet.views()) {
            *sum += view.reward;
        }
    }
    panic!("a connection has no end");
}

/// Completion time (ms), packets sent and lost of the arm on the connection of a view.
fn as_arm(arm: &str, view: &View) -> (f64, f64, f64) {
    let population = Population::parse("cdn").expect("a population");
    let index = view.account.connection as u64;
    let drawn = population.draw(SEED, index);
    let path = population.path(&drawn).expect("a path");
    let limit = Nanos::from_secs(60);
    let scenario = Scenario { path_index: index, limit, ..Scenario::new(path, drawn.bytes) };
    let arm = parse_arms(arm).expect(arm).remove(0);
    let outcome = scenario.simulate(&arm, SEED, None).expect("runs");
    let ttlb = outcome.delivered_after.map_or(f64::NAN, |time| time.0 as f64 / 1e6);
    (ttlb, outcome.counters.packets_sent as f64, outcome.counters.packets_lost as f64)
}

fn ended(view: &View) -> (f64, f64, f64) {
    (view.account.ttlb_ms, view.account.packets_sent, view.account.packets_lost)
}

#[test]
fn an_agent_that_always_doubles_is_slow_start_to_the_nanosecond() {
    for step in ["ack", "rtt", "20ms"] {
        let course = Course::parse("startup", "growth", step).expect(step);
        let ends = finish(&mut fleet(course, 40, TIME_ONLY), |_| vec![0.5]);
        for (view, _) in &ends {
            let connection = view.account.connection;
            assert_eq!(
                ended(view),
                as_arm("slowstart", view),
                "step {step}, connection {connection}"
            );
        }
        assert!(ends.iter().any(|(view, _)| view.account.packets_lost > 0.0), "no loss in any");
    }
}

/// A policy of this course with weights from a seed.
fn policy(course: [&str; 3], seed: u64) -> String {
    let values = Course::parse(course[0], course[1], course[2]).expect("a course").values();
    let number =
        |k: u64, most: i64| (mix(seed.wrapping_add(k)) % (2 * most as u64 + 1)) as i64 - most;
    let layer = |rows: usize, inputs: usize, base: u64| {
        let weights: Vec<Vec<i64>> = (0..rows)
            .map(|row| (0..inputs).map(|k| number(base + (row * 64 + k) as u64, 40)).collect())
            .collect();
        let bias: Vec<i64> =
            (0..rows).map(|row| number(base + 9_000 + row as u64, 5_000)).collect();
        format!(r#"{{"weights":{weights:?},"bias":{bias:?},"shift":6}}"#)
    };
    let [acts, control, step] = course;
    format!(
        r#"{{"firstflight_policy":1,"acts":"{acts}","control":"{control}","step":"{step}","layers":[{},{}]}}"#,
        layer(8, FEATURES, 0),
        layer(values, 8, 20_000)
    )
}

#[test]
fn a_policy_decides_as_an_arm_as_it_did_in_training() {
    let (mut compared, mut distinct) = (0, 0);
    for acts in ["startup", "sender"] {
        for control in ["growth", "window", "rate"] {
            for step in ["ack", "rtt", "7ms"] {
                let text = policy([acts, control, step], 7 + compared);
                let file = tempfile::NamedTempFile::new().expect("a file");
                std::fs::write(file.path(), &text).expect("written");
                let policy = Policy::parse(&text).expect("a policy");
                let decide = |view: &View| {
                    let action = policy.decide(&view.seen);
                    let leave = if action.leave { 1.0 } else { -1.0 };
                    let value = action.value as f32 / ONE as f32;
                    if policy.course.values() == 2 { vec![value, leave] } else { vec![value] }
                };
                let arm = format!("learned({})", file.path().display());
                for (view, _) in finish(&mut fleet(policy.course, 6, TIME_ONLY), decide) {
                    let (outside, alone) = (ended(&view), as_arm(&arm, &view));
                    // Compared as text: a time that is not a number equals itself.
                    assert_eq!(format!("{outside:?}"), format!("{alone:?}"), "{text} on {view:?}");
                    compared += 1;
                    distinct += u64::from(outside != as_arm("slowstart", &view));
                }
            }
        }
    }
    assert!(distinct * 2 > compared, "{distinct} of {compared} connections differ from slow start");
}

#[test]
fn a_place_is_independent_of_the_others() {
    let course = Course::parse("startup", "growth", "rtt").expect("a course");
    let double = |view: &View| vec![if view.seen[10] < 3 * ONE { 0.9 } else { -0.2 }];
    let together = finish(&mut fleet(course, 12, TIME_ONLY), double);
    for (view, sum) in together {
        let mut alone = fleet(course, 1, TIME_ONLY);
        alone.choose(&[view.account.connection as u64]);
        alone.reset(|_| true).expect("a connection");
        let [(one, other)] = finish(&mut alone, double)[..] else { panic!("one place") };
        assert_eq!((one.seen, one.account, other), (view.seen, view.account, sum));
    }
}

#[test]
fn rewards_add_up_to_the_costs() {
    let course = Course::parse("startup", "growth", "rtt").expect("a course");
    for (prices, name) in [
        (TIME_ONLY, "time"),
        (Prices { time: 0.0, loss: 1.0, queue: 0.0 }, "loss"),
        (Prices { time: 0.0, loss: 0.0, queue: 1.0 }, "queue"),
    ] {
        for (view, sum) in finish(&mut fleet(course, 20, prices), |_| vec![1.0]) {
            let of = view.account;
            let cost = match name {
                "time" => of.ttlb_ms / of.ideal_ms,
                "loss" => of.packets_lost / (of.object_bytes / 1_436.0).ceil(),
                _ => of.queue_p99_ms / of.ideal_ms,
            };
            assert!((sum + cost).abs() < 1e-9 * (1.0 + cost), "{name}: {sum} for a cost of {cost}");
        }
    }
}

#[test]
fn a_connection_that_the_limit_ends_is_truncated() {
    let course = Course::parse("sender", "window", "rtt").expect("a course");
    let population = Population::parse("cdn").expect("a population");
    let limit = Nanos::from_millis(400);
    let settings = Settings { population, course, iw: 10, limit, prices: TIME_ONLY };
    let mut fleet = Fleet::new(settings, 60, SEED).expect("a fleet");
    fleet.reset(|_| true).expect("connections");
    let ends = finish(&mut fleet, |_| vec![0.0]);
    let truncated = ends.iter().filter(|(view, _)| view.truncated).count();
    assert!(truncated > 0 && truncated < ends.len(), "{truncated} of {} are truncated", ends.len());
    for (view, _) in &ends {
        assert_ne!(view.truncated, view.terminated);
        assert_eq!(view.truncated, view.account.ttlb_ms.is_nan(), "{view:?}");
    }
}

#[test]
fn an_arm_names_the_sum_of_its_policy() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), policy(["startup", "growth", "rtt"], 1)).expect("written");
    let name = file.path().display();
    let arm = parse_arms(&format!("learned({name})/reno@(iw=30)")).expect("an arm").remove(0);
    let full = arm.full();
    let again = parse_arms(&full).expect("the full name is an arm").remove(0);
    assert_eq!(again.full(), full);
    std::fs::write(file.path(), policy(["startup", "growth", "rtt"], 2)).expect("written");
    let error = parse_arms(&full).expect_err("another policy").to_string();
    assert!(error.ends_with("the file has changed"), "{error}");
}

#[test]
fn a_setting_out_of_range_is_refused() {
    let population = Population::parse("cdn").expect("a population");
    let course = Course::parse("startup", "growth", "10s").expect("a course");
    let prices = Prices { time: f64::NAN, ..TIME_ONLY };
    let settings = Settings { population, course, iw: 10, limit: Nanos::from_secs(60), prices };
    let refused = |settings: &Settings, places| {
        Fleet::new(settings.clone(), places, 1).map(|_| ()).expect_err("refused").to_string()
    };
    assert!(refused(&settings, 1).contains("a price is a finite number"));
    let settings = Settings { prices: TIME_ONLY, ..settings };
    assert!(refused(&settings, 0).contains("0 connections side by side; allowed: 1 to"));
    let settings = Settings { iw: 0, ..settings };
    assert!(refused(&settings, 1).contains("iw 0: allowed: 1 to 1000 packets"));
}
