//! A network path, as a value and as a state machine, shared by the simulator and the link emulators of firstflight.
//!
//! ```
//! use firstflight_path::{Fate, Path};
//! let path = Path::parse("rate=100Mbit,rtt=30ms,queue=30ms,loss=0.5%,up=10Mbit")?;
//! assert_eq!(path.bdp_bytes(), 375_000);
//! let (mut forward, _reverse) = path.links(1500, 52, 1, 0)?;
//! match forward.offer(0, 1500) {
//!     Fate::Deliver { at, .. } => println!("arrives after {at} ns"),
//!     fate => println!("{fate:?}"),
//! }
//! # Ok::<(), firstflight_path::PathError>(())
//! ```
//!
//! # Writing a path
//!
//! A path is a list of `key=value` separated by commas, a name (`geo`, see [`builtins`]), a name followed by keys that override it
//! (`geo,queue=0.25bdp`), or a TOML file (name ending in `.toml`) with the same keys, where `base = "geo"` puts a named path underneath.
//! Printing a path gives its canonical text, and parsing that gives an equal path.
//!
//! | key | value | default |
//! |---|---|---|
//! | `rate` | forward rate, 1 kbit/s to 1000 Gbit/s, IP bytes counted (`bit`, `kbit`, `Mbit`, `Gbit`), or `trace:FILE` | required |
//! | `rtt` | idle round-trip time, serialization of one data packet and one ACK included, up to 100 s (`us`, `ms`, `s`) | required |
//! | `queue` | what may wait, packet in service not counted: `B` `kB` `MB`, `pkt` (of 1500 B), `us` `ms` `s` (at the rate), `bdp`, or `unlimited`; at least 1500 B | `1bdp` |
//! | `loss` | independent forward loss from 0 to below 1 (`%` or plain), decided behind the queue | `0` |
//! | `up` | reverse rate | ten times the (mean) forward rate |
//! | `up_queue` | as `queue`, for the reverse direction and its rate | `unlimited` |
//! | `up_loss` | independent reverse loss | `0` |
//! | `start` | trace: time of the trace at which a trial starts, or `random` (a whole millisecond per trial) | `0s` |
//! | `once` | trace: play it once, then nothing is delivered any more | repeat |
//! | `spread` | trace: divide the opportunities of one millisecond evenly over it | all at once |
//! | `scale` | trace: factor on the number of opportunities, 0.001 to 1000 | `1` |
//! | `skip` | trace: lead-in to cut off, whole milliseconds | `0s` |
//! | `name`, `source` | what it is called and where its numbers come from; not printed, not compared | empty |
//!
//! The queue of a trace in ms or BDP counts its mean rate, and its idle RTT includes no serialization: opportunities are instants.

#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]
#![allow(clippy::missing_errors_doc, reason = "every fallible function answers with a `PathError`, whose line says what is wrong")]

mod aqm;
mod batch;
mod builtin;
mod direction;
mod draw;
mod error;
mod grant;
mod handover;
mod keys;
mod link;
mod links;
mod losses;
mod path;
mod plain;
mod policer;
mod print;
mod queue;
pub mod random;
mod release;
mod returns;
mod rich;
mod serial;
mod server;
mod slots;
mod text;
mod trace;
mod value;

pub use builtin::{Builtin, DEFAULT, builtins};
pub use direction::{
    Aqm, Ecn, Effects, GilbertElliott, Jitter, PACKET, PlayedTrace, Poisson, Policer, Queue, Rate, Reorder, Steps, WanderingRate,
};
pub use error::PathError;
pub use link::{DropCause, Fate, Link};
pub use links::Reverse;
pub use path::{Delay, Path, SMALLEST_ACK};
pub use random::{Purpose, Stream};
pub use release::{BatchSettings, GrantSettings, HandoverSettings, Release};
pub use returns::{Ack, Return, ReturnPath};
pub use trace::{OPPORTUNITY_BYTES, Trace, TraceOptions, TraceStart};
