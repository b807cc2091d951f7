//! JSON values as the dialects write them: numbers as numbers or text, frames as objects or names,
//! ranges as pairs or single numbers. Values that cannot be understood read as absent; an event is
//! refused only if it is not JSON.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A number, or text that contains a number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number(pub Option<f64>);

impl Number {
    /// The number as a count; `None` if it is negative, not finite, or absent.
    pub(super) fn count(self) -> Option<u64> {
        self.0.filter(|x| x.is_finite() && *x >= 0.0 && *x < 9.3e18).map(|x| x as u64)
    }
}

/// Deserializes anything; a value that is not a number reads as absent.
macro_rules! loose {
    ($type:ident => $($visit:ident($from:ty) $value:ident => $to:expr;)*) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                struct Any;
                impl<'de> Visitor<'de> for Any {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("anything")
                    }
                    $(fn $visit<E>(self, $value: $from) -> Result<$type, E> { Ok($to) })*
                    fn visit_unit<E>(self) -> Result<$type, E> { Ok($type::default()) }
                    fn visit_bool<E>(self, _: bool) -> Result<$type, E> { Ok($type::default()) }
                    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<$type, A::Error> {
                        while seq.next_element::<IgnoredAny>()?.is_some() {}
                        Ok($type::default())
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$type, A::Error> {
                        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                        Ok($type::default())
                    }
                }
                from.deserialize_any(Any)
            }
        }
    };
}

loose! { Number =>
    visit_u64(u64) x => Number(Some(x as f64));
    visit_i64(i64) x => Number(Some(x as f64));
    visit_f64(f64) x => Number(Some(x));
    visit_str(&str) text => Number(text.trim().parse().ok());
}

/// A whole number up to 2^64, without rounding: packet numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub Option<u64>);

loose! { Count =>
    visit_u64(u64) x => Count(Some(x));
    visit_i64(i64) _x => Count(None);
    visit_f64(f64) x => Count(Number(Some(x)).count());
    visit_str(&str) text => Count(text.trim().parse().ok());
}

/// Text, or the text of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text(pub Option<String>);

loose! { Text =>
    visit_u64(u64) x => Text(Some(x.to_string()));
    visit_i64(i64) x => Text(Some(x.to_string()));
    visit_f64(f64) x => Text(Some(x.to_string()));
    visit_str(&str) text => Text(Some(text.chars().take(200).collect()));
}

/// The frames of a packet, as far as they concern sending and acknowledging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frames {
    /// The log lists the packet's frames.
    pub listed: bool,
    /// At least one frame is ack-eliciting.
    pub eliciting: bool,
    /// Bytes of stream and crypto data.
    pub data_bytes: u64,
    /// Acknowledged packet numbers; both ends of a range are included.
    pub acked: Vec<(u64, u64)>,
    /// Number of ACK frames, with or without ranges.
    pub acks: u32,
    /// The peer's cumulative count of CE marks.
    pub ce: Option<u64>,
    /// Flow control blocks the sender of these frames.
    pub blocked: bool,
    /// The frames raise a flow-control limit of the other end.
    pub raises: bool,
}

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Frames, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Frames;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of frames")
            }
            fn visit_unit<E>(self) -> Result<Frames, E> {
                Ok(Frames::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Frames, A::Error> {
                let mut frames = Frames { listed: true, ..Frames::default() };
                while let Some(frame) = seq.next_element::<Frame<'de>>()? {
                    frames.add(frame);
                }
                Ok(frames)
            }
        }
        from.deserialize_any(All)
    }
}

