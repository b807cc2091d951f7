//! Random and deterministic scenarios, and how a comparison handles each.

use firstflight_lab::repeat::{Stages, Stopped};
use firstflight_lab::table::{cell_words, table};
use firstflight_lab::{Comparison, Plan, Scenario, parse_arms};
use firstflight_path::Path;

fn plan(arms: &str, path: &str, bytes: u64) -> Plan {
    let path = Path::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Plan::new(parse_arms(arms).expect("arms"), Scenario::new(path, bytes))
}

fn run(plan: &Plan) -> Comparison {
    plan.run(firstflight_lab::compare::Keep::Rows, &|| ()).expect("it runs")
}

/// A path drawn by a seed, without the half millisecond of repeats.
fn outcome(path: &str, seed: u64) -> String {
    let plan = Plan { seed, ..plan("slowstart", path, 3_000_000) };
    let comparison = run(&plan);
    let row = &comparison.rows[0];
    format!("{:?} {:?} {:?} {:?}", row.ttlb_ms, row.acked_ms, row.packets_sent, row.queue_ms)
}

/// Every key of a path that can draw, with a value that does and one that does not.
const KEYS: [(&str, bool); 42] = [
    ("queue=0.5bdp", false),
    ("loss=1%", true),
    ("loss=0%", false),
    ("up_loss=5%", true),
    ("steps=100ms:5Mbit", false),
    ("wander=0.3:200ms", true),
    ("up=1Mbit", false),
    ("up=poisson:1Mbit", true),
    ("policer=10Mbit:30ms", false),
    ("codel", false),
    ("pie", true),
    ("red", true),
    ("ared", true),
    ("dualpi2", true),
    ("ecn=10ms", false),
    ("codel,ecn", false),
    ("ecn=ce:2%", true),
    ("ge=1%:5:50%", true),
    ("ge=0%:5:50%", false),
    ("loss_every=100", false),
    ("jitter=3ms", true),
    ("jitter=3ms-3ms", false),
    ("jitter=normal:3ms:1ms", true),
    ("jitter=normal:3ms:0ms", false),
    ("reorder=5%:3ms", true),
    ("reorder=0%:3ms", false),
    ("dup=5%", true),
    ("up_dup=0%", false),
    ("up_jitter=3ms", true),
    ("delay=before", false),
    ("overhead=20B", false),
    ("return=geo_warm", true),
    ("return=lte", true),
    ("return=batch:5ms:24", false),
    ("return=batch:1ms-9ms:24", true),
    ("return=leo", true),
    ("thin=1", false),
    ("gro=1ms:64kB", false),
    ("comp_sack=1ms:44", false),
    ("ack=4/rtt", false),
    ("rwnd=auto", false),
    ("rwnd=30kB,read=3Mbit", false),
];

