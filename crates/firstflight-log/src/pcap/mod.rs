//! Captures (pcap of both byte orders and resolutions, pcapng): TCP as seen where its sender
//! stands.

mod frame;
#[cfg(test)]
mod watched;

use crate::fault::{Fault, Place};
use crate::segment::Segment;
use crate::sender::Sender;
use crate::step::{Extent, Sink};
use crate::window::{LARGEST, Window};
use firstflight::Time;
use firstflight_table::guard::{Tally, guarded};
use frame::{Endpoint, Frame};
use pcap_parser::pcap::{PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};
use pcap_parser::pcapng::{Block, parse_block_be, parse_block_le};
use std::collections::HashMap;
use std::io::Read;

/// Conversations that are followed at the same time; beyond, the one that has been silent longest
/// is taken to be over.
const MOST_CONVERSATIONS: usize = 4096;
/// What wrote it, for people.
const ORIGIN: &str = "capture of TCP";
/// Interfaces of a capture file.
const MOST_INTERFACES: usize = 4096;

/// Reads a capture.
///
/// # Errors
/// Where it stops being one, if nothing was found before; the rest is a remark to the sink.
pub fn read(file: &str, bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let mut capture = Capture {
        file: file.into(),
        window: Window::new(bytes),
        conversations: HashMap::new(),
        packets: 0,
        segments: 0,
        opened: 0,
        received: 0,
        missed: 0,
        broken: Tally::default(),
    };
    let broken = capture.run(sink).err();
    capture.end(sink);
    let given_up = capture.broken.remark().map(|what| Fault::new(file, Place::File, what));
    if capture.opened > 0 {
        given_up.clone().into_iter().for_each(|fault| sink.remark(fault));
    }
    let extent = Extent {
        bytes: capture.window.offset(),
        records: capture.packets,
        connections: capture.opened,
    };
    match broken {
        Some(fault) if capture.opened > 0 => sink.remark(fault),
        Some(fault) => return Err(fault),
        None if capture.opened == 0 => return Err(given_up.unwrap_or_else(|| capture.nothing())),
        None => {}
    }
    if capture.missed > 0 {
        let what = format!(
            "{} bytes of data were sent that the capture does not hold; what hangs on them is an estimate",
            capture.missed
        );
        sink.remark(Fault::new(file, Place::File, what));
    }
    Ok(extent)
}

struct Capture {
    file: String,
    window: Window,
    conversations: HashMap<(Endpoint, Endpoint), Conversation>,
    packets: u64,
    segments: u64,
    opened: u64,
    /// Data bytes of conversations whose sender is elsewhere.
    received: u64,
    missed: u64,
    /// Conversations that were given up for an internal error.
    broken: Tally,
}

#[derive(Clone, Copy)]
enum Format {
    Pcap { big_endian: bool, to_ns: u64, link: i32 },
    PcapNg { big_endian: bool },
}

#[derive(Clone, Copy)]
struct Interface {
    link: i32,
    /// Units per second of its time stamps.
    resolution: u64,
    offset_s: i64,
}

