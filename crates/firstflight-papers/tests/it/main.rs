//! The tests of published results, one program that links once.

mod experiments;
mod rapid_start_slides;
mod units;
