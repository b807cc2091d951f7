//! Programs of others as senders: a server and a client that are told apart from nothing but what
//! arrives.

use firstflight_path::Error;
use serde::Deserialize;
use std::path::Path;

/// What is read of a file of a pair.
const MOST_TEXT: u64 = 64 << 10;

/// A server at the sender's end of a path and a client at the other, each a line for the shell.
///
/// Both find the port in `$FIRSTFLIGHT_PORT` and how many bytes are wanted in `$FIRSTFLIGHT_BYTES`,
/// the server its address in `$FIRSTFLIGHT_LOCAL`, the client that of the server in
/// `$FIRSTFLIGHT_PEER`. The server listens on TCP or UDP and sends when it is asked; the client
/// writes what it gets to its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// The sender.
    pub server: String,
    /// The receiver.
    pub client: String,
}

impl Programs {
    /// Reads a pair in TOML.
    ///
    /// # Errors
    /// One line: no such file, or another key, or one that is missing or empty.
    pub fn read(file: &Path) -> Result<Programs, Error> {
        let failed = |why: &str| Error::new(format!("program {}: {why}", file.display()));
        let length = std::fs::metadata(file).map_err(|error| failed(&error.to_string()))?.len();
        if length > MOST_TEXT {
            return Err(failed("longer than 64 KiB"));
        }
        let text = std::fs::read_to_string(file).map_err(|error| failed(&error.to_string()))?;
        let pair: Programs = toml::from_str(&text).map_err(|error| {
            let line = error.message().lines().next().unwrap_or_default().to_owned();
            failed(&format!("{line}; allowed: server = \"...\" and client = \"...\""))
        })?;
        if pair.server.trim().is_empty() || pair.client.trim().is_empty() {
            return Err(failed("an empty line; allowed: server = \"...\" and client = \"...\""));
        }
        Ok(pair)
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
        for wrong in ["", "server = \"a\"", "server = \"a\"\nclient = \" \"", "x = 1", "{"] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.as_str().contains("allowed: server"), "{wrong}: {error}");
        }
        let error = Programs::read(Path::new("/nonexistent")).expect_err("no file");
        assert!(error.as_str().contains("/nonexistent"), "{error}");
    }
}
