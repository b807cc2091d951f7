//! The library as C sees it.
#![allow(clippy::wildcard_imports)]

mod call;
mod header;
mod layout;
mod misuse;
mod programs;
mod twin;
