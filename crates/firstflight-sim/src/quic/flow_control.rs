//! Flow control at the receiver: how many chunks of the object the sender may send (RFC 9000
//! section 4), and when it learns of more.
//!
//! The limit follows what the application has read, a window ahead of it. A new limit leaves when
//! it is half a window above the old one, which is when half of the window has been read. A window
//! that tunes itself doubles if that took less than four round trips times the part of the window
//! that was read, as in quic-go and Chromium; it starts at 512 KiB as in quic-go. Departures: D1
//! each ACK repeats the current limit, where stacks retransmit a lost MAX_DATA frame. D2 the
//! receiver knows the idle RTT of the path.

use crate::reader::{Again, Reader};
use firstflight::{Nanos, Time};

/// Flow control of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receive {
    /// Window at the start, bytes of the object.
    pub window: u64,
    /// Largest window, bytes; the window grows up to it.
    pub most: u64,
    /// Rate at which the application reads, bit/s; `None` reads at once.
    pub read_bps: Option<u64>,
    /// Round trip of the path, ns.
    pub rtt: u64,
}

/// quic-go's initial window of a stream.
const INITIAL: u64 = 512 << 10;

impl Receive {
    /// A window of `bytes` that never changes.
    pub const fn fixed(bytes: u64, read_bps: Option<u64>, rtt: u64) -> Receive {
        Receive { window: bytes, most: bytes, read_bps, rtt }
    }

    /// A window that tunes itself, up to `most` bytes.
    pub const fn tuned(most: u64, read_bps: Option<u64>, rtt: u64) -> Receive {
        Receive { window: if most < INITIAL { most } else { INITIAL }, most, read_bps, rtt }
    }

    /// The limit at the start, bytes.
    pub const fn initial(&self) -> u64 {
        self.window
    }
}

/// The state of a receiver's flow control.
#[derive(Clone, Debug)]
pub(super) struct FlowControl {
    reader: Reader,
    window: u64,
    most: u64,
    /// The limit last sent to the sender, bytes.
    limit: u64,
    /// Object bytes per chunk.
    payload: u64,
    rtt: Nanos,
    /// Start of the measured epoch: its time and its first byte.
    since: Time,
    from: u64,
    update_at: Option<Time>,
    again: Again,
}

impl FlowControl {
    pub(super) fn new(receive: &Receive, payload: u64) -> FlowControl {
        let &Receive { window, most, read_bps, rtt } = receive;
        FlowControl {
            reader: Reader::new(read_bps),
            window,
            most,
            limit: window,
            payload,
            rtt: Nanos(rtt),
            since: Time(0),
            from: 0,
            update_at: None,
            again: Again::after(rtt),
        }
    }

    /// When a new limit must leave without an ACK.
    pub(super) fn update_at(&self) -> Option<Time> {
        self.update_at
    }

    /// The limit in chunks.
    pub(super) fn chunks(&self) -> u32 {
        (self.limit / self.payload) as u32
    }

    /// A packet is about to arrive at `now`; everything below `arrived` did so before.
    pub(super) fn before_arrival(&mut self, now: Time, arrived: u64) {
        self.reader.read(now, arrived);
        self.again.reset();
    }

    /// Whether a new limit is due at `now`, with everything below `arrived` there; takes it.
    pub(super) fn update(&mut self, now: Time, arrived: u64) -> bool {
        let read = self.reader.read(now, arrived);
        let again = self.update_at.is_some_and(|at| at <= now);
        let due = read + self.window - self.limit >= self.window.div_ceil(2);
        if due {
            self.tune(now, read);
            self.limit = read + self.window;
        }
        let target = self.limit - self.window / 2;
        self.update_at = if target <= arrived && target > read {
            Some(self.reader.when(target).max(now + Nanos(1)))
        } else if again {
            // Nothing else may tell the sender: what it sent is acknowledged.
            Some(self.again.next(now))
        } else {
            None
        };
        due || again
    }

    /// Doubles a window of which `read - from` bytes were read too fast.
    fn tune(&mut self, now: Time, read: u64) {
        let part = u128::from(read - self.from);
        let patience = 4 * part * u128::from(self.rtt.0) / u128::from(self.window.max(1));
        if u128::from(now.since(self.since).0) < patience {
            self.window = self.window.saturating_mul(2).min(self.most.max(self.window));
        }
        (self.since, self.from) = (now, read);
    }
}
