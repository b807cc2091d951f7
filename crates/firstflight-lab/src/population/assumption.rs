//! What a population assumes and nobody measured, with the range that is as good as the value: a
//! file keeps it, an A/B test runs at both ends of it.

use super::knobs::Knobs;
use super::place::{Field, Section, VALUES};
use firstflight_path::Error;
use std::fmt;

const ASSUMPTION: &[&str] = &["value", "low", "high", "ref"];

/// What nobody measured, and between which settings the truth may lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// What it is, as in "depending on VALUE nobody measured": `buffers`.
    pub value: String,
    /// One end of the range.
    pub low: Setting,
    /// The other end.
    pub high: Setting,
    /// Why this range.
    pub reference: String,
}

/// The knobs at an end of an [`Assumption`]; the meanings are those of [`Knobs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Factor on every buffer.
    pub q: f64,
    /// Random loss, its median over the connections.
    pub k: f64,
    /// Standard deviation of its logarithm.
    pub s: f64,
    /// Factor on rates that are lower bounds.
    pub r: f64,
}

/// The factor on rates that are lower bounds changes nothing.
pub(super) fn as_seen(r: f64) -> bool {
    r.to_bits() == 1.0_f64.to_bits()
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { q, k, s, r } = self;
        write!(f, "q={q:?}, k={k:?}, s={s:?}")?;
        // Few populations have rates that are lower bounds; the others are spared the word.
        if as_seen(*r) { Ok(()) } else { write!(f, ", r={r:?}") }
    }
}

/// Reads what was never measured. A file with buffers of its own does not inherit what its base
/// says of other ones.
pub(super) fn read(
    top: &Section<'_>,
    knobs: &Knobs,
    assumptions: &mut Vec<Assumption>,
) -> Result<(), Error> {
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
    let setting = |field: &Field<'_>| -> Result<Setting, Error> {
        let section = field.section(&["q", "k", "s", "r"])?;
        let or = |key: &str, low: f64, high: f64, usual: f64| {
            let field = section.get(key);
            field.map_or(Ok(usual), |field| {
                field.number_that(|x| (low..=high).contains(&x), &format!("{low} to {high}"))
            })
        };
        Ok(Setting {
            q: or("q", 0.001, 1000.0, knobs.q)?,
            k: or("k", 0.0, 0.9, knobs.k)?,
            s: or("s", 0.0, 5.0, knobs.s)?,
            r: or("r", 0.001, 1000.0, knobs.r)?,
        })
    };
    let entries = field.list()?;
    if entries.len() > 8 {
        return Err(field.bad("are more than 8; allowed: at most 8, each is two more runs of a part of the connections"));
    }
    for entry in entries {
        let section = entry.section(ASSUMPTION)?;
        let (low, high) = (setting(&section.need("low")?)?, setting(&section.need("high")?)?);
        if low == high {
            return Err(section.bad("high", "is the same as `low`; allowed: two ends"));
        }
        let (value, reference) =
            (section.need("value")?.text()?.to_owned(), section.need("ref")?.text()?.to_owned());
        assumptions.push(Assumption { value, low, high, reference });
    }
    Ok(())
}
