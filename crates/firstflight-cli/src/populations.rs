//! `firstflight populations`: what there is, what it gives, and how it is fitted.

use crate::Done;
use crate::progress::{Progress, Unit};
use crate::run::{on_threads, threads};
use crate::terminal::{CAUTION, QUIET, TITLE, say, whisper};
use clap::{Args, Subcommand};
use firstflight_lab::ab::MOST_FLOWS;
use firstflight_lab::population::calibrate::{
    Calibration, Family, Fitted, LEAST_FLOWS, MEASURED_MS, NEARLY, Profile,
};
use firstflight_lab::population::describe::{DRAWS, Description, SHARES, describe};
use firstflight_lab::population::{Assumption, builtin};
use firstflight_lab::size;
use firstflight_lab::{Error, Population};
use std::fmt::Write as _;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the quantiles of everything that a population gives
    Describe(DescribeOptions),
    /// Fit buffers and random loss to published losses; prints what fits nearly as well, and the
    /// published rows that were held out
    Calibrate(CalibrateOptions),
    /// Make a population file out of recorded connections (qlog, packet captures, CSV) and print it
    #[cfg(feature = "replay")]
    FromTraces(crate::replay::population::Options),
    /// Print a population as a file to copy and change, everything filled in
    Show {
        /// A name of `firstflight populations`, a TOML or CSV file
        population: String,
    },
}

#[derive(Args, Debug)]
struct DescribeOptions {
    /// A name of `firstflight populations`, a TOML or CSV file
    population: String,
    /// Seed of the draws
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    seed: u64,
    /// Worker threads
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

#[derive(Args, Debug)]
struct CalibrateOptions {
    /// A name of `firstflight populations`, a TOML or CSV file
    population: String,
    /// Connections behind every number of the table
    #[arg(long, default_value_t = LEAST_FLOWS, value_parser = |text: &str| size::count(text, LEAST_FLOWS..=MOST_FLOWS, "connections"), allow_negative_numbers = true)]
    flows: u64,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    seed: u64,
    /// One random loss for all paths, instead of one that differs from path to path
    #[arg(long)]
    common_loss: bool,
    /// Try one factor on buffers only
    #[arg(long, value_name = "Q", value_parser = factor, allow_negative_numbers = true)]
    buffers: Option<f64>,
    /// Worker threads; the fit does not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
    /// Write the fit as JSON to standard output
    #[arg(long)]
    json: bool,
}

fn factor(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|q| (0.05..=50.0).contains(q))
        .ok_or_else(|| "allowed: 0.05 to 50".to_owned())
}

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    match &options.command {
        None => list(),
        Some(Command::Show { population }) => {
            say(&Population::parse(population)?.to_string()).map(|()| Done::Well)
        }
        Some(Command::Describe(options)) => show(options),
        Some(Command::Calibrate(options)) => calibrate(options),
        #[cfg(feature = "replay")]
        Some(Command::FromTraces(options)) => crate::replay::population::run(options),
    }
}

fn list() -> Result<Done, Error> {
    let mut text = format!(
        "A population is a name from this list, a TOML file ({TITLE}firstflight populations show NAME{TITLE:#} prints one to copy), or a CSV\n\
         file of quantiles (variable,unit,q,value) or of measured paths (rtt_ms,rate_mbps,...). Knobs stand in parentheses: {TITLE}cdn(q=0.8){TITLE:#}.\n\
         {QUIET}S stated by the source, C read in public code, D derived by us, U remembered and unconfirmed, A our assumption{QUIET:#}\n\n"
    );
    for name in builtin::names() {
        let population = Population::parse(name)?;
        let _ = writeln!(text, "{TITLE}{name:<16}{TITLE:#} {}", population.about);
        for source in &population.sources {
            let _ = writeln!(
                text,
                "    {} {:<32} {QUIET}{}{QUIET:#}",
                source.status, source.value, source.reference
            );
        }
        if population.knobs.calibrated.is_some() {
            let _ = writeln!(text, "    {QUIET}calibration: {}{QUIET:#}", population.knobs.status);
        }
    }
    say(&text).map(|()| Done::Well)
}

