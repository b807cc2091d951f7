//! Computes each metric from the samples of a run.

use crate::metrics::needs_honest;
use crate::run::Run;
use crate::schema::{Judge, Window};
use firstflight::Nanos;
use firstflight_lab::flows::{App, Counted};
use firstflight_lab::outcome::Outcome;
use firstflight_lab::stats::jain;
use firstflight_path::PACKET;

/// Duration of this many samples, s.
fn seconds(samples: usize, every: u64) -> f64 {
    samples as f64 * every as f64 / 1e9
}

/// A run, and the same run with honest receivers if a rule needs it.
pub(crate) type Paired<'a> = (Run<'a>, Option<Run<'a>>);

/// The value of a rule's metric; `alone` is the run of its role alone, if there is one. `None` if unknown.
pub(crate) fn read(
    (run, honest): &Paired<'_>,
    alone: Option<&Run<'_>>,
    judge: &Judge,
) -> Option<f64> {
    let beside = if needs_honest(&judge.metric) { honest.as_ref() } else { alone };
    measure(run, beside, &judge.metric, judge.window, &judge.of)
}

/// The value of a metric; `alone` is the run of the role alone for harm metrics, and the run with honest receivers for
/// metrics that need one. `None` if unknown.
pub(crate) fn measure(
    run: &Run<'_>,
    alone: Option<&Run<'_>>,
    name: &str,
    window: Window,
    role: &str,
) -> Option<f64> {
    let flows = run.of_role(role);
    if flows.is_empty() {
        return None;
    }
    let span = span(run, window);
    match name {
        "util" => Some(goodput(run, &flows, span)? / mean_mbps(run, span)?),
        "x_mbps" => goodput(run, &flows, span),
        "loss" => loss(run, &flows, span),
        "queue_p50_ms" => queue(run, times_of(run, span), 0.5),
        "queue_p95_ms" => queue(run, times_of(run, span), 0.95),
        "queue_p99_ms" => queue(run, times_of(run, span), 0.99),
        "standing_ms" => queue(run, times_of(run, span), 0.1),
        "jain" => jain(&each(run, &flows, span)?),
        "conv_s" => convergence(run, &flows),
        "starved" => Some(f64::from(u8::from(starved(run, &flows)))),
        "gap_s" => flows.iter().map(|flow| gap(run, *flow)).reduce(f64::max),
        "ratio" => ratio(run, &flows, span),
        "rtt_p95_ms" => rtt_p95(run, &flows, span),
        "harm_x" => {
            let [now, alone] =
                both(run, alone?, role, |run, flows| goodput(run, flows, self::span(run, window)))?;
            (alone > 0.0).then(|| (alone - now) / alone)
        }
        "harm_fct" => {
            let [now, alone] = both(run, alone?, role, completion)?;
            Some((now - alone) / now)
        }
        "harm_rtt" => {
            let [now, alone] =
                both(run, alone?, role, |run, flows| rtt_p95(run, flows, self::span(run, window)))?;
            Some((now - alone) / now)
        }
        "harm_kept" => {
            let [now, alone] =
                both(run, alone?, role, |run, flows| loss(run, flows, self::span(run, window)))?
                    .map(|loss| 1.0 - loss);
            (alone > 0.0).then(|| (alone - now) / alone)
        }
        "t90_s" => recovery(run, &flows),
        "overshoot_ms" => queue(run, after_event_times(run)?, 0.99),
        "overshoot_loss" => {
            let (from, to) = after_event_times(run)?;
            loss(run, &flows, (sample(run, from), sample(run, to)))
        }
        "fct_ms" => completion(run, &flows),
        "frame_p95_ms" => frames(run, &flows, window, |delays| {
            delays[(delays.len() * 95 / 100).min(delays.len() - 1)] as f64 / 1e6
        }),
        "frame_late" => frames(run, &flows, window, |delays| {
            let in_time = delays.partition_point(|delay| *delay <= LATE);
            (delays.len() - in_time) as f64 / delays.len() as f64
        }),
        "harm_frame" => {
            let [now, alone] = both(run, alone?, role, |run, flows| {
                measure(run, None, "frame_p95_ms", window, role).filter(|_| !flows.is_empty())
            })?;
            Some((now - alone) / now)
        }
        "unfinished" => unfinished(run, &flows),
        "spurious" | "timeouts" => whole(run, &flows, name),
        "closed" => {
            let all: Option<Vec<bool>> =
                flows.iter().map(|flow| run.outcome.flows[*flow].closed).collect();
            let all = all.filter(|all| !all.is_empty())?;
            Some(all.iter().filter(|closed| **closed).count() as f64 / all.len() as f64)
        }
        "ect0_rate_pps" if run.sends_ect1 => None,
        "rate_pps" | "ect0_rate_pps" => Some(sent(run, &flows, span)? / flows.len() as f64),
        "packets_per_rtt" => {
            Some(sent(run, &flows, span)? / flows.len() as f64 * run.path.rtt() as f64 / 1e9)
        }
        "packets_10_rtt" => packets_10_rtt(run, &flows),
        "gain" => {
            let [lying, honest] = both(run, alone?, role, first_packets)?;
            (honest > 0.0).then(|| lying / honest)
        }
        "backoff" => backoff(run),
        "silent_packets" => {
            let silence = &run.silence;
            let window = silence.cwnd as f64 / PACKET as f64 + 2.0;
            (silence.last_ack > 0).then(|| silence.sent.len() as f64 / window)
        }
        "in_recovery" => {
            (run.silence.last_ack > 0).then(|| f64::from(u8::from(run.silence.in_recovery)))
        }
        "breaker" if run.outcome.counted.is_empty() => None,
        "breaker" => Some(f64::from(u8::from(flows.iter().any(|flow| trips(run, *flow))))),
        _ => None,
    }
}

