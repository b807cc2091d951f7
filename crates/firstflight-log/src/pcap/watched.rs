//! Checks that a watched connection gives the same results as a capture of its packets: captures of
//! real transfers are replayed packet by packet, as a program that watches the socket would report
//! them.

use super::frame::{Endpoint, Frame, frame};
use crate::fault::Fault;
use crate::input;
use crate::live::{Ended, Live, Opened, Record, What};
use crate::step::{Id, Opening, Sink, Step};
use firstflight::{Event, Nanos, Seq, Time};
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;

/// Keeps everything it receives, as text.
#[derive(Default)]
struct Kept {
    openings: Vec<String>,
    /// One list per connection.
    steps: Vec<Vec<String>>,
    closed: usize,
    abandoned: usize,
}

impl Sink for Kept {
    fn open(&mut self, opening: Opening) -> Id {
        let Opening { made, start, mss, first_flight, nxt, paced, handshake_rtt, .. } = opening;
        self.openings.push(format!(
            "{made:?} {start:?} {mss} {first_flight} {nxt:?} {paced:?} {handshake_rtt:?}"
        ));
        self.steps.push(Vec::new());
        self.steps.len() - 1
    }

    fn step(&mut self, id: Id, step: &Step) {
        self.steps[id].push(format!("{step:?}"));
    }

    fn close(&mut self, _: Id) {
        self.closed += 1;
    }

    fn abandon(&mut self, _: Id) {
        self.abandoned += 1;
    }

    fn remark(&mut self, _: Fault) {}
}

fn bytes_of(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples").join(name);
    let packed = std::fs::read(file).expect("the sample");
    let mut bytes = Vec::new();
    let mut plain = input::decompress(Cursor::new(packed)).expect("gzip");
    plain.read_to_end(&mut bytes).expect("bytes");
    bytes
}

/// The frames of a little-endian capture.
fn frames(bytes: &[u8]) -> Vec<Frame> {
    let word = |at: usize| {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes of the capture"))
    };
    let unit = match word(0) {
        0xa1b2_c3d4 => 1000,
        0xa1b2_3c4d => 1,
        other => panic!("{other:x} begins no capture"),
    };
    let (mut at, mut frames) = (24, Vec::new());
    while at < bytes.len() {
        let now = Time(u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * unit);
        let kept = word(at + 8) as usize;
        let data = &bytes[at + 16..at + 16 + kept];
        frames.extend(frame(now, word(20).cast_signed(), data, word(at + 12)));
        at += 16 + kept;
    }
    frames
}

/// The frames of each connection.
fn connections(bytes: &[u8]) -> Vec<Vec<Frame>> {
    let mut connections: Vec<Vec<Frame>> = Vec::new();
    for frame in frames(bytes) {
        let ends = [frame.from, frame.to];
        let of = connections
            .iter_mut()
            .find(|of| ends.contains(&of[0].from) && ends.contains(&of[0].to));
        match of {
            Some(of) => of.push(frame),
            None => connections.push(vec![frame]),
        }
    }
    connections
}

fn first() -> Vec<Frame> {
    connections(&bytes_of("plain.pcap.gz")).swap_remove(0)
}

/// The same frames as records: the view of a program on the socket of `server`.
fn records(frames: &[Frame], server: Endpoint) -> Vec<Record> {
    let syn = |from_server: bool| {
        let one = |frame: &&Frame| frame.segment.syn && (frame.from == server) == from_server;
        &frames.iter().find(one).expect("a SYN").segment
    };
    let (ours, theirs) = (syn(true), syn(false));
    let answers = |frame: &&Frame| {
        let Frame { from, segment, .. } = frame;
        *from != server && (segment.syn || segment.has_ack) && segment.now > ours.now
    };
    let answered = frames.iter().find(answers).expect("the handshake ends").segment.now;
    let mss = ours.mss.min(theirs.mss).expect("the option");
    let opened = Opened {
        first_seq: ours.seq.wrapping_add(1),
        mss: u32::from(mss) - 12,
        scale: ours.scale.and(theirs.scale),
        handshake: Some(answered.since(ours.now)),
    };
    let (mut whats, mut acked) = (Vec::new(), 0_u64);
    let (mut sent, mut una) = (None, opened.first_seq);
    for Frame { from, segment, .. } in frames.iter().filter(|frame| !frame.segment.syn) {
        if *from == server && segment.payload > 0 {
            if sent.is_none() {
                whats.push((segment.now, What::Opened(opened)));
            }
            let end = segment.seq.wrapping_add(segment.payload);
            sent = Some(sent.map_or(end, |known: u32| {
                if (end.wrapping_sub(known) as i32) > 0 { end } else { known }
            }));
            whats.push((segment.now, What::Sent(*segment)));
        } else if let Some(sent) = sent.filter(|_| *from != server && segment.has_ack) {
            // With nothing outstanding, only reports of duplicates are delivered.
            if una != sent || segment.sacks[0].is_some() {
                whats.push((segment.now, What::Arrived(*segment)));
            }
            una = segment.ack.min(sent);
            // A FIN counts, too; an RST may acknowledge anything.
            let out = sent.wrapping_sub(opened.first_seq);
            let number = segment.ack.wrapping_sub(opened.first_seq);
            acked = acked.max(u64::from(if number <= out + 1 { number } else { 0 }));
        }
    }
    let last = frames.last().map_or(Time(0), |frame| frame.segment.now);
    whats.push((last, What::Closed(acked)));
    let numbered = whats.into_iter().zip(0..);
    numbered.map(|((now, what), serial)| Record { connection: 5, serial, now, what }).collect()
}

