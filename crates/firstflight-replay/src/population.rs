//! Converts recorded connections to a population file for `ab`: quantiles of round trip, rate,
//! buffer, loss and size by group. Comments in the file list the values that could not be inferred.

mod entry;
#[cfg(feature = "advice")]
pub mod model;
#[cfg(feature = "advice")]
pub mod own;
mod text;

pub use entry::Entry;

use crate::replay::Replay;
use firstflight_path::Error;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use text::{FEW, quoted, table};

/// Assumed buffers if no trace shows any: the wired access lines of the built-in populations.
const ASSUMED_BUFFER: &str = "{ lognormal = { median_ms = 24.0, sigma = 0.6 } }";

/// Connections to use in addition to those whose numbers can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "advice", derive(clap::ValueEnum))]
pub enum Accept {
    /// Connections whose capture is in doubt
    Doubtful,
}

/// Totals over all connections of a replay.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// The connections that are used.
    pub taken: Vec<Entry>,
    /// Number of connections too short to show a rate and a round trip.
    pub short: u64,
    /// Number of connections left out because their capture is in doubt.
    pub doubtful: u64,
    /// The reason for the first of them.
    doubt: Option<String>,
}

impl Entries {
    /// Collects the entries of a replay that was run with
    /// [`Settings::entries`](crate::replay::Settings::entries).
    pub fn of(replay: &Replay, accept: Option<Accept>) -> Entries {
        let mut entries = Entries { short: replay.short, ..Entries::default() };
        for (row, entry) in replay.done.iter().zip(&replay.entries) {
            if row.is_doubtful() && accept != Some(Accept::Doubtful) {
                entries.doubtful += 1;
                let line = row.capture.as_ref().map(|of| of.remarks.join("; "));
                entries.doubt = entries.doubt.or(line);
            } else if let Some(entry) = entry {
                entries.taken.push(entry.clone());
            } else {
                entries.short += 1;
            }
        }
        entries
    }

    /// Describes in a sentence the connections left out as doubtful.
    pub fn doubts(&self) -> Option<String> {
        let doubt = self.doubt.as_ref()?;
        let are = if self.doubtful == 1 { "connection is" } else { "connections are" };
        Some(format!(
            "{} {are} left out ({doubt}); `--accept doubtful` includes them",
            self.doubtful
        ))
    }

    /// Explains why none of the connections in these files is used.
    pub fn refusal(&self, files: &[String], advice: &str) -> Error {
        let files = files.join(", ");
        Error::new(match self.doubts() {
            Some(doubts) => format!("{files}: {doubts}"),
            None => format!(
                "{files}: no connection is long enough to show a rate and a round trip{advice}"
            ),
        })
    }
}

/// Spearman's rank correlation.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|x, y| values[*x].total_cmp(&values[*y]));
        let mut ranks = vec![0.0; values.len()];
        let mut at = 0;
        while at < order.len() {
            let mut end = at;
            while end + 1 < order.len()
                && values[order[end + 1]].total_cmp(&values[order[at]]).is_eq()
            {
                end += 1;
            }
            order[at..=end].iter().for_each(|index| ranks[*index] = (at + end) as f64 / 2.0);
            at = end + 1;
        }
        ranks
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 - 1.0) / 2.0;
    let sum = |f: &dyn Fn(usize) -> f64| (0..a.len()).map(f).sum::<f64>();
    let both = sum(&|i| (a[i] - mean) * (b[i] - mean));
    let alone = (sum(&|i| (a[i] - mean).powi(2)) * sum(&|i| (b[i] - mean).powi(2))).sqrt();
    if alone > 0.0 { both / alone } else { 0.0 }
}

/// The population file for these connections; `command` is the command that made it. `None` if
/// there are no connections.
pub fn to_toml(entries: &[Entry], command: &str) -> Option<String> {
    let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        groups.entry(&entry.group).or_default().push(entry);
    }
    if groups.is_empty() {
        return None;
    }
    let mut text = format!(
        "# From {} recorded connections in {} group{}. Edit it as needed; `firstflight populations describe FILE` prints its quantiles.\n\
         schema = 1\nname = \"from-traces\"\nversion = \"1\"\nabout = {}\n",
        entries.len(),
        groups.len(),
        if groups.len() == 1 { "" } else { "s" },
        quoted(&format!("{} recorded connections: {command}", entries.len())),
    );
    for (value, status, reference) in sources(entries) {
        let _ = write!(
            text,
            "\n[[source]]\nvalue = \"{value}\"\nstatus = \"{status}\"\nref = {}\n",
            quoted(&reference)
        );
    }
    let total = entries.len() as f64;
    let count = groups.len();
    let mut left = 1.0;
    for (index, (name, members)) in groups.into_iter().enumerate() {
        // The last weight is the remainder, so the weights sum to 1 despite rounding.
        let weight = if index + 1 == count { left } else { members.len() as f64 / total };
        left -= weight;
        group(&mut text, name, weight, &members);
    }
    Some(text)
}

