//! Responses of a web server.

use crate::figure::{Figure, Series, Shape, axis};
use crate::sample::{Interval, bootstrap};
use crate::servers::{
    BLOCK, Counted, FILE, Fitted, Knobs, Known, LINUX, Server, Service, blocks, fit_web_from,
    serve_again, total,
};
use crate::web_loss::fit_web;
use crate::{Effort, Measured, Source, Try, Values};
use firstflight_lab::Error;
use firstflight_lab::stats::{self, resample};

const SERVERS: [(&str, Server); 7] = [
    ("Linux", LINUX),
    ("Standard", Server::linux26("slowstart/cubic/sack(lost=ignore)")),
    ("PRR SSRB", Server::linux26("slowstart/cubic/prr(mode=ssrb,lost=ignore)")),
    ("PRR CRB", Server::linux26("slowstart/cubic/prr(mode=crb,lost=ignore)")),
    ("PRR UB", Server::linux26("slowstart/cubic/prr(mode=ub,lost=ignore)")),
    ("PRR 9937", Server::linux26("slowstart/cubic/prr(lost=ignore)")),
    ("PRR CRB granted", Server::linux26("slowstart/cubic/prr(mode=crb,lost=ignore,exit=granted)")),
];
/// The arms that the experiments compare.
pub(crate) const ARMS: &[&str] = &[
    SERVERS[0].1.arm,
    SERVERS[1].1.arm,
    SERVERS[2].1.arm,
    SERVERS[3].1.arm,
    SERVERS[4].1.arm,
    SERVERS[5].1.arm,
    SERVERS[6].1.arm,
];
const HALVING: usize = 0;
const STANDARD: usize = 1;
const SSRB: usize = 2;
/// Latency of hit responses: sum and number, by blocks of connections.
fn hits(all: &[Counted], bytes: (u64, u64)) -> Vec<(f64, f64)> {
    let of = |one: &Counted| {
        let hit = one.hits.iter().filter(|one| (bytes.0..bytes.1).contains(&one.bytes));
        hit.fold((0.0, 0.0), |(ms, n), one| (ms + one.ms, n + 1.0))
    };
    let add = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
    all.chunks(BLOCK).map(|block| block.iter().map(of).fold((0.0, 0.0), add)).collect()
}

/// Change of the mean latency of hit responses, percent.
fn change(ours: &[Counted], base: &[Counted], bytes: (u64, u64)) -> Interval {
    let (a, b) = (hits(ours, bytes), hits(base, bytes));
    bootstrap(a.len(), |units| {
        100.0 * (resample::pooled(units, &a) / resample::pooled(units, &b) - 1.0)
    })
}

/// Ratio of a pooled count between two arms.
fn ratio(ours: &[Counted], base: &[Counted], read: fn(&Counted) -> f64) -> Interval {
    let (a, b) = (blocks(ours, read), blocks(base, read));
    bootstrap(a.len(), |units| resample::sum(units, &a) / resample::sum(units, &b))
}

pub(crate) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let connections = effort.sample("prr.web");
    effort.tell("prr: fitting the loss of web paths");
    let Fitted { knobs, residual, mut known, .. } = fit_web(effort, source)?;
    let mut served = Vec::new();
    for (name, server) in SERVERS {
        effort.tell(&format!("prr: {connections} web connections, {name}"));
        served.push(serve_again(Service::Web, knobs, server, connections, &mut known)?);
    }
    let fit = format!(
        "fitted: burst probability {:.2e} per packet, residual {residual:+.2} points of 6.1 % hit; {connections} connections",
        knobs.g
    );
    let mut values = latency(&served, &fit);
    // The sweep is added to the first one that is not reproduced.
    if let Some(value) = values
        .iter_mut()
        .find(|value| value.name.starts_with("web.latency") && !source.holds(value))
    {
        value.tried(&other_paths(effort, source)?);
    }
    values.extend(counts(&served));
    let under = pipe_under(effort)?;
    for value in values.named_mut("web.below") {
        if !source.holds(value) {
            value.note(ranges(&under));
        }
        value.sweep(under.iter().map(|one| {
            (
                one.name.clone(),
                format!(
                    "{:.1} % [{:.1}, {:.1}] with rate halving (published 45 % with PRR)",
                    one.share.value, one.share.low, one.share.high
                ),
            )
        }));
    }
    values.extend(exit_windows(&served));
    values.extend(three_segments(effort, knobs)?);
    Ok(Measured { values, figures: vec![by_size(&served)], ..Measured::default() })
}

