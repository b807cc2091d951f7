//! The testbed `linux`: a trial with the TCP of the running kernel behind an emulated link, in real time.
//!
//! Arms that exist as kernel controllers are loaded for the trial; `kernel:cubic` and the like are the kernel's own. Trials run one at a
//! time, because two of them would disturb each other's clock, and are repeated when the link was late.

use crate::arms::NamedArm;
use crate::error::Bad;
use crate::record::Recorder;
use crate::trace::{Source, State, Tracer, wire};
use crate::trial::Ground;
use firstflight::arm::Arm;
use firstflight::{Config, Exit, ExitReason, Nanos, Phase, Time};
use firstflight_linux::kernel::{self, ARMS, KernelArm, Loaded, Reason};
use firstflight_linux::trial::{self, Info, Measured, Trial};
use firstflight_linux::{LinkOptions, Refusal};
use firstflight_sim::{Event, Hosts, Measure, Observer, Outcome, Snapshot, Stop};
use hdrhistogram::Histogram;
use std::sync::Mutex;
use std::time::Duration;

/// One trial at a time.
static CLOCK: Mutex<()> = Mutex::new(());
/// Why some of the trials should not be believed.
static DOUBTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Settings of every receiver's namespace.
static RECEIVER: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
/// How often a trial is run until its link was in time.
const ATTEMPTS: u32 = 3;
/// The kernel's initial window.
const INITIAL_WINDOW: u32 = 10;
/// Time between two events of a recorder.
const GRAIN: Duration = Duration::from_millis(1);
/// A threshold that was never set, as the kernel says it.
const UNSET_SSTHRESH: u32 = 0x7fff_ffff;

/// What was doubtful since the last call.
pub fn take_doubts() -> Vec<String> {
    DOUBTS.lock().map(|mut doubts| std::mem::take(&mut *doubts)).unwrap_or_default()
}

/// From now on every receiver's namespace has these settings, names below `/proc/sys` and values. Linux receivers delay ACKs while there
/// are holes (`net/ipv4/tcp_comp_sack_nr`), which others do not.
pub fn set_receiver(settings: &[(&str, &str)]) {
    if let Ok(mut receiver) = RECEIVER.lock() {
        *receiver = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    }
}

/// Runs one trial. With a recorder the sender's state is kept once a millisecond.
///
/// # Errors
/// If the arm does not exist as a kernel controller, or something is missing on this machine.
pub fn run(ground: &Ground, arm: &NamedArm, seed: u64, mut recorder: Option<&mut Recorder>) -> Result<Outcome, Bad> {
    let Hosts::Tcp(_) = ground.host else {
        return Err(Bad("testbed `linux` speaks TCP".into()));
    };
    if ground.iw != INITIAL_WINDOW || arm.arm.sender.iw.is_some_and(|iw| iw != INITIAL_WINDOW) {
        return Err(Bad(format!("arm {}: the kernel starts with {INITIAL_WINDOW} packets; leave `iw` out", arm.label)));
    }
    let (name, ours) = controller(arm)?;
    let refused = |refusal: Refusal| Bad(format!("testbed `linux`, arm {}: {refusal}", arm.label));
    let traced = recorder.as_deref_mut().is_some_and(|recorder| recorder.tracer().is_some());
    let _alone = CLOCK.lock();
    // A pinned arm is used as it is; its reports belong to whoever traces it.
    let loaded = ours.filter(|arm| !kernel::is_registered(arm)).map(Loaded::load).transpose().map_err(refused)?;
    let receiver = RECEIVER.lock().map(|receiver| receiver.clone()).unwrap_or_default();
    let trial = Trial {
        receiver: &receiver,
        path: &ground.path,
        options: LinkOptions { seed, path_index: ground.path_index, witness: traced, ..LinkOptions::default() },
        bytes: ground.bytes,
        controller: &name,
        limit: Duration::from_nanos(ground.limit.0),
    };
    let mut attempt = 1;
    loop {
        let mut seen = Seen { every_change: traced, ..Seen::default() };
        let measured = trial::run(&trial, |info| seen.take(info)).map_err(refused)?;
        let mut exit = None;
        if let Some(loaded) = &loaded {
            // The first end of startup counts, unless it was a false alarm. What a socket reports that is closed already, its link gone,
            // is none.
            let in_time = |report: &kernel::Exit| Duration::from_micros(report.since_first_send_us) <= measured.acked_after;
            let take = |report: kernel::Exit| {
                if in_time(&report) {
                    exit = if report.reason == Reason::Undone { None } else { exit.or(Some(report)) };
                }
            };
            loaded.watch(take, || false).map_err(refused)?;
        }
        let doubts = measured.link.doubts();
        if !doubts.is_empty() && attempt < ATTEMPTS {
            attempt += 1;
            continue;
        }
        if let Ok(mut all) = DOUBTS.lock() {
            all.extend(doubts.into_iter().map(|doubt| format!("{}, seed {seed}: {doubt}", arm.label)));
        }
        let exit = exit.map(|report| core_exit(&report));
        if let Some(recorder) = recorder.as_deref_mut() {
            seen.write(recorder, exit);
            if let Some(tracer) = recorder.tracer() {
                seen.log(tracer, ground, &measured, exit);
            }
        }
        return Ok(outcome(ground, &measured, exit, &seen));
    }
}

