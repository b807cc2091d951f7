//! Effects of a group's paths on packets beyond rate, delay, queue and independent loss: losses in
//! bursts, reordering, policers.

use super::distribution::{Chance, Distribution, ReadTable};
use super::place::Field;
use super::variable::Variable;
use firstflight_path::Error;
use firstflight_path::{GilbertElliott, PACKET, Policer, Reorder};
use std::fmt;

const PPB: f64 = 1e9;

/// Loss in bursts: the Gilbert-Elliott process with losses in both states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Probability per packet that a burst starts.
    pub g: f64,
    /// Mean length in packets.
    pub packets: f64,
    /// Loss within a burst.
    pub h: f64,
    /// Loss outside bursts.
    pub k: f64,
}

/// Packets that other packets overtake.
#[derive(Clone, Debug, PartialEq)]
pub struct Reordering {
    /// Share of the packets.
    pub share: f64,
    /// Delays, one or two kinds.
    pub parts: Vec<Lag>,
}

/// Exponential extra delay of a part of the overtaken packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lag {
    /// Share among the overtaken packets.
    pub weight: f64,
    /// Mean delay.
    pub mean: LagMean,
}

/// Mean extra delay of an overtaken packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LagMean {
    /// Milliseconds.
    Ms(f64),
    /// As a share of the idle round trip of the path.
    Rtt(f64),
}

/// Token buckets on some of the paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Policing {
    /// Share of the paths that have a token bucket.
    pub share: f64,
    /// Rate of the bucket over the bottleneck's rate.
    pub rate_share: Distribution,
    /// Size of the bucket, as time at its rate.
    pub bucket: Distribution,
}

fn share_of(field: &Field<'_>) -> Result<f64, Error> {
    field.number_that(|share| (0.0..=1.0).contains(&share), "0 to 1")
}

impl Bursts {
    pub(super) fn parse(field: &Field<'_>) -> Result<Bursts, Error> {
        let section = field.section(&["g", "packets", "h", "k"])?;
        Ok(Bursts {
            g: share_of(&section.need("g")?)?,
            packets: section
                .need("packets")?
                .number_that(|packets| (1.0..=1e6).contains(&packets), "1 to 1000000")?,
            h: share_of(&section.need("h")?)?,
            k: section.get("k").map(|field| share_of(&field)).transpose()?.unwrap_or(0.0),
        })
    }

    /// The setting for a path; `None` if no packet is lost.
    pub(super) fn of_path(self) -> Option<GilbertElliott> {
        let ppb = |share: f64| libm::round(share * PPB) as u64;
        let process = GilbertElliott {
            g: ppb(self.g),
            burst: libm::round(self.packets * 1e6) as u64,
            h: ppb(self.h),
            k: ppb(self.k),
        };
        (process.g > 0 || process.k > 0).then_some(process)
    }
}

impl Reordering {
    pub(super) fn parse(field: &Field<'_>) -> Result<Reordering, Error> {
        let section = field.section(&["share", "parts"])?;
        let share = share_of(&section.need("share")?)?;
        let list = section.need("parts")?;
        let parts = list.list()?.iter().map(Lag::parse).collect::<Result<Vec<Lag>, Error>>()?;
        if !(1..=2).contains(&parts.len()) {
            return Err(list.bad(format_args!("has {} parts; allowed: one or two", parts.len())));
        }
        let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
        super::distribution::check_weights(
            &list.renamed(&format!("{}.weight", list.name)),
            &weights,
        )?;
        Ok(Reordering { share, parts })
    }

    /// The setting for a path with this round trip; `None` if nothing is overtaken.
    pub(super) fn of_path(&self, rtt_ns: u64) -> Option<Reorder> {
        if self.share <= 0.0 {
            return None;
        }
        let part = |lag: &Lag| {
            let mean = match lag.mean {
                LagMean::Ms(ms) => ms * 1e6,
                LagMean::Rtt(share) => share * rtt_ns as f64,
            };
            (libm::round(lag.weight * self.share * PPB) as u64, (libm::round(mean) as u64).max(1))
        };
        Some(Reorder { first: part(&self.parts[0]), second: self.parts.get(1).map(part) })
    }
}

impl Lag {
    fn parse(field: &Field<'_>) -> Result<Lag, Error> {
        let section = field.section(&["weight", "mean_ms", "mean_rtt"])?;
        let weight = share_of(&section.need("weight")?)?;
        let mean = match (section.get("mean_ms"), section.get("mean_rtt")) {
            (Some(ms), None) => LagMean::Ms(
                ms.number_that(|ms| ms > 0.0 && ms <= 60_000.0, "more than 0 and at most 60000")?,
            ),
            (None, Some(share)) => LagMean::Rtt(share.number_that(
                |share| share > 0.0 && share <= 100.0,
                "more than 0 and at most 100",
            )?),
            _ => {
                return Err(section.bad(
                    "mean_ms",
                    "needs mean_ms or mean_rtt (in idle round trips); allowed: one of them",
                ));
            }
        };
        Ok(Lag { weight, mean })
    }
}

impl Policing {
    pub(super) fn parse(field: &Field<'_>, read_table: &ReadTable<'_>) -> Result<Policing, Error> {
        let section = field.section(&["share", "rate_share", "bucket"])?;
        let of = |variable: Variable| {
            Distribution::parse(&section.need(variable.name())?, variable, &[], read_table)
        };
        Ok(Policing {
            share: share_of(&section.need("share")?)?,
            rate_share: of(Variable::PolicerRate)?,
            bucket: of(Variable::Bucket)?,
        })
    }

    /// The policer of a path with this rate, if it has one; `number` gives the random numbers for
    /// its presence, rate and bucket.
    pub(super) fn draw(&self, rate_kbps: u64, number: impl Fn(u64) -> f64) -> Option<Policer> {
        if number(0) >= self.share {
            return None;
        }
        let value = |of: &Distribution, k: u64| of.shape.value(&Chance::uniform(number(k)));
        let bps =
            (libm::round(rate_kbps as f64 * value(&self.rate_share, 1)) as u64).max(1) * 1_000;
        // A bucket smaller than a packet would let no packet through.
        let two_packets = 2 * PACKET * 8_000_000_000 / bps + 1;
        let bucket = libm::round(value(&self.bucket, 2) * 1e3) as u64 * 1_000;
        Some(Policer { bps, bucket: bucket.max(two_packets) })
    }
}

impl fmt::Display for Bursts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bursts { g, packets, h, k } = self;
        write!(f, "{{ g = {g:?}, packets = {packets:?}, h = {h:?}, k = {k:?} }}")
    }
}

impl fmt::Display for Reordering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{ share = {:?}, parts = [", self.share)?;
        for (index, Lag { weight, mean }) in self.parts.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match mean {
                LagMean::Ms(ms) => write!(f, "{comma}{{ weight = {weight:?}, mean_ms = {ms:?} }}")?,
                LagMean::Rtt(share) => {
                    write!(f, "{comma}{{ weight = {weight:?}, mean_rtt = {share:?} }}")?;
                }
            }
        }
        f.write_str("] }")
    }
}

impl fmt::Display for Policing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{ share = {:?}, rate_share = {}, bucket = {} }}",
            self.share, self.rate_share, self.bucket
        )
    }
}
