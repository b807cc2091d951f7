//! The fields of an event log: one table per kind of record, with name, unit and meaning. All code
//! that writes, reads or documents a log uses these tables, so no format has a list of its own
//! (`docs/traces.md`).
//!
//! A field has one name in one or more records: `nxt` of an ACK and of a burst. It can parse itself
//! from text and knows whether a record requires it. Another crate defines tables of its own
//! records with [`fields!`](crate::fields!), and describes the log form of its own types with a
//! trait that has the methods of [`Datum`].

use crate::event::{Ack, AckDetail, Congestion, Event, Ready, Sent, SoFar};
use crate::exit::Exit;
use crate::named::{Named, Wrong};
use crate::units::{Nanos, Ratio, Seq, Time};

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Name,
    /// An unsigned integer.
    Whole,
    /// A number.
    Real,
    /// Yes or no.
    Flag,
}

/// Value of a field in one record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A text.
    Name(&'a str),
    /// A fraction, as the text `5/4`.
    Ratio(Ratio),
    /// An unsigned integer.
    Whole(u64),
    /// A number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

/// One field of records of type `R`.
pub struct Field<R: 'static> {
    /// Its name in every format.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Its unit; empty for a count, a position, a name.
    pub unit: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    get: fn(&R) -> Option<Value<'_>>,
    put: fn(&mut R, Option<&str>) -> Result<(), Wrong>,
}

impl<R> Field<R> {
    /// Builds a row for [`fields!`](crate::fields!).
    #[doc(hidden)]
    pub const fn new(
        (name, kind, unit, doc): (&'static str, Kind, &'static str, &'static str),
        get: fn(&R) -> Option<Value<'_>>,
        put: fn(&mut R, Option<&str>) -> Result<(), Wrong>,
    ) -> Field<R> {
        Field { name, kind, unit, doc, get, put }
    }

    /// The record's value of this field; `None` if the record has no such field or the field is
    /// empty.
    pub fn get<'r>(&self, record: &'r R) -> Option<Value<'r>> {
        (self.get)(record)
    }

    /// Sets the field from text, or from its absence; does nothing if the record has no such field.
    ///
    /// # Errors
    /// The error in the text.
    pub fn put(&self, record: &mut R, text: Option<&str>) -> Result<(), Wrong> {
        (self.put)(record, text)
    }
}

/// A type that can be the value of a field.
pub trait Datum {
    /// The value to write; `None` is omitted.
    fn value(&self) -> Option<Value<'_>>;

    /// Sets the value from text. Without text it stays unchanged, unless it is `needed`.
    ///
    /// # Errors
    /// The error in the text.
    fn put(&mut self, text: Option<&str>, needed: bool) -> Result<(), Wrong>;
}

/// [`Datum::put`] for a value that is always present.
///
/// # Errors
/// The error in the text.
pub fn put<T>(
    to: &mut T,
    text: Option<&str>,
    needed: bool,
    what: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<(), Wrong> {
    match text {
        Some(text) => *to = parse(text).ok_or(Wrong::Not(what))?,
        None if needed => return Err(Wrong::Absent),
        None => {}
    }
    Ok(())
}

const WHOLE: &str = "a whole number";

/// Implements [`Datum`] for numbers, and for numbers that may be unknown.
macro_rules! whole {
    ($($type:ty: $number:ident => $to:expr, $back:ident => $from:expr;)+) => {$(
        impl Datum for $type {
            fn value(&self) -> Option<Value<'_>> {
                let $number = *self;
                Some(Value::Whole($to))
            }

            fn put(&mut self, text: Option<&str>, needed: bool) -> Result<(), Wrong> {
                put(self, text, needed, WHOLE, |text| text.parse().ok().map(|$back| $from))
            }
        }

        impl Datum for Option<$type> {
            fn value(&self) -> Option<Value<'_>> {
                self.map(|$number| Value::Whole($to))
            }

            fn put(&mut self, text: Option<&str>, _needed: bool) -> Result<(), Wrong> {
                put(self, text, false, WHOLE, |text| text.parse().ok().map(|$back| Some($from)))
            }
        }
    )+};
}

whole! {
    u64: number => number, number => number;
    u32: number => u64::from(number), number => number;
    Nanos: time => time.0, nanos => Nanos(nanos);
    Time: time => time.0, nanos => Time(nanos);
    Seq: seq => seq.0, number => Seq(number);
}

impl Datum for bool {
    fn value(&self) -> Option<Value<'_>> {
        Some(Value::Flag(*self))
    }

    fn put(&mut self, text: Option<&str>, needed: bool) -> Result<(), Wrong> {
        put(self, text, needed, "true or false", |text| text.parse().ok())
    }
}

