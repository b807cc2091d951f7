//! Reads populations: names, options in parentheses, TOML, and both kinds of CSV.

use super::distribution::{Distribution, check_weights};
use super::place::{Field, Place, Section, VALUES};
use super::quantiles::{self, QuantileTable};
use super::rows::Rows;
use super::{
    Bursts, Correlation, Group, Knobs, Policing, Population, Reordering, SIZE_BINS, Shape, Source,
    Unit, Variable, Workload, assumption, builtin,
};
use firstflight_path::Error;
use firstflight_path::Path;
use firstflight_path::input::{self, MOST_DATA};
use firstflight_path::suggestion;
use std::collections::BTreeMap;
use std::path::Path as File;
use toml::de::DeTable;

const TOP: &[&str] = &[
    "schema",
    "name",
    "version",
    "about",
    "initial_window",
    "size_bins",
    "base",
    "quantiles",
    "source",
    "calibration",
    "assumption",
    "defaults",
    "group",
];
const SOURCE: &[&str] = &["value", "status", "ref"];
const CALIBRATION: &[&str] = &["q", "k", "s", "r", "l", "status", "calibrated"];
/// Keys of a path that a population draws.
const DRAWN: &[&str] = &["rate", "rtt", "queue", "loss", "up", "return", "base"];
const SCHEMA: f64 = 1.0;
/// The population that provides the variables missing from a CSV file.
const CSV_BASE: &str = "fixed-2025";

fn read(file: &File) -> Result<String, Error> {
    input::read_text(file, MOST_DATA).map_err(|error| {
        Error::new(format!("{}: cannot read the population: {error}", file.display()))
    })
}

/// Whether a file name has the extension of a capture or a qlog, compressed or not.
fn is_recorded(name: &str) -> bool {
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    [".pcap", ".pcapng", ".qlog", ".sqlog"].iter().any(|end| name.ends_with(end))
}

