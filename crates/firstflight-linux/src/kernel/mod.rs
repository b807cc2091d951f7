//! Startups and recoveries as congestion controllers of the running kernel.
//!
//! Each arm is one BPF program set that registers under a name of its own. It is there as long as its [`Loaded`] lives, unless it is
//! pinned, and can be chosen per socket (`TCP_CONGESTION`), per route (`congctl`) or as default of a namespace (sysctl
//! `net.ipv4.tcp_congestion_control`). Connections that already use it keep it when it is taken out.

mod arms;
mod exits;
mod features;
mod loader;
mod pins;

pub use arms::{ARMS, KernelArm, arm};
pub use exits::{Exit, Reason};
pub use features::Features;
pub use loader::Loaded;
pub use pins::{PIN_FOLDER, is_registered, pinned, registered, unload, watch_pinned};
