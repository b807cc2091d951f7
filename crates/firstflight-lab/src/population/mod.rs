//! Populations: distributions over paths and object sizes, with named groups, as files anyone can
//! copy and change.
//!
//! A population is a TOML file (see [`Population::parse`]), a CSV file of quantiles or of measured
//! paths, or one of the [`builtin::names`]; options in parentheses change its knobs:
//! `cdn(q=0.8,k=0.001)`, `cdn-global-2019(mobile=0.8)`. [`Population::draw`] draws a connection
//! from a seed and an index.

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
    /// One-line description.
    pub about: String,
    /// Initial window, in packets, of arms that specify none, if the population's source states
    /// one.
    pub initial_window: Option<u32>,
    /// Edges of object size at which results are split, bytes, ascending.
    pub size_bins: Vec<u64>,
    /// Sources of its numbers.
    pub sources: Vec<Source>,
    /// Parameters that calibration may change.
    pub knobs: Knobs,
    /// Unmeasured values with their plausible ranges, for which [`crate::ab`] tests how far results
    /// depend on them.
    pub assumptions: Vec<Assumption>,
    /// The groups; weights sum to 1.
    pub groups: Vec<Group>,
}

/// Source of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The value.
    pub value: String,
    /// `S` stated, `C` read in public code, `D` derived, `U` remembered and unconfirmed, `A` our
    /// assumption.
    pub status: char,
    /// Document, or the reason for the value.
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

/// A part of a population with similar connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Share of the connections.
    pub weight: f64,
    /// Smallest buffer, packets of 1500 bytes.
    pub floor_packets: u64,
    /// Return path, as a value of the path key `return`: `plain` for a delay.
    pub return_path: String,
    /// Further keys common to all its paths: `wander=0.3:1s`, `ecn=1pkt`.
    pub path: String,
    /// Whether its paths never showed a full bottleneck and may be faster than `rate_down`.
    pub rate_is_lower_bound: bool,
    /// Measured paths, one of which each connection uses; they override the distributions.
    pub rows: Option<Rows>,
    /// Correlation of variables.
    pub correlation: Correlation,
    /// Loss in bursts; cannot be combined with independent loss.
    pub bursts: Option<Bursts>,
    /// Reordering of packets.
    pub reordering: Option<Reordering>,
    /// Token buckets on some of the paths.
    pub policer: Option<Policing>,
    /// Traffic of each connection.
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

    /// Path keys that are the same for all connections; empty if there are none.
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

/// Edges of object size at which results are split, if a population has none.
pub const SIZE_BINS: [u64; 6] = [30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];

impl Population {
    /// Initial window of arms that specify none, in packets: `asked`, otherwise that of the
    /// population, otherwise 10.
    pub fn window_or(&self, asked: Option<u32>) -> u32 {
        asked.or(self.initial_window).unwrap_or(10)
    }

    /// Whether connections carry more than one object each.
    pub fn has_apps(&self) -> bool {
        self.groups.iter().any(|group| group.workload != Workload::Object)
    }

    /// The size bin of an object: how many edges of [`Population::size_bins`] its size reaches.
    pub fn size_bin(&self, bytes: u64) -> usize {
        self.size_bins.partition_point(|edge| *edge <= bytes)
    }

    /// Caveats for results based on this population.
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
