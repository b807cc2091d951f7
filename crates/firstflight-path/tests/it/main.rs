//! The tests of paths, one program that links once.

mod aqm;
mod effects;
mod forward;
mod link;
mod queueing;
mod random;
mod returns;
mod text;
mod text_effects;
mod trace;
