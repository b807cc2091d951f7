//! Verdicts of a script.

/// The verdict of one script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that could be judged holds.
    Pass,
    /// The first line that does not hold, with both values.
    Fail {
        /// Line of the file, from 1.
        line: usize,
        /// Expected and found.
        why: String,
    },
    /// The script was not played to the end.
    Skipped {
        /// Line of the file, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
}

impl Verdict {
    /// `pass`, `fail` or `skipped`.
    pub const fn name(&self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail { .. } => "fail",
            Verdict::Skipped { .. } => "skipped",
        }
    }

    /// Line and reason, if there is one.
    pub fn reason(&self) -> Option<(usize, &str)> {
        match self {
            Verdict::Pass => None,
            Verdict::Fail { line, why } | Verdict::Skipped { line, why } => Some((*line, why)),
        }
    }
}

/// A script that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// The verdict.
    pub verdict: Verdict,
    /// Expectations and statements that were judged.
    pub judged: u32,
    /// Statements that could not be judged, with their line and reason.
    pub unknown: Vec<String>,
}
