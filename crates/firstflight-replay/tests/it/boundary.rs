//! An internal error costs one connection or one file, whether it occurs in a reader or in a sink.

use firstflight_log::live::{Live, Opened, Record, What};
use firstflight_log::{Extent, Fault, Id, Opening, Segment, Sink, Step, read};
use std::collections::BTreeSet;
use std::io::Cursor;

/// Listens, and fails in one connection at this call of a kind.
#[derive(Default)]
struct Fails {
    /// Part of the name of the connection.
    whose: &'static str,
    at_step: usize,
    at_close: bool,
    names: Vec<String>,
    steps: Vec<usize>,
    closed: BTreeSet<Id>,
    abandoned: BTreeSet<Id>,
    remarks: Vec<String>,
}

impl Fails {
    fn is_it(&self, id: Id) -> bool {
        self.names[id].contains(self.whose)
    }
}

impl Sink for Fails {
    fn open(&mut self, opening: Opening) -> Id {
        self.names.push(opening.name);
        self.steps.push(0);
        self.names.len() - 1
    }

    fn step(&mut self, id: Id, _: &Step) {
        self.steps[id] += 1;
        assert!(self.steps[id] != self.at_step || !self.is_it(id), "injected");
    }

    fn close(&mut self, id: Id) {
        assert!(!self.at_close || !self.is_it(id), "injected");
        self.closed.insert(id);
    }

    fn abandon(&mut self, id: Id) {
        self.abandoned.insert(id);
    }

    fn remark(&mut self, fault: Fault) {
        self.remarks.push(fault.to_string());
    }
}

/// TCP segments as a pcap of raw IPv4.
#[derive(Default)]
struct Capture {
    packets: Vec<(u64, Vec<u8>)>,
}

const SERVER: u8 = 1;
const CLIENT: u8 = 2;
const MSS: u32 = 1000;

impl Capture {
    fn packet(
        &mut self,
        at_us: u64,
        from: u8,
        port: u16,
        (seq, ack): (u32, u32),
        flags: u8,
        len: u32,
    ) {
        let (source, target) = if from == SERVER { (80, port) } else { (port, 80) };
        let syn = flags & 2 != 0;
        let options: &[u8] = if syn { &[2, 4, 3, 232, 4, 2, 1, 1] } else { &[] };
        let mut tcp = Vec::new();
        tcp.extend(u16::to_be_bytes(source));
        tcp.extend(u16::to_be_bytes(target));
        tcp.extend(seq.to_be_bytes());
        tcp.extend(ack.to_be_bytes());
        tcp.extend([((20 + options.len()) as u8) << 2, flags, 255, 255, 0, 0, 0, 0]);
        tcp.extend(options);
        tcp.resize(tcp.len() + len as usize, b'x');
        let mut ip = vec![0x45, 0];
        ip.extend(((20 + tcp.len()) as u16).to_be_bytes());
        ip.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, SERVER + CLIENT - from]);
        self.packets.push((at_us, [ip, tcp].concat()));
    }

    /// A download of 40 packets, two at a time, an RTT of 20 ms apart.
    fn download(&mut self, start: u64, port: u16) {
        self.packet(start, CLIENT, port, (0, 0), 2, 0);
        self.packet(start + 10, SERVER, port, (0, 1), 18, 0);
        self.packet(start + 20_000, CLIENT, port, (1, 1), 16, 0);
        self.packet(start + 20_010, CLIENT, port, (1, 1), 24, 3);
        for pair in 0..20 {
            let at = start + 20_100 + 20_000 * u64::from(pair);
            let seq = 1 + 2 * pair * MSS;
            self.packet(at, SERVER, port, (seq, 4), 16, MSS);
            self.packet(at + 10, SERVER, port, (seq + MSS, 4), 16, MSS);
            self.packet(at + 19_000, CLIENT, port, (4, seq + 2 * MSS), 16, 0);
        }
        let at = start + 500_000;
        self.packet(at, SERVER, port, (1 + 40 * MSS, 4), 17, 0);
        self.packet(at + 20_000, CLIENT, port, (4, 2 + 40 * MSS), 17, 0);
    }

    fn pcap(mut self) -> Vec<u8> {
        self.packets.sort_by_key(|(at, _)| *at);
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65535, 101] {
            file.extend(word.to_le_bytes());
        }
        for (at, packet) in self.packets {
            let lengths = [packet.len() as u32; 2];
            let words =
                [(at / 1_000_000) as u32, (at % 1_000_000) as u32].into_iter().chain(lengths);
            words.for_each(|word| file.extend(word.to_le_bytes()));
            file.extend(packet);
        }
        file
    }
}

