//! A file that was read, as results list it.

use serde::Serialize;

/// What was found in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRow {
    /// As named.
    pub file: String,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Events, packets or rows.
    pub records: u64,
    /// Connections found.
    pub connections: u64,
    /// What is wrong with it, if anything: then its results are partial.
    pub fault: Option<String>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}
