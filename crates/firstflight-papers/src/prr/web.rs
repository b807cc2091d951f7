//! Rows 5.1.1 to 5.1.6: responses of a web server.

use crate::figure::{Figure, Series, Shape, axis};
use crate::sample::{Interval, bootstrap};
use crate::servers::{Counted, FILE, Knobs, LINUX, Server, Service, fit_web, fit_web_from, serve, total};
use crate::{Accept, Effort, Gate, Measured, Published, Row};
use firstflight_lab::error::Bad;

const SERVERS: [(&str, Server); 6] = [
    ("Linux", LINUX),
    ("Standard", Server::linux26("slowstart/cubic/sack(lost=ignore)")),
    ("PRR SSRB", Server::linux26("slowstart/cubic/prr(mode=ssrb,lost=ignore)")),
    ("PRR CRB", Server::linux26("slowstart/cubic/prr(mode=crb,lost=ignore)")),
    ("PRR UB", Server::linux26("slowstart/cubic/prr(mode=ub,lost=ignore)")),
    ("PRR 9937", Server::linux26("slowstart/cubic/prr(lost=ignore)")),
];
const HALVING: usize = 0;
const STANDARD: usize = 1;
const SSRB: usize = 2;
/// Connections of which one resample counts as one: resampling single ones a thousand times over would cost more than it tells.
const BLOCK: usize = 20;
const ASSUMED: &[&str] = &["linux26", "arms", "W-WEB", "P-US", "fit-web"];

/// The latency of responses that were hit: sum and number, by blocks of connections.
fn hits(all: &[Counted], bytes: (u64, u64)) -> Vec<(f64, f64)> {
    let of = |one: &Counted| {
        let hit = one.responses.iter().filter(|one| one.hit && (bytes.0..bytes.1).contains(&one.bytes));
        hit.fold((0.0, 0.0), |(ms, n), one| (ms + one.ms, n + 1.0))
    };
    let add = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
    all.chunks(BLOCK).map(|block| block.iter().map(of).fold((0.0, 0.0), add)).collect()
}

fn pool(units: &[usize], blocks: &[(f64, f64)]) -> f64 {
    let (ms, n) = units.iter().fold((0.0, 0.0), |(ms, n), &i| (ms + blocks[i].0, n + blocks[i].1));
    ms / n
}

/// Change of the mean latency of hit responses, percent.
fn change(ours: &[Counted], base: &[Counted], bytes: (u64, u64)) -> Interval {
    let (a, b) = (hits(ours, bytes), hits(base, bytes));
    bootstrap(a.len(), |units| 100.0 * (pool(units, &a) / pool(units, &b) - 1.0))
}

fn blocks(all: &[Counted], read: fn(&Counted) -> f64) -> Vec<f64> {
    all.chunks(BLOCK).map(|block| block.iter().map(read).sum()).collect()
}

/// A pooled count over another, of two arms.
fn ratio(ours: &[Counted], base: &[Counted], read: fn(&Counted) -> f64) -> Interval {
    let (a, b) = (blocks(ours, read), blocks(base, read));
    bootstrap(a.len(), |units| units.iter().map(|&i| a[i]).sum::<f64>() / units.iter().map(|&i| b[i]).sum::<f64>())
}

pub fn measured(effort: &Effort<'_>) -> Result<Measured, Bad> {
    let connections = effort.connections(16_000, 60_000);
    effort.tell("prr: fitting the loss of web paths");
    let (knobs, residual) = fit_web(connections / 2)?;
    let mut served = Vec::new();
    for (name, server) in SERVERS {
        effort.tell(&format!("prr: {connections} web connections, {name}"));
        served.push(serve(Service::Web, knobs, server, connections)?);
    }
    let fit = format!(
        "fitted: burst probability {:.2e} per packet, residual {residual:+.2} points of 6.1 % hit; {connections} connections",
        knobs.g
    );
    let mut rows = latency(&served, &fit);
    if let Some(row) = rows.iter_mut().find(|row| row.id == "5.1.2" && !row.holds()) {
        let points = other_paths(effort, connections / 4)?;
        row.sweep.extend(Row::told("5.1.2", "", "").sweep(points).sweep);
        row.note =
            "the sizes of the responses and the lengths of the loss bursts decide: most hit responses are too short for the policy to act \
                    before the timeout does"
                .into();
    }
    rows.extend(counts(&served));
    rows[0].sweep = Row::told("5.1.1", "", "").sweep(pipe_under(effort)?).sweep;
    if !rows[0].holds() {
        rows[0].note += "; the shape of the loss bursts does not move it, so it cannot be fitted by that; the sizes of the responses do: larger ones \
                         have more in flight when a loss is seen (sweep)";
    }
    rows.extend(exit_windows(&served));
    rows.extend(three_segments(effort, knobs, connections / 2)?);
    let rows = rows.into_iter().map(|row| row.assuming(ASSUMED)).collect();
    Ok(Measured { rows, figures: vec![by_size(&served)], ..Measured::default() })
}

