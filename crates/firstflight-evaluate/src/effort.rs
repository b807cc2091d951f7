//! The effort of an evaluation: the number of seeds and cells.

/// Number of seeds and cells to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Five seeds, and fewer cells in scenarios that have `quick` values. Intervals are too wide to
    /// decide many rules that are tested together.
    Quick,
    /// The battery's numbers: 20 or 10 seeds.
    Standard,
    /// A hundred seeds.
    Full,
}

impl Effort {
    /// The name in reports.
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