impl Capture {
    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(&self.file, Place::Packet(self.packets + 1), what)
    }

    /// Why nothing could be replayed.
    fn nothing(&self) -> Fault {
        let what = if self.packets == 0 {
            "no packet in it".into()
        } else if self.segments == 0 {
            format!("{} packets, none of them TCP", self.packets)
        } else if self.received > 0 {
            format!(
                "{} bytes of TCP data, all captured at the receiving end; the capture of the sending end is needed",
                self.received
            )
        } else {
            format!(
                "{} TCP segments, but in no connection enough data that was acknowledged",
                self.segments
            )
        };
        Fault::new(&self.file, Place::File, what)
    }

    fn run(&mut self, sink: &mut impl Sink) -> Result<(), Fault> {
        while self.window.seen().len() < 24 && self.window.more() {}
        if self.window.seen().is_empty() {
            return Err(Fault::new(&self.file, Place::File, "is empty"));
        }
        let mut format = if self.window.seen().starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
            Format::PcapNg { big_endian: false }
        } else {
            match parse_pcap_header(self.window.seen()) {
                Ok((_, header)) => {
                    let format = legacy(&header);
                    self.window.take(24);
                    format
                }
                Err(_) => {
                    return Err(Fault::new(
                        &self.file,
                        Place::Byte(0),
                        "no header of pcap or pcapng, or one that is cut off",
                    ));
                }
            }
        };
        let mut interfaces: Vec<Interface> = Vec::new();
        loop {
            if self.window.seen().is_empty() && !self.window.more() {
                break;
            }
            match format {
                Format::Pcap { big_endian, to_ns, link } => {
                    self.packet(big_endian, to_ns, link, sink)?;
                }
                Format::PcapNg { big_endian } => {
                    let big_endian = self.block(big_endian, &mut interfaces, sink)?;
                    format = Format::PcapNg { big_endian };
                }
            }
        }
        match self.window.failure() {
            Some(error) => Err(self.fault(format!("cannot be read further: {error}"))),
            None => Ok(()),
        }
    }

    /// More of the file is needed for what begins here.
    fn more(&mut self) -> Result<(), Fault> {
        if self.window.more() {
            return Ok(());
        }
        if let Some(error) = self.window.failure() {
            return Err(self.fault(format!("cannot be read further: {error}")));
        }
        Err(self.fault(if self.window.is_over() {
            "the file ends inside a packet".into()
        } else {
            format!("a block of more than {} MiB", LARGEST >> 20)
        }))
    }

    fn packet(
        &mut self,
        big_endian: bool,
        to_ns: u64,
        link: i32,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        let parse = if big_endian { parse_pcap_frame_be } else { parse_pcap_frame };
        loop {
            let seen = self.window.seen();
            let parsed = match parse(seen) {
                Ok((rest, packet)) => {
                    let now = Time(
                        u64::from(packet.ts_sec) * 1_000_000_000
                            + u64::from(packet.ts_usec) * to_ns,
                    );
                    Some((
                        seen.len() - rest.len(),
                        frame::frame(now, link, packet.data, packet.origlen),
                    ))
                }
                Err(nom_error) if is_incomplete(&nom_error) => None,
                Err(_) => return Err(self.fault("a packet that cannot be read")),
            };
            match parsed {
                Some((length, frame)) => {
                    self.window.take(length);
                    self.packets += 1;
                    if let Some(frame) = frame {
                        self.take(&frame, sink);
                    }
                    return Ok(());
                }
                None => self.more()?,
            }
        }
    }

    fn block(
        &mut self,
        mut big_endian: bool,
        interfaces: &mut Vec<Interface>,
        sink: &mut impl Sink,
    ) -> Result<bool, Fault> {
        loop {
            let seen = self.window.seen();
            // Shorter is no block, and not every parser of the library looks.
            if seen.len() < 12 {
                self.more()?;
                continue;
            }
            let parse = if big_endian { parse_block_be } else { parse_block_le };
            let mut framed = None;
            let (length, is_packet) = match parse(seen) {
                Ok((rest, block)) => {
                    let mut is_packet = false;
                    match block {
                        Block::SectionHeader(header) => {
                            big_endian = header.big_endian();
                            interfaces.clear();
                        }
                        Block::InterfaceDescription(described)
                            if interfaces.len() < MOST_INTERFACES =>
                        {
                            interfaces.push(Interface {
                                link: described.linktype.0,
                                resolution: described
                                    .ts_resolution()
                                    .filter(|resolution| *resolution > 0)
                                    .unwrap_or(1_000_000),
                                offset_s: described.ts_offset(),
                            });
                        }
                        Block::EnhancedPacket(packet) => {
                            is_packet = true;
                            let data =
                                packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
                            framed = interfaces.get(packet.if_id as usize).and_then(|interface| {
                                let now = stamp(*interface, packet.ts_high, packet.ts_low);
                                frame::frame(now, interface.link, data, packet.origlen)
                            });
                        }
                        // Simple packet blocks have no time: nothing can be told from them.
                        Block::SimplePacket(_) => is_packet = true,
                        _ => {}
                    }
                    (seen.len() - rest.len(), is_packet)
                }
                Err(error) if is_incomplete(&error) => {
                    self.more()?;
                    continue;
                }
                Err(_) => return Err(self.fault("a block that cannot be read")),
            };
            if length == 0 {
                return Err(self.fault("a block without a length"));
            }
            self.window.take(length);
            self.packets += u64::from(is_packet);
            if let Some(frame) = framed {
                self.take(&frame, sink);
            }
            return Ok(big_endian);
        }
    }

    fn take(&mut self, frame: &Frame, sink: &mut impl Sink) {
        self.segments += 1;
        let segment = &frame.segment;
        let (from, to) = (frame.from, frame.to);
        let key = if from <= to { (from, to) } else { (to, from) };
        let begins_anew = segment.syn
            && !segment.has_ack
            && self.conversations.get(&key).is_some_and(|known| known.began_otherwise(segment));
        if begins_anew && let Some(old) = self.conversations.remove(&key) {
            self.finish(old, sink);
        }
        if !self.conversations.contains_key(&key)
            && self.conversations.len() >= MOST_CONVERSATIONS
            && let Some(stale) =
                self.conversations.iter().min_by_key(|(_, known)| known.last).map(|(key, _)| *key)
            && let Some(old) = self.conversations.remove(&stale)
        {
            self.finish(old, sink);
        }
        let file = &self.file;
        let conversation =
            self.conversations.entry(key).or_insert_with(|| Conversation::new(file, frame));
        if conversation.given_up {
            return;
        }
        if let Err(broken) = guarded(|| conversation.take(frame, sink)) {
            conversation.give_up(sink);
            self.broken.add(broken);
            return;
        }
        if conversation.is_over()
            && let Some(over) = self.conversations.remove(&key)
        {
            self.finish(over, sink);
        }
    }

    fn finish(&mut self, mut over: Conversation, sink: &mut impl Sink) {
        if over.given_up {
            return;
        }
        let closed = guarded(|| over.senders.iter_mut().for_each(|sender| sender.close(sink)));
        if let Err(broken) = closed {
            over.give_up(sink);
            return self.broken.add(broken);
        }
        for sender in &mut over.senders {
            self.opened += u64::from(sender.is_open());
            self.missed += if sender.is_open() { sender.missed() } else { 0 };
        }
        self.received += over.received;
    }

    fn end(&mut self, sink: &mut impl Sink) {
        let mut left: Vec<_> = std::mem::take(&mut self.conversations).into_iter().collect();
        left.sort_by_key(|(key, _)| *key);
        for (_, conversation) in left {
            self.finish(conversation, sink);
        }
    }
}

