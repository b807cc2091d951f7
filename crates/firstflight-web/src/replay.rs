//! Files that were dropped on the page: the replay of `firstflight replay`, with nothing that leaves
//! the machine.

use crate::Error;
use firstflight_lab::parse_arms;
use firstflight_log::{input, read};
use firstflight_replay::replay::{DEFAULT_ARMS, LEAST_ACKS, Named, Replay, Settings};
use firstflight_replay::results::{FileRow, Results};
use std::io::Cursor;

/// Replays a file of that name; the answer of `--json -`.
pub(crate) fn replay(name: &str, file: Vec<u8>, arms: Option<&str>) -> Result<String, Error> {
    let ours = |arm: firstflight_lab::NamedArm| {
        let core = *arm.arm()?;
        Ok(Named { label: arm.label, arm: core })
    };
    let arms = parse_arms(arms.unwrap_or(DEFAULT_ARMS))?
        .into_iter()
        .map(ours)
        .collect::<Result<_, _>>()?;
    let mut replay = Replay::new(Settings { arms, paced: None, iw: None, lines: 0 });
    let bytes = input::decompress(Cursor::new(file))
        .map_err(|error| Error::new(format!("{name}: cannot be read: {error}")))?;
    let extent =
        read::from(name, bytes, &mut replay).map_err(|fault| Error::new(fault.to_string()))?;
    if replay.done.is_empty() {
        return Err(Error::new(format!(
            "{name}: {} connections, none of them with the {LEAST_ACKS} ACKs that a replay needs",
            replay.short
        )));
    }
    let row = FileRow {
        file: name.to_owned(),
        bytes: extent.bytes,
        records: extent.records,
        connections: extent.connections,
        fault: replay.remarks.first().map(ToString::to_string),
    };
    Results::new(&replay, vec![row]).to_json()
}
