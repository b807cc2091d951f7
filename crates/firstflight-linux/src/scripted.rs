//! The kernel's TCP with a scripted peer: a socket in its own namespace, and a TUN device from
//! which every segment of the socket is read and into which any segment can be written.
//!
//! The peer has no TCP stack: its user writes every segment. It reaches nothing outside the
//! namespace, and everything is removed when it is dropped.

use crate::namespace::Namespace;
use crate::sys::tcp_info;
use crate::trial::{SocketOptions, choose, connected};
use crate::tun::Tun;
use firstflight_path::Error;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const PREFIX: u32 = 30;
const MTU: u32 = 1500;
/// The kernel's port when it listens, and the peer's port when the kernel connects.
const SERVER_PORT: u16 = 8080;
const CLIENT_PORT: u16 = 40_000;
/// The kernel's clock ticks once per millisecond: its answers leave well before the next tick.
const AT_ONCE: Duration = Duration::from_micros(300);
const IPV4_BYTES: usize = 20;
const TCP_BYTES: usize = 20;

/// The header fields of a segment that scripts use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// SYN is set.
    pub syn: bool,
    /// FIN is set.
    pub fin: bool,
    /// ECE is set.
    pub ece: bool,
    /// CWR is set.
    pub cwr: bool,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: Option<u32>,
    /// Window, as the value in the header.
    pub window: u16,
    /// Payload bytes.
    pub len: u32,
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// SACK is permitted.
    pub sack_ok: bool,
    /// Window scale shift.
    pub scale: Option<u8>,
    /// Timestamp and echo.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: Vec<(u32, u32)>,
}

/// A kernel connection whose peer is scripted.
#[derive(Debug)]
pub struct Peer {
    namespace: Namespace,
    tun: Tun,
    /// A whole millisecond of the kernel's clock, so that its timestamps tick with [`Peer::now`].
    start: Duration,
    listener: Option<TcpListener>,
    stream: Option<TcpStream>,
    connecting: Option<Receiver<io::Result<TcpStream>>>,
    congestion: String,
    /// The kernel's port.
    port: u16,
    client: u16,
    buffer: Vec<u8>,
}

impl Peer {
    /// Creates the namespace with these sysctls, and in it a listening socket with this congestion
    /// control. Time starts here.
    ///
    /// # Errors
    /// A one-line message about missing privilege, or about a feature that this kernel lacks.
    pub fn open(congestion: &str, sysctls: &[(&str, String)]) -> Result<Peer, Error> {
        let (namespace, tun) = Namespace::create(KERNEL, || Tun::create(KERNEL, PREFIX, MTU))?;
        for (name, value) in sysctls {
            namespace.set_sysctl(name, value)?;
        }
        let listener = namespace
            .run(|| TcpListener::bind(SocketAddrV4::new(KERNEL, SERVER_PORT)))?
            .map_err(|error| Error::new(format!("a listening socket: {error}")))?;
        choose(&listener, congestion)?;
        listener
            .set_nonblocking(true)
            .map_err(|error| Error::new(format!("a listening socket: {error}")))?;
        Ok(Peer {
            namespace,
            tun,
            start: Duration::from_millis(clock().as_millis() as u64),
            listener: Some(listener),
            stream: None,
            connecting: None,
            congestion: congestion.to_owned(),
            port: SERVER_PORT,
            client: CLIENT_PORT,
            buffer: vec![0; 65_536],
        })
    }

    /// Time since the start.
    pub fn now(&self) -> Duration {
        clock().saturating_sub(self.start)
    }

    /// The next segment that the kernel sends until `until`, and the time at which it was read.
    pub fn receive(&mut self, until: Duration) -> Option<(Duration, Header)> {
        loop {
            if let Some(len) = self.tun.receive(&mut self.buffer) {
                let at = self.now();
                if let Some((ports, header)) = read(&self.buffer[..len])
                    && (self.connecting.is_some() || ports == (self.port, self.client))
                {
                    if self.connecting.is_some() && header.syn {
                        (self.port, self.client) = ports;
                    }
                    return Some((at, header));
                }
                continue;
            }
            let left = until.saturating_sub(self.now());
            if left.is_zero() {
                return None;
            }
            let mut fds = [PollFd::new(self.tun.as_fd(), PollFlags::POLLIN)];
            let _ = ppoll(&mut fds, Some(TimeSpec::from_duration(left)), None);
        }
    }

