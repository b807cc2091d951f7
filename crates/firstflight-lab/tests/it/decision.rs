//! The decision rule on drawn results: residuals of real connections with injected effects, without
//! the simulator. `FIRSTFLIGHT_DRAWS` is the number of results drawn per case.

use firstflight::Nanos;
use firstflight_lab::ab::{Clock, Run, Test, Watch};
use firstflight_lab::decision::{Corner, Decision, Evidence, Limits, Question, Rule, Sample, Sums};
use firstflight_lab::decision::{LOSS_POINTS, TIME_PCT, decide};
use firstflight_lab::stats::bootstrap::weights;
use firstflight_lab::{Hosts, Population, parse_arms};
use firstflight_path::random::mix;
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

/// Connections of a drawn result, a quarter of which run in the other world.
const FLOWS: u64 = 4_000;

fn draws() -> u64 {
    let asked = std::env::var("FIRSTFLIGHT_DRAWS").ok();
    asked.map_or(60, |count| count.parse().expect("a number of draws"))
}

/// Real connections: time, loss and queueing delay of the baseline, and how another arm differs.
struct Pool(Vec<(Sample, [f64; 3])>);

impl Pool {
    /// Of connections of `cdn`; differences have a mean of zero.
    fn new() -> Pool {
        let test = Test {
            population: Population::parse("cdn").expect("a population"),
            arms: parse_arms("slowstart,hystart++").expect("arms"),
            flows: 500,
            seed: 11,
            iw: 30,
            burst: 2,
            limit: Nanos::from_secs(600),
            host: Hosts::default(),
            detection: None,
            clock: Clock::Receiver,
            limits: Limits::default(),
        };
        let mut samples = Vec::new();
        let mut keep = |rows: &[firstflight_lab::ab::rows::Row]| {
            samples.extend(rows.iter().map(|row| Sample {
                ttlb_ns: row.result.ttlb_ns,
                loss_ppb: row.result.loss_ppb(),
                queue_p99_us: row.result.queue_p99_us,
            }));
            Ok(())
        };
        let stop = AtomicBool::new(false);
        let mut watch = Watch { tick: &|_| (), stop: &stop, rows: Some(&mut keep) };
        test.run(&Run::default(), &mut watch).expect("runs");
        let mut pool: Vec<(Sample, [f64; 3])> = samples
            .chunks(2)
            .map(|pair| {
                let [a, b] = [pair[0], pair[1]];
                let time = (b.ttlb_ns as f64 / a.ttlb_ns as f64).ln();
                let loss = b.loss_ppb as f64 - a.loss_ppb as f64;
                (a, [time, loss, b.queue_p99_us as f64 - a.queue_p99_us as f64])
            })
            .collect();
        for which in 0..3 {
            let mean = pool.iter().map(|one| one.1[which]).sum::<f64>() / pool.len() as f64;
            for one in &mut pool {
                one.1[which] -= mean;
            }
        }
        Pool(pool)
    }

    /// A connection under the baseline and the arms, of each of which an effect is planted: less
    /// time in percent, and points of loss more.
    fn draw(&self, key: u64, planted: &[(f64, f64)]) -> Vec<Sample> {
        let pick = |salt: u64| &self.0[(mix(key ^ salt) % self.0.len() as u64) as usize];
        let base = Sample { ..pick(1).0 };
        // Loss has room on both sides, so that no bound bends an effect.
        let base = Sample { loss_ppb: base.loss_ppb / 2 + 300_000_000, ..base };
        let arm = |(index, (time, points)): (usize, &(f64, f64))| {
            let residual = pick(index as u64 + 2).1;
            let log = (1.0 - time / 100.0).ln() + residual[0] / 4.0;
            Sample {
                ttlb_ns: (base.ttlb_ns as f64 * log.exp()) as u64,
                loss_ppb: (base.loss_ppb as f64 + residual[1] / 2.0 + points * 1e7).max(0.0) as u64,
                queue_p99_us: (base.queue_p99_us as f64 + residual[2] / 10.0).max(0.0) as u64,
            }
        };
        std::iter::once(base).chain(planted.iter().enumerate().map(arm)).collect()
    }

