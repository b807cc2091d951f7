//! The outcome of a test, as data.

use super::check::Check;
use super::effect::Effects;
use super::limits::Limits;
use serde::{Deserialize, Serialize};

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
    /// Every other arm is slower in every world, or none gains in every world.
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