fn show(options: &DescribeOptions) -> Result<Done, Error> {
    let population = Population::parse(&options.population)?;
    let description =
        on_threads(options.threads, || Ok(describe(&population, options.seed, DRAWS)))?;
    say(&as_text(&population, &description))?;
    for warning in population.warnings() {
        whisper(&format!("{CAUTION}note:{CAUTION:#} {warning}"));
    }
    for (bound, share) in description.clipped.iter().filter(|(_, share)| *share > 0.01) {
        whisper(&format!(
            "{CAUTION}note:{CAUTION:#} the bound `{bound}` holds back a value of {:.1} % of the connections",
            share * 100.0
        ));
    }
    Ok(Done::Well)
}

fn calibrate(options: &CalibrateOptions) -> Result<Done, Error> {
    let population = Population::parse(&options.population)?;
    let family = if options.common_loss { Family::Common } else { Family::Spread };
    let calibration = Calibration {
        population,
        flows: options.flows,
        seed: options.seed,
        family,
        held_q: options.buffers,
    };
    let progress = Progress::begin("{spinner} {elapsed} {msg}", Unit::Words, None);
    let profile = on_threads(options.threads, || {
        calibration.fit(&mut |[q, k, s], misfit| {
            progress.inc(1);
            progress.tell(format!(
                "evaluation {}: q={q:.3} k={k:.5} s={s:.3} squares {misfit:.4}",
                progress.done()
            ));
        })
    });
    drop(progress);
    let profile = profile?;
    if options.json {
        say(&format!("{}\n", serde_json::to_string_pretty(&profile).unwrap_or_default()))?;
    } else {
        say(&profile_text(&calibration.population, &profile))?;
    }
    if profile.points.get(profile.best).is_some_and(|best| best.inside) {
        return Ok(Done::Well);
    }
    Ok(Done::Because(format!(
        "{}: no fit, the best row leaves a band that is accepted",
        calibration.population.name
    )))
}

fn profile_text(population: &Population, profile: &Profile) -> String {
    let mut text = format!(
        "{TITLE}{}{TITLE:#}: random loss fitted for every factor q on the buffers {QUIET}{} connections per row{QUIET:#}\n\n{:>6}{:>14}{:>9}{:>8}",
        population.name, profile.flows, "q", "buffer p50", "k %", "s"
    );
    for name in ["mean %", "P50 %", "P90 %", "P99 %", "rapid x", "rapid +pt", "misfit"] {
        let _ = write!(text, "{name:>10}");
    }
    let published: Vec<&Fitted> =
        profile.points.first().map_or(Vec::new(), |point| point.columns.iter().collect());
    let _ = write!(text, "\n{QUIET}{:>37}", "published");
    for column in &published {
        _ = write!(text, "{:>10.2}", column.target.target);
    }
    let _ = write!(text, "{:>+10.2}\n{:>37}", 0.46, "accepted");
    for column in &published {
        _ = write!(text, "{:>10}", format!("{}-{}", column.target.low, column.target.high));
    }
    let _ = writeln!(text, "{QUIET:#}");
    for (index, point) in profile.points.iter().enumerate() {
        let buffer = format!("{:.0} ms {:.1} BDP", point.buffer_ms, point.buffer_bdp);
        let _ = write!(text, "{:>6}{buffer:>14}{:>9.3}{:>8.3}", point.q, point.k * 100.0, point.s);
        point.columns.iter().for_each(|column| {
            let _ = write!(
                text,
                "{:>10}",
                format!("{:.2}{}", column.measured, if column.inside { " " } else { "!" })
            );
        });
        let verdict = match (index == profile.best, point.accepted) {
            (true, _) => "best",
            (_, true) => "fits nearly as well",
            (_, false) => "",
        };
        let _ =
            writeln!(text, "{:>+10.2}{:>10.2}  {verdict}", point.more_loss_points, point.misfit);
    }
    let (low, high) = MEASURED_MS;
    let _ = writeln!(
        text,
        "\n{QUIET}! outside its band. k and s: least squares over slow start's four columns. misfit: sum over the five columns and the median buffer\n\
         (measured ones lie between {low:.0} and {high:.0} ms) of (ln(measured / published) / half the accepted band in the logarithm) squared;\n\
         a row fits nearly as well up to {NEARLY} above the least.{QUIET:#}"
    );
    let _ = writeln!(
        text,
        "range of q that fits nearly as well: {} to {}",
        profile.range.0, profile.range.1
    );
    let ends = [profile.range.0, profile.range.1];
    let shown: Vec<_> = profile
        .points
        .iter()
        .enumerate()
        .filter(|(index, point)| *index == profile.best || ends.contains(&point.q))
        .collect();
    let _ = write!(
        text,
        "\n{TITLE}{:<44}{TITLE:#}{:>10}",
        "Held out: published, not fitted", "published"
    );
    for (_, point) in &shown {
        _ = write!(text, "{:>16}", format!("q = {}", point.q));
    }
    text.push('\n');
    for row in 0..shown.first().map_or(0, |(_, point)| point.held_out.len()) {
        let Fitted { target, .. } = shown[0].1.held_out[row];
        let _ = write!(text, "{:<44}{:>10.2}", target.name, target.target);
        for (_, point) in &shown {
            let one = &point.held_out[row];
            let _ = write!(
                text,
                "{:>16}",
                format!("{:.2}{}", one.measured, if one.inside { "       " } else { " MISSED" })
            );
        }
        text.push('\n');
    }
    text
}

