//! The lab of firstflight: what turns single trials into something a person can decide on.

pub mod report;
