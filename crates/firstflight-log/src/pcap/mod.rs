//! Captures (pcap in both byte orders and resolutions, pcapng): TCP as seen at its sender.

mod conversation;
mod evidence;
mod frame;
mod order;
mod other;
mod tally;
mod verdict;
#[cfg(test)]
mod watched;

use crate::fault::{Fault, Place};
use crate::step::{Extent, Sink};
use crate::window::{LARGEST, Window};
use conversation::Conversation;
use firstflight::Time;
use firstflight_table::guard::{self, guarded};
use frame::{Endpoint, Frame};
use order::{Held, Order};
use other::{Other, Others};
use pcap_parser::pcap::{
    PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header,
};
use pcap_parser::pcapng::{
    Block, InterfaceStatisticsBlock, OptionCode, parse_block_be, parse_block_le,
};
use std::collections::HashMap;
use std::io::Read;
use tally::Tally;

/// Maximum number of conversations followed at the same time; above it, the one that has been
/// silent longest counts as finished.
const MOST_CONVERSATIONS: usize = 4096;
/// Maximum number of interfaces in a capture file.
const MOST_INTERFACES: usize = 4096;

/// Reads a capture.
///
/// # Errors
/// The position at which the file stops being a capture, if nothing was found before; otherwise the
/// fault is reported to the sink.
pub fn read(file: &str, bytes: Box<dyn Read>, sink: &mut impl Sink) -> Result<Extent, Fault> {
    let mut capture = Capture {
        file: file.into(),
        window: Window::new(bytes),
        conversations: HashMap::new(),
        packets: 0,
        segments: 0,
        others: Others::default(),
        order: Order::new(),
        tally: Tally::default(),
        broken: guard::Tally::default(),
    };
    let broken = capture.run(sink).err();
    capture.end(sink);
    let given_up = capture.broken.remark().map(|what| Fault::new(file, Place::File, what));
    if capture.tally.opened > 0 {
        given_up.clone().into_iter().for_each(|fault| sink.remark(fault));
    }
    let extent = Extent {
        bytes: capture.window.offset(),
        records: capture.packets,
        connections: capture.tally.opened,
    };
    match broken {
        Some(fault) if extent.connections > 0 => sink.remark(fault),
        Some(fault) => return Err(fault),
        None if extent.connections == 0 => {
            return Err(given_up.unwrap_or_else(|| capture.nothing()));
        }
        None => {}
    }
    if let Some(missed) = capture.tally.missed() {
        sink.remark(Fault::new(file, Place::File, missed));
    }
    for note in capture.tally.notes() {
        sink.note(Fault::new(file, Place::File, note));
    }
    Ok(extent)
}

struct Capture {
    file: String,
    window: Window,
    conversations: HashMap<(Endpoint, Endpoint), Conversation>,
    packets: u64,
    segments: u64,
    others: Others,
    order: Order,
    tally: Tally,
    /// Conversations that were given up because of an internal error.
    broken: guard::Tally,
}

#[derive(Clone, Copy)]
enum Format {
    Pcap { records: Records, to_ns: u64, link: i32 },
    PcapNg { big_endian: bool },
}

/// Record format of a classic capture.
#[derive(Clone, Copy)]
enum Records {
    Little,
    Big,
    /// Little endian with eight additional bytes: Linux before 2000.
    Modified,
}

#[derive(Clone, Copy)]
struct Interface {
    link: i32,
    /// Units per second of its timestamps.
    resolution: u128,
    offset_s: i64,
}

