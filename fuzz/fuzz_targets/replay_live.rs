//! Any headers in any order as packets of watched connections: no panic, no overflow; what is told
//! leaves windows that can be.
#![no_main]

mod replayed;
mod told;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| replayed::check(bytes, |_, mut bytes, sink| {
    let mut all = Vec::new();
    let _ = bytes.read_to_end(&mut all);
    Ok(told::feed(&all, sink))
}));