    /// Delivers a segment to the kernel.
    ///
    /// # Errors
    /// If the device does not accept it.
    pub fn inject(&mut self, header: &Header) -> io::Result<()> {
        let packet = packet(header, self.client, self.port);
        if self.tun.send(&packet) {
            return Ok(());
        }
        Err(io::Error::other("the device did not take the segment"))
    }

    /// The application accepts the connection.
    ///
    /// # Errors
    /// If there is none within a second.
    pub fn accept(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let begun = Instant::now();
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    self.stream = Some(stream);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if begun.elapsed() > Duration::from_secs(1) {
                        return Err(error);
                    }
                    thread::sleep(Duration::from_micros(100));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The application starts a connection to the peer. It is established once the handshake is
    /// complete.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn connect(&mut self) -> io::Result<()> {
        let (tell, told) = channel();
        let (path, congestion) = (self.namespace.path(), self.congestion.clone());
        thread::Builder::new().name("connect".into()).spawn(move || {
            let connect = || {
                let namespace = std::fs::File::open(path)?;
                nix::sched::setns(namespace, nix::sched::CloneFlags::CLONE_NEWNET)?;
                let other = |error: Error| io::Error::other(error.to_string());
                connected(&congestion, SocketOptions::default(), PEER, SERVER_PORT).map_err(other)
            };
            let _ = tell.send(connect());
        })?;
        self.connecting = Some(told);
        Ok(())
    }

    fn stream(&mut self) -> io::Result<&TcpStream> {
        if let Some(told) = &self.connecting
            && self.stream.is_none()
        {
            let stream = match told.recv_timeout(Duration::from_secs(1)) {
                Ok(stream) => stream?,
                Err(_) => return Err(io::Error::other("the connection is not established")),
            };
            stream.set_nonblocking(true)?;
            self.stream = Some(stream);
        }
        if self.stream.is_none() {
            self.accept()?;
        }
        self.stream.as_ref().ok_or_else(|| io::Error::other("no connection"))
    }

    /// The application writes this many bytes.
    ///
    /// # Errors
    /// If the socket's buffer does not accept them.
    pub fn write(&mut self, bytes: u64) -> io::Result<()> {
        let zeros = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX).min(64 << 20)];
        let wrote = self.stream()?.write(&zeros)?;
        if wrote as u64 == bytes {
            return Ok(());
        }
        Err(io::Error::other(format!("the socket took {wrote} of {bytes} bytes")))
    }

    /// Disables or enables Nagle's algorithm.
    ///
    /// # Errors
    /// Errors of the socket.
    pub fn no_delay(&mut self, on: bool) -> io::Result<()> {
        self.stream()?.set_nodelay(on)
    }

    /// The kernel's information on the connection; `None` before there is one.
    pub fn info(&self) -> Option<TcpInfo> {
        // The kernel may still be processing the segment just written to the device.
        thread::sleep(AT_ONCE);
        self.info_at_once()
    }

    /// Like [`Peer::info`], without a pause: an ACK is fully processed before [`Peer::inject`]
    /// returns.
    pub fn info_at_once(&self) -> Option<TcpInfo> {
        if let Some(told) = &self.connecting
            && self.stream.is_none()
            && !matches!(told.try_recv(), Err(TryRecvError::Empty))
        {
            return None;
        }
        let mut bytes = vec![0; 512];
        let len = tcp_info(self.stream.as_ref()?.as_fd(), &mut bytes).ok()?;
        bytes.truncate(len);
        Some(TcpInfo(bytes))
    }
}

/// The kernel's `tcp_info` of a connection.
#[derive(Clone, Debug)]
pub struct TcpInfo(Vec<u8>);