/// The kernel's name for the arm, and the arm if it is one of ours.
fn controller(arm: &NamedArm) -> Result<(String, Option<&'static KernelArm>), Bad> {
    if let Some(stock) = &arm.kernel {
        // Ours may bear such a name: the kernel's CUBIC without HyStart.
        let ours = ARMS.iter().find(|ours| ours.name == arm.label);
        return Ok((ours.map_or_else(|| stock.clone(), |ours| ours.kernel_name.to_owned()), ours));
    }
    let ours = ARMS.iter().find(|ours| Arm::parse(ours.name).is_ok_and(|known| known == arm.arm));
    let ours = ours.ok_or_else(|| {
        let all: Vec<&str> = ARMS.iter().map(|arm| arm.name).collect();
        Bad(format!("arm {}: not a kernel arm; there are {}, kernel:cubic, kernel:reno, ...", arm.label, all.join(", ")))
    })?;
    Ok((ours.kernel_name.to_owned(), Some(ours)))
}

fn core_exit(report: &kernel::Exit) -> Exit {
    let bytes = |packets: u32| u64::from(packets) * u64::from(report.mss);
    Exit {
        reason: match report.reason {
            Reason::Loss | Reason::Undone => ExitReason::Loss,
            Reason::Ecn => ExitReason::Ecn,
            Reason::Timeout => ExitReason::Timeout,
            Reason::Threshold => ExitReason::Threshold,
            Reason::Train => ExitReason::Train,
            Reason::Delay => ExitReason::Delay,
            Reason::CssDone => ExitReason::CssDone,
            Reason::LssTrigger => ExitReason::LssTrigger,
            Reason::Flattened => ExitReason::Flattened,
            Reason::Estimate => ExitReason::Estimate,
        },
        at: Time(report.since_first_send_us * 1_000),
        since_first_send: Nanos(report.since_first_send_us * 1_000),
        rounds: report.rounds,
        detect_cwnd: bytes(report.detect_cwnd),
        cwnd: bytes(report.cwnd),
        inflight: bytes(report.inflight),
        estimate: (report.estimate != 0).then_some(report.estimate),
    }
}

/// The sender as it was seen.
#[derive(Default)]
struct Seen {
    /// Keep whatever is new, for a trace.
    every_change: bool,
    /// Once per [`GRAIN`].
    infos: Vec<Info>,
    cwnd_max: u64,
    slow_starts_after_recovery: u64,
    state: u8,
}

impl Seen {
    fn take(&mut self, info: &Info) {
        const RECOVERY: u8 = 3;
        self.cwnd_max = self.cwnd_max.max(u64::from(info.cwnd) * u64::from(info.mss));
        self.slow_starts_after_recovery += u64::from(self.state == RECOVERY && info.state < RECOVERY && info.cwnd < info.ssthresh);
        self.state = info.state;
        let news = |last: &Info| self.every_change && state(info) != state(last);
        if self.infos.last().is_none_or(|last| info.at >= last.at + GRAIN || news(last)) {
            self.infos.push(*info);
        }
    }

