//! Transfers of objects from sender to receiver through a link by the kernel's TCP: their times and
//! their cost.
//!
//! A sender writes as fast as the socket accepts data and is queried ten thousand times a second;
//! that is the accuracy of its end time. Times count from just before the first byte was written,
//! on an established connection. With several flows, all connections are established before the
//! first flow writes, so that no handshake meets another flow's queue. External programs connect at
//! their own time: their times count from the start of the client, and only the client's output is
//! known.

use crate::counters::TcpCounters;
use crate::link::{LinkEmulator, LinkOptions, Report};
use crate::sys::{max_pacing_rate, rto_max, set_receive_buffer, tcp_info, window_clamp};
use firstflight_path::Error;
use firstflight_path::{Path, Rwnd};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, getsockopt, setsockopt, socket,
    sockopt::TcpCongestion,
};
pub use programs::Programs;
use programs::{Fetched, Pair};
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};
use transfer::{read_all, write_all};

const PORT: u16 = 5001;
/// Interval between queries of the sender.
const ASK: Duration = Duration::from_micros(100);
/// The second number of `tcp_rmem`.
const RMEM_DEFAULT: u64 = 131_072;

/// Options of a sending socket; by default it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// `SO_MAX_PACING_RATE`, bytes per second.
    pub max_rate: Option<u64>,
    /// `TCP_RTO_MAX_MS`, since Linux 6.15: 1 s to 120 s.
    pub rto_max: Option<Duration>,
}

/// Sender of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A socket of the kernel with this congestion controller, by the kernel's name.
    Controller(&'a str, SocketOptions),
    /// External programs.
    Programs(Programs<'a>),
}

/// Plan of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The path between sender and receiver.
    pub path: &'a Path,
    /// Seed and MTU.
    pub options: LinkOptions,
    /// Size of the object, bytes.
    pub bytes: u64,
    /// The sender.
    pub source: Source<'a>,
    /// Time limit.
    pub limit: Duration,
    /// Settings of the receiver's namespace: names below `/proc/sys`, and values.
    pub receiver: &'a [(String, String)],
}

/// The kernel's report on the sender at one moment. Unknown values are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Time since the first byte was written.
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
    /// Pacing rate, bytes per second.
    pub pacing_rate: u64,
    /// Bytes acknowledged.
    pub bytes_acked: u64,
    /// Data packets sent, retransmissions included.
    pub packets_sent: u32,
    /// Retransmitted packets.
    pub repeats: u32,
    /// Retransmitted bytes.
    pub bytes_repeated: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// For how long the receiver's window, and the send buffer, kept it from sending.
    pub rwnd_limited: Duration,
    /// See `rwnd_limited`.
    pub sndbuf_limited: Duration,
    /// Packets not yet acknowledged, and bytes not yet sent.
    pending: (u32, u32),
}

impl Info {
    fn read(socket: &TcpStream, at: Duration) -> io::Result<Info> {
        let mut buffer = [0; 256];
        tcp_info(socket.as_fd(), &mut buffer)?;
        // Offsets of `struct tcp_info` in the kernel's interface, which grows only at the end.
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
            rwnd_limited: Duration::from_micros(long(176)),
            sndbuf_limited: Duration::from_micros(long(184)),
            pending: (unacked, word(144)),
        })
    }

    /// Whether everything written is acknowledged.
    fn idle(&self) -> bool {
        self.pending == (0, 0)
    }
}

/// Counters of the sender's namespace over the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Retransmissions that the kernel found lost again (`TCPLostRetransmit`).
    pub lost_repeats: u64,
    /// Fast recoveries started (`TCPSackRecovery`, `TCPRenoRecovery`).
    pub recoveries: u64,
    /// Window reductions undone (`TCPFullUndo`, `TCPPartialUndo`, `TCPDSACKUndo`, `TCPLossUndo`).
    pub undone: u64,
}

impl Counters {
    /// Reads the counters; zeros if they cannot be read.
    fn read(link: &LinkEmulator) -> Counters {
        Counters::of(&link.sender().tcp_counters().unwrap_or_default())
    }

    fn of(counted: &TcpCounters) -> Counters {
        let sum =
            |names: &[&str]| -> u64 { names.iter().filter_map(|name| counted.get(name)).sum() };
        Counters {
            lost_repeats: sum(&["TCPLostRetransmit"]),
            recoveries: sum(&["TCPSackRecovery", "TCPRenoRecovery"]),
            undone: sum(&["TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo"]),
        }
    }
}

