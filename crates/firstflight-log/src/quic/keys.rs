//! Keys of QUIC packets (RFC 9001 section 5, RFC 9369): from a secret to a decrypted packet. No
//! type here prints a secret.

use ring::aead::quic::{self, HeaderProtectionKey};
use ring::aead::{self, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{self, HKDF_SHA256, HKDF_SHA384, KeyType, Prk, Salt};

/// Authentication tag, bytes.
const TAG: usize = 16;
/// Sample for header protection (RFC 9001 section 5.4.2), bytes.
const SAMPLE: usize = 16;

/// QUIC version, as far as keys and packet types differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Version {
    One,
    /// Drafts 29 to 32: version 1 with another salt.
    Draft,
    Two,
}

impl Version {
    pub(super) fn of(number: u32) -> Option<Version> {
        match number {
            1 => Some(Version::One),
            0x6b33_43cf => Some(Version::Two),
            0xff00_001d..=0xff00_0020 => Some(Version::Draft),
            _ => None,
        }
    }

    fn salt(self) -> &'static [u8; 20] {
        match self {
            Version::One => {
                b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"
            }
            Version::Draft => {
                b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99"
            }
            Version::Two => {
                b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9"
            }
        }
    }

    fn labels(self) -> [&'static str; 4] {
        match self {
            Version::One | Version::Draft => ["quic key", "quic iv", "quic hp", "quic ku"],
            Version::Two => ["quicv2 key", "quicv2 iv", "quicv2 hp", "quicv2 ku"],
        }
    }
}

/// Packet protection algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cipher {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Cipher {
    /// The cipher for the number of a TLS 1.3 cipher suite.
    pub(super) fn of(suite: u16) -> Option<Cipher> {
        match suite {
            0x1301 => Some(Cipher::Aes128),
            0x1302 => Some(Cipher::Aes256),
            0x1303 => Some(Cipher::ChaCha20),
            _ => None,
        }
    }

    fn hash(self) -> hkdf::Algorithm {
        if self == Cipher::Aes256 { HKDF_SHA384 } else { HKDF_SHA256 }
    }

    fn aead(self) -> &'static aead::Algorithm {
        match self {
            Cipher::Aes128 => &aead::AES_128_GCM,
            Cipher::Aes256 => &aead::AES_256_GCM,
            Cipher::ChaCha20 => &aead::CHACHA20_POLY1305,
        }
    }

    fn header(self) -> &'static quic::Algorithm {
        match self {
            Cipher::Aes128 => &quic::AES_128,
            Cipher::Aes256 => &quic::AES_256,
            Cipher::ChaCha20 => &quic::CHACHA20,
        }
    }
}

/// Number of bytes requested from HKDF.
#[derive(Clone, Copy)]
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label of TLS 1.3 with an empty context.
fn expand(hash: hkdf::Algorithm, secret: &[u8], label: &str, length: usize) -> Option<Vec<u8>> {
    let prk = Prk::new_less_safe(hash, secret);
    let (size, name) = ((length as u16).to_be_bytes(), [b"tls13 ", label.as_bytes()].concat());
    let mut out = vec![0; length];
    prk.expand(&[&size, &[name.len() as u8], &name, &[0]], Bytes(length))
        .and_then(|okm| okm.fill(&mut out))
        .ok()?;
    Some(out)
}

/// Keys of Initial packets; the client's come first (RFC 9001 section 5.2).
pub(super) fn initial(version: Version, id: &[u8]) -> Option<[Keys; 2]> {
    let secret = Salt::new(HKDF_SHA256, version.salt()).extract(id);
    let side = |label: &str| {
        let name = [b"tls13 ", label.as_bytes()].concat();
        let mut out = [0; 32];
        secret
            .expand(&[&[0, 32], &[name.len() as u8], &name, &[0]], Bytes(32))
            .and_then(|okm| okm.fill(&mut out))
            .ok()?;
        Keys::new(version, Cipher::Aes128, &out)
    };
    Some([side("client in")?, side("server in")?])
}

/// The keys of one direction and one kind of packets, with their key updates.
pub(super) struct Keys {
    version: Version,
    cipher: Cipher,
    secret: Vec<u8>,
    header: HeaderProtectionKey,
    now: Phase,
    before: Option<Phase>,
    /// The key phase bit of [`Keys::now`], and its first packet.
    phase: bool,
    since: u64,
}

struct Phase {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
}

