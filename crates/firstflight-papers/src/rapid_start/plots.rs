//! The claims of the Rapid Start slides (IETF 125) about their plots, measured on the plotted path:
//! 100 Mbit/s, 30 ms, 30 ms of queue, IW 30, three seconds, factors 0.7 and 0.5, Reno and CUBIC.
//!
//! If the band of a value follows from the algebra of its arm, the value includes it.

use super::runs::{
    self, FULL_BDP, FULL_RTT, Kind, RTT, Run, Runs, WINDOW_PACKET, longest_gap, ms, peak_rate,
    rate, sends,
};
use crate::Values;
use firstflight::avoidance::{AnyAvoidance, Reno, reno};
use firstflight::controller::{Config, Controller};
use firstflight::recovery::{AnyRecovery, Immediate, RapidRecovery};
use firstflight::startup::{Grown, Pacing, Startup, Verdict};
use firstflight::{Ack, Context, Phase, Ratio, Seq, Time, Window};
use firstflight_lab::record::Recording;
use firstflight_lab::scenario::Scenario;
use firstflight_path::Path;
use firstflight_sim::{Boxed, Cause, Mixed, MixedAvoidance, MixedRecovery};

const RAPID: &[Kind] = &[Kind::NoJump, Kind::Jump];
const BASELINE: &[Kind] = &[Kind::HalfCut, Kind::BetaCut];
const T_F: f64 = FULL_RTT as f64 / 1e6;

// A pause of more than 2 ms is idleness; the pacer's own gaps are a quarter to half a millisecond.
const PAUSE: u64 = 2_000_000;

pub(super) fn idle_share_of_first_round(all: &Runs) -> Values {
    // Without its jump, Rapid Start sends the same first window at three windows per RTT, because it
    // may triple, and idles two thirds.
    let mut values = Values::default();
    for (kind, name) in
        [(Kind::HalfCut, "baseline"), (Kind::NoJump, "no_jump"), (Kind::Jump, "jump")]
    {
        let run = all.before_loss(kind);
        let mut times: Vec<u64> = run.sends().into_iter().filter(|&at| at < RTT).collect();
        times.push(RTT);
        let idle: u64 =
            times.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > PAUSE).sum();
        values.number(format!("idle.{name}"), idle as f64 / RTT as f64).case(&*run.arm);
    }
    values
}

/// Packets per second of the first flight while it is being sent: from the first packet after the
/// pacer's initial burst to the last.
fn first_flight_rate(run: &Run) -> f64 {
    let times: Vec<u64> = run.sends().into_iter().take_while(|&at| at < RTT).collect();
    let (first, last) = (times[2], times[times.len() - 1]);
    (times.len() - 3) as f64 / ((last - first) as f64 / 1e9)
}

pub(super) fn jump_rate(all: &Runs) -> Values {
    let ratio = first_flight_rate(all.before_loss(Kind::Jump))
        / first_flight_rate(all.before_loss(Kind::HalfCut));
    let mut values = Values::default();
    values.number("jump_rate", ratio).case(&*all.before_loss(Kind::Jump).arm);
    values
}

/// Window bytes gained and bytes acknowledged by each ACK before the first loss, with the phase it
/// was in.
fn growth_steps(run: &Run) -> Vec<(Phase, u64, u64, Option<u64>)> {
    let floor_at = run.record.names().iter().position(|name| *name == "rtt_floor_ns");
    run.moments()
        .windows(2)
        .take_while(|pair| pair[1].state.phase != Phase::Recovery)
        .filter(|pair| pair[1].state.event == Cause::Ack)
        .map(|pair| {
            let (before, after) = (&pair[0].state, &pair[1]);
            let floor = floor_at.and_then(|index| after.signals.get(index).copied().flatten());
            (
                after.state.phase,
                after.state.cwnd - before.cwnd,
                before.inflight - after.state.inflight,
                floor,
            )
        })
        .collect()
}

