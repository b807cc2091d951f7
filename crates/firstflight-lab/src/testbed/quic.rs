//! The testbed `quic`: real QUIC stacks on the same path state machine, in virtual time.

use super::bed::{Info, Speaks, Windows};
use firstflight::detection::ecn::Ecn;

#[cfg(feature = "quic")]
pub(crate) mod trial;

/// Real QUIC stacks in virtual time.
#[cfg(feature = "quic")]
pub static BED: trial::Quic = trial::Quic::new(INFO);
/// Real QUIC stacks in virtual time.
#[cfg(not(feature = "quic"))]
pub static BED: super::absent::Absent = super::absent::Absent { info: INFO, why: MISSING };

#[cfg(not(feature = "quic"))]
pub(super) const MISSING: &str = "testbed `quic` is not part of this build: one with the feature `quic` has it; `--on sim` always runs";

const INFO: Info = Info {
    name: "quic",
    summary: "Real QUIC stacks",
    place: "over real QUIC",
    speaks: Speaks::Quic,
    stack_arms: true,
    ecn: &[Ecn::Rfc9000, Ecn::Off],
    windows: Windows::Fixed,
    ..Info::REAL_STACKS
};
