//! Populations: distributions over paths and object sizes, with named groups, as files anyone can
//! copy and change.
//!
//! A population is a TOML file ([`Population::parse`] says what may stand in it), a CSV file of
//! quantiles or of measured paths, or one of the [`builtin::names`]; options in parentheses change
//! its knobs: `cdn(q=0.8,k=0.001)`, `cdn-global-2019(mobile=0.8)`. [`Population::draw`] makes a
//! connection out of a seed and a number.

mod app;
mod assumption;
pub mod builtin;
pub mod calibrate;
pub mod correlation;
pub mod describe;
pub mod distribution;
pub mod draw;
pub mod effects;
mod file;
mod knobs;
pub mod normal;
mod place;
pub mod quantiles;
pub mod rows;
mod text;
pub mod variable;
pub mod workload;
mod worlds;

pub use assumption::{Assumption, End, Setting};
pub use correlation::Correlation;
pub use distribution::{Distribution, Shape};
pub use draw::{Clipped, Drawn};
pub use effects::{Bursts, Policing, Reordering};
pub use knobs::Knobs;
pub use variable::{Unit, Variable};
pub use workload::Workload;
pub use worlds::World;

use rows::Rows;

/// A distribution over paths and objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// Name.
    pub name: String,
    /// Version of its numbers.
    pub version: String,
    /// Meaning in a line.
    pub about: String,
    /// Initial window in packets of arms that name none, where the population's source says one.
    pub initial_window: Option<u32>,
    /// Where results are cut by object size, bytes, rising.
    pub size_bins: Vec<u64>,
    /// Where its numbers come from.
    pub sources: Vec<Source>,
    /// Parameters that calibration may change.
    pub knobs: Knobs,
    /// Unmeasured values, with their plausible ranges: [`crate::ab`] tests results against them.
    pub assumptions: Vec<Assumption>,
    /// The groups; weights sum to 1.
    pub groups: Vec<Group>,
}

/// Where a number comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which value.
    pub value: String,
    /// `S` stated, `C` read in public code, `D` derived, `U` remembered and unconfirmed, `A` our
    /// assumption.
    pub status: char,
    /// Document, or the reason.
    pub reference: String,
}

impl Source {
    /// The status as a word.
    pub fn status_in_words(&self) -> &'static str {
        match self.status {
            'S' => "stated",
            'C' => "in code",
            'D' => "derived",
            'U' => "unconfirmed",
            _ => "assumed",
        }
    }
}

/// A part of a population whose connections are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Share of the connections.
    pub weight: f64,
    /// Smallest buffer, packets of 1500 bytes.
    pub floor_packets: u64,
    /// Return path, in the words of a path's key `return`: `plain` for a delay.
    pub return_path: String,
    /// Further keys common to all its paths: `wander=0.3:1s`, `ecn=1pkt`.
    pub path: String,
    /// Its paths never showed a full bottleneck: they may be faster than `rate_down` says.
    pub rate_is_lower_bound: bool,
    /// Measured paths, one of which each connection takes; they go before the distributions.
    pub rows: Option<Rows>,
    /// Correlation of variables.
    pub correlation: Correlation,
    /// Loss in bursts; not beside a loss of single packets.
    pub bursts: Option<Bursts>,
    /// Packets that are overtaken.
    pub reordering: Option<Reordering>,
    /// Token buckets on some of the paths.
    pub policer: Option<Policing>,
    /// Traffic of a connection.
    pub workload: Workload,
    variables: Vec<(Variable, Distribution)>,
}

impl Group {
    /// The distribution of a variable.
    pub fn get(&self, variable: Variable) -> Option<&Distribution> {
        self.variables
            .iter()
            .find(|(known, _)| *known == variable)
            .map(|(_, distribution)| distribution)
    }

    /// Keys of a path that are the same for all connections; empty if there are none.
    fn path_keys(&self) -> String {
        let back = if self.return_path == "plain" {
            String::new()
        } else {
            format!("return={}", self.return_path)
        };
        [back, self.path.clone()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Replaces the distribution of a variable.
    pub fn set(&mut self, variable: Variable, distribution: Distribution) {
        self.variables.retain(|(known, _)| *known != variable);
        self.variables.push((variable, distribution));
        self.variables.sort_by_key(|(known, _)| *known);
    }
}

/// Where results are cut by size if a population does not say.
pub const SIZE_BINS: [u64; 6] = [30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];

impl Population {
    /// Whether connections carry more than one object each.
    pub fn has_apps(&self) -> bool {
        self.groups.iter().any(|group| group.workload != Workload::Object)
    }

    /// The bin of an object: how many of [`Population::size_bins`] it reaches.
    pub fn size_bin(&self, bytes: u64) -> usize {
        self.size_bins.partition_point(|edge| *edge <= bytes)
    }

    /// Caveats for numbers that rest on this population.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.knobs.calibrated == Some(false) {
            warnings
                .push(format!("population {} is uncalibrated: {}", self.name, self.knobs.status));
        }
        let unsure: Vec<&str> = self
            .sources
            .iter()
            .filter(|source| source.status == 'U')
            .map(|source| source.value.as_str())
            .collect();
        if !unsure.is_empty() {
            warnings.push(format!(
                "population {}: unconfirmed (status U): {}",
                self.name,
                unsure.join(", ")
            ));
        }
        for group in &self.groups {
            if let Some(rows) = group.rows.as_ref().filter(|rows| rows.len() < rows::FEW_ROWS) {
                warnings.push(format!(
                    "{}: {} rows do not represent the tails of a distribution",
                    rows.file,
                    rows.len()
                ));
            }
        }
        warnings
    }
}
