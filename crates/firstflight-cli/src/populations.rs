//! `firstflight populations`: lists, describes, calibrates and makes populations.

mod fit;

use crate::done::Done;
use crate::output::{self, Output, fitted, prose};
use crate::progress::{Progress, Unit};
use crate::run::{on_threads, threads};
use crate::terminal::{CAUTION, QUIET, TITLE, note, say, whisper, width, wrap};
use clap::{Args, Subcommand};
use firstflight_lab::ab::MOST_FLOWS;
use firstflight_lab::population::calibrate::{Calibration, Family, LEAST_FLOWS};
use firstflight_lab::population::describe::{
    DRAWS, Description, GroupDescription, SHARES, describe,
};
use firstflight_lab::population::{Assumption, Group, builtin};
use firstflight_lab::request::named;
use firstflight_lab::size;
use firstflight_lab::{Error, Population};
use firstflight_table::text::one_line;
use firstflight_table::{Cell, Kind, Marked, Table};
use fit::Fit;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    /// Population to describe: its groups, and the source of each number
    #[arg(value_parser = named())]
    population: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the quantiles of a population's variables
    Describe(DescribeOptions),
    /// Fit buffers and random loss to published losses; print near-best fits and the published rows that were held out
    Calibrate(CalibrateOptions),
    /// Make a population file from recorded connections (qlog, packet captures, CSV) and print it
    #[cfg(feature = "replay")]
    FromTraces(crate::replay::population::Options),
    /// Print a population as a complete file to copy and change
    Show {
        /// A name listed by `firstflight populations`, or a TOML or CSV file
        #[arg(value_parser = named())]
        population: String,
    },
}

#[derive(Args, Debug)]
struct DescribeOptions {
    /// A name listed by `firstflight populations`, or a TOML or CSV file
    #[arg(value_parser = named())]
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
    /// A name listed by `firstflight populations`, or a TOML or CSV file
    #[arg(value_parser = named())]
    population: String,
    /// Connections behind each number in the table
    #[arg(long, default_value_t = LEAST_FLOWS, value_parser = |text: &str| size::count(text, LEAST_FLOWS..=MOST_FLOWS, "connections"), allow_negative_numbers = true)]
    flows: u64,
    /// Seed of every random draw
    #[arg(long, default_value_t = 1, value_parser = |text: &str| size::count(text, 0..=u64::MAX, ""), allow_negative_numbers = true)]
    seed: u64,
    /// One random loss rate for all paths instead of one per path
    #[arg(long)]
    common_loss: bool,
    /// Try this buffer factor only
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
        None => list(options.population.as_deref()),
        Some(Command::Show { population }) => {
            say(&Population::parse(population)?.to_string()).map(|()| Done::Well)
        }
        Some(Command::Describe(options)) => show(options),
        Some(Command::Calibrate(options)) => calibrate(options),
        #[cfg(feature = "replay")]
        Some(Command::FromTraces(options)) => crate::replay::population::run(options),
    }
}

fn list(name: Option<&str>) -> Result<Done, Error> {
    let populations = match name {
        Some(name) => vec![Population::parse(name)?],
        None => builtin::names().map(Population::parse).collect::<Result<_, Error>>()?,
    };
    output::show(&Listed { populations, all: name.is_none() }).map(|()| Done::Well)
}

/// Populations with their sources; one line each if all are listed.
struct Listed {
    populations: Vec<Population>,
    all: bool,
}

impl Output for Listed {
    fn text(&self) -> String {
        let sheets = fitted(&self.sheets());
        if !self.all {
            return sheets;
        }
        let about = [
            "A population is a name from this list, a TOML file (`firstflight populations show NAME` prints one to copy), or a CSV file of quantiles (variable,unit,q,value) or of measured paths (rtt_ms,rate_mbps,...).",
            "Knobs stand in parentheses: cdn(q=0.8).",
            "`firstflight populations NAME` shows where its numbers come from; `populations describe NAME` prints its quantiles.",
        ];
        format!("{}\n{sheets}", prose(&about))
    }

    fn sheets(&self) -> Vec<Table> {
        if self.all {
            let columns = [("population", Kind::Name), ("description", Kind::Prose)];
            let mut sheet = Table::new("built-in populations", columns);
            for population in &self.populations {
                // Only the first clause; `populations NAME` prints the whole text.
                let about = population.about.split([';', ':']).next().unwrap_or_default();
                sheet.row([population.name.as_str(), about]);
            }
            return vec![sheet];
        }
        let columns =
            [("population", Kind::Name), ("quantities", Kind::Prose), ("source", Kind::Prose)];
        let mut sheet = Table::new("", columns);
        for population in &self.populations {
            let name = Marked::from(population.name.as_str()).bold(true);
            sheet.row([name, population.about.as_str().into(), "".into()]);
            for source in &population.sources {
                let status = Marked::from(format!("  {}", source.status_in_words()));
                sheet.row([status, source.value.as_str().into(), source.reference.as_str().into()]);
            }
            if population.knobs.calibrated.is_some() {
                let status = population.knobs.status.as_str();
                sheet.row([Marked::from("  calibration"), status.into(), "".into()]);
            }
        }
        vec![sheet]
    }

    /// One row per source.
    fn rows(&self) -> Table {
        let mut rows =
            Table::of_data(["population", "version", "about", "status", "value", "reference"]);
        for population in &self.populations {
            let Population { name, version, about, .. } = population;
            for source in &population.sources {
                let status = source.status.to_string();
                let of = [name.as_str(), version, about, &status, &source.value, &source.reference];
                rows.values(of.map(Into::into));
            }
        }
        rows
    }
}

