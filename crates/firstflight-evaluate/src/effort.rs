//! How many seeds are run, and whether fewer cells.

/// Amount of work to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Five seeds, and fewer cells where a scenario says so. Intervals are too wide to judge many
    /// rules together.
    Quick,
    /// What the battery says: 20 seeds, or 10.
    Standard,
    /// A hundred seeds.
    Full,
}

impl Effort {
    /// As in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Standard => "standard",
            Effort::Full => "full",
        }
    }

    pub(crate) fn seeds(self, standard: u32) -> u32 {
        match self {
            Effort::Quick => standard.min(5),
            Effort::Standard => standard,
            Effort::Full => 100,
        }
    }
}
