//! Decodes captured frames into TCP segments: link layers, tunnels, IPv4 and IPv6, truncated
//! packets.

use super::other::{Other, Why};
use crate::segment::Segment;
use etherparse::{IpNumber, LaxIpSlice};
use firstflight::Time;
use std::fmt;
use std::net::IpAddr;

/// Address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Endpoint {
    address: IpAddr,
    port: u16,
}

impl Endpoint {
    /// Whether it is a loopback address.
    pub(super) fn is_loopback(&self) -> bool {
        self.address.is_loopback()
    }

    /// Whether both are on the same host, whatever the port.
    pub(super) fn is_host_of(&self, other: &Endpoint) -> bool {
        self.address == other.address
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// A segment with its endpoints.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// Sender.
    pub from: Endpoint,
    /// Receiver.
    pub to: Endpoint,
    /// The segment.
    pub segment: Segment,
    /// Values of the IP header.
    pub ip: Ip,
}

/// Values of an IP header that depend on the packet's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ip {
    /// Remaining hops.
    pub ttl: u8,
    /// Identification; IPv6 has none.
    pub id: Option<u16>,
}

/// Maximum number of nested headers; no real packet has more.
const MOST_LAYERS: usize = 16;

/// Type of a header.
#[derive(Clone, Copy, Debug)]
enum Layer {
    Ethernet,
    /// EtherType.
    Type(u16),
    Ppp,
    Ip,
    Gre,
    Udp,
}

type Inside<'a> = Result<(Layer, &'a [u8]), Other>;

fn half(bytes: &[u8], at: usize) -> Result<u16, Other> {
    let bytes = bytes.get(at..at + 2).ok_or(Other::Cut)?;
    Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, Other> {
    bytes.get(at).copied().ok_or(Other::Cut)
}

fn from(bytes: &[u8], at: usize) -> Result<&[u8], Other> {
    bytes.get(at..).ok_or(Other::Cut)
}

/// Decodes the TCP segment in a frame of `original` bytes, of which `data` was captured.
///
/// # Errors
/// The content, if it is not a readable TCP segment.
pub(super) fn frame(now: Time, link: i32, data: &[u8], original: u32) -> Result<Frame, Other> {
    let (mut layer, mut rest) = link_layer(link, data)?;
    for _ in 0..MOST_LAYERS {
        (layer, rest) = match layer {
            Layer::Ethernet => (Layer::Type(half(rest, 12)?), from(rest, 14)?),
            Layer::Type(kind) => ethernet(kind, rest)?,
            Layer::Ppp => ppp(rest)?,
            Layer::Gre => gre(rest)?,
            Layer::Udp => udp(rest)?,
            Layer::Ip => match ip(rest)? {
                (packet, IpNumber::TCP) => return segment(now, &packet, data, original),
                (packet, number) => ip_payload(number, packet.payload)?,
            },
        };
    }
    Err(Other::Inside(Why::Deep))
}

/// Link types of captures: `https://www.tcpdump.org/linktypes.html`.
fn link_layer(link: i32, data: &[u8]) -> Inside<'_> {
    // BSD loopback and its relatives start with an address family; IP has its own version field.
    let behind = |layer, bytes| Ok((layer, from(data, bytes)?));
    let typed =
        |kind: usize, bytes: usize| Ok((Layer::Type(half(data, kind)?), from(data, bytes)?));
    match link {
        1 => Ok((Layer::Ethernet, data)),
        12 | 14 | 101 | 228 | 229 => Ok((Layer::Ip, data)),
        0 | 108 => behind(Layer::Ip, 4),
        // PPP with an HDLC address, or Cisco HDLC in its place.
        50 if matches!(byte(data, 0)?, 0x0f | 0x8f) => typed(2, 4),
        9 | 50 => Ok((Layer::Ppp, data)),
        51 => behind(Layer::Ppp, 6),
        104 => typed(2, 4),
        109 => behind(Layer::Ip, 12),
        // Linux "any" device, old and new format.
        113 => typed(14, 16),
        276 => typed(0, 20),
        // One byte gives the direction.
        166 | 204 => behind(Layer::Ppp, 1),
        205 => typed(3, 5),
        // Packet filter logs: the header starts with its length, which is padded to a multiple of
        // four.
        117 => behind(Layer::Ip, usize::from(byte(data, 0)?).next_multiple_of(4)),
        // ATM with LLC.
        100 => llc(data),
        240 => behind(Layer::Ethernet, 4),
        other => Err(Other::Link(other)),
    }
}

