//! A memory used by connections whose data a driver sends and acknowledges.

use super::{Memory, Settings};
use crate::driver::{AckedPacket, Damage, Driver, EndOfAcks};
use crate::plan::Plan;
use firstflight::resume::Saved;
use firstflight::{Nanos, Time};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

const MSS: u64 = 1200;
const MS: u64 = 1_000_000;
const RTT: u64 = 100 * MS;
const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

fn memory(clients: usize) -> Memory {
    Memory::new(Settings { clients, ..Settings::default() })
}

/// One connection over a path of 100 ms.
struct Connection {
    driver: Driver,
    next: u64,
    now: u64,
}

impl Connection {
    fn new(memory: &Memory, client: IpAddr) -> Connection {
        let plan = Plan::parse("careful").expect("an arm");
        let (plan, recorder) = memory.begin(plan, client, None);
        Connection {
            driver: Driver::new(plan, MSS as u16, Time(0), Some(recorder)),
            next: 0,
            now: 0,
        }
    }

    fn arm(&self) -> String {
        self.driver.plan().arm.startup.to_string()
    }

    /// Sends a window; all of it arrives a round trip later, or one packet is lost.
    fn round(&mut self, lost: bool) {
        let (first, sent) = (self.next, self.now);
        while self.driver.window() >= (self.next - first + 1) * MSS {
            self.driver.sent(Time(sent), MSS, self.next);
            self.next += 1;
        }
        self.now += RTT;
        let now = Time(self.now);
        for position in first..self.next - u64::from(lost) {
            let packet = AckedPacket {
                bytes: MSS,
                sent: Time(sent),
                position: Some(position),
                fresh: self.driver.is_fresh(position),
            };
            self.driver.acked(now, packet, false, Nanos(RTT));
        }
        let inflight = u64::from(lost) * MSS;
        let largest = Some(self.next - 1 - u64::from(lost));
        let app_limited = false;
        self.driver.end_acks(now, EndOfAcks { inflight, app_limited, largest, older: false });
        if lost {
            let largest_lost = Some(self.next - 1);
            self.driver
                .damage(now, Damage { lost: MSS, ce: false, persistent: false, largest_lost });
        }
    }

    fn rounds(&mut self, rounds: u32) {
        for _ in 0..rounds {
            self.round(false);
        }
    }
}

fn set(packets: u64) -> Saved {
    Saved { cwnd: packets * MSS, rtt: Nanos(RTT), mss: MSS, at_least: false }
}

#[test]
fn a_client_that_comes_back_starts_from_what_was_learnt_and_alone() {
    let memory = memory(10);
    let mut first = Connection::new(&memory, CLIENT);
    assert_eq!(first.arm(), "careful");
    first.rounds(6);
    assert_eq!(memory.clients(), 0, "a connection is remembered when it closes");
    drop(first);
    // Ten packets doubled six times, and half of that.
    let mut second = Connection::new(&memory, CLIENT);
    assert_eq!(second.arm(), "careful(saved=320,rtt=100)");
    assert_eq!(Connection::new(&memory, CLIENT).arm(), "careful", "it is in use");
    assert_eq!(Connection::new(&memory, [192, 0, 2, 8].into()).arm(), "careful", "another client");
    second.rounds(2);
    drop(second);
    let third = Connection::new(&memory, CLIENT);
    assert!(third.arm().starts_with("careful(saved="), "free again: {}", third.arm());
}

#[test]
fn a_jump_that_was_too_much_is_forgotten_at_once() {
    let memory = memory(10);
    let user = {
        memory.end(CLIENT, None, Some(set(400)), Instant::now());
        let mut connection = Connection::new(&memory, CLIENT);
        assert_eq!(connection.arm(), "careful(saved=400,rtt=100)");
        connection.round(false);
        assert_eq!(memory.clients(), 1);
        connection.round(true);
        connection.driver.settle();
        assert_eq!(memory.clients(), 0, "the jump lost a packet");
        connection
    };
    drop(user);
}

#[test]
fn a_set_has_a_lifetime() {
    let (memory, now) = (memory(10), Instant::now());
    for (age, used) in [(3599, true), (3600, true), (3601, false)] {
        memory.end(CLIENT, None, Some(set(400)), now);
        let taken = memory.take(CLIENT, now + Duration::from_secs(age));
        assert_eq!(taken.map(|(saved, _)| saved), used.then_some(set(400)), "after {age} s");
        memory.end(CLIENT, taken.map(|(_, user)| user), None, now);
    }
    assert_eq!(memory.clients(), 0, "a set that is found too old is removed");
}

