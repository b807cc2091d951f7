//! A field test on the sockets of a control group: each new connection gets an arm by chance, and
//! leaves a row when it is closed (`bpf/field.bpf.c`).
//!
//! Programs and arms are links of this process: whatever ends it takes them out, and connections go
//! on with what they have.

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
/// Data of the programs that change while they run.
const PLAN: &str = "plan";

/// Open connections beyond the first map are read so many at once.
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

/// Further columns of a trial's rows: exit of the startup, for our arms, and whether the service
/// chose another controller afterwards.
pub const TRIAL_COLUMNS: &[&str] = &["exit_reason", "exit_ms", "exit_cwnd_bytes", "changed"];

/// Further columns of rows where slots of time are drawn.
pub const SLOT_COLUMNS: &[&str] = &["slot", "slot_s"];

/// A field test that runs until it is dropped.
#[derive(Debug)]
pub struct FieldTest {
    /// Before the arms: nobody is given one that is gone.
    _links: Vec<Link>,
    object: Object,
    records: Records<Told>,
    ledger: RefCell<Ledger>,
    /// Reports of the arms, before these, and those that have no row yet.
    reports: Vec<Records<Exit>>,
    exits: RefCell<Exits>,
    _arms: Vec<Loaded>,
    names: Vec<String>,
    /// Of a trial in slots of time: what they are, and when the first one began.
    slots: Option<(Slots, u64)>,
}

/// Counters of the programs.
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
    /// Connections that take no part: they keep what they had, and leave no row.
    pub outside: u64,
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
            // Ours first: one of ours is CUBIC without HyStart, `kernel:cubic(hystart=off)`.
            match (arm(name), name.strip_prefix("kernel:")) {
                (Ok(arm), _) => {
                    if !Features::detect()?.links() {
                        let told =
                            "a trial that is killed would leave it in the kernel before Linux 6.4";
                        return Err(Error::new(format!("{name}: {told}")));
                    }
                    // Two arms with labels may be one controller.
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
        // Connections are given an arm last, when their packets are already seen.
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

    /// Waits for rows no longer than `patience` and gives them away.
    ///
    /// # Errors
    /// If the ring buffer cannot be read.
    pub fn take(&self, patience: Duration, mut each: impl FnMut(Row)) -> Result<(), Error> {
        let mut told = Vec::new();
        self.records.take(patience, |record| told.push(record))?;
        // An arm has reported before its connection was over.
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

    /// Asks the kernel which connections are open now.
    ///
    /// # Errors
    /// If it does not say.
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

    /// Rows of the connections that were open when somebody looked, with what was told of them: some
    /// ten seconds ago while they send, nothing yet of younger ones.
    pub fn open_rows(&self) -> Vec<Row> {
        let rows = self.ledger.borrow().rows();
        rows.into_iter().map(|(drawn, row)| self.named(&drawn, row)).collect()
    }

    /// Number of connections open at the last look and not finished yet.
    pub fn open(&self) -> usize {
        self.ledger.borrow().open()
    }

    /// Age at which a connection enters a look, finished or not: at least a minute, and as long as
    /// all but one of 1000 connections last.
    pub fn maturity(&self) -> Duration {
        self.ledger.borrow().maturity()
    }

    /// Duration of nearly all connections: in slots of time, those that start earlier in a slot
    /// still see connections of the previous one.
    pub fn settling(&self) -> Duration {
        self.ledger.borrow().settling()
    }

    /// The columns of its rows, in their order.
    pub fn columns(&self) -> Vec<&'static str> {
        let slots = self.slots.map_or(&[][..], |_| SLOT_COLUMNS);
        COLUMNS.iter().chain(TRIAL_COLUMNS).chain(slots).copied().collect()
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

/// With how its startup ended.
fn left(exit: &Exit, row: Row) -> Row {
    Row {
        exit_reason: exit.reason.map(|reason| reason.name().to_owned()),
        exit_ms: Some(millis(exit.since_first_send_us * 1000)),
        exit_cwnd_bytes: Some(u64::from(exit.detect_cwnd) * u64::from(exit.mss)),
        ..row
    }
}

/// Two words in little endian, as SipHash reads its key.
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
    // In network order, as the programs see addresses.
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
