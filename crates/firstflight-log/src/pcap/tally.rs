//! Counts the connections of a capture that were used, and those that were left out for each
//! reason. One sentence for each, with the first case as the example.

use crate::quality::{Vantage, size};

/// A connection with less data has no startup: an initial window of ten segments is 14.6 kB.
pub(super) const LEAST_BYTES: u64 = 15_000;
/// If a whole file has less data than this in the other direction, the data is requests.
const LEAST_LEFT_OUT: u64 = 2_000;

/// Refused connections, and the reason for the first one.
#[derive(Default)]
pub(super) struct Refused {
    count: u64,
    bytes: u64,
    first: Option<(Vantage, String)>,
}

impl Refused {
    /// Adds a refused connection, captured at `at`, with the reason.
    pub(super) fn add(&mut self, bytes: u64, at: Vantage, why: impl FnOnce() -> String) {
        self.count += 1;
        self.bytes += bytes;
        self.first.get_or_insert_with(|| (at, why()));
    }

    fn told(&self) -> Option<String> {
        let ((at, why), bytes) = (self.first.as_ref()?, size(self.bytes));
        let many =
            if self.count > 1 { format!(" in {} connections", self.count) } else { String::new() };
        let verb = match at {
            Vantage::Receiver | Vantage::Middle => "were",
            Vantage::Sender | Vantage::Unknown => "are left out:",
        };
        Some(format!("{bytes} of data{many} {verb} {why}"))
    }
}

/// Connections whose ACKs are not in the capture.
#[derive(Default)]
pub(super) struct OneWay {
    bytes: u64,
}

impl OneWay {
    pub(super) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    fn told(&self) -> Option<String> {
        (self.bytes > 0).then(|| {
            format!(
                "{} of data have no ACKs in the capture, which needs both directions",
                size(self.bytes)
            )
        })
    }
}

#[derive(Default)]
pub(super) struct Tally {
    /// Connections that were used.
    pub(super) opened: u64,
    /// Connections refused because of where they were captured.
    pub(super) refused: Refused,
    /// Data without ACKs.
    pub(super) one_way: OneWay,
    /// Packets that were dropped before they could be captured.
    pub(super) dropped: u64,
    small: u64,
    small_bytes: u64,
    received: u64,
    missed: u64,
}

impl Tally {
    /// Adds a connection that is used.
    pub(super) fn used(&mut self, missed: u64, received: u64) {
        self.opened += 1;
        self.missed += missed;
        self.received += received;
    }

    /// Adds a connection with too little data.
    pub(super) fn small(&mut self, bytes: u64) {
        self.small += u64::from(bytes > 0);
        self.small_bytes += bytes;
    }

    /// Describes the data that is missing from the capture.
    pub(super) fn missed(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.missed > 0 {
            parts.push(format!(
                "{} bytes of data were sent but are missing from the capture; values that depend on them are estimates",
                self.missed
            ));
        }
        if self.dropped > 0 {
            parts.push(format!("{} packets were dropped while capturing", self.dropped));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Describes what was left out of a capture in which other connections were used.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.refused.told().into_iter().collect();
        if self.received >= LEAST_LEFT_OUT {
            notes.push(format!(
                "{} were received here, not sent, and are left out",
                size(self.received)
            ));
        }
        notes.extend(self.one_way.told());
        if self.small > 0 {
            notes.push(self.too_little() + " are left out");
        }
        notes
    }

    fn too_little(&self) -> String {
        let (bytes, least) = (size(self.small_bytes), size(LEAST_BYTES));
        match self.small {
            1 => format!("too little data ({bytes}, at least {least})"),
            count => format!(
                "too little data in {count} connections ({bytes} together, at least {least} in one)"
            ),
        }
    }

    /// Explains why none of `segments` TCP segments could be used.
    pub(super) fn nothing(&self, segments: u64) -> String {
        let mut parts: Vec<String> = self.refused.told().into_iter().collect();
        parts.extend(self.one_way.told());
        if self.small > 0 {
            parts.push(self.too_little());
        }
        if parts.is_empty() {
            return format!("{segments} TCP segments, but no connection has acknowledged data");
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::Refused;
    use crate::quality::Vantage;

    #[test]
    fn the_reason_for_a_refusal_ends_a_sentence() {
        let told = |reasons: &[(Vantage, &str)]| {
            let mut refused = Refused::default();
            for (at, why) in reasons {
                refused.add(20_000, *at, || (*why).to_owned());
            }
            refused.told()
        };
        assert_eq!(told(&[]), None);
        assert_eq!(
            told(&[(Vantage::Receiver, "captured at the receiver")]).as_deref(),
            Some("20 kB of data were captured at the receiver")
        );
        assert_eq!(
            told(&[
                (Vantage::Unknown, "started before the capture"),
                (Vantage::Receiver, "captured at the receiver")
            ])
            .as_deref(),
            Some("40 kB of data in 2 connections are left out: started before the capture")
        );
    }
}
