//! Video on policed paths.

use crate::figure::{Figure, Series, Shape, axis};
use crate::sample::{Interval, bootstrap};
use crate::servers::{
    Counted, FILE, Knobs, LINUX, Met, Server, Service, calibrate, serve, serve_once_on_each_path,
    total,
};
use crate::source::published;
use crate::{Effort, Measured, Source, Values};
use firstflight_lab::Error;
use firstflight_lab::stats::{self, resample};

const SERVERS: [(&str, Server); 3] = [
    ("Linux", LINUX),
    ("Standard", Server::linux26("slowstart/cubic/sack(lost=ignore)")),
    ("PRR", Server::linux26("slowstart/cubic/prr(mode=ssrb,lost=ignore)")),
];
const HALVING: usize = 0;
const STANDARD: usize = 1;
const PRR: usize = 2;
const BASE: Knobs = FILE;
/// Explanation of the figures of fitted values.
const FITTED: &str = "Video in India. The Standard arm was fitted to its published value; the other two are predictions.";
/// Published values of Standard, percent, which are the targets of the fit.
const REPEATED: f64 = 6.6;
const LOST_AGAIN: f64 = 16.4;

/// One of the three shares: numerator and denominator, pooled.
#[derive(Clone, Copy)]
struct Share {
    part: fn(&Counted) -> f64,
    whole: fn(&Counted) -> f64,
}

/// Retransmissions over all segments.
const M5: Share = Share { part: |one| one.repeats, whole: |one| one.segments };
/// Lost retransmissions over all retransmissions.
const M6: Share = Share { part: |one| one.lost_repeats, whole: |one| one.repeats };
/// Slow starts after recoveries that ended without a timeout.
const M7: Share =
    Share { part: |one| one.slow_starts, whole: |one| one.recoveries - one.timed_out };

impl Share {
    fn of(self, all: &[Counted]) -> f64 {
        100.0 * total(all, self.part) / total(all, self.whole).max(1.0)
    }

    fn interval(self, all: &[Counted]) -> Interval {
        let pairs = self.pairs(all);
        bootstrap(pairs.len(), |units| 100.0 * resample::pooled(units, &pairs))
    }

    fn pairs(self, all: &[Counted]) -> Vec<(f64, f64)> {
        all.iter().map(|one| ((self.part)(one), (self.whole)(one))).collect()
    }

    fn ratio(self, ours: &[Counted], base: &[Counted]) -> Interval {
        let (a, b) = (self.pairs(ours), self.pairs(base));
        bootstrap(a.len(), |units| resample::pooled(units, &a) / resample::pooled(units, &b))
    }
}

