//! Synthetic TCP connections with known ground truth: a sender, a receiver, and a path that delays,
//! loses and marks packets. Each packet is known at both ends, so a capture can be taken anywhere
//! between them.
//!
//! This module is independent of the readers: headers are written byte by byte from RFC 9293 and
//! its options.
#![allow(dead_code, reason = "each test file uses its part")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) const MS: u64 = 1_000_000;
/// When the connection begins, ns.
const BEGIN: u64 = 1_000_000 * MS;
/// Routers between the ends.
const HOPS: f64 = 7.0;

pub(crate) const FIN: u16 = 1;
pub(crate) const SYN: u16 = 2;
pub(crate) const RST: u16 = 4;
pub(crate) const PSH: u16 = 8;
pub(crate) const ACK: u16 = 16;
pub(crate) const ECE: u16 = 0x40;
pub(crate) const CWR: u16 = 0x80;
pub(crate) const AE: u16 = 0x100;

/// Sequence number before the first byte: of whoever sends the data, and of whoever receives it.
pub(crate) const SENDER_ISN: u32 = 0xffff_0000;
pub(crate) const RECEIVER_ISN: u32 = 77_000;
/// Bytes of the request, where the receiver opens the connection.
pub(crate) const REQUEST: u32 = 100;

/// Splitmix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True `per_mille` times of 1000.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Which feedback of congestion marks the ends have negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ecn {
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768.
    Accurate {
        /// Kind 172 or 174, if an option is sent, and on how many of 1000 ACKs.
        option: Option<(u8, u64)>,
        /// The SYN/ACK arrived with a mark.
        marked_answer: bool,
    },
}

/// A probe of a closed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// No data, one below what is acknowledged: Linux.
    Empty,
    /// The next byte: BSD, Windows.
    Byte,
}

/// A scenario. Shares are of 1000 packets.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub seed: u64,
    pub bytes: u64,
    /// Payload of a full segment.
    pub mss: u32,
    /// Round trip without serialization and queue, ns.
    pub rtt: u64,
    /// Bits per second.
    pub rate: u64,
    /// Packets that may wait.
    pub queue: u64,
    pub loss: u64,
    pub ack_loss: u64,
    pub marks: u64,
    /// First window, segments.
    pub first_window: u64,
    pub sack: bool,
    pub stamps: bool,
    /// Scale of the receiver's window; none: no end has the option.
    pub scale: Option<u8>,
    /// Bytes that the receiver holds for its application.
    pub buffer: u64,
    /// Segments per ACK.
    pub ack_every: u64,
    pub ecn: Ecn,
    /// At this byte the receiver's application stops reading for so long, ns.
    pub pauses: Vec<(u64, u64)>,
    pub probe: Probe,
    /// The receiver takes the byte of a probe, though its window is closed.
    pub takes_probes: bool,
    /// After the data: how many, and their payload.
    pub keep_alives: (u32, u32),
    /// The sender of the data opens the connection.
    pub sender_opens: bool,
}

impl Plan {
    /// 20 Mbit/s, 40 ms, 600 kB, no loss but by a full queue.
    pub(crate) fn usual() -> Plan {
        Plan {
            seed: 1,
            bytes: 600_000,
            mss: 1448,
            rtt: 40 * MS,
            rate: 20_000_000,
            queue: 100,
            loss: 0,
            ack_loss: 0,
            marks: 0,
            first_window: 10,
            sack: true,
            stamps: true,
            scale: Some(7),
            buffer: 4_000_000,
            ack_every: 2,
            ecn: Ecn::Off,
            pauses: Vec::new(),
            probe: Probe::Empty,
            takes_probes: false,
            keep_alives: (0, 0),
            sender_opens: false,
        }
    }

    /// Any path and any pair of ends, with neither marks nor closed windows.
    pub(crate) fn random(seed: u64) -> Plan {
        let mut random = Random::new(seed);
        let stamps = random.chance(700);
        let option = random.one(&[1460, 1460, 1400, 1360, 1220, 536]);
        Plan {
            seed,
            bytes: 60_000 + random.below(400_000),
            mss: option - if stamps { 12 } else { 0 },
            rtt: (2 + random.below(150)) * MS,
            rate: random.one(&[2, 10, 20, 50]) * 1_000_000,
            queue: 20 + random.below(100),
            loss: random.one(&[0, 0, 5, 20]),
            ack_loss: random.one(&[0, 0, 20, 100]),
            first_window: random.one(&[4, 10, 10, 10, 16]),
            sack: random.chance(850),
            stamps,
            scale: random.chance(850).then(|| random.below(9) as u8),
            ack_every: 1 + random.below(3),
            sender_opens: random.chance(300),
            ..Plan::usual()
        }
    }
}

