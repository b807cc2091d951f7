//! A trial with the TCP of the running kernel behind an emulated link, in real time.
//!
//! Arms that exist as kernel controllers are loaded for the trial; `kernel:cubic` and similar arms
//! are the kernel's own. Trials run one at a time, because two of them would disturb each other's
//! timing, and are repeated if the link was late.

use super::wire;
use crate::arms::{NamedArm, Sender, without_socket};
use crate::flows::{Flows, Together};
use crate::outcome::{Limits, Outcome, Queueing};
use crate::programs::Programs;
use crate::record::Recording;
use crate::scenario::Scenario;
use crate::testbed::bed::{self, Testbed, objects_of};
use firstflight::{Config, Exit, ExitReason, Nanos, Phase, Time};
use firstflight_linux::LinkOptions;
use firstflight_linux::kernel::{self, ARMS, KernelArm, Loaded};
use firstflight_linux::trial::{self, Info, Measured, Trial};
use firstflight_log::trace::{LogWriter, Source, State};
use firstflight_path::Error;
use firstflight_sim::{Cause, Counters, Observer, Snapshot};
use hdrhistogram::Histogram;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::Duration;

/// Maximum number of attempts of a trial until its link is on time.
const ATTEMPTS: u32 = 3;
/// The kernel's initial window.
const INITIAL_WINDOW: u32 = 10;
/// Time between two events of a recording.
const GRAIN: Duration = Duration::from_millis(1);
/// The kernel's value for a threshold that was never set.
const UNSET_SSTHRESH: u32 = 0x7fff_ffff;

/// TCP of the running kernel.
pub struct Linux {
    info: bed::Info,
    /// Ensures that only one trial runs at a time.
    alone: Mutex<()>,
}

impl Linux {
    /// A machine has one instance.
    pub(super) const fn new(info: bed::Info) -> Linux {
        Linux { info, alone: Mutex::new(()) }
    }
}

impl Testbed for Linux {
    fn info(&self) -> &bed::Info {
        &self.info
    }

    fn check(&self, scenario: &Scenario, arm: &NamedArm) -> Result<(), Error> {
        self.info.check(scenario, arm)?;
        if scenario.iw != INITIAL_WINDOW
            || arm.parts().and_then(|arm| arm.sender.iw).is_some_and(|iw| iw != INITIAL_WINDOW)
        {
            return Err(Error::new(format!(
                "arm {}: the kernel starts with {INITIAL_WINDOW} packets; leave `iw` out",
                arm.label
            )));
        }
        sender(arm).map(|_| ())
    }

    /// The kernel paces any sender that requests pacing.
    fn paced(&self, _scenario: &Scenario, _arm: &NamedArm) -> bool {
        true
    }

    /// A recording keeps the sender's state once per millisecond.
    fn run(
        &self,
        scenario: &Scenario,
        arm: &NamedArm,
        seed: u64,
        recording: Option<&mut Recording>,
    ) -> Result<Outcome, Error> {
        let _alone = self.alone.lock();
        run(scenario, arm, seed, recording)
    }

    /// All flows are connected before the first one writes. Delays of starts are those of the
    /// machine.
    fn run_flows(&self, scenario: &Scenario, flows: &Flows<'_>) -> Result<Together, Error> {
        self.check_flows(scenario, flows)?;
        let _alone = self.alone.lock();
        several(scenario, flows, objects_of(self.info.name, flows)?)
    }

    fn check_flows(&self, _scenario: &Scenario, flows: &Flows<'_>) -> Result<(), Error> {
        if flows.arrangement.access.iter().any(|access| access.stop.is_some()) {
            return Err(Error::new("testbed `linux`: a flow cannot end early"));
        }
        objects_of(self.info.name, flows).map(|_| ())
    }
}

