//! The outcome of a command that inspects a trial.

use crate::done::{Done, EXIT_STOPPED};
use firstflight_lab::field::Answer;

/// The outcome of a command with this result.
pub(super) fn ended(answer: &Answer) -> Done {
    match (&answer.withheld, answer.stopped()) {
        (_, Some(_)) => Done::With(EXIT_STOPPED),
        (Some(why), None) => Done::Because(format!("no verdict: {why}")),
        (None, None) => Done::Well,
    }
}