impl Population {
    /// Reads `NAME`, `FILE.toml` or `FILE.csv`, each optionally followed by options in parentheses:
    /// `q`, `k` and `s` (the calibration knobs), `rho` (correlation of round trip and rate), or a
    /// group's name and its new weight; the other groups share the rest.
    ///
    /// # Errors
    /// A one-line message if the population cannot be read.
    pub fn parse(text: &str) -> Result<Population, Error> {
        let text = text.trim();
        let (name, options) = match text.split_once('(') {
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| {
                    Error::new(format!("population `{text}`: the closing parenthesis is missing"))
                })?;
                (name, inner)
            }
            None => (text, ""),
        };
        let mut population = Population::named_or_file(name)?;
        let mut given: Vec<&str> = Vec::new();
        for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let key = option.split('=').next().unwrap_or_default().trim();
            if given.contains(&key) {
                return Err(Error::new(format!("population `{text}`: `{key}` is given twice")));
            }
            given.push(key);
            population.turn(text, option)?;
        }
        Ok(population)
    }

    fn named_or_file(name: &str) -> Result<Population, Error> {
        let file = input::file_of(name);
        let shown = file.display().to_string();
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Population::from_toml(&shown, &read(&file)?, file.parent()),
            Some("csv") => Population::from_csv(&shown, &read(&file)?),
            _ => builtin::population(name).unwrap_or_else(|| {
                if is_recorded(name) {
                    return Err(Error::new(format!(
                        "`{name}` is a capture or a log, not a population; `firstflight advise {name}` compares arms on its connections"
                    )));
                }
                let near = suggestion(name, builtin::names());
                Err(Error::new(format!(
                    "`{name}` is not a known population{near}; allowed: a name listed by `firstflight populations`, a .toml or a .csv file"
                )))
            }),
        }
    }

    /// Applies one option in parentheses.
    fn turn(&mut self, text: &str, option: &str) -> Result<(), Error> {
        let bad = |message: String| Error::new(format!("population `{text}`: {message}"));
        let (key, value) = option
            .split_once('=')
            .ok_or_else(|| bad(format!("`{option}` has no value; allowed: key=value")))?;
        let (key, value) = (key.trim(), value.trim());
        let within = |low: f64, high: f64| {
            value.parse::<f64>().ok().filter(|number| (low..=high).contains(number)).ok_or_else(
                || bad(format!("{key}={value} is out of range; allowed: {low} to {high}")),
            )
        };
        match key {
            "q" | "k" | "s" => {
                match key {
                    "q" => self.knobs.q = within(0.001, 1000.0)?,
                    "k" => self.knobs.k = within(0.0, 0.9)?,
                    _ => self.knobs.s = within(0.0, 5.0)?,
                }
                self.fix(key);
                if self.knobs.calibrated.is_some() {
                    self.knobs.calibrated = Some(false);
                }
                self.knobs.status = format!(
                    "q={:?}, k={:?}, s={:?} set by hand",
                    self.knobs.q, self.knobs.k, self.knobs.s
                );
            }
            "rho" => {
                let rho = within(-1.0, 1.0)?;
                for group in &mut self.groups {
                    let pairs = vec![(Variable::Rtt, Variable::RateDown, rho)];
                    group.correlation = Correlation::new(pairs).map_err(bad)?;
                }
            }
            name => {
                let index =
                    self.groups.iter().position(|group| group.name == name).ok_or_else(|| {
                        let groups = self
                            .groups
                            .iter()
                            .map(|group| group.name.as_str())
                            .collect::<Vec<_>>()
                            .join(", ");
                        bad(format!(
                            "`{name}` is unknown; allowed: q, k, s, rho, or a group ({groups})"
                        ))
                    })?;
                let (share, before) = (within(0.0, 1.0)?, self.groups[index].weight);
                if before >= 1.0 && share < 1.0 {
                    return Err(bad(format!("{name} is the only group; allowed: 1")));
                }
                for (other, group) in self.groups.iter_mut().enumerate() {
                    group.weight = if other == index {
                        share
                    } else {
                        group.weight * (1.0 - share) / (1.0 - before)
                    };
                }
            }
        }
        Ok(())
    }

    /// Reads a CSV file of quantile tables or measured paths, distinguished by its header. Missing
    /// variables come from `fixed-2025`.
    ///
    /// # Errors
    /// A one-line message if the file is invalid.
    pub fn from_csv(file: &str, text: &str) -> Result<Population, Error> {
        let base = Population::named_or_file(CSV_BASE)?;
        let stem = File::new(file)
            .file_stem()
            .map_or(file.into(), |stem| stem.to_string_lossy().into_owned());
        let mut population =
            Population { name: stem, version: "0".into(), about: format!("from {file}"), ..base };
        population.sources.retain(|_| false);
        let source =
            |value: &str, reference: String| Source { value: value.into(), status: 'S', reference };
        let mut own_buffers = false;
        if text.trim_start().starts_with("variable,") {
            let tables = quantiles::parse(file, text)?;
            own_buffers = tables.contains_key(&Variable::Buffer);
            population.set_quantiles(tables);
            population.sources.push(source("the variables of the table", file.into()));
        } else {
            let rows = Rows::parse(file, text)?;
            let template = population.groups.swap_remove(0);
            let groups = rows.groups();
            let one = groups.len() == 1;
            population.groups = groups
                .into_iter()
                .filter_map(|(name, weight)| {
                    let own = if one { rows.clone() } else { rows.only(&name)? };
                    let name = if name.is_empty() { population.name.clone() } else { name };
                    Some(Group { name, weight, rows: Some(own), ..template.clone() })
                })
                .collect();
            population.sources.push(source("the columns of the file", file.into()));
        }
        // The base's uncertainty about buffers does not apply to measured buffers.
        let measured =
            |group: &Group| group.rows.as_ref().is_some_and(|rows| rows.has(Variable::Buffer));
        if own_buffers || population.groups.iter().any(measured) {
            population.assumptions.clear();
        }
        population.sources.push(Source {
            value: "the rest".into(),
            status: 'A',
            reference: format!("population {CSV_BASE}"),
        });
        Ok(population)
    }

    fn set_quantiles(
        &mut self,
        tables: impl IntoIterator<Item = (Variable, (QuantileTable, Unit))>,
    ) {
        for (variable, (table, unit)) in tables {
            for group in &mut self.groups {
                group.set(variable, Distribution { shape: Shape::Table(table.clone()), unit });
            }
        }
    }

    /// Reads a population file. Files that it names are in `folder`.
    ///
    /// # Errors
    /// A one-line message with file, line and key.
    pub fn from_toml(file: &str, text: &str, folder: Option<&File>) -> Result<Population, Error> {
        Population::read_toml(file, text, Files::In(folder))
    }

    /// Reads a population file together with the contents of the files that it names, keyed by
    /// those names, for a machine that does not have them.
    ///
    /// # Errors
    /// A one-line message with file, line and key.
    pub fn from_parts(
        file: &str,
        text: &str,
        files: &BTreeMap<String, String>,
    ) -> Result<Population, Error> {
        Population::read_toml(file, text, Files::Given(files))
    }

    fn read_toml(file: &str, text: &str, files: Files<'_>) -> Result<Population, Error> {
        let place = Place { file, text };
        let table = DeTable::parse(text).map_err(|error| {
            let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            place.bad(error.span().map_or(0, |span| span.start), message)
        })?;
        let has = |key: &str| table.get_ref().contains_key(key);
        if !has("schema") && !has("group") {
            let other = if has("arms") || has("path") {
                "is an experiment, which `firstflight run` takes"
            } else if has("rate") || has("base") {
                "is a path, which `--path` takes"
            } else {
                ""
            };
            if !other.is_empty() {
                return Err(Error::new(format!("{file}: {other}; this takes a population")));
            }
        }
        let top = Section::new(place, "", 0, table.get_ref(), TOP)?;
        top.need("schema")?.number_that(|schema| schema.total_cmp(&SCHEMA).is_eq(), "1")?;
        let reader = Reader { files };
        let mut population = match top.text("base")? {
            Some(name) => Population::named_or_file(&name).map_err(|why| top.bad("base", why))?,
            None => Population {
                name: String::new(),
                version: String::new(),
                about: String::new(),
                initial_window: None,
                size_bins: SIZE_BINS.to_vec(),
                sources: Vec::new(),
                knobs: Knobs::default(),
                assumptions: Vec::new(),
                groups: Vec::new(),
            },
        };
        top.need("name")?.text()?.clone_into(&mut population.name);
        top.need("version")?.text()?.clone_into(&mut population.version);
        population.about = top.text("about")?.unwrap_or_default();
        read_top(&top, &mut population)?;
        if let Some(field) = top.get("quantiles") {
            let name = field.text()?;
            if population.groups.is_empty() {
                return Err(field
                    .bad("needs `base`, the population that has the rest; allowed: with `base`"));
            }
            let tables = quantiles::parse(name, &reader.fetch(&field, name)?)?;
            if tables.contains_key(&Variable::Buffer) {
                population.assumptions.clear();
            }
            population.set_quantiles(tables);
        }
        let defaults = top.get("defaults").map(|field| field.section(VALUES)).transpose()?;
        if let Some(field) = top.get("group") {
            population.groups = read_groups(&field, defaults.as_ref(), &reader)?;
        } else if population.groups.is_empty() {
            return Err(top.bad("group", "is missing; allowed: one or more [[group]], or `base`"));
        } else if let Some(defaults) = &defaults {
            for group in &mut population.groups {
                fill(group, defaults, &reader)?;
                check_together(group, defaults)?;
            }
        }
        assumption::read(&top, &mut population.assumptions)?;
        let random = population.knobs.k > 0.0
            || population.worlds().iter().any(|world| world.population.knobs.k > 0.0);
        if random && population.groups.iter().any(|group| group.bursts.is_some()) {
            return Err(top.bad(
                "calibration",
                "k is a loss of single packets, and a group has `bursts`; allowed: one of the two",
            ));
        }
        Ok(population)
    }
}

