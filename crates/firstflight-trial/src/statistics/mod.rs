//! Statistics of a field test: pure functions over columns of equal length.
//!
//! Rows of one unit (a client with many connections) are not independent, so every variance here is
//! a variance over units. Operators look at a test while it runs, so there are two intervals: one
//! for an end that was fixed in advance ([`student`]), and one that holds at every look
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

/// The arm, unit and stratum of each row. Units and strata are numbered from 0 without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The arm of each row.
    pub arm: &'a [u16],
    /// The unit of each row.
    pub unit: &'a [u32],
    /// The stratum of each row.
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

/// Number of equally large units that carry the same information: (sum n)^2 / sum n^2, with n the
/// rows of a unit.
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
