//! Reports that contain the simulator: sliders next to the printed result.

use crate::page::{ASK, ENGINE_SCRIPT, SLIDERS};
use firstflight_lab::report::html::{COMPARE, Inside, Page};
use firstflight_lab::{Comparison, Error, Hosts, Plan, Scenario, Sender, hosts_of_tcp};
use firstflight_replay::report;
use firstflight_replay::results::Results;
use serde_json::{Value, json};

/// Largest number of trials per arm that are repeated while a slider moves.
const MOST_REPEATS: u32 = 20;

/// The page of a comparison that contains the simulator. `command` is as in [`Comparison::report`],
/// `module` the engine as gzip in base64.
///
/// # Errors
/// The reason, if that simulator cannot compute the printed result: another testbed, a startup that
/// is not ours, hosts that no option names, or more than 20 trials of an arm.
pub fn page(comparison: &Comparison, command: &str, module: &str) -> Result<String, Error> {
    let plan = options(&comparison.plan)?.to_string();
    let report = comparison.report(command);
    let data =
        serde_json::to_string(&report.bounded()).map_err(|error| Error::new(error.to_string()))?;
    let own = Own {
        page: &COMPARE,
        above: "  <section aria-labelledby=\"results\">",
        body: include_str!("../page/inside.html"),
        scripts: &[SLIDERS, include_str!("../page/inside.js")],
    };
    Ok(own.fill(&report.title, &report.version, &data, &Inside { module, plan: &plan }))
}

/// The page of a replay that contains the replay engine: a reader chooses the file and names other
/// algorithms. The recording itself is not included, because it contains the recorded addresses.
/// `command` and `module` are as in [`page`].
pub fn replay_page(results: &Results, command: &str, module: &str) -> String {
    let data = report::data(results, command);
    let own = Own {
        page: &report::PAGE,
        above: "  <section id=\"connections\"",
        body: include_str!("../page/inside_replay.html"),
        scripts: &[include_str!("../page/inside_replay.js")],
    };
    let plan = json!({"arms": results.arms.join(",")}).to_string();
    own.fill(&data.title, &data.version, &data.to_json(), &Inside { module, plan: &plan })
}

/// The additional parts of a page with the simulator.
struct Own<'a> {
    page: &'a Page<'a>,
    /// The part of the page before which its controls are inserted.
    above: &'a str,
    body: &'a str,
    scripts: &'a [&'a str],
}

impl Own<'_> {
    fn fill(&self, title: &str, version: &str, data: &str, inside: &Inside<'_>) -> String {
        let body = self.page.body.replacen(self.above, &[self.body, self.above].concat(), 1);
        debug_assert!(body.len() > self.page.body.len(), "{} is not on the page", self.above);
        // As a string in the worker's script, which cannot end the HTML element.
        let engine = ENGINE_SCRIPT.replace("export class", "class");
        let engine = Value::String(engine).to_string().replace('<', "\\u003c");
        let engine = format!("const ENGINE_SCRIPT = {engine};");
        let worker = include_str!("../page/inside_worker.js");
        let scripts = [self.page.scripts, &[&engine, ASK, worker], self.scripts].concat();
        let styles = [self.page.styles, &[include_str!("../page/inside.css")]].concat();
        let page = Page { body: &body, styles: &styles, scripts: &scripts, ..*self.page };
        page.fill_with(title, version, data, Some(inside))
    }
}

const UNNAMED: &str = "its hosts have settings that no option names";

/// The options of `compare` that produce this plan, or why there are none.
fn options(plan: &Plan) -> Result<Value, Error> {
    let scenario = &plan.scenario;
    let plain = Scenario::new(scenario.path.clone(), scenario.bytes);
    let ours = plan.arms.iter().all(|arm| matches!(arm.sender, Sender::Arm(_)));
    let named = (scenario.burst, scenario.path_index) == (plain.burst, plain.path_index)
        && scenario.limit.0.is_multiple_of(1_000);
    if plan.testbed.info().name != "sim" {
        return Err(Error::new(format!("the trials ran on {}", plan.testbed.info().name)));
    }
    if !ours {
        return Err(Error::new("an arm's startup is not one of firstflight's"));
    }
    if plan.repeat > MOST_REPEATS {
        return Err(Error::new(format!(
            "{} trials of each arm take too long while a slider moves; `--repeat {MOST_REPEATS}` is the most",
            plan.repeat
        )));
    }
    if !named {
        return Err(Error::new(UNNAMED));
    }
    let labels: Vec<&str> = plan.arms.iter().map(|arm| arm.label.as_str()).collect();
    let mut options = json!({
        "path": scenario.path.to_string(),
        "bytes": format!("{}B", scenario.bytes),
        "arms": labels.join(","),
        "seed": plan.seed,
        "repeat": plan.repeat,
        "iw": scenario.iw,
        "limit": format!("{}us", scenario.limit.0 / 1_000),
    });
    if let Some(resume) = &plan.resume {
        options["resume"] = resume.text().into();
    }
    match scenario.host {
        Hosts::Quic(_) if scenario.host == plain.host => {}
        Hosts::Tcp(_) if hosts_of_tcp(scenario.host.detection()) == Ok(scenario.host) => {
            options["transport"] = "tcp".into();
            options["detection"] = scenario.host.detection().into();
        }
        _ => return Err(Error::new(UNNAMED)),
    }
    Ok(options)
}