fn three() -> Vec<u8> {
    let mut capture = Capture::default();
    for (start, port) in [(0, 5001), (3_000, 5002), (250_000, 5003)] {
        capture.download(start, port);
    }
    capture.pcap()
}

#[test]
fn an_error_in_one_connection_of_a_capture_keeps_the_others() {
    let mut steps = 0;
    for (at_step, at_close) in [(1, false), (7, false), (0, true)] {
        let mut sink = Fails { whose: ":5002", at_step, at_close, ..Fails::default() };
        let extent: Extent = read::from("a.pcap", Box::new(Cursor::new(three())), &mut sink)
            .expect("the others can be read");
        assert_eq!(sink.names.len(), 3, "{:?}", sink.names);
        let bad = sink.names.iter().position(|name| name.contains(":5002")).expect("it opened");
        let others: BTreeSet<Id> = (0..3).filter(|id| *id != bad).collect();
        assert_eq!((&sink.closed, &sink.abandoned), (&others, &BTreeSet::from([bad])));
        assert_eq!(extent.connections, 2);
        let [remark] = &sink.remarks[..] else { panic!("one remark: {:?}", sink.remarks) };
        assert!(
            remark.starts_with("a.pcap: 1 connection was given up: internal error at "),
            "{remark}"
        );
        assert!(remark.contains("boundary.rs:") && remark.ends_with("/issues"), "{remark}");
        // Whatever happened in the one, the others are told the same.
        let sum: usize = others.iter().map(|id| sink.steps[*id]).sum();
        assert!(steps == 0 || steps == sum, "{steps} {sum}");
        steps = sum;
    }
}

#[test]
fn an_error_in_every_connection_is_one_remark_with_their_number() {
    let mut sink = Fails { whose: "", at_step: 3, ..Fails::default() };
    let read = read::from("a.pcap", Box::new(Cursor::new(three())), &mut sink);
    let remark = read.expect_err("nothing is left of the file").to_string();
    assert_eq!((sink.abandoned.len(), sink.closed.len()), (3, 0));
    assert!(sink.remarks.is_empty(), "once: {:?}", sink.remarks);
    assert!(remark.starts_with("a.pcap: 3 connections were given up: "), "{remark}");
}

/// A peer sends whatever it likes: no record ends who watches, and the memory of it is bounded.
#[test]
fn an_error_in_a_watched_connection_costs_that_connection() {
    let mut live = Live::new();
    let mut sink = Fails { whose: "connection 7", at_step: 2, ..Fails::default() };
    let segment = |seq: u32, ack: u32, payload: u32| {
        let mut header = vec![0, 80, 0, 81];
        header.extend(seq.to_be_bytes());
        header.extend(ack.to_be_bytes());
        header.extend([0x50, 16, 255, 255, 0, 0, 0, 0]);
        Segment::parse(firstflight::Time(0), 20, 40 + payload, &header).expect("a header")
    };
    for round in 0..30_u32 {
        for connection in [7, 8] {
            let now = firstflight::Time(1_000_000 * u64::from(round + 1));
            let at = |mut segment: Segment| {
                segment.now = now;
                segment
            };
            let what = [
                What::Opened(Opened { first_seq: 1, mss: MSS, ..Opened::default() }),
                What::Sent(at(segment(1 + round * MSS, 1, MSS))),
                What::Arrived(at(segment(1, 1 + (round + 1) * MSS, 0))),
            ];
            let skip = usize::from(round > 0);
            for (place, what) in what.into_iter().enumerate().skip(skip) {
                let serial = if round == 0 { place as u32 } else { 2 * round + place as u32 };
                live.take(&Record { connection, serial, now, what }, &mut sink);
            }
        }
    }
    let what = What::Closed(u64::from(30 * MSS));
    let over = Record { connection: 8, serial: 61, now: firstflight::Time(99_000_000), what };
    let ended = live.take(&over, &mut sink).expect("it is over");
    assert_eq!((ended.missing, ended.tail_unseen), (0, false));
    assert_eq!((live.broken(), live.open()), (1, 0));
    assert_eq!(sink.remarks.len(), 1, "{:?}", sink.remarks);
    assert!(sink.remarks[0].starts_with("live: a connection was given up: internal error at "));
    let whole = sink.names.iter().position(|name| name == "connection 8").expect("it opened");
    assert!(sink.closed.contains(&whole) && sink.abandoned.len() == 1);
}
