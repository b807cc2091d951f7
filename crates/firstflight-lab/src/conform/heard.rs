//! What the controller of a simulated connection was told.

use crate::arms::NamedArm;
use crate::scenario::Scenario;
use firstflight::{Begin, Event};
use firstflight_path::Error;
use firstflight_sim::observe::Signals;
use firstflight_sim::{Observer, Record, Snapshot};

/// Everything that the controller of a simulated connection was told.
#[derive(Debug, Default)]
struct Heard {
    begin: Option<Begin>,
    events: Vec<Event>,
}

impl Heard {
    fn listen(
        &mut self,
        arm: &NamedArm,
        scenario: &Scenario,
        seed: u64,
    ) -> Result<(Begin, Vec<Event>), Error> {
        scenario.simulate_watched(arm, seed, Some(self))?;
        let begin = self.begin.ok_or_else(|| Error::new("no connection began"))?;
        Ok((begin, std::mem::take(&mut self.events)))
    }
}

/// Events that the controller of a simulated connection received, in order, with its configuration:
/// the content of vectors.
///
/// # Errors
/// One line if the scenario cannot run.
pub fn listen(
    arm: &NamedArm,
    scenario: &Scenario,
    seed: u64,
) -> Result<(Begin, Vec<Event>), Error> {
    Heard::default().listen(arm, scenario, seed)
}

impl Observer for Heard {
    fn listens(&self) -> bool {
        true
    }

    fn on_event(&mut self, _snapshot: &Snapshot, _signals: &Signals<'_>) {}

    fn on_begin(&mut self, begin: &Begin, _started: firstflight::Time) {
        self.begin = Some(*begin);
    }

    fn on_told(&mut self, record: Record) {
        self.events.push(record.event);
    }
}
