//! Arms as users write them: a label, what it stands for, and a helpful refusal.

use crate::error::{Bad, nearest};
use firstflight::arm::{AVOIDANCES, Arm, ArmError, RECOVERIES, SHORT_NAMES, STARTUPS, split_list};

/// An arm with the name it was asked for by.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArm {
    /// As typed.
    pub label: String,
    /// What it means.
    pub arm: Arm,
}

/// The arms that `compare` runs when none are named.
pub const DEFAULT_ARMS: &str = "slowstart,hystart,hystart++,rapid-nojump,rapid,oracle";

/// Reads a comma-separated list of arms.
///
/// # Errors
/// One line for the first arm that cannot be read, with the nearest known name where there is one.
pub fn parse_arms(text: &str) -> Result<Vec<NamedArm>, Bad> {
    split_list(text).map(parse_arm).collect()
}

fn parse_arm(text: &str) -> Result<NamedArm, Bad> {
    match Arm::parse(text) {
        Ok(arm) => Ok(NamedArm { label: text.trim().to_owned(), arm }),
        Err(error) => {
            let near = match error {
                ArmError::UnknownStartup(name) => {
                    nearest(name, STARTUPS.iter().map(|part| part.name).chain(SHORT_NAMES.iter().map(|short| short.name)))
                }
                ArmError::UnknownAvoidance(name) => nearest(name, AVOIDANCES.iter().map(|part| part.name)),
                ArmError::UnknownRecovery(name) => nearest(name, RECOVERIES.iter().map(|part| part.name)),
                ArmError::UnknownOption { key, known, .. } => nearest(key, known.iter().map(|doc| doc.key)),
                _ => None,
            };
            Err(Bad(match near {
                Some(near) => format!("{error}; did you mean `{near}`? (`firstflight arms` lists all)"),
                None if matches!(error, ArmError::UnknownStartup(_)) => format!("{error} (`firstflight arms` lists all)"),
                None => error.to_string(),
            }))
        }
    }
}