/// One packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// When it left the end that sent it, ns.
    pub left: u64,
    /// When it reached the other; none: it was lost on the way.
    pub reached: Option<u64>,
    pub from_sender: bool,
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    pub window: u16,
    pub payload: u32,
    /// Each with kind and length; padding comes with the bytes.
    pub options: Vec<Vec<u8>>,
    /// Of the IP header.
    pub id: u16,
    pub ttl: u8,
    pub ecn: u8,
    /// Sequence and acknowledgement numbers from 0 on, and SACK blocks.
    place: u64,
    upto: u64,
    sacks: Vec<(u64, u64)>,
    stamp: u32,
}

/// All that is true of a connection, as its sender knew it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth {
    /// Acknowledged to the sender.
    pub bytes: u64,
    /// Sent again.
    pub retransmitted: u64,
    pub timeouts: u64,
    /// Smallest time from a segment that was sent once to the ACK that first covered it, ns.
    pub min_rtt: u64,
    /// Accurate ECN: marked packets; RFC 3168: times that the echo began.
    pub marks: u64,
    pub probes: u64,
    pub keep_alives: u64,
    /// Bytes that left before the first ACK.
    pub first_flight: u64,
    pub inflight_most: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrives(usize),
    Resumes,
    DelayedAck(u64),
    Timer(u64),
    KeepAlive,
}

struct Segment {
    start: u64,
    end: u64,
    at: u64,
    order: u64,
    sent: u32,
    sacked: bool,
    lost: bool,
}

struct Connection {
    plan: Plan,
    random: Random,
    packets: Vec<Packet>,
    events: BinaryHeap<Reverse<(u64, u64, What)>>,
    made: u64,
    truth: Truth,
    ids: [u16; 2],
    free: u64,
    // The sender.
    segments: Vec<Segment>,
    first: usize,
    una: u64,
    nxt: u64,
    edge: u64,
    window: u64,
    threshold: u64,
    grown: u64,
    recovery: u64,
    order: u64,
    delivered_order: u64,
    timer: u64,
    backoff: u64,
    srtt: u64,
    echo: bool,
    reduced: bool,
    cut_until: u64,
    kept_alive: u32,
    // The receiver.
    got: u64,
    /// The right edge that was offered: what lies before it is taken, though the window shrinks by
    /// its rounding.
    offered: u64,
    blocks: Vec<(u64, u64)>,
    unread_from: Option<u64>,
    paused: usize,
    waiting: u64,
    delayed: u64,
    acked: u64,
    stamp_recent: u32,
    duplicate: Option<(u64, u64)>,
    counter: u64,
    marked_bytes: u64,
    unmarked_bytes: u64,
    told: u64,
    echoes: bool,
}

/// The connection, and what is true of it.
pub(crate) fn connection(plan: &Plan) -> (Vec<Packet>, Truth) {
    let first_window = plan.first_window;
    let mut made = Connection {
        plan: plan.clone(),
        random: Random::new(plan.seed),
        packets: Vec::new(),
        events: BinaryHeap::new(),
        made: 0,
        truth: Truth { min_rtt: u64::MAX, ..Truth::default() },
        ids: [100, 9000],
        free: 0,
        segments: Vec::new(),
        first: 0,
        una: 0,
        nxt: 0,
        edge: plan.buffer.min(65_535),
        window: first_window,
        threshold: u64::MAX,
        grown: 0,
        recovery: 0,
        order: 0,
        delivered_order: 0,
        timer: 0,
        backoff: 0,
        srtt: 0,
        echo: false,
        reduced: false,
        cut_until: 0,
        kept_alive: 0,
        got: 0,
        offered: 0,
        blocks: Vec::new(),
        unread_from: None,
        paused: 0,
        waiting: 0,
        delayed: 0,
        acked: 0,
        stamp_recent: 0,
        duplicate: None,
        counter: 5,
        marked_bytes: 0,
        unmarked_bytes: 0,
        told: 5,
        echoes: false,
    };
    made.open();
    made.run();
    (made.packets, made.truth)
}

