//! A population under every combination of its unmeasured assumptions.

use super::Population;
use super::assumption::Assumption;

/// One set of assumptions, and the population under it.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// Description as text.
    pub words: String,
    /// For each assumption, which end of its range applies: `true` for the high end.
    pub ends: Vec<bool>,
    /// The population with its knobs turned.
    pub population: Population,
}

impl Population {
    /// The worlds in addition to the central one: every corner of the assumptions that differs from
    /// it and from the others.
    pub fn worlds(&self) -> Vec<World> {
        let assumptions = &self.assumptions;
        let mut worlds: Vec<World> = Vec::new();
        for corner in 0..(1_usize << assumptions.len()) {
            let ends: Vec<bool> =
                (0..assumptions.len()).map(|bit| corner >> bit & 1 == 1).collect();
            let chosen = || {
                assumptions
                    .iter()
                    .zip(&ends)
                    .map(|(one, high)| if *high { &one.high } else { &one.low })
            };
            let mut knobs = self.knobs.clone();
            chosen().for_each(|end| end.setting.set(&mut knobs));
            chosen().for_each(|end| end.setting.scale(&mut knobs));
            if knobs == self.knobs || worlds.iter().any(|world| world.population.knobs == knobs) {
                continue;
            }
            let words: Vec<&str> = chosen().map(|end| end.words.as_str()).collect();
            let population = Population { knobs, assumptions: Vec::new(), ..self.clone() };
            worlds.push(World { words: words.join(", "), ends, population });
        }
        worlds
    }

    /// Fixes a knob that the user set, in every world. An assumption about this knob is dropped.
    pub(super) fn fix(&mut self, knob: &str) {
        let about = |one: &Assumption| {
            one.low.setting.leading().or(one.high.setting.leading()) == Some(knob)
        };
        self.assumptions.retain(|one| !about(one));
        for one in &mut self.assumptions {
            one.low.setting.forget(knob);
            one.high.setting.forget(knob);
        }
        self.assumptions.retain(|one| one.low.setting != one.high.setting);
    }
}
