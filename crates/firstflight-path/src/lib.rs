//! Network paths, as values and as state machines, shared by the simulator and the link emulators
//! of firstflight.
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
//! # Ok::<(), firstflight_path::Error>(())
//! ```
//!
//! # Writing a path
//!
//! A path is a list of `key=value` separated by commas, a name (`geo`, see [`builtins`]), a name
//! followed by keys that override it (`geo,queue=0.25bdp`), or a TOML file (name ending in `.toml`)
//! with the same keys, where `base = "geo"` starts from a named path. A path is printed as its
//! canonical text, and parsing that text gives an equal path. An invalid path is refused in one
//! line that names the key, the value and what is allowed.
//!
//! Units: rates `bit` `kbit` `Mbit` `Gbit` (per second, IP bytes counted), times `us` `ms` `s`,
//! sizes `B` `kB` `MB`, shares `%` or plain. A range is two values with a dash (`1ms-10ms`).
//!
//! ## The whole path
//!
//! | key | value | range | default |
//! |---|---|---|---|
//! | `rate` | forward rate, `trace:FILE`, or `poisson:RATE` | 1 kbit/s to 1000 Gbit/s | required |
//! | `rtt` | idle round-trip time, including the serialization of one data packet and one ACK | at least that serialization, up to 3600 s | required |
//! | `prop` | instead of `rtt`: propagation both ways, to which the serialization of 1500 B (or of the `mtu`) and of an ACK of 40 B is added; printed as `rtt` | up to 3600 s | none |
//! | `up` | reverse rate, as `rate` | as `rate` | ten times the forward rate (its mean for opportunities) |
//! | `delay` | position of the propagation delay: `even`, `before` or `behind` the forward bottleneck | | `even` |
//! | `overhead` | bytes added to each packet, in queues and on the wire of both directions | 0 to 1500 B | `0B` |
//! | `mtu` | IP bytes of the largest packet: hosts send packets of that size, and `pkt` counts them (queue management keeps its packets of 1500 B) | 576 B to 9000 B; QUIC needs 1228 B | the hosts' packets, 1500 B |
//! | `return` | release of ACKs, see below | | `plain` |
//! | `thin` | number of a flow's ACKs that may wait; older pure ACKs are dropped; needs a constant `up` or an engine | 1 to 10^6 | none are dropped |
//! | `comp_sack` | `TIME:COUNT`, how a TCP receiver merges ACKs that only add SACKs: Linux since 4.18 has `1ms:44` (for the code that simulates the receiver) | COUNT 1 to 10^6 | none |
//! | `ack` | the receiver sends an ACK per `N` packets that arrive in order, or with `N/rtt` sends N ACKs per idle round trip, timed independently of packets (for the code that simulates the receiver; the simulator implements it) | 1 to 1000; 1 to 100 per round trip | 2 in the simulator |
//! | `rwnd` | the receiver's buffer: a size (of data, fixed), `auto` (as Linux and QUIC stacks tune it) or `auto:MAX`, MAX as the third number of `tcp_rmem`: 6.291456MB until Linux 6.15, 33.554432MB since (for the code that simulates the receiver) | 1500 B to 1 GB; MAX from 131072 B | unlimited; alone `auto:6.291456MB` |
//! | `read` | rate at which the receiving application reads from that buffer; needs `rwnd` | as `rate` | at once |
//! | `scone` | average rate that a network element advises (SCONE): no limit of the path, but known to senders when their connections start (for the code that simulates the sender) | as `rate` | none |
//! | `hello` | QUIC: bytes of handshake data in the server's first flight, most of them its certificate; the handshake takes the path before the first data (for the code that simulates the hosts) | 500 B to 11 kB | the trial starts with its data |
//! | `gro` | `TIME:BYTES`, packets that the receiving host merges before it acknowledges (for the code that simulates the receiver) | | none; `return=nic`: `20us:65.536kB` |
//! | `name`, `source` | its name, and the source of its numbers; not printed, not compared | | empty |
//!
//! ## Each direction
//!
//! Prefixed with `up_` (`up_queue`, `up_loss`, ...), these keys apply to the reverse direction.
//!
//! | key | value | range | default |
//! |---|---|---|---|
//! | `queue` | capacity, not counting the packet in service: a size, `pkt` (of 1500 B, or of the `mtu`), a time at the rate, `bdp` (rate x `rtt`), `unlimited` | 1500 B or more | `1bdp`; in reverse `unlimited` |
//! | `loss` | independent loss, applied behind the queue | 0% to below 100%, in percent | `0` |
//! | `ge` | `G:BURST:H:K`, loss in bursts: good to bad with probability G per packet, BURST packets in bad on average, loss H in bad, K in good; not with `loss` | G, H and K 0% to 100%, in percent, BURST 1 to 10^6 | none, K `0` |
//! | `loss_every` | lose each packet whose number is a multiple of this | 1 to 10^9 | none |
//! | `loss_until` | time at which `loss`, `ge` and `loss_every` end: packets sent from then on are not lost | more than 0, up to 100 s | they last |
//! | `policer` | `RATE:BUCKET`, token bucket without a queue, BUCKET as time at its rate | below the rate of the link; bucket of 1500 B or more | none |
//! | `codel` | queue management, alone or `TARGET:INTERVAL` | up to 100 s | none; alone `5ms:100ms` |
//! | `pie` | queue management, alone or `TARGET` | up to 100 s | none; alone `15ms` |
//! | `red`, `ared` | Random Early Detection, adaptive with `ared`; alone or `MIN:MAX:MAXP:WEIGHT` (sizes or `pkt`, percentages) | | none; alone `5pkt:15pkt:2%:0.2%` |
//! | `fq_codel` | flow queues with CoDel, alone or settings as `flows:1024/quantum:1514B/target:5ms/interval:100ms`; forward only, see below | 1 to 65536 flows | none |
//! | `dualpi2` | two coupled queues, alone or settings as `target:15ms/update:16ms/alpha:0.16/beta:3.2/k:2/step:1ms/classic:10`; forward only, see below | | none |
//! | `ecn` | alone, with queue management: mark instead of drop. With a value as for `queue`, without management: mark packets that find at least that much in the queue; with `ce:SHARE`, mark that share (in percent) at random. Faults: `bleach` clears the ECN field, `drop` loses packets whose sender sets ECT | | none |
//! | `jitter` | extra delay that keeps the order: `MAX`, `MIN-MAX` (uniform), or `normal:MEAN:SIGMA` (clipped at 0) | up to 100 s | none |
//! | `reorder` | `SHARE:MEAN`, once or twice: exponential extra delay for a share of the packets, which other packets overtake | shares 0% to 100% together, in percent | none |
//! | `dup` | share of packets that arrive twice | 0% to below 100%, in percent | `0` |
//! | `steps` | constant rate: `TIME:RATE/TIME:RATE...`, later rates; `off` is an outage, which cannot be last | times increase | none |
//! | `wander` | constant rate: `SD:TAU`, standard deviation and time constant of its logarithm, a step every 100 ms | SD 0.001 to 2 | none; TAU `1s` |
//! | `lead_in` | Poisson: this many opportunities 100 ms apart come first | 1 to 10^6 | none |
//! | `ms_slots` | Poisson: opportunities at whole milliseconds | | exact |
//! | `start` | trace: position at the start of a trial, or `random` (a whole millisecond drawn per trial) | inside the trace | `0s` |
//! | `once` | trace: play it once, then deliver nothing more | | repeat |
//! | `spread` | trace: spread the opportunities of one millisecond evenly over it | | all at once |
//! | `scale` | trace: factor on the number of opportunities | 0.001 to 1000 | `1` |
//! | `skip` | trace: lead-in to cut off, whole milliseconds | inside the trace | `0s` |
//!
//! ## The return path
//!
//! | `return=` | release of ACKs |
//! |---|---|
//! | `plain` | as the reverse link sends |
//! | `geo_cold`, `geo_warm`, `geo_starved`, `geo_stress` | by a satellite terminal with frames of 40 ms and granted capacity |
//! | `geo:GRANT:GROWTH[:outages]` | the same engine: ACKs per frame at the start (1 to 160), growth per second (1 to 10) |
//! | `lte`, `wifi` | in batches |
//! | `batch:PERIOD:CAP[:SPACING]` | the same engine: time between instants, most ACKs per instant, gap between ACKs (times or ranges) |
//! | `nic`, `first:PERIOD:CAP[:SPACING]` | the same, but an instant follows the first ACK that finds nothing waiting |
//! | `leo`, `leo:STEP[:FACTOR[:LOSS[:DATA[:ACK]]]]` | as the link sends, with a handover every 15 s: each one-way delay changes by up to STEP, both rates change by a FACTOR in a range, a burst of losses follows with probability LOSS in percent, and nearby data and ACKs are delayed by up to DATA and ACK |
//!
//! Engines (`geo...`, `batch`, `first` and their presets) and `thin` decide after an ACK was sent:
//! such a path is opened with [`Path::open`] and driven through [`ReturnPath`]. With any other
//! release, the fate of an ACK is known when it is offered to its [`Link`].
//!
//! # Queues that decide later
//!
//! `fq_codel` and `dualpi2` choose among flows when the link is free, and drop at the head: such a
//! path is opened with [`Path::open_driven`], and its forward direction driven through
//! [`ForwardPath`]. A packet carries its flow and its ECN [`Codepoint`]: ECT(1) packets use the L
//! queue of `dualpi2`, and Not-ECT packets are dropped where others are marked. `queue` limits all
//! queues together; `fq_codel` then drops at the head of the longest. Unless the sender chooses a
//! codepoint, its packets are ECT(0) with `ecn` and Not-ECT without. `codel` opened this way is
//! `fq_codel` with one queue for all flows that drops at its tail; a [`Link`] decides about each
//! packet at the offer, as if no packets arrived behind it.
//!
//! At opportunities (traces, Poisson) a queue in ms or BDP uses the mean rate, and the idle RTT
//! includes no serialization in that direction, because opportunities are instants. On a policed
//! path [`Path::rate_bps`] and the BDP are those of the policer, while the queue uses the rate of
//! the link.

