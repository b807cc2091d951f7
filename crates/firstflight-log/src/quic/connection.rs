//! One QUIC connection of a capture: keys derived as the handshake proceeds, and the state of both
//! senders.

use super::detect::Detector;
use super::frames::{self, Cursor};
use super::keylog::{KeyLog, Label};
use super::keys::{Cipher, Keys, Opened, Version, initial};
use super::packet::{Kind, Long};
use crate::qlog::{Packet, Sender, Space};
use crate::step::Sink;
use firstflight::{Nanos, Time};
use std::collections::BTreeSet;

/// Size of the start of a handshake that is kept: enough for the random number and the cipher.
const HELLO: usize = 256;
/// An end is near if it is this many times nearer than the other, according to the handshake.
const NEARER: u64 = 4;
pub(super) const ORIGIN: &str = "capture of QUIC, decrypted with a key log";

/// The first bytes of a handshake stream, collected in any order.
#[derive(Default)]
struct Hello {
    bytes: Vec<Option<u8>>,
}

impl Hello {
    fn add(&mut self, at: u64, data: &[u8]) {
        let Ok(at) = usize::try_from(at) else { return };
        for (place, byte) in (at..HELLO).zip(data) {
            if self.bytes.len() <= place {
                self.bytes.resize(place + 1, None);
            }
            self.bytes[place] = Some(*byte);
        }
    }

    /// The bytes up to the first gap.
    fn whole(&self) -> Vec<u8> {
        self.bytes.iter().map_while(|byte| *byte).collect()
    }

    /// The random number of a ClientHello.
    fn random(&self) -> Option<[u8; 32]> {
        let whole = self.whole();
        let mut cursor = Cursor(&whole);
        (cursor.byte()? == 1).then_some(())?;
        cursor.take(3 + 2)?;
        cursor.take(32)?.try_into().ok()
    }

    /// The cipher of a ServerHello.
    fn cipher(&self) -> Option<Cipher> {
        let whole = self.whole();
        let mut cursor = Cursor(&whole);
        (cursor.byte()? == 2).then_some(())?;
        cursor.take(3 + 2 + 32)?;
        let session = cursor.byte()?;
        cursor.take(usize::from(session))?;
        let suite = cursor.take(2)?;
        Cipher::of(u16::from_be_bytes([suite[0], suite[1]]))
    }
}

/// Packet numbers kept for recognizing copies; the places of a capture are no further apart.
const MOST_NUMBERS: usize = 4096;

/// One side; 0 is the client.
pub(super) struct Side {
    hello: Hello,
    initial: Option<(Version, Keys)>,
    early: Option<Keys>,
    handshake: Option<Keys>,
    data: Option<Keys>,
    /// The largest packet number opened, by space.
    largest: [Option<u64>; 3],
    /// The latest packet numbers opened, by space.
    latest: [BTreeSet<u64>; 3],
    sender: Sender,
    detector: Detector,
    /// Data bytes in opened packets.
    sent: u64,
}

impl Side {
    fn new(name: String) -> Side {
        Side {
            hello: Hello::default(),
            initial: None,
            early: None,
            handshake: None,
            data: None,
            largest: [None; 3],
            latest: Default::default(),
            sender: Sender::new(name, ORIGIN.into()),
            detector: Detector::default(),
            sent: 0,
        }
    }

    /// Records the number of an opened packet; false if it was already there.
    fn is_new(&mut self, space: Space, number: u64) -> bool {
        let largest = &mut self.largest[space as usize];
        *largest = (*largest).max(Some(number));
        let latest = &mut self.latest[space as usize];
        let is_new = latest.insert(number);
        if latest.len() > MOST_NUMBERS {
            latest.pop_first();
        }
        is_new
    }
}

/// Times in the handshake that show where the capture was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    client: Option<Time>,
    server: Option<Time>,
    answer: Option<Time>,
}

/// Result for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Opened,
    /// Its keys are not in the key log, or it is damaged.
    Sealed,
    /// It was already captured at another place: no packet number is used twice (RFC 9000 section
    /// 12.3).
    Copy,
}