/// Result of a trial of one flow.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Whether every byte was acknowledged within the limit.
    pub complete: bool,
    /// Time from the first byte written until every byte was acknowledged at the sender, or until
    /// the limit.
    pub acked_after: Duration,
    /// Time until the last byte was read at the receiver; `None` if it was not.
    pub delivered_after: Option<Duration>,
    /// Bytes read at the receiver.
    pub delivered: u64,
    /// Last report on the sender.
    pub last: Info,
    /// Counters of its namespace.
    pub counters: Counters,
    /// Report of the link.
    pub link: Report,
}

/// Several flows through one link.
#[derive(Clone, Copy, Debug)]
pub struct Several<'a> {
    /// The path between senders and receivers.
    pub path: &'a Path,
    /// Seed and MTU.
    pub options: LinkOptions,
    /// The flows with their senders. If none of them ends, the trial takes the whole limit.
    pub flows: &'a [Flow<'a>],
    /// Time limit, counted from the first byte.
    pub limit: Duration,
    /// Settings of the receivers' namespace: names below `/proc/sys`, and values.
    pub receiver: &'a [(String, String)],
    /// Interval at which each flow's delivered bytes are recorded; zero records nothing.
    pub sample: Duration,
    /// Run to the time limit even if all flows finish earlier.
    pub whole: bool,
}

/// One flow of several.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'a> {
    /// The sender.
    pub source: Source<'a>,
    /// Size of the object, bytes; `None` for a flow without end, for which the trial does not wait.
    pub bytes: Option<u64>,
    /// When its first byte is written.
    pub start: Duration,
}

/// Outcome of one of several flows. Times count from its own first byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfFlow {
    /// Time of its first byte since the start of the trial; `None` if the trial ended earlier.
    pub start: Option<Duration>,
    /// Whether every byte was acknowledged within the limit.
    pub complete: bool,
    /// Time until every byte was acknowledged at the sender, or until the trial ended.
    pub acked_after: Duration,
    /// Time until the last byte was read at the receiver; `None` if it was not.
    pub delivered_after: Option<Duration>,
    /// Bytes read at the receiver.
    pub delivered: u64,
    /// Last report on the sender.
    pub last: Info,
}

/// Results of several flows.
#[derive(Clone, Debug)]
pub struct MeasuredSeveral {
    /// The flows' outcomes, in the order of the plan.
    pub flows: Vec<OfFlow>,
    /// Bytes of each flow read at each multiple of the sampling interval, zero included.
    pub delivered: Vec<Vec<u64>>,
    /// Counters of the senders' namespace, over all flows.
    pub counters: Counters,
    /// Report of the link.
    pub link: Report,
}

/// Runs a trial of one flow; `observe` receives the sender's state about ten thousand times a
/// second.
///
/// # Errors
/// If the link or the controller is not available.
pub fn run(trial: &Trial<'_>, mut observe: impl FnMut(&Info)) -> Result<Measured, Error> {
    let &Trial { path, options, bytes, source, limit, receiver } = trial;
    let flows = &[Flow { source, bytes: Some(bytes), start: Duration::ZERO }];
    let several =
        Several { path, options, flows, limit, receiver, sample: Duration::ZERO, whole: false };
    let MeasuredSeveral { flows, counters, link, .. } =
        run_several(&several, |_, info| observe(info))?;
    let flow = flows.first().copied().unwrap_or_default();
    let OfFlow { complete, acked_after, delivered_after, delivered, last, .. } = flow;
    Ok(Measured { complete, acked_after, delivered_after, delivered, last, counters, link })
}

