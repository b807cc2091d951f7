//! The lab of firstflight: what turns single trials into something a person can decide on.
#![forbid(unsafe_code)]

pub mod ab;
pub mod arms;
pub mod compare;
pub mod error;
#[cfg(all(feature = "linux", target_os = "linux"))]
pub mod linux;
pub mod own;
pub mod page;
pub mod population;
#[cfg(feature = "quic")]
pub mod quic;
#[cfg(all(feature = "quic", target_os = "linux"))]
pub mod quic_real;
pub mod record;
pub mod report;
pub mod sharing;
pub mod size;
pub mod stats;
pub mod table;
pub mod testbed;
pub mod trace;
pub mod trial;

pub use arms::{DEFAULT_ARMS, NamedArm, parse_arms};
pub use compare::{Comparison, Plan};
pub use error::{Bad, nearest};
pub use own::OwnStartup;
pub use population::Population;
pub use testbed::Testbed;
pub use trial::{Ground, Hosts, TrialRow, hosts_of_tcp};
