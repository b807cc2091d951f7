//! One TCP download captured in every supported way; all captures give the same path and the same
//! exits.

use crate::model;

use firstflight_replay::summary::ConnectionRow;
use model::{Happened, Link, MSS, Moment, replayed, rows, shows, transfer};

/// IPv4 and TCP headers with timestamps.
const HEADERS: u64 = 52;
const LINK: Link = Link { wire: MSS + HEADERS, ..Link::USUAL };
pub(crate) const SERVER_ISN: u32 = 0xffff_f000;
pub(crate) const CLIENT_ISN: u32 = 77;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ip {
    V4,
    V6,
}

pub(crate) struct Tcp {
    pub(crate) from_server: bool,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: u8,
    pub(crate) payload: u64,
    pub(crate) options: Vec<u8>,
}

pub(crate) fn tcp(ip: Ip, packet: &Tcp) -> Vec<u8> {
    let mut options = packet.options.clone();
    while !options.len().is_multiple_of(4) {
        options.push(1);
    }
    let (source, destination) =
        if packet.from_server { (443_u16, 50_000_u16) } else { (50_000, 443) };
    let mut header = Vec::new();
    header.extend(source.to_be_bytes());
    header.extend(destination.to_be_bytes());
    header.extend(packet.seq.to_be_bytes());
    header.extend(packet.ack.to_be_bytes());
    header.push(((20 + options.len() as u8) / 4) << 4);
    header.push(packet.flags);
    header.extend(60_000_u16.to_be_bytes());
    header.extend([0; 4]);
    header.extend(&options);
    header.extend(vec![0; packet.payload as usize]);
    let mut bytes = match ip {
        Ip::V4 => {
            let mut bytes = vec![0x45, 0];
            bytes.extend((20 + header.len() as u16).to_be_bytes());
            bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
            bytes.extend(if packet.from_server {
                [10, 0, 0, 1, 10, 0, 0, 2]
            } else {
                [10, 0, 0, 2, 10, 0, 0, 1]
            });
            bytes
        }
        Ip::V6 => {
            let mut bytes = vec![0x60, 0, 0, 0];
            bytes.extend((header.len() as u16).to_be_bytes());
            bytes.extend([6, 64]);
            let (a, b) =
                ([[0xfd; 15].as_slice(), &[1]].concat(), [[0xfd; 15].as_slice(), &[2]].concat());
            bytes.extend(if packet.from_server { [a, b].concat() } else { [b, a].concat() });
            bytes
        }
    };
    bytes.extend(header);
    bytes
}

pub(crate) fn stamps(value: u64, echo: u64) -> Vec<u8> {
    let mut option = vec![1, 1, 8, 10];
    option.extend((value as u32).to_be_bytes());
    option.extend((echo as u32).to_be_bytes());
    option
}