/// Runs a trial of several flows; `observe` receives the state of each active sender about ten
/// thousand times a second.
///
/// # Errors
/// If the link or a controller is not available.
pub fn run_several(
    trial: &Several<'_>,
    mut observe: impl FnMut(usize, &Info),
) -> Result<MeasuredSeveral, Error> {
    let failed = |what: &str, error: &io::Error| Error::new(format!("{what}: {error}"));
    let link = LinkEmulator::start(trial.path, trial.options)?;
    for (name, value) in trial.receiver {
        link.receiver().set_sysctl(name, value)?;
    }
    if let Some(Rwnd::Auto(most)) = trial.path.rwnd() {
        let rmem = format!("4096 {} {most}", RMEM_DEFAULT.min(most));
        link.receiver().set_sysctl("net/ipv4/tcp_rmem", &rmem)?;
    }
    let to = link.receiver().address();
    let listener = link.receiver().run(|| TcpListener::bind((to, PORT)))?;
    let listener = listener.map_err(|error| failed("listening behind the link", &error))?;
    if let Some(Rwnd::Fixed(bytes)) = trial.path.rwnd() {
        // The kernel doubles the buffer, for overhead, and no longer tunes it; the clamp keeps the
        // window at its size where the overhead is smaller. New sockets take both from their
        // listener.
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        set_receive_buffer(listener.as_fd(), bytes)
            .and_then(|()| window_clamp(listener.as_fd(), bytes))
            .map_err(|error| failed("setting the receive window", &error))?;
    }
    let connect = |number: usize| {
        let flow = &trial.flows[number];
        let (controller, options) = match flow.source {
            Source::Controller(name, options) => (name, options),
            Source::Programs(programs) => {
                return Pair::start(programs, &link, number, flow.bytes).map(Ends::Programs);
            }
        };
        let sender = link.sender().run(|| establish(controller, options, to))??;
        let (receiver, _) =
            listener.accept().map_err(|error| failed("accepting behind the link", &error))?;
        let (written, read) = (AtomicBool::new(false), AtomicU64::new(0));
        let read_bps = trial.path.read_bps();
        Ok(Ends::Sockets(Sockets { sender, receiver, written, read, read_bps }))
    };
    let ends = (0..trial.flows.len()).map(connect).collect::<Result<Vec<_>, Error>>()?;
    let (flows, delivered) = thread::scope(|scope| transfer(scope, trial, &ends, &mut observe))?;
    let counters = Counters::read(&link);
    drop((ends, listener));
    Ok(MeasuredSeveral { flows, delivered, counters, link: link.stop() })
}

/// Both ends of a flow.
enum Ends<'a> {
    Sockets(Sockets),
    Programs(Pair<'a>),
}

impl Ends<'_> {
    /// Bytes that have arrived.
    fn read(&self) -> u64 {
        match self {
            Ends::Sockets(sockets) => sockets.read.load(Ordering::Relaxed),
            Ends::Programs(pair) => pair.read(),
        }
    }

    /// Receives data until it is complete or the trial ends it.
    fn receive(&self, bytes: Option<u64>, start: Instant) -> Fetched {
        match self {
            Ends::Sockets(sockets) => Fetched {
                after: read_all(&sockets.receiver, bytes, (&sockets.read, sockets.read_bps), start),
                failure: None,
            },
            Ends::Programs(pair) => pair.fetch(start),
        }
    }

    /// Ends the sockets or programs that are still active.
    fn end(&self, complete: bool) {
        match self {
            Ends::Sockets(sockets) => {
                let _ = sockets.sender.shutdown(Shutdown::Both);
                // When the sender has every acknowledgement, the reader has all data.
                if !complete {
                    let _ = sockets.receiver.shutdown(Shutdown::Both);
                }
            }
            Ends::Programs(pair) => pair.end(),
        }
    }
}

/// Both sockets of a flow, and the progress of its threads.
struct Sockets {
    sender: TcpStream,
    receiver: TcpStream,
    /// Whether everything was written.
    written: AtomicBool,
    /// Bytes read.
    read: AtomicU64,
    /// Rate at which they are read, bit/s; `None` is as fast as possible.
    read_bps: Option<u64>,
}

