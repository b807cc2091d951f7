//! The finding of a replay in one or two sentences: the startups that would have exited slow start
//! with a window that fits the path.

use crate::results::{Results, VerdictRow};
use crate::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE, Verdict};
use std::fmt::Write as _;

impl Results {
    /// The finding, for the top of a page and of the terminal output. It covers only exits: a
    /// replay cannot show completion times.
    pub fn finding(&self) -> String {
        match &self.connections[..] {
            [] => String::new(),
            [one] => of_one(one),
            _ => of_many(&self.verdicts),
        }
    }
}

/// Joins names as in `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn of_one(row: &ConnectionRow) -> String {
    if row.startups.is_empty() {
        return match row.capture.as_ref().filter(|capture| !capture.shows_exits) {
            Some(capture) if !capture.begins => {
                "The capture lacks the start of this connection, so no exit from slow start is known.".to_owned()
            }
            Some(_) => "The clock of the capture is too coarse, so no exit from slow start is known.".to_owned(),
            None => "No startup was replayed; the result describes only the path.".to_owned(),
        };
    }
    let of = |verdict: Verdict| {
        let rows = row.startups.iter().filter(|one| one.verdict == verdict);
        listed(&rows.map(|one| one.arm.as_str()).collect::<Vec<_>>())
    };
    let right = of(Verdict::Right);
    let mut words = if right.is_empty() {
        "No algorithm would have exited slow start with a cwnd that fits this path".to_owned()
    } else {
        format!("{right} would have exited slow start with a cwnd that fits this path")
    };
    let others = [
        (Verdict::Early, "too early"),
        (Verdict::Late, "too late"),
        (Verdict::Silent, "not within the trace"),
    ];
    for (verdict, how) in others {
        let names = of(verdict);
        if !names.is_empty() {
            let _ = write!(words, "; {how}: {names}");
        }
    }
    words.push('.');
    if row.rate_is_lower_bound {
        words += " The path may carry more than was observed, so early exits may be even earlier relative to its BDP.";
    }
    words
}

fn of_many(rows: &[VerdictRow]) -> String {
    let right = |row: &VerdictRow| row.right as f64 / row.connections.max(1) as f64;
    // Among equals, the first in the list.
    let best = rows.iter().rev().max_by(|a, b| right(a).total_cmp(&right(b)));
    let Some(best) = best else { return String::new() };
    if best.right == 0 {
        return "No algorithm would have exited slow start with a cwnd that fits any of these paths."
            .to_owned();
    }
    let mut words = format!(
        "Best fit: {}, which exits with {EARLY_BELOW} to {LATE_ABOVE} BDP on {} of {} connections",
        best.arm, best.right, best.connections,
    );
    for (count, when) in [(best.early, "early"), (best.late, "late")] {
        if count > 0 {
            let _ = write!(words, ", too {when} on {count}");
        }
    }
    words.push('.');
    if let Some(first) = rows.first().filter(|first| first.arm != best.arm) {
        let _ = write!(words, " {}: {} of {}.", first.arm, first.right, first.connections);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{VerdictRow, of_many};

    fn row(arm: &str, early: u64, right: u64, late: u64) -> VerdictRow {
        VerdictRow {
            arm: arm.to_owned(),
            connections: early + right + late,
            early,
            right,
            late,
            silent: 0,
            bdp_ratio_p10: None,
            bdp_ratio_p50: None,
            bdp_ratio_p90: None,
        }
    }

    #[test]
    fn many_connections_are_told_by_who_is_right_most_often() {
        let rows = [row("slowstart", 0, 2, 8), row("search", 1, 8, 1), row("best", 2, 8, 0)];
        assert_eq!(
            of_many(&rows),
            "Best fit: search, which exits with 0.8 to 2 BDP on 8 of 10 connections, too early on 1, \
             too late on 1. slowstart: 2 of 10."
        );
        assert_eq!(
            of_many(&[row("a", 0, 0, 3)]),
            "No algorithm would have exited slow start with a cwnd that fits any of these paths."
        );
    }
}
