//! Experiments in TOML files.
//!
//! Keys are the options of a comparison, or of an A/B test if the file names a `population`. They
//! are read by the same parser as the options, so meanings and errors are the same. `path` and
//! `bytes` may be lists; every path is then combined with every size.

use super::{AbRequest, Asked, CompareRequest, Key, from_pairs, keys};
use firstflight_path::Error;
use firstflight_path::input::{self, MOST_TEXT};
use firstflight_path::suggestion;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

const TITLE_KEY: &str = "title";
/// Keys that may be lists, whose combinations are all run.
const GRID: [&str; 2] = ["path", "bytes"];
/// Keys whose lists correspond to comma-separated arms on the command line.
const ARM_LISTS: [&str; 2] = ["arms", "cross"];

/// One key with its value or values.
#[derive(Clone, Debug)]
struct Entry {
    key: String,
    line: usize,
    values: Vec<String>,
}

/// Options and their values, as text.
pub type Pairs = Vec<(String, String)>;

/// An experiment as written.
#[derive(Clone, Debug)]
pub struct Experiment {
    name: PathBuf,
    entries: Vec<Entry>,
}

/// One path with one size of an experiment.
#[derive(Clone, Debug)]
pub struct ExperimentCell {
    /// The requested comparison.
    pub asked: Asked,
    /// The options of this comparison.
    pub options: Pairs,
}

impl Experiment {
    /// Reads a file.
    ///
    /// # Errors
    /// A one-line message that names the file: it cannot be read, is not TOML, has a key that is
    /// not an option, or a list where one value is allowed.
    pub fn read(name: &Path) -> Result<Experiment, Error> {
        let text = input::read_text(name, MOST_TEXT)
            .map_err(|error| Error::new(format!("{}: {error}", name.display())))?;
        let line =
            |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
        let table = DeTable::parse(&text).map_err(|error| {
            Error::new(format!(
                "{}:{}: {}",
                name.display(),
                line(error.span().map_or(0, |span| span.start)),
                error.message()
            ))
        })?;
        let has = |key: &str| table.get_ref().contains_key(key);
        let other = if has("group") || has("schema") {
            "is a population, which `firstflight ab --population` takes"
        } else if has("rate") && !has("path") {
            "is a path, which `firstflight compare --path` takes"
        } else if table.get_ref().is_empty() {
            "is empty"
        } else {
            ""
        };
        if !other.is_empty() {
            let what = format!("{}: {other}; this takes an experiment", name.display());
            return Err(Error::new(what));
        }
        let mut entries = Vec::new();
        for (key, value) in table.get_ref() {
            let line = line(key.span().start);
            let wrong = |found: &str| {
                Error::new(format!(
                    "{}:{line}: {}: found {found}; allowed: text, a number, true or false, or a list of those",
                    name.display(),
                    key.get_ref()
                ))
            };
            let values = match value.get_ref() {
                DeValue::Array(list) => {
                    let texts = list.iter().map(|value| {
                        text_of(value.get_ref()).ok_or_else(|| wrong(value.get_ref().type_str()))
                    });
                    texts.collect::<Result<Vec<String>, Error>>()?
                }
                value => vec![text_of(value).ok_or_else(|| wrong(value.type_str()))?],
            };
            entries.push(Entry { key: key.get_ref().to_string(), line, values });
        }
        let file = Experiment { name: name.to_owned(), entries };
        file.check()?;
        Ok(file)
    }

    /// Whether it is an A/B test on a population.
    pub fn is_test(&self) -> bool {
        self.entry("population").is_some()
    }

    /// Sets an option, replacing the file's value.
    pub fn set(&mut self, key: &str, value: &str) {
        self.entries.retain(|entry| entry.key != key);
        self.entries.push(Entry { key: key.into(), line: 0, values: vec![value.into()] });
    }

    /// The keys that are allowed: the options of the request, so that a new option is also a key.
    fn keys(&self) -> Vec<Key> {
        if self.is_test() { keys::<AbRequest>() } else { keys::<CompareRequest>() }
    }

