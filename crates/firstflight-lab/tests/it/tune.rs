//! A tuning finds an optimum that is known by construction, and says so where there is none.
//!
//! Most tests run on made-up results, in which the effect of every option is known and the rest is
//! noise: a connection has its own time, and every candidate on it its own luck. With `NIGHT`
//! there are a hundred seeds, otherwise twenty.

use firstflight::Nanos;
use firstflight::arm::{AVOIDANCES, Arm, RECOVERIES, STARTUPS, SenderParams};
use firstflight::options::Range as Values;
use firstflight_lab::ab::{Clock, Test};
use firstflight_lab::decision::{
    Corner, Decision, Evidence, Limits, Question, Rule, Sample, Sums, decide,
};
use firstflight_lab::stats::bootstrap::weights;
use firstflight_lab::tune::{
    Bench, Found, Objective, Rules, Set, Space, Tune, Tuned, Watcher, find,
};
use firstflight_lab::{Error, Hosts, Population, parse_arms};
use firstflight_path::random::mix;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Results in which the time of an arm is the connection's, times the effect of its options, times
/// luck of up to a sixth either way.
struct MadeUp<'a> {
    space: &'a Space,
    seed: u64,
    holdout: u64,
    /// Logarithm of the time, given the values of the parameters in order.
    effect: &'a (dyn Fn(&[&str]) -> f64 + Sync),
}

/// A number from 0 to 1 that depends on all of these.
fn unit(of: &[u64]) -> f64 {
    (of.iter().fold(17, |sum, x| mix(sum ^ mix(*x))) >> 11) as f64 / (1_u64 << 53) as f64
}

impl MadeUp<'_> {
    fn sample(&self, set: Set, arm: &[usize], connection: u64) -> Sample {
        let values: Vec<&str> = self
            .space
            .parameters
            .iter()
            .zip(arm)
            .map(|(parameter, level)| parameter.levels[*level].text.as_str())
            .collect();
        let own = [set.seed(self.seed), connection];
        let ms = 100.0 * (1.0 + 9.0 * unit(&own));
        let arm: Vec<u64> = arm.iter().map(|level| *level as u64).collect();
        let luck = 1.0 + (unit(&[&own[..], &arm].concat()) - 0.5) / 3.0;
        let ns = ms * 1e6 * (self.effect)(&values).exp() * luck;
        Sample { ttlb_ns: ns as u64, loss_ppb: 0, queue_p99_us: 1_000 }
    }
}

impl Bench for MadeUp<'_> {
    fn worlds(&self) -> usize {
        1
    }

    fn run(
        &self,
        set: Set,
        _world: usize,
        arms: &[&[usize]],
        connections: Range<u64>,
    ) -> Result<Vec<Vec<Sample>>, Error> {
        let of = |arm: &&[usize]| connections.clone().map(|at| self.sample(set, arm, at)).collect();
        Ok(arms.iter().map(of).collect())
    }

    fn judge(&self, arm: &[usize]) -> Result<Decision, Error> {
        let default = self.space.default_choice();
        let (mut both, mut twice) = (Sums::new(2), Sums::new(2));
        for at in 0..self.holdout {
            let samples = [default.as_slice(), arm].map(|arm| self.sample(Set::HoldOut, arm, at));
            let weights = weights(self.seed, at);
            both.add(at, samples.into_iter(), &weights);
            twice.add(at, [samples[0], samples[0]].into_iter(), &weights);
        }
        let arms = [self.space.text(&default), self.space.text(arm)];
        let no_corners: &[Corner] = &[];
        let question = Question {
            arms: &arms,
            assumptions: &[],
            corners: no_corners,
            limits: Limits::default(),
        };
        let (assumed, part, twice) = (&both, &both, &twice);
        let evidence = Evidence { assumed, part, corners: &[], twice, repeated: [0, 0] };
        Ok(decide(&question, &evidence))
    }
}

fn space(text: &str) -> Space {
    Space::parse(text, &[("iw", 10), ("burst", 2)]).expect("a space")
}

fn made_up(text: &str, seed: u64, effect: &(dyn Fn(&[&str]) -> f64 + Sync)) -> Found {
    let space = space(text);
    let bench = MadeUp { space: &space, seed, holdout: 4_000, effect };
    let rules = Rules {
        objective: Objective::Time,
        limits: Limits { slower_pct: Some(100.0), ..Limits::default() },
        budget: 200,
        flows: 300,
        seed,
    };
    find(&space, &bench, &rules).expect("a tuning")
}

