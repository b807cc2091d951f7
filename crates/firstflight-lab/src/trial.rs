//! One trial: an arm on a path with an object and a seed, on a testbed, as a result row.

use crate::arms::NamedArm;
use crate::error::Bad;
use crate::record::Recorder;
use crate::testbed::Testbed;
use firstflight::avoidance::AnyAvoidance;
use firstflight::controller::{Config, Controller};
use firstflight::detection::presets::{Early, Marking, PRESETS};
use firstflight::recovery::AnyRecovery;
use firstflight::startup::Startup;
use firstflight::{Nanos, Seq, Time};
use firstflight_path::{Effects, Fate, HandoverSettings, Path, Purpose, Queue, Rate, Release, Stream};
pub use firstflight_sim::Hosts;
use firstflight_sim::{App, Drops, FlowPlan, Measure, Nobody, Outcome, Setup, Shared, Stop, run, run_flows, run_unheard, tcp};
use serde::Serialize;

/// What all trials of a comparison share.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Where it runs.
    pub testbed: Testbed,
    /// The path.
    pub path: Path,
    /// Object size, bytes.
    pub bytes: u64,
    /// Initial window in packets for arms that do not name one.
    pub iw: u32,
    /// Pacer's bucket in packets for arms that do not name one.
    pub burst: u32,
    /// Simulated time after which an unfinished trial stops.
    pub limit: Nanos,
    /// Transport, sizes and timers of the hosts.
    pub host: Hosts,
    /// Which path of a population this is; with the seed it keys every draw of the path.
    pub path_index: u64,
}

/// TCP hosts with the preset of loss detection of that name, as `--detection` has it.
///
/// # Errors
/// If TCP has no such preset.
pub fn hosts_of_tcp(detection: &str) -> Result<Hosts, Bad> {
    let presets = || PRESETS.iter().filter(|preset| preset.marking != Marking::Quic);
    let found = presets().find(|preset| preset.name == detection);
    let names = || presets().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    let preset = found.ok_or_else(|| Bad(format!("unknown detection `{detection}`; TCP has {}", names())))?;
    Ok(tcp::Host::with_preset(*preset).into())
}

impl Ground {
    /// A ground with the defaults of the QUIC host: initial window 10, bucket of 2 packets.
    pub fn new(path: Path, bytes: u64) -> Ground {
        let limit = Nanos::from_secs(600);
        Ground { testbed: Testbed::Sim, path, bytes, iw: 10, burst: 2, limit, host: Hosts::default(), path_index: 0 }
    }

    /// The oracle's exit: the window that fills the path and no more, plus what the receiver holds back between two ACKs.
    pub fn oracle_exit(&self) -> u64 {
        let mss = self.host.mss();
        let bdp = u128::from(self.path.bdp_bytes()) * u128::from(mss) / u128::from(self.host.packet_bytes());
        bdp as u64 + u64::from(2 * self.ack_every()) * mss
    }

    /// Packets that the receiver acknowledges together: what the path says (`ack=`), or the host.
    pub fn ack_every(&self) -> u32 {
        self.path.ack_every().map_or_else(|| self.host.ack_every(), |packets| packets as u32)
    }

