//! A synthetic transfer that can be written in every format: slow start over a link of known rate
//! and delay.
#![allow(dead_code, reason = "each test file uses its part of it")]

use firstflight::arm::Arm;
use firstflight_log::{Extent, Fault, read};
use firstflight_replay::replay::{Named, Replay, Settings};
use firstflight_replay::results::Results;
use firstflight_replay::summary::ConnectionRow;
use std::collections::BTreeSet;
use std::io::Cursor;

/// Payload of a packet as windows count it, bytes.
pub(crate) const MSS: u64 = 1200;

/// Events at the sender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Happened {
    /// Packet so-and-so left; again, if it is the number of an earlier piece.
    Sent { packet: u64, piece: u64 },
    /// An ACK: everything received so far as ranges of packet numbers, both ends included, largest
    /// first.
    Acked { ranges: Vec<(u64, u64)>, pieces: BTreeSet<u64> },
    /// Declared lost.
    Lost { packet: u64 },
}

/// A moment: nanoseconds and what happened.
pub(crate) type Moment = (u64, Happened);

/// The link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Bits per second, of wire bytes.
    pub rate: u64,
    /// Round trip without serialization, ns.
    pub rtt: u64,
    /// Packets that may wait.
    pub queue: u64,
    /// Bytes of a packet on the wire.
    pub wire: u64,
}

impl Link {
    /// 20 Mbit/s, 50 ms.
    pub(crate) const USUAL: Link =
        Link { rate: 20_000_000, rtt: 50_000_000, queue: 200, wire: MSS + 28 };

    fn serial(&self) -> u64 {
        self.wire * 8_000_000_000 / self.rate
    }
}

/// Ranges of a set, largest first.
fn ranges(set: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in set.iter().rev() {
        match ranges.last_mut() {
            Some(range) if range.0 == number + 1 => range.0 = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// A download of `pieces` pieces from a window of ten packets on, doubling until a loss, then cut
/// by half and standing.
pub(crate) fn transfer(link: Link, pieces: u64) -> Vec<Moment> {
    let mut moments = Vec::new();
    let (mut window, mut growing) = (10_u64, true);
    let (mut next_packet, mut next_piece) = (0, 0);
    let mut again: Vec<u64> = Vec::new();
    let mut out: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::default();
    let (mut received, mut got) = (BTreeSet::new(), BTreeSet::new());
    // Arrivals of ACKs at the sender: time, packet.
    let mut coming: std::collections::VecDeque<(u64, u64, u64)> =
        std::collections::VecDeque::default();
    let (mut free, mut now) = (0_u64, 1_000_000_000_u64);
    let start = now;
    loop {
        while (out.len() as u64) < window && (next_piece < pieces || !again.is_empty()) {
            let piece = again.pop().unwrap_or_else(|| {
                next_piece += 1;
                next_piece - 1
            });
            moments.push((now, Happened::Sent { packet: next_packet, piece }));
            out.insert(next_packet, piece);
            let waiting = free.saturating_sub(now) / link.serial();
            if waiting < link.queue {
                free = free.max(now) + link.serial();
                coming.push_back((free + link.rtt, next_packet, piece));
            }
            next_packet += 1;
        }
        let Some((at, packet, piece)) = coming.pop_front() else { break };
        now = at;
        received.insert(packet);
        got.insert(piece);
        out.remove(&packet);
        // The receiver acknowledges every second packet, the first ones singly.
        if !received.len().is_multiple_of(2) && received.len() > 10 && !coming.is_empty() {
            continue;
        }
        // As receivers do: only the latest ranges.
        let ranges = ranges(&received).into_iter().take(8).collect();
        moments.push((now, Happened::Acked { ranges, pieces: got.clone() }));
        if growing {
            window += 2;
        }
        let lost: Vec<u64> =
            out.range(..packet.saturating_sub(3)).map(|(packet, _)| *packet).collect();
        for packet in lost {
            moments.push((now, Happened::Lost { packet }));
            again.extend(out.remove(&packet));
            if growing {
                (growing, window) = (false, window / 2);
            }
        }
        assert!(now - start < 600_000_000_000, "the transfer ends");
    }
    moments
}

/// Replays bytes as a file of that name.
pub(crate) fn replayed(file: &str, bytes: impl Into<Vec<u8>>) -> (Result<Extent, Fault>, Replay) {
    let arms = ["slowstart", "hystart++", "search", "best-published"];
    let arms = arms
        .map(|name| Named { label: name.into(), arm: Arm::parse(name).expect("an arm") })
        .to_vec();
    let mut replay = Replay::new(Settings { arms, entries: true, ..Settings::default() });
    let bytes =
        firstflight_log::input::decompress(Cursor::new(bytes.into())).expect("bytes in memory");
    let extent = read::from(file, bytes, &mut replay);
    (extent, replay)
}

/// The rows of a file that must be whole.
#[track_caller]
pub(crate) fn rows(file: &str, bytes: impl Into<Vec<u8>>) -> Vec<ConnectionRow> {
    let (extent, replay) = replayed(file, bytes);
    if let Err(fault) = extent {
        panic!("{file} is refused: {fault}");
    }
    assert_eq!(replay.remarks, [], "{file} is whole");
    Results::new(replay, Vec::new()).connections
}

/// The one row of a file.
#[track_caller]
pub(crate) fn row(file: &str, bytes: impl Into<Vec<u8>>) -> ConnectionRow {
    let mut rows = rows(file, bytes);
    assert_eq!(rows.len(), 1, "{file} holds one connection");
    rows.remove(0)
}

/// Rate and round trip of the link are found again within five percent.
#[track_caller]
pub(crate) fn shows(row: &ConnectionRow, link: Link) {
    let (rate, rtt) = (row.best_rate_wire_mbps.expect("a rate"), row.min_rtt_ms.expect("an RTT"));
    let (true_rate, true_rtt) = (link.rate as f64 / 1e6, (link.rtt + link.serial()) as f64 / 1e6);
    assert!(
        (rate / true_rate - 1.0).abs() < 0.05,
        "{}: {rate} Mbit/s and not {true_rate}",
        row.name
    );
    assert!((rtt / true_rtt - 1.0).abs() < 0.05, "{}: {rtt} ms and not {true_rtt}", row.name);
}
