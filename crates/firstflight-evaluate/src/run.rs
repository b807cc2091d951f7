//! One run of a cell: an arm under test, a seed, and the samples from which metrics are computed.

use crate::cell::{Cell, PlannedFlow};
use crate::declare::sends_ect1;
use firstflight::event::Phase;
use firstflight::{Nanos, Time};
use firstflight_lab::flows::{Access, App, Arrangement, Flows, JITTER, SharingFlow, Together};
use firstflight_lab::scenario::rtt_jitter;
use firstflight_lab::testbed::sim;
use firstflight_lab::{Hosts, NamedArm, Scenario, Testbed};
use firstflight_path::{Error, PACKET, Path, Purpose, Rate, Stream};
use firstflight_sim::observe::Signals;
use firstflight_sim::{Cause, Observer, Snapshot};

/// Sampling interval of delivered, sent and lost data, ns.
pub(crate) const EVERY: u64 = 100_000_000;
/// Sampling interval of the queue, ns.
pub(crate) const QUEUE_EVERY: u64 = 10_000_000;
/// Identity of a tunnel in flow queues.
const TUNNEL: u32 = u32::MAX;
/// Maximum number of queue samples, regardless of duration.
const MOST_SAMPLES: u64 = 20_000;

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) cell: &'a Cell,
    /// Indices in the cell of the flows that took part.
    pub(crate) flows: Vec<usize>,
    /// The path with the RTT of this seed.
    pub(crate) path: Path,
    pub(crate) outcome: Together,
    /// Sampling interval, ns.
    pub(crate) every: u64,
    pub(crate) queue_every: u64,
    /// Behaviour of the first flow under test after its last ACK.
    pub(crate) silence: Silence,
    /// Whether a flow was stopped because it sent too many packets.
    pub(crate) runaway: bool,
    /// Whether the arm under test sends ECT(1), so that a mark need not count as a loss.
    pub(crate) sends_ect1: bool,
}

/// Settings of one of a cell's runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat<'a> {
    /// Testbed.
    pub(crate) bed: &'static dyn Testbed,
    /// The arm under test: the algorithm or the baseline.
    pub(crate) arm: &'a NamedArm,
    pub(crate) seed: u64,
    /// Selects other start times and phases for the same seed.
    pub(crate) draws: u64,
    /// Run only the flows of this role, for harm.
    pub(crate) only: Option<&'a str>,
    /// Record the times of individual packets.
    pub(crate) sends: bool,
    /// Make all receivers honest.
    pub(crate) honest: bool,
}

impl<'a> Seat<'a> {
    /// This arm with this seed and default settings.
    pub(crate) fn of(bed: &'static dyn Testbed, arm: &'a NamedArm, seed: u64) -> Seat<'a> {
        Seat { bed, arm, seed, draws: 0, only: None, sends: false, honest: false }
    }
}

/// Behaviour of a sender after its last acknowledgement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence {
    flow: u32,
    /// Time of the last acknowledgement.
    pub(crate) last_ack: u64,
    /// The window right after it.
    pub(crate) cwnd: u64,
    /// Whether a recovery episode was open then.
    pub(crate) in_recovery: bool,
    /// Send times of the packets since then.
    pub(crate) sent: Vec<u64>,
}

impl Observer for Silence {
    fn on_event(&mut self, snapshot: &Snapshot, _signals: &Signals<'_>) {
        if snapshot.flow != self.flow {
            return;
        }
        match snapshot.event {
            Cause::Ack => {
                (self.last_ack, self.cwnd) = (snapshot.now.0, snapshot.state.cwnd);
                self.in_recovery = snapshot.state.phase == Phase::Recovery;
                self.sent.clear();
            }
            Cause::Sent => self.sent.push(snapshot.now.0),
            Cause::Timer => {}
        }
    }
}

/// Maximum rate of a path over time, bit/s.
pub(crate) fn most_bps(path: &Path) -> u64 {
    match path.rate() {
        Rate::Steps(steps) => {
            steps.then.iter().map(|(_, bps)| *bps).chain([steps.first]).max().unwrap_or(0)
        }
        _ => path.rate_bps(),
    }
}

/// Maximum number of packets a flow may send in a cell: eight times the path's capacity, and 20 000 more.
pub(crate) fn most_packets(cell: &Cell) -> u64 {
    packets_of(cell) * 8 + 20_000
}

