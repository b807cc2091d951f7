//! Behaviour of recovery when several flows start together: lost retransmissions, and silences that a timer ends.

use super::cell::{Cell, HOSTS, NAMES, SHORT, STARTUPS, Starts};
use crate::Effort;
use crate::figure::{Figure, Series, Shape, axis};
use crate::lab::{Sender, Vary, arm, together_watched};
use crate::sample::bootstrap;
use firstflight::{Nanos, Time};
use firstflight_lab::Error;
use firstflight_sim::observe::Signals;
use firstflight_sim::{App, Cause, Observer, Snapshot};
use rayon::prelude::*;

/// Behaviour of a flow's recoveries.
struct Entry {
    flows: Vec<Flow>,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    repeats: u64,
    lost: u64,
    sent: Option<Time>,
    /// Longest time without a packet that a timer ended.
    silence: u64,
}

impl Observer for Entry {
    fn on_event(&mut self, snapshot: &Snapshot, _signals: &Signals<'_>) {
        let Some(flow) = self.flows.get_mut(snapshot.flow as usize) else { return };
        let now = snapshot.now;
        match (snapshot.event, flow.sent) {
            (Cause::Sent, _) => {
                flow.sent = Some(now);
            }
            (Cause::Timer, Some(sent)) => flow.silence = flow.silence.max(now.since(sent).0),
            _ => {}
        }
    }
}

/// Lost retransmissions and silences at 100 ms and 3 MB, under each recovery.
pub(super) fn figures(effort: &Effort<'_>) -> Result<Vec<Figure>, Error> {
    effort.tell("hystart++: behaviour of recovery");
    let draws = u64::from(effort.sample("hystart.mechanism"));
    let jobs: Vec<(usize, usize, u64)> = (0..HOSTS.len())
        .flat_map(|hosts| {
            (0..STARTUPS.len())
                .flat_map(move |startup| (1..=draws).map(move |seed| (hosts, startup, seed)))
        })
        .collect();
    let watched = |(hosts, startup, seed): (usize, usize, u64)| {
        let cell =
            Cell { hosts: HOSTS[hosts], starts: Starts::Drawn, rtt: 100, bytes: SHORT[1], iw: 10 };
        let named = arm(&cell.arm(startup))?;
        let starts = cell.starts.of(seed);
        let mut entry = Entry { flows: vec![Flow::default(); starts.len()] };
        let senders = starts.into_iter().map(|start| Sender {
            arm: &named,
            app: App::Bulk(cell.bytes),
            start: Nanos(start),
        });
        let done = together_watched(
            &cell.ground()?,
            senders.collect(),
            seed,
            Vary::Rtt,
            None,
            Some(&mut entry),
        )?;
        for (flow, outcome) in entry.flows.iter_mut().zip(&done.flows) {
            (flow.repeats, flow.lost) =
                (outcome.counters.retransmissions, outcome.counters.lost_retransmissions);
        }
        Ok(entry.flows)
    };
    let all: Vec<Vec<Flow>> =
        jobs.into_par_iter().with_max_len(1).map(watched).collect::<Result<_, Error>>()?;
    let draws = draws as usize;
    let value = |hosts: usize, startup: usize, read: &dyn Fn(&[&Flow]) -> f64| {
        let from = (hosts * STARTUPS.len() + startup) * draws;
        let of = &all[from..from + draws];
        bootstrap(draws, |units| {
            read(&units.iter().flat_map(|&draw| &of[draw]).collect::<Vec<_>>())
        })
    };
    let mean_of = |flows: &[&Flow], read: fn(&Flow) -> u64| {
        flows.iter().map(|flow| read(flow) as f64).sum::<f64>() / flows.len().max(1) as f64
    };
    let picture = |name: &str, unit: &str, how: &str, read: &dyn Fn(&[&Flow]) -> f64| {
        let names =
            HOSTS.iter().enumerate().map(|(row, hosts)| (row as f64, hosts.name.to_owned()));
        let series = [0, 1].map(|startup| {
            Series::with_intervals(
                NAMES[startup],
                (0..HOSTS.len()).map(|hosts| (hosts as f64, value(hosts, startup, read))),
            )
        });
        Figure::new(
            name,
            &["1.1", "1.5"],
            Shape::Rows,
            axis(unit).from_zero(),
            axis("").named(names),
        )
        .how(how)
        .with(series)
    };
    Ok(vec![
        picture(
            "Share of retransmissions that are lost",
            "%",
            "100 ms, 3 MB, flows together. RFC 6675 does not detect lost retransmissions, RACK does; PRR sends as packets arrive.",
            &|flows| {
                100.0 * mean_of(flows, |flow| flow.lost)
                    / mean_of(flows, |flow| flow.repeats).max(1e-9)
            },
        ),
        picture(
            "Longest silence that a timer ends",
            "ms, mean over flows",
            "The same runs: the cost of waiting for the retransmission timer (or a probe).",
            &|flows| mean_of(flows, |flow| flow.silence) / 1e6,
        ),
    ])
}
