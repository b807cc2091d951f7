//! Writes the log of one connection while the connection runs.

use super::{Entry, Log, Packet, Ranges, Received, Start, State, What, ranges, signals_row};
use firstflight::{Begin, Event, Exit, Time};
use std::collections::VecDeque;

/// A log under construction.
#[derive(Clone, Debug, Default)]
pub struct LogWriter {
    trace: Log,
    /// Values known before the controller is created.
    start: Start,
    exit: Option<Exit>,
    /// Packets that the receiver has not acknowledged yet, in order of arrival.
    arriving: VecDeque<(Time, u64)>,
}

impl LogWriter {
    /// Creates an empty log; `start` has the values known before a controller is created.
    pub fn new(start: Start) -> LogWriter {
        LogWriter { start, ..LogWriter::default() }
    }

    /// Records that a controller was created at `now`; `start` completes the values of its start
    /// entry.
    pub fn begin(&mut self, now: Time, start: impl FnOnce(&mut Start)) {
        let mut own = self.start.clone();
        start(&mut own);
        self.exit = None;
        self.push(now, What::Start(Box::new(own)), None, Vec::new());
    }

    /// Like [`LogWriter::begin`], for one of our controllers, on whose clock the trial began at
    /// `started`.
    pub fn begin_with(&mut self, begin: &Begin, started: Time) {
        self.begin(begin.now, |start| {
            (start.config, start.nxt, start.oracle_exit_bytes, start.start) =
                (Some(begin.config), begin.nxt.0, begin.oracle_exit, started);
        });
    }

    /// Records a sent packet: when the packet and its duplicate will arrive, or `None` for each
    /// copy that does not arrive.
    pub fn departs(&mut self, packet: &Packet, arrives: [Option<Time>; 2]) {
        let &Packet { number, bytes, stream, .. } = packet;
        for at in arrives.into_iter().flatten() {
            self.receives(at, Received::Data { number, bytes, stream });
        }
    }

    /// Records an event, and the exit if the event changed it.
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
        // Losses and RTT samples belong to the previous event and are not repeated.
        let state = State { lost: 0, rtt: None, ..state };
        match (before, exit) {
            (_, Some(exit)) if before != Some(exit) => {
                self.push(now, What::Exit(exit), Some(state), Vec::new());
            }
            (Some(_), None) => self.push(now, What::ExitWithdrawn, Some(state), Vec::new()),
            _ => {}
        }
    }

    /// Inserts an exit that was reported later at its place in time.
    pub fn insert_exit(&mut self, exit: Exit, state: State) {
        let place = self.trace.entries.partition_point(|entry| entry.now <= exit.at);
        let state = State { lost: 0, rtt: None, ..state };
        self.trace.entries.insert(
            place,
            Entry { now: exit.at, what: What::Exit(exit), state: Some(state), signals: Vec::new() },
        );
    }

    /// Adds an entry unchanged.
    pub fn push(&mut self, now: Time, what: What, state: Option<State>, signals: Vec<Option<u64>>) {
        self.trace.entries.push(Entry { now, what, state, signals });
    }

    /// Records an event at the receiver at time `at`; calls may come in any order.
    pub fn receives(&mut self, at: Time, what: Received) {
        if let Received::Data { number, .. } = what {
            // Links deliver in order unless the path reorders, so the search starts from the end.
            let place = self
                .arriving
                .iter()
                .rposition(|before| before.0 <= at)
                .map_or(0, |before| before + 1);
            self.arriving.insert(place, (at, number));
        }
        self.trace.receiver.push((at, what));
    }

    /// Records an ACK of everything that has arrived.
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

    /// Returns the log in order of time.
    #[must_use]
    pub fn finish(mut self) -> Log {
        // Events at the same time keep the order in which they were recorded: a packet is recorded
        // when it is sent, before its ACK.
        self.trace.receiver.sort_by_key(|(at, _)| *at);
        let last = self.trace.entries.last().map_or(Time(0), |entry| entry.now);
        // Packets that had not arrived when the trial ended never did.
        self.trace.receiver.retain(|(at, _)| *at <= last);
        self.trace
    }
}
