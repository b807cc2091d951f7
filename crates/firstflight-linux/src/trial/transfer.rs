//! The bytes of a flow into a stream and out of one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a write, and at most of a read.
const CHUNK: usize = 1 << 16;

/// Writes so many, or until it is ended.
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

/// Reads all that comes, counted in `read`; returns when the last of so many bytes did, since
/// `start`.
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