impl Phase {
    fn new(version: Version, cipher: Cipher, secret: &[u8]) -> Option<Phase> {
        let [key, iv, ..] = version.labels();
        let key = expand(cipher.hash(), secret, key, cipher.aead().key_len())?;
        let iv = expand(cipher.hash(), secret, iv, NONCE_LEN)?;
        let key = UnboundKey::new(cipher.aead(), &key).ok()?;
        Some(Phase { key: LessSafeKey::new(key), iv: iv.try_into().ok()? })
    }

    fn open(&self, number: u64, header: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = self.iv;
        nonce.iter_mut().rev().zip(number.to_le_bytes()).for_each(|(byte, part)| *byte ^= part);
        let mut bytes = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let length = self.key.open_in_place(nonce, Aad::from(header), &mut bytes).ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }
}

/// An opened packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub number: u64,
    pub payload: Vec<u8>,
}

impl Keys {
    /// Creates keys from a secret; `None` if its length does not fit the cipher.
    pub(super) fn new(version: Version, cipher: Cipher, secret: &[u8]) -> Option<Keys> {
        if secret.len() != if cipher == Cipher::Aes256 { 48 } else { 32 } {
            return None;
        }
        let [_, _, header, _] = version.labels();
        let header = expand(cipher.hash(), secret, header, cipher.header().key_len())?;
        Some(Keys {
            version,
            cipher,
            secret: secret.to_vec(),
            header: HeaderProtectionKey::new(cipher.header(), &header).ok()?,
            now: Phase::new(version, cipher, secret)?,
            before: None,
            phase: false,
            since: 0,
        })
    }