    /// A whole result with two worlds: the arms' effects as assumed, and in the other one.
    fn decide(&self, seed: u64, flows: u64, worlds: &[Vec<(f64, f64)>; 2]) -> Decision {
        let arms = worlds[0].len() + 1;
        let mut sums = [arms, arms, arms, 2].map(Sums::new);
        for index in 0..flows {
            let weights = weights(seed, index);
            let key = mix(mix(seed).wrapping_add(index));
            let mut add = |which: usize, samples: Vec<Sample>| {
                sums[which].add(index, samples.into_iter(), &weights);
            };
            let assumed = self.draw(key, &worlds[0]);
            add(0, assumed.clone());
            if index % 4 == 0 {
                add(1, assumed);
                // The other world has other chances.
                add(2, self.draw(key.wrapping_add(index % 3), &worlds[1]));
                add(3, self.draw(!key, &[(0.0, 0.0)]));
            }
        }
        let [assumed, part, corner, twice] = &sums;
        let names: Vec<String> = ["base", "x", "y"].map(str::to_owned)[..arms].to_vec();
        let corner_words =
            Corner { words: "no loss".into(), ends: vec![true], knobs: String::new() };
        let question = Question {
            arms: &names,
            assumptions: &["random loss".to_owned()],
            corners: &[corner_words],
            limits: Limits::default(),
        };
        let corners = std::slice::from_ref(corner);
        decide(&question, &Evidence { assumed, part, corners, twice, repeated: [0, 0] })
    }

    fn decisions(&self, flows: u64, worlds: &[Vec<(f64, f64)>; 2]) -> Vec<Decision> {
        (1..=draws()).into_par_iter().map(|seed| self.decide(seed, flows, worlds)).collect()
    }
}

/// A share with its 95 % interval (Wilson).
fn share(count: usize, of: usize) -> String {
    let (n, p, z) = (of as f64, count as f64 / of as f64, 1.96_f64);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    format!("{count} of {of} ({:.1} to {:.1} %)", 100.0 * (middle - half), 100.0 * (middle + half))
}

/// A name, the effects of the arms in two worlds, the rule and the arm that have to come out.
type Case<'a> = (&'a str, [Vec<(f64, f64)>; 2], Rule, Option<&'a str>);

/// Two margins or more from every margin the right rule and the right arm come out.
#[test]
fn planted_effects_are_found_and_no_other_arm_is_named() {
    let pool = Pool::new();
    let same = |arms: &[(f64, f64)]| [arms.to_vec(), arms.to_vec()];
    let cases: [Case<'_>; 6] = [
        ("clean", same(&[(12.0, -0.5), (6.0, -0.5)]), Rule::Clean, Some("x")),
        (
            "clean, another size in the other world",
            [vec![(30.0, -0.4), (5.0, 0.6)], vec![(12.0, -0.4), (5.0, 0.6)]],
            Rule::Clean,
            Some("x"),
        ),
        ("price", same(&[(15.0, 0.8), (-6.0, 0.6)]), Rule::Price, None),
        ("gentler", same(&[(0.0, -0.6), (-6.0, -0.6)]), Rule::Gentler, Some("x")),
        (
            "depends",
            [vec![(10.0, 0.0), (-5.0, 0.5)], vec![(-10.0, 0.0), (-5.0, 0.5)]],
            Rule::Depends,
            None,
        ),
        ("keep", same(&[(-8.0, 0.5), (-4.0, 0.5)]), Rule::Keep, Some("base")),
    ];
    for (name, worlds, rule, arm) in cases {
        let found = pool.decisions(FLOWS, &worlds);
        let right = found.iter().filter(|one| one.rule == rule && one.deploy.as_deref() == arm);
        let right = right.count();
        let wrong = found.iter().filter(|one| one.deploy.is_some() && one.deploy.as_deref() != arm);
        let wrong = wrong.count();
        println!(
            "{name}: right {}, wrong {}",
            share(right, found.len()),
            share(wrong, found.len())
        );
        let example = found.iter().find(|one| one.rule != rule).map(|one| &one.sentence);
        assert!(
            20 * right >= 19 * found.len(),
            "{name}: {}: {example:?}",
            share(right, found.len())
        );
        assert!(
            100 * wrong <= found.len(),
            "{name}: wrong {}: {example:?}",
            share(wrong, found.len())
        );
    }
}

