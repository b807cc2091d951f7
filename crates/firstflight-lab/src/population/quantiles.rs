//! Quantile tables: a measured distribution as rows of share and value.
//!
//! Between two rows the logarithm of the value is linear in the share (the value itself if one of
//! them is 0). Outside the first and the last row the end value applies, so that no unmeasured tail
//! is invented.

use super::variable::{Unit, Variable};
use firstflight_path::Error;
use std::collections::BTreeMap;

/// A table of quantiles with at least three rows, strictly increasing shares within (0, 1), and
/// non-decreasing values.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileTable {
    rows: Vec<(f64, f64)>,
}

/// Minimum number of rows of a table.
const LEAST_ROWS: usize = 3;

impl QuantileTable {
    /// Makes a table from rows of `(share, value)`.
    ///
    /// # Errors
    /// Index of the invalid row, counted from 0, and the reason.
    pub fn new(rows: Vec<(f64, f64)>) -> Result<QuantileTable, (usize, String)> {
        for (index, &(q, value)) in rows.iter().enumerate() {
            if !(q > 0.0 && q < 1.0) {
                return Err((
                    index,
                    format!("q = {q} is out of range; allowed: more than 0 and less than 1"),
                ));
            }
            if let Some(&(before, smaller)) = index.checked_sub(1).and_then(|index| rows.get(index))
            {
                if q <= before {
                    return Err((
                        index,
                        format!("q = {q} follows {before}; allowed: strictly rising"),
                    ));
                }
                if value < smaller {
                    return Err((
                        index,
                        format!("value {value} follows {smaller}; allowed: never falling"),
                    ));
                }
            }
        }
        if rows.len() < LEAST_ROWS {
            return Err((
                rows.len().saturating_sub(1),
                format!(
                    "only {} rows; allowed: at least {LEAST_ROWS} for each variable",
                    rows.len()
                ),
            ));
        }
        Ok(QuantileTable { rows })
    }

    /// The table with every value multiplied by `factor`.
    #[must_use]
    pub fn times(&self, factor: f64) -> QuantileTable {
        QuantileTable {
            rows: self.rows.iter().map(|(share, value)| (*share, value * factor)).collect(),
        }
    }

    /// The rows, `(share, value)`.
    pub fn rows(&self) -> &[(f64, f64)] {
        &self.rows
    }

    /// The value at a share `u`.
    pub fn value(&self, u: f64) -> f64 {
        let above = self.rows.partition_point(|&(q, _)| q <= u);
        match (above.checked_sub(1).map(|below| self.rows[below]), self.rows.get(above)) {
            (None, Some(&(_, first))) => first,
            (Some((_, last)), None) => last,
            (Some((q0, v0)), Some(&(q1, v1))) => {
                let share = (u - q0) / (q1 - q0);
                // At a row the value is exact, without the rounding of exp(ln(v)).
                if share <= 0.0 || v0.total_cmp(&v1).is_eq() {
                    v0
                } else if v0 <= 0.0 {
                    v0 + (v1 - v0) * share
                } else {
                    let (l0, l1) = (libm::log(v0), libm::log(v1));
                    libm::exp(l0 + (l1 - l0) * share)
                }
            }
            (None, None) => 0.0,
        }
    }
}

/// Header of a file of quantile tables.
pub const HEADER: &str = "variable,unit,q,value";

/// Reads a file with header `variable,unit,q,value`.
///
/// # Errors
/// A one-line message with file and line.
pub fn parse(file: &str, text: &str) -> Result<BTreeMap<Variable, (QuantileTable, Unit)>, Error> {
    let bad = |line: usize, message: String| Error::new(format!("{file}:{line}: {message}"));
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    match lines.next() {
        Some((_, HEADER)) => {}
        found => {
            return Err(bad(
                1,
                format!("header `{}`; allowed: `{HEADER}`", found.map_or("", |(_, line)| line)),
            ));
        }
    }
    let mut tables: BTreeMap<Variable, Vec<(usize, Unit, f64, f64)>> = BTreeMap::new();
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let [name, unit, q, value] = cells[..] else {
            return Err(bad(
                number,
                format!("{} cells; allowed: 4, as in `{HEADER}`", cells.len()),
            ));
        };
        let variable = Variable::named(name).ok_or_else(|| {
            let known = Variable::ALL.map(Variable::name).join(", ");
            bad(number, format!("variable: `{name}` is unknown; allowed: {known}"))
        })?;
        let (unit, factor) = variable.csv_unit(unit).ok_or_else(|| {
            bad(
                number,
                format!(
                    "unit: `{unit}` is not a unit of {name}; allowed: {}",
                    variable.csv_units()
                ),
            )
        })?;
        let read = |key: &str, text: &str| {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| {
                bad(
                    number,
                    format!("{key}: `{text}` is not a number; allowed: a plain decimal number"),
                )
            })
        };
        let (q, value) = (read("q", q)?, read("value", value)? * factor);
        // A buffer of 0 is raised to its floor.
        let empty_buffer = variable == Variable::Buffer && value.to_bits() == 0;
        if !variable.allows(value) && !empty_buffer {
            return Err(bad(
                number,
                format!(
                    "value: {value} is out of range for {name}; allowed: {}",
                    variable.allowed()
                ),
            ));
        }
        let rows = tables.entry(variable).or_default();
        if rows.first().is_some_and(|first| first.1 != unit) {
            return Err(bad(
                number,
                format!("unit: {name} is given in two kinds of units; allowed: one"),
            ));
        }
        rows.push((number, unit, q, value));
    }
    if tables.is_empty() {
        return Err(bad(
            1,
            "no row below the header; allowed: at least 3 for each variable".into(),
        ));
    }
    let build = |(variable, rows): (Variable, Vec<(usize, Unit, f64, f64)>)| {
        let unit = rows[0].1;
        let table = QuantileTable::new(rows.iter().map(|row| (row.2, row.3)).collect()).map_err(
            |(index, message)| bad(rows[index].0, format!("{}: {message}", variable.name())),
        )?;
        Ok((variable, (table, unit)))
    };
    tables.into_iter().map(build).collect()
}