impl TcpInfo {
    /// A field by its name without `tcpi_`; `None` if scripts do not use that field or this kernel
    /// lacks it.
    pub fn field(&self, name: &str) -> Option<i64> {
        // Offsets of the kernel's interface, which grows only at the end.
        let (offset, bytes) = match name {
            "state" => (0, 1),
            "ca_state" => (1, 1),
            "retransmits" => (2, 1),
            "probes" => (3, 1),
            "backoff" => (4, 1),
            "rto" => (8, 4),
            "snd_mss" => (16, 4),
            "rcv_mss" => (20, 4),
            "unacked" => (24, 4),
            "sacked" => (28, 4),
            "lost" => (32, 4),
            "retrans" => (36, 4),
            "rtt" => (68, 4),
            "rttvar" => (72, 4),
            "snd_ssthresh" => (76, 4),
            "snd_cwnd" => (80, 4),
            "advmss" => (84, 4),
            "reordering" => (88, 4),
            "total_retrans" => (100, 4),
            "min_rtt" => (148, 4),
            "delivered" => (192, 4),
            "delivered_ce" => (196, 4),
            "dsack_dups" => (216, 4),
            "reord_seen" => (220, 4),
            _ => return None,
        };
        let bytes = self.0.get(offset..offset + bytes)?;
        Some(match *bytes {
            [byte] => i64::from(byte),
            [a, b, c, d] => i64::from(u32::from_ne_bytes([a, b, c, d])),
            _ => return None,
        })
    }
}

/// The clock that the kernel's TCP uses.
fn clock() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}

/// Ones' complement sum over 16-bit words.
fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks();
    let words: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    words + rest.first().map_or(0, |byte| u32::from(*byte) << 8)
}

fn checksum(sum: u32) -> [u8; 2] {
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    (!(folded as u16)).to_be_bytes()
}

/// A segment from the peer as an IPv4 packet.
fn packet(header: &Header, from_port: u16, to_port: u16) -> Vec<u8> {
    let options = options(header);
    let tcp_bytes = TCP_BYTES + options.len();
    let len = IPV4_BYTES + tcp_bytes + header.len as usize;
    let mut ip = vec![0; IPV4_BYTES];
    (ip[0], ip[8], ip[9]) = (0x45, 64, 6);
    ip[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    ip[12..16].copy_from_slice(&PEER.octets());
    ip[16..20].copy_from_slice(&KERNEL.octets());
    let own = checksum(sum(&ip));
    ip[10..12].copy_from_slice(&own);

    let mut tcp = vec![0; TCP_BYTES];
    tcp[0..2].copy_from_slice(&from_port.to_be_bytes());
    tcp[2..4].copy_from_slice(&to_port.to_be_bytes());
    tcp[4..8].copy_from_slice(&header.seq.to_be_bytes());
    tcp[8..12].copy_from_slice(&header.ack.unwrap_or(0).to_be_bytes());
    tcp[12] = (tcp_bytes as u8 / 4) << 4;
    let flags = [
        (header.fin, 0x01),
        (header.syn, 0x02),
        (header.len > 0, 0x08),
        (header.ack.is_some(), 0x10),
        (header.ece, 0x40),
        (header.cwr, 0x80),
    ];
    tcp[13] = flags.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum();
    tcp[14..16].copy_from_slice(&header.window.to_be_bytes());
    tcp.extend(options);
    tcp.resize(tcp_bytes + header.len as usize, 0);
    let pseudo = sum(&ip[12..20]) + 6 + tcp.len() as u32;
    let own = checksum(pseudo + sum(&tcp));
    tcp[16..18].copy_from_slice(&own);
    ip.extend(tcp);
    ip
}

fn options(header: &Header) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(mss) = header.mss {
        options.extend([2, 4]);
        options.extend(mss.to_be_bytes());
    }
    if header.sack_ok {
        options.extend([4, 2]);
    }
    if let Some((value, echo)) = header.stamps {
        options.extend([8, 10]);
        options.extend(value.to_be_bytes());
        options.extend(echo.to_be_bytes());
    }
    if let Some(scale) = header.scale {
        options.extend([3, 3, scale]);
    }
    let room = (40 - options.len().next_multiple_of(2)).saturating_sub(4) / 8;
    let blocks = &header.sacks[..header.sacks.len().min(room)];
    if !blocks.is_empty() {
        options.extend([5, 2 + 8 * blocks.len() as u8]);
        for (from, to) in blocks {
            options.extend(from.to_be_bytes());
            options.extend(to.to_be_bytes());
        }
    }
    // NOP options fill up to the next word.
    options.resize(options.len().next_multiple_of(4), 1);
    options
}

