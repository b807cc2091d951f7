//! From a captured frame to a TCP segment: link layers, VLAN tags, IPv4 and IPv6, packets that were
//! cut short.

use etherparse::{
    EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpOptionsIterator,
};
use firstflight::Time;
use std::fmt;
use std::net::IpAddr;

/// Address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Endpoint {
    address: IpAddr,
    port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// One TCP segment, of which the payload itself is of no interest.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// When it was captured.
    pub now: Time,
    /// Who sent it.
    pub from: Endpoint,
    /// To whom.
    pub to: Endpoint,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// What it acknowledges.
    pub ack: u32,
    /// Flags.
    pub syn: bool,
    /// It acknowledges.
    pub has_ack: bool,
    /// The last of its direction.
    pub fin: bool,
    /// The end of it all.
    pub rst: bool,
    /// It echoes a congestion mark.
    pub ece: bool,
    /// The window field, unscaled.
    pub window: u16,
    /// Payload bytes, on the wire and not only in the file.
    pub payload: u32,
    /// Bytes of IP and TCP headers.
    pub headers: u32,
    /// Time stamp and echo.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: [Option<(u32, u32)>; 4],
    /// Option of a SYN.
    pub mss: Option<u16>,
    /// Option of a SYN.
    pub scale: Option<u8>,
}

const ETHERNET: i32 = 1;
/// Link types whose frames begin with the IP header.
const RAW: [i32; 5] = [12, 14, 101, 228, 229];

/// The TCP segment in a frame of `original` bytes, of which `data` was captured; none if there is
/// no TCP header in it.
pub(super) fn segment(now: Time, link: i32, data: &[u8], original: u32) -> Option<Segment> {
    let packet = match link {
        ETHERNET => LaxSlicedPacket::from_ethernet(data).ok()?,
        link if RAW.contains(&link) => LaxSlicedPacket::from_ip(data).ok()?,
        // BSD loopback: four bytes of address family, in either byte order; IP tells its version
        // itself.
        0 | 108 => LaxSlicedPacket::from_ip(data.get(4..)?).ok()?,
        // Linux "any" device, old and new.
        113 => cooked(data, 14, 16)?,
        276 => cooked(data, 0, 20)?,
        _ => return None,
    };
    // Where the IP header begins, its length on the wire as it says so, and what follows it.
    let (from, to, start, stated, payload) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let stated = u32::from(header.total_len());
            (
                header.source_addr().into(),
                header.destination_addr().into(),
                header.slice().as_ptr(),
                stated,
                ip.payload(),
            )
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let stated = match header.payload_length() {
                0 => 0,
                length => u32::from(length) + 40,
            };
            let addresses: (IpAddr, IpAddr) =
                (header.source_addr().into(), header.destination_addr().into());
            (addresses.0, addresses.1, header.slice().as_ptr(), stated, ip.payload())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    if payload.ip_number != IpNumber::TCP || payload.fragmented {
        return None;
    }
    let before = start as usize - data.as_ptr() as usize;
    // A segment that the network card was to cut up may state no length: then what was to be
    // captured is all there is.
    let length = if stated == 0 { original.saturating_sub(before as u32) } else { stated };
    let tcp = payload.payload;
    let ip_header = (tcp.as_ptr() as usize - start as usize) as u32;
    let word = |at: usize| {
        tcp.get(at..at + 4)
            .map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let half =
        |at: usize| tcp.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
    let flags = *tcp.get(13)?;
    let tcp_header = u32::from(tcp[12] >> 4) * 4;
    if tcp_header < 20 {
        return None;
    }
    let headers = ip_header + tcp_header;
    let mut segment = Segment {
        now,
        from: Endpoint { address: from, port: half(0)? },
        to: Endpoint { address: to, port: half(2)? },
        seq: word(4)?,
        ack: word(8)?,
        syn: flags & 0x02 != 0,
        has_ack: flags & 0x10 != 0,
        fin: flags & 0x01 != 0,
        rst: flags & 0x04 != 0,
        ece: flags & 0x40 != 0,
        window: half(14)?,
        payload: length.checked_sub(headers)?,
        headers,
        stamps: None,
        sacks: [None; 4],
        mss: None,
        scale: None,
    };
    // Options that the capture cut off are as if they were not there.
    let options = tcp.get(20..(tcp_header as usize).min(tcp.len())).unwrap_or(&[]);
    for option in TcpOptionsIterator::from_slice(options).map_while(Result::ok) {
        match option {
            TcpOptionElement::MaximumSegmentSize(mss) => segment.mss = Some(mss),
            TcpOptionElement::WindowScale(scale) => segment.scale = Some(scale.min(14)),
            TcpOptionElement::Timestamp(value, echo) => segment.stamps = Some((value, echo)),
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                segment.sacks = [Some(first), rest[0], rest[1], rest[2]];
            }
            _ => {}
        }
    }
    Some(segment)
}

fn cooked(data: &[u8], kind: usize, header: usize) -> Option<LaxSlicedPacket<'_>> {
    let protocol = u16::from_be_bytes([*data.get(kind)?, *data.get(kind + 1)?]);
    Some(LaxSlicedPacket::from_ether_type(EtherType(protocol), data.get(header..)?))
}