/// Starts the flows when they are due, queries their senders and ends them.
fn transfer<'scope>(
    scope: &'scope Scope<'scope, '_>,
    trial: &Several<'scope>,
    ends: &'scope [Ends<'scope>],
    observe: &mut impl FnMut(usize, &Info),
) -> Result<(Vec<OfFlow>, Vec<Vec<u64>>), Error> {
    let zero = Instant::now();
    let start_of = |flow: &Flow<'_>| zero + flow.start;
    let reading: Vec<_> = trial
        .flows
        .iter()
        .zip(ends)
        .map(|(flow, ends)| {
            let (bytes, start) = (flow.bytes, start_of(flow));
            scope.spawn(move || ends.receive(bytes, start))
        })
        .collect();
    let mut found = vec![OfFlow::default(); ends.len()];
    let (mut over, mut samples) = (vec![false; ends.len()], Vec::<Vec<u64>>::new());
    while zero.elapsed() < trial.limit {
        let now = zero.elapsed();
        while trial.sample > Duration::ZERO && trial.sample * samples.len() as u32 <= now {
            samples.push(ends.iter().map(Ends::read).collect());
        }
        let mut left = trial.whole;
        for (place, (flow, ends)) in trial.flows.iter().zip(ends).enumerate() {
            let of = &mut found[place];
            left |= flow.bytes.is_some() && !over[place];
            if of.start.is_none() && flow.start <= now {
                of.start = Some(flow.start);
                let bytes = flow.bytes;
                if let Ends::Sockets(sockets) = ends {
                    scope.spawn(move || {
                        write_all(&sockets.sender, bytes);
                        sockets.written.store(true, Ordering::Release);
                    });
                }
            }
            if of.start.is_none() || over[place] {
                continue;
            }
            let sockets = match ends {
                Ends::Sockets(sockets) => sockets,
                Ends::Programs(_) => {
                    // A program cannot be queried: the flow ends with its client.
                    of.acked_after = now.saturating_sub(flow.start);
                    over[place] = reading[place].is_finished();
                    continue;
                }
            };
            let all_written = sockets.written.load(Ordering::Acquire);
            // A socket that cannot be queried has nothing more to report.
            let Ok(info) = Info::read(&sockets.sender, zero.elapsed().saturating_sub(flow.start))
            else {
                over[place] = true;
                continue;
            };
            (of.last, of.acked_after) = (info, info.at);
            observe(place, &info);
            of.complete = all_written && info.idle();
            over[place] = of.complete;
        }
        if !left {
            break;
        }
        thread::sleep(ASK);
    }
    for (of, (flow, ends)) in found.iter_mut().zip(trial.flows.iter().zip(ends)) {
        ends.end(of.complete && flow.bytes.is_some());
    }
    for (of, reading) in found.iter_mut().zip(reading) {
        let Fetched { after, failure } = reading.join().unwrap_or_default();
        if let Some(failure) = failure {
            return Err(Error::new(failure));
        }
        of.delivered_after = after;
    }
    for (of, ends) in found.iter_mut().zip(ends) {
        of.delivered = ends.read();
        if let (Ends::Programs(_), Some(after)) = (ends, of.delivered_after) {
            of.acked_after = after;
        }
    }
    Ok((found, samples))
}

/// Sets the controller of the socket.
pub(crate) fn choose(socket: &impl AsFd, controller: &str) -> Result<(), Error> {
    let name = OsString::from(controller);
    setsockopt(socket, TcpCongestion, &name).map_err(|_| {
        Error::new(format!("controller `{controller}`: not available in this kernel"))
    })?;
    let chosen = getsockopt(socket, TcpCongestion)
        .map_err(|error| Error::new(format!("controller `{controller}`: {error}")))?;
    if chosen.to_string_lossy().trim_end_matches('\0') != controller {
        return Err(Error::new(format!(
            "controller `{controller}`: the socket has `{}` instead",
            chosen.to_string_lossy()
        )));
    }
    Ok(())
}

/// A connection from the calling thread's namespace that uses this controller from its first packet
/// on.
fn establish(controller: &str, options: SocketOptions, to: Ipv4Addr) -> Result<TcpStream, Error> {
    connected(controller, options, to, PORT)
}

/// Like [`establish`], to any port.
pub(crate) fn connected(
    controller: &str,
    options: SocketOptions,
    to: Ipv4Addr,
    port: u16,
) -> Result<TcpStream, Error> {
    let failed = |error: nix::Error| Error::new(format!("connecting through the link: {error}"));
    let fd: OwnedFd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(failed)?;
    choose(&fd, controller)?;
    if let Some(rate) = options.max_rate {
        max_pacing_rate(fd.as_fd(), rate)
            .map_err(|error| Error::new(format!("setting the largest pacing rate: {error}")))?;
    }
    if let Some(most) = options.rto_max {
        rto_max(fd.as_fd(), most).map_err(|error| {
            Error::new(format!("setting the longest timeout, which needs Linux 6.15: {error}"))
        })?;
    }
    connect(std::os::fd::AsRawFd::as_raw_fd(&fd), &SockaddrIn::from(SocketAddrV4::new(to, port)))
        .map_err(failed)?;
    Ok(TcpStream::from(fd))
}

mod programs;
#[cfg(test)]
mod tests;
mod transfer;
