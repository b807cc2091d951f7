//! Any bytes as a file of any format, plain, gzip or zstd: no panic, no overflow; a refusal is one
//! line; what is read leaves windows that can be.
#![no_main]

mod replayed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(plain) = firstflight_log::input::decompress(std::io::Cursor::new(bytes.to_vec())) {
        replayed::follow(plain, |file, bytes, sink| {
            firstflight_log::read::from(file, bytes, sink)
        });
    }
});
