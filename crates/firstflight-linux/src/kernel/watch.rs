//! Watches the TCP connections of a control group: records of their packets, and a row for each
//! finished connection (`bpf/watch.bpf.c`). It changes nothing and leaves nothing behind: the
//! programs are links of this process.

use super::cgroup;
use super::closed::Closed;
use super::features::Basis;
use super::field::words_of;
use super::hearing::hearing;
use super::members::Members;
use super::ring::Records;
use firstflight::{Nanos, Time};
use firstflight_log::Segment;
use firstflight_log::live::{Opened, Record, What};
use firstflight_path::Error;
use firstflight_trial::assign::Key;
use firstflight_trial::row::Row;
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder};
use std::path::Path;
use std::thread;
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watch.bpf.o"));
/// A TCP header without its ports, in `struct seen`.
const MOST_HEADER: usize = 56;
const PORTS: usize = 4;

/// Selects the connections, and holds the key for the pseudonyms of clients. Connections are drawn
/// with the kernel's own random numbers: a client cannot choose to be watched.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions {
    /// Number of connections in 2^32 that are watched.
    pub of_2_32: u64,
    /// Watches only connections with this port at either end.
    pub port: Option<u16>,
    /// Key that hashes the networks of clients; it never leaves the memory.
    pub pseudonyms: Key,
}

/// One record.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Input for [`firstflight_log::live::Live`].
    pub record: Record,
    /// The connection's controller, in its first record.
    pub controller: Option<String>,
    /// Row of the connection, in its last record, without the arm.
    pub row: Option<Box<Row>>,
}

/// Counters of the programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchCounts {
    /// Connections drawn to be watched.
    pub watched: u64,
    /// Connections not drawn.
    pub others: u64,
    /// Connections drawn but not watched for lack of room for their state.
    pub failed: u64,
    /// Records dropped for lack of room in the ring buffer.
    pub dropped: u64,
}

/// Watches connections until it is dropped.
#[derive(Debug)]
pub struct Watch {
    _links: Vec<Link>,
    object: Object,
    records: Records<Heard>,
}

impl Watch {
    /// Starts with the connections that processes of this control group and its descendants
    /// establish from now on.
    ///
    /// # Errors
    /// A one-line message: a folder that is not a control group, or a refusal of the kernel.
    pub fn start(folder: &Path, options: &WatchOptions) -> Result<Watch, Error> {
        // The kernel refuses any missing feature in the same words.
        Basis::detect()?;
        cgroup::open(folder)?;
        let object = hearing(|| {
            let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
            cgroup::configure(&mut open, "watch", &settings(options));
            open.load()
        });
        let object = object.map_err(|heard| heard.refusal("watching connections"))?;
        let ring = object.maps().find(|map| map.name() == "records");
        let ring = ring.ok_or_else(|| Error::new("the object has no ring buffer"))?;
        let records = Records::of(&ring, parse)?;
        // The program that draws connections is attached last, when packets are already observed.
        let links = cgroup::attach(&object, folder, &["leaves", "arrives", "connection"])?;
        Ok(Watch { _links: links, object, records })
    }

    /// Waits for `wait` and passes the records to `each`. Programs wake no reader: that would cost
    /// more than a record.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn take(&self, wait: Duration, each: impl FnMut(Heard)) -> Result<(), Error> {
        thread::sleep(wait);
        self.records.take(Duration::ZERO, each)
    }

    /// Counters up to now.
    ///
    /// # Errors
    /// If the counters cannot be read.
    pub fn counts(&self) -> Result<WatchCounts, Error> {
        let counters = cgroup::counters(&self.object)?;
        let at = |index: usize| counters.get(index).copied().unwrap_or(0);
        Ok(WatchCounts { watched: at(0), others: at(1), failed: at(2), dropped: at(3) })
    }
}

/// `struct watch`.
fn settings(options: &WatchOptions) -> Vec<u8> {
    let words = words_of(options.pseudonyms).into_iter().chain([options.of_2_32]);
    let mut bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
    bytes.extend(u32::from(options.port.unwrap_or(0)).to_ne_bytes());
    bytes
}

