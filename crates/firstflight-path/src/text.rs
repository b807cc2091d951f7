//! Paths as text: `key=value` lists, names and TOML files, and the canonical text that is printed.
//!
//! Reading is in two steps: collect the keys (a name contributes the keys of its built-in text, later keys override them), then build the path.
//! Files are read in [`toml_file`] and in [`Trace::load`], nowhere else.

use crate::builtin;
use crate::error::{PathError, suggestion};
use crate::path::{Path, PlayedTrace, Queue, Rate};
use crate::trace::{Trace, TraceOptions, TraceStart};
use crate::value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path as File;
use std::str::FromStr;
use std::sync::Arc;

/// Every key, in the order in which they are printed.
pub(crate) const KEYS: &[&str] =
    &["name", "source", "rate", "start", "once", "spread", "scale", "skip", "rtt", "queue", "loss", "up", "up_queue", "up_loss"];

/// Keys without a value.
const FLAGS: &[&str] = &["once", "spread"];

/// The keys of one path, collected.
struct Keys {
    values: BTreeMap<String, String>,
    /// Where trace files with relative names are looked for.
    folder: Option<std::path::PathBuf>,
}

impl Keys {
    fn insert(&mut self, key: &str, value: &str) -> Result<(), PathError> {
        if !KEYS.contains(&key) {
            return Err(PathError::new(format!(
                "{key}={value}: unknown key{}; allowed: {}",
                suggestion(key, KEYS.iter().copied()),
                KEYS.join(", ")
            )));
        }
        if value.is_empty() {
            return Err(PathError::new(format!("{key}=: the value is missing")));
        }
        match self.values.insert(key.to_owned(), value.to_owned()) {
            Some(before) => Err(PathError::new(format!("{key}={value}: given twice, {before} before"))),
            None => Ok(()),
        }
    }

    /// Puts the keys of a built-in path underneath the keys that are there.
    fn base(&mut self, name: &str) -> Result<(), PathError> {
        let found = builtin::find(name)?;
        let mut below = Keys { values: BTreeMap::new(), folder: None };
        below.items(found.text.split(','))?;
        if self.values.is_empty() {
            below.insert("name", found.name)?;
            below.insert("source", found.source)?;
        }
        for (key, value) in below.values {
            self.values.entry(key).or_insert(value);
        }
        Ok(())
    }

