//! Merging at the receiving host (`gro=TIME:BYTES` of a path): datagrams reach the stack in
//! batches.
//!
//! The time starts with the first datagram that finds no other one waiting. When it is over, or as
//! soon as the bytes have no room for another full datagram, all that wait are passed on at one
//! instant. The stack acknowledges in its own way: a batch of two or more with one ACK, a single
//! datagram with the next. The simulator's receiver has the same time and count, but processes each
//! datagram on arrival and holds the ACK back instead.

use super::wire::Ecn;
use bytes::BytesMut;

/// The merging of a host.
#[derive(Debug)]
pub(super) struct Merge {
    /// Waiting time of the first datagram, ns.
    window: u64,
    /// Number of datagrams of a full batch.
    most: usize,
    held: Vec<(Ecn, BytesMut)>,
    due: Option<u64>,
}

impl Merge {
    /// Merges within `window` ns, up to `bytes`, in datagrams of `datagram` bytes. If fewer than
    /// two datagrams fit, nothing is merged.
    pub(super) fn new(window: u64, bytes: u64, datagram: u16) -> Merge {
        let most = usize::try_from(bytes / u64::from(datagram.max(1))).unwrap_or(usize::MAX).max(1);
        Merge { window, most, held: Vec::new(), due: None }
    }

    /// When the batch is passed on; `None` while nothing waits.
    pub(super) fn next(&self) -> Option<u64> {
        self.due
    }

    /// A datagram arrives.
    pub(super) fn take(&mut self, now: u64, ecn: Ecn, bytes: BytesMut) {
        self.held.push((ecn, bytes));
        if self.held.len() >= self.most {
            self.due = Some(now);
        } else if self.due.is_none() {
            self.due = Some(now.saturating_add(self.window));
        }
    }

    /// The batch, if it is due.
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
        // One every 4 us: five within 20 us of the first, which counts until the time is over.
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
