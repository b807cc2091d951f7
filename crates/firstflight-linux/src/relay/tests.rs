//! Tests that need no clock: headers, owners, ECN.

use super::socket::{Socket, headers, owner, set_owner};
use crate::link::packet::{CE, Pool, set_ecn};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

fn loopback(address: &str) -> Option<Socket> {
    Socket::bind(address.parse().expect("an address")).ok()
}

/// Sends three bytes to `address`, marked on the way if `marked`. Returns their length, content and
/// ECN field as read there.
fn crossed(address: &str, marked: bool) -> Option<(usize, Vec<u8>, u8)> {
    let (near, far) = (loopback(address)?, loopback(address)?);
    let mut pool = Pool::new(1500);
    let mut packet = pool.take();
    let head = headers(address.parse::<SocketAddr>().expect("an address"));
    packet.set_len(head + 3);
    packet.bytes_mut().fill(0);
    packet.bytes_mut()[0] = 0x40 | ((head - 8) / 4) as u8;
    // ECT(0)
    packet.bytes_mut()[1] = 0b10;
    packet.bytes_mut()[head..].copy_from_slice(b"abc");
    set_owner(&mut packet, 77);
    if marked {
        set_ecn(packet.bytes_mut(), CE);
    }
    assert_eq!(owner(&packet), 77, "marking leaves the owner alone");
    assert!(
        near.send(&packet, Some(far.local_addr().expect("bound"))),
        "loopback takes a datagram"
    );
    let mut read = pool.take();
    for _ in 0..1000 {
        if let Some(received) = far.receive(&mut read) {
            assert!(!received.too_long);
            return Some((read.bytes().len(), read.bytes()[head..].to_vec(), read.bytes()[1]));
        }
        thread::sleep(Duration::from_millis(1));
    }
    None
}

#[test]
fn a_datagram_counts_its_headers_and_keeps_its_ecn_field() {
    for (address, head) in [("127.0.0.1:0", 28), ("[::1]:0", 48)] {
        if loopback(address).is_none() {
            println!("skipped: no {address} here");
            continue;
        }
        for (marked, ecn) in [(false, 0b10), (true, 0b11)] {
            let expected = Some((head + 3, b"abc".to_vec(), ecn));
            assert_eq!(crossed(address, marked), expected, "{address}, marked: {marked}");
        }
    }
}

#[test]
fn a_datagram_that_does_not_fit_shows() {
    let (near, far) =
        (loopback("127.0.0.1:0").expect("loopback"), loopback("127.0.0.1:0").expect("loopback"));
    let (mut large, mut small) = (Pool::new(3000), Pool::new(1500));
    let mut packet = large.take();
    packet.set_len(28 + 2000);
    assert!(near.send(&packet, Some(far.local_addr().expect("bound"))));
    let mut read = small.take();
    let received = (0..1000).find_map(|_| {
        thread::sleep(Duration::from_millis(1));
        far.receive(&mut read)
    });
    assert!(
        received.is_some_and(|received| received.too_long),
        "2000 bytes are more than a packet of 1500 holds"
    );
}
