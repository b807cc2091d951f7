//! One TCP flow between two hosts: what is on the wire in each direction, and the single step that moves it to its next event.

use super::{AckPacket, Host, Receiver, Segment, Sender};
use crate::observe::{Event, Observer, Snapshot};
use crate::outcome::{Outcome, Stop};
use crate::wire::{Arrives, Wire};
use firstflight::startup::Startup;
use firstflight::{Ack, Time};
use firstflight_path::{Fate, Link};
use hdrhistogram::Histogram;

#[derive(Clone, Copy, Debug, Default)]
struct DataOnWire {
    at: u64,
    segment: Segment,
}

#[derive(Clone, Copy, Debug, Default)]
struct AckOnWire {
    at: u64,
    packet: AckPacket,
}

impl Arrives for DataOnWire {
    fn at(&self) -> u64 {
        self.at
    }
}

impl Arrives for AckOnWire {
    fn at(&self) -> u64 {
        self.at
    }
}

/// No event is due.
const NEVER: u64 = u64::MAX;

/// One flow that carries one object.
pub struct Flow<S: Startup> {
    id: u32,
    host: Host,
    sender: Sender<S>,
    receiver: Receiver,
    data: Wire<DataOnWire>,
    acks: Wire<AckOnWire>,
    queue_us: Histogram<u32>,
    object: u64,
    delivered_at: Option<Time>,
}

impl<S: Startup> Flow<S> {
    /// A flow of `object` bytes.
    ///
    /// # Panics
    /// Never: the histogram's bounds are constants.
    pub fn new(id: u32, host: Host, sender: Sender<S>, object: u64) -> Flow<S> {
        // 1 us to 120 s at two significant digits: 0.8 % resolution in 20 kB.
        let queue_us = Histogram::new_with_bounds(1, 120_000_000, 2).expect("constant bounds are valid");
        Flow {
            id,
            sender,
            receiver: Receiver::new(&host),
            data: Wire::default(),
            acks: Wire::default(),
            queue_us,
            object,
            delivered_at: None,
            host,
        }
    }

    /// The sender.
    pub fn sender(&self) -> &Sender<S> {
        &self.sender
    }

    /// Every byte is acknowledged.
    #[inline]
    pub fn complete(&self) -> bool {
        self.sender.complete()
    }

    /// Object bytes delivered in order at the receiver.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// When something happens next in this flow, ns.
    #[inline]
    pub fn next_event(&self) -> u64 {
        let wire = self.data.next().min(self.acks.next());
        let due = |time: Option<Time>| time.map_or(NEVER, |time| time.0);
        wire.min(due(self.receiver.ack_due())).min(due(self.sender.release_at())).min(due(self.sender.timer_at()))
    }

    /// Everything that is due at `now`, arrivals before timers, and then what may be sent.
    #[inline]
    pub fn step<O: Observer>(&mut self, now: u64, forward: &mut Link, reverse: &mut Link, observer: &mut O) {
        let time = Time(now);
        while let Some(data) = self.data.arrive(now) {
            let ack = self.receiver.on_segment(time, &data.segment);
            if self.delivered_at.is_none() && self.receiver.delivered() >= self.object {
                self.delivered_at = Some(time);
            }
            if let Some(packet) = ack {
                self.return_ack(now, packet, reverse);
            }
        }
        let mut heard = false;
        while let Some(ack) = self.acks.arrive(now) {
            heard = true;
            if let Some(record) = self.sender.on_ack(time, &ack.packet) {
                self.watch::<O>(time, Event::Ack, Some(&record), forward, observer);
            }
        }
        if self.receiver.ack_due().is_some_and(|due| due <= time) {
            let packet = self.receiver.acknowledge(time);
            self.return_ack(now, packet, reverse);
        }
        if heard {
            // What the ACKs let go leaves before a timer of the same instant looks at it, and the timer may have been put off.
            self.pump(now, forward, observer);
        }
        let timer = self.sender.timer_at().is_some_and(|due| due <= time);
        if timer {
            let record = self.sender.on_timer(time);
            self.watch::<O>(time, Event::Timer, record.as_ref(), forward, observer);
        }
        if timer || (!heard && self.sender.release_at().is_some_and(|at| at <= time)) {
            self.pump(now, forward, observer);
        }
    }