/// At least nine of ten seeds must give what was asked for.
fn in_most_seeds(what: &str, holds: impl Fn(u64) -> Result<(), String>) {
    let seeds = if std::env::var_os("NIGHT").is_some() { 100 } else { 20 };
    let wrong: Vec<String> = (1..=seeds)
        .filter_map(|seed| holds(seed).err().map(|why| format!("{seed}: {why}")))
        .collect();
    assert!(
        wrong.len() as u64 * 10 <= seeds,
        "{what}: {} of {seeds} seeds do not\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_planted_optimum_is_found() {
    // 16 is the best divisor; each factor of two away from it costs 5 %, up to 20 %.
    let effect = |values: &[&str]| {
        let divisor: f64 = values[0].parse().expect("a number");
        0.05 * (divisor / 16.0).log2().abs().min(4.0)
    };
    in_most_seeds("the planted divisor is found", |seed| {
        let found = made_up("hystart++(divisor=*,low=*)", seed, &effect);
        let [divisor, low] = found.parameters() else { return Err("two parameters".into()) };
        let tuned: f64 = divisor.tuned.parse().map_err(|_| divisor.tuned.clone())?;
        let far = (tuned / 16.0).log2().abs();
        if far > 0.5 || divisor.flat || found.keeps_default() {
            return Err(format!("divisor {tuned}"));
        }
        if low.changed {
            return Err(format!("low, which does nothing, is {}", low.tuned));
        }
        match found.decision().map(|of| of.rule) {
            Some(Rule::Clean | Rule::Price | Rule::NotSettled) => Ok(()),
            other => Err(format!("the hold-out says {other:?}")),
        }
    });
}

#[test]
fn an_option_without_effect_is_reported_as_such() {
    in_most_seeds("an option that does nothing is called flat", |seed| {
        let found = made_up("hystart++(low=*)", seed, &|_| 0.0);
        let low = &found.parameters()[0];
        if found.keeps_default() && low.flat {
            Ok(())
        } else {
            Err(format!("low is {}", low.tuned))
        }
    });
}

#[test]
fn a_default_that_is_best_is_kept() {
    in_most_seeds("the default stays where it is the optimum", |seed| {
        // 4 is the default divisor.
        let effect = |values: &[&str]| {
            let divisor: f64 = values[0].parse().expect("a number");
            0.05 * (divisor / 4.0).log2().abs()
        };
        let found = made_up("hystart++(divisor=*)", seed, &effect);
        if found.keeps_default() { Ok(()) } else { Err(found.tuned().to_owned()) }
    });
}

#[test]
fn a_small_budget_is_refused_with_the_smallest_that_does() {
    let space = space("plumb");
    let bench = MadeUp { space: &space, seed: 1, holdout: 100, effect: &|_| 0.0 };
    let rules = Rules {
        objective: Objective::Time,
        limits: Limits::default(),
        budget: 30,
        flows: 100,
        seed: 1,
    };
    let why = find(&space, &bench, &rules).expect_err("too small").to_string();
    assert!(why.starts_with("--budget 30: too small for 12 parameters; allowed: "), "{why}");
}

/// Bursts of the whole window on a fast link whose queue holds 40 packets: an initial window of more
/// loses packets at once, a smaller one takes more round trips.
const BURSTS: &str = r#"
schema = 1
name = "bursts"
version = "1"
about = "made for a test"
[[group]]
name = "all"
weight = 1.0
rtt = { lognormal = { median_ms = 80.0, sigma = 0.3 } }
rate_down = { log_uniform = { min_mbps = 900.0, max_mbps = 1100.0 } }
buffer = { log_uniform = { min_bdp = 0.00001, max_bdp = 0.00002 }, floor_packets = 40 }
size = { lognormal = { median_bytes = 60000.0, sigma = 0.2 } }
"#;

fn tuned(text: &str, population: Population, threads: usize) -> Tuned {
    let space = space(text);
    let test = Test {
        population,
        arms: parse_arms("slowstart").expect("an arm"),
        flows: 400,
        seed: 1,
        iw: 10,
        burst: 2,
        limit: Nanos::from_secs(60),
        host: Hosts::default(),
        detection: None,
        clock: Clock::Receiver,
        limits: Limits::default(),
    };
    let tune = Tune {
        arm: text.to_owned(),
        space,
        test,
        objective: Objective::Time,
        budget: 80,
        flows: 100,
        seed: 1,
        again: Vec::new(),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let (tick, stop) = (|_| {}, AtomicBool::new(false));
    pool.install(|| tune.run(Watcher { tick: &tick, stop: &stop })).expect("a tuning")
}

#[test]
fn an_initial_window_that_fits_the_queue_is_found_in_the_simulator() {
    let population = Population::from_toml("bursts", BURSTS, None).expect("a population");
    let tuned = tuned("slowstart@(iw=10..100,pace=off)", population, 2);
    let iw: u32 = tuned.parameters[0].tuned.parse().expect("a number");
    // Objects of about 42 packets: from 42 packets on, most take one round trip, and 40 packets and
    // the one on the link are the most that survive a burst.
    assert!((30..=42).contains(&iw), "{iw}: {}", tuned.sentence);
    let decision = tuned.decision.as_ref().expect("a judgement");
    assert_eq!(decision.arms.len(), 1, "one arm is judged: {}", tuned.sentence);
    assert!(tuned.gain.holdout.is_some_and(|of| of.low > 5.0), "{:?}", tuned.gain);
}

#[test]
fn any_number_of_threads_gives_the_same_tuning() {
    let of = |threads| {
        let population = Population::parse("cdn").expect("built in");
        tuned("hystart++(divisor=*)@(iw=10..20)", population, threads).to_json()
    };
    let (one, two) = (of(1), of(2));
    assert!(one == two, "two threads change the result");
}

fn levels(space: &Space, index: usize) -> Vec<&str> {
    space.parameters[index].levels.iter().map(|level| level.text.as_str()).collect()
}

#[test]
fn a_range_becomes_levels_and_a_candidate_prints_what_differs() {
    let space = space("hystart++(low=*,divisor=2..5,skip=*)/reno(beta=0.7)@(iw=10..13)");
    let names: Vec<String> = (0..4).map(|index| space.name(index)).collect();
    assert_eq!(names, ["divisor", "skip", "low", "iw"]);
    assert_eq!(levels(&space, 0), ["2", "3", "4", "5"]);
    assert_eq!(levels(&space, 1), ["on", "off"]);
    assert_eq!(levels(&space, 3), ["10", "11", "12", "13"]);
    let low = levels(&space, 2);
    assert_eq!((low[0], low[low.len() - 1]), ("0", "10000"));
    assert!(low.len() <= 50, "{} levels", low.len());
    let default = space.default_choice();
    assert_eq!(space.text(&default), "hystart++/reno(beta=0.7)");
    let mut other = default.clone();
    (other[0], other[1], other[3]) = (0, 0, 3);
    assert_eq!(space.text(&other), "hystart++(divisor=2,skip=on)/reno(beta=0.7)@(iw=13)");
    assert!(space.arm(&other).is_some());
}

#[test]
fn a_bare_arm_has_all_options_of_its_parts_that_have_a_range() {
    for startup in STARTUPS.iter().filter(|part| !part.options.is_empty()) {
        if startup.name == "oracle" {
            continue;
        }
        let space = space(startup.name);
        let named: Vec<&str> = space.parameters.iter().map(|of| of.key).collect();
        for doc in startup.options {
            assert!(
                named.contains(&doc.key) || space.left_out.contains(&doc.key.to_owned()),
                "{}: {} is neither tuned nor left out",
                startup.name,
                doc.key
            );
        }
        for (index, parameter) in space.parameters.iter().enumerate() {
            for level in 0..parameter.levels.len() {
                let mut choice = space.default_choice();
                choice[index] = level;
                let text = space.text(&choice);
                assert!(Arm::parse(&text).is_ok(), "{text} is not an arm");
            }
        }
    }
}

#[test]
fn only_options_without_an_enumerable_range_are_left_out() {
    let parts = || [STARTUPS, AVOIDANCES, RECOVERIES].into_iter().flatten();
    let sender = SenderParams::DOCS.iter().map(|doc| ("sender", doc));
    let all = parts().flat_map(|part| part.options.iter().map(|doc| (part.name, doc)));
    let described: Vec<String> = all
        .chain(sender)
        .filter(|(_, doc)| doc.range == Values::Described)
        .map(|(part, doc)| format!("{part} {}", doc.key))
        .collect();
    // Byte counts, rates and the longest timeout of one path, and a rule with four forms.
    let expected = [
        "search missed",
        "best queue",
        "oracle exit",
        "sender maxrate",
        "sender rtomax",
        "sender hint",
    ];
    assert_eq!(described, expected);
}

#[test]
fn a_preset_stands_before_the_options_that_it_would_undo() {
    let space = space("hystart++(low=5,mode=*)");
    let lss = space.parameters[0].levels.iter().position(|level| level.text == "lss");
    let text = space.text(&[lss.expect("a mode")]);
    assert_eq!(text, "hystart++(mode=lss,low=5)");
}

#[test]
fn fractions_are_short_decimals() {
    let space = space("slowstart/cubic(beta=0.5..0.9)");
    let levels = levels(&space, 0);
    assert_eq!((levels[0], levels[levels.len() - 1]), ("0.5", "0.9"));
    assert!(levels.contains(&"0.7"), "{levels:?} has the default");
    assert!(levels.iter().all(|text| text.len() <= 5), "{levels:?} are short");
}

#[test]
fn a_wrong_space_is_refused_with_the_way_out() {
    let refused = |text: &str| Space::parse(text, &[]).expect_err(text).to_string();
    for (text, part) in [
        ("hystart++(lo=*)", "has no option `lo`"),
        ("hystart++(divisor=1..5)", "allowed: 2 to 64"),
        ("hystart++(divisor=5..2)", "the first end must be the smaller one"),
        ("hystart++(mode=a..b)", "only `*`"),
        ("slowstart", "nothing to tune"),
        ("oracle(rate=*)", "knows what no sender can know"),
        ("kernel:cubic", "only arms of built-in parts"),
        ("rapid,plumb", "several arms"),
        ("best(queue=1..5)", "has no range"),
    ] {
        let why = refused(text);
        assert!(why.contains(part), "{text}: {why}");
    }
}

#[test]
fn objectives_print_as_they_parse() {
    for text in ["time", "p95", "time+loss:2.5"] {
        assert_eq!(text.parse::<Objective>().expect(text).to_string(), text);
    }
    for text in ["", "loss", "time+loss:", "time+loss:-1", "time+loss:x"] {
        let why = text.parse::<Objective>().expect_err(text);
        assert!(why.contains("allowed: time, p95"), "{text}: {why}");
    }
}
