//! What a test may say: which arm to deploy, at what price, or that nothing is settled.
//!
//! A test runs in several worlds: the population as assumed, and the corners of what nobody
//! measured. In each, every arm has effects beside the baseline ([`Effects`]); margins say what
//! counts. Of seven rules the first that applies gives the sentence ([`Rule`]). Everything that is
//! printed is made from the [`Decision`].

mod check;
mod effect;
mod rule;
mod sums;
mod words;

pub use check::Check;
pub use effect::{Effect, Effects, Is, LOSS_POINTS, TIME_PCT};
pub use sums::{Sample, Sums};

use effect::World;
use serde::{Deserialize, Serialize};

/// With fewer connections in a world nothing is said.
pub const LEAST: u64 = 30;

/// The price that the user accepts for less time; where one is absent the margin holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "request", derive(clap::Args))]
pub struct Limits {
    /// Accept so many points more loss for less time: 0.5
    #[cfg_attr(feature = "request", arg(id = "max_loss_cost", long = "max-loss-cost", value_name = "POINTS", value_parser = price, allow_negative_numbers = true))]
    pub loss_points: Option<f64>,
    /// Accept so much more queueing delay (p99) for less time, ms
    #[cfg_attr(feature = "request", arg(id = "max_queue", long = "max-queue", value_name = "MS", value_parser = price, allow_negative_numbers = true))]
    pub queue_ms: Option<f64>,
    /// Accept so many percent of connections that are over 5 % slower [default: 5]
    #[cfg_attr(feature = "request", arg(id = "max_slower", long = "max-slower", value_name = "PERCENT", value_parser = price, allow_negative_numbers = true))]
    pub slower_pct: Option<f64>,
}

#[cfg(feature = "request")]
fn price(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=100_000.0).contains(number));
    number.ok_or_else(|| "is no price; allowed: a number from 0 to 100000".to_owned())
}

/// Which rule gave the sentence, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Faster in every world, and nothing worse.
    Clean,
    /// Faster in every world, at a price.
    Price,
    /// As fast, with less loss or queueing delay in every world.
    Gentler,
    /// It depends on the world.
    Depends,
    /// Every other arm is slower in every world.
    Keep,
    /// No effect reaches past a margin.
    Same,
    /// None of these.
    NotSettled,
    /// The test is not complete, or a check failed.
    None,
}

/// A world, as the test defined it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corner {
    /// For people.
    pub words: String,
    /// Which end of each assumption: `true` for the high one; empty for the world as assumed.
    pub ends: Vec<bool>,
    /// The knobs of the population there.
    pub knobs: String,
}

/// A world with its connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorldRow {
    /// The world.
    #[serde(flatten)]
    pub corner: Corner,
    /// Connections that ran in it.
    pub connections: u64,
}

/// An arm in every world.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmRow {
    /// The arm.
    pub arm: String,
    /// Its effects, in the order of the worlds.
    pub effects: Vec<Effects>,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// For people, and the first thing they read.
    pub sentence: String,
    /// The rule behind it.
    pub rule: Rule,
    /// The arm to deploy or to keep; null where there is no recommendation.
    pub deploy: Option<String>,
    /// The arm that the sentence is about.
    pub arm: Option<String>,
    /// The arm that the others are compared with.
    pub baseline: String,
    /// At most three more sentences.
    pub notes: Vec<String>,
    /// Connections of the test.
    pub connections: u64,
    /// So many connections would settle what is open; null where nothing is, or more do not help.
    pub settled_at: Option<u64>,
    /// The price that the user accepts.
    pub limits: Limits,
    /// The assumptions that nobody measured, as [`Corner::ends`] counts them.
    pub assumptions: Vec<String>,
    /// The worlds, the one as assumed first.
    pub worlds: Vec<WorldRow>,
    /// The arms but the baseline.
    pub arms: Vec<ArmRow>,
    /// The baseline against itself.
    pub check: Check,
}

/// A test that is to be decided.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The arms, the baseline first.
    pub arms: &'a [String],
    /// The names of the assumptions.
    pub assumptions: &'a [String],
    /// The worlds besides the one as assumed.
    pub corners: &'a [Corner],
    /// The price that the user accepts.
    pub limits: Limits,
}

/// The sums of a test.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// All connections, as assumed.
    pub assumed: &'a Sums,
    /// Those that also ran in the other worlds, as assumed.
    pub part: &'a Sums,
    /// The same in every other world.
    pub corners: &'a [Sums],
    /// The baseline twice, each time under another seed.
    pub twice: &'a Sums,
    /// How often the baseline ran again with the same seed, and how often it did something else.
    pub repeated: [u64; 2],
}

/// Decides a test that is complete.
pub fn decide(question: &Question<'_>, of: &Evidence<'_>) -> Decision {
    let assumed = WorldRow {
        corner: Corner { words: "as assumed".into(), ends: Vec::new(), knobs: String::new() },
        connections: of.assumed.flows(),
    };
    let rows = question.corners.iter().zip(of.corners);
    let rows =
        rows.map(|(corner, sums)| WorldRow { corner: corner.clone(), connections: sums.flows() });
    let worlds: Vec<World<'_>> = std::iter::once(World::assumed(of.assumed))
        .chain(of.corners.iter().map(|end| World::end(of.assumed, of.part, end)))
        .collect();
    let enough = worlds.iter().all(|world| world.flows() >= LEAST);
    let arms = question.arms.iter().enumerate().skip(1).filter(|_| enough);
    let arms = arms.map(|(index, arm)| ArmRow {
        arm: arm.clone(),
        effects: worlds.iter().map(|world| world.effects(index, &question.limits)).collect(),
    });
    let mut decision = Decision {
        sentence: String::new(),
        rule: Rule::NotSettled,
        deploy: None,
        arm: None,
        baseline: question.arms.first().cloned().unwrap_or_default(),
        notes: Vec::new(),
        connections: of.assumed.flows(),
        settled_at: None,
        limits: question.limits,
        assumptions: question.assumptions.to_vec(),
        worlds: std::iter::once(assumed).chain(rows).collect(),
        arms: arms.collect(),
        check: Check::of(of.twice, of.repeated),
    };
    if let Some(why) = decision.check.fault(decision.connections) {
        decision.withhold(&why);
    } else if !enough {
        let least = worlds.iter().map(World::flows).min().unwrap_or(0);
        decision.withhold(&format!(
            "a world with {least} connections says nothing, {LEAST} are needed; run more"
        ));
    } else {
        rule::apply(&mut decision, &worlds);
    }
    decision
}

impl Decision {
    /// Gives no recommendation, for this reason.
    pub fn withhold(&mut self, why: &str) {
        self.rule = Rule::None;
        self.sentence = format!("No recommendation: {why}.");
        (self.deploy, self.arm, self.settled_at) = (None, None, None);
        self.notes.clear();
    }

    /// The effects of an arm in every world.
    pub fn effects(&self, arm: &str) -> &[Effects] {
        self.arms.iter().find(|row| row.arm == arm).map_or(&[], |row| &row.effects)
    }
}
