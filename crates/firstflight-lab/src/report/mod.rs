//! The report: one comparison as one HTML page that opens anywhere, offline, with the data inside.
//! [`Report`] holds the page's data, [`Report::to_html`] writes it, and [`thin`] and related
//! functions keep it small. The page is drawn by the scripts next to this file; they load nothing,
//! and the page's policy forbids it.
//!
//! Numbers: times are milliseconds since the first data byte was sent, sizes are bytes, `null`
//! means "does not apply".

mod ab;
mod compare;
mod diff;
pub mod html;
mod kept;
mod look;
mod sweep;
mod thin;
#[cfg(feature = "field")]
mod trial;
#[cfg(feature = "tune")]
mod tune;

pub use compare::{
    Episode, Exit, Fact, Ideal, Level, Loss, Note, Path, Phase, Point, Report, Series,
};
pub use kept::kept;
pub use look::looks;
pub use thin::{MAX_LOSSES, MAX_POINTS, MAX_SPANS, thin, thin_losses, thin_phases};
