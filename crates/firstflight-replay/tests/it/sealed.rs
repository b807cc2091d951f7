//! QUIC in captures: a transfer that is encrypted here, packet by packet, and decrypted with its
//! key log gives the same results as its qlog.

use crate::dialects::{gist, quiche};
use crate::model::{Happened, Link, MSS, Moment, transfer};
use firstflight::arm::Arm;
use firstflight_log::quic::KeyLog;
use firstflight_replay::replay::{Named, Replay, Settings};
use firstflight_replay::results::Results;
use firstflight_replay::summary::ConnectionRow;
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey, quic};
use ring::hkdf::{self, KeyType, Prk, Salt};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Cursor;

/// Properties of a connection.
#[derive(Clone, Copy, Debug)]
struct Style {
    two: bool,
    suite: u16,
    /// Bytes of the IDs of client and server.
    ids: [usize; 2],
    /// Packets of one moment in one piece, as before the network card cuts them up.
    at_once: bool,
    /// Keys are updated, and the client takes another ID.
    changes: bool,
    /// The second bit of packets is random (RFC 9287).
    greases: bool,
}

#[derive(Clone, Copy)]
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

fn fill(prk: &Prk, label: &str, length: usize) -> Vec<u8> {
    let name = [b"tls13 ", label.as_bytes()].concat();
    let mut out = vec![0; length];
    prk.expand(&[&[0, length as u8, name.len() as u8], &name, &[0]], Bytes(length))
        .and_then(|okm| okm.fill(&mut out))
        .expect("bytes");
    out
}

/// One direction of one kind of packets.
struct Seal {
    hash: hkdf::Algorithm,
    suite: u16,
    two: bool,
    secret: Vec<u8>,
    header: quic::HeaderProtectionKey,
    phase: bool,
    greases: bool,
}

impl Seal {
    fn new(style: Style, suite: u16, secret: &[u8]) -> Seal {
        let hash = if suite == 0x1302 { hkdf::HKDF_SHA384 } else { hkdf::HKDF_SHA256 };
        let algorithm = match suite {
            0x1301 => &quic::AES_128,
            0x1302 => &quic::AES_256,
            _ => &quic::CHACHA20,
        };
        let label = if style.two { "quicv2 hp" } else { "quic hp" };
        let prk = Prk::new_less_safe(hash, secret);
        let header =
            quic::HeaderProtectionKey::new(algorithm, &fill(&prk, label, algorithm.key_len()))
                .expect("a key");
        let secret = secret.to_vec();
        let (two, greases) = (style.two, style.greases);
        Seal { hash, suite, two, secret, header, phase: false, greases }
    }

    fn update(&mut self) {
        let prk = Prk::new_less_safe(self.hash, &self.secret);
        let label = if self.two { "quicv2 ku" } else { "quic ku" };
        self.secret = fill(&prk, label, self.secret.len());
        self.phase = !self.phase;
    }

    /// A packet: its header as far as the number, which takes four bytes.
    fn packet(&self, mut header: Vec<u8>, number: u64, frames: &[u8]) -> Vec<u8> {
        let (key, iv) =
            if self.two { ("quicv2 key", "quicv2 iv") } else { ("quic key", "quic iv") };
        let prk = Prk::new_less_safe(self.hash, &self.secret);
        let algorithm = match self.suite {
            0x1301 => &aead::AES_128_GCM,
            0x1302 => &aead::AES_256_GCM,
            _ => &aead::CHACHA20_POLY1305,
        };
        let key = fill(&prk, key, algorithm.key_len());
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &key).expect("a key"));
        let mut nonce: [u8; 12] = fill(&prk, iv, 12).try_into().expect("12 bytes");
        nonce.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(byte, part)| *byte ^= part);
        header[0] |= 3;
        if header[0] & 0x80 == 0 && self.phase {
            header[0] |= 4;
        }
        if self.greases && number % 3 == 1 {
            header[0] &= !0x40;
        }
        let at = header.len();
        header.extend((number as u32).to_be_bytes());
        let mut sealed = frames.to_vec();
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(&header),
            &mut sealed,
        )
        .expect("it seals");
        header.extend(sealed);
        let mask = self.header.new_mask(&header[at + 4..at + 20]).expect("a mask");
        header[0] ^= mask[0] & if header[0] & 0x80 == 0 { 0x1f } else { 0x0f };
        header[at..at + 4].iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        header
    }

    /// A packet with a long header; `kind` as version 1 counts.
    fn long(&self, kind: u8, to: &[u8], from: &[u8], number: u64, frames: &[u8]) -> Vec<u8> {
        let bits = if self.two { (kind + 1) & 3 } else { kind };
        let version: u32 = if self.two { 0x6b33_43cf } else { 1 };
        let mut header = vec![0xc0 | bits << 4];
        header.extend(version.to_be_bytes());
        for id in [to, from] {
            header.push(id.len() as u8);
            header.extend(id);
        }
        if kind == 0 {
            header.push(0);
        }
        let length = (4 + frames.len() + 16) as u16;
        header.extend((0x4000 | length).to_be_bytes());
        self.packet(header, number, frames)
    }

    fn short(&self, to: &[u8], number: u64, frames: &[u8]) -> Vec<u8> {
        let mut header = vec![0x40];
        header.extend(to);
        self.packet(header, number, frames)
    }
}

