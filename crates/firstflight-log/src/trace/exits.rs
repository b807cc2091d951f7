//! Exits without further events: reports of a kernel's controllers about connections that are
//! otherwise unknown.

use super::{Entry, Log, Source, Start, State, What};
use firstflight::{Exit, ExitReason, Nanos, Phase, Time};

/// One report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Time since tracing began.
    pub at: Time,
    /// Name of the arm.
    pub arm: String,
    /// Port of the sender; address and port of the receiver.
    pub endpoints: String,
    /// Reason for the exit; `None` withdraws the previous exit.
    pub reason: Option<ExitReason>,
    /// Time since the first data was sent.
    pub since_first_send: Nanos,
    /// Number of round trips completed.
    pub rounds: u32,
    /// Segment size, bytes.
    pub mss: u64,
    /// Congestion window at detection, bytes.
    pub detect_cwnd: u64,
    /// Congestion window right after the exit, bytes.
    pub cwnd: u64,
    /// Slow start threshold right after the exit, bytes; `None` if it was never set.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub inflight: u64,
    /// The value that decided, in the algorithm's own unit.
    pub estimate: Option<u64>,
    /// Bytes acknowledged by then.
    pub acked: u64,
}

impl Report {
    /// The log of its connection: the start, and the exit or its withdrawal.
    pub fn into_trace(self) -> Log {
        let began = Time(self.at.0.saturating_sub(self.since_first_send.0));
        let start = Start {
            arm_full: self.arm.clone(),
            arm: self.arm,
            testbed: "kernel".into(),
            stack: "TCP of the running kernel".into(),
            transport: "tcp".into(),
            source: Source::Kernel,
            start: began,
            endpoints: self.endpoints,
            ..Start::default()
        };
        let what = self.reason.map_or(What::ExitWithdrawn, |reason| {
            What::Exit(Exit {
                reason,
                at: self.at,
                since_first_send: self.since_first_send,
                rounds: self.rounds,
                detect_cwnd: self.detect_cwnd,
                cwnd: self.cwnd,
                inflight: self.inflight,
                estimate: self.estimate,
            })
        });
        let state = State {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            inflight: self.inflight,
            delivered: self.acked,
            phase: if self.reason.is_some() { Phase::Avoidance } else { Phase::Startup },
            ..State::default()
        };
        let entry = |now, what, state| Entry { now, what, state, signals: Vec::new() };
        let entries = vec![
            entry(began, What::Start(Box::new(start)), None),
            entry(self.at, what, Some(state)),
        ];
        Log { entries, ..Log::default() }
    }
}