    /// Checks that every key is known, and that only keys that may be lists are lists.
    fn check(&self) -> Result<(), Error> {
        let known = self.keys();
        let known: Vec<&str> = known.iter().map(|key| key.name.as_str()).collect();
        for Entry { key, line, values } in &self.entries {
            let place = format!("{}:{line}: {key}", self.name.display());
            if key != TITLE_KEY && !known.contains(&key.as_str()) {
                let meant = suggestion(key, known.iter().copied());
                let known = known.join(", ");
                return Err(Error::new(format!(
                    "{place}: unknown key{meant}; allowed: {TITLE_KEY}, {known}"
                )));
            }
            let may_be_a_list = ARM_LISTS.contains(&key.as_str()) || GRID.contains(&key.as_str());
            if values.is_empty() || values.len() > 1 && !may_be_a_list {
                return Err(Error::new(format!(
                    "{place}: a list of {}; allowed: one value",
                    values.len()
                )));
            }
        }
        Ok(())
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Title in the file.
    pub fn title(&self) -> Option<&str> {
        self.entry(TITLE_KEY).map(|entry| entry.values[0].as_str())
    }

    /// Adds the name of the file to an error.
    #[must_use]
    pub fn at(&self, bad: &Error) -> Error {
        // The parser's message starts with the option, whose line in the file is known.
        let option = bad.as_str().strip_prefix("--").and_then(|rest| rest.split([' ', ':']).next());
        match option.and_then(|option| self.entry(option)).filter(|entry| entry.line > 0) {
            Some(entry) => Error::new(format!(
                "{}:{}: {}",
                self.name.display(),
                entry.line,
                &bad.as_str()[2..]
            )),
            None => Error::new(format!("{}: {}", self.name.display(), bad.as_str())),
        }
    }

    /// A file name is resolved relative to the experiment.
    fn beside(&self, key: &str, value: &str) -> String {
        let (name, _) = value.split_once('(').unwrap_or((value, ""));
        let is_file = match key {
            "path" => !value.contains('=') && has_extension(name, &["toml"]),
            "population" => has_extension(name, &["toml", "csv"]),
            _ => false,
        };
        match self.name.parent() {
            Some(folder) if is_file && !Path::new(value).is_absolute() => {
                folder.join(value).to_string_lossy().into_owned()
            }
            _ => value.to_owned(),
        }
    }

    /// The options, with these values in place of the grid's lists.
    fn pairs(&self, chosen: &[(&str, &str)]) -> Pairs {
        let entries = self.entries.iter().filter(|entry| entry.key != TITLE_KEY);
        let pairs = entries.map(|entry| {
            let key = entry.key.as_str();
            let chosen = chosen.iter().find(|(name, _)| *name == key);
            let value = chosen.map_or_else(|| entry.values.join(","), |(_, value)| (*value).into());
            (entry.key.clone(), self.beside(key, &value))
        });
        pairs.collect()
    }

    /// The options of a test, which has no grid.
    pub fn options(&self) -> Pairs {
        self.pairs(&[])
    }

    /// Every combination of path and size.
    ///
    /// # Errors
    /// A one-line message that names the file and the line of the option that cannot be read.
    pub fn cells(&self) -> Result<Vec<ExperimentCell>, Error> {
        let values = |key| {
            self.entry(key).map_or(vec![None], |entry| entry.values.iter().map(Some).collect())
        };
        let mut cells = Vec::new();
        for path in values("path") {
            for bytes in values("bytes") {
                let chosen: Vec<(&str, &str)> = [("path", path), ("bytes", bytes)]
                    .into_iter()
                    .filter_map(|(key, value)| Some((key, value?.as_str())))
                    .collect();
                let options = self.pairs(&chosen);
                let asked = from_pairs::<CompareRequest>(&options)
                    .and_then(|request| request.asked())
                    .map_err(|bad| self.at(&bad))?;
                cells.push(ExperimentCell { asked, options });
            }
        }
        let count = cells.len();
        for cell in &mut cells {
            cell.asked.share_work(count);
        }
        Ok(cells)
    }

    /// One JSON object: the title, and for each path and size the object of `compare --json`.
    pub fn to_json(&self, comparisons: impl Iterator<Item = String>) -> String {
        let title = serde_json::Value::from(self.title());
        let comparisons: Vec<String> =
            comparisons.map(|one| one.trim_end().replace('\n', "\n    ")).collect();
        format!(
            "{{\n  \"firstflight\": \"{}\",\n  \"title\": {title},\n  \"comparisons\": [\n    {}\n  ]\n}}\n",
            env!("CARGO_PKG_VERSION"),
            comparisons.join(",\n    ")
        )
    }
}

fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extensions.iter().any(|known| extension == *known))
}
