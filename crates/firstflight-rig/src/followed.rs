//! The externally visible state of a stack's own controller: its window and its threshold after
//! each event.

use firstflight::{AnyController, Begin, Event, Exit, ExitReason, Nanos, Phase, Seq, State, Time};
use firstflight_quic::{SharedRecorder, SharedState};
use firstflight_sim::Record;
use std::sync::PoisonError;

/// An additional observer: a recorder of our controller that runs alongside, and the shared state
/// from which that recorder reads the state of the stack's own controller after each event.
pub(crate) type Witness = (SharedState, SharedRecorder);

/// The observed state of a stack's own controller.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    pub(crate) state: SharedState,
    pub(crate) exit: Option<Exit>,
    pub(crate) cwnd_max: u64,
    /// Window after the previous event.
    cwnd: u64,
    first_send: Option<Time>,
    /// Round trips completed, and the end of the current one.
    rounds: u32,
    round_ends: Option<Seq>,
    witness: Option<SharedRecorder>,
}

impl Followed {
    pub(crate) fn new(witness: Option<Witness>) -> Followed {
        let (state, witness) = witness.unzip();
        Followed { state: state.unwrap_or_default(), witness, ..Followed::default() }
    }

    /// The state that the last call left.
    fn seen(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, begin: &Begin) {
        if let Some(witness) = &self.witness {
            witness.lock().unwrap_or_else(PoisonError::into_inner).on_begin(begin);
        }
    }

    pub(crate) fn tell(&self, event: &Event, beside: &AnyController) {
        if let Some(witness) = &self.witness {
            witness.lock().unwrap_or_else(PoisonError::into_inner).on_event(event, beside);
        }
    }

    /// Takes one event; the shared state is that right after the event.
    pub(crate) fn take(&mut self, event: &Event) {
        let said = self.seen();
        let before = std::mem::replace(&mut self.cwnd, said.cwnd);
        self.cwnd_max = self.cwnd_max.max(said.cwnd);
        match event {
            Event::Sent(sent) => {
                self.first_send.get_or_insert(sent.now);
                self.round_ends.get_or_insert(sent.nxt);
            }
            Event::Ack(ack, _) => {
                if self.round_ends.is_some_and(|end| ack.una >= end) {
                    self.rounds += 1;
                    self.round_ends = Some(Seq(ack.nxt.0.max(ack.una.0 + 1)));
                }
                if self.exit.is_none() && !in_slow_start(said) {
                    let reason = match () {
                        () if ack.lost > 0 => ExitReason::Loss,
                        () if ack.ce => ExitReason::Ecn,
                        () => ExitReason::Threshold,
                    };
                    self.leave(reason, ack.now, (before, said.cwnd), ack.inflight_before);
                }
            }
            Event::Congestion(congestion) if self.exit.is_none() && !in_slow_start(said) => {
                let flight = congestion.inflight_before;
                self.leave(ExitReason::Timeout, congestion.now, (before, said.cwnd), flight);
            }
            _ => {}
        }
    }

    fn leave(&mut self, reason: ExitReason, at: Time, (before, cwnd): (u64, u64), flight: u64) {
        self.exit = Some(Exit {
            reason,
            at,
            since_first_send: self.first_send.map_or(Nanos::ZERO, |first| at.since(first)),
            rounds: self.rounds,
            detect_cwnd: before,
            cwnd,
            inflight: flight,
            estimate: None,
        });
    }

    /// Replaces the state in the record, which is that of our controller, by the state of the
    /// stack's own.
    pub(crate) fn write(&self, record: &mut Record) {
        let said = self.seen();
        let state = &mut record.state;
        (state.cwnd, state.ssthresh, state.pacing_rate) =
            (said.cwnd, said.ssthresh, said.pacing_rate);
        state.phase = if in_slow_start(said) { Phase::Startup } else { Phase::Avoidance };
        record.exit = self.exit;
        record.signals.clear();
    }
}

/// Also true for a controller without a threshold, which does not reveal its phase.
fn in_slow_start(said: State) -> bool {
    said.ssthresh.is_none_or(|ssthresh| said.cwnd < ssthresh)
}
