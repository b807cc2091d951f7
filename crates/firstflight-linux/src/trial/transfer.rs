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

/// Reads everything that arrives and counts it in `read`. Returns when the last of `bytes` bytes
/// arrived, counted from `start`.
pub(super) fn read_all(
    mut from: impl Read,
    bytes: Option<u64>,
    read: &AtomicU64,
    start: Instant,
) -> Option<Duration> {
    let mut chunk = vec![0; CHUNK];
    let mut got = 0;
    while got < bytes.unwrap_or(u64::MAX) {
        match from.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(len) => got += len as u64,
        }
        read.store(got, Ordering::Relaxed);
    }
    Some(start.elapsed())
}
