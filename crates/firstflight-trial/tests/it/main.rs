//! The guarantees of the statistics, counted over simulated trials.
#![cfg(feature = "statistics")]

#[path = "../../examples/promises/clients.rs"]
mod clients;
mod coverage;
mod promises;
