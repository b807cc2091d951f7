//! Drawing a connection: path and object as integers, a function of seed and index alone.
//!
//! Every variable has its own stream of random numbers, so an arm, a shard or a variable added
//! later does not change existing draws. This file returns integers only: microseconds, kbit/s,
//! bytes and parts of 1e-9.
//!
//! Our conventions: the second number of the class stream selects the row of a file of measured
//! paths, and the second number of the rate stream gives the reverse rate, because neither has its
//! own stream. If a packet and its ACK take longer on a slow link than the drawn round trip, the
//! round trip is raised to that time.

use super::distribution::{Chance, pick};
use super::knobs::as_seen;
use super::normal::{inverse_normal, uniform};
use super::variable::{Unit, Variable};
use super::{Bursts, Correlation, Group, Population};
use firstflight_path::Error;
use firstflight_path::{Effects, PACKET, Path, Policer, Purpose, Queue, Rate, Stream};

/// One drawn connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Index of the connection; with the seed it determines every random value of its trials.
    pub index: u64,
    /// Index of the group of the population.
    pub group: usize,
    /// Idle round trip, us.
    pub rtt_us: u64,
    /// Rate of the bottleneck, kbit/s.
    pub rate_kbps: u64,
    /// Rate of the return path, kbit/s; `None` for ten times the rate.
    pub up_kbps: Option<u64>,
    /// Queue capacity of the bottleneck, bytes.
    pub queue_bytes: u64,
    /// Independent forward loss, 1e-9.
    pub loss_ppb: u64,
    /// Object size, or that of the first response.
    pub bytes: u64,
    /// A token bucket in front of the queue, if this path has one.
    pub policer: Option<Policer>,
    /// The bounds that clipped a value.
    pub clipped: Clipped,
}

/// The bounds that clipped a value, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clipped(pub u8);

/// The bounds, in the order of the bits of [`Clipped`].
pub const BOUNDS: [&str; 8] = [
    "rtt of at least 1 ms",
    "rtt of at most 2000 ms",
    "rate of at least 0.1 Mbit/s",
    "rate of at most 10000 Mbit/s",
    "buffer of at most 5 s",
    "buffer of at least its floor",
    "rtt of at least one packet and its ACK",
    "size of at least 1 byte",
];

/// IP bytes of an ACK; its serialization is part of the idle round trip.
const ACK: u64 = 64;
const MAX_BUFFER_US: f64 = 5e6;
/// Upper bound of the random loss from calibration: a path with more loss carries almost nothing,
/// and users would give up.
const MOST_LOSS: f64 = 0.5;

/// Clips a value to its bounds, rounds it to the nearest integer, and notes the bound if it
/// applied.
fn clip(
    value: f64,
    (low, low_bit): (f64, u8),
    (high, high_bit): (f64, u8),
    clipped: &mut Clipped,
) -> u64 {
    if value < low {
        clipped.0 |= 1 << low_bit;
    } else if value > high {
        clipped.0 |= 1 << high_bit;
    }
    libm::round(value.clamp(low, high)) as u64
}