    fn items<'a>(&mut self, items: impl Iterator<Item = &'a str>) -> Result<(), PathError> {
        for item in items {
            match item.trim().split_once('=') {
                Some((key, value)) => self.insert(key.trim(), value.trim())?,
                None if FLAGS.contains(&item.trim()) => self.insert(item.trim(), "true")?,
                None => {
                    return Err(PathError::new(format!(
                        "`{}` is not key=value{}",
                        item.trim(),
                        suggestion(item.trim(), KEYS.iter().copied())
                    )));
                }
            }
        }
        Ok(())
    }

    fn take(&mut self, key: &str) -> Option<String> {
        self.values.remove(key)
    }

    fn parsed(&mut self, key: &str, quantity: &value::Quantity) -> Result<Option<u64>, PathError> {
        self.take(key).map(|text| quantity.parse(key, &text)).transpose()
    }

    fn flag(&mut self, key: &str) -> Result<bool, PathError> {
        match self.take(key).as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(PathError::at(key, other, "is neither", "true or false")),
        }
    }

    fn build(mut self) -> Result<Path, PathError> {
        let rate = self.take("rate").ok_or_else(|| PathError::new("rate is missing; give for example rate=100Mbit"))?;
        let rate = self.rate("rate", &rate)?;
        let rtt = self.parsed("rtt", &value::TIME)?.ok_or_else(|| PathError::new("rtt is missing; give for example rtt=30ms"))?;
        let mut path = Path::with_rate(rate, rtt);
        if let Some(text) = self.take("queue") {
            path = path.with_queue(queue("queue", &text)?);
        }
        if let Some(text) = self.take("up_queue") {
            path = path.with_up_queue(queue("up_queue", &text)?);
        }
        if let Some(text) = self.take("up") {
            path = path.with_up(Some(self.rate("up", &text)?));
        }
        path = path.with_loss_ppb(self.parsed("loss", &value::LOSS)?.unwrap_or(0));
        path = path.with_up_loss_ppb(self.parsed("up_loss", &value::LOSS)?.unwrap_or(0));
        path = path.with_name(self.take("name").unwrap_or_default(), self.take("source").unwrap_or_default());
        if let Some((key, value)) = self.values.iter().next() {
            return Err(PathError::new(format!("{key}={value}: only a trace has it; give rate=trace:FILE as well")));
        }
        path.check()?;
        Ok(path)
    }

    fn rate(&mut self, key: &str, text: &str) -> Result<Rate, PathError> {
        let Some(file) = text.strip_prefix("trace:") else {
            return value::RATE.parse(key, text).map(Rate::Constant);
        };
        if key != "rate" {
            return Err(PathError::at(key, text, "no traces in reverse", "a constant rate such as 10Mbit"));
        }
        let options = self.trace_options()?;
        let place = self.folder.as_ref().map_or_else(|| File::new(file).to_path_buf(), |folder| folder.join(file));
        let trace = Trace::load(&place)?;
        PlayedTrace::new(place.display().to_string(), Arc::new(trace), options).map(Rate::Trace)
    }

    fn trace_options(&mut self) -> Result<TraceOptions, PathError> {
        let start = match self.take("start").as_deref() {
            None => TraceStart::At(0),
            Some("random") => TraceStart::Random,
            Some(text) => TraceStart::At(value::TIME_OR_ZERO.parse("start", text)?),
        };
        let skip = self.take("skip");
        let skip_ms = match &skip {
            None => 0,
            Some(text) => {
                let ns = value::TIME_OR_ZERO.parse("skip", text)?;
                if ns % 1_000_000 != 0 {
                    return Err(PathError::at("skip", text, "cuts a millisecond of the trace", "whole milliseconds"));
                }
                ns / 1_000_000
            }
        };
        let scale = self.parsed("scale", &value::FACTOR)?.unwrap_or(1_000_000);
        Ok(TraceOptions { start, once: self.flag("once")?, spread: self.flag("spread")?, scale, skip_ms })
    }
}

fn queue(key: &str, text: &str) -> Result<Queue, PathError> {
    let (number, unit) = value::split(text);
    match unit {
        "unlimited" if number.is_empty() => Ok(Queue::Unlimited),
        "pkt" => match number.parse::<u64>() {
            Ok(packets @ 1..=1_000_000_000) => Ok(Queue::Packets(packets)),
            _ => Err(PathError::at(key, text, "is no count of packets", "1pkt to 1000000000pkt")),
        },
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
            Err(PathError::at(key, text, wrong, "bytes (B, kB, MB), packets (pkt), time (us, ms, s), bdp, or `unlimited`"))
        }
    }
}

impl Path {
    /// A path from text: `key=value` items separated by commas, a built-in name, a name followed by items that override it, or the name of a
    /// TOML file ending in `.toml` with the same keys. The keys are listed on the crate's first page.
    ///
    /// Reads a file only for `.toml` and for `rate=trace:FILE`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PathError::new("empty path; give a name such as `geo`, or rate=100Mbit,rtt=30ms,queue=30ms"));
        }
        if !text.contains('=') && File::new(text).extension().is_some_and(|extension| extension == "toml") {
            return toml_file(File::new(text));
        }
        let mut keys = Keys { values: BTreeMap::new(), folder: None };
        let (first, rest) = text.split_once(',').map_or((text, None), |(first, rest)| (first.trim(), Some(rest)));
        if first.contains('=') || FLAGS.contains(&first) {
            keys.items(text.split(','))?;
        } else {
            if let Some(rest) = rest {
                keys.items(rest.split(','))?;
            }
            keys.base(first)?;
        }
        keys.build()
    }
}

