//! The course of a connection over time, thinned as it grows: at most a fixed number of moments, evenly spread over the ACKs.

use crate::replay::Run;
use firstflight::{Ack, Time};

/// Moments that are kept at most; half of them are dropped whenever there are more.
const MOST: usize = 1600;

/// One moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// When.
    pub now: Time,
    /// RTT sample, ns.
    pub rtt: Option<u64>,
    /// Since the ACK before, ns.
    pub gap: u64,
    /// In flight, bytes.
    pub inflight: u64,
    /// The real sender's window, bytes, where it said so.
    pub sender_cwnd: Option<u64>,
    /// The window of each startup, bytes, until it left.
    pub cwnds: Vec<Option<u64>>,
    /// The inner signals of each startup, in the order of [`Line::names`].
    pub signals: Vec<Vec<Option<u64>>>,
}

/// The moments of one connection.
#[derive(Clone, Debug)]
pub struct Line {
    /// In order of time.
    pub moments: Vec<Moment>,
    /// Names of the inner signals of each startup.
    pub names: Vec<Vec<&'static str>>,
    /// When something was lost, and how many bytes; thinned likewise.
    pub losses: Vec<(Time, u64)>,
    stride: u64,
    seen: u64,
    last: Option<Time>,
    sender_cwnd: Option<u64>,
}

impl Line {
    pub(crate) fn new(runs: usize) -> Line {
        Line { moments: Vec::new(), names: vec![Vec::new(); runs], losses: Vec::new(), stride: 1, seen: 0, last: None, sender_cwnd: None }
    }

    pub(crate) fn sender_window(&mut self, cwnd: u64) {
        self.sender_cwnd = Some(cwnd);
    }

    pub(crate) fn see(&mut self, ack: &Ack, runs: &[Run]) {
        if ack.lost > 0 {
            self.losses.push((ack.now, ack.lost));
            if self.losses.len() > MOST {
                let mut index = 0;
                self.losses.retain(|_| {
                    index += 1;
                    index % 2 == 0
                });
            }
        }
        let gap = self.last.replace(ack.now).map_or(0, |last| ack.now.since(last).0);
        self.seen += 1;
        // The moment at which a startup leaves is kept whatever the stride.
        let leaves = runs.iter().any(|run| run.left.is_some_and(|left| left.exit.at == ack.now));
        if self.seen % self.stride != 0 && !leaves {
            return;
        }
        let mut signals = Vec::with_capacity(runs.len());
        for (run, names) in runs.iter().zip(&mut self.names) {
            let mut values = vec![None; names.len()];
            if run.left.is_none_or(|left| left.exit.at == ack.now) {
                run.controller.signals(&mut |name, value| {
                    let index = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                        names.push(name);
                        names.len() - 1
                    });
                    if values.len() <= index {
                        values.resize(index + 1, None);
                    }
                    values[index] = Some(value);
                });
            }
            signals.push(values);
        }
        let cwnd = |run: &Run| match run.left {
            None => Some(run.controller.cwnd()),
            Some(left) => (left.exit.at == ack.now).then_some(left.exit.detect_cwnd),
        };
        self.moments.push(Moment {
            now: ack.now,
            rtt: ack.rtt.map(|rtt| rtt.0),
            gap,
            inflight: ack.inflight_before,
            sender_cwnd: self.sender_cwnd,
            cwnds: runs.iter().map(cwnd).collect(),
            signals,
        });
        if self.moments.len() > MOST {
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.stride *= 2;
        }
    }
}