fn varint(value: u64) -> Vec<u8> {
    (value | 0xc000_0000_0000_0000).to_be_bytes().to_vec()
}

fn ack(ranges: &[(u64, u64)]) -> Vec<u8> {
    let (low, high) = ranges[0];
    let mut frame = vec![2];
    for value in [high, 0, ranges.len() as u64 - 1, high - low] {
        frame.extend(varint(value));
    }
    for pair in ranges.windows(2) {
        frame.extend(varint(pair[0].0 - pair[1].1 - 2));
        frame.extend(varint(pair[1].1 - pair[1].0));
    }
    frame
}

fn crypto(data: &[u8]) -> Vec<u8> {
    [vec![6, 0], varint(data.len() as u64), data.to_vec()].concat()
}

/// The same moments with the losses that a sender of RFC 9002 declares.
fn with_losses(moments: &[Moment]) -> Vec<Moment> {
    let (mut out, mut all) = (BTreeSet::new(), Vec::new());
    for (now, happened) in moments {
        match happened {
            Happened::Sent { packet, .. } => {
                out.insert(*packet);
            }
            Happened::Acked { ranges, .. } => {
                out.retain(|packet| {
                    !ranges.iter().any(|(low, high)| (low..=high).contains(&packet))
                });
            }
            Happened::Lost { .. } => continue,
        }
        all.push((*now, happened.clone()));
        if let Happened::Acked { ranges, .. } = happened {
            let largest = ranges[0].1;
            for packet in
                out.iter().copied().filter(|packet| packet + 3 <= largest).collect::<Vec<_>>()
            {
                out.remove(&packet);
                all.push((*now, Happened::Lost { packet }));
            }
        }
    }
    all
}

/// Secrets of client and server, for handshake and data, and their key log.
fn secrets(suite: u16, random: &[u8]) -> (Vec<Vec<u8>>, String) {
    let length = if suite == 0x1302 { 48 } else { 32 };
    let secrets: Vec<Vec<u8>> = (1..=4).map(|byte| vec![byte; length]).collect();
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    let mut keylog = "# secrets\n".to_owned();
    for (label, secret) in [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ]
    .iter()
    .zip(&secrets)
    {
        let _ = writeln!(keylog, "{label} {} {}", hex(random), hex(secret));
    }
    (secrets, keylog)
}

