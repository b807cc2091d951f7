//! Connections of our testbeds as a third party would have recorded them, without our own events.

use crate::captures::{CLIENT_ISN, Ip, PLAIN, SERVER_ISN, Tcp, pcap, plain, stamps, tcp};
use firstflight::{Ack, Event};
use firstflight_lab::compare::{Keep, Watch};
use firstflight_lab::{Plan, Scenario, Testbed, hosts_of_tcp, parse_arms};
use firstflight_log::trace::qlog::{End, write_sequence};
use firstflight_log::trace::{Log, What};
use firstflight_path::Path;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Which transport, and with it which kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// QUIC, as qlog with nothing in it but packets.
    Qlog,
    /// TCP, as a capture of headers.
    Pcap,
}

/// The logs of all these arms on a path.
pub(super) fn logs(
    testbed: &'static dyn Testbed,
    kind: Kind,
    arms: &str,
    (path, bytes): (&str, u64),
    seed: u64,
) -> Vec<Log> {
    let scenario = Scenario::new(Path::parse(path).expect("a path"), bytes);
    let scenario = match kind {
        Kind::Qlog => scenario,
        Kind::Pcap => Scenario { host: hosts_of_tcp("rack").expect("a preset"), ..scenario },
    };
    let traces: Mutex<Vec<(usize, Log)>> = Mutex::default();
    let take = |arm, trace| {
        traces.lock().expect("no panic").push((arm, trace));
        Ok(())
    };
    let arms = parse_arms(arms).expect("arms");
    let plan = Plan { testbed, seed, ..Plan::new(arms, scenario) };
    plan.run_with(Keep::Rows, Some(&take), &Watch::default()).expect("a comparison");
    let mut traces = traces.into_inner().expect("no panic");
    traces.sort_by_key(|(arm, _)| *arm);
    traces.into_iter().map(|(_, trace)| trace).collect()
}

/// The log as a file of somebody who never heard of us.
pub(super) fn file(kind: Kind, log: &Log) -> Vec<u8> {
    match kind {
        Kind::Qlog => foreign_qlog(log),
        Kind::Pcap => pcap(PLAIN, &packets(log), plain),
    }
}

/// Events of any QUIC stack: packets that left, came and were lost. No window, no parameter.
fn foreign_qlog(log: &Log) -> Vec<u8> {
    let mut all = Vec::new();
    write_sequence(log, End::Sender, &mut all).expect("memory");
    let text = String::from_utf8(all).expect("JSON");
    let kept = |line: &&str| {
        let events = ["packet_sent", "packet_received", "packet_lost"];
        line.contains("\"qlog_version\"")
            || events.iter().any(|event| line.contains(&format!("\"transport:{event}\"")))
            || line.contains("\"recovery:packet_lost\"")
    };
    text.split_inclusive('\n').filter(kept).collect::<String>().into_bytes()
}

/// Sequence number of a byte.
fn seq(offset: u64) -> u32 {
    SERVER_ISN.wrapping_add(1).wrapping_add(offset as u32)
}

/// A sender whose application gives it a packet of 1448 bytes every so often, ns.
pub(super) fn steady(every: u64, rtt: u64, count: u64) -> Vec<u8> {
    let mut packets = greeting(rtt);
    for number in 0..count {
        let now = BEGIN + number * every;
        packets.push((now, data(number * 1448, 1448, now)));
        let una = firstflight::Seq((number + 1) * 1448);
        let ack = Ack { una, ..Ack::blank(firstflight::Time(now + rtt)) };
        packets.push((now + rtt, answer(&ack, &BTreeSet::new(), now + rtt)));
    }
    packets.sort_by_key(|(now, _)| *now);
    let packets: Vec<_> =
        packets.into_iter().map(|(now, packet)| (now, tcp(Ip::V4, &packet))).collect();
    pcap(PLAIN, &packets, plain)
}

/// When the first data leaves.
const BEGIN: u64 = 1_000_000_000;

/// The handshake, and a request.
fn greeting(rtt: u64) -> Vec<(u64, Tcp)> {
    let sack = [vec![2, 4, 5, 0xb4, 3, 3, 14, 4, 2], stamps(1, 0)].concat();
    let blank =
        Tcp { from_server: false, seq: CLIENT_ISN, ack: 0, flags: 2, payload: 0, options: sack };
    let greeting = Tcp {
        from_server: true,
        seq: SERVER_ISN,
        ack: CLIENT_ISN + 1,
        flags: 0x12,
        ..clone(&blank)
    };
    let request = Tcp {
        seq: CLIENT_ISN + 1,
        ack: seq(0),
        flags: 0x10,
        payload: 1,
        options: stamps(2, 1),
        ..clone(&blank)
    };
    vec![(BEGIN - rtt - 2000, blank), (BEGIN - rtt - 1000, greeting), (BEGIN - 1000, request)]
}

/// The packets of a TCP connection as they pass the sender's interface.
fn packets(log: &Log) -> Vec<(u64, Vec<u8>)> {
    let mut packets = greeting(log.start().map_or(50_000_000, |start| start.rtt.0));
    // Pieces by the ordinal of their transmission, and what the receiver has.
    let mut pieces: Vec<(u64, u64)> = vec![(0, 0)];
    let mut received: BTreeSet<(u64, u64)> = BTreeSet::new();
    let zero = log.entries.first().map_or(0, |entry| entry.now.0);
    for entry in &log.entries {
        let now = BEGIN + entry.now.0 - zero;
        let What::Event { event, packet, acked, .. } = &entry.what else { continue };
        match event {
            Event::Sent(_) => {
                let packet = packet.expect("a packet");
                let (offset, len) = packet.stream.expect("its place in the stream");
                let number = packet.number as usize;
                pieces.resize(pieces.len().max(number + 1), (0, 0));
                pieces[number] = (offset, len);
                packets.push((now, data(offset, len, now)));
            }
            Event::Ack(ack, so_far) if !so_far.is_timer(ack) => {
                for number in acked.iter().flat_map(|(from, to)| *from..=*to) {
                    received.extend(pieces.get(number as usize));
                }
                received.retain(|(offset, len)| offset + len > ack.una.0);
                packets.push((now, answer(ack, &received, now)));
            }
            _ => {}
        }
    }
    packets.into_iter().map(|(now, packet)| (now, tcp(Ip::V4, &packet))).collect()
}

fn clone(packet: &Tcp) -> Tcp {
    Tcp { options: packet.options.clone(), ..*packet }
}

fn data(offset: u64, len: u64, now: u64) -> Tcp {
    Tcp {
        from_server: true,
        seq: seq(offset),
        ack: CLIENT_ISN + 2,
        flags: 0x10,
        payload: len,
        options: stamps(now / 1_000_000, 1),
    }
}

fn answer(ack: &Ack, received: &BTreeSet<(u64, u64)>, now: u64) -> Tcp {
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for &(offset, len) in received {
        match blocks.last_mut() {
            Some(block) if offset <= block.1 => block.1 = block.1.max(offset + len),
            _ => blocks.push((offset, offset + len)),
        }
    }
    let mut options = stamps(now / 1_000_000, 0);
    let blocks: Vec<_> = blocks.into_iter().rev().take(3).collect();
    if !blocks.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (left, right) in blocks {
            options.extend(seq(left).to_be_bytes());
            options.extend(seq(right).to_be_bytes());
        }
    }
    Tcp {
        from_server: false,
        seq: CLIENT_ISN + 2,
        ack: seq(ack.una.0),
        flags: 0x10,
        payload: 0,
        options,
    }
}
