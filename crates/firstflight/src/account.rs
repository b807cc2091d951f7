//! Statistics of a connection, as a trial reports them: a fold over the events of its controller,
//! each with the controller right after it. No rule reads them.
//!
//! Every testbed keeps one, and a log gives the same one back, because there is nothing else to
//! know: two witnesses of one connection cannot disagree. Only how far the stream is repaired is no
//! event of a controller; who knows it says it beside ([`Account::on_hole`],
//! [`Account::on_filled`]).
//!
//! Counters that the controller keeps itself are in [`Stats`](crate::controller::Stats).

use crate::congestion_control::CongestionControl;
use crate::event::{Ack, Congestion, Event, Timeout};
use crate::units::{Nanos, Time};

/// One recovery episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Episode {
    /// When it began.
    pub start: Time,
    /// When it ended; `None` if the trial ended first.
    pub end: Option<Time>,
    /// Window just before, bytes.
    pub cwnd_before: u64,
    /// Bytes in flight just before the ACK that opened it.
    pub inflight: u64,
    /// Bytes acknowledged in it, by the ACKs that opened and closed it included.
    pub acked: u64,
    /// Bytes declared lost in it, likewise.
    pub lost: u64,
    /// Longest time without sending in it, from its start on.
    pub silence: Nanos,
    /// Window when it ended, or at the end of the trial, bytes.
    pub cwnd_after: u64,
    /// When the last hole that was found since it began, and before the next one began, was filled
    /// at the sender; `None` also where the stack does not show its stream.
    pub repaired: Option<Time>,
}

/// An episode with what is missing of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The episode.
    pub episode: Episode,
    /// One past the highest position that was declared lost in it and until the next one, while it
    /// is not filled; 0 is nothing.
    hole: u64,
}

/// The fold. `E` keeps the episodes: a `Vec<Kept>` where there is an allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account<E> {
    /// The last episode has not ended: asked with every packet sent, so it is here and not with
    /// the episode.
    open: bool,
    /// A false alarm has ended it for the controller already.
    undone: bool,
    /// Loss and mark episodes of the controller that are in `episodes`.
    known: u32,
    /// Loss episodes alone.
    known_losses: u32,
    /// Window after the last event, bytes.
    cwnd: u64,
    last_sent: Time,
    /// A full packet as the window counts it, bytes.
    packet: u64,
    cwnd_max: u64,
    below_ssthresh: u64,
    timed_out: u64,
    /// Episodes with holes, and the first that may be one.
    unfilled: u32,
    first_unfilled: u32,
    episodes: E,
}

impl<E: Default> Account<E> {
    /// The account of a connection with packets of `packet` bytes, as the window counts them, to
    /// which nothing has happened.
    pub fn new(packet: u64) -> Account<E> {
        Account { packet: packet.max(1), ..Account::default() }
    }
}

impl<E> Account<E> {
    /// Largest window before or after an ACK, bytes.
    pub fn cwnd_max(&self) -> u64 {
        self.cwnd_max
    }

    /// Loss episodes with no more in flight at entry, before any repeat, than the threshold allows,
    /// in whole packets.
    pub fn recoveries_below_ssthresh(&self) -> u64 {
        self.below_ssthresh
    }

    /// Episodes that a retransmission timeout (TCP) cut short.
    pub fn recoveries_timed_out(&self) -> u64 {
        self.timed_out
    }

    /// The controller may have moved its window before a burst.
    #[inline]
    pub fn on_ready(&mut self, after: &impl CongestionControl) {
        self.cwnd = after.cwnd();
    }
}

impl<E: AsRef<[Kept]> + AsMut<[Kept]> + Extend<Kept>> Account<E> {
    /// All episodes so far.
    pub fn episodes(&self) -> impl DoubleEndedIterator<Item = &Episode> + ExactSizeIterator {
        self.episodes.as_ref().iter().map(|kept| &kept.episode)
    }

    /// The same counters for the report of a trial that ended with a window of `cwnd` bytes.
    pub fn reported(&self, cwnd: u64) -> impl Iterator<Item = Episode> {
        self.episodes().map(move |episode| match episode.end {
            Some(_) => *episode,
            None => Episode { cwnd_after: cwnd, ..*episode },
        })
    }

    /// One event, and the controller right after it. Returns whether an episode began.
    pub fn take(&mut self, event: &Event, after: &impl CongestionControl) -> bool {
        match event {
            Event::Ready(_) | Event::HandshakeRtt { .. } | Event::Mss { .. } => {
                self.on_ready(after);
            }
            Event::Sent(sent) => self.on_sent(sent.now),
            Event::Ack(ack, _) => return self.on_ack(ack, after),
            Event::Congestion(congestion) => self.on_congestion(congestion, after),
            Event::Spurious { .. } => self.on_spurious(after),
        }
        false
    }

