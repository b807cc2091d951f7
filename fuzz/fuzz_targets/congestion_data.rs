//! A client may return anything as its saved set: no panic, and an accepted set is written the same again.
#![no_main]

use firstflight_quic::resume::carriage::{decode, encode};

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    let Ok((export, rest)) = decode(body, 1200) else { return };
    assert!(body.ends_with(rest), "the rest is the end of the body");
    assert_eq!(decode(&encode(&export), 1200), Ok((export, &[][..])), "{body:?}");
});
