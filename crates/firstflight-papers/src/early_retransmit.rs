//! Early Retransmit: RFC 5827 with its two mitigations on web servers.

use super::figure::{Figure, Series, Shape, axis};
use super::sample::{Interval, bootstrap, quantile};
use super::servers::{Counted, Knobs, Server, Service, calibrate, fit_web, serve, total};
use super::{Accept, Assumption, Effort, Gate, Item, Measured, Published, Row, Source};
use firstflight::detection::early_retransmit::{Act, Clock, EarlyRetransmit, Flight, Options};
use firstflight_lab::error::Bad;

/// The slides.
pub const SOURCE: Source = Source {
    name: "early-retransmit",
    document: "Early Retransmit slides and RFC 5827",
    stated: "web servers, Linux 2.6; naive, stop after reordering (A), delay by RTT/4 (B)",
    items: ITEMS,
    assumptions: ASSUMPTIONS,
    measure: measured,
};

#[rustfmt::skip]
const ITEMS: &[Item] = &[
    Item { id: "5.4.1", gates: "U", published: "duplicate-ACK threshold 1 or 2 at flight 2 or 3" },
    Item { id: "5.4.2", gates: "GB", published: "fast retransmits +13 %" },
    Item { id: "5.4.3", gates: "GB", published: "24 % spurious (naive), 6 % with both mitigations" },
    Item { id: "5.4.4", gates: "GB", published: "latency of responses with losses: p10 -5.6 %, p50 -8.0 %, p90 -3.3 %" },
    Item { id: "5.4.5", gates: "Q", published: "PRR and Early Retransmit deployed on all servers" },
];

#[rustfmt::skip]
const ASSUMPTIONS: &[Assumption] = &[
    Assumption { name: "linux26", value: "FACK detection of Linux 2.6 and its timer, 4 % of connections without SACK; MSS 1448, IW 10, unpaced, CUBIC (0.7), plain slow start, PRR SSRB" },
    Assumption { name: "W-WEB", value: "1 + Geometric(3) responses, at most 20, gaps LN(2 s, 1); 97 % LN(4 kB, 1.2), 3 % Pareto(30 kB, 1.3) up to 5 MB" },
    Assumption { name: "W-SMALL", value: "one response of 2, 3, 4, 6, 10 segments, weights 30/25/20/15/10 %" },
    Assumption { name: "P-US", value: "RTT LN(70 ms, 0.6), rate LN(5 Mbit/s, 0.9), queue U(0.25, 2) BDP, at least 20 packets; bursts of 3 with loss 0.8" },
    Assumption { name: "fit-loss", value: "probability of a burst fitted to 6.1 % of responses hit under rate halving" },
    Assumption { name: "fit-reordering", value: "share of overtaken packets fitted on the naive arm to 24 % spurious; 90 % of them Exp(3 ms) late, 10 % Exp(0.3 RTT)" },
];

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

/// Spurious of all early repeats, percent.
fn spurious(all: &[Counted]) -> f64 {
    100.0 * total(all, |one| one.early_spurious) / total(all, |one| one.early).max(1.0)
}

fn per_thousand(all: &[Counted]) -> f64 {
    1e3 * total(all, |one| one.recoveries) / total(all, |one| one.responses.len() as f64).max(1.0)
}

fn measured(effort: &Effort<'_>) -> Result<Measured, Bad> {
    let mut rows = unit_rows();
    let mut figures = Vec::new();
    let connections = effort.connections(4_000, 60_000);
    effort.tell("early-retransmit: fitting the loss of web paths");
    let (lossy, residual) = fit_web(connections / 2)?;
    for (service, name, gated) in [(Service::Web, "W-WEB", true), (Service::Small, "W-SMALL", false)] {
        effort.tell(&format!("early-retransmit: fitting reordering, {name}"));
        let naive = |reordered: f64| serve(service, Knobs { reordered, ..lossy }, SERVERS[NAIVE].1, connections);
        let reordered = calibrate((1e-5, 0.2), SPURIOUS, effort.either(6, 9), |share| naive(share).map(|all| spurious(&all)))?;
        let knobs = Knobs { reordered, ..lossy };
        let mut served = Vec::new();
        for (arm, server) in SERVERS {
            effort.tell(&format!("early-retransmit: {connections} connections, {name}, {arm}"));
            served.push(serve(service, knobs, server, connections)?);
        }
        let fit = format!(
            "fitted: burst probability {:.2e} (residual {residual:+.2} points of 6.1 % hit), {:.3} % of packets overtaken (naive: {:.1} % spurious of {:.0} early repeats, target 24, 20 to 28 accepted); {connections} connections",
            knobs.g,
            100.0 * reordered,
            spurious(&served[NAIVE]),
            total(&served[NAIVE], |one| one.early)
        );
        rows.extend(outcome(&served, &fit, name, gated));
        figures.push(quantiles(&served, name));
    }
    rows.push(Row::quoted("5.4.5", "a statement about deployment"));
    Ok(Measured { rows, figures, ..Measured::default() })
}

/// Change of the latency at three quantiles, beside the published one.
fn quantiles(served: &[Vec<Counted>], name: &str) -> Figure {
    const SHARES: [f64; 3] = [0.1, 0.5, 0.9];
    let names = SHARES.iter().enumerate().map(|(row, share)| (row as f64, format!("p{:.0}", 100.0 * share)));
    let series = [(BOTH, "early retransmit, mitigated"), (NAIVE, "early retransmit, naive"), (RACK, "RACK")].map(|(arm, arm_name)| {
        let changes = SHARES.iter().enumerate().map(|(row, share)| (row as f64, latency(&served[arm], &served[OFF], *share).0));
        Series::with_intervals(arm_name, changes)
    });
    Figure::new(
        format!("Latency of responses hit by a loss, {name}"),
        &["5.4.4"],
        Shape::Rows,
        axis("change against no early retransmit, %"),
        axis("").named(names),
    )
    .how("Each arm's own responses of two packets and more that a loss hit. Below zero is quicker.")
    .with(series)
    .with([Series::published("published, mitigated", vec![[0.0, -5.6], [1.0, -8.0], [2.0, -3.3]])])
}

