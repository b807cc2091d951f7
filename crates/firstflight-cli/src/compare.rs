//! `firstflight compare`.

mod options;
mod sweep;

pub(crate) use options::Options;

use crate::done::Done;
use crate::engine;
use crate::output::{Columns, Files, Output, check_before, names, produce, produce_beside};
use crate::progress::{Progress, Unit};
use crate::results::{legend, sheet, shown, trials_in_words};
use crate::rows;
use crate::run::{command_line, on_threads};
use crate::sharing::{self, Each, Spooled, spooled};
use crate::stop::{Stop, graceful};
use crate::terminal::{note, whisper};
use crate::traces::Outputs;
use firstflight_lab::compare::{Keep, Takes, Watch};
use firstflight_lab::request::Asked;
use firstflight_lab::sharing::{Sharing, SharingPlan};
use firstflight_lab::table::{figure, table};
use firstflight_lab::{Comparison, Error, NamedArm, Plan, TrialRow};
use firstflight_table::text::one_line;
use firstflight_table::{Document, Table};
use firstflight_web::inside;
use std::path::PathBuf;

pub(crate) fn run(options: &Options) -> Result<Done, Error> {
    if !options.sweep.is_empty() {
        return sweep::run(options);
    }
    let asked = options.request.asked()?;
    let columns = Columns::Known(columns_of(&asked));
    let plan = match asked {
        Asked::Alone(plan) => plan,
        Asked::Together(plan) => return run_together(options, &plan, columns),
    };
    let trace =
        options.trace.as_deref().filter(|trace| !trace.is_dir() && trace.extension().is_some());
    let files =
        Files { json: options.json.as_ref(), others: &[("--report", options.report.as_deref())] };
    let run = || -> Result<Comparison, Error> {
        let outputs = Outputs::check(options.trace.as_deref(), options.qlog.as_deref(), &plan)?;
        let keep = if options.report.is_some() { Keep::Events } else { Keep::Rows };
        let comparison =
            on_threads(options.threads, || run_with_progress(&plan, keep, Some(&outputs)))?;
        outputs.finish()?;
        Ok(comparison)
    };
    let page = |comparison: &Comparison, _: &str| Ok(page(comparison, options.plain_report));
    let comparison = produce_beside(&[("--trace", trace)], &files, columns, run, page)?;
    for warning in &comparison.warnings {
        note(warning);
    }
    if let Some(stopped) = plan.cut_short(&comparison.plan, comparison.stopped) {
        return Ok(Done::Because(stopped));
    }
    Ok(if comparison.complete() { Done::Well } else { Done::Short })
}

/// The report; it includes the simulator if one is available that can compute it.
fn page(comparison: &Comparison, plain: bool) -> String {
    let module = if plain { None } else { engine::as_text() };
    let inside = module.and_then(|module| {
        let page = inside::page(comparison, &command_line(), &module);
        let page = page.map_err(|why| {
            note(&format!("the report has no sliders: {why}"));
        });
        page.ok()
    });
    inside.unwrap_or_else(|| comparison.report(&command_line()).to_html())
}

/// Runs several flows at a time.
fn run_together(options: &Options, plan: &SharingPlan, columns: Columns) -> Result<Done, Error> {
    for (given, name) in [
        (options.report.is_some(), "--report"),
        (options.trace.is_some(), "--trace"),
        (options.qlog.is_some(), "--qlog"),
    ] {
        if given {
            return Err(Error::new(format!(
                "{name}: shows one flow alone; leave out --flows, --apart, --cross and --app"
            )));
        }
    }
    let json = options.json.as_ref();
    let run = |each: &Each<'_>| on_threads(options.threads, || run_sharing(plan, each));
    let files = Files { json, others: &[] };
    let no_file = |_: &Spooled, _: &str| Ok(String::new());
    let shared = produce(&files, columns, || spooled(json, run), no_file)?.sharing;
    for warning in &shared.warnings {
        note(warning);
    }
    if let Some(stopped) = plan.plan.cut_short(&shared.plan.plan, shared.stopped) {
        return Ok(Done::Because(stopped));
    }
    Ok(shared.unfinished().map_or(Done::Well, Done::Because))
}

