//! Learned senders: what they observe and decide, the file of a trained policy, which is an arm, and
//! the connections on which one is trained.
//!
//! A policy decides at some ACKs. The observation is a vector of small integers and the decision is
//! an integer, so that a policy trained on [`Fleet`] behaves as an arm as it did in training, to the
//! nanosecond: both use the same startup, [`Steered`], and differ only in who decides.

mod course;
mod fleet;
mod policy;
mod steered;
mod watch;

pub use course::{Action, Acts, Control, Course, Step};
pub use fleet::{Account, Fleet, Prices, Settings, View};
pub use policy::{MOST_BYTES, Policy};
pub use steered::Steered;
pub use watch::{FEATURES, Feature, MOST, ONE, Observation};
