//! Paths as text: `key=value` lists, names and TOML files.
//!
//! Parsing has two steps: collect the keys (a name contributes the keys of its built-in text, other
//! keys override them), then build the path. Only [`toml_file`] and [`crate::Trace::load`] read
//! files.

use crate::builtin::Builtin;
use crate::error::Error;
use crate::input::{self, MOST_TEXT};
use crate::keys::{Keys, is_flag, nearest_key};
use crate::path::Path;
use std::path::Path as File;
use std::str::FromStr;

fn insert_items<'a>(keys: &mut Keys, items: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    for item in items.map(str::trim) {
        match item.split_once('=') {
            Some((key, value)) => keys.insert(key.trim(), value.trim())?,
            None if is_flag(item) => keys.insert(item, "true")?,
            None => {
                return Err(Error::new(format!("`{item}` is not key=value{}", nearest_key(item))));
            }
        }
    }
    Ok(())
}

/// Adds the keys of a built-in path that are not set yet. Its name is kept only if nothing is
/// changed.
fn insert_base(keys: &mut Keys, name: &str) -> Result<(), Error> {
    let found = Builtin::named(name)?;
    let mut below = Keys::default();
    insert_items(&mut below, found.text.split(','))?;
    if keys.is_empty() {
        below.insert("name", found.name)?;
        below.insert("source", found.source)?;
    }
    keys.underlay(below);
    Ok(())
}

impl Path {
    /// Parses a path: `key=value` items separated by commas, a built-in name, a name followed by
    /// items that override it, or the name of a TOML file ending in `.toml` with the same keys.
    /// The keys are listed on the crate's first page.
    ///
    /// Reads a file only for `.toml` and for `rate=trace:FILE`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_with(text, &[])
    }

    /// Like [`Path::parse`], with these keys set to these values. A changed path loses its name and
    /// source. A queue of `1bdp` follows a changed round trip, a queue of `30ms` does not.
    ///
    /// # Errors
    /// Like [`Path::parse`], for the changed path.
    ///
    /// ```
    /// use firstflight_path::Path;
    /// let path = Path::parse_with("geo", &[("rtt", "30ms")])?;
    /// assert_eq!(path.to_string(), Path::parse("geo,rtt=30ms")?.to_string());
    /// # Ok::<(), firstflight_path::Error>(())
    /// ```
    pub fn parse_with(text: &str, changes: &[(&str, &str)]) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::new(
                "empty path; give a name such as `geo`, or rate=100Mbit,rtt=30ms,queue=30ms",
            ));
        }
        // A file's name may have a semicolon.
        let is_key = |part: &str| {
            let item = part.split(',').next().unwrap_or_default().trim();
            item.contains('=') || is_flag(item)
        };
        if text.contains(';') && text.split(';').skip(1).all(is_key) {
            let commas = text.replace(';', ",");
            return Err(Error::new(format!(
                "{text}: `;` separates no keys; allowed: commas, such as {commas}"
            )));
        }
        let file = input::file_of(text);
        if !text.contains('=') && file.extension().is_some_and(|extension| extension == "toml") {
            return toml_file(&file, changes);
        }
        let mut keys = Keys::default();
        let (first, rest) =
            text.split_once(',').map_or((text, None), |(first, rest)| (first.trim(), Some(rest)));
        if first.contains('=') || is_flag(first) {
            insert_items(&mut keys, text.split(','))?;
        } else {
            if let Some(rest) = rest {
                insert_items(&mut keys, rest.split(','))?;
            }
            insert_base(&mut keys, first)?;
        }
        keys.changed(changes)?.build()
    }
}

/// Reads a path from a TOML file. Keys are those of the inline text, plus `base` for a built-in
/// path to start from; unknown keys are errors.
fn toml_file(file: &File, changes: &[(&str, &str)]) -> Result<Path, Error> {
    let text = input::read_text(file, MOST_TEXT)
        .map_err(|e| Error::new(format!("{}: cannot read the path: {e}", file.display())))?;
    let line = |offset: usize| {
        let lines_before = text.bytes().take(offset).filter(|b| *b == b'\n').count();
        format!("{}:{}", file.display(), lines_before + 1)
    };
    let table = toml::de::DeTable::parse(&text)
        .map_err(|e| Error::new(e.message()).within(line(e.span().map_or(0, |span| span.start))))?;
    let has = |key: &str| table.get_ref().contains_key(key);
    let other = if has("group") || has("schema") {
        "is a population, which `firstflight ab --population` takes"
    } else if has("arms") || has("path") {
        "is an experiment, which `firstflight run` takes"
    } else {
        ""
    };
    if !other.is_empty() {
        return Err(Error::new(format!("{}: {other}; this takes a path", file.display())));
    }
    let mut keys = Keys::beside(file);
    let mut base = None;
    for (key, value) in table.get_ref() {
        let place = line(key.span().start);
        let value = match value.get_ref() {
            toml::de::DeValue::String(text) => text.to_string(),
            toml::de::DeValue::Integer(number) => number.to_string(),
            toml::de::DeValue::Float(number) => number.as_str().to_owned(),
            toml::de::DeValue::Boolean(flag) => flag.to_string(),
            other => {
                let wrong = format!(
                    "{}: found {}; allowed: text, a number, true or false",
                    key.get_ref(),
                    other.type_str()
                );
                return Err(Error::new(wrong).within(place));
            }
        };
        match key.get_ref().as_ref() {
            "base" => base = Some((value, place)),
            key => keys.insert(key, &value).map_err(|e| e.within(place))?,
        }
    }
    if let Some((name, place)) = base {
        insert_base(&mut keys, &name).map_err(|e| e.within(place))?;
    }
    keys.changed(changes).and_then(Keys::build).map_err(|e| e.within(file.display()))
}

impl FromStr for Path {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

impl serde::Serialize for Path {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Path {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
