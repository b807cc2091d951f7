//! The logbook of a trial: what the controller did, and what truly became of its packets.
//!
//! A tap cannot borrow from the trial, so it writes here and the trial reads. Packets are known by
//! their position in the order of sending; the trial says which of them the path dropped.

use firstflight::account::Kept;
use firstflight::arm::ArmController;
use firstflight::state::Packet;
use firstflight::{Account, Ack, Episode, Event, Time};
use firstflight_quic::{Begin, Happened, Moment, Tap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One event and the controller right after it, for whoever watches.
#[derive(Clone, Debug)]
pub struct Note {
    /// When.
    pub now: Time,
    /// What.
    pub event: Happened,
    /// Bytes in flight.
    pub inflight: u64,
    /// The record of an ACK or timer.
    pub ack: Option<Ack>,
    /// The controller.
    pub controller: ArmController,
    /// What it was told, for [`Happened::Told`].
    pub told: Option<Event>,
    /// What it was built from, for [`Happened::Begin`] and [`Happened::Restart`].
    pub begin: Option<Begin>,
    /// The packet behind [`Event::Sent`].
    pub packet: Option<Packet>,
    /// When it and its duplicate will arrive; none if the path drops it.
    pub arrives: [Option<Time>; 2],
    /// Positions newly acknowledged and newly declared lost, for [`Event::Ack`].
    pub acked: Vec<u64>,
    /// See `acked`.
    pub lost: Vec<u64>,
}

/// One packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    position: u64,
    /// Carries bytes that were declared lost before.
    repeat: bool,
    dropped: bool,
}

/// Of a full datagram: packet header, frame header and authentication tag, which are no object
/// bytes. The mean over noq's packets: 10 MB without loss are 6952 datagrams of 1472 bytes.
const OVERHEAD: u64 = 34;

/// What is written in the logbook.
#[derive(Debug, Default)]
pub struct Entries {
    packets: Vec<Sent>,
    last_sent: Option<Time>,
    /// Bytes declared lost that wait to be sent again. The stack repeats before it sends anything
    /// new.
    owed: u64,
    /// Packets declared lost that the path did drop; over real sockets, where nobody says, none.
    pub packets_lost: u64,
    /// Packets that the path dropped.
    pub packets_dropped: u64,
    /// Packets declared lost of which no drop is known.
    pub spurious: u64,
    /// Packets that carried bytes declared lost before.
    pub repeats: u64,
    /// Object bytes in them.
    pub repeated_bytes: u64,
    /// Such packets that the path dropped.
    pub lost_repeats: u64,
    /// What the controller has been through. Which bytes a packet repeats is the stack's secret, so
    /// it does not know what is repaired.
    pub account: Account<Vec<Kept>>,
    datagram: u64,
    watched: bool,
    notes: Vec<Note>,
    acked: Vec<u64>,
    lost: Vec<u64>,
}

impl Entries {
    /// Packets sent.
    pub fn packets_sent(&self) -> u64 {
        self.packets.len() as u64
    }

    pub(crate) fn last_sent(&self) -> Option<Time> {
        self.last_sent
    }

    /// The recovery episodes of a trial that began at `begin` and ended with a window of `cwnd`
    /// bytes, in its own time.
    pub fn episodes(&self, begin: Time, cwnd: u64) -> Vec<Episode> {
        let since = |at: Time| Time(at.0.saturating_sub(begin.0));
        let own = |episode: Episode| Episode {
            start: since(episode.start),
            end: episode.end.map(since),
            ..episode
        };
        self.account.reported(cwnd).map(own).collect()
    }

    /// What became of the packet that was sent last.
    pub(super) fn settle_last(&mut self, bytes: u64, arrives: [Option<Time>; 2]) {
        let Some(packet) = self.packets.last() else { return };
        let left = Packet {
            number: packet.position,
            bytes,
            stream: None,
            repeat: Some(packet.repeat),
            dropped: arrives[0].is_none(),
        };
        let sent = |note: &&mut Note| matches!(note.told, Some(Event::Sent(_)));
        if let Some(note) = self.notes.iter_mut().rev().find(sent) {
            (note.packet, note.arrives) = (Some(left), arrives);
        }
    }