impl Datum for Option<bool> {
    fn value(&self) -> Option<Value<'_>> {
        self.map(Value::Flag)
    }

    fn put(&mut self, text: Option<&str>, _needed: bool) -> Result<(), Wrong> {
        put(self, text, false, "true or false", |text| text.parse().ok().map(Some))
    }
}

impl Datum for Ratio {
    fn value(&self) -> Option<Value<'_>> {
        Some(Value::Ratio(*self))
    }

    fn put(&mut self, text: Option<&str>, needed: bool) -> Result<(), Wrong> {
        put(self, text, needed, "a fraction such as 5/4", |text| {
            let (num, den) = text.split_once('/')?;
            let den = den.parse().ok().filter(|den| *den > 0)?;
            Some(Ratio::new(num.parse().ok()?, den))
        })
    }
}

impl<T: Named> Datum for T {
    fn value(&self) -> Option<Value<'_>> {
        Some(Value::Name(self.to_name()))
    }

    fn put(&mut self, text: Option<&str>, needed: bool) -> Result<(), Wrong> {
        put(self, text, needed, T::NAMES, T::of_name)
    }
}

/// A table of fields: name, kind, unit, meaning, and the field's position in each record, as
/// patterns that all bind the same name. `needed` marks a required field; an absent optional field
/// is zero, false or unknown.
#[macro_export]
macro_rules! fields {
    ($(#[$meta:meta])* $visibility:vis $table:ident: $record:ty {
        $($name:literal $kind:ident $unit:literal $doc:literal $($needed:ident)?
            : $at:ident in [$($pattern:pat),+ $(,)?];)+
    }) => {
        $(#[$meta])*
        $visibility static $table: &[$crate::fields::Field<$record>] = &[$(
            $crate::fields::Field::new(
                ($name, $crate::fields::Kind::$kind, $unit, $doc),
                #[allow(unreachable_patterns, reason = "records of one kind have every field")]
                |record| match record {
                    $($pattern => $at.value(),)+
                    _ => None,
                },
                #[allow(unreachable_patterns, reason = "records of one kind have every field")]
                |record, text| {
                    const NEEDED: bool = $crate::fields!(@ $($needed)?);
                    match record {
                        $($pattern => $at.put(text, NEEDED),)+
                        _ => Ok(()),
                    }
                },
            ),
        )+];
    };
    (@ needed) => { true };
    (@) => { false };
}

fields! {
    /// The events that a controller receives ([`Event`]).
    pub EVENT: Event {
        "nxt" Whole "" "next packet number (QUIC) or next new sequence number (TCP)" needed:
            at in [Event::Ready(Ready { nxt: at, .. }), Event::Sent(Sent { nxt: at, .. }), Event::Ack(Ack { nxt: at, .. }, _),
            Event::Congestion(Congestion { nxt: at, .. })];
        "inflight_before_bytes" Whole "bytes" "in flight just before the event":
            at in [Event::Ready(Ready { inflight: at, .. }), Event::Ack(Ack { inflight_before: at, .. }, _),
            Event::Congestion(Congestion { inflight_before: at, .. })];
        "inflight_after_bytes" Whole "bytes" "in flight right after the event":
            at in [Event::Sent(Sent { inflight: at, .. }), Event::Ack(Ack { inflight: at, .. }, _)];
        "backlog_bytes" Whole "bytes" "what the application and the peer's limits would let go at once":
            at in [Event::Ready(Ready { backlog: at, .. })];
        "rtt_ns" Whole "ns" "the RTT sample" needed:
            at in [Event::HandshakeRtt { rtt: at, .. }, Event::Ack(Ack { rtt: at, .. }, _)];
        "srtt_ns" Whole "ns" "smoothed RTT":
            at in [Event::Ready(Ready { srtt: at, .. }), Event::Sent(Sent { srtt: at, .. }), Event::Ack(Ack { srtt: at, .. }, _)];
        "min_rtt_ns" Whole "ns" "smallest RTT of the connection":
            at in [Event::Ack(_, SoFar { min_rtt: at, .. })];
        "idle_ns" Whole "ns" "how long nothing has been in flight":
            at in [Event::Ready(Ready { idle: at, .. })];
        "timeout_ns" Whole "ns" "retransmission or probe timeout in force":
            at in [Event::Ready(Ready { timeout: at, .. })];
        "sent_bytes" Whole "bytes" "sent, as the window counts it" needed:
            at in [Event::Sent(Sent { bytes: at, .. })];
        "acked_bytes" Whole "bytes" "newly delivered":
            at in [Event::Ack(Ack { acked: at, .. }, _)];
        "acked_fresh_bytes" Whole "bytes" "of these, sent since the last recovery began":
            at in [Event::Ack(Ack { acked_fresh: at, .. }, _)];
        "lost_bytes" Whole "bytes" "newly declared lost":
            at in [Event::Ack(Ack { lost: at, .. }, _)];
        "ce" Flag "" "the ACK newly reports congestion marks":
            at in [Event::Ack(Ack { ce: at, .. }, _)];
        "ce_bytes" Whole "bytes" "of what was newly delivered, in packets that arrived marked":
            at in [Event::Ack(Ack { detail: AckDetail { ce_bytes: at, .. }, .. }, _)];
        "una" Whole "" "largest acknowledged packet number + 1 (QUIC) or SND.UNA (TCP)" needed:
            at in [Event::Ack(Ack { una: at, .. }, _)];
        "advanced" Flag "" "`una` moved with this ACK":
            at in [Event::Ack(_, SoFar { advanced: at, .. })];
        "flight_bytes" Whole "bytes" "nxt - una (TCP) or in flight before losses are removed (QUIC)":
            at in [Event::Ack(Ack { flight: at, .. }, _)];
        "sacked_bytes" Whole "bytes" "SACKed above `una` (TCP)":
            at in [Event::Ack(Ack { sacked: at, .. }, _)];
        "delivered_total_bytes" Whole "bytes" "delivered so far":
            at in [Event::Ack(_, SoFar { delivered: at, .. })];
        "sent_total_bytes" Whole "bytes" "sent so far, including retransmissions":
            at in [Event::Ack(Ack { sent: at, .. }, _)];
        "tx_acked" Whole "" "latest transmission among what was newly delivered":
            at in [Event::Ack(Ack { tx_acked: at, .. }, _)];
        "tx_lost" Whole "" "latest transmission among what was newly declared lost":
            at in [Event::Ack(Ack { tx_lost: at, .. }, _)];
        "tx_next" Whole "" "ordinal of the next transmission":
            at in [Event::Ack(Ack { tx_next: at, .. }, _)];
        "lost_again" Flag "" "a repeat was itself declared lost":
            at in [Event::Ack(Ack { detail: AckDetail { lost_again: at, .. }, .. }, _)];
        "repeat_acked" Flag "" "`una` moved past a segment that was sent more than once (TCP)":
            at in [Event::Ack(Ack { detail: AckDetail { repeat_acked: at, .. }, .. }, _)];
        "rescue_next" Flag "" "the next send would be the rescue retransmission of RFC 6675":
            at in [Event::Ack(Ack { detail: AckDetail { rescue_next: at, .. }, .. }, _)];
        "cwnd_limited" Flag "" "the window was the limit since the last ACK":
            at in [Event::Ack(Ack { cwnd_limited: at, .. }, _)];
        "app_limited" Flag "" "the application had nothing to send while the window was open":
            at in [Event::Ack(Ack { app_limited: at, .. }, _)];
        "receiver_ts" Whole "" "the receiver's clock when it sent the ACK, in ticks":
            at in [Event::Ack(Ack { detail: AckDetail { receiver_ts: at, .. }, .. }, _)];
        "timeout" Name "" "which timeout" needed:
            at in [Event::Congestion(Congestion { timeout: at, .. })];
        "mss" Whole "bytes" "largest packet" needed:
            at in [Event::Mss { mss: at, .. }];
        "unrepaired" Flag "" "something declared lost is neither acknowledged nor SACKed (TCP)":
            at in [Event::Ack(Ack { detail: AckDetail { unrepaired: at, .. }, .. }, _)];
    }
}

fields! {
    /// The exit from startup ([`Exit`]).
    pub EXIT: Exit {
        "exit_reason" Name "" "why startup ended" needed: at in [Exit { reason: at, .. }];
        "exit_at_ns" Whole "ns" "when, on the controller's clock" needed: at in [Exit { at, .. }];
        "exit_since_first_send_ns" Whole "ns" "since the first byte was sent": at in [Exit { since_first_send: at, .. }];
        "exit_rounds" Whole "" "round trips completed": at in [Exit { rounds: at, .. }];
        "exit_detect_cwnd" Whole "bytes" "window when the end was detected": at in [Exit { detect_cwnd: at, .. }];
        "exit_cwnd" Whole "bytes" "window right after": at in [Exit { cwnd: at, .. }];
        "exit_inflight" Whole "bytes" "in flight just before the deciding ACK": at in [Exit { inflight: at, .. }];
        "exit_estimate" Whole "" "the number that decided, in the algorithm's own unit": at in [Exit { estimate: at, .. }];
    }
}
