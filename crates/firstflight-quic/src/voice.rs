//! What a controller that is not ours says of itself.
//!
//! A stack's own controller can run beside one of ours: it alone steers the connection, and ours
//! hears the same calls. A recorder then gets every [`Event`](firstflight::Event) as of a
//! controller of ours, and reads here what the stack's own made of it.

use firstflight::State;
use std::sync::atomic::{AtomicU64, Ordering};

/// What no value stands for.
const NONE: u64 = u64::MAX;

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
    /// What was said last, as far as it can be seen from outside: the window (0 before anything was
    /// said), the threshold (`None` while never set, and of a controller that has none) and the
    /// pacing rate that it asks its stack for.
    pub fn last(&self) -> State {
        let read =
            |value: &AtomicU64| Some(value.load(Ordering::Relaxed)).filter(|value| *value != NONE);
        State {
            cwnd: self.cwnd.load(Ordering::Relaxed),
            ssthresh: read(&self.ssthresh),
            pacing_rate: read(&self.pacing_rate),
            ..State::default()
        }
    }

    /// The controller is now like this: its window and threshold in bytes, its pacing rate in bytes
    /// per second.
    pub fn say(&self, cwnd: u64, ssthresh: Option<u64>, pacing_rate: Option<u64>) {
        self.cwnd.store(cwnd, Ordering::Relaxed);
        self.ssthresh.store(ssthresh.unwrap_or(NONE), Ordering::Relaxed);
        self.pacing_rate.store(pacing_rate.unwrap_or(NONE), Ordering::Relaxed);
    }
}
