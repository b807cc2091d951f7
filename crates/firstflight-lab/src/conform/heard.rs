//! What the controller of a simulated connection was told.

use crate::arms::NamedArm;
use crate::scenario::Scenario;
use firstflight::{Begin, Event};
use firstflight_path::Error;
use firstflight_sim::observe::Signals;
use firstflight_sim::{App, Observer, Record, Snapshot};

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
        app: App,
        seed: u64,
    ) -> Result<(Begin, Vec<Event>), Error> {
        match app {
            App::Bulk(_) => scenario.simulate_watched(arm, seed, Some(self))?,
            app => scenario.run_app_watched(arm, app, seed, Some(self))?,
        };
        let begin = self.begin.ok_or_else(|| Error::new("no connection began"))?;
        Ok((begin, std::mem::take(&mut self.events)))
    }
}

/// What the controller of a simulated connection was told, in order, with what it was built from:
/// what vectors are made of.
///
/// # Errors
/// One line if the scenario cannot run.
pub fn listen(
    arm: &NamedArm,
    scenario: &Scenario,
    seed: u64,
) -> Result<(Begin, Vec<Event>), Error> {
    listen_to(arm, scenario, App::Bulk(scenario.bytes), seed)
}

/// The same of an application that is no plain object.
///
/// # Errors
/// Those of [`listen`].
pub(crate) fn listen_to(
    arm: &NamedArm,
    scenario: &Scenario,
    app: App,
    seed: u64,
) -> Result<(Begin, Vec<Event>), Error> {
    Heard::default().listen(arm, scenario, app, seed)
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
