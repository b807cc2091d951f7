//! The course of a connection over time, thinned as it grows: at most a fixed number of moments,
//! spread evenly over its duration.

use crate::run::Run;
use firstflight::{Ack, Time};
use firstflight_log::trace::signals_row;

/// Maximum number of moments; when there are more, the most closely spaced ones are dropped.
const MOST: usize = 2000;
/// The remaining moments are at least this fraction of the duration apart.
const PARTS: u64 = 800;

/// Values at one moment of a connection.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Time of the moment.
    pub now: Time,
    /// RTT sample, ns.
    pub rtt: Option<u64>,
    /// Bytes in flight.
    pub inflight: u64,
    /// The real sender's window, bytes, if known.
    pub sender_cwnd: Option<u64>,
    /// The window of each startup until its exit, bytes.
    pub cwnds: Vec<Option<u64>>,
    /// The internal signals of each startup, in the order of [`Line::names`].
    pub signals: Vec<Vec<Option<u64>>>,
}

/// The moments of one connection.
#[derive(Clone, Debug)]
pub struct Line {
    /// The moments, in order of time.
    pub moments: Vec<Moment>,
    /// Names of the internal signals of each startup.
    pub names: Vec<Vec<&'static str>>,
    /// Times of losses, and the bytes lost; thinned in the same way.
    pub losses: Vec<(Time, u64)>,
    /// Arrival times of ACKs, and the time since the previous ACK, ns: one ACK in every `stride`,
    /// and those of [`Line::moments`].
    pub gaps: Vec<(Time, u64)>,
    stride: u64,
    seen: u64,
    first: Option<Time>,
    last: Option<Time>,
    sender_cwnd: Option<u64>,
}

impl Line {
    pub(crate) fn new(runs: usize) -> Line {
        Line {
            moments: Vec::new(),
            names: vec![Vec::new(); runs],
            losses: Vec::new(),
            gaps: Vec::new(),
            stride: 1,
            seen: 0,
            first: None,
            last: None,
            sender_cwnd: None,
        }
    }

    pub(crate) fn sender_window(&mut self, cwnd: u64) {
        self.sender_cwnd = Some(cwnd);
    }

    pub(crate) fn see(&mut self, ack: &Ack, runs: &[Run]) {
        if ack.lost > 0 {
            self.losses.push((ack.now, ack.lost));
            halve(&mut self.losses);
        }
        let gap = self.last.replace(ack.now).map_or(0, |last| ack.now.since(last).0);
        self.seen += 1;
        let apart = ack.now.since(*self.first.get_or_insert(ack.now)).0 / PARTS;
        let due = self.moments.last().is_none_or(|last| ack.now.since(last.now).0 >= apart / 2);
        // The moment of a startup's exit is always kept.
        let leaves = runs.iter().any(|run| run.left.is_some_and(|left| left.exit.at == ack.now));
        if gap > 0 && (due || self.seen.is_multiple_of(self.stride)) {
            self.gaps.push((ack.now, gap));
            if halve(&mut self.gaps) {
                self.stride *= 2;
            }
        }
        if !due && !leaves {
            return;
        }
        let mut signals = Vec::with_capacity(runs.len());
        for (run, names) in runs.iter().zip(&mut self.names) {
            let asked = run.left.is_none_or(|left| left.exit.at == ack.now);
            signals.push(signals_row(names, |visit| {
                if asked {
                    run.controller.signals(visit);
                }
            }));
        }
        let cwnd = |run: &Run| match run.left {
            None => Some(run.controller.cwnd()),
            Some(left) => (left.exit.at == ack.now).then_some(left.exit.detect_cwnd),
        };
        self.moments.push(Moment {
            now: ack.now,
            rtt: ack.rtt.map(|rtt| rtt.0),
            inflight: ack.inflight_before,
            sender_cwnd: self.sender_cwnd,
            cwnds: runs.iter().map(cwnd).collect(),
            signals,
        });
        if self.moments.len() > MOST {
            let mut kept: Option<Time> = None;
            self.moments.retain(|moment| {
                let keep = kept.is_none_or(|last| moment.now.since(last).0 >= apart);
                if keep {
                    kept = Some(moment.now);
                }
                keep
            });
        }
    }
}

/// Drops every second element if there are too many; returns whether it did.
fn halve<T>(list: &mut Vec<T>) -> bool {
    if list.len() <= 2 * MOST {
        return false;
    }
    let mut index = 0;
    list.retain(|_| {
        index += 1;
        index % 2 == 0
    });
    true
}
