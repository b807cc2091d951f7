//! A trial with the kernel's own controllers. Needs root; says what is missing and passes where
//! that is not given.

use firstflight_linux::LinkOptions;
use firstflight_linux::trial::{Measured, Trial, run};
use firstflight_path::Path;
use std::time::Duration;

fn measure(path: &str, bytes: u64, limit: Duration) -> Option<(Measured, u32)> {
    let path = Path::parse(path).expect("a path");
    let mut largest = 0;
    let trial = Trial {
        path: &path,
        options: LinkOptions::default(),
        bytes,
        controller: "cubic",
        limit,
        receiver: &[],
    };
    match run(&trial, |info| largest = largest.max(info.cwnd)) {
        Ok(measured) => Some((measured, largest)),
        Err(refusal) if refusal.to_string().contains("needs") => {
            println!("skipped: {refusal}");
            None
        }
        Err(refusal) => panic!("{refusal}"),
    }
}

#[test]
fn cubic_takes_the_time_of_the_path_and_its_counts_add_up() {
    let _one = crate::ONE.lock();
    let Some((measured, largest)) =
        measure("rate=50Mbit,rtt=30ms,queue=30ms", 2_000_000, Duration::from_secs(20))
    else {
        return;
    };
    let Measured { complete, acked_after, delivered_after, delivered, last, counters, link } =
        measured;
    assert!(complete && delivered == 2_000_000, "all of it arrives: {delivered}");
    let read = delivered_after.expect("the receiver read all of it");
    // 2 MB at 50 Mbit/s of IP bytes, 1448 of 1500 payload: 331 ms, and one idle round trip.
    assert!(
        acked_after >= Duration::from_millis(345),
        "nobody is faster than the link: {acked_after:?}"
    );
    assert!(read < acked_after, "read after {read:?}, acknowledged after {acked_after:?}");
    assert!(last.packets_sent >= 1_382 && largest > 10, "{last:?}, window up to {largest}");
    // The idle round trip includes the serialization of a full packet, 240 us; that of the
    // handshake is shorter.
    assert!(
        last.min_rtt_us >= 29_750,
        "no sample below the idle round trip: {} us",
        last.min_rtt_us
    );
    assert!(
        u64::from(last.repeats) >= link.forward.dropped_packets(),
        "every loss was repaired: {last:?}"
    );
    assert_eq!(
        counters.recoveries > 0,
        last.repeats > 0,
        "repeats, and recoveries that made them: {counters:?}, {last:?}"
    );
}

#[test]
fn a_trial_that_does_not_finish_says_so_in_time() {
    let _one = crate::ONE.lock();
    let Some((measured, _)) =
        measure("rate=1Mbit,rtt=30ms,queue=100ms", 2_000_000, Duration::from_millis(500))
    else {
        return;
    };
    assert!(!measured.complete && measured.delivered < 2_000_000);
    assert!(measured.acked_after >= Duration::from_millis(490), "{:?}", measured.acked_after);
}