pub(super) fn growth_per_acked_byte(all: &Runs) -> Values {
    let mut values = Values::default();
    let mut grows = |name: &str, run: &Run, phase: Phase, expected: u64| {
        let steps: Vec<_> = growth_steps(run).into_iter().filter(|step| step.0 == phase).collect();
        let wrong = steps.iter().filter(|step| step.1 != expected * step.2).count();
        let ours = format!("{} of {} ACKs", steps.len() - wrong, steps.len());
        let holds = wrong == 0 && !steps.is_empty();
        values
            .exact(name, ours, format!("all, exactly {expected} per byte"), holds)
            .case(&*run.arm);
        if run.kind == Kind::HalfCut || phase == Phase::Rapid {
            return;
        }
        // min(30 + 4, 1.1 x 30) ms; at the threshold itself growth is still threefold.
        let wrong = growth_steps(run)
            .iter()
            .filter(|step| matches!(step.0, Phase::Rapid | Phase::Startup))
            .filter(|step| {
                (step.0 == Phase::Rapid) != step.3.is_some_and(|floor| floor <= 33_000_000)
            })
            .count();
        values
            .exact("growth.threshold", format!("{wrong} ACKs otherwise"), "0", wrong == 0)
            .case(&*run.arm);
    };
    grows("growth.baseline", all.before_loss(Kind::HalfCut), Phase::Startup, 1);
    for kind in RAPID {
        let run = all.before_loss(*kind);
        grows("growth.threefold", run, Phase::Rapid, 2);
        grows("growth.after", run, Phase::Startup, 1);
    }
    values
}

pub(super) fn window_at_first_loss(all: &Runs) -> Values {
    let mut values = Values::default();
    for (kind, name) in
        [(Kind::HalfCut, "baseline"), (Kind::NoJump, "rapid"), (Kind::Jump, "rapid")]
    {
        let run = all.before_loss(kind);
        values.number(format!("first_loss.{name}"), run.overshoot()).case(&*run.arm);
    }
    values
}

pub(super) fn baseline_cut_and_second_recovery(all: &Runs) -> Values {
    let mut values = Values::default();
    for run in all.of(BASELINE) {
        let after = run.recovery().cwnd_after as f64 / FULL_BDP;
        if run.kind == Kind::HalfCut {
            values.number("cut.half", after).case(&*run.arm);
        } else {
            values.words("cut.own", format!("{after:.3} F")).case(&*run.arm);
        }
        let second = run
            .outcome
            .episodes
            .get(1)
            .map_or(f64::INFINITY, |second| ms(run.recovery().start, second.start));
        values.number("second_recovery", second / T_F).case(&*run.arm);
    }
    values
}

pub(super) fn landing(all: &Runs) -> Values {
    let mut values = Values::default();
    for run in all.of(RAPID) {
        let (first, beta) = (run.recovery(), run.beta());
        let landed = first.cwnd_after as f64 / first.acked as f64;
        values.number("landing.acked", landed).within(beta * 0.97, beta * 1.03).case(&*run.arm);
        let of_path = first.cwnd_after as f64 / FULL_BDP;
        values.number("landing.path", of_path).within(beta * 0.97, beta * 1.03).case(&*run.arm);
        if run.reno {
            values.number("landing.recoveries", run.outcome.episodes.len() as f64).case(&*run.arm);
        } else {
            let (second, due) = cubic_returns(run);
            values.number("landing.cubic", second).within(due * 0.9, due * 1.25).case(&*run.arm);
        }
    }
    values
}

