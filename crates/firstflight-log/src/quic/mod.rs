//! QUIC in captures, decrypted with a key log. Packets of both directions are needed: the sent
//! packet numbers from one, the ACKs from the other.
//!
//! A packet belongs to the connection that owns its destination ID; IDs come from long headers and
//! NEW_CONNECTION_ID frames. If the kernel or the network card splits what a sender sends, the
//! capture shows it unsplit; the packets are then separated by the ID at the start of each.

mod connection;
mod detect;
mod frames;
mod keylog;
mod keys;
mod packet;

pub use keylog::KeyLog;

use crate::fault::{Fault, Place};
use crate::step::{Extent, Sink};
use connection::{Connection, Fate};
use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, TransportSlice};
use firstflight::Time;
use packet::{Kind, LONGEST_ID, Long, No};
use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned, PcapError, PcapNGReader};
use std::collections::{BTreeSet, HashMap};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};

/// Maximum number of connections followed at the same time; above it, the one that has been silent
/// longest counts as finished.
const MOST_CONNECTIONS: usize = 4096;
/// For shorter IDs, the addresses are used as well.
const LEAST_ID: usize = 4;
/// Largest block of a capture, bytes.
const LARGEST: usize = 1 << 24;
const FIRST: usize = 1 << 18;
/// Largest packet on a path without jumbo frames. Only larger datagrams, and those larger than a
/// known packet size, are checked for several packets.
const LONGEST_PIECE: usize = 1500;

/// Reads the QUIC connections of a capture.
///
/// # Errors
/// If the key log opens no connection, or the file stops being a capture before one is opened.
pub fn read(
    file: &str,
    bytes: Box<dyn Read>,
    is_ng: bool,
    keylog: &KeyLog,
    sink: &mut impl Sink,
) -> Result<Extent, Fault> {
    let mut capture = Capture::new(file, keylog);
    let broken = if is_ng {
        PcapNGReader::new(FIRST, bytes)
            .map_err(|_| "no pcapng header")
            .and_then(|reader| capture.run(reader, sink))
    } else {
        LegacyPcapReader::new(FIRST, bytes)
            .map_err(|_| "no pcap header")
            .and_then(|reader| capture.run(reader, sink))
    };
    capture.end(sink);
    let place = Place::Packet(capture.packets + 1);
    let extent =
        Extent { bytes: capture.bytes, records: capture.packets, connections: capture.told };
    match broken {
        Err(what) if capture.told == 0 => return Err(Fault::new(file, place, what)),
        Ok(()) if capture.told == 0 => return Err(capture.nothing()),
        Err(what) => sink.remark(Fault::new(file, place, what)),
        Ok(()) => {}
    }
    if capture.copies > 0 {
        let what =
            format!("{} QUIC packets were captured twice; copies are dropped", capture.copies);
        sink.note(Fault::new(file, Place::File, what));
    }
    if capture.sealed > 0 {
        let what = format!(
            "{} of {} QUIC packets could not be decrypted; values that depend on them are estimates",
            capture.sealed,
            capture.sealed + capture.opened
        );
        sink.remark(Fault::new(file, Place::File, what));
    }
    Ok(extent)
}

/// A datagram: time, endpoints and captured payload.
struct Datagram<'a> {
    now: Time,
    from: SocketAddr,
    to: SocketAddr,
    payload: &'a [u8],
    is_cut: bool,
}

/// Owner of a destination ID: the connection and its side.
type Owner = (usize, usize);

struct Capture<'a> {
    file: String,
    keylog: &'a KeyLog,
    connections: HashMap<usize, Connection>,
    made: usize,
    ids: HashMap<Vec<u8>, Owner>,
    /// Addresses of both ends, the client's first, for short IDs.
    pairs: HashMap<(SocketAddr, SocketAddr), usize>,
    lengths: BTreeSet<usize>,
    /// Packet sizes found in datagrams that were captured unsplit.
    pieces: BTreeSet<usize>,
    bytes: u64,
    packets: u64,
    tcp: u64,
    datagrams: u64,
    cut: u64,
    /// Number of packets of connections whose start was not captured.
    strange: u64,
    versions: u64,
    opened: u64,
    sealed: u64,
    copies: u64,
    told: u64,
    left_out: u64,
}

