//! Queue management with its own settings, as values and as text: RED, FQ-CoDel, DualPI2.

use crate::capacity::{PACKET, Queue};
use crate::error::{Error, Key};
use crate::value::{self, print_factor, print_percent, print_size, print_time};
use std::fmt::{self, Display, Formatter};

/// Random Early Detection (Floyd and Jacobson 1993), gentle, and its adaptive form (Floyd,
/// Gummadi and Shenker 2001).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Red {
    /// Average queue below which nothing is dropped, bytes.
    pub min: u64,
    /// Average queue at which the probability is `max_p`, bytes; the probability reaches 1 at twice
    /// this.
    pub max: u64,
    /// Probability at `max`, in 1e-9; the initial value of the adaptive form.
    pub max_p: u64,
    /// Weight of one packet in the average, in 1e-9.
    pub weight: u64,
    /// Whether `max_p` adapts so that the average stays in the middle between `min` and `max`.
    pub adaptive: bool,
}

impl Default for Red {
    /// 5 and 15 packets, 2 %, a weight of 0.002: the defaults of ns-3.
    fn default() -> Self {
        let (min, max) = (5 * PACKET, 15 * PACKET);
        Self { min, max, max_p: 20_000_000, weight: 2_000_000, adaptive: false }
    }
}

/// FQ-CoDel, RFC 8290.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodel {
    /// Number of queues that flows are hashed to, 1 to 65536.
    pub flows: u64,
    /// Bytes that a queue may send per turn.
    pub quantum: u64,
    /// CoDel's acceptable standing delay, ns.
    pub target: u64,
    /// CoDel's interval, ns.
    pub interval: u64,
}

impl Default for FqCodel {
    /// RFC 8290 section 5.2: 1024 queues, 1514 bytes, target 5 ms, interval 100 ms.
    fn default() -> Self {
        Self { flows: 1024, quantum: 1514, target: 5_000_000, interval: 100_000_000 }
    }
}

/// DualPI2, RFC 9332 appendix A, with the settings of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualPi2 {
    /// Target delay of the classic queue, ns.
    pub target: u64,
    /// Time between two updates of the probability, ns.
    pub update: u64,
    /// Gain on the distance from the target, in 1e-6 Hz.
    pub alpha: u64,
    /// Gain on the change of the delay, in 1e-6 Hz.
    pub beta: u64,
    /// Coupling factor: the marking probability of the L queue over the base probability.
    pub k: u64,
    /// Wait in the L queue beyond which a packet is marked, ns.
    pub step: u64,
    /// Share of the link that the classic queue keeps while both wait, percent, 1 to 99.
    pub classic: u64,
}

impl Default for DualPi2 {
    /// 15 ms, 16 ms, 0.16 Hz, 3.2 Hz, 2, 1 ms, 10 %.
    fn default() -> Self {
        Self {
            target: 15_000_000,
            update: 16_000_000,
            alpha: 160_000,
            beta: 3_200_000,
            k: 2,
            step: 1_000_000,
            classic: 10,
        }
    }
}

/// `NAME:VALUE/NAME:VALUE`. Each pair is passed to `set`, which returns whether the name exists.
fn options(
    key: Key,
    text: &str,
    names: &str,
    mut set: impl FnMut(&str, &str) -> Result<bool, Error>,
) -> Result<(), Error> {
    for part in text.split('/') {
        let unknown = || Error::at(key, text, format!("`{part}` is not a setting"), names);
        let (name, value) = part.trim().split_once(':').ok_or_else(unknown)?;
        if !set(name.trim(), value.trim()).map_err(|e| e.within(format!("{key}={text}")))? {
            return Err(unknown());
        }
    }
    Ok(())
}

/// Bytes of a queue given as a size or in packets.
fn size(text: &str) -> Result<u64, Error> {
    match text.strip_suffix("pkt") {
        Some(count) => value::count("size", count, 1, 1_000_000).map(|count| count * PACKET),
        None => value::SIZE.parse("size", text),
    }
}

impl Red {
    /// `MIN:MAX` or `MIN:MAX:MAXP:WEIGHT`.
    pub(crate) fn parse(key: Key, text: &str, adaptive: bool) -> Result<Self, Error> {
        let parts = value::fields(key, text, &["MIN", "MAX", "MAXP", "WEIGHT"], 2)?;
        let build = || {
            let share = |place: usize, name: &str, usual: u64| {
                parts.get(place).map_or(Ok(usual), |text| value::CHANCE.parse(name, text))
            };
            let usual = Self::default();
            Ok(Self {
                min: size(parts[0])?,
                max: size(parts[1])?,
                max_p: share(2, "MAXP", usual.max_p)?,
                weight: share(3, "WEIGHT", usual.weight)?,
                adaptive,
            })
        };
        build().map_err(|e: Error| e.within(format!("{key}={text}")))
    }