/// Fits burst probability and share of policed paths on the Standard arm.
fn fit(effort: &Effort<'_>) -> Result<(Knobs, String, Vec<Knobs>), Error> {
    let connections = effort.sample("prr.video-fit");
    // All shares of policed paths start with the same loss and differ only in which paths are policed.
    let mut met = Met::default();
    let mut standard = |knobs: Knobs| {
        let server = SERVERS[STANDARD].1;
        serve_once_on_each_path(Service::Video, knobs, server, connections, &mut met)
    };
    let mut best: Option<(f64, Knobs, f64, f64)> = None;
    let mut tried = Vec::new();
    for policed in effort.either(vec![0.0, 0.3, 0.6], vec![0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) {
        effort.tell(&format!("prr: fitting video paths, {:.0} % policed", policed * 100.0));
        let knobs = Knobs { policed, ..BASE };
        let g = calibrate((1e-6, 0.05), REPEATED, effort.either(5, 8), |g| {
            standard(Knobs { g, ..knobs }).map(|all| M5.of(&all))
        })?;
        let knobs = Knobs { g, ..knobs };
        let all = standard(knobs)?;
        let (repeated, again) = (M5.of(&all), M6.of(&all));
        // A share of policers that alone causes too many retransmissions is not a fit.
        tried.push(knobs);
        let cost = ((repeated / REPEATED).ln() * 4.0).powi(2) + (again / LOST_AGAIN).ln().powi(2);
        if best.as_ref().is_none_or(|best| cost < best.0) {
            best = Some((cost, knobs, repeated, again));
        }
    }
    let (_, knobs, repeated, again) = best.unwrap_or((0.0, BASE, 0.0, 0.0));
    let told = format!(
        "fitted on Standard with {connections} connections: burst probability {:.2e}, {:.0} % of paths policed; {repeated:.2} % retransmitted (target 6.6 +- 0.5), {again:.1} % of the retransmissions lost (target 12 to 20){}",
        knobs.g,
        knobs.policed * 100.0,
        if (repeated - REPEATED).abs() <= 0.5 && (12.0..=20.0).contains(&again) {
            ""
        } else {
            ": OUTSIDE its bounds"
        }
    );
    Ok((knobs, told, tried))
}

pub(super) fn measured(effort: &Effort<'_>, source: &Source) -> Result<Measured, Error> {
    let (knobs, fit, tried) = fit(effort)?;
    let connections = effort.sample("prr.video");
    let served = run(effort, knobs, connections)?;
    let cells = |share: Share, name: &str| -> Vec<(String, String)> {
        let published = &published("prr", name).values;
        let one = |arm: usize| {
            (
                SERVERS[arm].0.to_owned(),
                format!("{:.2} % (published {} %)", share.of(&served[arm]), published[arm]),
            )
        };
        (0..SERVERS.len()).map(one).collect()
    };
    let (linux, standard, prr) = (&served[HALVING], &served[STANDARD], &served[PRR]);
    let mut values = Values::default();
    for (name, share, published) in [("m5", M5, "video.m5"), ("m6", M6, "video.m6")] {
        for (ours, base, which) in
            [(prr, linux, "prr_over_linux"), (standard, prr, "standard_over_prr")]
        {
            values
                .number(format!("video.{name}.{which}"), share.ratio(ours, base))
                .sweep(cells(share, published));
        }
    }
    let others = M7.of(standard).max(M7.of(prr));
    values.number("video.m7.linux", M7.interval(linux)).sweep(cells(M7, "video.m7"));
    values.number("video.m7.linux_over_others", M7.of(linux) / (10.0 * others).max(0.01));
    values.number("video.m7.standard", M7.interval(standard));
    values.number("video.m7.prr", M7.interval(prr));
    explain(effort, source, &mut values, &fit, &tried)?;
    values.extend(control(effort, knobs)?);
    values.extend(three_segments(effort, knobs)?);
    let figures = [
        ("Segments that are retransmissions", "5.2 M5", M5, "video.m5", FITTED),
        ("Retransmissions that are lost", "5.2 M6", M6, "video.m6", FITTED),
        (
            "Slow start after recovery",
            "5.2 M7",
            M7,
            "video.m7",
            "Video in India. All three are predictions.",
        ),
    ]
    .map(|(name, id, share, points, how)| {
        let ours = Series::with_intervals(
            "ours",
            (0..SERVERS.len()).map(|arm| (arm as f64, share.interval(&served[arm]))),
        );
        let theirs = Series::published("published", published("prr", points).points());
        let names =
            SERVERS.iter().enumerate().map(|(arm, (name, _))| (arm as f64, (*name).to_owned()));
        Figure::new(name, &[id], Shape::Rows, axis("%").from_zero(), axis("").named(names))
            .how(how)
            .with([ours, theirs])
    });
    Ok(Measured { values, figures: figures.into(), ..Measured::default() })
}

/// Adds a remark about the fit and, if a direction of the retransmissions is not seen, the results with other shares of
/// policed paths.
fn explain(
    effort: &Effort<'_>,
    source: &Source,
    values: &mut Values,
    fit: &str,
    tried: &[Knobs],
) -> Result<(), Error> {
    for value in values.named_mut("video.m5.prr_over_linux") {
        value.note(fit);
    }
    let broken = |name: &str, values: &Values| {
        values.iter().any(|value| value.name == name && !source.shows(value))
    };
    let names = ["video.m5.prr_over_linux", "video.m5.standard_over_prr"]
        .map(|name| (name, broken(name, values)));
    if names.iter().all(|(_, broken)| !broken) {
        return Ok(());
    }
    let points = by_share(effort, tried)?;
    for (arm, (name, _)) in names.into_iter().enumerate().filter(|(_, (_, broken))| *broken) {
        let ratios = points.iter().filter_map(|point| point.ratios[arm]);
        let (low, high) = stats::extremes(ratios);
        for value in values.named_mut(name) {
            value.note(format!("{low:.3} to {high:.3} x with other shares of policed paths and other ends of rate halving (sweep)"));
            value.sweep(points.iter().map(|point| (point.setting.clone(), point.told.clone())));
        }
    }
    Ok(())
}

/// Values of the second run, with an initial window of three segments.
fn three_segments(effort: &Effort<'_>, knobs: Knobs) -> Result<Values, Error> {
    let connections = effort.sample("prr.video3");
    effort.tell("prr: video, initial window 3");
    let serve = |arm| serve(Service::Video, knobs, Server::linux26(arm), connections);
    let linux = serve("slowstart/cubic/halving@(iw=3)")?;
    let standard = serve("slowstart/cubic/sack(lost=ignore)@(iw=3)")?;
    let prr = serve("slowstart/cubic/prr(mode=ssrb,lost=ignore)@(iw=3)")?;
    let mut values = Values::default();
    for (name, share) in [("m5", M5), ("m6", M6), ("m7", M7)] {
        let percent = |all: &[Counted]| {
            let Interval { value, low, high } = share.interval(all);
            format!("{value:.2} % [{low:.2}, {high:.2}]")
        };
        let told = format!(
            "Linux {}, Standard {}, PRR {}",
            percent(&linux),
            percent(&standard),
            percent(&prr)
        );
        values.words(format!("video3.{name}"), told);
    }
    Ok(values.of_case("second run: IW 3"))
}

/// Retransmissions with one share of policed paths or one end of rate halving.
struct Shared {
    setting: String,
    told: String,
    /// PRR over Linux, Standard over PRR.
    ratios: [Option<f64>; 2],
}

/// The ratios of M5 for other shares of policed paths, with the loss fitted for each.
fn by_share(effort: &Effort<'_>, tried: &[Knobs]) -> Result<Vec<Shared>, Error> {
    let mut points = Vec::new();
    for &knobs in tried {
        let served = run(effort, knobs, effort.sample("prr.shares"))?;
        let m5 = |a: usize, b: usize| M5.ratio(&served[a], &served[b]).value;
        let (to_linux, to_prr) = (m5(PRR, HALVING), m5(STANDARD, PRR));
        points.push(Shared {
            setting: format!(
                "{:.0} % policed, burst probability {:.2e}",
                knobs.policed * 100.0,
                knobs.g
            ),
            told: format!("PRR over Linux {to_linux:.3} x, Standard over PRR {to_prr:.3} x"),
            ratios: [Some(to_linux), Some(to_prr)],
        });
    }
    let last = tried.get(tried.len() / 2).copied().unwrap_or(BASE);
    let connections = effort.sample("prr.shares");
    let prr = serve(Service::Video, last, SERVERS[PRR].1, connections)?;
    for (name, arm) in [
        ("rate halving down to half", "slowstart/cubic/halving(floor=half)"),
        ("moderation 1", "slowstart/cubic/halving(moderation=1)"),
        ("no moderation", "slowstart/cubic/halving(moderation=off)"),
    ] {
        let linux = serve(Service::Video, last, Server::linux26(arm), connections)?;
        let ratio = M5.ratio(&prr, &linux).value;
        points.push(Shared {
            setting: format!("{name}, {:.0} % policed", last.policed * 100.0),
            told: format!("PRR over Linux {ratio:.3} x"),
            ratios: [Some(ratio), None],
        });
    }
    Ok(points)
}

fn run(effort: &Effort<'_>, knobs: Knobs, connections: u32) -> Result<Vec<Vec<Counted>>, Error> {
    let one = |(name, server): (&str, Server)| {
        effort.tell(&format!("prr: {connections} video connections, {name}"));
        serve(Service::Video, knobs, server, connections)
    };
    SERVERS.into_iter().map(one).collect()
}

/// Negative control with independent loss at the same retransmission rate, deep queues and no policer: the differences
/// in M6 must vanish.
fn control(effort: &Effort<'_>, knobs: Knobs) -> Result<Values, Error> {
    let connections = effort.sample("prr.control");
    let flat = Knobs { independent: true, ..knobs };
    let fitted = effort.sample("prr.control-fit");
    let g = calibrate((1e-4, 0.2), REPEATED, effort.either(5, 8), |g| {
        serve(Service::Video, Knobs { g, ..flat }, SERVERS[STANDARD].1, fitted)
            .map(|all| M5.of(&all))
    })?;
    let served = run(effort, Knobs { g, ..flat }, connections)?;
    let again = [HALVING, STANDARD, PRR].map(|arm| M6.of(&served[arm]));
    let (low, high) = again
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), &one| (low.min(one), high.max(one)));
    let told = (0..SERVERS.len()).map(|arm| {
        (
            SERVERS[arm].0.to_owned(),
            format!(
                "{:.2} % of the retransmissions lost, {:.2} % retransmitted",
                M6.of(&served[arm]),
                M5.of(&served[arm])
            ),
        )
    });
    let mut values = Values::default();
    values.number("video.control", high / low).sweep(told);
    Ok(values)
}
