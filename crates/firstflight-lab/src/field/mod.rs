//! The analysis of a field test: a table with one row per connection and a column that names the
//! arm. It reports the effect of every arm on the completion time at equal size, with an interval
//! for the end of the test and one that holds at every look, and the checks without which no number
//! means anything.
//!
//! The statistics are in `firstflight_trial::statistics`; this module turns rows into columns
//! (`table`),
//! columns into an [`Answer`] ([`analysis`]), and the answer into sentences and a page.

pub mod analysis;
mod answer;
mod columns;
mod earlier;
mod parts;
#[cfg(feature = "request")]
mod request;
#[cfg(feature = "parquet")]
mod store;
mod table;
pub(crate) mod tables;
mod words;

pub use answer::{
    Answer, ArmRow, Balance, EffectRow, NeedRow, PartRow, QuantileRow, RehearsalRow, SampleRatio,
    TotalsRow,
};
pub use columns::{Names, Question, Ratio};
pub use earlier::Asked;
#[cfg(feature = "request")]
pub use request::FieldRequest;
#[cfg(feature = "parquet")]
pub use store::{Holds, RowStore, every_row};