/// Reads a path from a TOML file. Keys as in the inline text, and `base` for a built-in path underneath; unknown keys are errors.
pub(crate) fn toml_file(file: &File) -> Result<Path, PathError> {
    let text = std::fs::read_to_string(file).map_err(|e| PathError::new(format!("{}: cannot read the path: {e}", file.display())))?;
    let line = |offset: usize| format!("{}:{}", file.display(), text[..offset].bytes().filter(|b| *b == b'\n').count() + 1);
    let table = toml::de::DeTable::parse(&text).map_err(|e| {
        let place = line(e.span().map_or(0, |span| span.start.min(text.len())));
        PathError::new(e.message()).within(place)
    })?;
    let mut keys = Keys { values: BTreeMap::new(), folder: file.parent().map(File::to_path_buf) };
    let mut base = None;
    for (key, value) in table.get_ref() {
        let place = line(key.span().start);
        let value = match value.get_ref() {
            toml::de::DeValue::String(text) => text.to_string(),
            toml::de::DeValue::Integer(number) => number.to_string(),
            toml::de::DeValue::Float(number) => number.as_str().to_owned(),
            toml::de::DeValue::Boolean(flag) => flag.to_string(),
            other => {
                return Err(PathError::new(format!(
                    "{}: found {}; allowed: text, a number, true or false",
                    key.get_ref(),
                    other.type_str()
                ))
                .within(place));
            }
        };
        match key.get_ref().as_ref() {
            "base" => base = Some((value, place)),
            key => keys.insert(key, &value).map_err(|e| e.within(place))?,
        }
    }
    if let Some((name, place)) = base {
        keys.base(&name).map_err(|e| e.within(place))?;
    }
    keys.build().map_err(|e| e.within(file.display()))
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Queue::Bytes(bytes) => f.write_str(&value::print_size(*bytes)),
            Queue::Packets(packets) => write!(f, "{packets}pkt"),
            Queue::Time(ns) => f.write_str(&value::print_time(*ns)),
            Queue::Bdp(millionths) => write!(f, "{}bdp", value::print_factor(*millionths)),
            Queue::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for Rate {
    /// The rate and, behind it, the options of a trace that are not at their default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let played = match self {
            Rate::Constant(bps) => return f.write_str(&value::print_rate(*bps)),
            Rate::Trace(played) => played,
        };
        let TraceOptions { start, once, spread, scale, skip_ms } = played.options();
        write!(f, "trace:{}", played.file())?;
        match start {
            TraceStart::At(0) => {}
            TraceStart::At(ns) => write!(f, ",start={}", value::print_time(*ns))?,
            TraceStart::Random => f.write_str(",start=random")?,
        }
        for (flag, on) in [("once", once), ("spread", spread)] {
            if *on {
                write!(f, ",{flag}")?;
            }
        }
        if *scale != 1_000_000 {
            write!(f, ",scale={}", value::print_factor(*scale))?;
        }
        if *skip_ms != 0 {
            write!(f, ",skip={}", value::print_time(skip_ms * 1_000_000))?;
        }
        Ok(())
    }
}

impl fmt::Display for Path {
    /// The canonical text: what differs from the defaults, in a fixed order. Parsing it gives an equal path. Name and source are not printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate={},rtt={},queue={}", self.rate(), value::print_time(self.rtt()), self.queue())?;
        if self.loss_ppb() != 0 {
            write!(f, ",loss={}", value::print_percent(self.loss_ppb()))?;
        }
        if let Some(up) = self.up() {
            write!(f, ",up={up}")?;
        }
        if self.up_queue() != Queue::Unlimited {
            write!(f, ",up_queue={}", self.up_queue())?;
        }
        if self.up_loss_ppb() != 0 {
            write!(f, ",up_loss={}", value::print_percent(self.up_loss_ppb()))?;
        }
        Ok(())
    }
}

impl serde::Serialize for Path {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Path {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