/// Shows a progress bar after a second, so that it does not flicker in a short run.
pub(crate) fn run_with_progress(
    plan: &Plan,
    keep: Keep,
    outputs: Option<&Outputs<'_>>,
) -> Result<Comparison, Error> {
    let progress = trials(plan);
    let outputs = outputs.filter(|outputs| outputs.any());
    let take = |arm, trace| outputs.map_or(Ok(()), |outputs| outputs.take(arm, trace));
    let tick = || progress.inc(1);
    // Trace files contain every arm, or are not written.
    let partly = outputs.is_none();
    let takes: Option<Takes<'_>> = if partly { None } else { Some(&take) };
    plan.run_with(keep, takes, &Watch { tick: &tick, stop: stops(plan).flag(), partly })
}

/// The progress of a plan. The total is unknown if the trials run in stages.
fn trials(plan: &Plan) -> Progress {
    if let Some(wait) = plan.least_wait() {
        whisper(&format!("firstflight: {wait}"));
    }
    let unit = Unit::Count("trials");
    if plan.stages.is_some() && plan.repeat > 1 {
        return Progress::begin("{spinner} {pos} trials, {per_sec}", unit, None);
    }
    let total = plan.arms.len() as u64 * u64::from(plan.repeat);
    Progress::begin("{bar:40} {pos}/{len} trials, {per_sec}, {eta} left", unit, Some(total))
}

/// On a signal, a comparison ends with the repeats that all arms have completed.
fn stops(plan: &Plan) -> Stop {
    graceful(if plan.testbed.info().in_real_time {
        "stopping after this trial"
    } else {
        "stopping after the running trials"
    })
}

/// Runs a comparison of several flows at a time, with a progress bar.
pub(crate) fn run_sharing(plan: &SharingPlan, each: &Each<'_>) -> Result<Sharing, Error> {
    let progress = trials(&plan.plan);
    let stop = stops(&plan.plan).flag();
    plan.run_with(&each, &Watch { tick: &|| progress.inc(1), stop, partly: true })
}

impl Output for Comparison {
    fn document(&self) -> Document {
        let title = title(self);
        let mut document = Document::default();
        document.paragraph(self.finding());
        document.heading(2, "", title.as_str());
        document.note([about(self)]);
        document.table(sheet(&title, &table(self)));
        document.note([legend(self.plan.repeat)]);
        document
    }

    fn rows(&self) -> Table {
        rows::of(TrialRow::MEASURES, &self.rows)
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}

/// Names of a comparison's columns, for people and in data.
fn columns(plan: &Plan) -> (Vec<String>, Vec<String>) {
    let none = Comparison {
        plan: Plan { arms: Vec::new(), ..plan.clone() },
        rows: Vec::new(),
        records: Vec::new(),
        warnings: Vec::new(),
        stopped: None,
    };
    (shown(plan, names(&[sheet("", &table(&none))])), none.rows().names())
}

/// Checks that the requested columns exist in the requested comparison.
pub(crate) fn check_columns(json: Option<&PathBuf>, asked: &Asked) -> Result<(), Error> {
    let (shown, raw) = columns_of(asked);
    check_before(json, &shown, &raw)
}

fn columns_of(asked: &Asked) -> (Vec<String>, Vec<String>) {
    match asked {
        Asked::Alone(plan) => columns(plan),
        Asked::Together(plan) => sharing::columns(plan),
    }
}

/// The path, by its name if it has one.
pub(crate) fn title(comparison: &Comparison) -> String {
    let plan = comparison.plan.resolved();
    let name = plan.path_name.filter(|name| *name != plan.path);
    let title = name.map_or_else(|| plan.path.clone(), |name| format!("{name}: {}", plan.path));
    one_line(&title).into_owned()
}

/// Object, queue and seeds.
fn about(comparison: &Comparison) -> String {
    let plan = comparison.plan.resolved();
    let queue = plan.queue_bytes.map_or("unlimited queue".into(), |bytes| {
        format!("queue {}", figure(bytes as f64, "bytes"))
    });
    let own_window = |arm: &NamedArm| arm.parts().is_some_and(|arm| arm.sender.iw.is_some());
    let default = if comparison.plan.arms.iter().any(own_window) { "default " } else { "" };
    format!(
        "{}, {queue}, BDP {}; {default}initial window {} packets, {}",
        figure(plan.bytes as f64, "bytes"),
        figure(plan.bdp_bytes as f64, "bytes"),
        plan.iw,
        trials_in_words(plan.seed, plan.repeat),
    )
}
