//! From a captured frame to a TCP segment: link layers, VLAN tags, IPv4 and IPv6, packets that were
//! cut short.

use crate::segment::Segment;
use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket};
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
    /// An address of this host alone.
    pub(super) fn is_loopback(&self) -> bool {
        self.address.is_loopback()
    }

    /// The same host, whatever the port.
    pub(super) fn is_host_of(&self, other: &Endpoint) -> bool {
        self.address == other.address
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// A segment, and between whom it went.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// Who sent it.
    pub from: Endpoint,
    /// To whom.
    pub to: Endpoint,
    /// What it says.
    pub segment: Segment,
    /// Of the IP header.
    pub ip: Ip,
    /// The TCP header is longer than what was kept of it.
    pub cut: bool,
}

/// What an IP header tells of a packet's way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ip {
    /// Hops that it may still take.
    pub ttl: u8,
    /// Identification; IPv6 has none.
    pub id: Option<u16>,
}

const ETHERNET: i32 = 1;
/// Link types whose frames begin with the IP header.
const RAW: [i32; 5] = [12, 14, 101, 228, 229];

/// The TCP segment in a frame of `original` bytes, of which `data` was captured; none if there is
/// no TCP header in it.
pub(super) fn frame(now: Time, link: i32, data: &[u8], original: u32) -> Option<Frame> {
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
    let (from, to, start, stated, payload, ttl, id) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let stated = u32::from(header.total_len());
            (
                header.source_addr().into(),
                header.destination_addr().into(),
                header.slice().as_ptr(),
                stated,
                ip.payload(),
                header.ttl(),
                Some(header.identification()),
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
            (
                addresses.0,
                addresses.1,
                header.slice().as_ptr(),
                stated,
                ip.payload(),
                header.hop_limit(),
                None,
            )
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
    let port = |at: usize| tcp.get(at..at + 2).map(|port| u16::from_be_bytes([port[0], port[1]]));
    Some(Frame {
        from: Endpoint { address: from, port: port(0)? },
        to: Endpoint { address: to, port: port(2)? },
        segment: Segment::parse(now, ip_header, length, tcp)?,
        ip: Ip { ttl, id },
        cut: tcp.get(12).is_some_and(|offset| tcp.len() < usize::from(offset >> 4) * 4),
    })
}

fn cooked(data: &[u8], kind: usize, header: usize) -> Option<LaxSlicedPacket<'_>> {
    let protocol = u16::from_be_bytes([*data.get(kind)?, *data.get(kind + 1)?]);
    Some(LaxSlicedPacket::from_ether_type(EtherType(protocol), data.get(header..)?))
}