impl Connection {
    fn schedule(&mut self, at: u64, what: What) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, what)));
    }

    fn stamps(&self, value: u32, echo: u32) -> Option<Vec<u8>> {
        self.plan.stamps.then(|| [&[8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat())
    }

    fn packet(&mut self, left: u64, from_sender: bool, flags: u16) -> Packet {
        let id = &mut self.ids[usize::from(from_sender)];
        *id = id.wrapping_add(1);
        Packet {
            left,
            reached: None,
            from_sender,
            seq: 0,
            ack: 0,
            flags,
            window: 0,
            payload: 0,
            options: Vec::new(),
            id: *id,
            ttl: 64,
            ecn: 0,
            place: 0,
            upto: 0,
            sacks: Vec::new(),
            stamp: (left / MS) as u32,
        }
    }

    /// The handshake, without loss. Data begins when it is over.
    fn open(&mut self) {
        let plan = self.plan.clone();
        let half = plan.rtt / 2;
        let mss = plan.mss as u16 + if plan.stamps { 12 } else { 0 };
        let mut greeting = vec![[&[2, 4][..], &mss.to_be_bytes()].concat()];
        if plan.sack {
            greeting.push(vec![4, 2]);
        }
        let (asks, answers, ends) = match plan.ecn {
            Ecn::Off => (0, 0, 0),
            Ecn::Classic => (ECE | CWR, ECE, 0),
            Ecn::Accurate { marked_answer: true, .. } => (AE | CWR | ECE, CWR, AE | CWR),
            Ecn::Accurate { .. } => (AE | CWR | ECE, AE, CWR),
        };
        if let Ecn::Accurate { marked_answer: true, .. } = plan.ecn
            && !plan.sender_opens
        {
            (self.counter, self.told) = (6, 6);
        }
        let isn = |from_sender: bool| if from_sender { SENDER_ISN } else { RECEIVER_ISN };
        let opener = plan.sender_opens;
        let scale =
            |of_sender: bool| plan.scale.map(|scale| vec![3, 3, if of_sender { 9 } else { scale }]);
        let times = [BEGIN, BEGIN + half, BEGIN + 2 * half];
        for (step, at) in times.into_iter().enumerate() {
            let from_sender = (step != 1) == opener;
            let flags = [SYN | asks, SYN | ACK | answers, ACK | ends][step];
            let mut packet = self.packet(at, from_sender, flags);
            packet.reached = Some(at + half);
            packet.seq = isn(from_sender).wrapping_add(u32::from(step == 2));
            packet.ack = if step == 0 { 0 } else { isn(!from_sender).wrapping_add(1) };
            packet.window = if from_sender { 64_000 } else { plan.buffer.min(65_535) as u16 };
            let echo = if step == 0 { 0 } else { ((at - half) / MS) as u32 };
            if step < 2 {
                packet.options.clone_from(&greeting);
                packet.options.extend(scale(from_sender));
            } else if !from_sender {
                packet.window = self.receiver_window();
            }
            packet.options.extend(self.stamps(packet.stamp, echo));
            self.packets.push(packet);
        }
        let ready = if opener {
            BEGIN + 2 * half
        } else {
            let mut request = self.packet(BEGIN + 2 * half + 1000, false, ACK | PSH);
            request.reached = Some(BEGIN + 3 * half + 1000);
            request.seq = RECEIVER_ISN.wrapping_add(1);
            request.ack = SENDER_ISN.wrapping_add(1);
            request.payload = REQUEST;
            request.window = self.receiver_window();
            request.flags |= self.count();
            request.options.extend(self.stamps(request.stamp, ((BEGIN + half) / MS) as u32));
            self.packets.push(request);
            BEGIN + 3 * half + 1000
        };
        self.edge = u64::from(self.receiver_window()) << plan.scale.unwrap_or(0);
        self.offered = self.edge;
        self.schedule(ready, What::Timer(u64::MAX));
    }

    /// Marks that an ACK of the receiver reports in its flags.
    fn count(&self) -> u16 {
        match self.plan.ecn {
            Ecn::Off => 0,
            Ecn::Classic => {
                if self.echoes {
                    ECE
                } else {
                    0
                }
            }
            Ecn::Accurate { .. } => counter(self.counter),
        }
    }

    fn run(&mut self) {
        let mut steps = 0;
        while let Some(Reverse((now, _, what))) = self.events.pop() {
            steps += 1;
            assert!(steps < 1_000_000, "the connection ends: {:?}", self.plan);
            match what {
                What::Arrives(index) if self.packets[index].from_sender => {
                    self.receive(now, index);
                }
                What::Arrives(index) => self.hear(now, index),
                What::Resumes => self.resume(now),
                What::DelayedAck(number) if number == self.delayed && self.waiting > 0 => {
                    self.answer(now);
                }
                What::Timer(u64::MAX) => self.send(now),
                What::Timer(number) if number == self.timer => self.time_out(now),
                What::DelayedAck(_) | What::Timer(_) => {}
                What::KeepAlive => self.keep_alive(now),
            }
        }
        self.close();
    }

    /// The sender closes, and is answered.
    fn close(&mut self) {
        let begin = self.packets.iter().filter_map(|packet| packet.reached).max();
        let begin = begin.unwrap_or(BEGIN) + 5 * MS;
        let half = self.plan.rtt / 2;
        let asked = if self.plan.sender_opens { 0 } else { REQUEST };
        for step in 0..3 {
            let from_sender = step != 1;
            let at = begin + step * half;
            let flags = if step < 2 { FIN | ACK } else { ACK };
            let mut packet = self.packet(at, from_sender, flags);
            packet.reached = Some(at + half);
            let ends = [self.nxt as u32, self.nxt as u32 + 1];
            let sent = SENDER_ISN.wrapping_add(1).wrapping_add(ends[usize::from(step > 0)]);
            let received = RECEIVER_ISN.wrapping_add(1 + asked);
            (packet.seq, packet.ack) = if from_sender {
                (sent, received.wrapping_add(u32::from(step == 2)))
            } else {
                (received, sent)
            };
            packet.window = if from_sender { 64_000 } else { self.receiver_window() };
            packet.flags |= if from_sender { self.own_count() } else { self.count() };
            packet.options.extend(self.stamps(packet.stamp, ((at - half) / MS) as u32));
            self.packets.push(packet);
        }
    }

    fn own_count(&self) -> u16 {
        if matches!(self.plan.ecn, Ecn::Accurate { .. }) { counter(5) } else { 0 }
    }

    // The path.

    fn forward(&mut self, mut packet: Packet) {
        let (now, plan) = (packet.left, &self.plan);
        let (half, loss, marks) = (plan.rtt / 2, plan.loss, plan.marks);
        let serial = u64::from(packet.payload + 52) * 8_000_000_000 / plan.rate;
        let waits = self.free.saturating_sub(now) / serial.max(1);
        let lost = self.random.chance(loss) && packet.payload > 1;
        let marked = self.random.chance(marks) && packet.ecn != 0;
        if waits <= self.plan.queue && !lost {
            self.free = self.free.max(now) + serial;
            packet.reached = Some(self.free + half);
        }
        // The mark is put on the way: at the sender's device the packet has none.
        if marked && packet.reached.is_some() {
            packet.ecn |= 0x80;
        }
        self.put(packet);
    }

    fn back(&mut self, mut packet: Packet) {
        let lost = self.random.chance(self.plan.ack_loss);
        packet.reached = (!lost).then_some(packet.left + self.plan.rtt - self.plan.rtt / 2);
        self.put(packet);
    }

    fn put(&mut self, packet: Packet) {
        let index = self.packets.len();
        if let Some(at) = packet.reached {
            self.schedule(at, What::Arrives(index));
        }
        self.packets.push(packet);
    }

    // The sender.

    fn outstanding(&self) -> u64 {
        let out = &self.segments[self.first..];
        out.iter().filter(|segment| !segment.sacked && !segment.lost).count() as u64
    }

    fn send(&mut self, now: u64) {
        loop {
            if self.outstanding() >= self.window {
                break;
            }
            if let Some(lost) = (self.first..self.segments.len()).find(|at| self.segments[*at].lost)
            {
                self.transmit(now, lost);
                continue;
            }
            let left = self.plan.bytes - self.nxt;
            let room = self.edge.saturating_sub(self.nxt);
            let mut size = left.min(u64::from(self.plan.mss));
            if room < size {
                // As much as fits, once nothing else is out.
                size = if self.una == self.nxt { room } else { 0 };
            }
            if size == 0 {
                break;
            }
            self.segments.push(Segment {
                start: self.nxt,
                end: self.nxt + size,
                at: now,
                order: 0,
                sent: 0,
                sacked: false,
                lost: false,
            });
            self.nxt += size;
            self.truth.inflight_most = self.truth.inflight_most.max(self.nxt - self.una);
            if self.truth.bytes == 0 {
                self.truth.first_flight += size;
            }
            self.transmit(now, self.segments.len() - 1);
        }
        self.arm(now);
    }

    /// The timer runs while something is out, and while a closed window holds data back.
    fn arm(&mut self, now: u64) {
        self.timer += 1;
        let waits = self.una == self.nxt;
        if waits && self.nxt == self.plan.bytes {
            if self.kept_alive == 0 && self.plan.keep_alives.0 > 0 {
                self.kept_alive = 1;
                self.schedule(now + 15_000 * MS, What::KeepAlive);
            }
            return;
        }
        let usual = if self.srtt == 0 { 1000 * MS } else { (self.srtt * 3).max(250 * MS) };
        self.schedule(now + (usual << self.backoff.min(6)), What::Timer(self.timer));
    }

    fn data(&mut self, now: u64, start: u64, payload: u32) -> Packet {
        let mut packet = self.packet(now, true, ACK);
        packet.seq = SENDER_ISN.wrapping_add(1).wrapping_add(start as u32);
        let asked = if self.plan.sender_opens { 0 } else { REQUEST };
        packet.ack = RECEIVER_ISN.wrapping_add(1 + asked);
        packet.window = 500;
        packet.payload = payload;
        packet.flags |= self.own_count();
        let echo = ((now.saturating_sub(self.plan.rtt)) / MS) as u32;
        packet.options.extend(self.stamps(packet.stamp, echo));
        packet.place = start;
        packet
    }

    fn transmit(&mut self, now: u64, index: usize) {
        self.order += 1;
        let segment = &mut self.segments[index];
        let (start, size) = (segment.start, (segment.end - segment.start) as u32);
        (segment.at, segment.order, segment.lost) = (now, self.order, false);
        segment.sent += 1;
        let again = segment.sent > 1;
        self.truth.retransmitted += if again { u64::from(size) } else { 0 };
        let mut packet = self.data(now, start, size);
        // RFC 3168 section 6.1.5: what is sent again cannot be marked.
        if self.plan.ecn != Ecn::Off && !(again && self.plan.ecn == Ecn::Classic) {
            packet.ecn = 2;
        }
        if self.plan.ecn == Ecn::Classic && std::mem::take(&mut self.reduced) {
            packet.flags |= CWR;
        }
        self.forward(packet);
    }

    fn time_out(&mut self, now: u64) {
        self.backoff += 1;
        if self.una == self.nxt {
            // The window is closed.
            self.truth.probes += 1;
            let probe = match self.plan.probe {
                Probe::Empty => {
                    let mut packet = self.data(now, self.una, 0);
                    packet.seq = packet.seq.wrapping_sub(1);
                    packet
                }
                Probe::Byte => self.data(now, self.nxt, 1),
            };
            self.forward(probe);
            self.arm(now);
            return;
        }
        self.truth.timeouts += 1;
        for segment in &mut self.segments[self.first..] {
            segment.lost = !segment.sacked;
        }
        self.threshold = (self.window / 2).max(2);
        (self.window, self.recovery) = (1, self.nxt);
        self.send(now);
    }

    fn keep_alive(&mut self, now: u64) {
        let (count, payload) = self.plan.keep_alives;
        self.truth.keep_alives += 1;
        let mut packet = self.data(now, self.nxt, payload);
        packet.seq = packet.seq.wrapping_sub(1);
        packet.place = self.nxt - 1;
        self.forward(packet);
        if self.kept_alive < count {
            self.kept_alive += 1;
            self.schedule(now + 15_000 * MS, What::KeepAlive);
        }
    }

    /// An ACK reaches the sender.
    fn hear(&mut self, now: u64, index: usize) {
        let packet = self.packets[index].clone();
        let window = u64::from(packet.window) << self.plan.scale.unwrap_or(0);
        if packet.upto < self.una {
            return;
        }
        // The byte of a probe.
        if packet.upto > self.nxt {
            self.nxt = packet.upto;
            self.segments.push(Segment {
                start: self.una,
                end: self.nxt,
                at: now,
                order: 0,
                sent: 2,
                sacked: false,
                lost: false,
            });
        }
        self.edge = packet.upto + window;
        let mut news = 0;
        let mut sample = None;
        for segment in &mut self.segments[self.first..] {
            let covered = segment.end <= packet.upto
                || packet
                    .sacks
                    .iter()
                    .any(|(from, to)| *from <= segment.start && segment.end <= *to);
            if covered && !segment.sacked {
                (segment.sacked, segment.lost) = (true, false);
                news += segment.end - segment.start;
                self.delivered_order = self.delivered_order.max(segment.order);
                if segment.sent == 1 {
                    sample = sample.max(Some(segment.at));
                }
            }
        }
        while self.segments.get(self.first).is_some_and(|segment| segment.end <= packet.upto) {
            self.first += 1;
        }
        if let Some(at) = sample {
            let rtt = now - at;
            self.truth.min_rtt = self.truth.min_rtt.min(rtt);
            self.srtt = if self.srtt == 0 { rtt } else { (7 * self.srtt + rtt) / 8 };
        }
        let advanced = packet.upto > self.una;
        self.una = packet.upto;
        self.truth.bytes += news;
        if advanced || window > 0 && news > 0 {
            self.backoff = 0;
        }
        self.see_marks(now, &packet);
        let (delivered, order) = (self.delivered_order, self.recovery);
        let mut lost = false;
        for segment in &mut self.segments[self.first..] {
            if !segment.sacked && !segment.lost && segment.order + 3 <= delivered {
                segment.lost = true;
                lost |= segment.start >= order || segment.sent == 1;
            }
        }
        if lost && self.una >= self.recovery {
            self.cut();
        } else if self.una >= self.recovery {
            self.grow(news);
        }
        // Without SACK: the third duplicate in a row.
        if !self.plan.sack && !advanced && packet.payload == 0 && self.first < self.segments.len() {
            self.grown += 1;
            if self.grown == 3 && self.una >= self.recovery {
                self.segments[self.first].lost = true;
                self.cut();
            }
        } else if !self.plan.sack && advanced {
            if self.una < self.recovery && self.first < self.segments.len() {
                // RFC 6582: a partial ACK.
                self.segments[self.first].lost = true;
            }
            self.grown = 0;
        }
        self.send(now);
    }

    fn cut(&mut self) {
        self.threshold = (self.window / 2).max(2);
        (self.window, self.recovery) = (self.threshold, self.nxt);
    }

    fn grow(&mut self, news: u64) {
        let segments = news.div_ceil(u64::from(self.plan.mss));
        if self.window < self.threshold {
            self.window += segments;
        } else if self.plan.sack {
            self.grown += segments;
            self.window += self.grown / self.window;
            self.grown %= self.window;
        }
    }

    fn see_marks(&mut self, now: u64, packet: &Packet) {
        let before = self.truth.marks;
        match self.plan.ecn {
            Ecn::Off => {}
            Ecn::Classic => {
                let echo = packet.flags & ECE != 0;
                self.truth.marks += u64::from(echo && !self.echo);
                self.echo = echo;
                self.reduced |= echo && now >= self.cut_until;
            }
            // The packet's stamp of the counter, whole.
            Ecn::Accurate { .. } => {
                self.truth.marks += packet.place.saturating_sub(self.told);
                self.told = self.told.max(packet.place);
            }
        }
        if self.truth.marks > before && now >= self.cut_until {
            self.cut_until = now + self.plan.rtt;
            self.threshold = (self.window / 2).max(4);
            self.window = self.threshold;
        }
    }

    // The receiver.

    fn receiver_window(&self) -> u16 {
        let unread = self.unread_from.map_or(0, |from| self.got - from);
        let scale = self.plan.scale.unwrap_or(0);
        // Rounded up: the right edge never goes back.
        let window = self.plan.buffer.saturating_sub(unread).div_ceil(1 << scale);
        window.min(65_535) as u16
    }

    fn receive(&mut self, now: u64, index: usize) {
        let packet = self.packets[index].clone();
        let marked = packet.ecn & 0x80 != 0;
        if marked {
            self.counter += 1;
            self.marked_bytes += u64::from(packet.payload);
            self.echoes = true;
        } else {
            self.unmarked_bytes += u64::from(packet.payload);
        }
        if packet.flags & CWR != 0 && self.plan.ecn == Ecn::Classic && !marked {
            self.echoes = false;
        }
        let (start, mut end) = (packet.place, packet.place + u64::from(packet.payload));
        if start >= self.offered && !(self.plan.takes_probes && packet.payload == 1) {
            end = start;
        }
        if start <= self.acked {
            self.stamp_recent = packet.stamp;
        }
        if start == end || end <= self.got {
            // A probe, a keep-alive, or what is there already.
            self.duplicate = (start < end).then_some((start, end));
            self.answer(now);
            return;
        }
        if start > self.got {
            self.keep(start, end);
            self.answer(now);
            return;
        }
        self.got = end;
        let filled = !self.blocks.is_empty();
        while let Some(at) = self.blocks.iter().position(|(from, _)| *from <= self.got) {
            let (_, to) = self.blocks.remove(at);
            self.got = self.got.max(to);
        }
        self.pause(now);
        self.waiting += 1;
        if self.waiting >= self.plan.ack_every || filled || marked || self.got == self.plan.bytes {
            self.answer(now);
        } else {
            self.delayed += 1;
            self.schedule(now + 30 * MS, What::DelayedAck(self.delayed));
        }
    }

    fn pause(&mut self, now: u64) {
        let Some((at, length)) = self.plan.pauses.get(self.paused).copied() else { return };
        if self.unread_from.is_none() && self.got >= at {
            self.unread_from = Some(self.got);
            self.schedule(now + length, What::Resumes);
        }
    }

    fn resume(&mut self, now: u64) {
        self.paused += 1;
        self.unread_from = None;
        self.answer(now);
    }

    /// The latest block first, as RFC 2018 wants it.
    fn keep(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start, end);
        self.blocks.retain(|(from, to)| {
            let touches = *from <= end && start <= *to;
            if touches {
                start = start.min(*from);
                end = end.max(*to);
            }
            !touches
        });
        self.blocks.insert(0, (start, end));
    }

    fn answer(&mut self, now: u64) {
        let mut packet = self.packet(now, false, ACK);
        let asked = if self.plan.sender_opens { 0 } else { REQUEST };
        packet.seq = RECEIVER_ISN.wrapping_add(1 + asked);
        packet.ack = SENDER_ISN.wrapping_add(1).wrapping_add(self.got as u32);
        packet.window = self.receiver_window();
        packet.upto = self.got;
        let offers = u64::from(packet.window) << self.plan.scale.unwrap_or(0);
        self.offered = self.offered.max(self.got + offers);
        packet.flags |= self.count();
        packet.place = self.counter;
        packet.options.extend(self.stamps(packet.stamp, self.stamp_recent));
        if let Ecn::Accurate { option: Some((kind, share)), .. } = self.plan.ecn
            && self.random.chance(share)
        {
            packet.options.push(self.counters(kind));
        }
        if self.plan.sack {
            packet.sacks = self.duplicate.into_iter().chain(self.blocks.iter().copied()).collect();
            let used: usize = packet.options.iter().map(Vec::len).sum();
            packet.sacks.truncate((38_usize.saturating_sub(used.next_multiple_of(4)) / 8).min(4));
            if !packet.sacks.is_empty() {
                let place = |at: u64| SENDER_ISN.wrapping_add(1).wrapping_add(at as u32);
                let mut option = vec![5, 2 + 8 * packet.sacks.len() as u8];
                for (from, to) in &packet.sacks {
                    option.extend(place(*from).to_be_bytes());
                    option.extend(place(*to).to_be_bytes());
                }
                packet.options.push(option);
            }
        }
        (self.duplicate, self.waiting, self.acked) = (None, 0, self.got);
        self.delayed += 1;
        self.back(packet);
    }

    /// RFC 9768 section 3.2.3.
    fn counters(&mut self, kind: u8) -> Vec<u8> {
        let three = |value: u64| [(value >> 16) as u8, (value >> 8) as u8, value as u8];
        // The first ECT(0), the second is never used here.
        let (ect0, ce, ect1) = (three(self.unmarked_bytes + 1), three(self.marked_bytes), three(1));
        let order = if kind == 172 { [ect0, ce, ect1] } else { [ect1, ce, ect0] };
        let fields = 2 + self.random.below(2) as usize;
        [&[kind, 2 + 3 * fields as u8][..], &order[..fields].concat()].concat()
    }
}

