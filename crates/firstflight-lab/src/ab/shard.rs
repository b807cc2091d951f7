//! Files with the tallies of some blocks of a test, which `--resume` keeps, `--shard` writes and
//! `ab merge` reads.
//!
//! The first line is JSON that identifies the test, followed by integers in groups of seven bits;
//! the last eight bytes are a checksum.

use super::{Experiment, Tallies};
use crate::stats::codec::{Reader, Writer};
use firstflight_path::Error;
use firstflight_path::random::mix;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Header {
    firstflight_ab: String,
    experiment: Experiment,
}

/// Encodes the tallies as a file.
pub fn encode(experiment: &Experiment, tallies: &Tallies) -> Vec<u8> {
    let header =
        Header { firstflight_ab: env!("CARGO_PKG_VERSION").into(), experiment: experiment.clone() };
    let mut writer = Writer(serde_json::to_vec(&header).unwrap_or_default());
    writer.0.push(b'\n');
    tallies.write(&mut writer);
    let sum = checksum(&writer.0);
    writer.0.extend(sum.to_le_bytes());
    writer.0
}

/// Decodes a file, with the test it belongs to.
///
/// # Errors
/// A one-line message that states why the file is invalid; `name` is its name.
pub fn decode(name: &str, bytes: &[u8]) -> Result<(Experiment, Tallies), Error> {
    let bad = |what: &str| {
        Error::new(format!(
            "{name}: {what}; allowed: a file that `firstflight ab --shard` or `--resume` wrote"
        ))
    };
    let Some((body, sum)) = bytes.split_last_chunk::<8>() else {
        return Err(bad("is too short for a shard"));
    };
    let Some(end) = body.iter().position(|byte| *byte == b'\n') else {
        return Err(bad("is not a shard"));
    };
    let header: Header = serde_json::from_slice(&body[..end]).map_err(|_| bad("is not a shard"))?;
    if header.firstflight_ab != env!("CARGO_PKG_VERSION") {
        return Err(bad(&format!(
            "was written by version {}, this is {}",
            header.firstflight_ab,
            env!("CARGO_PKG_VERSION")
        )));
    }
    if checksum(body) != u64::from_le_bytes(*sum) {
        return Err(bad("is damaged: its checksum is wrong"));
    }
    let mut reader = Reader(&body[end + 1..]);
    match Tallies::read(&mut reader, &header.experiment) {
        Some(tallies) if reader.0.is_empty() => Ok((header.experiment, tallies)),
        _ => Err(bad("is damaged: its numbers do not fit its test")),
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    bytes.chunks(8).fold(bytes.len() as u64, |sum, chunk| mix(sum ^ word(chunk)))
}

/// Joins shards, in any order.
///
/// # Errors
/// A one-line message if there are none, if they belong to different tests, or if a block is in two
/// of them.
pub fn join(shards: Vec<(String, Experiment, Tallies)>) -> Result<(Experiment, Tallies), Error> {
    let mut whole: Option<(String, Experiment, Tallies)> = None;
    for (name, experiment, tallies) in shards {
        let Some((first, known, sum)) = &mut whole else {
            whole = Some((name, experiment, tallies));
            continue;
        };
        if *known != experiment {
            return Err(Error::new(format!(
                "{name}: belongs to another test than {first}; allowed: shards of one test"
            )));
        }
        if let Some(block) =
            tallies.blocks.iter().find(|block| sum.blocks.binary_search(block).is_ok())
        {
            return Err(Error::new(format!(
                "{name}: contains block {block}, as does another shard; allowed: each block once"
            )));
        }
        sum.merge(&tallies);
    }
    whole
        .map(|(_, experiment, tallies)| (experiment, tallies))
        .ok_or_else(|| Error::new("nothing to merge: no shard was given"))
}