/// The packets of the transfer with their times, as they pass the server's interface.
fn packets(moments: &[Moment], ip: Ip, sack: bool) -> Vec<(u64, Vec<u8>)> {
    let start = moments[0].0;
    let rtt = LINK.rtt;
    let byte = |piece: u64| SERVER_ISN.wrapping_add(1).wrapping_add((piece * MSS) as u32);
    let request = CLIENT_ISN + 2;
    let mut packets = vec![
        (
            start - rtt - 2_000,
            Tcp {
                from_server: false,
                seq: CLIENT_ISN,
                ack: 0,
                flags: 2,
                payload: 0,
                options: [vec![2, 4, 5, 0xb4, 3, 3, 7, 4, 2], stamps(1, 0)].concat(),
            },
        ),
        (
            start - rtt - 1_000,
            Tcp {
                from_server: true,
                seq: SERVER_ISN,
                ack: CLIENT_ISN + 1,
                flags: 0x12,
                payload: 0,
                // 1212 less the timestamps: 1200 bytes of payload.
                options: [vec![2, 4, 4, 0xbc, 3, 3, 7, 4, 2], stamps(1, 1)].concat(),
            },
        ),
        (
            start - 2_000,
            Tcp {
                from_server: false,
                seq: CLIENT_ISN + 1,
                ack: SERVER_ISN.wrapping_add(1),
                flags: 0x10,
                payload: 1,
                options: stamps(2, 1),
            },
        ),
    ];
    for (now, happened) in moments {
        let ms = now / 1_000_000;
        match happened {
            Happened::Sent { piece, .. } => {
                packets.push((
                    *now,
                    Tcp {
                        from_server: true,
                        seq: byte(*piece),
                        ack: request,
                        flags: 0x10,
                        payload: MSS,
                        options: stamps(ms, 1),
                    },
                ));
            }
            Happened::Acked { pieces, .. } => {
                let first = (0..u64::MAX).find(|piece| !pieces.contains(piece)).unwrap_or(0);
                let mut options = stamps(ms, ms.saturating_sub(rtt / 1_000_000));
                if sack {
                    let mut blocks: Vec<(u64, u64)> = Vec::new();
                    for &piece in pieces.range(first..) {
                        match blocks.last_mut() {
                            Some(block) if block.1 == piece => block.1 = piece + 1,
                            _ => blocks.push((piece, piece + 1)),
                        }
                    }
                    // The latest first, three fit beside the timestamps.
                    let blocks: Vec<_> = blocks.into_iter().rev().take(3).collect();
                    if !blocks.is_empty() {
                        options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
                        for (left, right) in blocks {
                            options.extend(byte(left).to_be_bytes());
                            options.extend(byte(right).to_be_bytes());
                        }
                    }
                }
                packets.push((
                    *now,
                    Tcp {
                        from_server: false,
                        seq: request,
                        ack: byte(first),
                        flags: 0x10,
                        payload: 0,
                        options,
                    },
                ));
            }
            Happened::Lost { .. } => {}
        }
    }
    packets.into_iter().map(|(now, packet)| (now, tcp(ip, &packet))).collect()
}

#[derive(Clone, Copy)]
pub(crate) struct Pcap {
    big_endian: bool,
    nanos: bool,
    link: u32,
    snap: usize,
}

pub(crate) const PLAIN: Pcap = Pcap { big_endian: false, nanos: true, link: 101, snap: 65_535 };

pub(crate) fn pcap(
    format: Pcap,
    packets: &[(u64, Vec<u8>)],
    frame: impl Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    let word =
        |value: u32| if format.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let half =
        |value: u16| if format.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
    let magic = if format.nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut out = [
        word(magic).to_vec(),
        half(2).to_vec(),
        half(4).to_vec(),
        vec![0; 8],
        word(format.snap as u32).to_vec(),
        word(format.link).to_vec(),
    ]
    .concat();
    for (now, packet) in packets {
        let framed = frame(packet);
        let kept = framed.len().min(format.snap);
        let fraction = (now % 1_000_000_000) / if format.nanos { 1 } else { 1000 };
        for value in
            [(now / 1_000_000_000) as u32, fraction as u32, kept as u32, framed.len() as u32]
        {
            out.extend(word(value));
        }
        out.extend(&framed[..kept]);
    }
    out
}

fn pcapng(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    pcapng_of(9, 6, packets)
}

/// With this option `if_tsresol` (RFC draft-ietf-opsawg-pcapng section 4.2) and packets in blocks of
/// this kind: 6, or 2 in old files.
fn pcapng_of(resolution: u8, kind: u32, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let padded = body.len().div_ceil(4) * 4;
        let length = (12 + padded) as u32;
        [
            &kind.to_le_bytes()[..],
            &length.to_le_bytes(),
            body,
            &vec![0; padded - body.len()],
            &length.to_le_bytes(),
        ]
        .concat()
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    // Raw IP.
    let option = [9, 0, 1, 0, resolution, 0, 0, 0];
    let interface = [&101_u16.to_le_bytes()[..], &[0, 0], &[0; 4], &option, &[0; 4]].concat();
    let exponent = u32::from(resolution & 0x7f);
    let units = if resolution < 0x80 { 10_u128.pow(exponent) } else { 1 << exponent };
    let mut out = [block(0x0a0d_0d0a, &section), block(1, &interface)].concat();
    for (now, packet) in packets {
        // An old block has a count of drops behind the interface; all bits: unknown.
        let interface = if kind == 2 { 0xffff_0000 } else { 0 };
        let now = (u128::from(*now) * units / 1_000_000_000) as u64;
        let head: Vec<u8> =
            [interface, (now >> 32) as u32, now as u32, packet.len() as u32, packet.len() as u32]
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
        out.extend(block(kind, &[head, packet.clone()].concat()));
    }
    out
}

