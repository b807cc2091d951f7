//! Any reports at any time to a media sender: no panic, no overflow, and a rate within the encoder's
//! range.
#![no_main]

use firstflight::{Nanos, Time};
use firstflight_sim::nada::{LossIntervals, Nada, Params, Report};

/// Bytes of one report.
const ONE: usize = 45;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let number = |bytes: &[u8], from: usize| {
        u64::from_le_bytes(bytes[from..from + 8].try_into().expect("eight bytes"))
    };
    let Some((head, rest)) = bytes.split_at_checked(20) else { return };
    let priority = u32::from_le_bytes(head[16..].try_into().expect("four bytes"));
    let params = Params { min: number(head, 0), max: number(head, 8), priority };
    let (mut nada, mut intervals) = (Nada::new(params), LossIntervals::default());
    let bounded = params.bounded();
    for report in rest.chunks_exact(ONE) {
        let small = |place: usize| u32::from(report[place]) * u32::from(report[place + 1]);
        intervals.on_packet(report[44] & 4 > 0);
        let since_loss = match report[44] & 3 {
            0 => None,
            1 => intervals.since_loss(),
            _ => Some((number(report, 24), number(report, 32) >> (report[44] >> 2))),
        };
        let said = Report {
            queueing: Nanos(number(report, 0)),
            quiet: report[44] & 64 > 0,
            packets: small(40),
            lost: small(41),
            marked: small(42),
            received: number(report, 8),
            since_loss,
        };
        let rate = nada.on_report(Time(number(report, 16)), Nanos(number(report, 24)), &said);
        assert!((bounded.min..=bounded.max).contains(&rate), "{rate} of {bounded:?}");
    }
});
