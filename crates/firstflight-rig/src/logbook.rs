//! The logbook of a trial: what the controller did, and what truly became of its packets.
//!
//! The stack owns its controller, which tells the logbook everything; the trial reads in it. Packets
//! are known by their position in the order of sending; the trial says which of them the path
//! dropped.

use crate::audit::Flight;
use crate::followed::{Followed, Witness};
use firstflight::Exit;
use firstflight::account::Kept;
use firstflight::arm::ArmController;
use firstflight::state::{Packet, State};
use firstflight::{Account, Begin, Episode, Event, Nanos, Recorder, Time};
use firstflight_quic::SharedState;
use firstflight_sim::{Cause, Observer, Record, Snapshot, Tape};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    position: u64,
    bytes: u64,
    /// Carries bytes that were declared lost before.
    repeat: bool,
    dropped: bool,
}

/// Of a full datagram: packet header, frame header and authentication tag, which are no object
/// bytes. The mean over noq's packets: 10 MB without loss are 6952 datagrams of 1472 bytes.
const OVERHEAD: u64 = 34;

/// Logbook of a sender: a [`Recorder`] that trials read.
#[derive(Debug, Default)]
pub struct Logbook {
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
    /// History of the controller. Which bytes a packet repeats is the stack's secret, so it does
    /// not know what is repaired.
    pub account: Account<Vec<Kept>>,
    datagram: u64,
    seen: Option<Seen>,
    followed: Option<Followed>,
    flight: Flight,
}

/// What an observer is to hear.
#[derive(Debug, Default)]
struct Seen {
    begin: Option<Begin>,
    tape: Tape,
    inflight: u64,
    min_rtt: Option<Nanos>,
}

impl Logbook {
    /// An empty one for packets of `datagram` bytes; with `watched` it keeps every event.
    pub fn new(datagram: u16, watched: bool) -> Logbook {
        Logbook {
            account: Account::new(u64::from(datagram)),
            datagram: u64::from(datagram),
            seen: watched.then(Seen::default),
            ..Logbook::default()
        }
    }

    /// The trial begins: what came before was the handshake. What the controller has heard of that
    /// belongs to its log.
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

    /// A controller that is not ours steers: what is recorded is what it is like after each call,
    /// which it leaves in what this returns; the controller that tells the events steers nothing.
    pub(crate) fn follow(&mut self, witness: Option<Witness>) -> SharedState {
        let followed = self.followed.insert(Followed::new(witness));
        followed.state.clone()
    }

    /// How the startup of the followed controller ended, if that could be seen.
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

    /// What became of the packet that was sent last: when it and its duplicate arrive, none if the
    /// path dropped it.
    pub(super) fn settle_last(&mut self, bytes: u64, arrives: [Option<Time>; 2]) {
        let Some(packet) = self.packets.last_mut() else { return };
        packet.dropped = arrives[0].is_none();
        self.packets_dropped += u64::from(packet.dropped);
        self.lost_repeats += u64::from(packet.dropped && packet.repeat);
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

    /// Passes to `observer` the records since the last call, of a trial that began at `begin` on
    /// the controller's clock. `delivered`: object bytes read at the receiver by then; `queue`:
    /// bytes waiting at the bottleneck.
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
            self.repeats += 1;
            self.repeated_bytes += bytes.saturating_sub(OVERHEAD);
        }
        self.packets.push(Sent { position, bytes, repeat, dropped: false });
        self.last_sent = Some(now);
    }
}

/// Locks a logbook that a stack's controller shares.
pub fn open(logbook: &Mutex<Logbook>) -> MutexGuard<'_, Logbook> {
    logbook.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One record, and the state after a send or an ACK on the trial's clock.
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

impl Recorder<ArmController> for Logbook {
    fn on_begin(&mut self, begin: &Begin) {
        if let Some(followed) = &self.followed {
            followed.begin(begin);
        }
        if let Some(seen) = &mut self.seen {
            seen.tape.clear();
            seen.begin = Some(*begin);
        }
    }

    fn on_event(&mut self, event: &Event, after: &ArmController) {
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
            Recorder::<ArmController>::on_acked(&mut seen.tape, number);
        }
    }

    fn on_lost(&mut self, number: u64) {
        self.flight.on_lost(number);
        // Positions ascend; packet numbers are skipped at random, so they have holes.
        if let Ok(index) = self.packets.binary_search_by_key(&number, |packet| packet.position) {
            let packet = self.packets[index];
            self.owed += packet.bytes;
            self.packets_lost += u64::from(packet.dropped);
            self.spurious += u64::from(!packet.dropped);
        }
        if let Some(seen) = &mut self.seen {
            Recorder::<ArmController>::on_lost(&mut seen.tape, number);
        }
    }
}