    /// Sends whatever window, pacer and data allow.
    pub fn pump<O: Observer>(&mut self, now: u64, forward: &mut Link, observer: &mut O) {
        while let Some(sent) = self.sender.poll(Time(now)) {
            let on_wire = |at, marked| DataOnWire { at, segment: Segment { marked, ..sent.segment } };
            match forward.offer(now, sent.segment.len + self.host.header) {
                Fate::Deliver { at, waited, marked } => {
                    self.queue_us.saturating_record(waited / 1000);
                    self.data.send(on_wire(at, marked));
                }
                Fate::Duplicate { at, again, waited, marked } => {
                    self.queue_us.saturating_record(waited / 1000);
                    self.data.send(on_wire(at, marked));
                    self.data.send(on_wire(again, marked));
                }
                Fate::Drop(_) => self.sender.on_dropped(&sent),
            }
            self.watch::<O>(Time(now), Event::Sent, None, forward, observer);
        }
    }

    fn return_ack(&mut self, now: u64, packet: AckPacket, reverse: &mut Link) {
        match reverse.offer(now, self.host.header + packet.option_bytes()) {
            Fate::Deliver { at, .. } => self.acks.send(AckOnWire { at, packet }),
            Fate::Duplicate { at, again, .. } => {
                self.acks.send(AckOnWire { at, packet });
                self.acks.send(AckOnWire { at: again, packet });
            }
            Fate::Drop(_) => {}
        }
    }

    #[inline]
    fn watch<O: Observer>(&self, now: Time, event: Event, ack: Option<&Ack>, forward: &mut Link, observer: &mut O) {
        if !O::WATCHES {
            return;
        }
        let controller = self.sender.controller();
        let snapshot = Snapshot {
            flow: self.id,
            now,
            event,
            cwnd: controller.cwnd(),
            ssthresh: controller.ssthresh(),
            inflight: self.sender.inflight(),
            pacing_rate: controller.pacing_rate().map(|rate| rate.0),
            rtt: ack.and_then(|ack| ack.rtt),
            min_rtt: self.sender.min_rtt(),
            delivered: self.delivered(),
            lost: ack.map_or(0, |ack| ack.lost),
            queue: forward.queued_bytes(now.0),
            phase: controller.phase(),
            exit: controller.exit().copied(),
        };
        observer.on_event(&snapshot, &|visit| controller.signals(visit));
    }

    /// The result, when the trial stopped at `now`.
    pub fn finish(self, now: u64, stop: Stop) -> Outcome {
        let first = self.sender.first_sent().unwrap_or_default();
        let counters = self.sender.counters();
        let truth = self.sender.board().truth();
        let mut episodes = self.sender.episodes().to_vec();
        if let Some(open) = episodes.last_mut().filter(|episode| episode.end.is_none()) {
            open.cwnd_after = self.sender.controller().cwnd();
        }
        Outcome {
            stop,
            ttlb: Time(now).since(first),
            delivered_after: self.delivered_at.map(|at| at.since(first)),
            delivered: self.delivered(),
            packets_sent: self.sender.transmissions(),
            packets_lost: truth.dropped,
            packets_dropped: counters.packets_dropped,
            spurious_losses: truth.delivered,
            retransmitted_bytes: counters.retransmitted_bytes,
            lost_retransmissions: counters.lost_retransmissions,
            retransmissions: counters.retransmissions,
            rtos: counters.rtos,
            probes: counters.probes,
            recoveries: counters.recoveries,
            recoveries_below_ssthresh: counters.recoveries_below_ssthresh,
            recoveries_timed_out: counters.recoveries_timed_out,
            slow_starts_after_recovery: u64::from(self.sender.controller().stats().slow_starts_after_recovery),
            undone: counters.undone,
            early_retransmits: counters.early_retransmits,
            early_retransmits_spurious: counters.early_retransmits_spurious,
            exit: self.sender.controller().exit().copied(),
            episodes,
            queue_us: self.queue_us,
            cwnd_max: counters.cwnd_max,
        }
    }
}
