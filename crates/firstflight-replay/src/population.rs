//! A population out of recorded connections: quantiles of round trip, rate, buffer, loss and size
//! by group, as a file that `ab` takes. What could not be inferred stands in its comments.

#[cfg(feature = "advice")]
pub mod model;
#[cfg(feature = "advice")]
pub mod own;

use crate::replay::{Followed, Replay};
use crate::shown::{Shown, mbps, ms};
use firstflight_path::Error;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Shares at which quantiles are taken, if there are enough connections for them.
const SHARES: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99];
/// With fewer connections a group says nothing about its tails.
const FEW: usize = 100;
/// Fewer ACKs that found losses are no overshoot.
const LEAST_LOSSES: u64 = 10;
/// Buffers that no trace shows: the wired access lines of the built-in populations.
const ASSUMED_BUFFER: &str = "{ lognormal = { median_ms = 24.0, sigma = 0.6 } }";

/// Connections that are taken beside those whose numbers may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "advice", derive(clap::ValueEnum))]
pub enum Accept {
    /// Those whose capture leaves a doubt
    Doubtful,
}

/// What all connections of a replay add.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// What those add that are taken.
    pub taken: Vec<Entry>,
    /// Connections that are too short to show a rate and a round trip.
    pub short: u64,
    /// Connections whose capture leaves a doubt; they are not taken.
    pub doubtful: u64,
    /// The doubt about the first of them.
    doubt: Option<String>,
}

impl Entries {
    /// Of everything that was followed.
    pub fn of(replay: &Replay, accept: Option<Accept>) -> Entries {
        let mut entries = Entries { short: replay.short, ..Entries::default() };
        for followed in &replay.done {
            if followed.is_doubtful() && accept != Some(Accept::Doubtful) {
                entries.doubtful += 1;
                let line = followed.quality.as_ref().map(|of| of.remarks.join("; "));
                entries.doubt = entries.doubt.or(line);
            } else if let Some(entry) = Entry::of(followed) {
                entries.taken.push(entry);
            } else {
                entries.short += 1;
            }
        }
        entries
    }

    /// What was left out for a doubt, in a sentence.
    pub fn doubts(&self) -> Option<String> {
        let doubt = self.doubt.as_ref()?;
        let are = if self.doubtful == 1 { "connection is" } else { "connections are" };
        Some(format!("{} {are} left out ({doubt}); `--accept doubtful` takes them", self.doubtful))
    }

    /// Why none is taken, of these files.
    pub fn refusal(&self, files: &[String], advice: &str) -> Error {
        let files = files.join(", ");
        Error::new(match self.doubts() {
            Some(doubts) => format!("{files}: {doubts}"),
            None => format!(
                "{files}: no connection long enough to show a rate and a round trip{advice}"
            ),
        })
    }
}

/// What one connection adds.
#[derive(Clone, Debug)]
pub struct Entry {
    name: String,
    group: String,
    rtt_ms: f64,
    rate_mbps: f64,
    lower_bound: bool,
    buffer_ms: Option<f64>,
    /// Lost, of what was sent, where no queue stood when it was; none where the log does not say.
    loss: Option<f64>,
    bytes: u64,
    grid_ms: Option<f64>,
    /// Within a burst of the grid, us.
    gap_us: f64,
    /// The most that a queue was seen to add.
    queue_ms: f64,
    /// `buffer_ms`, where losses leave no doubt that they came from a full queue.
    full_ms: Option<f64>,
    /// Lost, of what was sent, whatever the queue was.
    lost: Option<f64>,
    /// Of these, lost while the queue was not near the largest that was seen.
    random: f64,
    /// From the first byte sent to the last event, ms.
    time_ms: f64,
    /// The buffer and the random loss that reproduce it.
    #[cfg(feature = "advice")]
    fit: Option<model::Fit>,
}

impl Entry {
    /// Of a connection; `None` if it shows neither rate nor RTT.
    pub fn of(followed: &Followed) -> Option<Entry> {
        let shown = Shown::of(followed);
        Some(Entry {
            name: followed.opening.name.clone(),
            group: followed.opening.group.clone().unwrap_or_else(|| "traces".into()),
            rtt_ms: shown.min_rtt_ms.filter(|rtt| *rtt > 0.0)?,
            rate_mbps: mbps(shown.rate? * shown.wire).max(0.001),
            lower_bound: shown.lower_bound,
            buffer_ms: shown.buffer_ms,
            loss: followed.loss().map(|loss| loss * (1.0 - overshoot(followed, &shown))),
            bytes: followed.delivered.max(1),
            grid_ms: followed
                .min_rtt
                .and_then(|min| followed.signals.grid(min))
                .map(|(period, _)| period as f64 / 1e6),
            gap_us: followed.signals.gaps.quantile(0.5).unwrap_or(0.0) / 1e3,
            queue_ms: shown.queue_max_ms.unwrap_or(0.0),
            full_ms: full_buffer(followed, &shown),
            lost: followed.loss(),
            random: followed.loss().unwrap_or(0.0) * (1.0 - overshoot(followed, &shown)),
            time_ms: ms(followed.end.since(followed.opening.start).0).max(0.001),
            #[cfg(feature = "advice")]
            fit: None,
        })
    }
}