/// Recoveries of the Linux arm that start with at most the threshold in flight, for one shape of loss or size.
struct Under {
    name: String,
    /// Whether the loss bursts differ; otherwise the response sizes do.
    bursts: bool,
    /// Percent.
    share: Interval,
}

/// Describes the effects of bursts and of sizes.
fn ranges(all: &[Under]) -> String {
    let range = |bursts: bool| {
        let shares = all.iter().filter(|one| one.bursts == bursts).map(|one| one.share.value);
        let (low, high) = stats::extremes(shares);
        format!("{low:.1} to {high:.1} %")
    };
    format!(
        "with rate halving, other loss bursts give {}, other response sizes {} (sweep)",
        range(true),
        range(false)
    )
}

/// Share of recoveries of the Linux arm that start with at most the threshold in flight, for other loss bursts and
/// response sizes, with the burst frequency fitted for each.
fn pipe_under(effort: &Effort<'_>) -> Result<Vec<Under>, Error> {
    let bursts = [(1.0, 1.0), (2.0, 1.0), (2.0, 0.7), (3.0, 0.5), (6.0, 0.5), (10.0, 0.3)].map(
        |(packets, h)| {
            (
                true,
                format!("bursts of {packets} packets, loss {h}"),
                Knobs { bursts: Some((packets, h)), ..FILE },
            )
        },
    );
    let sizes = [3.0, 10.0, 30.0].map(|factor| {
        (false, format!("responses x {factor}"), Knobs { sizes: Some(factor), ..FILE })
    });
    let mut points = Vec::new();
    for (bursts, name, base) in bursts.into_iter().chain(sizes) {
        effort.tell(&format!("prr: web paths with {name}"));
        let connections = match base.sizes {
            Some(times) => effort.sample(&format!("prr.below-{times}")),
            None => effort.sample("prr.below"),
        };
        let Fitted { served: linux, .. } = fit_web_from(base, connections)?;
        let pairs: Vec<(f64, f64)> = linux.iter().map(|one| (one.below, one.recoveries)).collect();
        let share = bootstrap(pairs.len(), |units| 100.0 * resample::pooled(units, &pairs));
        points.push(Under { name, bursts, share });
    }
    Ok(points)
}

/// Bins of response sizes, bytes.
const BINS: [(u64, u64); 4] = [(0, 3_000), (3_000, 10_000), (10_000, 50_000), (50_000, u64::MAX)];

fn bin_name((low, high): (u64, u64)) -> String {
    if high == u64::MAX {
        format!("above {} kB", low / 1000)
    } else {
        format!("{} to {} kB", low / 1000, high / 1000)
    }
}

fn by_size(served: &[Vec<Counted>]) -> Figure {
    let bins = || [(0, u64::MAX)].into_iter().chain(BINS).enumerate();
    let names = bins().map(|(row, bin)| {
        (row as f64, if row == 0 { "all responses hit".into() } else { bin_name(bin) })
    });
    let series = [(SSRB, "PRR"), (STANDARD, "Standard")].map(|(arm, name)| {
        Series::with_intervals(
            name,
            bins().map(|(row, bin)| (row as f64, change(&served[arm], &served[HALVING], bin))),
        )
    });
    Figure::new(
        "Latency of web responses hit by a loss, compared with rate halving",
        &["5.1.2"],
        Shape::Rows,
        axis("change of the mean latency, %"),
        axis("").named(names),
    )
    .how("Below zero is faster than Linux with rate halving. The slides give 3 to 10 % for PRR.")
    .with(series)
    .band("published, PRR", -10.0, -3.0)
}

