//! Receive windows and faster startups: the part of their gain that flow control leaves, and the rates that Linux's
//! socket buffers allow.

use super::best::buffers::{RECOMMENDED, rate};
use super::best::links::LINKS;
use super::figure::{Figure, Series, Shape, axis};
use super::grid::{Grid, grid};
use super::lab::completion_ms;
use super::sample::{Interval, bootstrap, mean};
use super::{Effort, Measured, Scale, Source, Values};
use firstflight_lab::Error;
use firstflight_lab::scenario::{Hosts, Scenario};
use firstflight_path::{Path, Rwnd};
use firstflight_sim::tcp::{Buffer, Host};
use rayon::prelude::*;

/// The arms that the experiments compare; the first is the baseline.
pub(crate) const ARMS: &[&str] =
    &["slowstart@(pace=on)", "suss@(pace=on)", "rapid@(pace=on)", "plumb@(pace=on)"];
const NAMES: [&str; 4] = ["slow start", "SUSS", "Rapid Start", "Plumb"];

const PATHS: [&str; 4] = [
    "rate=100Mbit,rtt=30ms,queue=1bdp",
    "rate=100Mbit,rtt=100ms,queue=1bdp",
    "rate=1Gbit,rtt=50ms,queue=1bdp",
    "rate=150Mbit,rtt=600ms,queue=1bdp",
];
/// Bytes to deliver, BDPs.
const OBJECT: u64 = 8;

/// A receiver's flow control.
#[derive(Clone, Copy)]
enum Receiver {
    Unlimited,
    /// A fixed window, halves of the BDP.
    Halves(u64),
    /// A window that the receiver tunes, up to this size, bytes.
    Tuned(u64),
}

/// The receivers, with their names; the first limits nothing.
const RECEIVERS: [(Receiver, &str); 7] = [
    (Receiver::Unlimited, "unlimited"),
    (Receiver::Halves(1), "fixed, 0.5 BDP"),
    (Receiver::Halves(2), "fixed, 1 BDP"),
    (Receiver::Halves(4), "fixed, 2 BDP"),
    (Receiver::Tuned(6_291_456), "tuned up to 6.3 MB"),
    (Receiver::Tuned(RECOMMENDED), "tuned up to 26.2 MB"),
    (Receiver::Tuned(33_554_432), "tuned up to 33.6 MB"),
];

fn receiving(path: Path, receiver: Receiver) -> Path {
    let bdp = path.bdp_bytes();
    path.with_rwnd(match receiver {
        Receiver::Unlimited => None,
        Receiver::Halves(halves) => Some(Rwnd::Fixed(bdp * halves / 2)),
        Receiver::Tuned(most) => Some(Rwnd::Auto(most)),
    })
}

/// Completion times of a transport, ms, by receiver and path.
struct Times {
    transport: &'static str,
    seeds: usize,
    grid: Grid<f64>,
}

impl Times {
    fn measured(effort: &Effort<'_>, transport: &'static str, host: Hosts) -> Result<Times, Error> {
        let mut cells = Vec::new();
        for (receiver, _) in RECEIVERS {
            for path in PATHS {
                let path = receiving(Path::parse(path)?, receiver);
                let bytes = OBJECT * path.bdp_bytes();
                cells.push(Scenario { host, ..Scenario::new(path, bytes) });
            }
        }
        let seeds = effort.sample("rwnd.kept");
        let what = format!("rwnd: startups behind flow control, {transport}");
        let grid = grid(effort, &what, &cells, ARMS, seeds, |_, done| completion_ms(done))?;
        Ok(Times { transport, seeds: seeds as usize, grid })
    }

    /// Reduction of the completion time by an arm, mean of the paths, percent.
    fn gain(&self, units: &[usize], receiver: usize, arm: usize) -> f64 {
        let gains = (0..PATHS.len()).map(|path| {
            let cell = receiver * PATHS.len() + path;
            let of = |arm: usize| mean(units, |unit| self.grid.of(cell, arm)[unit]);
            100.0 * (1.0 - of(arm) / of(0))
        });
        gains.sum::<f64>() / PATHS.len() as f64
    }

    /// The part of this reduction that a receiver leaves, percent.
    fn kept(&self, units: &[usize], receiver: usize, arm: usize) -> f64 {
        100.0 * self.gain(units, receiver, arm) / self.gain(units, 0, arm)
    }
}

