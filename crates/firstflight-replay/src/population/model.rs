//! Simulates the recorded connections with their own sender: fits the buffer and random loss that
//! reproduce the loss and the time of each, and checks the result as a whole.

use super::entry::{Entry, Fit, grid, size};
use super::text::quantile;
use firstflight::Nanos;
use firstflight_lab::advise::Model;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_lab::{Error, NamedArm};
use firstflight_path::Path;

/// Maximum number of connections simulated.
const MOST: usize = 40;
/// Number of seeds for each pair of buffer and loss.
const FIT_SEEDS: u64 = 3;
/// Number of seeds for the check.
const CHECK_SEEDS: u64 = 20;
/// Buffers tried, relative to the one that losses show.
const NEAR: [f64; 5] = [0.67, 0.82, 1.0, 1.22, 1.5];
/// Buffers tried if no loss shows one: the maximum queueing delay is then a lower bound.
const FAR: [f64; 5] = [1.0, 1.5, 2.2, 3.3, 5.0];
/// Loss ratios tried, relative to the loss without a queue.
const LOSSES: [f64; 4] = [0.0, 0.5, 1.0, 1.5];
/// A buffer and a loss fit as well as the best if their misfit is at most this much larger. A
/// misfit of 1 is 10 % of the time, or half of the loss.
const AS_WELL: f64 = 1.0;

/// Today's sender and its hosts.
#[derive(Clone, Debug)]
pub struct Today {
    /// The arm.
    pub arm: NamedArm,
    /// Initial window, packets.
    pub iw: u32,
    /// Transport and loss detection.
    pub host: Hosts,
}

/// Ranges of the values that the connections leave open, as factors on the best fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Range of buffers.
    pub buffers: [f64; 2],
    /// Range of random loss; `None` if no connection shows any.
    pub loss: Option<[f64; 2]>,
    /// Random loss that could go unseen in the captured number of packets, if none was seen.
    pub unseen: f64,
}

/// Result of one trial: time in ms, and share of the sent packets lost.
type Seen = (f64, f64);

impl Today {
    fn run(&self, entry: &Entry, fit: Fit, seed: u64) -> Result<Seen, Error> {
        let rate = (entry.rate_mbps * 1e3).max(100.0);
        let queue = (fit.buffer_ms * rate / 8.0).max(15_000.0);
        let back = grid(entry).map_or(String::new(), |period| {
            format!(",return=batch:{period}ms:1000:{:.0}us", entry.gap_us.clamp(1.0, 1_000.0))
        });
        let rtt = (entry.rtt_ms * 1e3).max(1e3);
        let path = Path::parse(&format!(
            "rate={rate:.0}kbit,rtt={rtt:.0}us,queue={queue:.0}B,loss={:.7}%{back}",
            100.0 * fit.loss.clamp(0.0, 0.5)
        ))?;
        let scenario = Scenario {
            iw: self.iw,
            host: self.host,
            limit: Nanos::from_secs(600),
            ..Scenario::new(path, size(entry) as u64)
        };
        let outcome = scenario.simulate(&self.arm, seed, None)?;
        let lost =
            outcome.counters.packets_lost as f64 / outcome.counters.packets_sent.max(1) as f64;
        Ok((outcome.acked_after.0 as f64 / 1e6, lost))
    }

    /// Means over seeds of the logarithm of time, and of loss.
    fn mean(&self, entry: &Entry, fit: Fit, seeds: u64) -> Result<(f64, f64), Error> {
        let mut sums = (0.0, 0.0);
        for seed in 1..=seeds {
            let (time, lost) = self.run(entry, fit, seed)?;
            sums = (sums.0 + time.max(0.001).ln(), sums.1 + lost);
        }
        Ok((sums.0 / seeds as f64, sums.1 / seeds as f64))
    }

