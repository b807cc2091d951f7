//! Any text as an arm: no panic; what parses prints as text that parses to the same arm and prints
//! the same again; what is refused is refused with one line.
#![no_main]

use firstflight::arm::Arm;
use firstflight::{Config, Seq, Time};

libfuzzer_sys::fuzz_target!(|text: &str| {
    for arm in Arm::parse_list(text) {
        match arm {
            Ok(arm) => {
                let printed = arm.to_string();
                let again = Arm::parse(&printed).unwrap_or_else(|error| {
                    panic!("`{text}` prints `{printed}`, which is refused: {error}")
                });
                assert_eq!(again, arm, "`{text}` prints `{printed}`, which is another arm");
                assert_eq!(
                    again.to_string(),
                    printed,
                    "`{text}` prints differently the second time"
                );
                let mut controller = arm.with_oracle(300_000).controller(Config::quic(1_200), Time(0), Seq(0));
                controller.on_handshake_rtt(Time(1), firstflight::Nanos(1));
                assert!(
                    controller.cwnd() >= 2_400,
                    "`{printed}` starts with a window of {}",
                    controller.cwnd()
                );
            }
            Err(error) => {
                let line = error.to_string();
                assert!(!line.is_empty(), "`{text}` is refused without a word");
                assert!(
                    text.contains('\n') || !line.contains('\n'),
                    "`{text}` is refused with more than a line: {line}"
                );
            }
        }
    }
});