/// Too few connections leave open what more of them would decide; they never say to keep the baseline.
#[test]
fn few_connections_give_the_final_answer_or_none() {
    let pool = Pool::new();
    let cases = [
        (Rule::Depends, [vec![(1.6, -0.3)], vec![(-3.0, 0.0)]]),
        (Rule::Depends, [vec![(8.0, 0.0), (0.0, 0.0)], vec![(0.0, 0.0), (8.0, 0.0)]]),
        (Rule::Clean, [vec![(3.0, -0.3)], vec![(2.5, -0.3)]]),
    ];
    for (rule, worlds) in cases {
        for flows in [300, 1_000, FLOWS] {
            let found = pool.decisions(flows, &worlds);
            let count = |rule: Rule| found.iter().filter(|one| one.rule == rule).count();
            // That the price is open is no final answer either.
            let open = [Rule::NotSettled, Rule::Price];
            let other = found.iter().filter(|one| {
                let says_keep = one.sentence.starts_with("No arm gains");
                one.rule != rule && (!open.contains(&one.rule) || says_keep)
            });
            let example = other.clone().next().map(|one| &one.sentence);
            println!("{rule:?}, {flows}: {} of {}", count(rule), found.len());
            assert!(50 * other.count() <= found.len(), "{rule:?}, {flows}: {example:?}");
        }
    }
}

/// An effect of exactly a margin may be claimed in one of twenty results, not more.
#[test]
fn at_a_margin_at_most_one_in_twenty_is_wrong() {
    let pool = Pool::new();
    let arms = vec![(TIME_PCT, -2.0 * LOSS_POINTS)];
    let found = pool.decisions(FLOWS, &[arms.clone(), arms]);
    let wrong = found.iter().filter(|one| one.rule == Rule::Clean).count();
    println!("time at its margin: wrong {}", share(wrong, found.len()));
    assert!(20 * wrong <= found.len(), "clean {}", share(wrong, found.len()));
    let arms = vec![(0.0, -LOSS_POINTS)];
    let found = pool.decisions(FLOWS, &[arms.clone(), arms]);
    let wrong = found.iter().filter(|one| one.rule == Rule::Gentler).count();
    println!("loss at its margin: wrong {}", share(wrong, found.len()));
    assert!(20 * wrong <= found.len(), "gentler {}", share(wrong, found.len()));
}

/// The baseline does not differ from itself, and a planted difference is found.
#[test]
fn the_baseline_fails_against_itself_in_at_most_one_of_a_hundred() {
    let pool = Pool::new();
    let check = |seed: u64, planted: (f64, f64)| {
        let [mut twice, plain] = [2, 2].map(Sums::new);
        for index in 0..1_000 {
            let weights = weights(seed, index);
            let key = mix(mix(seed).wrapping_add(index));
            twice.add(index, pool.draw(key, &[planted]).into_iter(), &weights);
        }
        let names = ["base", "x"].map(str::to_owned);
        let limits = Limits::default();
        let question = Question { arms: &names, assumptions: &[], corners: &[], limits };
        let (assumed, twice) = (&plain, &twice);
        let of = Evidence { assumed, part: assumed, corners: &[], twice, repeated: [0, 0] };
        decide(&question, &of).check.passed
    };
    let n = 10 * draws();
    let failed = (1..=n).into_par_iter().filter(|seed| !check(*seed, (0.0, 0.0))).count();
    println!("A/A fails in {}", share(failed, n as usize));
    assert!(100 * failed <= n as usize, "A/A fails in {}", share(failed, n as usize));
    let missed = (1..=60).filter(|seed| check(*seed, (8.0, 0.0))).count();
    assert!(missed <= 3, "a planted difference of 8 % passes in {}", share(missed, 60));
}

/// A population in which the answer is planted: what is known of its paths decides it.
struct Planted {
    rule: Rule,
    deploy: Option<&'static str>,
    arms: &'static str,
    buffer_bdp: f64,
    size_bytes: f64,
    high: &'static str,
}

const PLANTED: [Planted; 3] = [
    // The path holds the whole object: a larger first window saves round trips and costs nothing.
    Planted {
        rule: Rule::Clean,
        deploy: Some("slowstart@(iw=20)"),
        arms: "slowstart,slowstart@(iw=20),slowstart@(iw=5)",
        buffer_bdp: 4.0,
        size_bytes: 150_000.0,
        high: "{ q = 2.0, words = \"buffers twice as deep\" }",
    },
    // Objects that fill a shallow buffer: a jump is faster and loses what the buffer does not hold.
    Planted {
        rule: Rule::Price,
        deploy: None,
        arms: "slowstart,slowstart@(iw=60)",
        buffer_bdp: 0.1,
        size_bytes: 600_000.0,
        high: "{ q = 1.5, words = \"buffers half as deep again\" }",
    },
    // Every other arm begins with less and never catches up.
    Planted {
        rule: Rule::Keep,
        deploy: Some("slowstart"),
        arms: "slowstart,slowstart@(iw=2),slowstart@(iw=5)",
        buffer_bdp: 4.0,
        size_bytes: 150_000.0,
        high: "{ q = 2.0, words = \"buffers twice as deep\" }",
    },
];

