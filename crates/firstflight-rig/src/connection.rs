//! One flow of a trial: a sender, a receiver, and their counters.

use crate::books::Books;
use crate::followed::Witness;
use crate::install::{Installed, install};
use crate::logbook::{Logbook, open};
use crate::merge::Merge;
use crate::noq_sender::NoqSender;
#[cfg(feature = "quinn")]
use crate::quinn_sender;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::trial::{Control, FlowPlan, Outcome, Shared, StackLog};
use crate::wire::{Lane, Offered, Wire};
use bytes::BytesMut;
use firstflight::{Exit, Nanos, Time};
use firstflight_path::{Error, Path, Reverse, Rwnd};
use firstflight_sim::{Counted, Counters, Observer};
use hdrhistogram::Histogram;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Both directions of the path.
#[derive(Default)]
pub(crate) struct Ways {
    pub(crate) down: Wire,
    pub(crate) up: Wire,
}

/// Times of a flow on the trial's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    /// When the first byte of the object was passed to the sender.
    begin: Option<u64>,
    delivered: Option<u64>,
}

/// Extras that only the first flow of a trial may have.
#[derive(Default)]
pub(crate) struct Watched<'a> {
    pub(crate) observer: Option<&'a mut (dyn Observer + 'a)>,
    pub(crate) log: Option<StackLog>,
    pub(crate) witness: Option<Witness>,
}

/// Object size of a flow without end: more than any trial transfers.
const ENDLESS: u64 = 1 << 40;

pub(crate) struct Connection<'a> {
    flow: u32,
    plan: FlowPlan,
    object: u64,
    observer: Option<&'a mut (dyn Observer + 'a)>,
    epoch: Instant,
    /// A round trip of the path, ns.
    rtt: u64,
    sender: Box<dyn Sender>,
    receiver: Receiver,
    /// Merging at the receiving host, from the start of the object on.
    merge: Option<Merge>,
    logbook: Arc<Mutex<Logbook>>,
    marks: Marks,
    queue_us: Histogram<u32>,
    probe_timeouts: u64,
    stream_window: u64,
    books: Books,
}

fn sender(
    (shared, plan, object): (&Shared<'_>, &FlowPlan, u64),
    epoch: Instant,
    logbook: &Arc<Mutex<Logbook>>,
    (seed, log, witness): ([u8; 32], Option<StackLog>, Option<Witness>),
) -> Result<Box<dyn Sender>, Error> {
    let log = log.map(|log| (epoch, log));
    let from_receiver = noq_proto::FourTuple::new(RECEIVER, Some(SENDER.ip()));
    // The whole object at once, unless it has no end.
    let window = plan.object.map_or(1 << 28, |_| object.saturating_add(1_000_000));
    let size = (object, window, shared.datagram);
    Ok(match install(plan.control, shared, epoch, logbook, witness)? {
        Installed::Noq(factory) => {
            Box::new(NoqSender::new(size, factory, from_receiver, seed, log)?)
        }
        #[cfg(feature = "quinn")]
        Installed::Quinn(factory) => {
            Box::new(quinn_sender::QuinnSender::new(size, factory, RECEIVER, seed, log)?)
        }
    })
}

const fn address(last: u8, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), port)
}

const SENDER: SocketAddr = address(1, 443);
const RECEIVER: SocketAddr = address(2, 50_000);