fn ethernet(kind: u16, rest: &[u8]) -> Inside<'_> {
    match kind {
        0x0800 | 0x86dd => Ok((Layer::Ip, rest)),
        // Nested VLAN tags.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x9300 => {
            Ok((Layer::Type(half(rest, 2)?), from(rest, 4)?))
        }
        // PPPoE session.
        0x8864 => Ok((Layer::Ppp, from(rest, 6)?)),
        0x880b => Ok((Layer::Ppp, rest)),
        0x8847 | 0x8848 => mpls(rest),
        // Bridging in GRE, and provider backbone bridging (802.1ah), whose tag has four bytes.
        0x6558 => Ok((Layer::Ethernet, rest)),
        0x88e7 => Ok((Layer::Ethernet, from(rest, 4)?)),
        0x894f => nsh(rest),
        0x88e5 => Err(Other::Inside(Why::Macsec)),
        ..=1500 => llc(rest),
        _ => Err(Other::NoTcp),
    }
}

fn llc(rest: &[u8]) -> Inside<'_> {
    match rest {
        [0xaa, 0xaa, 3, ..] => Ok((Layer::Type(half(rest, 6)?), from(rest, 8)?)),
        [6, 6, 3, ..] => Ok((Layer::Ip, from(rest, 3)?)),
        _ => Err(Other::NoTcp),
    }
}

/// Skips labels up to the last one. A zero nibble after it is the control word of a pseudowire that
/// carries Ethernet (RFC 4385, RFC 4448).
fn mpls(mut rest: &[u8]) -> Inside<'_> {
    loop {
        let bottom = byte(rest, 2)? & 1 == 1;
        rest = from(rest, 4)?;
        if bottom {
            break;
        }
    }
    if matches!(byte(rest, 0)? >> 4, 4 | 6) {
        return Ok((Layer::Ip, rest));
    }
    // An Ethernet address may start with a zero, too.
    let controlled = from(rest, 4)?;
    let known = |bytes| {
        half(bytes, 12).is_ok_and(|kind| matches!(kind, 0x0800 | 0x86dd | 0x8100 | 0x88a8 | 0x0806))
    };
    let with_control = byte(rest, 0)? >> 4 == 0 && (known(controlled) || !known(rest));
    Ok((Layer::Ethernet, if with_control { controlled } else { rest }))
}

/// RFC 8300.
fn nsh(rest: &[u8]) -> Inside<'_> {
    let behind = from(rest, usize::from(byte(rest, 1)? & 0x3f) * 4)?;
    match byte(rest, 3)? {
        1 | 2 => Ok((Layer::Ip, behind)),
        3 => Ok((Layer::Ethernet, behind)),
        5 => Ok((Layer::Type(0x8847), behind)),
        _ => Err(Other::NoTcp),
    }
}

/// RFC 1661, with or without an HDLC address, and with a one-byte protocol field where that was
/// negotiated.
fn ppp(rest: &[u8]) -> Inside<'_> {
    let rest = rest.strip_prefix(&[0xff, 3]).unwrap_or(rest);
    let (protocol, rest) = match byte(rest, 0)? {
        odd if odd & 1 == 1 => (u16::from(odd), from(rest, 1)?),
        _ => (half(rest, 0)?, from(rest, 2)?),
    };
    match protocol {
        0x21 | 0x57 => Ok((Layer::Ip, rest)),
        0x281 | 0x283 => Ok((Layer::Type(0x8847), rest)),
        // Bridged Ethernet without its checksum (RFC 3518).
        0x31 => Ok((Layer::Ethernet, from(rest, 2)?)),
        0x2d | 0x2f | 0xfd | 0xfb => Err(Other::Inside(Why::Compressed)),
        0x3d => Err(Other::Inside(Why::Multilink)),
        _ => Err(Other::NoTcp),
    }
}