fn read_top(top: &Section<'_>, population: &mut Population) -> Result<(), Error> {
    if let Some(field) = top.get("initial_window") {
        population.initial_window = Some(field.number_that(
            |packets| (1.0..=1000.0).contains(&packets) && packets.fract() == 0.0,
            "1 to 1000 whole packets",
        )? as u32);
    }
    if let Some(field) = top.get("size_bins") {
        let whole = |edge: f64| (1.0..=1e12).contains(&edge) && edge.fract() == 0.0;
        let edges = field
            .list()?
            .iter()
            .map(|edge| edge.number_that(whole, "whole bytes, 1 to 10^12"))
            .collect::<Result<Vec<f64>, _>>()?;
        if edges.len() > 20 || edges.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(field.bad("is not a rising list; allowed: at most 20 sizes in bytes, each larger than the one before"));
        }
        population.size_bins = edges.into_iter().map(|edge| edge as u64).collect();
    }
    if let Some(field) = top.get("source") {
        for entry in field.list()? {
            let section = entry.section(SOURCE)?;
            let status = section.need("status")?;
            let letter = match status.text()? {
                letter @ ("S" | "C" | "D" | "U" | "A") => letter.chars().next().unwrap_or('A'),
                other => {
                    return Err(status
                        .bad(format_args!("`{other}` is not a status; allowed: S, C, D, U, A")));
                }
            };
            population.sources.push(Source {
                value: section.need("value")?.text()?.to_owned(),
                status: letter,
                reference: section.need("ref")?.text()?.to_owned(),
            });
        }
    }
    if let Some(field) = top.get("calibration") {
        let section = field.section(CALIBRATION)?;
        population.knobs = Knobs {
            q: section
                .need("q")?
                .number_that(|q| (0.001..=1000.0).contains(&q), "0.001 to 1000")?,
            k: section.need("k")?.number_that(|k| (0.0..=0.9).contains(&k), "0 to 0.9")?,
            s: section
                .get("s")
                .map(|s| s.number_that(|s| (0.0..=5.0).contains(&s), "0 to 5"))
                .transpose()?
                .unwrap_or(0.0),
            r: section
                .get("r")
                .map(|r| r.number_that(|r| (0.001..=1000.0).contains(&r), "0.001 to 1000"))
                .transpose()?
                .unwrap_or(1.0),
            l: section
                .get("l")
                .map(|l| l.number_that(|l| (0.0..=1000.0).contains(&l), "0 to 1000"))
                .transpose()?
                .unwrap_or(1.0),
            status: section.text("status")?.unwrap_or_default(),
            calibrated: match section.text("calibrated")?.as_deref() {
                None => None,
                Some("yes") => Some(true),
                Some("no") => Some(false),
                Some(other) => {
                    return Err(section
                        .bad("calibrated", format_args!("`{other}`; allowed: \"yes\" or \"no\"")));
                }
            },
        };
    }
    Ok(())
}