/// The capture at the server, and the key log.
fn sealed(moments: &[Moment], style: Style) -> (Vec<u8>, String) {
    let random = [0x5a; 32];
    let (secrets, keylog) = secrets(style.suite, &random);
    let seals: Vec<Seal> =
        secrets.iter().map(|secret| Seal::new(style, style.suite, secret)).collect();
    let [client_handshake, server_handshake, mut client_data, mut server_data] =
        <[Seal; 4]>::try_from(seals).unwrap_or_else(|_| panic!("four"));
    let first_id = [9; 8];
    let salt: &[u8] = if style.two {
        b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9"
    } else {
        b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"
    };
    let common = Salt::new(hkdf::HKDF_SHA256, salt).extract(&first_id);
    let [client_initial, server_initial] =
        ["client in", "server in"].map(|label| Seal::new(style, 0x1301, &fill(&common, label, 32)));
    let mut client_id = vec![0xc1; style.ids[0]];
    let server_id = vec![0x51; style.ids[1]];
    let hello = [&[1, 0, 1, 0, 3, 3][..], &random, &[0; 220]].concat();
    let answer =
        [&[2, 0, 0, 80, 3, 3][..], &[0x77; 32], &[0], &style.suite.to_be_bytes(), &[0; 40]]
            .concat();
    // Time, from the server, payload.
    let mut datagrams: Vec<(u64, bool, Vec<u8>)> = Vec::new();
    let start = moments[0].0;
    let (early, late) = hello.split_at(100);
    // The second half of the hello comes first, as some clients send it.
    let second = [vec![6], varint(100), varint(late.len() as u64), late.to_vec()].concat();
    let frames = [second, crypto(early), vec![0; 800]].concat();
    datagrams.push((
        start - 51_000_000,
        false,
        client_initial.long(0, &first_id, &client_id, 0, &frames),
    ));
    // Two packets in one datagram.
    let coalesced = [
        server_initial.long(0, &client_id, &server_id, 0, &crypto(&answer)),
        server_handshake.long(2, &client_id, &server_id, 0, &crypto(&[8; 300])),
    ]
    .concat();
    datagrams.push((start - 50_900_000, true, coalesced));
    datagrams.push((
        start - 1_000_000,
        false,
        client_handshake.long(2, &server_id, &client_id, 0, &crypto(&[20; 36])),
    ));
    let mut received = 0;
    for (now, happened) in moments {
        match happened {
            Happened::Sent { packet, .. } => {
                if style.changes && *packet == 400 {
                    server_data.update();
                }
                let data = MSS as usize - 1 - client_id.len() - 4 - 16 - 2;
                let frames = [&[0x08, 0][..], &vec![7; data]].concat();
                let packet = server_data.short(&client_id, *packet, &frames);
                match datagrams.last_mut() {
                    Some((at, true, pieces))
                        if style.at_once && at == now && pieces.len() < 60_000 =>
                    {
                        pieces.extend(packet);
                    }
                    _ => datagrams.push((*now, true, packet)),
                }
            }
            Happened::Acked { ranges, .. } => {
                let mut frames = ack(ranges);
                if style.changes && received == 120 {
                    client_data.update();
                }
                if style.changes && received == 100 && !client_id.is_empty() {
                    client_id = vec![0xc2; style.ids[0]];
                    frames.extend([0x18, 1, 0, client_id.len() as u8]);
                    frames.extend(&client_id);
                    frames.extend([0; 16]);
                }
                datagrams.push((*now, false, client_data.short(&server_id, received, &frames)));
                received += 1;
            }
            Happened::Lost { .. } => {}
        }
    }
    (pcap(datagrams), keylog)
}

