//! A testbed that this build does not include: its name is known, and its error states how to get
//! it.

use super::bed::{Info, Testbed};
use crate::arms::NamedArm;
use crate::outcome::Outcome;
use crate::record::Recording;
use crate::scenario::Scenario;
use firstflight_path::Error;

/// A testbed that this build does not include.
#[allow(unreachable_pub, reason = "reachable through a testbed that this build does not have")]
#[cfg_attr(
    all(feature = "quic", feature = "linux", target_os = "linux"),
    expect(dead_code, reason = "this build has every testbed")
)]
pub struct Absent {
    pub(super) info: Info,
    /// One line: what is missing, and which build has it.
    pub(super) why: &'static str,
}

impl Testbed for Absent {
    fn info(&self) -> &Info {
        &self.info
    }

    fn available(&self) -> Result<(), Error> {
        Err(Error::new(self.why))
    }

    fn check(&self, _scenario: &Scenario, _arm: &NamedArm) -> Result<(), Error> {
        self.available()
    }

    fn run(
        &self,
        _scenario: &Scenario,
        _arm: &NamedArm,
        _seed: u64,
        _recorder: Option<&mut Recording>,
    ) -> Result<Outcome, Error> {
        Err(Error::new(self.why))
    }
}
