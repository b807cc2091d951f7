//! Traffic of a connection: one object, responses with pauses between them, or a video that is
//! written as it is played.

use super::distribution::{Distribution, ReadTable};
use super::place::Field;
use super::variable::Variable;
use firstflight_path::Error;
use std::fmt;

/// Traffic of a group's connections; the sizes come from the group's `size`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Workload {
    /// One object, available from the start.
    #[default]
    Object,
    /// One response followed, after pauses, by a geometric number of further responses; each has
    /// its own size.
    Responses {
        /// Mean number of further responses.
        more: f64,
        /// Maximum number of responses per connection.
        most: u64,
        /// Pause from the end of a response to the start of the next.
        gap: Distribution,
    },
    /// A video: some seconds of playback at once, then writes slightly ahead of the player.
    Video {
        /// Amount sent at once, as playback time.
        playback: Distribution,
        /// Playback rate.
        coding_rate: Distribution,
        /// Bytes of each later write.
        write_bytes: u64,
        /// Rate of the later writes over the playback rate.
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

    /// A short name for tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Workload::Object => "one object",
            Workload::Responses { .. } => "responses",
            Workload::Video { .. } => "video",
        }
    }
}

impl fmt::Display for Workload {
    /// The keys of a group, one per line; nothing for an object.
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
