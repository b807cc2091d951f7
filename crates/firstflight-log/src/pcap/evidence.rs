//! Evidence of where and how well a connection was captured: response times of both ends, hops,
//! copies of frames, clock steps. It is collected as frames are read and uses bounded memory.

use super::frame::Frame;
use crate::segment::Segment;
use firstflight::{Nanos, Time};
use std::collections::VecDeque;

/// Maximum time between the copies of a frame.
const COPY_WITHIN: Nanos = Nanos::from_millis(1);
/// Maximum time between the copies of a frame if neither the RTT nor an IP identification is known.
const COPY_BLINDLY: Nanos = Nanos(100_000);
/// Maximum TTL difference between a frame and a copy that was routed again.
const MOST_HOPS: u8 = 8;
/// Number of frames remembered for finding their copies.
const MOST_PRINTS: usize = 512;
/// Maximum number of IP identifications that the segments of one offloaded packet use.
const MOST_CUT: u16 = 64;
/// This many equal ACKs signal a loss.
const DUPLICATES: u32 = 3;
/// If this many data segments of one end in a row were captured twice, so were the ACKs of the other.
const ALL_TWICE: u32 = 8;
/// Smallest segment into which a TCP cuts its data, bytes.
const LEAST_PART: u32 = 500;
/// A reset this close to the data lies in the receiver's window, which is rarely larger.
const NEAR_RESET: u32 = 1 << 24;
/// A smaller clock step needs no mention, ns.
const FINE: u64 = 100_000;
/// Number of frames needed to infer a coarse clock.
const LEAST_STAMPS: u64 = 16;

/// Steps of the capture's clock that were removed.
#[derive(Clone, Copy, Default)]
pub(super) struct Steps {
    pub(super) count: u64,
    /// The largest step, ns; negative if the clock went back.
    pub(super) largest: i64,
}

/// The fields of a frame that its copies repeat.
struct Print {
    now: Time,
    ident: Option<u16>,
    ttl: u8,
    seq: u32,
    payload: u32,
    ack: u32,
    window: u16,
    flags: u8,
    stamps: Option<(u32, u32)>,
    sacks: [Option<(u32, u32)>; 4],
    /// A copy of it was dropped.
    copied: bool,
}

impl Print {
    fn of(frame: &Frame) -> Print {
        let segment = &frame.segment;
        Print {
            now: segment.now,
            ident: frame.ip.id,
            ttl: frame.ip.ttl,
            seq: segment.seq,
            payload: segment.payload,
            ack: segment.ack,
            window: segment.window,
            flags: u8::from(segment.syn)
                | u8::from(segment.fin) << 1
                | u8::from(segment.rst) << 2
                | u8::from(segment.has_ack) << 3,
            stamps: segment.stamps,
            sacks: segment.sacks,
            copied: false,
        }
    }

    /// Whether the frames differ only in identification and TTL.
    fn says_the_same(&self, other: &Print) -> bool {
        let all = |one: &Print| {
            (one.seq, one.payload, one.ack, one.window, one.flags, one.stamps, one.sacks)
        };
        all(self) == all(other)
    }

    /// Whether `self` is the packet `whole` or a part that offload cut from it, judging by the
    /// identifications.
    fn is_part_of(&self, whole: &Print) -> bool {
        let (Some(part), Some(first)) = (self.ident, whole.ident) else { return false };
        let offset = self.seq.wrapping_sub(whole.seq);
        let inside = offset.checked_add(self.payload).is_some_and(|end| end <= whole.payload);
        if self.payload == whole.payload {
            return part == first && self.says_the_same(whole);
        }
        let number = part.wrapping_sub(first);
        // Each part before this one used one identification.
        inside && self.payload > 0 && number <= MOST_CUT && u32::from(number) * LEAST_PART <= offset
    }
}

/// An end of a connection as seen in the capture.
#[derive(Default)]
pub(super) struct End {
    /// Largest TTL of its packets.
    pub(super) ttl: u8,
    /// Response time in the handshake.
    pub(super) handshake: Option<Nanos>,
    /// Shortest time from data of the other end to the ACK.
    pub(super) data: Option<Nanos>,
    /// Shortest time to echo a timestamp of the other end.
    pub(super) echo: Option<Nanos>,
    /// Longest time for which it still echoed an older timestamp after a new one of the other end
    /// had passed; it is at least that far away.
    pub(super) stale: Nanos,
    /// Number of its frames that were dropped as copies.
    pub(super) doubled: u64,
    /// Number of its latest data segments in a row of which a copy was dropped.
    twice: u32,
    /// Number of its frames that may be copies.
    pub(super) unsure: u64,
    /// End of data that it has not acknowledged yet, and when the data passed.
    asked: Option<(u32, Time)>,
    /// A timestamp of the other end, and when it first passed.
    stamped: Option<(u32, Time)>,
    /// Its own latest timestamp.
    stamp: Option<u32>,
    /// The end of its data so far.
    top: Option<u32>,
    last_ack: Option<u32>,
    last_ident: Option<u16>,
    /// Its IP identifications differ from packet to packet.
    numbers: bool,
    prints: VecDeque<Print>,
}

fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

fn least(known: &mut Option<Nanos>, sample: Nanos) {
    *known = Some(known.map_or(sample, |known| known.min(sample)));
}

impl End {
    /// Shortest response time of any kind.
    pub(super) fn answers(&self) -> Option<Nanos> {
        [self.handshake, self.data, self.echo].into_iter().flatten().min()
    }

    /// Whether no router has decremented its TTL, judging by the usual initial values.
    pub(super) fn is_here_by_ttl(&self) -> bool {
        matches!(self.ttl, 64 | 128 | 255)
    }

    /// The other end sends, and this end will answer.
    fn ask(&mut self, segment: &Segment, is_new: bool, stamp_is_new: bool) {
        let end = segment.seq.wrapping_add(segment.payload);
        if is_new && self.asked.is_none() {
            self.asked = Some((end, segment.now));
        } else if !is_new
            && let Some((asked, _)) = self.asked
            && is_after(asked, segment.seq)
        {
            // Retransmitted: an ACK no longer shows which copy it answers.
            self.asked = None;
        }
        if stamp_is_new
            && self.stamped.is_none()
            && let Some((value, _)) = segment.stamps
        {
            self.stamped = Some((value, segment.now));
        }
    }

    fn answer(&mut self, segment: &Segment) {
        if let Some((asked, at)) = self.asked
            && segment.has_ack
            && !is_after(asked, segment.ack)
        {
            least(&mut self.data, segment.now.since(at));
            self.asked = None;
        }
        if let Some((value, at)) = self.stamped
            && let Some((_, echo)) = segment.stamps
        {
            let since = segment.now.since(at);
            if !is_after(value, echo) {
                least(&mut self.echo, since);
                self.stamped = None;
            } else if segment.payload > 0 {
                self.stale = self.stale.max(since);
            }
        }
    }
}

/// The evidence that the frames of a connection give about their capture.
#[derive(Default)]
pub(super) struct Evidence {
    pub(super) ends: [End; 2],
    /// Number of frames that were out of order in the file.
    pub(super) late: u64,
    /// Number of frames whose options were cut off.
    pub(super) cut: u64,
    frames: u64,
    first: Option<Time>,
    previous: Time,
    distinct: u64,
    /// Common divisor of all differences between the file's timestamps, ns.
    divisor: u64,
}

impl Evidence {
    /// Takes a frame of end `from` that is not a copy.
    pub(super) fn see(&mut self, from: usize, frame: &Frame) {
        let segment = &frame.segment;
        self.cut += u64::from(frame.segment.cut);
        let (own, other) = match &mut self.ends {
            [a, b] if from == 0 => (a, b),
            [a, b] => (b, a),
        };
        own.ttl = own.ttl.max(frame.ip.ttl);
        if segment.has_ack {
            own.answer(segment);
            let known = own.last_ack.filter(|last| is_after(*last, segment.ack));
            own.last_ack = known.or(Some(segment.ack));
        }
        if segment.syn || segment.rst {
            return;
        }
        let end = segment.seq.wrapping_add(segment.payload);
        let is_new = segment.payload > 0 && own.top.is_none_or(|top| is_after(end, top));
        let stamp_is_new = segment
            .stamps
            .is_some_and(|(value, _)| own.stamp.is_none_or(|known| is_after(value, known)));
        if stamp_is_new {
            own.stamp = segment.stamps.map(|stamps| stamps.0);
        }
        if is_new {
            own.top = Some(end);
        }
        if segment.payload > 0 || stamp_is_new {
            other.ask(segment, is_new, stamp_is_new);
        }
    }

    /// Whether the receiver of a reset obeys it: its number lies in the window (RFC 9293 section
    /// 3.10.7.4), or no number is known yet.
    pub(super) fn resets(&self, from: usize, segment: &Segment) -> bool {
        let (own, other) = (&self.ends[from], &self.ends[1 - from]);
        let known = [other.last_ack, own.top];
        known == [None; 2]
            || known.iter().flatten().any(|number| {
                number.wrapping_sub(segment.seq).min(segment.seq.wrapping_sub(*number)) < NEAR_RESET
            })
    }

