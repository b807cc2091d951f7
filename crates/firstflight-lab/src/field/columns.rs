//! Turns a table into columns for the statistics: arms, units and strata as numbers.

use super::earlier::{Asked, Earlier};
use super::table::{self, Kind, NONE, Table};
use firstflight_log::input::FileName;
use firstflight_path::Error;
use firstflight_trial::assign::Share;
use firstflight_trial::statistics::Sample;
use firstflight_trial::statistics::stop::Rule;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;

/// Maximum number of arms of a table: a column with more values is not a column of arms.
const MOST_ARMS: usize = 64;

/// A ratio of totals: the sum of one column over the sum of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ratio {
    /// The numerator column.
    pub above: String,
    /// The denominator column; `None` counts rows.
    pub below: Option<String>,
}

impl Ratio {
    /// `retransmitted/segments`, or `timeouts/connections`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.above, self.below.as_deref().unwrap_or(CONNECTIONS))
    }

    /// Reads `ABOVE/BELOW`, or just `ABOVE` for a mean over connections.
    ///
    /// # Errors
    /// A one-line message if the text is not a ratio.
    pub fn parse(text: &str) -> Result<Ratio, Error> {
        let (above, below) = text.split_once('/').unwrap_or((text, CONNECTIONS));
        let (above, below) = (above.trim(), below.trim());
        if above.is_empty() || below.is_empty() {
            let allowed = "allowed: two columns, as retransmitted/segments, or one";
            return Err(Error::new(format!("--ratio {text}: {allowed}")));
        }
        let below = (below != CONNECTIONS).then(|| below.to_owned());
        Ok(Ratio { above: above.to_owned(), below })
    }
}

/// Denominator that counts rows.
const CONNECTIONS: &str = "connections";
/// Ratio of incomplete connections.
pub(super) const INCOMPLETE: &str = "incomplete";

/// Names of the columns used; `None` for columns that a table lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Names {
    /// The arm.
    pub arm: String,
    /// Bytes transferred.
    pub size: String,
    /// The time that is compared, in any unit.
    pub time: String,
    /// The unit: rows with the same value belong to the same unit.
    pub cluster: Option<String>,
    /// Round trip before the treatment, ms.
    pub rtt: Option<String>,
    /// A number that increases with every change of shares.
    pub epoch: Option<String>,
    /// Start of the connection, in seconds.
    pub start: Option<String>,
    /// The unit's time before the test.
    pub before: Option<String>,
    /// Whether all data arrived.
    pub complete: Option<String>,
    /// The slot of time, counted from 0, if arms took turns: slots 0 and 1 are a pair, then 2 and
    /// 3, and so on.
    pub slot: Option<String>,
    /// Seconds since the start of its slot.
    pub since: Option<String>,
}

impl Names {
    /// Fills in names that were not given with our own column names, if the table has them.
    ///
    /// # Errors
    /// A one-line message if the table lacks a required column.
    pub fn fill(file: &str, given: [Option<&str>; 11], header: &[String]) -> Result<Names, Error> {
        let find = |place: usize, known: &[&str]| -> Result<Option<String>, Error> {
            match given[place] {
                Some(name) if header.iter().any(|known| known == name) => Ok(Some(name.to_owned())),
                Some(name) => Err(table::missing(&file, name, header)),
                None => Ok(known
                    .iter()
                    .find(|known| header.iter().any(|name| name == *known))
                    .map(|known| (*known).to_owned())),
            }
        };
        let needed = |place: usize, option: &str, known: &[&str]| {
            find(place, known)?.ok_or_else(|| {
                let some = header.iter().take(20).cloned().collect::<Vec<_>>().join(",");
                Error::new(format!("{file}: no column for --{option}; name one of `{some}`"))
            })
        };
        Ok(Names {
            arm: needed(0, "arm", &["arm"])?,
            size: needed(1, "size", &["bytes_written", "bytes_acked", "bytes", "size"])?,
            time: needed(2, "time", &["busy_ms", "ttlb_ms"])?,
            cluster: find(3, &["unit"])?,
            rtt: find(4, &["handshake_rtt_ms"])?,
            epoch: find(5, &["epoch"])?,
            start: find(6, &["start_s"])?,
            before: find(7, &[])?,
            complete: find(8, &["acked_all"])?,
            slot: find(9, &["slot"])?,
            since: find(10, &["slot_s"])?,
        })
    }
}

