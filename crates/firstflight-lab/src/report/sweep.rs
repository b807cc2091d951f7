//! The page of a sweep: which arm is best where, and the results of every arm.

use super::html::SWEEP;
use super::looks;
use crate::sweep::{JUDGED, Judged, Sweep, swept};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Data of the page in addition to the sweep.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    arms: Vec<Arm<'a>>,
    swept: &'a [Axis],
    judged: Vec<Measure<'a>>,
    sweep: &'a Value,
}

#[derive(Serialize)]
struct Arm<'a> {
    arm: &'a str,
    look: usize,
}

#[derive(Deserialize, Serialize)]
struct Axis {
    key: String,
    values: Vec<String>,
}

/// A measure that determines the best arm, with the best arm at each point.
#[derive(Serialize)]
struct Measure<'a> {
    key: &'a str,
    label: &'a str,
    margin_unit: &'a str,
    steps: [f64; 4],
    points: Vec<Option<Best>>,
}

#[derive(Serialize)]
struct Best {
    arms: Vec<usize>,
    margin: Option<f64>,
    level: usize,
}

/// The parts of a sweep from which the page is computed.
#[derive(Deserialize)]
struct Head {
    firstflight: String,
    experiment: Experiment,
    sweep: Vec<Axis>,
    best: Vec<BestRow>,
    results: Vec<ResultRow>,
}

#[derive(Deserialize)]
struct Experiment {
    base_path: String,
}

#[derive(Deserialize)]
struct ResultRow {
    arm: String,
}

/// The best arms at a point, which the other fields name.
#[derive(Deserialize)]
struct BestRow {
    measure: String,
    arms: Vec<String>,
    margin: Option<f64>,
    #[serde(flatten)]
    swept: serde_json::Map<String, Value>,
}

impl Sweep {
    /// The page; `command` is the command line that reproduces it.
    ///
    /// # Panics
    /// Never: a sweep has all that the page shows.
    pub fn page(&self, command: &str) -> String {
        page(&self.to_value(), command).expect("a sweep is complete")
    }
}

/// The page of a sweep as in `--json`.
pub(super) fn page(sweep: &Value, command: &str) -> Result<String, serde_json::Error> {
    let head = Head::deserialize(sweep)?;
    let keys: Vec<&str> = head.sweep.iter().map(|axis| axis.key.as_str()).collect();
    let title = format!("{} over {}", head.experiment.base_path, keys.join(" and "));
    let mut arms: Vec<&str> = Vec::new();
    for row in &head.results {
        if !arms.contains(&row.arm.as_str()) {
            arms.push(&row.arm);
        }
    }
    let looks = looks(arms.iter().copied());
    let data = Data {
        command,
        version: format!("firstflight {}", head.firstflight),
        judged: JUDGED.iter().map(|judged| measure(&head, &arms, judged)).collect(),
        arms: arms.into_iter().zip(looks).map(|(arm, look)| Arm { arm, look }).collect(),
        swept: &head.sweep,
        sweep,
    };
    Ok(SWEEP.fill(&title, &data.version, &serde_json::to_string(&data)?))
}

fn measure<'a>(head: &Head, arms: &[&str], judged: &Judged) -> Measure<'a> {
    let rows: Vec<&BestRow> = head.best.iter().filter(|row| row.measure == judged.key).collect();
    let axes: Vec<(&str, &[String])> =
        head.sweep.iter().map(|axis| (axis.key.as_str(), axis.values.as_slice())).collect();
    let count: usize = axes.iter().map(|(_, values)| values.len()).product();
    let points = (0..count).map(|point| {
        let here = swept(&axes, point);
        let row = rows.iter().find(|row| {
            here.iter().all(|(key, value)| row.swept.get(*key) == Some(&Value::from(*value)))
        })?;
        Some(Best {
            level: row.margin.map_or(0, |margin| judged.level(margin)),
            arms: row
                .arms
                .iter()
                .filter_map(|arm| arms.iter().position(|one| one == arm))
                .collect(),
            margin: row.margin,
        })
    });
    Measure {
        key: judged.key,
        label: judged.label,
        margin_unit: judged.margin_unit,
        steps: judged.steps,
        points: points.collect(),
    }
}
