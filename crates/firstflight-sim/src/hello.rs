//! A QUIC handshake with a certificate, up to the moment when the server may send its first data.
//!
//! The client's first packet, the server's first flight and the client's answers take the path, are lost there and are
//! retransmitted. The client's first packet leaves at time zero. Data begins when the server receives the request, which
//! comes with the client's last message.
//!
//! Follows: RFC 9000 sections 8.1 (before the address is validated, the server sends at most three times what it
//! received), 13.2.1 (handshake packets are acknowledged at once) and 14.1 (datagrams of 1200 bytes); RFC 9002 sections
//! 6.1 (loss detection), 6.2 (probe timeouts) and 6.2.2.1 (a client's probes lift the server's limit).
//!
//! Simplifications: hosts take no time. There is no Retry, no resumption and no early data. The congestion window of ten
//! packets is never full. Only the first datagram has the keys: until it arrives, the client keeps the others and cannot
//! acknowledge them.

use crate::quic::Host;
use crate::wire::NEVER;
use firstflight::Nanos;
use firstflight::signal::rtt::{INITIAL_RTT, Rfc9002Rtt};
use firstflight_path::{Fate, Link};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// UDP payload of a datagram with an Initial packet, and of each full one of the server's first flight, bytes.
const DATAGRAM: u64 = 1200;
/// Bytes of such a datagram for headers, frames and tags.
const FRAMING: u64 = 60;
/// UDP payload of a client's later ACK, bytes.
const ACK: u64 = 80;
/// UDP payload of the client's last message with the request, bytes.
const REQUEST: u64 = 450;
/// RFC9000 8.1: the limit before validation, times the bytes received.
const AMPLIFICATION: u64 = 3;
/// RFC9002 6.1.1: packets acknowledged after a lost one.
const REORDERED: usize = 3;

/// The end of a handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Greeting {
    /// When the server may send data, ns after the client's first packet left.
    pub at: u64,
    /// The server's last RTT sample.
    pub rtt: Nanos,
}

/// Arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The server's packet with this number.
    ToClient(usize),
    /// A datagram of the client: UDP payload, kind, and how many of the packets it received it acknowledges.
    ToServer(u64, Kind, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// An Initial packet alone.
    Hello,
    /// With a Handshake packet, which validates the address.
    Answer,
    /// The last message, and the request.
    Request,
}

/// Packets in flight, in the order of their arrival.
#[derive(Default)]
struct Transit {
    arrivals: BinaryHeap<Reverse<(u64, u64, Event)>>,
    count: u64,
}

impl Transit {
    fn add(&mut self, fate: Fate, event: Event) {
        let mut arrives = |at| {
            self.arrivals.push(Reverse((at, self.count, event)));
            self.count += 1;
        };
        match fate {
            Fate::Deliver { at, .. } => arrives(at),
            Fate::Duplicate { at, again, .. } => {
                arrives(at);
                arrives(again);
            }
            Fate::Drop(_) => {}
        }
    }

    fn next(&self) -> u64 {
        self.arrivals.peek().map_or(NEVER, |Reverse((at, ..))| *at)
    }
}

#[derive(Clone, Copy)]
struct Packet {
    piece: usize,
    sent: u64,
    acked: bool,
    lost: bool,
}

struct Server {
    /// UDP payload of the datagram for each piece of the first flight, and whether it was acknowledged.
    pieces: Vec<(u64, bool)>,
    queue: VecDeque<usize>,
    packets: Vec<Packet>,
    received: u64,
    sent: u64,
    last_sent: u64,
    validated: bool,
    rtt: Rfc9002Rtt,
    probes: u32,
    loss_at: Option<u64>,
}

