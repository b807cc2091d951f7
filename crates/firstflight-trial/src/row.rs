//! The row of a connection: one table of columns, for writers, readers and documents.
//!
//! By default a row contains no address, no port of a client and no payload: the unit is a
//! pseudonym ([`crate::assign::Pseudonyms`]) and times are whole seconds.

#[cfg(feature = "rows")]
use serde::Serialize;

/// Type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Text.
    Text,
    /// A whole number, 0 or more.
    Whole,
    /// A number.
    Real,
    /// Yes or no.
    Flag,
}

/// A Rust type that can be a cell of a table.
trait Cell {
    const HOLDS: Holds;
}

impl Cell for String {
    const HOLDS: Holds = Holds::Text;
}

impl Cell for u32 {
    const HOLDS: Holds = Holds::Whole;
}

impl Cell for u64 {
    const HOLDS: Holds = Holds::Whole;
}

impl Cell for f64 {
    const HOLDS: Holds = Holds::Real;
}

impl Cell for bool {
    const HOLDS: Holds = Holds::Flag;
}

/// A column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, with its unit.
    pub name: &'static str,
    /// The unit, empty for words and counts.
    pub unit: &'static str,
    /// Meaning.
    pub meaning: &'static str,
    /// Type of its cells.
    pub holds: Holds,
}

/// Declares each column in one line.
macro_rules! columns {
    ($($name:ident: $type:ty, $unit:literal, $meaning:literal;)*) => {
        /// The row of a connection. Unknown values are `None`, never 0.
        #[derive(Clone, Debug, Default, PartialEq)]
        #[cfg_attr(feature = "rows", derive(Serialize))]
        pub struct Row {
            $(#[doc = $meaning] pub $name: Option<$type>,)*
        }

        /// All columns, in order. A writer omits those that its stack cannot provide; an empty cell
        /// means unknown, never 0.
        pub const COLUMNS: &[Column] = &[
            $(Column {
                name: stringify!($name),
                unit: $unit,
                meaning: $meaning,
                holds: <$type as Cell>::HOLDS,
            },)*
        ];
    };
}

columns! {
    arm: String, "", "the arm that was drawn";
    epoch: u32, "", "counts up with every change of shares";
    unit: String, "", "pseudonym of what was assigned: a client's prefix or a connection; or the pair of slots";
    slot: u64, "", "slot of time in which it began, counted from 0, where slots are drawn";
    slot_s: u64, "s", "from the beginning of its slot to its own, whole seconds";
    start_s: u64, "s", "when it began, whole seconds since 1970";
    bytes_written: u64, "bytes", "what the service wrote, where it is known";
    bytes_acked: u64, "bytes", "what was acknowledged";
    busy_ms: f64, "ms", "time with data outstanding; the client's thinking does not count";
    rwnd_limited_ms: f64, "ms", "of it limited by the peer's window; not subtracted";
    sndbuf_limited_ms: f64, "ms", "of it limited by the send buffer; not subtracted";
    goodput_mbps: f64, "Mbit/s", "bytes acknowledged over busy time";
    handshake_rtt_ms: f64, "ms", "round trip of the handshake: before the treatment";
    min_rtt_ms: f64, "ms", "smallest round trip";
    srtt_ms: f64, "ms", "smoothed round trip at the end";
    segments: u64, "", "segments with data sent, retransmitted ones included (TCP)";
    retransmitted: u64, "", "segments retransmitted (TCP)";
    lost: u64, "", "segments declared lost (TCP)";
    bytes_sent: u64, "bytes", "sent, as the stack counts bytes in flight";
    bytes_lost: u64, "bytes", "declared lost";
    timeouts: u64, "", "retransmission timeouts; in QUIC, persistent congestion";
    ce: u64, "", "ACKs that echoed a congestion mark";
    exit_reason: String, "", "why startup ended; none if it had not";
    exit_ms: f64, "ms", "when, since the first data";
    exit_cwnd_bytes: u64, "bytes", "window at that moment";
    ended: String, "", "fin, rst, timeout, open";
    acked_all: bool, "", "everything that was sent is acknowledged or declared lost; in QUIC, but for a probe of the path's MTU";
    censored: bool, "", "still open when the row was written";
    changed: bool, "", "the service chose another controller after the arm was given";
    tail_unseen: bool, "", "ACKs after the close were not seen";
    connection: u64, "", "number of the connection within its trial";
}

/// Nanoseconds as milliseconds for a row.
pub fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

/// Rate in Mbit/s; `None` if no time has passed.
pub fn mbps(bytes: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| bytes as f64 * 8e3 / nanos as f64)
}

/// The column of that name.
pub fn named(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.name == name)
}

#[cfg(feature = "rows")]
impl Row {
    /// These columns in this order, with unknown values as null.
    pub fn cells(&self, columns: &[&str]) -> serde_json::Map<String, serde_json::Value> {
        let value = serde_json::to_value(self).unwrap_or_default();
        let cell = |name: &&str| value.get(*name).cloned().unwrap_or_default();
        columns.iter().map(|name| ((*name).to_owned(), cell(name))).collect()
    }

    /// One line of JSON with these columns in this order, unknown values as null, and a line break
    /// at the end. Every line of a file has the same columns.
    pub fn line(&self, columns: &[&str]) -> String {
        format!("{}\n", serde_json::Value::Object(self.cells(columns)))
    }
}

#[cfg(test)]
mod tests {
    use super::COLUMNS;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_say_their_unit() {
        let names: BTreeSet<&str> = COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), COLUMNS.len());
        for column in COLUMNS.iter().filter(|column| !column.unit.is_empty()) {
            let unit = match column.unit {
                "Mbit/s" => "mbps",
                other => other,
            };
            assert!(column.name.contains(unit), "{} is in {}", column.name, column.unit);
        }
    }

    #[cfg(feature = "rows")]
    #[test]
    fn a_row_is_a_line_with_the_columns_that_are_asked_for() {
        let row = super::Row {
            arm: Some("rapid(\"x\")".into()),
            bytes_acked: Some(7),
            busy_ms: Some(1.5),
            ..super::Row::default()
        };
        let line = row.line(&["arm", "bytes_acked", "busy_ms", "acked_all"]);
        let read: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(line.lines().count(), 1);
        assert!(line.ends_with("}\n") && line.starts_with("{\"arm\":"), "{line}");
        assert_eq!(read["arm"], "rapid(\"x\")");
        assert_eq!((read["bytes_acked"].as_u64(), read["acked_all"].is_null()), (Some(7), true));
        assert_eq!(read.as_object().map(serde_json::Map::len), Some(4));
    }
}
