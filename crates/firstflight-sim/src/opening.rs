//! How flows that share a path get under way: their handshakes go through the same links as
//! everything else.
//!
//! A flow is to send its first data at its start, so its handshake packet leaves the sender an idle
//! round trip before. What that packet waits in the queue, and its answer on the way back, is in
//! the first RTT sample, and the first data leaves so much later. One that is dropped leaves again
//! after the initial timeout, which doubles. A peer that answers late ([`crate::Shared::jitter`])
//! delays the sample and the first data by that. A handshake that would begin before time zero met
//! an empty path: its sample is the idle round trip. The packet is as long as a full data packet,
//! for that is what the idle round trip of a path counts: a QUIC server fills its first
//! datagrams with the certificate; a SYN-ACK is shorter than that.

use crate::ahead::Ahead;
use crate::back::{Back, Leaving};
use crate::pool::Plain;
use crate::wire::NEVER;
use firstflight::Nanos;
use firstflight_path::Fate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a flow that is not under way does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The sender's handshake packet leaves, for the so manyth time.
    Offer(u32),
    /// One that left at this time, ns, is at the receiver, whose answer leaves.
    Answer(u64),
    /// Data may be sent; the handshake took so long, ns.
    Begin(u64),
}

/// One flow's opening.
#[derive(Clone, Copy, Debug)]
struct Opening {
    /// When the flow is to start: no data before, ns.
    start: u64,
    /// How late the peer answers, ns.
    late: u64,
    /// What its way is longer than the path, ns: there and back.
    extra: (u64, u64),
    /// When the handshake packet left that a terminal holds the answer to, ns.
    answered: Option<u64>,
    begun: bool,
}

/// A flow whose handshake is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub flow: usize,
    pub handshake_rtt: Nanos,
    /// This is not the time that it was to start at.
    pub late: bool,
}

/// Flows that are not under way yet.
#[derive(Debug)]
pub(crate) struct Openings {
    steps: BinaryHeap<Reverse<(u64, usize, Step)>>,
    flows: Vec<Opening>,
    /// IP bytes of a handshake packet and of its answer.
    packet: u32,
    answer: u32,
    /// Until a handshake packet leaves a second time, ns.
    timeout: u64,
}

impl Openings {
    /// Of flows with these starts, so late, and with these longer ways, on a path with this idle
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
            // At time zero nobody has sent anything yet.
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

    /// When something happens next, ns.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.steps.peek().map_or(NEVER, |Reverse((at, ..))| *at)
    }

    /// It happens. Returns the flow that may send data, if one may now.
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

    /// Whose step is next.
    pub(crate) fn place(&self) -> usize {
        self.steps.peek().map_or(0, |Reverse((_, place, _))| *place)
    }

    /// What becomes of a handshake packet that left at `left` is known.
    pub(crate) fn land(&mut self, place: usize, left: u64, fate: Fate) {
        if let Fate::Deliver { at, .. } | Fate::Duplicate { at, .. } = fate {
            let at = at.saturating_add(self.flows[place].extra.0);
            self.steps.push(Reverse((at, place, Step::Answer(left))));
        }
    }

    /// It will not start any more.
    pub(crate) fn abandon(&mut self, place: usize) {
        self.flows[place].begun = true;
    }

    /// A terminal lets an answer go, which reaches the sender at `at`.
    pub(crate) fn release(&mut self, place: usize, at: u64) {
        let flow = self.flows[place];
        if let Some(sent) = flow.answered {
            self.steps.push(flow.begin(place, at, sent));
        }
    }
}

impl Opening {
    /// The answer to what left at `sent` is back at `at`, on the path itself.
    fn begin(self, place: usize, at: u64, sent: u64) -> Reverse<(u64, usize, Step)> {
        let at = at.saturating_add(self.extra.1);
        Reverse((at.max(self.start) + self.late, place, Step::Begin(at - sent + self.late)))
    }
}