impl Server {
    fn new(bytes: u64) -> Server {
        let room = DATAGRAM - FRAMING;
        let pieces = (0..bytes.div_ceil(room))
            .map(|piece| {
                let data = (bytes - piece * room).min(room);
                // The first has an Initial packet, which is padded.
                (if piece == 0 { DATAGRAM } else { data + FRAMING }, false)
            })
            .collect();
        Server {
            pieces,
            queue: VecDeque::new(),
            packets: Vec::new(),
            received: 0,
            sent: 0,
            last_sent: 0,
            validated: false,
            rtt: Rfc9002Rtt::new(INITIAL_RTT),
            probes: 0,
            loss_at: None,
        }
    }

    /// RFC9000 8.1.
    fn may_send(&self, len: u64) -> bool {
        self.validated || self.sent + len <= AMPLIFICATION * self.received
    }

    /// Time of the next timer. There is none while the limit blocks every packet (RFC9002 6.2.2.1).
    fn deadline(&self) -> u64 {
        let waits = self.packets.iter().any(|packet| !packet.acked && !packet.lost);
        match self.loss_at {
            Some(at) => at,
            None if waits && self.may_send(DATAGRAM) => {
                self.last_sent + self.rtt.pto_after(Nanos::ZERO, self.probes).0
            }
            None => NEVER,
        }
    }

    fn last_rtt(&self) -> Nanos {
        self.rtt.latest().unwrap_or(INITIAL_RTT)
    }

    fn fire(&mut self, now: u64) {
        if self.loss_at.is_some_and(|at| at <= now) {
            self.detect(now);
            return;
        }
        self.probes += 1;
        let missing = (0..self.pieces.len()).filter(|piece| !self.pieces[*piece].1);
        let probes: Vec<usize> = missing.take(2).collect();
        for piece in probes {
            self.repeat(piece);
        }
    }

    fn repeat(&mut self, piece: usize) {
        if !self.pieces[piece].1 && !self.queue.contains(&piece) {
            self.queue.push_back(piece);
        }
    }

    /// Processes a datagram of the client that acknowledges these packets.
    fn take(&mut self, now: u64, len: u64, kind: Kind, acked: &[usize]) {
        if self.received == 0 {
            self.queue.extend(0..self.pieces.len());
        }
        self.received += len;
        self.validated |= kind != Kind::Hello;
        let new = acked.iter().copied().filter(|number| !self.packets[*number].acked);
        let new: Vec<usize> = new.collect();
        let Some(&largest) = new.iter().max() else { return };
        if self.packets[largest + 1..].iter().all(|later| !later.acked) {
            let rtt = Nanos(now - self.packets[largest].sent);
            self.rtt.on_sample(rtt, Nanos::ZERO, None);
        }
        for number in new {
            self.packets[number].acked = true;
            self.pieces[self.packets[number].piece].1 = true;
        }
        self.probes = 0;
        self.detect(now);
    }

    /// RFC9002 6.1: three later packets, or a later one after nine eighths of an RTT.
    fn detect(&mut self, now: u64) {
        self.loss_at = None;
        let Some(largest) = self.packets.iter().rposition(|packet| packet.acked) else { return };
        let patience = self.rtt.loss_delay().0;
        for number in 0..largest {
            let Packet { piece, sent, acked, lost } = self.packets[number];
            if acked || lost {
                continue;
            }
            if largest - number >= REORDERED || sent + patience <= now {
                self.packets[number].lost = true;
                self.repeat(piece);
            } else {
                let at = sent + patience;
                self.loss_at = Some(self.loss_at.map_or(at, |earlier| earlier.min(at)));
            }
        }
    }

    fn send(&mut self, now: u64, lower: u64, link: &mut Link, transit: &mut Transit) {
        while let Some(&piece) = self.queue.front() {
            let (len, acked) = self.pieces[piece];
            if !acked {
                if !self.may_send(len) {
                    return;
                }
                transit.add(
                    link.offer(now, (len + lower) as u32),
                    Event::ToClient(self.packets.len()),
                );
                self.packets.push(Packet { piece, sent: now, acked: false, lost: false });
                self.sent += len;
                self.last_sent = now;
            }
            self.queue.pop_front();
        }
    }
}

