//! What the kernel's own CUBIC knows and decides on every ACK, for comparing its HyStart with the
//! core's: a controller that only calls CUBIC's functions and notes what they left.

use super::features::Features;
use super::hearing::{Heard, hearing};
use firstflight_path::Error;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, RingBufferBuilder};
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hystart_trace.bpf.o"));
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

/// A member of a record.
trait Member: Sized {
    /// Takes it off the front.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! members {
    ($($Type:ident)+) => {
        $(impl Member for $Type {
            fn take(bytes: &mut &[u8]) -> Option<$Type> {
                let (head, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some($Type::from_ne_bytes(*head))
            }
        })+
    };
}

members! { u64 u32 i32 u8 }

/// As C calls it in the kernel.
#[expect(non_camel_case_types, reason = "the table of the record is C, too")]
type s32 = i32;

macro_rules! hystart_record {
    ($(MEMBER($Type:ident, $name:ident, $about:literal))*) => {
        /// One of them, as the kernel had it at that moment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Record {
            $(#[doc = $about] pub $name: $Type,)*
        }

        impl Record {
            fn parse(mut bytes: &[u8]) -> Option<Record> {
                Some(Record { $($name: Member::take(&mut bytes)?,)* })
            }
        }
    };
}

// `bpf/hystart_record.def` as one call of the macro.
include!(concat!(env!("OUT_DIR"), "/hystart_record.rs"));

impl Record {
    /// Why there is a record; `None` if it is none of ours.
    pub fn kind(&self) -> Option<Kind> {
        [Kind::Begun, Kind::Acked, Kind::TimedOut].get(usize::from(self.kind_number)).copied()
    }

    /// RTT sample, microseconds; `None` without one.
    pub fn rtt_us(&self) -> Option<u32> {
        u32::try_from(self.rtt_sample_us).ok()
    }

    /// The socket is paced, by TCP's timer or an fq qdisc.
    pub fn paced(&self) -> bool {
        self.pacing_status != 0
    }

    /// HyStart has found something.
    pub fn found(&self) -> bool {
        self.found_flag != 0
    }

    /// A CUBIC epoch is running.
    pub fn epoch(&self) -> bool {
        self.epoch_flag != 0
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
    /// Controller to set on sockets that are to be recorded.
    pub const CONTROLLER: &str = "ff_cubic_trace";

    /// Registers it.
    ///
    /// # Errors
    /// If the kernel or our privilege does not allow it, or somebody else has registered it.
    pub fn attach() -> Result<HystartTrace, Error> {
        if !Features::detect()?.links() {
            return Err(Error::new("tracing the kernel's CUBIC needs Linux 6.4 or newer"));
        }
        let failed = |heard: Heard| {
            Error::new(format!("tracing the kernel's CUBIC needs root: {}", heard.error))
        };
        let mut object =
            hearing(|| ObjectBuilder::default().open_memory(OBJECT).and_then(OpenObject::load))
                .map_err(failed)?;
        let map = object.maps_mut().find(|map| map.name() == "cubic_trace");
        let mut map = map.ok_or_else(|| Error::new("the tracing object has no controller"))?;
        let link = hearing(|| map.attach_struct_ops()).map_err(failed)?;
        Ok(HystartTrace { _link: link, object })
    }

    /// Gives away what was recorded since the last time, in order. How many records found no room
    /// since the beginning.
    ///
    /// # Errors
    /// If the buffer cannot be read.
    pub fn take(&self, mut each: impl FnMut(Record)) -> Result<u64, Error> {
        let failed = |error: libbpf_rs::Error| Error::new(format!("ring buffer: {error}"));
        let missing = || Error::new("the tracing object has no such map");
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
