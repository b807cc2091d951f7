//! Records every event of a trial for reports, and writes its log for traces.

use crate::learner::Learner;
use firstflight::{Begin, Phase, Time};
use firstflight_log::trace::{Log, LogWriter, Start, ranges, signals_row};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Cause, Observer, Record, Snapshot};

/// One event and the algorithm's internal signals at that moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The state right after the event.
    pub state: Snapshot,
    /// Values of the signals, in the order of [`Recording::names`]; `None` for a signal that does
    /// not exist (yet).
    pub signals: Vec<Option<u64>>,
}

/// A recording of one flow, as an observer.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    names: Vec<&'static str>,
    moments: Vec<Moment>,
    with_signals: bool,
    bare: bool,
    trace: Option<Box<LogWriter>>,
    learner: Option<Learner>,
}

impl Recording {
    /// Records internal signals too.
    pub fn with_signals() -> Recording {
        Recording { with_signals: true, ..Recording::default() }
    }

    /// Records no events itself.
    pub(crate) fn bare() -> Recording {
        Recording { bare: true, ..Recording::default() }
    }

    /// Records no events either, but the state that the next connection may start from.
    pub(crate) fn learning() -> Recording {
        Recording { learner: Some(Learner::default()), ..Recording::bare() }
    }

    /// Takes the learner.
    pub(crate) fn take_learner(&mut self) -> Option<Learner> {
        self.learner.take()
    }

    /// Also writes the complete log; `start` is the part known before the controller is built.
    #[must_use]
    pub fn tracing(self, start: Start) -> Recording {
        Recording { trace: Some(Box::new(LogWriter::new(start))), ..self }
    }

    /// The log being written, for a testbed that does not pass events.
    pub fn log(&mut self) -> Option<&mut LogWriter> {
        self.trace.as_deref_mut()
    }

    /// The complete log, if one was written.
    pub fn take_trace(&mut self) -> Option<Log> {
        self.trace.take().map(|log| log.finish())
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
}

impl Observer for Recording {
    fn listens(&self) -> bool {
        // Charts need only the sender's state after each batch; traces need every event.
        self.trace.is_some() || self.learner.is_some()
    }

    fn on_event(&mut self, snapshot: &Snapshot, signals: &Signals<'_>) {
        if self.bare {
            return;
        }
        let asked = self.with_signals && snapshot.event != Cause::Sent;
        let values =
            if asked { signals_row(&mut self.names, |visit| signals(visit)) } else { Vec::new() };
        self.moments.push(Moment { state: *snapshot, signals: values });
    }

    fn on_begin(&mut self, begin: &Begin, started: Time) {
        if let Some(trace) = &mut self.trace {
            trace.begin_with(begin, started);
        }
        if let Some(learner) = &mut self.learner {
            learner.begin(begin);
        }
    }

    fn on_told(&mut self, record: Record) {
        if let Some(learner) = &mut self.learner {
            learner.hear(&record.event);
        }
        if let Some(trace) = &mut self.trace {
            if let Some(packet) = &record.packet {
                trace.departs(packet, record.arrives);
            }
            let numbers = (ranges(&record.acked), ranges(&record.lost));
            let seen = (record.state, record.exit);
            trace.note(record.event, record.packet, numbers, seen, &record.signals);
        }
    }

    fn on_acknowledgement(&mut self, _flow: u32, now: Time, len: u32) {
        if let Some(trace) = &mut self.trace {
            trace.acknowledges(now, u64::from(len));
        }
    }
}
