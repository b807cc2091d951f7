//! Capacity of a queue in any of its units: value, bytes and text.

use crate::error::{Error, Key};
use crate::typed::{Base, typed};
use crate::value::{self, print_factor, print_size, print_time};
use std::fmt::{self, Display, Formatter};

/// IP bytes of a full packet on a path without `mtu`: the unit of `pkt`, and the least that every
/// queue must hold.
pub const PACKET: u64 = 1500;

/// Capacity in front of a link. The packet in service is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Bytes.
    Bytes(u64),
    /// Full packets (a multiple of the path's MTU, or of 1500 bytes without one, however long the
    /// packets are).
    Packets(u64),
    /// The bytes that the link sends in this time, in ns.
    Time(u64),
    /// Multiples of rate x idle RTT, in 1e-6.
    Bdp(u64),
    /// No limit.
    Unlimited,
}

impl Queue {
    /// Bytes on a link of `bps` with idle round-trip time `rtt` (ns) and packets of 1500 bytes,
    /// rounded down; `None` if unlimited.
    pub fn bytes(self, bps: u64, rtt: u64) -> Option<u64> {
        self.bytes_of(PACKET, bps, rtt)
    }

    /// Like [`Queue::bytes`], with packets of this size.
    pub(crate) fn bytes_of(self, packet: u64, bps: u64, rtt: u64) -> Option<u64> {
        let bits_ns = |ns: u64| u128::from(bps) * u128::from(ns);
        let bytes = match self {
            Queue::Bytes(bytes) => u128::from(bytes),
            Queue::Packets(packets) => u128::from(packets) * u128::from(packet),
            Queue::Time(ns) => bits_ns(ns) / 8_000_000_000,
            Queue::Bdp(millionths) => {
                bits_ns(rtt).saturating_mul(u128::from(millionths)) / 8_000_000_000_000_000
            }
            Queue::Unlimited => return None,
        };
        Some(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl Display for Queue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Queue::Bytes(bytes) => f.write_str(&print_size(*bytes)),
            Queue::Packets(packets) => write!(f, "{packets}pkt"),
            Queue::Time(ns) => f.write_str(&print_time(*ns)),
            Queue::Bdp(millionths) => write!(f, "{}bdp", print_factor(*millionths)),
            Queue::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// A capacity in any of its units.
pub(crate) fn queue(key: Key, text: &str) -> Result<Queue, Error> {
    let plain = typed(text, Base::Size);
    let (number, unit) = value::split(&plain);
    match unit {
        "unlimited" if number.is_empty() => Ok(Queue::Unlimited),
        "pkt" => value::count(key, number, 1, 1_000_000_000).map(Queue::Packets).map_err(|_| {
            Error::at(key, text, "is not a number of packets", "1pkt to 1000000000pkt")
        }),
        "bdp" => value::BDP.parse(key, text).map(Queue::Bdp),
        "us" | "ms" | "s" => value::TIME.parse(key, text).map(Queue::Time),
        "B" | "kB" | "MB" => value::SIZE.parse(key, text).map(Queue::Bytes),
        _ => {
            let units = ["pkt", "bdp", "us", "ms", "s", "B", "kB", "MB"];
            let wrong = match (text.starts_with('-'), number.is_empty()) {
                (true, _) => "is negative".to_owned(),
                (_, true) => "is not a number".to_owned(),
                _ => value::no_unit(number, unit, units.into_iter()),
            };
            Err(Error::at(
                key,
                text,
                wrong,
                "bytes (B, kB, MB), packets (pkt), time (us, ms, s), bdp, or `unlimited`",
            ))
        }
    }
}
