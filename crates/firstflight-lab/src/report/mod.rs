//! The report: one comparison as one HTML page that opens anywhere, offline, with the data inside.
//! [`Report`] holds what the page shows, [`Report::to_html`] writes it, [`thin`] and its siblings
//! keep it small. The page draws itself with the scripts beside this file; they load nothing and
//! the page forbids it to itself.
//!
//! Numbers: times are milliseconds since the first data byte was sent, sizes are bytes, `null`
//! means "does not apply".

mod ab;
mod compare;
mod diff;
pub mod html;
mod look;
mod sweep;
mod thin;
#[cfg(feature = "field")]
mod trial;

pub use compare::{
    Better, Column, Episode, Exit, Fact, Ideal, Level, Loss, Note, Path, Phase, Point, Report, Row,
    Series, Spread, Table, Value,
};
pub use look::looks;
pub use thin::{MAX_LOSSES, MAX_POINTS, MAX_SPANS, thin, thin_losses, thin_phases};
