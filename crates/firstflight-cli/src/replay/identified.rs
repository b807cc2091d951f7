//! Identified startups of recorded senders, for the terminal.

use crate::fit::{brief, fitted};
use crate::terminal::{QUIET, TITLE, width, wrap};
use firstflight_lab::table::figure;
use firstflight_replay::identify::Identity;
use firstflight_replay::results::Results;
use firstflight_table::{Marked, Table};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Columns for the startups tried on one connection.
pub(super) const TRIED: &[&str] =
    &["startup tried", "off per round trip\n%", "log-likelihood\nto the best", "initial window"];
/// Columns for the results over many connections.
pub(super) const ANSWERS: &[&str] = &["startup of the sender", "connections", "share\n%"];

/// The result in a few words.
fn answer(identity: &Identity) -> String {
    match (&identity.startup, &identity.alike[..]) {
        (Some(startup), _) => startup.clone(),
        (None, []) => "unknown".into(),
        (None, alike) => format!("one of {}", alike.join(", ")),
    }
}

/// One connection: the result, the reason, and the startups tried.
pub(super) fn one(text: &mut String, identity: &Identity) {
    let cut = identity.cut.map_or(String::new(), |cut| format!(", cut to {cut} at the first loss"));
    let line = format!(
        "Startup of the sender: {}{cut} ({} round trips: {}).",
        answer(identity),
        identity.rounds,
        identity.why
    );
    let _ = writeln!(text, "{}", wrap(&line, 0, width()));
    let mut sheet = Table::of_numbers("startups tried", TRIED, 1);
    for candidate in &identity.candidates {
        let best = identity.alike.contains(&candidate.startup);
        sheet.row([
            Marked::from(candidate.startup.as_str()).bold(best),
            figure((candidate.deviation - 1.0) * 100.0, "%").into(),
            format!("{:.1}", candidate.log_likelihood).into(),
            figure(candidate.initial_window as f64, "bytes").into(),
        ]);
    }
    let _ = writeln!(text, "{}", fitted(&sheet));
}

/// The results over all connections with their frequency, the most frequent first.
fn counted(results: &Results) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for identity in results.connections.iter().filter_map(|row| row.identified.as_ref()) {
        *counts.entry(answer(identity)).or_default() += 1;
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The answer of `--identify` in a sentence, if it was asked.
pub(super) fn finding(results: &Results) -> Option<String> {
    let counts = counted(results);
    let of: u64 = counts.iter().map(|(_, count)| count).sum();
    match counts.as_slice() {
        [] => None,
        [(only, 1)] => Some(format!("Startup of the sender: {only}.")),
        [(first, count), ..] => {
            Some(format!("Startup of the senders: {first} on {count} of {of}."))
        }
    }
}

/// Many connections: the frequency of each result.
pub(super) fn many(text: &mut String, results: &Results) {
    let counts = counted(results);
    if counts.is_empty() {
        return;
    }
    if brief() {
        // The first line has the most frequent result.
        let told = counts.iter().skip(1).map(|(answer, count)| format!("{answer} on {count}"));
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            let _ =
                writeln!(text, "{}", wrap(&format!("Others: {}.", told.join(", ")), 0, width()));
        }
        return;
    }
    let of: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut sheet = Table::of_numbers("startups of the senders", ANSWERS, 1);
    for (answer, count) in counts {
        let share = count as f64 * 100.0 / of as f64;
        sheet.row([
            Marked::from(answer),
            Marked::from(count.to_string()),
            Marked::from(format!("{share:.1}")),
        ]);
    }
    let _ = writeln!(text, "{TITLE}{}{TITLE:#}\n{}", sheet.title, fitted(&sheet));
    let _ = writeln!(text, "{QUIET}`--json -` shows the reasons for each connection{QUIET:#}");
}
