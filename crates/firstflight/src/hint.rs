//! Hints: the rate that a path is said to carry, before the connection has measured it.
//!
//! A hint from earlier connections may start a jump ([`Careful`](crate::startup::Careful),
//! [`RapidStart`](crate::startup::RapidStart) with `hint=on`). Advice of the network (SCONE,
//! draft-ietf-scone-protocol) is an upper bound of the average rate: it may end or cap
//! a startup, and never starts a jump ([`Advice`]). A connection has one hint.

use crate::named::named;
use crate::options::OptionValue;
use crate::units::{Nanos, Rate};
use core::fmt;

named! {
    /// Source of a hint.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum HintSource {
        /// An earlier connection of the same client (RFC 9959).
        Saved = "saved",
        /// Recent connections to the client's network.
        Prefix = "prefix",
        /// Throughput advice of a network element on the path.
        Scone = "scone",
    }
}

named! {
    /// Use of throughput advice, a [`Hint`] of the network.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Advice {
        /// None, as today's senders.
        #[default]
        Off = "off",
        /// Slow start ends when the window reaches the advised rate times the smallest RTT.
        Exit = "exit",
        /// The same, and until the advice expires the pacing rate stays at or below it.
        Cap = "cap",
    }
}

/// A hint about a path's rate, with its source and its age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The rate: delivered by earlier connections, or advised as an upper bound.
    pub rate: Rate,
    /// Its source.
    pub source: HintSource,
    /// Time between its observation and the start of the connection.
    pub age: Nanos,
}

impl Hint {
    /// SCONE period-1: advice applies for a monitoring period of 67 s and then expires.
    pub(crate) const PERIOD: Nanos = Nanos::from_secs(67);
    /// OURS hint-age: RFC 9959 leaves the lifetime of saved values to configuration, minutes to hours.
    const LIFETIME: Nanos = Nanos::from_secs(3600);

    /// Whether it is young enough to be used: 67 s for advice, an hour for observations.
    pub fn is_fresh(&self) -> bool {
        let most = match self.source {
            HintSource::Scone => Hint::PERIOD,
            HintSource::Saved | HintSource::Prefix => Hint::LIFETIME,
        };
        self.age <= most && self.rate.0 > 0
    }

    /// SCONE lowest-1: of two pieces of advice within a monitoring period the lowest counts; one that
    /// has expired does not.
    #[doc(hidden)]
    #[must_use]
    pub fn or_lower(self, other: Hint) -> Hint {
        let lower = other.rate < self.rate || !self.is_fresh();
        if other.is_fresh() && lower { other } else { self }
    }

    /// The advice in a SCONE packet with this rate signal, received just now: 100 kbit/s times
    /// `10^(signal / 20)`; `None` for 127, which means that nothing is known, and beyond.
    pub fn scone(signal: u8) -> Option<Hint> {
        // SCONE signal-1: rates of a decade, in kbit/s to four digits, as powers of 10^(1/20).
        const DECADE: [u64; 20] = [
            1000, 1122, 1259, 1413, 1585, 1778, 1995, 2239, 2512, 2818, 3162, 3548, 3981, 4467,
            5012, 5623, 6310, 7079, 7943, 8913,
        ];
        let (decade, step) = (u32::from(signal / 20), usize::from(signal % 20));
        // A step of the first decade is 100 kbit/s, and 8 bits are a byte.
        let rate = Rate(DECADE[step] * 100 * 10_u64.pow(decade) / 8);
        (signal < 127).then_some(Hint { rate, source: HintSource::Scone, age: Nanos::ZERO })
    }

    /// The advice by which a network element signals `limit`: the largest rate signal that is not
    /// above it, or the smallest. For simulators of such an element.
    #[doc(hidden)]
    pub fn advising(limit: Rate) -> Hint {
        let least = Hint { rate: Rate(12_500), source: HintSource::Scone, age: Nanos::ZERO };
        (0..127).rev().filter_map(Hint::scone).find(|hint| hint.rate <= limit).unwrap_or(least)
    }
}

/// `saved:20Mbit:600s`: source, rate, and age in whole seconds unless it is zero.
impl OptionValue for Hint {
    fn parse(text: &str) -> Option<Hint> {
        let mut parts = text.split(':');
        let source = HintSource::from_name(parts.next()?)?;
        let rate = Rate::parse(parts.next()?)?;
        let age = match parts.next() {
            None => Nanos::ZERO,
            Some(age) => Nanos::from_secs(u32::parse(age.strip_suffix('s')?)?.into()),
        };
        parts.next().is_none().then_some(Hint { rate, source, age })
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.source.name())?;
        self.rate.show(f)?;
        match self.age {
            Nanos::ZERO => Ok(()),
            Nanos(age) => write!(f, ":{}s", age / 1_000_000_000),
        }
    }
}
