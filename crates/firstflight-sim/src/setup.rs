//! Inputs of a trial.

use crate::hosts::Hosts;
use firstflight::Nanos;
use firstflight_path::Path;

/// Inputs of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The path.
    pub path: &'a Path,
    /// The hosts.
    pub host: Hosts,
    /// Depth of the pacer's token bucket, bytes.
    pub pacer_burst: u64,
    /// Object size, bytes; at least 1.
    pub object: u64,
    /// Simulated time after which an unfinished trial stops, and counts as incomplete.
    pub limit: Nanos,
    /// Seed of every random draw of the path.
    pub seed: u64,
    /// Index of the path in a population; keys the draws together with the seed.
    pub path_index: u64,
}
