//! Startups written in Python, as the controller sees them.
//!
//! A hook that the class does not define costs nothing: it behaves as in slow start. If a hook
//! raises an exception, the startup stops calling hooks, and the run ends with that exception.

use crate::supervise::{Inside, Run};
use crate::{Refused, refuse};
use firstflight::event::{self, Phase, Signal, Timeout, Transport};
use firstflight::recovery::OwnRecovery;
use firstflight::startup::{
    ExitReason, Grown, Handover, Leave, Pacing, SlowStart, Startup, Status, Verdict,
};
use firstflight::{Nanos, Ratio, Seq, Time, UNSET_SSTHRESH};
use firstflight_lab::{Error, NamedArm, OwnStartup, nearest, parse_arms};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first error in a startup of a run.
#[derive(Clone, Default)]
pub(crate) struct Fault {
    error: Arc<Mutex<Option<PyErr>>>,
    broken: Arc<AtomicBool>,
    /// The threads that run a hook.
    inside: Inside,
}

impl Fault {
    fn set(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.broken.store(true, Ordering::Relaxed);
    }

    /// Creates a run whose hooks can be interrupted.
    pub(crate) fn run(&self) -> Run {
        Run::with(&self.inside)
    }

    /// Returns the result, or the exception that a startup raised.
    ///
    /// # Errors
    /// An external interruption, then an exception of a startup, then the errors of the result.
    pub(crate) fn or<T>(&self, result: PyResult<T>) -> PyResult<T> {
        self.broken.store(false, Ordering::Relaxed);
        let raised = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        match &result {
            // A hook that was interrupted has raised no more than why.
            Err(error) if !Python::attach(|py| error.is_instance_of::<Refused>(py)) => result,
            _ => raised.map_or(result, Err),
        }
    }
}

/// An arm as Python passes it: text, or a label, the parts after the startup, a constructor and the
/// hooks of the class.
#[derive(FromPyObject)]
pub(crate) enum AnyArm {
    /// One item of `--arms`.
    #[pyo3(transparent)]
    Text(String),
    /// A startup written in Python.
    #[pyo3(transparent)]
    Own((String, String, Py<PyAny>, BTreeSet<String>)),
}

/// Converts arms to the lab's arms.
///
/// # Errors
/// A one-line message for the first invalid arm.
pub(crate) fn arms(given: Vec<AnyArm>, fault: &Fault) -> PyResult<Vec<NamedArm>> {
    let read = |arm| match arm {
        AnyArm::Text(text) => {
            let mut arms = parse_arms(&text)?;
            match (arms.pop(), arms.len()) {
                (Some(arm), 0) => Ok(arm),
                (_, more) => Err(Error::new(format!("`{text}`: {} arms; allowed: one", more + 1))),
            }
        }
        AnyArm::Own((label, rest, make, hooks)) => {
            let (fault, hooks, make) = (fault.clone(), Arc::new(hooks), Arc::new(make));
            let broken = fault.broken.clone();
            let own = OwnStartup::new(&label, broken, move || -> Box<dyn Startup<Saved = ()>> {
                match fault.inside.call(|py| make.call0(py)) {
                    Ok(object) => Box::new(InPython {
                        object,
                        hooks: hooks.clone(),
                        fault: fault.clone(),
                        saved: RefCell::new(None),
                    }),
                    Err(error) => {
                        fault.set(error);
                        Box::new(SlowStart)
                    }
                }
            });
            NamedArm::with_own(&format!("{label}{rest}"), own, &rest)
        }
    };
    given.into_iter().map(|arm| read(arm).map_err(|bad| crate::refused(&bad))).collect()
}

/// A number of bytes; a fraction is rounded down.
fn amount(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(whole) = value.extract::<u64>() {
        return Ok(whole);
    }
    match value.extract::<f64>() {
        Ok(number) if number >= 0.0 => Ok(number as u64),
        Ok(number) => Err(refuse(format!("{number} bytes; allowed: 0 and more"))),
        Err(_) => Err(PyTypeError::new_err(format!("a number of bytes is needed, not {value}"))),
    }
}

/// A slow-start threshold; values below one byte mean none.
fn threshold(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    match amount(value)? {
        0 => Err(refuse(
            "an ssthresh of 0 bytes; allowed: 1 and more, None for no threshold".to_owned(),
        )),
        bytes => Ok(bytes),
    }
}

