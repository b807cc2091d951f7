//! FQ-CoDel: flow queues served in turn, each with its own CoDel. Plain CoDel is the same with a
//! single queue, which drops packets beyond the limit at its tail.
//!
//! Follows RFC 8290 and RFC 8289 (January 2018). Departures, all taken from Linux:
//! D1 RFC8290 4.2: the limit is that of the path's queue, in bytes. A packet that exceeds it makes
//! room at the head of the longest queue, dropping up to half of that queue and at most 64 packets.
//! D2 RFC8290 4.2: a new queue that ran empty goes to the end of the old ones only if there are
//! any; otherwise it leaves the lists at once, as there is no queue that it could starve.
//! D3 RFC8289 5.6: a packet is spared if at most one MTU waits in all queues together.

use crate::aqm::Codel;
use crate::capacity::PACKET;
use crate::fate::{DropCause, Verdict};
use crate::managed;
use crate::packet::{Dropped, Waiting};
use crate::random::{Purpose, Stream, mix};
use std::collections::VecDeque;

/// Maximum number of packets that one arriving packet pushes out.
const BATCH: u64 = 64;

#[derive(Clone, Debug)]
struct FlowQueue {
    packets: VecDeque<Waiting>,
    bytes: u64,
    deficit: i64,
    /// Whether it is in the list of new queues or in that of old ones.
    listed: bool,
    codel: Codel,
}

#[derive(Clone, Debug)]
pub(crate) struct FqCodel {
    queues: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    quantum: i64,
    capacity: u64,
    /// Whether an arriving packet that exceeds the capacity is dropped itself.
    tail_drop: bool,
    bytes: u64,
    /// Perturbs the hash of flows.
    salt: u64,
}

