//! What a connection carries: one object, responses with pauses between them, or a video that is
//! written as it is played.

use super::distribution::{Chance, Distribution, ReadTable};
use super::draw::Drawn;
use super::place::Field;
use super::variable::Variable;
use super::{Group, Population};
use firstflight::Nanos;
use firstflight_path::Error;
use firstflight_path::random::{Purpose, Stream, uniform};
use firstflight_sim::{App, Response};
use std::fmt;

/// What a connection of a group carries; `size` of the group says how large.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Workload {
    /// One object, all of it there from the start.
    #[default]
    Object,
    /// One response and then, with pauses, a geometric number of further ones; each has a size of
    /// its own.
    Responses {
        /// Mean number of further responses.
        more: f64,
        /// Most responses of a connection.
        most: u64,
        /// From the end of one to the begin of the next.
        gap: Distribution,
    },
    /// A video: some seconds of playing at once, the rest in writes a little ahead of the player.
    Video {
        /// Sent at once, time of playing.
        playback: Distribution,
        /// Rate at which it is played.
        coding_rate: Distribution,
        /// Bytes of each later write.
        write_bytes: u64,
        /// Rate of the later writes over that of playing.
        ahead: f64,
    },
}

impl Workload {
    pub(super) fn responses(
        field: &Field<'_>,
        read_table: &ReadTable<'_>,
    ) -> Result<Workload, Error> {
        let section = field.section(&["more", "most", "gap"])?;
        let whole = |most: f64| (1.0..=1000.0).contains(&most) && most.fract() == 0.0;
        Ok(Workload::Responses {
            more: section
                .need("more")?
                .number_that(|more| more > 0.0 && more <= 1000.0, "more than 0 and at most 1000")?,
            most: section.need("most")?.number_that(whole, "1 to 1000 whole responses")? as u64,
            gap: Distribution::parse(&section.need("gap")?, Variable::Gap, &[], read_table)?,
        })
    }

    pub(super) fn video(field: &Field<'_>, read_table: &ReadTable<'_>) -> Result<Workload, Error> {
        let section = field.section(&["playback", "coding_rate", "write_bytes", "ahead"])?;
        let of = |variable: Variable| {
            Distribution::parse(&section.need(variable.name())?, variable, &[], read_table)
        };
        let whole = |bytes: f64| (1.0..=1e9).contains(&bytes) && bytes.fract() == 0.0;
        Ok(Workload::Video {
            playback: of(Variable::Playback)?,
            coding_rate: of(Variable::CodingRate)?,
            write_bytes: section.need("write_bytes")?.number_that(whole, "1 to 10^9 whole bytes")?
                as u64,
            ahead: section.need("ahead")?.number_that(
                |ahead| ahead > 0.0 && ahead <= 1000.0,
                "more than 0 and at most 1000",
            )?,
        })
    }

    /// In a word or two, for tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Workload::Object => "one object",
            Workload::Responses { .. } => "responses",
            Workload::Video { .. } => "video",
        }
    }
}

/// Longest pause between two responses: past it nothing of the connection's state would be left
/// anyway.
const LONGEST_GAP_MS: f64 = 60_000.0;

impl Population {
    /// What a drawn connection carries. Its first response, or its only object, has the drawn size.
    pub fn app(&self, drawn: &Drawn, seed: u64) -> App {
        let group = &self.groups[drawn.group];
        let stream = Stream::new(seed, drawn.index, Purpose::Size);
        let number = |k: u64| uniform(stream.value(k));
        let value = |of: &Distribution, k: u64| of.shape.value(&Chance::uniform(number(k)));
        match &group.workload {
            Workload::Object => App::Bulk(drawn.bytes),
            Workload::Responses { more, most, gap } => {
                // One number decides how many: ln u / ln q is geometric with mean q / (1 - q).
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
    /// A size by the number behind it, at least one byte.
    fn size(&self, u: f64) -> u64 {
        self.get(Variable::Size)
            .map_or(1, |of| (libm::round(of.shape.value(&Chance::uniform(u))) as u64).max(1))
    }
}

impl fmt::Display for Workload {
    /// As keys of a group, a line each; nothing for an object.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Object => Ok(()),
            Workload::Responses { more, most, gap } => {
                writeln!(f, "responses = {{ more = {more:?}, most = {most}, gap = {gap} }}")
            }
            Workload::Video { playback, coding_rate, write_bytes, ahead } => writeln!(
                f,
                "video = {{ playback = {playback}, coding_rate = {coding_rate}, write_bytes = {write_bytes}, ahead = {ahead:?} }}"
            ),
        }
    }
}