fn several(
    scenario: &Scenario,
    together: &Flows<'_>,
    objects: Vec<Option<u64>>,
) -> Result<Together, Error> {
    let &Flows { flows, seed, sample, ref arrangement, .. } = together;
    let refused = |refusal: Error| Error::new(format!("testbed `linux`: {refusal}"));
    let senders = flows.iter().map(|flow| sender(&flow.arm)).collect::<Result<Vec<_>, _>>()?;
    let arms = Arms::of(senders.iter());
    let plans: Vec<trial::Flow<'_>> = senders
        .iter()
        .zip(flows.iter().zip(objects))
        .map(|(seated, (flow, bytes))| trial::Flow {
            source: seated.source(),
            bytes,
            start: Duration::from_nanos(flow.start.0),
        })
        .collect();
    let several = trial::Several {
        path: &scenario.path,
        options: LinkOptions { seed, path_index: scenario.path_index, ..LinkOptions::default() },
        flows: &plans,
        limit: Duration::from_nanos(scenario.limit.0),
        receiver: &scenario.receiver,
        sample: sample.map_or(Duration::ZERO, |every| Duration::from_nanos(every.0)),
        whole: arrangement.whole,
    };
    let mut attempt = 1;
    loop {
        let _loaded = arms.load().map_err(refused)?;
        let mut seen: Vec<Seen> = flows.iter().map(|_| Seen::default()).collect();
        let measured = trial::run_several(&several, |flow, info| seen[flow].count(info));
        let measured = measured.map_err(refused)?;
        let doubts = measured.link.doubts();
        if !doubts.is_empty() && attempt < ATTEMPTS {
            attempt += 1;
            continue;
        }
        let mut outcomes: Vec<Outcome> =
            measured.flows.iter().zip(&seen).map(|(flow, seen)| one_of(flow, seen)).collect();
        for (outcome, _) in
            outcomes.iter_mut().zip(&senders).filter(|(_, sender)| sender.is_foreign())
        {
            only_what_arrived(outcome);
        }
        if let Some(first) = outcomes.first_mut() {
            let doubts = doubts.into_iter();
            first.warnings =
                doubts.map(|doubt| format!("several flows, seed {seed}: {doubt}")).collect();
        }
        return Ok(Together {
            flows: outcomes,
            starts: measured
                .flows
                .iter()
                .map(|flow| flow.start.map(|at| Time(nanos(at).0)))
                .collect(),
            delivered: measured.delivered,
            ..Together::default()
        });
    }
}

/// Outcome of one of several flows: drops and queue are those of the link, which does not
/// distinguish flows.
fn one_of(flow: &trial::OfFlow, seen: &Seen) -> Outcome {
    Outcome {
        complete: flow.complete || flow.delivered_after.is_some(),
        acked_after: flow.complete.then(|| nanos(flow.acked_after)),
        ended_after: Some(nanos(flow.acked_after)),
        delivered_after: flow.delivered_after.map(nanos),
        delivered: Some(flow.delivered),
        counters: of_sender(&flow.last, seen),
        ..Outcome::default()
    }
}

/// Keeps only the arrivals and their times, which is all that is known of external programs.
fn only_what_arrived(outcome: &mut Outcome) {
    let known = std::mem::take(outcome);
    *outcome = Outcome {
        complete: known.complete,
        delivered_after: known.delivered_after,
        ended_after: known.ended_after,
        delivered: known.delivered,
        queueing: known.queueing,
        warnings: known.warnings,
        ..Outcome::default()
    };
}