    /// The bound on the completion time that no sender beats: the one-way delay, and the object, without a header, at the bottleneck's rate. Where
    /// the rate changes with time: the time in which the link, with a queue without limit, delivers an object offered all at once. `None`
    /// behind a policer, whose bucket lets a part through at another rate.
    ///
    /// # Errors
    /// If the path cannot carry the host's packets.
    pub fn ideal(&self, seed: u64) -> Result<Option<Nanos>, Bad> {
        if self.path.link_bps() != self.path.rate_bps() {
            return Ok(None);
        }
        // Nothing of this makes an arrival earlier. Hand-overs stay, since they change rate and delay of the forward link.
        let open = self.path.clone().with_queue(Queue::Unlimited).with_loss_ppb(0).with_effects(Effects::default()).with_thin(None);
        let (release, shorter) = match *open.release() {
            // A packet that leaves the bottleneck later may travel less far: what counts is the shortest way there ever is.
            Release::Handover(settings) => {
                (Release::Handover(HandoverSettings { burst: 0, data_extra: 0, ..settings }), Some(settings.step))
            }
            _ => (Release::Plain, None),
        };
        let wire = u64::from(self.host.packet_bytes());
        let (mut forward, _) = open.with_release(release).links(wire as u32, self.host.ack_bytes(), seed, self.path_index)?;
        let mut left = self.bytes;
        loop {
            let len = left.min(wire);
            let Fate::Deliver { at, waited, .. } = forward.offer(0, len as u32) else { return Ok(None) };
            left -= len;
            let last = match shorter {
                // Its own serialization is left out: how long it takes depends on when it is.
                Some(step) => waited + forward.propagation().saturating_sub(step),
                None => at,
            };
            if left == 0 {
                return Ok(Some(Nanos(last)));
            }
            if let (Rate::Constant(bps), None) = (self.path.rate(), shorter) {
                let rest = u128::from(left) * 8_000_000_000 / u128::from((*bps).max(1));
                return Ok(Some(Nanos(last.saturating_add(u64::try_from(rest).unwrap_or(u64::MAX)))));
            }
        }
    }

    /// The hosts with this arm's loss detection, where it names one.
    ///
    /// # Errors
    /// If these hosts, or this testbed, have no such thing.
    pub fn hosts_of(&self, arm: &NamedArm) -> Result<Hosts, Bad> {
        let sender = &arm.arm.sender;
        if sender.detection.is_none() && sender.early.is_none() {
            return Ok(self.host);
        }
        let refused = |why: &str| Err(Bad(format!("arm `{}`: {why}", arm.label)));
        if self.testbed != Testbed::Sim {
            return refused("a real stack detects losses in its own way: leave `detection` and `early` out, or use the simulator");
        }
        let Hosts::Tcp(host) = self.host else {
            return refused("`detection` and `early` are TCP's: they go with `--transport tcp`");
        };
        let preset = sender.detection.copied().unwrap_or(host.preset);
        if sender.early.is_some() && preset.early_retransmit == Early::Off {
            return refused(&format!("detection `{}` has no early retransmit: it goes with `detection=linux26`", preset.name));
        }
        Ok(tcp::Host { preset, early_retransmit: sender.early.or(host.early_retransmit), ..host }.into())
    }

    pub(crate) fn config(&self) -> Config {
        Config { initial_window: u64::from(self.iw) * self.host.mss(), ..self.host.config() }
    }

    /// A pacer releases the packets of this arm.
    pub fn paced(&self, arm: &NamedArm) -> bool {
        // The kernel paces whatever wants to be.
        self.testbed == Testbed::Linux || arm.arm.configure(self.config()).paced
    }

