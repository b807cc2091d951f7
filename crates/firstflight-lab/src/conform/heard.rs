//! The events that the controller of a simulated connection received.

use crate::arms::NamedArm;
use crate::scenario::Scenario;
use firstflight::{Begin, Event};
use firstflight_path::Error;
use firstflight_sim::observe::Signals;
use firstflight_sim::{App, Observer, Record, Snapshot};

#[derive(Debug, Default)]
struct Heard {
    begin: Option<Begin>,
    events: Vec<Event>,
}

/// Events that the controller of a simulated connection received, in order, with its configuration:
/// the content of vectors.
///
/// # Errors
/// A one-line message if the scenario cannot run.
pub fn listen(
    arm: &NamedArm,
    scenario: &Scenario,
    app: App,
    seed: u64,
) -> Result<(Begin, Vec<Event>), Error> {
    let mut heard = Heard::default();
    scenario.simulate_app(arm, app, seed, Some(&mut heard))?;
    let begin = heard.begin.ok_or_else(|| Error::new("no connection began"))?;
    Ok((begin, heard.events))
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