    /// The path dropped the packet that was sent last.
    pub(crate) fn drop_last(&mut self) {
        let Some(packet) = self.packets.last_mut() else { return };
        packet.dropped = true;
        self.packets_dropped += 1;
        self.lost_repeats += u64::from(packet.repeat);
    }

    /// What was noted since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// A packet left of which no tap tells.
    pub(crate) fn on_untold(&mut self, now: Time) {
        let position = self.packets.last().map_or(0, |packet| packet.position + 1);
        self.on_sent(now, position, 0);
    }

    fn on_sent(&mut self, now: Time, position: u64, bytes: u64) {
        let repeat = self.owed > 0;
        if repeat {
            self.owed = self.owed.saturating_sub(bytes);
            self.repeats += 1;
            self.repeated_bytes += bytes.saturating_sub(OVERHEAD);
        }
        self.packets.push(Sent { position, repeat, dropped: false });
        self.account.on_sent(now);
        self.last_sent = Some(now);
    }

    fn on_lost(&mut self, position: u64, bytes: u64) {
        // Positions ascend; packet numbers are skipped at random, so they have holes.
        let Ok(index) = self.packets.binary_search_by_key(&position, |packet| packet.position)
        else {
            return;
        };
        self.owed += bytes;
        if self.packets[index].dropped {
            self.packets_lost += 1;
        } else {
            self.spurious += 1;
        }
    }
}

/// The logbook: a [`Tap`] that trials read.
#[derive(Debug, Default)]
pub struct Logbook {
    entries: Mutex<Entries>,
}

impl Logbook {
    /// An empty one for packets of `datagram` bytes; with `watched` every event is noted.
    pub fn new(datagram: u16, watched: bool) -> Logbook {
        Logbook {
            entries: Mutex::new(Entries {
                account: Account::new(u64::from(datagram)),
                datagram: u64::from(datagram),
                watched,
                ..Entries::default()
            }),
        }
    }

    /// What is written in it.
    pub fn open(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trial begins: what came before was the handshake.
    pub fn begin(&self) {
        let mut entries = self.open();
        // What the controller has heard of the handshake belongs to its log.
        let notes = std::mem::take(&mut entries.notes);
        *entries = Entries {
            account: Account::new(entries.datagram),
            datagram: entries.datagram,
            watched: entries.watched,
            notes,
            ..Entries::default()
        };
    }
}

impl Tap for Logbook {
    fn listens(&self) -> bool {
        self.open().watched
    }

    fn on_event(&self, moment: &Moment<'_>) {
        let mut entries = self.open();
        match moment.event {
            Happened::Sent { position, bytes } => {
                entries.account.on_ready(moment.controller);
                entries.on_sent(moment.now, position, bytes);
            }
            Happened::Lost { position, bytes } => {
                entries.on_lost(position, bytes);
                if entries.watched {
                    entries.lost.push(position);
                }
            }
            Happened::Ack | Happened::Timer => {
                if let Some(ack) = moment.ack {
                    entries.account.on_ack(ack, moment.controller);
                }
            }
            Happened::Spurious => entries.account.on_spurious(moment.controller),
            Happened::Restart | Happened::Begin | Happened::Told => {}
            Happened::Acked { position } => {
                entries.acked.push(position);
                return;
            }
        }
        if entries.watched && !matches!(moment.event, Happened::Lost { .. }) {
            if moment.begin.is_some() {
                // Nothing before it matters any more.
                entries.notes.clear();
            }
            let of_ack = matches!(moment.told, Some(Event::Ack(_)));
            let entries = &mut *entries;
            let packets = |of: &mut Vec<u64>| if of_ack { std::mem::take(of) } else { Vec::new() };
            let (acked, lost) = (packets(&mut entries.acked), packets(&mut entries.lost));
            entries.notes.push(Note {
                now: moment.now,
                event: moment.event,
                inflight: moment.inflight,
                ack: moment.ack.copied(),
                controller: *moment.controller,
                told: moment.told.copied(),
                begin: moment.begin,
                packet: None,
                arrives: [None; 2],
                acked,
                lost,
            });
        }
    }
}
