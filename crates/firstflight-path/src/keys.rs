//! From the keys of a path to the path: which keys there are, what each accepts, and which belong
//! together.

use crate::direction::{
    Aqm, Ecn, Effects, GilbertElliott, Jitter, PlayedTrace, Poisson, Policer, Queue, Rate, Reorder,
    Steps, WanderingRate,
};
use crate::error::{Error, Key, suggestion};
use crate::managed::{DualPi2, FqCodel, Red};
use crate::path::{Acks, Delay, Path};
use crate::release::Release;
use crate::trace::{Trace, TraceOptions, TraceStart};
use crate::typed::{Base, typed};
use crate::value;
use std::collections::BTreeMap;
use std::path::{Path as File, PathBuf};
use std::sync::Arc;

/// Keys of the whole path.
const WHOLE: &[&str] = &[
    "name",
    "source",
    "rate",
    "up",
    "rtt",
    "prop",
    "delay",
    "overhead",
    "return",
    "thin",
    "gro",
    "comp_sack",
    "ack",
];

/// Keys of a direction; with `up_` in front they are those of the reverse direction.
const DIRECTION: &[&str] = &[
    "start",
    "once",
    "spread",
    "scale",
    "skip",
    "steps",
    "wander",
    "lead_in",
    "ms_slots",
    "queue",
    "policer",
    "codel",
    "pie",
    "red",
    "ared",
    "fq_codel",
    "dualpi2",
    "ecn",
    "loss",
    "ge",
    "loss_every",
    "jitter",
    "reorder",
    "dup",
];

/// Those of them that name queue management; a direction has one at most.
const MANAGERS: [&str; 6] = ["codel", "pie", "red", "ared", "fq_codel", "dualpi2"];

/// Keys of a direction that may stand without a value.
const FLAGS: &[&str] =
    &["once", "spread", "ms_slots", "codel", "pie", "red", "ared", "fq_codel", "dualpi2", "ecn"];

pub(crate) fn is_flag(key: &str) -> bool {
    FLAGS.contains(&key.strip_prefix("up_").unwrap_or(key))
}

/// What a user may have meant by a word that is no key.
pub(crate) fn nearest_key(word: &str) -> String {
    let bare = word.strip_prefix("up_").unwrap_or(word);
    suggestion(bare, WHOLE.iter().chain(DIRECTION).copied())
}

/// The keys of one path, collected.
#[derive(Default)]
pub(crate) struct Keys {
    values: BTreeMap<String, String>,
    /// Where trace files with relative names are looked for.
    folder: Option<PathBuf>,
}