    /// Runs one trial. With a recorder every event is kept.
    ///
    /// # Errors
    /// If the path cannot carry the host's packets, or this build does not have the testbed.
    pub fn run(&self, arm: &NamedArm, seed: u64, recorder: Option<&mut Recorder>) -> Result<Outcome, Bad> {
        self.testbed.check()?;
        let host = self.hosts_of(arm)?;
        if arm.kernel.is_some() && self.testbed != Testbed::Linux {
            return Err(Bad(format!("arm `{}`: the kernel's own controllers run on the testbed `linux` only", arm.label)));
        }
        if arm.own.is_some() && self.testbed != Testbed::Sim {
            return Err(Bad(format!("arm `{}`: a startup of your own runs on the testbed `sim` only", arm.label)));
        }
        if self.testbed != Testbed::Sim && self.path.ack_every().is_some() {
            return Err(Bad(format!(
                "path `{}`: `ack=` is for the simulator's receiver; on the testbed `{}` the stack acknowledges as it does",
                self.path,
                self.testbed.name()
            )));
        }
        #[cfg(feature = "quic")]
        if self.testbed == Testbed::Quic {
            return crate::quic::run(self, arm, seed, recorder);
        }
        #[cfg(all(feature = "quic", target_os = "linux"))]
        if self.testbed == Testbed::QuicReal {
            return crate::quic_real::run(self, arm, seed, recorder);
        }
        #[cfg(all(feature = "linux", target_os = "linux"))]
        if self.testbed == Testbed::Linux {
            return crate::linux::run(self, arm, seed, recorder);
        }
        let mut recorder = recorder;
        if let Some(tracer) = recorder.as_deref_mut().and_then(Recorder::tracer) {
            tracer.begin_with(Time(0), arm.arm.configure(self.config()), 0, self.oracle_exit(), Time(0));
        }
        let burst = u64::from(arm.arm.sender.burst.unwrap_or(self.burst)) * self.host.mss();
        let setup =
            Setup { path: &self.path, host, pacer_burst: burst, object: self.bytes, limit: self.limit, seed, path_index: self.path_index };
        if let Some(own) = &arm.own {
            let controller = arm.arm.controller_with(own.make(), self.config(), Time(0), Seq(0));
            let outcome = match recorder {
                Some(recorder) => run_unheard(&setup, controller, recorder)?,
                None => run_unheard(&setup, controller, &mut Nobody)?,
            };
            return if own.is_broken() { Err(Bad(format!("arm `{}`: its startup broke", arm.label))) } else { Ok(outcome) };
        }
        let controller = arm.arm.controller(self.config(), self.oracle_exit(), Time(0), Seq(0));
        Ok(match recorder {
            Some(recorder) => run(&setup, controller, recorder)?,
            None => run(&setup, controller, &mut Nobody)?,
        })
    }
}

impl Ground {
    /// Runs an application that is no plain object: responses with pauses, a video.
    ///
    /// # Errors
    /// If the path cannot carry the host's packets, or these hosts have not what the arm asks for, or the testbed is not the simulator, or
    /// a startup that is not ours broke.
    pub fn run_app(&self, arm: &NamedArm, app: App, seed: u64) -> Result<Outcome, Bad> {
        if self.testbed != Testbed::Sim || arm.kernel.is_some() {
            return Err(Bad(format!("arm `{}`: responses and videos are carried by the simulator only", arm.label)));
        }
        let host = self.hosts_of(arm)?;
        let &Ground { ref path, limit, path_index, .. } = self;
        let shared = Shared { path, host, limit, seed, path_index, sample: None, jitter: Nanos::ZERO };
        let Some(own) = &arm.own else {
            let controller = arm.arm.controller(self.config(), self.oracle_exit(), Time(0), Seq(0));
            return self.run_written(&shared, arm, app, controller);
        };
        let controller = arm.arm.controller_with(own.make(), self.config(), Time(0), Seq(0));
        let outcome = self.run_written(&shared, arm, app, controller)?;
        if own.is_broken() { Err(Bad(format!("arm `{}`: its startup broke", arm.label))) } else { Ok(outcome) }
    }

    fn run_written<S: Startup>(
        &self,
        shared: &Shared<'_>,
        arm: &NamedArm,
        app: App,
        controller: Controller<S, AnyAvoidance, AnyRecovery>,
    ) -> Result<Outcome, Bad> {
        let pacer_burst = u64::from(arm.arm.sender.burst.unwrap_or(self.burst)) * self.host.mss();
        let plan = FlowPlan { controller, pacer_burst, app, start: Nanos::ZERO, rtt_extra: Nanos::ZERO };
        let mut done = run_flows(shared, vec![plan], &mut Nobody)?;
        Ok(done.flows.swap_remove(0))
    }
}

/// How startup ended, as in `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExitRow {
    /// Why.
    pub reason: &'static str,
    /// When, since the first data byte was sent.
    pub time_ms: f64,
    /// Round trips completed.
    pub rounds: u32,
    /// Window when the end was detected, before any reduction.
    pub cwnd: u64,
    /// Window right after.
    pub cwnd_after: u64,
    /// Bytes in flight just before.
    pub inflight: u64,
    /// `cwnd` over rate times idle RTT.
    pub bdp_ratio: f64,
    /// The number that decided, in the algorithm's own unit.
    pub estimate: Option<u64>,
}

