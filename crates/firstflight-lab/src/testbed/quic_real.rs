//! The testbed `quic-real`: real QUIC stacks over real sockets and a relay, in real time.

use super::bed::{Info, Speaks};
use firstflight::detection::ecn::Ecn;

#[cfg(all(feature = "quic", target_os = "linux"))]
mod trial;

/// Real QUIC stacks in real time.
#[cfg(all(feature = "quic", target_os = "linux"))]
pub static BED: trial::QuicReal = trial::QuicReal::new(INFO);
/// Real QUIC stacks in real time.
#[cfg(not(all(feature = "quic", target_os = "linux")))]
pub static BED: super::absent::Absent = super::absent::Absent { info: INFO, why: MISSING };

#[cfg(not(feature = "quic"))]
const MISSING: &str = super::quic::MISSING;
#[cfg(all(feature = "quic", not(target_os = "linux")))]
const MISSING: &str =
    "testbed `quic` over real sockets: its relay needs Linux; without `--real` it runs anywhere";

const INFO: Info = Info {
    name: "quic-real",
    summary: "Real QUIC stacks over real sockets and a relay, in real time, one trial after the other",
    place: "over real QUIC and real sockets",
    speaks: Speaks::Quic,
    in_real_time: true,
    ecn: &[Ecn::Rfc9000],
    ..Info::REAL_STACKS
};
