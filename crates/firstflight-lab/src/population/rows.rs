//! Measured paths, one per line: a connection uses a whole row, so that correlations in the data
//! are preserved.

use super::variable::{Unit, Variable};
use firstflight_path::Error;
use firstflight_path::random::mix;

/// One measured path, in internal units; `None` for columns that the file does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredPath {
    values: [Option<f64>; COLUMNS.len()],
    weight: f64,
    group: String,
}

/// A file of measured paths, or one group of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The file name as given.
    pub file: String,
    /// The group of the file; `None` for all.
    pub group: Option<String>,
    /// Standard deviation of the logarithm of the random factor applied to each value.
    pub jitter: f64,
    /// A hash of the file's content.
    pub digest: u64,
    paths: Vec<MeasuredPath>,
    /// Cumulative sums of the weights.
    sums: Vec<f64>,
}

/// Columns with values: name, variable, unit, factor.
const COLUMNS: [(&str, Variable, Unit, f64); 7] = [
    ("rtt_ms", Variable::Rtt, Unit::Ms, 1.0),
    ("rate_mbps", Variable::RateDown, Unit::Mbps, 1.0),
    ("rate_up_mbps", Variable::RateUp, Unit::Mbps, 1.0),
    ("buffer_ms", Variable::Buffer, Unit::Ms, 1.0),
    ("buffer_bdp", Variable::Buffer, Unit::Bdp, 1.0),
    ("loss_pct", Variable::Loss, Unit::Ratio, 0.01),
    ("size_bytes", Variable::Size, Unit::Bytes, 1.0),
];

/// With fewer rows than this, the tails of a distribution are mostly random.
pub const FEW_ROWS: usize = 100;

impl Rows {
    /// Reads a file with a header of column names, which must include `rtt_ms` and `rate_mbps`.
    ///
    /// # Errors
    /// A one-line message with file and line.
    pub fn parse(file: &str, text: &str) -> Result<Rows, Error> {
        let bad = |line: usize, message: String| Error::new(format!("{file}:{line}: {message}"));
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let header: Vec<&str> =
            lines.next().map_or("", |(_, line)| line).split(',').map(str::trim).collect();
        let known = || {
            COLUMNS
                .iter()
                .map(|column| column.0)
                .chain(["group", "weight"])
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (index, name) in header.iter().enumerate() {
            if !COLUMNS.iter().any(|column| column.0 == *name)
                && !["group", "weight"].contains(name)
            {
                return Err(bad(1, format!("column `{name}` is unknown; allowed: {}", known())));
            }
            if header[..index].contains(name) {
                return Err(bad(1, format!("column `{name}` is given twice; allowed: once")));
            }
        }
        for needed in ["rtt_ms", "rate_mbps"] {
            if !header.contains(&needed) {
                return Err(bad(1, format!("column `{needed}` is missing; allowed: {}", known())));
            }
        }
        if header.contains(&"buffer_ms") && header.contains(&"buffer_bdp") {
            return Err(bad(
                1,
                "columns `buffer_ms` and `buffer_bdp` both; allowed: one of them".into(),
            ));
        }
        let paths: Vec<MeasuredPath> = lines
            .filter(|(_, line)| !line.is_empty())
            .map(|(number, line)| read_row(&header, line).map_err(|message| bad(number, message)))
            .collect::<Result<_, _>>()?;
        if paths.is_empty() {
            return Err(bad(1, "no row below the header; allowed: at least one".into()));
        }
        let rows = Rows {
            file: file.to_owned(),
            group: None,
            jitter: 0.0,
            digest: digest(text),
            sums: sums(&paths),
            paths,
        };
        if rows.weight() <= 0.0 {
            return Err(bad(1, "weight: all weights are 0; allowed: a sum above 0".into()));
        }
        Ok(rows)
    }

    fn weight(&self) -> f64 {
        self.sums.last().copied().unwrap_or(0.0)
    }

    /// The names in the column `group`, in order of appearance, with their shares of the weight. A
    /// single unnamed group if there is no such column.
    pub fn groups(&self) -> Vec<(String, f64)> {
        let mut groups: Vec<(String, f64)> = Vec::new();
        for path in &self.paths {
            match groups.iter_mut().find(|group| group.0 == path.group) {
                Some(group) => group.1 += path.weight / self.weight(),
                None => groups.push((path.group.clone(), path.weight / self.weight())),
            }
        }
        groups
    }

    /// The rows of one group; `None` if there are none.
    pub fn only(&self, group: &str) -> Option<Rows> {
        let paths: Vec<MeasuredPath> =
            self.paths.iter().filter(|path| path.group == group).cloned().collect();
        let rows =
            Rows { sums: sums(&paths), paths, group: Some(group.to_owned()), ..self.clone() };
        (rows.weight() > 0.0).then_some(rows)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Always false: a file without rows is refused.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Whether the file has a column for the variable.
    pub fn has(&self, variable: Variable) -> bool {
        self.paths[0].value(variable).is_some()
    }

    /// The row that a uniform number selects.
    pub fn pick(&self, u: f64) -> &MeasuredPath {
        let reached = u * self.weight();
        // The last row with a weight takes the remainder from rounding.
        &self.paths[self
            .sums
            .partition_point(|sum| *sum <= reached)
            .min(self.sums.partition_point(|sum| *sum < self.weight()))]
    }
}

impl MeasuredPath {
    /// The row's value of a variable.
    pub fn value(&self, variable: Variable) -> Option<(f64, Unit)> {
        COLUMNS
            .iter()
            .zip(&self.values)
            .filter(|(column, _)| column.1 == variable)
            .find_map(|(column, value)| Some(((*value)?, column.2)))
    }
}

fn digest(text: &str) -> u64 {
    text.bytes().fold(text.len() as u64, |sum, byte| mix(sum ^ u64::from(byte)))
}

fn sums(paths: &[MeasuredPath]) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |path: &MeasuredPath| {
        sum += path.weight;
        sum
    };
    paths.iter().map(add).collect()
}

fn read_row(header: &[&str], line: &str) -> Result<MeasuredPath, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != header.len() {
        return Err(format!(
            "{} cells under {} columns; allowed: as many",
            cells.len(),
            header.len()
        ));
    }
    let mut path =
        MeasuredPath { values: [None; COLUMNS.len()], weight: 1.0, group: String::new() };
    for (name, cell) in header.iter().zip(cells) {
        if *name == "group" {
            cell.clone_into(&mut path.group);
            continue;
        }
        let number = cell.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(|| {
            format!("{name}: `{cell}` is not a number; allowed: a plain decimal number")
        })?;
        if *name == "weight" {
            if number < 0.0 {
                return Err(format!("weight: {number} is negative; allowed: 0 or more"));
            }
            path.weight = number;
        } else if let Some((index, column)) =
            COLUMNS.iter().enumerate().find(|(_, column)| column.0 == *name)
        {
            let value = number * column.3;
            if !column.1.allows(value) {
                return Err(format!(
                    "{name}: {number} is out of range; allowed: {}",
                    column.1.allowed()
                ));
            }
            path.values[index] = Some(value);
        }
    }
    Ok(path)
}