impl Keys {
    /// No keys yet; trace files are looked for beside `file`.
    pub(crate) fn beside(file: &File) -> Self {
        Self { values: BTreeMap::new(), folder: file.parent().map(File::to_path_buf) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn insert(&mut self, key: &str, value: &str) -> Result<(), Error> {
        if !WHOLE.contains(&key) && !DIRECTION.contains(&key.strip_prefix("up_").unwrap_or(key)) {
            let nearest = nearest_key(key);
            let allowed = format!(
                "{}, and for each direction (reverse with `up_` in front) {}",
                WHOLE.join(", "),
                DIRECTION.join(", ")
            );
            return Err(Error::at(key, value, format!("unknown key{nearest}"), allowed));
        }
        if value.is_empty() {
            return Err(Error::new(format!("{key}=: the value is missing")));
        }
        match self.values.insert(key.to_owned(), value.to_owned()) {
            Some(before) => Err(Error::new(format!("{key}={value}: given twice, {before} before"))),
            None => Ok(()),
        }
    }

    /// Puts other keys underneath the ones that are there.
    pub(crate) fn underlay(&mut self, below: Keys) {
        for (key, value) in below.values {
            self.values.entry(key).or_insert(value);
        }
    }

    /// The same keys with these values in place of theirs; a path that changes is no longer the one
    /// that its name and source speak of.
    pub(crate) fn changed(mut self, changes: &[(&str, &str)]) -> Result<Keys, Error> {
        if !changes.is_empty() {
            self.values.retain(|key, _| key != "name" && key != "source");
        }
        // Taken out first, so that a key that is changed twice is still given twice.
        for (key, _) in changes {
            self.values.remove(*key);
        }
        for (key, value) in changes {
            self.insert(key.trim(), value.trim())?;
        }
        Ok(self)
    }

    pub(crate) fn build(mut self) -> Result<Path, Error> {
        let rate = self
            .rate("rate", "")?
            .ok_or_else(|| Error::new("rate is missing; give for example rate=100Mbit"))?;
        let propagation = self.parsed(Key("", "prop"), &value::TIME)?;
        let rtt = match (self.parsed(Key("", "rtt"), &value::TIME)?, propagation) {
            (Some(_), Some(prop)) => {
                let wrong = "the idle round trip is given already";
                let prop = value::print_time(prop);
                return Err(Error::at("prop", &prop, wrong, "one of rtt and prop"));
            }
            (rtt, propagation) => rtt.or(propagation),
        };
        let rtt = rtt.ok_or_else(|| Error::new("rtt is missing; give for example rtt=30ms"))?;
        let up = self.rate("up", "up_")?;
        let mut path = Path::with_rate(rate, rtt).with_up(up);
        if let Some(given) = self.queue(Key("", "queue"))? {
            path = path.with_queue(given);
        }
        if let Some(given) = self.queue(Key("up_", "queue"))? {
            path = path.with_up_queue(given);
        }
        path = path.with_loss_ppb(self.parsed(Key("", "loss"), &value::LOSS)?.unwrap_or(0));
        path = path.with_up_loss_ppb(self.parsed(Key("up_", "loss"), &value::LOSS)?.unwrap_or(0));
        path = path.with_effects(self.effects("")?).with_up_effects(self.effects("up_")?);
        path = self.whole(path)?;
        if let Some(propagation) = propagation {
            path = path.with_propagation(propagation);
        }
        if let Some((key, value)) = self.values.iter().next() {
            return Err(homeless(key, value));
        }
        path.check()?;
        Ok(path)
    }

    fn take(&mut self, key: Key) -> Option<String> {
        self.values.remove(&key.to_string())
    }

    fn parsed(&mut self, key: Key, quantity: &value::Quantity) -> Result<Option<u64>, Error> {
        self.take(key).map(|text| quantity.parse(key, &text)).transpose()
    }

    fn counted(&mut self, key: Key, max: u64) -> Result<Option<u64>, Error> {
        self.take(key).map(|text| value::count(key, &text, 1, max)).transpose()
    }

    fn queue(&mut self, key: Key) -> Result<Option<Queue>, Error> {
        self.take(key).map(|text| queue(key, &text)).transpose()
    }

    fn flag(&mut self, key: Key) -> Result<bool, Error> {
        match self.take(key).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Error::at(key, other, "is neither", "true or false")),
        }
    }

    /// The rate of a direction with the keys that belong to its kind; those of another kind stay
    /// behind and are refused in the end.
    fn rate(&mut self, key: &'static str, prefix: &'static str) -> Result<Option<Rate>, Error> {
        let Some(text) = self.take(Key("", key)) else { return Ok(None) };
        if let Some(file) = text.strip_prefix("trace:") {
            let options = self.trace_options(prefix)?;
            let place = self
                .folder
                .as_ref()
                .map_or_else(|| PathBuf::from(file), |folder| folder.join(file));
            let trace = Trace::load(&place)?;
            return PlayedTrace::new(place.display().to_string(), Arc::new(trace), options)
                .map(|played| Some(Rate::Trace(played)));
        }
        if let Some(mean) = text.strip_prefix("poisson:") {
            let bps = value::RATE
                .parse(Key("", key), mean)
                .map_err(|e| e.within(format!("{key}={text}")))?;
            let lead_in = self.counted(Key(prefix, "lead_in"), 1_000_000)?.unwrap_or(0);
            return Ok(Some(Rate::Poisson(Poisson {
                bps,
                lead_in,
                ms_slots: self.flag(Key(prefix, "ms_slots"))?,
            })));
        }
        let bps = value::RATE.parse(Key("", key), &text)?;
        let wander = self.take(Key(prefix, "wander"));
        match (self.take(Key(prefix, "steps")), wander) {
            (None, None) => Ok(Some(Rate::Constant(bps))),
            (Some(text), None) => Ok(Some(Rate::Steps(Steps {
                first: bps,
                then: steps(Key(prefix, "steps"), &text)?,
            }))),
            (None, Some(text)) => {
                wandering(Key(prefix, "wander"), &text, bps).map(|rate| Some(Rate::Wander(rate)))
            }
            (Some(_), Some(text)) => Err(Error::at(
                Key(prefix, "wander"),
                &text,
                "the rate has steps already",
                "one of steps and wander",
            )),
        }
    }