/// Number of packets the path carries in the cell's duration if it is always full.
fn packets_of(cell: &Cell) -> u64 {
    let bits = u128::from(most_bps(&cell.path)) * u128::from(cell.time.0) / 1_000_000_000;
    (bits / u128::from(8 * PACKET)) as u64
}

/// Expected number of packets: the path's capacity, or the flows' total size if that is smaller.
pub(crate) fn expected_packets(cell: &Cell) -> u64 {
    let bytes = cell.flows.iter().map(|flow| match flow.app {
        App::Endless => u64::MAX,
        App::Nada { rates, run } => rates.max / 8_000 * (run.0 / 1_000_000_000),
        _ => flow.app.bytes() / 1_400,
    });
    let both = 1 + u64::from(cell.flows.iter().any(|flow| flow.reverse));
    (packets_of(cell) * both).min(bytes.fold(0, u64::saturating_add))
}

/// A planned run.
struct Planned {
    scenario: Scenario,
    /// Indices in the cell of the flows that take part.
    places: Vec<usize>,
    flows: Vec<SharingFlow>,
    arrangement: Arrangement,
    every: u64,
    queue_every: u64,
}

impl Planned {
    fn new(cell: &Cell, seat: Seat<'_>) -> Planned {
        let takes_part = |flow: &PlannedFlow| seat.only.is_none_or(|role| flow.role == role);
        let flows: Vec<usize> =
            (0..cell.flows.len()).filter(|place| takes_part(&cell.flows[*place])).collect();
        let path = cell.path.clone().with_rtt(cell.path.rtt() + rtt_jitter(seat.seed));
        let several = cell.flows.len() > 1;
        let chance = Stream::new(seat.seed, seat.draws, Purpose::FlowStart).branch(7);
        let late = |place: usize| {
            let draw = u128::from(chance.value(place as u64));
            let most = cell.flows[place].spread.map_or(path.rtt(), |spread| spread.0);
            if several { ((draw * u128::from(most)) >> 64) as u64 } else { 0 }
        };
        let sizes = chance.branch(1);
        let app = |place: usize| match cell.flows[place].sizes {
            Some(by_chance) => App::Bulk(by_chance.size(sizes.value(place as u64))),
            None => cell.flows[place].app.clone(),
        };
        let starts: Vec<u64> =
            flows.iter().map(|place| cell.flows[*place].start.0 + late(*place)).collect();
        let sharing: Vec<SharingFlow> = flows
            .iter()
            .zip(&starts)
            .map(|(place, start)| {
                let flow = &cell.flows[*place];
                SharingFlow {
                    arm: flow.arm.as_ref().unwrap_or(seat.arm).clone(),
                    app: app(*place),
                    start: Nanos(*start),
                    rtt_extra: flow.rtt_extra,
                }
            })
            .collect();
        let most = most_packets(cell);
        let packet_time = 8 * PACKET * 1_000_000_000 / most_bps(&path).max(1);
        let access = |place: &usize| {
            let flow = &cell.flows[*place];
            Access {
                jitter: Nanos(if cell.phase { packet_time } else { 0 }),
                ack_jitter: flow.ack_jitter,
                ack_batch: flow.ack_batch,
                steps: if flow.steps.is_empty() { cell.steps.clone() } else { flow.steps.clone() },
                stop: flow.stop,
                packets: Some(most),
                ecn: flow.ecn,
                bucket: flow.tunnel.then_some(TUNNEL),
                reverse: flow.reverse,
                hides_marks: flow.hides_marks,
                lie: flow.lie.filter(|_| !seat.honest),
                skips: flow.skips,
            }
        };
        let endless = cell.flows.iter().any(|flow| flow.app == App::Endless);
        let queue_every = QUEUE_EVERY.max(cell.time.0 / MOST_SAMPLES);
        let every = EVERY.max(10 * queue_every);
        let arrangement = Arrangement {
            access: flows.iter().map(access).collect(),
            queue_every: Some(Nanos(queue_every)),
            draws: seat.draws,
            whole: endless,
        };
        // The last sample is exactly at the end.
        let limit = Nanos(cell.time.0 + 1);
        let host = seat.bed.info().only_hosts().unwrap_or(cell.host);
        let scenario = Scenario { limit, host, ..Scenario::new(path.clone(), 1) };
        Planned { scenario, places: flows, flows: sharing, arrangement, every, queue_every }
    }
}

