//! The tests of the readers, one program that links once.

mod boundary;
mod captures;
mod clock;
mod dialects;
mod faults;
#[cfg(feature = "advice")]
mod identify;
mod model;
mod seeds;
