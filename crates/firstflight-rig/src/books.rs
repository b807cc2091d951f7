//! Counts the packets and bytes of a trial and compares them with its logbook at the end. Checked
//! in builds with debug assertions; other builds contain none of it.

#[cfg(debug_assertions)]
pub(crate) use on::Books;

#[cfg(not(debug_assertions))]
pub(crate) use off::Books;

#[cfg(debug_assertions)]
mod on {
    use crate::logbook::Logbook;

    /// The counts of a trial.
    #[derive(Debug, Default)]
    pub(crate) struct Books {
        now: u64,
        /// Data packets that the path dropped.
        dropped: u64,
        /// Object bytes read in order.
        read: u64,
    }

    impl Books {
        pub(crate) fn at(&mut self, now: u64) {
            assert!(now >= self.now, "it was {} ns and is {now} ns", self.now);
            self.now = now;
        }

        /// The fate of a sender's datagram is known; the logbook contains `packets` data packets,
        /// `before` of which it contained before.
        pub(crate) fn on_sent(&mut self, before: u64, packets: u64, dropped: bool) {
            assert!(packets <= before + 1, "{} packets in one datagram", packets - before);
            self.dropped += u64::from(dropped && packets > before);
        }

        /// `read` of `object` bytes have been read.
        pub(crate) fn on_read(&mut self, read: u64, object: u64) {
            assert!(
                (self.read..=object).contains(&read),
                "{read} of {object} bytes are read, {} were",
                self.read
            );
            self.read = read;
        }

        /// The trial is over.
        pub(crate) fn check(&self, book: &Logbook) {
            let sent = book.packets_sent();
            let counted = &book.counted;
            assert_eq!(
                counted.packets_dropped, self.dropped,
                "packets dropped in the logbook and on the path"
            );
            assert!(
                counted.packets_lost <= counted.packets_dropped && counted.packets_dropped <= sent,
                "more packets lost or dropped than the {sent} sent: {counted:?}"
            );
            assert!(
                counted.lost_retransmissions <= counted.retransmissions
                    && counted.retransmissions <= sent,
                "more packets repeated or lost again than the {sent} sent: {counted:?}"
            );
        }
    }
}

#[cfg(not(debug_assertions))]
#[expect(clippy::unused_self, reason = "the same calls as where it does something")]
mod off {
    use crate::logbook::Logbook;

    /// No checks.
    #[derive(Debug, Default)]
    pub(crate) struct Books;

    impl Books {
        #[inline(always)]
        pub(crate) fn at(&self, _now: u64) {}
        #[inline(always)]
        pub(crate) fn on_sent(&self, _before: u64, _packets: u64, _dropped: bool) {}
        #[inline(always)]
        pub(crate) fn on_read(&self, _read: u64, _object: u64) {}
        #[inline(always)]
        pub(crate) fn check(&self, _book: &Logbook) {}
    }
}
