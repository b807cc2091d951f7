//! The page of a sweep: which arm is best where, and the results of every arm.

use super::html::SWEEP;
use super::looks;
use crate::sweep::{JUDGED, Judged, Sweep};
use serde::Serialize;

/// Data of the page in addition to the sweep.
#[derive(Serialize)]
struct Data<'a> {
    command: &'a str,
    version: String,
    arms: Vec<Arm<'a>>,
    swept: Vec<Axis<'a>>,
    judged: Vec<Measure<'a>>,
    sweep: serde_json::Value,
}

#[derive(Serialize)]
struct Arm<'a> {
    arm: &'a str,
    look: usize,
}

#[derive(Serialize)]
struct Axis<'a> {
    key: &'a str,
    values: &'a [String],
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

impl Sweep {
    /// The page; `command` is the command line that reproduces it.
    pub fn page(&self, command: &str) -> String {
        let keys: Vec<&str> = self.plan.axes.iter().map(|axis| axis.key.as_str()).collect();
        let title = format!("{} over {}", self.plan.base, keys.join(" and "));
        let arms: Vec<&str> = self.arms().collect();
        let looks = looks(arms.iter().copied());
        let data = Data {
            command,
            version: format!("firstflight {}", env!("CARGO_PKG_VERSION")),
            arms: arms.into_iter().zip(looks).map(|(arm, look)| Arm { arm, look }).collect(),
            swept: self
                .plan
                .axes
                .iter()
                .map(|axis| Axis { key: &axis.key, values: &axis.values })
                .collect(),
            judged: JUDGED.iter().map(|judged| self.measure(judged)).collect(),
            // JSON that was just written can be read.
            sweep: serde_json::from_str(&self.to_json()).unwrap_or_default(),
        };
        SWEEP.fill(&title, &data.version, &serde_json::to_string(&data).unwrap_or_default())
    }

    fn measure<'a>(&self, judged: &Judged) -> Measure<'a> {
        let point = |best: Option<crate::sweep::Best>| {
            best.map(|best| Best {
                level: best.margin.map_or(0, |margin| judged.level(margin)),
                arms: best.arms,
                margin: best.margin,
            })
        };
        Measure {
            key: judged.key,
            label: judged.label,
            margin_unit: judged.margin_unit,
            steps: judged.steps,
            points: self.best(judged).into_iter().map(point).collect(),
        }
    }
}
