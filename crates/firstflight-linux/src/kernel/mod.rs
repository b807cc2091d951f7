//! Startups and recoveries as congestion controllers of the running kernel.
//!
//! Each arm is a set of BPF programs that registers under its own name. It is registered as long as
//! its [`Loaded`] lives, unless it is pinned. It can be chosen per socket (`TCP_CONGESTION`), or
//! for other programs by a [`Selection`]: default of a namespace, routes, control groups.
//! Connections that use an arm keep it when the arm is removed.

mod acks;
mod arms;
mod cgroup;
mod change;
mod closed;
mod exits;
mod features;
mod field;
mod hearing;
mod hystart_trace;
mod ledger;
mod loader;
mod members;
mod pins;
mod ring;
mod rivals;
mod selection;
mod told;
mod watch;

pub use acks::{AckRecord, Noted, Traced};
pub use arms::{ARMS, KernelArm, arm};
pub use cgroup::root as cgroup_root;
pub use change::{is_default, undo_and_forget, undo_from};
pub use exits::Exit;
pub use features::Features;
pub use field::{COLUMNS, Counts, FieldTest, SLOT_COLUMNS, TRIAL_COLUMNS};
/// Hash key and row type of a field test's programs.
pub use firstflight_trial::{assign::Key, row::Row};
pub use hystart_trace::{HystartTrace, Kind, Record};
pub use loader::Loaded;
pub use pins::{PIN_FOLDER, is_registered, pinned, registered, unload, watch_pinned};
pub use rivals::rivals;
pub use selection::{Keeper, Selection};
pub use watch::{Heard, Watch, WatchCounts, WatchOptions};
