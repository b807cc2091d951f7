//! Connections of a running TCP stack, received record by record from a program that watches its
//! sockets. The same bookkeeping as for a capture ([`crate::pcap`]) is used, so a watched
//! connection gives the same results as a capture of its packets.
//!
//! This module does not depend on how the stack is watched. The records of a connection are
//! numbered; if one is missing at the end, the connection is marked and given up.

use crate::fault::{Fault, Place};
use crate::segment::Segment;
use crate::sender::Sender;
use crate::step::Sink;
use firstflight::{Nanos, Time};
use firstflight_table::guard::{Broken, guarded};
use std::collections::HashMap;

/// Maximum number of connections followed at the same time. Above it, the half that has been silent
/// longest is given up, because their end was lost.
const MOST_CONNECTIONS: usize = 1 << 16;
const ORIGIN: &str = "live TCP";
/// Stands for the file name in remarks.
const NAME: &str = "live";
/// SYN and FIN count as one byte each in the stack's number of acknowledged bytes.
const FLAGS: u64 = 2;

/// One event of a connection.
#[derive(Clone, Debug)]
pub struct Record {
    /// Connection number, unique among open connections.
    pub connection: u32,
    /// Number of earlier records of this connection.
    pub serial: u32,
    /// Time of the event, on any clock that does not jump.
    pub now: Time,
    /// The event.
    pub what: What,
}

/// Event of a connection.
#[derive(Clone, Debug)]
pub enum What {
    /// The connection is established, before the first data.
    Opened(Opened),
    /// A segment was sent, retransmissions included.
    Sent(Segment),
    /// A segment arrived; recorded before TCP processed it.
    Arrived(Segment),
    /// The connection is closed; the acknowledged bytes as the stack counts them.
    Closed(u64),
}

/// Initial values of an established connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Sequence number of the first byte of data.
    pub first_seq: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Window scale that the peer announces, in bits; `None` without the option.
    pub scale: Option<u8>,
    /// RTT sample of the handshake.
    pub handshake: Option<Nanos>,
}

/// Outcome of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Number of missing records; if any, the connection was given up.
    pub missing: u32,
    /// Some acknowledgements of data were not seen, although no record is missing.
    pub tail_unseen: bool,
}

/// The watched connections.
#[derive(Default)]
pub struct Live {
    connections: HashMap<u32, Connection>,
    /// Number of records of each connection whose first record was lost; they cannot be used.
    headless: HashMap<u32, u32>,
    lost_ends: u64,
    broken: HashMap<String, u64>,
}

struct Connection {
    sender: Sender,
    received: u32,
    highest: u32,
    last: Time,
}

impl Connection {
    fn missing(&self) -> u32 {
        // Serial numbers start at 0, and two processors may deliver theirs in either order.
        self.highest.saturating_add(1).saturating_sub(self.received)
    }

    fn end(&mut self, sink: &mut impl Sink) -> u32 {
        let missing = self.missing();
        if missing > 0 {
            self.sender.abandon(sink);
        } else {
            self.sender.close(sink);
        }
        missing
    }
}

impl Live {
    /// Creates a tracker without connections.
    pub fn new() -> Live {
        Live::default()
    }

    /// Takes one record; returns the outcome of the connection if it was its last record. After an
    /// internal error the connection is forgotten; the first error at each place in the code is
    /// reported to the sink.
    pub fn take(&mut self, record: &Record, sink: &mut impl Sink) -> Option<Ended> {
        match guarded(|| self.take_one(record, sink)) {
            Ok(ended) => ended,
            Err(broken) => {
                self.forget(record.connection, &broken, sink);
                None
            }
        }
    }

    /// Connections that were given up because of an internal error.
    pub fn broken(&self) -> u64 {
        self.broken.values().sum()
    }

