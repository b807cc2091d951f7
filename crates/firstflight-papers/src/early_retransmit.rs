//! Early Retransmit: RFC 5827 with its two mitigations on web servers.

use super::figure::{Figure, Series, Shape, axis};
use super::sample::{Interval, bootstrap, bootstrap_each};
use super::servers::{
    Counted, Fitted, Knobs, Known, Server, Service, blocks, calibrate, serve_again, total,
};
use super::source::published;
use super::web_loss::fit_web;
use super::{Effort, Measured, Source, Values};
use firstflight::detection::early_retransmit::{Act, Clock, EarlyRetransmit, Flight, Options};
use firstflight_lab::Error;
use firstflight_lab::stats::resample;

/// The arm of every server; Early Retransmit belongs to loss detection, not to the arm.
pub(crate) const ARMS: &[&str] = &[RECOVERY];
const RECOVERY: &str = "slowstart/cubic/prr(mode=ssrb,lost=ignore)";
const fn early(options: Option<Options>) -> Server {
    Server { arm: RECOVERY, preset: "linux26", early: options }
}
const SERVERS: [(&str, Server); 6] = [
    ("off", early(None)),
    ("naive", early(Some(Options::NAIVE))),
    ("+A", early(Some(Options::A))),
    ("+B", early(Some(Options::B))),
    ("+A+B", early(Some(Options::AB))),
    ("RACK", Server { arm: RECOVERY, preset: "rack", early: None }),
];
const OFF: usize = 0;
const NAIVE: usize = 1;
const BOTH: usize = 4;
const RACK: usize = 5;
const SPURIOUS: f64 = 24.0;

/// Share of early retransmissions that are spurious, percent.
fn spurious(all: &[Counted]) -> f64 {
    100.0 * total(all, |one| one.early_spurious) / total(all, |one| one.early).max(1.0)
}

fn per_thousand(all: &[Counted]) -> f64 {
    1e3 * total(all, |one| one.recoveries) / total(all, |one| one.responses).max(1.0)
}

/// Measures the document's claims.
pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let mut values = unit_values();
    let mut figures = Vec::new();
    effort.tell("early-retransmit: fitting the loss of web paths");
    let Fitted { knobs: lossy, residual, .. } = fit_web(effort, source)?;
    for (service, own, name) in
        [(Service::Web, "web", "W-WEB"), (Service::Small, "small", "W-SMALL")]
    {
        let connections = effort.sample(&format!("early-retransmit.{own}"));
        effort.tell(&format!("early-retransmit: fitting reordering, {name}"));
        let fitted = effort.sample("early-retransmit.fit").min(connections);
        let mut known = Known::default();
        let reordered = calibrate((1e-5, 0.2), SPURIOUS, effort.either(6, 9), |reordered| {
            let knobs = Knobs { reordered, ..lossy };
            serve_again(service, knobs, SERVERS[NAIVE].1, fitted, &mut known)
                .map(|all| spurious(&all))
        })?;
        let knobs = Knobs { reordered, ..lossy };
        let mut served = Vec::new();
        for (arm, server) in SERVERS {
            effort.tell(&format!("early-retransmit: {connections} connections, {name}, {arm}"));
            // Other loss detection has other timers.
            let mut others = Known::default();
            let known =
                if server.preset == SERVERS[NAIVE].1.preset { &mut known } else { &mut others };
            served.push(serve_again(service, knobs, server, connections, known)?);
        }
        let fit = format!(
            "fitted: burst probability {:.2e} (residual {residual:+.2} points of 6.1 % hit), {:.3} % of packets overtaken (naive: {:.1} % spurious of {:.0} early retransmissions, target 24, 20 to 28 accepted); {connections} connections",
            knobs.g,
            100.0 * reordered,
            spurious(&served[NAIVE]),
            total(&served[NAIVE], |one| one.early)
        );
        let both = latency(&served[BOTH], &served[OFF]);
        values.extend(outcome(&served, &both, &fit, own, name));
        figures.push(quantiles(&served, &both, name));
    }
    Ok(Measured { values, figures, ..Measured::default() })
}

/// Quantiles of the latency, in the order of the figures.
const SHARES: [f64; 3] = [0.1, 0.5, 0.9];

/// Figure of the change of latency at three quantiles, with the published values.
fn quantiles(served: &[Vec<Counted>], both: &[(Interval, String); 3], name: &str) -> Figure {
    let names = SHARES
        .iter()
        .enumerate()
        .map(|(row, share)| (row as f64, format!("p{:.0}", 100.0 * share)));
    let series =
        [(BOTH, "early retransmit, mitigated"), (NAIVE, "early retransmit, naive"), (RACK, "RACK")]
            .map(|(arm, arm_name)| {
                let own;
                let changes = if arm == BOTH {
                    both
                } else {
                    own = latency(&served[arm], &served[OFF]);
                    &own
                };
                let changes = changes.iter().enumerate();
                Series::with_intervals(arm_name, changes.map(|(row, (one, _))| (row as f64, *one)))
            });
    Figure::new(
        format!("Latency of responses hit by a loss, {name}"),
        &["5.4.4"],
        Shape::Rows,
        axis("change compared with no early retransmit, %"),
        axis("").named(names),
    )
    .how("Each arm's own responses of at least two packets that were hit by a loss. Below zero is faster.")
    .with(series)
    .with([Series::published(
        "published, mitigated",
        published("early-retransmit", "mitigated").points(),
    )])
}

