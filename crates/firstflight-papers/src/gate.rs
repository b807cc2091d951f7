//! Gates of claims: their evidential weight, and the condition that a number must meet.

use super::sample::Interval;
use serde::{Deserialize, Serialize};

/// Evidential weight of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Gate {
    /// A consequence of the algebra on an ideal path: must hold to the stated tolerance.
    #[serde(rename = "U")]
    Unit,
    /// A direction or order: the claim is reproduced only if it holds.
    #[serde(rename = "G")]
    Direction,
    /// A band around the published size: a miss is a finding.
    #[serde(rename = "B")]
    Band,
    /// Only quoted, because the population is unknown.
    #[serde(rename = "Q")]
    Quoted,
    /// Measured and reported, without a gate.
    #[serde(rename = "-")]
    Seen,
}

impl Gate {
    /// All gates, in order of decreasing weight.
    pub const ALL: [Gate; 5] = [Gate::Unit, Gate::Direction, Gate::Band, Gate::Quoted, Gate::Seen];

    /// The letter in data.
    pub const fn letter(self) -> &'static str {
        match self {
            Gate::Unit => "U",
            Gate::Direction => "G",
            Gate::Band => "B",
            Gate::Quoted => "Q",
            Gate::Seen => "-",
        }
    }

    /// The gate in words.
    const fn words(self) -> &'static str {
        match self {
            Gate::Unit => "exact",
            Gate::Direction => "direction",
            Gate::Band => "size",
            Gate::Quoted => "quoted",
            Gate::Seen => "-",
        }
    }
}

/// Converts the letters of gates to words: `GB` becomes `direction, size`.
pub fn gate_words(letters: &str) -> String {
    let gates = Gate::ALL.into_iter().filter(|gate| letters.contains(gate.letter()));
    gates.map(Gate::words).collect::<Vec<_>>().join(", ")
}

/// Condition for a claim to hold.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accept {
    /// The estimate lies in this range.
    Within(f64, f64),
    /// The whole interval lies above this.
    Above(f64),
    /// The whole interval lies below this.
    Below(f64),
    /// The estimate is at most this.
    AtMost(f64),
    /// The estimate is at least this.
    AtLeast(f64),
    /// Not significantly above this: the interval reaches it or lies below.
    NotAbove(f64),
    /// Not significantly below this: the interval reaches it or lies above.
    NotBelow(f64),
}

impl Accept {
    pub(super) fn holds(self, interval: Interval) -> bool {
        match self {
            Accept::Within(low, high) => (low..=high).contains(&interval.value),
            Accept::Above(bound) => interval.low > bound,
            Accept::Below(bound) => interval.high < bound,
            Accept::AtMost(bound) => interval.value <= bound,
            Accept::AtLeast(bound) => interval.value >= bound,
            Accept::NotAbove(bound) => interval.low <= bound,
            Accept::NotBelow(bound) => interval.high >= bound,
        }
    }

    /// Smallest and largest accepted value.
    pub(super) fn range(self) -> (f64, f64) {
        match self {
            Accept::Within(low, high) => (low, high),
            Accept::Above(low) | Accept::AtLeast(low) | Accept::NotBelow(low) => {
                (low, f64::INFINITY)
            }
            Accept::Below(high) | Accept::AtMost(high) | Accept::NotAbove(high) => {
                (f64::NEG_INFINITY, high)
            }
        }
    }

    pub(super) fn words(self, unit: &str) -> String {
        match self {
            Accept::Within(low, high) => format!("{} to {}{unit}", short(low), short(high)),
            Accept::Above(bound) => format!("above {}{unit}", short(bound)),
            Accept::Below(bound) => format!("below {}{unit}", short(bound)),
            Accept::AtMost(bound) => format!("at most {}{unit}", short(bound)),
            Accept::AtLeast(bound) => format!("at least {}{unit}", short(bound)),
            Accept::NotAbove(bound) => {
                format!("not significantly above {}{unit}", short(bound))
            }
            Accept::NotBelow(bound) => {
                format!("not significantly below {}{unit}", short(bound))
            }
        }
    }
}

/// Formats a number with at most four significant places.
pub(super) fn short(value: f64) -> String {
    let places = match value.abs() {
        _ if !value.is_finite() => return "unknown".into(),
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. => 3,
        _ => 4,
    };
    let text = format!("{value:.places$}");
    if places == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}