/// CUBIC must return to F within three seconds: after the hand-over, its curve aims at W_max = 2 cwnd / beta, the window
/// of the overshoot, and passes F long before its plateau. The claim of a single recovery refers to Reno-like growth.
/// For CUBIC, this checks that the second recovery comes when the curve predicts it: its time and the predicted time,
/// ms after the first.
fn cubic_returns(run: &Run) -> (f64, f64) {
    let first = run.recovery();
    let packets = |bytes: f64| bytes / WINDOW_PACKET as f64;
    let (landed, path) = (packets(first.cwnd_after as f64), packets(FULL_BDP));
    let k = |from: f64| ((2.0 * landed / run.beta() - from) / 0.4).cbrt();
    let due = (k(landed) - k(path)) * 1e3;
    let second = run
        .outcome
        .episodes
        .get(1)
        .map_or(f64::INFINITY, |second| ms(first.end.expect("it ended"), second.start));
    (second, due)
}

pub(super) fn silence(all: &Runs) -> Values {
    let mut values = Values::default();
    for run in all.of(RAPID) {
        let beta = run.beta();
        let entry = run.recovery().start.0;
        let (begin, end) = longest_gap(&run.sends(), entry, entry + FULL_RTT);
        let silent = (end - begin) as f64 / 1e6;
        let limit = (1.0 - beta) * T_F + 2.0;
        values.number("silence.limit", silent).within(0.0, limit).case(&*run.arm);
        let u = run.overshoot() / 3.0 * (1.0 - beta);
        let due = u / (u + beta) * T_F;
        values.number("silence.due", silent).within(due - 2.0, due + 2.0).case(&*run.arm);
    }
    values
}

/// Queue and send rate from the entry into recovery until three full round trips later.
pub(super) fn draining_and_bursts(all: &Runs) -> Values {
    let mut values = Values::default();
    for run in all.of(&[Kind::HalfCut, Kind::BetaCut, Kind::NoJump, Kind::Jump]) {
        let entry = run.recovery().start.0;
        let times = run.sends();
        let (_, resumed) = longest_gap(&times, entry, entry + FULL_RTT);
        let peak = peak_rate(&times, resumed, entry + FULL_RTT);
        let least = run.least_queue(entry, entry + 3 * FULL_RTT) as f64 / 1e3;
        match run.kind {
            Kind::NoJump | Kind::Jump => {
                values.number("burst.rapid", peak).case(&*run.arm);
                let name = if run.tenths == 7 { "queue.left" } else { "queue.dry" };
                values.number(name, least).case(&*run.arm);
            }
            Kind::HalfCut => {
                values.number("cut.drains", least).case(&*run.arm);
                values.number("cut.bursts", peak).case(&*run.arm);
            }
            Kind::BetaCut => {
                values
                    .words("cut.smaller", format!("{least:.0} kB least, then {peak:.2} x link"))
                    .case(&*run.arm);
            }
        }
    }
    values
}

pub(super) fn repair_time(all: &Runs) -> Values {
    let mut values = Values::default();
    for run in all.of(&[Kind::HalfCut, Kind::BetaCut, Kind::NoJump, Kind::Jump]) {
        let first = run.recovery();
        let Some(repaired) = first.repaired else { continue };
        let took = ms(first.start, repaired) / T_F;
        if run.kind == Kind::BetaCut {
            // The burst overflows the queue and loses retransmissions, which are repaired in the next episode.
            values.words("repair.repeats", format!("{took:.3} T_F")).case(&*run.arm);
        } else {
            let g = run.overshoot();
            values.number("repair.took", took).within(g * 0.85, g * 1.15).case(&*run.arm);
        }
        if RAPID.contains(&run.kind) {
            let base = all
                .of(&[Kind::HalfCut])
                .find(|base| base.same_avoidance(run))
                .expect("each has a baseline");
            let base =
                base.recovery().repaired.map_or(0.0, |at| ms(base.recovery().start, at) / T_F);
            values.number("repair.longer", took / base).case(&*run.arm);
        }
    }
    values
}

