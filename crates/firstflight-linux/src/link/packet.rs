//! Packets as bytes: the fields that a link reads, and the pool of buffers.

/// One IP packet in a reusable buffer.
pub(crate) struct Packet {
    buffer: Box<[u8]>,
    len: usize,
}

impl Packet {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.len]
    }

    /// The whole buffer, for reading a packet into it.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    pub(crate) fn set_len(&mut self, len: usize) {
        self.len = len.min(self.buffer.len());
    }
}

/// Free buffers: no allocation per packet once a path is full.
pub(crate) struct Pool {
    free: Vec<Packet>,
    size: usize,
}

impl Pool {
    /// A pool of buffers of `size` bytes.
    pub(crate) fn new(size: usize) -> Pool {
        Pool { free: Vec::new(), size }
    }

    pub(crate) fn take(&mut self) -> Packet {
        self.free.pop().unwrap_or_else(|| Packet { buffer: vec![0; self.size].into(), len: 0 })
    }

    pub(crate) fn copy(&mut self, packet: &Packet) -> Packet {
        let mut copy = self.take();
        copy.buffer[..packet.len].copy_from_slice(packet.bytes());
        copy.len = packet.len;
        copy
    }

    pub(crate) fn give_back(&mut self, packet: Packet) {
        self.free.push(packet);
    }
}

const TCP: u8 = 6;
/// Congestion experienced: both bits of the ECN field.
pub(crate) const CE: u8 = 0b11;

/// The header length of an IPv4 packet and the protocol that follows. Other packets are carried but
/// not inspected.
fn ipv4(packet: &[u8]) -> Option<(usize, u8)> {
    let header = usize::from(packet.first()? & 15) * 4;
    (packet[0] >> 4 == 4 && header >= 20 && packet.len() >= header).then(|| (header, packet[9]))
}

/// Whether the packet is ECN-capable. IPv6 is carried, not marked.
pub(crate) fn is_ect(packet: &[u8]) -> bool {
    ipv4(packet).is_some() && packet[1] & CE != 0
}

/// Sets the ECN field of an IPv4 packet.
pub(crate) fn set_ecn(packet: &mut [u8], field: u8) {
    let Some((header, _)) = ipv4(packet) else { return };
    packet[1] = packet[1] & !CE | field;
    packet[10..12].fill(0);
    let (words, _) = packet[..header].as_chunks();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// Whether the packet is a TCP segment that only acknowledges: a later one contains all of its
/// information.
pub(crate) fn is_pure_ack(packet: &[u8]) -> bool {
    const ACK: u8 = 0x10;
    const PSH: u8 = 0x08;
    let Some((header, TCP)) = ipv4(packet) else { return false };
    let (Some(offset), Some(flags)) = (packet.get(header + 12), packet.get(header + 13)) else {
        return false;
    };
    let headers = header + usize::from(offset >> 4) * 4;
    packet.len() == headers && flags & !PSH == ACK
}

/// A number that is the same for all packets of one direction of a connection, and rarely equal for
/// two connections.
pub(crate) fn flow(packet: &[u8]) -> u32 {
    let Some((header, protocol)) = ipv4(packet) else { return 0 };
    let ports = packet.get(header..header + 4).unwrap_or_default();
    // FNV-1a.
    let fold = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    packet[12..20].iter().chain([protocol].iter()).chain(ports).fold(2_166_136_261, fold)
}
