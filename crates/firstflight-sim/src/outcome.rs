//! The measurements of a trial, as integers: nanoseconds, bytes and counts. `docs/metrics.md`
//! defines the metrics.

use crate::app::Part;
use crate::counters::Counters;
use crate::instrumented::{Combined, Core};
use crate::limited::Limited;
use firstflight::account::{Account, Kept};
use firstflight::detection::ecn::Failure;
use firstflight::{Episode, Exit, Nanos};
use firstflight_path::DropCause;
use hdrhistogram::Histogram;

/// Data packets that the path dropped, by cause (ground truth): each is counted once, under its
/// first cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// Packets dropped because the queue had no room.
    pub queue: u64,
    /// Packets lost independently of the queue: at random, in bursts, or at a handover.
    pub random: u64,
    /// Packets dropped because the policer's bucket was empty.
    pub policer: u64,
    /// Packets dropped by active queue management.
    pub aqm: u64,
    /// Packets dropped for any other reason, such as a trace that has ended.
    pub other: u64,
}

impl Drops {
    pub(crate) fn add(&mut self, cause: DropCause) {
        *match cause {
            DropCause::Queue => &mut self.queue,
            DropCause::Random => &mut self.random,
            DropCause::Policer => &mut self.policer,
            DropCause::Aqm => &mut self.aqm,
            _ => &mut self.other,
        } += 1;
    }

    /// Packets dropped for any cause.
    pub fn total(&self) -> u64 {
        self.queue + self.random + self.policer + self.aqm + self.other
    }
}

/// Why a trial stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every byte was acknowledged.
    Complete,
    /// The limit of simulated time was reached.
    TimeLimit,
    /// The sender closed the connection: the receiver acknowledged a packet number that was skipped
    /// (RFC 9000 section 21.4).
    Closed,
}

/// The result of one flow of one trial.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why the flow stopped.
    pub stop: Stop,
    /// Time on the sender's clock from the first byte sent until every byte was acknowledged (or
    /// until the stop).
    pub acked_after: Nanos,
    /// Completion time: from the first byte sent until the last one was delivered in order at the
    /// receiver; `None` if it was not.
    pub delivered_after: Option<Nanos>,
    /// Object bytes delivered in order at the receiver.
    pub delivered: u64,
    /// The sender's counters.
    pub counters: Counters,
    /// Packets dropped by the path, by cause.
    pub drops: Drops,
    /// For how long each reason kept the sender from sending.
    pub limited: Limited,
    /// Exit of the startup, if any.
    pub exit: Option<Exit>,
    /// Whether the sender's largest pacing rate was in force at that exit; `None` without an exit or
    /// a largest rate.
    pub exit_capped: Option<bool>,
    /// Why the sender stopped using ECN; `None` if it did not, or does not validate it.
    pub ecn_failure: Option<Failure>,
    /// Time from the client's first packet to the server's first data, where the trial has a handshake.
    pub handshake: Option<Nanos>,
    /// Recovery episodes.
    pub episodes: Vec<Episode>,
    /// Waiting time of every delivered data packet at the bottleneck, in microseconds.
    pub queue_us: Histogram<u32>,
    /// Largest window of the trial, bytes.
    pub cwnd_max: u64,
    /// The application's parts with their times; empty for a plain object.
    pub parts: Vec<Part>,
}

impl Outcome {
    /// Whether the flow completed within the limit: every byte of an object was delivered in order
    /// at the receiver, even if the last acknowledgement was not back in time, or an application
    /// without a last byte came to its end.
    pub fn complete(&self) -> bool {
        self.delivered_after.is_some() || self.stop == Stop::Complete
    }

    /// Fills in the measurements of this controller and its account.
    pub(crate) fn say<S: Combined>(&mut self, controller: &Core<S>, account: &Account<Vec<Kept>>) {
        self.counters = self.counters.of_controller(controller, account);
        self.episodes = account.reported(controller.cwnd()).collect();
        self.cwnd_max = account.cwnd_max();
        self.exit = controller.exit();
        self.exit_capped = controller.max_rate().and_then(|_| controller.exit_was_capped());
    }

    /// An outcome with only these two values.
    pub(crate) fn empty(stop: Stop, queue_us: Histogram<u32>) -> Outcome {
        Outcome {
            stop,
            acked_after: Nanos::ZERO,
            delivered_after: None,
            delivered: 0,
            counters: Counters::default(),
            drops: Drops::default(),
            limited: Limited::default(),
            exit: None,
            exit_capped: None,
            ecn_failure: None,
            handshake: None,
            episodes: Vec::new(),
            queue_us,
            cwnd_max: 0,
            parts: Vec::new(),
        }
    }
}

/// Jain's fairness index in millionths: one million if all shares are equal, down to one million
/// divided by their number if a single share has everything. Rounded down. One million if there are
/// no shares or all are zero.
pub fn fairness_ppm(shares: &[u64]) -> u32 {
    const WHOLE: u128 = 1_000_000;
    // Few enough bits that no sum of squares overflows; the error is far below a millionth.
    let most = shares.iter().copied().max().unwrap_or(0);
    let shift = (u64::BITS - most.leading_zeros()).saturating_sub(32);
    let scaled = || shares.iter().map(|share| u128::from(share >> shift));
    let (sum, squares) =
        (scaled().sum::<u128>(), scaled().map(|share| share * share).sum::<u128>());
    if squares == 0 {
        return WHOLE as u32;
    }
    (sum * sum * WHOLE / (squares * shares.len() as u128)) as u32
}
