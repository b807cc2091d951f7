//! Settled controllers: the sender need not query them for each packet.

use super::{Combined, Company, Instrumented};
use firstflight::{Rate, Time};

impl<S: Combined, L: Company<S>> Instrumented<S, L> {
    /// Called after everything that may change an answer: determines whether all controllers would
    /// give the same answer from now on. An ACK has provided the smoothed RTT, the window needs no
    /// bound and the account knows it, so a query has nothing to do.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        // A recorder records every query.
        self.settled = !L::records()
            && !self.controller.heeds_sending()
            && self.controller.train().is_none()
            && self.recorder.every(|other| other.settled);
        if self.settled {
            self.rate = self.controller.pacing_rate();
            self.each =
                self.controller.heeds_packets() || !self.recorder.every(|other| !other.each);
        }
    }

    /// For packets that leave together while all controllers [are
    /// settled](Instrumented::is_settled): whether [`Instrumented::on_sent`] must be called for
    /// each of them, not only for the last.
    #[inline(always)]
    pub fn heeds_each(&self) -> bool {
        self.each
    }

    /// Whether a query changes nothing, so that the sender may skip [`Instrumented::before_send`]
    /// and call [`Instrumented::asks_again`]. A controller needs the first query after a pause of
    /// the application (`idle_since`), and each query with nothing in flight, for example after
    /// everything was declared lost.
    #[inline(always)]
    pub fn is_settled(&self, idle_since: Option<Time>, inflight: u64) -> bool {
        self.settled && idle_since.is_none() && inflight > 0
    }

    /// The answer of [`Instrumented::asks`] with `inflight` bytes outstanding, for a
    /// [settled](Instrumented::is_settled) controller.
    #[inline(always)]
    pub fn asks_again(&mut self, len: u64, inflight: u64) -> Option<Option<Rate>> {
        let rate = self.controller.admits(len, inflight).then_some(self.rate);
        self.recorder.along(&rate, |other| other.asks_again(len, inflight));
        rate
    }

    /// Number of packets of `len` bytes, up to `most`, that may leave in a row with `inflight`
    /// bytes outstanding, if all controllers [are settled](Instrumented::is_settled); 0 if each
    /// packet must be queried. Also whether the limit is the window of this controller.
    #[inline(always)]
    pub fn admits_many(&self, len: u64, inflight: u64, most: u64) -> (u64, bool) {
        let room = self.room(len, inflight);
        let many = room.min(most);
        let alike = self.recorder.every(|other| {
            other.settled && other.rate == self.rate && other.room(len, inflight) >= many
        });
        if alike { (many, room < most && self.controller.open_window() > 0) } else { (0, false) }
    }

    /// Whether `len` bytes may leave with `inflight` bytes outstanding, at [this
    /// rate](Instrumented::settled_rate): the common answer of all
    /// [settled](Instrumented::is_settled) controllers, if there is one.
    #[inline(always)]
    pub fn agrees(&self, len: u64, inflight: u64, full: bool) -> Option<bool> {
        let admits = !full && self.controller.admits(len, inflight);
        debug_assert_eq!(admits, self.controller.admits(len, inflight), "who filled the window?");
        let alike = self.recorder.every(|other| {
            other.settled
                && other.controller.admits(len, inflight) == admits
                && (!admits || other.rate == self.rate)
        });
        (self.settled && alike).then_some(admits)
    }

    #[inline(always)]
    fn room(&self, len: u64, inflight: u64) -> u64 {
        self.controller.open_window().saturating_sub(inflight) / len.max(1)
    }

    /// The pacing rate of the [settled](Instrumented::is_settled) controllers.
    #[inline]
    pub fn settled_rate(&self) -> Option<Rate> {
        self.rate
    }
}
