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
use super::ledger::Ledger;
use super::loader::Loaded;
use super::ring::Records;
use firstflight_path::Error;
use firstflight_trial::assign::{Assignment, Key};
use firstflight_trial::row::Row;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/field.bpf.o"));
/// As in `bpf/field.bpf.c`.
const MOST_ARMS: usize = 8;
const NAME_LEN: usize = 16;
/// Data of the programs that change while they run.
const PLAN: &str = "plan";

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
    "censored",
    "connection",
];

/// A field test that runs until it is dropped.
#[derive(Debug)]
pub struct FieldTest {
    /// Before the arms: nobody is given one that is gone.
    _links: Vec<Link>,
    object: Object,
    records: Records<Closed>,
    ledger: RefCell<Ledger>,
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
            // Ours first: one of ours is CUBIC without HyStart, `kernel:cubic(hystart=off)`.
            match (arm(name), name.strip_prefix("kernel:")) {
                (Ok(arm), _) => {
                    kernel_names.push(arm.kernel_name.to_owned());
                    arms.push(Loaded::load(arm)?);
                }
                (Err(_), Some(own)) if !own.is_empty() && own.len() < NAME_LEN => {
                    kernel_names.push(own.to_owned());
                }
                (Err(_), Some(own)) => {
                    return Err(Error::new(format!("kernel:{own}: no controller's name")));
                }
                (Err(unknown), None) => return Err(unknown),
            }
        }
        let settings = settings(&kernel_names, keys, by_client);
        let plan = [&0_u64.to_ne_bytes()[..], &shares_of(assignment)].concat();
        let object = hearing(|| {
            let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
            cgroup::configure(&mut open, "field", &settings);
            cgroup::configure(&mut open, PLAN, &plan);
            open.load()
        })
        .map_err(|heard| heard.refusal("a field test"))?;
        let ring = object.maps().find(|map| map.name() == "rows");
        let ring = ring.ok_or_else(|| Error::new("the object has no ring buffer"))?;
        let records = Records::of(&ring, Closed::parse)?;
        // Connections are given an arm last, when their packets are already seen.
        let links = cgroup::attach(&object, folder, &["leaves", "arrives", "connection"])?;
        let ledger = RefCell::new(Ledger::new()?);
        Ok(FieldTest { _links: links, object, records, ledger, _arms: arms, names })
    }

    /// Waits for rows no longer than `patience` and gives them away.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn take(&self, patience: Duration, mut each: impl FnMut(Row)) -> Result<(), Error> {
        let mut ledger = self.ledger.borrow_mut();
        self.records.take(patience, |record| {
            if let Some(over) = ledger.take(record) {
                each(self.named(over.arm(), over.row()));
            }
        })
    }

    /// Rows of the connections that are open, with what is known of them: never older than ten
    /// seconds while they send.
    pub fn open_rows(&self) -> Vec<Row> {
        let rows = self.ledger.borrow().rows();
        rows.into_iter().map(|(arm, row)| self.named(arm, row)).collect()
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.ledger.borrow().open()
    }

    /// How long after its beginning a connection enters a look, over or not: a minute at least, and
    /// as long as all but one of 1000 connections last.
    pub fn maturity(&self) -> Duration {
        self.ledger.borrow().maturity()
    }

    /// Other shares for the connections from now on.
    ///
    /// # Errors
    /// If the kernel does not take them.
    pub fn reshare(&self, assignment: &Assignment) -> Result<(), Error> {
        let missing = || Error::new("the object has no plan");
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(PLAN));
        let map = map.ok_or_else(missing)?;
        let failed = |error: libbpf_rs::Error| Error::new(format!("shares: {error}"));
        let key = 0_u32.to_ne_bytes();
        let mut plan = map.lookup(&key, MapFlags::ANY).map_err(failed)?.ok_or_else(missing)?;
        let next = 1 - usize::from(plan.first().copied().unwrap_or(0) & 1);
        let shares = shares_of(assignment);
        let at = 8 + next * shares.len();
        plan.get_mut(at..at + shares.len()).ok_or_else(missing)?.copy_from_slice(&shares);
        // The half that nobody reads, and then who reads: no connection sees half of both.
        map.update(&key, &plan, MapFlags::ANY).map_err(failed)?;
        plan[..8].copy_from_slice(&(next as u64).to_ne_bytes());
        map.update(&key, &plan, MapFlags::ANY).map_err(failed)
    }

    fn named(&self, arm: usize, row: Row) -> Row {
        Row { arm: self.names.get(arm).cloned(), ..row }
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
fn settings(names: &[String], keys: [Key; 2], by_client: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for key in keys {
        bytes.extend(words_of(key).iter().flat_map(|word| word.to_ne_bytes()));
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

/// `struct shares`.
fn shares_of(assignment: &Assignment) -> Vec<u8> {
    let ranges = assignment.ranges();
    let end = |read: fn(&(u64, u64)) -> u64| {
        let mut ends = [0_u64; MOST_ARMS];
        ends[1..].iter_mut().zip(ranges).for_each(|(to, range)| *to = read(range));
        ends
    };
    let ends = [end(|range| range.0), end(|range| range.1)];
    let words = ends.into_iter().flatten().chain([u64::from(assignment.epoch())]);
    words.flat_map(u64::to_ne_bytes).collect()
}
