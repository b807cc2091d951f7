//! Exit codes for the results of a trial.

use crate::done::Done;
use firstflight_lab::field::Answer;

/// An arm broke a stop rule.
pub(super) const EXIT_STOPPED: u8 = 3;

/// The outcome of a command with this result.
pub(super) fn ended(answer: &Answer) -> Done {
    match (&answer.withheld, answer.stopped()) {
        (_, Some(_)) => Done::With(EXIT_STOPPED),
        (Some(why), None) => Done::Because(format!("no verdict: {why}")),
        (None, None) => Done::Well,
    }
}