fn watched(records: &[Record]) -> (Kept, Option<Ended>) {
    let (mut kept, mut live) = (Kept::default(), Live::new());
    let ended = records.iter().filter_map(|record| live.take(record, &mut kept)).last();
    assert_eq!(live.open(), 0, "it is over");
    (kept, ended)
}

fn server_of(frames: &[Frame]) -> Endpoint {
    let data = |end: Endpoint| {
        let sent = frames.iter().filter(|frame| frame.from == end);
        sent.map(|frame| u64::from(frame.segment.payload)).sum::<u64>()
    };
    let (one, other) = (frames[0].from, frames[0].to);
    if data(one) > data(other) { one } else { other }
}

#[test]
fn a_watched_connection_is_told_as_its_capture_is() {
    for name in ["plain.pcap.gz", "satellite.pcap.gz"] {
        let bytes = bytes_of(name);
        let connections = connections(&bytes);
        let mut captured = Kept::default();
        super::read(name, Box::new(Cursor::new(bytes)), &mut captured).expect("a capture");
        assert_eq!(connections.len(), captured.openings.len(), "{name}");
        for (index, frames) in connections.iter().enumerate() {
            let (kept, ended) = watched(&records(frames, server_of(frames)));
            let about = format!("{name}, connection {index}");
            assert_eq!(ended, Some(Ended { missing: 0, tail_unseen: false }), "{about}");
            assert_eq!(kept.openings[..], captured.openings[index..=index], "{about}");
            let (live, recorded) = (&kept.steps[0], &captured.steps[index]);
            assert!(live.len() > 100, "{about}: {} steps", live.len());
            let differ = live.iter().zip(recorded).position(|(a, b)| a != b);
            assert_eq!(differ, None, "{about}: the first step that differs");
            assert_eq!(live.len(), recorded.len(), "{about}");
            assert_eq!((kept.closed, kept.abandoned), (1, 0), "{about}");
        }
    }
}

#[test]
fn a_connection_that_lacks_a_record_is_given_up() {
    let frames = first();
    let whole = records(&frames, server_of(&frames));
    for lost in [0, 1, 2, whole.len() / 2, whole.len() - 2] {
        let mut some = whole.clone();
        some.remove(lost);
        let (kept, ended) = watched(&some);
        assert_eq!(ended, Some(Ended { missing: 1, tail_unseen: false }), "{lost}");
        assert_eq!(kept.closed, 0, "{lost}: nothing is guessed");
    }
    // Without the final record: watching ends, and no loss is known.
    let (mut kept, mut live) = (Kept::default(), Live::new());
    for record in &whole[..whole.len() - 1] {
        assert!(live.take(record, &mut kept).is_none());
    }
    assert_eq!((live.open(), live.end(&mut kept), kept.closed), (1, 0, 1));
}

#[test]
fn records_in_another_order_are_all_there() {
    let frames = first();
    let mut records = records(&frames, server_of(&frames));
    // Two processors, each with the next number.
    let last = records.len() - 1;
    records.swap(last / 2, last / 2 + 1);
    let (kept, ended) = watched(&records);
    assert_eq!(ended.map(|ended| ended.missing), Some(0));
    assert_eq!((kept.closed, kept.abandoned), (1, 0));
}

#[test]
fn what_was_acknowledged_and_not_seen_is_said() {
    let frames = first();
    let mut records = records(&frames, server_of(&frames));
    let last = records.len() - 1;
    let What::Closed(acked) = records[last].what else { panic!("the last is the end") };
    records[last].what = What::Closed(acked + 10_000);
    let (kept, ended) = watched(&records);
    assert_eq!(ended, Some(Ended { missing: 0, tail_unseen: true }));
    assert_eq!(kept.closed, 1);
}