fn show(options: &DescribeOptions) -> Result<Done, Error> {
    let population = Population::parse(&options.population)?;
    let description = on_threads(options.threads, || {
        Ok(describe(&population, options.seed, DRAWS, &AtomicBool::new(false)))
    })?;
    output::show(&Described { population: &population, description: &description })?;
    for warning in population.warnings() {
        note(&warning);
    }
    for (bound, share) in description.clipped.iter().filter(|(_, share)| *share > 0.01) {
        whisper(&format!(
            "{CAUTION}note:{CAUTION:#} the bound `{bound}` limits a value of {:.1} % of the connections",
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
    let shown = Table::new("", fit::columns()).names();
    let to_stdout = options.json.then(|| PathBuf::from("-"));
    output::check_before(to_stdout.as_ref(), &shown, &Table::of_data(fit::RAW).names())?;
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
    let fit = Fit { population: &calibration.population, profile: &profile };
    output::give(to_stdout.as_ref(), &fit)?;
    if profile.points.get(profile.best).is_some_and(|best| best.inside) {
        return Ok(Done::Well);
    }
    Ok(Done::Because(format!(
        "{}: no fit: the best row is outside an accepted band",
        calibration.population.name
    )))
}

/// Four significant digits.
fn figure(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        x if x >= 1000.0 => format!("{x:.0}"),
        x if x >= 100.0 => format!("{x:.1}"),
        x if x >= 1.0 => format!("{x:.2}"),
        x => format!("{x:.3}"),
    }
}

struct Described<'a> {
    population: &'a Population,
    description: &'a Description,
}

/// Quantiles that are dropped first if not all fit: the outermost, and those between others.
const QUANTILES_TO_GO: &[&str] = &["p1", "p99", "p5", "p95", "p25", "p75"];

impl Described<'_> {
    /// Workload and path features of each group, one line each.
    fn carried(&self) -> Vec<String> {
        let of = |group: &Group| {
            let mut more = vec![
                format!("carries {}", group.workload.name()),
                format!("return path {}", group.return_path),
            ];
            more.extend(group.bursts.map(|bursts| format!("bursts {bursts}")));
            let percent = |share: f64| share * 100.0;
            let reordering = group.reordering.as_ref();
            more.extend(
                reordering.map(|of| format!("{} % of packets overtaken", percent(of.share))),
            );
            let policer = group.policer.as_ref();
            more.extend(
                policer.map(|of| format!("policers on {} % of the paths", percent(of.share))),
            );
            format!("{}: {}", group.name, more.join(", "))
        };
        self.population.groups.iter().map(of).collect()
    }

    /// Further remarks below the tables.
    fn remarks(&self) -> Vec<String> {
        let Described { population, description } = self;
        let mut remarks = vec![format!(
            "rank correlation of round trip and rate as drawn: {:.3}; {} connections",
            description.rank_correlation, description.draws
        )];
        remarks.extend(description.clipped.iter().map(|(bound, share)| {
            format!("bound `{bound}` limited {:.3} % of the connections", share * 100.0)
        }));
        remarks.extend(population.assumptions.iter().map(|assumption| {
            let Assumption { value, low, high, reference } = assumption;
            format!(
                "not measured: {value}; tested with {} and {} ({reference})",
                low.words, high.words
            )
        }));
        let knobs = &population.knobs;
        if knobs.calibrated.is_some() || knobs.k > 0.0 {
            let (q, k, s, status) = (knobs.q, knobs.k, knobs.s, &knobs.status);
            remarks.push(format!("calibration: q={q}, k={k}, s={s}: {status}"));
        }
        remarks
    }
}

impl Output for Described<'_> {
    fn text(&self) -> String {
        let Population { name, about, version, .. } = self.population;
        let name = one_line(name);
        let lines = |lines: &[String]| {
            lines.iter().map(|line| wrap(line, 2, width()) + "\n").collect::<String>()
        };
        let about = wrap(&format!("{about}; version {version}"), 0, width());
        format!(
            "{TITLE}{name}{TITLE:#}\n{about}\n{QUIET}{}{QUIET:#}\n{}\n{}",
            lines(&self.carried()),
            fitted(&self.sheets()),
            lines(&self.remarks())
        )
    }

    fn sheets(&self) -> Vec<Table> {
        let of = |group: &GroupDescription| {
            let title = format!("{} {:.1} %", group.group, group.share * 100.0);
            let quantiles = SHARES.map(|share| (format!("p{}", share * 100.0), Kind::Number));
            let columns = std::iter::once((title.clone(), Kind::Name)).chain(quantiles);
            let mut sheet = Table::new(title, columns).dropping(QUANTILES_TO_GO);
            for quantity in &group.quantities {
                let values = quantity.quantiles.iter().map(|value| Marked::from(figure(*value)));
                sheet.row(std::iter::once(Marked::from(quantity.name)).chain(values));
            }
            sheet
        };
        self.description.groups.iter().map(of).collect()
    }

    fn rows(&self) -> Table {
        let names = ["group", "share", "quantity"].map(str::to_owned).into_iter();
        let shares = SHARES.map(|share| format!("p{}", share * 100.0));
        let mut rows = Table::of_data(names.chain(shares));
        for group in &self.description.groups {
            for quantity in &group.quantities {
                let of: [Cell<'_>; 3] =
                    [group.group.as_str().into(), group.share.into(), quantity.name.into()];
                rows.values(of.into_iter().chain(quantity.quantiles.iter().map(|q| (*q).into())));
            }
        }
        rows
    }
}