/// One recovery episode, as in `--json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EpisodeRow {
    /// Entry.
    pub start_ms: f64,
    /// Exit; null if the trial ended inside.
    pub end_ms: Option<f64>,
    /// Window just before.
    pub cwnd_before: u64,
    /// Bytes in flight just before.
    pub inflight: u64,
    /// Acknowledged in it.
    pub acked_bytes: u64,
    /// Declared lost in it.
    pub lost_bytes: u64,
    /// Longest time without sending in it.
    pub silence_ms: f64,
    /// Window at its end.
    pub cwnd_after: u64,
    /// Time from entry until the last hole was filled at the sender.
    pub repaired_ms: Option<f64>,
}

/// What the flow's packets waited at the bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueRow {
    /// Median over delivered packets.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

/// Data packets that the path dropped, by what dropped them (ground truth), as in `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DropsRow {
    /// The queue had no room.
    pub queue: u64,
    /// Independent loss, loss in bursts, hand-overs.
    pub random: u64,
    /// The policer's bucket was empty.
    pub policer: u64,
    /// CoDel or PIE.
    pub aqm: u64,
    /// Anything else.
    pub other: u64,
}

impl DropsRow {
    fn of(drops: &Drops) -> DropsRow {
        let Drops { queue, random, policer, aqm, other } = *drops;
        DropsRow { queue, random, policer, aqm, other }
    }
}

/// One trial, as in `--json`. Times count from the first data byte sent; what does not apply, or is not
/// known on the testbed, is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialRow {
    /// Name the arm was asked for by.
    pub arm: String,
    /// The arm in full.
    pub arm_full: String,
    /// The path's canonical text.
    pub path: String,
    /// Where it ran.
    pub testbed: &'static str,
    /// Seed of the path's draws.
    pub seed: u64,
    /// Every byte was delivered within the limit.
    pub complete: bool,
    /// Completion time: until the last byte was delivered in order at the receiver.
    pub ttlb_ms: Option<f64>,
    /// The sender's clock: until every byte was acknowledged there.
    pub acked_ms: Option<f64>,
    /// The bound on it that no sender beats.
    pub ideal_ms: Option<f64>,
    /// `ttlb_ms / ideal_ms`.
    pub vs_ideal: Option<f64>,
    /// Object bytes delivered in order at the receiver, by the end of the trial.
    pub delivered_bytes: u64,
    /// The same over the time until the last was delivered; over the whole trial, if a limit stopped it.
    pub goodput_mbps: Option<f64>,
    /// Data packets sent, repeats and probes included.
    pub packets_sent: u64,
    /// Declared lost and truly dropped.
    pub packets_lost: u64,
    /// `packets_lost / packets_sent`.
    pub loss_ratio: f64,
    /// Object bytes sent again.
    pub retransmitted_bytes: u64,
    /// Packets that carried a repeat.
    pub retransmissions: u64,
    /// Of these, dropped by the path.
    pub lost_retransmissions: Option<u64>,
    /// Retransmission or probe timeouts.
    pub rtos: Option<u64>,
    /// Recovery episodes opened by loss.
    pub recoveries: u64,
    /// Of these, cut short by a timeout.
    pub recoveries_timed_out: Option<u64>,
    /// Of these, with no more in flight at entry than the threshold allows.
    pub recoveries_below_ssthresh: Option<u64>,
    /// Episodes that ended by an ACK with the window below the threshold.
    pub slow_starts_after_recovery: u64,
    /// Declared lost and acknowledged later.
    pub spurious_losses: u64,
    /// Data packets that the path dropped, by cause; null where the testbed does not tell.
    pub drops: Option<DropsRow>,
    /// Rate times idle RTT plus queue; null for an unlimited queue.
    pub full_bdp_bytes: Option<u64>,
    /// How startup ended.
    pub exit: Option<ExitRow>,
    /// Recovery episodes.
    pub episodes: Option<Vec<EpisodeRow>>,
    /// Waiting times, ms.
    pub queue_ms: QueueRow,
}

/// Nanoseconds as milliseconds.
pub fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

