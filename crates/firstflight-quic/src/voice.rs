//! What a controller that is not ours says of itself.
//!
//! A stack's own controller can run beside one of ours: it alone steers the connection, and ours
//! hears the same calls. A recorder then gets every [`Event`](firstflight::Event) as of a
//! controller of ours, and reads here what the stack's own made of it.

use std::sync::atomic::{AtomicU64, Ordering};

/// What no value stands for.
const NONE: u64 = u64::MAX;

/// A controller's window, as it can be seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; `None` while never set, and of a controller that has none.
    pub ssthresh: Option<u64>,
    /// Pacing rate that it asks its stack for, bytes per second.
    pub pacing_rate: Option<u64>,
}

/// Where a controller that is not ours leaves its window after every call, for a recorder in the
/// same thread or in another.
#[derive(Debug)]
pub struct Voice {
    cwnd: AtomicU64,
    ssthresh: AtomicU64,
    pacing_rate: AtomicU64,
}

impl Default for Voice {
    fn default() -> Voice {
        Voice {
            cwnd: AtomicU64::new(0),
            ssthresh: AtomicU64::new(NONE),
            pacing_rate: AtomicU64::new(NONE),
        }
    }
}

impl Voice {
    /// What was said last; a window of 0 before anything was said.
    pub fn last(&self) -> Said {
        let read =
            |value: &AtomicU64| Some(value.load(Ordering::Relaxed)).filter(|value| *value != NONE);
        Said {
            cwnd: self.cwnd.load(Ordering::Relaxed),
            ssthresh: read(&self.ssthresh),
            pacing_rate: read(&self.pacing_rate),
        }
    }

    /// The controller is now like this.
    pub fn say(&self, said: Said) {
        self.cwnd.store(said.cwnd, Ordering::Relaxed);
        self.ssthresh.store(said.ssthresh.unwrap_or(NONE), Ordering::Relaxed);
        self.pacing_rate.store(said.pacing_rate.unwrap_or(NONE), Ordering::Relaxed);
    }
}
