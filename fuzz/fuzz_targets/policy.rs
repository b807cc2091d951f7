//! Any text as the file of a policy: no panic, no overflow; a refusal is one line; a policy that is
//! read decides within its range, whatever it observes.
#![no_main]

use firstflight_lab::learn::{FEATURES, MOST, ONE, Policy};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let policy = match Policy::parse(text) {
        Ok(policy) => policy,
        Err(refused) => return assert!(!refused.as_str().contains('\n'), "one line: {refused}"),
    };
    let drawn = text.bytes().rev().map(|byte| (i32::from(byte) * 9).min(MOST));
    let mut seen = [0; FEATURES];
    for (value, number) in seen.iter_mut().zip(drawn.skip(2)) {
        *value = number;
    }
    for seen in [seen, [0; FEATURES], [MOST; FEATURES], [-ONE; FEATURES]] {
        let action = policy.decide(&seen);
        assert!((-ONE..=ONE).contains(&action.value), "{action:?}");
    }
});
