//! The battery: its files, its version, its hash.

use crate::metrics::metric_named;
use crate::schema::{Criterion, Grids, Judge, Rule, Scenario, check_sweep, parse};
use firstflight_lab::nearest;
use firstflight_path::Error;
use firstflight_path::input::{MOST_TEXT, read_text};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::Path;
use toml::Table;

/// Names and texts of the built-in files, in the order of the report.
macro_rules! files {
    ($($name:literal),+ $(,)?) => { [$(($name, include_str!(concat!("../rfc9743/", $name)))),+] };
}

const FILES: &[(&str, &str)] = &files![
    "5.1.1-collapse.toml",
    "5.1.2-bufferbloat.toml",
    "5.1.3-loss.toml",
    "5.1.4-own-fairness.toml",
    "5.1.5-short-flows.toml",
    "5.2-harm.toml",
    "5.2.1-standards.toml",
    "5.2.2-real-time.toml",
    "5.3.1-deviations.toml",
    "5.3.2-deployment.toml",
    "6.1-tail-drop.toml",
    "6.2-tunnels.toml",
    "6.3-wired.toml",
    "6.4-wireless.toml",
    "7.1-aqm.toml",
    "7.2-circuit-breaker.toml",
    "7.3-varying-delay.toml",
    "7.4-iot.toml",
    "7.5-high-delay.toml",
    "7.6-misbehaving.toml",
    "7.7-reordering.toml",
    "7.8-transient.toml",
    "7.9-path-change.toml",
    "7.10-multipath.toml",
    "7.11-data-centre.toml",
];
const GRIDS: &str = "grids.toml";
const VERSION: &str = "VERSION";

/// The criteria, with their scenarios and rules.
#[derive(Clone, Debug)]
pub struct Battery {
    /// Version, for citations.
    pub version: String,
    /// SHA-256 over the names and contents of its files, hexadecimal.
    pub sha256: String,
    /// In the order of the RFC.
    pub criteria: Vec<Criterion>,
    pub(crate) grids: Grids,
}

impl Battery {
    /// The built-in battery.
    ///
    /// # Errors
    /// Never; a test parses the battery.
    pub fn builtin() -> Result<Battery, Error> {
        let files: Vec<(String, String)> =
            FILES.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Battery::of(
            include_str!("../rfc9743/VERSION"),
            include_str!("../rfc9743/grids.toml"),
            &files,
        )
    }

    /// Reads a battery from a directory: criterion files ending in `.toml`, `grids.toml` and `VERSION`.
    ///
    /// # Errors
    /// One line that names the file and line of the mistake.
    pub fn read(folder: &Path) -> Result<Battery, Error> {
        let failed = |path: &Path, error: &dyn std::fmt::Display| {
            Error::new(format!("{}: {error}", path.display()))
        };
        let read = |name: &str| {
            let path = folder.join(name);
            read_text(&path, MOST_TEXT).map_err(|error| failed(&path, &error))
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|error| failed(folder, &error))? {
            let entry = entry.map_err(|error| failed(folder, &error))?;
            names.extend(entry.file_name().into_string());
        }
        names.retain(|name| Path::new(name).extension().is_some_and(|end| end == "toml"));
        names.retain(|name| name != GRIDS);
        names.sort_by_key(|name| section_key(name));
        let files: Result<Vec<_>, Error> =
            names.into_iter().map(|name| Ok((name.clone(), read(&name)?))).collect();
        Battery::of(&read(VERSION)?, &read(GRIDS)?, &files?)
    }

