//! The tests of the rig, one program that links once.

#[cfg(all(feature = "qlog", feature = "quinn"))]
mod replay;
mod rig;
mod several;
mod traces;
