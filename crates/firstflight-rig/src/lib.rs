//! The rig: real QUIC endpoints on an emulated path, in virtual time. No sockets, no threads, no
//! clock.
//!
//! A noq (or quinn) server sends one object to a client over the same path state machine that the
//! simulator uses. Nothing reads a clock, and every random choice that could change a size or a
//! time is seeded, so two runs give the same trial to the nanosecond, many times faster than real
//! time. The rig runs what the simulator models: packets with their headers, ACK frames, loss
//! detection, pacing.
//!
//! In addition to path and arm, a result depends on the following:
//! * datagrams are as large as [`Setup::datagram`] from the first one on, and path MTU discovery is
//!   off;
//! * the receiver's windows cover the whole object ([`Outcome::stream_window`]) and its reassembly
//!   has no limit on gaps;
//! * the handshake crosses the path without random loss and without the return path's treatment of
//!   ACKs (`return=`, `thin=`), so that its RTT sample is that of the idle path; time, draws, slots
//!   and traces start with the first byte of the object;
//! * datagrams merged by the path's receiving host (`gro=`) reach the stack in batches; the stack
//!   itself decides how often it acknowledges (`ack=`).

#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod audit;
mod books;
mod connection;
mod flows;
mod followed;
mod install;
mod logbook;
mod merge;
mod noq_sender;
mod own;
#[cfg(feature = "qlog")]
mod qlog;
#[cfg(feature = "quinn")]
mod quinn_sender;
mod receiver;
#[cfg(feature = "s2n")]
mod s2n;
#[cfg(feature = "s2n")]
pub mod s2n_startup;
mod sender;
mod tls;
mod trial;
mod wire;

pub use firstflight_sim::{Counted, Counters, Observer};
pub use logbook::{Logbook, open};
pub use own::{Own, OwnControl};
pub use trial::{Control, FlowPlan, Outcome, Setup, Shared, SharedOutcome, StackLog};

use connection::Watched;
use firstflight::Nanos;
use firstflight_path::Error;
use firstflight_quic::{SharedRecorder, SharedState};
use flows::Rig;

/// Stacks of sender and receiver.
pub const STACKS: &str = "noq-proto 1.4 to iroh-quinn-proto 0.15";

/// Runs flows through one bottleneck, each between its own two endpoints, until all that can end
/// have finished or the limit is reached.
///
/// # Errors
/// Like [`run`].
pub fn run_flows(shared: &Shared<'_>, flows: &[FlowPlan]) -> Result<SharedOutcome, Error> {
    Rig::new(*shared, flows, Watched::default()).run()
}

/// Runs one trial. The observer receives the controller's events with times on the controller's
/// clock, on which the handshake precedes the trial.
///
/// # Errors
/// If the path cannot carry the packets, or a stack fails or makes no progress.
pub fn run<'a>(
    setup: &'a Setup<'a>,
    observer: Option<&'a mut (dyn Observer + 'a)>,
) -> Result<Outcome, Error> {
    alone(setup, Watched { observer, ..Watched::default() })
}

/// Runs one trial of a stack's own controller ([`Control::Own`]). `witness` observes our
/// controller, which runs alongside, receives the same calls and controls nothing; `state` contains
/// the state of the stack's own controller after each call. The witness is called from within the
/// stack, so it must be quick.
///
/// # Errors
/// Like [`run`].
pub fn run_beside(
    setup: &Setup<'_>,
    state: SharedState,
    witness: SharedRecorder,
) -> Result<Outcome, Error> {
    alone(setup, Watched { witness: Some((state, witness)), ..Watched::default() })
}

/// Runs one trial in which the sending stack writes its own qlog, in virtual time.
///
/// # Errors
/// Like [`run`].
#[cfg(feature = "qlog")]
pub fn run_logged<'a>(
    setup: &'a Setup<'a>,
    observer: Option<&'a mut (dyn Observer + 'a)>,
    log: StackLog,
) -> Result<Outcome, Error> {
    alone(setup, Watched { observer, log: Some(log), ..Watched::default() })
}

/// One flow that has the path to itself.
fn alone<'a>(setup: &Setup<'a>, watched: Watched<'a>) -> Result<Outcome, Error> {
    let Setup { path, datagram, ack_packet, limit, seed, path_index, .. } = *setup;
    let (sample, queue_every, whole) = (None, None, false);
    let shared =
        Shared { path, datagram, ack_packet, limit, seed, path_index, sample, queue_every, whole };
    let (start, stop) = (Nanos::ZERO, None);
    let plan = FlowPlan { control: setup.control, object: Some(setup.object), start, stop };
    let done = Rig::new(shared, &[plan], watched).run()?;
    let outcome = done.flows.into_iter().next().flatten();
    outcome.ok_or_else(|| Error::new("the handshake did not finish within the limit"))
}

/// The example in README.md, which package registries show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
