//! Connections of web and video servers in 2011: the populations `us-web`, `us-small` and
//! `in-video` with adjusted parameters, and runs of their connections under an arm.

use super::lab::{Sender, Vary, arm, together};
use firstflight::Nanos;
use firstflight::detection::early_retransmit;
use firstflight::detection::presets::Preset;
use firstflight_lab::Error;
use firstflight_lab::arms::NamedArm;
use firstflight_lab::population::{
    Distribution, Drawn, Population, Shape, Unit, Variable, builtin,
};
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::Path;
use firstflight_path::random::{Purpose, Stream, uniform};
use firstflight_sim::{Outcome, tcp};
use rayon::prelude::*;

/// Seed of every population: all arms get the same draws.
const SEED: u64 = 1;

/// Calibrated parameters, and parameters that a row changes; all others are in the population's file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Knobs {
    /// Probability of entering the bad state, per packet.
    pub g: f64,
    /// Mean number of packets in the bad state and loss probability in it, if a row changes the file's values.
    pub bursts: Option<(f64, f64)>,
    /// Share of packets that others overtake.
    pub reordered: f64,
    /// Share of paths with a policer.
    pub policed: f64,
    /// Factor on the file's response sizes.
    pub sizes: Option<f64>,
    /// Negative control: independent loss instead of bursts, and a queue of two BDP on every path.
    pub independent: bool,
}

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Population `us-web`.
    Web,
    /// Population `us-small`.
    Small,
    /// Population `in-video`.
    Video,
}

impl Service {
    /// The population's file with these parameters.
    fn population(self, knobs: Knobs) -> Result<Population, Error> {
        let name = match self {
            Service::Web => "us-web",
            Service::Small => "us-small",
            Service::Video => "in-video",
        };
        let mut population = builtin::population(name)
            .ok_or_else(|| Error::new(format!("the population `{name}` is missing")))??;
        for group in &mut population.groups {
            if let Some(bursts) = &mut group.bursts {
                bursts.g = knobs.g;
                (bursts.packets, bursts.h) = knobs.bursts.unwrap_or((bursts.packets, bursts.h));
            }
            if let Some(reordering) = &mut group.reordering {
                reordering.share = knobs.reordered;
            }
            if let Some(policer) = &mut group.policer {
                policer.share = knobs.policed;
            }
            if let (Some(factor), Some(size)) = (knobs.sizes, group.get(Variable::Size)) {
                let larger = size.times(factor);
                group.set(Variable::Size, larger);
            }
            if knobs.independent {
                let constant = |value, unit| Distribution { shape: Shape::Constant(value), unit };
                (group.bursts, group.policer, group.floor_packets) = (None, None, 20);
                group.set(Variable::Loss, constant(knobs.g, Unit::Ratio));
                group.set(Variable::Buffer, constant(2.0, Unit::Bdp));
            }
        }
        Ok(population)
    }
}

/// An arm of these experiments: controller, loss detection and early retransmit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    pub arm: &'static str,
    pub preset: &'static str,
    pub early: Option<early_retransmit::Options>,
}

impl Server {
    pub(crate) const fn linux26(arm: &'static str) -> Server {
        Server { arm, preset: "linux26", early: None }
    }
}

/// A response that lost at least one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub bytes: u64,
    /// Time from the first byte sent to the last byte acknowledged.
    pub ms: f64,
}

/// Counters of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// Completely served responses.
    pub responses: f64,
    /// Responses hit by a loss. The others, nineteen in twenty, are only counted.
    pub hits: Vec<Hit>,
    pub segments: f64,
    pub dropped: f64,
    pub repeats: f64,
    pub lost_repeats: f64,
    pub rtos: f64,
    pub recoveries: f64,
    pub timed_out: f64,
    pub below: f64,
    pub slow_starts: f64,
    pub recovering_ms: f64,
    pub early: f64,
    pub early_spurious: f64,
    /// Window at the end of the first recovery, if no timeout ended it, segments.
    pub first_exit: Option<f64>,
}

