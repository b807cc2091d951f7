//! The testbed `linux`: TCP of the running kernel behind an emulated link, in real time.

use super::bed::{Info, Speaks, Windows};

#[cfg(all(feature = "linux", target_os = "linux"))]
mod trial;
#[cfg(all(feature = "linux", target_os = "linux"))]
mod wire;

#[cfg(all(feature = "linux", target_os = "linux"))]
pub(crate) use trial::controller;

/// TCP of the running kernel.
#[cfg(all(feature = "linux", target_os = "linux"))]
pub static BED: trial::Linux = trial::Linux::new(INFO);
/// TCP of the running kernel.
#[cfg(not(all(feature = "linux", target_os = "linux")))]
pub static BED: super::absent::Absent = super::absent::Absent {
    info: INFO,
    why: "testbed `linux` is not part of this build: `cargo build --release --features linux` has it (Debian: clang libelf-dev zlib1g-dev), and it runs as root",
};

const INFO: Info = Info {
    name: "linux",
    summary: "Real Linux TCP",
    place: "over Linux TCP",
    stacks: Some("TCP of the running kernel"),
    // The kernel has no oracle.
    arms: "kernel:cubic,kernel:cubic(hystart=off),hystart++,best,search,rapid-nojump,rapid",
    speaks: Speaks::Tcp,
    in_real_time: true,
    kernel_arms: true,
    programs: true,
    windows: Windows::All,
    kernel_receiver: true,
    ..Info::REAL_STACKS
};