/// Three bits of a counter: AE, CWR, ECE.
pub(crate) fn counter(value: u64) -> u16 {
    let bit = |at: u64, flag: u16| if value >> at & 1 == 1 { flag } else { 0 };
    bit(2, AE) | bit(1, CWR) | bit(0, ECE)
}

/// A packet as a capture holds it: when, the bytes of the headers, and how long it was.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub at: u64,
    pub bytes: Vec<u8>,
    pub length: u32,
    pub from_sender: bool,
}

/// The packets as they pass a point: 0 at the sender, 1 at the receiver.
pub(crate) fn along(packets: &[Packet], part: f64) -> Vec<Seen> {
    let mut seen: Vec<Seen> = packets.iter().filter_map(|packet| pass(packet, part)).collect();
    seen.sort_by_key(|seen| seen.at);
    seen
}

fn pass(packet: &Packet, part: f64) -> Option<Seen> {
    // Progress on its own way. Lost packets are lost half way.
    let come = if packet.from_sender { part } else { 1.0 - part };
    let way = match packet.reached {
        Some(reached) => reached - packet.left,
        None if come < 0.5 => MS,
        None => return None,
    };
    let mut packet = packet.clone();
    packet.ttl -= (come * HOPS) as u8;
    // Marks are put where packets queue.
    packet.ecn = match packet.ecn & 0x80 {
        0 => packet.ecn,
        _ if come < 0.5 => packet.ecn & 3,
        _ => 3,
    };
    let bytes = headers(&packet);
    Some(Seen {
        at: packet.left + (way as f64 * come) as u64,
        length: bytes.len() as u32 + packet.payload,
        bytes,
        from_sender: packet.from_sender,
    })
}

