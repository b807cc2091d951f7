//! Key logs, as TLS stacks write them to `SSLKEYLOGFILE`. A line has a label, the client's random
//! number, and a secret, the last two in hexadecimal.

use std::collections::HashMap;
use std::fmt;

/// Maximum number of lines kept; a server that logs for days writes more than one capture needs.
const MOST: usize = 1 << 20;

/// Kind of secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Label {
    /// Client early traffic.
    Early,
    /// Handshake traffic, by side; 0 is the client.
    Handshake(usize),
    /// Application traffic, by side.
    Data(usize),
}

impl Label {
    fn of(text: &str) -> Option<Label> {
        match text {
            "CLIENT_EARLY_TRAFFIC_SECRET" | "QUIC_CLIENT_EARLY_TRAFFIC_SECRET" => {
                Some(Label::Early)
            }
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET" | "QUIC_CLIENT_HANDSHAKE_TRAFFIC_SECRET" => {
                Some(Label::Handshake(0))
            }
            "SERVER_HANDSHAKE_TRAFFIC_SECRET" | "QUIC_SERVER_HANDSHAKE_TRAFFIC_SECRET" => {
                Some(Label::Handshake(1))
            }
            "CLIENT_TRAFFIC_SECRET_0" | "QUIC_CLIENT_TRAFFIC_SECRET_0" => Some(Label::Data(0)),
            "SERVER_TRAFFIC_SECRET_0" | "QUIC_SERVER_TRAFFIC_SECRET_0" => Some(Label::Data(1)),
            _ => None,
        }
    }
}

/// The secrets of a key log.
#[derive(Clone, Default)]
pub struct KeyLog {
    secrets: HashMap<([u8; 32], Label), Vec<u8>>,
}

impl fmt::Debug for KeyLog {
    /// Prints only the number of secrets, never a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.secrets.len())
    }
}

impl KeyLog {
    /// Parses a key log. Malformed lines, and secrets of other TLS versions, are skipped.
    ///
    /// # Errors
    /// If it has no secret that QUIC uses. The message quotes nothing from the log.
    pub fn parse(text: &str) -> Result<KeyLog, String> {
        let mut secrets = HashMap::new();
        for line in text.lines().take(MOST) {
            let mut words = line.split_ascii_whitespace();
            let (Some(label), Some(random), Some(secret)) =
                (words.next().and_then(Label::of), words.next(), words.next())
            else {
                continue;
            };
            let random = bytes(random).and_then(|random| random.try_into().ok());
            let secret = bytes(secret).filter(|secret| matches!(secret.len(), 32 | 48));
            if let (Some(random), Some(secret)) = (random, secret) {
                secrets.insert((random, label), secret);
            }
        }
        if secrets.is_empty() {
            return Err("no secret of TLS 1.3 in this key log: its lines have the form `SERVER_TRAFFIC_SECRET_0 RANDOM SECRET`, as programs write them if SSLKEYLOGFILE is set".into());
        }
        Ok(KeyLog { secrets })
    }

    pub(super) fn secret(&self, random: &[u8; 32], label: Label) -> Option<&[u8]> {
        self.secrets.get(&(*random, label)).map(Vec::as_slice)
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) || hex.len() > 256 || !hex.is_ascii() {
        return None;
    }
    (0..hex.len() / 2).map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_and_never_shown() {
        let random = "ab".repeat(32);
        let text = format!(
            "# a comment\nCLIENT_RANDOM {random} {}\nSERVER_TRAFFIC_SECRET_0 {random} {}\n\
             CLIENT_TRAFFIC_SECRET_0 {random} zz\nSERVER_HANDSHAKE_TRAFFIC_SECRET {random} {}\n",
            "00".repeat(48),
            "cd".repeat(32),
            "ef".repeat(48),
        );
        let log = KeyLog::parse(&text).expect("two secrets");
        assert_eq!(log.secret(&[0xab; 32], Label::Data(1)), Some(&[0xcd; 32][..]));
        assert_eq!(log.secret(&[0xab; 32], Label::Handshake(1)), Some(&[0xef; 48][..]));
        assert_eq!(log.secret(&[0xab; 32], Label::Data(0)), None);
        assert_eq!(format!("{log:?}"), "2 secrets");
        let refused = KeyLog::parse(&format!("password {random}\n")).expect_err("no secret");
        assert!(!refused.contains(&random), "{refused}");
    }
}