impl TrialRow {
    /// The row of one outcome.
    pub fn new(ground: &Ground, arm: &NamedArm, seed: u64, ideal: Option<Nanos>, outcome: &Outcome) -> TrialRow {
        let acknowledged = outcome.stop == Stop::Complete;
        let bdp = ground.path.bdp_bytes().max(1) as f64;
        let ttlb_ms = outcome.delivered_after.map(|time| ms(time.0));
        let queue_ms = |quantile: f64| outcome.queue_us.value_at_quantile(quantile) as f64 / 1e3;
        let empty = outcome.queue_us.is_empty();
        TrialRow {
            arm: arm.label.clone(),
            arm_full: arm.full(),
            path: ground.path.to_string(),
            testbed: ground.testbed.name(),
            seed,
            complete: outcome.complete(),
            ttlb_ms,
            acked_ms: acknowledged.then(|| ms(outcome.acked_after.0)),
            ideal_ms: ideal.map(|ideal| ms(ideal.0)),
            vs_ideal: ttlb_ms.zip(ideal).map(|(ttlb, ideal)| ttlb / ms(ideal.0)),
            delivered_bytes: outcome.delivered,
            goodput_mbps: Some(outcome.delivered as f64 * 8e3 / outcome.delivered_after.unwrap_or(outcome.acked_after).0.max(1) as f64),
            packets_sent: outcome.packets_sent,
            packets_lost: outcome.packets_lost,
            loss_ratio: outcome.packets_lost as f64 / outcome.packets_sent.max(1) as f64,
            retransmitted_bytes: outcome.retransmitted_bytes,
            retransmissions: outcome.retransmissions,
            lost_retransmissions: outcome.known(Measure::LostRetransmissions, outcome.lost_retransmissions),
            rtos: outcome.known(Measure::Rtos, outcome.rtos),
            recoveries: outcome.recoveries,
            recoveries_timed_out: outcome.known(Measure::RecoveriesTimedOut, outcome.recoveries_timed_out),
            recoveries_below_ssthresh: outcome.known(Measure::RecoveriesBelowSsthresh, outcome.recoveries_below_ssthresh),
            slow_starts_after_recovery: outcome.slow_starts_after_recovery,
            spurious_losses: outcome.spurious_losses,
            drops: outcome.known(Measure::Drops, DropsRow::of(&outcome.drops)),
            full_bdp_bytes: ground.path.full_bdp_bytes(),
            exit: outcome.exit.map(|exit| ExitRow {
                reason: exit.reason.name(),
                time_ms: ms(exit.since_first_send.0),
                rounds: exit.rounds,
                cwnd: exit.detect_cwnd,
                cwnd_after: exit.cwnd,
                inflight: exit.inflight,
                bdp_ratio: exit.detect_cwnd as f64 / bdp,
                estimate: exit.estimate,
            }),
            episodes: outcome.known(
                Measure::Episodes,
                outcome
                    .episodes
                    .iter()
                    .map(|episode| EpisodeRow {
                        start_ms: ms(episode.start.0),
                        end_ms: episode.end.map(|end| ms(end.0)),
                        cwnd_before: episode.cwnd_before,
                        inflight: episode.inflight,
                        acked_bytes: episode.acked,
                        lost_bytes: episode.lost,
                        silence_ms: ms(episode.silence.0),
                        cwnd_after: episode.cwnd_after,
                        repaired_ms: episode.repaired.map(|at| ms(at.since(episode.start).0)),
                    })
                    .collect(),
            ),
            queue_ms: QueueRow {
                p50: if empty { 0.0 } else { queue_ms(0.5) },
                p99: if empty { 0.0 } else { queue_ms(0.99) },
                max: if empty { 0.0 } else { outcome.queue_us.max() as f64 / 1e3 },
            },
        }
    }
}

/// The extra RTT of one repeat, ns: uniform over half a millisecond, drawn from the seed. Without it every repeat on a path without
/// chance would be the same trial, and a result could hang on one alignment of packets and timers.
pub fn rtt_jitter(seed: u64) -> u64 {
    let draw = Stream::new(seed, 0, Purpose::Jitter).value(0);
    ((u128::from(draw) * 500_001) >> 64) as u64
}
