//! The replay: every startup is driven by the recorded ACKs of a connection.
//!
//! The replay is open loop: the sender did not follow the replayed startup. A startup that stays in
//! slow start longer than the real sender sees ACKs of a flight that is smaller than its window. It
//! grows as long as at least half of its window is in flight (the controller's own rule) and then
//! stops.

use crate::course::Course;
use crate::events::Events;
pub use crate::followed::{Followed, Sender};
use crate::population::Entry;
pub use crate::run::{Aim, Left, Named, Run, Settings};
use crate::summary::ConnectionRow;
use firstflight::{Nanos, Time};
use firstflight_log::Fault;
use firstflight_log::quality::Quality;
use firstflight_log::step::{Id, Opening, Sink, Step};
use firstflight_table::guard::{Broken, Tally, guarded};
use std::collections::{HashMap, HashSet};

/// The startups that are replayed if none are named.
pub const DEFAULT_ARMS: &str =
    "slowstart,hystart,hystart++,search,best,best-published,rapid-nojump";

/// Minimum number of ACKs for a replay.
pub const LEAST_ACKS: u64 = 10;
/// Times from here on (the year 2001) count from 1970; smaller ones from an epoch of their own.
const SINCE_1970: Time = Time(1_000_000_000_000_000_000);
/// Maximum number of connections whose results are kept, more than anyone will read.
const MOST_RESULTS: usize = 200_000;

/// Drives startups with the output of a reader.
pub struct Replay {
    settings: Settings,
    live: HashMap<Id, Box<Followed>>,
    opened: Id,
    /// Finished connections, in order of their ends. A row takes a twentieth of the memory of the
    /// [`Followed`] from which it is made.
    pub done: Vec<ConnectionRow>,
    /// Population entry of each of them, if requested; `None` for a connection that is too short.
    pub entries: Vec<Option<Entry>>,
    /// The course over time of the first connections, for the report.
    pub(crate) lines: Vec<Course>,
    /// Number of connections with too few ACKs.
    pub short: u64,
    /// Number of connections beyond the maximum kept.
    pub beyond: u64,
    /// Number of connections that their reader gave up; they are in no result.
    pub incomplete: u64,
    /// Faults of files that were read in part.
    pub remarks: Vec<Fault>,
    /// Parts of files left out, with reasons.
    pub notes: Vec<Fault>,
    /// The group of connections whose trace states none.
    pub group: Option<String>,
    /// Table that receives every ACK.
    pub(crate) events: Option<Events>,
    broken: Tally,
    /// Start, duration, bytes and ACKs of the connections with a date that are kept. Times are in
    /// nanoseconds, so connections of which all four are equal are the same one.
    kept: HashSet<(Time, Nanos, u64, u64)>,
    /// Number of connections left out because another file contains them, too.
    pub(crate) again: u64,
}

impl Replay {
    /// Creates a replay without any connections.
    pub fn new(settings: Settings) -> Replay {
        Replay {
            settings,
            live: HashMap::new(),
            opened: 0,
            done: Vec::new(),
            entries: Vec::new(),
            lines: Vec::new(),
            short: 0,
            beyond: 0,
            incomplete: 0,
            remarks: Vec::new(),
            notes: Vec::new(),
            group: None,
            events: None,
            broken: Tally::default(),
            kept: HashSet::new(),
            again: 0,
        }
    }

    /// Drops a connection because of an internal error.
    fn give_up(&mut self, id: Id, broken: Broken) {
        self.live.remove(&id);
        self.incomplete += 1;
        self.broken.add(broken);
    }

    /// Keeps at most `most` rows; further ones are only counted.
    pub fn keep(&mut self, most: usize) {
        self.beyond += self.done.len().saturating_sub(most) as u64;
        self.done.truncate(most);
        self.entries.truncate(most);
    }

    /// Drops the open connections of a file whose reader has failed.
    pub(crate) fn give_up_open(&mut self) {
        self.incomplete += self.live.len() as u64;
        self.live.clear();
    }

    /// Reports connections that were given up for an internal error since the last call.
    pub fn take_broken(&mut self) -> Option<String> {
        std::mem::take(&mut self.broken).remark()
    }

    /// The file for every ACK, if one was requested.
    pub(crate) fn events_file(&self) -> Option<&std::path::Path> {
        self.settings.events.as_deref()
    }
}

#[cfg(feature = "keylog")]
impl Replay {
    /// The key log for QUIC in captures.
    pub(crate) fn keylog(&self) -> Option<std::sync::Arc<firstflight_log::quic::KeyLog>> {
        self.settings.keylog.clone()
    }
}

impl Sink for Replay {
    fn open(&mut self, mut opening: Opening) -> Id {
        let id = self.opened;
        self.opened += 1;
        opening.group = opening.group.or_else(|| self.group.clone());
        let keeps_line = self.live.len() + self.done.len() < self.settings.lines;
        self.live.insert(id, Box::new(Followed::new(&self.settings, opening, keeps_line)));
        id
    }

    fn step(&mut self, id: Id, step: &Step) {
        if let Some(live) = self.live.get_mut(&id)
            && let Err(broken) = guarded(|| {
                if let Some(events) = &mut self.events {
                    events.see(id, &live.opening, live.mss, step);
                }
                live.step(step);
            })
        {
            self.give_up(id, broken);
        }
    }

    fn close(&mut self, id: Id) {
        let Some(mut live) = self.live.remove(&id) else { return };
        if live.acks < LEAST_ACKS {
            self.short += u64::from(live.acks > 0);
            return;
        }
        if self.done.len() >= MOST_RESULTS {
            self.beyond += 1;
            return;
        }
        let (start, end) = (live.opening.start, live.end);
        let same = (start, end.since(start), live.delivered, live.acks);
        if start >= SINCE_1970 && !self.kept.insert(same) {
            self.again += 1;
            return;
        }
        let wants_entry = self.settings.entries;
        let made = guarded(|| {
            live.finish();
            let row = ConnectionRow::of(&live);
            let entry = wants_entry.then(|| Entry::of(&live));
            (Course::of(&live, &row, self.done.len()), entry, row)
        });
        match made {
            Ok((line, entry, row)) => {
                self.lines.extend(line);
                self.entries.extend(entry);
                self.done.push(row);
            }
            Err(broken) => self.give_up(id, broken),
        }
    }

    fn abandon(&mut self, id: Id) {
        self.incomplete += u64::from(self.live.remove(&id).is_some());
    }

    fn remark(&mut self, fault: Fault) {
        self.remarks.push(fault);
    }

    fn judge(&mut self, id: Id, quality: &Quality) {
        if let Some(live) = self.live.get_mut(&id) {
            live.quality = Some(quality.clone());
        }
    }

    fn note(&mut self, note: Fault) {
        self.notes.push(note);
    }
}
