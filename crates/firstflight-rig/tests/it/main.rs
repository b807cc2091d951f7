//! The tests of the rig, in one program that links once.

#[cfg(all(feature = "qlog", feature = "quinn"))]
mod replay;
mod rig;
mod several;
mod traces;
