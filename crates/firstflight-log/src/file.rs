//! An input file as results list it.

use serde::Serialize;

/// Findings in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRow {
    /// Name as given by the user.
    pub file: String,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Events, packets or rows.
    pub records: u64,
    /// Connections found.
    pub connections: u64,
    /// Fault of the file, if any; its results are then partial.
    pub fault: Option<String>,
    /// Parts left out, with reasons.
    pub notes: Vec<String>,
}
