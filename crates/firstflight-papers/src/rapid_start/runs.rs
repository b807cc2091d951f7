//! The runs behind the plots of the Rapid Start slides (IETF 125), and measurements on them.

use firstflight::{Nanos, Time};
use firstflight_lab::arms::{NamedArm, parse_arms};
use firstflight_lab::record::{Moment, Recording};
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;
use firstflight_sim::instrumented::Core;
use firstflight_sim::{Cause, Episode, Mixed, Observer, Outcome, Setup, run};
use rayon::prelude::*;

/// Idle round trip of the plotted path, and the round trip when its queue is full, ns.
pub(super) const RTT: u64 = 30_000_000;
pub(super) const FULL_RTT: u64 = 60_000_000;
/// Bytes of one packet, as the window counts them and on the link.
pub(super) const WINDOW_PACKET: u64 = 1472;
pub(super) const WIRE_PACKET: u64 = 1500;
/// Capacity of the path and its queue in window bytes: 750 000 B on the wire, of which 1472 in 1500
/// count.
pub(super) const FULL_BDP: f64 = 736_000.0;
/// Packets per second on the link.
const LINK_PACKETS: f64 = 100e6 / 8.0 / WIRE_PACKET as f64;

/// The arms that the slides compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Paced slow start with a first reduction by half.
    HalfCut,
    /// Paced slow start with a first reduction by the controller's own factor.
    BetaCut,
    /// Rapid Start without its jump.
    NoJump,
    /// Rapid Start.
    Jump,
}

/// One plotted run.
pub(super) struct Run {
    pub kind: Kind,
    /// Decrease factor, in tenths.
    pub tenths: u32,
    pub reno: bool,
    pub arm: String,
    pub outcome: Outcome,
    pub record: Recording,
}

/// The recovery of every arm is paced with slow start's gain of 2, because the default of 5/4 would hide the burst
/// shown in the slides.
pub(super) fn arm_text(kind: Kind, beta: &str, avoidance: &str) -> String {
    let sender = "@(iw=30,recgain=2)";
    match kind {
        Kind::HalfCut => format!("slowstart/{avoidance}(beta={beta},first=0.5)/immediate{sender}"),
        Kind::BetaCut => format!("slowstart/{avoidance}(beta={beta})/immediate{sender}"),
        Kind::NoJump => format!("rapid(jump=off)/{avoidance}(beta={beta}){sender}"),
        Kind::Jump => format!("rapid/{avoidance}(beta={beta}){sender}"),
    }
}

/// Scenario of three seconds with an object that takes longer.
pub(super) fn ground() -> Scenario {
    Scenario {
        limit: Nanos::from_secs(3),
        ..Scenario::new(Path::parse("rapid-slide").expect("a built-in path"), 60_000_000)
    }
}

/// Runs one arm in a scenario and records every event and signal.
pub(super) fn run_arm(ground: &Scenario, text: &str) -> (Outcome, Recording) {
    let named: NamedArm = parse_arms(text).expect("a valid arm").remove(0);
    let mut record = Recording::with_signals();
    let outcome =
        ground.simulate(&named, 1, Some(&mut record)).expect("the path carries full packets");
    (outcome, record)
}

/// All runs: both factors, both congestion avoidances, four arms (with a factor of one half, both reductions are the
/// same).
pub(super) struct Runs(Vec<Run>);

impl Runs {
    /// Executes all runs.
    pub(super) fn all() -> Runs {
        let mut jobs = Vec::new();
        for reno in [true, false] {
            for (beta, tenths) in [("0.7", 7), ("0.5", 5)] {
                for kind in [Kind::HalfCut, Kind::BetaCut, Kind::NoJump, Kind::Jump] {
                    if kind == Kind::BetaCut && tenths == 5 {
                        continue;
                    }
                    jobs.push((kind, beta, tenths, reno));
                }
            }
        }
        let run = |(kind, beta, tenths, reno)| {
            let text = arm_text(kind, beta, if reno { "reno" } else { "cubic" });
            let (outcome, record) = run_arm(&ground(), &text);
            Run { kind, tenths, reno, arm: text.replace("@(iw=30,recgain=2)", ""), outcome, record }
        };
        Runs(jobs.into_par_iter().map(run).collect())
    }

