//! Whether a path has chance. Each of its keys knows that of itself.

use crate::direction::{Effects, Rate};
use crate::effect_keys::{EFFECTS, is_open};
use crate::path::Path;
use crate::whole_keys::WHOLE;

impl Path {
    /// Whether two seeds can differ in what happens to a packet.
    pub fn has_chance(&self) -> bool {
        direction(Some(self.rate()), self.loss_ppb(), self.effects())
            || direction(self.up(), self.up_loss_ppb(), self.up_effects())
            || WHOLE.iter().any(|setting| (setting.draws)(self))
    }
}

fn direction(rate: Option<&Rate>, loss_ppb: u64, effects: &Effects) -> bool {
    rate.is_some_and(Rate::draws)
        || is_open(loss_ppb)
        || EFFECTS.iter().any(|setting| (setting.draws)(effects))
}