    fn trace_options(&mut self, prefix: &'static str) -> Result<TraceOptions, Error> {
        let key = |name| Key(prefix, name);
        let start = match self.take(key("start")).as_deref() {
            None => TraceStart::At(0),
            Some("random") => TraceStart::Random,
            Some(text) => TraceStart::At(value::TIME_OR_ZERO.parse(key("start"), text)?),
        };
        let skip_ms = self.take(key("skip")).map_or(Ok(0), |text| whole_ms(key("skip"), &text))?;
        let scale = self.parsed(key("scale"), &value::FACTOR)?.unwrap_or(1_000_000);
        Ok(TraceOptions {
            start,
            once: self.flag(key("once"))?,
            spread: self.flag(key("spread"))?,
            scale,
            skip_ms,
        })
    }

    fn effects(&mut self, prefix: &'static str) -> Result<Effects, Error> {
        let key = |name| Key(prefix, name);
        let mut effects = Effects { aqm: self.aqm(prefix)?, ..Effects::default() };
        effects.policer =
            self.take(key("policer")).map(|text| policer(key("policer"), &text)).transpose()?;
        effects.ecn = match self.take(key("ecn")).as_deref() {
            None | Some("false") => None,
            Some("true") => Some(Ecn::InsteadOfDrop),
            Some(text) => Some(match text.strip_prefix("ce:") {
                Some(share) => Ecn::Chance(value::SHARE.parse(key("ecn"), share)?),
                None => Ecn::Above(queue(key("ecn"), text)?),
            }),
        };
        effects.ge =
            self.take(key("ge")).map(|text| gilbert_elliott(key("ge"), &text)).transpose()?;
        effects.loss_every = self.counted(key("loss_every"), 1_000_000_000)?;
        effects.jitter =
            self.take(key("jitter")).map(|text| jitter(key("jitter"), &text)).transpose()?;
        effects.reorder =
            self.take(key("reorder")).map(|text| reorder(key("reorder"), &text)).transpose()?;
        effects.dup_ppb = self.parsed(key("dup"), &value::LOSS)?.unwrap_or(0);
        Ok(effects)
    }

    fn aqm(&mut self, prefix: &'static str) -> Result<Option<Aqm>, Error> {
        let mut chosen: Option<(&str, Aqm)> = None;
        for name in MANAGERS {
            let key = Key(prefix, name);
            let aqm = match self.take(key).as_deref() {
                None | Some("false") => continue,
                Some(text) => managed(key, name, text)?,
            };
            if let Some((first, _)) = chosen.replace((name, aqm)) {
                let wrong = format!("the queue has {first} already");
                return Err(Error::at(key, "...", wrong, format!("one of {first} and {name}")));
            }
        }
        Ok(chosen.map(|(_, aqm)| aqm))
    }

    /// What belongs to no direction.
    fn whole(&mut self, mut path: Path) -> Result<Path, Error> {
        if let Some(text) = self.take(Key("", "delay")) {
            path = path.with_delay(match text.as_str() {
                "even" => Delay::Even,
                "before" => Delay::Before,
                "behind" => Delay::Behind,
                _ => {
                    return Err(Error::at(
                        "delay",
                        &text,
                        "is no place of the propagation delay",
                        "even, before or behind",
                    ));
                }
            });
        }
        if let Some(text) = self.take(Key("", "overhead")) {
            path = path.with_overhead(value::OVERHEAD.parse("overhead", &text)?);
        }
        if let Some(text) = self.take(Key("", "return")) {
            path = path.with_release(Release::parse(&text)?);
        }
        path = path.with_thin(self.counted(Key("", "thin"), 1_000_000)?);
        if let Some(text) = self.take(Key("", "gro")) {
            let parts = value::fields("gro", &text, &["TIME", "BYTES"], 2)?;
            path = path.with_gro(Some((
                value::TIME.parse("gro", parts[0])?,
                value::SIZE.parse("gro", parts[1])?,
            )));
        }
        if let Some(text) = self.take(Key("", "comp_sack")) {
            let parts = value::fields("comp_sack", &text, &["TIME", "COUNT"], 2)?;
            let count =
                value::count(Key("", "comp_sack"), parts[1], 1, crate::path::MOST_COMPRESSED)?;
            path = path.with_comp_sack(Some((value::TIME.parse("comp_sack", parts[0])?, count)));
        }
        path = path.with_acks(self.take(Key("", "ack")).map(|text| acks(&text)).transpose()?);
        let (name, source) = (self.take(Key("", "name")), self.take(Key("", "source")));
        Ok(path.with_name(name.unwrap_or_default(), source.unwrap_or_default()))
    }
}