/// Contents of one ACK. Times in ns, amounts in bytes.
#[pyclass(frozen, get_all, module = "firstflight")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what an acknowledgement says is many independent facts"
)]
pub(crate) struct Ack {
    now: u64,
    acked: u64,
    lost: u64,
    ce: bool,
    ce_bytes: Option<u64>,
    rtt: Option<u64>,
    srtt: Option<u64>,
    min_rtt: Option<u64>,
    una: u64,
    nxt: u64,
    advanced: bool,
    flight: u64,
    sacked: u64,
    inflight_before: u64,
    inflight: u64,
    delivered: u64,
    sent: u64,
    tx_acked: Option<u64>,
    tx_lost: Option<u64>,
    tx_next: u64,
    cwnd_limited: bool,
    app_limited: bool,
    receiver_ts: Option<u32>,
}

impl Ack {
    fn of(ack: &event::Ack, so_far: &event::SoFar) -> Ack {
        let ns = |time: Option<Nanos>| time.map(|time| time.0);
        Ack {
            now: ack.now.0,
            acked: ack.acked,
            lost: ack.lost,
            ce: ack.ce,
            ce_bytes: ack.detail.ce_bytes,
            rtt: ns(ack.rtt),
            srtt: ns(ack.srtt),
            min_rtt: ns(so_far.min_rtt),
            una: ack.una.0,
            nxt: ack.nxt.0,
            advanced: so_far.advanced,
            flight: ack.flight,
            sacked: ack.sacked,
            inflight_before: ack.inflight_before,
            inflight: ack.inflight,
            delivered: so_far.delivered,
            sent: ack.sent,
            tx_acked: ack.tx_acked,
            tx_lost: ack.tx_lost,
            tx_next: ack.tx_next,
            cwnd_limited: ack.cwnd_limited,
            app_limited: ack.app_limited,
            receiver_ts: ack.detail.receiver_ts,
        }
    }
}

/// The sender is about to send a burst. Times in ns, amounts in bytes.
#[pyclass(frozen, get_all, module = "firstflight")]
pub(crate) struct Ready {
    now: u64,
    nxt: u64,
    inflight: u64,
    backlog: u64,
    srtt: Option<u64>,
    idle: u64,
    timeout: u64,
}

/// Window and threshold, in bytes.
#[pyclass(module = "firstflight")]
pub struct Window {
    inner: event::Window,
    leftover: u64,
}

#[pymethods]
impl Window {
    #[getter]
    fn cwnd(&self) -> u64 {
        self.inner.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.inner.cwnd = amount(bytes)?;
        Ok(())
    }

    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        (self.inner.ssthresh != UNSET_SSTHRESH).then_some(self.inner.ssthresh)
    }

    #[setter]
    fn set_ssthresh(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<()> {
        self.inner.ssthresh = if bytes.is_none() { UNSET_SSTHRESH } else { threshold(bytes)? };
        Ok(())
    }

    /// Opens the window, but not beyond the threshold; returns the remainder, by which avoidance
    /// grows on the same ACK.
    fn open(&mut self, bytes: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.leftover = self.inner.open(amount(bytes)?);
        Ok(self.leftover)
    }

    fn __repr__(&self) -> String {
        let threshold = self.ssthresh().map_or("None".to_owned(), |bytes| bytes.to_string());
        format!("Window(cwnd={}, ssthresh={threshold})", self.inner.cwnd)
    }
}

/// Facts that a startup may use about its connection.
#[pyclass(frozen, get_all, module = "firstflight")]
pub struct Context {
    mss: u64,
    iw: u64,
    count: Option<u32>,
    transport: &'static str,
    paced: bool,
    pacing_rate: Option<u64>,
    max_burst: u64,
    limited: bool,
    young_epoch: bool,
    minimum_window: u64,
}

#[pymethods]
impl Context {
    /// Number of acknowledged bytes that slow start may count on one ACK: all, or as many packets
    /// as the sender's limit allows.
    fn cap(&self, acked: &Bound<'_, PyAny>) -> PyResult<u64> {
        let most = self.count.map_or(u64::MAX, |count| self.mss.saturating_mul(count.into()));
        Ok(amount(acked)?.min(most))
    }
}

impl From<&event::Context> for Context {
    fn from(cx: &event::Context) -> Context {
        Context {
            mss: cx.mss,
            iw: cx.iw,
            count: cx.count,
            transport: match cx.transport {
                Transport::Quic => "quic",
                Transport::Tcp => "tcp",
            },
            paced: cx.paced,
            pacing_rate: cx.pacing_rate.map(|rate| rate.0),
            max_burst: cx.max_burst,
            limited: cx.limited,
            young_epoch: cx.young_epoch,
            minimum_window: cx.minimum_window(),
        }
    }
}

/// A startup whose hooks are methods of a Python object.
struct InPython {
    object: Py<PyAny>,
    hooks: Arc<BTreeSet<String>>,
    fault: Fault,
    /// The latest result of the object's own `save`; the controller keeps only one saved state at a
    /// time.
    saved: RefCell<Option<Py<PyAny>>>,
}

