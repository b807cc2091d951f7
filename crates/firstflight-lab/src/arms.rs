//! Arms as users write them: a label, what it stands for, and a helpful refusal.

use crate::error::nearest;
use crate::own::OwnStartup;
use firstflight::arm::{AVOIDANCES, Arm, ArmError, RECOVERIES, SHORT_NAMES, STARTUPS, split_list};
use firstflight_path::Error;

/// Who sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Sender {
    /// One of ours: startup, avoidance, recovery and sender options.
    Arm(Arm),
    /// A controller of the running kernel: `cubic` of `kernel:cubic`.
    Kernel(String),
    /// A startup that is not ours in an arm of ours.
    Own {
        /// The startup.
        startup: OwnStartup,
        /// Avoidance, recovery and sender options. Its own startup is slow start, and never runs.
        rest: Arm,
    },
}

/// A sender with the name it was asked for by.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedArm {
    /// As typed.
    pub label: String,
    /// What it means.
    pub sender: Sender,
}

impl NamedArm {
    /// What it is in full: the arm with all that differs from the defaults, or the kernel's
    /// controller.
    pub fn full(&self) -> String {
        match &self.sender {
            Sender::Arm(arm) => arm.to_string(),
            Sender::Kernel(name) => format!("{KERNEL}{name}"),
            Sender::Own { startup, rest } => {
                let text = rest.to_string();
                format!("{}{}", startup.name(), text.strip_prefix(STAND_IN).unwrap_or_default())
            }
        }
    }

    /// Its parts that are ours, if any are: of a foreign startup, the rest of the arm.
    pub fn parts(&self) -> Option<&Arm> {
        match &self.sender {
            Sender::Arm(arm) | Sender::Own { rest: arm, .. } => Some(arm),
            Sender::Kernel(_) => None,
        }
    }

    /// The arm, where all of it is ours.
    ///
    /// # Errors
    /// One line for a controller of the kernel and for a foreign startup.
    pub fn arm(&self) -> Result<&Arm, Error> {
        match &self.sender {
            Sender::Arm(arm) => Ok(arm),
            Sender::Kernel(_) => Err(self.kernel_only()),
            Sender::Own { .. } => {
                Err(Error::new(format!("arm `{}`: its startup is not one of ours", self.label)))
            }
        }
    }

    pub(crate) fn kernel_only(&self) -> Error {
        Error::new(format!(
            "arm `{}`: the kernel's own controllers run on the testbed `linux` only",
            self.label
        ))
    }

    /// An arm with a startup of one's own; `rest` is what would follow a startup's name:
    /// `/reno/prr@(iw=30)`, or nothing.
    ///
    /// # Errors
    /// One line if the rest is not the rest of an arm.
    pub fn with_own(label: &str, startup: OwnStartup, rest: &str) -> Result<NamedArm, Error> {
        if !(rest.is_empty() || rest.starts_with(['/', '@'])) {
            return Err(Error::new(format!(
                "arm `{label}`: `{rest}` cannot follow a startup; allowed: /avoidance/recovery@(options)"
            )));
        }
        let rest = *parse_arm(&format!("{STAND_IN}{rest}"))?.arm()?;
        Ok(NamedArm { label: label.to_owned(), sender: Sender::Own { startup, rest } })
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
pub fn parse_arms(text: &str) -> Result<Vec<NamedArm>, Error> {
    split_list(text).map(parse_arm).collect()
}

fn parse_arm(text: &str) -> Result<NamedArm, Error> {
    let label = text.trim().to_owned();
    if let Some(name) = label.strip_prefix(KERNEL) {
        let name = Some(name.to_owned()).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| {
            Error::new(format!(
                "arm `{label}`: a controller's name follows, such as `kernel:cubic`"
            ))
        })?;
        return Ok(NamedArm { label, sender: Sender::Kernel(name) });
    }
    match Arm::parse(text) {
        Ok(arm) => Ok(NamedArm { label, sender: Sender::Arm(arm) }),
        Err(error) => {
            let near = match error {
                ArmError::UnknownStartup(name) => nearest(
                    name,
                    STARTUPS
                        .iter()
                        .map(|part| part.name)
                        .chain(SHORT_NAMES.iter().map(|short| short.name)),
                ),
                ArmError::UnknownAvoidance(name) => {
                    nearest(name, AVOIDANCES.iter().map(|part| part.name))
                }
                ArmError::UnknownRecovery(name) => {
                    nearest(name, RECOVERIES.iter().map(|part| part.name))
                }
                ArmError::UnknownOption { key, known, .. } => {
                    nearest(key, known.iter().map(|doc| doc.key))
                }
                _ => None,
            };
            Err(Error::new(match near {
                Some(near) => {
                    format!("{error}; did you mean `{near}`? (`firstflight arms` lists all)")
                }
                None if matches!(error, ArmError::UnknownStartup(_)) => {
                    format!("{error} (`firstflight arms` lists all)")
                }
                None => error.to_string(),
            }))
        }
    }
}
