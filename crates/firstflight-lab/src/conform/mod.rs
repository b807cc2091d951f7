//! Conformance of a controller that is not ours: it runs on the same ACKs as one of ours, and
//! differences between the windows are reported with the rule that they concern.
//!
//! The ACKs come from one of three sources:
//! * A controller of a QUIC stack runs a real connection of that stack in virtual time; ours
//!   receives the same calls ([`of_stack`]).
//! * One of ours runs a simulated connection; an implementation of [`Foreign`] receives the same
//!   events afterwards ([`of_foreign`]). It may be a type of the user, a program ([`Process`]), or
//!   functions in C ([`Table`], in a separate process [`Guarded`]).
//! * A controller of the running kernel runs a real connection that is traced ACK by ACK, and ours
//!   receives what the kernel learned ([`of_kernel`]).

mod foreign;
#[cfg(unix)]
mod guarded;
mod heard;
pub(crate) mod judge;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod kernel;
mod process;
mod rule;
mod step;
#[allow(
    unsafe_code,
    reason = "functions in C are called by what their header says, which no compiler checks"
)]
pub mod table;

pub use foreign::{Foreign, OneOfOurs};
#[cfg(unix)]
pub use guarded::{Guarded, answer};
pub use heard::listen;
pub use judge::{Difference, Judge, RuleRow, Seen, Verdict};
pub use process::Process;
pub use rule::Rule;
pub use step::{Side, Step};
pub use table::Table;

use crate::arms::NamedArm;
use crate::scenario::Scenario;
use crate::stacks::StackArm;
use firstflight_path::{Error, Path};
use firstflight_sim::App;
use serde::Serialize;

/// Result over all connections.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Version of the program.
    pub firstflight: &'static str,
    /// The controller that was compared with ours.
    pub controller: String,
    /// Full name of our arm.
    pub against: String,
    /// Whether the controllers agreed on every rule on every connection.
    pub same: bool,
    /// Results per connection.
    pub connections: Vec<Connection>,
}

/// Result on one connection.
#[derive(Clone, Debug, Serialize)]
pub struct Connection {
    /// The path.
    pub path: String,
    /// Object size, bytes.
    pub bytes: u64,
    /// Seed of every random draw.
    pub seed: u64,
    /// Result.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Answer {
    /// Result over these connections.
    pub fn new(controller: &str, against: &NamedArm, connections: Vec<Connection>) -> Answer {
        Answer {
            firstflight: env!("CARGO_PKG_VERSION"),
            controller: controller.to_owned(),
            against: against.full(),
            same: connections.iter().all(|connection| connection.verdict.is_same()),
            connections,
        }
    }
}

/// Paths that together exercise every rule: an overshoot, repeated random losses, a long time in
/// congestion avoidance, and a round trip of which an eighth is more than the 16 ms that HyStart++
/// allows.
pub const PATHS: [(&str, u64); 4] = [
    ("rapid-slide", 10_000_000),
    ("rate=50Mbit,rtt=40ms,queue=1bdp,loss=0.1%", 20_000_000),
    ("rate=20Mbit,rtt=80ms,queue=1bdp", 20_000_000),
    ("rate=20Mbit,rtt=200ms,queue=8bdp", 20_000_000),
];

/// The scenarios of [`PATHS`].
///
/// # Errors
/// Never.
pub fn scenarios() -> Result<Vec<Scenario>, Error> {
    let scenario = |(path, bytes): (&str, u64)| Ok(Scenario::new(Path::parse(path)?, bytes));
    PATHS.into_iter().map(scenario).collect()
}

/// Our counterpart of a stack's controller, for comparison by default; `None` if there is none.
pub fn counterpart(stack: &StackArm) -> Option<&'static str> {
    let controller = stack.name.split(':').nth(1)?;
    match controller {
        // RFC 9002 reduces the window itself, whatever was in flight.
        "cubic" => Some("slowstart/cubic(base=cwnd)/immediate"),
        "newreno" => Some("slowstart/reno(base=cwnd)/immediate"),
        _ => None,
    }
}

