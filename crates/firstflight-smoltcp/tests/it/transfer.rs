//! The effect of a controller on a transfer of smoltcp.

use crate::link::{Link, MSS, transfer};
use firstflight::{Arm, ExitReason, Phase};
use firstflight_smoltcp::Steered;
use proptest::prelude::*;
use smoltcp::phy::{Device, Loopback, Medium, RxToken as _, TxToken as _};
use smoltcp::time::Instant;

#[test]
fn slow_start_doubles_the_window_per_round_trip_and_nothing_leaves_beyond_it() {
    let mut done = transfer(Link::new(100_000), "slowstart/reno/prr", 2_000_000);
    for (at, cwnd, inflight) in &done.windows {
        assert!(inflight <= cwnd, "{inflight} bytes in flight at {at}, window {cwnd}");
    }
    // 40 ms of propagation, the handshake first: three round trips later ten segments are eighty.
    let at = |ms| done.windows.iter().find(|(at, ..)| at.total_millis() >= ms).expect("a moment").1;
    assert_eq!(at(41), 10 * MSS, "before the first ACK of data");
    assert!(at(150) > 35 * MSS, "{} segments after three round trips", at(150) / MSS);
    assert_eq!(done.device.get_mut().dropped(), 0);
    assert_eq!(done.device.controller().phase(), Phase::Startup);
}

#[test]
fn startups_leave_where_they_see_the_queue_and_slow_start_overflows_it() {
    // 160 packets fill the path, a thousand the queue.
    let run = |arm: &str| {
        let mut done = transfer(Link::new(1000), arm, 8_000_000);
        let exit = done.device.controller().exit().expect("startup is over");
        (exit.reason, exit.detect_cwnd / MSS, done.device.get_mut().dropped())
    };
    let (reason, window, dropped) = run("slowstart/cubic/prr");
    assert!(reason == ExitReason::Loss && window > 1160 && dropped > 500, "{window}, {dropped}");
    let (reason, window, dropped) = run("hystart/cubic/prr");
    assert_eq!((reason, dropped), (ExitReason::Train, 0));
    assert!((160..320).contains(&window), "{window} segments");
    let (reason, window, dropped) = run("search/cubic/prr");
    assert_eq!((reason, dropped), (ExitReason::Flattened, 0));
    assert!((120..200).contains(&window), "{window} segments");
}

#[test]
fn three_duplicate_acks_cut_the_window_once() {
    let link = Link::new(100_000).dropping(|number| number == 200);
    let mut done = transfer(link, "slowstart/reno(beta=0.5)/prr", 2_000_000);
    assert_eq!(done.device.get_mut().dropped(), 1);
    let stats = *done.device.controller().stats();
    assert_eq!((stats.loss_episodes, stats.timeouts), (1, 0), "{stats:?}");
    let exit = done.device.controller().exit().expect("startup is over");
    assert_eq!(exit.reason, ExitReason::Loss);
}

#[test]
fn a_timeout_is_told_and_the_transfer_goes_on() {
    let link = Link::new(100_000).dropping(|number| (100..260).contains(&number));
    let done = transfer(link, "slowstart/reno/prr", 1_000_000);
    let stats = *done.device.controller().stats();
    assert!(stats.timeouts >= 1, "{stats:?}");
    assert!(done.windows.iter().any(|(_, cwnd, _)| *cwnd == MSS), "one segment after it");
}

#[test]
fn arms_that_need_what_smoltcp_has_not_are_refused_in_one_line() {
    for text in [
        "bbr",
        "plumb",
        "suss",
        "jumpstart",
        "rapid",
        "careful(saved=100,rtt=50)",
        "slowstart@(acks=8)",
    ] {
        let arm = Arm::parse(text).expect("an arm");
        let refused = Steered::new(Loopback::new(Medium::Ip), 1, &arm, 1460).err();
        let line = refused.expect("refused").to_string();
        assert_eq!(line.lines().count(), 1, "{text}: {line}");
    }
    let arm = Arm::parse("rapid(jump=off)").expect("an arm");
    assert!(Steered::new(Loopback::new(Medium::Ip), 1, &arm, 1460).is_ok());
}

/// A frame that is nearly a segment of the connection, or nothing of the kind.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let tcp = (any::<[u8; 20]>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..40));
    let near = tcp.prop_map(|(mut tcp, ours, payload)| {
        let (here, there) = (4000_u16.to_be_bytes(), 80_u16.to_be_bytes());
        let (source, destination) = if ours { (here, there) } else { (there, here) };
        tcp[..2].copy_from_slice(&source);
        tcp[2..4].copy_from_slice(&destination);
        // Few of them are far apart.
        for high in [4, 5, 8, 9] {
            tcp[high] = 0;
        }
        tcp[12] = 5 << 4;
        let len = (40 + payload.len()) as u16;
        let mut frame = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
        frame[2..4].copy_from_slice(&len.to_be_bytes());
        frame.extend(tcp);
        frame.extend(payload);
        frame
    });
    prop_oneof![4 => near, 1 => prop::collection::vec(any::<u8>(), 0..80)]
}

proptest! {
    #[test]
    fn no_frames_break_it(frames in prop::collection::vec(frames(), 0..60), ip in any::<bool>()) {
        let medium = if ip { Medium::Ip } else { Medium::Ethernet };
        let arm = Arm::parse("hystart++/cubic/prr").expect("an arm");
        let mut device = Steered::new(Loopback::new(medium), 4000, &arm, 1460).expect("runs");
        for (i, frame) in frames.iter().enumerate() {
            let now = Instant::from_millis(i as i64);
            let token = device.transmit(now).expect("a loopback always sends");
            token.consume(frame.len(), |buffer| buffer.copy_from_slice(frame));
            if let Some((rx, _)) = device.receive(now) {
                rx.consume(|seen| assert_eq!(seen, frame));
            }
        }
        prop_assert!(device.controller().cwnd() >= 1460);
    }
}
