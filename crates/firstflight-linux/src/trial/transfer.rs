//! Writing a flow's bytes into a stream and reading them from one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a write, and maximum of a read.
const CHUNK: usize = 1 << 16;

/// Writes `bytes` bytes, or until the stream is shut down.
pub(super) fn write_all(mut stream: &TcpStream, bytes: Option<u64>) {
    let chunk = vec![0; CHUNK];
    let mut left = bytes.unwrap_or(u64::MAX);
    while left > 0 {
        match stream.write(&chunk[..left.min(CHUNK as u64) as usize]) {
            Ok(0) | Err(_) => return,
            Ok(len) => left -= len as u64,
        }
    }
}

/// Interval between the reads of an application with a rate.
const PACE: Duration = Duration::from_millis(1);

/// Reads everything that arrives, at a rate (bit/s) if there is one, and counts it in `read`.
/// Returns when the last of `bytes` bytes was read, counted from `start`.
pub(super) fn read_all(
    mut from: impl Read,
    bytes: Option<u64>,
    (read, bps): (&AtomicU64, Option<u64>),
    start: Instant,
) -> Option<Duration> {
    let mut chunk = vec![0; CHUNK];
    let mut got = 0;
    let mut budget = bps.map(Budget::new);
    while got < bytes.unwrap_or(u64::MAX) {
        let room = budget.as_mut().map_or(CHUNK, Budget::room);
        match from.read(&mut chunk[..room]) {
            Ok(0) | Err(_) => return None,
            Ok(len) => {
                got += len as u64;
                if let Some(budget) = &mut budget {
                    budget.spend(len, room);
                }
            }
        }
        read.store(got, Ordering::Relaxed);
    }
    Some(start.elapsed())
}

/// Read budget of an application with a rate.
struct Budget {
    bps: u64,
    last: Instant,
    /// Bits times nanoseconds per second.
    owed: u128,
}

/// The same unit, of a byte.
const BYTE: u128 = 8_000_000_000;

impl Budget {
    fn new(bps: u64) -> Budget {
        Budget { bps, last: Instant::now(), owed: 0 }
    }

    /// Waits until at least a byte may be read. Returns how many bytes may be.
    fn room(&mut self) -> usize {
        loop {
            std::thread::sleep(PACE);
            let now = Instant::now();
            self.owed += u128::from(self.bps) * (now - self.last).as_nanos();
            self.last = now;
            if self.owed >= BYTE {
                return usize::try_from(self.owed / BYTE).unwrap_or(CHUNK).min(CHUNK);
            }
        }
    }

    /// `len` bytes of `room` were there. A read that got less has caught up, and time spent waiting
    /// for data is not saved.
    fn spend(&mut self, len: usize, room: usize) {
        if len < room {
            (self.owed, self.last) = (0, Instant::now());
        } else {
            self.owed -= len as u128 * BYTE;
        }
    }
}
