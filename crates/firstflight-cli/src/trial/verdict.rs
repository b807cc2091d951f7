//! What the shell is told of an answer.

use crate::done::Done;
use firstflight_lab::field::Answer;

/// An arm broke a stop rule.
pub(super) const EXIT_STOPPED: u8 = 3;

/// How a command ends that gave this answer.
pub(super) fn ended(answer: &Answer) -> Done {
    match (&answer.withheld, answer.stopped()) {
        (_, Some(_)) => Done::With(EXIT_STOPPED),
        (Some(why), None) => Done::Because(format!("no verdict: {why}")),
        (None, None) => Done::Well,
    }
}