/// Values of a service, with its name as prefix.
fn outcome(
    served: &[Vec<Counted>],
    latencies: &[(Interval, String); 3],
    fit: &str,
    service: &str,
    name: &str,
) -> Values {
    let (off, naive, both) = (&served[OFF], &served[NAIVE], &served[BOTH]);
    let recoveries = [naive, off].map(|all| blocks(all, |one| one.recoveries));
    let n = recoveries[0].len();
    let more = bootstrap(n, |units| {
        resample::sum(units, &recoveries[0]) / resample::sum(units, &recoveries[1])
    });
    let early = [both, naive]
        .map(|all| [blocks(all, |one| one.early_spurious), blocks(all, |one| one.early)]);
    let share = |units: &[usize], [spurious, early]: &[Vec<f64>; 2]| {
        100.0 * resample::sum(units, spurious) / resample::sum(units, early)
    };
    let less = bootstrap(n, |units| share(units, &early[0]) - share(units, &early[1]));
    let each = |read: fn(&[Counted]) -> f64, unit: &str| -> Vec<(String, String)> {
        served
            .iter()
            .zip(SERVERS)
            .map(|(all, (arm, _))| (arm.to_owned(), format!("{:.2}{unit}", read(all))))
            .collect()
    };
    let mut values = Values::default();
    values
        .number(format!("{service}.recoveries"), more)
        .note(fit)
        .sweep(each(per_thousand, " per 1000 responses"));
    values.number(format!("{service}.spurious.less"), less).sweep(each(spurious, " %"));
    values.number(format!("{service}.spurious"), bootstrap(n, |units| share(units, &early[0])));
    for place in [1, 0, 2] {
        let (change, told) = &latencies[place];
        let name = format!("{service}.latency.p{:.0}", SHARES[place] * 100.0);
        values.number(name, *change).note(told);
    }
    values.of_case(name)
}

/// Change of the latency quantiles of hit responses, each arm with its own hits, percent.
fn latency(ours: &[Counted], base: &[Counted]) -> [(Interval, String); SHARES.len()] {
    let hits = |all: &[Counted]| -> Vec<f64> {
        let hit = all.iter().flat_map(|one| &one.hits).filter(|one| one.bytes > 1448);
        hit.map(|one| one.ms).collect()
    };
    let (a, b) = (hits(ours), hits(base));
    let n = a.len().min(b.len());
    if n == 0 {
        return SHARES.map(|_| (f64::NAN.into(), "no response was hit".into()));
    }
    let whole = [&a, &b].map(|values| resample::quantiles(values.clone(), &SHARES));
    let spread = bootstrap_each(n, |units| {
        let [a, b] = [&a, &b].map(|values| resample::quantiles_of(units, values, &SHARES));
        a.iter().zip(b).map(|(a, b)| 100.0 * (a / b - 1.0)).collect()
    });
    std::array::from_fn(|share| {
        let [ours, base] = [&whole[0], &whole[1]].map(|quantiles| quantiles[share]);
        let value = 100.0 * (ours / base - 1.0);
        let (hit, hit_before) = (a.len(), b.len());
        let told = format!("{base:.0} and {ours:.0} ms, {hit_before} and {hit} responses hit");
        (Interval { value, ..spread[share] }, told)
    })
}

/// Values of the rule itself, which must hold exactly.
pub fn unit_values() -> Values {
    let fires = |segments: u64, sacked: u64, sack: bool| {
        let flight = Flight {
            segments,
            bytes: segments * 1000,
            sacked_segments: if sack { sacked } else { 0 },
            sacked_bytes: if sack { sacked * 1000 } else { 0 },
            dupacks: sacked as u32,
            sack,
            mss: 1000,
            ..Flight::default()
        };
        EarlyRetransmit::new(Options::NAIVE).on_ack(&flight, &Clock::default(), false) == Act::Now
    };
    let least = |segments: u64, sack: bool| (1..=3).find(|&sacked| fires(segments, sacked, sack));
    let mut values = Values::default();
    for (sack, case) in [(true, "with SACK"), (false, "without SACK")] {
        for (segments, due) in [(1, None), (2, Some(1)), (3, Some(2)), (4, None)] {
            let ours = least(segments, sack);
            let words =
                |at: Option<u64>| at.map_or("never early".to_owned(), |at| format!("at {at}"));
            values
                .exact(format!("threshold.{segments}"), words(ours), words(due), ours == due)
                .case(case);
        }
    }
    values
}
