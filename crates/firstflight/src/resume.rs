//! Path state that a connection saves for the next connection: the Observe rules of Careful Resume.
//!
//! Follows: RFC 9959 (May 2026; read as draft-ietf-tsvwg-careful-resume-24). An [`Observation`] is
//! a fold over the controller's events, each with the controller's state right after it, so it
//! costs nothing if no values are saved. The result is a [`Saved`] set, from which an arm with
//! [`Careful`](crate::startup::Careful) is built for the next connection. The server decides how
//! long a set is kept and for which clients. State: 64 bytes.
//!
//! Departures:
//! * D4 (CR9959 observe-1): the window is the largest amount acknowledged within one round trip
//!   since startup ended, not an average over some.
//! * D5 (CR9959 observe-rtt): the smallest RTT of the connection, not of the last minutes.

use crate::arm::{Arm, SenderParams, StartupSpec};
use crate::congestion_control::CongestionControl;
use crate::event::{Ack, Event};
use crate::hint::{Hint, HintSource};
use crate::startup::{Resumption, careful, plumb};
use crate::units::{MAX_BYTES, Nanos, Rate, Seq};

/// Values that one connection saves for the next one on the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// `saved_cwnd`: bytes that the path has carried within one round trip.
    pub cwnd: u64,
    /// `saved_rtt`: the smallest RTT.
    pub rtt: Nanos,
    /// The largest packet, in bytes as the window counts them.
    pub mss: u64,
    /// Whether the path may carry more: startup was not over, or the application was the limit.
    pub at_least: bool,
}

impl Saved {
    /// The rate that the connection has delivered, as a hint for the next one.
    fn hint(&self) -> Hint {
        let rate = Rate::from_bytes_over(self.cwnd, self.rtt).unwrap_or_default();
        Hint { rate, source: HintSource::Saved, age: Nanos::ZERO }
    }

    /// The arm with this set instead of its own; `None` if its startup is not `careful`, `plumb` or
    /// `rapid(hint=on)`. Amounts are whole packets, rounded down, and the RTT is in whole
    /// milliseconds, at least one; `rapid` receives the rate as a hint.
    pub fn resume(&self, arm: Arm) -> Option<Arm> {
        // CR9959 observe-arm.
        let packets = (self.cwnd / self.mss.max(1)).clamp(1, 1_000_000) as u32;
        let ms = self.rtt.0.saturating_add(500_000) / 1_000_000;
        let arm = with(arm, Some(packets), Some(ms.clamp(1, 60_000) as u32))?;
        Some(if arm.startup.uses_hint() { hinted(arm, Some(self.hint())) } else { arm })
    }
}

/// The arm with this saved set; `None` if its startup does not use one.
fn with(arm: Arm, saved: Option<u32>, rtt_ms: Option<u32>) -> Option<Arm> {
    let startup = match arm.startup {
        StartupSpec::Careful(params) => {
            StartupSpec::Careful(careful::Params { saved, rtt_ms, ..params })
        }
        // PLUMB 9-prior: the saved set must be confirmed by trains.
        StartupSpec::Plumb(params) => StartupSpec::Plumb(plumb::Params { saved, rtt_ms, ..params }),
        StartupSpec::Rapid(params) if params.hint => return Some(hinted(arm, None)),
        _ => return None,
    };
    Some(Arm { startup, ..arm })
}

/// The arm with this hint.
fn hinted(arm: Arm, hint: Option<Hint>) -> Arm {
    Arm { sender: SenderParams { hint, ..arm.sender }, ..arm }
}

/// Whether the arm can use values saved by an earlier connection.
#[must_use]
pub fn is_resumable(arm: Arm) -> bool {
    with(arm, None, None).is_some()
}

/// The arm as requested, without values saved by an earlier connection.
#[must_use]
pub fn unsaved(arm: Arm) -> Arm {
    with(arm, None, None).unwrap_or(arm)
}

/// Observations of one connection so far.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    mss: u64,
    /// End of the current round, and bytes acknowledged in it.
    end: Option<Seq>,
    acked: u64,
    app_limited: bool,
    /// The largest round, and whether the application was the limit in it.
    best: Option<(u64, bool)>,
    rtt: Option<Nanos>,
    /// As of the last event.
    cwnd: u64,
    left_startup: bool,
    resumption: Resumption,
}

impl Observation {
    /// Starts to observe a connection with packets of `mss` bytes.
    pub fn new(mss: u64) -> Observation {
        Observation {
            mss: mss.max(1),
            end: None,
            acked: 0,
            app_limited: false,
            best: None,
            rtt: None,
            cwnd: 0,
            left_startup: false,
            resumption: Resumption::Unused,
        }
    }

    /// Records one event with the controller's state right after it.
    pub fn take(&mut self, event: &Event, after: &impl CongestionControl) {
        self.cwnd = after.cwnd();
        self.left_startup = after.exit().is_some();
        self.resumption = after.resumption();
        match event {
            Event::Ack(ack, so_far) => {
                // CR9959 observe-rtt.
                self.rtt = so_far.min_rtt.or(self.rtt);
                self.on_ack(ack, after.in_recovery());
            }
            Event::Mss { mss, .. } => self.mss = (*mss).max(1),
            Event::Congestion(_) => self.end = None,
            _ => {}
        }
    }

    fn on_ack(&mut self, ack: &Ack, in_recovery: bool) {
        // CR9959 observe-over: nothing is learnt while what was saved is still on trial, nor of a
        // window that startup has overshot.
        if !self.left_startup || in_recovery || self.resumption == Resumption::Underway {
            self.end = None;
            return;
        }
        let Some(end) = self.end else { return self.begin(ack) };
        self.acked = self.acked.saturating_add(ack.acked).min(MAX_BYTES);
        self.app_limited |= ack.app_limited;
        if ack.una < end {
            return;
        }
        // CR9959 observe-1. A round that the application did not fill does not lower the result.
        if self.best.is_none_or(|(best, _)| self.acked > best) {
            self.best = Some((self.acked, self.app_limited));
        }
        self.begin(ack);
    }

    /// Starts a round trip after this ACK.
    fn begin(&mut self, ack: &Ack) {
        (self.end, self.acked, self.app_limited) = (Some(ack.nxt), 0, false);
    }

    /// Progress in using the set that an earlier connection saved.
    pub fn resumption(&self) -> Resumption {
        self.resumption
    }

    /// The values to save; `None` before there is an RTT sample, and until an earlier connection's
    /// set is confirmed or abandoned.
    pub fn saved(&self) -> Option<Saved> {
        if self.resumption == Resumption::Underway {
            return None;
        }
        // CR9959 observe-startup: in slow start the path has carried half of the window.
        let (cwnd, at_least) = self.best.unwrap_or((self.cwnd / 2, !self.left_startup));
        let rtt = self.rtt?;
        (cwnd > 0).then_some(Saved { cwnd, rtt, mss: self.mss, at_least })
    }
}