pub(super) fn losses(all: &Runs) -> Values {
    let drops = |run: &Run| run.outcome.counters.packets_dropped as f64;
    let mut values = Values::default();
    for run in all.of(RAPID) {
        let same = |base: &&Run| base.same_avoidance(run);
        let base = all.of(BASELINE).filter(same).map(drops).fold(0.0, f64::max);
        values.number("losses", drops(run) / base).case(&*run.arm);
    }
    values
}

/// Grows by `extra` bytes per acknowledged byte regardless of the queue, so that the first loss occurs at
/// exactly `1 + extra` full BDP.
#[derive(Clone, Debug)]
struct Forced {
    extra: u16,
}

impl Startup for Forced {
    type Saved = ();

    fn grow(&mut self, _ack: &Ack, acked: u64, w: &mut Window, _cx: &Context) -> Grown {
        w.open(acked * u64::from(self.extra));
        Grown { leftover: 0, verdict: Verdict::Stay }
    }

    fn pacing(&self) -> Pacing {
        Pacing::Gain(Ratio::new(1 + self.extra, 1))
    }
}

/// Measures a plain reduction to the window where Rapid Start lands: beta of the full BDP, which is beta/G of the
/// window.
pub(super) fn forced_cuts() -> Values {
    let mut values = Values::default();
    for (extra, cut, arm) in [
        (1, Ratio::new(1, 4), "plain beta/2 cut at 2 F, beta 0.5"),
        (2, Ratio::new(1, 6), "plain beta/3 cut at 3 F, beta 0.5"),
    ] {
        let g = f64::from(extra + 1);
        let avoidance = AnyAvoidance::Reno(Reno::new(firstflight::with!(reno::Params {
            first_beta: Some(cut),
            ..reno::Params::default()
        })));
        // Unpaced after the cut: a gain that no window reaches.
        let config = firstflight::with!(Config {
            initial_window: 30 * WINDOW_PACKET,
            recovery_gain: Ratio::new(1000, 1),
            ..Config::quic(WINDOW_PACKET)
        });
        let recovery = AnyRecovery::Immediate(Immediate::default());
        let mut record = Recording::default();
        let outcome = runs::run_controller(
            Controller::new(
                Mixed::Own(Boxed(Box::new(Forced { extra }))),
                MixedAvoidance::Ours(avoidance),
                MixedRecovery::Ours(recovery),
                config,
                Time(0),
                Seq(0),
            ),
            &mut record,
        );
        let first = outcome.episodes.first().expect("it overshoots");
        let overshoot = first.cwnd_before as f64 / FULL_BDP;
        values.number("forced.overshoot", overshoot).within(g * 0.98, g * 1.02).case(arm);
        let times = sends(record.moments());
        let entry = first.start.0;
        let (begin, end) = longest_gap(&times, entry, entry + FULL_RTT);
        let idle = (end - begin) as f64 / FULL_RTT as f64;
        let due = 1.0 - cut.num() as f64 / cut.den() as f64;
        values.number("forced.idle", idle).within(due * 0.95, due * 1.05).case(arm);
        let burst = rate(&times, end, entry + FULL_RTT);
        values.number("forced.burst", burst).within(g * 0.95, g * 1.05).case(arm);
    }
    values
}

