//! The state and decisions of the kernel's own CUBIC on every ACK, to compare its HyStart with the
//! core's: a controller that only calls CUBIC's functions and records their results.

use super::features::Features;
use super::hearing::{Heard, hearing};
use firstflight_path::Error;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, RingBufferBuilder};
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hystart_trace.bpf.o"));
/// The reason for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// CUBIC was set up on an established connection.
    Begun,
    /// An ACK arrived, after CUBIC and its HyStart have processed it and before losses are detected
    /// and the window grows.
    Acked,
    /// A retransmission timeout.
    TimedOut,
}

/// A member of a record.
trait Member: Sized {
    /// Removes the member from the front of the bytes.
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

/// The kernel's name for this type.
#[expect(non_camel_case_types, reason = "the table of the record is C, too")]
type s32 = i32;

macro_rules! hystart_record {
    ($(MEMBER($Type:ident, $name:ident, $about:literal))*) => {
        /// One record, with the kernel's values at that moment.
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

// `bpf/hystart_record.def` as a single macro call.
include!(concat!(env!("OUT_DIR"), "/hystart_record.rs"));

impl Record {
    /// Reason for the record; `None` if it is not one of ours.
    pub fn kind(&self) -> Option<Kind> {
        [Kind::Begun, Kind::Acked, Kind::TimedOut].get(usize::from(self.kind_number)).copied()
    }

    /// RTT sample, microseconds; `None` without one.
    pub fn rtt_us(&self) -> Option<u32> {
        u32::try_from(self.rtt_sample_us).ok()
    }

    /// Whether the socket is paced, by TCP's timer or an fq qdisc.
    pub fn paced(&self) -> bool {
        self.pacing_status != 0
    }

    /// Whether HyStart has found an exit.
    pub fn found(&self) -> bool {
        self.found_flag != 0
    }

    /// Whether a CUBIC epoch is running.
    pub fn epoch(&self) -> bool {
        self.epoch_flag != 0
    }
}

/// The recording controller in the kernel, which is removed when this is dropped.
#[derive(Debug)]
pub struct HystartTrace {
    /// Dropped before the object.
    _link: Link,
    object: Object,
}

impl HystartTrace {
    /// Controller to set on sockets that should be recorded.
    pub const CONTROLLER: &str = "ff_cubic_trace";

    /// Registers the controller.
    ///
    /// # Errors
    /// If the kernel or our privilege does not allow it, or the name is already registered.
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

    /// Passes the records since the last call to `each`, in order. Returns the number of records
    /// dropped for lack of room since the start.
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
