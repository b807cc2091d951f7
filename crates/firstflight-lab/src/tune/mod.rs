//! Finds the parameters of an arm that suit a population.
//!
//! A search that tries hundreds of candidates always finds one that looks better than the default,
//! if only by chance. So there are three sets of connections, by seed ([`Set`]). Candidates are
//! chosen on the training set (`search`). On the validation set the best of them are compared
//! again, in every world, and every changed parameter that does not pay is put back. One candidate
//! is then judged beside the default on the hold-out, once, by the rules of [`crate::decision`].
//! "Keep the default" is a likely answer, and a useful one.
//!
//! All candidates meet the same connections. Nothing depends on the number of threads.

mod answer;
mod bench;
mod find;
mod plan;
mod race;
mod score;
mod search;
mod space;

pub use answer::{Experiment, Found, Front, Gain, Parameter as ParameterRow, Point, Tuned};
pub use bench::{Bench, Set, Watcher};
pub use find::{Rules, find};
pub use plan::Tune;
pub use score::Objective;
pub use space::{Choice, Level, Parameter, Space};