fn read_groups(
    field: &Field<'_>,
    defaults: Option<&Section<'_>>,
    reader: &Reader<'_>,
) -> Result<Vec<Group>, Error> {
    let entries = field.list()?;
    if entries.is_empty() {
        return Err(field.bad("is empty; allowed: at least one group"));
    }
    let known: Vec<&str> = ["name", "weight"].iter().chain(VALUES).copied().collect();
    let mut groups: Vec<Group> = Vec::new();
    for entry in &entries {
        let section = entry.section(&known)?;
        let name = section.need("name")?.text()?.to_owned();
        if name.is_empty() || groups.iter().any(|group| group.name == name) {
            return Err(section.bad(
                "name",
                format_args!("`{name}` is empty or given twice; allowed: a unique name"),
            ));
        }
        let weight = section.need("weight")?.number_that(
            |weight| weight > 0.0 && weight <= 1.0,
            "more than 0 and at most 1: an empty group is left out",
        )?;
        let mut group = Group {
            name,
            weight,
            floor_packets: 10,
            return_path: "plain".into(),
            path: String::new(),
            rate_is_lower_bound: false,
            rows: None,
            correlation: Correlation::default(),
            bursts: None,
            reordering: None,
            policer: None,
            workload: Workload::Object,
            variables: Vec::new(),
        };
        if let Some(defaults) = defaults {
            fill(&mut group, defaults, reader)?;
        }
        fill(&mut group, &section, reader)?;
        check_together(&group, &section)?;
        for variable in [Variable::Rtt, Variable::RateDown, Variable::Buffer, Variable::Size] {
            if group.get(variable).is_none()
                && !group.rows.as_ref().is_some_and(|rows| rows.has(variable))
            {
                return Err(
                    section.bad(variable.name(), "is missing, in the group and in [defaults]")
                );
            }
        }
        groups.push(group);
    }
    let weights: Vec<f64> = groups.iter().map(|group| group.weight).collect();
    check_weights(&field.renamed("group.weight"), &weights)?;
    Ok(groups)
}