/// Question about a table.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Ends the analysis when it is set.
    pub stop: &'a AtomicBool,
    /// Names of its columns.
    pub names: Names,
    /// The arm that the others are compared with; `None` for the arm with most rows.
    pub baseline: Option<String>,
    /// Ratios of totals.
    pub ratios: Vec<Ratio>,
    /// Planned shares, for comparison with the observed ones.
    pub shares: Vec<Share>,
    /// Rules for when an arm counts as harmful.
    pub rules: Vec<Rule>,
    /// The expected effect, on the logarithmic scale.
    pub tau: f64,
    /// Text columns by whose values effects are also reported.
    pub by: Vec<String>,
    /// Rows of the same clients from before the test.
    pub earlier: Option<Asked>,
    /// Connections that start earlier than this in a slot of time are left out, seconds.
    pub settle: f64,
    /// Number of trials to simulate from the rows, to see how often the intervals cover the truth.
    pub rehearse: u32,
    /// Seed of the bootstrap, of the split of the baseline and of rehearsals.
    pub seed: u64,
}

/// Rows as numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Arms, the baseline first.
    pub(super) arms: Vec<String>,
    pub(super) arm: Vec<u16>,
    pub(super) unit: Vec<u32>,
    pub(super) units: usize,
    /// Whether rows are their own units, because there is no column of units.
    pub(super) own: bool,
    pub(super) size: Vec<f64>,
    /// The time as given.
    pub(super) time: Vec<f64>,
    pub(super) rtt: Option<Vec<f64>>,
    pub(super) epoch: Vec<u32>,
    pub(super) start: Option<Vec<f64>>,
    pub(super) before: Option<Vec<f64>>,
    pub(super) complete: Option<Vec<f64>>,
    /// Numerator and denominator of each ratio.
    pub(super) ratios: Vec<(Ratio, Vec<f64>, Vec<f64>)>,
    /// Rows without an arm.
    pub(super) armless: u64,
    /// The slot of each row if arms took turns; units are then pairs of slots.
    pub(super) slots: Option<Vec<u64>>,
    /// Rows at the start of slots, which are left out.
    pub(super) unsettled: u64,
    /// Text columns: name, values, and the value of each row.
    pub(super) by: Vec<(String, Vec<String>, Vec<u32>)>,
    /// Remarks about the files for the reader.
    pub(super) remarks: Vec<String>,
}

impl Rows {
    /// Reads files with the same columns.
    ///
    /// # Errors
    /// A one-line message if a file cannot be read or lacks a column.
    pub(super) fn read(files: &[FileName], question: &Question) -> Result<Rows, Error> {
        let names = &question.names;
        let mut table = Table::default();
        let texts = [Some(&names.arm), names.cluster.as_ref(), names.epoch.as_ref()];
        let earlier = question.earlier.as_ref();
        let own =
            question.by.iter().filter(|name| earlier.is_none_or(|one| !one.by.contains(name)));
        for name in texts.into_iter().flatten().chain(own) {
            table.ask(name, Kind::Text);
        }
        let numbers = [Some(&names.size), Some(&names.time), names.rtt.as_ref()];
        let more = [&names.start, &names.before, &names.complete, &names.slot, &names.since];
        let ratios =
            question.ratios.iter().flat_map(|ratio| [Some(&ratio.above), ratio.below.as_ref()]);
        for name in numbers.into_iter().chain(more.map(Option::as_ref)).chain(ratios).flatten() {
            table.ask(name, Kind::Number);
        }
        for file in files {
            table.read(file)?;
        }
        let first = files.first().map_or(String::new(), ToString::to_string);
        let rows = Rows::of(&first, &table, question)?;
        let remarks = [table.remarks, rows.remarks].concat();
        Ok(Rows { remarks, ..rows })
    }

