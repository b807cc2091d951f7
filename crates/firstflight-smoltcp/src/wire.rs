//! The TCP segment in a frame.

use smoltcp::phy::Medium;
use smoltcp::wire::{
    EthernetFrame, EthernetProtocol, IpAddress, IpProtocol, IpVersion, Ipv4Packet, Ipv6Packet,
    TcpPacket,
};

/// The fields of a TCP segment that are needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) source: (IpAddress, u16),
    pub(crate) destination: (IpAddress, u16),
    pub(crate) seq: u32,
    pub(crate) ack: Option<u32>,
    /// Bytes of payload.
    pub(crate) len: u32,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) window: u16,
}

/// The segment in a frame of this medium, if it is complete: no fragments, no extension headers,
/// nothing malformed.
pub(crate) fn segment(medium: Medium, frame: &[u8]) -> Option<Segment> {
    match medium {
        Medium::Ip => of_packet(frame),
        Medium::Ethernet => {
            let frame = EthernetFrame::new_checked(frame).ok()?;
            let carries_ip =
                matches!(frame.ethertype(), EthernetProtocol::Ipv4 | EthernetProtocol::Ipv6);
            carries_ip.then(|| of_packet(frame.payload()))?
        }
        #[expect(unreachable_patterns, reason = "other media exist only with features of smoltcp")]
        _ => None,
    }
}

fn of_packet(packet: &[u8]) -> Option<Segment> {
    // `of_packet` of smoltcp 0.14 panics on empty input.
    packet.first()?;
    match IpVersion::of_packet(packet).ok()? {
        IpVersion::Ipv4 => {
            let ip = Ipv4Packet::new_checked(packet).ok()?;
            let whole = ip.frag_offset() == 0 && !ip.more_frags();
            let tcp = ip.next_header() == IpProtocol::Tcp && whole;
            tcp.then(|| of_tcp(ip.src_addr().into(), ip.dst_addr().into(), ip.payload()))?
        }
        IpVersion::Ipv6 => {
            let ip = Ipv6Packet::new_checked(packet).ok()?;
            let tcp = ip.next_header() == IpProtocol::Tcp;
            tcp.then(|| of_tcp(ip.src_addr().into(), ip.dst_addr().into(), ip.payload()))?
        }
    }
}

fn of_tcp(source: IpAddress, destination: IpAddress, bytes: &[u8]) -> Option<Segment> {
    let tcp = TcpPacket::new_checked(bytes).ok()?;
    Some(Segment {
        source: (source, tcp.src_port()),
        destination: (destination, tcp.dst_port()),
        seq: tcp.seq_number().0 as u32,
        ack: tcp.ack().then(|| tcp.ack_number().0 as u32),
        len: u32::try_from(tcp.payload().len()).ok()?,
        syn: tcp.syn(),
        fin: tcp.fin(),
        window: tcp.window_len(),
    })
}
