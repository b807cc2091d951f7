//! All tests of paths in one program, linked once.

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
