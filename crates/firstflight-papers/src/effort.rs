//! How much to spend on a measurement.

/// How much to spend.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// How many seeds and connections.
    pub scale: Scale,
    /// Called with what is being measured now.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

/// How many seeds and connections an effort has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Enough to see that every row is measured and nothing else: for tests. Intervals say nothing.
    Glance,
    /// Minutes instead of tens of them.
    Quick,
    /// What the list of experiments asks for.
    Full,
}

impl Effort<'_> {
    /// Seeds of a laboratory case.
    pub fn seeds(&self) -> u32 {
        match self.scale {
            Scale::Glance => 2,
            Scale::Quick => 6,
            Scale::Full => 30,
        }
    }

    /// The first unless the run is a full one.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.scale == Scale::Full { full } else { quick }
    }

    /// Connections of a population: a glance takes a fortieth of a quick run.
    pub fn connections<T: From<u32> + std::ops::Div<Output = T> + Ord>(
        &self,
        quick: T,
        full: T,
    ) -> T {
        match self.scale {
            Scale::Glance => (quick / T::from(40)).max(T::from(40)),
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// Says what is being measured now.
    pub(crate) fn tell(&self, what: &str) {
        (self.tell)(what);
    }
}