    fn forget(&mut self, connection: u32, broken: &Broken, sink: &mut impl Sink) {
        if let Some(mut old) = self.connections.remove(&connection) {
            old.sender.abandon(sink);
        }
        let count = self.broken.entry(broken.place().to_owned()).or_default();
        *count += 1;
        // A peer may trigger the same error any number of times.
        if *count == 1 {
            let what = format!("a connection was given up: {broken}");
            sink.remark(Fault::new(NAME, Place::File, what));
        }
    }

    fn take_one(&mut self, record: &Record, sink: &mut impl Sink) -> Option<Ended> {
        if let What::Opened(opened) = record.what {
            self.make_room(sink);
            let old = self.connections.insert(record.connection, opening(record, &opened));
            // A number is reused only after a wrap, so the end of the old connection was lost.
            if let Some(old) = old {
                self.give_up(old, sink);
            }
            return None;
        }
        let Some(connection) = self.connections.get_mut(&record.connection) else {
            return self.take_headless(record);
        };
        connection.received = connection.received.saturating_add(1);
        connection.highest = connection.highest.max(record.serial);
        connection.last = record.now;
        match &record.what {
            What::Sent(segment) => {
                connection.sender.learn(segment);
                connection.sender.on_sent(segment, sink);
            }
            What::Arrived(segment) if segment.has_ack => connection.sender.on_ack(segment, sink),
            What::Closed(acked) => {
                let unseen = *acked > connection.sender.delivered().saturating_add(FLAGS);
                let missing = connection.end(sink);
                self.connections.remove(&record.connection);
                return Some(Ended { missing, tail_unseen: unseen && missing == 0 });
            }
            What::Arrived(_) | What::Opened(_) => {}
        }
        None
    }

    /// A record of a connection whose first one was lost.
    fn take_headless(&mut self, record: &Record) -> Option<Ended> {
        if !matches!(record.what, What::Closed(_)) {
            if self.headless.len() >= MOST_CONNECTIONS {
                self.headless.clear();
            }
            *self.headless.entry(record.connection).or_default() += 1;
            return None;
        }
        let received = self.headless.remove(&record.connection).unwrap_or(0);
        let missing = record.serial.saturating_sub(received).max(1);
        Some(Ended { missing, tail_unseen: false })
    }

    /// Number of open connections.
    pub fn open(&self) -> usize {
        self.connections.len()
    }

    /// Number of connections that were given up because their end was never reported.
    pub fn lost_ends(&self) -> u64 {
        self.lost_ends
    }

    /// Stops watching: closes the open connections and returns how many of them lack records.
    pub fn end(&mut self, sink: &mut impl Sink) -> u64 {
        let mut left: Vec<_> = self.connections.drain().collect();
        left.sort_by_key(|(number, _)| *number);
        let mut lacking = 0;
        for (number, mut open) in left {
            match guarded(|| open.end(sink)) {
                Ok(missing) => lacking += u64::from(missing > 0),
                Err(broken) => self.forget(number, &broken, sink),
            }
        }
        lacking
    }

    fn make_room(&mut self, sink: &mut impl Sink) {
        if self.connections.len() < MOST_CONNECTIONS {
            return;
        }
        let mut times: Vec<(Time, u32)> =
            self.connections.iter().map(|(number, known)| (known.last, *number)).collect();
        let half = times.len() / 2;
        times.select_nth_unstable(half);
        for (_, number) in &times[..half] {
            if let Some(old) = self.connections.remove(number) {
                self.give_up(old, sink);
            }
        }
    }

    fn give_up(&mut self, mut old: Connection, sink: &mut impl Sink) {
        self.lost_ends += 1;
        old.sender.abandon(sink);
    }
}

fn opening(record: &Record, opened: &Opened) -> Connection {
    let mut sender = Sender::new(format!("connection {}", record.connection), ORIGIN);
    sender.established(opened.first_seq, u64::from(opened.mss), opened.scale);
    if let Some(rtt) = opened.handshake {
        sender.handshake(rtt);
    }
    Connection { sender, received: 1, highest: record.serial, last: record.now }
}
