//! The start of flows that share a path: their handshakes go through the same links as all other
//! packets.
//!
//! A flow sends its first data at its start time, so its handshake packet leaves the sender one
//! idle round trip earlier. The queueing delay of that packet, and of its answer on the return
//! path, is part of the first RTT sample and delays the first data. A dropped handshake packet is
//! sent again after the initial timeout, which doubles each time. A peer that answers late
//! ([`crate::Shared::jitter`]) delays the sample and the first data by the same time. If a
//! handshake would begin before time zero, the path is assumed empty: its sample is the idle round
//! trip. The handshake packet is as long as a full data packet, because the idle round trip of a
//! path is defined that way: a QUIC server fills its first datagrams with the certificate; a
//! SYN-ACK is shorter.

use crate::ahead::Ahead;
use crate::back::{Back, Leaving};
use crate::pool::Plain;
use crate::wire::NEVER;
use firstflight::Nanos;
use firstflight_path::Fate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The next step of a flow whose handshake is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The sender's handshake packet leaves, after this many earlier attempts.
    Offer(u32),
    /// The handshake packet that left at this time, ns, is at the receiver, whose answer leaves.
    Answer(u64),
    /// Data may be sent; the handshake took this long, ns.
    Begin(u64),
}

/// One flow's opening.
#[derive(Clone, Copy, Debug)]
struct Opening {
    /// Start time of the flow, before which it sends no data, ns.
    start: u64,
    /// Delay of the peer's answer, ns.
    late: u64,
    /// Extra one-way delays of this flow, forward and return, ns.
    extra: (u64, u64),
    /// Departure time of the handshake packet whose answer a terminal holds, ns.
    answered: Option<u64>,
    begun: bool,
}

/// A flow whose handshake is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub flow: usize,
    pub handshake_rtt: Nanos,
    /// Whether data starts at another time than planned.
    pub late: bool,
}

/// Flows whose handshake is not complete.
#[derive(Debug)]
pub(crate) struct Openings {
    steps: BinaryHeap<Reverse<(u64, usize, Step)>>,
    flows: Vec<Opening>,
    /// IP bytes of a handshake packet and of its answer.
    packet: u32,
    answer: u32,
    /// Time until the first retransmission of a handshake packet, ns.
    timeout: u64,
}

impl Openings {
    /// For flows with these start times, answer delays and extra delays, on a path with this idle
    /// round trip; times in ns.
    pub(crate) fn new(
        flows: impl Iterator<Item = ((u64, u64), (u64, u64))>,
        rtt: u64,
        (packet, answer): (u32, u32),
        timeout: Nanos,
    ) -> Openings {
        let flows: Vec<Opening> = flows
            .map(|((start, late), extra)| Opening {
                start,
                late,
                extra,
                answered: None,
                begun: false,
            })
            .collect();
        let first = |(place, flow): (usize, &Opening)| {
            let idle = rtt + flow.extra.0 + flow.extra.1;
            // No packet is sent before time zero.
            let early = flow.start.checked_sub(idle).filter(|at| *at > 0);
            Reverse(
                early
                    .map_or((flow.start + flow.late, place, Step::Begin(idle + flow.late)), |at| {
                        (at, place, Step::Offer(0))
                    }),
            )
        };
        let steps = flows.iter().enumerate().map(|(place, flow)| first((place, flow))).collect();
        Openings { steps, flows, packet, answer, timeout: timeout.0 }
    }

    /// The time of the next step, ns.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.steps.peek().map_or(NEVER, |Reverse((at, ..))| *at)
    }

    /// Performs the next step. Returns the flow that may now send data, if there is one.
    pub(crate) fn step<S, A: Plain>(
        &mut self,
        now: u64,
        forward: &mut impl Ahead<S>,
        back: &mut impl Back<A>,
    ) -> Option<Opened> {
        let Reverse((_, place, step)) = self.steps.pop()?;
        let flow = &mut self.flows[place];
        if flow.begun {
            return None;
        }
        match step {
            Step::Offer(before) => {
                let timeout = self.timeout.saturating_mul(1 << before.min(16));
                self.steps.push(Reverse((
                    now.saturating_add(timeout),
                    place,
                    Step::Offer(before + 1),
                )));
                if let Some(fate) = forward.open(now, place, self.packet) {
                    self.land(place, now, fate);
                }
                None
            }
            Step::Answer(sent) => {
                flow.answered.get_or_insert(sent);
                let answer = Leaving {
                    flow: place as u32,
                    len: self.answer,
                    opens: true,
                    ..Leaving::default()
                };
                let (flow, steps) = (*flow, &mut self.steps);
                back.send(now, answer, |at| steps.push(flow.begin(place, at, sent)));
                None
            }
            Step::Begin(rtt) => {
                flow.begun = true;
                Some(Opened { flow: place, handshake_rtt: Nanos(rtt), late: now != flow.start })
            }
        }
    }

    /// The flow of the next step.
    pub(crate) fn place(&self) -> usize {
        self.steps.peek().map_or(0, |Reverse((_, place, _))| *place)
    }

    /// The fate of a handshake packet that left at `left` is known.
    pub(crate) fn land(&mut self, place: usize, left: u64, fate: Fate) {
        if let Fate::Deliver { at, .. } | Fate::Duplicate { at, .. } = fate {
            let at = at.saturating_add(self.flows[place].extra.0);
            self.steps.push(Reverse((at, place, Step::Answer(left))));
        }
    }

    /// Cancels the start of a flow.
    pub(crate) fn abandon(&mut self, place: usize) {
        self.flows[place].begun = true;
    }

    /// A terminal releases an answer that reaches the sender at `at`.
    pub(crate) fn release(&mut self, place: usize, at: u64) {
        let flow = self.flows[place];
        if let Some(sent) = flow.answered {
            self.steps.push(flow.begin(place, at, sent));
        }
    }
}

impl Opening {
    /// The answer to the packet that left at `sent` returns at `at`, without the flow's own extra
    /// delay.
    fn begin(self, place: usize, at: u64, sent: u64) -> Reverse<(u64, usize, Step)> {
        let at = at.saturating_add(self.extra.1);
        Reverse((at.max(self.start) + self.late, place, Step::Begin(at - sent + self.late)))
    }
}