impl Frames {
    fn add(&mut self, frame: Frame<'_>) {
        let kind = frame.kind.as_deref().unwrap_or("");
        let quiet = kind.to_ascii_lowercase();
        match quiet.as_str() {
            "ack" | "ack_ecn" => {
                self.acks += 1;
                self.acked.extend(frame.ranges);
                self.ce = frame.ce.or(self.ce);
            }
            "padding" | "connection_close" | "application_close" => {}
            kind => {
                self.eliciting = true;
                self.blocked |= matches!(kind, "data_blocked" | "stream_data_blocked");
                self.raises |= matches!(kind, "max_data" | "max_stream_data");
                if matches!(kind, "stream" | "crypto" | "datagram") {
                    self.data_bytes += frame.length.unwrap_or(0);
                }
            }
        }
    }
}

#[derive(Default)]
struct Frame<'a> {
    kind: Option<Cow<'a, str>>,
    ranges: Vec<(u64, u64)>,
    length: Option<u64>,
    ce: Option<u64>,
}

/// Raw sizes, which the dialects put into an object.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct Raw {
    /// Length of the whole packet, or of a frame's data, bytes.
    pub length: Count,
    /// Length without framing, bytes.
    pub payload_length: Count,
}

impl<'de> Deserialize<'de> for Frame<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Frame<'de>, D::Error> {
        struct One;
        impl<'de> Visitor<'de> for One {
            type Value = Frame<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a frame")
            }
            fn visit_borrowed_str<E>(self, kind: &'de str) -> Result<Frame<'de>, E> {
                Ok(Frame { kind: Some(Cow::Borrowed(kind)), ..Frame::default() })
            }
            fn visit_str<E>(self, kind: &str) -> Result<Frame<'de>, E> {
                Ok(Frame { kind: Some(Cow::Owned(kind.to_owned())), ..Frame::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Frame<'de>, A::Error> {
                let mut frame = Frame::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match key.as_ref() {
                        "frame_type" | "type" => {
                            frame.kind = map.next_value::<Text>()?.0.map(Cow::Owned);
                        }
                        "acked_ranges" => frame.ranges = map.next_value::<Ranges>()?.0,
                        "length" => frame.length = map.next_value::<Count>()?.0.or(frame.length),
                        "raw" => {
                            frame.length = map
                                .next_value::<Option<Raw>>()?
                                .and_then(|raw| raw.length.0.or(raw.payload_length.0))
                                .or(frame.length);
                        }
                        "ce" => frame.ce = map.next_value::<Count>()?.0,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(frame)
            }
        }
        from.deserialize_any(One)
    }
}

/// Parses `[[1, 5], [7], 9]`.
struct Ranges(Vec<(u64, u64)>);

impl<'de> Deserialize<'de> for Ranges {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Ranges, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Ranges;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("ranges of packet numbers")
            }
            fn visit_unit<E>(self) -> Result<Ranges, E> {
                Ok(Ranges(Vec::new()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Ranges, A::Error> {
                let mut ranges = Vec::new();
                while let Some(Range(range)) = seq.next_element()? {
                    ranges.extend(range);
                }
                Ok(Ranges(ranges))
            }
        }
        from.deserialize_any(All)
    }
}

#[derive(Default)]
struct Range(Option<(u64, u64)>);

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Range, D::Error> {
        struct One;
        impl<'de> Visitor<'de> for One {
            type Value = Range;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a range of packet numbers")
            }
            fn visit_u64<E>(self, x: u64) -> Result<Range, E> {
                Ok(Range(Some((x, x))))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Range, E> {
                Ok(Range(None))
            }
            fn visit_f64<E>(self, x: f64) -> Result<Range, E> {
                Ok(Range(Number(Some(x)).count().map(|x| (x, x))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Range, E> {
                Ok(Range(text.trim().parse().ok().map(|x| (x, x))))
            }
            fn visit_unit<E>(self) -> Result<Range, E> {
                Ok(Range(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Range, A::Error> {
                let first = seq.next_element::<Count>()?.and_then(|count| count.0);
                let last = seq.next_element::<Count>()?.and_then(|count| count.0).or(first);
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Range(first.zip(last).map(|(a, b)| (a.min(b), a.max(b)))))
            }
        }
        from.deserialize_any(One)
    }
}
