//! Files dropped on the page: the replay of `firstflight replay`. No data leaves the machine.

use crate::Error;
use firstflight_replay::advice::named;
use firstflight_replay::files::follow_bytes;
use firstflight_replay::replay::{DEFAULT_ARMS, Settings};
use firstflight_replay::results::Results;

/// Replays the file `name`. Returns the output of `--json -`.
pub(crate) fn replay(name: &str, file: Vec<u8>, arms: Option<&str>) -> Result<String, Error> {
    let arms = named(arms.unwrap_or(DEFAULT_ARMS))?;
    let settings = Settings { arms, ..Settings::default() };
    let (replay, files) = follow_bytes(name, file, settings)?;
    Results::new(replay, files).to_json()
}