/// Reads the role's flows in both runs.
fn both(
    run: &Run<'_>,
    alone: &Run<'_>,
    role: &str,
    read: impl Fn(&Run<'_>, &[usize]) -> Option<f64>,
) -> Option<[f64; 2]> {
    Some([read(run, &run.of_role(role))?, read(alone, &alone.of_role(role))?])
}

/// First and last sample of a horizon.
type Span = (usize, usize);

fn sample(run: &Run<'_>, at: u64) -> usize {
    ((at / run.every) as usize).min(run.outcome.delivered.len().saturating_sub(1))
}

/// Start and end of a horizon, ns.
pub(crate) fn horizon(run: &Run<'_>, window: Window) -> (u64, u64) {
    let (from, end) = (run.cell.newcomer().0, run.cell.time.0);
    match window {
        Window::Start => (from, end.min(from + (100 * run.cell.rtt().0).min(10_000_000_000))),
        Window::Steady => (from + (end - from) / 3, end),
        Window::Whole => (from, end),
    }
}

fn span(run: &Run<'_>, window: Window) -> Span {
    let (from, to) = horizon(run, window);
    (sample(run, from), sample(run, to))
}

fn times_of(run: &Run<'_>, (from, to): Span) -> (u64, u64) {
    (from as u64 * run.every, to as u64 * run.every)
}

fn after_event_times(run: &Run<'_>) -> Option<(u64, u64)> {
    let event = run.cell.event?.0;
    Some((event, run.cell.time.0.min(event + 10_000_000_000)))
}

/// Goodput of each flow, Mbit/s.
fn each(run: &Run<'_>, flows: &[usize], (from, to): Span) -> Option<Vec<f64>> {
    let seconds = seconds(to.checked_sub(from).filter(|samples| *samples > 0)?, run.every);
    let bytes = run.outcome.between(from, to);
    flows.iter().map(|flow| Some(*bytes.get(*flow)? as f64 * 8e-6 / seconds)).collect()
}

fn goodput(run: &Run<'_>, flows: &[usize], span: Span) -> Option<f64> {
    Some(each(run, flows, span)?.iter().sum())
}

/// The bottleneck's mean rate, Mbit/s.
fn mean_mbps(run: &Run<'_>, (from, to): Span) -> Option<f64> {
    let samples = to.checked_sub(from).filter(|samples| *samples > 0)?;
    let rates = (from..to).map(|place| run.bps_at(place as u64 * run.every) as f64);
    Some(rates.sum::<f64>() / 1e6 / samples as f64).filter(|mbps| *mbps > 0.0)
}

fn counts(run: &Run<'_>, flows: &[usize], (from, to): Span) -> Option<(u64, u64)> {
    let (from, to) = (run.outcome.counted.get(from)?, run.outcome.counted.get(to)?);
    let sum = |of: fn(&Counted) -> u64| {
        flows.iter().map(|flow| of(&to[*flow]) - of(&from[*flow])).sum::<u64>()
    };
    Some((sum(|counted| counted.sent), sum(|counted| counted.dropped)))
}

fn loss(run: &Run<'_>, flows: &[usize], span: Span) -> Option<f64> {
    let (sent, dropped) = counts(run, flows, span)?;
    (sent > 0).then(|| dropped as f64 / sent as f64)
}

/// Packets per second.
fn sent(run: &Run<'_>, flows: &[usize], (from, to): Span) -> Option<f64> {
    let seconds = seconds(to.checked_sub(from).filter(|samples| *samples > 0)?, run.every);
    Some(counts(run, flows, (from, to))?.0 as f64 / seconds)
}

/// A quantile of the queueing delay over time, ms.
fn queue(run: &Run<'_>, (from, to): (u64, u64), quantile: f64) -> Option<f64> {
    let last = run.outcome.queue.len();
    let [from, to] = [from, to].map(|at| (at / run.queue_every) as usize);
    let mut waits: Vec<f64> = (from..to.min(last)).map(|sample| run.queue_ms(sample)).collect();
    waits.sort_by(f64::total_cmp);
    let place = (quantile * waits.len() as f64) as usize;
    waits.get(place.min(waits.len().saturating_sub(1))).copied()
}

fn rtt_p95(run: &Run<'_>, flows: &[usize], span: Span) -> Option<f64> {
    let extra = |flow: &usize| run.cell.flows[run.flows[*flow]].rtt_extra.0;
    let mean = flows.iter().map(|flow| (run.path.rtt() + extra(flow)) as f64).sum::<f64>();
    Some(queue(run, times_of(run, span), 0.95)? + mean / 1e6 / flows.len() as f64)
}

fn ratio(run: &Run<'_>, flows: &[usize], span: Span) -> Option<f64> {
    let others: Vec<usize> = (0..run.flows.len()).filter(|flow| !flows.contains(flow)).collect();
    let per_flow = |flows: &[usize]| Some(goodput(run, flows, span)? / flows.len() as f64);
    let others = per_flow(&others).filter(|x| *x > 0.0)?;
    Some(per_flow(flows)? / others)
}

/// Number of samples in `time` ns or `rtts` round trips, whichever is longer.
fn bin(run: &Run<'_>, time: u64, rtts: u64) -> usize {
    (time.max(rtts * run.cell.rtt().0)).div_ceil(run.every).max(1) as usize
}

fn convergence(run: &Run<'_>, flows: &[usize]) -> Option<f64> {
    let begin = sample(run, run.cell.newcomer().0);
    let last = run.outcome.delivered.len().checked_sub(1)?;
    let bin = bin(run, 1_000_000_000, 5);
    let needed = (5_000_000_000 / run.every) as usize;
    let equal = |from: usize| {
        each(run, flows, (from, from + bin)).is_some_and(|shares| {
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            mean > 0.0 && shares.iter().all(|x| (0.8..=1.25).contains(&(x / mean)))
        })
    };
    let mut since = None;
    for from in (begin..=last.checked_sub(bin)?).step_by(bin) {
        if !equal(from) {
            since = None;
            continue;
        }
        let start = *since.get_or_insert(from);
        if from + bin - start >= needed {
            return Some(seconds((start - begin).max(1), run.every));
        }
    }
    None
}

fn starved(run: &Run<'_>, flows: &[usize]) -> bool {
    let length = bin(run, 5_000_000_000, 50);
    let last = run.outcome.delivered.len().saturating_sub(1);
    let everyone: Vec<usize> = (0..run.flows.len()).collect();
    flows.iter().any(|flow| {
        let begin = sample(run, run.began(*flow).saturating_add(5_000_000_000));
        let mut poor = 0;
        let mut from = begin;
        while from + length <= last {
            let end = from + length;
            let there = |other: &&usize| {
                let stop = run.cell.flows[run.flows[**other]].stop.map_or(u64::MAX, |at| at.0);
                sample(run, run.began(**other)) <= from && stop >= end as u64 * run.every
            };
            let active: Vec<usize> = everyone.iter().filter(there).copied().collect();
            let shares = each(run, &active, (from, end)).unwrap_or_default();
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            let place = active.iter().position(|other| other == flow);
            let is_poor = place.is_some_and(|place| shares[place] < mean / 10.0);
            poor = if is_poor { poor + 1 } else { 0 };
            if poor == 3 {
                return true;
            }
            from = end;
        }
        false
    })
}

fn gap(run: &Run<'_>, flow: usize) -> f64 {
    let begin = sample(run, run.began(flow));
    let stop = run.cell.flows[run.flows[flow]].stop.map_or(u64::MAX, |at| at.0);
    let end = sample(run, stop);
    let (mut longest, mut last) = (0, begin);
    for place in begin..end {
        if run.outcome.delivered[place + 1][flow] > run.outcome.delivered[place][flow] {
            last = place + 1;
        }
        longest = longest.max(place + 1 - last);
    }
    seconds(longest, run.every)
}

fn recovery(run: &Run<'_>, flows: &[usize]) -> Option<f64> {
    let event = sample(run, run.cell.event?.0);
    let last = run.outcome.delivered.len().checked_sub(1)?;
    let later = goodput(run, flows, (event + last.checked_sub(event)? / 3, last))?;
    let never = Some(seconds(last - event, run.every));
    if later <= 0.0 {
        return never;
    }
    let bin = bin(run, 1_000_000_000, 5);
    let needed = (5_000_000_000 / run.every) as usize;
    let mut since = None;
    for from in event..=last.checked_sub(bin)? {
        if goodput(run, flows, (from, from + bin))? < 0.9 * later {
            since = None;
            continue;
        }
        let start = *since.get_or_insert(from);
        if from - start >= needed {
            return Some(seconds(start - event, run.every));
        }
    }
    never
}

fn finite(run: &Run<'_>, flows: &[usize]) -> Vec<usize> {
    let ends = |flow: &&usize| {
        let app = &run.cell.flows[run.flows[**flow]].app;
        !matches!(app, App::Endless | App::Nada { .. })
    };
    flows.iter().filter(ends).copied().collect()
}

fn completion(run: &Run<'_>, flows: &[usize]) -> Option<f64> {
    let flows = finite(run, flows);
    let time = |flow: &usize| {
        let never = || {
            let planned = run.cell.flows[run.flows[*flow]].start;
            let began = run.outcome.starts[*flow].map_or(planned.0, |start| start.0);
            Nanos(run.cell.time.0.saturating_sub(began).max(1))
        };
        run.outcome.flows[*flow].delivered_after.unwrap_or_else(never).0 as f64 / 1e6
    };
    let sum: f64 = flows.iter().map(|flow| libm::log(time(flow))).sum();
    (!flows.is_empty()).then(|| libm::exp(sum / flows.len() as f64))
}

/// Delay above which a frame disturbs a conversation (ITU-T G.114), ns.
const LATE: u64 = 150_000_000;

/// Applies `read` to the sorted delays, ns, of the frames written in a window.
fn frames(
    run: &Run<'_>,
    flows: &[usize],
    window: Window,
    read: impl Fn(&[u64]) -> f64,
) -> Option<f64> {
    let (from, to) = horizon(run, window);
    let parts = flows.iter().filter_map(|flow| run.outcome.parts.get(*flow)).flatten();
    let mut delays: Vec<u64> = parts
        .filter(|part| (from..to).contains(&part.written.0))
        .map(|part| part.delivered.map_or(run.cell.time.0, |at| at.0) - part.written.0)
        .collect();
    delays.sort_unstable();
    (!delays.is_empty()).then(|| read(&delays))
}

fn unfinished(run: &Run<'_>, flows: &[usize]) -> Option<f64> {
    let flows = finite(run, flows);
    let open = flows.iter().filter(|flow| run.outcome.flows[**flow].delivered_after.is_none());
    (!flows.is_empty()).then(|| open.count() as f64 / flows.len() as f64)
}

/// Counters of the transport over a whole run.
fn whole(run: &Run<'_>, flows: &[usize], name: &str) -> Option<f64> {
    let sum = |of: fn(&Outcome) -> Option<u64>| -> Option<f64> {
        let all: Option<u64> = flows.iter().map(|flow| of(&run.outcome.flows[*flow])).sum();
        Some(all? as f64)
    };
    match name {
        "spurious" => {
            let sent = sum(|flow| flow.counters.packets_sent).filter(|sent| *sent > 0.0)?;
            Some(sum(|flow| flow.counters.spurious_losses)? / sent)
        }
        _ => Some(sum(|flow| flow.counters.rtos)? / flows.len() as f64),
    }
}

fn packets_10_rtt(run: &Run<'_>, flows: &[usize]) -> Option<f64> {
    let counts = flows.iter().map(|flow| {
        let [from, to] = [10, 20].map(|rtts| sample(run, run.began(*flow) + rtts * run.path.rtt()));
        if run.outcome.flows[*flow].delivered_after.is_some_and(|at| at.0 < 20 * run.path.rtt()) {
            // It finished before the second ten round trips were over.
            return None;
        }
        Some(counts(run, &[*flow], (from, to))?.0 as f64 / 10.0)
    });
    counts.flatten().reduce(f64::min)
}

/// Number of packets that flows send in their first ten idle round trips.
fn first_packets(run: &Run<'_>, flows: &[usize]) -> Option<f64> {
    let each = flows.iter().map(|flow| {
        let began = run.began(*flow);
        let span = (sample(run, began), sample(run, began + 10 * run.path.rtt()));
        Some(counts(run, &[*flow], span)?.0 as f64)
    });
    each.sum()
}

fn backoff(run: &Run<'_>) -> Option<f64> {
    let silence = &run.silence;
    let quiet = silence.last_ack + run.path.rtt();
    let mut expiries: Vec<u64> = Vec::new();
    for at in silence.sent.iter().copied().filter(|at| *at > quiet) {
        if expiries.last().is_none_or(|first| at - first > 1_000_000) {
            expiries.push(at);
        }
    }
    let gaps: Vec<f64> = expiries.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let ratios =
        gaps.windows(2).skip(1).filter(|pair| pair[1] < 60e9).map(|pair| pair[1] / pair[0]);
    ratios.reduce(f64::min)
}

/// Number of 5 s windows in 60 s; half of them must contain packets, or the loss is not persistent.
const WINDOWS: usize = 12;

fn trips(run: &Run<'_>, flow: usize) -> bool {
    let length = (5_000_000_000 / run.every).max(1) as usize;
    let last = run.outcome.counted.len().saturating_sub(1);
    let windows: Vec<(u64, u64)> = (0..last / length)
        .filter_map(|place| counts(run, &[flow], (place * length, (place + 1) * length)))
        .collect();
    let bad = |(sent, dropped): (u64, u64)| dropped * 10 > sent;
    let fast = windows.windows(3).any(|three| three.iter().all(|window| bad(*window)));
    let slow = windows.windows(WINDOWS).any(|minute| {
        let sum = minute.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let busy = minute.iter().filter(|(sent, _)| *sent > 0).count();
        bad(sum) && busy * 2 >= WINDOWS
    });
    fast || slow
}
