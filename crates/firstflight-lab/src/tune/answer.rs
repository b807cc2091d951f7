//! The result of a tuning, as data and in words.

use super::score::Objective;
use crate::decision::{Decision, Limits, Rule};
use crate::stats::Interval;
use firstflight_table::text::rounded;
use serde::Serialize;

/// The tuning with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Experiment {
    /// The arm as typed, with ranges.
    pub arm: String,
    /// Name of the population.
    pub population: String,
    /// The objective, which is minimised: `time`, `p95` or `time+loss:W`.
    pub objective: String,
    /// The acceptable cost; the margins of a decision apply where a value is absent.
    pub limits: Limits,
    /// Number of evaluations.
    pub budget: u64,
    /// Connections of the training set, and of the validation set.
    pub flows: u64,
    /// Connections of the hold-out.
    pub holdout_flows: u64,
    /// Seed.
    pub seed: u64,
    /// Seed of the training set's connections.
    pub training_seed: u64,
    /// Seed of the validation set's connections.
    pub validation_seed: u64,
    /// Seed of the hold-out's connections.
    pub holdout_seed: u64,
    /// Protocol of the senders: `quic` or `tcp`.
    pub transport: String,
    /// Initial window of arms that specify none, packets.
    pub iw: u32,
    /// Simulated time after which a transfer stops.
    pub limit_s: f64,
}

/// A value of a parameter, with all other parameters as tuned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The value.
    pub value: String,
    /// Gain over the default arm in the unit of the objective, percent.
    pub gain: f64,
    /// Reduction of completion time against the default arm, percent.
    pub time_pct: f64,
    /// Increase of loss against the default arm, percentage points.
    pub loss_points: f64,
    /// True if the candidate stays within the limits.
    pub within_limits: bool,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Name, unique in this tuning.
    pub name: String,
    /// The part of the arm, `sender` for options behind `@`.
    pub part: String,
    /// The option.
    pub key: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// First value.
    pub low: String,
    /// Last value.
    pub high: String,
    /// Number of values.
    pub levels: usize,
    /// Value of the default arm.
    pub default: String,
    /// Tuned value.
    pub tuned: String,
    /// True if the two values differ.
    pub changed: bool,
    /// True if no value of its profile changes the objective significantly.
    pub flat: bool,
    /// Change of the objective if this parameter alone is put back to its default, percent
    /// (negative: worse), on the validation set; null if it has its default.
    pub put_back: Option<Interval>,
    /// Some of its values, with the other parameters as tuned, on the validation set.
    pub profile: Vec<Point>,
}

/// A candidate on the front of time against loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Front {
    /// The arm.
    pub arm: String,
    /// Reduction of completion time against the default arm, percent.
    pub time_pct: f64,
    /// Increase of loss against the default arm, percentage points.
    pub loss_points: f64,
    /// True if the candidate stays within the limits.
    pub within_limits: bool,
}

/// The gain of the judged arm over the default, by set of connections, in the unit of the
/// objective: percent of time, less the price of loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The arm that these numbers describe: the tuned one, or the winner of the training if the
    /// default was kept; null if no candidate was better in training.
    pub arm: Option<String>,
    /// On the connections on which it was chosen.
    pub training: Option<f64>,
    /// On the connections on which it was checked.
    pub validation: Option<f64>,
    /// On connections that were not used for tuning.
    pub holdout: Option<Interval>,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub(super) default: String,
    pub(super) tuned: String,
    pub(super) judged: Option<String>,
    pub(super) candidates: u64,
    pub(super) trials: u64,
    pub(super) training: Option<f64>,
    pub(super) validation: Option<f64>,
    pub(super) holdout: Option<Interval>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) front: Vec<Front>,
    pub(super) decision: Option<Decision>,
}

impl Found {
    /// Whether the default stays.
    pub fn keeps_default(&self) -> bool {
        self.tuned == self.default
    }

    /// The tuned arm, or the default if nothing is better.
    pub fn tuned(&self) -> &str {
        &self.tuned
    }

    /// The parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The decision on the judged arm.
    pub fn decision(&self) -> Option<&Decision> {
        self.decision.as_ref()
    }

    /// The answer in one or two sentences.
    pub(super) fn sentence(&self) -> String {
        let Found { default, candidates, .. } = self;
        let Some(decision) = &self.decision else {
            return format!(
                "The default is as good: none of {candidates} candidates was better than {default} within the limits."
            );
        };
        // No difference, or a worse arm: the numbers say more than the rule.
        if !self.keeps_default() && !matches!(decision.rule, Rule::Same | Rule::Keep) {
            return decision.sentence.clone();
        }
        let arm = self.judged.as_deref().unwrap_or(default);
        let [training, holdout] =
            [self.training, self.holdout.map(|of| of.value)].map(|of| of.map_or("?".into(), one));
        let interval = self
            .holdout
            .map_or(String::new(), |of| format!(" ({} to {})", one(of.low), one(of.high)));
        // The winner of the training was dropped although it is faster: it breaks a limit somewhere.
        if self.keeps_default() && self.holdout.is_some_and(|of| of.low > 0.0) {
            return format!(
                "Keep {default}: the best of {candidates} candidates, {arm}, gains {holdout} %{interval}, but not within the limits under every assumption."
            );
        }
        format!(
            "The default is as good. The best of {candidates} candidates, {arm}, gains {training} % where it was chosen and {holdout} %{interval} on connections it never met."
        )
    }
}

/// A number with one decimal, without -0.
fn one(value: f64) -> String {
    format!("{:.1}", rounded(value, 1))
}

/// The result of a tuning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuned {
    /// Version of the program.
    pub firstflight: &'static str,
    /// The tuning with every default filled in.
    pub experiment: Experiment,
    /// The answer, to be read first.
    pub sentence: String,
    /// The default arm.
    pub default: String,
    /// The tuned arm; the default if nothing is better.
    pub tuned: String,
    /// Number of candidates that were tried.
    pub candidates: u64,
    /// Trials of the search and the validation.
    pub trials: u64,
    /// Gain over the default, by set of connections.
    pub gain: Gain,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Options that were not tuned, because their values cannot be enumerated.
    pub left_out: Vec<String>,
    /// Time against loss: candidates that no other one beats in both.
    pub front: Vec<Front>,
    /// The judgement on the hold-out, in every world; null if no candidate was better in training.
    pub decision: Option<Decision>,
    /// The command that repeats the judgement; null if there was none.
    pub judge_command: Option<String>,
}

impl Tuned {
    /// One JSON object; the same tuning gives the same bytes.
    pub fn to_json(&self) -> String {
        // Only maps with non-string keys can fail here, and there are none.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Unit of the gains, in words.
    pub fn unit(&self) -> &'static str {
        self.experiment.objective.parse().unwrap_or(Objective::Time).unit()
    }

    /// Names of the parameters that make no difference.
    pub fn flat(&self) -> Vec<&str> {
        let flat = self.parameters.iter().filter(|of| of.flat && !of.changed);
        flat.map(|of| of.name.as_str()).collect()
    }
}
