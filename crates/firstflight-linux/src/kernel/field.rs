//! A field test on the sockets of a control group: each new connection gets an arm at random and
//! produces a row when it is closed (`bpf/field.bpf.c`).
//!
//! Programs and arms are links of this process: however it ends, they are removed, and connections
//! go on with the controller they have.

use super::arms::arm;
use super::cgroup;
use super::closed::now_us;
use super::exits::{Exit, Exits};
use super::features::{Basis, Features};
use super::hearing::hearing;
use super::ledger::Ledger;
use super::loader::Loaded;
use super::ring::Records;
use super::told::{Drawn, Open, Told};
use firstflight_path::Error;
use firstflight_trial::assign::{Assignment, Key, controller, hashes};
use firstflight_trial::design::{By, Design, Slots, pair_name};
use firstflight_trial::row::{Row, millis};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/field.bpf.o"));
/// As in `bpf/field.bpf.c`.
const MOST_ARMS: usize = 8;
const NAME_LEN: usize = 16;
/// The programs' data that changes while they run.
const PLAN: &str = "plan";

/// Open connections beyond the first map are read in batches of this size.
const AT_ONCE: u32 = 4096;

/// The columns of a row that the kernel can fill.
pub const COLUMNS: &[&str] = &[
    "arm",
    "epoch",
    "unit",
    "start_s",
    "bytes_written",
    "bytes_acked",
    "busy_ms",
    "rwnd_limited_ms",
    "sndbuf_limited_ms",
    "goodput_mbps",
    "handshake_rtt_ms",
    "min_rtt_ms",
    "srtt_ms",
    "segments",
    "retransmitted",
    "lost",
    "timeouts",
    "ce",
    "ended",
    "acked_all",
    "tail_unseen",
    "censored",
    "connection",
];

/// Further columns of a trial's rows: the startup's exit, for our arms, and whether the service
/// later chose another controller.
pub const TRIAL_COLUMNS: &[&str] = &["exit_reason", "exit_ms", "exit_cwnd_bytes", "changed"];

/// Further columns of rows in trials with time slots.
pub const SLOT_COLUMNS: &[&str] = &["slot", "slot_s"];

/// A field test that runs until it is dropped.
#[derive(Debug)]
pub struct FieldTest {
    /// Dropped before the arms, so that no connection is given an arm that is gone.
    _links: Vec<Link>,
    object: Object,
    records: Records<Told>,
    ledger: RefCell<Ledger>,
    /// Reports of the arms, read before these records, and the exits that have no row yet.
    reports: Vec<Records<Exit>>,
    exits: RefCell<Exits>,
    _arms: Vec<Loaded>,
    names: Vec<String>,
    /// For a trial in time slots: their design, and the start of the first one.
    slots: Option<(Slots, u64)>,
}

/// Counters of the programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were given each arm.
    pub assigned: Vec<u64>,
    /// Connections that are in no arm because their service chose a controller itself.
    pub left_out: u64,
    /// Connections that could not be assigned their arm.
    pub failed: u64,
    /// Rows dropped for lack of room.
    pub dropped: u64,
    /// Connections that take no part: they keep their controller and produce no row.
    pub outside: u64,
}

