//! One event, and how two controllers responded to it.

use firstflight::Phase;
use serde::Serialize;

/// One controller before and after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Window before, bytes.
    pub cwnd_before: u64,
    /// Window after, bytes.
    pub cwnd: u64,
    /// Threshold after, bytes; null if it was never set.
    pub ssthresh: Option<u64>,
}

impl Side {
    /// Final window of a reduction that takes a round trip: the threshold, bytes.
    pub fn target(&self) -> u64 {
        self.ssthresh.unwrap_or(self.cwnd)
    }

    /// Growth of the window.
    pub(super) fn change(&self) -> i128 {
        i128::from(self.cwnd) - i128::from(self.cwnd_before)
    }
}

/// One event and how both controllers responded to it.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Number of the ACK in the connection, loss timers included; for another event, the number of
    /// the last ACK.
    pub ack: u64,
    /// Time on the connection's clock.
    pub at_ms: f64,
    /// Kind of event: `ack`, `timer`, `timeout`, `spurious`, ...
    pub event: &'static str,
    /// Bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Bytes newly declared lost.
    pub lost_bytes: u64,
    /// Bytes in flight before the event, if it has them.
    pub inflight_bytes: Option<u64>,
    /// The foreign controller.
    pub theirs: Side,
    /// Our controller.
    pub ours: Side,
    /// Phase of our controller before the event.
    #[serde(serialize_with = "name_of")]
    pub phase: Phase,
    /// Whether our controller was in recovery before or after the event.
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