/// `2`, every second packet, or `4/rtt`, four times per round trip.
fn acks(text: &str) -> Result<Acks, Error> {
    let key = Key("", "ack");
    match text.strip_suffix("/rtt") {
        Some(times) => value::count(key, times, 1, crate::path::MOST_PER_RTT).map(Acks::PerRtt),
        None => value::count(key, text, 1, crate::path::MOST_PER_ACK).map(Acks::Every),
    }
}

/// A key whose kind of rate is not there.
fn homeless(key: &str, value: &str) -> Error {
    let (rate, bare) = key.strip_prefix("up_").map_or(("rate", key), |bare| ("up", bare));
    let (who, example) = match bare {
        "steps" | "wander" => ("a constant rate", "=100Mbit"),
        "lead_in" | "ms_slots" => ("a Poisson process", "=poisson:3Mbit"),
        _ => ("a trace", "=trace:FILE"),
    };
    Error::new(format!("{key}={value}: only {who} has it; give {rate}{example} as well"))
}

fn whole_ms(key: Key, text: &str) -> Result<u64, Error> {
    let ns = value::TIME_OR_ZERO.parse(key, text)?;
    if ns % 1_000_000 == 0 {
        Ok(ns / 1_000_000)
    } else {
        Err(Error::at(key, text, "cuts a millisecond of the trace", "whole milliseconds"))
    }
}

fn queue(key: Key, text: &str) -> Result<Queue, Error> {
    let plain = typed(text, Base::Size);
    let (number, unit) = value::split(&plain);
    match unit {
        "unlimited" if number.is_empty() => Ok(Queue::Unlimited),
        "pkt" => value::count(key, number, 1, 1_000_000_000)
            .map(Queue::Packets)
            .map_err(|_| Error::at(key, text, "is no count of packets", "1pkt to 1000000000pkt")),
        "bdp" => value::BDP.parse(key, text).map(Queue::Bdp),
        "us" | "ms" | "s" => value::TIME.parse(key, text).map(Queue::Time),
        "B" | "kB" | "MB" => value::SIZE.parse(key, text).map(Queue::Bytes),
        _ => {
            let wrong = match (text.starts_with('-'), number.is_empty(), unit.is_empty()) {
                (true, ..) => "is negative",
                (_, true, _) => "is not a number",
                (.., true) => "the unit is missing",
                _ => "unknown unit",
            };
            Err(Error::at(
                key,
                text,
                wrong,
                "bytes (B, kB, MB), packets (pkt), time (us, ms, s), bdp, or `unlimited`",
            ))
        }
    }
}

/// `TIME:RATE/TIME:RATE`.
fn steps(key: Key, text: &str) -> Result<Arc<[(u64, u64)]>, Error> {
    let step = |part: &str| {
        let parts = value::fields(key, part, &["TIME", "RATE"], 2)?;
        let build = || {
            let rate = if parts[1] == "off" { 0 } else { value::RATE.parse("RATE", parts[1])? };
            Ok((value::TIME_OR_ZERO.parse("TIME", parts[0])?, rate))
        };
        build().map_err(|e: Error| e.within(format!("{key}={text}")))
    };
    text.split('/').map(|part| step(part.trim())).collect()
}

/// `SD` or `SD:TAU`.
fn wandering(key: Key, text: &str, bps: u64) -> Result<WanderingRate, Error> {
    let parts = value::fields(key, text, &["SD", "TAU"], 1)?;
    let sd = value::SPREAD.parse("SD", parts[0]).map_err(|e| e.within(format!("{key}={text}")))?;
    let tau = parts
        .get(1)
        .map_or(Ok(1_000_000_000), |tau| value::TIME.parse("TAU", tau))
        .map_err(|e| e.within(format!("{key}={text}")))?;
    Ok(WanderingRate { bps, sd, tau })
}

