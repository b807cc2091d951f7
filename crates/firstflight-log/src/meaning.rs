//! Columns whose names do not settle their meaning: what the first rows of a table say about them.
//!
//! Three questions have two answers in tables that people have. Does a column count anew in each row,
//! or is it a running total? Does `nxt` count what the ACK of its row allowed? Do `una` and the
//! acknowledged bytes describe the same connection?

use crate::rows::{Next, Standing, ahead};
use std::collections::HashMap;

/// A column of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// In each row.
    New,
    /// All so far.
    Total,
    /// The name leaves it open.
    Either,
}

/// One row, as far as it says something about meanings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint {
    pub acked: u64,
    pub lost: u64,
    pub sequence: Option<(u64, u64)>,
    pub inflight: Option<u64>,
    pub cwnd: Option<u64>,
    pub mss: u64,
}

/// The meanings found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub acked: Counts,
    pub lost: Counts,
    pub next: Next,
}

/// Standard initial window, packets (RFC 6928).
const INITIAL: u64 = 10;
/// Fewer rows prove nothing where a name leaves it open.
const LEAST: u64 = 8;

/// The steps of all connections, added up.
#[derive(Default)]
struct Evidence {
    /// Steps at which the column fell or rose.
    falls: u64,
    rises: u64,
    /// Steps at which `una` moved, and the column said the same: anew, and as a total.
    moves: u64,
    anew: u64,
    total: u64,
    /// All of that, bytes.
    una: u64,
    sum_anew: u64,
    sum_total: u64,
    /// Rows that tell what was in flight, and those that would acknowledge more than that.
    inflight: u64,
    beyond: u64,
    /// `una` and the column at the first step that disagrees with both meanings.
    example: Option<(u64, u64)>,
    /// Losses, and the most that was ever in flight.
    losses: Standing,
    flight: u64,
    /// Steps at which more would have been in flight than the window allowed.
    windows: u64,
    over: u64,
    /// First rows with sequence numbers, and those that count their own sends.
    firsts: u64,
    sends: u64,
    lossy: bool,
}

impl Evidence {
    fn first(&mut self, row: &Hint) {
        if let Some((una, nxt)) = row.sequence {
            let out = ahead(una, nxt);
            let full = INITIAL * row.mss;
            self.firsts += 1;
            self.sends += u64::from(
                out.saturating_add(row.acked) != full && out.checked_sub(row.acked) == Some(full),
            );
        }
    }

    fn step(&mut self, before: &Hint, row: &Hint) {
        self.falls += u64::from(row.acked < before.acked);
        self.rises += u64::from(row.acked > before.acked);
        self.losses.see(row.lost);
        let flight = row.sequence.map_or(0, |(una, nxt)| ahead(una, nxt));
        self.flight = self.flight.max(row.inflight.unwrap_or(flight));
        self.lossy |= row.lost > 0;
        if let Some(inflight) = row.inflight {
            self.inflight += 1;
            self.beyond += u64::from(row.acked > inflight + row.mss);
        }
        let (Some((from, _)), Some((una, nxt))) = (before.sequence, row.sequence) else { return };
        let moved = ahead(from, una);
        let grown = row.acked.saturating_sub(before.acked);
        if moved > 0 {
            self.moves += 1;
            self.anew += u64::from(row.acked == moved);
            self.total += u64::from(grown == moved);
            if row.acked != moved && grown != moved {
                self.example.get_or_insert((moved, row.acked));
            }
        }
        self.una = self.una.saturating_add(moved);
        self.sum_anew = self.sum_anew.saturating_add(row.acked);
        self.sum_total = self.sum_total.saturating_add(grown);
        if let Some(cwnd) = before.cwnd.filter(|_| moved > 0 && !self.lossy) {
            self.windows += 1;
            self.over += u64::from(ahead(una, nxt).saturating_add(moved) > cwnd + row.mss / 2);
        }
    }

    /// The sum agrees with the way of `una`, but for what SACK moved from row to row.
    fn fits(&self, sum: u64) -> bool {
        sum.abs_diff(self.una) <= self.una / 20
    }

    /// By `una`: which of the two meanings agree with it. `None` without enough of it.
    fn by_una(&self) -> Option<(bool, bool)> {
        if self.moves == 0 {
            return None;
        }
        let anew = self.anew * 2 >= self.moves || self.fits(self.sum_anew);
        let total = self.falls == 0 && (self.total * 2 >= self.moves || self.fits(self.sum_total));
        (anew || total || self.moves >= LEAST).then_some((anew, total))
    }

    fn acked(&self, named: Counts, column: &str) -> Result<Counts, String> {
        match self.by_una() {
            Some((true, false)) => return Ok(Counts::New),
            Some((false, true)) => return Ok(Counts::Total),
            Some((false, false)) if self.anew == 0 && self.total == 0 => {
                let (moved, acked) = self.example.unwrap_or_default();
                return Err(format!(
                    "`una` moves by {moved} where `{column}` says {acked}, and in no row do they agree: one of the two counts something else"
                ));
            }
            _ => {}
        }
        let may_be_total = self.falls == 0 && self.rises > 0;
        let too_much = self.beyond * 2 > self.inflight && self.inflight > 0;
        match named {
            Counts::Total if self.falls > 0 => Err(format!(
                "`{column}` is a running total by its name, and falls in {} rows",
                self.falls
            )),
            Counts::Total => Ok(Counts::Total),
            _ if may_be_total && too_much => Ok(Counts::Total),
            Counts::New => Ok(Counts::New),
            Counts::Either if !may_be_total => Ok(Counts::New),
            Counts::Either if self.rises >= LEAST => Ok(Counts::Total),
            Counts::Either => Err(format!(
                "`{column}` may be newly acknowledged or a running total, and {} rows do not tell; name it `acked_bytes` or `acked_total_bytes`",
                self.rises + 1
            )),
        }
    }

    fn lost(&self, named: Counts) -> Counts {
        if self.losses.is_total(self.flight) { Counts::Total } else { named }
    }

    fn next(&self) -> Next {
        let after = if self.windows > 0 {
            self.over * 2 > self.windows
        } else {
            self.firsts > 0 && self.sends == self.firsts
        };
        if after { Next::AfterSends } else { Next::BeforeSends }
    }
}

/// What the rows say; `named` is what the names of the columns say, `column` that of the acknowledged
/// bytes.
///
/// # Errors
/// If columns contradict each other, or more than one reading is left.
pub(crate) fn judge<'a>(
    rows: impl Iterator<Item = (&'a str, &'a Hint)>,
    named: Meaning,
    column: &str,
) -> Result<Meaning, String> {
    let mut evidence = Evidence::default();
    let mut last: HashMap<&str, &Hint> = HashMap::new();
    for (key, row) in rows {
        match last.insert(key, row) {
            Some(before) => evidence.step(before, row),
            None => evidence.first(row),
        }
    }
    let acked = evidence.acked(named.acked, column)?;
    Ok(Meaning { acked, lost: evidence.lost(named.lost), next: evidence.next() })
}
