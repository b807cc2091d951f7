//! What is written of a connection: one table of columns, for writers, readers and documents.
//!
//! By default a row holds no address, no port of a client and no payload: the unit is a pseudonym
//! ([`crate::assign::Pseudonyms`]) and times are whole seconds.

/// A column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, with its unit.
    pub name: &'static str,
    /// The unit, empty for words and counts.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

const fn column(name: &'static str, unit: &'static str, meaning: &'static str) -> Column {
    Column { name, unit, meaning }
}

/// All columns, in their order. A writer leaves out what its stack cannot know; an empty cell is
/// "not known", never 0.
pub const COLUMNS: &[Column] = &[
    column("arm", "", "the arm that was drawn"),
    column("epoch", "", "counts up with every change of shares"),
    column("unit", "", "pseudonym of what was assigned: a client's prefix or a connection"),
    column("start_s", "s", "when it began, whole seconds since 1970"),
    column("bytes_written", "bytes", "what the service wrote, where it is known"),
    column("bytes_acked", "bytes", "what was acknowledged"),
    column("busy_ms", "ms", "time with data outstanding; the client's thinking does not count"),
    column("rwnd_limited_ms", "ms", "of it limited by the peer's window; not subtracted"),
    column("sndbuf_limited_ms", "ms", "of it limited by the send buffer; not subtracted"),
    column("goodput_mbps", "Mbit/s", "bytes acknowledged over busy time"),
    column("handshake_rtt_ms", "ms", "round trip of the handshake: before the treatment"),
    column("min_rtt_ms", "ms", "smallest round trip"),
    column("srtt_ms", "ms", "smoothed round trip at the end"),
    column("segments", "", "packets or segments with data sent, repeated ones included"),
    column("retransmitted", "", "segments retransmitted (TCP)"),
    column("bytes_sent", "bytes", "sent, as the stack counts bytes in flight"),
    column("bytes_lost", "bytes", "declared lost"),
    column("timeouts", "", "retransmission timeouts, or timers without an ACK since (QUIC)"),
    column("ce", "", "ACKs that echoed a congestion mark"),
    column("exit_reason", "", "why startup ended; empty if it had not"),
    column("exit_ms", "ms", "when, since the first data"),
    column("exit_cwnd_bytes", "bytes", "window at that moment"),
    column("ended", "", "fin, rst, timeout, open"),
    column("acked_all", "", "everything that was sent is acknowledged or declared lost"),
    column("censored", "", "still open when the row was written"),
    column("tail_unseen", "", "ACKs after the close were not seen"),
];

/// The column of that name.
pub fn named(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.name == name)
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
}
