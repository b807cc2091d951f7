//! A field test on the sockets of a control group: each new connection gets an arm by chance, and
//! leaves a row when it is closed (`bpf/field.bpf.c`).
//!
//! What is not in a row: how startup ended (`kernel trace` has it), and connections that are still
//! open when the test ends. Programs and arms are links of this process: whatever ends it takes
//! them out, and connections go on with what they have.

use super::arms::arm;
use super::cgroup;
use super::closed::Closed;
use super::hearing::hearing;
use super::loader::Loaded;
use super::ring::Records;
use firstflight_path::Error;
use firstflight_trial::assign::{Assignment, Key};
use firstflight_trial::row::Row;
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder};
use std::path::Path;
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/field.bpf.o"));
/// As in `bpf/field.bpf.c`.
const MOST_ARMS: usize = 8;
const NAME_LEN: usize = 16;

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
    records: Records<Closed>,
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
        folder: &Path,
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
        let object = hearing(|| {
            let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
            cgroup::configure(&mut open, "field", &settings);
            open.load()
        })
        .map_err(|heard| heard.refusal("a field test"))?;
        let ring = object.maps().find(|map| map.name() == "rows");
        let ring = ring.ok_or_else(|| Error::new("the object has no ring buffer"))?;
        let records = Records::of(&ring, Closed::parse)?;
        // Connections are given an arm last, when their packets are already seen.
        let links = cgroup::attach(&object, folder, &["leaves", "arrives", "connection"])?;
        Ok(FieldTest { _links: links, object, records, _arms: arms, names })
    }

    /// Waits for rows no longer than `patience` and gives them away.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn take(&self, patience: Duration, mut each: impl FnMut(Row)) -> Result<(), Error> {
        self.records.take(patience, |record| {
            let arm = self.names.get(record.arm()).cloned();
            each(Row { arm, epoch: Some(0), ..record.row() });
        })
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// If the counters cannot be read.
    pub fn counts(&self) -> Result<Counts, Error> {
        let counters = cgroup::counters(&self.object)?;
        let at = |index: usize| counters.get(index).copied().unwrap_or(0);
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
}

/// Two words in little endian, as SipHash reads its key.
pub(super) fn words_of(key: Key) -> [u64; 2] {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| key.0[at + byte]));
    [word(0), word(8)]
}

/// `struct trial` of `bpf/field.bpf.c`.
fn settings(assignment: &Assignment, names: &[String], keys: [Key; 2], by_client: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for key in keys {
        bytes.extend(words_of(key).iter().flat_map(|word| word.to_ne_bytes()));
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
