//! What the receiving host merges (`gro=TIME:BYTES` of a path): datagrams reach the stack in
//! batches.
//!
//! The first datagram that finds nothing waiting starts the time; when it is over, or as soon as
//! the bytes hold no further full datagram, all that wait are handed over at one instant. The stack
//! acknowledges as it does: a batch of two or more with one ACK, a single datagram with
//! the next. The simulator's receiver has the same time and count, but takes each datagram as it
//! comes and holds the ACK back instead.

use super::wire::Ecn;
use bytes::BytesMut;

/// The merging of a host.
#[derive(Debug)]
pub(super) struct Merge {
    /// How long the first one waits, ns.
    window: u64,
    /// Datagrams of a full batch.
    most: usize,
    held: Vec<(Ecn, BytesMut)>,
    due: Option<u64>,
}

impl Merge {
    /// Within `window` ns, up to `bytes`, in datagrams of `datagram` bytes. What holds less than
    /// two merges nothing.
    pub(super) fn new(window: u64, bytes: u64, datagram: u16) -> Merge {
        let most = usize::try_from(bytes / u64::from(datagram.max(1))).unwrap_or(usize::MAX).max(1);
        Merge { window, most, held: Vec::new(), due: None }
    }

    /// When the batch is handed over; none while nothing waits.
    pub(super) fn next(&self) -> Option<u64> {
        self.due
    }

    /// A datagram comes in.
    pub(super) fn take(&mut self, now: u64, ecn: Ecn, bytes: BytesMut) {
        self.held.push((ecn, bytes));
        if self.held.len() >= self.most {
            self.due = Some(now);
        } else if self.due.is_none() {
            self.due = Some(now.saturating_add(self.window));
        }
    }

    /// The batch, if it is time.
    pub(super) fn flush(&mut self, now: u64) -> Vec<(Ecn, BytesMut)> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.due = None;
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(merge: &mut Merge, comes: impl IntoIterator<Item = u64>) -> Vec<(u64, usize)> {
        let mut batches = Vec::new();
        let mut note = |merge: &mut Merge, now: u64| match merge.flush(now).len() {
            0 => {}
            many => batches.push((now, many)),
        };
        for now in comes {
            while let Some(due) = merge.next().filter(|due| *due < now) {
                note(merge, due);
            }
            merge.take(now, 0, BytesMut::new());
            note(merge, now);
        }
        if let Some(due) = merge.next() {
            note(merge, due);
        }
        batches
    }

    #[test]
    fn a_batch_ends_with_its_time_or_its_bytes() {
        // Every 4 us: five within 20 us of the first, its own included as long as the time is not
        // over.
        assert_eq!(
            sizes(&mut Merge::new(18, 65_536, 1472), (0..10).map(|k| 4 * k)),
            [(18, 5), (38, 5)]
        );
        assert_eq!(
            sizes(&mut Merge::new(1000, 3 * 1472, 1472), (0..7).map(|k| 4 * k)),
            [(8, 3), (20, 3), (1024, 1)]
        );
        assert_eq!(
            sizes(&mut Merge::new(1000, 0, 1472), [5, 6]),
            [(5, 1), (6, 1)],
            "what holds no datagram merges nothing"
        );
    }
}
