//! The adapters for noq, quinn and s2n-quic under callbacks in any order, with any numbers: no
//! panic, no overflow, and always a window in which a packet fits.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| firstflight_quic::callbacks::any_order(bytes));