/// Counters from the sender's last state.
fn of_sender(last: &Info, seen: &Seen) -> Counters<Option<u64>> {
    Counters {
        packets_sent: Some(u64::from(last.packets_sent)),
        retransmitted_bytes: Some(last.bytes_repeated),
        retransmissions: Some(u64::from(last.repeats)),
        rtos: Some(u64::from(last.timeouts)),
        slow_starts_after_recovery: Some(seen.slow_starts_after_recovery),
        ..Counters::default()
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(duration.as_nanos() as u64)
}

fn run(
    scenario: &Scenario,
    arm: &NamedArm,
    seed: u64,
    mut recording: Option<&mut Recording>,
) -> Result<Outcome, Error> {
    let seated = sender(arm)?;
    let refused =
        |refusal: Error| Error::new(format!("testbed `linux`, arm {}: {refusal}", arm.label));
    let traced = recording.as_deref_mut().is_some_and(|recording| recording.log().is_some());
    let arms = Arms::of([&seated]);
    let trial = Trial {
        receiver: &scenario.receiver,
        path: &scenario.path,
        options: LinkOptions {
            seed,
            path_index: scenario.path_index,
            witness: traced,
            ..LinkOptions::default()
        },
        bytes: scenario.bytes,
        source: seated.source(),
        limit: Duration::from_nanos(scenario.limit.0),
    };
    let mut attempt = 1;
    loop {
        let loaded = arms.load().map_err(refused)?;
        let mut seen = Seen { every_change: traced, ..Seen::default() };
        let measured = trial::run(&trial, |info| seen.take(info)).map_err(refused)?;
        let mut exit = None;
        if let Some(loaded) = loaded.first() {
            // The first end of startup counts, unless it was spurious. Reports of a socket that is
            // closed because its link is gone do not count.
            let in_time = |report: &kernel::Exit| {
                Duration::from_micros(report.since_first_send_us) <= measured.acked_after
            };
            let take = |report: kernel::Exit| {
                if in_time(&report) {
                    exit =
                        report.reason.and_then(|reason| exit.or(Some(core_exit(reason, &report))));
                }
            };
            loaded.watch(take, || false).map_err(refused)?;
        }
        let doubts = measured.link.doubts();
        if !doubts.is_empty() && attempt < ATTEMPTS {
            attempt += 1;
            continue;
        }
        let warnings = doubts
            .into_iter()
            .map(|doubt| format!("{}, seed {seed}: {doubt}", arm.label))
            .collect();
        if let Some(recording) = recording.as_deref_mut() {
            seen.write(recording, exit);
            if let Some(log) = recording.log() {
                seen.log(log, scenario, &measured, exit);
            }
        }
        let mut outcome = Outcome { warnings, ..outcome(scenario, &measured, exit, &seen) };
        if seated.is_foreign() {
            only_what_arrived(&mut outcome);
        }
        return Ok(outcome);
    }
}

/// Arms that must be loaded for a trial.
struct Arms(Vec<&'static KernelArm>);

impl Arms {
    /// The arms of these senders. A pinned arm is used as it is; its reports belong to the program
    /// that traces it.
    fn of<'a>(senders: impl IntoIterator<Item = &'a Seated<'a>>) -> Arms {
        let mut arms: Vec<&KernelArm> = Vec::new();
        for arm in senders.into_iter().filter_map(Seated::ours) {
            if !arms.iter().any(|known| known.name == arm.name) && !kernel::is_registered(arm) {
                arms.push(arm);
            }
        }
        Arms(arms)
    }

    /// Loads the arms into the kernel for one attempt. A loaded arm may have learned from earlier
    /// traffic (as in Careful Resume), and a repeated attempt must start without that knowledge.
    fn load(&self) -> Result<Vec<Loaded>, Error> {
        self.0.iter().map(|arm| Loaded::load(arm)).collect()
    }
}

/// The sender of a flow.
enum Seated<'a> {
    /// The kernel's name of a controller, the arm if it is ours, and options of its socket.
    Controller(String, Option<&'static KernelArm>, trial::SocketOptions),
    /// Shell commands at both ends.
    Programs(trial::Programs<'a>),
}

impl Seated<'_> {
    fn ours(&self) -> Option<&'static KernelArm> {
        match self {
            Seated::Controller(_, ours, _) => *ours,
            Seated::Programs(_) => None,
        }
    }

    fn is_foreign(&self) -> bool {
        matches!(self, Seated::Programs(_))
    }

    fn source(&self) -> trial::Source<'_> {
        match self {
            &Seated::Controller(ref controller, _, options) => {
                trial::Source::Controller(controller, options)
            }
            Seated::Programs(programs) => trial::Source::Programs(*programs),
        }
    }
}

