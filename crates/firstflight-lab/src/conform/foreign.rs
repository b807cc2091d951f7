//! The interface to controllers that are not ours, for the conformance comparison.

use firstflight::{AnyController, Arm, Begin, Event};
use firstflight_path::Error;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// A controller that is not ours: it receives events and has a window.
pub trait Foreign {
    /// Starts a connection. All following events belong to it.
    ///
    /// # Errors
    /// A one-line message if it cannot.
    fn begin(&mut self, begin: &Begin) -> Result<(), Error>;

    /// Handles one event, in the order of the connection.
    ///
    /// # Errors
    /// A one-line message if it cannot.
    fn tell(&mut self, event: &Event) -> Result<(), Error>;

    /// Ends the connection and releases what the controller holds.
    ///
    /// # Errors
    /// A one-line message if it cannot.
    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Current congestion window and slow-start threshold, bytes; `None` while the threshold was
    /// never set.
    fn window(&self) -> (u64, Option<u64>);

    /// Whether it ended or did not respond in time. The preceding error is then a finding about the
    /// controller, not about the way it was called.
    fn died(&self) -> bool {
        false
    }
}

/// Describes the end of a controller's process; `what` is what to call it. A process that does not
/// answer is killed.
pub(super) fn ending(child: &mut Child, what: &str) -> String {
    const PATIENCE: Duration = Duration::from_secs(2);
    let begun = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    if matches!(child.try_wait(), Ok(None)) {
        let _ = child.kill();
        return format!("{what} closed its connection");
    }
    match child.wait() {
        Ok(status) => match (status.code(), signal(status)) {
            (Some(127), _) => {
                format!("{what} ended with exit code 127: the shell found no such command")
            }
            (Some(code), _) => format!("{what} ended its process with exit code {code}"),
            (None, Some(signal)) => format!("{what} ended its process with {}", named(signal)),
            (None, None) => format!("{what} ended its process"),
        },
        Err(error) => format!("{what} ended: {error}"),
    }
}

fn named(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal}, {name}")
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// One of our arms behind the interface for foreign controllers: compared with itself, it must
/// agree on every ACK.
#[derive(Debug)]
pub struct OneOfOurs {
    arm: Arm,
    core: Option<AnyController>,
}

impl OneOfOurs {
    /// Wraps this arm.
    pub fn new(arm: Arm) -> OneOfOurs {
        OneOfOurs { arm, core: None }
    }
}

impl Foreign for OneOfOurs {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        let Begin { now, config, nxt, oracle_exit, .. } = *begin;
        self.core = Some(self.arm.with_oracle(oracle_exit).controller(config, now, nxt));
        Ok(())
    }

    fn tell(&mut self, event: &Event) -> Result<(), Error> {
        if let Some(core) = &mut self.core {
            core.tell(event);
        }
        Ok(())
    }

    fn window(&self) -> (u64, Option<u64>) {
        self.core.as_ref().map_or((0, None), |core| (core.cwnd(), core.ssthresh()))
    }
}