/// RFC 2784, 2890 and 2637 (version 1, for PPTP).
fn gre(rest: &[u8]) -> Inside<'_> {
    let (flags, kind) = (half(rest, 0)?, half(rest, 2)?);
    let [checksum, routing, key, sequence, acknowledgement] =
        [0x8000, 0x4000, 0x2000, 0x1000, 0x0080].map(|flag| flags & flag != 0);
    let version = flags & 7;
    if routing || version > 1 {
        return Err(Other::Inside(Why::Gre));
    }
    let fields = [checksum, key, sequence, acknowledgement && version == 1];
    let behind = from(rest, 4 + 4 * fields.into_iter().filter(|field| *field).count())?;
    match kind {
        // Mirrored Ethernet (ERSPAN); types II and III have their own headers.
        0x88be if sequence => Ok((Layer::Ethernet, from(behind, 8)?)),
        0x88be => Ok((Layer::Ethernet, behind)),
        0x22eb => {
            let more = if byte(behind, 11)? & 1 == 1 { 8 } else { 0 };
            Ok((Layer::Ethernet, from(behind, 12 + more)?))
        }
        // WCCP, which redirects packets to a cache: with or without a header of four bytes.
        0x883e if byte(behind, 0)? >> 4 == 4 => Ok((Layer::Ip, behind)),
        0x883e => Ok((Layer::Ip, from(behind, 4)?)),
        kind => Ok((Layer::Type(kind), behind)),
    }
}

/// Tunnels over UDP, by destination port.
fn udp(rest: &[u8]) -> Inside<'_> {
    let (source, port, inside) = (half(rest, 0)?, half(rest, 2)?, from(rest, 8)?);
    match port {
        // VXLAN, Linux's old VXLAN port, and the variant that names the inner protocol.
        4789 | 8472 => Ok((Layer::Ethernet, from(inside, 8)?)),
        4790 => match (byte(inside, 0)? & 4, byte(inside, 3)?) {
            (0, _) | (_, 3) => Ok((Layer::Ethernet, from(inside, 8)?)),
            (_, 1 | 2) => Ok((Layer::Ip, from(inside, 8)?)),
            (_, 4) => nsh(from(inside, 8)?),
            _ => Err(Other::NoTcp),
        },
        // Geneve (RFC 8926).
        6081 => {
            let options = usize::from(byte(inside, 0)? & 0x3f) * 4;
            Ok((Layer::Type(half(inside, 2)?), from(inside, 8 + options)?))
        }
        2152 => gtp(inside),
        6635 => mpls(inside),
        1701 => l2tp(inside),
        // Teredo.
        3544 if byte(inside, 0)? >> 4 == 6 => Ok((Layer::Ip, inside)),
        4500 if inside.get(..4) != Some(&[0; 4]) => Err(Other::Inside(Why::Ipsec)),
        51820 => Err(Other::Inside(Why::Wireguard)),
        5247 => Err(Other::Inside(Why::Capwap)),
        // RFC 9000 section 17: the fixed bit, always set.
        443 if byte(inside, 0)? & 0x40 != 0 => Err(Other::Quic),
        _ if source == 443 && byte(inside, 0)? & 0x40 != 0 => Err(Other::Quic),
        _ => Err(Other::NoTcp),
    }
}

/// GTP-U, version 1: user traffic within a mobile network.
fn gtp(inside: &[u8]) -> Inside<'_> {
    let (flags, kind) = (byte(inside, 0)?, byte(inside, 1)?);
    if flags >> 5 != 1 || kind != 0xff {
        return Err(Other::NoTcp);
    }
    let [extension, sequence, number] = [4, 2, 1].map(|flag| flags & flag != 0);
    let mut at = if extension || sequence || number { 12 } else { 8 };
    let mut next = if extension { byte(inside, 11)? } else { 0 };
    while next != 0 {
        let length = usize::from(byte(inside, at)?) * 4;
        if length == 0 {
            return Err(Other::NoTcp);
        }
        next = byte(inside, at + length - 1)?;
        at += length;
    }
    Ok((Layer::Ip, from(inside, at)?))
}

