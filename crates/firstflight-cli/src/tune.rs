//! `firstflight tune`.

use crate::done::Done;
use crate::fit;
use crate::output::{Columns, Files, Output, produce};
use crate::progress::{Progress, Unit};
use crate::run::{command_line, on_threads, threads};
use crate::terminal::{QUIET, TITLE, width, wrap};
use clap::Args;
use firstflight_lab::Error;
use firstflight_lab::request::{TuneRequest, Typed};
use firstflight_lab::tune::{Tuned, Watcher};
use firstflight_table::text::rounded;
use firstflight_table::{Marked, Table};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Options of `tune`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Arm with ranges: `hystart++(low=*,divisor=2..8)@(iw=10..60)`; without any range, every option of its parts
    #[arg(value_name = "ARM")]
    arm: String,
    #[command(flatten)]
    request: Typed<TuneRequest>,
    /// Write the results as JSON to a file, `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report, one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Number of worker threads; results do not depend on it
    #[arg(long, value_parser = threads, allow_negative_numbers = true)]
    threads: Option<u16>,
}

/// The first signal ends the program: a search has no result before its end.
static NEVER: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    let Typed { request, pairs } = &options.request;
    let tune = request.tune(&options.arm, pairs, None)?;
    let others = [("--report", options.report.as_deref())];
    let files = Files { json: options.json.as_ref(), others: &others };
    let columns = Columns::Known((
        Table::of_numbers("", COLUMNS, 1).names(),
        Table::of_data(DATA.iter().copied()).names(),
    ));
    let work = || {
        let style = "{bar:40} {human_pos}/{human_len} trials, {per_sec}, {eta} left";
        let progress = Progress::begin(style, Unit::Count("trials"), Some(tune.trials()));
        let tick = |done| progress.inc(done);
        on_threads(options.threads, || tune.run(Watcher { tick: &tick, stop: &NEVER }))
    };
    produce(&files, columns, work, |tuned, _| Ok(tuned.page(&command_line())))?;
    Ok(Done::Well)
}

/// Columns of the table of parameters.
const COLUMNS: &[&str] = &["parameter", "range", "default", "tuned", "put back\n%", "95 %"];

/// Columns of the data: one row per parameter and value of its profile.
const DATA: &[&str] = &[
    "parameter",
    "default",
    "tuned",
    "flat",
    "value",
    "gain_pct",
    "time_pct",
    "loss_points",
    "within_limits",
];

/// A number with a sign, without -0.
fn signed(value: f64, digits: usize) -> String {
    let value = rounded(value, digits);
    if value == 0.0 { format!("{value:.digits$}") } else { format!("{value:+.digits$}") }
}

fn parameters(tuned: &Tuned) -> Table {
    let mut sheet = Table::of_numbers("parameters", COLUMNS, 1).dropping(&["range", "95 %"]);
    for of in &tuned.parameters {
        let or = |text: Option<String>| {
            text.unwrap_or_else(|| if of.flat { "flat".to_owned() } else { "-".to_owned() })
        };
        sheet.row([
            Marked::from(of.name.clone()),
            Marked::from(format!("{}..{}", of.low, of.high)),
            Marked::from(of.default.clone()),
            Marked::from(of.tuned.clone()).bold(of.changed),
            Marked::from(or(of.put_back.map(|back| signed(back.value, 1)))),
            Marked::from(of.put_back.map_or_else(
                || "-".to_owned(),
                |back| format!("{}..{}", signed(back.low, 1), signed(back.high, 1)),
            )),
        ]);
    }
    sheet
}

fn front(tuned: &Tuned) -> Table {
    let mut sheet =
        Table::of_numbers("time against loss", &["arm", "faster\n%", "loss\npoints"], 1);
    for of in &tuned.front {
        sheet.row([
            Marked::from(of.arm.clone()),
            Marked::from(format!("{:.1}", of.time_pct)),
            Marked::from(signed(of.loss_points, 2)),
        ]);
    }
    sheet
}

/// `training 6.1, validation 5.6, hold-out 5.5 (5.1 to 5.9) % of time`.
fn gains(tuned: &Tuned) -> Option<String> {
    let gain = &tuned.gain;
    gain.arm.as_ref()?;
    let mut parts = Vec::new();
    for (name, value) in [("training", gain.training), ("validation", gain.validation)] {
        parts.extend(value.map(|value| format!("{name} {value:.1}")));
    }
    parts.extend(gain.holdout.map(|of| {
        format!("hold-out {:.1} ({:.1} to {:.1})", of.value + 0.0, of.low + 0.0, of.high + 0.0)
    }));
    Some(format!("Gain: {} {}", parts.join(", "), tuned.unit()))
}

impl Output for Tuned {
    fn text(&self) -> String {
        let experiment = &self.experiment;
        let line = |text: &str| wrap(text, 0, width()) + "\n";
        let mut text = format!("{TITLE}{}{TITLE:#}\n", wrap(&self.sentence, 0, width()));
        let about = format!(
            "{} on {}: {} candidates, {} connections, seed {}",
            experiment.arm,
            experiment.population,
            self.candidates,
            experiment.flows,
            experiment.seed
        );
        let _ = writeln!(text, "{TITLE}{}{TITLE:#}", wrap(&about, 0, width()));
        text += &fit::fitted(&parameters(self));
        text += "\n";
        let flat = self.flat();
        if !flat.is_empty() {
            text += &line(&format!("Flat, no value makes a difference: {}", flat.join(", ")));
        }
        text += &gains(self).map_or(String::new(), |gains| line(&gains));
        if self.tuned != self.default {
            // Long arms stay whole, to be pasted.
            let _ = writeln!(text, "Arm: {}", self.tuned);
        }
        if let Some(command) = &self.judge_command {
            let _ = writeln!(text, "Judge again: {command}");
        }
        if fit::asked().wide {
            let sheet = front(self);
            let _ = writeln!(text, "\n{TITLE}{}{TITLE:#}\n{}", sheet.title, fit::fitted(&sheet));
            let quiet = |line: &str| format!("{QUIET}{}{QUIET:#}\n", wrap(line, 0, width()));
            text += &quiet(
                "put back: change if this parameter alone returns to its default, on the validation connections",
            );
            if !self.left_out.is_empty() {
                text += &quiet(&format!("not tuned, no range: {}", self.left_out.join(", ")));
            }
        }
        text
    }

    fn sheets(&self) -> Vec<Table> {
        vec![parameters(self), front(self)]
    }

    fn rows(&self) -> Table {
        use firstflight_table::Cell;
        let mut table = Table::of_data(DATA.iter().copied());
        for of in &self.parameters {
            for point in &of.profile {
                table.values([
                    Cell::Text(of.name.as_str().into()),
                    Cell::Text(of.default.as_str().into()),
                    Cell::Text(of.tuned.as_str().into()),
                    Cell::Flag(of.flat),
                    Cell::Text(point.value.as_str().into()),
                    Cell::Real(point.gain),
                    Cell::Real(point.time_pct),
                    Cell::Real(point.loss_points),
                    Cell::Flag(point.within_limits),
                ]);
            }
        }
        table
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}
