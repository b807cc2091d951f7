//! A sender of a QUIC stack in Python, as `firstflight-quic` has it for any stack.

use crate::Refused;
use firstflight::{Nanos, Time};
use firstflight_quic::{Plan, Sender as Inner};
use pyo3::prelude::*;

/// A refusal of the adapter as an exception.
fn refused(bad: &firstflight_quic::Refused) -> PyErr {
    Refused::new_err(firstflight_lab::error::printable(&bad.0))
}

/// The exit from startup. Times in ns, amounts in bytes.
#[pyclass(frozen, get_all, module = "firstflight")]
pub(crate) struct Exit {
    reason: &'static str,
    at: u64,
    since_first_send: u64,
    rounds: u32,
    detect_cwnd: u64,
    cwnd: u64,
    inflight: u64,
    estimate: Option<u64>,
}

/// An arm as the sender of one QUIC connection. Times in ns on a clock that never goes back, amounts in bytes.
#[pyclass(module = "firstflight")]
pub(crate) struct Sender {
    inner: Inner,
}

#[pymethods]
impl Sender {
    #[new]
    #[pyo3(signature = (arm, *, datagram = 1200, now = 0))]
    fn new(arm: &Bound<'_, PyAny>, datagram: u16, now: u64) -> PyResult<Sender> {
        let plan = plan(arm)?;
        if datagram == 0 {
            return Err(crate::refuse("datagram=0: allowed: 1 to 65535 bytes".to_owned()));
        }
        Ok(Sender { inner: Inner::new(plan, datagram, Time(now)) })
    }

    /// The packets that follow carry the application's data; those before belong to the handshake.
    fn begin_data(&mut self, now: u64) {
        self.inner.begin_data(Time(now));
    }

    /// A packet left that counts as in flight. Returns its position, by which it is named from now on.
    fn on_sent(&mut self, now: u64, bytes: u64) -> u64 {
        self.inner.on_sent(Time(now), bytes)
    }

    /// An ACK names a packet for the first time, which left at `sent`. What happens at one instant is one ACK.
    fn on_acked(&mut self, now: u64, position: u64, bytes: u64, sent: u64) {
        self.inner.on_acked(Time(now), position, bytes, Time(sent));
    }

    /// Packets of `bytes` bytes are declared lost, the latest of which has this position.
    #[pyo3(signature = (now, position, bytes, *, persistent = false))]
    fn on_lost(&mut self, now: u64, position: u64, bytes: u64, persistent: bool) {
        self.inner.on_lost(Time(now), position, bytes, persistent);
    }

    /// `bytes` bytes are no longer in flight, neither acknowledged nor lost.
    fn forget(&mut self, bytes: u64) {
        self.inner.forget(bytes);
    }

    /// Time in ns that a packet must wait after `unreported` bytes that left and were not reported yet; 0 if it may leave now.
    #[pyo3(signature = (now, bytes, unreported = 0))]
    fn wait(&mut self, now: u64, bytes: u64, unreported: u64) -> u64 {
        let Nanos(wait) = self.inner.wait(Time(now), bytes, unreported);
        wait
    }

    /// Records a packet that leaves now after a call of `wait`.
    fn take(&mut self, now: u64, bytes: u64) {
        self.inner.take(Time(now), bytes);
    }

    /// The most bytes that may be in flight now: the congestion window, or what a recovery admits.
    #[getter]
    fn window(&mut self) -> u64 {
        self.inner.window()
    }

    #[getter]
    fn bytes_in_flight(&self) -> u64 {
        self.inner.inflight()
    }

    #[getter]
    fn cwnd(&mut self) -> u64 {
        self.inner.controller().cwnd()
    }

    #[getter]
    fn ssthresh(&mut self) -> Option<u64> {
        self.inner.controller().ssthresh()
    }

    #[getter]
    fn pacing_rate(&mut self) -> Option<u64> {
        self.inner.controller().pacing_rate().map(|rate| rate.0)
    }

    #[getter]
    fn phase(&mut self) -> &'static str {
        self.inner.controller().phase().name()
    }

    #[getter]
    fn exit(&mut self) -> Option<Exit> {
        let exit = self.inner.controller().exit()?;
        Some(Exit {
            reason: exit.reason.name(),
            at: exit.at.0,
            since_first_send: exit.since_first_send.0,
            rounds: exit.rounds,
            detect_cwnd: exit.detect_cwnd,
            cwnd: exit.cwnd,
            inflight: exit.inflight,
            estimate: exit.estimate,
        })
    }

    /// The rule that a report broke first; `None` if no report was impossible.
    #[getter]
    fn misfed(&mut self) -> Option<&'static str> {
        self.inner.controller().misfed().map(|misfed| misfed.rule.name())
    }
}

/// Refuses an arm that needs a pacing rate, for a stack whose pacer takes none; `other` is the way out.
#[pyfunction]
pub(crate) fn refuse_rate(arm: &Bound<'_, PyAny>, stack: &str, other: &str) -> PyResult<()> {
    plan(arm)?.without_rate(stack, other).map_err(|bad| refused(&bad))
}

fn plan(arm: &Bound<'_, PyAny>) -> PyResult<Plan> {
    Plan::parse(arm.str()?.to_str()?).map_err(|bad| refused(&bad))
}
