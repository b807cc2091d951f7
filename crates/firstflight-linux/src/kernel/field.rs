//! A field test on the sockets of a control group: each new connection gets an arm by chance, and
//! leaves a row when it is closed (`bpf/field.bpf.c`).
//!
//! What is not in a row: how startup ended (`kernel trace` has it), and connections that are still
//! open when the test ends. Programs and arms are links of this process: whatever ends it takes
//! them out, and connections go on with what they have.

use super::arms::arm;
use super::hearing::hearing;
use super::loader::Loaded;
use firstflight_path::Error;
use firstflight_trial::assign::{Assignment, Key};
use firstflight_trial::row::Row;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, RingBufferBuilder};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/field.bpf.o"));
/// As in `bpf/field.bpf.c`.
const MOST_ARMS: usize = 8;
const NAME_LEN: usize = 16;
const RECORD: usize = 80;

/// The columns of a row that the kernel can fill.
pub const COLUMNS: &[&str] = &[
    "arm",
    "epoch",
    "unit",
    "start_s",
    "bytes_written",
    "bytes_acked",
    "busy_ms",
    "goodput_mbps",
    "handshake_rtt_ms",
    "min_rtt_ms",
    "srtt_ms",
    "segments",
    "retransmitted",
    "timeouts",
    "ce",
    "ended",
    "acked_all",
    "tail_unseen",
];

/// A field test that runs until it is dropped.
#[derive(Debug)]
pub struct FieldTest {
    /// Before the arms: nobody is given one that is gone.
    _links: Vec<Link>,
    object: Object,
    _arms: Vec<Loaded>,
    names: Vec<String>,
}

/// What the programs have counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that got each arm.
    pub assigned: Vec<u64>,
    /// Connections whose service chose a controller itself: they are in no arm.
    pub left_out: u64,
    /// Connections that could not be given their arm.
    pub failed: u64,
    /// Rows that found no room.
    pub dropped: u64,
}

impl FieldTest {
    /// Starts: loads the arms of the assignment (`kernel:NAME` is one of the kernel's own) and takes
    /// the control group. The keys are what the assignment was made with, and one for pseudonyms.
    ///
    /// # Errors
    /// One line: an arm that is none, a folder that is no control group, what the kernel refuses.
    pub fn start(
        cgroup: &Path,
        assignment: &Assignment,
        keys: [Key; 2],
        by_client: bool,
    ) -> Result<FieldTest, Error> {
        let names = assignment.names().to_vec();
        if names.len() > MOST_ARMS {
            return Err(Error::new(format!("{} arms; allowed: {MOST_ARMS}", names.len())));
        }
        let mut arms = Vec::new();
        let mut kernel_names = Vec::new();
        for name in &names {
            match name.strip_prefix("kernel:") {
                Some(own) if !own.is_empty() && own.len() < NAME_LEN => {
                    kernel_names.push(own.to_owned());
                }
                Some(own) => return Err(Error::new(format!("kernel:{own}: no controller's name"))),
                None => {
                    let arm = arm(name)?;
                    kernel_names.push(arm.kernel_name.to_owned());
                    arms.push(Loaded::load(arm)?);
                }
            }
        }
        let settings = settings(assignment, &kernel_names, keys, by_client);
        let refused = |heard: super::hearing::Heard| {
            // The verifier's log ends with what it did not like.
            let lines: Vec<&str> = heard.said.lines().map(str::trim).collect();
            let last = lines[lines.len().saturating_sub(12)..].join("; ");
            Error::new(format!("a field test needs root: {}: {last}", heard.error))
        };
        let object = hearing(|| {
            let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
            configure(&mut open, &settings);
            open.load()
        })
        .map_err(refused)?;
        let failed =
            |error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", cgroup.display()));
        let folder = File::open(cgroup).map_err(|error| failed(&error))?;
        let mut links = Vec::new();
        // Connections are given an arm last, when their packets are already seen.
        for name in ["leaves", "arrives", "connection"] {
            let program = object.progs_mut().find(|program| program.name() == name);
            let program = program.ok_or_else(|| Error::new(format!("no program `{name}`")))?;
            let link = hearing(|| program.attach_cgroup(folder.as_raw_fd()));
            links.push(link.map_err(|heard| failed(&heard.error))?);
        }
        Ok(FieldTest { _links: links, object, _arms: arms, names })
    }

