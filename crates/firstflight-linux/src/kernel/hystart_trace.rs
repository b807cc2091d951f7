//! What the kernel's own CUBIC knows and decides on every ACK, for comparing its HyStart with the
//! core's: a controller that only calls CUBIC's functions and notes what they left.

use super::features::Features;
use crate::refusal::Refusal;
use libbpf_rs::{
    Link, MapCore, MapFlags, Object, ObjectBuilder, PrintLevel, RingBufferBuilder, set_print,
};
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hystart_trace.bpf.o"));
/// Bytes of `struct hystart_record`.
const SIZE: usize = 72;

/// Why there is a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// CUBIC was set up on an established connection.
    Begun,
    /// An ACK, after CUBIC and its HyStart have seen it and before losses are looked for and the
    /// window grows.
    Acked,
    /// A retransmission timeout.
    TimedOut,
}

/// One of them. Windows in packets, as the kernel has them at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Why.
    pub kind: Kind,
    /// Which socket: the same number, the same socket, while it lives.
    pub socket: u64,
    /// The kernel's time of the ACK, microseconds.
    pub at_us: u64,
    /// `sk_pacing_rate` in bytes per second: that of the ACK before, since it is set later in the
    /// work on an ACK.
    pub pacing_rate: u64,
    /// RTT sample, microseconds; `None` without one.
    pub rtt_us: Option<u32>,
    /// Congestion window.
    pub cwnd: u32,
    /// Threshold; 0x7fffffff while it was never set.
    pub ssthresh: u32,
    /// First sequence number not acknowledged.
    pub una: u32,
    /// Next new sequence number.
    pub nxt: u32,
    /// Outstanding packets, those SACKed or lost included.
    pub packets_out: u32,
    /// Eight times the smoothed RTT, microseconds, with this sample.
    pub srtt_x8: u32,
    /// Segment size, bytes.
    pub mss: u32,
    /// The most handed to the device at once, bytes.
    pub gso_max_size: u32,
    /// The socket is paced, by TCP's timer or an fq qdisc.
    pub paced: bool,
    /// State of the socket: 0 open, 1 disorder, 2 window reduced, 3 recovery, 4 loss.
    pub state: u8,
    /// HyStart has found something.
    pub found: bool,
    /// A CUBIC epoch is running.
    pub epoch: bool,
}

impl Record {
    fn parse(bytes: &[u8]) -> Option<Record> {
        let bytes: &[u8; SIZE] = bytes.get(..SIZE)?.try_into().ok()?;
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let kind = *[Kind::Begun, Kind::Acked, Kind::TimedOut].get(usize::from(bytes[64]))?;
        Some(Record {
            kind,
            socket: long(0),
            at_us: long(8),
            pacing_rate: long(16),
            rtt_us: u32::try_from(word(24).cast_signed()).ok(),
            cwnd: word(28),
            ssthresh: word(32),
            una: word(36),
            nxt: word(40),
            packets_out: word(44),
            srtt_x8: word(48),
            mss: word(52),
            gso_max_size: word(56),
            paced: word(60) != 0,
            state: bytes[65],
            found: bytes[66] != 0,
            epoch: bytes[67] != 0,
        })
    }
}

/// The recording controller in the kernel, until it is dropped.
#[derive(Debug)]
pub struct HystartTrace {
    /// Before the object.
    _link: Link,
    object: Object,
}

impl HystartTrace {
    /// What sockets are given to be recorded.
    pub const CONTROLLER: &str = "ff_cubic_trace";

    /// Registers it.
    ///
    /// # Errors
    /// If the kernel or our privilege does not allow it, or somebody else has registered it.
    pub fn attach() -> Result<HystartTrace, Refusal> {
        if !Features::detect()?.links() {
            return Err(Refusal::new("tracing the kernel's CUBIC needs Linux 6.4 or newer"));
        }
        let failed = |error: libbpf_rs::Error| {
            Refusal::new(format!("tracing the kernel's CUBIC needs root: {error}"))
        };
        set_print(Some((PrintLevel::Warn, |_, _| {})));
        let mut object = ObjectBuilder::default()
            .open_memory(OBJECT)
            .and_then(libbpf_rs::OpenObject::load)
            .map_err(failed)?;
        let map = object.maps_mut().find(|map| map.name() == "cubic_trace");
        let link = map
            .ok_or_else(|| Refusal::new("the tracing object has no controller"))?
            .attach_struct_ops()
            .map_err(failed)?;
        Ok(HystartTrace { _link: link, object })
    }

    /// Gives away what was recorded since the last time, in order. How many records found no room
    /// since the beginning.
    ///
    /// # Errors
    /// If the buffer cannot be read.
    pub fn take(&self, mut each: impl FnMut(Record)) -> Result<u64, Refusal> {
        let failed = |error: libbpf_rs::Error| Refusal::new(format!("ring buffer: {error}"));
        let missing = || Refusal::new("the tracing object has no such map");
        let ring = self.object.maps().find(|map| map.name() == "records").ok_or_else(missing)?;
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&ring, |bytes| {
                Record::parse(bytes).into_iter().for_each(&mut each);
                0
            })
            .map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        let _ = ring.poll(Duration::ZERO);
        ring.consume().map_err(failed)?;
        let counter = self
            .object
            .maps()
            .find(|map| map.name().to_string_lossy().ends_with(".bss"))
            .ok_or_else(missing)?;
        let value = counter
            .lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(failed)?
            .unwrap_or_default();
        Ok(value.get(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes))
    }
}