    /// Opens a packet whose packet number starts at `at`; `largest` is the largest packet number so
    /// far in its space and direction.
    pub(super) fn open(
        &mut self,
        packet: &[u8],
        at: usize,
        largest: Option<u64>,
    ) -> Option<Opened> {
        let sample = packet.get(at + 4..at + 4 + SAMPLE)?;
        let mask = self.header.new_mask(sample).ok()?;
        let mut header = packet.get(..at + 4)?.to_vec();
        let is_long = header[0] & 0x80 != 0;
        header[0] ^= mask[0] & if is_long { 0x0f } else { 0x1f };
        let length = usize::from(header[0] & 3) + 1;
        header.truncate(at + length);
        header[at..].iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
        let short = header[at..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let number = number(short, 8 * length as u32, largest);
        let sealed = packet.get(at + length..).filter(|sealed| sealed.len() >= TAG)?;
        let phase = !is_long && header[0] & 4 != 0;
        if is_long || phase == self.phase {
            let payload = self.now.open(number, &header, sealed)?;
            return Some(Opened { number, payload });
        }
        if number < self.since
            && let Some(payload) =
                self.before.as_ref().and_then(|old| old.open(number, &header, sealed))
        {
            return Some(Opened { number, payload });
        }
        // RFC 9001 section 6.1: derive the next secret; header protection keys do not change.
        let [.., update] = self.version.labels();
        let secret = expand(self.cipher.hash(), &self.secret, update, self.secret.len())?;
        let next = Phase::new(self.version, self.cipher, &secret)?;
        let payload = next.open(number, &header, sealed)?;
        self.before = Some(std::mem::replace(&mut self.now, next));
        (self.secret, self.phase, self.since) = (secret, phase, number);
        Some(Opened { number, payload })
    }
}

/// RFC 9000 appendix A.3: the packet number closest to the expected one that ends in these bits.
fn number(short: u64, bits: u32, largest: Option<u64>) -> u64 {
    let expected = largest.map_or(0, |largest| largest + 1);
    let (window, half) = (1 << bits, 1 << (bits - 1));
    let candidate = (expected & !(window - 1)) | short;
    if candidate + half <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + half && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|pair| {
                let pair = std::str::from_utf8(pair).expect("ASCII");
                u8::from_str_radix(pair, 16).expect("digits")
            })
            .collect()
    }

    /// RFC 9001 appendix A.1.
    #[test]
    fn initial_secrets_are_those_of_the_rfc() {
        let id = bytes("8394c8f03e515708");
        let secret = Salt::new(HKDF_SHA256, Version::One.salt()).extract(&id);
        let mut client = [0; 32];
        secret
            .expand(&[&[0, 32, 15], b"tls13 client in", &[0]], Bytes(32))
            .and_then(|okm| okm.fill(&mut client))
            .expect("32 bytes");
        assert_eq!(
            client.to_vec(),
            bytes("c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea")
        );
        for (label, length, expected) in [
            ("quic key", 16, "1f369613dd76d5467730efcbe3b1a22d"),
            ("quic iv", 12, "fa044b2f42a3fd3b46fb255c"),
            ("quic hp", 16, "9f50449e04a0e810283a1e9933adedd2"),
        ] {
            assert_eq!(
                expand(HKDF_SHA256, &client, label, length),
                Some(bytes(expected)),
                "{label}"
            );
        }
    }

    /// RFC 9001 appendix A.3: the server's Initial packet.
    #[test]
    fn a_servers_initial_packet_opens() {
        let packet = bytes(
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb3\
             8cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84\
             022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
        );
        let [_, mut server] = initial(Version::One, &bytes("8394c8f03e515708")).expect("keys");
        let opened = server.open(&packet, 18, None).expect("it opens");
        assert_eq!(opened.number, 1);
        assert_eq!(
            opened.payload,
            bytes(
                "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a04\
                 5a1200130100002e00330024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9\
                 da1a002b00020304"
            )
        );
        let mut changed = packet;
        changed[60] ^= 1;
        assert_eq!(server.open(&changed, 18, None), None, "one bit is enough");
    }

    /// RFC 9001 appendix A.5: a short header and ChaCha20-Poly1305.
    #[test]
    fn a_packet_with_a_short_header_opens() {
        let secret = bytes("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let mut keys = Keys::new(Version::One, Cipher::ChaCha20, &secret).expect("keys");
        let packet = bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        let opened = keys.open(&packet, 1, Some(654_360_563)).expect("it opens");
        assert_eq!(opened, Opened { number: 654_360_564, payload: vec![1] });
        let update = expand(HKDF_SHA256, &secret, "quic ku", 32).expect("32 bytes");
        assert_eq!(
            update,
            bytes("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9")
        );
    }

    /// RFC 9369 appendix A.1.
    #[test]
    fn version_2_has_keys_of_its_own() {
        let id = bytes("8394c8f03e515708");
        let secret = Salt::new(HKDF_SHA256, Version::Two.salt()).extract(&id);
        let mut client = [0; 32];
        secret
            .expand(&[&[0, 32, 15], b"tls13 client in", &[0]], Bytes(32))
            .and_then(|okm| okm.fill(&mut client))
            .expect("32 bytes");
        assert_eq!(
            client.to_vec(),
            bytes("14ec9d6eb9fd7af83bf5a668bc17a7e283766aade7ecd0891f70f9ff7f4bf47b")
        );
        assert_eq!(
            expand(HKDF_SHA256, &client, "quicv2 key", 16),
            Some(bytes("8b1a0bc121284290a29e0971b5cd045d"))
        );
    }

    /// RFC 9000 appendix A.3.
    #[test]
    fn numbers_are_found_again() {
        assert_eq!(number(0x9b32, 16, Some(0xa82f_30ea)), 0xa82f_9b32);
        assert_eq!(number(0, 8, None), 0);
        assert_eq!(number(0xff, 8, Some(0x100)), 0xff);
        assert_eq!(number(0x01, 8, Some(0xfe)), 0x101);
    }

    #[test]
    fn keys_are_updated_and_late_packets_still_open() {
        let secret = [7; 32];
        let mut keys = Keys::new(Version::One, Cipher::Aes128, &secret).expect("keys");
        let mut at = secret.to_vec();
        let mut sealed = Vec::new();
        for phase in 0..3_u8 {
            let phase_keys = Phase::new(Version::One, Cipher::Aes128, &at).expect("keys");
            for index in 0..2 {
                let number = u64::from(phase) * 2 + index;
                let mut packet = vec![0x43 | (phase & 1) << 2];
                packet.extend((number as u32).to_be_bytes());
                let header = packet.clone();
                let mut nonce = phase_keys.iv;
                nonce[11] ^= number as u8;
                let mut payload = vec![1; 32];
                let nonce = Nonce::assume_unique_for_key(nonce);
                phase_keys
                    .key
                    .seal_in_place_append_tag(nonce, Aad::from(&header), &mut payload)
                    .expect("it seals");
                packet.extend(payload);
                let mask = keys.header.new_mask(&packet[5..21]).expect("a mask");
                packet[0] ^= mask[0] & 0x1f;
                packet[1..5].iter_mut().zip(&mask[1..]).for_each(|(byte, mask)| *byte ^= mask);
                sealed.push(packet);
            }
            at = expand(HKDF_SHA256, &at, "quic ku", 32).expect("32 bytes");
        }
        let mut largest = None;
        // The second packet of the first key phase arrives late.
        for number in [0, 2, 1, 3, 4, 5] {
            let opened = keys.open(&sealed[number as usize], 1, largest);
            assert_eq!(opened, Some(Opened { number, payload: vec![1; 32] }));
            largest = largest.max(Some(number));
        }
    }
}