pub(super) fn factors() -> Values {
    // An entry window that every denominator divides, and amounts that touch no floor.
    let pre = 3_000_000;
    let after = |beta, acked, lost| {
        let mut recovery =
            RapidRecovery::new(beta, Ratio::new(2, 3), pre, 30 * WINDOW_PACKET, WINDOW_PACKET);
        recovery.account(acked, lost);
        recovery.cwnd()
    };
    let mut values = Values::default();
    for (beta, arm, silence, ack, loss) in [
        (Ratio::new(1, 2), "beta 1/2, K 2/3", (5, 6), (1, 3), (5, 6)),
        (Ratio::new(7, 10), "beta 7/10, K 2/3", (9, 10), (1, 5), (9, 10)),
    ] {
        let part = |(num, den): (u64, u64), of: u64| of * num / den;
        let entered = after(beta, 0, 0);
        let third = beta.of(pre) / 3;
        for (name, measured, expected) in [
            ("silence", entered, part(silence, pre)),
            ("ack", entered - after(beta, 600_000, 0), part(ack, 600_000)),
            ("loss", entered - after(beta, 0, 600_000), part(loss, 600_000)),
            ("floor", after(beta, 0, pre), third),
        ] {
            values
                .exact(
                    format!("factors.{name}"),
                    format!("{measured} B"),
                    format!("{expected} B"),
                    measured == expected,
                )
                .case(arm);
        }
        // A small window stops at beta x IW instead, which is above a third of beta x pre.
        let (iw, pre) = (30 * WINDOW_PACKET, 80 * WINDOW_PACKET);
        let mut small = RapidRecovery::new(beta, Ratio::new(2, 3), pre, iw, WINDOW_PACKET);
        small.account(0, pre);
        let (measured, expected) = (small.cwnd(), beta.of(iw));
        values
            .exact(
                "factors.floor_iw",
                format!("{measured} B"),
                format!("{expected} B"),
                measured == expected,
            )
            .case(arm);
    }
    values
}

/// Measures marks above 15 ms of queue. The slides do not state the queue size that avoids loss. The whole overshoot is
/// sent before the first mark is reported, up to three times the capacity of 45 ms, so a queue of 30 ms loses packets as
/// without marks; 150 ms is enough.
const MARKED: &str = "rapid-slide,queue=150ms,ecn=15ms";

pub(super) fn marks() -> Values {
    let mut values = Values::default();
    let ground =
        |bytes| Scenario { bytes, path: Path::parse(MARKED).expect("a path"), ..runs::ground() };
    for (beta, number) in [("0.7", 0.7), ("0.5", 0.5)] {
        for kind in [Kind::NoJump, Kind::Jump] {
            let text = runs::arm_text(kind, beta, "reno");
            let (outcome, _) = runs::run_arm(&ground(60_000_000), &text);
            let arm = format!("{}, marks at 15 ms", text.replace("@(iw=30,recgain=2)", ""));
            let mut of_arm = Values::default();
            of_arm.number("marks.loss", outcome.counters.packets_dropped as f64);
            let first = outcome.episodes.first().expect("marks open a recovery");
            let landed = first.cwnd_after as f64 / first.cwnd_before as f64;
            of_arm.number("marks.landed", landed).within(number * 0.98, number * 1.02);
            // Without marks there is no second recovery in 3 s with Reno (`landing.recoveries`).
            let second = outcome
                .episodes
                .get(1)
                .map_or(f64::INFINITY, |second| ms(first.end.expect("it ended"), second.start));
            of_arm.number("marks.second", second).within(0.0, T_F);
            let baseline = runs::arm_text(Kind::BetaCut, beta, "reno");
            let gains: Vec<(u64, f64)> =
                [200_000, 400_000, 800_000, 1_600_000, 3_200_000, 10_000_000]
                    .map(|bytes| {
                        let time =
                            |arm: &str| runs::run_arm(&ground(bytes), arm).0.acked_after.0 as f64;
                        (bytes, 1.0 - time(&text) / time(&baseline))
                    })
                    .into();
            let list: Vec<String> = gains
                .iter()
                .map(|(bytes, gain)| format!("{} kB {:+.1} %", bytes / 1000, gain * 100.0))
                .collect();
            // The slides' sizes end at 3.2 MB; a larger object continues after the second and third
            // consecutive reductions, which can leave the link idle.
            let least = gains
                .iter()
                .filter(|(bytes, _)| *bytes <= 3_200_000)
                .map(|(_, gain)| *gain)
                .fold(f64::INFINITY, f64::min);
            of_arm.number("marks.gain", least);
            of_arm.words("marks.by_size", list.join(", "));
            values.extend(of_arm.of_case(&arm));
        }
    }
    values
}
