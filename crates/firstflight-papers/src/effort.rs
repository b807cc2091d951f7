//! The effort spent on a measurement.

use crate::servers::Fitted;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// Sample sizes for the scales `Glance`, `Quick` and `Full`, by document and measurement.
type Samples = BTreeMap<String, BTreeMap<String, [u32; 3]>>;

static SAMPLES: LazyLock<Samples> = LazyLock::new(|| {
    toml::from_str(include_str!("../papers/samples.toml")).expect("papers/samples.toml can be read")
});

/// Effort of a run, and state shared by its documents.
pub struct Effort<'a> {
    /// Number of seeds and connections.
    pub scale: Scale,
    /// Called with a description of each measurement before it starts, from several threads if documents run in
    /// parallel.
    pub tell: &'a (dyn Fn(&str) + Sync),
    /// Called before each trial; unwinds to stop the run.
    pub(crate) look: &'a (dyn Fn() + Sync),
    /// The fitted loss of web paths, shared by several documents.
    pub(crate) web: OnceLock<Fitted>,
}

/// Number of seeds and connections of an effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// For tests: only enough to check that every row is measured. Intervals are meaningless.
    Glance,
    /// Takes minutes instead of tens of minutes.
    Quick,
    /// The sample sizes that the list of experiments requires.
    Full,
}

impl<'a> Effort<'a> {
    /// The effort of one run.
    pub fn new(scale: Scale, tell: &'a (dyn Fn(&str) + Sync)) -> Effort<'a> {
        Effort { scale, tell, look: &|| (), web: OnceLock::new() }
    }

    /// Number of seeds, draws or connections of a measurement: `document.name` of
    /// `papers/samples.toml`.
    ///
    /// # Panics
    /// If the file has no such name, which a test would detect.
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

    /// `full` for a full run, otherwise `quick`.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.scale == Scale::Full { full } else { quick }
    }

    /// Called before a trial; unwinds if the run should stop.
    pub(crate) fn look(&self) {
        (self.look)();
    }

    /// Announces a measurement.
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