/// IPv4 and TCP headers.
pub(crate) fn headers(packet: &Packet) -> Vec<u8> {
    let mut options: Vec<u8> = Vec::new();
    for option in &packet.options {
        options.extend(option);
    }
    assert!(options.len() <= 40, "the options fit: {packet:?}");
    while !options.len().is_multiple_of(4) {
        options.push(1);
    }
    let ports: [u16; 2] = if packet.from_sender { [443, 50_000] } else { [50_000, 443] };
    let mut tcp: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    tcp.extend(packet.seq.to_be_bytes());
    tcp.extend(packet.ack.to_be_bytes());
    let offset = ((20 + options.len()) as u16 / 4) << 12;
    tcp.extend((offset | packet.flags).to_be_bytes());
    tcp.extend(packet.window.to_be_bytes());
    tcp.extend([0; 4]);
    tcp.extend(&options);
    let length = (20 + tcp.len()) as u32 + packet.payload;
    let mut bytes = vec![0x45, packet.ecn];
    bytes.extend((length as u16).to_be_bytes());
    bytes.extend(packet.id.to_be_bytes());
    bytes.extend([0x40, 0, packet.ttl, 6, 0, 0]);
    let (sender, receiver) = ([192, 0, 2, 1], [198, 51, 100, 2]);
    let (from, to) = if packet.from_sender { (sender, receiver) } else { (receiver, sender) };
    bytes.extend(from);
    bytes.extend(to);
    bytes.extend(tcp);
    bytes
}

