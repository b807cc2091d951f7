//! One set of connections, captured in several places and ways, gets one recommendation or a refusal.
#![cfg(feature = "replay")]

use crate::command::run_in;
use firstflight_log::input::decompress;
use std::collections::HashMap;
use std::fs;
use std::io::{Cursor, Read};

/// A packet: when it passed the sender, ns; its header of the file's; itself.
type Packet = (i64, Vec<u8>, Vec<u8>);

const SENDER: [u8; 4] = [10, 77, 0, 1];
const FILE_HEADER: usize = 24;
const HEADER: usize = 16;

/// The port of the sender, which tells connections apart.
fn port(packet: &[u8]) -> u16 {
    let at = if packet[12..16] == SENDER { 20 } else { 22 };
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// The sample's packets, in the order of the file.
fn packets(file: &[u8]) -> Vec<Packet> {
    let mut rest = &file[FILE_HEADER..];
    let mut all = Vec::new();
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four"));
        let (seconds, micros, length) = (word(0), word(4), word(8) as usize);
        let now = i64::from(seconds) * 1_000_000_000 + i64::from(micros) * 1000;
        all.push((now, rest[8..HEADER].to_vec(), rest[HEADER..HEADER + length].to_vec()));
        rest = &rest[HEADER + length..];
    }
    all
}

fn file(header: &[u8], packets: &[Packet]) -> Vec<u8> {
    let mut bytes = header.to_vec();
    for (now, lengths, packet) in packets {
        bytes.extend(((now / 1_000_000_000) as u32).to_le_bytes());
        bytes.extend(((now % 1_000_000_000 / 1000) as u32).to_le_bytes());
        bytes.extend(lengths);
        bytes.extend(packet);
    }
    bytes
}

/// As captured this part of the way to the receiver.
fn along(packets: &[Packet], part: f64) -> Vec<Packet> {
    let (mut asked, mut rtt) = (HashMap::new(), HashMap::new());
    for (now, _, packet) in packets.iter().filter(|(.., packet)| packet[33] & 2 != 0) {
        let begun = *asked.entry(port(packet)).or_insert(*now);
        rtt.insert(port(packet), now - begun);
    }
    let mut all = packets.to_vec();
    for (now, _, packet) in &mut all {
        let way = (rtt[&port(packet)] as f64 * part / 2.0) as i64;
        *now += if packet[12..16] == SENDER { way } else { -way };
    }
    all.sort_by_key(|(now, ..)| *now);
    all
}

#[test]
fn one_set_of_connections_gets_one_recommendation_wherever_it_was_captured() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples/plain.pcap.gz");
    let mut whole = Vec::new();
    let packed = Cursor::new(fs::read(sample).expect("the sample"));
    decompress(packed).expect("gzip").read_to_end(&mut whole).expect("gzip");
    let (header, sent) = (&whole[..FILE_HEADER], packets(&whole));
    let later = |packet: &Packet| (packet.0 + 2000, packet.1.clone(), packet.2.clone());
    let mut doubled: Vec<Packet> = sent.iter().flat_map(|one| [one.clone(), later(one)]).collect();
    doubled.sort_by_key(|(now, ..)| *now);
    let mut shuffled = sent.clone();
    shuffled.chunks_exact_mut(7).for_each(|some| some.swap(2, 3));

    let folder = tempfile::tempdir().expect("a folder");
    let advised = |packets: &[Packet]| {
        fs::write(folder.path().join("one.pcap"), file(header, packets)).expect("written");
        run_in(&folder, &["advise", "one.pcap", "--flows", "400", "--json", "-"])
    };
    let finding = |packets: &[Packet]| {
        let answer = advised(packets).json();
        answer["advice"]["finding"].as_str().expect("a sentence").to_owned()
    };
    let plain = finding(&sent);
    assert_eq!(finding(&doubled), plain, "each packet captured twice");
    assert_eq!(finding(&shuffled), plain, "out of order in the file");
    for (part, place) in [(0.5, "in the middle"), (0.995, "at the receiver")] {
        advised(&along(&sent, part)).refuses(place, place);
    }
}
