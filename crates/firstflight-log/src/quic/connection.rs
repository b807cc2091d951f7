//! One QUIC connection of a capture: keys as the handshake leads to them, and the books of both
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

/// What stands at the beginning of a handshake: enough for the random number and the cipher.
const HELLO: usize = 256;
/// One end counts as near if the handshake says that it is this many times nearer than the other.
const NEARER: u64 = 4;
pub(super) const ORIGIN: &str = "capture of QUIC, opened with a key log";

/// The first bytes of a stream of handshake data, whatever order they come in.
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

    /// Up to the first gap.
    fn whole(&self) -> Vec<u8> {
        self.bytes.iter().map_while(|byte| *byte).collect()
    }

    /// The random number of a hello of the client.
    fn random(&self) -> Option<[u8; 32]> {
        let whole = self.whole();
        let mut cursor = Cursor(&whole);
        (cursor.byte()? == 1).then_some(())?;
        cursor.take(3 + 2)?;
        cursor.take(32)?.try_into().ok()
    }

    /// The cipher of a hello of the server.
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

/// Numbers that are kept to know a packet again: the places of a capture are no further apart.
const MOST_NUMBERS: usize = 4096;

/// One side, 0 for the client.
pub(super) struct Side {
    hello: Hello,
    initial: Option<(Version, Keys)>,
    early: Option<Keys>,
    handshake: Option<Keys>,
    data: Option<Keys>,
    /// The largest number opened, by space.
    largest: [Option<u64>; 3],
    /// The latest numbers opened, by space.
    latest: [BTreeSet<u64>; 3],
    sender: Sender,
    detector: Detector,
    /// Data bytes in packets that were opened.
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

    /// Books a number that was opened. False if it was before.
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

/// Moments of the handshake that show where the capture was taken.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    client: Option<Time>,
    server: Option<Time>,
    answer: Option<Time>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Opened,
    /// Its keys are not in the key log, or it is damaged.
    Sealed,
    /// It was captured before, at another place: no number is used twice (RFC 9000 section 12.3).
    Copy,
}

pub(super) struct Connection {
    sides: [Side; 2],
    /// The ID that the first packet was sent to.
    first_id: Vec<u8>,
    version: Version,
    random: Option<[u8; 32]>,
    cipher: Option<Cipher>,
    pace: Pace,
    pub last: Time,
    pub opened: u64,
    pub sealed: u64,
    /// Packets that were captured before.
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

    /// A packet with a long header that `from` sent. Returns the IDs that its sender gave itself.
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
                // Keys of what follows come from the ID that the server chose.
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

    /// A packet with a short header, to an ID of `id` bytes.
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

    /// Whether this is a packet with a short header, and not the beginning of one.
    pub(super) fn opens(&mut self, from: usize, id: usize, packet: &[u8], keylog: &KeyLog) -> bool {
        self.derive(from, keylog);
        let side = &mut self.sides[from];
        let largest = side.largest[Space::Data as usize];
        side.data.as_mut().is_some_and(|keys| keys.open(packet, 1 + id, largest).is_some())
    }

    /// Initial packets of the client, of the server, and what the client sends then.
    fn keep_pace(&mut self, now: Time, from: usize) {
        match (from, self.pace) {
            (0, Pace { client: None, .. }) => self.pace.client = Some(now),
            (1, Pace { client: Some(_), server: None, .. }) => self.pace.server = Some(now),
            (0, Pace { server: Some(_), answer: None, .. }) => self.pace.answer = Some(now),
            _ => {}
        }
    }

    /// The side that the capture was taken at, if the handshake shows it.
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
        // Keys hang on the version of each packet: a server may answer with another one.
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

    /// Keys out of the key log, as far as the handshake has shown whose they are.
    fn derive(&mut self, from: usize, keylog: &KeyLog) {
        self.random = self.random.or_else(|| self.sides[0].hello.random());
        self.cipher = self.cipher.or_else(|| self.sides[1].hello.cipher());
        let Some(random) = self.random else { return };
        let (version, cipher) = (self.version, self.cipher);
        let keys = |label: Label| {
            let secret = keylog.secret(&random, label)?;
            // Before the server has answered, the length says it but for one cipher.
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

    /// Books what a packet holds. Returns the IDs that its sender gave itself.
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

    /// The connection is over. Returns how many senders are told of, and data bytes of those that are
    /// not.
    pub(super) fn close(mut self, sink: &mut impl Sink) -> (u64, u64) {
        let near = self.near();
        // Where the handshake does not show it, the end that sent most is looked at.
        let told = near.unwrap_or(usize::from(self.sides[1].sent >= self.sides[0].sent));
        let left_out = self.sides[1 - told].sent;
        self.sides[1 - told].sender.abandon(sink);
        self.sides[told].sender.close(sink);
        (u64::from(self.sides[told].sender.is_open()), left_out)
    }
}
