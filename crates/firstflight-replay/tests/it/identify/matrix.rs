//! A confusion matrix of true and identified senders.

use super::capture::{Kind, file, logs};
use super::identified;
use firstflight::Event;
use firstflight_lab::Testbed;
use firstflight_log::trace::{Log, What};
use firstflight_replay::identify::DEFAULT_CANDIDATES;
use std::fmt::Write as _;

/// The answer for one capture, beside its sender.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// The one that sent, alone or with some that would have sent the same packets at the same
    /// times, as their own runs on this path show.
    Right,
    /// Several, what sent among them.
    Several,
    /// None.
    Unknown,
    /// Another.
    Wrong(String),
}

/// Answers on captures of one testbed.
pub(super) struct Matrix {
    /// Sender, place and answer.
    pub(super) cells: Vec<(String, String, Said)>,
}

/// When which packets left.
fn sends(log: &Log) -> Vec<(u64, u64)> {
    let sent = |entry: &firstflight_log::trace::Entry| match &entry.what {
        What::Event { event: Event::Sent(sent), .. } => Some((sent.now.0, sent.nxt.0)),
        _ => None,
    };
    log.entries.iter().filter_map(sent).collect()
}

/// The name of a startup without options of the sender.
fn bare(arm: &str) -> &str {
    arm.split('@').next().unwrap_or(arm)
}

impl Matrix {
    /// Runs these arms on these paths, writes down what a stranger would have, and asks.
    pub(super) fn of(
        testbed: &'static dyn Testbed,
        kind: Kind,
        arms: &str,
        paths: &[(&str, u64)],
    ) -> Matrix {
        let names: Vec<&str> = arms.split(',').collect();
        let mut cells = Vec::new();
        for (index, &(path, bytes)) in paths.iter().enumerate() {
            let logs = logs(testbed, kind, arms, (path, bytes), 101 + index as u64);
            let sent: Vec<_> = logs.iter().map(sends).collect();
            for (own, log) in logs.iter().enumerate() {
                let truth = bare(names[own]);
                let identity = identified(truth, file(kind, log), DEFAULT_CANDIDATES);
                let is_twin = |name: &String| {
                    let other = names.iter().position(|arm| bare(arm) == name);
                    other.is_some_and(|other| sent[other] == sent[own])
                };
                let said = if identity.alike.is_empty() {
                    Said::Unknown
                } else if identity.alike.iter().all(is_twin) {
                    Said::Right
                } else if identity.alike.iter().any(|name| name == truth) {
                    Said::Several
                } else {
                    Said::Wrong(identity.alike.join(","))
                };
                println!("{kind:?} {path}: {truth} {said:?}: {}", identity.why);
                cells.push((truth.to_owned(), path.to_owned(), said));
            }
        }
        Matrix { cells }
    }

    /// Number of answers of each kind for this sender.
    pub(super) fn count(&self, truth: &str, said: impl Fn(&Said) -> bool) -> usize {
        self.cells.iter().filter(|cell| cell.0 == truth && said(&cell.2)).count()
    }

    /// Captures of these senders, and how many of them were answered right.
    pub(super) fn right(&self, truths: &[&str]) -> (usize, usize) {
        let all = truths.iter().map(|truth| self.count(truth, |_| true)).sum();
        (all, truths.iter().map(|truth| self.count(truth, |said| *said == Said::Right)).sum())
    }

    /// As the page shows it.
    pub(super) fn markdown(&self) -> String {
        let mut text =
            "| sender | captures | right | named among several | unknown | another named |\n\
                        |---|---:|---:|---:|---:|---:|\n"
                .to_owned();
        let mut truths: Vec<&str> = Vec::new();
        for (truth, ..) in &self.cells {
            if !truths.contains(&truth.as_str()) {
                truths.push(truth);
            }
        }
        for truth in truths {
            let count = |said: fn(&Said) -> bool| self.count(truth, said);
            let _ = writeln!(
                text,
                "| {truth} | {} | {} | {} | {} | {} |",
                count(|_| true),
                count(|said| *said == Said::Right),
                count(|said| *said == Said::Several),
                count(|said| *said == Said::Unknown),
                count(|said| matches!(said, Said::Wrong(_))),
            );
        }
        text
    }
}
