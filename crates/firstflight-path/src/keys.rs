//! Builds a path from its keys: the rates with the keys that belong to them, and the tables of all
//! other keys.

use crate::capacity::{Queue, queue};
use crate::direction::{Effects, PlayedTrace, Poisson, Rate, Steps, WanderingRate};
use crate::effect_keys::EFFECTS;
use crate::error::{Error, Key, suggestion};
use crate::input::{file_of, text_of};
use crate::path::Path;
use crate::setting::Setting;
use crate::trace::{Trace, TraceOptions, TraceStart};
use crate::value;
use crate::whole_keys::WHOLE;
use std::collections::BTreeMap;
use std::path::{Path as File, PathBuf};
use std::sync::Arc;

/// Keys of the whole path in addition to those of [`WHOLE`].
const OF_PATH: [&str; 6] = ["name", "source", "rate", "up", "rtt", "prop"];

/// Keys of a direction in addition to those of [`EFFECTS`]; prefixed with `up_` they apply to the
/// reverse direction.
const OF_LINK: [&str; 11] = [
    "start", "once", "spread", "scale", "skip", "steps", "wander", "lead_in", "ms_slots", "queue",
    "loss",
];

/// Keys among these that may stand without a value.
const FLAGS: [&str; 3] = ["once", "spread", "ms_slots"];

fn of_path() -> impl Iterator<Item = &'static str> {
    OF_PATH.into_iter().chain(WHOLE.iter().map(|setting| setting.name))
}

fn of_direction() -> impl Iterator<Item = &'static str> {
    OF_LINK.into_iter().chain(EFFECTS.iter().map(|setting| setting.name))
}

pub(crate) fn is_flag(key: &str) -> bool {
    let bare = key.strip_prefix("up_").unwrap_or(key);
    FLAGS.contains(&bare) || EFFECTS.iter().any(|setting| setting.alone && setting.name == bare)
}

/// The key most likely meant by an unknown word.
pub(crate) fn nearest_key(word: &str) -> String {
    let bare = word.strip_prefix("up_").unwrap_or(word);
    suggestion(bare, of_path().chain(of_direction()))
}

/// Checks that a path has this key. The value appears in the error only.
///
/// # Errors
/// A one-line message with the nearest key and all known ones.
pub fn known_key(key: &str, value: &str) -> Result<(), Error> {
    let bare = key.strip_prefix("up_").unwrap_or(key);
    if of_path().any(|known| known == key) || of_direction().any(|known| known == bare) {
        return Ok(());
    }
    let nearest = nearest_key(key);
    let allowed = format!(
        "{}, and for each direction (reverse with `up_` in front) {}",
        of_path().collect::<Vec<_>>().join(", "),
        of_direction().collect::<Vec<_>>().join(", ")
    );
    Err(Error::at(key, value, format!("unknown key{nearest}"), allowed))
}

/// The collected keys of one path.
#[derive(Default)]
pub(crate) struct Keys {
    values: BTreeMap<String, String>,
    /// Folder for trace files with relative names.
    folder: Option<PathBuf>,
}

impl Keys {
    /// No keys yet; trace files are searched next to `file`.
    pub(crate) fn beside(file: &File) -> Self {
        Self { values: BTreeMap::new(), folder: file.parent().map(File::to_path_buf) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn insert(&mut self, key: &str, value: &str) -> Result<(), Error> {
        known_key(key, value)?;
        if value.is_empty() {
            return Err(Error::new(format!("{key}=: the value is missing")));
        }
        match self.values.insert(key.to_owned(), value.to_owned()) {
            Some(before) => Err(Error::new(format!("{key}={value}: given twice, {before} before"))),
            None => Ok(()),
        }
    }

    /// Adds the keys of `below` that are not set yet.
    pub(crate) fn underlay(&mut self, below: Keys) {
        for (key, value) in below.values {
            self.values.entry(key).or_insert(value);
        }
    }

    /// Replaces the values of these keys. A path that changes loses its name and source.
    pub(crate) fn changed(mut self, changes: &[(&str, &str)]) -> Result<Keys, Error> {
        if !changes.is_empty() {
            self.values.retain(|key, _| key != "name" && key != "source");
        }
        // Removed first, so that a key that is changed twice is still reported as given twice.
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
            .ok_or_else(|| Error::new("rate is missing; for example, rate=100Mbit"))?;
        let propagation = self.parsed(Key("", "prop"), &value::ROUND_TRIP)?;
        let rtt = match (self.parsed(Key("", "rtt"), &value::ROUND_TRIP)?, propagation) {
            (Some(_), Some(prop)) => {
                let wrong = "the idle round trip is already given";
                let prop = value::print_time(prop);
                return Err(Error::at("prop", &prop, wrong, "one of rtt and prop"));
            }
            (rtt, propagation) => rtt.or(propagation),
        };
        let rtt = rtt.ok_or_else(|| Error::new("rtt is missing; for example, rtt=30ms"))?;
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
        path = path.with_effects(self.settings("", EFFECTS, Effects::default())?);
        path = path.with_up_effects(self.settings("up_", EFFECTS, Effects::default())?);
        path = self.settings("", WHOLE, path)?;
        let (name, source) = (self.take(Key("", "name")), self.take(Key("", "source")));
        path = path.with_name(name.unwrap_or_default(), source.unwrap_or_default());
        if let Some(propagation) = propagation {
            path = path.with_propagation(propagation);
        }
        if let Some((key, value)) = self.values.iter().next() {
            return Err(homeless(key, value));
        }
        path.check()?;
        path.check_loss_ends()?;
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

    /// The rate of a direction with the keys of its kind; keys of another kind remain and are
    /// refused at the end.
    fn rate(&mut self, key: &'static str, prefix: &'static str) -> Result<Option<Rate>, Error> {
        let Some(text) = self.take(Key("", key)) else { return Ok(None) };
        if let Some(file) = text.strip_prefix("trace:") {
            let options = self.trace_options(prefix)?;
            let file = file_of(file);
            let place =
                self.folder.as_ref().map_or_else(|| file.clone(), |folder| folder.join(&file));
            let trace = Trace::load(&place)?;
            return PlayedTrace::new(text_of(place.as_os_str()), Arc::new(trace), options)
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
                "the rate already has steps",
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

    /// Puts each key of the table that is present into `value`.
    fn settings<T>(
        &mut self,
        prefix: &'static str,
        table: &[Setting<T>],
        mut value: T,
    ) -> Result<T, Error> {
        for setting in table {
            let key = Key(prefix, setting.name);
            if let Some(text) = self.take(key) {
                value = (setting.read)(value, key, &text)?;
            }
        }
        Ok(value)
    }
}

/// A key that belongs to another kind of rate.
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

#[cfg(test)]
mod tests {
    use super::{of_direction, of_path};
    use std::collections::BTreeSet;

    /// Names in the first column of a table in the crate's documentation.
    fn documented(section: &str) -> BTreeSet<&'static str> {
        let text = include_str!("lib.rs");
        let (_, text) = text.split_once(section).expect("the section is there");
        let rows = text.lines().skip(1).take_while(|line| !line.starts_with("//! ## "));
        let cells = rows.filter_map(|row| row.strip_prefix("//! | `")?.split(" | ").next());
        cells.flat_map(|cell| cell.split(['`', ',', ' ']).filter(|name| !name.is_empty())).collect()
    }

    #[test]
    fn the_documentation_has_every_key_and_no_other() {
        assert_eq!(documented("//! ## The whole path"), of_path().collect());
        assert_eq!(documented("//! ## Each direction"), of_direction().collect());
    }
}
