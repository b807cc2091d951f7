//! Real TCP through an emulated link. Needs root; otherwise it reports what is missing and passes.

use firstflight_linux::{LinkEmulator, LinkOptions, Namespace, Report};
use firstflight_path::{DropCause, Path};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// A link, or a line that says why there is none.
fn link(path: &str) -> Option<LinkEmulator> {
    let path = Path::parse(path).expect("a path");
    LinkEmulator::start(&path, LinkOptions::default())
        .inspect_err(|refusal| println!("skipped: {refusal}"))
        .ok()
}

/// Sends `bytes` from sender to receiver and waits until they are there: how long it took.
fn transfer(link: &LinkEmulator, bytes: usize) -> Duration {
    let address = (link.receiver().address(), 5001);
    let listener = link
        .receiver()
        .run(|| TcpListener::bind(address))
        .expect("the namespace")
        .expect("a listener");
    let started = Instant::now();
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let (mut buffer, mut got) = (vec![0; 1 << 16], 0);
        loop {
            match stream.read(&mut buffer).expect("data") {
                0 => return got,
                len => got += len,
            }
        }
    });
    let mut stream = link
        .sender()
        .run(|| TcpStream::connect(address))
        .expect("the namespace")
        .expect("a connection");
    stream.write_all(&vec![0; bytes]).expect("data");
    drop(stream);
    assert_eq!(receiver.join().expect("the receiver"), bytes, "every byte arrives");
    started.elapsed()
}

/// Processes and threads of this machine that are in the namespace, or hold it open.
fn users(of: &str) -> Vec<PathBuf> {
    let mut users = Vec::new();
    for process in fs::read_dir("/proc").expect("/proc").flatten() {
        for folder in ["ns", "fd"] {
            let links = fs::read_dir(process.path().join(folder)).into_iter().flatten().flatten();
            users.extend(
                links
                    .map(|link| link.path())
                    .filter(|link| fs::read_link(link).is_ok_and(|to| to.to_string_lossy() == of)),
            );
        }
    }
    users
}

fn name(namespace: &Namespace) -> String {
    fs::read_link(namespace.path())
        .expect("the namespace's descriptor")
        .to_string_lossy()
        .into_owned()
}

/// Whatever entered the link left it, was dropped by it, or is still inside.
fn assert_conserved(report: &Report) {
    for (direction, tally) in [("forward", &report.forward), ("reverse", &report.reverse)] {
        let out = tally.delivered + tally.refused + tally.dropped_packets() + tally.inside;
        assert_eq!(
            tally.packets + tally.duplicated,
            out,
            "{direction}: packets in and packets out"
        );
        if let Some((sent, lost)) = tally.device {
            assert_eq!(lost, 0, "{direction}: the device lost packets of its own");
            // The device is asked while the link stops: its last packets may be missing on either
            // side.
            assert!(
                tally.packets.abs_diff(sent) <= 2,
                "{direction}: {sent} packets sent, {} seen",
                tally.packets
            );
        }
    }
}

#[test]
fn a_transfer_takes_the_time_of_the_path_and_every_packet_is_accounted_for() {
    let _one = crate::ONE.lock();
    let Some(link) = link("rate=20Mbit,rtt=40ms,queue=100ms") else { return };
    let took = transfer(&link, 1_000_000);
    let report = link.stop();
    // 1 MB at 20 Mbit/s is 0.4 s of payload alone, and two round trips pass before the first byte
    // is seen to have arrived.
    assert!(took >= Duration::from_millis(480), "faster than the path: {took:?}");
    assert_conserved(&report);
    let forward = &report.forward;
    assert!(
        forward.max_backlog <= 250_000,
        "the queue of 100 ms holds 250 kB, not {}",
        forward.max_backlog
    );
    assert!(forward.packets >= 691, "1 MB makes at least 691 segments: {}", forward.packets);
}

#[test]
fn what_the_path_loses_is_repeated_by_tcp() {
    let _one = crate::ONE.lock();
    let Some(link) = link("rate=50Mbit,rtt=10ms,queue=100ms,loss=2%") else { return };
    transfer(&link, 2_000_000);
    let report = link.stop();
    assert_conserved(&report);
    let lost = report.forward.drops.get(&DropCause::Random).copied().unwrap_or(0);
    assert!((5..=100).contains(&lost), "about 2 % of 1400 packets are lost, not {lost}");
}

#[test]
fn a_satellite_return_path_delays_acks_and_keeps_them_all() {
    let _one = crate::ONE.lock();
    let Some(link) = link("rate=20Mbit,rtt=600ms,queue=600ms,return=geo_cold") else { return };
    let took = transfer(&link, 50_000);
    let report = link.stop();
    assert_conserved(&report);
    assert!(
        took >= Duration::from_millis(1_200),
        "handshake and data take a round trip each: {took:?}"
    );
}

#[test]
fn nothing_is_left_when_a_link_is_dropped() {
    let _one = crate::ONE.lock();
    let Some(link) = link("rate=20Mbit,rtt=10ms") else { return };
    let names = [name(link.sender()), name(link.receiver())];
    assert_ne!(names[0], names[1], "two ends, two namespaces");
    assert!(
        users(&names[0])
            .iter()
            .any(|user| user.starts_with(format!("/proc/{}/fd", std::process::id()))),
        "we hold the namespace"
    );
    drop(link);
    for name in names {
        assert_eq!(users(&name), Vec::<PathBuf>::new(), "nobody holds {name} any more");
    }
}

#[test]
fn the_machine_itself_sees_no_device_and_no_address() {
    let _one = crate::ONE.lock();
    let Some(link) = link("rate=20Mbit,rtt=10ms") else { return };
    let before = fs::read_to_string("/proc/net/dev").expect("/proc/net/dev");
    assert!(!before.contains("tun0"), "the devices are in their namespaces only:\n{before}");
    let inside = link
        .sender()
        .run(|| fs::read_to_string("/proc/thread-self/net/dev"))
        .expect("the namespace")
        .expect("the table");
    assert!(inside.contains("tun0"), "there the device is:\n{inside}");
}