fn is_incomplete<E>(error: &pcap_parser::nom::Err<E>) -> bool {
    matches!(error, pcap_parser::nom::Err::Incomplete(_))
}

fn legacy(header: &PcapHeader) -> Format {
    Format::Pcap {
        big_endian: header.is_bigendian(),
        to_ns: if header.is_nanosecond_precision() { 1 } else { 1000 },
        link: header.network.0,
    }
}

fn stamp(interface: Interface, high: u32, low: u32) -> Time {
    let units = (u128::from(high) << 32) | u128::from(low);
    let nanos = units * 1_000_000_000 / u128::from(interface.resolution);
    let offset = i128::from(interface.offset_s) * 1_000_000_000;
    Time(u64::try_from(nanos as i128 + offset).unwrap_or(0))
}

/// A TCP connection: two ends, either of which may send data.
struct Conversation {
    senders: [Sender; 2],
    ends: [Endpoint; 2],
    opening: Opening,
    /// Which end stands where the capture was taken.
    local: Option<usize>,
    last: Time,
    received: u64,
    reset: bool,
    finished: [bool; 2],
    /// For an internal error: the rest of it is not looked at.
    given_up: bool,
}

/// Times of the three packets that open a connection.
#[derive(Clone, Copy, Default)]
struct Opening {
    syn: Option<(Time, usize, u32)>,
    answer: Option<Time>,
}

/// One end counts as near if the handshake says that it is this many times nearer than the other.
const NEARER: u64 = 4;

impl Conversation {
    fn new(file: &str, first: &Frame) -> Conversation {
        let (here, there) = (first.from, first.to);
        Conversation {
            senders: [
                Sender::new(format!("{file} {here} > {there}"), ORIGIN),
                Sender::new(format!("{file} {there} > {here}"), ORIGIN),
            ],
            ends: [here, there],
            opening: Opening::default(),
            local: None,
            last: first.segment.now,
            received: 0,
            reset: false,
            finished: [false; 2],
            given_up: false,
        }
    }

    fn give_up(&mut self, sink: &mut impl Sink) {
        self.given_up = true;
        self.senders.iter_mut().for_each(|sender| sender.abandon(sink));
    }

    /// A SYN that is not the one this began with.
    fn began_otherwise(&self, segment: &Segment) -> bool {
        self.opening.syn.is_none_or(|(_, _, seq)| seq != segment.seq)
    }

    fn is_over(&self) -> bool {
        self.reset || (self.finished == [true; 2] && self.senders.iter().all(Sender::is_settled))
    }

    fn take(&mut self, frame: &Frame, sink: &mut impl Sink) {
        let from = usize::from(frame.from != self.ends[0]);
        let segment = &frame.segment;
        self.last = self.last.max(segment.now);
        self.reset |= segment.rst;
        self.finished[from] |= segment.fin;
        self.place(segment, from);
        self.senders[from].learn(segment);
        self.senders[1 - from].learn_of_peer(segment);
        if self.local.is_some_and(|local| local != from) {
            self.received += u64::from(segment.payload);
        } else {
            self.senders[from].on_sent(segment, sink);
        }
        if segment.has_ack && self.local.is_none_or(|local| local != from) {
            self.senders[1 - from].on_ack(segment, sink);
        }
    }

    /// From the pace of the handshake: whose answers came at once, and whose after a round trip.
    fn place(&mut self, segment: &Segment, from: usize) {
        match (segment.syn, segment.has_ack, self.opening) {
            (true, false, _) => {
                self.opening = Opening { syn: Some((segment.now, from, segment.seq)), answer: None }
            }
            (true, true, Opening { syn: Some(_), .. }) => self.opening.answer = Some(segment.now),
            (false, true, Opening { syn: Some((syn, opener, _)), answer: Some(answer) })
                if self.local.is_none() && from == opener =>
            {
                let (far, near) = (answer.since(syn), segment.now.since(answer));
                if far.0 > near.0.saturating_mul(NEARER) {
                    self.local = Some(opener);
                    self.senders[opener].handshake(far);
                } else if near.0 > far.0.saturating_mul(NEARER) {
                    self.local = Some(1 - opener);
                    self.senders[1 - opener].handshake(near);
                }
                self.opening.answer = None;
            }
            _ => {}
        }
    }
}