    fn of(file: &str, table: &Table, question: &Question) -> Result<Rows, Error> {
        let names = &question.names;
        let twice = |name: &str| table::twice(&file, name);
        let number = |name: &String| table.number(name).ok_or_else(|| twice(name));
        let found = table.text(&names.arm).ok_or_else(|| twice(&names.arm))?;
        let order = order(file, &found.names, &found.of, question)?;
        let mut keep: Vec<usize> = (0..table.rows).filter(|row| found.of[*row] != NONE).collect();
        let armless = (table.rows - keep.len()) as u64;
        let known = |name: &Option<String>| name.as_ref().map(number).transpose();
        // A table also has the column if other units were drawn.
        let slot = known(&names.slot)?.filter(|slot| keep.iter().any(|row| slot[*row] >= 0.0));
        let before = keep.len();
        if let Some(slot) = slot {
            let since = known(&names.since)?;
            let settled = |row: usize| since.is_none_or(|since| since[row] >= question.settle);
            keep.retain(|row| slot[*row] >= 0.0 && settled(*row));
        }
        let unsettled = (before - keep.len()) as u64;
        let slots: Option<Vec<u64>> =
            slot.map(|slot| keep.iter().map(|row| slot[*row] as u64).collect());
        let taken = |name: &Option<String>| -> Result<Option<Vec<f64>>, Error> {
            let Some(name) = name else { return Ok(None) };
            let column = number(name)?;
            Ok(Some(keep.iter().map(|row| column[*row]).collect()))
        };
        let all = |name: &String| taken(&Some(name.clone())).map(Option::unwrap_or_default);
        let mut ratios = Vec::new();
        for ratio in &question.ratios {
            let below = match &ratio.below {
                Some(name) => all(name)?,
                None => vec![1.0; keep.len()],
            };
            ratios.push((ratio.clone(), all(&ratio.above)?, below));
        }
        let complete = taken(&names.complete)?;
        if let Some(complete) = &complete {
            let ratio = Ratio { above: INCOMPLETE.to_owned(), below: None };
            let above = complete.iter().map(|complete| 1.0 - complete.min(1.0)).collect();
            ratios.push((ratio, above, vec![1.0; keep.len()]));
        }
        let (unit, units) =
            slots.as_ref().map_or_else(|| units(table, names, &keep), |slots| pairs(slots));
        let client = names.cluster.as_ref().and_then(|name| table.text(name));
        let earlier = match &question.earlier {
            Some(asked) => {
                let cluster = names.cluster.as_ref().ok_or_else(|| no_client(file, asked))?;
                Some(Earlier::read(asked, cluster, &names.time)?)
            }
            None => None,
        };
        let clients = || keep.iter().map(|row| client.and_then(|texts| texts.name(texts.of[*row])));
        let mut by = Vec::new();
        for name in &question.by {
            if let Some((values, of)) =
                earlier.as_ref().and_then(|earlier| earlier.words(name, clients()))
            {
                by.push((name.clone(), values, of));
                continue;
            }
            let texts = table.text(name).ok_or_else(|| twice(name))?;
            by.push((
                name.clone(),
                texts.names.clone(),
                keep.iter().map(|row| texts.of[*row]).collect(),
            ));
        }
        Ok(Rows {
            arms: order.iter().map(|index| found.names[*index].clone()).collect(),
            arm: keep
                .iter()
                .map(|row| {
                    let of = found.of[*row] as usize;
                    order.iter().position(|index| *index == of).unwrap_or(0) as u16
                })
                .collect(),
            unit,
            units,
            own: names.cluster.is_none() && slots.is_none(),
            size: all(&names.size)?,
            time: all(&names.time)?,
            rtt: taken(&names.rtt)?,
            epoch: epochs(table, names, &keep),
            start: taken(&names.start)?,
            before: match &earlier {
                Some(earlier) => Some(earlier.times(clients())),
                None => taken(&names.before)?,
            },
            complete,
            ratios,
            armless,
            slots,
            unsettled,
            by,
            remarks: earlier.map_or_else(Vec::new, |earlier| earlier.remarks),
        })
    }

    /// The rows with known time and size: arms, units and strata, and the logarithm of the time.
    pub(super) fn primary(&self) -> Primary {
        let known = |row: &usize| self.time[*row] > 0.0 && self.size[*row] >= 0.0;
        let rows: Vec<usize> = (0..self.arm.len()).filter(known).collect();
        let mut numbers: BTreeMap<(u32, u8, u8), u32> = BTreeMap::new();
        let key = |row: usize| (self.epoch[row], size_class(self.size[row]), self.rtt_class(row));
        for row in &rows {
            numbers.entry(key(*row)).or_default();
        }
        for (number, (_, value)) in numbers.iter_mut().enumerate() {
            *value = number as u32;
        }
        Primary {
            arm: rows.iter().map(|row| self.arm[*row]).collect(),
            unit: rows.iter().map(|row| self.unit[*row]).collect(),
            stratum: rows.iter().map(|row| numbers[&key(*row)]).collect(),
            y: rows.iter().map(|row| libm::log(self.time[*row])).collect(),
            rows,
        }
    }

    /// The class of a row's round trip; 0 if it is unknown, which is a separate class.
    pub(super) fn rtt_class(&self, row: usize) -> u8 {
        self.rtt.as_ref().map_or(0, |rtt| rtt_class(rtt[row]))
    }
}

/// Rows that count for the effect.
pub(super) struct Primary {
    /// Indices of the rows.
    pub(super) rows: Vec<usize>,
    pub(super) arm: Vec<u16>,
    pub(super) unit: Vec<u32>,
    pub(super) stratum: Vec<u32>,
    pub(super) y: Vec<f64>,
}

