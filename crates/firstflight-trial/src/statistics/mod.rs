//! Statistics of a field test: pure functions over columns of equal length.
//!
//! Rows of one unit (a client with many connections) are not independent of each other, so every
//! variance here is one over units. Operators look at a test while it runs, so there are two
//! intervals: one for the end, fixed before ([`student`]), and one that holds at every look
//! ([`sequence`]).

pub mod cuped;
pub mod effect;
pub mod mismatch;
pub mod power;
pub mod quantile;
pub mod rehearsal;
pub mod sequence;
pub mod stop;
pub mod student;
pub mod switchback;
pub mod totals;

/// Which arm, unit and stratum each row belongs to. Units and strata are numbered from 0 without
/// gaps.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The arm of each row.
    pub arm: &'a [u16],
    /// Its unit.
    pub unit: &'a [u32],
    /// Its stratum.
    pub stratum: &'a [u32],
}

impl Sample<'_> {
    fn units(&self) -> usize {
        self.unit.iter().max().map_or(0, |last| *last as usize + 1)
    }

    fn strata(&self) -> usize {
        self.stratum.iter().max().map_or(0, |last| *last as usize + 1)
    }
}

/// Number of equally large units with the same information: (sum n)^2 / sum n^2 of their rows.
pub fn effective_units(rows: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, squares) =
        rows.into_iter().fold((0.0, 0.0), |(sum, squares), n| (sum + n, squares + n * n));
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::effective_units;

    #[test]
    fn equal_units_count_fully_and_one_large_one_counts_for_itself() {
        assert!((effective_units([3.0; 40]) - 40.0).abs() < 1e-9);
        assert!((effective_units([1000.0, 1.0]) - 1.0).abs() < 0.01);
        assert!(effective_units([]).abs() < 1e-9);
    }
}
