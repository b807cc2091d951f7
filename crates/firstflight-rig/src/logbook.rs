//! The logbook of a trial: the controller's actions and the actual fate of its packets.
//!
//! The stack owns its controller, which reports every event to the logbook; the trial reads the
//! logbook. Packets are identified by their position in the order of sending; the trial reports
//! which of them the path dropped.

use crate::audit::Flight;
use crate::followed::{Followed, Witness};
use firstflight::account::Kept;
use firstflight::state::{Packet, State};
use firstflight::{Account, AnyController, Begin, Episode, Event, Exit, Nanos, Recorder, Time};
use firstflight_quic::{SharedState, Status};
use firstflight_sim::{Cause, Counters, Observer, Record, Snapshot, Tape};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    position: u64,
    bytes: u64,
    /// Whether it carries bytes that were declared lost before.
    repeat: bool,
    dropped: bool,
}

/// Bytes of a full datagram that are not object bytes: packet header, frame header and
/// authentication tag. The mean over noq's packets: 10 MB without loss are 6952 datagrams of 1472
/// bytes.
const OVERHEAD: u64 = 34;

/// Logbook of a sender: a [`Recorder`] that trials read.
#[derive(Debug, Default)]
pub struct Logbook {
    packets: Vec<Sent>,
    last_sent: Option<Time>,
    /// Bytes declared lost that wait for retransmission. The stack retransmits before it sends new
    /// data.
    owed: u64,
    /// Counters of packets. Over real sockets, where the drops are unknown, no packet counts as
    /// lost, and each packet declared lost counts as a spurious loss. The stack does not reveal
    /// which packets are retransmissions: those that carry bytes declared lost before, with
    /// headers of the usual size.
    pub(crate) counted: Counters,
    /// History of the controller. The stack does not reveal which bytes a packet retransmits, so
    /// the history does not know what is repaired.
    pub account: Account<Vec<Kept>>,
    datagram: u64,
    seen: Option<Seen>,
    followed: Option<Followed>,
    flight: Flight,
}

/// Events for an observer.
#[derive(Debug, Default)]
struct Seen {
    begin: Option<Begin>,
    tape: Tape,
    inflight: u64,
    min_rtt: Option<Nanos>,
}

impl Logbook {
    /// An empty logbook for packets of `datagram` bytes; with `watched` it keeps every event.
    pub fn new(datagram: u16, watched: bool) -> Logbook {
        Logbook {
            account: Account::new(u64::from(datagram)),
            datagram: u64::from(datagram),
            seen: watched.then(Seen::default),
            ..Logbook::default()
        }
    }

    /// Starts the trial. Events so far belong to the handshake; they stay in the controller's log.
    pub fn begin(&mut self) {
        self.flight.begin();
        *self = Logbook {
            account: Account::new(self.datagram),
            datagram: self.datagram,
            seen: self.seen.take(),
            followed: self.followed.take(),
            flight: std::mem::take(&mut self.flight),
            ..Logbook::default()
        };
    }

    /// Follows a stack's own controller: the logbook records its state after each call, which it
    /// stores in the returned value; our controller, which reports the events, controls nothing.
    pub(crate) fn follow(&mut self, witness: Option<Witness>) -> SharedState {
        let followed = self.followed.insert(Followed::new(witness));
        followed.state.clone()
    }

    /// Exit of the followed controller's startup, if it could be observed.
    pub(crate) fn seen_exit(&self) -> Option<Exit> {
        self.followed.as_ref().and_then(|followed| followed.exit)
    }

    /// Largest window, bytes.
    pub(crate) fn cwnd_max(&self) -> u64 {
        match &self.followed {
            Some(followed) => followed.cwnd_max,
            None => self.account.cwnd_max(),
        }
    }

    /// The counters, with those of the controller if it is ours.
    pub fn counters(&self, status: Option<&Status>) -> Counters<Option<u64>> {
        let stats = status.map(|status| status.stats);
        let counted = &self.counted;
        Counters {
            packets_sent: Some(self.packets_sent()),
            packets_lost: Some(counted.packets_lost),
            packets_dropped: Some(counted.packets_dropped),
            spurious_losses: Some(counted.spurious_losses),
            retransmissions: Some(counted.retransmissions),
            retransmitted_bytes: Some(counted.retransmitted_bytes),
            lost_retransmissions: Some(counted.lost_retransmissions),
            recoveries: stats.map(|stats| u64::from(stats.loss_episodes)),
            recoveries_below_ssthresh: stats.map(|_| self.account.recoveries_below_ssthresh()),
            slow_starts_after_recovery: stats
                .map(|stats| u64::from(stats.slow_starts_after_recovery)),
            undone: stats.map(|stats| u64::from(stats.undone)),
            ..Counters::default()
        }
    }

    /// Packets declared lost, whether or not they were.
    pub fn declared_lost(&self) -> u64 {
        self.counted.packets_lost + self.counted.spurious_losses
    }

    /// Packets that the path dropped.
    pub(crate) fn packets_dropped(&self) -> u64 {
        self.counted.packets_dropped
    }

    /// Packets sent.
    pub fn packets_sent(&self) -> u64 {
        self.packets.len() as u64
    }

    pub(crate) fn last_sent(&self) -> Option<Time> {
        self.last_sent
    }