impl Primary {
    pub(super) fn sample(&self) -> Sample<'_> {
        Sample { arm: &self.arm, unit: &self.unit, stratum: &self.stratum }
    }
}

/// Powers of two of bytes: class k holds 2^(k-1) to 2^k - 1.
pub(super) fn size_class(bytes: f64) -> u8 {
    (64 - (bytes as u64).leading_zeros()) as u8
}

/// Powers of two of milliseconds, starting at 1 ms; 0 means unknown.
fn rtt_class(ms: f64) -> u8 {
    if ms >= 0.0 { 1 + (64 - (ms as u64).leading_zeros()) as u8 } else { 0 }
}

/// Numbers of the arms in the table, the baseline's first.
fn order(
    file: &str,
    names: &[String],
    of: &[u32],
    question: &Question,
) -> Result<Vec<usize>, Error> {
    let column = &question.names.arm;
    if names.len() > MOST_ARMS {
        let told = format!("column `{column}` has {} different values", names.len());
        return Err(Error::new(format!("{file}: {told}; allowed: {MOST_ARMS} arms")));
    }
    let mut counts = vec![0_u64; names.len()];
    for number in of.iter().filter(|number| **number != NONE) {
        counts[*number as usize] += 1;
    }
    let baseline = match &question.baseline {
        Some(name) => names.iter().position(|known| known == name).ok_or_else(|| {
            Error::new(format!("--baseline {name}: column `{column}` has {}", names.join(", ")))
        })?,
        None => (0..names.len())
            .rev()
            .max_by_key(|index| counts[*index])
            .ok_or_else(|| Error::new(format!("{file}: no row has an arm under `{column}`")))?,
    };
    let others = (0..names.len()).filter(|index| *index != baseline);
    Ok(std::iter::once(baseline).chain(others).collect())
}

/// Rows from before the test are matched by client.
fn no_client(file: &str, asked: &Asked) -> Error {
    let told = format!("--earlier {}: {file} has no column of clients", asked.file);
    Error::new(format!("{told}; --cluster names one"))
}

/// The pair of each row's slot, and the number of pairs.
fn pairs(slots: &[u64]) -> (Vec<u32>, usize) {
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let pair = |slot: &u64| {
        let next = numbers.len() as u32;
        *numbers.entry(slot / 2).or_insert(next)
    };
    let unit = slots.iter().map(pair).collect();
    (unit, numbers.len())
}

/// The unit of each row, and the number of units. Without a column every row is its own unit, and
/// so is a row without a value.
fn units(table: &Table, names: &Names, keep: &[usize]) -> (Vec<u32>, usize) {
    let Some(texts) = names.cluster.as_ref().and_then(|name| table.text(name)) else {
        return ((0..keep.len() as u32).collect(), keep.len());
    };
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut next = 0;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    let unit = keep
        .iter()
        .map(|row| match texts.of[*row] {
            NONE => fresh(),
            known => *numbers.entry(known).or_insert_with(&mut fresh),
        })
        .collect();
    (unit, next as usize)
}

fn epochs(table: &Table, names: &Names, keep: &[usize]) -> Vec<u32> {
    let texts = names.epoch.as_ref().and_then(|name| table.text(name));
    texts.map_or_else(
        || vec![0; keep.len()],
        |texts| keep.iter().map(|row| texts.of[*row]).collect(),
    )
}

/// Number of units (or rows, if rows were assigned) that every arm got.
pub(super) fn assigned(rows: &Rows) -> (bool, Vec<u64>) {
    let mut of = vec![None; rows.units];
    let (mut crossing, mut several) = (0_usize, 0_usize);
    let mut seen = vec![0_u32; rows.units];
    for (arm, unit) in rows.arm.iter().zip(&rows.unit) {
        let unit = *unit as usize;
        seen[unit] += 1;
        match of[unit] {
            None => of[unit] = Some((*arm, false)),
            Some((first, false)) if first != *arm => of[unit] = Some((first, true)),
            Some(_) => {}
        }
    }
    for (of, seen) in of.iter().zip(&seen) {
        several += usize::from(*seen > 1);
        crossing += usize::from(of.is_some_and(|(_, crosses)| crosses));
    }
    // A few clients that changed arms by moving to another network do not mean that connections
    // were assigned.
    let by_rows = !rows.own && crossing * 20 > several;
    let mut counts = vec![0; rows.arms.len()];
    if by_rows {
        rows.arm.iter().for_each(|arm| counts[usize::from(*arm)] += 1);
    } else {
        of.iter().flatten().for_each(|(arm, _)| counts[usize::from(*arm)] += 1);
    }
    (by_rows, counts)
}