/// How many recoveries of the Linux arm start with no more in flight than the threshold allows, under other shapes of the loss bursts and
/// other sizes of the responses, the frequency of bursts fitted anew for each.
fn pipe_under(effort: &Effort<'_>) -> Result<Vec<(String, String)>, Bad> {
    let connections = effort.connections(2_000, 8_000);
    let bursts = [(1.0, 1.0), (2.0, 1.0), (2.0, 0.7), (3.0, 0.5), (6.0, 0.5), (10.0, 0.3)]
        .map(|(packets, h)| (format!("bursts of {packets} packets, loss {h}"), Knobs { bursts: Some((packets, h)), ..FILE }));
    let sizes = [3.0, 10.0, 30.0].map(|factor| (format!("responses x {factor}"), Knobs { sizes: Some(factor), ..FILE }));
    let mut points = Vec::new();
    for (name, base) in bursts.into_iter().chain(sizes) {
        effort.tell(&format!("prr: web paths with {name}"));
        let (knobs, _) = fit_web_from(base, connections)?;
        let linux = serve(Service::Web, knobs, LINUX, connections)?;
        let share = 100.0 * total(&linux, |one| one.below) / total(&linux, |one| one.recoveries).max(1.0);
        points.push((name, format!("{share:.1} % with rate halving (published 45 % with PRR)")));
    }
    Ok(points)
}

/// Bins of response sizes, bytes.
const BINS: [(u64, u64); 4] = [(0, 3_000), (3_000, 10_000), (10_000, 50_000), (50_000, u64::MAX)];

fn bin_name((low, high): (u64, u64)) -> String {
    if high == u64::MAX { format!("above {} kB", low / 1000) } else { format!("{} to {} kB", low / 1000, high / 1000) }
}

fn by_size(served: &[Vec<Counted>]) -> Figure {
    let bins = || [(0, u64::MAX)].into_iter().chain(BINS).enumerate();
    let names = bins().map(|(row, bin)| (row as f64, if row == 0 { "all responses hit".into() } else { bin_name(bin) }));
    let series = [(SSRB, "PRR"), (STANDARD, "Standard")].map(|(arm, name)| {
        Series::with_intervals(name, bins().map(|(row, bin)| (row as f64, change(&served[arm], &served[HALVING], bin))))
    });
    Figure::new(
        "Latency of web responses hit by a loss, against rate halving",
        &["5.1.2"],
        Shape::Rows,
        axis("change of the mean latency, %"),
        axis("").named(names),
    )
    .how("Below zero is quicker than Linux with rate halving. The slides give 3 to 10 % for PRR.")
    .with(series)
    .band("published, PRR", -10.0, -3.0)
}

/// Row 5.1.5: windows at the end of the first recovery of each connection, whose losses are the same under every arm.
fn exit_windows(served: &[Vec<Counted>]) -> Vec<Row> {
    const CRB: usize = 3;
    const UB: usize = 4;
    let distance = |a: usize, b: usize| -> Interval {
        let pairs: Vec<(f64, f64)> = served[a].iter().zip(&served[b]).filter_map(|(a, b)| Some((a.first_exit?, b.first_exit?))).collect();
        bootstrap(pairs.len(), |units| {
            let (apart, all) = units.iter().fold((0.0, 0.0), |sum, &i| (sum.0 + (pairs[i].0 - pairs[i].1).abs(), sum.1 + pairs[i].1));
            100.0 * apart / all
        })
    };
    let mut rows = Vec::new();
    for (arm, name, near, far) in [(UB, "UB", STANDARD, HALVING), (CRB, "CRB", HALVING, STANDARD)] {
        let (own, other) = (distance(arm, near), distance(arm, far));
        let measure = format!("windows at the end of recovery: distance of {name} to {} over that to {}", SERVERS[near].0, SERVERS[far].0);
        let ratio = own.estimate / other.estimate.max(1e-9);
        rows.push(
            Row::gated("5.1.5", Gate::Band, measure, ratio, " x", Accept::AtMost(1.0))
                .note(format!(
                    "mean absolute difference {:.1} % of the window to {}, {:.1} % to {}, over the first recovery of each connection; every \
                     bound of PRR ends at the threshold by its own rule, so the windows of CRB and UB differ only through what happens before",
                    own.estimate, SERVERS[near].0, other.estimate, SERVERS[far].0
                )),
        );
    }
    rows
}

