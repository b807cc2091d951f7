//! Several flows through one bottleneck, each with its own start, extra RTT and application.
//!
//! A flow's next event changes only by its own step, or by an ACK that a terminal releases. So the
//! flows need no event heap: a tree of the earliest next events, in which one entry is replaced at
//! a time, gives the next flow. At equal times the flow with the lower index comes first.

mod fast;

use crate::access::{Access, Arrangement, Counted, OnAccess};
use crate::ahead::{Ahead, Held, Toward};
use crate::app::App;
use crate::back::Way;
use crate::flow::{Bursts, Flow, Hosted, Late};
use crate::hosts::Hosts;
use crate::instrumented::{Combined, Company, Core};
use crate::later::Later;
use crate::observe::Observer;
use crate::opening::{Opened, Openings};
use crate::outcome::{Outcome, Stop};
use crate::turns::Earliest;
use crate::wire::NEVER;
use crate::{quic, tcp};
use firstflight::{Nanos, Time};
use firstflight_path::{Error, Fate, Path, Purpose, Stream};

/// Settings common to all flows of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    /// The path.
    pub path: &'a Path,
    /// The hosts.
    pub host: Hosts,
    /// Simulated time after which the trial stops; flows that have not finished by then count as
    /// incomplete.
    pub limit: Nanos,
    /// Seed of every random draw of the path.
    pub seed: u64,
    /// Index of the path in a population; keys the draws together with the seed.
    pub path_index: u64,
    /// Interval at which every flow's delivered bytes are recorded; `None` records nothing.
    pub sample: Option<Nanos>,
    /// Upper bound of a random delay of handshakes, and thereby starts, and of loss and probe
    /// timers when there are several flows. The delay is uniform and depends on the seed, path,
    /// flow and due time; see [`JITTER`]. Zero keeps all flows in step. A single flow is never
    /// delayed: it has no other flow to be in step with.
    pub jitter: Nanos,
}

/// Delay of hosts' starts and timers: up to a millisecond, which is a tick of Linux's timer wheel
/// at 1000 Hz (4 ms at 250 Hz) and of user-space runtimes (tokio's wheel). Without it, flows that
/// start together stay in phase for ever: their probes leave in the same nanosecond in the same
/// order, and if the queue has room for fewer, the same flows lose theirs each time. The delay of
/// the first RTT sample matters most: timeouts are multiples of it, so a small initial difference
/// becomes seconds after ten timeouts.
///
/// Pacer releases and delayed ACKs are on time: both follow packets that the bottleneck has already
/// spread out.
pub const JITTER: Nanos = Nanos(1_000_000);

/// One flow of a trial.
#[derive(Clone, Debug)]
pub struct FlowPlan<S: Combined> {
    /// Its controller, created for its start time.
    pub controller: Core<S>,
    /// Depth of its pacer's token bucket, bytes.
    pub pacer_burst: u64,
    /// Its application. QUIC sends each part in packets of its own, and the last packet of a part
    /// is as long as the others.
    pub app: App,
    /// When its first data leaves. If its handshake, one idle round trip earlier, is delayed, the
    /// first data is delayed by the same time (a handshake that would begin before time zero finds
    /// the path empty).
    pub start: Nanos,
    /// Extra RTT on top of the path's, split evenly between the directions.
    pub rtt_extra: Nanos,
}

/// Outcome of the flows.
#[derive(Clone, Debug)]
pub struct SharedOutcome {
    /// The flows' outcomes in the order of the plans. Times count from each flow's own first
    /// packet.
    pub flows: Vec<Outcome>,
    /// When each flow's first data left; `None` if the trial stopped earlier.
    pub starts: Vec<Option<Time>>,
    /// Bytes delivered in order by each flow just before each multiple of the sampling interval,
    /// starting at zero.
    pub delivered: Vec<Vec<u64>>,
    /// Bytes sent and lost by each flow at the same times, if the arrangement requests them.
    pub counted: Vec<Vec<Counted>>,
    /// Bytes queued at the bottleneck, without the packet in service, at each multiple of the
    /// arrangement's sampling interval.
    pub queue: Vec<u64>,
}