impl<'a> Connection<'a> {
    /// Starts the receiver's handshake at `now`.
    #[expect(clippy::large_types_passed_by_value, reason = "it is moved into its place once")]
    pub(crate) fn new(
        shared: &Shared<'_>,
        plan: FlowPlan,
        flow: u32,
        watched: Watched<'a>,
        (epoch, now): (Instant, u64),
    ) -> Result<Connection<'a>, Error> {
        let Watched { observer, log, witness } = watched;
        let object = plan.object.map_or(ENDLESS, |object| object.max(1));
        let logbook = Arc::new(Mutex::new(Logbook::new(shared.datagram, observer.is_some())));
        let stream_window = match shared.path.rwnd() {
            Some(Rwnd::Fixed(bytes)) => bytes,
            _ => plan.object.unwrap_or(object).saturating_add(1_000_000),
        };
        let seeds = |which: u8| {
            let mut seed = [which; 32];
            seed[..8].copy_from_slice(&shared.seed.to_le_bytes());
            seed[8..16].copy_from_slice(&shared.path_index.to_le_bytes());
            if flow > 0 {
                seed[16..20].copy_from_slice(&flow.to_le_bytes());
            }
            seed
        };
        let from_sender =
            iroh_quinn_proto::FourTuple { remote: SENDER, local_ip: Some(RECEIVER.ip()) };
        let sender = sender((shared, &plan, object), epoch, &logbook, (seeds(1), log, witness))?;
        let start = epoch + Duration::from_nanos(now);
        let receiver =
            Receiver::new(start, stream_window, SENDER, from_sender, seeds(2), shared.datagram)?;
        Ok(Connection {
            flow,
            plan,
            object,
            observer,
            epoch,
            rtt: shared.path.rtt(),
            sender,
            receiver,
            merge: None,
            logbook,
            marks: Marks::default(),
            // 1 us to 120 s at two significant digits: 0.8 % resolution in 20 kB.
            queue_us: Histogram::new_with_bounds(1, 120_000_000, 2)
                .map_err(|error| Error::new(error.to_string()))?,
            probe_timeouts: 0,
            stream_window,
            books: Books::default(),
        })
    }

    fn instant(&self, now: u64) -> Instant {
        self.epoch + Duration::from_nanos(now)
    }

    fn time_of(&self, instant: Instant) -> u64 {
        u64::try_from(instant.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX)
    }

    /// When the first byte of the object was passed to the sender.
    pub(crate) fn begin_at(&self) -> Option<u64> {
        self.marks.begin
    }

    /// Whether the trial waits for its end.
    pub(crate) fn awaited(&self) -> bool {
        self.plan.object.is_some()
    }

    /// Whether every byte was acknowledged and read.
    pub(crate) fn done(&self) -> bool {
        self.sender.done() && self.receiver.finished()
    }

    /// Object bytes read in order.
    pub(crate) fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Packets sent and dropped so far.
    pub(crate) fn counted(&self) -> Counted {
        let book = open(&self.logbook);
        Counted { sent: book.packets_sent(), dropped: book.packets_dropped() }
    }

    /// When its next timer is due.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let timers = [self.receiver.timeout(), self.sender.timeout()]
            .map(|timer| timer.map(|timer| self.time_of(timer)));
        let merged = self.merge.as_ref().and_then(Merge::next);
        timers.into_iter().chain([merged]).flatten().min()
    }

    /// A datagram arrives at the receiver.
    pub(crate) fn take(&mut self, now: u64, ecn: u8, bytes: BytesMut, up: &mut Wire) {
        let instant = self.instant(now);
        let mut up = Lane { wire: up, flow: self.flow };
        match &mut self.merge {
            Some(merge) => merge.take(now, ecn, bytes),
            None => self.receiver.handle(instant, now, ecn, bytes, &mut up),
        }
    }

    /// Passes the merged datagrams to the receiver if they are due. Returns whether they were.
    pub(crate) fn flush(&mut self, now: u64, up: &mut Wire) -> bool {
        let instant = self.instant(now);
        let mut up = Lane { wire: up, flow: self.flow };
        let batch = self.merge.as_mut().map_or_else(Vec::new, |merge| merge.flush(now));
        let any = !batch.is_empty();
        for (ecn, bytes) in batch {
            self.receiver.handle(instant, now, ecn, bytes, &mut up);
        }
        any
    }

    /// Runs the receiver's timer if it is due. Returns whether it was.
    pub(crate) fn receiver_timer(&mut self, now: u64) -> bool {
        let instant = self.instant(now);
        let due = self.receiver.timeout().is_some_and(|due| due <= instant);
        if due {
            self.receiver.handle_timeout(instant);
        }
        due
    }

    /// A datagram arrives at the sender.
    pub(crate) fn hear(
        &mut self,
        now: u64,
        ecn: u8,
        bytes: BytesMut,
        down: &mut Wire,
    ) -> Result<(), Error> {
        let instant = self.instant(now);
        self.sender.handle(instant, now, ecn, bytes, &mut Lane { wire: down, flow: self.flow })
    }

    /// Runs the sender's timer if it is due. Returns whether it was.
    pub(crate) fn sender_timer(
        &mut self,
        shared: &Shared<'_>,
        now: u64,
        ways: &mut Ways,
    ) -> Result<bool, Error> {
        let instant = self.instant(now);
        if self.sender.timeout().is_none_or(|due| due > instant) {
            return Ok(false);
        }
        // Everything that arrived at this instant is answered first, so that only packets sent by
        // the timer itself can be probes.
        self.sender_turn(shared, now, ways)?;
        let before = {
            let book = open(&self.logbook);
            (book.packets_sent(), book.declared_lost(), book.last_sent())
        };
        self.sender.handle_timeout(instant);
        self.sender_turn(shared, now, ways)?;
        let book = open(&self.logbook);
        let quiet = before.2.is_some_and(|last| now.saturating_sub(last.0) >= self.rtt);
        let found = book.declared_lost() > before.1;
        self.probe_timeouts += u64::from(quiet && book.packets_sent() > before.0 && !found);
        Ok(true)
    }

    /// Sends everything that the receiver has to send.
    pub(crate) fn receiver_turn(&mut self, now: u64, up: &mut Wire) -> Result<(), Error> {
        let instant = self.instant(now);
        self.books.at(now);
        self.receiver.drive()?;
        self.books.on_read(self.receiver.received(), self.object);
        // The end of the stream may arrive after its last byte; the byte counts.
        if self.marks.delivered.is_none() && self.receiver.received() >= self.object {
            self.marks.delivered = Some(now);
        }
        while let Some((ecn, bytes)) = self.receiver.transmit(instant) {
            Lane { wire: up, flow: self.flow }.offer(now, ecn, bytes);
            let begun = self.marks.begin.is_some();
            if let Some(observer) = self.observer.as_deref_mut().filter(|_| begun) {
                observer.on_acknowledgement(self.flow, Time(now), bytes.len() as u32);
            }
        }
        Ok(())
    }

    /// Sends everything that the sender has to send.
    pub(crate) fn sender_turn(
        &mut self,
        shared: &Shared<'_>,
        now: u64,
        ways: &mut Ways,
    ) -> Result<(), Error> {
        let instant = self.instant(now);
        self.books.at(now);
        self.sender.drive()?;
        if self.marks.begin.is_none() && self.sender.serving() {
            self.begin(shared, now, ways)?;
        }
        loop {
            let before = open(&self.logbook).packets_sent();
            let Some((ecn, bytes)) = self.sender.transmit(instant) else { break };
            let ecn = if self.plan.control.uses_ecn() { ecn } else { 0 };
            let fate = Lane { wire: &mut ways.down, flow: self.flow }.offer(now, ecn, bytes);
            if self.marks.begin.is_none() {
                continue;
            }
            let mut book = open(&self.logbook);
            let packets = book.packets_sent();
            let data = packets > before;
            self.books.on_sent(before, packets, fate == Offered::Dropped);
            match fate {
                Offered::Sent { waited, at } if data => {
                    self.queue_us.saturating_record(waited / 1000);
                    book.settle_last(bytes.len() as u64, at.map(|at| at.map(Time)));
                }
                Offered::Dropped if data => {
                    book.settle_last(bytes.len() as u64, [None; 2]);
                }
                Offered::Sent { .. } | Offered::Dropped | Offered::Later => {}
            }
        }
        self.report(now, ways);
        Ok(())
    }

    /// The request has arrived: from now on the flow uses the path that all flows share.
    fn begin(&mut self, shared: &Shared<'_>, now: u64, ways: &mut Ways) -> Result<(), Error> {
        let path: &Path = shared.path;
        if !ways.down.has_begun() {
            let packet = u32::from(shared.datagram) + crate::wire::LOWER;
            let (down, up) =
                path.open(packet, shared.ack_packet, shared.seed, shared.path_index)?;
            ways.down.begin(Reverse::Link(down), now);
            ways.up.begin(up, now);
        }
        ways.down.join(self.flow);
        ways.up.join(self.flow);
        self.merge = path
            .receive_aggregation()
            .map(|(window, bytes)| Merge::new(window, bytes, shared.datagram));
        open(&self.logbook).begin();
        self.marks.begin = Some(now);
        Ok(())
    }

    /// Passes on the recorded events.
    fn report(&mut self, now: u64, ways: &mut Ways) {
        let (Some(observer), Some(begin)) = (self.observer.as_deref_mut(), self.marks.begin) else {
            return;
        };
        let (received, queue) = (self.receiver.received(), ways.down.queued(now));
        open(&self.logbook).read_to(observer, Time(begin), |_| received, queue);
    }

    /// The flow has ended, complete or not.
    pub(crate) fn finish(
        mut self,
        complete: bool,
        now: u64,
        steps: u64,
        ways: &mut Ways,
    ) -> Result<Outcome, Error> {
        self.sender.close_log();
        self.report(now, ways);
        let begin = self
            .marks
            .begin
            .ok_or_else(|| Error::new("the handshake did not finish within the limit"))?;
        let control: Control = self.plan.control;
        let status = self.sender.status();
        if status.map(|status| status.arm) != control.plan().map(|plan| plan.arm) {
            return Err(Error::new("the sender ran another controller"));
        }
        let book = open(&self.logbook);
        self.books.check(&book);
        let episodes =
            status.map_or_else(Vec::new, |status| book.episodes(Time(begin), status.cwnd));
        let exit = status.and_then(|status| status.exit).or_else(|| book.seen_exit());
        let counted = book.counters(status.as_ref());
        let counters = if control.names_losses() {
            Counters { rtos: Some(self.probe_timeouts), ..counted }
        } else {
            Counters {
                packets_lost: counted.packets_dropped,
                spurious_losses: None,
                retransmissions: None,
                retransmitted_bytes: None,
                lost_retransmissions: None,
                ..counted
            }
        };
        Ok(Outcome {
            complete,
            acked_after: Nanos(now - begin),
            delivered_after: self.marks.delivered.map(|at| Nanos(at - begin)),
            delivered: self.receiver.received(),
            counters,
            exit: exit.map(|exit| Exit { at: Time(exit.at.0.saturating_sub(begin)), ..exit }),
            episodes,
            queue_us: self.queue_us.clone(),
            cwnd_max: book.cwnd_max(),
            status,
            stream_window: self.stream_window,
            handshake_rtt: status.and_then(|status| status.handshake_rtt),
            steps,
        })
    }
}
