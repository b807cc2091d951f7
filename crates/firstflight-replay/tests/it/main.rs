//! The tests of the readers, one program that links once.

mod captures;
mod clock;
mod dialects;
mod faults;
mod model;
mod seeds;
