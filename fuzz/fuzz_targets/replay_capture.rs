//! Any bytes as a capture, pcap or pcapng: no panic, no overflow; a refusal is one line; what is
//! read leaves windows that can be.
#![no_main]

mod replayed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| replayed::check(bytes, |file, bytes, sink| {
    firstflight_log::pcap::read(file, bytes, sink)
}));
