//! One object from sender to receiver, through a link, by the kernel's TCP: how long it took and
//! what it cost.
//!
//! The sender writes as fast as the socket takes it and is asked ten thousand times a second how
//! far it is. That is how exactly the end is known; times count from just before the first byte was
//! written, with the connection established.

use crate::link::{LinkEmulator, LinkOptions, Report};
use crate::sys::tcp_info;
use firstflight_path::Error;
use firstflight_path::Path;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, getsockopt, setsockopt, socket,
    sockopt::TcpCongestion,
};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const PORT: u16 = 5001;
/// How often the sender is asked.
const ASK: Duration = Duration::from_micros(100);
/// Bytes of a write.
const CHUNK: usize = 1 << 16;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The path between sender and receiver.
    pub path: &'a Path,
    /// Seed and MTU.
    pub options: LinkOptions,
    /// Size of the object, bytes.
    pub bytes: u64,
    /// The sender's congestion controller, by the kernel's name.
    pub controller: &'a str,
    /// When to give up.
    pub limit: Duration,
    /// Settings of the receiver's namespace: names below `/proc/sys`, and values.
    pub receiver: &'a [(String, String)],
}

/// What the kernel says about the sender at one moment. What it does not know is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Since the first byte was written.
    pub at: Duration,
    /// 0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss.
    pub state: u8,
    /// Segment size, bytes.
    pub mss: u32,
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Threshold, packets; 0x7fffffff if never set.
    pub ssthresh: u32,
    /// Packets in flight.
    pub inflight: u32,
    /// Smoothed RTT, microseconds.
    pub rtt_us: u32,
    /// Smallest RTT, microseconds.
    pub min_rtt_us: u32,
    /// Bytes per second that the sender is paced at.
    pub pacing_rate: u64,
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    /// Data packets sent, repeats included.
    pub packets_sent: u32,
    /// Of these, repeats.
    pub repeats: u32,
    /// Their bytes.
    pub bytes_repeated: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Packets not yet acknowledged, and bytes not yet sent.
    pending: (u32, u32),
}

impl Info {
    fn read(socket: &TcpStream, at: Duration) -> io::Result<Info> {
        let mut buffer = [0; 256];
        tcp_info(socket.as_fd(), &mut buffer)?;
        // Offsets of `struct tcp_info` in the kernel's interface, which only ever grows at the end.
        let word = |offset: usize| u32::from_ne_bytes(std::array::from_fn(|i| buffer[offset + i]));
        let long = |offset: usize| u64::from_ne_bytes(std::array::from_fn(|i| buffer[offset + i]));
        let (unacked, sacked, lost, retrans) = (word(24), word(28), word(32), word(36));
        Ok(Info {
            at,
            state: buffer[1],
            mss: word(16),
            cwnd: word(80),
            ssthresh: word(76),
            inflight: unacked.saturating_sub(sacked + lost) + retrans,
            rtt_us: word(68),
            min_rtt_us: word(148),
            pacing_rate: long(104),
            bytes_acked: long(120),
            packets_sent: word(156),
            repeats: word(100),
            bytes_repeated: long(208),
            timeouts: word(240) & 0xffff,
            pending: (unacked, word(144)),
        })
    }

    /// Everything written was acknowledged.
    fn idle(&self) -> bool {
        self.pending == (0, 0)
    }
}

/// What the sender's namespace counted over the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Repeats that the kernel found lost again (`TCPLostRetransmit`).
    pub lost_repeats: u64,
    /// Fast recoveries begun (`TCPSackRecovery`, `TCPRenoRecovery`).
    pub recoveries: u64,
    /// Reductions taken back (`TCPFullUndo`, `TCPPartialUndo`, `TCPDSACKUndo`, `TCPLossUndo`).
    pub undone: u64,
}

impl Counters {
    fn read(link: &LinkEmulator) -> Counters {
        let text = link
            .sender()
            .run(|| fs::read_to_string("/proc/thread-self/net/netstat"))
            .ok()
            .and_then(Result::ok)
            .unwrap_or_default();
        Counters::parse(&text)
    }