impl FqCodel {
    pub(crate) fn new(settings: managed::FqCodel, capacity: u64, seed: u64, path: u64) -> Self {
        let queue = FlowQueue {
            packets: VecDeque::new(),
            bytes: 0,
            deficit: 0,
            listed: false,
            codel: Codel::new(settings.target, settings.interval, false, 0),
        };
        Self {
            queues: vec![queue; settings.flows.max(1) as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: settings.quantum.max(1) as i64,
            capacity,
            tail_drop: false,
            bytes: 0,
            salt: Stream::new(seed, path, Purpose::Aqm).key(),
        }
    }

    /// Plain CoDel.
    pub(crate) fn codel(target: u64, interval: u64, capacity: u64) -> Self {
        let one = managed::FqCodel { flows: 1, target, interval, ..<_>::default() };
        Self { tail_drop: true, ..Self::new(one, capacity, 0, 0) }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// RFC8290 4.1: a packet joins the queue that its flow is hashed to.
    pub(crate) fn enqueue(&mut self, packet: Waiting, dropped: &mut Dropped<'_>) {
        if self.tail_drop && self.bytes.saturating_add(u64::from(packet.len)) > self.capacity {
            return dropped(packet, DropCause::Queue);
        }
        let place = (mix(self.salt ^ u64::from(packet.flow)) % self.queues.len() as u64) as usize;
        let queue = &mut self.queues[place];
        queue.bytes += u64::from(packet.len);
        self.bytes += u64::from(packet.len);
        queue.packets.push_back(packet);
        if !queue.listed {
            (queue.listed, queue.deficit) = (true, self.quantum);
            self.new.push_back(place);
        }
        while self.bytes > self.capacity {
            self.make_room(dropped);
        }
    }

    /// The link is free at `now` and nothing waits: queues that ran empty leave the lists.
    pub(crate) fn rest(&mut self, now: u64) {
        let next = self.dequeue(now, &mut |_, _| ());
        debug_assert!(next.is_none(), "a packet waits in front of a free link");
    }

    /// D1: makes room for a packet.
    fn make_room(&mut self, dropped: &mut Dropped<'_>) {
        let Some(queue) = self.queues.iter_mut().max_by_key(|queue| queue.bytes) else { return };
        let (half, mut freed, mut count) = (queue.bytes / 2, 0, 0);
        while count < BATCH
            && freed <= half
            && let Some(packet) = queue.packets.pop_front()
        {
            freed += u64::from(packet.len);
            count += 1;
            dropped(packet, DropCause::Queue);
        }
        queue.bytes -= freed;
        queue.codel.count_drops(count);
        self.bytes -= freed;
    }

    /// RFC8290 4.2: the next packet, and whether it is marked.
    pub(crate) fn dequeue(
        &mut self,
        now: u64,
        dropped: &mut Dropped<'_>,
    ) -> Option<(Waiting, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let queue = &mut self.queues[place];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            if let Some((packet, marked)) = queue.take(now, &mut self.bytes, dropped) {
                queue.deficit -= i64::from(packet.len);
                return Some((packet, marked));
            }
            list.pop_front();
            // D2, see the head of the file.
            if is_new && !self.old.is_empty() {
                self.old.push_back(place);
            } else {
                queue.listed = false;
            }
        }
    }
}

impl FlowQueue {
    /// RFC8289 5.5: the head of the queue, unless CoDel drops it.
    fn take(
        &mut self,
        now: u64,
        all: &mut u64,
        dropped: &mut Dropped<'_>,
    ) -> Option<(Waiting, bool)> {
        while let Some(packet) = self.packets.pop_front() {
            self.bytes -= u64::from(packet.len);
            *all -= u64::from(packet.len);
            let waited = now.saturating_sub(packet.since);
            // D3: the packet being dequeued no longer waits.
            let waited = if *all <= PACKET { 0 } else { waited };
            match self.codel.dequeue_as(now, waited, packet.codepoint.is_capable()) {
                Verdict::Pass => return Some((packet, false)),
                Verdict::Mark => return Some((packet, true)),
                Verdict::Drop => dropped(packet, DropCause::Aqm),
            }
        }
        self.codel.rest();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Codepoint;

    fn packet(flow: u32, since: u64, len: u32) -> Waiting {
        Waiting { id: 0, len, flow, codepoint: Codepoint::NotEct, since, ordinal: 0, lost: false }
    }

    fn queue(flows: u64, quantum: u64, capacity: u64) -> FqCodel {
        FqCodel::new(managed::FqCodel { flows, quantum, ..<_>::default() }, capacity, 1, 0)
    }

    /// The scenario of ns-3's deficit test: packets of 120 bytes, a quantum of 90.
    #[test]
    fn deficits_go_as_in_the_test_of_ns3() {
        let mut fq = queue(1024, 90, u64::MAX);
        let place = |fq: &FqCodel, flow: u32| (mix(fq.salt ^ u64::from(flow)) % 1024) as usize;
        let (a, b) = (place(&fq, 1), place(&fq, 2));
        assert_ne!(a, b, "two flows with this seed");
        let put = |fq: &mut FqCodel, flow| fq.enqueue(packet(flow, 0, 120), &mut |_, _| ());
        let take = |fq: &mut FqCodel| {
            let taken = fq.dequeue(0, &mut |_, _| panic!("nothing is dropped"));
            taken.map(|(packet, _)| packet.flow)
        };
        let state = |fq: &FqCodel| {
            let list = |place: usize| match (fq.new.contains(&place), fq.old.contains(&place)) {
                (true, false) => "new",
                (false, true) => "old",
                (false, false) => "none",
                _ => panic!("in both lists"),
            };
            [a, b].map(|place| (fq.queues[place].deficit, list(place)))
        };
        put(&mut fq, 1);
        assert_eq!(state(&fq)[0], (90, "new"));
        assert_eq!(take(&mut fq), Some(1));
        assert_eq!(state(&fq)[0], (-30, "new"), "it stays there although it is empty");
        for flow in [1, 1, 2, 2] {
            put(&mut fq, flow);
        }
        let steps = [
            (Some(2), [(60, "old"), (-30, "new")]),
            (Some(1), [(-60, "old"), (60, "old")]),
            (Some(2), [(30, "old"), (-60, "old")]),
            (Some(1), [(-90, "old"), (30, "old")]),
            (None, [(90, "none"), (30, "none")]),
        ];
        for (step, (flow, then)) in steps.into_iter().enumerate() {
            assert_eq!((take(&mut fq), state(&fq)), (flow, then), "step {step}");
        }
    }

    #[test]
    fn the_longest_queue_makes_room_at_its_head() {
        let mut fq = queue(1024, 1514, 10_000);
        for ordinal in 0..9 {
            let long = Waiting { ordinal, ..packet(1, 0, 1000) };
            fq.enqueue(long, &mut |_, _| panic!("there is room"));
        }
        fq.enqueue(packet(2, 0, 1000), &mut |_, _| panic!("there is room"));
        let mut out = Vec::new();
        fq.enqueue(packet(2, 0, 1000), &mut |packet, cause| {
            assert_eq!((packet.flow, cause), (1, DropCause::Queue), "the longest");
            out.push(packet.ordinal);
        });
        assert_eq!(out, [0, 1, 2, 3, 4], "the oldest, until more than half of it is free");
        assert_eq!(fq.bytes(), 6_000);
    }
}
