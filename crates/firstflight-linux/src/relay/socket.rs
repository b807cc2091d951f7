//! A UDP socket that reads and sets the ECN field of each datagram.

use crate::link::packet::Packet;
use nix::cmsg_space;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass, RcvBuf, SndBuf};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, getsockopt, recvmsg, sendmsg,
    setsockopt,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Requested buffer size for unread datagrams; the system may grant less.
const BUFFER: usize = 8 << 20;
/// Bytes of a UDP header.
const UDP: usize = 8;
/// The two ECN bits.
const ECN: u8 = 0b11;

pub(super) struct Socket {
    socket: UdpSocket,
    /// IP and UDP header bytes of its datagrams.
    headers: usize,
}

pub(super) struct Received {
    pub(super) from: Option<SocketAddr>,
    pub(super) too_long: bool,
}

impl Socket {
    /// A socket at `address`.
    pub(super) fn bind(address: SocketAddr) -> io::Result<Socket> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        // A refused or reduced size is harmless: the report contains the granted size.
        let _ = setsockopt(&socket, RcvBuf, &BUFFER);
        let _ = setsockopt(&socket, SndBuf, &BUFFER);
        let told = if address.is_ipv4() {
            setsockopt(&socket, IpRecvTos, &true)
        } else {
            setsockopt(&socket, Ipv6RecvTClass, &true)
        };
        told?;
        Ok(Socket { socket, headers: headers(address) })
    }

    /// A socket at a free port that exchanges datagrams with `server` only.
    pub(super) fn towards(server: SocketAddr) -> io::Result<Socket> {
        let any = if server.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let socket = Socket::bind(SocketAddr::new(any, 0))?;
        socket.socket.connect(server)?;
        Ok(socket)
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Buffer size for unread datagrams, bytes.
    pub(super) fn buffer(&self) -> usize {
        getsockopt(&self.socket, RcvBuf).unwrap_or(0)
    }

    /// Reads one datagram into `packet`, after headers as they would be on a wire, so that a packet
    /// has the same length and can be marked as on any link; `owner` replaces the source address.
    /// Returns `None` if no datagram is waiting.
    pub(super) fn receive(&self, packet: &mut Packet) -> Option<Received> {
        let space = packet.space();
        let (head, body) = space.split_at_mut(self.headers);
        let mut control = cmsg_space!(i32);
        let (len, from, tos, cut) = {
            let mut parts = [IoSliceMut::new(body)];
            let message = recvmsg::<SockaddrStorage>(
                self.socket.as_raw_fd(),
                &mut parts,
                Some(&mut control),
                MsgFlags::empty(),
            )
            .ok()?;
            let tos =
                message.cmsgs().ok().into_iter().flatten().find_map(|message| match message {
                    ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
                    ControlMessageOwned::Ipv6TClass(class) => Some(class as u8),
                    _ => None,
                });
            (
                message.bytes,
                message.address.as_ref().and_then(address),
                tos,
                message.flags.contains(MsgFlags::MSG_TRUNC),
            )
        };
        head.fill(0);
        // IPv4 with enough option words to match the length of an IPv6 header; UDP.
        head[0] = 0x40 | ((self.headers - UDP) / 4) as u8;
        head[1] = tos.unwrap_or(0) & ECN;
        head[9] = 17;
        packet.set_len(self.headers + len);
        Some(Received { from, too_long: cut })
    }

    /// Sends the content of `packet`. Returns whether the system accepted it.
    pub(super) fn send(&self, packet: &Packet, to: Option<SocketAddr>) -> bool {
        let bytes = packet.bytes();
        let (tos, class) = (bytes[1] & ECN, i32::from(bytes[1] & ECN));
        let message = if self.headers == headers_of_v4() {
            ControlMessage::Ipv4Tos(&tos)
        } else {
            ControlMessage::Ipv6TClass(&class)
        };
        let messages = if tos == 0 { &[][..] } else { std::slice::from_ref(&message) };
        let to = to.map(SockaddrStorage::from);
        let parts = [IoSlice::new(&bytes[self.headers..])];
        sendmsg(self.socket.as_raw_fd(), &parts, messages, MsgFlags::empty(), to.as_ref()).is_ok()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

const fn headers_of_v4() -> usize {
    20 + UDP
}

/// IP and UDP header bytes towards `address`.
pub(super) fn headers(address: SocketAddr) -> usize {
    if address.is_ipv4() { headers_of_v4() } else { 40 + UDP }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}

/// The owner of a packet, stored in place of its source address.
pub(super) fn owner(packet: &Packet) -> u32 {
    let bytes = packet.bytes();
    u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]])
}

/// See [`owner`].
pub(super) fn set_owner(packet: &mut Packet, owner: u32) {
    packet.bytes_mut()[12..16].copy_from_slice(&owner.to_be_bytes());
}
