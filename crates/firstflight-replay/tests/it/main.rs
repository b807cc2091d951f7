//! The tests of the readers, linked into one program.

mod boundary;
mod captures;
mod clock;
mod dialects;
mod faults;
#[cfg(feature = "advice")]
mod identify;
mod model;
#[cfg(feature = "keylog")]
mod sealed;
mod seeds;
mod synthetic;
mod tables;
mod texts;
mod vantage;
mod wire;