    /// A line of names, and one of values under them.
    fn parse(text: &str) -> Counters {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        let sum = |wanted: &[&str]| {
            let pairs = names.split_whitespace().zip(values.split_whitespace());
            pairs
                .filter(|(name, _)| wanted.contains(name))
                .filter_map(|(_, value)| value.parse::<u64>().ok())
                .sum()
        };
        Counters {
            lost_repeats: sum(&["TCPLostRetransmit"]),
            recoveries: sum(&["TCPSackRecovery", "TCPRenoRecovery"]),
            undone: sum(&["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"]),
        }
    }
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Every byte was acknowledged within the limit.
    pub complete: bool,
    /// From the first byte written until every byte was acknowledged at the sender, or until the
    /// limit.
    pub acked_after: Duration,
    /// Until the last byte was read at the receiver; `None` if it was not.
    pub delivered_after: Option<Duration>,
    /// Bytes read at the receiver.
    pub delivered: u64,
    /// The sender's last word.
    pub last: Info,
    /// What its namespace counted.
    pub counters: Counters,
    /// What the link did.
    pub link: Report,
}

/// Runs a trial; `observe` sees the sender about ten thousand times a second.
///
/// # Errors
/// If the link or the controller is not to be had.
pub fn run(trial: &Trial<'_>, mut observe: impl FnMut(&Info)) -> Result<Measured, Error> {
    let failed = |what: &str, error: &io::Error| Error::new(format!("{what}: {error}"));
    let link = LinkEmulator::start(trial.path, trial.options)?;
    for (name, value) in trial.receiver {
        link.receiver().set_sysctl(name, value)?;
    }
    let listener = link.receiver().run(|| TcpListener::bind((link.receiver().address(), PORT)))?;
    let listener = listener.map_err(|error| failed("listening behind the link", &error))?;
    let sender = link.sender().run(|| establish(trial.controller, link.receiver().address()))??;
    let (receiver, _) =
        listener.accept().map_err(|error| failed("accepting behind the link", &error))?;

    let start = Instant::now();
    let written = AtomicBool::new(false);
    let (last, complete, (delivered, delivered_after)) = thread::scope(|scope| {
        let reading = scope.spawn(|| read_all(&receiver, trial.bytes, start));
        let writing = scope.spawn(|| {
            write_all(&sender, trial.bytes);
            written.store(true, Ordering::Release);
        });
        let mut last = Info::default();
        let mut complete = false;
        while start.elapsed() < trial.limit {
            let all_written = written.load(Ordering::Acquire);
            match Info::read(&sender, start.elapsed()) {
                Ok(info) => last = info,
                Err(_) => break,
            }
            observe(&last);
            complete = all_written && last.idle();
            if complete {
                break;
            }
            thread::sleep(ASK);
        }
        // Ends whoever is still at it; the reader has everything when the sender has every
        // acknowledgement.
        let _ = sender.shutdown(Shutdown::Both);
        if !complete {
            let _ = receiver.shutdown(Shutdown::Both);
        }
        let _ = writing.join();
        (last, complete, reading.join().unwrap_or((0, None)))
    });
    let counters = Counters::read(&link);
    drop((sender, receiver, listener));
    Ok(Measured {
        complete,
        acked_after: last.at,
        delivered_after,
        delivered,
        last,
        counters,
        link: link.stop(),
    })
}

/// A connection from the calling thread's namespace with this controller from its first packet on.
fn establish(controller: &str, to: Ipv4Addr) -> Result<TcpStream, Error> {
    let failed = |error: nix::Error| Error::new(format!("connecting through the link: {error}"));
    let fd: OwnedFd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(failed)?;
    let name = OsString::from(controller);
    setsockopt(&fd, TcpCongestion, &name).map_err(|_| {
        Error::new(format!("controller `{controller}`: not available in this kernel"))
    })?;
    let chosen = getsockopt(&fd, TcpCongestion).map_err(failed)?;
    if chosen.to_string_lossy().trim_end_matches('\0') != controller {
        return Err(Error::new(format!(
            "controller `{controller}`: the socket has `{}` instead",
            chosen.to_string_lossy()
        )));
    }
    connect(std::os::fd::AsRawFd::as_raw_fd(&fd), &SockaddrIn::from(SocketAddrV4::new(to, PORT)))
        .map_err(failed)?;
    Ok(TcpStream::from(fd))
}

fn write_all(mut stream: &TcpStream, bytes: u64) {
    let chunk = vec![0; CHUNK];
    let mut left = bytes;
    while left > 0 {
        match stream.write(&chunk[..left.min(CHUNK as u64) as usize]) {
            Ok(0) | Err(_) => return,
            Ok(len) => left -= len as u64,
        }
    }
}

/// How much came, and when the last byte of `bytes` did.
fn read_all(mut stream: &TcpStream, bytes: u64, start: Instant) -> (u64, Option<Duration>) {
    let mut chunk = vec![0; CHUNK];
    let mut got = 0;
    while got < bytes {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return (got, None),
            Ok(len) => got += len as u64,
        }
    }
    (got, Some(start.elapsed()))
}

#[cfg(test)]
mod tests;