impl FieldTest {
    /// Starts the test: loads the arms of the assignment (`kernel:NAME` is one of the kernel's own)
    /// and attaches to the control group. The keys are the one with which the assignment was made,
    /// and one for pseudonyms.
    ///
    /// # Errors
    /// A one-line message: an unknown arm, a folder that is not a control group, or a refusal of
    /// the kernel.
    pub fn start(
        folder: &Path,
        assignment: &Assignment,
        keys: [Key; 2],
        design: &Design,
    ) -> Result<FieldTest, Error> {
        let names = assignment.names().to_vec();
        if names.len() > MOST_ARMS {
            return Err(Error::new(format!("{} arms; allowed: {MOST_ARMS}", names.len())));
        }
        Basis::detect()?;
        cgroup::open(folder)?;
        let mut arms = Vec::new();
        let mut kernel_names: Vec<String> = Vec::new();
        for name in &names {
            let name = controller(name);
            // Our arms first: one of them is CUBIC without HyStart, `kernel:cubic(hystart=off)`.
            match (arm(name), name.strip_prefix("kernel:")) {
                (Ok(arm), _) => {
                    if !Features::detect()?.links() {
                        let told =
                            "a trial that is killed would leave it in the kernel before Linux 6.4";
                        return Err(Error::new(format!("{name}: {told}")));
                    }
                    // Two labelled arms may use the same controller.
                    if !kernel_names.iter().any(|known| known == arm.kernel_name) {
                        arms.push(Loaded::load(arm)?);
                    }
                    kernel_names.push(arm.kernel_name.to_owned());
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
        let origin = now_us() * 1000;
        let settings = settings(&kernel_names, keys, design, origin);
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
        let records = Records::of(&ring, Told::parse)?;
        // The program that assigns arms is attached last, when packets are already observed.
        let links = cgroup::attach(&object, folder, &["leaves", "connection"])?;
        let ledger = RefCell::new(Ledger::new()?);
        let reports = arms.iter().map(Loaded::exits).collect::<Result<Vec<_>, _>>()?;
        let exits = RefCell::default();
        let slots = match design.by {
            By::Time(slots) => Some((slots, origin)),
            _ => None,
        };
        Ok(FieldTest {
            _links: links,
            object,
            records,
            ledger,
            reports,
            exits,
            _arms: arms,
            names,
            slots,
        })
    }

    /// Waits at most `patience` for rows and passes them to `each`.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn take(&self, patience: Duration, mut each: impl FnMut(Row)) -> Result<(), Error> {
        let mut told = Vec::new();
        self.records.take(patience, |record| told.push(record))?;
        // An arm reports before its connection is finished.
        let mut exits = self.exits.borrow_mut();
        for reports in &self.reports {
            reports.take(Duration::ZERO, |exit| exits.add(exit))?;
        }
        let mut ledger = self.ledger.borrow_mut();
        for record in told {
            let Some(over) = ledger.take(record) else { continue };
            let row = self.named(&over.drawn, over.row());
            each(match exits.of(over.socket, over.drawn.start, over.at) {
                Some(exit) => left(&exit, row),
                None => row,
            });
        }
        Ok(())
    }

    /// Reads the list of open connections from the kernel.
    ///
    /// # Errors
    /// If the kernel does not provide it.
    pub fn look(&self) -> Result<(), Error> {
        let failed = |error: libbpf_rs::Error| Error::new(format!("open connections: {error}"));
        let map = |name: &str| {
            let map = self.object.maps().find(|map| map.name() == name);
            map.ok_or_else(|| Error::new(format!("the object has no map `{name}`")))
        };
        let places = map("places")?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
        let places = places.unwrap_or_default();
        let beyond = map("beyond")?;
        let beyond = beyond.lookup_batch(AT_ONCE, MapFlags::ANY, MapFlags::ANY).map_err(failed)?;
        let beyond = beyond.filter_map(|(_, entry)| Open::parse(&entry));
        self.ledger.borrow_mut().look(Open::all(&places).chain(beyond));
        Ok(())
    }

    /// Rows of the connections that were open at the last look, with their latest record: about ten
    /// seconds old while they send, and none yet for younger connections.
    pub fn open_rows(&self) -> Vec<Row> {
        let rows = self.ledger.borrow().rows();
        rows.into_iter().map(|(drawn, row)| self.named(&drawn, row)).collect()
    }

    /// Number of connections open at the last look and not finished yet.
    pub fn open(&self) -> usize {
        self.ledger.borrow().open()
    }

    /// Minimum age at which a connection counts in a look, finished or not: at least a minute, and
    /// at least the duration of 999 in 1000 connections.
    pub fn maturity(&self) -> Duration {
        self.ledger.borrow().maturity()
    }

    /// Duration of nearly all connections: with time slots, connections that start earlier than
    /// this in a slot still share the path with connections of the previous slot.
    pub fn settling(&self) -> Duration {
        self.ledger.borrow().settling()
    }

    /// The columns of its rows, in order.
    pub fn columns(&self) -> Vec<&'static str> {
        let slots = self.slots.map_or(&[][..], |_| SLOT_COLUMNS);
        COLUMNS.iter().chain(TRIAL_COLUMNS).chain(slots).copied().collect()
    }

    /// Changes the shares for new connections.
    ///
    /// # Errors
    /// If the kernel does not accept them.
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
        // First the half that is not in use, then the switch to it: no connection sees parts of
        // both.
        map.update(&key, &plan, MapFlags::ANY).map_err(failed)?;
        plan[..8].copy_from_slice(&(next as u64).to_ne_bytes());
        map.update(&key, &plan, MapFlags::ANY).map_err(failed)
    }

    fn named(&self, drawn: &Drawn, row: Row) -> Row {
        let row = Row {
            arm: self.names.get(drawn.arm).cloned(),
            epoch: Some(u32::from(drawn.epoch)),
            connection: Some(u64::from(drawn.connection)),
            ..row
        };
        let Some((slots, origin)) = self.slots else { return row };
        let since = Duration::from_nanos((drawn.start * 1000).saturating_sub(origin));
        Row {
            unit: Some(pair_name(drawn.unit)),
            slot: Some(drawn.unit),
            slot_s: Some(slots.at(since).1.as_secs()),
            ..row
        }
    }

    /// Counters up to now.
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
            outside: at(MOST_ARMS + 4),
        })
    }

    /// The arms, the baseline first.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// Adds the exit of the startup to a row.
fn left(exit: &Exit, row: Row) -> Row {
    Row {
        exit_reason: exit.reason.map(|reason| reason.name().to_owned()),
        exit_ms: Some(millis(exit.since_first_send_us * 1000)),
        exit_cwnd_bytes: Some(u64::from(exit.detect_cwnd) * u64::from(exit.mss)),
        ..row
    }
}

/// The key as two little-endian words, as SipHash reads it.
pub(super) fn words_of(key: Key) -> [u64; 2] {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| key.0[at + byte]));
    [word(0), word(8)]
}

/// `struct trial` of `bpf/field.bpf.c`.
fn settings(names: &[String], keys: [Key; 2], design: &Design, origin: u64) -> Vec<u8> {
    let keys = keys.into_iter().flat_map(words_of);
    let (by, length) = match design.by {
        By::Client => (0_u32, 1),
        By::Connection => (1, 1),
        By::Time(slots) => (2, u64::try_from(slots.length.as_nanos()).unwrap_or(u64::MAX).max(1)),
    };
    let words = keys.chain([hashes(design.enrol), origin, length]);
    let mut bytes: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
    bytes.extend((names.len() as u32).to_ne_bytes());
    bytes.extend(by.to_ne_bytes());
    // In network order, as the programs see the addresses.
    let v4 = u32::MAX.checked_shl(32 - u32::from(design.prefix_v4.min(32))).unwrap_or(0);
    let v6 = u128::MAX.checked_shl(128 - u32::from(design.prefix_v6.min(128))).unwrap_or(0);
    bytes.extend(v4.to_be_bytes());
    bytes.extend(v6.to_be_bytes());
    bytes.extend([0; 4]);
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
