//! Knowledge that a connection gains about its path, for the next connection (Careful Resume, RFC
//! 9959).

use firstflight::resume::{Observation, Saved};
use firstflight::{AnyController, Begin, Event};

/// Follows a connection to record what the next one may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learner(Option<(Box<AnyController>, Observation)>);

impl Learner {
    /// The controller was built or rebuilt.
    pub(crate) fn begin(&mut self, begin: &Begin) {
        let seen = Observation::new(begin.config.mss);
        self.0 = Some((Box::new(begin.controller()), seen));
    }

    /// The controller received an event.
    pub(crate) fn hear(&mut self, event: &Event) {
        if let Some((controller, seen)) = &mut self.0 {
            controller.tell(event);
            seen.take(event, &**controller);
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// The state that may be saved.
    pub(crate) fn saved(&self) -> Option<Saved> {
        self.0.as_ref().and_then(|(_, seen)| seen.saved())
    }
}