    /// Waits for rows no longer than `patience` and gives them away.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn take(&self, patience: Duration, mut each: impl FnMut(Row)) -> Result<(), Error> {
        let failed = |error: libbpf_rs::Error| Error::new(format!("ring buffer: {error}"));
        let missing = || Error::new("the object has no ring buffer");
        let ring = self.object.maps().find(|map| map.name() == "rows").ok_or_else(missing)?;
        let mut builder = RingBufferBuilder::new();
        let take = |bytes: &[u8]| {
            self.row(bytes).into_iter().for_each(&mut each);
            0
        };
        builder.add(&ring, take).map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        // An interrupted wait is no failure.
        let _ = ring.poll(patience);
        ring.consume().map_err(failed)
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// If the counters cannot be read.
    pub fn counts(&self) -> Result<Counts, Error> {
        let counters =
            self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let counters = counters.ok_or_else(|| Error::new("the object has no counters"))?;
        let value = counters.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(|error| Error::new(format!("counters: {error}")))?;
        let value = value.unwrap_or_default();
        let at = |index: usize| {
            let bytes = value.get(8 * index..8 * index + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes)
        };
        Ok(Counts {
            assigned: (0..self.names.len()).map(at).collect(),
            left_out: at(MOST_ARMS),
            failed: at(MOST_ARMS + 1),
            dropped: at(MOST_ARMS + 2),
        })
    }

    /// The arms, the baseline first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A record as a row.
    fn row(&self, bytes: &[u8]) -> Option<Row> {
        let record: &[u8; RECORD] = bytes.get(..RECORD)?.try_into().ok()?;
        let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| record[at + byte]));
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| record[at + byte]));
        let [start, busy, unit, acked] = [0, 8, 16, 24].map(long);
        let [written, handshake, min_rtt, srtt] = [32, 36, 40, 44].map(word);
        let [segments, retransmitted, _lost, ce, timeouts, arm] =
            [48, 52, 56, 60, 64, 68].map(word);
        let [ended, acked_all, has_timeouts] = [72, 73, 74].map(|at| record[at] != 0);
        let rtt = |us: u32| (us > 0 && us < u32::MAX).then(|| millis(u64::from(us) * 1000));
        Some(Row {
            arm: self.names.get(arm as usize).cloned(),
            epoch: Some(0),
            unit: Some(format!("{unit:016x}")),
            start_s: started(start),
            // A difference of sequence numbers, which wrap at 4 GiB.
            bytes_written: (acked < 1 << 32).then_some(u64::from(written)),
            bytes_acked: Some(acked),
            busy_ms: (busy > 0).then(|| millis(busy)),
            goodput_mbps: (busy > 0).then(|| mbps(acked, busy)),
            handshake_rtt_ms: rtt(handshake),
            min_rtt_ms: rtt(min_rtt),
            srtt_ms: rtt(srtt),
            segments: Some(u64::from(segments)),
            retransmitted: Some(u64::from(retransmitted)),
            timeouts: has_timeouts.then_some(u64::from(timeouts)),
            ce: Some(u64::from(ce)),
            ended: Some(if ended { "fin" } else { "rst" }.to_owned()),
            acked_all: Some(acked_all),
            tail_unseen: Some(false),
            ..Row::default()
        })
    }
}

#[expect(clippy::float_arithmetic, reason = "rows are for people, in milliseconds")]
fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[expect(clippy::float_arithmetic, reason = "rows are for people, in Mbit/s")]
fn mbps(bytes: u64, nanos: u64) -> f64 {
    bytes as f64 * 8e3 / nanos as f64
}

/// Seconds since 1970 of a moment of the kernel's monotonic clock.
fn started(start: u64) -> Option<u64> {
    use nix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?;
    let now = Duration::new(now.tv_sec() as u64, now.tv_nsec() as u32);
    let ago = now.saturating_sub(Duration::from_nanos(start));
    let since = SystemTime::now().checked_sub(ago)?.duration_since(SystemTime::UNIX_EPOCH);
    since.ok().map(|since| since.as_secs())
}

/// `struct trial` of `bpf/field.bpf.c`.
fn settings(assignment: &Assignment, names: &[String], keys: [Key; 2], by_client: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for key in keys {
        // Two words in little endian, as SipHash reads its key.
        for half in key.0.chunks_exact(8) {
            let word = u64::from_le_bytes(std::array::from_fn(|byte| half[byte]));
            bytes.extend(word.to_ne_bytes());
        }
    }
    let ranges = assignment.ranges();
    let end = |read: fn(&(u64, u64)) -> u64| {
        let mut ends = [0_u64; MOST_ARMS];
        ends[1..].iter_mut().zip(ranges).for_each(|(to, range)| *to = read(range));
        ends
    };
    for ends in [end(|range| range.0), end(|range| range.1)] {
        bytes.extend(ends.iter().flat_map(|end| end.to_ne_bytes()));
    }
    bytes.extend((names.len() as u32).to_ne_bytes());
    bytes.extend(u32::from(by_client).to_ne_bytes());
    for index in 0..MOST_ARMS {
        let mut name = [0; NAME_LEN];
        // The last byte stays zero.
        let text = names.get(index).map_or("", String::as_str);
        name[..NAME_LEN - 1].iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        bytes.extend(name);
    }
    bytes
}

fn configure(open: &mut OpenObject, settings: &[u8]) {
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with("field")
            && let Some(value) =
                map.initial_value_mut().filter(|value| value.len() >= settings.len())
        {
            value[..settings.len()].copy_from_slice(settings);
        }
    }
}