/// Values of `TCP_RTO_MAX_MS`.
const LINUX_RTO_MAX: RangeInclusive<Nanos> = Nanos::from_secs(1)..=Nanos::from_secs(120);

fn sender(arm: &NamedArm) -> Result<Seated<'_>, Error> {
    if let Sender::Programs(Programs { server, client }) = &arm.sender {
        return Ok(Seated::Programs(trial::Programs { server, client }));
    }
    let given = match &arm.sender {
        Sender::Kernel { socket, .. } => Some(**socket),
        _ => arm.parts().map(|arm| arm.sender),
    };
    let rto_max = given.and_then(|given| given.rto_max);
    if rto_max.is_some_and(|most| !LINUX_RTO_MAX.contains(&most)) {
        return Err(Error::new(format!(
            "arm `{}`: Linux takes `rtomax` from 1s to 120s; the simulator takes more",
            arm.label
        )));
    }
    let max_rate = given.and_then(|given| given.max_rate).map(|rate| rate.0);
    let rto_max = rto_max.map(|most| Duration::from_nanos(most.0));
    let options = trial::SocketOptions { max_rate, rto_max };
    controller(arm).map(|(name, ours)| Seated::Controller(name, ours, options))
}

/// The kernel's name for the arm's controller, and the arm if it is ours.
pub(crate) fn controller(arm: &NamedArm) -> Result<(String, Option<&'static KernelArm>), Error> {
    if let Sender::Kernel { name: stock, .. } = &arm.sender {
        // One of our controllers may have such a name: the kernel's CUBIC without HyStart.
        let label = format!("kernel:{stock}");
        let ours = ARMS.iter().find(|ours| ours.name == label);
        return Ok((ours.map_or_else(|| stock.clone(), |ours| ours.kernel_name.to_owned()), ours));
    }
    // These options are the socket's, not the controller's.
    let mut wanted = *arm.arm()?;
    wanted.sender = without_socket(wanted.sender);
    let ours = KernelArm::of(&wanted).ok_or_else(|| {
        let all: Vec<&str> = ARMS.iter().map(|arm| arm.name).collect();
        Error::new(format!(
            "arm {}: not a kernel arm; there are {}, kernel:cubic, kernel:reno, ...",
            arm.label,
            all.join(", ")
        ))
    })?;
    Ok((ours.kernel_name.to_owned(), Some(ours)))
}

fn core_exit(reason: ExitReason, report: &kernel::Exit) -> Exit {
    let bytes = |packets: u32| u64::from(packets) * u64::from(report.mss);
    Exit {
        reason,
        at: Time(report.since_first_send_us * 1_000),
        since_first_send: Nanos(report.since_first_send_us * 1_000),
        rounds: report.rounds,
        detect_cwnd: bytes(report.detect_cwnd),
        cwnd: bytes(report.cwnd),
        inflight: bytes(report.inflight),
        estimate: (report.estimate != 0).then_some(report.estimate),
    }
}

/// Observations of the sender.
#[derive(Default)]
struct Seen {
    /// Whether to keep every change, for a trace.
    every_change: bool,
    /// One per [`GRAIN`].
    infos: Vec<Info>,
    slow_starts_after_recovery: u64,
    state: u8,
}

impl Seen {
    /// Updates the counters, and keeps nothing else.
    fn count(&mut self, info: &Info) {
        const RECOVERY: u8 = 3;
        self.slow_starts_after_recovery +=
            u64::from(self.state == RECOVERY && info.state < RECOVERY && info.cwnd < info.ssthresh);
        self.state = info.state;
    }

    fn take(&mut self, info: &Info) {
        self.count(info);
        let news = |last: &Info| self.every_change && state(info) != state(last);
        if self.infos.last().is_none_or(|last| info.at >= last.at + GRAIN || news(last)) {
            self.infos.push(*info);
        }
    }