/// Measures the gain of each startup behind each receiver.
fn kept(effort: &Effort<'_>) -> Result<Measured, Error> {
    let both = [
        Times::measured(effort, "TCP", Hosts::from(Host::default()))?,
        Times::measured(effort, "QUIC", Hosts::default())?,
    ];
    let tuned: Vec<usize> = (0..RECEIVERS.len())
        .filter(|&place| matches!(RECEIVERS[place].0, Receiver::Tuned(_)))
        .collect();
    // Both transports have the same seeds, so a resample takes the same ones of both.
    let over = |arms: &[usize], times: &[&Times]| -> Interval {
        bootstrap(both[0].seeds, |units| {
            let mut all = Vec::new();
            for times in times {
                for &receiver in &tuned {
                    all.extend(arms.iter().map(|&arm| times.kept(units, receiver, arm)));
                }
            }
            all.iter().sum::<f64>() / all.len() as f64
        })
    };
    let mut values = Values::default();
    let faster: Vec<usize> = (1..ARMS.len()).collect();
    values.number("kept.tuned", over(&faster, &both.each_ref())).case("TCP and QUIC");
    let mut curves = Vec::new();
    for times in &both {
        for &arm in &faster {
            let case = format!("{}, {}, tuned receivers", NAMES[arm], times.transport);
            values.number("kept.startup", over(&[arm], &[times])).case(case);
        }
    }
    for times in &both {
        for &arm in &faster {
            let one =
                |receiver: usize| bootstrap(times.seeds, |units| times.kept(units, receiver, arm));
            let all: Vec<Interval> = (1..RECEIVERS.len()).map(one).collect();
            let units: Vec<usize> = (0..times.seeds).collect();
            for (place, kept) in all.iter().enumerate() {
                let receiver = place + 1;
                let [left, whole] = [receiver, 0].map(|receiver| times.gain(&units, receiver, arm));
                values
                    .number("kept.each", *kept)
                    .case(format!("{}, {}, {}", NAMES[arm], times.transport, RECEIVERS[receiver].1))
                    .note(format!("{left:.1} % shorter than slow start instead of {whole:.1} %"));
            }
            let points = all.iter().enumerate().map(|(place, kept)| (place as f64, *kept));
            curves.push(Series::with_intervals(
                format!("{}, {}", NAMES[arm], times.transport),
                points,
            ));
        }
    }
    let receivers = axis("receiver").named(
        (1..RECEIVERS.len())
            .map(|receiver| ((receiver - 1) as f64, RECEIVERS[receiver].1.to_owned())),
    );
    let left = axis("share of the reduction that is left, %");
    let figure = Figure::new("Gain of faster startups by receiver", &["15.1"], Shape::Line, receivers, left)
        .how("Reduction of the completion time against slow start behind the same receiver, as a share of the reduction with a receiver that limits nothing; mean of four paths.")
        .with(curves);
    Ok(Measured { values, figures: vec![figure], ..Measured::default() })
}

/// Measures the rates that socket buffers allow on the links of the BEST slides.
fn rates(effort: &Effort<'_>, values: &mut Values) -> Result<(), Error> {
    effort.tell("rwnd: rates that socket buffers allow");
    let receive = |max| Buffer::Linux { default: 131_072, max };
    let settings = [
        ("rate.until615", [Buffer::LINUX_RECEIVE, Buffer::LINUX_SEND]),
        ("rate.since616", [receive(33_554_432), Buffer::LINUX_SEND]),
        (
            "rate.recommended",
            [receive(RECOMMENDED), Buffer::Linux { default: 16_384, max: RECOMMENDED }],
        ),
    ];
    let jobs: Vec<(usize, usize)> = (0..settings.len())
        .flat_map(|setting| (0..LINKS.len()).map(move |link| (setting, link)))
        .collect();
    let measured = jobs
        .into_par_iter()
        .with_max_len(1)
        .map(|(setting, link)| {
            effort.look();
            let short = effort.scale != Scale::Full && LINKS[link].name == "5G";
            let seconds = if short { [3, 5] } else { [30, 60] };
            let rate = rate(LINKS[link].path, settings[setting].1, seconds)?;
            Ok((settings[setting].0, LINKS[link].name, rate))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    for (name, link, rate) in measured {
        values.number(name, rate.payload / 1e6).case(link).note(format!(
            "{:.0} % of the link's payload rate",
            100.0 * rate.payload / rate.capacity
        ));
    }
    Ok(())
}

/// Measures the documents' claims.
pub(crate) fn measured(effort: &Effort<'_>, _source: &Source) -> Result<Measured, Error> {
    let mut measured = kept(effort)?;
    rates(effort, &mut measured.values)?;
    Ok(measured)
}