    /// All fits of a connection that are as good as the best; the best comes first.
    fn fits(&self, entry: &Entry) -> Result<Vec<Fit>, Error> {
        let (first, factors) = match entry.full_ms {
            Some(full) => (full, NEAR),
            None => (entry.queue_ms.max(entry.rtt_ms / 2.0).max(2.0), FAR),
        };
        let lost = entry.lost.unwrap_or(0.0);
        let mut losses: Vec<f64> = LOSSES.iter().map(|factor| factor * entry.random()).collect();
        losses.push(lost);
        losses.sort_by(f64::total_cmp);
        losses.dedup();
        let whole = entry.bytes as f64 <= size(entry);
        let mut tried = Vec::new();
        for buffer_ms in factors.map(|factor| factor * first) {
            for loss in &losses {
                let fit = Fit { buffer_ms, loss: *loss };
                let (time, seen) = self.mean(entry, fit, FIT_SEEDS)?;
                let late = if whole { (time - entry.time_ms.ln()).abs() / 0.1 } else { 0.0 };
                let apart = (seen - lost).abs() / (lost / 2.0).max(0.005);
                // Among equally good fits, prefers the one nearest to the observed values.
                let usual = 0.1 * (buffer_ms / first).ln().abs();
                tried.push((late + apart + usual, fit));
            }
        }
        tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = tried.first().map_or(0.0, |(misfit, _)| *misfit);
        let near = tried.into_iter().take_while(|(misfit, _)| *misfit <= best + AS_WELL);
        Ok(near.map(|(_, fit)| fit).collect())
    }

    /// Fits buffer and random loss of the connections, and returns the ranges left open.
    ///
    /// # Errors
    /// A one-line message if a path is invalid.
    pub fn fit(&self, entries: &mut [Entry]) -> Result<Ends, Error> {
        let step = entries.len().div_ceil(MOST).max(1);
        let (mut low, mut high, mut fitted) = (0.0, 0.0, 0.0);
        let mut losses = [0.0; 3];
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values
                .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)))
        };
        let packets: f64 = entries.iter().map(|entry| entry.bytes as f64 / 1_400.0).sum();
        for entry in entries.iter_mut().step_by(step) {
            let fits = self.fits(entry)?;
            let Some(best) = fits.first().copied() else { continue };
            let (least, most) = ends(&mut fits.iter().map(|fit| fit.buffer_ms));
            low += (least / best.buffer_ms).ln();
            high += (most / best.buffer_ms).ln();
            fitted += 1.0;
            let (least, most) = ends(&mut fits.iter().map(|fit| fit.loss));
            let weight = entry.bytes as f64;
            losses = [
                losses[0] + weight * least,
                losses[1] + weight * best.loss,
                losses[2] + weight * most,
            ];
            entry.fit = Some(best);
        }
        let [least, best, most] = losses;
        Ok(Ends {
            buffers: [
                (low / f64::max(fitted, 1.0)).exp().min(0.8),
                (high / f64::max(fitted, 1.0)).exp().max(1.25),
            ],
            loss: (best > 0.0).then(|| [(least / best).min(0.67), (most / best).max(1.5)]),
            unseen: (3.0 / packets.max(1.0)).min(0.05),
        })
    }

    /// Simulates the same connections with the same sender, and compares the results with the
    /// captures.
    ///
    /// # Errors
    /// The errors of [`Today::fit`].
    pub fn check(&self, entries: &[Entry], reasons: Vec<String>) -> Result<Model, Error> {
        let step = entries.len().div_ceil(MOST).max(1);
        let mut off = Vec::new();
        let (mut times, mut captured) = (Vec::new(), Vec::new());
        let (mut lost, mut model_lost, mut bytes) = (0.0, 0.0, 0.0);
        for entry in entries.iter().step_by(step) {
            let (time, loss) = self.mean(entry, entry.fit(), CHECK_SEEDS)?;
            let weight = entry.bytes as f64;
            lost += weight * entry.lost.unwrap_or(loss);
            model_lost += weight * loss;
            bytes += weight;
            // Only the start of a longer connection is simulated.
            if entry.bytes as f64 <= size(entry) {
                off.push((time - entry.time_ms.ln()).abs());
                times.push(time.exp());
                captured.push(entry.time_ms);
            }
        }
        for values in [&mut off, &mut times, &mut captured] {
            values.sort_by(f64::total_cmp);
        }
        let median = |of: &[f64]| if of.is_empty() { 0.0 } else { quantile(of, 0.5) };
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
        let far = off.iter().filter(|off| **off > 1.5_f64.ln()).count();
        let whole = off.len().max(1) as f64;
        Ok(Model {
            captured_loss_pct: 100.0 * lost / f64::max(bytes, 1.0),
            loss_pct: 100.0 * model_lost / f64::max(bytes, 1.0),
            captured_p50_ms: median(&captured),
            p50_ms: median(&times),
            median_off: median(&off),
            far_off: far as f64 / whole,
            mean_ratio: if times.is_empty() { 1.0 } else { mean(&times) / mean(&captured) },
            reasons,
        })
    }
}