    fn write(&self, recording: &mut Recording, exit: Option<Exit>) {
        for info in &self.infos {
            let now = Time(info.at.as_nanos() as u64);
            let state = state(info);
            let snapshot = Snapshot {
                flow: 0,
                now,
                event: Cause::Ack,
                state,
                exit: exit.filter(|exit| exit.at <= now),
            };
            recording.on_event(&snapshot, &|_| {});
        }
    }

    /// The log made from packets on the link; windows are those that the kernel reported within the
    /// following tenth of a millisecond.
    fn log(
        &self,
        log: &mut LogWriter,
        scenario: &Scenario,
        measured: &Measured,
        exit: Option<Exit>,
    ) {
        let config = firstflight::with!(Config {
            initial_window: u64::from(INITIAL_WINDOW) * u64::from(measured.last.mss),
            ..Config::tcp(u64::from(measured.last.mss))
        });
        log.begin(Time(0), |start| {
            (start.config, start.oracle_exit_bytes, start.source) =
                (Some(config), scenario.oracle_exit(), Source::Wire);
        });
        let look = |now: Time| {
            let after = self.infos.partition_point(|info| (info.at.as_nanos() as u64) < now.0);
            self.infos.get(after).or(self.infos.last()).map(state)
        };
        wire::read(log, &measured.link.sights, u64::from(measured.last.mss), &look);
        if let Some(exit) = exit {
            log.insert_exit(exit, look(exit.at).unwrap_or_default());
        }
    }
}

/// The sender's state from the kernel.
fn state(info: &Info) -> State {
    let bytes = |packets: u32| u64::from(packets) * u64::from(info.mss);
    let us = |us: u32| Some(Nanos::from_micros(u64::from(us)));
    State {
        cwnd: bytes(info.cwnd),
        ssthresh: Some(info.ssthresh).filter(|ssthresh| *ssthresh < UNSET_SSTHRESH).map(bytes),
        inflight: bytes(info.inflight),
        pacing_rate: Some(info.pacing_rate).filter(|rate| *rate < u64::MAX),
        rtt: us(info.rtt_us),
        min_rtt: us(info.min_rtt_us),
        delivered: info.bytes_acked,
        lost: 0,
        queue: 0,
        phase: match info.state {
            2..=4 => Phase::Recovery,
            _ if info.cwnd < info.ssthresh => Phase::Startup,
            _ => Phase::Avoidance,
        },
    }
}

/// The outcome; values that the kernel does not report stay unknown.
fn outcome(scenario: &Scenario, measured: &Measured, exit: Option<Exit>, seen: &Seen) -> Outcome {
    let dropped = measured.link.forward.dropped_packets();
    let repeats = u64::from(measured.last.repeats);
    let mut queue_us = Histogram::new_with_bounds(1, 120_000_000, 2).expect("constant bounds");
    for value in measured.link.forward.queue.iter_recorded() {
        queue_us.saturating_record_n(value.value_iterated_to() / 1_000, value.count_at_value());
    }
    Outcome {
        complete: measured.complete || measured.delivered_after.is_some(),
        acked_after: measured.complete.then(|| nanos(measured.acked_after)),
        ended_after: Some(nanos(measured.acked_after)),
        delivered_after: measured.delivered_after.map(nanos),
        delivered: Some(measured.delivered.min(scenario.bytes)),
        counters: Counters {
            // All dropped packets except a few at the very end were declared lost.
            packets_lost: Some(dropped.min(repeats)),
            spurious_losses: Some(repeats.saturating_sub(dropped)),
            lost_retransmissions: Some(measured.counters.lost_repeats),
            recoveries: Some(measured.counters.recoveries),
            ..of_sender(&measured.last, seen)
        },
        exit,
        limited: Some(Limits {
            rwnd: Some(nanos(measured.last.rwnd_limited)),
            sndbuf: Some(nanos(measured.last.sndbuf_limited)),
            ..Limits::default()
        }),
        queueing: Some(Queueing::of(&queue_us)),
        ..Outcome::default()
    }
}
