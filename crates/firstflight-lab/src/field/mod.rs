//! The analysis of a field test: rows of anybody's table, one per connection, with a column that
//! says the arm; what every arm does to the completion time at equal size, with an interval for the
//! end and one that holds at every look, and the checks without which no number means anything.
//!
//! The statistics are `firstflight_trial::statistics`; here rows become columns (`table`),
//! columns an [`Answer`] ([`analysis`]), and that sentences and a page.

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