/// Parses any record: its head, and a body of the type that the two highest bits of its number
/// select.
fn parse(bytes: &[u8]) -> Option<Heard> {
    let (head, rest) = bytes.split_at_checked(16)?;
    let mut head = Members(head);
    let [connection, number] = [(); 2].map(|()| head.u32());
    let now = Time(head.u64());
    let (mut controller, mut row) = (None, None);
    let what = match number >> 30 {
        0 => {
            let (opened, name) = opened(rest)?;
            controller = Some(name);
            What::Opened(opened)
        }
        1 => What::Sent(segment(now, rest)?),
        2 => What::Arrived(segment(now, rest)?),
        _ => {
            let closed = Closed::parse(rest)?;
            let connection = Some(u64::from(connection));
            row = Some(Box::new(Row { connection, ..closed.row() }));
            What::Closed(closed.acked())
        }
    };
    let record = Record { connection, serial: number & 0x3fff_ffff, now, what };
    Some(Heard { record, controller, row })
}

fn opened(bytes: &[u8]) -> Option<(Opened, String)> {
    let mut members = Members(bytes.get(..32)?);
    let [first_seq, mss, handshake] = [(); 3].map(|()| members.u32());
    let [scale, has_scale, _, _] = members.take();
    let name: [u8; 16] = members.take();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let opened = Opened {
        first_seq,
        mss,
        scale: (has_scale != 0).then_some(scale),
        // `None` if the handshake's packets were retransmitted: its round trip is then unknown.
        handshake: (handshake > 0).then(|| Nanos::from_micros(u64::from(handshake))),
    };
    Some((opened, String::from_utf8_lossy(name).into_owned()))
}

fn segment(now: Time, bytes: &[u8]) -> Option<Segment> {
    let mut members = Members(bytes.get(..8)?);
    let length = members.u32();
    let [ip_header, kept] = [(); 2].map(|()| members.u16());
    let mut header = [0; PORTS + MOST_HEADER];
    let kept = bytes.get(8..8 + usize::from(kept).min(MOST_HEADER))?;
    header[PORTS..][..kept.len()].copy_from_slice(kept);
    Segment::parse(now, u32::from(ip_header), length, &header[..PORTS + kept.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP header of 32 bytes without its ports: an ACK with a timestamp.
    fn header() -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(7_u32.to_be_bytes());
        bytes.extend(9_u32.to_be_bytes());
        bytes.extend([0x80, 0x10, 1, 2, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        bytes
    }

    fn seen(kind: u32, header: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(3_u32.to_ne_bytes());
        bytes.extend((kind << 30 | 4).to_ne_bytes());
        bytes.extend(1000_u64.to_ne_bytes());
        bytes.extend(152_u32.to_ne_bytes());
        bytes.extend(20_u16.to_ne_bytes());
        bytes.extend((header.len() as u16).to_ne_bytes());
        bytes.extend(header);
        bytes.resize(80, 0);
        bytes
    }

    #[test]
    fn a_record_is_the_header_that_went_by() {
        let heard = parse(&seen(2, &header())).expect("a record");
        assert_eq!((heard.record.connection, heard.record.serial), (3, 4));
        let What::Arrived(segment) = heard.record.what else { panic!("{:?}", heard.record.what) };
        assert_eq!((segment.seq, segment.ack, segment.window), (7, 9, 0x0102));
        assert_eq!((segment.payload, segment.headers), (152 - 52, 52));
        assert_eq!(segment.stamps, Some((5, 6)));
        assert!(segment.has_ack && !segment.syn && !segment.fin);
    }

    #[test]
    fn records_that_are_cut_or_broken_are_left_out() {
        let whole = seen(1, &header());
        for length in 0..24 + 16 {
            let kept = whole.get(..length).expect("shorter");
            assert!(parse(kept).is_none(), "{length} bytes");
        }
        let mut broken = whole;
        broken[24 + 8] = 0x10; // A header of 4 bytes.
        assert!(parse(&broken).is_none());
    }
}