pub(super) struct Connection {
    sides: [Side; 2],
    /// The destination ID of the first packet.
    first_id: Vec<u8>,
    version: Version,
    random: Option<[u8; 32]>,
    cipher: Option<Cipher>,
    pace: Pace,
    pub last: Time,
    pub opened: u64,
    pub sealed: u64,
    /// Number of packets that had already been captured.
    pub copies: u64,
}

impl Connection {
    pub(super) fn new(
        names: [String; 2],
        first_id: &[u8],
        version: Version,
        now: Time,
    ) -> Connection {
        Connection {
            sides: names.map(Side::new),
            first_id: first_id.to_vec(),
            version,
            random: None,
            cipher: None,
            pace: Pace::default(),
            last: now,
            opened: 0,
            sealed: 0,
            copies: 0,
        }
    }

    /// Takes a packet with a long header from `from`. Returns the IDs that its sender issued for
    /// itself.
    pub(super) fn long(
        &mut self,
        now: Time,
        from: usize,
        long: &Long<'_>,
        bytes: &[u8],
        keylog: &KeyLog,
        sink: &mut impl Sink,
    ) -> (Fate, Vec<Vec<u8>>) {
        self.last = now;
        let packet = &bytes[..long.length];
        let space = match long.kind {
            Kind::Initial => Space::Initial,
            Kind::Handshake => Space::Handshake,
            Kind::Early => Space::Data,
            Kind::Retry => {
                // The server's ID now determines the keys.
                self.first_id = long.from.to_vec();
                self.sides.iter_mut().for_each(|side| side.initial = None);
                return (Fate::Opened, Vec::new());
            }
        };
        if long.kind == Kind::Initial {
            self.keep_pace(now, from);
            self.derive_initial(long);
        } else {
            self.version = long.version;
            self.derive(from, keylog);
        }
        let side = &mut self.sides[from];
        let keys = match long.kind {
            Kind::Initial => side.initial.as_mut().map(|(_, keys)| keys),
            Kind::Early => side.early.as_mut(),
            Kind::Handshake | Kind::Retry => side.handshake.as_mut(),
        };
        let largest = side.largest[space as usize];
        let opened = keys.and_then(|keys| keys.open(packet, long.number_at, largest));
        if opened.is_some() && long.kind == Kind::Handshake {
            self.keep_pace(now, from);
        }
        self.book(now, from, space, opened, packet.len() as u64, sink)
    }

    /// Takes a packet with a short header; its destination ID has `id` bytes.
    pub(super) fn short(
        &mut self,
        now: Time,
        from: usize,
        id: usize,
        packet: &[u8],
        keylog: &KeyLog,
        sink: &mut impl Sink,
    ) -> (Fate, Vec<Vec<u8>>) {
        self.last = now;
        self.derive(from, keylog);
        let side = &mut self.sides[from];
        let largest = side.largest[Space::Data as usize];
        let opened = side.data.as_mut().and_then(|keys| keys.open(packet, 1 + id, largest));
        self.book(now, from, Space::Data, opened, packet.len() as u64, sink)
    }

    /// Whether `packet` is a whole packet with a short header and not only the start of a packet.
    pub(super) fn opens(&mut self, from: usize, id: usize, packet: &[u8], keylog: &KeyLog) -> bool {
        self.derive(from, keylog);
        let side = &mut self.sides[from];
        let largest = side.largest[Space::Data as usize];
        side.data.as_mut().is_some_and(|keys| keys.open(packet, 1 + id, largest).is_some())
    }

    /// Notes the times of the first Initial packets of client and server, and of the client's
    /// answer.
    fn keep_pace(&mut self, now: Time, from: usize) {
        match (from, self.pace) {
            (0, Pace { client: None, .. }) => self.pace.client = Some(now),
            (1, Pace { client: Some(_), server: None, .. }) => self.pace.server = Some(now),
            (0, Pace { server: Some(_), answer: None, .. }) => self.pace.answer = Some(now),
            _ => {}
        }
    }

    /// The side at which the capture was taken, if the handshake shows it.
    fn near(&self) -> Option<usize> {
        let far = self.pace.server?.since(self.pace.client?);
        let near = self.pace.answer?.since(self.pace.server?);
        let nearer = |one: Nanos, other: Nanos| one.0.saturating_mul(NEARER) < other.0;
        if nearer(near, far) {
            Some(0)
        } else if nearer(far, near) {
            Some(1)
        } else {
            None
        }
    }

