//! Connections of web and video servers in 2011: what paths and responses are drawn, and how many connections run under an arm.

use super::lab::{Sender, Vary, arm, together};
use crate::error::Bad;
use crate::trial::{Ground, Hosts};
use firstflight::Nanos;
use firstflight::detection::early_retransmit;
use firstflight::detection::presets::Preset;

use firstflight_path::random::{Purpose, Stream, normal, uniform};
use firstflight_path::{Effects, GilbertElliott, Path, Policer, Queue, Reorder};
use firstflight_sim::{App, Outcome, Response, tcp};
use rayon::prelude::*;

/// Seed of every population: all arms meet the same draws.
const SEED: u64 = 1;
const PPB: f64 = 1e9;
const SEGMENT: u64 = 1500;

/// Uniform draws of one connection.
struct Draws(u64);

impl Draws {
    fn u(&self, purpose: Purpose, k: u64) -> f64 {
        uniform(Stream::new(SEED, self.0, purpose).value(k))
    }

    /// Lognormal with this median and spread of the logarithm.
    fn log_normal(&self, purpose: Purpose, k: u64, median: f64, sd: f64) -> f64 {
        median * (sd * normal(Stream::new(SEED, self.0, purpose).value(k))).exp()
    }

    fn between(&self, purpose: Purpose, k: u64, low: f64, high: f64) -> f64 {
        low + (high - low) * self.u(purpose, k)
    }
}

/// What is calibrated, and what a row changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Knobs {
    /// Probability to enter the bad state, per packet.
    pub g: f64,
    /// Mean packets in the bad state, and loss in it.
    pub burst: f64,
    pub h: f64,
    /// Share of packets that are overtaken.
    pub reordered: f64,
    /// Share of paths with a policer.
    pub policed: f64,
    /// Loss of single packets instead of bursts, and a queue of two BDP on every path: the negative control.
    pub independent: bool,
}

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// W-WEB on P-US.
    Web,
    /// W-SMALL on P-US.
    Small,
    /// W-VIDEO on P-IN.
    Video,
}

impl Service {
    fn path(self, draws: &Draws, knobs: Knobs) -> Path {
        let ((rtt, spread, shortest, longest), (rate, wide, slow, fast)) = match self {
            Service::Web | Service::Small => ((70.0, 0.6, 10.0, 600.0), (5.0, 0.9, 0.3, 100.0)),
            Service::Video => ((220.0, 0.45, 60.0, 1500.0), (1.0, 0.8, 0.1, 10.0)),
        };
        let rtt = (draws.log_normal(Purpose::Rtt, 0, rtt, spread).clamp(shortest, longest) * 1e6) as u64;
        let bps = (draws.log_normal(Purpose::Rate, 0, rate, wide).clamp(slow, fast) * 1e6) as u64;
        // An idle round trip holds the serialization of a packet and its ACK: on the slowest links that alone is more than was drawn.
        let rtt = rtt.max(SEGMENT * 8_800_000_000 / bps.max(1) + 1_000_000);
        let bdp = bps as f64 / 8e9 * rtt as f64;
        let (bytes, floor) = match self {
            _ if knobs.independent => (2.0 * bdp, 20),
            Service::Web | Service::Small => (bdp * draws.between(Purpose::Buffer, 0, 0.25, 2.0), 20),
            Service::Video => (draws.log_normal(Purpose::Buffer, 0, 150.0, 0.7) * 1e-3 * bps as f64 / 8.0, 6),
        };
        let ge = GilbertElliott {
            g: (knobs.g.clamp(0.0, 1.0) * PPB) as u64,
            burst: (knobs.burst * 1e6) as u64,
            h: (knobs.h * PPB) as u64,
            k: 0,
        };
        let reorder = (knobs.reordered > 0.0).then_some(Reorder {
            first: ((0.9 * knobs.reordered * PPB) as u64, 3_000_000),
            second: Some(((0.1 * knobs.reordered * PPB) as u64, (0.3 * rtt as f64) as u64)),
        });
        let policed = !knobs.independent && draws.u(Purpose::Class, 1) < knobs.policed;
        let policer = policed.then(|| {
            let bps = (bps as f64 * draws.between(Purpose::LossParameters, 0, 0.3, 0.9)) as u64;
            // A bucket that holds no packet would let none through.
            let two_packets = 2 * SEGMENT * 8_000_000_000 / bps.max(1) + 1;
            Policer { bps, bucket: ((draws.between(Purpose::LossParameters, 1, 10.0, 200.0) * 1e6) as u64).max(two_packets) }
        });
        let effects = Effects { ge: (knobs.g > 0.0 && !knobs.independent).then_some(ge), reorder, policer, ..Effects::default() };
        let path = Path::new(bps, rtt).with_queue(Queue::Bytes((bytes as u64).max(floor * SEGMENT))).with_effects(effects);
        if knobs.independent { path.with_loss_ppb((knobs.g * PPB) as u64) } else { path }
    }

