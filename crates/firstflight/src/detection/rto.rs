//! The retransmission timeout: when it fires, and how it changes the scoreboard.
//!
//! The timer runs while data is outstanding and restarts with every ACK of new data; each expiry
//! doubles it. The first expiry of a series cuts the threshold, later ones only the window.
//! Everything not SACKed counts as lost and is retransmitted in order in slow start.
//!
//! Follows RFC 6298 (June 2011) section 5, RFC 5681 section 3.1, RFC 2018 section 8; the estimator
//! of the timeout itself is separate. State: 64 bytes. Departures: D1 SACK marks are kept, because
//! receivers that renege are rarer than timeouts with SACKs (option `forget_sacks`), unless the
//! head is SACKed: the receiver would have acknowledged the head if it still had it, so all SACK
//! marks are forgotten, as in Linux. D2 (Linux, option `keep_target`) an expiry inside an episode
//! does not cut the threshold a second time. D3 (option `reenter`) a retransmission of timeout
//! recovery that RACK declares lost opens a fast recovery, so that the policy bounds its burst.

use super::rack::Rack;
use super::{Episode, Flags, Losses, Scoreboard, SendOrder};
use crate::units::{Nanos, Seq, Time};

/// Options of the response, and the upper bound of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The longest timeout, backoff included.
    pub max: Nanos,
    /// Whether the threshold stays at the episode's target if the timeout fires inside an episode.
    pub keep_target: bool,
    /// Whether SACKs are forgotten at a timeout.
    pub forget_sacks: bool,
    /// Whether a lost retransmission of timeout recovery opens a fast recovery.
    pub reenter: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max: Nanos::from_secs(60),
            keep_target: false,
            forget_sacks: false,
            reenter: false,
        }
    }
}

/// Response of congestion control to an expiry; the window becomes one segment each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Response {
    /// Cut the threshold: first expiry of a series ([`crate::Timeout::Rto`]).
    Cut,
    /// First of a series, but an episode has cut already: the threshold is its target.
    KeepTarget,
    /// The same data timed out again: the threshold stays ([`crate::Timeout::RtoAgain`]).
    Again,
}

/// Position in the order of sending when the timer fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The next never-sent byte.
    pub nxt: Seq,
    /// The ordinal the next transmission will get.
    pub tx_next: u64,
}

/// The timer and its history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rto {
    options: Options,
    deadline: Option<Time>,
    /// Number of doublings in effect.
    backoff: u32,
    /// Whether the timer has fired since `una` last moved.
    in_series: bool,
    /// The position when the timer last fired: timeout recovery lasts until `una` reaches it.
    recovery: Option<Sent>,
}

impl Rto {
    /// A stopped timer.
    pub fn new(options: Options) -> Rto {
        Rto { options, ..Rto::default() }
    }

    /// When the timer fires, if it is running.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Number of doublings in effect.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Timeout recovery, if active, lasts until `una` reaches this.
    #[inline]
    pub fn loss_end(&self) -> Option<Seq> {
        self.recovery.map(|sent| sent.nxt)
    }

    /// The current timeout; `base` is the estimator's value. RFC6298 5-5: doubled by each expiry,
    /// up to the cap.
    #[inline]
    pub fn timeout(&self, base: Nanos) -> Nanos {
        if self.backoff == 0 {
            return base.min(self.options.max);
        }
        let doubled = u128::from(base.0) << self.backoff.min(63);
        Nanos(u64::try_from(doubled).unwrap_or(u64::MAX)).min(self.options.max)
    }

    /// Data was sent. RFC6298 5-1: starts the timer if it is off.
    #[inline]
    pub fn on_sent(&mut self, now: Time, base: Nanos) {
        if self.deadline.is_none() {
            self.deadline = Some(now + self.timeout(base));
        }
    }

    /// A valid RTT sample: the backoff ends. Report it before [`Rto::on_advance`].
    #[inline]
    pub fn on_sample(&mut self) {
        self.backoff = 0;
    }

    /// An ACK moved `una`. RFC6298 5-2, RFC6298 5-3: restarts the timer, or stops it if nothing is
    /// `outstanding`. Returns `true` if timeout recovery ends.
    #[inline]
    pub fn on_advance(&mut self, now: Time, base: Nanos, una: Seq, outstanding: bool) -> bool {
        self.in_series = false;
        self.deadline = outstanding.then(|| now + self.timeout(base));
        let over = self.recovery.is_some_and(|sent| una >= sent.nxt);
        if over {
            self.recovery = None;
        }
        over
    }

    /// Restarts the timer from now, after another timer used its slot.
    pub fn restart(&mut self, now: Time, base: Nanos) {
        self.deadline = Some(now + self.timeout(base));
    }

    /// The timer fired. RFC6298 5-4: the head is retransmitted, the timeout doubles, the timer
    /// restarts.
    pub fn on_expiry(&mut self, now: Time, base: Nanos, episode: Episode, sent: Sent) -> Response {
        self.backoff = self.backoff.saturating_add(1);
        self.restart(now, base);
        self.recovery = Some(sent);
        let response = match episode {
            // RFC5681 3.1-series: later expiries of a series do not cut the threshold.
            _ if self.in_series => Response::Again,
            // LINUX rto-keep-target: an episode has cut already (D2).
            Episode::Fast if self.options.keep_target => Response::KeepTarget,
            _ => Response::Cut,
        };
        self.in_series = true;
        response
    }

    /// Marks the scoreboard after an expiry: everything un-SACKed is lost, retransmissions of the
    /// episode included.
    ///
    /// With RACK, only the head and segments whose reordering window has expired are lost ([`Rack::on_timeout`]).
    pub fn mark<B: SendOrder>(&self, board: &mut B, rack: Option<&mut Rack>, now: Time) -> Losses {
        // RFC2018 8-1: the document forgets SACKs here (D1). RFC2018 8-2: in any case the left edge
        // is retransmitted.
        let forget = self.options.forget_sacks || Rto::is_reneged(board);
        if forget {
            board.forget_sacks();
        }
        match rack {
            Some(rack) => {
                board.remark(|flags| flags.without(Flags::REPEATED));
                if forget {
                    rack.rewind();
                }
                rack.on_timeout(board, now)
            }
            None => mark_everything(board),
        }
    }

    /// Whether the head is SACKed but not acknowledged: the receiver has discarded data that it had
    /// reported.
    pub fn is_reneged<B: Scoreboard>(board: &B) -> bool {
        !board.is_empty() && board.flags(board.first()).has(Flags::SACKED)
    }

    /// Whether these losses may open a fast recovery: always outside timeout recovery; inside it
    /// only for a retransmission sent there, and only by option.
    pub fn allows_episode(&self, losses: &Losses) -> bool {
        match self.recovery {
            // RFC6675 5.1-1: none inside timeout recovery, except as in the next line.
            None => !losses.is_empty(),
            // LINUX rto-reenter: a lost retransmission of timeout recovery (D3).
            Some(sent) => self.options.reenter && losses.lost_again(sent.tx_next),
        }
    }
}

/// Marks every un-SACKed segment lost and waiting for retransmission.
pub fn mark_everything<B: Scoreboard>(board: &mut B) -> Losses {
    let mut losses = Losses::default();
    let mut id = board.first();
    while id < board.next() {
        let flags = board.flags(id);
        // RFC6675 5.1-2: all un-SACKed segments are lost, retransmissions included. A segment that
        // is already lost and waiting is not counted again.
        let news = !flags.has(Flags::LOST) || flags.has(Flags::REPEATED);
        if news && board.mark_lost_again(id) {
            losses.add(board, id);
        }
        id = id.next();
    }
    losses
}
