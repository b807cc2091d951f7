//! Packet-delivery traces in the format of mahimahi: each line is a time in milliseconds at which
//! the link may deliver one full packet.
//!
//! Follows the rules of the original tool: times never decrease, equal lines mean several
//! opportunities in that millisecond, and at the end the trace repeats with its last value as
//! period. Traces are kept as (millisecond, count) pairs: a minute at 115 Mbit/s has 573 400 lines
//! but at most 60 000 pairs. Only [`Trace::load`] reads a file.

use crate::error::Error;
use crate::input::{self, MOST_DATA};
use std::path::Path as File;

/// IP bytes one opportunity carries. The original counts 1504: a packet of 1500 bytes with the
/// 4-byte header of its TUN device.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// Longest trace: 10^9 ms, eleven days.
const MAX_MS: u64 = 1_000_000_000;

/// A packet-delivery trace as in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// (millisecond, opportunities in it), milliseconds strictly increasing, the first may be 0.
    pub(crate) slots: Vec<(u64, u64)>,
}

impl Trace {
    /// Reads a trace file.
    pub fn load(file: &File) -> Result<Self, Error> {
        let text = input::read_text(file, MOST_DATA)
            .map_err(|e| Error::new(format!("{}: cannot read the trace: {e}", file.display())))?;
        Self::parse(&text, &file.display().to_string())
    }

    /// Parses a trace; errors start with `name`.
    pub fn parse(text: &str, name: &str) -> Result<Self, Error> {
        let mut slots: Vec<(u64, u64)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let refuse = |why: &str| Error::new(format!("{name}:{}: {why}", index + 1));
            if line.trim().is_empty() {
                return Err(refuse("empty line in a trace"));
            }
            if !line.bytes().all(|b| b.is_ascii_digit()) {
                return Err(refuse(&format!(
                    "`{line}` is not a non-negative whole number of milliseconds"
                )));
            }
            let ms = line
                .parse()
                .ok()
                .filter(|ms| *ms <= MAX_MS)
                .ok_or_else(|| refuse(&format!("{line} is beyond {MAX_MS} ms")))?;
            match slots.last_mut() {
                Some((last, _)) if ms < *last => {
                    return Err(refuse(&format!(
                        "{ms} is less than the {last} before it: times never decrease"
                    )));
                }
                Some((last, count)) if ms == *last => *count += 1,
                _ => slots.push((ms, 1)),
            }
        }
        match slots.last() {
            None => Err(Error::new(format!("{name}:1: empty trace"))),
            Some((0, _)) => Err(Error::new(format!(
                "{name}:{}: the last value is 0, so the trace has no length",
                text.lines().count()
            ))),
            Some(_) => Ok(Self { slots }),
        }
    }

    /// The last value in the file: the period with which the trace repeats, in ms.
    pub fn period_ms(&self) -> u64 {
        self.slots.last().map_or(1, |(ms, _)| *ms)
    }

    /// Number of lines.
    pub fn opportunities(&self) -> u64 {
        self.slots.iter().map(|(_, count)| count).sum()
    }
}

/// Start position of a link in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStart {
    /// At this time of the trace, in ns.
    At(u64),
    /// At a whole millisecond drawn per trial.
    Random,
}

/// A trace's playback options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Start position.
    pub start: TraceStart,
    /// Plays the trace once; afterwards the link delivers nothing.
    pub once: bool,
    /// Divides the opportunities of one millisecond evenly over it.
    pub spread: bool,
    /// Opportunities per original opportunity, in 1e-6.
    pub scale: u64,
    /// Lead-in to cut off, in whole milliseconds.
    pub skip_ms: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { start: TraceStart::At(0), once: false, spread: false, scale: 1_000_000, skip_ms: 0 }
    }
}

/// The opportunities as played: options applied, opportunities at time zero moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// (millisecond >= 1, opportunities >= 1), strictly increasing.
    pub(crate) slots: Vec<(u64, u64)>,
    pub(crate) period_ms: u64,
}

impl Schedule {
    /// `None` if the options leave no opportunity.
    pub(crate) fn new(trace: &Trace, options: &TraceOptions) -> Option<Self> {
        let period_ms = trace.period_ms().checked_sub(options.skip_ms).filter(|ms| *ms > 0)?;
        let mut slots: Vec<(u64, u64)> = Vec::with_capacity(trace.slots.len());
        let (mut seen, mut given, mut at_zero) = (0_u128, 0_u64, 0);
        // An opportunity at the end of the lead-in belongs to the lead-in; the opportunity at the
        // end of the period replaces it.
        for (ms, count) in
            trace.slots.iter().filter(|(ms, _)| options.skip_ms == 0 || *ms > options.skip_ms)
        {
            seen += u128::from(*count);
            let due = (seen * u128::from(options.scale) / 1_000_000) as u64;
            let count = due - given;
            given = due;
            match ms - options.skip_ms {
                0 => at_zero = count,
                ms if count > 0 => slots.push((ms, count)),
                _ => {}
            }
        }
        // Time 0 only serves packets that arrived before 0; in later periods it coincides with the
        // last slot of the previous period.
        if at_zero > 0 && !options.once {
            match slots.last_mut() {
                Some((ms, count)) if *ms == period_ms => *count += at_zero,
                _ => slots.push((period_ms, at_zero)),
            }
        }
        (!slots.is_empty()).then_some(Self { slots, period_ms })
    }

    /// Mean rate in bit/s.
    pub(crate) fn mean_rate(&self) -> u64 {
        let count: u64 = self.slots.iter().map(|(_, count)| count).sum();
        let bits = u128::from(count) * u128::from(OPPORTUNITY_BYTES) * 8;
        (bits * 1000 / u128::from(self.period_ms)) as u64
    }
}