/// Segments that left at the same moment and follow each other become one of up to `most`, as a
/// device that cuts them up itself shows them.
pub(crate) fn offloaded(packets: &[Packet], most: u32) -> Vec<Packet> {
    let mut merged: Vec<Packet> = Vec::new();
    for packet in packets {
        let last = merged.iter_mut().rev().find(|last| last.from_sender);
        if let Some(last) = last
            && packet.from_sender
            && packet.payload > 0
            && last.payload > 0
            && packet.left == last.left
            && packet.flags == last.flags
            && packet.seq == last.seq.wrapping_add(last.payload)
            && last.payload + packet.payload <= most
        {
            last.payload += packet.payload;
        } else {
            merged.push(packet.clone());
        }
    }
    merged
}

/// A classic capture with microseconds or nanoseconds, of raw IP unless `link` says otherwise.
pub(crate) fn pcap(seen: &[Seen], link: u32) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 65_535, link] {
        out.extend(word.to_le_bytes());
    }
    for Seen { at, bytes, length, .. } in seen {
        let (seconds, nanos) = (at / 1_000_000_000, at % 1_000_000_000);
        for word in [seconds as u32, nanos as u32, bytes.len() as u32, *length] {
            out.extend(word.to_le_bytes());
        }
        out.extend(bytes);
    }
    out
}

/// Raw IP.
pub(crate) const RAW: u32 = 101;

#[test]
fn connections_end_and_are_what_they_are_said_to_be() {
    for seed in 0..60 {
        let plan = Plan::random(seed);
        let (packets, truth) = connection(&plan);
        assert_eq!(truth.bytes, plan.bytes, "{plan:?}");
        let sent: u64 = packets
            .iter()
            .filter(|packet| packet.from_sender)
            .map(|packet| u64::from(packet.payload))
            .sum();
        assert_eq!(sent, plan.bytes + truth.retransmitted, "{plan:?}");
        assert!(truth.min_rtt >= plan.rtt && truth.min_rtt < plan.rtt + 200 * MS, "{truth:?}");
    }
}