/// Datagrams as raw IP, with timestamps in ns: time, whether the server sent it, payload.
fn pcap(datagrams: Vec<(u64, bool, Vec<u8>)>) -> Vec<u8> {
    let mut pcap = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002_u32, 0, 0, 262_144, 101] {
        pcap.extend(word.to_le_bytes());
    }
    for (now, from_server, payload) in datagrams {
        let mut ends = [([192, 0, 2, 1], 443_u16), ([198, 51, 100, 2], 40_000)];
        if !from_server {
            ends.reverse();
        }
        let udp = 8 + payload.len() as u16;
        let mut packet = vec![0x45, 0];
        packet.extend((udp + 20).to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        packet.extend(ends[0].0);
        packet.extend(ends[1].0);
        packet.extend(ends[0].1.to_be_bytes());
        packet.extend(ends[1].1.to_be_bytes());
        packet.extend(udp.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        for word in [(now / 1_000_000_000) as u32, (now % 1_000_000_000) as u32] {
            pcap.extend(word.to_le_bytes());
        }
        pcap.extend((packet.len() as u32).to_le_bytes());
        pcap.extend((packet.len() as u32).to_le_bytes());
        pcap.extend(packet);
    }
    pcap
}

fn replayed(bytes: Vec<u8>, keylog: &str) -> Result<(Vec<ConnectionRow>, String), String> {
    let arms = ["slowstart", "hystart++", "search", "best-published"];
    let arms =
        arms.map(|name| Named { label: name.into(), arm: Arm::parse(name).expect("an arm") });
    let keylog = KeyLog::parse(keylog)?;
    let mut replay = Replay::new(Settings { arms: arms.to_vec(), ..Settings::default() });
    firstflight_log::read::with_keys("a.pcap", Box::new(Cursor::new(bytes)), &keylog, &mut replay)
        .map_err(|fault| fault.to_string())?;
    let remarks = replay.remarks.iter().map(ToString::to_string).collect::<String>();
    Ok((Results::new(replay, Vec::new()).connections, remarks))
}

const PLAIN: Style = Style {
    two: false,
    suite: 0x1301,
    ids: [8, 8],
    at_once: false,
    changes: false,
    greases: false,
};

#[test]
fn a_sealed_transfer_shows_what_its_qlog_shows() {
    let moments = with_losses(&transfer(Link::USUAL, 1500));
    let reference = crate::model::row("quiche", quiche(&moments));
    for style in [
        PLAIN,
        Style { suite: 0x1302, changes: true, ..PLAIN },
        Style { suite: 0x1303, ids: [5, 20], at_once: true, ..PLAIN },
        Style { two: true, ids: [4, 12], changes: true, ..PLAIN },
        Style { ids: [0, 8], at_once: true, changes: true, ..PLAIN },
        Style { two: true, suite: 0x1302, ids: [0, 0], ..PLAIN },
        Style { greases: true, ..PLAIN },
        Style { ids: [0, 8], at_once: true, greases: true, ..PLAIN },
    ] {
        let (capture, keylog) = sealed(&moments, style);
        let (rows, remarks) =
            replayed(capture, &keylog).unwrap_or_else(|what| panic!("{style:?}: {what}"));
        assert_eq!((rows.len(), remarks.as_str()), (1, ""), "{style:?}");
        let row = &rows[0];
        assert_eq!(gist(row), gist(&reference), "{style:?}");
        assert_eq!(
            (row.bytes, row.loss_ratio),
            (reference.bytes, reference.loss_ratio),
            "{style:?}"
        );
        let rtt = |row: &ConnectionRow| row.min_rtt_ms.expect("an RTT");
        assert!((rtt(row) - rtt(&reference)).abs() < 1e-3, "{style:?}");
        let json = serde_json::to_string(row).expect("rows are JSON");
        assert!(!json.contains("0404040404"), "no secret is in the answer");
    }
}

#[test]
fn what_cannot_be_opened_is_told() {
    let moments = transfer(Link::USUAL, 200);
    let (capture, keylog) = sealed(&moments, PLAIN);
    let other = keylog.replace("5a5a", "5b5b");
    let fault = replayed(capture.clone(), &other).expect_err("other keys");
    assert!(fault.contains("the key log cannot decrypt"), "{fault}");
    assert!(!fault.contains("5b5b") && !fault.contains("0404"), "{fault}");
    // Without the handshake: 24 bytes of header, then three records.
    let mut rest = &capture[24..];
    for _ in 0..3 {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes"));
        rest = &rest[16 + length as usize..];
    }
    let cut = [&capture[..24], rest].concat();
    let fault = replayed(cut, &keylog).expect_err("no handshake");
    assert!(fault.contains("handshake"), "{fault}");
    assert!(replayed(capture[..2000].to_vec(), &keylog).is_err(), "cut off");
    // Damage anywhere is told or survived.
    for at in (0..capture.len()).step_by(capture.len() / 50) {
        let mut damaged = capture.clone();
        damaged[at] ^= 0x55;
        let _ = replayed(damaged, &keylog);
    }
}

/// Each record of the capture once more, a few microseconds later: what passes two places of a host.
fn doubled(capture: &[u8]) -> Vec<u8> {
    let (head, mut rest) = capture.split_at(24);
    let mut all = head.to_vec();
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let (record, after) = rest.split_at(16 + length);
        all.extend(record);
        let nanos = u32::from_le_bytes(record[4..8].try_into().expect("four bytes"));
        all.extend(&record[..4]);
        all.extend((nanos + 3_000).min(999_999_999).to_le_bytes());
        all.extend(&record[8..]);
        rest = after;
    }
    all
}

#[test]
fn packets_that_were_captured_twice_count_once() {
    let moments = with_losses(&transfer(Link::USUAL, 600));
    for style in [PLAIN, Style { ids: [0, 8], at_once: true, changes: true, ..PLAIN }] {
        let (capture, keylog) = sealed(&moments, style);
        let once = replayed(capture.clone(), &keylog).expect("a connection");
        let twice = replayed(doubled(&capture), &keylog).expect("a connection");
        let json = |rows: &[ConnectionRow]| serde_json::to_string(rows).expect("rows are JSON");
        assert_eq!(json(&twice.0), json(&once.0), "{style:?}");
        assert_eq!(twice.1, "", "copies are no damage");
        let keys = KeyLog::parse(&keylog).expect("a key log");
        let mut replay = Replay::new(Settings::default());
        let bytes = Box::new(Cursor::new(doubled(&capture)));
        firstflight_log::read::with_keys("a.pcap", bytes, &keys, &mut replay).expect("a file");
        let notes: Vec<String> = replay.notes.iter().map(ToString::to_string).collect();
        assert!(notes.iter().any(|note| note.contains("were captured twice")), "{notes:?}");
    }
}
