//! Columns whose names leave their meaning open: evidence from the first rows of a table.
//!
//! Three properties vary between the tables that people have: a column may count per row or be a
//! running total; `nxt` may or may not include the sends that the ACK of its row allowed; `una` and
//! the acknowledged bytes may or may not describe the same connection.

use crate::rows::{Next, Standing, ahead};
use std::collections::HashMap;

/// Meaning of a column of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// Count per row.
    New,
    /// Running total.
    Total,
    /// The name fits both.
    Either,
}

/// The values of one row that help to decide.
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
/// Fewer rows prove nothing if the name fits both meanings.
const LEAST: u64 = 8;

/// Sums over the steps of all connections.
#[derive(Default)]
struct Evidence {
    /// Steps at which the column fell, and at which it rose.
    falls: u64,
    rises: u64,
    /// Steps at which `una` moved, and those at which the column agreed: as a count per row, and as
    /// a total.
    moves: u64,
    anew: u64,
    total: u64,
    /// The same sums in bytes.
    una: u64,
    sum_anew: u64,
    sum_total: u64,
    /// Rows that state bytes in flight, and those whose acknowledged bytes would exceed them.
    inflight: u64,
    beyond: u64,
    /// `una` and the column at the first step that disagrees with both meanings.
    example: Option<(u64, u64)>,
    /// Losses, and the most bytes ever in flight.
    losses: Standing,
    flight: u64,
    /// Steps with a known window, and those at which bytes in flight would have exceeded it.
    windows: u64,
    over: u64,
    /// First rows with sequence numbers, and those that include their own sends.
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

    /// Whether the sum agrees with the advance of `una`, apart from the bytes that SACK moved
    /// between rows.
    fn fits(&self, sum: u64) -> bool {
        sum.abs_diff(self.una) <= self.una / 20
    }

    /// Which of the two meanings agree with `una`. `None` if there is not enough evidence.
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
                    "`una` moves by {moved} where `{column}` says {acked}, and they agree in no row: one of them counts something else"
                ));
            }
            _ => {}
        }
        let may_be_total = self.falls == 0 && self.rises > 0;
        let too_much = self.beyond * 2 > self.inflight && self.inflight > 0;
        match named {
            Counts::Total if self.falls > 0 => Err(format!(
                "`{column}` is named as a running total but decreases in {} rows",
                self.falls
            )),
            Counts::Total => Ok(Counts::Total),
            _ if may_be_total && too_much => Ok(Counts::Total),
            Counts::New => Ok(Counts::New),
            Counts::Either if !may_be_total => Ok(Counts::New),
            Counts::Either if self.rises >= LEAST => Ok(Counts::Total),
            Counts::Either => Err(format!(
                "`{column}` may count newly acknowledged bytes or be a running total, and {} rows do not show which; name it `acked_bytes` or `acked_total_bytes`",
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

/// Decides the meanings from the rows. `named` is the meaning that the column names suggest;
/// `column` is the name of the column of acknowledged bytes.
///
/// # Errors
/// If columns contradict each other, or more than one meaning remains possible.
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