    pub(crate) fn check(&self, key: Key) -> Result<(), Error> {
        for bytes in [self.min, self.max] {
            value::SIZE.check(key, bytes, print_size)?;
        }
        for share in [self.max_p, self.weight] {
            value::CHANCE.check(key, share, print_percent)?;
        }
        if self.min >= self.max || self.max_p == 0 || self.weight == 0 {
            let allowed = "MIN below MAX, and neither MAXP nor WEIGHT 0";
            return Err(Error::at(key, &self.to_string(), "never drops early", allowed));
        }
        Ok(())
    }
}

impl Display for Red {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let size = |bytes: u64| {
            if bytes.is_multiple_of(PACKET) {
                Queue::Packets(bytes / PACKET).to_string()
            } else {
                print_size(bytes)
            }
        };
        let (min, max) = (size(self.min), size(self.max));
        write!(f, "{min}:{max}:{}:{}", print_percent(self.max_p), print_percent(self.weight))
    }
}

impl FqCodel {
    pub(crate) fn parse(key: Key, text: &str) -> Result<Self, Error> {
        let mut given = Self::default();
        options(
            key,
            text,
            "`fq_codel` alone, or flows, quantum, target and interval as flows:1024/target:5ms",
            |name, value| {
                match name {
                    "flows" => given.flows = value::count(name, value, 1, 65_536)?,
                    "quantum" => given.quantum = value::SIZE.parse(name, value)?,
                    "target" => given.target = value::TIME.parse(name, value)?,
                    "interval" => given.interval = value::TIME.parse(name, value)?,
                    _ => return Ok(false),
                }
                Ok(true)
            },
        )?;
        Ok(given)
    }

    pub(crate) fn check(&self, key: Key) -> Result<(), Error> {
        value::check_count(key, self.flows, 1, 65_536)?;
        if !(1..=1_000_000).contains(&self.quantum) {
            return Err(Error::at(key, &print_size(self.quantum), "no quantum", "1B to 1MB"));
        }
        value::TIME.check(key, self.target, print_time)?;
        value::TIME.check(key, self.interval, print_time)
    }
}

impl Display for FqCodel {
    /// The settings that differ from the defaults, or nothing.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let time = |ns: u64, usual: u64| (ns != usual).then(|| print_time(ns));
        list(
            f,
            &[
                ("flows", (self.flows != usual.flows).then(|| self.flows.to_string())),
                ("quantum", (self.quantum != usual.quantum).then(|| print_size(self.quantum))),
                ("target", time(self.target, usual.target)),
                ("interval", time(self.interval, usual.interval)),
            ],
        )
    }
}

impl DualPi2 {
    pub(crate) fn parse(key: Key, text: &str) -> Result<Self, Error> {
        let mut given = Self::default();
        let names = "target, update, alpha, beta, k, step, classic";
        options(key, text, names, |name, value| {
            match name {
                "target" => given.target = value::TIME.parse(name, value)?,
                "update" => given.update = value::TIME.parse(name, value)?,
                "alpha" => given.alpha = value::FACTOR.parse(name, value)?,
                "beta" => given.beta = value::FACTOR.parse(name, value)?,
                "k" => given.k = value::count(name, value, 1, 100)?,
                "step" => given.step = value::TIME.parse(name, value)?,
                "classic" => given.classic = value::count(name, value, 1, 99)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(given)
    }

    pub(crate) fn check(&self, key: Key) -> Result<(), Error> {
        for ns in [self.target, self.update, self.step] {
            value::TIME.check(key, ns, print_time)?;
        }
        for gain in [self.alpha, self.beta] {
            value::FACTOR.check(key, gain, print_factor)?;
        }
        if self.update < 1_000_000 {
            let update = print_time(self.update);
            return Err(Error::at(key, &update, "updates too often", "1ms or more"));
        }
        value::check_count(key, self.k, 1, 100)?;
        value::check_count(key, self.classic, 1, 99)
    }
}

impl Display for DualPi2 {
    /// The settings that differ from the defaults, or nothing.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        let time = |ns: u64, usual: u64| (ns != usual).then(|| print_time(ns));
        let gain = |gain: u64, usual: u64| (gain != usual).then(|| print_factor(gain));
        let count = |count: u64, usual: u64| (count != usual).then(|| count.to_string());
        list(
            f,
            &[
                ("target", time(self.target, usual.target)),
                ("update", time(self.update, usual.update)),
                ("alpha", gain(self.alpha, usual.alpha)),
                ("beta", gain(self.beta, usual.beta)),
                ("k", count(self.k, usual.k)),
                ("step", time(self.step, usual.step)),
                ("classic", count(self.classic, usual.classic)),
            ],
        )
    }
}

/// `NAME:VALUE/NAME:VALUE` of the settings that have a value.
fn list(f: &mut Formatter<'_>, settings: &[(&str, Option<String>)]) -> fmt::Result {
    let given = settings.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    for (place, (name, value)) in given.enumerate() {
        write!(f, "{}{name}:{value}", if place == 0 { "" } else { "/" })?;
    }
    Ok(())
}
