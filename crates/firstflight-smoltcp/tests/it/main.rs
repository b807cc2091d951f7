//! Transfers between two sockets of smoltcp over a link in virtual time.

mod link;
mod transfer;
