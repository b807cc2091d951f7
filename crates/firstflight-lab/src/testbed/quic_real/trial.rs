//! HTTP/3 from a real server to a real client through the relay, in real time, with the same
//! measurements as the virtual-time rig.
//!
//! If permitted, the threads of both ends have priority over other processes, and the relay has
//! priority over both: a busy machine then measures nearly the same as an idle one. Trials run one
//! at a time, because two of them would disturb each other's timing, and are repeated if the relay
//! was late.

use crate::arms::NamedArm;
use crate::outcome::{Outcome, Queueing};
use crate::record::Recording;
use crate::scenario::Scenario;
use crate::testbed::bed::{Info, Testbed};
use crate::testbed::quic::trial::plan;
use firstflight_http::real::{self, Measured, Sender};
use firstflight_linux::hurry;
use firstflight_linux::relay::{Relay, RelayOptions, RelayReport};
use firstflight_path::Error;
use firstflight_sim::Counters;
use hdrhistogram::Histogram;
use std::net::Ipv4Addr;
use std::sync::Mutex;

/// Maximum number of attempts of a trial until its relay is on time.
const ATTEMPTS: u32 = 3;
/// IP and UDP headers, bytes (IPv4).
const HEADERS: u32 = 28;

/// Real QUIC stacks in real time.
pub struct QuicReal {
    info: Info,
    /// Ensures that only one trial runs at a time.
    alone: Mutex<()>,
}

impl QuicReal {
    /// A machine has one instance.
    pub(super) const fn new(info: Info) -> QuicReal {
        let info = Info { stacks: Some(real::STACKS), ..info };
        QuicReal { info, alone: Mutex::new(()) }
    }
}

impl Testbed for QuicReal {
    fn info(&self) -> &Info {
        &self.info
    }

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
}

fn run(
    scenario: &Scenario,
    arm: &NamedArm,
    seed: u64,
    recording: Option<&mut Recording>,
) -> Result<Outcome, Error> {
    let (plan, host) = plan(scenario, arm)?;
    let failed = |why: Error| Error::new(format!("testbed `quic`, arm {}: {why}", arm.label));
    let mut attempt = 1;
    loop {
        let sender = Sender::start(plan, host.datagram as u16, recording.is_some(), hurry)
            .map_err(failed)?;
        let options = RelayOptions {
            mtu: (host.datagram + HEADERS) as u16,
            seed,
            path_index: scenario.path_index,
            gentle_start: true,
            ..RelayOptions::new((Ipv4Addr::LOCALHOST, 0).into(), sender.address())
        };
        let relay = Relay::start(&scenario.path, options).map_err(failed)?;
        let measured = sender
            .trial(relay.address(), scenario.bytes, scenario.limit, relay.beginner())
            .map_err(failed)?;
        let report = relay.stop();
        let doubts = report.doubts();
        if !doubts.is_empty() && attempt < ATTEMPTS {
            attempt += 1;
            continue;
        }
        let warnings = doubts
            .into_iter()
            .map(|doubt| format!("{}, seed {seed}: {doubt}", arm.label))
            .collect();
        if let Some(recording) = recording {
            measured.read_to(recording);
        }
        return Ok(Outcome { warnings, ..outcome(&measured, &report) });
    }
}

/// The outcome; values that cannot be observed from outside stay unknown: which packet was dropped,
/// and what a timer sent.
fn outcome(measured: &Measured, report: &RelayReport) -> Outcome {
    let forward = &report.link.forward;
    let dropped = forward.dropped_packets();
    let mut queue_us = Histogram::new_with_bounds(1, 120_000_000, 2).expect("constant bounds");
    for value in forward.queue.iter_recorded() {
        queue_us.saturating_record_n(value.value_iterated_to() / 1_000, value.count_at_value());
    }
    Outcome {
        complete: measured.complete || measured.delivered_after.is_some(),
        acked_after: measured.complete.then_some(measured.acked_after),
        ended_after: Some(measured.acked_after),
        delivered_after: measured.delivered_after,
        delivered: Some(measured.delivered),
        counters: Counters {
            packets_lost: Some(measured.packets_declared_lost.min(dropped)),
            spurious_losses: Some(measured.packets_declared_lost.saturating_sub(dropped)),
            ..measured.counters
        },
        exit: measured.exit,
        episodes: Some(measured.episodes.clone()),
        queueing: Some(Queueing::of(&queue_us)),
        ..Outcome::default()
    }
}