impl InPython {
    /// Calls a hook if the class defines it and no error has occurred.
    fn call<R>(&self, hook: &str, run: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>) -> Option<R> {
        if !self.hooks.contains(hook) || self.fault.broken.load(Ordering::Relaxed) {
            return None;
        }
        match self.fault.inside.call(|py| run(self.object.bind(py))) {
            Ok(result) => Some(result),
            Err(error) => {
                self.fault.set(error);
                None
            }
        }
    }

    /// Calls a hook that may change the window.
    fn with_window<R>(
        &self,
        hook: &str,
        w: &mut event::Window,
        run: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, Window>) -> PyResult<R>,
    ) -> Option<(R, u64)> {
        self.call(hook, |object| {
            let window = Bound::new(object.py(), Window { inner: *w, leftover: 0 })?;
            let result = run(object, &window)?;
            let after = window.borrow();
            *w = after.inner;
            Ok((result, after.leftover))
        })
    }
}

/// Converts the result of a hook to a verdict.
fn verdict(value: &Bound<'_, PyAny>) -> PyResult<Verdict> {
    if value.is_none() {
        return Ok(Verdict::Stay);
    }
    let attribute = |name: &str| value.getattr(name).and_then(|bytes| amount(&bytes));
    let maybe = |name: &str| {
        let bytes = value.getattr(name)?;
        if bytes.is_none() { Ok(None) } else { amount(&bytes).map(Some) }
    };
    let limit = |name: &str| value.getattr(name).and_then(|bytes| threshold(&bytes));
    let kind = value.get_type().name()?.to_string();
    Ok(match kind.as_str() {
        "Aim" => Verdict::Aim { ssthresh: limit("ssthresh")? },
        "Hold" => Verdict::Hold { cwnd: attribute("cwnd")? },
        "Leave" => {
            let reason = reason(&value.getattr("reason")?.extract::<String>()?)?;
            // No threshold is the highest: it comes down to the window itself.
            let ssthresh = match value.getattr("ssthresh")? {
                none if none.is_none() => u64::MAX,
                bytes => threshold(&bytes)?,
            };
            Verdict::Leave(Leave {
                reason,
                ssthresh,
                cwnd: maybe("cwnd")?,
                handover: Handover::LossFree,
                estimate: maybe("estimate")?,
            })
        }
        _ => {
            return Err(PyTypeError::new_err(format!(
                "a startup answers None, Aim, Hold or Leave, not {value}"
            )));
        }
    })
}

fn reason(name: &str) -> PyResult<ExitReason> {
    ExitReason::from_name(name)
        .ok_or_else(|| unknown("reason", name, &ExitReason::ALL.map(ExitReason::name)))
}

/// The ratio closest to a number between 0.001 and 1000: 1.65 is 33/20.
fn ratio(number: f64) -> Ratio {
    let plain = (1..=1000_u16).find(|den| {
        let num = number * f64::from(*den);
        num <= f64::from(u16::MAX) && (num - num.round()).abs() < 1e-9 * num
    });
    let den = plain.unwrap_or_else(|| (f64::from(u16::MAX) / number.max(1.0)) as u16);
    Ratio::new((number * f64::from(den)).round() as u16, den)
}

fn phase(name: &str) -> PyResult<Phase> {
    Phase::from_name(name).ok_or_else(|| unknown("phase", name, &Phase::ALL.map(Phase::name)))
}

fn unknown(what: &str, name: &str, known: &[&str]) -> PyErr {
    let near = nearest(name, known.iter().copied())
        .map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    refuse(format!("{what} `{name}`: unknown{near}; allowed: {}", known.join(", ")))
}