/// Runs a simulated connection with one of our controllers and passes the same events to `foreign`.
///
/// # Errors
/// A one-line message if the scenario cannot run, or the foreign controller refuses it. A
/// controller that dies is reported in the verdict.
pub fn of_foreign(
    foreign: &mut dyn Foreign,
    against: &NamedArm,
    scenario: &Scenario,
    seed: u64,
    judge: Judge,
) -> Result<Verdict, Error> {
    let (begin, events) = listen(against, scenario, App::Bulk(scenario.bytes), seed)?;
    let mut core = begin.controller();
    let mut judge = judge;
    if let Err(error) = foreign.begin(&begin) {
        return if foreign.died() { Ok(judge.verdict().ended(&error)) } else { Err(error) };
    }
    let seen = |foreign: &dyn Foreign| {
        let (cwnd, ssthresh) = foreign.window();
        Seen { cwnd, ssthresh }
    };
    judge.begin(&core, seen(foreign));
    for event in &events {
        core.tell(event);
        if let Err(error) = foreign.tell(event) {
            return if foreign.died() { Ok(judge.verdict().ended(&error)) } else { Err(error) };
        }
        judge.step(event, &core, seen(foreign));
    }
    match foreign.end() {
        Err(error) if foreign.died() => Ok(judge.verdict().ended(&error)),
        ended => ended.map(|()| judge.verdict()),
    }
}

/// Runs a connection of a stack with a controller of that stack; one of ours receives the same
/// calls.
///
/// # Errors
/// A one-line message if the scenario cannot run on the stack, or this build has no stack.
pub fn of_stack(
    stack: &'static StackArm,
    against: &NamedArm,
    scenario: &Scenario,
    seed: u64,
    judge: Judge,
) -> Result<Verdict, Error> {
    #[cfg(feature = "quic")]
    return crate::testbed::quic::trial::beside(stack, against, scenario, seed, judge);
    #[cfg(not(feature = "quic"))]
    {
        let _ = (stack, against, scenario, seed, judge);
        crate::testbed::Testbeds::default()
            .find("quic")
            .and_then(|_| Err(Error::new("this build has no QUIC stacks")))
    }
}

/// Our counterpart of the kernel's controller `name`, for comparison by default.
///
/// # Errors
/// A one-line message if there is none, or this build cannot trace the kernel.
pub fn kernel_counterpart(name: &str) -> Result<String, Error> {
    #[cfg(all(feature = "linux", target_os = "linux"))]
    return kernel::counterpart(name).ok_or_else(|| {
        Error::new(format!(
            "controller `kernel:{name}`: none of our arms corresponds to it; name one with --against"
        ))
    });
    #[cfg(not(all(feature = "linux", target_os = "linux")))]
    return Err(no_kernel(name));
}

/// Runs a real connection behind an emulated link with a controller of the running kernel (`cubic`,
/// or one of ours loaded for it); one of ours receives what the kernel learned.
///
/// # Errors
/// A one-line message if the scenario cannot run on the kernel, or this build cannot trace it.
pub fn of_kernel(
    name: &str,
    against: &NamedArm,
    scenario: &Scenario,
    seed: u64,
    judge: Judge,
) -> Result<Verdict, Error> {
    #[cfg(all(feature = "linux", target_os = "linux"))]
    return kernel::beside(name, against, scenario, seed, judge);
    #[cfg(not(all(feature = "linux", target_os = "linux")))]
    {
        let _ = (against, scenario, seed, judge);
        Err(no_kernel(name))
    }
}

#[cfg(not(all(feature = "linux", target_os = "linux")))]
fn no_kernel(name: &str) -> Error {
    Error::new(format!(
        "controller `kernel:{name}`: this build cannot trace the kernel; `cargo build --release --features linux` can (Debian: clang libelf-dev zlib1g-dev), and runs as root"
    ))
}
