//! Limits on the work and memory that a server spends on its clients. Everything that a peer can
//! make grow has a bound here; [`Limits::worst_case`] is their sum.

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bounds of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent connections. Once half of them are in use, a client must prove
    /// its address before the server keeps any state for it.
    pub connections: usize,
    /// Maximum number of concurrent connections from one address (IPv6: one network of 64 bits).
    pub per_address: usize,
    /// New connections per second from one address; the burst limit is twice this number.
    pub new_per_second: NonZeroU32,
    /// Requests per second from one address; the burst limit is twice this number.
    pub requests_per_second: NonZeroU32,
    /// Maximum number of concurrent requests on one connection.
    pub requests: u32,
    /// Largest object that is generated on request, bytes.
    pub largest: u64,
    /// Memory for sent data that is not acknowledged, for all connections together, bytes.
    pub memory: u64,
    /// A response whose average rate over this time is below [`Limits::SLOWEST`] is aborted, and a
    /// connection without a request for this time is closed.
    pub patience: Duration,
}

impl Default for Limits {
    /// Sized for a laptop: a [worst case](Limits::worst_case) of 1.0 GB, an eighth of the 8 GB of a
    /// small one. Each of 200 connections may make the server keep 3.9 MB of requests and pieces,
    /// and has 1 MiB of the 256 MiB for unacknowledged data; a single connection has 64 MiB, as a
    /// round trip of 600 ms at 800 Mbit/s needs.
    fn default() -> Limits {
        Limits {
            connections: 200,
            per_address: 200,
            new_per_second: NonZeroU32::new(500).unwrap_or(NonZeroU32::MIN),
            requests_per_second: NonZeroU32::new(2000).unwrap_or(NonZeroU32::MIN),
            requests: 32,
            largest: 1 << 40,
            memory: 256 << 20,
            patience: Duration::from_secs(30),
        }
    }
}

/// Bytes that a stream with a request may deliver.
pub(super) const REQUEST: u64 = 24 << 10;
/// Bytes that a control stream may deliver over the lifetime of a connection.
pub(super) const CONTROL: u64 = 128 << 10;
/// Maximum size of a header section, RFC 9114 section 4.2.2.
pub(super) const FIELDS: u64 = 16 << 10;
/// Unidirectional streams that a client may open: control, two for header tables, and as many of
/// types that have no meaning.
pub(super) const ONE_WAY: u32 = 6;
/// Bytes of an object that are generated or read at a time.
pub(super) const PIECE: usize = 64 << 10;
/// Receive window of a connection, bytes: requests are small.
pub(super) const RECEIVE: u32 = 256 << 10;
/// Bounds of a connection's share of the memory, bytes.
const SHARE: (u64, u64) = (64 << 10, 64 << 20);

impl Limits {
    /// Bytes per second below which a response is aborted.
    pub const SLOWEST: u64 = 1000;

    /// Bytes that one of `open` connections may keep for retransmission. A power of two, so that it
    /// rarely changes.
    pub(super) fn share(&self, open: usize) -> u64 {
        let share = (self.memory / open.max(1) as u64).clamp(SHARE.0, SHARE.1);
        1 << share.ilog2()
    }

    /// Bytes that all connections together can make this server keep: unacknowledged data, unread
    /// requests, incomplete frames, and pieces being sent. The QUIC stack's own state adds about 50
    /// kB per connection.
    pub fn worst_case(&self) -> u64 {
        let connections = self.connections as u64;
        let requests = u64::from(self.requests);
        let sending = connections * self.share(self.connections);
        let each =
            u64::from(RECEIVE) + u64::from(ONE_WAY) * CONTROL + requests * (REQUEST + PIECE as u64);
        sending.saturating_add(connections.saturating_mul(each))
    }
}

/// The network of an address, to which limits apply.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// The current connections, and the request rates of clients.
#[derive(Debug)]
pub(super) struct Gate {
    limits: Limits,
    inside: Mutex<Inside>,
    connections: DefaultKeyedRateLimiter<IpAddr>,
    requests: DefaultKeyedRateLimiter<IpAddr>,
}

/// Numbers of current connections.
#[derive(Debug, Default)]
struct Inside {
    all: usize,
    of: HashMap<IpAddr, usize>,
}

/// A connection's slot, released when dropped.
#[derive(Debug)]
pub(super) struct Place {
    gate: Arc<Gate>,
    network: IpAddr,
}

/// Decision about a client that wants to connect.
#[derive(Debug)]
pub(super) enum Admission {
    In(Place),
    /// The client must first prove its address.
    Prove,
    /// Too many connections, or too frequent ones.
    Out,
}

