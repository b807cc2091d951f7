//! Writes the log of one connection while it runs.

use super::{Entry, Log, Packet, Ranges, Received, Start, State, What, ranges, signals_row};
use firstflight::{Begin, Event, Exit, Time};
use std::collections::VecDeque;

/// A log that grows.
#[derive(Clone, Debug, Default)]
pub struct LogWriter {
    trace: Log,
    /// All that is known before the controller is built.
    start: Start,
    exit: Option<Exit>,
    /// What the receiver has not acknowledged yet, in the order of arrival.
    arriving: VecDeque<(Time, u64)>,
}

impl LogWriter {
    /// Nothing has happened yet; `start` is what is known before a controller is built.
    pub fn new(start: Start) -> LogWriter {
        LogWriter { start, ..LogWriter::default() }
    }

    /// A controller was built, at `now` and from this.
    pub fn begin(&mut self, now: Time, start: impl FnOnce(&mut Start)) {
        let mut own = self.start.clone();
        start(&mut own);
        self.exit = None;
        self.push(now, What::Start(Box::new(own)), None, Vec::new());
    }

    /// The same for a controller of ours, on whose clock the trial began at `started`.
    pub fn begin_with(&mut self, begin: &Begin, started: Time) {
        self.begin(begin.now, |start| {
            (start.config, start.nxt, start.oracle_exit_bytes, start.start) =
                (Some(begin.config), begin.nxt.0, begin.oracle_exit, started);
        });
    }

    /// A packet left that will arrive, and its duplicate, at these times; none if the path drops it.
    pub fn departs(&mut self, packet: &Packet, arrives: [Option<Time>; 2]) {
        let &Packet { number, bytes, stream, .. } = packet;
        for at in arrives.into_iter().flatten() {
            self.receives(at, Received::Data { number, bytes, stream });
        }
    }

    /// One event, and the exit if that is what it changed.
    pub fn note(
        &mut self,
        event: Event,
        packet: Option<Packet>,
        (acked, lost): (Ranges, Ranges),
        (state, exit): (State, Option<Exit>),
        signals: &[(&'static str, u64)],
    ) {
        let now = event.now();
        let values = signals_row(&mut self.trace.names, |visit| {
            for &(name, value) in signals {
                visit(name, value);
            }
        });
        self.push(now, What::Event { event, packet, acked, lost }, Some(state), values);
        self.note_exit(now, exit, state);
    }

    /// Records a possible exit of the startup.
    pub fn note_exit(&mut self, now: Time, exit: Option<Exit>, state: State) {
        let before = std::mem::replace(&mut self.exit, exit);
        // What the event before it lost and sampled is not lost and sampled again.
        let state = State { lost: 0, rtt: None, ..state };
        match (before, exit) {
            (_, Some(exit)) if before != Some(exit) => {
                self.push(now, What::Exit(exit), Some(state), Vec::new());
            }
            (Some(_), None) => self.push(now, What::ExitWithdrawn, Some(state), Vec::new()),
            _ => {}
        }
    }

    /// An exit that was heard of afterwards, put where it belongs.
    pub fn insert_exit(&mut self, exit: Exit, state: State) {
        let place = self.trace.entries.partition_point(|entry| entry.now <= exit.at);
        let state = State { lost: 0, rtt: None, ..state };
        self.trace.entries.insert(
            place,
            Entry { now: exit.at, what: What::Exit(exit), state: Some(state), signals: Vec::new() },
        );
    }

    /// One entry as it is.
    pub fn push(&mut self, now: Time, what: What, state: Option<State>, signals: Vec<Option<u64>>) {
        self.trace.entries.push(Entry { now, what, state, signals });
    }

    /// The receiver sees something at `at`, in any order.
    pub fn receives(&mut self, at: Time, what: Received) {
        if let Received::Data { number, .. } = what {
            // Links deliver in order unless the path reorders: look from the end.
            let place = self
                .arriving
                .iter()
                .rposition(|before| before.0 <= at)
                .map_or(0, |before| before + 1);
            self.arriving.insert(place, (at, number));
        }
        self.trace.receiver.push((at, what));
    }

    /// The receiver acknowledges everything that has arrived.
    pub fn acknowledges(&mut self, now: Time, bytes: u64) {
        let mut packets = Vec::new();
        while let Some((_, number)) = self.arriving.front().copied().filter(|(at, _)| *at <= now) {
            self.arriving.pop_front();
            packets.push(number);
        }
        self.trace
            .receiver
            .push((now, Received::Acknowledged { bytes, packets: ranges(&packets) }));
    }

    /// The log, in order.
    #[must_use]
    pub fn finish(mut self) -> Log {
        // What was seen at one instant stays in the order in which it was noted: a packet is noted
        // as it leaves, before what answers it.
        self.trace.receiver.sort_by_key(|(at, _)| *at);
        let last = self.trace.entries.last().map_or(Time(0), |entry| entry.now);
        // What had not arrived when the trial ended never did.
        self.trace.receiver.retain(|(at, _)| *at <= last);
        self.trace
    }
}