    /// The runs of these kinds.
    pub(super) fn of(&self, kinds: &[Kind]) -> impl Iterator<Item = &Run> {
        self.0.iter().filter(move |run| kinds.contains(&run.kind))
    }

    /// The run of one kind with factor 0.7 and Reno; neither matters before the first loss.
    pub(super) fn before_loss(&self, kind: Kind) -> &Run {
        self.0
            .iter()
            .find(|run| run.kind == kind && run.reno && run.tenths == 7)
            .expect("every kind runs with 0.7 and Reno")
    }
}

impl Run {
    pub(super) fn beta(&self) -> f64 {
        f64::from(self.tenths) / 10.0
    }

    /// Whether both runs have the same congestion avoidance and factor.
    pub(super) fn same_avoidance(&self, other: &Run) -> bool {
        (self.reno, self.tenths) == (other.reno, other.tenths)
    }

    pub(super) fn moments(&self) -> &[Moment] {
        self.record.moments()
    }

    /// Send times of packets, ns.
    pub(super) fn sends(&self) -> Vec<u64> {
        sends(self.moments())
    }

    /// The first recovery.
    pub(super) fn recovery(&self) -> &Episode {
        self.outcome.episodes.first().expect("every plotted run overshoots")
    }

    /// Window at recovery entry over the full BDP.
    pub(super) fn overshoot(&self) -> f64 {
        self.recovery().cwnd_before as f64 / FULL_BDP
    }

    /// Smallest queue at the bottleneck within `[from, to)`, bytes, sampled at transmissions and ACKs.
    pub(super) fn least_queue(&self, from: u64, to: u64) -> u64 {
        self.moments()
            .iter()
            .filter(|m| (from..to).contains(&m.state.now.0))
            .map(|m| m.state.queue)
            .min()
            .unwrap_or(0)
    }
}

/// When packets left, ns.
pub(super) fn sends(moments: &[Moment]) -> Vec<u64> {
    moments.iter().filter(|m| m.state.event == Cause::Sent).map(|m| m.state.now.0).collect()
}

/// The longest silence that starts in `[from, to)`: its start and end, ns.
pub(super) fn longest_gap(sends: &[u64], from: u64, to: u64) -> (u64, u64) {
    let last_before = sends.partition_point(|&at| at < from);
    let mut begin = from;
    let mut longest = (from, from);
    for &at in &sends[last_before..] {
        if at - begin > longest.1 - longest.0 {
            longest = (begin, at);
        }
        begin = at;
        if at >= to {
            break;
        }
    }
    longest
}

/// Send rate in `[from, to)`, relative to the link's.
pub(super) fn rate(sends: &[u64], from: u64, to: u64) -> f64 {
    let packets = sends.partition_point(|&at| at < to) - sends.partition_point(|&at| at < from);
    packets as f64 / ((to - from) as f64 / 1e9) / LINK_PACKETS
}

/// The highest rate in consecutive windows of 5 ms within `[from, to)`, relative to the link's.
pub(super) fn peak_rate(sends: &[u64], from: u64, to: u64) -> f64 {
    (from..to)
        .step_by(5_000_000)
        .filter(|start| start + 5_000_000 <= to)
        .map(|start| rate(sends, start, start + 5_000_000))
        .fold(0.0, f64::max)
}

/// Runs a custom controller on the plotted path.
pub(super) fn run_controller(controller: Core<Mixed>, observer: &mut dyn Observer) -> Outcome {
    let ground = ground();
    let setup = Setup {
        path: &ground.path,
        host: ground.host,
        pacer_burst: 2 * WINDOW_PACKET,
        object: ground.bytes,
        limit: ground.limit,
        seed: 1,
        path_index: 0,
    };
    run(&setup, controller, Some(observer)).expect("the path carries full packets")
}

/// Converts to milliseconds.
pub(super) fn ms(from: Time, to: Time) -> f64 {
    to.since(from).0 as f64 / 1e6
}