/// The second run with an initial window of three segments: the same numbers without gates.
fn three_segments(effort: &Effort<'_>, knobs: Knobs, connections: u32) -> Result<Vec<Row>, Bad> {
    let arms =
        ["slowstart/cubic/halving@(iw=3)", "slowstart/cubic/sack(lost=ignore)@(iw=3)", "slowstart/cubic/prr(mode=ssrb,lost=ignore)@(iw=3)"];
    effort.tell("prr: web paths, initial window 3");
    let served = arms.map(|arm| serve(Service::Web, knobs, Server::linux26(arm), connections));
    let [linux, standard, prr] = served;
    let (linux, standard, prr) = (linux?, standard?, prr?);
    let percent = |a: &[Counted], b: &[Counted], read: fn(&Counted) -> f64| ratio(a, b, read).map(|ratio| 100.0 * (ratio - 1.0));
    let (below, of) = (total(&prr, |one| one.below), total(&prr, |one| one.recoveries));
    let rows = [
        Row::seen("5.1.1", "recoveries that start with pipe <= ssthresh, PRR", 100.0 * below / of.max(1.0), " %"),
        Row::seen(
            "5.1.2",
            "mean latency of hit responses (to the last byte acknowledged), PRR over Linux less 1",
            change(&prr, &linux, (0, u64::MAX)),
            " %",
        ),
        Row::seen("5.1.3", "lost repeats, Standard over SSRB less 1", percent(&standard, &prr, |one| one.lost_repeats), " %"),
        Row::seen("5.1.4", "timeouts, Standard over SSRB less 1", percent(&standard, &prr, |one| one.rtos), " %"),
        Row::seen("5.1.4", "timeouts, rate halving over SSRB less 1", percent(&linux, &prr, |one| one.rtos), " %"),
    ];
    Ok(rows.into_iter().map(|row| row.case("second run: IW 3")).collect())
}