impl Population {
    /// Draws connection number `index` under `seed`.
    pub fn draw(&self, seed: u64, index: u64) -> Drawn {
        let number = |purpose: Purpose, k: u64| uniform(Stream::new(seed, index, purpose).value(k));
        let class = if self.groups.len() == 1 {
            0
        } else {
            pick(self.groups.iter().map(|group| group.weight), number(Purpose::Class, 0))
        };
        let group = &self.groups[class];
        let free = [Purpose::Rtt, Purpose::Rate, Purpose::Buffer, Purpose::Size]
            .map(|purpose| number(purpose, 0));
        let chances = group.chances(free);
        let row = group.rows.as_ref().map(|rows| rows.pick(number(Purpose::Class, 1)));
        let value = |variable: Variable, chance: &Chance| -> Option<(f64, Unit)> {
            if let Some((value, unit)) = row.and_then(|row| row.value(variable)) {
                let jitter = group.rows.as_ref().map_or(0.0, |rows| rows.jitter);
                let varied =
                    if jitter > 0.0 { value * libm::exp(jitter * chance.z()) } else { value };
                return Some((varied, unit));
            }
            group
                .get(variable)
                .map(|distribution| (distribution.shape.value(chance), distribution.unit))
        };
        let plain = |variable, chance: &Chance, default| {
            value(variable, chance).map_or(default, |(value, _)| value)
        };
        let mut clipped = Clipped::default();
        let mut rtt_us =
            clip(plain(Variable::Rtt, &chances[0], 1.0) * 1e3, (1e3, 0), (2e6, 1), &mut clipped);
        let faster = if group.rate_is_lower_bound { self.knobs.r } else { 1.0 };
        let rate_kbps = clip(
            plain(Variable::RateDown, &chances[1], 1.0) * faster * 1e3,
            (100.0, 2),
            (1e7, 3),
            &mut clipped,
        );
        let up = value(Variable::RateUp, &Chance::uniform(number(Purpose::Rate, 1)));
        let up_kbps = up.map(|(mbps, _)| clip(mbps * 1e3, (100.0, 2), (1e7, 3), &mut clipped));
        let serial = (PACKET * 8_000).div_ceil(rate_kbps)
            + (ACK * 8_000).div_ceil(up_kbps.unwrap_or(rate_kbps * 10))
            + 1;
        if rtt_us < serial {
            rtt_us = serial;
            clipped.0 |= 1 << 6;
        }
        let buffer_us = match value(Variable::Buffer, &chances[2]) {
            Some((bdp, Unit::Bdp)) => bdp * rtt_us as f64,
            Some((ms, _)) => ms * 1e3,
            None => 0.0,
        } * self.knobs.q;
        let buffer_us = clip(buffer_us, (0.0, 5), (MAX_BUFFER_US, 4), &mut clipped);
        let floor = group.floor_packets * PACKET;
        let queue_bytes = (u128::from(buffer_us) * u128::from(rate_kbps) / 8_000) as u64;
        if queue_bytes < floor {
            clipped.0 |= 1 << 5;
        }
        let own_loss =
            plain(Variable::Loss, &Chance::uniform(number(Purpose::LossParameters, 0)), 0.0);
        let own_loss =
            if as_seen(self.knobs.l) { own_loss } else { (own_loss * self.knobs.l).min(MOST_LOSS) };
        let common = match self.knobs {
            ref knobs if knobs.s > 0.0 => (knobs.k
                * libm::exp(knobs.s * inverse_normal(number(Purpose::LossParameters, 4))))
            .min(MOST_LOSS),
            ref knobs => knobs.k,
        };
        let loss = 1.0 - (1.0 - own_loss) * (1.0 - common);
        let policer = group.policer.as_ref().and_then(|policing| {
            policing.draw(rate_kbps, |k| number(Purpose::LossParameters, k + 1))
        });
        let bytes =
            clip(plain(Variable::Size, &chances[3], 1.0), (1.0, 7), (1e12, 7), &mut clipped);
        Drawn {
            index,
            group: class,
            rtt_us,
            rate_kbps,
            up_kbps,
            queue_bytes: queue_bytes.max(floor),
            loss_ppb: (libm::round(loss * 1e9) as u64).min(999_999_999),
            bytes,
            policer,
            clipped,
        }
    }
}

impl Group {
    /// The random numbers behind round trip, rate, buffer and size; correlated ones as normal
    /// numbers.
    fn chances(&self, free: [f64; 4]) -> [Chance; 4] {
        if self.correlation.pairs().is_empty() {
            return free.map(Chance::uniform);
        }
        let z = self.correlation.apply(free.map(inverse_normal));
        let mut order = Correlation::ORDER.iter().zip(z);
        free.map(|u| match order.next() {
            Some((variable, z)) if self.correlation.ties(*variable) => Chance::normal(z),
            _ => Chance::uniform(u),
        })
    }
}

impl Drawn {
    /// Rate times idle round trip, bytes.
    pub fn bdp_bytes(&self) -> u64 {
        (u128::from(self.rate_kbps) * u128::from(self.rtt_us) / 8_000) as u64
    }
}

impl Population {
    /// The path of a drawn connection.
    ///
    /// # Errors
    /// If the path keys of its group contradict the drawn values.
    pub fn path(&self, drawn: &Drawn) -> Result<Path, Error> {
        let group = &self.groups[drawn.group];
        let path = Population::plain_path(drawn, &group.path_keys())?;
        let ge = group.bursts.and_then(Bursts::of_path);
        let reorder =
            group.reordering.as_ref().and_then(|reordering| reordering.of_path(path.rtt()));
        if ge.is_none() && reorder.is_none() && drawn.policer.is_none() {
            return Ok(path);
        }
        // Values from the group's keys stay, unless they are drawn.
        let own = *path.effects();
        let effects = Effects {
            ge: ge.or(own.ge),
            reorder: reorder.or(own.reorder),
            policer: drawn.policer.or(own.policer),
            ..own
        };
        Ok(path.with_effects(effects))
    }

    fn plain_path(drawn: &Drawn, keys: &str) -> Result<Path, Error> {
        if !keys.is_empty() {
            let up = drawn.up_kbps.map_or(String::new(), |kbps| format!(",up={kbps}kbit"));
            let (whole, rest) = (drawn.loss_ppb / 10_000_000, drawn.loss_ppb % 10_000_000);
            let loss = format!(",loss={whole}.{rest:07}%");
            let loss = if drawn.loss_ppb == 0 { String::new() } else { loss };
            let (rate, rtt, queue) = (drawn.rate_kbps, drawn.rtt_us, drawn.queue_bytes);
            return Path::parse(&format!(
                "rate={rate}kbit,rtt={rtt}us,queue={queue}B{up}{loss},{keys}"
            ));
        }
        Ok(Path::new(drawn.rate_kbps * 1_000, drawn.rtt_us * 1_000)
            .with_queue(Queue::Bytes(drawn.queue_bytes))
            .with_loss_ppb(drawn.loss_ppb)
            .with_up(drawn.up_kbps.map(|kbps| Rate::Constant(kbps * 1_000))))
    }
}
