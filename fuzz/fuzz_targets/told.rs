//! Bytes as records of watched connections.

use firstflight::{Nanos, Time};
use firstflight_log::live::{Live, Opened, Record, What};
use firstflight_log::{Extent, Segment};
use firstflight_replay::replay::Replay;

/// Bytes of the input that make a record; the rest is the TCP header.
const HEAD: usize = 8;
const RECORD: usize = HEAD + 60;

/// Tells the sink what the records say.
pub(super) fn feed(bytes: &[u8], sink: &mut Replay) -> Extent {
    let (mut live, mut now, mut records) = (Live::new(), Time(1 << 40), 0);
    for (chunk, serial) in bytes.chunks(RECORD).zip(0..) {
        let Some((head, header)) = chunk.split_at_checked(HEAD) else { break };
        let word = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        // Clocks of two processors: now and then a little back.
        let step = Nanos(u64::from(word(2)) * 1000);
        now = if head[0] & 0x80 == 0 { now + step } else { Time(now.0.saturating_sub(step.0)) };
        let length = u32::from(word(4)) + 40;
        let what = match head[0] & 3 {
            0 => What::Opened(Opened {
                first_seq: u32::from(word(4)),
                mss: u32::from(word(6)),
                scale: (head[0] & 4 != 0).then_some(head[1]),
                handshake: (head[0] & 8 != 0).then_some(step),
            }),
            3 => What::Closed(u64::from(word(6)) << 8),
            kind => {
                let Some(segment) = Segment::parse(now, 20, length, header) else { continue };
                if kind == 1 { What::Sent(segment) } else { What::Arrived(segment) }
            }
        };
        // Numbers that are in order, and some that are not.
        let serial = if head[0] & 0x10 == 0 { serial } else { u32::from(word(4)) };
        live.take(&Record { connection: u32::from(head[1] & 3), serial, now, what }, sink);
        records += 1;
    }
    live.end(sink);
    Extent { bytes: bytes.len() as u64, records, connections: 1 }
}