impl SharedOutcome {
    /// Bytes delivered by each flow between two samples.
    pub fn between(&self, from: usize, to: usize) -> Vec<u64> {
        let at = |sample: usize| self.delivered.get(sample).or(self.delivered.last());
        match (at(from), at(to)) {
            (Some(from), Some(to)) => {
                from.iter().zip(to).map(|(from, to)| to.saturating_sub(*from)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// [`run_flows`](crate::run_flows) with these followers of each controller and this type of
/// observer.
pub(crate) fn in_company<S: Combined, L: Company<S>, O: Observer>(
    shared: &Shared<'_>,
    plans: Vec<FlowPlan<S>>,
    arrangement: &Arrangement,
    observer: &mut O,
) -> Result<SharedOutcome, Error> {
    match shared.host {
        Hosts::Quic(host) => {
            between::<quic::Ends<S, L>, L, O>(shared, host, plans, arrangement, observer)
        }
        Hosts::Tcp(host) => {
            between::<tcp::Ends<S, L>, L, O>(shared, host, plans, arrangement, observer)
        }
    }
}

fn between<E: Hosted<L>, L: Default, O: Observer>(
    shared: &Shared<'_>,
    host: E::Host,
    plans: Vec<FlowPlan<E::Startup>>,
    arrangement: &Arrangement,
    observer: &mut O,
) -> Result<SharedOutcome, Error> {
    let path = shared.path;
    let (forward, reverse) = path.open_driven(
        shared.host.packet_bytes(),
        shared.host.ack_bytes(),
        shared.seed,
        shared.path_index,
    )?;
    if arrangement.access.iter().any(|access| access.reverse) && path.is_driven() {
        return Err(Error::new(format!(
            "{path}: its return path decides about ACKs after they are sent; data in that direction needs a plain return path"
        )));
    }
    if path.hello().is_some() {
        return Err(Error::new(format!(
            "{path}: `hello` goes with one flow that carries an object; flows that share a path or carry an application have a handshake of one packet: leave `hello` out"
        )));
    }
    let lies = arrangement.access.iter().filter_map(|access| access.lie);
    if let Some(lie) = lies.into_iter().find(|lie| !lie.is_told_by(shared.host)) {
        return Err(Error::new(format!(
            "{lie:?}: a receiver of {} cannot do that",
            shared.host.transport().to_uppercase()
        )));
    }
    // Reports data that a transport cannot carry, before anything is opened.
    let hosts: Vec<E::Host> =
        plans.iter().map(|plan| E::carrying(host, &plan.app)).collect::<Result<_, Error>>()?;
    let jitter = if plans.len() > 1 { shared.jitter } else { Nanos::ZERO };
    let draws = Stream::new(shared.seed, shared.path_index, Purpose::FlowStart);
    let late = |id: u32| Late::new(draws.branch(u64::from(id)), jitter);
    let starts = (0..)
        .zip(&plans)
        .map(|(id, plan)| (plan.start.0, late(id).of(plan.start.0) - plan.start.0))
        .collect();
    if arrangement.access.iter().any(|access| access.skips.is_some())
        && !matches!(shared.host, Hosts::Quic(_))
    {
        return Err(Error::new("skips: only QUIC's packets have numbers of their own"));
    }
    let ending: Vec<bool> = plans.iter().map(|plan| plan.app != App::Endless).collect();
    let ways = Stream::new(shared.seed, shared.path_index, Purpose::Jitter)
        .branch(5)
        .branch(arrangement.draws);
    let behind = |id: u32| {
        let access = arrangement.access.get(id as usize);
        let most = access.and_then(|access| access.packets).unwrap_or(u64::MAX);
        let own = access.and_then(Access::of_its_own);
        (own.map(|own| OnAccess::new(own.clone(), ways.branch(u64::from(id)))), most)
    };
    let numbers = ways.branch(1 << 40);
    let skips = |id: u32| arrangement.access.get(id as usize).and_then(|access| access.skips);
    let flow = |(id, plan): (u32, FlowPlan<E::Startup>)| {
        let host = hosts[id as usize];
        let (app, start) = (E::fit(host, plan.app), Time(plan.start.0));
        let (controller, object) = (plan.controller, app.bytes());
        let ends = E::between(host, path, controller, plan.pacer_burst, object, L::default());
        let (way, most) = behind(id);
        Flow::between(id, ends, object)
            .farther(plan.rtt_extra)
            .late(late(id))
            .behind(way, most)
            .seen_as(arrangement.access.get(id as usize))
            .skipping(skips(id), numbers.branch(u64::from(id)))
            .written_by(&app, start)
    };
    // Receivers may run ahead only if each is inspected just at samples until its flow ends, and if
    // packets take the path as it is.
    let waits = |app: &App| match app {
        App::Bulk(_) | App::Responses(_) | App::Video { .. } => true,
        App::Endless => arrangement.whole,
        App::Blocks { .. } | App::Nada { .. } => false,
    };
    let ahead = plans.iter().all(|plan| waits(&plan.app))
        && arrangement.access.iter().all(Access::keeps_to_the_path)
        && !shared.host.asks_acks()
        && !observer.watches();
    let flows = (0..).zip(plans).map(flow).collect();
    let flows = Bottleneck::new(shared, forward.into(), reverse.into(), flows, starts, ending)
        .arranged(arrangement);
    Ok(if ahead { flows.going_ahead() } else { flows }.run(observer))
}

/// A trial of several flows in progress.
struct Bottleneck<E: Bursts> {
    forward: Toward<E::Sent, E::Ack>,
    back: Way<E::Ack>,
    /// Time up to which receivers may run ahead of the clock, ns; zero if they do not.
    ahead: u64,
    /// ACKs that several such receivers have sent early.
    later: Option<Later<E::Ack>>,
    flows: Vec<Flow<E>>,
    /// Whether each flow's data takes the return path.
    reversed: Vec<bool>,
    turns: Earliest,
    openings: Openings,
    /// When each flow finished.
    ends: Vec<Option<u64>>,
    /// Number of flows that the trial still waits for.
    left: usize,
    /// Whether the trial waits for each flow.
    ending: Vec<bool>,
    limit: u64,
    sample: Option<Nanos>,
    delivered: Vec<Vec<u64>>,
    queue_every: Option<Nanos>,
    counted: Vec<Vec<Counted>>,
    queue: Vec<u64>,
    /// Times at which flows are stopped, the latest first.
    stops: Vec<(u64, usize)>,
}

impl<E: Bursts> Bottleneck<E> {
    fn new(
        shared: &Shared<'_>,
        forward: Toward<E::Sent, E::Ack>,
        back: Way<E::Ack>,
        flows: Vec<Flow<E>>,
        starts: Vec<(u64, u64)>,
        ending: Vec<bool>,
    ) -> Self {
        let ways = starts.into_iter().zip(flows.iter().map(Flow::extra));
        let lengths = (shared.host.packet_bytes(), shared.host.ack_bytes());
        let openings =
            Openings::new(ways, shared.path.rtt(), lengths, shared.host.handshake_timeout());
        let sample = shared.sample.filter(|every| every.0 > 0);
        let (turns, ends) = (Earliest::new(flows.len()), vec![None; flows.len()]);
        Bottleneck {
            forward,
            back,
            ahead: 0,
            later: None,
            reversed: vec![false; flows.len()],
            flows,
            turns,
            openings,
            ends,
            left: ending.iter().filter(|ends| **ends).count(),
            ending,
            limit: shared.limit.0,
            sample,
            delivered: Vec::new(),
            queue_every: None,
            counted: Vec::new(),
            queue: Vec::new(),
            stops: Vec::new(),
        }
    }

    fn arranged(mut self, arrangement: &Arrangement) -> Self {
        self.left += usize::from(arrangement.whole);
        self.queue_every = arrangement.queue_every.filter(|every| every.0 > 0);
        for (reversed, access) in self.reversed.iter_mut().zip(&arrangement.access) {
            *reversed = access.reverse;
        }
        let stop = |(flow, access): (usize, &Access)| Some((access.stop?.0, flow));
        let flows = arrangement.access.iter().enumerate().take(self.flows.len());
        self.stops = flows.filter_map(stop).collect();
        self.stops.sort_by(|a, b| b.cmp(a));
        self
    }

    /// Records the samples that are due up to `now`.
    fn note(&mut self, now: u64, sample_at: &mut u64, queue_at: &mut u64) {
        while *sample_at <= now {
            self.delivered.push(self.flows.iter().map(Flow::delivered).collect());
            if self.queue_every.is_some() {
                self.counted.push(self.flows.iter().map(Flow::counted).collect());
            }
            *sample_at = sample_at.saturating_add(self.sample.unwrap_or_default().0);
            self.go_on(*sample_at);
        }
        while *queue_at <= now {
            self.queue.push(self.forward.queued_bytes(*queue_at));
            *queue_at = queue_at.saturating_add(self.queue_every.unwrap_or_default().0);
        }
    }

    /// Ends the next flow that is to be stopped.
    fn stop(&mut self, now: u64) {
        if let Some((_, flow)) = self.stops.pop()
            && self.ends[flow].is_none()
        {
            self.ends[flow] = Some(now);
            self.turns.set(flow, NEVER);
            self.openings.abandon(flow);
        }
    }

    fn run<O: Observer>(mut self, observer: &mut O) -> SharedOutcome {
        let mut sample_at = self.sample.map_or(NEVER, |_| 0);
        let mut queue_at = self.queue_every.map_or(NEVER, |_| 0);
        let mut now = 0;
        while self.left > 0 {
            let start = self.openings.next();
            let stop = self.stops.last().map_or(NEVER, |(at, _)| *at);
            if self.ahead > 0 {
                let until = start.min(stop).min(sample_at).min(queue_at).min(self.limit);
                now = self.take_turns(now, until, observer);
                if self.left == 0 {
                    break;
                }
            }
            let (own, flow) = self.turns.first();
            let (release, leaves) = (self.back.next_event(), self.forward.next_event());
            let next = own.min(release).min(start).min(stop).min(leaves);
            if self.hand_in_if_due(next.min(self.limit)) {
                continue;
            }
            let past = next.min(self.limit.saturating_sub(1));
            if sample_at.min(queue_at) <= past {
                self.note(past, &mut sample_at, &mut queue_at);
            }
            if next >= self.limit {
                break;
            }
            // A timer whose new due time has passed fires at once.
            now = next.max(now);
            if leaves == next {
                // The queue comes before all other events of this instant.
                self.leave(now);
            } else if stop == next {
                self.stop(now);
            } else if own == next {
                self.step(flow, now, observer);
                self.look_at(flow, now);
            } else if start == next {
                // Handshake answers take the same return path, after everything that left before
                // them.
                self.hand_in(now.saturating_add(1));
                self.open(now, observer);
            } else {
                self.release(now);
            }
        }
        // Flows that are still active when the trial waits for none, such as cross traffic, stop
        // with the last one.
        let stop = if self.left > 0 { self.limit } else { now };
        let starts = self.flows.iter().map(Flow::first_sent).collect();
        let finish = |(flow, end): (Flow<E>, Option<u64>)| match end {
            Some(end) if flow.is_closed() => flow.finish(end, Stop::Closed),
            Some(end) => flow.finish(end, Stop::Complete),
            None => flow.finish(stop, Stop::TimeLimit),
        };
        SharedOutcome {
            flows: self.flows.into_iter().zip(self.ends).map(finish).collect(),
            starts,
            delivered: self.delivered,
            counted: self.counted,
            queue: self.queue,
        }
    }

    #[inline]
    fn look_at(&mut self, flow: usize, now: u64) {
        let done = self.flows[flow].complete() || self.flows[flow].is_closed();
        if done {
            self.ends[flow] = Some(now);
            self.left -= usize::from(self.ending[flow]);
        }
        self.turns.set(flow, if done { NEVER } else { self.flows[flow].next_event() });
    }

    #[inline]
    fn step<O: Observer>(&mut self, flow: usize, now: u64, observer: &mut O) {
        let (one, there) = (&mut self.flows[flow], &mut self.forward);
        if let Some(later) = &mut self.later {
            return one.step(now, there, later, observer);
        }
        match &mut self.back {
            Way::Link(link) if self.reversed[flow] => one.step(now, link, there, observer),
            back => one.step(now, there, back, observer),
        }
    }

    /// Performs the next step of a flow's handshake.
    fn open<O: Observer>(&mut self, now: u64, observer: &mut O) {
        let (there, openings) = (&mut self.forward, &mut self.openings);
        let opened = match &mut self.back {
            Way::Link(link) if self.reversed[openings.place()] => {
                openings.step::<E::Sent, E::Ack>(now, link, there)
            }
            back => openings.step::<E::Sent, E::Ack>(now, there, back),
        };
        if let Some(Opened { flow, handshake_rtt, late }) = opened {
            let one = &mut self.flows[flow];
            one.open(Time(now), handshake_rtt, late);
            match &mut self.back {
                Way::Link(link) if self.reversed[flow] => one.begin(now, link, observer),
                _ => one.begin(now, &mut self.forward, observer),
            }
            if self.ahead > 0 {
                one.goes_ahead_until(self.ahead);
            }
            self.look_at(flow, now);
        }
    }

    /// The forward path decides.
    fn leave(&mut self, now: u64) {
        while let Some((held, fate)) = self.forward.poll(now) {
            let flow = match held {
                Held::Open { place, left } => {
                    self.openings.land(place, left, fate);
                    continue;
                }
                Held::Data { flow, left, sent } => {
                    self.flows[flow as usize].land(&sent, Time(left), fate);
                    flow as usize
                }
                Held::Ack(ack) => {
                    let flow = ack.flow as usize;
                    let (Fate::Deliver { at, .. } | Fate::Duplicate { at, .. }) = fate else {
                        continue;
                    };
                    if ack.opens {
                        self.openings.release(flow, at);
                        continue;
                    }
                    self.flows[flow].hear(at, ack.packet);
                    flow
                }
            };
            if self.ends[flow].is_none() {
                self.turns.set(flow, self.flows[flow].next_event());
            }
        }
    }

    /// The return path releases ACKs.
    fn release(&mut self, now: u64) {
        while let Some((at, ack)) = self.back.poll(now) {
            let flow = ack.flow as usize;
            if ack.opens {
                self.openings.release(flow, at);
                continue;
            }
            self.flows[flow].hear(at, ack.packet);
            if self.ends[flow].is_none() {
                self.turns.set(flow, self.flows[flow].next_event());
            }
        }
    }
}
