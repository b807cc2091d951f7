//! Figures of the Rapid Start slides: windows, queue and sending rate over time, and the gains and losses of the
//! production experiment.

use super::production::{Found, NAMES, NO_JUMP, RAPID};
use super::runs::{FULL_BDP, Kind, Run, Runs, rate};
use crate::figure::{Axis, Figure, Series, Shape, axis, sampled};
use crate::source::published;
use firstflight_lab::ab::analysis::Part;

/// The plotted arms, with factor 0.7 and Reno as in the slides' text.
const SHOWN: [(Kind, &str); 3] = [
    (Kind::HalfCut, "slow start"),
    (Kind::NoJump, "Rapid Start without jump"),
    (Kind::Jump, "Rapid Start"),
];
/// End of the plots, s; later they do not differ.
const END: f64 = 0.6;

fn seconds(run: &Run, read: impl Fn(&firstflight_lab::record::Moment) -> f64) -> Vec<[f64; 2]> {
    sampled(
        run.moments().iter().map(|moment| (moment.state.now.0 as f64 / 1e9, read(moment))),
        0.004,
        END,
    )
}

/// Figures of the plotted path.
pub(super) fn plotted(all: &Runs) -> Vec<Figure> {
    let each = |read: &dyn Fn(&Run) -> Vec<[f64; 2]>| -> Vec<Series> {
        // The colours of the production groups below.
        SHOWN
            .iter()
            .zip([0, NO_JUMP, RAPID])
            .map(|((kind, name), hue)| Series::ours(*name, read(all.before_loss(*kind))).hue(hue))
            .collect()
    };
    let time = || axis("time since the first packet, s").from_zero();
    let window = Figure::new(
        "Window over time",
        &["2.1.3", "2.1.4", "2.1.5", "2.1.6"],
        Shape::Step,
        time(),
        axis("window, kB").from_zero(),
    )
    .how(
        "100 Mbit/s, 30 ms, a queue of 30 ms. F is what path and queue hold: loss is first seen at 2 F after doubling and below 3 F after \
             tripling. Slow start is cut to F and soon loses again; Rapid Start lands at 0.7 F in one recovery.",
    )
    .with(each(&|run| seconds(run, |moment| moment.state.cwnd as f64 / 1e3)))
    .band("F", FULL_BDP / 1e3, FULL_BDP / 1e3);
    let queue =
        Figure::new("Queue at the bottleneck over time", &["2.1.8"], Shape::Step, time(), axis("waiting, kB").from_zero())
            .how("The baseline empties the queue while it is silent and then fills it with a burst; Rapid Start keeps it from running dry.")
            .with(each(&|run| seconds(run, |moment| moment.state.queue as f64 / 1e3)));
    let pace = |run: &Run| -> Vec<[f64; 2]> {
        let sends = run.sends();
        let step = 10_000_000_u64;
        (0..(END * 1e9) as u64 / step)
            .map(|i| [i as f64 * 0.01, 100.0 * rate(&sends, i * step, (i + 1) * step)])
            .collect()
    };
    let throughput = Figure::new("Sending rate over time", &["2.1.1", "2.1.7", "2.1.8"], Shape::Step, time(), axis("sent, Mbit/s").from_zero())
        .how("In windows of 10 ms. Gaps are silence: slow start idles for half of the first round trip and after its reduction; the link carries 100 Mbit/s.")
        .with(each(&pace))
        .band("link", 100.0, 100.0);
    vec![window, queue, throughput]
}

fn percent(label: &str) -> Axis {
    axis(label)
}

/// Figures of the production experiment on our population.
pub(super) fn production(found: &Found) -> Vec<Figure> {
    vec![
        by_percentile(found),
        by_part(found, Part::Group),
        by_part(found, Part::Size),
        by_part(found, Part::Fill),
        losses(found),
    ]
}