fn outcome(served: &[Vec<Counted>], fit: &str, name: &'static str, gated: bool) -> Vec<Row> {
    let (off, naive, both) = (&served[OFF], &served[NAIVE], &served[BOTH]);
    let n = off.len();
    let of = |units: &[usize], all: &[Counted], read: fn(&Counted) -> f64| units.iter().map(|&i| read(&all[i])).sum::<f64>();
    let more = bootstrap(n, |units| of(units, naive, |one| one.recoveries) / of(units, off, |one| one.recoveries));
    let share = |all: &[Counted]| bootstrap(n, |units| 100.0 * of(units, all, |one| one.early_spurious) / of(units, all, |one| one.early));
    let less = bootstrap(n, |units| {
        let share = |all: &[Counted]| 100.0 * of(units, all, |one| one.early_spurious) / of(units, all, |one| one.early);
        share(both) - share(naive)
    });
    let each = |read: fn(&[Counted]) -> f64, unit: &str| -> Vec<(String, String)> {
        served.iter().zip(SERVERS).map(|(all, (arm, _))| (arm.to_owned(), format!("{:.2}{unit}", read(all)))).collect()
    };
    let mut rows = vec![
        Row::gated("5.4.2", Gate::Direction, "recoveries, naive over off", more, " x", Accept::Above(1.0))
            .note(fit)
            .sweep(each(per_thousand, " per 1000 responses")),
        Row::gated("5.4.2", Gate::Band, "recoveries, naive over off", more, " x", Accept::Within(1.05, 1.30))
            .against(Published::ratio(1.13)),
        Row::gated("5.4.3", Gate::Direction, "spurious of early repeats, +A+B less naive", less, " points", Accept::Below(0.0))
            .against(Published::change(6.0 - SPURIOUS))
            .sweep(each(spurious, " %")),
        Row::gated("5.4.3", Gate::Band, "spurious of early repeats, +A+B", share(both), " %", Accept::AtMost(12.0))
            .against(Published::level(6.0)),
    ];
    for (quantile, gate, stated) in
        [(0.5, Gate::Direction, -8.0), (0.5, Gate::Band, -8.0), (0.1, Gate::Band, -5.6), (0.9, Gate::Band, -3.3)]
    {
        let (change, told) = latency(both, off, quantile);
        let accept = match (quantile > 0.4 && quantile < 0.6, gate) {
            (true, Gate::Direction) => Accept::Below(0.0),
            (true, _) => Accept::Within(-15.0, -2.0),
            _ => Accept::Below(0.0),
        };
        let measure = format!(
            "latency of hit responses (to the last byte acknowledged) of 2 packets and more at p{:.0}, +A+B over off less 1",
            quantile * 100.0
        );
        rows.push(Row::gated("5.4.4", gate, measure, change, " %", accept).against(Published::change(stated)).note(told));
    }
    let network: &'static str = if name == "W-WEB" { "W-WEB" } else { "W-SMALL" };
    let diagnosed = |row: Row| {
        let row = row.case(name).assuming(&["linux26", network, "P-US", "fit-loss", "fit-reordering"]);
        if gated { row } else { row.ungated() }
    };
    rows.into_iter().map(diagnosed).collect()
}

/// Change of a quantile of the latency of hit responses, each arm's own hits, percent.
fn latency(ours: &[Counted], base: &[Counted], share: f64) -> (Interval, String) {
    let hits = |all: &[Counted]| -> Vec<f64> {
        let hit = all.iter().flat_map(|one| &one.responses).filter(|one| one.hit && one.bytes > 1448);
        hit.map(|one| one.ms).collect()
    };
    let (a, b) = (hits(ours), hits(base));
    let at = |units: &[usize], values: &[f64]| {
        // The shorter of two samples repeats some of its members.
        quantile(units, share, |i| values[i % values.len().max(1)])
    };
    let n = a.len().min(b.len());
    if n == 0 {
        return (f64::NAN.into(), "no response was hit".into());
    }
    let whole = |values: &[f64]| quantile(&(0..values.len()).collect::<Vec<_>>(), share, |i| values[i]);
    let estimate = 100.0 * (whole(&a) / whole(&b) - 1.0);
    let spread = bootstrap(n, |units| 100.0 * (at(units, &a) / at(units, &b) - 1.0));
    let told = format!("{:.0} and {:.0} ms, {} and {} responses hit", whole(&b), whole(&a), b.len(), a.len());
    (Interval { estimate, ..spread }, told)
}

/// Row 5.4.1, on the rule itself: what must hold.
pub fn unit_rows() -> Vec<Row> {
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
    let mut rows = Vec::new();
    for (sack, case) in [(true, "with SACK"), (false, "without SACK")] {
        for (segments, due) in [(1, None), (2, Some(1)), (3, Some(2)), (4, None)] {
            let ours = least(segments, sack);
            let words = |at: Option<u64>| at.map_or("never early".to_owned(), |at| format!("at {at}"));
            let measure = format!("duplicates that let it fire with {segments} in flight");
            rows.push(Row::exact("5.4.1", case, measure, words(ours), words(due), ours == due));
        }
    }
    rows
}