/// A name that lives as long as the program, as traces require; each name is kept once.
fn lasting(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

impl Startup for InPython {
    /// The result of `save` stays in Python.
    type Saved = ();

    fn start(&mut self, now: Time, nxt: Seq) {
        self.call("start", |object| object.call_method1("start", (now.0, nxt.0)).map(drop));
    }

    fn on_rtt(&mut self, now: Time, rtt: Nanos, cx: &event::Context) {
        self.call("on_rtt", |object| {
            object.call_method1("on_rtt", (now.0, rtt.0, Context::from(cx))).map(drop)
        });
    }

    fn before_send(&mut self, ready: &event::Ready, w: &mut event::Window, cx: &event::Context) {
        self.with_window("before_send", w, |object, window| {
            let ready = Ready {
                now: ready.now.0,
                nxt: ready.nxt.0,
                inflight: ready.inflight,
                backlog: ready.backlog,
                srtt: ready.srtt.map(|srtt| srtt.0),
                idle: ready.idle.0,
                timeout: ready.timeout.0,
            };
            object.call_method1("before_send", (ready, window, Context::from(cx))).map(drop)
        });
    }

    fn sample(&mut self, ack: &event::Ack, w: event::Window, cx: &event::Context) -> Verdict {
        let mut copy = w;
        let found =
            self.with_window("sample", &mut copy, |object, window| {
                verdict(&object.call_method1(
                    "sample",
                    (Ack::of(ack, &cx.so_far), window, Context::from(cx)),
                )?)
            });
        found.map(|found| found.0).unwrap_or_default()
    }

    fn grow(
        &mut self,
        ack: &event::Ack,
        acked: u64,
        w: &mut event::Window,
        cx: &event::Context,
    ) -> Grown {
        if !self.hooks.contains("grow") {
            return SlowStart.grow(ack, acked, w, cx);
        }
        let grown = self.with_window("grow", w, |object, window| {
            verdict(&object.call_method1(
                "grow",
                (Ack::of(ack, &cx.so_far), acked, window, Context::from(cx)),
            )?)
        });
        grown
            .map(|(verdict, leftover)| Grown { leftover: leftover.min(acked), verdict })
            .unwrap_or_default()
    }

    fn beside_avoidance(
        &mut self,
        ack: &event::Ack,
        acked: u64,
        w: event::Window,
        cx: &event::Context,
    ) -> Option<u64> {
        let mut copy = w;
        let floor = self.with_window("beside_avoidance", &mut copy, |object, window| {
            let floor = object.call_method1(
                "beside_avoidance",
                (Ack::of(ack, &cx.so_far), acked, window, Context::from(cx)),
            )?;
            if floor.is_none() { Ok(None) } else { amount(&floor).map(Some) }
        });
        floor.and_then(|floor| floor.0)
    }

    fn reached(&mut self) -> ExitReason {
        let told = self.call("reached", |object| {
            reason(&object.call_method0("reached")?.extract::<String>()?)
        });
        told.unwrap_or(ExitReason::Threshold)
    }

    fn on_congestion(
        &mut self,
        signal: Signal,
        _beta: Ratio,
        ack: &event::Ack,
        w: event::Window,
        cx: &event::Context,
    ) -> Option<OwnRecovery> {
        let mut copy = w;
        self.with_window("on_congestion", &mut copy, |object, window| {
            let name = if signal == Signal::Loss { "loss" } else { "ecn" };
            object
                .call_method1(
                    "on_congestion",
                    (name, Ack::of(ack, &cx.so_far), window, Context::from(cx)),
                )
                .map(drop)
        });
        None
    }

    fn on_timeout(&mut self, timeout: Timeout, now: Time, nxt: Seq) {
        self.call("on_timeout", |object| {
            object.call_method1("on_timeout", (timeout.name(), now.0, nxt.0)).map(drop)
        });
    }

    fn on_idle(&mut self, now: Time, nxt: Seq) {
        self.call("on_idle", |object| object.call_method1("on_idle", (now.0, nxt.0)).map(drop));
    }

    fn save(&self) {
        if let Some(saved) =
            self.call("save", |object| object.call_method0("save").map(Bound::unbind))
        {
            *self.saved.borrow_mut() = Some(saved);
        }
    }

    fn restore(&mut self, (): ()) {
        let Some(saved) = self.saved.borrow_mut().take() else { return };
        self.call("restore", |object| {
            object.call_method1("restore", PyTuple::new(object.py(), [saved])?).map(drop)
        });
    }

    fn pacing(&self) -> Pacing {
        let told = self.call("pacing_gain", |object| {
            let gain = object.call_method0("pacing_gain")?;
            let number: f64 = gain.extract()?;
            if !(0.001..=1000.0).contains(&number) {
                return Err(refuse(format!("a pacing gain of {number}; allowed: 0.001 to 1000")));
            }
            Ok(ratio(number))
        });
        told.map_or_else(Pacing::default, Pacing::Gain)
    }

    fn status(&self) -> Status {
        let told =
            self.call("phase", |object| phase(&object.call_method0("phase")?.extract::<String>()?));
        let rounds =
            self.call("rounds", |object| object.call_method0("rounds")?.extract::<Option<u32>>());
        let phase = told.unwrap_or_default();
        Status { phase, rounds: rounds.flatten(), ..Status::default() }
    }

    fn signals(&self, visit: &mut dyn FnMut(&'static str, u64)) {
        let read = self.call("signals", |object| {
            let signals = object.call_method0("signals")?;
            let mut read: Vec<(&'static str, u64)> = Vec::new();
            for item in signals.call_method0("items")?.try_iter()? {
                let (name, value): (String, Bound<'_, PyAny>) = item?.extract()?;
                read.push((lasting(&name), amount(&value)?));
            }
            Ok(read)
        });
        for (name, value) in read.unwrap_or_default() {
            visit(name, value);
        }
    }
}