    fn of(version: &str, grids: &str, files: &[(String, String)]) -> Result<Battery, Error> {
        let mut hash = Sha256::new();
        let named = [(VERSION, version), (GRIDS, grids)].into_iter();
        let all = named.chain(files.iter().map(|(name, text)| (name.as_str(), text.as_str())));
        for (name, text) in all {
            for part in [name, text] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
        let digest = hash.finalize();
        let mut sha256 = String::new();
        for byte in digest {
            let _ = write!(sha256, "{byte:02x}");
        }
        let grids: Grids = parse(GRIDS, grids)?;
        let criteria = files
            .iter()
            .map(|(name, text)| {
                let criterion: Criterion = parse(name, text)?;
                check(&criterion, &grids).map_err(|bad| Error::new(format!("{name}: {bad}")))?;
                Ok(criterion)
            })
            .collect::<Result<Vec<_>, Error>>()?;
        if criteria.is_empty() {
            return Err(Error::new("the battery has no criterion"));
        }
        Ok(Battery { version: version.trim().to_owned(), sha256, criteria, grids })
    }

    /// Indices of the criteria that these words name: a section, or a prefix for all its subsections (`5.1`, `7`).
    ///
    /// # Errors
    /// One line if a word matches no criterion.
    pub fn select(&self, words: &[String]) -> Result<Vec<usize>, Error> {
        let mut chosen = Vec::new();
        for word in words {
            let of = |criterion: &Criterion| {
                criterion.criterion.split(", ").any(|section| {
                    let part = section.strip_prefix(word.as_str());
                    part.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                })
            };
            let found: Vec<usize> =
                (0..self.criteria.len()).filter(|index| of(&self.criteria[*index])).collect();
            if found.is_empty() {
                let known = || self.criteria.iter().map(|criterion| criterion.criterion.as_str());
                let meant = nearest(word, known())
                    .map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
                let all = known().collect::<Vec<_>>().join(", ");
                return Err(Error::new(format!("no criterion `{word}`{meant}; allowed: {all}")));
            }
            chosen.extend(found);
        }
        if words.is_empty() {
            chosen.extend(0..self.criteria.len());
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }

    /// The cells of a grid.
    pub(crate) fn grid(&self, name: &str) -> &[Table] {
        self.grids.grid.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Sort key of `5.1.10-name.toml`: its numbers, then the name.
fn section_key(name: &str) -> (Vec<u32>, String) {
    let section = name.split('-').next().unwrap_or_default();
    (section.split('.').filter_map(|part| part.parse().ok()).collect(), name.to_owned())
}

/// Checks what types cannot express: names that must exist, and fields that a rule requires.
fn check(criterion: &Criterion, grids: &Grids) -> Result<(), Error> {
    let runs = !criterion.scenario.is_empty() || criterion.everywhere || criterion.covers.is_some();
    let says = criterion.not_run.is_some() || criterion.not_applicable.is_some();
    if !runs && !says && criterion.answer.is_none() {
        return Err(Error::new("nothing is run, and `not_run` does not say why"));
    }
    criterion.scenario.iter().try_for_each(|scenario| {
        check_scenario(scenario, grids)
            .map_err(|bad| Error::new(format!("scenario `{}`: {bad}", scenario.id)))
    })?;
    criterion.judge.iter().try_for_each(|judge| check_judge(judge, None))
}

fn check_scenario(scenario: &Scenario, grids: &Grids) -> Result<(), Error> {
    if scenario.seeds < 2 {
        return Err(Error::new("`seeds` must be at least 2: one run has no interval"));
    }
    if scenario.flow.is_empty() || scenario.judge.is_empty() {
        return Err(Error::new("at least one `flow` and one `judge` are required"));
    }
    if let Some(value) = check_sweep(&scenario.sweep).or(check_sweep(&scenario.quick)) {
        let kind = value.type_str();
        return Err(Error::new(format!("{kind} in a sweep; allowed: texts and numbers")));
    }
    if let Some(grid) = scenario.grid.as_ref().filter(|grid| !grids.grid.contains_key(*grid)) {
        let known: Vec<&str> = grids.grid.keys().map(String::as_str).collect();
        return Err(Error::new(format!("no grid `{grid}`; allowed: {}", known.join(", "))));
    }
    if let Some(name) =
        scenario.quick.keys().find(|name| **name != "cell" && !scenario.sweep.contains_key(*name))
    {
        return Err(Error::new(format!("quick.{name}: no such sweep")));
    }
    scenario.judge.iter().try_for_each(|judge| check_judge(judge, Some(scenario)))
}

fn check_judge(judge: &Judge, scenario: Option<&Scenario>) -> Result<(), Error> {
    let metric = metric_named(&judge.metric)?;
    let bad = |what: &str| Err(Error::new(format!("{} {what}", judge.metric)));
    let limited = matches!(judge.rule, Rule::Below | Rule::Above | Rule::NotMoreOftenThanBaseline);
    if limited && judge.limit.is_none() {
        return bad("has a rule with a limit, but no `limit`");
    }
    if judge.and_beyond && judge.limit.is_none() {
        return bad("counts only beyond a limit, but has no `limit`");
    }
    let Some(scenario) = scenario else { return Ok(()) };
    if metric.harm && scenario.solo.is_none() {
        return bad("is a harm and needs `solo`, the role that is also run alone");
    }
    if metric.event && scenario.event.is_none() {
        return bad("counts from an event, but the scenario has no `event`");
    }
    let has = |flow: &crate::schema::Flow| flow.role() == judge.of;
    if judge.of != "all" && !scenario.flow.iter().any(has) {
        return bad(&format!("is for role `{}`, which no flow has", judge.of));
    }
    Ok(())
}
