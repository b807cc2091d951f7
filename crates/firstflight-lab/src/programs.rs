//! External programs as senders: a server and a client of which only the arriving data are
//! observed.

use firstflight_path::{Error, input};
use std::path::Path;
use toml::de::DeTable;

/// Maximum number of bytes read from a file that describes a pair.
const MOST_TEXT: u64 = 64 << 10;

/// The keys allowed in such a file.
const ALLOWED: &str = "allowed: server = \"...\" and client = \"...\"";

/// A server at the sender's end of a path and a client at the other end, each a shell command.
///
/// Both find the port in `$FIRSTFLIGHT_PORT` and the number of bytes to send in
/// `$FIRSTFLIGHT_BYTES`. The server finds its own address in `$FIRSTFLIGHT_LOCAL`, the client finds
/// the server's address in `$FIRSTFLIGHT_PEER`. The server listens on TCP or UDP and sends on
/// request; the client writes the received data to its standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The sender.
    pub server: String,
    /// The receiver.
    pub client: String,
}

impl Programs {
    /// Reads a pair from a TOML file.
    ///
    /// # Errors
    /// A one-line message: no such file, an unknown key, or a key that is missing or empty.
    pub fn read(file: &Path) -> Result<Programs, Error> {
        let failed = |why: &str| Error::new(format!("program {}: {why}", file.display()));
        let text = input::read_text(file, MOST_TEXT).map_err(|error| failed(&error.to_string()))?;
        let table = DeTable::parse(&text)
            .map_err(|error| failed(&format!("{}; {ALLOWED}", error.message())))?;
        let (mut server, mut client) = (None, None);
        for (key, value) in table.get_ref() {
            let place = match key.get_ref().as_ref() {
                "server" => &mut server,
                "client" => &mut client,
                other => return Err(failed(&format!("`{other}` is unknown; {ALLOWED}"))),
            };
            *place = value.get_ref().as_str().map(str::trim).filter(|line| !line.is_empty());
            if place.is_none() {
                return Err(failed(&format!("`{}` is not a command; {ALLOWED}", key.get_ref())));
            }
        }
        match (server, client) {
            (Some(server), Some(client)) => {
                Ok(Programs { server: server.to_owned(), client: client.to_owned() })
            }
            _ => Err(failed(&format!("one of the two is missing; {ALLOWED}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Programs, Error> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        Programs::read(file.path())
    }

    #[test]
    fn a_pair_is_two_lines() {
        let pair = read("server = \"nginx\"\nclient = \"curl\"\n").expect("a pair");
        assert_eq!((pair.server.as_str(), pair.client.as_str()), ("nginx", "curl"));
    }

    #[test]
    fn what_is_no_pair_is_refused_with_its_name() {
        for wrong in
            ["", "server = \"a\"", "server = \"a\"\nclient = \" \"", "client = 1", "x = 1", "{"]
        {
            let error = read(wrong).expect_err(wrong);
            assert!(error.as_str().contains("allowed: server"), "{wrong}: {error}");
        }
        let error = Programs::read(Path::new("/nonexistent")).expect_err("no file");
        assert!(error.as_str().contains("/nonexistent"), "{error}");
    }
}
