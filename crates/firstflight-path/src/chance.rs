//! Whether a path is random. Each of its keys knows whether it draws random values.

use crate::direction::{Effects, Rate};
use crate::effect_keys::{EFFECTS, is_open};
use crate::path::Path;
use crate::whole_keys::WHOLE;

impl Path {
    /// Whether packets can fare differently under two seeds.
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