impl Gate {
    pub(super) fn new(limits: Limits) -> Gate {
        let quota =
            |rate: NonZeroU32| Quota::per_second(rate).allow_burst(rate.saturating_add(rate.get()));
        Gate {
            limits,
            inside: Mutex::default(),
            connections: RateLimiter::keyed(quota(limits.new_per_second)),
            requests: RateLimiter::keyed(quota(limits.requests_per_second)),
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `proven`: whether the client has proved its address.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr, proven: bool) -> Admission {
        let network = network(address);
        let mut inside = self.inside();
        if inside.all >= self.limits.connections
            || inside.of.get(&network).copied().unwrap_or(0) >= self.limits.per_address
        {
            return Admission::Out;
        }
        if !proven && inside.all >= self.limits.connections / 2 {
            return Admission::Prove;
        }
        if self.connections.check_key(&network).is_err() {
            return Admission::Out;
        }
        inside.all += 1;
        *inside.of.entry(network).or_default() += 1;
        Admission::In(Place { gate: Arc::clone(self), network })
    }

    /// Whether this address may make another request now.
    pub(super) fn may_ask(&self, address: IpAddr) -> bool {
        self.requests.check_key(&network(address)).is_ok()
    }

    /// Drops the state of clients that have been absent for a while; to be called from time to
    /// time.
    pub(super) fn tidy(&self) {
        for limiter in [&self.connections, &self.requests] {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.gate.inside();
        inside.all = inside.all.saturating_sub(1);
        if let Some(count) = inside.of.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                inside.of.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(limits: Limits) -> Arc<Gate> {
        Arc::new(Gate::new(limits))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn places_are_bounded_per_address_and_in_all_and_given_back() {
        let gate = gate(Limits { connections: 3, per_address: 2, ..Limits::default() });
        let (here, there) = (address("192.0.2.1"), address("192.0.2.2"));
        let mut inside = Vec::new();
        for _ in 0..2 {
            let Admission::In(place) = gate.admit(here, true) else {
                panic!("there is room for two from one address")
            };
            inside.push(place);
        }
        assert!(matches!(gate.admit(here, true), Admission::Out), "a third from one address");
        let Admission::In(third) = gate.admit(there, true) else {
            panic!("there is room for three in all")
        };
        assert!(matches!(gate.admit(there, true), Admission::Out), "a fourth in all");
        drop((inside.pop(), third));
        assert!(matches!(gate.admit(here, true), Admission::In(_)), "a place given back is free");
    }

    #[test]
    fn a_full_house_asks_for_proof() {
        let gate = gate(Limits { connections: 4, ..Limits::default() });
        let places: Vec<Admission> =
            (0..2).map(|_| gate.admit(address("192.0.2.1"), false)).collect();
        assert!(places.iter().all(|place| matches!(place, Admission::In(_))));
        assert!(
            matches!(gate.admit(address("192.0.2.1"), false), Admission::Prove),
            "two of four are inside"
        );
    }

    #[test]
    fn rates_are_per_network() {
        let two = NonZeroU32::new(2).unwrap_or(NonZeroU32::MIN);
        let gate = gate(Limits { requests_per_second: two, ..Limits::default() });
        let asked = |text| (0..100).filter(|_| gate.may_ask(address(text))).count();
        assert!((4..10).contains(&asked("2001:db8::1")), "two per second, four at once");
        assert_eq!(asked("2001:db8::ffff"), 0, "the same network");
        assert!(asked("2001:db8:0:1::1") >= 4, "another network");
        gate.tidy();
    }

    #[test]
    fn the_default_worst_case_is_an_eighth_of_a_small_laptop() {
        let worst = Limits::default().worst_case();
        assert!((900_000_000..=1_000_000_000).contains(&worst), "{worst}");
    }

    #[test]
    fn the_worst_case_is_the_sum_of_all_bounds() {
        let limits = Limits { connections: 100, memory: 1 << 30, requests: 8, ..Limits::default() };
        assert_eq!(limits.share(1), 64 << 20, "a share is no more than a long fat path needs");
        assert_eq!(limits.share(100), 8 << 20, "a gigabyte over a hundred, down to a power of two");
        assert_eq!(limits.share(1_000_000), 64 << 10, "and no less than a little");
        assert_eq!(
            limits.worst_case(),
            100 * ((8 << 20) + (256 << 10) + 6 * (128 << 10) + 8 * ((24 + 64) << 10))
        );
    }
}
