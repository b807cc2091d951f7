//! The tests of the lab, in one program that is linked once. Tests that use the running kernel or
//! depend on real time have their own program, because in this one they would compete with others
//! for the processor.

mod bindings;
mod completion;
mod conform;
mod decision;
mod detection;
mod drill;
#[cfg(all(feature = "field", feature = "request"))]
mod field;
mod foreign;
mod learn;
mod measures;
mod own;
mod plumb_worst;
mod population;
mod qlog_schema;
#[cfg(feature = "quic")]
mod quic;
mod repeat;
mod report;
#[cfg(feature = "request")]
mod request;
mod sharing;
#[cfg(feature = "quic")]
mod stacks;
mod students;
mod takeoff;
mod testbeds;
mod traces;
mod traps;
#[cfg(feature = "tune")]
mod tune;
mod vector_power;
mod vectors;