fn ethernet(kind: u16) -> impl Fn(&[u8]) -> Vec<u8> {
    move |ip| [&[0; 12][..], &kind.to_be_bytes(), ip].concat()
}

/// A VLAN tag, or two.
fn tagged(tags: usize) -> impl Fn(&[u8]) -> Vec<u8> {
    move |ip| [&[0; 12][..], &[0x81, 0, 0, 5].repeat(tags), &[8, 0], ip].concat()
}

fn cooked(ip: &[u8]) -> Vec<u8> {
    [&[0; 14][..], &[8, 0], ip].concat()
}

pub(crate) fn plain(ip: &[u8]) -> Vec<u8> {
    ip.to_vec()
}

/// The download of a capture; the request, one byte the other way, is no connection to replay.
#[track_caller]
fn download(name: &str, bytes: Vec<u8>) -> ConnectionRow {
    let mut rows = rows(name, bytes);
    assert_eq!(rows.len(), 1, "{name}: the request alone is nothing to replay");
    rows.remove(0)
}

fn gist(row: &ConnectionRow) -> Vec<(String, Option<&'static str>, Option<u64>)> {
    row.startups.iter().map(|startup| (startup.arm.clone(), startup.reason, startup.ack)).collect()
}

#[test]
fn every_kind_of_capture_shows_the_same_download() {
    let moments = transfer(LINK, 3000);
    let four = packets(&moments, Ip::V4, true);
    let six = packets(&moments, Ip::V6, true);
    let reference = download("raw", pcap(PLAIN, &four, plain));
    shows(&reference, LINK);
    assert_eq!(reference.transport, "tcp");
    assert_eq!(reference.mss, MSS, "the smaller of the two options, less the timestamps");
    assert_eq!(reference.startups[0].reason, Some("loss"), "slow start ends by loss");
    let all = [
        ("big endian", pcap(Pcap { big_endian: true, ..PLAIN }, &four, plain)),
        ("ethernet", pcap(Pcap { link: 1, ..PLAIN }, &four, ethernet(0x0800))),
        ("vlan", pcap(Pcap { link: 1, ..PLAIN }, &four, tagged(1))),
        ("double vlan", pcap(Pcap { link: 1, ..PLAIN }, &four, tagged(2))),
        ("any device", pcap(Pcap { link: 113, ..PLAIN }, &four, cooked)),
        ("ipv6", pcap(Pcap { link: 1, ..PLAIN }, &six, ethernet(0x86dd))),
        ("headers only", pcap(Pcap { snap: 100, ..PLAIN }, &four, plain)),
        ("pcapng", pcapng(&four)),
        ("pcapng, nanoseconds in old blocks", pcapng_of(9, 2, &four)),
        ("pcapng, picoseconds", pcapng_of(12, 6, &four)),
        ("pcapng, 2^-30 s", pcapng_of(0x80 + 30, 6, &four)),
        ("pcapng, 2^-32 s (NTP)", pcapng_of(0x80 + 32, 6, &four)),
    ];
    for (name, bytes) in all {
        assert_eq!(gist(&download(name, bytes)), gist(&reference), "{name}: the same download");
    }
    shows(&download("microseconds", pcap(Pcap { nanos: false, ..PLAIN }, &four, plain)), LINK);
}

#[test]
fn without_sack_the_link_is_found_still() {
    let moments = transfer(LINK, 3000);
    let row = download("no sack", pcap(PLAIN, &packets(&moments, Ip::V4, false), plain));
    let rtt = row.min_rtt_ms.expect("an RTT");
    assert!((rtt / 50.5 - 1.0).abs() < 0.05, "{rtt} ms");
    assert_eq!(row.startups[0].reason, Some("loss"), "what was sent again was lost");
}

#[test]
fn a_capture_that_is_cut_within_the_options_still_shows_the_link() {
    // 20 bytes of IP, 20 of TCP, and half of the options.
    let moments = transfer(LINK, 2000);
    let row = download(
        "short",
        pcap(Pcap { snap: 48, ..PLAIN }, &packets(&moments, Ip::V4, true), plain),
    );
    assert!((row.min_rtt_ms.expect("an RTT") / 50.5 - 1.0).abs() < 0.05);
}