#[test]
fn an_application_that_sends_little_lowers_nothing() {
    let (memory, now) = (memory(10), Instant::now());
    let saved = || memory.table().entries[&CLIENT].saved.cwnd / MSS;
    memory.end(CLIENT, None, Some(set(400)), now);
    memory.end(CLIENT, None, Some(Saved { at_least: true, ..set(100) }), now);
    assert_eq!(saved(), 400, "at least 100 says nothing of 400");
    memory.end(CLIENT, None, Some(Saved { at_least: true, ..set(500) }), now);
    assert_eq!(saved(), 500);
    memory.end(CLIENT, None, Some(set(100)), now);
    assert_eq!(saved(), 100, "the path has become slower");
    let later = now + Duration::from_secs(4000);
    memory.end(CLIENT, None, Some(Saved { at_least: true, ..set(50) }), later);
    assert_eq!(saved(), 50, "what is too old is no measure");
}

#[test]
fn what_slow_start_has_as_soon_is_not_kept() {
    let memory = memory(10);
    for (rounds, clients) in [(0, 0), (2, 0), (3, 1)] {
        Connection::new(&memory, CLIENT).rounds(rounds);
        assert_eq!(memory.clients(), clients, "after {rounds} round trips");
    }
}

#[test]
fn an_endpoint_is_an_address_or_a_64() {
    let (memory, now) = (memory(10), Instant::now());
    let of = |text: &str| super::endpoint(text.parse().expect("an address"));
    memory.end(of("2001:db8::1"), None, Some(set(400)), now);
    assert!(memory.take(of("2001:db8::ffff:1"), now).is_some(), "the same /64");
    assert!(memory.take(of("2001:db8:0:1::1"), now).is_none(), "another");
    assert_eq!(of("::ffff:192.0.2.7"), CLIENT, "one host, however it is written");
}

#[cfg(feature = "noq")]
#[test]
fn another_path_of_a_connection_starts_as_if_nothing_were_known() {
    use noq_proto::congestion::ControllerFactory;
    use std::sync::Arc;
    let memory = memory(10);
    memory.end(CLIENT, None, Some(set(400)), Instant::now());
    let factory = crate::noq::Factory::new(Plan::parse("careful").expect("an arm"));
    let factory = Arc::new(factory.with_resume(&memory, CLIENT));
    let arm = || {
        let built = Arc::clone(&factory).build(Instant::now(), MSS as u16);
        crate::noq::status(built.as_ref()).expect("one of ours").arm.startup.to_string()
    };
    assert_eq!(arm(), "careful(saved=400,rtt=100)");
    assert_eq!(arm(), "careful", "the first path has gone, and its set is free, but not for this");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_memory_never_holds_more_than_it_may_and_has_one_user_a_client(
        room in 0usize..6,
        steps in prop::collection::vec((0u8..4, 0u64..12, 1u64..500, any::<bool>()), 0..200),
    ) {
        let (memory, start) = (memory(room), Instant::now());
        let mut users: Vec<(IpAddr, u64)> = Vec::new();
        for (at, (step, client, packets, at_least)) in steps.into_iter().enumerate() {
            let now = start + Duration::from_secs(at as u64 * 60);
            let client = super::endpoint(Ipv6Addr::from_bits(u128::from(client) << 64).into());
            match step {
                0 => if let Some((_, user)) = memory.take(client, now) {
                    users.push((client, user));
                },
                1 => memory.end(client, None, Some(Saved { at_least, ..set(packets) }), now),
                2 => if let Some((client, user)) = users.pop() {
                    memory.end(client, Some(user), at_least.then(|| set(packets)), now);
                },
                _ => if let Some((client, user)) = users.pop() {
                    memory.forget(client, user);
                },
            }
            let table = memory.table();
            prop_assert!(table.entries.len() <= room, "{} of {room}", table.entries.len());
            for (client, entry) in &table.entries {
                if let Some(user) = entry.user {
                    prop_assert!(users.contains(&(*client, user)), "used by one that has gone");
                }
            }
        }
    }
}