/// Windows at the end of the first recovery of each connection, whose losses are equal under every arm.
fn exit_windows(served: &[Vec<Counted>]) -> Values {
    const CRB: usize = 3;
    const UB: usize = 4;
    const CRB_GRANTED: usize = 6;
    let distance = |a: usize, b: usize| -> Interval {
        let apart: Vec<(f64, f64)> = served[a]
            .iter()
            .zip(&served[b])
            .filter_map(|(a, b)| Some((a.first_exit?, b.first_exit?)))
            .map(|(a, b)| ((a - b).abs(), b))
            .collect();
        bootstrap(apart.len(), |units| {
            let (apart, all) = resample::sums(units, &apart);
            100.0 * apart / all
        })
    };
    let mut values = Values::default();
    for (arm, name, near, far) in [
        (UB, "ub", STANDARD, HALVING),
        (CRB, "crb", HALVING, STANDARD),
        (CRB_GRANTED, "crb_granted", HALVING, STANDARD),
    ] {
        let (own, other) = (distance(arm, near), distance(arm, far));
        values.number(format!("web.exit.{name}"), own.value / other.value.max(1e-9)).note(format!(
            "mean absolute difference {:.1} % of the window to {}, {:.1} % to {}, over the first recovery of each connection",
            own.value, SERVERS[near].0, other.value, SERVERS[far].0
        ));
    }
    values
}

/// Values of the second run, with an initial window of three segments and without gates.
fn three_segments(effort: &Effort<'_>, knobs: Knobs) -> Result<Values, Error> {
    let connections = effort.sample("prr.web3");
    let arms = [
        "slowstart/cubic/halving@(iw=3)",
        "slowstart/cubic/sack(lost=ignore)@(iw=3)",
        "slowstart/cubic/prr(mode=ssrb,lost=ignore)@(iw=3)",
    ];
    effort.tell("prr: web paths, initial window 3");
    let mut known = Known::default();
    let served = arms
        .map(|arm| serve_again(Service::Web, knobs, Server::linux26(arm), connections, &mut known));
    let [linux, standard, prr] = served;
    let (linux, standard, prr) = (linux?, standard?, prr?);
    let percent = |a: &[Counted], b: &[Counted], read: fn(&Counted) -> f64| {
        ratio(a, b, read).map(|ratio| 100.0 * (ratio - 1.0))
    };
    let (below, of) = (total(&prr, |one| one.below), total(&prr, |one| one.recoveries));
    let mut values = Values::default();
    values.number("web3.below", 100.0 * below / of.max(1.0));
    values.number("web3.latency", change(&prr, &linux, (0, u64::MAX)));
    values.number("web3.lost_repeats", percent(&standard, &prr, |one| one.lost_repeats));
    values.number("web3.timeouts.standard", percent(&standard, &prr, |one| one.rtos));
    values.number("web3.timeouts.halving", percent(&linux, &prr, |one| one.rtos));
    Ok(values.of_case("second run: IW 3"))
}