/// Four digits that matter.
fn figure(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        x if x >= 1000.0 => format!("{x:.0}"),
        x if x >= 100.0 => format!("{x:.1}"),
        x if x >= 1.0 => format!("{x:.2}"),
        x => format!("{x:.3}"),
    }
}

fn as_text(population: &Population, description: &Description) -> String {
    let mut text = format!(
        "{TITLE}{}{TITLE:#} {} {QUIET}version {}{QUIET:#}\n",
        population.name, population.about, population.version
    );
    for group in &population.groups {
        let mut more = vec![
            format!("carries {}", group.workload.name()),
            format!("return path {}", group.return_path),
        ];
        more.extend(group.bursts.map(|bursts| format!("bursts {bursts}")));
        more.extend(
            group
                .reordering
                .as_ref()
                .map(|reordering| format!("{} % of packets overtaken", reordering.share * 100.0)),
        );
        more.extend(
            group
                .policer
                .as_ref()
                .map(|policer| format!("policers on {} % of the paths", policer.share * 100.0)),
        );
        let _ = writeln!(text, "{QUIET}{}: {}{QUIET:#}", group.name, more.join(", "));
    }
    for group in &description.groups {
        let _ = write!(
            text,
            "\n{TITLE}{:<16}{TITLE:#}{QUIET}",
            format!("{} {:.1} %", group.group, group.share * 100.0)
        );
        for share in SHARES {
            let _ = write!(text, "{:>11}", format!("p{}", share * 100.0));
        }
        let _ = writeln!(text, "{QUIET:#}");
        for quantity in &group.quantities {
            let _ = write!(text, "{:<16}", quantity.name);
            quantity.quantiles.iter().for_each(|value| {
                let _ = write!(text, "{:>11}", figure(*value));
            });
            text.push('\n');
        }
    }
    let _ = writeln!(
        text,
        "\nrank correlation of round trip and rate as drawn: {:.3}; {} connections",
        description.rank_correlation, description.draws
    );
    for (bound, share) in &description.clipped {
        let _ =
            writeln!(text, "bound `{bound}` held back {:.3} % of the connections", share * 100.0);
    }
    for Assumption { value, low, high, reference } in &population.assumptions {
        let _ = writeln!(text, "nobody measured: {value}, from {low} to {high}: {reference}");
    }
    if population.knobs.calibrated.is_some() || population.knobs.k > 0.0 {
        let _ = writeln!(
            text,
            "calibration: q={}, k={}, s={}: {}",
            population.knobs.q, population.knobs.k, population.knobs.s, population.knobs.status
        );
    }
    text
}
