//! The testbed `quic` over real sockets: HTTP/3 from a real server to a real client through the relay, in real time, measured as the
//! virtual-time rig measures it.
//!
//! Where it is permitted, the threads of both ends run before whatever else the machine does, and the relay before them: a busy machine then
//! measures nearly what an idle one does. Trials run one at a time, because two of them would disturb each other's clock, and are repeated when the relay was late.

use crate::arms::NamedArm;
use crate::error::Bad;
use crate::quic::{Scribe, episode};
use crate::record::Recorder;
use crate::trial::Ground;
use firstflight::controller::Stats;
use firstflight_linux::relay::{Relay, RelayOptions, RelayReport};
use firstflight_linux::{Refusal, hurry};
use firstflight_quic::Plan;
use firstflight_quic::real::{Measured, Sender};
use firstflight_quic::rig::{Fault, Watch};
use firstflight_sim::{Hosts, Measure, Outcome, Stop};
use hdrhistogram::Histogram;
use std::net::Ipv4Addr;
use std::sync::Mutex;

/// One trial at a time.
static CLOCK: Mutex<()> = Mutex::new(());
/// Why some of the trials should not be believed.
static DOUBTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// How often a trial is run until its relay was in time.
const ATTEMPTS: u32 = 3;
/// IP and UDP headers, bytes (IPv4).
const HEADERS: u32 = 28;

/// What was doubtful since the last call.
pub fn take_doubts() -> Vec<String> {
    DOUBTS.lock().map(|mut doubts| std::mem::take(&mut *doubts)).unwrap_or_default()
}

/// Runs one trial. With a recorder every event is kept.
///
/// # Errors
/// If the hosts are not QUIC hosts, the path cannot carry the packets, or a stack fails.
pub fn run(ground: &Ground, arm: &NamedArm, seed: u64, recorder: Option<&mut Recorder>) -> Result<Outcome, Bad> {
    let Hosts::Quic(host) = ground.host else {
        return Err(Bad("testbed `quic` speaks QUIC: leave `--transport tcp` out, or use `--on sim`".into()));
    };
    let plan = Plan { initial_window: Some(ground.iw), oracle_exit: ground.oracle_exit(), ..Plan::new(arm.arm) };
    let fault = |fault: Fault| Bad(format!("testbed `quic`, arm {}: {fault}", arm.label));
    let refused = |refusal: Refusal| Bad(format!("testbed `quic`, arm {}: {refusal}", arm.label));
    let _alone = CLOCK.lock();
    let mut attempt = 1;
    loop {
        let sender = Sender::start(plan, host.datagram as u16, recorder.is_some(), hurry).map_err(fault)?;
        let options = RelayOptions {
            mtu: (host.datagram + HEADERS) as u16,
            seed,
            path_index: ground.path_index,
            gentle_start: true,
            ..RelayOptions::new((Ipv4Addr::LOCALHOST, 0).into(), sender.address())
        };
        let relay = Relay::start(&ground.path, options).map_err(refused)?;
        let measured = sender.trial(relay.address(), ground.bytes, ground.limit, relay.beginner()).map_err(fault)?;
        let report = relay.stop();
        let doubts = report.doubts();
        if !doubts.is_empty() && attempt < ATTEMPTS {
            attempt += 1;
            continue;
        }
        if let Ok(mut all) = DOUBTS.lock() {
            all.extend(doubts.into_iter().map(|doubt| format!("{}, seed {seed}: {doubt}", arm.label)));
        }
        if let Some(recorder) = recorder {
            let mut scribe = Scribe { recorder, min_rtt: None };
            for (note, delivered) in &measured.notes {
                scribe.on_note(note, measured.begin, *delivered, 0);
            }
        }
        return Ok(outcome(&measured, &report));
    }
}

/// The same measures under the simulator's names. What nobody sees from outside is listed as unknown: which packet
/// was dropped, and what a timer sent.
fn outcome(measured: &Measured, report: &RelayReport) -> Outcome {
    let stats = measured.account.map_or(Stats::default(), |account| account.stats);
    let forward = &report.link.forward;
    let dropped = forward.dropped_packets();
    let mut queue_us = Histogram::new_with_bounds(1, 120_000_000, 2).expect("constant bounds");
    for value in forward.queue.iter_recorded() {
        queue_us.saturating_record_n(value.value_iterated_to() / 1_000, value.count_at_value());
    }
    Outcome {
        stop: if measured.complete { Stop::Complete } else { Stop::TimeLimit },
        acked_after: measured.acked_after,
        delivered_after: measured.delivered_after,
        delivered: measured.delivered,
        packets_sent: measured.packets_sent,
        packets_lost: measured.packets_declared_lost.min(dropped),
        packets_dropped: dropped,
        drops: firstflight_sim::Drops::default(),
        spurious_losses: measured.packets_declared_lost.saturating_sub(dropped),
        retransmitted_bytes: measured.retransmitted_bytes,
        lost_retransmissions: 0,
        retransmissions: measured.retransmissions,
        rtos: 0,
        probes: 0,
        recoveries: u64::from(stats.loss_episodes),
        recoveries_below_ssthresh: measured.recoveries_below_ssthresh,
        recoveries_timed_out: 0,
        slow_starts_after_recovery: u64::from(stats.slow_starts_after_recovery),
        undone: u64::from(stats.undone),
        early_retransmits: 0,
        early_retransmits_spurious: 0,
        exit: measured.exit,
        episodes: measured.episodes.iter().map(episode).collect(),
        queue_us,
        cwnd_max: measured.cwnd_max,
        parts: Vec::new(),
        unknown: &[Measure::Drops, Measure::LostRetransmissions, Measure::Rtos, Measure::RecoveriesTimedOut],
    }
}
