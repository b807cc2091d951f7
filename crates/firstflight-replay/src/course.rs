//! The course of a connection, as a page draws it.

use crate::followed::Followed;
use crate::line::{Line, Moment};
use crate::shown::{mbps, ms};
use crate::summary::ConnectionRow;
use firstflight::Time;
use serde::Serialize;

/// Maximum number of internal signals drawn per startup.
const MOST_SIGNALS: usize = 16;
/// Maximum number of delivery rates drawn.
const RATES: usize = 700;

/// The course of a connection. All lists of one kind have the same length; `null` is unknown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Course {
    /// Number of the connection.
    pub(crate) connection: usize,
    /// End of the drawn period, ms.
    to_ms: f64,
    t_ms: Vec<f64>,
    rtt_ms: Vec<Option<f64>>,
    inflight: Vec<u64>,
    sender_cwnd: Vec<Option<u64>>,
    /// Windows of each startup until its exit, in the order of the connection's startups.
    cwnds: Vec<Vec<Option<u64>>>,
    signals: Vec<Vec<Signal>>,
    losses_ms: Vec<f64>,
    /// Arrival time of an ACK, and time since the previous ACK.
    gaps_ms: Vec<(f64, f64)>,
    /// Payload rate over a round trip, Mbit/s.
    rates: Vec<(f64, f64)>,
}

/// An internal signal of a startup.
#[derive(Clone, Debug, Serialize)]
struct Signal {
    name: &'static str,
    values: Vec<Option<u64>>,
}

/// Rounds to three decimals, finer than anything that is drawn.
fn fine(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// End of the drawn period, ms: the startups, plus room for the later course of the path.
fn range(followed: &Followed, row: &ConnectionRow) -> f64 {
    let all = ms(followed.end.since(followed.opening.start).0).max(1.0);
    let last = row.startups.iter().filter_map(|startup| startup.time_ms).fold(0.0, f64::max);
    if last > 0.0 && all > last * 4.0 { last * 3.0 } else { all }
}

impl Course {
    /// The course of the connection with this number, if it was kept.
    pub(crate) fn of(
        followed: &Followed,
        row: &ConnectionRow,
        connection: usize,
    ) -> Option<Course> {
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
        Some(Course {
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

/// A value at each moment, up to the last known value: a startup that has left has no window.
fn known(moments: &[&Moment], read: impl Fn(&Moment) -> Option<u64>) -> Vec<Option<u64>> {
    let mut values: Vec<_> = moments.iter().map(|moment| read(moment)).collect();
    values.truncate(values.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
    values
}

/// The internal signals of one startup.
fn signals(line: &Line, run: usize, moments: &[&Moment]) -> Vec<Signal> {
    let names = line.names.get(run).into_iter().flatten().take(MOST_SIGNALS).enumerate();
    names
        .map(|(signal, &name)| {
            // Very large values stand for "none yet" and are dropped.
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
