//! Draws the traffic of a connection: the number of responses and their pauses, or the writes of a
//! video.

use super::distribution::{Chance, Distribution};
use super::draw::Drawn;
use super::variable::Variable;
use super::workload::Workload;
use super::{Group, Population};
use firstflight::Nanos;
use firstflight_path::random::{Purpose, Stream, uniform};
use firstflight_sim::{App, Response};

/// Longest pause between two responses; after a longer one nothing would be left of the
/// connection's state.
const LONGEST_GAP_MS: f64 = 60_000.0;

impl Population {
    /// Traffic of a drawn connection. Its first response, or its only object, has the drawn size.
    pub fn app(&self, drawn: &Drawn, seed: u64) -> App {
        let group = &self.groups[drawn.group];
        let stream = Stream::new(seed, drawn.index, Purpose::Size);
        let number = |k: u64| uniform(stream.value(k));
        let value = |of: &Distribution, k: u64| of.shape.value(&Chance::uniform(number(k)));
        match &group.workload {
            Workload::Object => App::Bulk(drawn.bytes),
            Workload::Responses { more, most, gap } => {
                // One random number determines the count: ln u / ln q is geometric with mean q / (1
                // - q).
                let further = libm::log(number(1)) / libm::log(more / (1.0 + more));
                let count = (1 + further as u64).min(*most);
                let one = |index: u64| {
                    if index == 0 {
                        return Response { pause: Nanos::ZERO, bytes: drawn.bytes };
                    }
                    let pause = value(gap, 2 * index + 1).min(LONGEST_GAP_MS);
                    Response {
                        pause: Nanos((pause * 1e6) as u64),
                        bytes: group.size(number(2 * index)),
                    }
                };
                App::Responses((0..count).map(one).collect())
            }
            Workload::Video { playback, coding_rate, write_bytes, ahead } => {
                let bits_per_ms = value(coding_rate, 1) * 1e3;
                let first = (value(playback, 2) * bits_per_ms / 8.0) as u64;
                let every_ns = *write_bytes as f64 * 8.0 / (ahead * bits_per_ms) * 1e6;
                let bytes = drawn.bytes;
                App::Video {
                    bytes,
                    first: first.clamp(1, bytes),
                    write: *write_bytes,
                    every: Nanos((every_ns as u64).max(1)),
                }
            }
        }
    }
}

impl Group {
    /// The size for a random number, at least one byte.
    fn size(&self, u: f64) -> u64 {
        self.get(Variable::Size)
            .map_or(1, |of| (libm::round(of.shape.value(&Chance::uniform(u))) as u64).max(1))
    }
}