#[test]
fn a_path_knows_whether_two_seeds_can_differ() {
    for (keys, chance) in KEYS {
        // Draws have to show: where within a batch an ACK leaves, and when a hand-over comes.
        let rate = match keys {
            "return=lte" => "200Mbit",
            "return=leo" => "1Mbit",
            _ => "20Mbit",
        };
        let path =
            format!("rate={rate},rtt=40ms,queue=1bdp,{keys}").replace("queue=1bdp,queue", "queue");
        let parsed = Path::parse(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(parsed.has_chance(), chance, "{path}");
        let first = outcome(&path, 1);
        let differs = (2..=6).any(|seed| outcome(&path, seed) != first);
        assert_eq!(differs, chance, "{path}: what seeds do");
    }
    for (path, chance) in [
        ("rate=poisson:20Mbit,rtt=40ms", true),
        // The seed decides which flows share a queue: one flow never notices.
        ("rate=20Mbit,rtt=40ms,fq_codel", true),
        ("rapid-slide", false),
        ("leo", false),
    ] {
        assert_eq!(Path::parse(path).expect("a path").has_chance(), chance, "{path}");
    }
}

#[test]
fn chance_is_repeated_and_without_chance_one_trial_is_shown() {
    let lossy = "rate=20Mbit,rtt=80ms,queue=1bdp,loss=0.5%";
    let staged = plan("slowstart,rapid", lossy, 300_000).staged(Stages::default());
    assert!(staged.has_chance());
    let comparison = run(&staged);
    let trials = comparison.plan.repeat;
    assert!([20, 50, 100, 200, 400].contains(&trials), "{trials} trials");
    let stopped = comparison.stopped.expect("a reason");
    assert_eq!(comparison.rows.len() as u32, 2 * trials);
    let ratio = comparison.repeats().ratio(1).expect("an interval");
    let narrow = ratio.high - ratio.low <= f64::max(0.02, (ratio.value - 1.0).abs() / 4.0);
    assert_eq!(stopped == Stopped::Precision, narrow, "{ratio:?}: {stopped:?}");
    assert!(stopped == Stopped::Precision || trials == 400, "300 kB are little work: {trials}");

    // The same trials as those of a run that asks for so many, and the same again.
    let asked = run(&Plan { repeat: trials, ..plan("slowstart,rapid", lossy, 300_000) });
    assert_eq!((asked.stopped, &asked.rows), (None, &comparison.rows));
    assert_eq!(run(&comparison.plan).to_json(), comparison.to_json());

    let plain = run(&plan("slowstart,rapid", "rapid-slide", 3_000_000).staged(Stages::default()));
    assert_eq!((plain.plan.repeat, plain.stopped, plain.rows.len()), (1, None, 2));
}

#[test]
fn comparisons_of_one_command_share_its_work() {
    // A share of the work that 50 trials would pass.
    let noisy = "rate=20Mbit,rtt=80ms,queue=1bdp,loss=1%";
    let stages = Stages::default().shared_by(2_000);
    let few = run(&plan("slowstart,rapid", noisy, 300_000).staged(stages));
    assert_eq!((few.plan.repeat, few.stopped), (20, Some(Stopped::Work)));
}

#[test]
fn a_single_trial_on_a_path_with_chance_says_so() {
    let said = |path: &str, repeat: u32| {
        let comparison = run(&Plan { repeat, ..plan("slowstart,rapid", path, 300_000) });
        comparison.warnings.iter().any(|warning| warning.contains("the next seed may reverse"))
    };
    assert!(said("rapid-slide,loss=0.1%", 1));
    assert!(!said("rapid-slide,loss=0.1%", 2));
    assert!(!said("rapid-slide", 1));
}

#[test]
fn results_that_move_with_the_phase_are_noted() {
    let note = |path: &str, bytes: u64| {
        let arms = "slowstart,hystart,hystart++,rapid,plumb";
        let staged = plan(arms, path, bytes).staged(Stages::default());
        let comparison = run(&staged);
        let silent = run(&Plan { repeat: 13, ..plan(arms, path, bytes) });
        let moved = (0..5).any(|arm| {
            let losses = silent.trials(arm).iter().filter_map(|row| row.loss_ratio);
            let (low, high) = losses
                .fold((1.0_f64, 0.0_f64), |(low, high), loss| (low.min(loss), high.max(loss)));
            high - low > 0.01
        });
        let said = comparison
            .warnings
            .iter()
            .find(|warning| warning.starts_with("timing matters: "))
            .cloned();
        (moved, said)
    };
    let mut seen = [0; 2];
    for path in [
        "rapid-slide",
        "geo",
        "rate=20Mbit,rtt=80ms,queue=0.5bdp",
        "rate=100Mbit,rtt=10ms,queue=2bdp",
        "gvisor",
    ] {
        let (moved, said) = note(path, 1_000_000);
        let loss = said.as_ref().is_some_and(|said| said.contains(" loses "));
        assert_eq!(loss, moved, "{path}: {said:?}");
        seen[usize::from(moved)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "some move and some do not: {seen:?}");
}

#[test]
fn unfinished_trials_count_with_the_limit() {
    let mut plan = plan("slowstart,rapid", "rate=1Mbit,rtt=80ms,loss=5%", 200_000);
    plan.repeat = 20;
    let whole = run(&plan);
    let mut times: Vec<f64> = whole.trials(0).iter().filter_map(|row| row.ttlb_ms).collect();
    times.sort_by(f64::total_cmp);
    // About half of the first arm's trials take longer.
    plan.scenario.limit = firstflight::Nanos((times[10] * 1e6) as u64);
    let cut = run(&plan);
    let summary = cut.repeats().summary();
    let unfinished = cut.trials(0).iter().filter(|row| !row.complete).count() as u32;
    assert!((1..20).contains(&unfinished), "{unfinished}");
    assert_eq!(summary[0].unfinished, unfinished);
    let limit = plan.scenario.limit.0 as f64 / 1e6;
    assert!((summary[0].ttlb_p95_ms - limit).abs() < 1e-9, "{summary:?}");
    assert_eq!(summary[0].mark, None, "it does not always finish");
    let table = table(&cut);
    let times = table.columns().iter().position(|column| column.key == "ttlb_ms");
    let times = times.expect("a column of completion times");
    assert!(!table.look(0, times).bold, "an arm that does not always finish is not the best");
    let words = cell_words(&table, 0, times);
    assert!(words.contains(&format!("({unfinished})")), "{words} has no number of such trials");
}
