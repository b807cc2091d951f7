//! Pages of results that were kept as JSON, without running anything again.

use super::{ab, sweep};
use crate::arms::{NamedArm, parse_arms};
use crate::compare::{Comparison, Plan};
use crate::repeat::Stopped;
use crate::scenario::{Scenario, hosts_of_tcp};
use crate::testbed::Testbeds;
use crate::trial::TrialRow;
use firstflight::Nanos;
use firstflight_path::{Error, Path};
use serde::Deserialize;
use serde_json::{Value, json};

const ALLOWED: &str = "allowed: what compare, ab, advise, tune and trial analyse write with --json";

/// The page of a result that `--json` wrote; `name` is that of its file, `command` the command line
/// that makes the page. A result of `compare` holds no events, so its page has no charts over time.
///
/// The text lives as long as the program, because the rows of a comparison borrow their names.
///
/// # Errors
/// A one-line message if the text is no result, or if it names an arm, a path or a testbed that is
/// not known here.
pub fn kept(name: &str, text: &'static str, command: &str) -> Result<String, Error> {
    let failed = |what: &str| Error::new(format!("{name}: {what}"));
    let all: Value = serde_json::from_str(text)
        .map_err(|error| failed(&format!("is not JSON ({error}); {ALLOWED}")))?;
    let has = |keys: &[&str]| keys.iter().all(|key| !all[*key].is_null());
    let whole = |page: Result<String, serde_json::Error>| {
        page.map_err(|error| failed(&format!("is not a whole result ({error})")))
    };
    if has(&["advice", "replay", "ab"]) {
        return whole(ab::advice_page(&all["ab"], &all["advice"], &evidence(&all), command));
    }
    if has(&["decision", "percentiles"]) {
        return whole(ab::page(&all, command));
    }
    #[cfg(feature = "tune")]
    if has(&["tuned", "candidates"]) {
        return whole(super::tune::page(&all, command));
    }
    if has(&["sweep", "best"]) {
        return whole(sweep::page(&all, command));
    }
    #[cfg(feature = "field")]
    if has(&["arms", "quantiles", "totals"]) {
        let answer = <crate::field::Answer as Deserialize>::deserialize(&all);
        return whole(answer.map(|answer| answer.page(command)));
    }
    if all["results"][0]["flows"].is_array() {
        return Err(failed("is a comparison of several flows, for which there is no page"));
    }
    if has(&["summary", "results"]) {
        let kept: Kept = serde_json::from_str(text)
            .map_err(|error| failed(&format!("is not a whole result ({error})")))?;
        return kept.comparison(name).map(|comparison| comparison.report(command).to_html());
    }
    Err(failed(&format!("is not a result; {ALLOWED}")))
}

/// The inputs of advice, from its parts as in `--json`.
fn evidence(all: &Value) -> Value {
    let path = |of: &Value| {
        let findings: Vec<&Value> = list(&of["findings"]).map(|finding| &finding["text"]).collect();
        let exits: Vec<Value> = list(&of["startups"])
            .map(|row| json!([row["arm"], row["verdict"], row["bdp_ratio"]]))
            .collect();
        json!({
            "name": of["name"],
            "origin": of["origin"],
            "transport": of["transport"],
            "bytes": of["bytes"],
            "rtt_ms": of["min_rtt_ms"],
            "rate_mbps": of["best_rate_wire_mbps"],
            "rate_is_lower_bound": of["rate_is_lower_bound"],
            "buffer_ms": of["buffer_ms"],
            "loss_pct": of["loss_ratio"].as_f64().map(|loss| loss * 100.0),
            "findings": findings,
            "exits": exits,
        })
    };
    json!({
        "files": list(&all["replay"]["files"]).collect::<Vec<_>>(),
        "paths": list(&all["replay"]["connections"]).map(path).collect::<Vec<_>>(),
        "assumed": all["assumed"],
        "left_out": all["left_out"],
        "doubts": all["doubts"],
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A comparison as in `--json`.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct Kept {
    experiment: Experiment,
    warnings: Vec<String>,
    results: Vec<TrialRow>,
}

#[derive(Deserialize)]
struct Experiment {
    testbed: String,
    transport: String,
    detection: String,
    path: String,
    path_name: Option<String>,
    bytes: u64,
    seed: u64,
    repeat: u32,
    stopped: Option<Stopped>,
    iw: u32,
    burst: u32,
    limit_s: f64,
}

impl Kept {
    fn comparison(self, name: &str) -> Result<Comparison, Error> {
        let Experiment { testbed, transport, detection, path, path_name, .. } = &self.experiment;
        let failed = |what: String| Error::new(format!("{name}: {what}"));
        let repeat = self.experiment.repeat.max(1) as usize;
        if self.results.is_empty() || !self.results.len().is_multiple_of(repeat) {
            let trials = self.results.len();
            return Err(failed(format!("has {trials} trials, {repeat} of each arm are missing")));
        }
        let arms = self.results.iter().step_by(repeat).map(arm).collect::<Result<Vec<_>, Error>>();
        let arms = arms.map_err(|error| failed(error.to_string()))?;
        // A built-in path has a source, which the page names.
        let named = path_name.as_deref().map(Path::parse).and_then(Result::ok);
        let path = match named.filter(|named| named.to_string() == *path) {
            Some(named) => named,
            None => Path::parse(path)?,
        };
        let plain = Scenario::new(path, self.experiment.bytes);
        let scenario = Scenario {
            iw: self.experiment.iw,
            burst: self.experiment.burst,
            limit: Nanos((self.experiment.limit_s * 1e9) as u64),
            host: if transport == "tcp" { hosts_of_tcp(detection)? } else { plain.host },
            ..plain
        };
        let plan = Plan {
            testbed: Testbeds::default().find(testbed)?,
            seed: self.experiment.seed,
            repeat: self.experiment.repeat.max(1),
            ..Plan::new(arms, scenario)
        };
        let stopped = self.experiment.stopped;
        Ok(Comparison {
            plan,
            rows: self.results,
            records: Vec::new(),
            warnings: self.warnings,
            stopped,
        })
    }
}

/// The arm of a row; if its label is not a name here, the arm in full under that label.
fn arm(row: &TrialRow) -> Result<NamedArm, Error> {
    let parse = |text: &str| -> Result<NamedArm, Error> {
        let arms = parse_arms(text)?;
        arms.into_iter().next().ok_or_else(|| Error::new(format!("`{text}` is not an arm")))
    };
    parse(&row.arm)
        .or_else(|_| parse(&row.arm_full))
        .map(|arm| NamedArm { label: row.arm.clone(), ..arm })
}
