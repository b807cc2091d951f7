//! The tests of the commands, one program that links once. What listens, needs root or counts on
//! time has programs of its own.

mod ab;
mod advise;
#[path = "../command/mod.rs"]
mod command;
mod compare;
mod conform;
mod diff;
mod evaluate;
mod experiments;
mod formats;
mod hostile;
mod inputs;
mod lists;
mod names;
mod outputs;
mod own;
mod readme;
mod refusals;
mod repeat;
mod replay;
mod reproduce;
mod schemas;
mod sweep;
mod trace_files;
mod traces;
mod trial;
mod tune;
mod vantages;