impl Capture {
    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(&self.file, Place::Packet(self.packets + 1), what)
    }

    /// Why nothing could be replayed.
    fn nothing(&self) -> Fault {
        let what = if self.packets == 0 {
            "it contains no packets".into()
        } else if self.segments == 0 {
            self.others.sentence(self.packets)
        } else {
            self.tally.nothing(self.segments)
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
                        "no pcap or pcapng header, or a truncated one",
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
                Format::Pcap { records, to_ns, link } => {
                    self.packet(records, to_ns, link, sink)?;
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

    /// Reads more of the file, for a structure that is incomplete.
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
            format!("a block larger than {} MiB", LARGEST >> 20)
        }))
    }

    fn packet(
        &mut self,
        records: Records,
        to_ns: u64,
        link: i32,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        let parse = match records {
            Records::Little => parse_pcap_frame,
            Records::Big => parse_pcap_frame_be,
            Records::Modified => parse_pcap_frame_modified,
        };
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
                Err(_) => return Err(self.fault("a malformed packet")),
            };
            match parsed {
                Some((length, frame)) => {
                    self.window.take(length);
                    self.packets += 1;
                    self.see(frame, sink);
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
            // A block is never shorter, and not every parser of the library checks.
            if seen.len() < 12 {
                self.more()?;
                continue;
            }
            let parse = if big_endian { parse_block_be } else { parse_block_le };
            let (mut framed, mut dropped) = (None, None);
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
                                resolution: units(described.if_tsresol),
                                offset_s: described.ts_offset(),
                            });
                        }
                        Block::EnhancedPacket(packet) => {
                            is_packet = true;
                            let data =
                                packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
                            framed = interfaces.get(packet.if_id as usize).map(|interface| {
                                let now = stamp(*interface, packet.ts_high, packet.ts_low);
                                frame::frame(now, interface.link, data, packet.origlen)
                            });
                        }
                        Block::Unknown(block) if block.block_type == OLD_PACKET => {
                            is_packet = true;
                            framed = old_packet(block.data, big_endian, interfaces);
                        }
                        // Simple packet blocks have no time and cannot be used.
                        Block::SimplePacket(_) => is_packet = true,
                        Block::InterfaceStatistics(counted) => {
                            dropped = Some(drops(&counted, big_endian));
                        }
                        _ => {}
                    }
                    (seen.len() - rest.len(), is_packet)
                }
                Err(error) if is_incomplete(&error) => {
                    self.more()?;
                    continue;
                }
                Err(_) => return Err(self.fault("a malformed block")),
            };
            if length == 0 {
                return Err(self.fault("a block without a length field"));
            }
            self.window.take(length);
            self.packets += u64::from(is_packet);
            // The counters are cumulative: the last one of a section counts.
            self.tally.dropped = dropped.unwrap_or(0).max(self.tally.dropped);
            if let Some(frame) = framed {
                self.see(frame, sink);
            }
            return Ok(big_endian);
        }
    }

    fn see(&mut self, frame: Result<Frame, Other>, sink: &mut impl Sink) {
        match frame {
            Ok(frame) => self.queue(frame, sink),
            Err(other) => self.others.add(other),
        }
    }

    /// Sorts frames by timestamp before they are processed.
    fn queue(&mut self, frame: Frame, sink: &mut impl Sink) {
        self.segments += 1;
        if let Some(held) = self.order.push(frame) {
            self.take(held, sink);
        }
    }

    fn take(&mut self, held: Held, sink: &mut impl Sink) {
        let frame = &held.frame;
        let (from, to) = (frame.from, frame.to);
        let key = if from <= to { (from, to) } else { (to, from) };
        if let Some(known) = self.conversations.get_mut(&key) {
            if let Some(rivals) = known.take_rivals(frame) {
                if let Some(old) = self.conversations.remove(&key) {
                    self.finish(old, sink);
                }
                for rival in rivals {
                    self.take(rival, sink);
                }
            } else if known.began_otherwise(&frame.segment) {
                return known.keep_rival(held);
            }
        }
        let frame = &held.frame;
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
        if let Err(broken) = guarded(|| conversation.take(held, sink)) {
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
        if !over.given_up
            && let Err(broken) = guarded(|| over.finish(&mut self.tally, sink))
        {
            over.give_up(sink);
            self.broken.add(broken);
        }
    }

    fn end(&mut self, sink: &mut impl Sink) {
        self.order.close();
        while let Some(held) = self.order.pop() {
            self.take(held, sink);
        }
        let mut left: Vec<_> = std::mem::take(&mut self.conversations).into_iter().collect();
        left.sort_by_key(|(key, _)| *key);
        for (_, conversation) in left {
            self.finish(conversation, sink);
        }
    }
}

/// The packet block, which enhanced packet blocks have replaced.
const OLD_PACKET: u32 = 2;

/// The frame in the body of a packet block: interface, drops, time, lengths, and the packet.
fn old_packet(
    body: &[u8],
    big_endian: bool,
    interfaces: &[Interface],
) -> Option<Result<Frame, Other>> {
    let word = |at: usize| {
        let bytes: [u8; 4] = body.get(at..at + 4)?.try_into().ok()?;
        Some(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let first = word(0)?;
    let interface = if big_endian { first >> 16 } else { first & 0xffff };
    let interface = interfaces.get(interface as usize)?;
    let data = body.get(20..)?;
    let data = data.get(..word(12)? as usize).unwrap_or(data);
    let now = stamp(*interface, word(4)?, word(8)?);
    Some(frame::frame(now, interface.link, data, word(16)?))
}

/// Units per second of the option `if_tsresol`: the exponent of a negative power of ten, or of two
/// if the highest bit is set.
fn units(resolution: u8) -> u128 {
    let exponent = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.saturating_pow(exponent)
}

/// Number of packets that the interface or the system dropped before capture.
fn drops(counted: &InterfaceStatisticsBlock<'_>, big_endian: bool) -> u64 {
    const DROPS: [OptionCode; 2] = [OptionCode::IsbIfDrop, OptionCode::IsbOsDrop];
    let value = |bytes: &[u8]| {
        let bytes: [u8; 8] = bytes.get(..8)?.try_into().ok()?;
        Some(if big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    };
    let counted = counted.options.iter().filter(|option| DROPS.contains(&option.code));
    counted.filter_map(|option| value(&option.value)).fold(0, u64::saturating_add)
}

fn is_incomplete<E>(error: &pcap_parser::nom::Err<E>) -> bool {
    matches!(error, pcap_parser::nom::Err::Incomplete(_))
}

fn legacy(header: &PcapHeader) -> Format {
    let records = match header {
        header if header.is_bigendian() => Records::Big,
        header if header.is_modified_format() => Records::Modified,
        _ => Records::Little,
    };
    Format::Pcap {
        records,
        to_ns: if header.is_nanosecond_precision() { 1 } else { 1000 },
        // The upper bits describe the checksums at the ends of frames.
        link: header.network.0 & 0xffff,
    }
}

fn stamp(interface: Interface, high: u32, low: u32) -> Time {
    let units = (u128::from(high) << 32) | u128::from(low);
    let nanos = units * 1_000_000_000 / interface.resolution;
    let offset = i128::from(interface.offset_s) * 1_000_000_000;
    Time(u64::try_from(nanos as i128 + offset).unwrap_or(0))
}
