//! The variables of a population and their units.

/// A variable that a population draws for every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// Idle round-trip time.
    Rtt,
    /// Rate of the bottleneck.
    RateDown,
    /// Rate of the return path.
    RateUp,
    /// Capacity of the queue at the bottleneck.
    Buffer,
    /// Independent loss unrelated to the queue.
    Loss,
    /// Size of an object or of a response.
    Size,
    /// Rate of a policer, as a share of the bottleneck's.
    PolicerRate,
    /// Bucket of a policer, as time at its rate.
    Bucket,
    /// Pause between two responses.
    Gap,
    /// Playback rate of a video.
    CodingRate,
    /// Part of a video that is sent at once, as playback time.
    Playback,
}

/// The unit of a distribution's numbers. Values are kept in the first unit of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// 10^6 bits per second.
    Mbps,
    /// Multiples of rate times idle round-trip time.
    Bdp,
    /// Bytes.
    Bytes,
    /// Plain share.
    Ratio,
}

/// Spelling of a unit after a key and in the second column of a table, and its conversion to the
/// internal unit.
struct Spelling {
    suffix: &'static str,
    csv: &'static str,
    unit: Unit,
    factor: f64,
}

const fn spelling(suffix: &'static str, csv: &'static str, unit: Unit, factor: f64) -> Spelling {
    Spelling { suffix, csv, unit, factor }
}

const TIMES: &[Spelling] =
    &[spelling("_ms", "ms", Unit::Ms, 1.0), spelling("_us", "us", Unit::Ms, 1e-3)];
const RATES: &[Spelling] =
    &[spelling("_mbps", "Mbit/s", Unit::Mbps, 1.0), spelling("_kbps", "kbit/s", Unit::Mbps, 1e-3)];
const BUFFERS: &[Spelling] = &[
    spelling("_ms", "ms", Unit::Ms, 1.0),
    spelling("_us", "us", Unit::Ms, 1e-3),
    spelling("_bdp", "BDP", Unit::Bdp, 1.0),
];
const SHARES: &[Spelling] = &[spelling("", "ratio", Unit::Ratio, 1.0)];
const LONG_TIMES: &[Spelling] =
    &[spelling("_s", "s", Unit::Ms, 1e3), spelling("_ms", "ms", Unit::Ms, 1.0)];
const SIZES: &[Spelling] = &[
    spelling("_bytes", "B", Unit::Bytes, 1.0),
    spelling("_kb", "kB", Unit::Bytes, 1e3),
    spelling("_mb", "MB", Unit::Bytes, 1e6),
];

impl Variable {
    /// Every variable that has a key in a group: first those that can be correlated, in the order
    /// of correlation, then the others.
    pub const ALL: [Variable; 6] = [
        Variable::Rtt,
        Variable::RateDown,
        Variable::Buffer,
        Variable::Size,
        Variable::RateUp,
        Variable::Loss,
    ];

    /// The variable's key.
    pub const fn name(self) -> &'static str {
        match self {
            Variable::Rtt => "rtt",
            Variable::RateDown => "rate_down",
            Variable::RateUp => "rate_up",
            Variable::Buffer => "buffer",
            Variable::Loss => "loss",
            Variable::Size => "size",
            Variable::PolicerRate => "rate_share",
            Variable::Bucket => "bucket",
            Variable::Gap => "gap",
            Variable::CodingRate => "coding_rate",
            Variable::Playback => "playback",
        }
    }

    /// The variable with that name.
    pub fn named(name: &str) -> Option<Variable> {
        Variable::ALL.into_iter().find(|variable| variable.name() == name)
    }

    const fn spellings(self) -> &'static [Spelling] {
        match self {
            Variable::Rtt | Variable::Bucket => TIMES,
            Variable::Gap | Variable::Playback => LONG_TIMES,
            Variable::RateDown | Variable::RateUp | Variable::CodingRate => RATES,
            Variable::Buffer => BUFFERS,
            Variable::Loss | Variable::PolicerRate => SHARES,
            Variable::Size => SIZES,
        }
    }

    /// Suffixes allowed after a key of this variable, with unit and factor.
    pub(super) fn suffixes(self) -> impl Iterator<Item = (&'static str, Unit, f64)> {
        self.spellings().iter().map(|spelling| (spelling.suffix, spelling.unit, spelling.factor))
    }

    /// Unit and factor for a unit name in a CSV table.
    pub(super) fn csv_unit(self, name: &str) -> Option<(Unit, f64)> {
        self.spellings()
            .iter()
            .find(|spelling| spelling.csv == name)
            .map(|spelling| (spelling.unit, spelling.factor))
    }

    /// The unit names allowed in a CSV table.
    pub(super) fn csv_units(self) -> String {
        self.spellings().iter().map(|spelling| spelling.csv).collect::<Vec<_>>().join(", ")
    }

    /// Whether a value (in the internal unit) can be drawn.
    pub(super) fn allows(self, value: f64) -> bool {
        match self {
            Variable::Loss => (0.0..1.0).contains(&value),
            Variable::PolicerRate => value > 0.0 && value <= 1.0,
            Variable::Size => value >= 1.0,
            _ => value > 0.0,
        }
    }

    /// The condition of [`Variable::allows`] as text.
    pub(super) const fn allowed(self) -> &'static str {
        match self {
            Variable::Loss => "0 or more and below 1",
            Variable::PolicerRate => "more than 0 and at most 1",
            Variable::Size => "at least 1 byte",
            _ => "more than 0",
        }
    }
}

impl Unit {
    /// Suffix of a key.
    pub const fn suffix(self) -> &'static str {
        match self {
            Unit::Ms => "_ms",
            Unit::Mbps => "_mbps",
            Unit::Bdp => "_bdp",
            Unit::Bytes => "_bytes",
            Unit::Ratio => "",
        }
    }
}
