//! What the page of a replay shows: the finding, verdicts over all connections, and for the first
//! ones RTT, delivery rate, windows, ACK spacing and inner signals over time, with the exit of
//! every startup.
//!
//! Frame, colours and tools are those of all pages (`firstflight-lab`, `report::html`); that
//! frame is filled with [`STYLE`], [`BODY`], [`SCRIPT`] and [`Data`].

use crate::line::{Line, Moment};
use crate::replay::Followed;
use crate::results::{CapturedRow, Results, VerdictRow};
use crate::shown::{mbps, ms};
use crate::summary::{ConnectionRow, EARLY_BELOW, LATE_ABOVE};
use firstflight::Time;
#[cfg(feature = "advice")]
use firstflight_lab::report::html::{Page, STILL_SCRIPTS, STILL_STYLE};
use serde::Serialize;

/// Styles besides those of all pages.
pub const STYLE: &str = include_str!("style.css");
/// What stands below title and lead.
pub const BODY: &str = include_str!("body.html");
/// Draws the page from the data.
pub const SCRIPT: &str = include_str!("page.js");
/// Rows of the table of connections.
pub const MOST_ROWS: usize = 500;
/// Inner signals of one startup that are drawn.
const MOST_SIGNALS: usize = 16;
/// Values of the delivery rate that are drawn.
const RATES: usize = 700;

/// Everything the page shows.
#[derive(Clone, Debug, Serialize)]
pub struct Data<'a> {
    /// The heading.
    pub title: String,
    /// What it comes to, in a sentence or two.
    pub finding: String,
    /// The command line that makes the page again.
    pub command: &'a str,
    /// What wrote it.
    pub version: String,
    /// A window at exit between these two shares of the BDP is right.
    right_bdp: [f64; 2],
    arms: Vec<ArmData<'a>>,
    faults: Vec<&'a str>,
    /// What was left out of files, and what is wrong with captures.
    notes: Vec<String>,
    verdicts: &'a [VerdictRow],
    captured: &'a [CapturedRow],
    connections: &'a [ConnectionRow],
    /// Connections in all.
    count: usize,
    lines: &'a [LineData],
}

/// A startup and how it is drawn on every page.
#[derive(Clone, Debug, Serialize)]
struct ArmData<'a> {
    arm: &'a str,
    look: usize,
}

/// The course of a connection; lists of one kind have one length, `null` is unknown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LineData {
    /// Which connection.
    connection: usize,
    /// How much is drawn, ms.
    to_ms: f64,
    t_ms: Vec<f64>,
    rtt_ms: Vec<Option<f64>>,
    inflight: Vec<u64>,
    sender_cwnd: Vec<Option<u64>>,
    /// Of each startup, in the order of its connection, until it left.
    cwnds: Vec<Vec<Option<u64>>>,
    signals: Vec<Vec<Signal>>,
    losses_ms: Vec<f64>,
    /// When an ACK came, and how long after the one before.
    gaps_ms: Vec<(f64, f64)>,
    /// Payload over a round trip, Mbit/s.
    rates: Vec<(f64, f64)>,
}

/// An inner signal of a startup.
#[derive(Clone, Debug, Serialize)]
struct Signal {
    name: &'static str,
    values: Vec<Option<u64>>,
}

impl<'a> Data<'a> {
    /// Of the results. `looks` says how each of [`Results::arms`] is drawn.
    pub fn new(results: &'a Results, looks: &[usize], command: &'a str) -> Data<'a> {
        let title = match &results.connections[..] {
            [one] => format!("Replay of {}", one.name),
            all => format!("Replay of {} connections", all.len()),
        };
        let look = |index: usize| looks.get(index).copied().unwrap_or(index);
        let arms = results.arms.iter().enumerate();
        Data {
            title,
            finding: results.finding(),
            command,
            version: format!("firstflight {}", env!("CARGO_PKG_VERSION")),
            right_bdp: [EARLY_BELOW, LATE_ABOVE],
            arms: arms.map(|(index, arm)| ArmData { arm, look: look(index) }).collect(),
            faults: results.files.iter().filter_map(|file| file.fault.as_deref()).collect(),
            notes: results
                .files
                .iter()
                .flat_map(|file| file.notes.iter().cloned())
                .chain(results.capture_lines())
                .collect(),
            verdicts: &results.verdicts,
            captured: &results.captured,
            connections: &results.connections[..results.connections.len().min(MOST_ROWS)],
            count: results.connections.len(),
            lines: &results.lines,
        }
    }
}

impl Data<'_> {
    /// As the page's script reads it.
    pub fn to_json(&self) -> String {
        // Only maps with keys other than strings can fail here, and there are none.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the page of a replay has of its own.
#[cfg(feature = "advice")]
pub const PAGE: Page<'_> = Page {
    kind: "replay",
    skip: "verdicts",
    styles: &[STILL_STYLE, STYLE],
    body: BODY,
    common: STILL_SCRIPTS,
    scripts: &[SCRIPT],
};