    /// The recovery episodes of a trial that started at `begin` and ended with a window of `cwnd`
    /// bytes, with times from the start of the trial.
    pub fn episodes(&self, begin: Time, cwnd: u64) -> Vec<Episode> {
        let since = |at: Time| Time(at.0.saturating_sub(begin.0));
        let own = |episode: Episode| Episode {
            start: since(episode.start),
            end: episode.end.map(since),
            ..episode
        };
        self.account.reported(cwnd).map(own).collect()
    }

    /// The fate of the last packet sent: when it and its duplicate arrive, `None` if the path
    /// dropped it.
    pub(super) fn settle_last(&mut self, bytes: u64, arrives: [Option<Time>; 2]) {
        let Some(packet) = self.packets.last_mut() else { return };
        packet.dropped = arrives[0].is_none();
        self.counted.packets_dropped += u64::from(packet.dropped);
        self.counted.lost_retransmissions += u64::from(packet.dropped && packet.repeat);
        let left = Packet {
            number: packet.position,
            bytes,
            stream: None,
            repeat: Some(packet.repeat),
            dropped: packet.dropped,
        };
        if let Some(record) = self.seen.as_mut().and_then(|seen| seen.tape.last_sent()) {
            (record.packet, record.arrives) = (Some(left), arrives);
        }
    }

    /// Passes the records since the last call to `observer`; the trial started at `begin` on the
    /// controller's clock. `delivered`: object bytes read at the receiver so far; `queue`: bytes
    /// waiting at the bottleneck.
    pub fn read_to(
        &mut self,
        observer: &mut dyn Observer,
        begin: Time,
        mut delivered: impl FnMut(Time) -> u64,
        queue: u64,
    ) {
        let Some(seen) = &mut self.seen else { return };
        if let Some(built) = seen.begin.take() {
            observer.on_begin(&built, begin);
        }
        for record in &mut seen.tape {
            let delivered = delivered(record.event.now());
            tell(
                Record { state: State { delivered, queue, ..record.state }, ..record },
                begin,
                observer,
            );
        }
    }

    fn on_sent(&mut self, now: Time, position: u64, bytes: u64) {
        let repeat = self.owed > 0;
        if repeat {
            self.owed = self.owed.saturating_sub(bytes);
            self.counted.retransmissions += 1;
            self.counted.retransmitted_bytes += bytes.saturating_sub(OVERHEAD);
        }
        self.packets.push(Sent { position, bytes, repeat, dropped: false });
        self.last_sent = Some(now);
    }
}

/// Locks a logbook that a stack's controller shares.
pub fn open(logbook: &Mutex<Logbook>) -> MutexGuard<'_, Logbook> {
    logbook.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes one record to the observer, and for a send or an ACK also the state, on the trial's
/// clock.
fn tell(record: Record, begin: Time, observer: &mut dyn Observer) {
    let cause = match &record.event {
        Event::Sent(_) => Some(Cause::Sent),
        Event::Ack(ack, so_far) if so_far.is_timer(ack) => Some(Cause::Timer),
        Event::Ack(..) => Some(Cause::Ack),
        _ => None,
    };
    let now = record.event.now();
    if let Some(event) = cause.filter(|_| now >= begin) {
        let now = Time(now.0 - begin.0);
        let snapshot = Snapshot { flow: 0, now, event, state: record.state, exit: record.exit };
        observer.on_event(&snapshot, &|visit| {
            record.signals.iter().for_each(|(name, value)| visit(name, *value));
        });
    }
    observer.on_told(record);
}

impl Recorder<AnyController> for Logbook {
    fn on_begin(&mut self, begin: &Begin) {
        if let Some(followed) = &self.followed {
            followed.begin(begin);
        }
        if let Some(seen) = &mut self.seen {
            seen.tape.clear();
            seen.begin = Some(*begin);
        }
    }

    fn on_event(&mut self, event: &Event, after: &AnyController) {
        self.flight.on_event(event);
        debug_assert_eq!(after.misfed(), None, "the adapter reports what cannot be: {event:?}");
        self.account.take(event, after);
        if let Event::Sent(sent) = event {
            self.on_sent(sent.now, sent.nxt.0.saturating_sub(1), sent.bytes);
        }
        if let Some(followed) = &mut self.followed {
            followed.take(event);
            followed.tell(event, after);
        }
        let Some(seen) = &mut self.seen else { return };
        seen.inflight = event.inflight().unwrap_or(seen.inflight);
        if let Event::Ack(_, so_far) = event {
            seen.min_rtt = so_far.min_rtt.or(seen.min_rtt);
        }
        seen.tape.on_event(event, after);
        if let Some(record) = seen.tape.newest() {
            (record.state.inflight, record.state.min_rtt) = (seen.inflight, seen.min_rtt);
            if let Some(followed) = &self.followed {
                followed.write(record);
            }
        }
    }

    fn on_acked(&mut self, number: u64) {
        self.flight.on_acked(number);
        if let Some(seen) = &mut self.seen {
            Recorder::<AnyController>::on_acked(&mut seen.tape, number);
        }
    }

    fn on_lost(&mut self, number: u64) {
        self.flight.on_lost(number);
        // Positions ascend with gaps, because packet numbers are skipped at random.
        if let Ok(index) = self.packets.binary_search_by_key(&number, |packet| packet.position) {
            let packet = self.packets[index];
            self.owed += packet.bytes;
            self.counted.packets_lost += u64::from(packet.dropped);
            self.counted.spurious_losses += u64::from(!packet.dropped);
        }
        if let Some(seen) = &mut self.seen {
            Recorder::<AnyController>::on_lost(&mut seen.tape, number);
        }
    }
}