impl Counted {
    fn of(outcome: &Outcome) -> Counted {
        let served = outcome.parts.iter().filter(|part| part.latency().is_some());
        let hit = |part: &firstflight_sim::Part| {
            let ms = part.latency()?.0 as f64 / 1e6;
            (part.dropped > 0).then(|| Hit { bytes: part.bytes(), ms })
        };
        let took = outcome
            .episodes
            .iter()
            .filter_map(|episode| Some(episode.end?.since(episode.start).0 as f64 / 1e6));
        Counted {
            responses: served.count() as f64,
            hits: outcome.parts.iter().filter_map(hit).collect(),
            segments: outcome.counters.packets_sent as f64,
            dropped: outcome.counters.packets_dropped as f64,
            repeats: outcome.counters.retransmissions as f64,
            lost_repeats: outcome.counters.lost_retransmissions as f64,
            rtos: outcome.counters.rtos as f64,
            recoveries: outcome.counters.recoveries as f64,
            timed_out: outcome.counters.recoveries_timed_out as f64,
            below: outcome.counters.recoveries_below_ssthresh as f64,
            slow_starts: outcome.counters.slow_starts_after_recovery as f64,
            recovering_ms: took.sum(),
            early: outcome.counters.early_retransmits as f64,
            early_spurious: outcome.counters.early_retransmits_spurious as f64,
            first_exit: outcome
                .episodes
                .first()
                .filter(|first| first.end.is_some())
                .map(|first| first.cwnd_after as f64 / 1448.0),
        }
    }
}

/// Results of connections that ran before, with the number of packets sent and the packets that were lost or overtaken.
/// A result can be reused with other loss and reordering frequencies if the same packets are affected, and with another
/// recovery or early retransmit if nothing was lost, retransmitted, reordered or delayed by a timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(Vec<Option<Connection>>);

#[derive(Clone, Debug)]
struct Connection {
    packets: u64,
    taken: Vec<u64>,
    overtaken: Vec<(u64, u64)>,
    /// Arm and early retransmit; `None` if the result is valid for any.
    server: Option<(&'static str, Option<early_retransmit::Options>)>,
    counted: Counted,
}

/// Maximum number of packets that a connection may have sent in addition to its data.
const BESIDE: u64 = 8;

/// Runs `connections` connections under one arm.
pub(crate) fn serve(
    service: Service,
    knobs: Knobs,
    server: Server,
    connections: u32,
) -> Result<Vec<Counted>, Error> {
    serve_again(service, knobs, server, connections, &mut Known::default())
}

/// Like [`serve`], but reuses results in `known`. These must be of the same service, with parameters that differ only
/// in `g` and `reordered`, and of a server that differs only in its recovery and early retransmit.
pub(crate) fn serve_again(
    service: Service,
    knobs: Knobs,
    server: Server,
    connections: u32,
    known: &mut Known,
) -> Result<Vec<Counted>, Error> {
    let served = Serving::new(service, knobs, server)?;
    served.each(connections, &mut known.0, |index, drawn, path, known| {
        let falls = |path: &Path, packets: u64| path.falls(SEED, index, packets + BESIDE);
        let overtaken = |path: &Path, packets: u64| path.overtaken(SEED, index, packets + BESIDE);
        let this = (server.arm, server.early);
        if let Some(known) = known
            && known.server.is_none_or(|server| server == this)
            && falls(&path, known.packets)?.eq(known.taken.iter().copied())
            && overtaken(&path, known.packets)?.eq(known.overtaken.iter().copied())
        {
            return Ok(known.counted.clone());
        }
        let Some(outcome) = served.run(index, drawn, path.clone())? else {
            return Ok(Counted::default());
        };
        let counted = Counted::of(&outcome);
        let quiet = outcome.counters.packets_dropped
            + outcome.counters.retransmissions
            + outcome.counters.rtos
            == 0
            && outcome.counters.recoveries == 0;
        let packets = outcome.counters.packets_sent;
        let taken: Vec<u64> = falls(&path, packets)?.collect();
        let overtaken: Vec<(u64, u64)> = overtaken(&path, packets)?.collect();
        // A handshake with losses may have sent more packets.
        let counts = taken.iter().chain(overtaken.iter().map(|(ordinal, _)| ordinal));
        if counts.min().is_none_or(|first| *first >= BESIDE)
            && known.as_ref().is_none_or(|known| known.server.is_some())
        {
            let server = (!quiet || !overtaken.is_empty()).then_some(this);
            let counted = counted.clone();
            *known = Some(Connection { packets, taken, overtaken, server, counted });
        }
        Ok(counted)
    })
}

/// A server's population and hosts.
struct Serving {
    population: Population,
    arm: NamedArm,
    early: Option<early_retransmit::Options>,
    sack: Preset,
    plain: Preset,
}

impl Serving {
    fn new(service: Service, knobs: Knobs, server: Server) -> Result<Serving, Error> {
        let preset = |name: &str| {
            Preset::named(name).copied().ok_or_else(|| Error::new(format!("no preset `{name}`")))
        };
        Ok(Serving {
            population: service.population(knobs)?,
            arm: arm(server.arm)?,
            early: server.early,
            sack: preset(server.preset)?,
            plain: preset("reno")?,
        })
    }