/// Share of the losses that came at RTTs within a fifth of the largest queue that was seen: they
/// are overshoot, and not random.
fn overshoot(followed: &Followed, shown: &Shown) -> f64 {
    let losses = &followed.signals.loss_rtt;
    let Some((most, min)) = shown.queue_max_ms.zip(followed.min_rtt) else { return 0.0 };
    if shown.is_noise(most) {
        return 0.0;
    }
    let near = ms(min.0) + 0.8 * most;
    let at = |percent: u32| losses.quantile((f64::from(percent) + 0.5) / 100.0);
    (0..100).filter(|percent| at(*percent).is_some_and(|rtt| rtt / 1e6 >= near)).count() as f64
        / 100.0
}

/// What a full queue adds, ms, where losses leave no doubt: many, at about the same RTT, and near
/// the largest RTT that was seen. Losses by chance come at any RTT, and few at a time.
fn full_buffer(followed: &Followed, shown: &Shown) -> Option<f64> {
    let losses = &followed.signals.loss_rtt;
    let min = ms(followed.min_rtt?.0);
    let queue = |share: f64| losses.quantile(share).map(|rtt| rtt / 1e6 - min);
    let alike = queue(0.25)? >= 0.6 * queue(0.75)?;
    // An ACK that was delayed adds its wait to the largest RTT.
    let near = |buffer: &f64| shown.queue_max_ms.is_none_or(|most| most <= 2.0 * buffer);
    shown.buffer_ms.filter(|buffer| losses.len() >= LEAST_LOSSES && alike && near(buffer))
}

/// The quantile of sorted values, between neighbours in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

fn four(value: f64) -> f64 {
    // Four digits: what a trace shows is not known better, and files compare.
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A distribution as a population file writes it.
fn table(values: &mut [f64], suffix: &str) -> String {
    values.sort_by(f64::total_cmp);
    let Some((first, last)) = values.first().zip(values.last()) else { return String::new() };
    if values.len() < 4 || last - first <= first.abs() * 1e-9 {
        let middle = four(quantile(values, 0.5));
        return if suffix.is_empty() {
            format!("{middle:?}")
        } else {
            format!("{{ constant = {{ value{suffix} = {middle:?} }} }}")
        };
    }
    // A quantile needs a value beyond it.
    let known = |share: &&f64| {
        **share * values.len() as f64 >= 0.5 && (1.0 - **share) * values.len() as f64 >= 0.5
    };
    let shares: Vec<f64> = SHARES.iter().filter(known).copied().collect();
    let mut most = 0.0_f64;
    let quantiles: Vec<String> = shares
        .iter()
        .map(|share| {
            most = most.max(four(quantile(values, *share)));
            format!("{most:?}")
        })
        .collect();
    let shares: Vec<String> = shares.iter().map(|share| format!("{share:?}")).collect();
    format!(
        "{{ table = {{ q = [{}], values{suffix} = [{}] }} }}",
        shares.join(", "),
        quantiles.join(", ")
    )
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

fn quoted(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).take(120).collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The population file of these connections; `command` is what made it. `None` without any.
pub fn to_toml(entries: &[Entry], command: &str) -> Option<String> {
    let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        groups.entry(&entry.group).or_default().push(entry);
    }
    if groups.is_empty() {
        return None;
    }
    let mut text = format!(
        "# Out of {} recorded connections in {} group{}. Edit freely: `firstflight populations describe FILE` shows what it gives.\n\
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
        // The last weight is what is left: they sum to 1 whatever their roundings.
        let weight = if index + 1 == count { left } else { members.len() as f64 / total };
        left -= weight;
        group(&mut text, name, weight, &members);
    }
    Some(text)
}

/// Where each variable comes from.
fn sources(entries: &[Entry]) -> Vec<(&'static str, char, String)> {
    let lower = entries.iter().filter(|entry| entry.lower_bound).count();
    let full = entries.iter().filter(|entry| entry.buffer_ms.is_some()).count();
    let buffer = if full == 0 {
        ("buffer", 'A', "no loss came with a queue: the buffers of wired access lines (population fixed-2025) stand in".to_owned())
    } else {
        (
            "buffer",
            'D',
            format!(
                "RTT at losses less the smallest, of {full} of {} connections whose losses came with a queue",
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
        ("loss", 'D', "lost of sent, of connections whose losses came without a queue; 0 for the others".to_owned()),
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
            "# not inferred: no loss came with a queue before it, so nothing tells how much may wait; assumed\nbuffer = {ASSUMED_BUFFER}"
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
            "# not inferred for {} of {n}: their logs have no place for losses",
            n - loss.len()
        );
    }
    if loss.is_empty() {
        text.push_str("# assumed: no loss but in full queues\n");
        loss.push(0.0);
    }
    let _ = writeln!(text, "loss = {}", table(&mut loss, ""));
    let _ = writeln!(text, "size = {}", table(&mut values(&|entry| entry.bytes as f64), "_bytes"));
    let grids = members.iter().filter(|entry| entry.grid_ms.is_some()).count();
    if grids > 0 {
        let _ = writeln!(
            text,
            "# ACKs of {grids} of {n} came on a grid; `return_path` takes a preset for that (geo_warm, geo_cold, lte), none is set"
        );
    }
    let _ = writeln!(
        text,
        "# not inferred: rate of the way back, changes of the rate with time, ECN; the way back is a plain delay\nreturn_path = \"plain\""
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
