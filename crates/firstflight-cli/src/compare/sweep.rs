//! `firstflight compare --sweep`: the same comparison at every value of one key, or at every
//! combination of two.

use super::options::Options;
use crate::done::Done;
use crate::output::{Columns, Files, Output, fitted, names, produce};
use crate::progress::{Progress, Unit};
use crate::results::trials_in_words;
use crate::rows;
use crate::run::{command_line, on_threads};
use crate::stop::graceful;
use crate::terminal::{QUIET, TITLE, note, width, wrap};
use firstflight_lab::Error;
use firstflight_lab::sweep::{Axis, BYTES, Best, JUDGED, Judged, Sweep, SweepPlan, SweepRow};
use firstflight_lab::table::figure;
use firstflight_table::text::one_line;
use firstflight_table::{Kind, Marked, Table};
use std::fmt::Write as _;

pub(super) fn run(options: &Options) -> Result<Done, Error> {
    let plan = options.request.sweep_of(options.sweep.clone(), None)?;
    for (given, name) in [(options.trace.is_some(), "--trace"), (options.qlog.is_some(), "--qlog")]
    {
        if given {
            return Err(Error::new(format!(
                "{name}: follows one comparison; leave out --sweep, or run `compare` at one point"
            )));
        }
    }
    let none = Sweep { points: vec![None; plan.points.len()], plan: plan.clone() };
    let files =
        Files { json: options.json.as_ref(), others: &[("--report", options.report.as_deref())] };
    let columns = Columns::Known((names(&none.sheets()), rows_of(&none).names()));
    let run = || on_threads(options.threads, || run_with_progress(&plan));
    let page = |sweep: &Sweep, _: &str| Ok(sweep.page(&command_line()));
    let sweep = produce(&files, columns, run, page)?;
    for warning in sweep.warnings() {
        note(&warning);
    }
    let (through, points) = (sweep.through(), sweep.points.len());
    if through < points {
        return Ok(Done::Because(format!("stopped: {through} of {points} points")));
    }
    Ok(if sweep.complete() { Done::Well } else { Done::Short })
}

fn run_with_progress(plan: &SweepPlan) -> Result<Sweep, Error> {
    let progress = Progress::begin(
        "{bar:40} {pos}/{len} trials, {per_sec}, {eta} left",
        Unit::Count("trials"),
        Some(plan.trials()),
    );
    plan.run(&|| progress.inc(1), graceful("stopping with the results so far").flag())
}

/// The swept values, and the row of each arm at each point.
fn rows_of(sweep: &Sweep) -> Table {
    let keys = sweep.plan.axes.iter().map(|axis| axis.key.clone());
    let mut all = Table::of_data(keys.chain(rows::names_of(SweepRow::MEASURES)));
    for (swept, row) in sweep.rows() {
        let before: Vec<_> = swept.iter().map(|(key, value)| (*key, (*value).into())).collect();
        all.extend(&before, &rows::of(SweepRow::MEASURES, [&row]));
    }
    all
}

impl Output for Sweep {
    fn text(&self) -> String {
        let tables = match self.plan.axes.as_slice() {
            [axis] => {
                JUDGED.iter().flat_map(|judged| by_arm(self, axis, judged, width())).collect()
            }
            _ => JUDGED.iter().flat_map(|judged| map(self, judged, width())).collect::<Vec<_>>(),
        };
        format!(
            "{}\n{TITLE}{}{TITLE:#}\n{QUIET}{}{QUIET:#}\n\n{}{QUIET}{}{QUIET:#}\n",
            wrap(&self.finding(), 0, width()),
            title(&self.plan),
            wrap(&about(self), 0, width()),
            titled(&tables),
            wrap(&legend(self), 0, width()),
        )
    }

    /// The tables; the cells of a map contain the names of arms.
    fn sheets(&self) -> Vec<Table> {
        match self.plan.axes.as_slice() {
            [axis] => JUDGED.iter().flat_map(|judged| by_arm(self, axis, judged, None)).collect(),
            _ => JUDGED.iter().map(|judged| named_map(self, judged)).collect(),
        }
    }

    fn rows(&self) -> Table {
        rows_of(self)
    }

    fn json(&self) -> Result<String, Error> {
        Ok(self.to_json())
    }
}

