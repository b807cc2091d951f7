//! Processes requests.

use crate::events::{Line, lines};
use crate::game::Game;
use crate::replay::replay;
use crate::signals::Signals;
use crate::step::Step;
use crate::{Error, facts};
use firstflight_lab::compare::{Comparison, Keep};
use firstflight_lab::report::{Level, Note, Report};
use firstflight_lab::request::{
    Answer, Asked, CompareRequest, Pairs, command_line, from_pairs, words,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;

/// Options of `compare` and their values: texts, numbers, `true` and `false`.
type Plan = Map<String, Value>;

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Request {
    /// Returns the output of `compare --json -`.
    Compare { plan: Plan },
    /// Returns the charts of one trial, if the plan does not set the number of trials: at most
    /// `points` points for each arm, and the internal signals of one arm.
    View { plan: Plan, points: usize, arm: usize },
    /// Returns table, finding and notes of as many trials as necessary, without a chart.
    Repeat { plan: Plan },
    /// Returns one ACK or timer of an arm of the last view: the last one up to `at_ms`, plus `by`.
    Step { arm: usize, at_ms: f64, by: i64 },
    /// Returns the output of `firstflight replay --json -` for the file.
    Replay { name: String, arms: Option<String> },
    /// Plays a game against every arm up to the present moment.
    Play(Game),
    /// Returns the available parts of arms, paths and options.
    Facts,
}

/// The answer to `View`.
#[derive(Debug, Serialize)]
struct View {
    /// The content of a report.
    report: Report,
    /// The events of each arm, with times and rules.
    events: Vec<Vec<Line>>,
    /// Internal signals of the requested arm.
    signals: Option<Signals>,
    /// Whether more trials would help: the plan is random, or its results may vary, and it does not
    /// set the number of trials.
    repeats: bool,
}

/// Processes requests one at a time, and keeps the events of the last view.
#[derive(Debug, Default)]
pub struct Engine {
    last: Option<Comparison>,
}

impl Engine {
    /// Processes a request. Request and answer are JSON; `docs/playground.md` of the repository
    /// lists them.
    ///
    /// # Errors
    /// A one-line message about the problem, the same as on the command line.
    pub fn call(&mut self, request: &str) -> Result<String, Error> {
        self.call_with(request, Vec::new())
    }

    /// Like [`Engine::call`], for a request about a file with these bytes.
    ///
    /// # Errors
    /// Errors of [`Engine::call`], and a one-line message about a problem with the file.
    pub fn call_with(&mut self, request: &str, file: Vec<u8>) -> Result<String, Error> {
        let request: Request = serde_json::from_str(request)
            .map_err(|error| Error::new(format!("no request: {error}")))?;
        match request {
            Request::Compare { plan } => Ok(run(&asked(&plan)?, Keep::Rows)?.to_json()),
            Request::Repeat { plan } => repeated(&plan),
            Request::View { plan, points, arm } => self.view(&plan, points, arm),
            Request::Step { arm, at_ms, by } => self.step(arm, at_ms, by),
            Request::Replay { name, arms } => replay(&name, file, arms.as_deref()),
            Request::Play(game) => text(&game.play()?),
            Request::Facts => text(&facts::facts()),
        }
    }

    fn view(&mut self, plan: &Plan, points: usize, arm: usize) -> Result<String, Error> {
        self.last = None;
        let words = words::<CompareRequest>(&pairs(plan)?)?;
        let command = command_line(std::iter::once("compare".to_owned()).chain(words));
        let mut asked = asked(plan)?;
        let repeats = asked.once();
        let comparison = match run(&asked, Keep::Signals)? {
            Answer::Alone(comparison) => comparison,
            together @ Answer::Together(_) => {
                return text(&View {
                    report: of_several(&together, plan, &command)?,
                    events: Vec::new(),
                    signals: None,
                    repeats,
                });
            }
        };
        let view = View {
            report: comparison.report(&command).within(points),
            events: (0..comparison.records.len()).map(|arm| lines(&comparison, arm)).collect(),
            signals: Signals::of(&comparison, arm, points),
            repeats,
        };
        self.last = Some(comparison);
        text(&view)
    }

    fn step(&self, arm: usize, at_ms: f64, by: i64) -> Result<String, Error> {
        let step = self.last.as_ref().and_then(|last| Step::of(last, arm, at_ms, by));
        text(&step.ok_or_else(|| Error::new("there is no ACK to show"))?)
    }
}

/// Trials of several flows have rows but no charts.
fn of_several(answer: &Answer, plan: &Plan, command: &str) -> Result<Report, Error> {
    let mut none = asked(plan)?.plan().clone();
    none.arms.clear();
    let empty = Comparison {
        plan: none,
        rows: Vec::new(),
        records: Vec::new(),
        warnings: Vec::new(),
        stopped: None,
    };
    let warnings = answer.warnings().into_iter().map(|text| Note { level: Level::Warning, text });
    Ok(Report {
        table: answer.table(),
        notes: warnings.collect(),
        finding: answer.finding(),
        repeat: answer.trials(),
        ..empty.report(command)
    })
}

fn text(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::new(error.to_string()))
}

/// The options as typed on a command line.
fn pairs(plan: &Plan) -> Result<Pairs, Error> {
    let mut pairs = Vec::with_capacity(plan.len());
    for (name, value) in plan {
        let word = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(true) => "true".to_owned(),
            Value::Bool(false) | Value::Null => continue,
            Value::Array(_) | Value::Object(_) => {
                return Err(Error::new(format!("--{name}: takes one text or number")));
            }
        };
        pairs.push((name.clone(), word));
    }
    Ok(pairs)
}

fn asked(plan: &Plan) -> Result<Asked, Error> {
    from_pairs::<CompareRequest>(&pairs(plan)?)?.asked()
}

fn run(asked: &Asked, keep: Keep) -> Result<Answer, Error> {
    asked.run(keep, &|| (), &AtomicBool::new(false))
}

/// The report of all trials, without time series.
fn repeated(plan: &Plan) -> Result<String, Error> {
    match run(&asked(plan)?, Keep::Rows)? {
        Answer::Alone(comparison) => text(&comparison.report("")),
        together @ Answer::Together(_) => text(&of_several(&together, plan, "")?),
    }
}
