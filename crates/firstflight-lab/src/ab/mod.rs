//! A/B tests: every arm on the same drawn paths with the same objects, for thousands or millions of
//! connections, in constant memory.
//!
//! [`Test::run`] simulates connections in blocks and keeps sums of integers ([`tally`]); the same
//! connections give the same bytes on any number of threads and with any division into shards
//! ([`shard`]). [`analysis`] turns sums into estimates with intervals, and [`crate::decision`]
//! draws the conclusion.

pub mod analysis;
mod contrast;
mod flow;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod rows;
pub mod run;
pub mod shard;
pub mod tally;
pub mod words;

pub use analysis::Analysis;
pub use contrast::LEAST_FLOWS;
pub use flow::FlowResult;
pub use run::{Run, Watch};
pub use tally::Tallies;

use crate::arms::NamedArm;
use crate::decision::{Corner, Limits};
use crate::population::{Assumption, Knobs, Population, World};
use crate::scenario::Hosts;
use firstflight::Nanos;
use firstflight_path::Error;
use firstflight_path::random::mix;
use serde::{Deserialize, Serialize};

/// The end whose clock determines when a transfer is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The receiver's: the last byte was delivered in order there.
    #[default]
    Receiver,
    /// The sender's: the last byte was acknowledged there, after the receiver's delayed ACK. For
    /// comparison with published results measured at the sender.
    Sender,
}

impl Clock {
    /// Name in experiments.
    pub const fn name(self) -> &'static str {
        match self {
            Clock::Receiver => "receiver",
            Clock::Sender => "sender",
        }
    }
}

/// An A/B test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Source of paths and objects.
    pub population: Population,
    /// The arms, the baseline first.
    pub arms: Vec<NamedArm>,
    /// Number of connections.
    pub flows: u64,
    /// Seed of every draw.
    pub seed: u64,
    /// Initial window, in packets, of arms that specify none.
    pub iw: u32,
    /// Pacer's bucket, in packets, of arms that specify none.
    pub burst: u32,
    /// Simulated time after which an unfinished transfer stops.
    pub limit: Nanos,
    /// Transport, sizes and timers of the hosts.
    pub host: Hosts,
    /// Loss-detection preset, if one was requested by name.
    pub detection: Option<String>,
    /// The clock that the times refer to.
    pub clock: Clock,
    /// The cost that is acceptable in exchange for shorter times.
    pub limits: Limits,
}

/// Maximum number of connections of a test: their sums must fit.
pub const MOST_FLOWS: u64 = 1_000_000_000;
/// Longest limit, s: times in microseconds must fit into 32 bits.
pub const MOST_SECONDS: u64 = 3600;

/// The test with every default filled in, as results and shards record it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The testbed.
    pub testbed: String,
    /// Protocol of the senders: `quic` or `tcp`.
    pub transport: String,
    /// Loss-detection preset, if one was requested.
    pub detection: Option<String>,
    /// Name of the population.
    pub population: String,
    /// The population as a file, with its knobs applied.
    pub population_toml: String,
    /// Unmeasured values, each with the two ends of its range.
    pub assumptions: Vec<Assumed>,
    /// The worlds in addition to the central assumptions.
    pub worlds: Vec<Corner>,
    /// One in this many connections also runs in these worlds; 0 if there are none.
    pub worlds_every: u64,
    /// The cost that is acceptable in exchange for shorter times.
    pub limits: Limits,
    /// Groups, in order.
    pub groups: Vec<String>,
    /// Edges of the size bins, bytes.
    pub size_bins: Vec<u64>,
    /// Names of the arms, the baseline first.
    pub arms: Vec<String>,
    /// The arms in full.
    pub arms_full: Vec<String>,
    /// Number of connections.
    pub flows: u64,
    /// Seed.
    pub seed: u64,
    /// Initial window of arms that specify none, packets.
    pub iw: u32,
    /// Pacer's bucket of arms that specify none, packets.
    pub burst: u32,
    /// Simulated time after which a transfer stops; the limit then counts as its time.
    pub limit_s: f64,
    /// IP bytes of a full packet.
    pub packet_bytes: u32,
    /// Number of packets per ACK.
    pub ack_every: u32,
    /// Longest ACK delay.
    pub max_ack_delay_ms: f64,
    /// The clock that the times refer to: `receiver` or `sender`.
    pub clock: String,
}

/// An assumption of the population, as recorded in the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assumed {
    /// Name of the assumption.
    pub value: String,
    /// The lower end, as text.
    pub low: String,
    /// The upper end.
    pub high: String,
    /// Reason for this range.
    pub reference: String,
}

impl From<&Assumption> for Assumed {
    fn from(of: &Assumption) -> Assumed {
        let Assumption { value, low, high, reference } = of;
        Assumed {
            value: value.clone(),
            low: low.words.clone(),
            high: high.words.clone(),
            reference: reference.clone(),
        }
    }
}

