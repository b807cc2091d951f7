//! The tests of published results, one program that links once.

mod rapid_start_slides;
mod units;