/// Refuses combinations that a group cannot have.
fn check_together(group: &Group, section: &Section<'_>) -> Result<(), Error> {
    let lossless = group.get(Variable::Loss).is_none_or(|loss| loss.shape == Shape::Constant(0.0));
    if group.bursts.is_some() && !lossless {
        return Err(section.bad(
            "bursts",
            "is given together with a `loss` of single packets; allowed: one of the two, or `loss = 0`",
        ));
    }
    let mixed = |variable: &Variable| {
        group.get(*variable).is_some_and(|of| matches!(of.shape, Shape::Mixture { .. }))
    };
    if let Some(variable) = Correlation::ORDER
        .iter()
        .find(|variable| mixed(variable) && group.correlation.ties(**variable))
    {
        let name = variable.name();
        return Err(section.bad(
            "correlation",
            format_args!("{name} is a mixture, which nothing can be correlated with"),
        ));
    }
    Ok(())
}

/// Sets the values of a table.
fn fill(group: &mut Group, section: &Section<'_>, reader: &Reader<'_>) -> Result<(), Error> {
    for variable in Variable::ALL {
        let Some(field) = section.get(variable.name()) else { continue };
        let besides: &[&str] = if variable == Variable::Buffer { &["floor_packets"] } else { &[] };
        let table = |field: &Field<'_>, variable| reader.quantiles(field, variable);
        group.set(variable, Distribution::parse(&field, variable, besides, &table)?);
        if variable == Variable::Buffer && field.is_table() {
            let all: Vec<&str> =
                super::distribution::SHAPES.iter().chain(besides).copied().collect();
            if let Some(floor) = field.section(&all)?.get("floor_packets") {
                let whole = |packets: f64| (1.0..=1e6).contains(&packets) && packets.fract() == 0.0;
                group.floor_packets =
                    floor.number_that(whole, "1 to 1000000 whole packets")? as u64;
            }
        }
    }
    if let Some(field) = section.get("rows") {
        group.rows = Some(reader.rows(&field)?);
    }
    if let Some(field) = section.get("rate_down_is") {
        group.rate_is_lower_bound = match field.text()? {
            "measured" => false,
            "lower bound" => true,
            other => {
                return Err(
                    field.bad(format_args!("`{other}` is unknown; allowed: measured, lower bound"))
                );
            }
        };
    }
    for (key, back) in [("return_path", true), ("path", false)] {
        let Some(field) = section.get(key) else { continue };
        let before = (group.return_path.clone(), group.path.clone());
        field.text()?.clone_into(if back { &mut group.return_path } else { &mut group.path });
        if group
            .path
            .split(',')
            .any(|item| DRAWN.contains(&item.split('=').next().unwrap_or_default().trim()))
        {
            return Err(field.bad(format_args!(
                "`{}` names what is drawn; allowed: keys other than {}",
                group.path,
                DRAWN.join(", ")
            )));
        }
        // A typical path shows whether the keys are valid and whether a link can be made of them.
        let tried = Path::parse(
            format!("rate=10Mbit,rtt=100ms,queue=100ms,{}", group.path_keys())
                .trim_end_matches(','),
        );
        if let Err(error) =
            tried.and_then(|path| path.open(path.packet() as u32, 64, 1, 0).map(|_| ()))
        {
            (group.return_path, group.path) = before;
            return Err(field.bad(error));
        }
    }
    let table = |field: &Field<'_>, variable| reader.quantiles(field, variable);
    if let Some(field) = section.get("bursts") {
        group.bursts = Some(Bursts::parse(&field)?);
    }
    if let Some(field) = section.get("reordering") {
        group.reordering = Some(Reordering::parse(&field)?);
    }
    if let Some(field) = section.get("policer") {
        group.policer = Some(Policing::parse(&field, &table)?);
    }
    match (section.get("responses"), section.get("video")) {
        (Some(_), Some(video)) => {
            return Err(video.bad("is given together with `responses`; allowed: one of the two"));
        }
        (Some(field), None) => group.workload = Workload::responses(&field, &table)?,
        (None, Some(field)) => group.workload = Workload::video(&field, &table)?,
        (None, None) => {}
    }
    let (rho, rank) = (section.get("correlation"), section.get("rank_correlation"));
    let mut pairs = Vec::new();
    for (field, of_rank) in [(&rho, false), (&rank, true)] {
        for entry in field.as_ref().map(Field::list).transpose()?.unwrap_or_default() {
            pairs.push(read_pair(&entry, of_rank)?);
        }
    }
    if let Some(field) = rho.or(rank) {
        group.correlation = Correlation::new(pairs).map_err(|message| field.bad(message))?;
    }
    Ok(())
}

