//! Results of a request.

use crate::compare::Comparison;
use crate::sharing::Sharing;
use crate::table::table;
use firstflight_table::Table;

/// The result of an [`Asked`](super::Asked).
#[derive(Clone, Debug)]
pub enum Answer {
    /// For one flow at a time.
    Alone(Comparison),
    /// For several flows.
    Together(Sharing),
}

impl Answer {
    /// Whether every trial finished within the limit.
    pub fn complete(&self) -> bool {
        match self {
            Answer::Alone(comparison) => comparison.complete(),
            Answer::Together(sharing) => sharing.complete(),
        }
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> String {
        match self {
            Answer::Alone(comparison) => comparison.to_json(),
            Answer::Together(sharing) => sharing.to_json(),
        }
    }

    /// Caveats.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Answer::Alone(comparison) => comparison.warnings.clone(),
            Answer::Together(sharing) => {
                sharing.warnings.iter().cloned().chain(sharing.unfinished()).collect()
            }
        }
    }

    /// Result in a sentence or two; `None` for one trial of several flows.
    pub fn finding(&self) -> String {
        match self {
            Answer::Alone(comparison) => comparison.finding(),
            Answer::Together(sharing) if sharing.plan.plan.repeat > 1 => sharing.finding(),
            Answer::Together(_) => String::new(),
        }
    }

    /// Number of trials of each arm.
    pub fn trials(&self) -> u32 {
        match self {
            Answer::Alone(comparison) => comparison.plan.repeat,
            Answer::Together(sharing) => sharing.plan.plan.repeat,
        }
    }

    /// The printed table.
    pub fn table(&self) -> Table {
        match self {
            Answer::Alone(comparison) => table(comparison),
            Answer::Together(sharing) => sharing.table(),
        }
    }
}
