//! Connections of a running TCP stack, record by record as somebody who watches its sockets tells
//! them: the same books as of a capture ([`crate::pcap`]), so what is said of a watched connection
//! is what is said of its packets.
//!
//! Nothing here knows how the stack is watched. Records of a connection carry a number; one that is
//! missing at the end marks the connection, which is then given up and not guessed.

use crate::fault::{Fault, Place};
use crate::segment::Segment;
use crate::sender::Sender;
use crate::step::Sink;
use firstflight::{Nanos, Time};
use firstflight_table::guard::{Broken, guarded};
use std::collections::HashMap;

/// Connections that are followed at the same time. Beyond, the half that has been silent longest is
/// given up: their ends were lost.
const MOST_CONNECTIONS: usize = 1 << 16;
const ORIGIN: &str = "live TCP";
/// What stands in the place of a file in remarks.
const NAME: &str = "live";
/// SYN and FIN count as a byte each in what a stack says it was acknowledged.
const FLAGS: u64 = 2;

/// One thing that happened in a connection.
#[derive(Clone, Debug)]
pub struct Record {
    /// Which connection: any number, of one connection at a time.
    pub connection: u32,
    /// Records of this connection before this one.
    pub serial: u32,
    /// When, on any clock that does not jump.
    pub now: Time,
    /// What.
    pub what: What,
}

/// Event of a connection.
#[derive(Clone, Debug)]
pub enum What {
    /// Before the first data.
    Opened(Opened),
    /// A segment left, retransmitted ones included.
    Sent(Segment),
    /// A segment arrived, before TCP looked at it.
    Arrived(Segment),
    /// The connection is over; bytes that were acknowledged as the stack counts them.
    Closed(u64),
}

/// Initial values of an established connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Sequence number of the first byte of data.
    pub first_seq: u32,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// Bits by which windows are scaled that the peer announces; none without the option.
    pub scale: Option<u8>,
    /// RTT sample of the handshake.
    pub handshake: Option<Nanos>,
}

/// Outcome of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Records that are missing: what was told of it is given up.
    pub missing: u32,
    /// Acknowledgements of data were not seen, though no record is missing.
    pub tail_unseen: bool,
}

/// The connections that are watched.
#[derive(Default)]
pub struct Live {
    connections: HashMap<u32, Connection>,
    /// Records of connections whose first one was lost, which tell nothing.
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
        // Numbers begin at 0, and two processors may tell theirs in either order.
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
    /// Nothing is watched yet.
    pub fn new() -> Live {
        Live::default()
    }

    /// One record. What became of the connection, if it was its last. An internal error costs the
    /// connection: it is forgotten, and the first error at a place is a remark to the sink.
    pub fn take(&mut self, record: &Record, sink: &mut impl Sink) -> Option<Ended> {
        match guarded(|| self.take_one(record, sink)) {
            Ok(ended) => ended,
            Err(broken) => {
                self.forget(record.connection, &broken, sink);
                None
            }
        }
    }

    /// Connections that were given up for an internal error.
    pub fn broken(&self) -> u64 {
        self.broken.values().sum()
    }

    fn forget(&mut self, connection: u32, broken: &Broken, sink: &mut impl Sink) {
        if let Some(mut old) = self.connections.remove(&connection) {
            old.sender.abandon(sink);
        }
        let count = self.broken.entry(broken.place().to_owned()).or_default();
        *count += 1;
        // A peer may cause the same one any number of times.
        if *count == 1 {
            let what = format!("a connection was given up: {broken}");
            sink.remark(Fault::new(NAME, Place::File, what));
        }
    }

    fn take_one(&mut self, record: &Record, sink: &mut impl Sink) -> Option<Ended> {
        if let What::Opened(opened) = record.what {
            self.make_room(sink);
            let old = self.connections.insert(record.connection, opening(record, &opened));
            // Numbers come again only after a wrap: then the end of the old one was lost.
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

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.connections.len()
    }

    /// Connections that were given up since their end was never told.
    pub fn lost_ends(&self) -> u64 {
        self.lost_ends
    }

    /// Nobody watches any longer: what is open ends here. Returns how many of them lack records.
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