struct Client {
    /// Pieces that arrived.
    arrived: Vec<bool>,
    /// Numbers of the packets that arrived.
    log: Vec<usize>,
    finished: bool,
    last_sent: u64,
    rtt: Rfc9002Rtt,
    probes: u32,
}

impl Client {
    fn has_keys(&self) -> bool {
        self.arrived[0]
    }

    fn has_all(&self) -> bool {
        self.arrived.iter().all(|arrived| *arrived)
    }

    /// Time of the next probe. RFC9002 6.2.2.1: the client probes until the server has its last message, because the
    /// server may be blocked by its limit.
    fn deadline(&self) -> u64 {
        self.last_sent + self.rtt.pto_after(Nanos::ZERO, self.probes).0
    }

    /// Size and kind of a probe.
    fn fire(&mut self, now: u64) -> (u64, Kind) {
        self.probes += 1;
        self.last_sent = now;
        if self.has_all() {
            (REQUEST, Kind::Request)
        } else if self.has_keys() {
            (ACK, Kind::Answer)
        } else {
            (DATAGRAM, Kind::Hello)
        }
    }

    /// Processes a packet of the server. Returns the answer; `None` until the client has keys.
    fn take(&mut self, now: u64, number: usize, piece: usize) -> Option<(u64, Kind)> {
        self.log.push(number);
        self.arrived[piece] = true;
        if !self.has_keys() {
            return None;
        }
        // Karn: with one probe or more the sample would be ambiguous.
        if self.rtt.srtt().is_none() && self.probes == 0 {
            self.rtt.on_sample(Nanos(now - self.last_sent), Nanos::ZERO, None);
        }
        if !self.finished {
            self.probes = 0;
            self.last_sent = now;
        }
        // The ACK of an Initial packet is an Initial packet, which is padded.
        let least = if piece == 0 { DATAGRAM } else { 0 };
        if self.has_all() && !self.finished {
            self.finished = true;
            return Some((REQUEST.max(least), Kind::Request));
        }
        Some((ACK.max(least), Kind::Answer))
    }
}

/// Carries out the handshake of a server whose first flight has `bytes` of handshake data. It ends by `limit`, ns.
pub(crate) fn greet(
    (forward, back): (&mut Link, &mut Link),
    host: &Host,
    bytes: u64,
    limit: u64,
) -> Greeting {
    let lower = u64::from(host.lower);
    let mut server = Server::new(bytes);
    let mut client = Client {
        arrived: vec![false; server.pieces.len()],
        log: Vec::new(),
        finished: false,
        last_sent: 0,
        rtt: Rfc9002Rtt::new(INITIAL_RTT),
        probes: 0,
    };
    let mut transit = Transit::default();
    let mut leaves = Some((DATAGRAM, Kind::Hello));
    let mut now = 0;
    loop {
        if let Some((len, kind)) = leaves.take() {
            let fate = back.offer(now, (len + lower) as u32);
            transit.add(fate, Event::ToServer(len, kind, client.log.len()));
        }
        server.send(now, lower, forward, &mut transit);
        let (arrives, server_at, client_at) =
            (transit.next(), server.deadline(), client.deadline());
        now = now.max(arrives.min(server_at).min(client_at));
        if now >= limit {
            return Greeting { at: limit, rtt: server.last_rtt() };
        }
        // Arrivals come before timers of the same instant.
        if arrives <= now {
            let Some(Reverse((_, _, event))) = transit.arrivals.pop() else { continue };
            match event {
                Event::ToClient(number) => {
                    leaves = client.take(now, number, server.packets[number].piece);
                }
                Event::ToServer(len, kind, acked) => {
                    server.take(now, len, kind, &client.log[..acked]);
                    if kind == Kind::Request {
                        return Greeting { at: now, rtt: server.last_rtt() };
                    }
                }
            }
        } else if server_at <= now {
            server.fire(now);
        } else {
            leaves = Some(client.fire(now));
        }
    }
}
