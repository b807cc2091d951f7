//! The outcome of a test, as data.

use super::check::Check;
use super::effect::Effects;
use super::limits::Limits;
use firstflight::Arm;
use serde::{Deserialize, Serialize};

/// The rule that produced the sentence; rules are tried in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Faster in every world, and not worse in any other respect.
    Clean,
    /// Faster in every world, at a cost.
    Price,
    /// Equally fast, with less loss or queueing delay in every world.
    Gentler,
    /// The best choice depends on the world.
    Depends,
    /// Every other arm is slower in every world, or none gains in every world.
    Keep,
    /// No effect exceeds its margin.
    Same,
    /// None of the rules above applies.
    NotSettled,
    /// The test is incomplete, or a check failed.
    None,
}

/// A world, as the test defined it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Corner {
    /// Description as text.
    pub words: String,
    /// For each assumption, which end of its range applies: `true` for the high end. Empty for the
    /// central assumptions.
    pub ends: Vec<bool>,
    /// The knobs of the population in this world.
    pub knobs: String,
}

/// A world and its number of connections.
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
    /// Effects of the arm, in the order of the worlds.
    pub effects: Vec<Effects>,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// The conclusion as a sentence, to be read first.
    pub sentence: String,
    /// The rule that produced it.
    pub rule: Rule,
    /// The arm to deploy or to keep; null if there is no recommendation.
    pub deploy: Option<String>,
    /// The arm that the sentence is about.
    pub arm: Option<String>,
    /// Arm that the others are compared with.
    pub baseline: String,
    /// At most three additional sentences.
    pub notes: Vec<String>,
    /// Number of connections of the test.
    pub connections: u64,
    /// Number of connections that would settle the open question; null if there is none, or if more
    /// connections do not help.
    pub settled_at: Option<u64>,
    /// The cost that the user accepts.
    pub limits: Limits,
    /// The unmeasured assumptions, in the order of [`Corner::ends`].
    pub assumptions: Vec<String>,
    /// The worlds, starting with the central one.
    pub worlds: Vec<WorldRow>,
    /// The arms except the baseline.
    pub arms: Vec<ArmRow>,
    /// The baseline against itself.
    pub check: Check,
}

/// True if an arm uses knowledge that no sender has (`oracle`). It has effects, but nobody can deploy it.
pub(super) fn is_reference(arm: &str) -> bool {
    Arm::parse(arm).is_ok_and(|arm| arm.startup.is_reference())
}

impl Decision {
    /// Withdraws the recommendation, for this reason.
    pub fn withhold(&mut self, why: &str) {
        self.rule = Rule::None;
        self.sentence = format!("No recommendation: {why}.");
        (self.deploy, self.arm, self.settled_at) = (None, None, None);
        self.notes.clear();
    }

    /// The arms that may be recommended.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &ArmRow> {
        self.arms.iter().filter(|row| !is_reference(&row.arm))
    }

    /// Numbers of the arms that may be deployed: 0, the baseline, and one more than the index of each
    /// candidate.
    pub(super) fn deployable(&self) -> Vec<usize> {
        let arms = self.arms.iter().enumerate();
        let candidates =
            arms.filter(|(_, row)| !is_reference(&row.arm)).map(|(index, _)| index + 1);
        std::iter::once(0).chain(candidates).collect()
    }

    /// The effects of an arm in every world.
    pub fn effects(&self, arm: &str) -> &[Effects] {
        self.arms.iter().find(|row| row.arm == arm).map_or(&[], |row| &row.effects)
    }
}
