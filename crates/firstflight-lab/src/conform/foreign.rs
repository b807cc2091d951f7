//! Controllers that are not ours, as the comparison asks for them.

use firstflight::arm::{Arm, ArmController};
use firstflight::{Begin, Event};
use firstflight_path::Error;

/// A controller that is not ours: it is told events and has a window.
pub trait Foreign {
    /// A connection begins. What is told afterwards belongs to it.
    ///
    /// # Errors
    /// One line if it cannot.
    fn begin(&mut self, begin: &Begin) -> Result<(), Error>;

    /// One event, in the order of the connection.
    ///
    /// # Errors
    /// One line if it cannot answer.
    fn tell(&mut self, event: &Event) -> Result<(), Error>;

    /// Congestion window and slow-start threshold now, bytes; no threshold while it was never set.
    fn window(&self) -> (u64, Option<u64>);
}

/// One of ours behind the interface for foreign ones: with itself it must agree on every ACK.
#[derive(Debug)]
pub struct OneOfOurs {
    arm: Arm,
    core: Option<ArmController>,
}

impl OneOfOurs {
    /// This arm.
    pub fn new(arm: Arm) -> OneOfOurs {
        OneOfOurs { arm, core: None }
    }
}

impl Foreign for OneOfOurs {
    fn begin(&mut self, begin: &Begin) -> Result<(), Error> {
        let Begin { now, config, nxt, oracle_exit, .. } = *begin;
        self.core = Some(self.arm.controller(config, oracle_exit, now, nxt));
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