impl Planted {
    fn decide(&self, seed: u64, flows: u64) -> Decision {
        let Planted { arms, buffer_bdp, size_bytes, high, .. } = self;
        let toml = format!(
            r#"
schema = 1
name = "planted"
version = "1.0.0"
about = "paths that are known"
size_bins = [100000, 300000]

[[source]]
value = "rtt, rate_down, rate_up, buffer, loss, size"
status = "A"
ref = "planted"

[calibration]
q = 1.0
k = 0.0
s = 0.0
status = ""

[[assumption]]
value = "buffers"
low = {{ q = 1.0, words = "buffers as assumed" }}
high = {high}
ref = "planted"

[[group]]
name = "all"
weight = 1.0
rtt = {{ lognormal = {{ median_ms = 60.0, sigma = 0.3, shift_ms = 10.0 }} }}
rate_down = {{ log_uniform = {{ min_mbps = 30.0, max_mbps = 200.0 }} }}
rate_up = {{ log_uniform = {{ min_mbps = 30.0, max_mbps = 200.0 }} }}
buffer = {{ log_uniform = {{ min_bdp = {buffer_bdp}, max_bdp = {buffer_bdp} }}, floor_packets = 10 }}
size = {{ lognormal = {{ median_bytes = {size_bytes}, sigma = 0.3 }} }}
return_path = "plain"
correlation = []
"#
        );
        let test = Test {
            population: Population::from_toml("planted.toml", &toml, None).expect("a population"),
            arms: parse_arms(arms).expect("arms"),
            flows,
            seed,
            iw: 10,
            burst: 2,
            limit: Nanos::from_secs(600),
            host: Hosts::default(),
            detection: None,
            clock: Clock::Receiver,
            limits: Limits::default(),
        };
        let stop = AtomicBool::new(false);
        let mut watch = Watch { tick: &|_| (), stop: &stop, rows: None };
        let tallies = test.run(&Run::default(), &mut watch).expect("runs");
        tallies.decision(&test.experiment())
    }
}

/// The rule in the simulator: every seed gives the planted answer. By day one population with one
/// seed; with `NIGHT` set all of them, ten seeds of 4000 connections, a quarter of which is enough for
/// a 95th percentile under each assumption.
#[test]
fn planted_populations_get_their_answer_at_every_seed() {
    let night = std::env::var_os("NIGHT").is_some();
    let (seeds, flows, populations) = if night { (10, 4_000, 3) } else { (1, 3_000, 1) };
    for planted in &PLANTED[..populations] {
        for seed in 1..=seeds {
            let found = planted.decide(seed, flows);
            println!("{seed}: {}", found.sentence);
            assert_eq!(
                (found.rule, found.deploy.as_deref()),
                (planted.rule, planted.deploy),
                "{}, seed {seed}: {}",
                planted.arms,
                found.sentence
            );
        }
    }
}

/// A written shard reads back the same.
#[test]
fn sums_survive_a_file_and_add_up() {
    use firstflight_lab::stats::codec::{Reader, Writer};
    let pool = Pool::new();
    let [mut whole, mut even, mut odd] = [2, 2, 2].map(Sums::new);
    for index in 0..200 {
        let samples = pool.draw(index, &[(3.0, 0.1)]);
        let weights = weights(1, index);
        whole.add(index, samples.iter().copied(), &weights);
        let part = if index % 2 == 0 { &mut even } else { &mut odd };
        part.add(index, samples.into_iter(), &weights);
    }
    odd.merge(&even);
    assert_eq!(odd, whole, "in any order");
    let mut writer = Writer::default();
    whole.write(&mut writer);
    assert_eq!(Sums::read(&mut Reader(&writer.0), 2), Some(whole), "and back from bytes");
    assert_eq!(Sums::read(&mut Reader(&writer.0[..writer.0.len() - 1]), 2), None);
}