/// A world, as recorded in the results.
fn corner(world: &World) -> Corner {
    let Knobs { q, k, s, r, l, .. } = &world.population.knobs;
    Corner {
        words: world.words.clone(),
        ends: world.ends.clone(),
        knobs: format!("q = {q:?}, k = {k:?}, s = {s:?}, r = {r:?}, l = {l:?}"),
    }
}

impl Test {
    /// Refuses an invalid test.
    ///
    /// # Errors
    /// A one-line message if it is invalid.
    pub fn check(&self) -> Result<(), Error> {
        if self.arms.len() < 2 {
            return Err(Error::new(
                "nothing to test: a baseline and at least one other arm are needed",
            ));
        }
        for (index, arm) in self.arms.iter().enumerate() {
            if let Some(twin) = self.arms[..index]
                .iter()
                .find(|other| other.label == arm.label || other.sender == arm.sender)
            {
                return Err(Error::new(format!(
                    "arms `{}` and `{}` are the same; allowed: each once, the baseline included",
                    twin.label, arm.label
                )));
            }
        }
        if self.arms.len() > 32 {
            return Err(Error::new(format!("{} arms; allowed: at most 32", self.arms.len())));
        }
        if !(1..=MOST_FLOWS).contains(&self.flows) {
            return Err(Error::new(format!("{} flows; allowed: 1 to {MOST_FLOWS}", self.flows)));
        }
        if self.limit.0 == 0 || self.limit.0 > MOST_SECONDS * 1_000_000_000 {
            return Err(Error::new(format!(
                "limit of {} s; allowed: more than 0 and at most {MOST_SECONDS}",
                self.limit.0 / 1_000_000_000
            )));
        }
        Ok(())
    }

    /// The test with every default filled in.
    pub fn experiment(&self) -> Experiment {
        let worlds: Vec<Corner> = self.population.worlds().iter().map(corner).collect();
        Experiment {
            testbed: "sim".into(),
            transport: if matches!(self.host, Hosts::Tcp(_)) { "tcp" } else { "quic" }.into(),
            detection: self.detection.clone(),
            population: self.population.name.clone(),
            population_toml: self.population.to_string(),
            assumptions: self.population.assumptions.iter().map(Assumed::from).collect(),
            worlds_every: if worlds.is_empty() { 0 } else { self.worlds_stride() },
            worlds,
            limits: self.limits,
            groups: self.population.groups.iter().map(|group| group.name.clone()).collect(),
            size_bins: self.population.size_bins.clone(),
            arms: self.arms.iter().map(|arm| arm.label.clone()).collect(),
            arms_full: self.arms.iter().map(NamedArm::full).collect(),
            flows: self.flows,
            seed: self.seed,
            iw: self.iw,
            burst: self.burst,
            limit_s: crate::trial::ms(self.limit.0) / 1e3,
            packet_bytes: self.host.packet_bytes(),
            ack_every: self.host.ack_every(),
            max_ack_delay_ms: crate::trial::ms(self.host.ack_delay()),
            clock: self.clock.name().into(),
        }
    }

    /// Connections per block, the unit of sharding and resuming: about a hundred blocks per test,
    /// each large enough to justify a file and small enough to repeat if it is lost.
    pub fn block(&self) -> u64 {
        (self.flows / 128).next_power_of_two().clamp(64, 16_384)
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.flows.div_ceil(self.block())
    }

    /// Stride of the connections on which all arms also run in the other worlds. A large test has
    /// 4000 of them at each end of an assumption, which half of the corners share; a small test has
    /// a quarter of its connections.
    pub fn worlds_stride(&self) -> u64 {
        let corners_of_an_end = 1 << self.population.assumptions.len().saturating_sub(1);
        (self.flows * corners_of_an_end / 4_000).max(4)
    }

    /// The population in every world except the central one.
    pub fn worlds(&self) -> Vec<Population> {
        self.population.worlds().into_iter().map(|world| world.population).collect()
    }

    /// Interval between the connections on which the baseline also runs against itself, with other seeds.
    pub fn aa_stride(&self) -> u64 {
        (self.flows / 4_000).max(1)
    }
}

impl Experiment {
    /// A hash of everything that affects results.
    pub fn hash(&self) -> u64 {
        let text = serde_json::to_string(self).unwrap_or_default();
        let own = format!("{}\n{text}", env!("CARGO_PKG_VERSION"));
        own.bytes().fold(own.len() as u64, |sum, byte| mix(sum ^ u64::from(byte)))
    }

    /// The size range of a bin as text.
    pub fn size_label(&self, bin: usize) -> String {
        let figure = |bytes: u64| match bytes {
            1_000_000.. if bytes.is_multiple_of(100_000) => format!("{} MB", bytes as f64 / 1e6),
            1_000.. => format!("{} kB", bytes as f64 / 1e3),
            _ => format!("{bytes} B"),
        };
        let edge = |index: usize| self.size_bins.get(index).copied().map(figure);
        match (bin.checked_sub(1).and_then(edge), edge(bin)) {
            (None, Some(high)) => format!("below {high}"),
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("{low} and more"),
            (None, None) => "any size".into(),
        }
    }
}
