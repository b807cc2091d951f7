//! How much to spend on a measurement.

use crate::servers::Fitted;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// For a glance, quick, in full: by document and measurement.
type Samples = BTreeMap<String, BTreeMap<String, [u32; 3]>>;

static SAMPLES: LazyLock<Samples> = LazyLock::new(|| {
    toml::from_str(include_str!("../papers/samples.toml")).expect("papers/samples.toml can be read")
});

/// Budget of a run, and state that its documents share.
pub struct Effort<'a> {
    /// Number of seeds and connections.
    pub scale: Scale,
    /// Called with what is being measured now; by documents side by side, on several threads.
    pub tell: &'a (dyn Fn(&str) + Sync),
    /// Called before each trial; unwinds where the run is to end.
    pub(crate) look: &'a (dyn Fn() + Sync),
    /// The fitted loss of web paths, from which several documents start.
    pub(crate) web: OnceLock<Fitted>,
}

/// Number of seeds and connections of an effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Enough to see that every row is measured and nothing else: for tests. Intervals say nothing.
    Glance,
    /// Minutes instead of tens of them.
    Quick,
    /// What the list of experiments asks for.
    Full,
}

impl<'a> Effort<'a> {
    /// For one run.
    pub fn new(scale: Scale, tell: &'a (dyn Fn(&str) + Sync)) -> Effort<'a> {
        Effort { scale, tell, look: &|| (), web: OnceLock::new() }
    }

    /// Number of seeds, draws or connections of a measurement: `document.name` of
    /// `papers/samples.toml`.
    ///
    /// # Panics
    /// If the file has no such name, which a test would see.
    pub fn sample(&self, name: &str) -> u32 {
        let known = name.split_once('.').and_then(|(table, key)| SAMPLES.get(table)?.get(key));
        let [glance, quick, full] =
            *known.unwrap_or_else(|| panic!("papers/samples.toml has no `{name}`"));
        match self.scale {
            Scale::Glance => glance,
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// The first unless the run is a full one.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.scale == Scale::Full { full } else { quick }
    }

    /// Before a trial: whether the run is to end.
    pub(crate) fn look(&self) {
        (self.look)();
    }

    /// Says what is being measured now.
    pub(crate) fn tell(&self, what: &str) {
        (self.tell)(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_run_takes_no_smaller_sample() {
        let all = SAMPLES.iter().flat_map(|(of, table)| table.iter().map(move |one| (of, one)));
        let mut seen = 0;
        for (document, (name, [glance, quick, full])) in all {
            assert!(glance <= quick && quick <= full && *full > 0, "{document}.{name}");
            seen += 1;
        }
        assert!(seen > 50, "the table has every measurement, not {seen}");
    }

    #[test]
    #[should_panic(expected = "papers/samples.toml has no `hystart.nothing`")]
    fn a_measurement_without_a_size_is_a_mistake() {
        Effort::new(Scale::Glance, &|_| {}).sample("hystart.nothing");
    }
}