    /// Whether the frame is a copy of a frame of this connection that was captured earlier. `rtt`
    /// is the smallest known RTT.
    pub(super) fn is_copy(&mut self, from: usize, frame: &Frame, rtt: Option<Nanos>) -> bool {
        let tick = self.tick().unwrap_or(Nanos(0));
        let (doubled, all_twice) = {
            let other = &self.ends[1 - from];
            (other.doubled > 0, other.twice >= ALL_TWICE)
        };
        let own = &mut self.ends[from];
        let print = Print::of(frame);
        let segment = &frame.segment;
        let end = segment.seq.wrapping_add(segment.payload);
        let is_repeat = if segment.payload > 0 {
            own.top.is_some_and(|top| !is_after(end, top))
        } else {
            segment.syn
                || segment.fin
                || own.last_ack.is_some_and(|last| !is_after(segment.ack, last))
        };
        let within = Nanos(COPY_WITHIN.0.max(tick.0));
        // No sender can learn of a loss within half a round trip.
        let too_soon = rtt.map(|rtt| Nanos(rtt.0 / 2).max(tick));
        let mut is_copy = false;
        if is_repeat {
            let (mut likely, mut equal) = (false, 0);
            for known in own.prints.iter_mut().rev() {
                let gap = print.now.since(known.now);
                if gap > within {
                    break;
                }
                let near = known.ttl.abs_diff(print.ttl) <= MOST_HOPS;
                if !near || too_soon.is_some_and(|most| gap >= most && gap.0 > 0) {
                    continue;
                }
                let numbered = own.numbers && print.is_part_of(known);
                let same = known.says_the_same(&print);
                // Each duplicate ACK has other SACK blocks; without them nothing tells two apart.
                let bare = segment.payload == 0 && segment.sacks == [None; 4];
                let second = !bare || all_twice && !known.copied;
                // A SYN is retransmitted after a second.
                let by_time = same && (segment.syn || second) && {
                    let differ = own.numbers && known.ident != print.ident;
                    !differ && (rtt.is_some() || segment.syn || gap <= COPY_BLINDLY)
                };
                if numbered || by_time {
                    own.twice += u32::from(segment.payload > 0 && !known.copied);
                    known.copied = true;
                    is_copy = true;
                    break;
                }
                equal += u32::from(same);
                let signals = bare && doubled && !all_twice && equal >= DUPLICATES;
                likely |= same && (segment.payload > 0 || signals) && !own.numbers;
            }
            own.unsure += u64::from(likely && !is_copy);
        }
        if is_copy {
            own.doubled += 1;
            return true;
        }
        let ident = frame.ip.id;
        own.numbers |= own.last_ident.is_some_and(|last| Some(last) != ident) && ident.is_some();
        own.last_ident = ident;
        while own.prints.len() >= MOST_PRINTS
            || own.prints.front().is_some_and(|old| print.now.since(old.now) > within)
        {
            let old = own.prints.pop_front();
            if old.is_some_and(|old| old.payload > 0 && !old.copied) {
                own.twice = 0;
            }
        }
        own.prints.push_back(print);
        false
    }

    /// The shortest round trip according to the responses of both ends.
    pub(super) fn turn(&self) -> Option<Nanos> {
        Some(self.ends[0].answers()? + self.ends[1].answers()?)
    }

    /// Takes a timestamp of the file.
    pub(super) fn stamp(&mut self, raw: Time) {
        self.frames += 1;
        let first = *self.first.get_or_insert(raw);
        if raw != self.previous && self.frames > 1 {
            self.distinct += 1;
        }
        self.previous = raw;
        if self.divisor == 0 || self.divisor >= FINE {
            let (mut a, mut b) = (raw.0.abs_diff(first.0), self.divisor);
            while b > 0 {
                (a, b) = (b, a % b);
            }
            self.divisor = a;
        }
    }

    /// The step of the capture's clock, if it is coarse.
    pub(super) fn tick(&self) -> Option<Nanos> {
        let agrees = self.frames >= LEAST_STAMPS
            && (self.distinct >= LEAST_STAMPS / 2 || self.frames >= 4 * (self.distinct + 1));
        (agrees && self.divisor >= FINE && self.divisor.is_multiple_of(FINE))
            .then_some(Nanos(self.divisor))
    }
}
