//! Any arm through any history: see `crates/firstflight/tests/it/history/mod.rs` for the operations
//! and the invariants.
#![no_main]

#[path = "../../crates/firstflight/tests/it/told.rs"]
mod told;
#[path = "../../crates/firstflight/tests/it/history/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the random generator and the arms are for the test that shares the module"
)]
mod history;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    history::play(bytes);
});