/// Ports (source, destination) and header of a TCP segment in an IPv4 packet.
fn read(packet: &[u8]) -> Option<((u16, u16), Header)> {
    let ip = usize::from(packet.first()? & 15) * 4;
    if packet[0] >> 4 != 4 || ip < IPV4_BYTES || packet.get(9) != Some(&6) {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let tcp = packet.get(ip..total.min(packet.len()))?;
    let half = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
    let word = |at: usize| Some((u32::from(half(at)?) << 16) | u32::from(half(at + 2)?));
    let bytes = usize::from(tcp.get(12)? >> 4) * 4;
    let (ports, flags) = ((half(0)?, half(2)?), *tcp.get(13)?);
    let mut header = Header {
        fin: flags & 0x01 != 0,
        syn: flags & 0x02 != 0,
        ece: flags & 0x40 != 0,
        cwr: flags & 0x80 != 0,
        seq: word(4)?,
        ack: (flags & 0x10 != 0).then(|| word(8)).flatten(),
        window: half(14)?,
        len: tcp.len().checked_sub(bytes)? as u32,
        ..Header::default()
    };
    let mut rest = tcp.get(TCP_BYTES..bytes)?;
    while let [kind, tail @ ..] = rest {
        let len = match kind {
            0 => break,
            1 => 1,
            _ => usize::from(*tail.first()?).max(2),
        };
        let option = rest.get(..len)?;
        match *option {
            [2, 4, a, b] => header.mss = Some(u16::from_be_bytes([a, b])),
            [4, 2] => header.sack_ok = true,
            [3, 3, scale] => header.scale = Some(scale),
            [8, 10, a, b, c, d, e, f, g, h] => {
                let value = u32::from_be_bytes([a, b, c, d]);
                header.stamps = Some((value, u32::from_be_bytes([e, f, g, h])));
            }
            _ => {}
        }
        rest = &rest[len..];
    }
    Some((ports, header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_read_as_it_was_written_and_its_checksums_hold() {
        let header = Header {
            syn: true,
            ece: true,
            seq: 7,
            ack: Some(u32::MAX),
            window: 9,
            len: 3,
            mss: Some(1000),
            sack_ok: true,
            scale: Some(7),
            stamps: Some((1, 2)),
            ..Header::default()
        };
        let bytes = packet(&header, 5, 6);
        assert_eq!(read(&bytes), Some(((5, 6), header)));
        assert_eq!(checksum(sum(&bytes[..20])), [0, 0], "the IP checksum of a whole header is 0");
        let pseudo = sum(&bytes[12..20]) + 6 + (bytes.len() as u32 - 20);
        assert_eq!(checksum(pseudo + sum(&bytes[20..])), [0, 0], "so is TCP's");
    }

    /// The kernel answers a SYN, accepts data from the peer, and advertises its window.
    #[test]
    fn the_kernel_speaks_with_a_scripted_peer() {
        let mut peer = match Peer::open("reno", &[]) {
            Ok(peer) => peer,
            Err(why) => {
                eprintln!("skipped: {why}");
                return;
            }
        };
        let soon = |peer: &Peer| peer.now() + Duration::from_secs(2);
        let syn = Header {
            syn: true,
            window: 65_535,
            mss: Some(1000),
            sack_ok: true,
            ..Header::default()
        };
        peer.inject(&syn).expect("a SYN");
        let until = soon(&peer);
        let (_, answer) = peer.receive(until).expect("its answer");
        assert!(answer.syn && answer.ack == Some(1) && answer.sack_ok, "{answer:?}");
        let first = answer.seq.wrapping_add(1);
        let ack = Header { seq: 1, ack: Some(first), window: 65_535, ..Header::default() };
        peer.inject(&ack).expect("an ACK");
        peer.accept().expect("a connection");
        peer.write(20_000).expect("room for it");
        let until = soon(&peer);
        let mut sent = 0;
        while sent < 10_000 {
            let (_, data) = peer.receive(until).expect("a window of data");
            assert_eq!(data.seq, first.wrapping_add(sent), "in order");
            sent += data.len;
        }
        let info = peer.info().expect("an open connection");
        assert_eq!((info.field("snd_cwnd"), info.field("unacked")), (Some(10), Some(10)));
    }
}
