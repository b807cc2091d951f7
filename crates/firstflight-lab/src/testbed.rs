//! Where trials run.

use crate::error::Bad;

/// A testbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Testbed {
    /// The simulator.
    #[default]
    Sim,
    /// A real QUIC stack on the same path state machine, in virtual time.
    Quic,
    /// The same stack over real sockets and a relay, in real time.
    QuicReal,
    /// TCP of the running kernel behind an emulated link, in real time.
    Linux,
}

impl Testbed {
    /// Its name in options and results.
    pub const fn name(self) -> &'static str {
        match self {
            Testbed::Sim => "sim",
            Testbed::Quic => "quic",
            Testbed::QuicReal => "quic-real",
            Testbed::Linux => "linux",
        }
    }

    /// What sends and receives there, where that is not our own code.
    pub const fn stacks(self) -> Option<&'static str> {
        match self {
            #[cfg(feature = "quic")]
            Testbed::Quic => Some(firstflight_quic::rig::STACKS),
            #[cfg(feature = "quic")]
            Testbed::QuicReal => Some(firstflight_quic::real::STACKS),
            Testbed::Linux => Some("TCP of the running kernel"),
            _ => None,
        }
    }

    /// Its trials take the time that they measure, and need the machine for themselves.
    pub const fn in_real_time(self) -> bool {
        matches!(self, Testbed::QuicReal | Testbed::Linux)
    }

    /// This build has it.
    ///
    /// # Errors
    /// One line with the command that builds it.
    pub fn check(self) -> Result<(), Bad> {
        if matches!(self, Testbed::Quic | Testbed::QuicReal) && !cfg!(feature = "quic") {
            return Err(Bad(
                "testbed `quic` is not part of this build: `cargo run --release --features quic -- compare --on quic` has it; `--on sim` always is"
                    .into(),
            ));
        }
        if self == Testbed::QuicReal && !cfg!(target_os = "linux") {
            return Err(Bad("testbed `quic` over real sockets: its relay needs Linux; without `--real` it runs anywhere".into()));
        }
        if self == Testbed::Linux && !cfg!(all(feature = "linux", target_os = "linux")) {
            return Err(Bad(
                "testbed `linux` is not part of this build: `cargo build --release --features linux` has it (Debian: clang libelf-dev zlib1g-dev), and it runs as root"
                    .into(),
            ));
        }
        Ok(())
    }
}