    fn app(self, draws: &Draws) -> App {
        match self {
            Service::Web => {
                // One plus a geometric number with mean three, at most twenty.
                let more = draws.u(Purpose::Size, 0).ln() / 0.75_f64.ln();
                let count = (1 + more as u64).min(20);
                let one = |k: u64| {
                    let bytes = if draws.u(Purpose::Size, 3 * k + 1) < 0.97 {
                        draws.log_normal(Purpose::Size, 3 * k + 2, 4_000.0, 1.2)
                    } else {
                        (30_000.0 * draws.u(Purpose::Size, 3 * k + 2).powf(-1.0 / 1.3)).min(5e6)
                    };
                    let pause = if k == 0 { 0.0 } else { draws.log_normal(Purpose::Size, 3 * k + 3, 2.0, 1.0).min(60.0) };
                    Response { pause: Nanos((pause * 1e9) as u64), bytes: (bytes as u64).max(1) }
                };
                App::Responses((0..count).map(one).collect())
            }
            Service::Small => {
                let u = draws.u(Purpose::Size, 0);
                let segments =
                    [(0.30, 2), (0.55, 3), (0.75, 4), (0.90, 6)].into_iter().find(|(share, _)| u < *share).map_or(10, |(_, n)| n);
                App::Responses(vec![Response { pause: Nanos::ZERO, bytes: segments * 1448 }])
            }
            Service::Video => {
                let bytes = (draws.log_normal(Purpose::Size, 0, 1.4e6, 1.0) as u64).clamp(20_000, 50_000_000);
                let coding = draws.log_normal(Purpose::Size, 1, 350e3, 0.4);
                let first = (draws.between(Purpose::Size, 2, 10.0, 40.0) * coding / 8.0) as u64;
                let every = 65_536.0 * 8.0 / (1.25 * coding);
                App::Video { bytes, first: first.min(bytes), write: 65_536, every: Nanos((every * 1e9) as u64) }
            }
        }
    }
}

/// An arm of these experiments: the controller, and early retransmit where the kernel of the time leaves it to us.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub arm: &'static str,
    pub preset: &'static str,
    pub early: Option<early_retransmit::Options>,
}

impl Server {
    pub const fn linux26(arm: &'static str) -> Server {
        Server { arm, preset: "linux26", early: None }
    }
}

/// One response of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    pub bytes: u64,
    /// From its first byte sent until its last one is acknowledged.
    pub ms: f64,
    /// At least one of its segments was dropped.
    pub hit: bool,
}

/// What one connection counted.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    pub responses: Vec<Served>,
    pub segments: f64,
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
}