fn by_percentile(found: &Found) -> Figure {
    let curves =
        found.analysis().percentiles.iter().enumerate().skip(1).filter_map(|(arm, curve)| {
            let reduction = curve.reduction_pct.as_ref()?;
            let points =
                reduction.iter().enumerate().map(|(at, value)| [(at + 1) as f64, *value]).collect();
            Some(Series::ours(NAMES[arm], points).hue(arm))
        });
    let names = [1, 10, 25, 50, 75, 90, 99].map(|p| (f64::from(p), format!("p{p}")));
    Figure::new(
        "Shorter downloads, by percentile",
        &["2.2.1"],
        Shape::Line,
        axis("percentile of the time to last byte acknowledged").named(names),
        percent("shorter by, %"),
    )
    .how("Each percentile of an arm's download times, compared with the same percentile with paced slow start. Published: 14.7 % for rapidstart over all connections.")
    .with(curves)
    .band("published, all", 14.7, 14.7)
}

fn by_part(found: &Found, part: Part) -> Figure {
    let names = found.names(part);
    let series = (1..NAMES.len()).map(|arm| {
        let values = names.iter().enumerate().filter_map(|(row, name)| {
            Some((row as f64, Found::gain(found.entry(part, name, arm)?)))
        });
        Series::with_intervals(NAMES[arm], values).hue(arm)
    });
    let (name, id, how) = match part {
        Part::Group => (
            "Shorter downloads, by point of presence",
            "2.2.2",
            "Means with 95 % intervals. The slides give 10.8 to 21.5 % for rapidstart without naming the places.",
        ),
        Part::Size => (
            "Shorter downloads, by object size",
            "2.2.3",
            "Means with 95 % intervals. The slides give 14.9 % for the smallest and 10.6 % for the largest bin.",
        ),
        _ => (
            "Shorter downloads, by object size over three times the capacity of path and queue",
            "2.2.3",
            "Startup is over, and its overshoot repaired, when about three times what path and queue hold was sent (3 F). Objects that end \
             inside that can lose; far above it the gain thins out.",
        ),
    };
    let rows = names.iter().enumerate().map(|(row, name)| (row as f64, name.clone()));
    let mut figure = Figure::new(
        name,
        &[id],
        Shape::Rows,
        percent("shorter by, % of the mean"),
        axis("").named(rows),
    )
    .how(how)
    .with(series);
    if part == Part::Group {
        let places = &published("rapid-start", "shorter.places").values;
        figure = figure.band("published, rapidstart", places[0], places[1]);
    }
    if part == Part::Size {
        let at = |label: &str| names.iter().position(|name| name == label).map(|row| row as f64);
        let bins =
            [("200 kB to 400 kB", "shorter.smallest"), ("1.6 MB to 3.2 MB", "shorter.largest")];
        let points = bins.into_iter().filter_map(|(label, bin)| {
            let value = published("rapid-start", bin).values[0];
            Some([at(label)?, value])
        });
        figure =
            figure.with([Series::published("published, rapidstart", points.collect()).hue(RAPID)]);
    }
    figure
}

/// Scale of percentiles, stretched towards the tail.
fn tail(p: f64) -> f64 {
    -(1.0 - p).log10()
}

fn losses(found: &Found) -> Figure {
    let curves = found.analysis().percentiles.iter().zip(NAMES).map(|(curve, name)| {
        Series::ours(
            name,
            curve
                .loss_pct
                .iter()
                .enumerate()
                .map(|(at, value)| [tail((at + 1) as f64 / 100.0), *value])
                .collect(),
        )
    });
    let published = [
        (0, "loss.slowstart", "published, slow start"),
        (RAPID, "loss.rapidstart", "published, rapidstart"),
    ]
    .map(|(arm, points, name)| {
        let points = published("rapid-start", points).points().into_iter();
        Series::published(name, points.map(|[p, value]| [tail(p), value]).collect()).hue(arm)
    });
    let names = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99].map(|p| (tail(p), format!("p{:.0}", 100.0 * p)));
    Figure::new(
        "Loss per connection, by percentile",
        &["2.2.5", "2.2.6", "2.2.7"],
        Shape::Line,
        axis("percentile of the connections").named(names),
        percent("packets lost, %").from_zero(),
    )
    .how("Only paced slow start was fitted to its published points; the other curves are predictions.")
    .with(curves)
    .with(published)
}
