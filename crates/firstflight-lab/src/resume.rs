//! A connection that follows another: the second starts with what the first learned about its path
//! (Careful Resume, RFC 9959).

use crate::arms::{NamedArm, Sender};
use crate::learner::Learner;
use crate::record::Recording;
use crate::scenario::Scenario;
use crate::testbed::Testbed;
use firstflight::arm::Arm;
use firstflight::resume::{Saved, is_resumable, unsaved};
use firstflight_path::{Error, Path};

/// The value of `--resume` for the same path.
pub const SAME: &str = "same";

/// Every arm that can use what an earlier connection has learned (`careful`, `plumb`) follows such a
/// connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resume {
    /// The path of that connection; `None` for the path of the second.
    pub path: Option<Path>,
}

impl Resume {
    /// Parses `same`, or a path as for `--path`.
    ///
    /// # Errors
    /// If the text is not a path.
    pub fn parse(text: &str) -> Result<Resume, Error> {
        let path = (text != SAME).then(|| Path::parse(text)).transpose()?;
        Ok(Resume { path })
    }

    /// Whether two seeds can differ in what the first connection learns.
    pub(crate) fn has_chance(&self) -> bool {
        self.path.as_ref().is_some_and(Path::has_chance)
    }

    /// As typed.
    pub fn text(&self) -> String {
        self.path.as_ref().map_or_else(|| SAME.to_owned(), ToString::to_string)
    }

    /// Runs the first connection and returns the arm of the second, which is the arm itself if
    /// nothing was learned. The first connection has the same object and seed, but different draws.
    ///
    /// # Errors
    /// Errors of the testbed, and a one-line message if the testbed does not expose the
    /// controller's events.
    pub fn second(
        &self,
        bed: &dyn Testbed,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
    ) -> Result<Option<(NamedArm, Saved)>, Error> {
        let Some(parts) = resumable(arm) else { return Ok(None) };
        let path = self.path.clone().unwrap_or_else(|| scenario.path.clone());
        // Draws that differ from those of the second connection in any of its trials.
        let earlier =
            Scenario { path, path_index: scenario.path_index.wrapping_add(1), ..scenario.clone() };
        let mut recording = Recording::learning();
        let named = NamedArm { sender: Sender::Arm(unsaved(parts)), ..arm.clone() };
        bed.run(&earlier, &named, seed, Some(&mut recording))?;
        let learner = recording.take_learner().filter(Learner::has_begun).ok_or_else(|| {
            Error::new(format!(
                "--resume: the testbed `{}` does not expose the events of a controller",
                bed.info().name
            ))
        })?;
        Ok(learner.saved().and_then(|saved| {
            let sender = Sender::Arm(saved.resume(parts)?);
            Some((NamedArm { sender, ..arm.clone() }, saved))
        }))
    }
}

/// The arm, if it is ours and can use what was learned.
fn resumable(arm: &NamedArm) -> Option<Arm> {
    match arm.sender {
        Sender::Arm(parts) if is_resumable(parts) => Some(parts),
        _ => None,
    }
}

/// Whether an arm follows an earlier connection.
pub(crate) fn resumes(arm: &NamedArm) -> bool {
    resumable(arm).is_some()
}