/// The page: what a replay has to show, in the frame of all pages; `command` made it.
#[cfg(feature = "advice")]
pub fn page(results: &Results, command: &str) -> String {
    let data = data(results, command);
    PAGE.fill(&data.title, &data.version, &data.to_json())
}

/// What that page shows, each startup drawn as on every page.
#[cfg(feature = "advice")]
pub fn data<'a>(results: &'a Results, command: &'a str) -> Data<'a> {
    let looks = firstflight_lab::report::looks(results.arms.iter().map(String::as_str));
    Data::new(results, &looks, command)
}

/// Microseconds and thousandths of Mbit/s are finer than anything that is drawn.
fn fine(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// How much of a connection is drawn: the startup, with room behind it for what the path turned out
/// to carry.
fn range(followed: &Followed, row: &ConnectionRow) -> f64 {
    let all = ms(followed.end.since(followed.opening.start).0).max(1.0);
    let last = row.startups.iter().filter_map(|startup| startup.time_ms).fold(0.0, f64::max);
    if last > 0.0 && all > last * 4.0 { last * 3.0 } else { all }
}

impl LineData {
    /// Of the connection with that number, if its course was kept.
    pub(crate) fn of(
        followed: &Followed,
        row: &ConnectionRow,
        connection: usize,
    ) -> Option<LineData> {
        let line = followed.line.as_ref()?;
        let to_ms = range(followed, row);
        let start = followed.opening.start;
        let at = |now: Time| fine(ms(now.since(start).0));
        let moments: Vec<&Moment> =
            line.moments.iter().filter(|moment| at(moment.now) <= to_ms).collect();
        let rates: Vec<(f64, f64)> = followed
            .meter
            .series(RATES)
            .into_iter()
            .map(|(at, rate)| (ms(at), mbps(rate)))
            .collect();
        let rates = smooth(&rates, row.min_rtt_ms.unwrap_or(0.0)).into_iter();
        let gaps = line.gaps.iter().map(|(now, gap)| (at(*now), *gap as f64 / 1e6));
        Some(LineData {
            connection,
            to_ms,
            t_ms: moments.iter().map(|moment| at(moment.now)).collect(),
            rtt_ms: moments.iter().map(|moment| moment.rtt.map(|rtt| fine(ms(rtt)))).collect(),
            inflight: moments.iter().map(|moment| moment.inflight).collect(),
            sender_cwnd: known(&moments, |moment| moment.sender_cwnd),
            cwnds: (0..row.startups.len())
                .map(|run| known(&moments, |moment| moment.cwnds.get(run).copied().flatten()))
                .collect(),
            signals: (0..row.startups.len()).map(|run| signals(line, run, &moments)).collect(),
            losses_ms: line
                .losses
                .iter()
                .map(|(now, _)| at(*now))
                .filter(|at| *at <= to_ms)
                .collect(),
            gaps_ms: gaps.filter(|(at, _)| *at <= to_ms).collect(),
            rates: rates
                .filter(|(at, _)| *at <= to_ms)
                .map(|(at, rate)| (fine(at), fine(rate)))
                .collect(),
        })
    }
}

/// A value at each moment, up to the last that is known: a startup that left has no window.
fn known(moments: &[&Moment], read: impl Fn(&Moment) -> Option<u64>) -> Vec<Option<u64>> {
    let mut values: Vec<_> = moments.iter().map(|moment| read(moment)).collect();
    values.truncate(values.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
    values
}

/// What one startup computes inside.
fn signals(line: &Line, run: usize, moments: &[&Moment]) -> Vec<Signal> {
    let names = line.names.get(run).into_iter().flatten().take(MOST_SIGNALS).enumerate();
    names
        .map(|(signal, &name)| {
            // What stands for "none yet" is no value.
            let read = |moment: &Moment| {
                let value = moment.signals.get(run)?.get(signal).copied().flatten()?;
                (value < u64::MAX / 2).then_some(value)
            };
            Signal { name, values: known(moments, read) }
        })
        .collect()
}

/// A moving mean over `span` ms.
fn smooth(rates: &[(f64, f64)], span: f64) -> Vec<(f64, f64)> {
    let mut from = 0;
    let mut sum = 0.0;
    let mut out = Vec::with_capacity(rates.len());
    for (index, (at, rate)) in rates.iter().enumerate() {
        sum += rate;
        while rates[from].0 < at - span {
            sum -= rates[from].1;
            from += 1;
        }
        out.push((*at, sum / (index + 1 - from) as f64));
    }
    out
}