/// L2TP, version 2: data messages carry PPP.
fn l2tp(inside: &[u8]) -> Inside<'_> {
    let flags = half(inside, 0)?;
    let [control, length, sequence, offset] =
        [0x8000, 0x4000, 0x0800, 0x0200].map(|flag| flags & flag != 0);
    if control || flags & 15 != 2 {
        return Err(Other::NoTcp);
    }
    let mut at = 6 + if length { 2 } else { 0 } + if sequence { 4 } else { 0 };
    if offset {
        at += 2 + usize::from(half(inside, at)?);
    }
    Ok((Layer::Ppp, from(inside, at)?))
}

/// An IP packet: its endpoints, its stated length and its payload.
struct Packet<'a> {
    /// Starts at the IP header.
    whole: &'a [u8],
    ends: [IpAddr; 2],
    way: Ip,
    /// Stated length; 0 if none is stated.
    stated: u32,
    payload: &'a [u8],
}

fn ip(rest: &[u8]) -> Result<(Packet<'_>, IpNumber), Other> {
    let (packet, _) = LaxIpSlice::from_slice(rest)
        .map_err(|_| if rest.len() < 40 { Other::Cut } else { Other::NoTcp })?;
    let (ends, stated, way) = match &packet {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            let ends = [header.source_addr().into(), header.destination_addr().into()];
            let way = Ip { ttl: header.ttl(), id: Some(header.identification()) };
            (ends, u32::from(header.total_len()), way)
        }
        LaxIpSlice::Ipv6(ip) => {
            let header = ip.header();
            let ends = [header.source_addr().into(), header.destination_addr().into()];
            let stated = match header.payload_length() {
                0 => 0,
                length => u32::from(length) + 40,
            };
            (ends, stated, Ip { ttl: header.hop_limit(), id: None })
        }
    };
    let payload = packet.payload();
    if payload.fragmented {
        return Err(Other::Fragment);
    }
    let number = payload.ip_number;
    Ok((Packet { whole: rest, ends, way, stated, payload: payload.payload }, number))
}

fn ip_payload(number: IpNumber, payload: &[u8]) -> Inside<'_> {
    match number.0 {
        4 | 41 | 94 => Ok((Layer::Ip, payload)),
        17 => Ok((Layer::Udp, payload)),
        47 => Ok((Layer::Gre, payload)),
        137 => mpls(payload),
        // Ethernet in IP (RFC 3378), and after a segment routing header (RFC 8986).
        97 => Ok((Layer::Ethernet, from(payload, 2)?)),
        143 => Ok((Layer::Ethernet, payload)),
        50 => Err(Other::Inside(Why::Ipsec)),
        108 => Err(Other::Inside(Why::Compressed)),
        115 => Err(Other::Inside(Why::L2tp3)),
        _ => Err(Other::NoTcp),
    }
}

fn segment(now: Time, packet: &Packet, data: &[u8], original: u32) -> Result<Frame, Other> {
    let place = |bytes: &[u8]| bytes.as_ptr() as usize - data.as_ptr() as usize;
    let (before, tcp) = (place(packet.whole), packet.payload);
    // A segment that the network card was to cut may state no length; its length is then that of
    // the captured packet.
    let length = match packet.stated {
        0 => original.saturating_sub(before as u32),
        stated => stated,
    };
    let ip_header = (place(tcp) - before) as u32;
    let [from, to] = packet.ends;
    Ok(Frame {
        from: Endpoint { address: from, port: half(tcp, 0)? },
        to: Endpoint { address: to, port: half(tcp, 2)? },
        segment: Segment::parse(now, ip_header, length, tcp).ok_or(Other::Cut)?,
        ip: packet.way,
    })
}