    /// Records a packet that left.
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        let last = core::mem::replace(&mut self.last_sent, now);
        if self.open
            && let Some(kept) = self.episodes.as_mut().last_mut()
        {
            let quiet = now.since(last.max(kept.episode.start));
            kept.episode.silence = kept.episode.silence.max(quiet);
        }
    }

    /// The controller has heard of an ACK or a loss timer. Returns whether an episode began.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, after: &impl CongestionControl) -> bool {
        let (before, cwnd) = (core::mem::replace(&mut self.cwnd, after.cwnd()), after.cwnd());
        self.cwnd_max = self.cwnd_max.max(before).max(cwnd);
        let stats = after.stats();
        let began = stats.loss_episodes + stats.ecn_episodes != self.known;
        if self.open
            && let Some(Kept { episode, .. }) = self.episodes.as_mut().last_mut()
        {
            episode.acked += ack.acked;
            episode.lost += ack.lost;
            if began || !after.in_recovery() {
                self.open = false;
                episode.end = Some(ack.now);
                episode.cwnd_after = if began { before } else { cwnd };
            }
        }
        if began {
            self.begin(ack, before, after);
        }
        began
    }

    #[cold]
    fn begin(&mut self, ack: &Ack, cwnd_before: u64, after: &impl CongestionControl) {
        let stats = after.stats();
        (self.open, self.undone) = (true, false);
        self.known = stats.loss_episodes + stats.ecn_episodes;
        if core::mem::replace(&mut self.known_losses, stats.loss_episodes) != stats.loss_episodes {
            let threshold = after.ssthresh().unwrap_or(u64::MAX) / self.packet;
            self.below_ssthresh += u64::from(ack.inflight.div_ceil(self.packet) <= threshold);
        }
        let episode = Episode {
            start: ack.now,
            cwnd_before,
            inflight: ack.inflight_before,
            acked: ack.acked,
            lost: ack.lost,
            cwnd_after: after.cwnd(),
            ..Episode::default()
        };
        self.episodes.extend([Kept { episode, hole: 0 }]);
    }

    /// The controller has heard of a timeout. That of TCP ends the episode that is open, with the
    /// window that it would have left; what QUIC calls persistent congestion is found with an ACK
    /// and ends it with the next one.
    pub fn on_congestion(&mut self, congestion: &Congestion, after: &impl CongestionControl) {
        let before = core::mem::replace(&mut self.cwnd, after.cwnd());
        if congestion.timeout == Timeout::PersistentCongestion || !core::mem::take(&mut self.open) {
            return;
        }
        self.timed_out += u64::from(!self.undone);
        if let Some(Kept { episode, .. }) = self.episodes.as_mut().last_mut() {
            (episode.end, episode.cwnd_after) = (Some(congestion.now), before);
        }
    }

    /// The controller has heard that the last episode was a false alarm. The next event shows that
    /// it is over.
    pub fn on_spurious(&mut self, after: &impl CongestionControl) {
        self.cwnd = after.cwnd();
        self.undone = !after.in_recovery();
    }

    /// Something up to position `end` of the stream (bytes or chunks, whichever the transport
    /// counts) was declared lost; 0 means nothing. Call it after the ACK and before a timeout.
    #[inline]
    pub fn on_hole(&mut self, end: u64) {
        if end > 0
            && let Some(kept) = self.episodes.as_mut().last_mut()
        {
            self.unfilled += u32::from(kept.hole == 0);
            kept.hole = kept.hole.max(end);
        }
    }

    /// Everything below position `filled` is acknowledged: which episodes have no hole left.
    #[inline]
    pub fn on_filled(&mut self, now: Time, filled: u64) {
        if self.unfilled > 0 {
            self.fill(now, filled);
        }
    }

    fn fill(&mut self, now: Time, filled: u64) {
        let episodes = self.episodes.as_mut();
        // Of all episodes but the last, what has no hole gets none any more.
        let last = episodes.len().saturating_sub(1);
        let mut first = self.first_unfilled as usize;
        while first < last && episodes[first].hole == 0 {
            first += 1;
        }
        self.first_unfilled = first as u32;
        for kept in episodes[first..].iter_mut().filter(|kept| kept.hole > 0) {
            if kept.hole <= filled {
                kept.hole = 0;
                kept.episode.repaired = Some(now);
                self.unfilled -= 1;
            }
        }
    }
}
