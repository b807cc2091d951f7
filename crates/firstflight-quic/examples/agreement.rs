//! Placeholder until the command exists.
fn main() {}