impl<'k> Capture<'k> {
    fn new(file: &str, keylog: &'k KeyLog) -> Capture<'k> {
        Capture {
            file: file.into(),
            keylog,
            connections: HashMap::new(),
            made: 0,
            ids: HashMap::new(),
            pairs: HashMap::new(),
            lengths: BTreeSet::new(),
            pieces: BTreeSet::new(),
            bytes: 0,
            packets: 0,
            tcp: 0,
            datagrams: 0,
            cut: 0,
            strange: 0,
            versions: 0,
            opened: 0,
            sealed: 0,
            copies: 0,
            told: 0,
            left_out: 0,
        }
    }

    /// Why nothing could be replayed.
    fn nothing(&self) -> Fault {
        let what = if self.packets == 0 {
            "it contains no packets".into()
        } else if self.made == 0 && self.strange > 0 {
            "no QUIC connection was captured with its handshake, which is needed to match connections with their keys".into()
        } else if self.datagrams == 0 && self.tcp > 0 {
            format!("it contains no QUIC, but {} TCP segments, which need no key log", self.tcp)
        } else if self.datagrams == 0 {
            format!("{} packets, none of them QUIC", self.packets)
        } else if self.cut > 0 {
            format!(
                "{} datagrams are truncated: only whole ones can be decrypted (`tcpdump -s 0`)",
                self.cut
            )
        } else if self.made == 0 && self.versions > 0 {
            "unsupported QUIC version; allowed: 1, 2, and drafts starting at 29".into()
        } else if self.opened == 0 || self.sealed > 0 {
            format!(
                "{} QUIC connections, but the key log cannot decrypt {} packets: it is incomplete or belongs to other connections",
                self.made, self.sealed
            )
        } else if self.left_out > 0 {
            format!(
                "{} bytes were received, not sent: captured at the receiver; capture at the sender instead",
                self.left_out
            )
        } else {
            format!("{} QUIC connections, none of which has acknowledged data", self.made)
        };
        Fault::new(&self.file, Place::File, what)
    }

    fn run(
        &mut self,
        mut reader: impl PcapReaderIterator,
        sink: &mut impl Sink,
    ) -> Result<(), &'static str> {
        let (mut link, mut unit) = (1, 1000);
        let mut interfaces: Vec<(i32, u64)> = Vec::new();
        loop {
            let size = match reader.next() {
                Ok((size, block)) => {
                    match block {
                        PcapBlockOwned::LegacyHeader(header) => {
                            link = header.network.0;
                            unit = if header.is_nanosecond_precision() { 1 } else { 1000 };
                        }
                        PcapBlockOwned::Legacy(packet) => {
                            let now = u64::from(packet.ts_sec) * 1_000_000_000
                                + u64::from(packet.ts_usec) * unit;
                            self.frame(Time(now), link, packet.data, packet.origlen, sink);
                        }
                        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
                        PcapBlockOwned::NG(Block::InterfaceDescription(described)) => {
                            let resolution = described.ts_resolution().unwrap_or(1_000_000);
                            interfaces.push((described.linktype.0, resolution.max(1)));
                        }
                        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                            let found = interfaces.get(packet.if_id as usize);
                            let data = packet.data.get(..packet.caplen as usize);
                            if let (Some((link, resolution)), Some(data)) = (found, data) {
                                let units =
                                    u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                                let now = units * 1_000_000_000 / u128::from(*resolution);
                                let now = Time(u64::try_from(now).unwrap_or(0));
                                self.frame(now, *link, data, packet.origlen, sink);
                            }
                        }
                        PcapBlockOwned::NG(_) => {}
                    }
                    size
                }
                Err(PcapError::Eof) => return Ok(()),
                Err(PcapError::Incomplete(_)) => {
                    // A block larger than the buffer.
                    let held = reader.data().len();
                    if reader.reader_exhausted() {
                        return Err("the file ends inside a packet");
                    }
                    if held >= LARGEST {
                        return Err("a block larger than 16 MiB");
                    }
                    reader.grow((held * 2).max(FIRST));
                    reader.refill().map_err(|_| "cannot be read further")?;
                    continue;
                }
                Err(PcapError::UnexpectedEof) => return Err("the file ends inside a packet"),
                Err(PcapError::ReadError) => return Err("cannot be read further"),
                Err(_) => return Err("a malformed packet"),
            };
            self.bytes += size as u64;
            reader.consume(size);
        }
    }

    fn frame(&mut self, now: Time, link: i32, data: &[u8], original: u32, sink: &mut impl Sink) {
        self.packets += 1;
        let Some(packet) = slice(link, data) else { return };
        let (from, to): (IpAddr, IpAddr) = match &packet.net {
            Some(LaxNetSlice::Ipv4(ip)) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            Some(LaxNetSlice::Ipv6(ip)) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            _ => return,
        };
        match &packet.transport {
            Some(TransportSlice::Tcp(_)) => self.tcp += 1,
            Some(TransportSlice::Udp(udp)) => {
                let datagram = Datagram {
                    now,
                    from: SocketAddr::new(from, udp.source_port()),
                    to: SocketAddr::new(to, udp.destination_port()),
                    payload: udp.payload(),
                    is_cut: data.len() < original as usize,
                };
                self.datagram(&datagram, sink);
            }
            _ => {}
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>, sink: &mut impl Sink) {
        let mut rest = datagram.payload;
        // Padding after packets is zeros. The fixed bit is ignored: senders may clear it (RFC
        // 9287).
        while rest.iter().any(|byte| *byte != 0) {
            let taken = if rest[0] & 0x80 != 0 {
                self.long(datagram, rest, sink)
            } else {
                self.short(datagram, rest, sink)
            };
            let Some(taken) = taken else { break };
            rest = &rest[taken..];
        }
    }

    /// Processes a packet with a long header. Returns its length.
    fn long(
        &mut self,
        datagram: &Datagram<'_>,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Option<usize> {
        let long = match Long::parse(bytes) {
            Ok(long) => long,
            Err(no) => {
                self.cut += u64::from(datagram.is_cut);
                self.versions += u64::from(no == No::Version);
                return None;
            }
        };
        self.datagrams += 1;
        let owner = self.owner(datagram, long.to);
        let (number, to) = match owner {
            Some(owner) => owner,
            None if long.kind == Kind::Initial => (self.begin(datagram, &long, sink), 1),
            None => {
                self.strange += 1;
                return Some(long.length);
            }
        };
        self.learn(long.from, (number, 1 - to));
        let connection = self.connections.get_mut(&number)?;
        let (_, ids) = connection.long(datagram.now, 1 - to, &long, bytes, self.keylog, sink);
        for id in ids {
            self.learn(&id, (number, 1 - to));
        }
        Some(long.length)
    }

    /// Processes a packet with a short header. Returns its length.
    fn short(
        &mut self,
        datagram: &Datagram<'_>,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Option<usize> {
        let lengths: Vec<usize> = self.lengths.iter().rev().copied().collect();
        let found = lengths.iter().find_map(|length| {
            let id = bytes.get(1..=*length)?;
            self.ids.get(id).map(|owner| (*owner, *length))
        });
        let by_pair = || self.pair(datagram).map(|owner| (owner, 0));
        let Some(((number, to), length)) = found.or_else(by_pair) else {
            let ports = [datagram.from.port(), datagram.to.port()];
            self.strange += u64::from(ports.contains(&443));
            return None;
        };
        self.datagrams += 1;
        let size = self.piece((number, to), length, bytes);
        let connection = self.connections.get_mut(&number)?;
        let packet = &bytes[..size];
        let (fate, ids) = connection.short(datagram.now, 1 - to, length, packet, self.keylog, sink);
        self.cut += u64::from(fate == Fate::Sealed && datagram.is_cut);
        for id in ids {
            self.learn(&id, (number, 1 - to));
        }
        Some(size)
    }

    /// The length of the first packet in a datagram that may have been captured unsplit: all of it,
    /// or one of several packets that start with the same ID.
    fn piece(&mut self, (number, to): Owner, length: usize, bytes: &[u8]) -> usize {
        let all = bytes.len();
        if all <= LONGEST_PIECE && self.pieces.iter().all(|size| all <= *size) {
            return all;
        }
        let Some(connection) = self.connections.get_mut(&number) else { return all };
        if connection.opens(1 - to, length, bytes, self.keylog) {
            return all;
        }
        let id = bytes[1..=length].to_vec();
        let mut fits = |size: usize| {
            size < all
                && bytes[size] & 0x80 == 0
                && bytes.get(size + 1..=size + length).is_none_or(|next| next == id)
                && connection.opens(1 - to, length, &bytes[..size], self.keylog)
        };
        let known = self.pieces.iter().rev().copied().find(|size| fits(*size));
        let found = known.or_else(|| (21..all.min(1 << 15)).rev().find(|size| fits(*size)));
        if let Some(size) = found {
            self.pieces.insert(size);
        }
        found.unwrap_or(all)
    }

    fn owner(&self, datagram: &Datagram<'_>, id: &[u8]) -> Option<Owner> {
        if id.len() < LEAST_ID { self.pair(datagram) } else { self.ids.get(id).copied() }
    }

    /// The owner by addresses.
    fn pair(&self, datagram: &Datagram<'_>) -> Option<Owner> {
        let &Datagram { from, to, .. } = datagram;
        let server = self.pairs.get(&(from, to)).map(|number| (*number, 1));
        server.or_else(|| self.pairs.get(&(to, from)).map(|number| (*number, 0)))
    }

    fn learn(&mut self, id: &[u8], owner: Owner) {
        if (LEAST_ID..=LONGEST_ID).contains(&id.len()) {
            self.lengths.insert(id.len());
            self.ids.insert(id.to_vec(), owner);
        }
    }

    /// Starts a connection with the client's first packet.
    fn begin(&mut self, datagram: &Datagram<'_>, long: &Long<'_>, sink: &mut impl Sink) -> usize {
        if self.connections.len() >= MOST_CONNECTIONS
            && let Some(stale) = self
                .connections
                .iter()
                .min_by_key(|(_, known)| known.last)
                .map(|(number, _)| *number)
        {
            self.finish(stale, sink);
        }
        let number = self.made;
        self.made += 1;
        let &Datagram { now, from, to, .. } = datagram;
        let names =
            [(from, to), (to, from)].map(|(one, other)| format!("{} {one} > {other}", self.file));
        self.connections.insert(number, Connection::new(names, long.to, long.version, now));
        self.pairs.insert((from, to), number);
        self.learn(long.to, (number, 1));
        number
    }

    fn finish(&mut self, number: usize, sink: &mut impl Sink) {
        let Some(connection) = self.connections.remove(&number) else { return };
        self.ids.retain(|_, owner| owner.0 != number);
        self.pairs.retain(|_, known| *known != number);
        self.opened += connection.opened;
        self.sealed += connection.sealed;
        self.copies += connection.copies;
        let (told, left_out) = connection.close(sink);
        self.told += told;
        self.left_out += left_out;
    }

    fn end(&mut self, sink: &mut impl Sink) {
        let mut left: Vec<usize> = self.connections.keys().copied().collect();
        left.sort_unstable();
        for number in left {
            self.finish(number, sink);
        }
    }
}

/// The packet in a frame of a link type without tunnels.
fn slice(link: i32, data: &[u8]) -> Option<LaxSlicedPacket<'_>> {
    let cooked = |kind: usize, header: usize| {
        let protocol = u16::from_be_bytes([*data.get(kind)?, *data.get(kind + 1)?]);
        Some(LaxSlicedPacket::from_ether_type(EtherType(protocol), data.get(header..)?))
    };
    match link {
        1 => LaxSlicedPacket::from_ethernet(data).ok(),
        12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(data).ok(),
        0 | 108 => LaxSlicedPacket::from_ip(data.get(4..)?).ok(),
        113 => cooked(14, 16),
        276 => cooked(0, 20),
        _ => None,
    }
}