/// The reason why a testbed cannot run a cell with these arms, if any.
pub(crate) fn refusal(
    cell: &Cell,
    bed: &'static dyn Testbed,
    arms: [&NamedArm; 2],
) -> Option<Error> {
    if cell.host != Hosts::default() && bed.info().only_hosts().is_some() {
        return Some(Error::new("its hosts are simulated TCP hosts"));
    }
    let refused = |arm: &NamedArm| {
        let Planned { scenario, flows, arrangement, .. } =
            Planned::new(cell, Seat::of(bed, arm, 1));
        let together = Flows { arrangement, ..Flows::new(&flows, 1) };
        let arms = flows.iter().map(|flow| bed.check(&scenario, &flow.arm));
        let first = arms.chain([bed.check_flows(&scenario, &together)]);
        first.collect::<Result<Vec<()>, Error>>().err()
    };
    arms.into_iter().find_map(refused)
}

impl<'a> Run<'a> {
    /// Runs the cell.
    ///
    /// # Errors
    /// If the path cannot carry the hosts' packets, or an arm cannot share the path.
    pub(crate) fn of(cell: &'a Cell, seat: Seat<'_>) -> Result<Run<'a>, Error> {
        let Planned { scenario, places: flows, flows: sharing, arrangement, every, queue_every } =
            Planned::new(cell, seat);
        let seat_place = flows.iter().position(|place| cell.flows[*place].arm.is_none());
        let mut silence = Silence { flow: seat_place.unwrap_or(0) as u32, ..Silence::default() };
        let simulated = seat.bed.info().name == sim::BED.info().name;
        let together = Flows {
            flows: &sharing,
            seed: seat.seed,
            sample: Some(Nanos(every)),
            jitter: JITTER,
            arrangement,
        };
        let outcome = if simulated {
            let observer = seat.sends.then_some(&mut silence as &mut dyn Observer);
            scenario.run_flows(&together, observer).map(Together::from)?
        } else {
            seat.bed.run_flows(&scenario, &together)?
        };
        let most = most_packets(cell);
        let path = scenario.path;
        let runaway = outcome
            .flows
            .iter()
            .any(|flow| flow.counters.packets_sent.is_some_and(|sent| sent >= most));
        // Stacks and kernels send ECT(0), even if the same arm of ours would send ECT(1).
        let sends_ect1 = simulated && sends_ect1(seat.arm) == Some(true);
        Ok(Run { cell, flows, path, outcome, every, queue_every, silence, runaway, sends_ect1 })
    }

    /// Bytes delivered by the flows under test.
    pub(crate) fn delivered(&self) -> u64 {
        let seat = |place: &usize| self.cell.flows[self.flows[*place]].arm.is_none();
        let all = || 0..self.flows.len();
        all().filter(seat).filter_map(|flow| self.outcome.flows[flow].delivered).sum()
    }

    /// Time at which a flow sent its first data, ns; the end of the run if it never did.
    pub(crate) fn began(&self, flow: usize) -> u64 {
        self.outcome.starts[flow].map_or(self.cell.time.0, |start: Time| start.0)
    }

    /// Indices in this run of the flows of a role; `all` selects every flow.
    pub(crate) fn of_role(&self, role: &str) -> Vec<usize> {
        let is = |place: &usize| role == "all" || self.cell.flows[self.flows[*place]].role == role;
        (0..self.flows.len()).filter(is).collect()
    }

    /// Queueing delay at a sample, ms: the queued bytes at the bottleneck's rate, or at the rate before an outage.
    pub(crate) fn queue_ms(&self, sample: usize) -> f64 {
        let at = sample as u64 * self.queue_every;
        let bps = match self.path.rate() {
            Rate::Steps(steps) => {
                let past = steps.then.iter().take_while(|(from, _)| *from <= at);
                past.filter(|(_, bps)| *bps > 0).last().map_or(steps.first, |(_, bps)| *bps)
            }
            _ => self.path.rate_bps(),
        };
        self.outcome.queue[sample] as f64 * 8e3 / bps.max(1) as f64
    }

    /// The bottleneck's rate at a time, bit/s.
    pub(crate) fn bps_at(&self, at: u64) -> u64 {
        match self.path.rate() {
            Rate::Steps(steps) => {
                let past = steps.then.iter().take_while(|(from, _)| *from <= at).last();
                past.map_or(steps.first, |(_, bps)| *bps)
            }
            _ => self.path.rate_bps(),
        }
    }
}