#[test]
fn of_very_many_connections_whose_end_is_lost_the_silent_half_goes() {
    let (mut kept, mut live) = (Kept::default(), Live::new());
    for connection in 0..=1 << 16 {
        let what = What::Opened(Opened { mss: 1448, ..Opened::default() });
        let now = Time(u64::from(connection)) + Nanos(1);
        live.take(&Record { connection, serial: 0, now, what }, &mut kept);
    }
    assert_eq!((live.open(), live.lost_ends()), ((1 << 15) + 1, 1 << 15));
}

/// The receiver's right window edge, and how far the sender went.
#[derive(Default)]
struct Edges {
    edge: Seq,
    told: u64,
    /// Smallest number of bytes left in the receiver's window.
    least: Option<u64>,
}

impl Sink for Edges {
    fn open(&mut self, _: Opening) -> Id {
        self.edge = Seq(0);
        0
    }

    fn step(&mut self, _: Id, step: &Step) {
        match step {
            Step::ReceiverEdge(edge) => {
                assert!(*edge > self.edge, "it is told where it has moved");
                (self.edge, self.told) = (*edge, self.told + 1);
            }
            Step::Event(Event::Sent(sent), _) if self.edge > Seq(0) => {
                let room = self.edge.0.checked_sub(sent.nxt.0).expect("no TCP sends beyond it");
                self.least = Some(self.least.map_or(room, |least| least.min(room)));
            }
            _ => {}
        }
    }

    fn close(&mut self, _: Id) {}

    fn abandon(&mut self, _: Id) {}

    fn remark(&mut self, _: Fault) {}
}

/// Rewrites the receiver's windows: each ACK allows what the sender sends until the next one, plus
/// less than one unit of the scale.
fn tightened(mut bytes: Vec<u8>) -> (Vec<u8>, u64) {
    let frames = frames(&bytes);
    let (mut at, mut unit) = (24, 1);
    let mut places = Vec::new();
    while at < bytes.len() {
        places.push(at + 16);
        let kept = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().expect("four bytes"));
        at += 16 + kept as usize;
    }
    assert_eq!(places.len(), frames.len(), "every packet is a segment");
    let servers = connections(&bytes).iter().map(|of| server_of(of)).collect::<Vec<_>>();
    // For each sender: the latest ACK that it received, and how far it has gone since.
    let mut open: BTreeMap<Endpoint, (usize, u32, u32)> = BTreeMap::new();
    let mut write = |place: usize, ack: u32, nxt: u32, unit: u64| {
        let tcp = place + usize::from(bytes[place] & 15) * 4;
        // The ACK of a FIN lies beyond all data.
        let ahead = u64::from(nxt.wrapping_sub(ack).cast_signed().max(0).cast_unsigned());
        let window = ahead.div_ceil(unit).max(1);
        let window = u16::try_from(window).expect("less than the receiver offered");
        bytes[tcp + 14..tcp + 16].copy_from_slice(&window.to_be_bytes());
    };
    for (frame, place) in frames.iter().zip(places) {
        let segment = &frame.segment;
        if servers.contains(&frame.from) {
            let end = segment.seq.wrapping_add(segment.payload);
            if let Some((_, _, nxt)) = open.get_mut(&frame.from)
                && end.wrapping_sub(*nxt) < 1 << 31
            {
                *nxt = end;
            }
        } else if segment.syn {
            unit = 1 << segment.scale.expect("the option");
        } else {
            let before = open.get(&frame.to).copied();
            if let Some((place, ack, nxt)) = before {
                write(place, ack, nxt, unit);
            }
            let nxt = before.map_or(segment.ack, |(_, _, nxt)| nxt);
            open.insert(frame.to, (place, segment.ack, nxt));
        }
    }
    for (place, ack, nxt) in open.into_values() {
        write(place, ack, nxt, unit);
    }
    (bytes, unit)
}

#[test]
fn the_receivers_edge_is_exact_to_a_unit_of_its_scale() {
    for name in ["plain.pcap.gz", "satellite.pcap.gz"] {
        let recorded = bytes_of(name);
        let (tight, unit) = tightened(recorded.clone());
        let least = |bytes| {
            let mut edges = Edges::default();
            super::read(name, Box::new(Cursor::new(bytes)), &mut edges).expect("a capture");
            assert!(edges.told > 100, "{name}: {}", edges.told);
            edges.least.expect("something was sent")
        };
        let (roomy, least) = (least(recorded), least(tight));
        assert!(unit > 1 && least < unit, "{name}: {least} bytes at the least, units of {unit}");
        assert!(least < roomy, "{name}: the receiver itself left {roomy}");
    }
}