    fn write(&self, recorder: &mut Recorder, exit: Option<Exit>) {
        for info in &self.infos {
            let now = Time(info.at.as_nanos() as u64);
            let state = state(info);
            let snapshot = Snapshot {
                flow: 0,
                now,
                event: Event::Ack,
                cwnd: state.cwnd,
                ssthresh: state.ssthresh,
                inflight: state.inflight,
                pacing_rate: state.pacing_rate,
                rtt: state.rtt,
                min_rtt: state.min_rtt,
                delivered: state.delivered,
                lost: 0,
                queue: 0,
                phase: state.phase,
                exit: exit.filter(|exit| exit.at <= now),
            };
            recorder.on_event(&snapshot, &|_| {});
        }
    }

    /// The log out of what crossed the link; windows are those that the kernel told within a tenth of a millisecond afterwards.
    fn log(&self, tracer: &mut Tracer, ground: &Ground, measured: &Measured, exit: Option<Exit>) {
        let config = Config {
            initial_window: u64::from(INITIAL_WINDOW) * u64::from(measured.last.mss),
            ..Config::tcp(u64::from(measured.last.mss))
        };
        tracer.begin(Time(0), |start| {
            (start.config, start.oracle_exit_bytes, start.source) = (Some(config), ground.oracle_exit(), Source::Wire);
        });
        let look = |now: Time| {
            let after = self.infos.partition_point(|info| (info.at.as_nanos() as u64) < now.0);
            self.infos.get(after).or(self.infos.last()).map(state)
        };
        wire::read(tracer, &measured.link.sights, u64::from(measured.last.mss), &look);
        if let Some(exit) = exit {
            tracer.insert_exit(exit, look(exit.at).unwrap_or_default());
        }
    }
}

/// What the kernel says of its sender.
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

/// The same measures under the simulator's names. What the kernel does not tell is listed as unknown.
fn outcome(ground: &Ground, measured: &Measured, exit: Option<Exit>, seen: &Seen) -> Outcome {
    let nanos = |duration: Duration| Nanos(duration.as_nanos() as u64);
    let dropped = measured.link.forward.dropped_packets();
    let repeats = u64::from(measured.last.repeats);
    let mut queue_us = Histogram::new_with_bounds(1, 120_000_000, 2).expect("constant bounds");
    for value in measured.link.forward.queue.iter_recorded() {
        queue_us.saturating_record_n(value.value_iterated_to() / 1_000, value.count_at_value());
    }
    Outcome {
        stop: if measured.complete { Stop::Complete } else { Stop::TimeLimit },
        acked_after: nanos(measured.acked_after),
        delivered_after: measured.delivered_after.map(nanos),
        delivered: measured.delivered.min(ground.bytes),
        packets_sent: u64::from(measured.last.packets_sent),
        // Of the packets that were dropped all but a few at the very end were found lost.
        packets_lost: dropped.min(repeats),
        packets_dropped: dropped,
        drops: firstflight_sim::Drops::default(),
        spurious_losses: repeats.saturating_sub(dropped),
        retransmitted_bytes: measured.last.bytes_repeated,
        lost_retransmissions: measured.counters.lost_repeats,
        retransmissions: repeats,
        rtos: u64::from(measured.last.timeouts),
        probes: 0,
        recoveries: measured.counters.recoveries,
        recoveries_below_ssthresh: 0,
        recoveries_timed_out: 0,
        slow_starts_after_recovery: seen.slow_starts_after_recovery,
        undone: measured.counters.undone,
        early_retransmits: 0,
        early_retransmits_spurious: 0,
        exit,
        episodes: Vec::new(),
        queue_us,
        cwnd_max: seen.cwnd_max,
        parts: Vec::new(),
        unknown: &[Measure::Drops, Measure::RecoveriesBelowSsthresh, Measure::RecoveriesTimedOut, Measure::Episodes],
    }
}