    fn derive_initial(&mut self, long: &Long<'_>) {
        // Keys depend on the version of each packet: a server may answer with another version.
        let known = |side: &Side| side.initial.as_ref().is_some_and(|(of, _)| *of == long.version);
        if self.sides.iter().all(known) {
            return;
        }
        if let Some(keys) = initial(long.version, &self.first_id) {
            for (side, keys) in self.sides.iter_mut().zip(keys) {
                side.initial = Some((long.version, keys));
            }
        }
    }

    /// Takes keys from the key log as soon as the handshake identifies them.
    fn derive(&mut self, from: usize, keylog: &KeyLog) {
        self.random = self.random.or_else(|| self.sides[0].hello.random());
        self.cipher = self.cipher.or_else(|| self.sides[1].hello.cipher());
        let Some(random) = self.random else { return };
        let (version, cipher) = (self.version, self.cipher);
        let keys = |label: Label| {
            let secret = keylog.secret(&random, label)?;
            // Before the server has answered, the length of the secret gives the cipher, except for
            // ChaCha20.
            let cipher =
                cipher.unwrap_or(if secret.len() == 48 { Cipher::Aes256 } else { Cipher::Aes128 });
            Keys::new(version, cipher, secret)
        };
        let side = &mut self.sides[from];
        if side.handshake.is_none() {
            side.handshake = keys(Label::Handshake(from));
        }
        if side.data.is_none() && cipher.is_some() {
            side.data = keys(Label::Data(from));
        }
        if from == 0 && side.early.is_none() {
            side.early = keys(Label::Early);
        }
    }

    /// Records the frames of a packet. Returns the IDs that its sender issued for itself.
    fn book(
        &mut self,
        now: Time,
        from: usize,
        space: Space,
        opened: Option<Opened>,
        bytes: u64,
        sink: &mut impl Sink,
    ) -> (Fate, Vec<Vec<u8>>) {
        let Some(Opened { number, payload }) = opened else {
            self.sealed += 1;
            return (Fate::Sealed, Vec::new());
        };
        if !self.sides[from].is_new(space, number) {
            self.copies += 1;
            return (Fate::Copy, Vec::new());
        }
        self.opened += 1;
        let read = frames::read(&payload);
        if space == Space::Initial {
            read.crypto.iter().for_each(|(at, data)| self.sides[from].hello.add(*at, data));
        }
        let ids = read.ids.iter().map(|id| id.to_vec()).collect();
        let is_data = space == Space::Data;
        let packet = |number: u64, is_probe: bool, frames| Packet {
            space,
            number: Some(number),
            bytes: Some(bytes),
            frames,
            path: 0,
            is_probe,
            numbers: Vec::new(),
        };
        let [client, server] = &mut self.sides;
        let (one, other) = if from == 0 { (client, server) } else { (server, client) };
        if is_data {
            one.sent += read.frames.data_bytes;
            for (number, is_probe) in one.detector.lost(now) {
                one.sender.on_lost(now, &packet(number, is_probe, read.frames.clone()), sink);
            }
            if read.frames.eliciting {
                one.detector.on_sent(now, number, read.probes_only);
            }
        }
        one.sender.on_sent(now, &packet(number, false, read.frames.clone()), sink);
        let acked = read.frames.acked.clone();
        let received = packet(number, false, read.frames);
        other.sender.on_received(now, &received, sink);
        if is_data && !acked.is_empty() {
            for (number, is_probe) in other.detector.on_ack(now, &acked) {
                other.sender.on_lost(now, &packet(number, is_probe, received.frames.clone()), sink);
            }
        }
        (Fate::Opened, ids)
    }

    /// Closes the connection. Returns the number of senders reported, and the data bytes of the
    /// sender that is not.
    pub(super) fn close(mut self, sink: &mut impl Sink) -> (u64, u64) {
        let near = self.near();
        // If the handshake does not show it, the end that sent more data is used.
        let told = near.unwrap_or(usize::from(self.sides[1].sent >= self.sides[0].sent));
        let left_out = self.sides[1 - told].sent;
        self.sides[1 - told].sender.abandon(sink);
        self.sides[told].sender.close(sink);
        (u64::from(self.sides[told].sender.is_open()), left_out)
    }
}