#[test]
fn a_capture_of_the_receiving_end_is_refused() {
    let moments = transfer(LINK, 500);
    // The server's packets arrive half a round trip later; packets to it left as much earlier.
    let half = LINK.rtt / 2 - 2_000;
    let mut shifted: Vec<(u64, Vec<u8>)> = packets(&moments, Ip::V4, true)
        .into_iter()
        .map(|(now, packet)| (if packet[15] == 1 { now + half } else { now - half }, packet))
        .collect();
    shifted.sort_by_key(|(now, _)| *now);
    let fault = replayed("client.pcap", pcap(PLAIN, &shifted, plain))
        .0
        .expect_err("the sender is elsewhere");
    assert!(fault.to_string().contains("capture at the sender instead"), "{fault}");
}

#[test]
fn packets_that_the_capture_missed_are_told() {
    let moments = transfer(LINK, 1000);
    let mut all = packets(&moments, Ip::V4, true);
    let missed = all.iter().position(|(_, packet)| packet.len() > 1000).expect("data") + 50;
    all.remove(missed);
    let (extent, replay) = replayed("lossy.pcap", pcap(PLAIN, &all, plain));
    assert!(extent.is_ok());
    assert!(
        replay.remarks.iter().any(|remark| remark.to_string().contains("missing from the capture"))
            || replay.remarks.is_empty()
    );
    assert_eq!(replay.done.len(), 1);
}

#[test]
fn packets_that_the_kernel_dropped_are_told() {
    let moments = transfer(LINK, 500);
    let packets = packets(&moments, Ip::V4, true);
    // isb_ifdrop is 5, isb_osdrop 7; then the end of the options.
    let count = |code: u16, count: u64| {
        [&code.to_le_bytes()[..], &8_u16.to_le_bytes(), &count.to_le_bytes()].concat()
    };
    let statistics = |ifdrop: u64, osdrop: u64| {
        let body = [&[0; 12][..], &count(5, ifdrop), &count(7, osdrop), &[0; 4]].concat();
        let length = ((12 + body.len()) as u32).to_le_bytes();
        [&5_u32.to_le_bytes()[..], &length, &body, &length].concat()
    };
    for (block, told) in [
        (Vec::new(), None),
        (statistics(0, 0), None),
        (statistics(30, 12), Some("42 packets were dropped while capturing")),
    ] {
        let bytes = [pcapng(&packets), block].concat();
        let (extent, replay) = replayed("dropped.pcapng", bytes);
        assert_eq!(extent.map(|extent| extent.connections), Ok(1));
        let remarks: Vec<String> = replay.remarks.iter().map(ToString::to_string).collect();
        assert_eq!(remarks.len(), usize::from(told.is_some()), "{remarks:?}");
        assert!(told.is_none_or(|told| remarks[0].contains(told)), "{remarks:?}");
    }
}

#[test]
fn whose_queue_the_first_loss_came_from_is_told() {
    let kinds = |queue: u64| {
        let link = Link { queue, ..LINK };
        let row =
            download("queue", pcap(PLAIN, &packets(&transfer(link, 3000), Ip::V4, true), plain));
        let kinds: Vec<&str> = row.findings.iter().map(|finding| finding.kind).collect();
        [kinds.contains(&"own_queue"), kinds.contains(&"foreign_queue")]
    };
    // A queue of two round trips, which it fills; one of a tenth of a round trip; one between.
    assert_eq!(kinds(200), [true, false]);
    assert_eq!(kinds(8), [false, true]);
    assert_eq!(kinds(50), [false, false]);
}

#[test]
fn a_capture_that_is_cut_off_gives_what_was_before_the_cut() {
    let moments = transfer(LINK, 1000);
    let mut bytes = pcap(PLAIN, &packets(&moments, Ip::V4, true), plain);
    bytes.truncate(bytes.len() - 700);
    let (extent, replay) = replayed("cut.pcap", bytes);
    assert!(extent.is_ok() && replay.done.len() == 1, "nearly all of it is there");
    let remark = replay.remarks.first().expect("the cut is told").to_string();
    assert!(
        remark.starts_with("cut.pcap: packet ") && remark.contains("ends inside a packet"),
        "{remark}"
    );
}
