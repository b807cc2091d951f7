//! What became of all connections of a capture: what was used, and what was left out for which
//! reason. One sentence each, with the first case as the example.

use crate::quality::{Vantage, size};

/// Fewer bytes of data are no startup: an initial window of ten segments is 14.6 kB.
pub(super) const LEAST_BYTES: u64 = 15_000;
/// The other way, less than this in a whole file is requests.
const LEAST_LEFT_OUT: u64 = 2_000;

/// Connections that are refused, and why the first of them is.
#[derive(Default)]
pub(super) struct Refused {
    count: u64,
    bytes: u64,
    first: Option<(Vantage, String)>,
}

impl Refused {
    /// One more, captured there, and why it is refused.
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

/// What became of the connections.
#[derive(Default)]
pub(super) struct Tally {
    /// Connections that were used.
    pub(super) opened: u64,
    /// Connections that are refused for where they were captured.
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
    /// A connection that is used.
    pub(super) fn used(&mut self, missed: u64, received: u64) {
        self.opened += 1;
        self.missed += missed;
        self.received += received;
    }

    /// A connection with too little data.
    pub(super) fn small(&mut self, bytes: u64) {
        self.small += u64::from(bytes > 0);
        self.small_bytes += bytes;
    }

    /// What the capture does not hold.
    pub(super) fn missed(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.missed > 0 {
            parts.push(format!(
                "{} bytes of data were sent that the capture does not hold; what hangs on them is an estimate",
                self.missed
            ));
        }
        if self.dropped > 0 {
            parts.push(format!("{} packets were dropped while capturing", self.dropped));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// What was left out beside connections that were used.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.refused.told().into_iter().collect();
        if self.received >= LEAST_LEFT_OUT {
            notes.push(format!(
                "{} came the other way (received here) and are left out",
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

    /// Why nothing is left of `segments` TCP segments.
    pub(super) fn nothing(&self, segments: u64) -> String {
        let mut parts: Vec<String> = self.refused.told().into_iter().collect();
        parts.extend(self.one_way.told());
        if self.small > 0 {
            parts.push(self.too_little());
        }
        if parts.is_empty() {
            return format!(
                "{segments} TCP segments, but in no connection data that was acknowledged"
            );
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
            told(&[(Vantage::Receiver, "taken at the receiver")]).as_deref(),
            Some("20 kB of data were taken at the receiver")
        );
        assert_eq!(
            told(&[
                (Vantage::Unknown, "began before the capture"),
                (Vantage::Receiver, "taken at the receiver")
            ])
            .as_deref(),
            Some("40 kB of data in 2 connections are left out: began before the capture")
        );
    }
}
