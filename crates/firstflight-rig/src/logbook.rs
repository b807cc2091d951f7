//! The logbook of a trial: what the controller did, and what truly became of its packets.
//!
//! A tap cannot borrow from the trial, so it writes here and the trial reads. Packets are known by
//! their position in the order of sending; the trial says which of them the path dropped.

use firstflight::arm::ArmController;
use firstflight::{Ack, Nanos, Time, Told};
use firstflight_quic::{Begin, Event, Moment, Tap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// When it began.
    pub start: Time,
    /// When it ended; `None` if the trial ended first.
    pub end: Option<Time>,
    /// Window just before, bytes.
    pub cwnd_before: u64,
    /// Bytes in flight just before the ACK that opened it.
    pub inflight: u64,
    /// Bytes acknowledged in it, by the ACKs that opened and closed it included.
    pub acked: u64,
    /// Bytes declared lost in it, likewise.
    pub lost: u64,
    /// Longest time without sending in it.
    pub silence: Nanos,
    /// Window when it ended, or at the end of the trial.
    pub cwnd_after: u64,
}

/// One event and the controller right after it, for whoever watches.
#[derive(Clone, Debug)]
pub struct Note {
    /// When.
    pub now: Time,
    /// What.
    pub event: Event,
    /// Bytes in flight.
    pub inflight: u64,
    /// The record of an ACK or timer.
    pub ack: Option<Ack>,
    /// The controller.
    pub controller: ArmController,
    /// What it was told, for [`Event::Told`].
    pub told: Option<Told>,
    /// What it was built from, for [`Event::Begin`] and [`Event::Restart`].
    pub begin: Option<Begin>,
    /// The packet behind [`Told::Sent`].
    pub packet: Option<Departure>,
    /// Positions newly acknowledged and newly declared lost, for [`Told::Ack`].
    pub acked: Vec<u64>,
    /// See `acked`.
    pub lost: Vec<u64>,
}

/// A packet as it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Its position in the order of sending.
    pub position: u64,
    /// Bytes of the datagram.
    pub bytes: u64,
    /// It carries bytes that were declared lost before.
    pub repeat: bool,
    /// When it and its duplicate will arrive; none if the path drops it.
    pub arrives: [Option<Time>; 2],
}

/// One packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
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
    packets: Vec<Packet>,
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
    /// Episodes opened by loss with no more in flight at entry than the threshold allows.
    pub below_ssthresh: u64,
    /// Largest window, bytes.
    pub cwnd_max: u64,
    /// Recovery episodes.
    pub episodes: Vec<Episode>,
    episodes_seen: u32,
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

    /// What became of the packet that was sent last.
    pub(super) fn settle_last(&mut self, bytes: u64, arrives: [Option<Time>; 2]) {
        let Some(packet) = self.packets.last() else { return };
        let departure =
            Departure { position: packet.position, bytes, repeat: packet.repeat, arrives };
        let sent = |note: &&mut Note| matches!(note.told, Some(Told::Sent(_)));
        if let Some(note) = self.notes.iter_mut().rev().find(sent) {
            note.packet = Some(departure);
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
        self.packets.push(Packet { position, repeat, dropped: false });
        if let Some(episode) = self.episodes.last_mut().filter(|episode| episode.end.is_none()) {
            let quiet_since = self.last_sent.unwrap_or_default().max(episode.start);
            episode.silence = episode.silence.max(now.since(quiet_since));
        }
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

    fn on_ack(&mut self, ack: &Ack, cwnd_before: u64, controller: &ArmController) {
        let datagram = self.datagram.max(1);
        let seen = controller.stats().loss_episodes + controller.stats().ecn_episodes;
        let opened = seen != self.episodes_seen;
        if let Some(episode) = self.episodes.last_mut().filter(|episode| episode.end.is_none()) {
            episode.acked += ack.acked;
            episode.lost += ack.lost;
            if opened || !controller.in_recovery() {
                episode.end = Some(ack.now);
                episode.cwnd_after = if opened { cwnd_before } else { controller.cwnd() };
            }
        }
        if opened {
            self.episodes_seen = seen;
            if ack.lost > 0 {
                let threshold = controller.ssthresh().unwrap_or(u64::MAX);
                self.below_ssthresh +=
                    u64::from(ack.inflight.div_ceil(datagram) <= threshold / datagram);
            }
            self.episodes.push(Episode {
                start: ack.now,
                end: None,
                cwnd_before,
                inflight: ack.inflight_before,
                acked: ack.acked,
                lost: ack.lost,
                silence: Nanos::ZERO,
                cwnd_after: controller.cwnd(),
            });
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
            Event::Sent { position, bytes } => entries.on_sent(moment.now, position, bytes),
            Event::Lost { position, bytes } => {
                entries.on_lost(position, bytes);
                if entries.watched {
                    entries.lost.push(position);
                }
            }
            Event::Ack | Event::Timer => {
                if let Some(ack) = moment.ack {
                    entries.on_ack(ack, moment.cwnd_before, moment.controller);
                }
            }
            Event::Spurious | Event::Restart | Event::Begin | Event::Told => {}
            Event::Acked { position } => {
                entries.acked.push(position);
                return;
            }
        }
        entries.cwnd_max = entries.cwnd_max.max(moment.cwnd_before).max(moment.controller.cwnd());
        if entries.watched && !matches!(moment.event, Event::Lost { .. }) {
            if moment.begin.is_some() {
                // Nothing before it matters any more.
                entries.notes.clear();
            }
            let of_ack = matches!(moment.told, Some(Told::Ack(_)));
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
                acked,
                lost,
            });
        }
    }
}