    /// Runs `connections` connections, each with its draws, its path and its earlier result.
    fn each<T: Clone + Default + Send>(
        &self,
        connections: u32,
        kept: &mut Vec<T>,
        one: impl Fn(u64, &Drawn, Path, &mut T) -> Result<Counted, Error> + Sync,
    ) -> Result<Vec<Counted>, Error> {
        kept.resize(kept.len().max(connections as usize), T::default());
        let all = (0..connections).into_par_iter().zip(kept);
        all.map(|(index, kept)| {
            let index = u64::from(index);
            let drawn = self.population.draw(SEED, index);
            let path = self.population.path(&drawn)?;
            one(index, &drawn, path, kept)
        })
        .collect()
    }

    /// Runs one connection on its path.
    fn run(&self, index: u64, drawn: &Drawn, path: Path) -> Result<Option<Outcome>, Error> {
        // One connection in 25 has no SACK.
        let plain = uniform(Stream::new(SEED, index, Purpose::Class).value(2)) < 0.04;
        let preset = if plain { self.plain } else { self.sack };
        let host = tcp::Host { early_retransmit: self.early, ..tcp::Host::with_preset(preset) };
        let ground = Scenario {
            host: Hosts::from(host),
            limit: Nanos::from_secs(900),
            ..Scenario::new(path, 1)
        };
        let app = self.population.app(drawn, SEED);
        let sender = Sender { arm: &self.arm, app, start: Nanos::ZERO };
        let done = together(&ground, vec![sender], SEED, Vary::Nothing(index), None)?;
        Ok(done.flows.into_iter().next())
    }
}

/// For each connection of one server, its earlier paths and results.
#[derive(Default)]
pub(crate) struct Met(Vec<Vec<(Path, Counted)>>);

/// Runs `connections` connections of one server and reuses results of earlier runs on the same path.
pub(crate) fn serve_once_on_each_path(
    service: Service,
    knobs: Knobs,
    server: Server,
    connections: u32,
    met: &mut Met,
) -> Result<Vec<Counted>, Error> {
    let served = Serving::new(service, knobs, server)?;
    served.each(connections, &mut met.0, |index, drawn, path, met| {
        if let Some((_, counted)) = met.iter().find(|(before, _)| *before == path) {
            return Ok(counted.clone());
        }
        let outcome = served.run(index, drawn, path.clone())?;
        let counted = outcome.as_ref().map(Counted::of).unwrap_or_default();
        met.push((path, counted.clone()));
        Ok(counted)
    })
}

/// Number of connections that are resampled as a unit, because resampling individual connections would take too long
/// for no benefit.
pub(crate) const BLOCK: usize = 20;

/// The sums over blocks of connections.
pub(crate) fn blocks(all: &[Counted], read: fn(&Counted) -> f64) -> Vec<f64> {
    all.chunks(BLOCK).map(|block| block.iter().map(read).sum()).collect()
}

/// A pooled sum over connections.
pub(crate) fn total(all: &[Counted], read: fn(&Counted) -> f64) -> f64 {
    all.iter().map(read).sum()
}

/// Finds the parameter at which an increasing measure reaches its target, by bisection of the logarithm.
pub(crate) fn calibrate(
    bounds: (f64, f64),
    target: f64,
    steps: u32,
    mut measure: impl FnMut(f64) -> Result<f64, Error>,
) -> Result<f64, Error> {
    let (mut low, mut high) = (bounds.0.ln(), bounds.1.ln());
    for _ in 0..steps {
        let middle = f64::midpoint(low, high);
        if measure(middle.exp())? < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(f64::midpoint(low, high).exp())
}

/// Share of responses with a dropped segment, percent.
pub(crate) fn hit_share(all: &[Counted]) -> f64 {
    let hit = total(all, |one| one.hits.len() as f64);
    100.0 * hit / total(all, |one| one.responses).max(1.0)
}

/// Default parameters: the file's values, without loss, reordering and policers.
pub(crate) const FILE: Knobs =
    Knobs { g: 0.0, bursts: None, reordered: 0.0, policed: 0.0, sizes: None, independent: false };
/// Share of responses with losses stated in the slides, percent.
pub(crate) const HIT_TARGET: f64 = 6.1;
/// The baseline of the loss fit.
pub(crate) const LINUX: Server = Server::linux26("slowstart/cubic/halving");

/// Result of the loss fit.
#[derive(Clone)]
pub(crate) struct Fitted {
    /// The parameters with the fitted loss.
    pub knobs: Knobs,
    /// Deviation of the share of hit responses from the target, percentage points.
    pub residual: f64,
    /// The connections of the fit with these parameters, under its baseline.
    pub served: Vec<Counted>,
    /// Their results, for reuse.
    pub known: Known,
}

/// Fits the loss to the share of hit responses, with these bursts.
pub(crate) fn fit_web_from(base: Knobs, connections: u32) -> Result<Fitted, Error> {
    let mut known = Known::default();
    let mut run =
        |g: f64| serve_again(Service::Web, Knobs { g, ..base }, LINUX, connections, &mut known);
    let g = calibrate((1e-5, 0.1), HIT_TARGET, 9, |g| run(g).map(|all| hit_share(&all)))?;
    let served = run(g)?;
    let residual = hit_share(&served) - HIT_TARGET;
    Ok(Fitted { knobs: Knobs { g, ..base }, residual, served, known })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_are_known_are_what_they_would_be_if_they_ran() {
        let mut known = Known::default();
        let naive = Some(early_retransmit::Options::NAIVE);
        for (g, reordered, arm, early) in [
            (3e-3, 0.0, "slowstart/cubic/halving", None),
            (3.1e-3, 0.0, "slowstart/cubic/halving", None),
            (1e-3, 0.0, "slowstart/cubic/halving", None),
            (2e-2, 0.0, "slowstart/cubic/sack(lost=ignore)", None),
            (3e-3, 0.0, "slowstart/cubic/prr(mode=ssrb,lost=ignore)", None),
            (3e-3, 0.1, "slowstart/cubic/prr(mode=ssrb,lost=ignore)", None),
            (3e-3, 0.1, "slowstart/cubic/prr(mode=ssrb,lost=ignore)", naive),
            (3e-3, 0.02, "slowstart/cubic/prr(mode=ssrb,lost=ignore)", naive),
            (3e-3, 0.2, "slowstart/cubic/prr(mode=ssrb,lost=ignore)", naive),
        ] {
            let knobs = Knobs { g, reordered, ..FILE };
            let server = Server { early, ..Server::linux26(arm) };
            let alone = serve(Service::Web, knobs, server, 60).expect("runs");
            let again = serve_again(Service::Web, knobs, server, 60, &mut known).expect("runs");
            assert_eq!(
                format!("{alone:?}"),
                format!("{again:?}"),
                "{arm} with {g}, {reordered} overtaken"
            );
        }
        let spared = known.0.iter().flatten().filter(|one| one.server.is_none()).count();
        assert!((20..60).contains(&spared), "{spared} of 60 were quiet once");
        let hit = known.0.iter().flatten().filter(|one| !one.taken.is_empty()).count();
        assert!(hit > 0, "no connection that lost something was kept");
        let late = known.0.iter().flatten().filter(|one| !one.overtaken.is_empty()).count();
        assert!(late > 0, "no connection with a packet that was overtaken was kept");
    }
}
