//! Arms as users write them: a label, what it stands for, and a helpful refusal.

use crate::error::{Bad, nearest};
use crate::own::OwnStartup;
use firstflight::arm::{AVOIDANCES, Arm, ArmError, RECOVERIES, SHORT_NAMES, STARTUPS, split_list};

/// An arm with the name it was asked for by.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArm {
    /// As typed.
    pub label: String,
    /// What it means.
    pub arm: Arm,
    /// A controller of the running kernel instead: `cubic` of `kernel:cubic`. `arm` is then slow start, for want of anything better.
    pub kernel: Option<String>,
    /// A startup that is not ours takes the place of the arm's, which is then slow start.
    pub own: Option<OwnStartup>,
}

impl NamedArm {
    /// What it is in full: the arm with all that differs from the defaults, or the kernel's controller.
    pub fn full(&self) -> String {
        match (&self.kernel, &self.own) {
            (Some(name), _) => format!("{KERNEL}{name}"),
            (None, Some(own)) => {
                let text = self.arm.to_string();
                format!("{}{}", own.name(), text.strip_prefix(STAND_IN).unwrap_or_default())
            }
            (None, None) => self.arm.to_string(),
        }
    }

    /// An arm with a startup of one's own; `rest` is what would follow a startup's name: `/reno/prr@(iw=30)`, or nothing.
    ///
    /// # Errors
    /// One line if the rest is not the rest of an arm.
    pub fn with_own(label: &str, own: OwnStartup, rest: &str) -> Result<NamedArm, Bad> {
        if !(rest.is_empty() || rest.starts_with(['/', '@'])) {
            return Err(Bad(format!("arm `{label}`: `{rest}` cannot follow a startup; allowed: /avoidance/recovery@(options)")));
        }
        let arm = parse_arm(&format!("{STAND_IN}{rest}"))?;
        Ok(NamedArm { label: label.to_owned(), own: Some(own), ..arm })
    }
}

/// What the arm itself is where something else starts.
const STAND_IN: &str = "slowstart";

/// What stands in front of the kernel's own controllers.
const KERNEL: &str = "kernel:";

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
    let label = text.trim().to_owned();
    if let Some(name) = label.strip_prefix(KERNEL) {
        let kernel = Some(name.to_owned()).filter(|name| !name.is_empty());
        let kernel = kernel.ok_or_else(|| Bad(format!("arm `{label}`: a controller's name follows, such as `kernel:cubic`")))?;
        return Ok(NamedArm { arm: Arm::parse(STAND_IN).map_err(|error| Bad(error.to_string()))?, kernel: Some(kernel), own: None, label });
    }
    match Arm::parse(text) {
        Ok(arm) => Ok(NamedArm { label, arm, kernel: None, own: None }),
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
