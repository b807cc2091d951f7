//! Keeps every event of a trial, for traces and reports.

use crate::trial::ms;
use firstflight::{Phase, Time};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Event, Observer, Snapshot};
use std::io::{self, Write};

/// One event and the algorithm's inner signals at that moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The state right after the event.
    pub state: Snapshot,
    /// Values of the signals, in the order of [`Recorder::names`]; `None` for one that does not exist (yet).
    pub signals: Vec<Option<u64>>,
}

/// A recorder of one flow.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    names: Vec<&'static str>,
    moments: Vec<Moment>,
    with_signals: bool,
}

impl Recorder {
    /// Keeps inner signals too, for a trace.
    pub fn with_signals() -> Recorder {
        Recorder { with_signals: true, ..Recorder::default() }
    }

    /// Names of the signals seen.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The events, in order.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Phases as intervals `(start, end, phase)`; the last one ends at the last event.
    pub fn phases(&self) -> Vec<(Time, Time, Phase)> {
        let mut phases: Vec<(Time, Time, Phase)> = Vec::new();
        for moment in &self.moments {
            let (now, phase) = (moment.state.now, moment.state.phase);
            match phases.last_mut() {
                Some(last) if last.2 == phase => last.1 = now,
                Some(last) => {
                    last.1 = now;
                    phases.push((now, now, phase));
                }
                None => phases.push((now, now, phase)),
            }
        }
        phases
    }

    /// Writes the trace as CSV: one row per event, units in the names, empty where something does not apply.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "time_ms,event,cwnd,ssthresh,inflight,pacing_mbps,rtt_ms,min_rtt_ms,delivered_bytes,lost_bytes,queue_bytes,phase")?;
        for name in &self.names {
            write!(out, ",{name}")?;
        }
        writeln!(out)?;
        let maybe = |value: Option<String>| value.unwrap_or_default();
        for Moment { state, signals } in &self.moments {
            write!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{}",
                ms(state.now.0),
                state.event.name(),
                state.cwnd,
                maybe(state.ssthresh.map(|bytes| bytes.to_string())),
                state.inflight,
                maybe(state.pacing_rate.map(|rate| (rate as f64 * 8e-6).to_string())),
                maybe(state.rtt.map(|rtt| ms(rtt.0).to_string())),
                maybe(state.min_rtt.map(|rtt| ms(rtt.0).to_string())),
                state.delivered,
                state.lost,
                state.queue,
                state.phase.name(),
            )?;
            for index in 0..self.names.len() {
                write!(out, ",{}", maybe(signals.get(index).copied().flatten().map(|value| value.to_string())))?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

impl Observer for Recorder {
    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>) {
        let mut values = Vec::new();
        if self.with_signals && snapshot.event != Event::Sent {
            signals(&mut |name, value| {
                let index = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
                    self.names.push(name);
                    self.names.len() - 1
                });
                if values.len() <= index {
                    values.resize(index + 1, None);
                }
                values[index] = Some(value);
            });
        }
        self.moments.push(Moment { state: *snapshot, signals: values });
    }
}
