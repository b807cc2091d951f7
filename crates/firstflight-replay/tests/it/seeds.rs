//! Runs the fuzzer's assertions on its seeds: unchanged, truncated, and with one byte changed. The
//! fuzzer itself searches further in `make night`.

#[path = "../../../../fuzz/fuzz_targets/replayed.rs"]
mod replayed;
#[path = "../../../../fuzz/fuzz_targets/segments.rs"]
mod segments;
#[path = "../../../../fuzz/fuzz_targets/told.rs"]
mod told;

use crate::synthetic::Random;
use firstflight_log::{input, pcap, qlog, read, table};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// Each cut and each change costs a replay.
const PLACES: usize = 40;

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("seeds").map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has seeds");
    files
}

/// The bytes, every so many of them left out at the end, and one of them changed.
fn variants(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let step = bytes.len().div_ceil(PLACES);
    let cut = (0..=bytes.len()).step_by(step).map(|end| bytes[..end].to_vec());
    let changed = (0..bytes.len()).step_by(step).flat_map(|at| {
        [0x00, 0x20, 0x80, 0xff].map(|bits| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= bits;
            bytes
        })
    });
    cut.chain(changed)
}

fn each(target: &str, check: impl Fn(&[u8])) {
    for file in seeds(target) {
        let bytes = fs::read(&file).expect("a seed");
        variants(&bytes).for_each(|bytes| check(&bytes));
    }
}

#[test]
fn damaged_captures_are_read_or_refused() {
    each("replay_capture", |bytes| replayed::check(bytes, pcap::read));
}

#[test]
fn damaged_logs_are_read_or_refused() {
    each("replay_qlog", |bytes| replayed::check(bytes, qlog::read));
}

#[test]
fn damaged_tables_are_read_or_refused() {
    each("replay_table", |bytes| replayed::check(bytes, table::read));
}

#[test]
fn damaged_archives_are_read_or_refused() {
    each("replay_compressed", |bytes| {
        if let Ok(plain) = input::decompress(Cursor::new(bytes.to_vec())) {
            replayed::follow(plain, read::from);
        }
    });
}

#[test]
fn any_well_formed_segments_are_read_or_refused() {
    let mut random = Random::new(11);
    for length in 0..150 {
        let bytes: Vec<u8> = (0..32 * length % 6000).map(|_| random.next() as u8).collect();
        // Few numbers far away, and many: a byte in two of three inputs is small.
        let few = bytes.iter().map(|byte| if length % 3 > 0 { byte % 210 } else { *byte });
        replayed::check(&segments::capture(&few.collect::<Vec<u8>>()), pcap::read);
    }
}

#[test]
fn any_packets_of_watched_connections_are_told() {
    let mut random = Random::new(7);
    for _ in 0..40 {
        let mut bytes: Vec<u8> = (0..68 * 40).map(|_| random.next() as u8).collect();
        for record in bytes.chunks_mut(68) {
            // Headers as long as they say, numbers near each other.
            record[8 + 12] = 0x50 | record[8 + 12] & 0xf0;
            record[8 + 4..8 + 7].fill(0);
            record[8 + 8..8 + 11].fill(0);
        }
        replayed::check(&bytes, |_, mut read, sink| {
            let mut all = Vec::new();
            let _ = read.read_to_end(&mut all);
            Ok(told::feed(&all, sink))
        });
    }
}
