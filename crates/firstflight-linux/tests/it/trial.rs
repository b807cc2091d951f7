//! A trial with the kernel's own controllers. Needs root; otherwise it reports what is missing and
//! passes.

use firstflight_linux::LinkOptions;
use firstflight_linux::trial::{
    Flow, Measured, MeasuredSeveral, Programs, Several, SocketOptions, Source, Trial, run,
    run_several,
};
use firstflight_path::Path;
use std::time::Duration;

fn measure(path: &str, bytes: u64, limit: Duration) -> Option<(Measured, u32)> {
    let path = Path::parse(path).expect("a path");
    let mut largest = 0;
    let trial = Trial {
        path: &path,
        options: LinkOptions::default(),
        bytes,
        source: Source::Controller("cubic", SocketOptions::default()),
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

/// Sends as many bytes as it is told to whoever connects, by nothing but a socket.
const SERVER: &str = r#"python3 -c "
import os, socket
s = socket.create_server((os.environ['FIRSTFLIGHT_LOCAL'], int(os.environ['FIRSTFLIGHT_PORT'])))
while True:
    c, _ = s.accept()
    left = int(os.environ['FIRSTFLIGHT_BYTES'])
    try:
        while left > 0:
            left -= c.send(bytes(min(left, 65536)))
        c.close()
    except OSError:
        pass
""#;
const CLIENT: &str = r#"python3 -c "
import os, socket, sys
c = socket.create_connection((os.environ['FIRSTFLIGHT_PEER'], int(os.environ['FIRSTFLIGHT_PORT'])))
while chunk := c.recv(65536):
    sys.stdout.buffer.write(chunk)
""#;

fn pair(server: &str, client: &str, bytes: Option<u64>) -> Option<Result<MeasuredSeveral, String>> {
    let path = Path::parse("rate=50Mbit,rtt=30ms,queue=60ms").expect("a path");
    let flow = |source, bytes| Flow { source, bytes, start: Duration::ZERO };
    let flows = [
        // Beside one without an end there is time for that to begin, on a busy machine, too.
        flow(
            Source::Controller("cubic", SocketOptions::default()),
            Some(if bytes.is_some() { 2_000_000 } else { 8_000_000 }),
        ),
        flow(Source::Programs(Programs { server, client }), bytes),
    ];
    let several = Several {
        path: &path,
        options: LinkOptions::default(),
        flows: &flows,
        limit: Duration::from_secs(20),
        receiver: &[],
        sample: Duration::from_millis(100),
        whole: false,
    };
    match run_several(&several, |flow, _| assert_eq!(flow, 0, "programs cannot be asked")) {
        Err(refusal) if refusal.to_string().contains("needs") => {
            println!("skipped: {refusal}");
            None
        }
        other => Some(other.map_err(|refusal| refusal.to_string())),
    }
}

#[test]
fn programs_of_others_share_the_link_and_are_counted_by_what_arrives() {
    let _one = crate::ONE.lock();
    let Some(measured) = pair(SERVER, CLIENT, Some(1_000_000)) else { return };
    let measured = measured.expect("both ran");
    let [kernel, programs] = measured.flows.as_slice() else { panic!("two flows") };
    assert!(kernel.complete && kernel.delivered == 2_000_000);
    assert_eq!(programs.delivered, 1_000_000);
    let after = programs.delivered_after.expect("all of it");
    assert!(after > Duration::from_millis(190), "not before the link lets it: {after:?}");
    assert_eq!(programs.acked_after, after);
    let last = measured.delivered.last().expect("samples");
    assert!(last[1] <= 1_000_000 && measured.delivered[0] == [0, 0]);
    // One without an end is not waited for.
    let endless = pair(SERVER, CLIENT, None).expect("as before").expect("both ran");
    assert!(endless.flows[0].complete && endless.flows[1].delivered_after.is_none());
    assert!(endless.flows[1].delivered > 0);
}

#[test]
fn what_goes_wrong_with_programs_is_said() {
    let _one = crate::ONE.lock();
    for (server, client, said) in [
        ("exit 3", "true", "`exit 3`: ended before it listened on port 6002, with code 3"),
        (
            SERVER,
            "head -c 10 /dev/zero; exit 4",
            "wrote 10 of 1000000 bytes and ended, with code 4",
        ),
    ] {
        let Some(measured) = pair(server, client, Some(1_000_000)) else { return };
        let refusal = measured.expect_err("something is wrong");
        assert!(refusal.contains(said), "{refusal}");
    }
}