/// The tables, with the title only above the first of each kind.
fn titled(tables: &[Table]) -> String {
    let (mut text, mut last) = (String::new(), "");
    for table in tables {
        if table.title != last {
            let _ = writeln!(text, "{TITLE}{}{TITLE:#}", table.title);
            last = &table.title;
        }
        text += &fitted(std::slice::from_ref(table));
    }
    text
}

/// The path and the swept ranges.
fn title(plan: &SweepPlan) -> String {
    let range = |axis: &Axis| match axis.values.as_slice() {
        [only] => format!("{} {only}", axis.key),
        [first, .., last] => format!("{} {first} to {last}", axis.key),
        [] => axis.key.clone(),
    };
    let ranges: Vec<String> = plan.axes.iter().map(range).collect();
    one_line(&format!("{}: {}", plan.base, ranges.join(", "))).into_owned()
}

fn about(sweep: &Sweep) -> String {
    let plan = &sweep.plan;
    let first = plan.points[0].resolved();
    let size = if plan.axes.iter().any(|axis| axis.key == BYTES) {
        String::new()
    } else {
        format!("{} at each of ", figure(first.bytes as f64, "bytes"))
    };
    let (least, most) = sweep.trials_of_each();
    let trials = if least == most {
        trials_in_words(first.seed, most)
    } else {
        format!("medians of {least} to {most} trials, seeds from {}", first.seed)
    };
    format!(
        "{size}{} points; {}, initial window {} packets, {}",
        plan.points.len(),
        first.transport,
        first.iw,
        trials
    )
}

/// Explains the marks.
fn legend(sweep: &Sweep) -> String {
    let repeated = sweep.trials_of_each().1 > 1;
    if sweep.plan.axes.len() == 1 {
        let near = if repeated { ", ≈ not distinguishable from the best" } else { "" };
        return format!("* best in its column{near}");
    }
    let key: Vec<String> =
        sweep.arms().enumerate().map(|(arm, name)| format!("{} {name}", letter(arm))).collect();
    let steps = |judged: &Judged| {
        let steps = SHADES[1..].iter().zip(judged.steps);
        let steps: Vec<String> = steps.map(|(shade, step)| format!("{shade} {step}")).collect();
        format!("{} in {}, {} and more", judged.label, judged.margin_unit, steps.join(", "))
    };
    let [time, loss] = JUDGED.each_ref().map(steps);
    format!(
        "{}. In a cell: the best arm and its margin over the best of the others ({time}; {loss}); \
         = all the same.{}",
        key.join(", "),
        not_judged(sweep)
    )
}

/// Names the reference arms, if any, which only bound the others.
fn not_judged(sweep: &Sweep) -> String {
    let arms = sweep.plan.points[0].arms.iter().filter(|arm| arm.is_reference());
    arms.map(|arm| format!(" {} is not judged.", arm.label)).collect::<Vec<_>>().concat()
}

/// From no margin to a very large one; readable without colour.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// The letter of an arm in a map: A, B, ..., then a, b, ...
fn letter(arm: usize) -> char {
    ('A'..='Z').chain('a'..='z').nth(arm).unwrap_or('?')
}

/// A table of arms by values; several tables if the values do not fit into one.
fn by_arm(sweep: &Sweep, axis: &Axis, judged: &Judged, width: Option<usize>) -> Vec<Table> {
    let arms: Vec<&str> = sweep.arms().collect();
    let best = sweep.best(judged);
    let cell = |arm: usize, point: usize| {
        let value = sweep.points[point].as_ref().and_then(|point| judged.value(point, arm));
        let Some(summary) = value else { return Marked::from("-") };
        let at = sweep.points[point].as_ref();
        let stopped = at.is_some_and(|at| at.trials(arm).iter().any(|trial| !trial.complete));
        let bound = if stopped && judged.unit == "ms" { ">= " } else { "" };
        let text = format!("{bound}{}", figure(summary.median, judged.unit));
        let best = best[point].as_ref().filter(|best| best.margin.is_some());
        let best = best.filter(|best| best.arms.contains(&arm));
        let several = at.is_some_and(|at| at.plan.repeat > 1);
        let alone = best.is_some_and(|best| !several || best.arms.len() == 1);
        Marked::from(text).bold(alone).near(best.is_some() && !alone)
    };
    let columns: Vec<Vec<Marked<'_>>> = (0..axis.values.len())
        .map(|point| (0..arms.len()).map(|arm| cell(arm, point)).collect())
        .collect();
    let names: Vec<String> = arms.iter().map(|arm| (*arm).to_owned()).collect();
    let title = format!("{} ({})", judged.label, judged.unit);
    let head = format!("arm / {}", axis.key);
    tables(&title, (&head, &names), (&axis.values, &columns), width)
        .into_iter()
        .map(Table::marked)
        .collect()
}