/// The source of each variable.
fn sources(entries: &[Entry]) -> Vec<(&'static str, char, String)> {
    let lower = entries.iter().filter(|entry| entry.lower_bound).count();
    let full = entries.iter().filter(|entry| entry.buffer_ms.is_some()).count();
    let buffer = if full == 0 {
        ("buffer", 'A', "no loss came with a queue; uses the buffers of wired access lines (population fixed-2025)".to_owned())
    } else {
        (
            "buffer",
            'D',
            format!(
                "RTT at losses minus the smallest RTT, of {full} of {} connections whose losses came with a queue",
                entries.len()
            ),
        )
    };
    vec![
        ("rtt", 'D', "smallest RTT of each connection: the idle round trip if its queue was ever empty".to_owned()),
        (
            "rate_down",
            'D',
            format!("best sustained delivery rate with headers; a lower bound for {lower} of {} connections", entries.len()),
        ),
        buffer,
        ("loss", 'D', "packets lost over packets sent on connections whose losses came without a queue; 0 for the others".to_owned()),
        ("size", 'D', "bytes delivered per connection: what the trace holds, which may be less than the object".to_owned()),
    ]
}

fn group(text: &mut String, name: &str, weight: f64, members: &[&Entry]) {
    let n = members.len();
    let _ = write!(text, "\n[[group]]\n# {n} connection{}", if n == 1 { "" } else { "s" });
    if n < FEW {
        let _ = write!(text, "; fewer than {FEW} do not represent the tails of a distribution");
    }
    let _ = writeln!(
        text,
        "\nname = {}\nweight = {weight:?}",
        quoted(if name.is_empty() { "traces" } else { name })
    );
    let values =
        |of: &dyn Fn(&Entry) -> f64| members.iter().map(|entry| of(entry)).collect::<Vec<f64>>();
    let _ = writeln!(text, "rtt = {}", table(&mut values(&|entry| entry.rtt_ms), "_ms"));
    let lower = members.iter().filter(|entry| entry.lower_bound).count();
    if lower > 0 {
        let _ = writeln!(
            text,
            "# not inferred for {lower} of {n}: no queue and no loss showed, so the path may carry more than this"
        );
    }
    let _ = writeln!(text, "rate_down = {}", table(&mut values(&|entry| entry.rate_mbps), "_mbps"));
    let mut buffers: Vec<f64> = members.iter().filter_map(|entry| entry.buffer_ms).collect();
    if buffers.is_empty() {
        let _ = writeln!(
            text,
            "# not inferred: no loss came with a queue before it, so the buffer size is unknown; assumed\nbuffer = {ASSUMED_BUFFER}"
        );
    } else {
        if buffers.len() < n {
            let _ = writeln!(
                text,
                "# not inferred for {} of {n}: their losses, if any, came without a queue",
                n - buffers.len()
            );
        }
        let _ = writeln!(text, "buffer = {}", table(&mut buffers, "_ms"));
    }
    let mut loss: Vec<f64> =
        members.iter().filter_map(|entry| entry.loss).map(|loss| loss.clamp(0.0, 0.99)).collect();
    if loss.len() < n {
        let _ = writeln!(
            text,
            "# not inferred for {} of {n}: their logs do not record losses",
            n - loss.len()
        );
    }
    if loss.is_empty() {
        text.push_str("# assumed: losses occur only in full queues\n");
        loss.push(0.0);
    }
    let _ = writeln!(text, "loss = {}", table(&mut loss, ""));
    let _ = writeln!(text, "size = {}", table(&mut values(&|entry| entry.bytes as f64), "_bytes"));
    let grids = members.iter().filter(|entry| entry.grid_ms.is_some()).count();
    if grids > 0 {
        let _ = writeln!(
            text,
            "# ACKs of {grids} of {n} arrived on a grid; `return_path` accepts a preset for that (geo_warm, geo_cold, lte); none is set"
        );
    }
    let _ = writeln!(
        text,
        "# not inferred: rate of the return path, changes of the rate with time, ECN; the return path is a plain delay\nreturn_path = \"plain\""
    );
    if n >= 8 {
        let rank =
            rank_correlation(&values(&|entry| entry.rtt_ms), &values(&|entry| entry.rate_mbps));
        let _ = writeln!(
            text,
            "rank_correlation = [[\"rtt\", \"rate_down\", {:?}]]",
            (rank * 100.0).round() / 100.0
        );
    }
}