#![forbid(unsafe_code)]
// A library has no terminal.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]
#![deny(clippy::float_arithmetic)]
#![expect(
    clippy::missing_errors_doc,
    reason = "every fallible function answers with a `Error`, whose line says what is wrong"
)]

mod aqm;
mod batch;
mod builtin;
mod capacity;
mod chance;
mod direction;
mod draw;
mod dual_pi2;
mod effect_keys;
mod error;
mod fate;
mod forward;
mod fq_codel;
mod grant;
mod handover;
mod held;
pub mod input;
mod keys;
mod link;
mod links;
mod losses;
mod managed;
mod packet;
mod path;
mod plain;
mod policer;
mod print;
mod queue;
pub mod random;
mod red;
mod release;
mod returns;
mod rich;
mod serial;
mod server;
mod setting;
mod slots;
mod text;
mod trace;
mod typed;
mod value;
mod whole_keys;

pub use builtin::{Builtin, DEFAULT, builtins};
pub use capacity::{PACKET, Queue};
pub use direction::{
    Aqm, Ecn, Effects, GilbertElliott, Jitter, PlayedTrace, Poisson, Policer, Rate, Reorder, Steps,
    WanderingRate,
};
pub use error::{Error, nearest, suggestion, synonym, without_numbers};
pub use fate::{DropCause, Fate};
pub use forward::{Departure, Forward, ForwardPath};
pub use held::Ack;
pub use keys::known_key;
pub use link::Link;
pub use links::Reverse;
pub use managed::{DualPi2, FqCodel, Red};
pub use packet::{Codepoint, Ect, Offered};
pub use path::{Acks, Delay, Path, Rwnd, SMALLEST_ACK};
pub use plain::Flight;
pub use random::{Purpose, Stream};
pub use release::{BatchSettings, GrantSettings, HandoverSettings, Release};
pub use returns::{Return, ReturnPath};
pub use trace::{OPPORTUNITY_BYTES, Trace, TraceOptions, TraceStart};
pub use typed::{Base, typed};
pub use value::no_unit;

/// The example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