/// A map of the best arm at each point, with letters and shades.
fn map(sweep: &Sweep, judged: &Judged, width: Option<usize>) -> Vec<Table> {
    let cell = |best: &Option<Best>| {
        let Some(best) = best else { return Marked::from("-") };
        let Some(margin) = best.margin else { return Marked::from("=") };
        let mut who: String = best.arms.iter().take(MOST_LETTERS).map(|arm| letter(*arm)).collect();
        if best.arms.len() > MOST_LETTERS {
            who.push('+');
        }
        let digits = usize::from(margin < 9.95);
        Marked::from(format!("{who} {margin:.digits$} {}", SHADES[judged.level(margin)]))
    };
    grid_of(sweep, judged, width, cell)
}

/// Maximum number of letters of equal arms in a cell of a map.
const MOST_LETTERS: usize = 3;

/// The map with names instead of letters, for formats that have enough room.
fn named_map(sweep: &Sweep, judged: &Judged) -> Table {
    let arms: Vec<&str> = sweep.arms().collect();
    let cell = |best: &Option<Best>| {
        let Some(best) = best else { return Marked::from("-") };
        let Some(margin) = best.margin else { return Marked::from("all the same") };
        let who: Vec<&str> = best.arms.iter().map(|arm| arms[*arm]).collect();
        Marked::from(format!("{} {margin:.1} {}", who.join(", "), judged.margin_unit))
    };
    let mut sheets = grid_of(sweep, judged, None, cell);
    sheets.remove(0)
}

/// A grid with the values of the first key in rows and those of the second in columns.
fn grid_of(
    sweep: &Sweep,
    judged: &Judged,
    width: Option<usize>,
    cell: impl Fn(&Option<Best>) -> Marked<'static>,
) -> Vec<Table> {
    let best = sweep.best(judged);
    let [down, across] = [0, 1].map(|axis| &sweep.plan.axes[axis]);
    let count = across.values.len();
    let columns: Vec<Vec<Marked<'_>>> = (0..count)
        .map(|column| best.iter().skip(column).step_by(count).map(&cell).collect())
        .collect();
    let title = format!("{}: best arm", judged.label);
    let head = format!("{} / {}", down.key, across.key);
    tables(&title, (&head, &down.values), (&across.values, &columns), width)
}

/// A table of these columns; if they are wider than `width`, several tables with some of them each.
fn tables(
    title: &str,
    (head, names): (&str, &[String]),
    (values, columns): (&[String], &[Vec<Marked<'_>>]),
    width: Option<usize>,
) -> Vec<Table> {
    let length = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let widest = |texts: &mut dyn Iterator<Item = &str>| texts.map(length).max().unwrap_or(0);
    let first = widest(&mut std::iter::once(head).chain(names.iter().map(String::as_str)));
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (index, column) in columns.iter().enumerate() {
        let cells = column.iter().map(Marked::text);
        // A mark may follow the text.
        let need = widest(&mut std::iter::once(values[index].as_str()).chain(cells)) + 1 + BETWEEN;
        if let Some(part) = parts.last_mut().filter(|_| need <= room) {
            part.push(index);
        } else {
            room = width.unwrap_or(usize::MAX).saturating_sub(first + BETWEEN);
            parts.push(vec![index]);
        }
        room = room.saturating_sub(need);
    }
    let part = |part: Vec<usize>| {
        let headers = std::iter::once((head, Kind::Name))
            .chain(part.iter().map(|index| (values[*index].as_str(), Kind::Number)));
        let mut sheet = Table::new(title, headers);
        for (row, name) in names.iter().enumerate() {
            let cells = part.iter().map(|index| columns[*index][row].clone());
            sheet.row(std::iter::once(Marked::from(name.as_str())).chain(cells));
        }
        sheet
    };
    parts.into_iter().map(part).collect()
}

/// Spaces between two columns of a table.
const BETWEEN: usize = 3;