/// Latency on other paths and with other initial windows, with the loss fitted for each.
fn other_paths(effort: &Effort<'_>, source: &Source) -> Result<Vec<Try>, Error> {
    let other = |packets, h| Knobs { bursts: Some((packets, h)), ..FILE };
    let three = |arm| Server::linux26(arm);
    let mut points = Vec::new();
    for (name, base, linux, prr) in [
        ("single losses", other(1.0, 1.0), SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("bursts of 2, loss 0.8", other(2.0, 0.8), SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("bursts of 6, loss 0.5", other(6.0, 0.5), SERVERS[HALVING].1, SERVERS[SSRB].1),
        ("responses x 3", Knobs { sizes: Some(3.0), ..FILE }, SERVERS[HALVING].1, SERVERS[SSRB].1),
        (
            "responses x 10",
            Knobs { sizes: Some(10.0), ..FILE },
            SERVERS[HALVING].1,
            SERVERS[SSRB].1,
        ),
        (
            "IW 3",
            FILE,
            three("slowstart/cubic/halving@(iw=3)"),
            three("slowstart/cubic/prr(mode=ssrb,lost=ignore)@(iw=3)"),
        ),
        (
            "rate halving down to half, moderation 1",
            FILE,
            three("slowstart/cubic/halving(floor=half,moderation=1)"),
            SERVERS[SSRB].1,
        ),
    ] {
        effort.tell(&format!("prr: web paths with {name}"));
        let long = base.sizes.is_some_and(|times| times >= 10.0);
        let connections = effort.sample(if long { "prr.elsewhere-long" } else { "prr.elsewhere" });
        let Fitted { knobs, known, .. } = fit_web_from(base, connections / 2)?;
        // If one arm names an initial window, both use it; it differs from that of the fit.
        let mut known = if linux.arm == LINUX.arm { known } else { Known::default() };
        let mut run = |server| serve_again(Service::Web, knobs, server, connections, &mut known);
        let (linux, prr) = (run(linux)?, run(prr)?);
        let all = change(&prr, &linux, (0, u64::MAX));
        let large = change(&prr, &linux, (50_000, u64::MAX));
        let percent = |read: fn(&Counted) -> f64| 100.0 * (ratio(&prr, &linux, read).value - 1.0);
        let mut tried = Values::default();
        let flips = source.holds(tried.number("web.latency", all));
        let ours = format!(
            "{:+.2} % [{:+.2}, {:+.2}], above 50 kB {:+.2} %; timeouts {:+.2} %, recoveries cut short by one {:+.1} %",
            all.value,
            all.low,
            all.high,
            large.value,
            percent(|one| one.rtos),
            percent(|one| one.timed_out)
        );
        points.push(Try { setting: name.to_owned(), ours, flips });
    }
    Ok(points)
}

fn latency(served: &[Vec<Counted>], fit: &str) -> Values {
    let (linux, ssrb) = (&served[HALVING], &served[SSRB]);
    let (below, of) = (blocks(ssrb, |one| one.below), blocks(ssrb, |one| one.recoveries));
    let share = bootstrap(of.len(), |units| {
        100.0 * resample::sum(units, &below) / resample::sum(units, &of)
    });
    let all = change(ssrb, linux, (0, u64::MAX));
    let points = (1..SERVERS.len()).map(|arm| {
        (
            SERVERS[arm].0.to_owned(),
            format!("{:+.2} %", change(&served[arm], linux, (0, u64::MAX)).value),
        )
    });
    let mut values = Values::default();
    values.number("web.below", share).note(fit);
    values.number("web.latency", all).sweep(points);
    for bin in BINS {
        values.number("web.latency.bin", change(ssrb, linux, bin)).case(bin_name(bin));
    }
    values
}

fn counts(served: &[Vec<Counted>]) -> Values {
    let ssrb = &served[SSRB];
    let percent = |arm: usize, read: fn(&Counted) -> f64| {
        ratio(&served[arm], ssrb, read).map(|ratio| 100.0 * (ratio - 1.0))
    };
    let lost = percent(STANDARD, |one| one.lost_repeats);
    let mut values = Values::default();
    values.number("web.lost_repeats", lost);
    let timeouts = total(ssrb, |one| one.rtos);
    for (arm, name) in [(STANDARD, "standard"), (HALVING, "halving")] {
        let more = percent(arm, |one| one.rtos);
        if timeouts < 2_000.0 {
            values
                .number(format!("web.timeouts.{name}.few"), more)
                .note(format!("{timeouts:.0} timeouts with SSRB: too few to gate"));
        } else {
            values.number(format!("web.timeouts.{name}"), more);
        }
    }
    let mean = |arm: usize| {
        total(&served[arm], |one| one.recovering_ms) / total(&served[arm], |one| one.recoveries)
    };
    let told =
        (0..SERVERS.len()).map(|arm| (SERVERS[arm].0.to_owned(), format!("{:.1} ms", mean(arm))));
    let least = (0..SERVERS.len())
        .filter(|&arm| arm != SSRB && !["PRR 9937", "PRR CRB granted"].contains(&SERVERS[arm].0))
        .map(mean)
        .fold(f64::INFINITY, f64::min);
    values.number("web.recovering", mean(SSRB) / least).sweep(told);
    for (arm, name) in [(HALVING, "linux"), (STANDARD, "standard")] {
        let of = |arm: usize| total(&served[arm], |one| one.timed_out);
        let note = format!("{:.0} and {:.0}", of(SSRB), of(arm));
        values
            .number(format!("web.timed_out.{name}"), ratio(ssrb, &served[arm], |one| one.timed_out))
            .note(note);
    }
    values
        .words("core.convergence", "property tests of the core, on any history")
        .note("not measured here, but tested by `recovery_properties` in the crate `firstflight`");
    values
}
