//! Well-formed TCP with any numbers, flags and options as a capture: no panic, no overflow; what is
//! read leaves windows that can be.
#![no_main]

mod replayed;
mod segments;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| replayed::check(
    &segments::capture(bytes),
    firstflight_log::pcap::read
));
