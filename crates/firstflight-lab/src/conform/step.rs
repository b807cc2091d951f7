//! One event, and what two controllers made of it.

use firstflight::Phase;
use serde::Serialize;

/// One controller before and after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Window before, bytes.
    pub cwnd_before: u64,
    /// Window after, bytes.
    pub cwnd: u64,
    /// Threshold after, bytes; null while never set.
    pub ssthresh: Option<u64>,
}

impl Side {
    /// Final window of a reduction over a round trip: the threshold, bytes.
    pub fn target(&self) -> u64 {
        self.ssthresh.unwrap_or(self.cwnd)
    }

    /// By how much the window grew.
    pub(super) fn change(&self) -> i128 {
        i128::from(self.cwnd) - i128::from(self.cwnd_before)
    }
}

/// One event and what both controllers made of it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Which ACK of the connection, loss timers included; of another event the last one.
    pub ack: u64,
    /// When, on the connection's clock.
    pub at_ms: f64,
    /// What: `ack`, `timer`, `timeout`, `spurious`, ...
    pub event: &'static str,
    /// Bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Bytes newly declared lost.
    pub lost_bytes: u64,
    /// In flight before it, where the event says so.
    pub inflight_bytes: Option<u64>,
    /// The foreign controller.
    pub theirs: Side,
    /// Ours.
    pub ours: Side,
    /// Phase of ours before the event.
    #[serde(serialize_with = "name_of")]
    pub phase: Phase,
    /// Ours was in recovery before, or is afterwards.
    pub in_recovery: bool,
    #[serde(skip)]
    pub(super) episode_begins: bool,
    #[serde(skip)]
    pub(super) exits: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn name_of<S: serde::Serializer>(phase: &Phase, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(phase.name())
}