fn read_pair(entry: &Field<'_>, of_rank: bool) -> Result<(Variable, Variable, f64), Error> {
    let parts = entry.list()?;
    let [a, b, r] = &parts[..] else {
        return Err(entry.bad("allowed: [\"rtt\", \"rate_down\", -0.2]"));
    };
    let variable = |field: &Field<'_>| {
        let name = field.text()?;
        Variable::named(name).ok_or_else(|| {
            field.bad(format_args!("`{name}` is unknown; allowed: rtt, rate_down, buffer, size"))
        })
    };
    let r = r.number_that(|r| (-1.0..=1.0).contains(&r), "-1 to 1")?;
    Ok((variable(a)?, variable(b)?, if of_rank { Correlation::of_rank(r) } else { r }))
}

struct Reader<'a> {
    files: Files<'a>,
}

/// Location of the files that a population names.
#[derive(Clone, Copy)]
enum Files<'a> {
    /// On disk, relative to this folder.
    In(Option<&'a File>),
    /// In memory, by the names that the population uses.
    Given(&'a BTreeMap<String, String>),
}

impl Reader<'_> {
    fn fetch(&self, field: &Field<'_>, name: &str) -> Result<String, Error> {
        let folder = match self.files {
            Files::Given(texts) => {
                return texts
                    .get(name)
                    .cloned()
                    .ok_or_else(|| field.bad(format_args!("{name} was not provided")));
            }
            Files::In(folder) => folder,
        };
        let path = folder.map_or_else(|| name.into(), |folder| folder.join(name));
        input::read_text(&path, MOST_DATA)
            .map_err(|error| field.bad(format_args!("{}: {error}", path.display())))
    }

    fn quantiles(
        &self,
        field: &Field<'_>,
        variable: Variable,
    ) -> Result<(QuantileTable, Unit), Error> {
        let name = field.text()?;
        let mut tables = quantiles::parse(name, &self.fetch(field, name)?)?;
        tables
            .remove(&variable)
            .ok_or_else(|| field.bad(format_args!("{name} has no rows of {}", variable.name())))
    }

    fn rows(&self, field: &Field<'_>) -> Result<Rows, Error> {
        let section = field.section(&["file", "group", "jitter"])?;
        let file = section.need("file")?;
        let name = file.text()?;
        let mut rows = Rows::parse(name, &self.fetch(&file, name)?)?;
        if let Some(group) = section.get("group") {
            let only = group.text()?;
            rows = rows.only(only).ok_or_else(|| {
                group.bad(format_args!(
                    "{name} has no rows of the group `{only}`, or their weights are 0"
                ))
            })?;
        }
        if let Some(jitter) = section.get("jitter") {
            rows.jitter = jitter.number_that(|jitter| (0.0..=1.0).contains(&jitter), "0 to 1")?;
        }
        Ok(rows)
    }
}
