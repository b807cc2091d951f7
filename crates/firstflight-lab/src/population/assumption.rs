//! The unmeasured values that a population assumes, with the plausible range of each. Every
//! combination of the ranges' ends is a world; an A/B test runs in all worlds.

use super::knobs::Knobs;
use super::place::{Field, Section, VALUES};
use firstflight_path::Error;
use serde::{Deserialize, Serialize};
use std::fmt;

const ASSUMPTION: &[&str] = &["value", "low", "high", "ref"];
/// Maximum number of assumptions of a population: all their corners are run, 8 worlds.
const MOST: usize = 3;

/// An unmeasured value, and the settings between which the truth may lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// Name, as in "depending on buffers".
    pub value: String,
    /// One end of the range.
    pub low: End,
    /// The other end.
    pub high: End,
    /// Reason for this range.
    pub reference: String,
}

/// An end of the range.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Description as text: `buffers half as deep`.
    pub words: String,
    /// The knobs that it sets.
    pub setting: Setting,
}

/// Values of knobs, as in [`Knobs`]. Absent knobs keep their value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Factor on every buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<f64>,
    /// Median of the random loss over the connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<f64>,
    /// Standard deviation of the logarithm of the random loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<f64>,
    /// Factor on rates that are lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<f64>,
    /// Factor on the groups' own loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub l: Option<f64>,
    /// Factor on `k`, applied after any other assumption's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_times: Option<f64>,
    /// Factor on `s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_times: Option<f64>,
}

/// A setting's keys with their bounds.
const KEYS: [(&str, f64, f64); 7] = [
    ("q", 0.001, 1000.0),
    ("k", 0.0, 0.9),
    ("s", 0.0, 5.0),
    ("r", 0.001, 1000.0),
    ("l", 0.0, 1000.0),
    ("k_times", 0.0, 1000.0),
    ("s_times", 0.0, 1000.0),
];

impl Setting {
    fn values(mut self) -> [Option<f64>; 7] {
        self.slots().map(|slot| *slot)
    }

    fn slots(&mut self) -> [&mut Option<f64>; 7] {
        let Setting { q, k, s, r, l, k_times, s_times } = self;
        [q, k, s, r, l, k_times, s_times]
    }

    /// The first knob that it sets, which is the subject of the assumption.
    pub(super) fn leading(&self) -> Option<&'static str> {
        let turned = KEYS.iter().zip(self.values()).find(|(_, value)| value.is_some());
        turned.map(|((key, ..), _)| knob(key))
    }

    pub(super) fn forget(&mut self, fixed: &str) {
        for ((key, ..), slot) in KEYS.iter().zip(self.slots()) {
            if knob(key) == fixed {
                *slot = None;
            }
        }
    }

    /// Sets knobs to fixed values.
    pub(super) fn set(&self, knobs: &mut Knobs) {
        let Knobs { q, k, s, r, l, .. } = knobs;
        for (knob, value) in [q, k, s, r, l].into_iter().zip(self.values()) {
            *knob = value.unwrap_or(*knob);
        }
    }

    /// Multiplies knobs.
    pub(super) fn scale(&self, knobs: &mut Knobs) {
        knobs.k *= self.k_times.unwrap_or(1.0);
        knobs.s *= self.s_times.unwrap_or(1.0);
    }
}

/// The knob for a key.
fn knob(key: &'static str) -> &'static str {
    key.strip_suffix("_times").unwrap_or(key)
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = KEYS.iter().zip(self.values());
        let stated = stated.filter_map(|((key, ..), value)| Some(format!("{key} = {:?}", value?)));
        f.write_str(&stated.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words.replace('\\', "\\\\").replace('"', "\\\"");
        let setting = self.setting.to_string();
        let comma = if setting.is_empty() { "" } else { ", " };
        write!(f, "{{ {setting}{comma}words = \"{words}\" }}")
    }
}

/// Reads the assumptions. A file with its own buffers does not inherit the assumptions of its base.
pub(super) fn read(top: &Section<'_>, assumptions: &mut Vec<Assumption>) -> Result<(), Error> {
    let own_buffers = top.get("group").is_some()
        || top.get("calibration").is_some()
        || top.get("defaults").is_some_and(|field| {
            field.section(VALUES).is_ok_and(|section| section.get("buffer").is_some())
        });
    if own_buffers {
        assumptions.clear();
    }
    let Some(field) = top.get("assumption") else { return Ok(()) };
    assumptions.clear();
    let end = |field: &Field<'_>, otherwise: String| -> Result<End, Error> {
        let known: Vec<&str> = KEYS.iter().map(|(key, ..)| *key).chain(["words"]).collect();
        let section = field.section(&known)?;
        let mut setting = Setting::default();
        for ((key, low, high), slot) in KEYS.iter().zip(setting.slots()) {
            let fits = |x: f64| (*low..=*high).contains(&x);
            let field = section.get(key);
            *slot = field
                .map(|field| field.number_that(fits, &format!("{low} to {high}")))
                .transpose()?;
        }
        Ok(End { words: section.text("words")?.unwrap_or(otherwise), setting })
    };
    let entries = field.list()?;
    if entries.len() > MOST {
        return Err(field.bad(format_args!(
            "are more than {MOST}; allowed: at most {MOST}, all corners of which are run"
        )));
    }
    for entry in entries {
        let section = entry.section(ASSUMPTION)?;
        let value = section.need("value")?.text()?.to_owned();
        let low = end(&section.need("low")?, format!("{value} at the lower end"))?;
        let high = end(&section.need("high")?, format!("{value} at the upper end"))?;
        if low.setting == high.setting {
            return Err(section.bad("high", "is the same as `low`; allowed: two ends"));
        }
        let reference = section.need("ref")?.text()?.to_owned();
        assumptions.push(Assumption { value, low, high, reference });
    }
    Ok(())
}