impl Counted {
    fn of(outcome: &Outcome) -> Counted {
        let served =
            |part: &firstflight_sim::Part| Some(Served { bytes: part.bytes(), ms: part.latency()?.0 as f64 / 1e6, hit: part.dropped > 0 });
        let took = outcome.episodes.iter().filter_map(|episode| Some(episode.end?.since(episode.start).0 as f64 / 1e6));
        Counted {
            responses: outcome.parts.iter().filter_map(served).collect(),
            segments: outcome.packets_sent as f64,
            repeats: outcome.retransmissions as f64,
            lost_repeats: outcome.lost_retransmissions as f64,
            rtos: outcome.rtos as f64,
            recoveries: outcome.recoveries as f64,
            timed_out: outcome.recoveries_timed_out as f64,
            below: outcome.recoveries_below_ssthresh as f64,
            slow_starts: outcome.slow_starts_after_recovery as f64,
            recovering_ms: took.sum(),
            early: outcome.early_retransmits as f64,
            early_spurious: outcome.early_retransmits_spurious as f64,
        }
    }
}

/// Runs so many connections under one arm.
pub fn serve(service: Service, knobs: Knobs, server: Server, connections: u32) -> Result<Vec<Counted>, Bad> {
    let named = arm(server.arm)?;
    let preset = |name: &str| Preset::named(name).copied().ok_or_else(|| Bad(format!("no preset `{name}`")));
    let (sack, plain) = (preset(server.preset)?, preset("reno")?);
    (0..connections)
        .into_par_iter()
        .map(|index| {
            let draws = Draws(u64::from(index));
            // One connection in 25 has no SACK.
            let preset = if draws.u(Purpose::Class, 0) < 0.04 { plain } else { sack };
            let host = tcp::Host { early_retransmit: server.early, ..tcp::Host::with_preset(preset) };
            let path = service.path(&draws, knobs);
            let ground = Ground { host: Hosts::from(host), limit: Nanos::from_secs(900), ..Ground::new(path, 1) };
            let sender = Sender { arm: &named, app: service.app(&draws), start: Nanos::ZERO };
            let done = together(&ground, vec![sender], SEED, Vary::Nothing(u64::from(index)), None)?;
            Ok(done.flows.first().map(Counted::of).unwrap_or_default())
        })
        .collect()
}

/// A pooled sum over connections.
pub fn total(all: &[Counted], read: fn(&Counted) -> f64) -> f64 {
    all.iter().map(read).sum()
}

/// The knob for which a rising measure comes nearest to its target: bisection of the logarithm.
pub fn calibrate(bounds: (f64, f64), target: f64, steps: u32, mut measure: impl FnMut(f64) -> Result<f64, Bad>) -> Result<f64, Bad> {
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
pub fn hit_share(all: &[Counted]) -> f64 {
    let (hit, served) =
        all.iter().flat_map(|one| &one.responses).fold((0.0, 0.0), |(hit, n), one| (hit + f64::from(u8::from(one.hit)), n + 1.0));
    100.0 * hit / f64::max(served, 1.0)
}

/// Loss on the web paths: fitted to the share of responses hit under rate halving.
pub const WEB: Knobs = Knobs { g: 0.0, burst: 3.0, h: 0.8, reordered: 0.0, policed: 0.0, independent: false };
/// Share of responses with losses that the slides state, percent.
pub const HIT_TARGET: f64 = 6.1;
/// The baseline of that fit.
pub const LINUX: Server = Server::linux26("slowstart/cubic/halving");

/// The fitted loss, and the residual of the fit.
pub fn fit_web(connections: u32) -> Result<(Knobs, f64), Bad> {
    fit_web_from(WEB, connections)
}

/// The same from other bursts.
pub fn fit_web_from(base: Knobs, connections: u32) -> Result<(Knobs, f64), Bad> {
    let measure = |g: f64| serve(Service::Web, Knobs { g, ..base }, LINUX, connections).map(|all| hit_share(&all));
    let g = calibrate((1e-5, 0.1), HIT_TARGET, 9, measure)?;
    Ok((Knobs { g, ..base }, measure(g)? - HIT_TARGET))
}