/// `RATE:BUCKET`.
fn policer(key: Key, text: &str) -> Result<Policer, Error> {
    let parts = value::fields(key, text, &["RATE", "BUCKET"], 2)?;
    let build = || {
        Ok(Policer {
            bps: value::RATE.parse("RATE", parts[0])?,
            bucket: value::TIME.parse("BUCKET", parts[1])?,
        })
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}

/// Queue management by the name and value of its key; `true` is its default.
fn managed(key: Key, name: &str, text: &str) -> Result<Aqm, Error> {
    let alone = text == "true";
    Ok(match name {
        "codel" if alone => Aqm::CODEL,
        "codel" => codel(key, text)?,
        "pie" if alone => Aqm::PIE,
        "pie" => Aqm::Pie { target: value::TIME.parse(key, text)? },
        "fq_codel" if alone => Aqm::FqCodel(FqCodel::default()),
        "fq_codel" => Aqm::FqCodel(FqCodel::parse(key, text)?),
        "dualpi2" if alone => Aqm::DualPi2(DualPi2::default()),
        "dualpi2" => Aqm::DualPi2(DualPi2::parse(key, text)?),
        _ if alone => Aqm::Red(Red { adaptive: name == "ared", ..Red::default() }),
        _ => Aqm::Red(Red::parse(key, text, name == "ared")?),
    })
}

/// `TARGET:INTERVAL`.
fn codel(key: Key, text: &str) -> Result<Aqm, Error> {
    let parts = value::fields(key, text, &["TARGET", "INTERVAL"], 2)?;
    let build = || {
        Ok(Aqm::Codel {
            target: value::TIME.parse("TARGET", parts[0])?,
            interval: value::TIME.parse("INTERVAL", parts[1])?,
        })
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}

/// `G:BURST:H:K`, `K` may be left out.
fn gilbert_elliott(key: Key, text: &str) -> Result<GilbertElliott, Error> {
    let parts = value::fields(key, text, &["G", "BURST", "H", "K"], 3)?;
    let build = || {
        Ok(GilbertElliott {
            g: value::SHARE.parse("G", parts[0])?,
            burst: value::BURST.parse("BURST", parts[1])?,
            h: value::SHARE.parse("H", parts[2])?,
            k: parts.get(3).map_or(Ok(0), |k| value::SHARE.parse("K", k))?,
        })
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}

/// `MAX`, `MIN-MAX` or `normal:MEAN:SIGMA`.
fn jitter(key: Key, text: &str) -> Result<Jitter, Error> {
    if text.starts_with("normal") {
        let parts = value::fields(key, text, &["normal", "MEAN", "SIGMA"], 3)?;
        let build = || {
            Ok(Jitter::Normal(
                value::EXTRA.parse("MEAN", parts[1])?,
                value::EXTRA.parse("SIGMA", parts[2])?,
            ))
        };
        return build().map_err(|e: Error| e.within(format!("{key}={text}")));
    }
    let (low, high) = value::range(key, text, &value::EXTRA)?;
    Ok(if text.contains('-') { Jitter::Uniform(low, high) } else { Jitter::Uniform(0, high) })
}

/// `SHARE:MEAN` or `SHARE:MEAN:SHARE:MEAN`.
fn reorder(key: Key, text: &str) -> Result<Reorder, Error> {
    let parts = value::fields(key, text, &["SHARE", "MEAN", "SHARE", "MEAN"], 2)?;
    let pair = |share: &str, mean: &str| {
        Ok((value::SHARE.parse("SHARE", share)?, value::TIME.parse("MEAN", mean)?))
    };
    let build = || match parts.as_slice() {
        [share, mean] => Ok(Reorder { first: pair(share, mean)?, second: None }),
        [share, mean, other, its_mean] => {
            Ok(Reorder { first: pair(share, mean)?, second: Some(pair(other, its_mean)?) })
        }
        _ => Err(Error::at(key, text, "has 3 fields", "SHARE:MEAN or SHARE:MEAN:SHARE:MEAN")),
    };
    build().map_err(|e: Error| e.within(format!("{key}={text}")))
}