/// Row 5.1.2 on other paths and with other first windows, the loss fitted anew for each.
fn other_paths(effort: &Effort<'_>, connections: u32) -> Result<Vec<(String, String)>, Bad> {
    let other = |packets, h| Knobs { bursts: Some((packets, h)), ..FILE };
    let three = |arm| Server::linux26(arm);
    let mut points = Vec::new();
    for (name, base, linux, prr) in [
        ("single losses", other(1.0, 1.0), SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("bursts of 2, loss 0.8", other(2.0, 0.8), SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("bursts of 6, loss 0.5", other(6.0, 0.5), SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("responses x 3", Knobs { sizes: Some(3.0), ..FILE }, SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("responses x 10", Knobs { sizes: Some(10.0), ..FILE }, SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("IW 3", FILE, three("slowstart/cubic/halving@(iw=3)"), three("slowstart/cubic/prr(mode=ssrb,lost=ignore)@(iw=3)")),
        ("rate halving down to half, moderation 1", FILE, three("slowstart/cubic/halving(floor=half,moderation=1)"), SERVERS[SSRB].1),
    ] {
        effort.tell(&format!("prr: web paths with {name}"));
        let (knobs, _) = fit_web_from(base, connections / 2)?;
        let (linux, prr) = (serve(Service::Web, knobs, linux, connections)?, serve(Service::Web, knobs, prr, connections)?);
        let all = change(&prr, &linux, (0, u64::MAX));
        let large = change(&prr, &linux, (50_000, u64::MAX));
        let percent = |read: fn(&Counted) -> f64| 100.0 * (ratio(&prr, &linux, read).estimate - 1.0);
        points.push((
            name.to_owned(),
            format!(
                "{:+.2} % [{:+.2}, {:+.2}], above 50 kB {:+.2} %; timeouts {:+.2} %, recoveries cut short by one {:+.1} %",
                all.estimate,
                all.low,
                all.high,
                large.estimate,
                percent(|one| one.rtos),
                percent(|one| one.timed_out)
            ),
        ));
    }
    Ok(points)
}

fn latency(served: &[Vec<Counted>], fit: &str) -> Vec<Row> {
    let (linux, ssrb) = (&served[HALVING], &served[SSRB]);
    let (below, of) = (blocks(ssrb, |one| one.below), blocks(ssrb, |one| one.recoveries));
    let share =
        bootstrap(of.len(), |units| 100.0 * units.iter().map(|&i| below[i]).sum::<f64>() / units.iter().map(|&i| of[i]).sum::<f64>());
    let all = change(ssrb, linux, (0, u64::MAX));
    let measure = "mean latency of hit responses (to the last byte acknowledged), PRR over Linux less 1";
    let mut rows = vec![
        Row::gated("5.1.1", Gate::Band, "recoveries that start with pipe <= ssthresh, PRR", share, " %", Accept::Within(40.0, 50.0))
            .note(fit),
        Row::gated("5.1.2", Gate::Direction, measure, all, " %", Accept::Below(0.0)),
        Row::gated("5.1.2", Gate::Band, measure, all, " %", Accept::Within(-15.0, -1.0)),
    ];
    for bin in BINS {
        rows.push(Row::gated("5.1.2", Gate::Band, measure, change(ssrb, linux, bin), " %", Accept::Below(0.0)).case(bin_name(bin)));
    }
    let points =
        (1..SERVERS.len()).map(|arm| (SERVERS[arm].0.to_owned(), format!("{:+.2} %", change(&served[arm], linux, (0, u64::MAX)).estimate)));
    rows[1].sweep = Row::told("5.1.2", "", "").sweep(points).sweep;
    rows
}

fn counts(served: &[Vec<Counted>]) -> Vec<Row> {
    let ssrb = &served[SSRB];
    let percent = |arm: usize, read: fn(&Counted) -> f64| ratio(&served[arm], ssrb, read).map(|ratio| 100.0 * (ratio - 1.0));
    let lost = percent(STANDARD, |one| one.lost_repeats);
    let mut rows = vec![
        Row::gated("5.1.3", Gate::Band, "lost repeats, Standard over SSRB less 1", lost, " %", Accept::Above(0.0)),
        Row::gated("5.1.3", Gate::Band, "lost repeats, Standard over SSRB less 1", lost, " %", Accept::Within(5.0, 80.0))
            .against(Published::change(29.0)),
    ];
    let timeouts = total(ssrb, |one| one.rtos);
    for (arm, name, stated) in [(STANDARD, "Standard", 2.6), (HALVING, "rate halving", 5.0)] {
        let (measure, more) = (format!("timeouts, {name} over SSRB less 1"), percent(arm, |one| one.rtos));
        rows.push(if timeouts < 2_000.0 {
            Row::seen("5.1.4", measure, more, " %").note(format!("{timeouts:.0} timeouts with SSRB: too few to gate"))
        } else {
            Row::gated("5.1.4", Gate::Band, measure, more, " %", Accept::Above(0.0)).against(Published::change(stated))
        });
    }
    let mean = |arm: usize| total(&served[arm], |one| one.recovering_ms) / total(&served[arm], |one| one.recoveries);
    let told = (0..SERVERS.len()).map(|arm| (SERVERS[arm].0.to_owned(), format!("{:.1} ms", mean(arm))));
    let least = (0..SERVERS.len()).filter(|&arm| arm != SSRB && SERVERS[arm].0 != "PRR 9937").map(mean).fold(f64::INFINITY, f64::min);
    let measure = "mean time in recovery, SSRB over the least of Linux, Standard, CRB and UB";
    rows.push(Row::gated("5.1.5", Gate::Band, measure, mean(SSRB) / least, " x", Accept::AtMost(1.0)).sweep(told));
    for (arm, name) in [(HALVING, "Linux"), (STANDARD, "Standard")] {
        let of = |arm: usize| total(&served[arm], |one| one.timed_out);
        let measure = format!("recoveries cut short by a timeout, PRR over {name}");
        let note = format!("{:.0} and {:.0}", of(SSRB), of(arm));
        rows.push(
            Row::gated("5.1.6", Gate::Band, measure, ratio(ssrb, &served[arm], |one| one.timed_out), " x", Accept::Below(1.0)).note(note),
        );
    }
    rows.push(
        Row::told("5.1.6", "convergence to ssthresh (P10 to P12 of our specification)", "property tests of the core, on any history")
            .note("not measured here: `recovery_properties` in the crate `firstflight` fails if it does not hold"),
    );
    rows
}
