//! Drives a controller from a log instead of a network.

use super::{Entry, Source, Start, What};
use crate::Error;
use firstflight::account::{Account, Kept};
use firstflight::{AnyController, Arm, Exit, Seq};

/// Result of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The controller after the last event.
    pub controller: AnyController,
    /// History of the connection; the log does not say which bytes are retransmissions.
    pub account: Account<Vec<Kept>>,
    /// Every exit with the index of its entry, including exits that a false alarm withdrew.
    pub exits: Vec<(usize, Exit)>,
    /// The first entry after which the window differed from the log: its index, the log's window
    /// and the controller's.
    pub strayed: Option<(usize, u64, u64)>,
}

/// Builds the controller with which the log starts.
///
/// # Errors
/// If the log is not of one of our controllers, or its arm is unknown.
pub fn controller(start: &Start, entry: &Entry) -> Result<AnyController, Error> {
    let config = start.config.filter(|_| start.source == Source::Controller);
    let config = config.ok_or_else(|| {
        Error::new(format!(
            "trace of {}: the events that its controller received are not known",
            start.arm
        ))
    })?;
    let arm = Arm::parse(&start.arm_full).map_err(|error| Error::new(format!("trace: {error}")))?;
    // The configuration already includes the sender's options; applying them twice changes nothing.
    Ok(arm.with_oracle(start.oracle_exit_bytes).controller(config, entry.now, Seq(start.nxt)))
}

/// Builds a controller from the log and repeats the logged inputs.
///
/// # Errors
/// If the log does not start with the start of one of our controllers.
pub fn replay(entries: &[Entry]) -> Result<Replayed, Error> {
    let mut replayed: Option<Replayed> = None;
    for (index, entry) in entries.iter().enumerate() {
        match (&entry.what, &mut replayed) {
            (What::Start(start), _) => {
                replayed = Some(Replayed {
                    controller: controller(start, entry)?,
                    account: Account::new(start.config.map_or(1, |config| config.mss)),
                    exits: Vec::new(),
                    strayed: None,
                });
            }
            (What::Event { event, .. }, Some(Replayed { controller, account, exits, strayed })) => {
                let before = controller.exit();
                controller.tell(event);
                account.take(event, controller);
                if let Some(exit) = controller.exit().filter(|exit| before != Some(*exit)) {
                    exits.push((index, exit));
                }
                let seen = entry.state.map_or(controller.cwnd(), |state| state.cwnd);
                if seen != controller.cwnd() && strayed.is_none() {
                    *strayed = Some((index, seen, controller.cwnd()));
                }
            }
            (What::Event { .. }, None) => {
                return Err(Error::new("trace: it does not start with a `start` event"));
            }
            (What::Exit(_) | What::ExitWithdrawn, _) => {}
        }
    }
    replayed.ok_or_else(|| Error::new("trace: it is empty"))
}
